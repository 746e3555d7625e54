"""Every command with its group and one line of help, so that `--help` loads none of them.

To add one: a file `cli/<name>.py` that defines `command`, and a line here.  A test compares the two.
"""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    group: str
    summary: str


GROUPS = ("study", "trust", "money", "mechanisms", "training", "tools")

COMMANDS: dict[str, Entry] = {
    "measure": Entry("study", "run a scaling study: K x repeats with a real launcher"),
    "table": Entry("study", "T, S and E with intervals, and where the curve bends"),
    "fit": Entry("study", "laws ranked by how well they predict, with intervals"),
    "forecast": Entry("study", "T, S and E at larger K, with intervals that hold"),
    "next": Entry("money", "which K to measure next, and how often"),
    "plan": Entry("training", "how far more accelerators get a training run, from 8 to 100,000"),
    "law": Entry("mechanisms", "tables and answers of the scaling laws themselves"),
    "doctor": Entry("tools", "what this machine can measure, and how noisy it is"),
}


def module_of(name: str) -> str:
    """`import` is a keyword, so its module is `import_`."""
    return "import_" if name == "import" else name.replace("-", "_")
