"""Slurm accounting: `sacct -P`, sacct's own columns, `sacct --json`, or rows without a header in the documented order.

Elapsed includes the job's set-up.  Only COMPLETED rows are measurements.  Rows of steps (`123.0`) are part of their job
(`123`) and would count it twice: where job rows are there, steps only give the number of tasks and the program's name.
`123.batch`, `123.extern` and `123.interactive` are no program at all and never count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from scalecurve.errors import Fault, FormatError
from scalecurve.findings import Finding, warning
from scalecurve.formats.columns import as_count, as_dict, as_dicts, as_float, as_list, as_text, clock_seconds, counts_in
from scalecurve.formats.reading import MOST_POINTS, Point, ReadOptions
from scalecurve.formats.rows import Yielded, tool
from scalecurve.formats.source import Source
from scalecurve.study import RunStatus

# sacct -n -P -X --format=...: without a header the order must be this one.
DOCUMENTED = (
    "JobIDRaw", "JobName", "State", "ElapsedRaw", "NNodes", "NTasks", "AllocCPUS", "AllocTRES", "Submit", "Start",
    "End",
)  # fmt: skip
COUNTS = ("NNodes", "AllocNodes", "NTasks", "AllocCPUS", "NCPUS")
ENDED = {"TIMEOUT": RunStatus.TIMEOUT, "CANCELLED": RunStatus.INTERRUPTED, "PREEMPTED": RunStatus.INTERRUPTED}
NOT_ENDED = ("RUNNING", "PENDING", "REQUEUED", "SUSPENDED", "COMPLETING", "CONFIGURING")
NO_PROGRAM = ("batch", "extern", "interactive")
MOST_ROWS = 2 * MOST_POINTS  # steps included
STATES = ("COMPLETED", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", *ENDED, *NOT_ENDED)
ASK = "sacct -P --format=JobID,JobName,State,ElapsedRaw,NNodes,NTasks,AllocCPUS,AllocTRES,Start"

Row = dict[str, str]


def recognise(source: Source) -> str | None:
    if "jobs" in source.keys:
        first = (as_dicts(source.json["jobs"]) or [{}])[0]
        return "JSON with jobs and their steps" if {"job_id", "time", "state"} <= first.keys() else None
    first_line = next((line.rstrip() for line in source.head_text.splitlines() if line.strip()), "")
    names = re.split(r"[|\s]+", first_line)
    if any(name in names for name in ("JobID", "JobIDRaw")) and ("State" in names or "Elapsed" in first_line):
        return "a header of sacct columns"
    cells = first_line.split("|")
    if len(cells) in (len(DOCUMENTED), len(DOCUMENTED) + 1) and cells[2].split(" ")[0] in STATES:
        return "rows as sacct -n -P prints them, in the documented order of columns"
    return None


def read(source: Source, options: ReadOptions) -> Iterator[Yielded]:
    rows = _json_rows(source.json) if source.looks_like_json else _rows(source.text)
    columns = _columns(rows)
    rows = [row for row in rows if _step(row) not in NO_PROGRAM]
    jobs = [row for row in rows if not _step(row)]
    steps: dict[str, list[Row]] = {}
    programs: dict[str, set[str]] = {}
    for row in filter(_step, rows):
        steps.setdefault(_job(row), []).append(row)
        programs.setdefault(_job(row), set()).add(row.get("JobName") or "")
    several = len({frozenset(programs.get(_job(row), ())) for row in jobs}) > 1
    for row in jobs or rows:
        state = (row.get("State") or "").split(" ")[0].rstrip("+")
        if state not in ("", *NOT_ENDED):
            ran = sorted(programs.get(_job(row), set()) - {row.get("JobName") or "", ""}) if several else []
            yield _point(row, state, steps.get(_job(row), []), ran)
    yield from _name_findings(jobs or rows, columns)


def _columns(rows: list[Row]) -> set[str]:
    """The columns of all rows, the time that a job took among them."""
    columns = {name for row in rows for name in row}
    if rows and not columns & {"Elapsed", "ElapsedRaw"}:
        text = "the rows have no column Elapsed, as sacct prints them by default"
        raise FormatError(Fault(text, value=", ".join(sorted(columns)), remedy=f"ask for it: {ASK}"))
    return columns


def _point(row: Row, state: str, steps: list[Row], ran: list[str]) -> Point:
    """One job; only the rows of steps have NTasks, and the largest step is the job's program."""
    fields = counts_in(row, COUNTS)
    resources = row.get("AllocTRES") or row.get("ReqTRES") or ""  # billing=4,cpu=4,gres/gpu=2,mem=8G,node=1
    fields |= counts_in(dict(part.split("=", 1) for part in resources.split(",") if "=" in part), ("gres/gpu",))
    tasks = max((as_count(step.get("NTasks")) or 0 for step in steps), default=0)
    name, started, seconds = row.get("JobName") or "", row.get("Start"), as_float(row.get("ElapsedRaw"))
    seconds = clock_seconds(row.get("Elapsed") or "") if seconds is None else seconds
    details: dict[str, Any] = {"started": started} if started not in (None, "Unknown", "None", "") else {}
    if state != "COMPLETED":
        details["error"] = f"Slurm says {state}"
    return Point(
        values=(seconds,) if seconds is not None else (),
        series=" ".join([name, *(f"({program})" for program in ran)]).strip(),
        name=name,
        metric="Elapsed",
        fields=fields | ({"NTasks": tasks} if tasks else {}),
        status=RunStatus.OK if state == "COMPLETED" else ENDED.get(state, RunStatus.FAILED),
        details=details,
    )


def _name_findings(rows: list[Row], columns: set[str]) -> tuple[Finding, ...]:
    """Whether the rows say which program each job ran; where they do not, jobs of several programs may be mixed."""
    cut = sorted({name for row in rows if (name := row.get("JobName") or "").endswith("+")})
    if rows and "JobName" not in columns:
        text = "the rows have no column JobName: jobs of other programs among them would be counted too"
    elif cut:
        text = f"sacct cut names of jobs short ({', '.join(cut[:5])}): several programs may share one"
    else:
        return ()
    return (warning("job-names", text, remedy=f"ask for them: {ASK}"),)


def _rows(text: str) -> list[Row]:
    """Rows by column: separated by bars, or as wide as the line of dashes below the header says."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    if len(lines) > MOST_ROWS:
        raise FormatError(Fault(f"more than {MOST_ROWS} rows", remedy="ask sacct for fewer jobs"))
    if not lines or "JobID" not in lines[0]:
        lines = ["|".join(DOCUMENTED), *lines]
    if "|" in lines[0]:
        return [dict(zip(lines[0].split("|"), line.split("|"), strict=False)) for line in lines[1:]]
    if len(lines) < 2 or set(lines[1]) != {"-", " "}:
        raise FormatError(Fault("the line of dashes below sacct's header is missing", remedy=f"say {ASK}"))
    spans = [match.span() for match in re.finditer(r"-+", lines[1])]
    return [{lines[0][a:b].strip(): line[a:b].strip() for a, b in spans} for line in lines[2:]]


def _json_rows(data: dict[str, Any]) -> list[Row]:
    """The jobs of `sacct --json` and their steps, in the words of its columns."""
    rows: list[Row] = []
    for job in as_dicts(data["jobs"])[:MOST_ROWS]:
        times, number = as_dict(job.get("time")), str(_number(job.get("job_id")) or "")
        allocated = {
            "/".join(filter(None, (as_text(item.get("type")), as_text(item.get("name"))))): _number(item.get("count"))
            for item in as_dicts(as_dict(job.get("tres")).get("allocated"))
        }
        started = _number(times.get("start"))
        row = {
            "JobID": number,
            "JobName": as_text(job.get("name")) or "",
            "State": _state(job.get("state")),
            "ElapsedRaw": _text(times.get("elapsed")),
            "NNodes": _text(job.get("allocation_nodes")) or _text(allocated.get("node")),
            "AllocCPUS": _text(allocated.get("cpu")),
            "AllocTRES": ",".join(f"{name}={count}" for name, count in allocated.items() if count is not None),
            "Start": datetime.fromtimestamp(started, UTC).isoformat() if started and 0 < started < 1e11 else "",
        }
        rows += [row, *_json_steps(job, number)]
    return rows


def _json_steps(job: dict[str, Any], number: str) -> Iterator[Row]:
    """The steps of one job of `sacct --json`."""
    for step in as_dicts(job.get("steps")):
        label = as_dict(step.get("step"))
        identity = label.get("id")
        name = identity if isinstance(identity, str) else str(as_dict(identity).get("step_id") or "0")
        yield {
            "JobID": name if name.startswith(f"{number}.") else f"{number}.{name}",
            "JobName": as_text(label.get("name")) or "",
            "State": _state(step.get("state")),
            "ElapsedRaw": _text(as_dict(step.get("time")).get("elapsed")),
            "NTasks": _text(as_dict(step.get("tasks")).get("count")),
        }


def _state(value: Any) -> str:
    """One word; versions differ: a word, a list, or {"current": either}."""
    current = as_dict(value).get("current", value)
    words = as_list(current) or [current]
    return str(words[0]) if words and isinstance(words[0], str) else ""


def _number(value: Any) -> int | None:
    """A whole number, also as newer versions write it: {"set": true, "infinite": false, "number": 4}."""
    number = as_float(as_dict(value).get("number") if isinstance(value, dict) else value)
    return None if number is None else int(number)


def _text(value: Any) -> str:
    number = _number(value)
    return "" if number is None else str(number)


def _job(row: Row) -> str:
    return (row.get("JobIDRaw") or row.get("JobID") or "").partition(".")[0]


def _step(row: Row) -> str:
    """What follows the dot in the job's number; empty for a job."""
    return (row.get("JobIDRaw") or row.get("JobID") or "").partition(".")[2]


READER = replace(tool("sacct", read), recognise=recognise)
