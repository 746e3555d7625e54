"""What tools around a program print of it: perf stat -x, fio.

perf stat -x prints no elapsed time: it is taken from the event duration_time, or computed from task-clock and the CPUs
utilised; with neither the file is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scalecurve.errors import Fault, FormatError
from scalecurve.formats.columns import as_count, as_dict, as_dicts, as_float, as_text
from scalecurve.formats.reading import Point, ReadOptions
from scalecurve.formats.rows import Yielded
from scalecurve.formats.source import Source
from scalecurve.study import Quantity, RunStatus

MILLI, NANO = 1e-3, 1e-9


def _counts(text: str) -> Iterator[tuple[float, list[str]]]:
    """The number and the cells of every line of `perf stat -x`, whatever parts its cells."""
    for line in text.splitlines():
        mark = next((sign for sign in ";\t|," if line.count(sign) >= 5), None)
        if mark is None or line.startswith("#"):
            continue
        cells = line.split(mark)
        value = as_float(cells[0] if mark == "," else cells[0].replace(",", "."))
        if value is not None:
            yield value, cells


def perf(source: Source, options: ReadOptions) -> Iterator[Yielded]:
    counts = list(_counts(source.text))
    events = {cells[2].partition(":")[0]: (value, cells) for value, cells in counts}
    clock, cells = events.get("task-clock") or events.get("cpu-clock") or (0.0, [])
    place = cells.index("CPUs utilized") - 1 if "CPUs utilized" in cells else None
    utilised = None if place is None else as_float(cells[place].replace(",", "."))
    if "duration_time" in events:
        seconds, origin = events["duration_time"][0] * NANO, "duration_time"
    elif utilised:
        seconds, origin = clock * MILLI / utilised, "task-clock over the CPUs utilised"
    else:
        remedy = "measure it as well: perf stat -x, -e duration_time,task-clock"
        raise FormatError(Fault("perf stat -x prints no elapsed time", value=", ".join(events)[:120], remedy=remedy))
    observed = {name: value for name, (value, _) in events.items() if name != "duration_time"}
    yield Point(values=(seconds,), name=source.name, metric="elapsed", details={"observed": observed})
    yield {"assumed": (f"the elapsed time is {origin}",)}
    if any(cells[3].endswith("%") for _, cells in counts):
        yield {"assumed": ("the mean over perf's runs is one observation",)}


def fio(source: Source, options: ReadOptions) -> Iterator[Yielded]:
    """Operations and bytes per second of all jobs of a name together; K is numjobs."""
    shared = as_dict(source.json.get("global options"))
    jobs: dict[str, list[dict[str, Any]]] = {}
    for job in as_dicts(source.json["jobs"]):
        jobs.setdefault(as_text(job.get("jobname")) or "", []).append(job)
    for name, group in jobs.items():
        settings = {**shared, **as_dict(group[0].get("job options"))}
        fields = {key: settings[key] for key in ("iodepth", "bs", "rw", "ioengine") if as_text(settings.get(key))}
        k = as_count(settings.get("numjobs")) or len(group)
        common: dict[str, Any] = {"series": name, "name": name, "k": k, "fields": fields}
        if any(as_float(job.get("error")) for job in group):
            yield Point(values=(), status=RunStatus.FAILED, details={"error": "fio reports an error"}, **common)
            continue
        yield from _fio_rates(group, {**common, "quantity": Quantity.THROUGHPUT})
        yield from _fio_latencies(group, common)


def _fio_rates(group: list[dict[str, Any]], common: dict[str, Any]) -> Iterator[Point]:
    """Operations and bytes per second of both directions together."""
    directions = [as_dict(job.get(way)) for job in group for way in ("read", "write")]
    for metric, key, factor in (("iops", "iops", 1.0), ("bytes/s", "bw_bytes", 1.0), ("bytes/s", "bw", 1024.0)):
        total = sum((as_float(direction.get(key)) or 0.0) * factor for direction in directions)
        if key != "bw" or not any("bw_bytes" in direction for direction in directions):  # bw alone before 3.0
            yield Point(values=(total,), metric=metric, unit=metric, main=metric == "iops", **common)


def _fio_latencies(group: list[dict[str, Any]], common: dict[str, Any]) -> Iterator[Point]:
    """The mean latency of each direction, in nanoseconds (`lat_ns`) or before 3.0 in microseconds (`lat`)."""
    for way in ("read", "write"):
        for key, unit in (("lat_ns", NANO), ("lat", 1e-6)):
            means = [as_float(as_dict(as_dict(job.get(way)).get(key)).get("mean")) for job in group]
            if all(means):
                seconds = sum(value or 0.0 for value in means) / len(means) * unit
                yield Point(values=(seconds,), metric=f"{way} latency", **common)
