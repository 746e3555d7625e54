"""Slurm accounting: `sacct -P`, with its header or without in the documented order, and sacct's own columns.

Elapsed includes the job's set-up.  Only COMPLETED rows are measurements.  Rows of steps (`123.batch`, `123.0`) lie
inside their job (`123`) and would count it twice: where job rows are there, steps only tell the number of tasks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from scalecurve.errors import Fault, FormatError
from scalecurve.formats.coercion import as_count, as_float
from scalecurve.formats.reading import MOST_POINTS, Point, Reader, Reading, bounded
from scalecurve.formats.source import Source
from scalecurve.formats.wishes import Wishes
from scalecurve.study import Provenance, RunStatus, Treatment

# sacct -n -P -X --format=...: without a header the order must be this one.
DOCUMENTED = (
    "JobIDRaw", "JobName", "State", "ElapsedRaw", "NNodes", "NTasks", "AllocCPUS", "AllocTRES", "Submit", "Start",
    "End",
)  # fmt: skip
COUNTS = ("NNodes", "AllocNodes", "NTasks", "AllocCPUS", "NCPUS")
ENDED = {"TIMEOUT": RunStatus.TIMEOUT, "CANCELLED": RunStatus.INTERRUPTED, "PREEMPTED": RunStatus.INTERRUPTED}
NOT_ENDED = ("RUNNING", "PENDING", "REQUEUED", "SUSPENDED", "COMPLETING", "CONFIGURING")
MOST_ROWS = 2 * MOST_POINTS  # steps included
STATES = ("COMPLETED", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", *ENDED, *NOT_ENDED)
_ELAPSED = re.compile(r"(?:(\d{1,4})-)?(\d{1,3}):(\d{2}):(\d{2})(?:\.\d+)?")

Row = dict[str, str]


def look(source: Source) -> str | None:
    lines = _lines(source.head_text)
    first = lines[0] if lines else ""
    names = re.split(r"[|\s]+", first)
    if any(name in names for name in ("JobID", "JobIDRaw")) and ("State" in names or "Elapsed" in first):
        return "a header of sacct columns"
    cells = first.split("|")
    if len(cells) in (len(DOCUMENTED), len(DOCUMENTED) + 1) and cells[2].split(" ")[0] in STATES:
        return "rows as sacct -n -P prints them, in the documented order of columns"
    return None


def read(source: Source, wishes: Wishes) -> Reading:
    lines = _lines(source.text)
    if len(lines) > MOST_ROWS:
        raise FormatError(Fault(f"more than {MOST_ROWS} rows", remedy="ask sacct for fewer jobs"), subject=source.name)
    rows = _rows(lines)
    jobs = [row for row in rows if "." not in _job_id(row)]
    tasks = _tasks_by_job(rows)
    counted = jobs or rows
    return Reading(
        points=bounded((point for row in counted if (point := _point(row, tasks)) is not None), source.name),
        warmup=Treatment.INCLUDED,
        setup=Treatment.INCLUDED,
        provenance=Provenance(tool="sacct", launcher="slurm"),
        assumed=("the elapsed time of the whole job",),
        missing=("the time of the job without its set-up",),
    )


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def _rows(lines: list[str]) -> list[Row]:
    if not lines:
        return []
    if "JobID" not in lines[0]:
        return [dict(zip(DOCUMENTED, line.split("|"), strict=False)) for line in lines]
    if "|" in lines[0]:
        return [dict(zip(lines[0].split("|"), line.split("|"), strict=False)) for line in lines[1:]]
    return list(_fixed_width(lines))


def _fixed_width(lines: list[str]) -> Iterator[Row]:
    """Columns as wide as the line of dashes below the header says."""
    if len(lines) < 2 or set(lines[1]) != {"-", " "}:
        return
    spans = [match.span() for match in re.finditer(r"-+", lines[1])]
    names = [lines[0][start:end].strip() for start, end in spans]
    for line in lines[2:]:
        yield dict(zip(names, (line[start:end].strip() for start, end in spans), strict=True))


def _job_id(row: Row) -> str:
    return row.get("JobIDRaw") or row.get("JobID") or ""


def _tasks_by_job(rows: list[Row]) -> dict[str, int]:
    """NTasks is only on the rows of steps; the largest step is the job's program."""
    tasks: dict[str, int] = {}
    for row in rows:
        job, _, step = _job_id(row).partition(".")
        count = as_count(row.get("NTasks"))
        if count and step not in ("batch", "extern"):
            tasks[job] = max(tasks.get(job, 0), count)
    return tasks


def _point(row: Row, tasks: dict[str, int]) -> Point | None:
    state = (row.get("State") or "").split(" ")[0].rstrip("+")
    if state in NOT_ENDED or not state:
        return None
    seconds = _seconds(row)
    fields: dict[str, Any] = {name: count for name in COUNTS if (count := as_count(row.get(name)))}
    fields |= _resources(row.get("AllocTRES") or row.get("ReqTRES") or "")
    job = _job_id(row).partition(".")[0]
    if job in tasks:
        fields["NTasks"] = tasks[job]
    ok = state == "COMPLETED"
    started = row.get("Start")
    details: dict[str, Any] = {"started": started} if started not in (None, "Unknown", "None") else {}
    if not ok:
        details["error"] = f"Slurm says {state}"
    return Point(
        values=(seconds,) if seconds is not None else (),
        series=row.get("JobName") or "",
        name=row.get("JobName") or "",
        metric="Elapsed",
        fields=fields,
        status=RunStatus.OK if ok else ENDED.get(state, RunStatus.FAILED),
        details=details,
    )


def _seconds(row: Row) -> float | None:
    raw = as_float(row.get("ElapsedRaw"))
    if raw is not None:
        return raw
    match = _ELAPSED.fullmatch(row.get("Elapsed") or "")
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def _resources(text: str) -> dict[str, int]:
    """The GPUs of `billing=4,cpu=4,gres/gpu=2,mem=8G,node=1`; the rest has columns of its own."""
    pairs = dict(part.split("=", 1) for part in text.split(",") if "=" in part)
    count = as_count(pairs.get("gres/gpu"))
    return {"gres/gpu": count} if count else {}


READER = Reader("sacct", "Slurm sacct", look, read)
