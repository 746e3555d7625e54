"""Slurm accounting: `sacct -P`, with its header or without in the documented order, and sacct's own columns.

Elapsed includes the job's set-up.  Only COMPLETED rows are measurements.  Rows of steps (`123.batch`, `123.0`) are
part of their job (`123`) and would count it twice: where job rows are there, steps only give the number of tasks.
"""

from __future__ import annotations

import re
from typing import Any

from scalecurve.errors import Fault, FormatError
from scalecurve.formats.columns import as_count, as_float, counts_in
from scalecurve.formats.reading import MOST_POINTS, Point, Reader, Reading, ReadOptions, bounded
from scalecurve.formats.source import Source
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


def recognise(source: Source) -> str | None:
    first = next((line.rstrip() for line in source.head_text.splitlines() if line.strip()), "")
    names = re.split(r"[|\s]+", first)
    if any(name in names for name in ("JobID", "JobIDRaw")) and ("State" in names or "Elapsed" in first):
        return "a header of sacct columns"
    cells = first.split("|")
    if len(cells) in (len(DOCUMENTED), len(DOCUMENTED) + 1) and cells[2].split(" ")[0] in STATES:
        return "rows as sacct -n -P prints them, in the documented order of columns"
    return None


def read(source: Source, options: ReadOptions) -> Reading:
    rows = _rows([line.rstrip() for line in source.text.splitlines() if line.strip()])
    tasks: dict[str, int] = {}  # only the rows of steps have NTasks; the largest step is the job's program
    for row in rows:
        job, _, step = _job_id(row).partition(".")
        count = as_count(row.get("NTasks"))
        if count and step not in ("batch", "extern"):
            tasks[job] = max(tasks.get(job, 0), count)
    points: list[Point] = []
    for row in [row for row in rows if "." not in _job_id(row)] or rows:
        state = (row.get("State") or "").split(" ")[0].rstrip("+")
        if state in NOT_ENDED or not state:
            continue
        fields = counts_in(row, COUNTS)
        resources = row.get("AllocTRES") or row.get("ReqTRES") or ""  # billing=4,cpu=4,gres/gpu=2,mem=8G,node=1
        fields |= counts_in(dict(part.split("=", 1) for part in resources.split(",") if "=" in part), ("gres/gpu",))
        job = _job_id(row).partition(".")[0]
        if job in tasks:
            fields["NTasks"] = tasks[job]
        started, seconds = row.get("Start"), as_float(row.get("ElapsedRaw"))
        elapsed = _ELAPSED.fullmatch(row.get("Elapsed") or "")
        if seconds is None and elapsed is not None:
            days, hours, minutes, rest = (int(part or 0) for part in elapsed.groups())
            seconds = float(((days * 24 + hours) * 60 + minutes) * 60 + rest)
        details: dict[str, Any] = {"started": started} if started not in (None, "Unknown", "None") else {}
        if state != "COMPLETED":
            details["error"] = f"Slurm says {state}"
        points.append(
            Point(
                values=(seconds,) if seconds is not None else (),
                series=row.get("JobName") or "",
                name=row.get("JobName") or "",
                metric="Elapsed",
                fields=fields,
                status=RunStatus.OK if state == "COMPLETED" else ENDED.get(state, RunStatus.FAILED),
                details=details,
            )
        )
    return Reading(
        points=bounded(points),
        warmup=Treatment.INCLUDED,
        setup=Treatment.INCLUDED,
        provenance=Provenance(tool="sacct", launcher="slurm"),
        assumed=("the elapsed time of the whole job",),
        missing=("the time of the job without its set-up",),
    )


def _rows(lines: list[str]) -> list[Row]:
    """Rows by column: separated by bars, or as wide as the line of dashes below the header says."""
    if len(lines) > MOST_ROWS:
        raise FormatError(Fault(f"more than {MOST_ROWS} rows", remedy="ask sacct for fewer jobs"))
    if not lines or "JobID" not in lines[0]:
        return [dict(zip(DOCUMENTED, line.split("|"), strict=False)) for line in lines]
    if "|" in lines[0]:
        return [dict(zip(lines[0].split("|"), line.split("|"), strict=False)) for line in lines[1:]]
    if len(lines) < 2 or set(lines[1]) != {"-", " "}:
        return []
    spans = [match.span() for match in re.finditer(r"-+", lines[1])]
    return [{lines[0][a:b].strip(): line[a:b].strip() for a, b in spans} for line in lines[2:]]


def _job_id(row: Row) -> str:
    return row.get("JobIDRaw") or row.get("JobID") or ""


READER = Reader("sacct", "Slurm sacct", recognise, read)
