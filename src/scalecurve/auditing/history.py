"""A history file: one JSON line for every check, so that slow drifts can be seen."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scalecurve.analysis.table import tabulate
from scalecurve.auditing.gate_result import Gate
from scalecurve.errors import Fault, InputError
from scalecurve.study import Study

VERSION = 1


def entry(gate: Gate, study: Study, *, now: datetime | None = None) -> dict[str, Any]:
    """What one check adds to the history."""
    stamp = study.provenance.created or (now or datetime.now(UTC)).isoformat(timespec="seconds")
    git = study.provenance.software.get("git")
    return {
        "version": VERSION,
        "created": stamp,
        "name": study.name,
        "commit": git.get("commit") if isinstance(git, dict) else None,
        "quantity": str(study.quantity),
        "rows": [
            {"k": row.k, "n": row.n, "mean": row.mean.value, "std": row.std, "efficiency": row.efficiency.value}
            for row in tabulate(study).rows
        ],
        "passed": gate.passed,
        "line": gate.line,
    }


def append(gate: Gate, study: Study, path: Path) -> None:
    """Added with one write, so that two checks at once leave two whole lines."""
    line = (json.dumps(entry(gate, study), allow_nan=False) + "\n").encode()
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            os.write(handle, line)
        finally:
            os.close(handle)
    except OSError as problem:
        raise InputError(Fault(f"the history cannot be written: {problem.strerror}"), subject=str(path)) from None
