"""Access logs of web servers that record the request's time.

nginx with $request_time (seconds) as the last field or as rt=/request_time=; Apache with %D (microseconds) or %T
(seconds) as the last field, which look alike: whole numbers there need the unit stated.
"""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

from scalecurve.errors import Fault, FormatError
from scalecurve.formats.text import read_lines
from scalecurve.study.latency_record import Histogram, LatencyRecord
from scalecurve.study.provenance import Provenance

_REQUEST = re.compile(r'\[(?P<time>[^\]]+)\] "(?:[A-Z]+ \S+[^"]*|-)" (?P<status>\d{3}) ')
_NAMED = re.compile(r"\b(?:rt|request_time|duration)=(?P<value>\d+(?:\.\d+)?)(?P<unit>us|ms|s)?\b")
_LAST = re.compile(r"\s(?P<value>\d+(?:\.\d+)?)\s*$")
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


def looks_like_access_log(head: str) -> bool:
    return any(_REQUEST.search(line) for line in head.splitlines()[:5])


def read_access_log(path: Path, *, unit: float | None = None) -> LatencyRecord:
    """Every request that carries its time; lines without one are counted and reported when they are all."""
    samples: list[float] = []
    moments: list[datetime] = []
    errors = 0
    for line in read_lines(path):
        request = _REQUEST.search(line)
        if request is None:
            continue
        seconds = _seconds(line[request.end() :], unit, path)
        if seconds is not None:
            samples.append(seconds)
            moments.append(datetime.strptime(request["time"], "%d/%b/%Y:%H:%M:%S %z"))
            errors += int(request["status"]) >= 500
    if not samples:
        hint = "log the time: nginx 'rt=$request_time', Apache %D (then say --unit us)"
        raise FormatError(Fault("no request carries its time", remedy=hint), subject=str(path))
    span = (max(moments) - min(moments)).total_seconds()
    return LatencyRecord(
        name=path.stem,
        histogram=Histogram.of(samples),
        seconds=span or None,
        errors=errors,
        provenance=Provenance(source=path.name, tool="access log"),
    )


def _seconds(rest: str, unit: float | None, path: Path) -> float | None:
    named = _NAMED.search(rest)
    if named:
        return float(named["value"]) * (_UNITS.get(named["unit"] or "") or unit or 1.0)
    last = _LAST.search(rest)
    if last is None or len(rest.split()) < 2:  # the size alone is no time
        return None
    if "." in last["value"]:
        return float(last["value"]) * (unit or 1.0)
    if unit is None:
        hint = "Apache's %D is --unit us, %T is --unit s"
        raise FormatError(Fault("a whole number at the end may be any unit", remedy=hint), subject=str(path))
    return float(last["value"]) * unit
