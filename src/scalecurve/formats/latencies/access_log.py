"""Access logs of web servers that record the request's time.

nginx with $request_time (seconds) as the last field or as rt=/request_time=; Apache with %D (microseconds) or %T
(seconds) as the last field, which look alike: whole numbers there need the unit stated.
"""

from __future__ import annotations

import re
from datetime import datetime

from scalecurve.errors import Fault, FormatError
from scalecurve.formats.latencies import UNITS, Records
from scalecurve.formats.reading import Reader, ReadOptions
from scalecurve.formats.source import Source
from scalecurve.study import Provenance
from scalecurve.study.latency_record import Histogram, LatencyRecord

_REQUEST = re.compile(r'\[(?P<time>[^\]]+)\] "(?:[A-Z]+ \S+[^"]*|-)" (?P<status>\d{3}) ')
_NAMED = re.compile(r"\b(?:rt|request_time|duration)=(?P<value>\d+(?:\.\d+)?)(?P<unit>us|ms|s)?\b")
_LAST = re.compile(r"\s(?P<value>\d+(?:\.\d+)?)\s*$")


def recognise(source: Source) -> str | None:
    lines = source.head_text.lstrip().splitlines()[:5]
    return "lines of an access log" if any(_REQUEST.search(line) for line in lines) else None


def read(source: Source, options: ReadOptions) -> Records:
    """Every request that carries its time; a log in which none does is refused."""
    samples: list[float] = []
    times: list[datetime] = []
    errors = 0
    for line in source.text.splitlines():
        request = _REQUEST.search(line)
        if request is None:
            continue
        rest = line[request.end() :]
        named, last = _NAMED.search(rest), _LAST.search(rest)
        if named:
            seconds = float(named["value"]) * (UNITS.get(named["unit"] or "") or options.unit or 1.0)
        elif last is None or len(rest.split()) < 2:  # the size alone is no time
            continue
        elif "." not in last["value"] and options.unit is None:
            remedy = "Apache's %D is --unit us, %T is --unit s"
            raise FormatError(Fault("a whole number at the end may be any unit", remedy=remedy))
        else:
            seconds = float(last["value"]) * (options.unit or 1.0)
        try:
            times.append(datetime.strptime(request["time"], "%d/%b/%Y:%H:%M:%S %z"))
        except ValueError as problem:
            raise FormatError(f"the time of a request cannot be read: {problem}") from None
        samples.append(seconds)
        errors += int(request["status"]) >= 500
    if not samples:
        remedy = "log the time: nginx 'rt=$request_time', Apache %D (then say --unit us)"
        raise FormatError(Fault("no request carries its time", remedy=remedy))
    record = LatencyRecord(
        name=source.stem,
        histogram=Histogram.of(samples),
        seconds=(max(times) - min(times)).total_seconds() or None,
        errors=errors,
        provenance=Provenance(source=source.file_name, tool="access log"),
    )
    return (record,)


READER = Reader("access-log", "access log", recognise, read)
