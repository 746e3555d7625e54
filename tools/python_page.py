"""The Python reference, which mkdocstrings fills with signatures, and the figures that README quotes."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import scalecurve

ROOT = Path(__file__).parents[1]
HEAD = """# Python

`import scalecurve as sc`; every name is imported on first use. Below the table stand types and defaults (on the site;
`help(sc.load)` prints the same).
"""


def python_reference() -> str:
    """Every name on top of the package, then the names of its modules."""
    homes = sorted(scalecurve.HOMES.items(), key=lambda pair: pair[0].lower())
    parts = [HEAD, "| name | what it is |\n|---|---|", *(glance(name) for name, _ in homes), ""]
    parts += [f"::: {home}.{name}\n" for name, home in homes]
    for module in scalecurve.MODULES:
        names = getattr(importlib.import_module(f"scalecurve.{module}"), "__all__", ())
        parts += [f"## sc.{module}\n", ", ".join(f"`{name}`" for name in names) + "\n"] if names else []
    return "\n".join(parts)


def glance(name: str) -> str:
    """A row: how a function is called, and the first sentence of its docstring."""
    thing = getattr(scalecurve, name)
    names = list(inspect.signature(thing).parameters) if inspect.isfunction(thing) else []
    call = f"({', '.join([*names[:5], *(['...'] if len(names) > 5 else [])])})" if names else ""
    sentence = " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())
    return f"| `sc.{name}{call}` | {sentence.replace('|', '/')} |"


def accuracy_summary() -> str:
    """The figures of the accuracy page that a reader of README must know first."""
    page = (ROOT / "docs" / "accuracy.md").read_text()
    curves = re.search(r"### Strong scaling and throughput: (\d+) curves of (\d+) sources", page)
    row = re.search(r"^\| \*\*scalecurve\*\* \| ([\d.]+) [^|]*\| ([\d.]+)", page, re.MULTILINE)
    if curves is None or row is None:
        raise SystemExit("docs/accuracy.md has no figures for README")
    many = f"On {curves[1]} published strong-scaling and throughput curves of {curves[2]} sources, each forecast"
    error = f"without any curve of its own source, the median error is {row[1]} % and one curve in ten is off by more"
    rest = (
        f"than {row[2]} %. Intervals, weak scaling, training, and where it fails: [docs/accuracy.md](docs/accuracy.md)."
    )
    return f"{many}\n{error}\n{rest}\n"
