"""What tools around a program print of it: GNU time -v, perf stat -x, sysbench, fio.

perf stat -x prints no elapsed time: it is taken from the event duration_time, or computed from task-clock and the CPUs
utilised; with neither the file is refused.
"""

from __future__ import annotations

import re
from typing import Any

from scalecurve.errors import Fault, FormatError
from scalecurve.findings import Finding, warning
from scalecurve.formats.columns import as_count, as_dict, as_dicts, as_float, as_text, clock_seconds
from scalecurve.formats.headers import worker_unit
from scalecurve.formats.reading import FormatNote, Point, Reader, Reading, ReadOptions, bounded
from scalecurve.formats.source import Source
from scalecurve.study import Provenance, Quantity, RunStatus, Treatment

MILLI, NANO = 1e-3, 1e-9
HUNDREDTHS = 0.01
_TIMED = re.compile(r'^\s*Command being timed: "(.*)"\s*$', re.MULTILINE)
_TIME_LINE = re.compile(r"^\s*([A-Z][^\n]*?): ([^\n]+?)\s*$", re.MULTILINE)
_OPTION = re.compile(r"(?:^|\s)(?:--?)?([A-Za-z][\w-]*)[ =](\d{1,9})(?=\s|$)")


def recognise_time(source: Source) -> str | None:
    return (
        "GNU time -v" if _TIMED.search(source.head_text) and "Elapsed (wall clock) time" in source.head_text else None
    )


def read_time(source: Source, options: ReadOptions) -> Reading:
    """One point for each command timed; K is an option of the command that counts workers, or comes from the name."""
    text = source.text
    starts = [match.start() for match in _TIMED.finditer(text)]
    points: list[Point] = []
    coarse = False
    for begin, end in zip(starts, [*starts[1:], len(text)], strict=True):
        lines = dict(_TIME_LINE.findall(text[begin:end]))
        command = lines.get("Command being timed", "").strip('"')
        elapsed = next((value for name, value in lines.items() if name.startswith("Elapsed (wall clock)")), "")
        seconds = clock_seconds(elapsed)
        if seconds is None:
            raise FormatError(Fault("no elapsed time; the file may be cut short", value=command[:80]))
        status = as_float(lines.get("Exit status"))
        before = text[starts[starts.index(begin) - 1] if begin != starts[0] else 0 : begin]
        killed = "Command terminated by signal" in before.splitlines()[-1] if before.strip() else False
        failed = status != 0 or killed
        coarse = coarse or (seconds < 1 and not failed)
        counts = {name: int(value) for name, value in _OPTION.findall(command) if worker_unit(name)}
        series = _OPTION.sub(lambda m: m[0].replace(m[2], "*") if worker_unit(m[1]) else m[0], command)
        observed = {
            "max_resident_kbytes": as_float(lines.get("Maximum resident set size (kbytes)")),
            "user_seconds": as_float(lines.get("User time (seconds)")),
            "system_seconds": as_float(lines.get("System time (seconds)")),
        }
        details: dict[str, Any] = {"observed": {key: value for key, value in observed.items() if value is not None}}
        if failed:
            details["error"] = f"exit status {lines.get('Exit status', 'unknown')}"
        points.append(
            Point(
                values=(seconds,),
                series=series[:200],
                name=command[:500],
                metric="Elapsed",
                fields=counts,
                status=RunStatus.FAILED if failed else RunStatus.OK,
                details=details,
            )
        )
    findings: tuple[Finding, ...] = ()
    if coarse:
        text = "GNU time counts in hundredths of a second, and some of these runs take less than one second"
        findings = (warning("clock-resolution", text, remedy="time longer runs, or use hyperfine"),)
    return Reading(
        points=bounded(points),
        warmup=Treatment.INCLUDED,
        setup=Treatment.INCLUDED,
        provenance=Provenance(tool="GNU time"),
        assumed=("the wall time of the whole command",),
        findings=findings,
    )


def recognise_perf(source: Source) -> str | None:
    for line in source.head_text.splitlines()[:20]:
        cells = re.split(r"[,;\t|]", line)
        if len(cells) >= 6 and cells[2].partition(":")[0] in ("task-clock", "cpu-clock", "duration_time", "cycles"):
            return "columns of perf stat -x"
    return None


def read_perf(source: Source, options: ReadOptions) -> Reading:
    events: dict[str, tuple[float, list[str]]] = {}
    repeated = False
    for line in source.text.splitlines():
        mark = next((sign for sign in ";\t|," if line.count(sign) >= 5), None)
        if mark is None or line.startswith("#"):
            continue
        cells = line.split(mark)
        value = as_float(cells[0] if mark == "," else cells[0].replace(",", "."))
        if value is not None:
            events[cells[2].partition(":")[0]] = (value, cells)
            repeated = repeated or cells[3].endswith("%")
    clock = events.get("task-clock") or events.get("cpu-clock")
    utilised = None
    if clock is not None and "CPUs utilized" in clock[1]:
        utilised = as_float(clock[1][clock[1].index("CPUs utilized") - 1].replace(",", "."))
    if "duration_time" in events:
        seconds, origin = events["duration_time"][0] * NANO, "duration_time"
    elif clock is not None and utilised:
        seconds, origin = clock[0] * MILLI / utilised, "task-clock over the CPUs utilised"
    else:
        remedy = "measure it as well: perf stat -x, -e duration_time,task-clock"
        raise FormatError(Fault("perf stat -x prints no elapsed time", value=", ".join(events)[:120], remedy=remedy))
    observed = {name: value for name, (value, _) in events.items() if name != "duration_time"}
    point = Point(values=(seconds,), name=source.name, metric="elapsed", details={"observed": observed})
    return Reading(
        points=(point,),
        warmup=Treatment.INCLUDED,
        setup=Treatment.INCLUDED,
        provenance=Provenance(tool="perf stat"),
        assumed=(
            f"the elapsed time is {origin}",
            *(("the mean over perf's runs is one observation",) if repeated else ()),
        ),
    )


def recognise_fio(source: Source) -> str | None:
    return "JSON with fio version and jobs" if {"fio version", "jobs"} <= source.keys else None


def read_fio(source: Source, options: ReadOptions) -> Reading:
    """Operations and bytes per second of all jobs of a name together; K is numjobs."""
    shared = as_dict(source.json.get("global options"))
    jobs: dict[str, list[dict[str, Any]]] = {}
    for job in as_dicts(source.json["jobs"]):
        jobs.setdefault(as_text(job.get("jobname")) or "", []).append(job)
    points: list[Point] = []
    for name, group in jobs.items():
        settings = {**shared, **as_dict(group[0].get("job options"))}
        k = as_count(settings.get("numjobs")) or len(group)
        fields = {key: settings[key] for key in ("iodepth", "bs", "rw", "ioengine") if as_text(settings.get(key))}
        directions = [as_dict(job.get(way)) for job in group for way in ("read", "write")]
        failed = any(as_float(job.get("error")) for job in group)
        common: dict[str, Any] = {"series": name, "name": name, "k": k, "fields": fields}
        if failed:
            points.append(
                Point(values=(), status=RunStatus.FAILED, details={"error": "fio reports an error"}, **common)
            )
            continue
        for metric, key in (("iops", "iops"), ("bytes/s", "bw_bytes")):
            total = sum(as_float(direction.get(key)) or 0.0 for direction in directions)
            rate: dict[str, Any] = {"quantity": Quantity.THROUGHPUT, "unit": metric, "main": metric == "iops"}
            points.append(Point(values=(total,), metric=metric, **rate, **common))
        for way in ("read", "write"):
            means = [as_float(as_dict(as_dict(job.get(way)).get("lat_ns")).get("mean")) for job in group]
            if means and all(means):
                mean = sum(value or 0.0 for value in means) / len(means)
                points.append(Point(values=(mean * NANO,), metric=f"{way} latency", **common))
    return Reading(
        points=bounded(points),
        k_origin="`numjobs`",
        k_unit="jobs",
        provenance=Provenance(tool="fio", tool_version=as_text(source.json.get("fio version"))),
        assumed=("one test is one observation",),
    )


TIME = Reader(
    "gnu-time",
    "GNU time -v",
    recognise_time,
    read_time,
    FormatNote(
        tried="1.9 (Debian)",
        real=True,
        k="an option of the command (--threads 4, -np 4), or --k-from",
        value="elapsed wall time",
        keeps="CPU time, memory, exit status",
    ),
)
PERF = Reader(
    "perf-stat",
    "perf stat -x",
    recognise_perf,
    read_perf,
    FormatNote(
        tried="6.1.187 (Debian), -r 3",
        real=True,
        k="--k-from",
        value="duration_time, or task-clock / CPUs utilised",
        keeps="all counters",
    ),
    begins=re.compile(r"^# started on ", re.MULTILINE),
)
FIO = Reader(
    "fio",
    "fio",
    recognise_fio,
    read_fio,
    FormatNote(
        tried="3.33 (Debian), --output-format=json and json+, with and without --group_reporting",
        real=True,
        k="numjobs",
        value="iops, or bytes per second",
        keeps="latencies, settings",
    ),
)
