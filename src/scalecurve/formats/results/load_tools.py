"""Load tests as scaling studies: good answers per second, or a percentile of the latency, against clients or rate.

K is the number of clients where the tool prints it (wrk, ab, autocannon, k6, locust's history), the rate sent where the
load is open (vegeta), and comes from the file's name (--k-from) where the output says neither (hey, oha).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from scalecurve.findings import Finding, warning
from scalecurve.formats.columns import as_count
from scalecurve.formats.latencies import Records, load_tests
from scalecurve.formats.reading import Point, Reader, Reading, ReadOptions, bounded
from scalecurve.formats.rows import pattern, row_of
from scalecurve.formats.source import Source
from scalecurve.study import Quantity, Treatment
from scalecurve.study.latency_record import LatencyRecord

SHARES = (0.5, 0.9, 0.95, 0.99)
RATE = "requests/s"


def as_study(reader: Reader[Records]) -> Reader[Reading]:
    """The reader of a load test as a reader of study results."""

    tells = row_of(reader.name).get("tells")

    def read(source: Source, options: ReadOptions) -> Reading:
        records = reader.read(source, options)
        told = " ".join(match[1] for match in pattern(tells).finditer(source.text)) if tells else ""
        points = [point for record in records for point in _points(record, source, {"test": told} if told else {})]
        clients = any(record.connections for record in records)
        return Reading(
            points=bounded(points),
            k_origin="the number of clients" if clients else "the rate sent",
            k_unit="clients" if clients else "requests/s" if points and points[0].k else None,
            warmup=Treatment.INCLUDED,
            setup=Treatment.EXCLUDED,
            provenance=replace(records[0].provenance, source=None),
            assumed=("one test is one observation",),
            findings=tuple(finding for record in records for finding in (*_failed(record), *record.findings)),
        )

    return Reader(reader.name, reader.title, reader.recognise, read, reader.note, reader.begins, reader.ends)


def _failed(record: LatencyRecord) -> list[Finding]:
    if not record.errors:
        return []
    text = f"{record.errors} of {record.n} requests failed ({record.name}): they are not in the rate"
    remedy = "find out why; a server that refuses work answers fast"
    return [warning("failed-requests", text, remedy=remedy, errors=record.errors)]


def _points(record: LatencyRecord, source: Source, fields: dict[str, str]) -> list[Point]:
    rate = None if record.intended_rate is None else as_count(round(record.intended_rate))
    k = record.connections or rate
    percentiles, histogram = dict(record.stated), record.histogram
    if histogram is not None:
        values, counts = histogram.nonzero()
        places = np.searchsorted(np.cumsum(counts), [share * histogram.n for share in SHARES])
        percentiles = {
            share: float(values[min(place, len(values) - 1)]) for share, place in zip(SHARES, places, strict=True)
        }
        percentiles = {share: value for share, value in percentiles.items() if value >= histogram.resolution}
    points = [
        Point(values=(seconds,), name=source.name, metric=f"p{100 * share:g}", k=k, fields=fields)
        for share, seconds in percentiles.items()
        if share in SHARES and seconds > 0
    ]
    if record.n and record.seconds:
        good = max(0, record.n - (record.errors or 0)) / record.seconds
        points.append(
            Point(
                values=(good,),
                name=source.name,
                metric=RATE,
                quantity=Quantity.THROUGHPUT,
                unit=RATE,
                k=k,
                fields=fields,
                main=True,
            )
        )
    return points


def reader_of(name: str) -> Reader[Reading]:
    """The reader of a load test's row as a reader of study results."""
    return as_study(load_tests.reader_of(name))
