"""wrk and wrk2 output, as printed.  wrk states percentiles only; wrk2's detailed spectrum is a histogram."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from scalecurve.errors import Fault, FormatError
from scalecurve.findings import Finding, warning
from scalecurve.formats.text import read_text
from scalecurve.study.latency_record import Histogram, LatencyRecord
from scalecurve.study.provenance import Provenance
from scalecurve.units import parse_seconds

_TARGET = re.compile(r"Running .*? test @ (?P<url>\S+)")
_PLACES = re.compile(r"(?P<threads>\d+) threads? and (?P<connections>\d+) connections?")
_LINE = re.compile(r"^\s*(?P<share>\d+(?:\.\d+)?)%\s+(?P<value>[\d.]+)(?P<unit>us|ms|s|m|h)\s*$", re.MULTILINE)
_TOTAL = re.compile(r"(?P<count>\d+) requests in (?P<time>[\d.]+(?:us|ms|s|m|h))")
_SPECTRUM = re.compile(
    r"^\s*(?P<value>[\d.]+)\s+(?P<share>[01]\.\d+)\s+(?P<count>\d+)\s+(?:[\d.]+|inf)\s*$", re.MULTILINE
)
_SOCKET = re.compile(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)")
_STATUS = re.compile(r"Non-2xx or 3xx responses: (\d+)")


def read_wrk(path: Path, *, rate: float | None = None) -> LatencyRecord:
    """One run; wrk2 is told by its spectrum.  `rate` is the intended rate (wrk2 -R), which it does not print."""
    text = read_text(path)
    total, target = _TOTAL.search(text), _TARGET.search(text)
    if target is None or total is None:
        hint = "expected 'Running ... test @ URL' and '... requests in ...'; run wrk with --latency"
        raise FormatError(Fault("not the complete output of wrk; it may be truncated", remedy=hint), subject=str(path))
    places, histogram = _PLACES.search(text), _histogram(text)
    stated = {round(float(m["share"]) / 100, 9): parse_seconds(m["value"] + m["unit"]) for m in _LINE.finditer(text)}
    if not stated and histogram is None:
        raise FormatError(Fault("no latency distribution", remedy="run wrk with --latency"), subject=str(path))
    return LatencyRecord(
        name=target["url"],
        histogram=histogram,
        stated=stated,
        count=int(total["count"]),
        seconds=parse_seconds(total["time"]),
        errors=_errors(text),
        intended_rate=rate,
        connections=int(places["connections"]) if places else None,
        provenance=Provenance(source=path.name, tool="wrk2" if histogram else "wrk"),
        findings=() if histogram else (closed_loop("wrk"),),
    )


def closed_loop(tool: str) -> Finding:
    text = f"{tool} waits for each answer before it sends again, so a stall hides the requests that would have waited"
    hint = "use a constant-rate generator (wrk2, oha -q, k6 arrival rate, scalecurve latency measure)"
    return warning("closed-loop", text, remedy=hint)


def _histogram(text: str) -> Histogram | None:
    """Values in milliseconds with cumulative counts."""
    rows = [(float(m["value"]) / 1e3, int(m["count"])) for m in _SPECTRUM.finditer(text)]
    if not rows:
        return None
    counts = np.diff(np.array([0, *(count for _, count in rows)]))
    return Histogram.from_counts([value for value, _ in rows], np.maximum(counts, 0))


def _errors(text: str) -> int:
    socket, status = _SOCKET.search(text), _STATUS.search(text)
    return sum(int(number) for number in (socket.groups() if socket else ())) + (int(status[1]) if status else 0)
