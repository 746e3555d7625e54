"""CSV of Caliper and Thicket: one row per region and profile, metrics such as `Avg time/rank`, metadata as columns.

The number of ranks is `mpi.world.size` or `jobsize`; the regions (`name`) are series.
"""

from __future__ import annotations

from scalecurve.errors import FormatError
from scalecurve.formats.columns import as_float, counts_in, csv_rows, metric_meaning
from scalecurve.formats.reading import Point, Reader, Reading, ReadOptions, bounded
from scalecurve.formats.source import Source
from scalecurve.study import Provenance, Quantity, Treatment

COUNTS = ("mpi.world.size", "jobsize", "numhosts", "omp.num.threads", "mpi_world_size", "num_nodes")
REGION = ("name", "path", "node", "function", "region")
TIMES = ("time/rank", "total time", "time (inc)", "time (exc)", "sum#sum#time.duration", "sum#time.duration")
MARKS = {"nid", "profile", "mpi.world.size", "jobsize"}
MOST_LINE = 20_000


def recognise(source: Source) -> str | None:
    header = _header(source)
    sized = [name for name in header if name in COUNTS]
    timed = [name for name in header if any(word in name.lower() for word in TIMES) or name.lower() == "time"]
    if sized and timed and MARKS & set(header) and set(REGION) & set(header):
        return f"a CSV with regions, {timed[0]} and {sized[0]}"
    return None


def read(source: Source, options: ReadOptions) -> Reading:
    lines = [line[:MOST_LINE] for line in source.text.splitlines() if line.strip()]
    header = _header(source)
    region = next(name for name in REGION if name in header)
    factors: dict[str, float] = {}  # to seconds, for every column of times
    for column in header:
        meaning = metric_meaning(column)
        if any(word in column.lower() for word in TIMES):
            factors[column] = 1.0
        elif meaning is not None and meaning.quantity is Quantity.SECONDS:
            factors[column] = meaning.factor
    points: list[Point] = []
    for cells in csv_rows(lines[1:]):
        row = dict(zip(header, cells, strict=False))
        fields, name = counts_in(row, COUNTS), (row.get(region) or "").strip()
        for metric, factor in factors.items():
            value = as_float(row.get(metric))
            if value is not None:
                points.append(Point(values=(value * factor,), series=name, name=name, metric=metric, fields=fields))
    return Reading(points=bounded(points), setup=Treatment.UNKNOWN, provenance=Provenance(tool="Caliper"))


def _header(source: Source) -> list[str]:
    first = source.head_text.lstrip("\ufeff").partition("\n")[0].rstrip("\r")[:MOST_LINE]
    try:
        return [name.strip() for name in next(csv_rows([first]), [])]
    except FormatError:
        return []


READER = Reader("caliper", "Caliper or Thicket CSV", recognise, read)
