"""OSU, IMB and nccl-tests as scaling studies: the time of one collective at one size, over the number of ranks.

The files themselves are read by the readers of message sweeps; here each operation and size becomes a series.  OSU does
not print the number of ranks, so that it must come from the file's name (--k-from).  rccl-tests writes JSON lines.
Environment dumps (nccl-tests -J) are never carried on.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, FormatError
from scalecurve.findings import Finding, error
from scalecurve.formats.coercion import as_count, as_float, as_text
from scalecurve.formats.imb import read_imb
from scalecurve.formats.nccl_tests import read_nccl_tests
from scalecurve.formats.osu import read_osu
from scalecurve.formats.reading import Point, Reader, Reading, bounded
from scalecurve.formats.source import Source
from scalecurve.formats.wishes import Wishes
from scalecurve.study import Provenance, Treatment
from scalecurve.study.message_sweep import MessageSweep

MICRO = 1e-6
UNKNOWN_RANKS = 1
MOST_BYTES = 2 * 1024 * 1024


def look_osu(source: Source) -> str | None:
    return "the title of an OSU micro-benchmark" if re.search(r"^# OSU MPI", source.head_text, re.MULTILINE) else None


def look_imb(source: Source) -> str | None:
    marks = ("# Benchmarking", "#processes", "#bytes")
    return "blocks of the Intel MPI Benchmarks" if all(mark in source.head_text for mark in marks) else None


def look_nccl(source: Source) -> str | None:
    if {"nccl_version", "results", "devices"} <= source.keys or {"config", "results", "devices"} <= source.keys:
        return "JSON of nccl-tests -J (its environment dump is not read)"
    head = source.head_text
    if re.search(r"^#\s+nThread\s+\d+\s+nGpus", head, re.MULTILINE) or (
        "algbw" in head and "busbw" in head and "#wrong" in head
    ):
        return "the columns of nccl-tests"
    return None


def look_rccl(source: Source) -> str | None:
    first = source.head_text.lstrip().partition("\n")[0]
    return (
        "JSON lines with algBw and busBw" if '"algBw"' in first and '"busBw"' in first and source.json_lines else None
    )


def read_osu_study(source: Source, wishes: Wishes) -> Reading:
    sweep = read_osu(_path(source), ranks=UNKNOWN_RANKS)
    return _reading(sweep, source, ranks_known=False)


def read_imb_study(source: Source, wishes: Wishes) -> Reading:
    return _reading(read_imb(_path(source)), source, k_origin="`#processes`")


def read_nccl_study(source: Source, wishes: Wishes) -> Reading:
    return _reading(read_nccl_tests(_path(source)), source, k_origin="the ranks listed")


def read_rccl_study(source: Source, wishes: Wishes) -> Reading:
    rows = [row for row in source.json_lines or [] if row.get("inPlace") in (0, "0", False, None)]
    wrong = sum(str(row.get("#wrong", "0")) not in ("0", "N/A") for row in rows)
    points = [point for row in rows if (point := _rccl_point(row, source)) is not None]
    return Reading(
        points=bounded(points, source.name),
        k_origin="`gpus`",
        k_unit="gpus",
        warmup=Treatment.EXCLUDED,
        setup=Treatment.EXCLUDED,
        provenance=Provenance(tool="rccl-tests"),
        findings=_wrong(wrong),
    )


def _path(source: Source) -> Path:
    if source.path is None:
        raise FormatError(
            Fault("collective timings are read from files", remedy="give the file's path"), subject=source.name
        )
    if len(source.content) > MOST_BYTES:
        hint = f"the limit is {MOST_BYTES} bytes; give the part with the tables"
        raise FormatError(Fault("too large for the output of such a benchmark", remedy=hint), subject=source.name)
    return source.path


def _reading(sweep: MessageSweep, source: Source, *, ranks_known: bool = True, k_origin: str | None = None) -> Reading:
    points = [
        Point(
            values=(timing.seconds,),
            series=f"{timing.operation} {timing.message:g} B",
            name=source.name,
            metric="latency",
            k=timing.ranks if ranks_known else None,
            fields={"ranks": timing.ranks} if ranks_known else {},
        )
        for timing in sweep.timings
    ]
    return Reading(
        points=bounded(points, source.name),
        k_origin=k_origin,
        k_unit="ranks",
        warmup=Treatment.EXCLUDED,
        setup=Treatment.EXCLUDED,
        provenance=sweep.provenance,
        assumed=("the average over iterations of one launch is one observation",),
        missing=("several launches",),
        findings=sweep.findings,
    )


def _rccl_point(row: dict[str, Any], source: Source) -> Point | None:
    size, micros, gpus = as_float(row.get("size")), as_float(row.get("time")), as_count(row.get("gpus"))
    if size is None or micros is None or gpus is None:
        return None
    series = f"{as_text(row.get('name')) or 'collective'} {size:g} B"
    return Point(
        values=(micros * MICRO,), series=series, name=source.name, metric="latency", k=gpus, fields={"gpus": gpus}
    )


def _wrong(count: int) -> tuple[Finding, ...]:
    if not count:
        return ()
    text = f"{count} sizes gave wrong values: these timings measure a broken collective"
    return (error("wrong-results", text, remedy="mend the installation before trusting any of its times"),)


READERS = (
    Reader("osu", "OSU micro-benchmark", look_osu, read_osu_study),
    Reader("imb", "Intel MPI Benchmarks", look_imb, read_imb_study),
    Reader("nccl-tests", "nccl-tests", look_nccl, read_nccl_study),
    Reader("rccl-tests", "rccl-tests", look_rccl, read_rccl_study),
)
