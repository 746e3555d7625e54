"""Access logs of web servers that record the request's time, as lines of text or of JSON.

Text: nginx with $request_time (seconds, three decimals) anywhere behind the status, bare, quoted or named
(rt=, request_time=); Apache with %D (microseconds) or %T (seconds), which look alike: whole numbers need the unit
stated; Traefik with 12ms.  JSON: one object a line, with request_time, duration_ms, response_time_us ... as a key;
a key without a unit is taken as its server writes it (nginx seconds, Caddy seconds, Traefik nanoseconds, Envoy
milliseconds) or must be stated.  Lines without a time are counted.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from scalecurve.errors import Fault, FormatError
from scalecurve.findings import Finding, info, warning
from scalecurve.formats.columns import as_float
from scalecurve.formats.latencies import UNITS, Records
from scalecurve.formats.reading import Reader, ReadOptions
from scalecurve.formats.source import Source
from scalecurve.study import Provenance
from scalecurve.study.latency_record import Histogram, LatencyRecord

SERVER_ERROR = 500
_Match = re.Match[str] | None
_REQUEST = re.compile(r'\[(?P<time>[^\]]+)\] "(?:[A-Z]+ \S+[^"]*|-|[^"]*)" (?P<status>\d{3}) ')
_NAMED = re.compile(
    r'(?:^|[\s,;|])(?:rt|request_time|response_time|duration|time_taken)[=:]"?(?P<value>-|\d+(?:\.\d+)?)'
    r'(?P<unit>us|µs|ms|s)?"?(?=$|[\s,;|])'
)
_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|(\S+)')
_TIME = re.compile(r"(?P<value>\d+(?:\.(?P<decimals>\d+))?)(?P<unit>ns|us|µs|ms|s)?$")
_KEY = re.compile(
    r"(?:request_?time|response_?time|duration|latency|elapsed|time_?taken)(?:_?(?P<unit>ns|us|ms|s|sec|seconds))?$"
)
# Keys without a unit in their name, told by the keys beside them: the server, and seconds per unit.
Server = tuple[frozenset[str], str, float]
SERVERS: tuple[Server, ...] = (
    (frozenset({"requestline", "duration"}), "Traefik", 1e-9),
    (frozenset({"downstreamstatus", "duration"}), "Traefik", 1e-9),
    (frozenset({"response_flags", "duration"}), "Envoy", 1e-3),
    (frozenset({"logger", "duration"}), "Caddy", 1.0),
    (frozenset({"request_time"}), "nginx", 1.0),
)
STATUS_KEYS = ("status", "status_code", "response_code", "downstreamstatus")
MOMENT_KEYS = ("time_iso8601", "time", "ts", "timestamp", "@timestamp", "start_time", "startutc", "msec", "time_local")


@dataclass
class _Requests:
    """The requests of a log that carry their time, in seconds."""

    good: list[float] = field(default_factory=list)
    failed: list[float] = field(default_factory=list)
    moments: list[datetime] = field(default_factory=list)
    skipped: int = 0
    resolution: float | None = None
    findings: list[Finding] = field(default_factory=list)

    def add(self, seconds: float, status: int | None, moment: datetime | None) -> None:
        (self.failed if status is not None and status >= SERVER_ERROR else self.good).append(seconds)
        if moment is not None:
            self.moments.append(moment)


def recognise(source: Source) -> str | None:
    lines = source.head_text.lstrip().splitlines()[:5]
    return "lines of an access log" if any(_REQUEST.search(line) for line in lines) else None


def read(source: Source, options: ReadOptions) -> Records:
    """Every request that carries its time; a log in which none does is refused."""
    requests = _Requests()
    lines = [line for line in source.text.splitlines() if line.strip()]
    entries = [(line, match) for line in lines if (match := _REQUEST.search(line)) is not None]
    rests = [line[match.end() :] for line, match in entries]
    times_of = _named_times if any(map(_NAMED.search, rests)) else _unnamed_times
    times = times_of(rests, requests, options.unit)
    for (_, match), seconds in zip(entries, times, strict=True):
        if seconds is None:
            continue
        try:
            moment = datetime.strptime(match["time"], "%d/%b/%Y:%H:%M:%S %z")
        except ValueError as problem:
            raise FormatError(f"the time of a request cannot be read: {problem}") from None
        requests.add(seconds, int(match["status"]), moment)
    requests.skipped = len(lines) - sum(seconds is not None for seconds in times)
    return (_record(source, requests, len(lines)),)


def _seconds(value: str, unit: str | None, otherwise: float) -> float | None:
    number = as_float(value)
    return None if number is None else number * UNITS.get(unit or "", otherwise)


def _named_times(rests: list[str], requests: _Requests, unit: float | None) -> list[float | None]:
    """The times behind a name such as `rt=`; those with three decimals are in milliseconds."""
    named = [_NAMED.search(rest) for rest in rests]
    if any(match and len(match["value"].partition(".")[2]) == 3 for match in named):
        requests.resolution = 1e-3
    return [match and _seconds(match["value"], match["unit"], unit or 1.0) for match in named]


def _unnamed_times(rests: list[str], requests: _Requests, unit: float | None) -> list[float | None]:
    """The times of a place behind the status that is not named; the one that is never the shorter, of several.

    $request_time is never below $upstream_response_time, whichever is logged first.
    """
    rows = [[quoted or bare for quoted, bare in _TOKEN.findall(rest)][1:] for rest in rests]  # the first is the size
    columns = itertools.zip_longest(*rows, fillvalue="-")
    matched = ((place, cells, [_TIME.fullmatch(cell) for cell in cells]) for place, cells in enumerate(columns))
    timed = {place: matches for place, cells, matches in matched if _are_times(cells, matches)}
    fine = {place: matches for place, matches in timed.items() if unit is not None or all(map(_is_fine, matches))}
    if timed and not fine:
        remedy = "Apache's %D is --unit us, %T is --unit s"
        raise FormatError(Fault("a whole number, or one of few decimals, may be any unit", remedy=remedy))
    if not fine:
        return [None] * len(rests)
    if unit in (None, 1.0) and any(map(_is_in_milliseconds, itertools.chain(*fine.values()))):
        requests.resolution = 1e-3
    places = {
        place: [match and _seconds(match["value"], match["unit"], unit or 1.0) for match in matches]
        for place, matches in fine.items()
    }
    return _longest(places, requests)


def _longest(places: dict[int, list[float | None]], requests: _Requests) -> list[float | None]:
    """The times of the place that is never below another."""
    longest = [place for place, times in places.items() if all(_never_below(times, other) for other in places.values())]
    if not longest:
        remedy = "log the time by name: rt=$request_time"
        raise FormatError(Fault(f"{len(places)} fields could be the request's time", remedy=remedy))
    if len(places) > 1:
        text = f"field {longest[0] + 1} behind the size is taken as the request's time: it is never below the others"
        requests.findings.append(info("time-field", text, remedy="log it by name: rt=$request_time"))
    return places[longest[0]]


def _are_times(cells: Sequence[str], matches: Sequence[_Match]) -> bool:
    """Whether every cell is a time or empty, and one is a time."""
    return any(matches) and all(match or cell in ("-", "") for match, cell in zip(matches, cells, strict=True))


def _is_fine(match: _Match) -> bool:
    """Whether a time says its unit, as its decimals do too: servers write three or more in seconds."""
    return match is None or bool(match["unit"]) or len(match["decimals"] or "") >= 3


def _is_in_milliseconds(match: _Match) -> bool:
    return match is not None and not match["unit"] and len(match["decimals"] or "") == 3


def _never_below(times: Sequence[float | None], other: Sequence[float | None]) -> bool:
    return all(b is None or (a is not None and a >= b) for a, b in zip(times, other, strict=True))


def recognise_json(source: Source) -> str | None:
    rows = [row for row in (source.json_lines or [])[:5] if isinstance(row, dict)]
    keys = {key.lower() for row in rows for key in row}
    has_time = any(_KEY.match(key) for key in keys)
    return "JSON lines with a status and a request's time" if has_time and keys & {*STATUS_KEYS} else None


def read_json(source: Source, options: ReadOptions) -> Records:
    """One object a line; the unit is in the key, known of the server, or stated."""
    rows = [{key.lower(): value for key, value in row.items()} for row in source.json_lines or []]
    keys = frozenset[str]().union(*rows[:100])
    requests = _Requests()
    server = next((entry for entry in SERVERS if entry[0] <= keys), None)
    name, said = _time_key(keys, server)
    unit = options.unit or said or (server[2] if server else None)
    if unit is None:
        raise FormatError(Fault("the unit of the request's time is not stated", value=name, remedy="say --unit ms"))
    if server is not None and options.unit is None and said is None:
        requests.findings.append(info("unit-taken", f"`{name}` is in {unit:g} s, as {server[1]} writes it"))
        requests.resolution = {"nginx": 1e-3, "Envoy": 1e-3}.get(server[1])
    for row in rows:
        seconds = as_float(row.get(name))
        if seconds is None or seconds < 0:
            requests.skipped += 1
            continue
        requests.add(seconds * unit, _status(row), _moment(row))
    return (_record(source, requests, len(rows)),)


def _time_key(keys: frozenset[str], server: Server | None) -> tuple[str, float | None]:
    """The only key of the request's time, of those that say their unit or are the server's; and that unit."""
    units = {key: UNITS.get(match["unit"] or "") for key in keys if (match := _KEY.match(key))}
    certain = [key for key, unit in units.items() if unit is not None]
    if not certain and server is not None:
        certain = ["request_time" if server[1] == "nginx" else "duration"]
    if len(certain or units) != 1:
        listed = ", ".join(sorted(certain or units))
        raise FormatError(Fault("several keys could be the request's time", value=listed, remedy="log one of them"))
    (name,) = certain or units
    return name, units.get(name)


def _status(row: dict[str, Any]) -> int | None:
    status = next((number for key in STATUS_KEYS if (number := as_float(row.get(key))) is not None), None)
    return None if status is None else int(status)


def _moment(row: dict[str, Any]) -> datetime | None:
    """When the request was logged: ISO 8601, the common log format, or seconds since 1970."""
    value = next((row[key] for key in MOMENT_KEYS if row.get(key) not in (None, "")), None)
    seconds = as_float(value)
    try:
        if seconds is not None:
            return datetime.fromtimestamp(seconds / 1e3 if seconds > 1e11 else seconds, UTC)
        text = str(value)
        if "/" in text:
            return datetime.strptime(text, "%d/%b/%Y:%H:%M:%S %z")
        moment = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text))
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _record(source: Source, requests: _Requests, lines: int) -> LatencyRecord:
    samples = [*requests.good, *requests.failed]
    if not samples:
        remedy = "log the time: nginx 'rt=$request_time', Apache %D (then say --unit us)"
        raise FormatError(Fault("no request carries its time", remedy=remedy))
    if requests.skipped:
        text = f"{requests.skipped:,} of {lines:,} lines carry no time and were left out"
        evidence = {"skipped": requests.skipped, "lines": lines}
        requests.findings.append(warning("skipped-lines", text, remedy="log the time of every request", **evidence))
    moments = requests.moments
    return LatencyRecord(
        name=source.stem,
        histogram=Histogram.of(samples, resolution=requests.resolution),
        good=Histogram.of(requests.good, resolution=requests.resolution) if requests.good else Histogram.empty(),
        seconds=(max(moments) - min(moments)).total_seconds() or None if moments else None,
        errors=len(requests.failed),
        provenance=Provenance(source=source.file_name, tool="access log"),
        findings=tuple(requests.findings),
    )


READER = Reader("access-log", "access log", recognise, read)
JSON = Reader("access-log-json", "access log in JSON", recognise_json, read_json)
