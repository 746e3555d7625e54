"""Every command with its group, its place and one line of help, so that `--help` loads none of them.

To add one: a function in a file of `cli`, and a line here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import click


class Entry(NamedTuple):
    """A command's group in `--help`, its summary, and its `file:function` (default `<name>:command`)."""

    group: str
    summary: str
    place: str | None = None


GROUPS = ("study", "trust", "money", "mechanisms", "training", "tools")

COMMANDS: dict[str, Entry] = {
    "import": Entry("study", "other tools' results as a study; --explain shows the mapping first", "exchange:import_"),
    "export": Entry("study", "a study in other tools' formats", "exchange:export"),
    "completion": Entry("tools", "shell completion for bash, zsh and fish", "help:completion"),
    "measure": Entry("study", "run a scaling study: K x repeats with a real launcher"),
    "table": Entry("study", "T, S and E with intervals, and where the curve bends", "study:table"),
    "cost": Entry("money", "what a result costs at every K; which K meets a deadline or a budget"),
    "assess": Entry("money", "a proposal: will this cluster size help?"),
    "fit": Entry("study", "laws ranked by how well they predict, with intervals", "study:fit"),
    "forecast": Entry("study", "T, S and E at larger K, with intervals that hold", "study:forecast"),
    "regime": Entry("study", "strong, weak, mixed or neither, and which plot applies", "study:regime"),
    "diagnose": Entry("trust", "why the curve bends", "study:diagnose"),
    "audit": Entry("trust", "may a study, a paper's table or a bare claim be believed"),
    "compare": Entry("trust", "two studies side by side", "study:compare"),
    "merge": Entry("trust", "several studies of one question made one", "exchange:merge"),
    "check": Entry("trust", "a gate for continuous integration"),
    "history": Entry("trust", "T and E over the commits of a history, and where they changed", "check:history"),
    "next": Entry("money", "which K to measure next, and how often"),
    "plan": Entry("training", "how far more accelerators get a training run, from 8 to 100,000"),
    "law": Entry("mechanisms", "tables and answers of the scaling laws themselves"),
    "report": Entry("tools", "one HTML page that answers first (also .md .tex .pdf .svg .png)", "tools:report"),
    "explore": Entry(
        "tools", "a local web page with sliders: training scale, laws, your data, mechanisms", "tools:explore"
    ),
    "scaleup": Entry("money", "one big machine against many small ones"),
    "roofline": Entry("mechanisms", "machine ceilings, kernels placed under them"),
    "workdepth": Entry("mechanisms", "work, depth and the speedup a task graph admits"),
    "straggler": Entry("mechanisms", "what the slowest of K costs"),
    "latency": Entry("mechanisms", "percentiles, tails, fan-out, SLO; an open-loop load test"),
    "collective": Entry("mechanisms", "cost of collectives; measure and fit a network"),
    "doctor": Entry("tools", "what this machine can measure, and how noisy it is", "tools:doctor"),
}


def load_command(name: str) -> click.Command:
    """The command itself; only its own file is imported."""
    file, _, function = (COMMANDS[name].place or f"{name}:command").partition(":")
    command: click.Command = getattr(import_module(f"scalecurve.cli.{file}"), function)
    return command
