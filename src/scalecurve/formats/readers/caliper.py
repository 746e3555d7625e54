"""CSV of Caliper and Thicket: one row per region and profile, metrics such as `Avg time/rank`, metadata as columns.

The number of ranks is `mpi.world.size` or `jobsize`; the regions (`name`) are series.
"""

from __future__ import annotations

from typing import Any

from scalecurve.errors import FormatError
from scalecurve.formats.coercion import as_count, as_float
from scalecurve.formats.csv_rows import csv_rows
from scalecurve.formats.meaning import meaning_of
from scalecurve.formats.reading import Point, Reader, Reading, bounded
from scalecurve.formats.source import Source
from scalecurve.formats.wishes import Wishes
from scalecurve.study import Provenance, Quantity, Treatment

COUNTS = ("mpi.world.size", "jobsize", "numhosts", "omp.num.threads", "mpi_world_size", "num_nodes")
REGION = ("name", "path", "node", "function", "region")
TIMES = ("time/rank", "total time", "time (inc)", "time (exc)", "sum#sum#time.duration", "sum#time.duration")


def look(source: Source) -> str | None:
    header = _header(source.head_text)
    sized = [name for name in header if name in COUNTS]
    timed = [name for name in header if any(word in name.lower() for word in TIMES) or name.lower() == "time"]
    marks = {"nid", "profile", "mpi.world.size", "jobsize"} & set(header)
    if sized and timed and marks and any(name in header for name in REGION):
        return f"a CSV with regions, {timed[0]} and {sized[0]}"
    return None


def _header(text: str) -> list[str]:
    first = text.lstrip("\ufeff").partition("\n")[0].rstrip("\r")[:20_000]
    try:
        return [name.strip() for name in next(csv_rows([first]), [])]
    except FormatError:
        return []


def read(source: Source, wishes: Wishes) -> Reading:
    lines = [line[:20_000] for line in source.text.splitlines() if line.strip()]
    header = _header(source.head_text)
    region = next(name for name in REGION if name in header)
    metrics = [name for name in header if _meaning(name) is not None]
    points = [
        point
        for cells in csv_rows(lines[1:], subject=source.name)
        for point in _points(dict(zip(header, cells, strict=False)), region, metrics)
    ]
    return Reading(points=bounded(points, source.name), setup=Treatment.UNKNOWN, provenance=Provenance(tool="Caliper"))


def _meaning(name: str) -> float | None:
    """Factor to seconds of a column of times; None for every other column."""
    if any(word in name.lower() for word in TIMES):
        return 1.0
    meaning = meaning_of(name)
    return meaning.factor if meaning is not None and meaning.quantity is Quantity.SECONDS else None


def _points(row: dict[str, str], region: str, metrics: list[str]) -> list[Point]:
    fields: dict[str, Any] = {key: count for key in COUNTS if (count := as_count(row.get(key)))}
    name = (row.get(region) or "").strip()
    return [
        Point(values=(value * (_meaning(metric) or 1.0),), series=name, name=name, metric=metric, fields=fields)
        for metric in metrics
        if (value := as_float(row.get(metric))) is not None
    ]


READER = Reader("caliper", "Caliper or Thicket CSV", look, read)
