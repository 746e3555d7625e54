"""hey: its summary as printed (percentiles only), or the samples of `hey -o csv`."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from scalecurve.errors import Fault, FormatError
from scalecurve.formats.text import read_text
from scalecurve.formats.wrk import closed_loop
from scalecurve.study.latency_record import Histogram, LatencyRecord
from scalecurve.study.provenance import Provenance

_TOTAL = re.compile(r"^\s*Total:\s+(?P<seconds>[\d.]+) secs", re.MULTILINE)
_LINE = re.compile(r"^\s*(?P<share>\d+)%+ in (?P<value>[\d.]+) secs", re.MULTILINE)
_STATUS = re.compile(r"^\s*\[(?P<code>\d{3})\]\s+(?P<count>\d+) responses", re.MULTILINE)
_FAILED = re.compile(r"^\s*\[(?P<count>\d+)\]\s+\S", re.MULTILINE)
CSV_HEADER = "response-time,DNS+dialup"


def read_hey(path: Path) -> LatencyRecord:
    """A summary, or the CSV of samples."""
    text = read_text(path)
    return _from_csv(text, path) if text.startswith(CSV_HEADER) else _from_summary(text, path)


def _from_summary(text: str, path: Path) -> LatencyRecord:
    total = _TOTAL.search(text)
    stated = {int(m["share"]) / 100: float(m["value"]) for m in _LINE.finditer(text)}
    if total is None or "Status code distribution" not in text:
        raise FormatError(Fault("not the complete summary of hey; it may be truncated"), subject=str(path))
    codes = {int(m["code"]): int(m["count"]) for m in _STATUS.finditer(text)}
    if not stated or not codes:
        raise FormatError(Fault("no request succeeded", seen=text.strip()[-160:]), subject=str(path))
    _, _, tail = text.partition("Error distribution:")
    failed = sum(int(m["count"]) for m in _FAILED.finditer(tail))
    return LatencyRecord(
        name=path.stem,
        stated=stated,
        count=sum(codes.values()),
        seconds=float(total["seconds"]),
        errors=failed + sum(count for code, count in codes.items() if code >= 400),
        provenance=Provenance(source=path.name, tool="hey"),
        findings=(closed_loop("hey"),),
    )


def _from_csv(text: str, path: Path) -> LatencyRecord:
    faults: list[Fault] = []
    samples: list[float] = []
    ends: list[float] = []
    errors = 0
    for number, row in enumerate(csv.DictReader(text.splitlines()), 2):
        try:
            seconds = float(row["response-time"])
            samples.append(seconds)
            ends.append(float(row["offset"]) + seconds)
            errors += int(row["status-code"]) >= 400
        except (TypeError, ValueError):
            faults.append(Fault("the row is damaged", where=f"line {number}", seen=str(row)[:80]))
    if faults or not samples:
        raise FormatError(faults[:20] or [Fault("no samples below the header")], subject=str(path))
    return LatencyRecord(
        name=path.stem,
        histogram=Histogram.of(samples),
        seconds=max(ends),
        errors=errors,
        provenance=Provenance(source=path.name, tool="hey"),
        findings=(closed_loop("hey"),),
    )
