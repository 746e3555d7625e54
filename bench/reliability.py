"""What the harnesses share: adding up the figures of several runs, and bench/reliability.json, from which
docs/reliability.md is made."""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tools.tried_code import code_of

RECORD = Path(__file__).parent / "reliability.json"
LARGEST = ("slowest", "peak", "commands")
"""Figures of which the largest counts; all others are added."""

Figures = dict[str, Any]


def summed(runs: Sequence[Figures]) -> Figures:
    """The figures of several runs as those of one; a text is that of the slowest run."""
    slowest = max(runs, key=lambda one: one.get("slowest_seconds", 0.0))
    whole: Figures = {}
    for name in dict.fromkeys(name for one in runs for name in one):
        values = [one[name] for one in runs if name in one]
        if isinstance(values[0], dict):
            whole[name] = summed(values)
        elif isinstance(values[0], str):
            whole[name] = slowest.get(name, values[0])
        else:
            whole[name] = max(values) if name.startswith(LARGEST) else sum(values)
    return whole


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of a harness whose run may be made in parts."""
    parser.add_argument("--figures", type=Path, default=None, help="write the figures of this run to a file")
    parser.add_argument("--sum", type=Path, nargs="+", default=None, help="add up the figures of earlier runs")
    parser.add_argument("--record", action="store_true", help="put the figures into bench/reliability.json")


def figures_of(options: argparse.Namespace, make: Callable[[], Figures]) -> Figures:
    """The figures of a new run, or of earlier ones added up."""
    if options.sum is None:
        figures = make()
    else:
        figures = summed([json.loads(path.read_text(encoding="utf-8")) for path in options.sum])
    if options.figures is not None:
        options.figures.write_text(json.dumps(figures), encoding="utf-8")
    return figures


def runs_of(options: argparse.Namespace) -> str:
    """The end of the command that made the figures."""
    return f" in {len(options.sum)} runs with different seeds" if options.sum else f" --seed {options.seed}"


def commit() -> str:
    """The commit of the tree that was tried, with `+` where files differ from it; "" outside of a clone."""
    described = ["git", "-C", str(RECORD.parent), "describe", "--always", "--dirty=+", "--exclude=*", "--abbrev=8"]
    done = subprocess.run(described, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def record(harness: str, entry: Figures, command: str) -> None:
    """Put the figures of a harness into bench/reliability.json, with date, commit and command; the others stay."""
    known = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    known[harness] = {
        **entry,
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "command": command,
        "code": code_of(harness),
    }
    RECORD.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n", encoding="utf-8")
