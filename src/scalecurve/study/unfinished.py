"""A study that is still being measured, or whose measurement was ended early: its runs stand in a journal.

The journal of `study.json` is `study.json.work/journal.jsonl`: a header whose "study" is the study without its runs,
then a line for each run.  A grid of sweeps has such a journal for each sweep in `study.json.grid/`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scalecurve.files import read_bytes
from scalecurve.findings import error, warning

JOURNAL = "journal.jsonl"


def work_folder(output: Path) -> Path:
    """Where the measurement of `output` keeps its journal."""
    return output.with_name(output.name + ".work")


def grid_folder(output: Path) -> Path:
    """Where the sweeps of a grid are kept until all are complete."""
    return output.with_name(output.name + ".grid")


def header_of(output: Path) -> dict[str, Any]:
    """The header of the journal of `output`; empty without one."""
    return next((line["header"] for line in journal_lines(output) if "header" in line), {})


def unfinished_study(output: Path) -> bytes | None:
    """The runs so far as the text of a study file; None where nothing newer than `output` is under way."""
    data = _sweep(output) or _grid(output)
    return None if data is None else json.dumps(data).encode()


def journal_lines(output: Path) -> Iterator[dict[str, Any]]:
    """The whole lines of a journal that is a plain file newer than its study; a torn or damaged one is left out."""
    path = work_folder(output) / JOURNAL
    try:
        if path.is_symlink() or not path.is_file() or _moment(output) > os.stat(path).st_mtime:
            return
        raw = read_bytes(path)
    except OSError:
        return
    for text in raw[: raw.rfind(b"\n") + 1].splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict):
            yield line


def _moment(path: Path) -> float:
    return path.stat().st_mtime if path.exists() else 0.0


def _sweep(output: Path) -> dict[str, Any] | None:
    header: dict[str, Any] = {}
    runs = []
    for line in journal_lines(output):
        header = line.get("header", header)
        runs += [line["run"]] if "run" in line else []
    if "study" not in header or not any(run.get("value") is not None for run in runs):
        return None
    made, planned = len(runs), header.get("launches") or len(runs)
    finding = error(
        "unfinished",
        f"The measurement is unfinished: {made} of {max(made, planned)} launches are here.",
        remedy=f"wait for it, or continue it with `scalecurve measure --resume {output}`",
        made=made,
        planned=planned,
    )
    findings = [finding.to_dict()]
    if crowded := sorted({run["k"] for run in runs if run.get("observed", {}).get("disturbed")}):
        text = (
            f"Other processes disturbed runs at K = {', '.join(map(str, crowded))}: what they cost cannot be said yet."
        )
        findings.append(warning("disturbed", text, remedy="measure on a quiet machine", k=crowded).to_dict())
    return {**header["study"], "runs": runs, "findings": findings}


def _grid(output: Path) -> dict[str, Any] | None:
    folder = grid_folder(output)
    studies: dict[str, Any] = {}
    if output.exists() or not folder.is_dir():
        return None
    for name in sorted({path.name.removesuffix(".work") for path in folder.glob("sweep-*.json*")}):
        place = folder / name
        study = _sweep(place) or (json.loads(place.read_bytes()) if place.is_file() else None)
        studies |= {place.stem: study} if study else {}
    from scalecurve.study.file import SET_FORMAT, VERSION  # it needs pydantic, which most files do not

    return {"format": SET_FORMAT, "version": VERSION, "axes": {}, "studies": studies} if studies else None
