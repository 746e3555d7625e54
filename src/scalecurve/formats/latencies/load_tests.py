"""HTTP load generators as they print or export: one engine for reports, by the rows `record` of readers.toml.

wrk, hey, oha, ab, autocannon, vegeta, bombardier, locust and the summaries of k6 state percentiles only; wrk2's
spectrum and .hgrm are histograms; `hey -o csv`, k6 `--out json` and `--out csv` list every request.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from scalecurve.errors import Fault, FormatError
from scalecurve.findings import Finding, info, warning
from scalecurve.formats.columns import TIME_UNITS, as_count, as_dict, as_float
from scalecurve.formats.latencies import Records
from scalecurve.formats.reading import MOST_FAULTS, Reader, ReadOptions
from scalecurve.formats.rows import Row, pattern, plain_texts, reader, row_of
from scalecurve.formats.source import Source
from scalecurve.study import Provenance
from scalecurve.study.latency_record import Histogram, LatencyRecord
from scalecurve.units import parse_seconds

SECONDS_OFF = 0.05  # more than rounding: the rate is of something else than the count
MILLI = 1e-3
_HEADS = re.compile(r"^([A-Z][\w ]*?)\s+\[([^\]]*)\]\s+(.*)$", re.MULTILINE)
_HGRM_LINE = re.compile(r"^\s*([\d.]+)[\s,]+([01]\.\d+)[\s,]+(\d+)(?:[\s,]+(?:[\d.]+|inf|Infinity))?\s*$", re.MULTILINE)
_DURATION = "http_req_duration"
Read = Callable[[Source, ReadOptions], Records]


def report(name: str) -> Reader[Records]:
    """The reader of one tool's report."""

    def read(source: Source, options: ReadOptions) -> Records:
        row = row_of(name)
        text = _headed(plain_texts(source)[0])
        found = next((parts for spec in row["record"] if (parts := _parts(spec, text))), None)
        if found is None:
            raise FormatError(Fault(row.get("empty", "the report is not complete"), remedy=row.get("remedy")))
        spec, values = found
        measured = values["histogram"] is not None
        tool = "wrk2" if measured else row.get("provenance", {}).get("tool", row["title"])
        values = {"name": source.stem, "intended_rate": options.rate} | values
        record = LatencyRecord(
            open_loop=row.get("open", False),
            provenance=_by(tool, source),
            findings=(*([closed_loop(tool)] if row.get("closed") and not measured else []), *_notices(spec, text)),
            **values,
        )
        return (record,)

    return reader(name, read)


def _by(tool: str, source: Source) -> Provenance:
    return Provenance(source=source.file_name, tool=tool)


def closed_loop(tool: str) -> Finding:
    text = f"{tool} waits for each answer before it sends again, so a stall hides the requests that would have waited"
    remedy = "use a constant-rate generator (wrk2, oha -q, k6 arrival rate, scalecurve latency measure)"
    return warning("closed-loop", text, remedy=remedy)


def _headed(text: str) -> str:
    """Lines `Latencies [50, max] 1ms, 2ms` of vegeta as `Latencies.50 = 1ms`; other text as it is."""

    def lines(match: re.Match[str]) -> str:
        if match[2] == "code:count":
            pairs = [pair.split(":", 1) for pair in match[3].split() if ":" in pair]
        else:
            pairs = [list(pair) for pair in zip(match[2].split(", "), match[3].split(", "), strict=False)]
        return "\n".join(f"{match[1]}.{name} = {value.strip()}" for name, value in pairs)

    return _HEADS.sub(lines, text)


def _parts(spec: Row, text: str) -> tuple[Row, dict[str, Any]] | None:
    """What one layout finds in the text; None where it has no latencies, or lacks what it needs."""
    unit = TIME_UNITS[spec.get("unit", "s")]
    histogram = _spectrum(spec, text, unit)
    stated = _shares(spec, text, unit)
    most = _first(spec.get("most", ()), text)
    if most and not stated and histogram is None:
        stated = {1.0: _seconds(most, unit)}
    numbers: dict[str, Any] = {
        key: _first(spec[key], text) for key in ("name", "rate", "connections", "timeouts", "sent") if key in spec
    }
    numbers["count"] = sum(int(float(number)) for number in _all(spec["count"], text)) or None
    lengths = [_all(spec.get(key, ()), text)[:1] for key in ("seconds", "wait")]
    numbers["seconds"] = sum(_seconds(length[0], unit if "wait" in spec else 1.0) for length in lengths if length)
    if not (stated or histogram) or not all(numbers.get(key) for key in spec["needs"]):
        return None
    numbers["seconds"] = _exact(numbers["seconds"], numbers["count"], as_float(numbers.pop("rate", None)))
    numbers["errors"] = _errors(spec, text, numbers["count"])
    for key in ("connections", "timeouts"):
        numbers[key] = int(numbers[key]) if numbers.get(key) else None
    if "sent" in spec:
        numbers["intended_rate"] = as_float(numbers.pop("sent"))
    return spec, {"stated": stated, "histogram": histogram, **numbers}


def _shares(spec: Row, text: str, unit: float) -> dict[float, float]:
    """The percentiles by share, in seconds."""
    place = pattern(spec["of"]).search(text) if "of" in spec else None
    part = place[1] if place else text
    shares = {}
    for match in pattern(spec["shares"]).finditer(part):
        own = TIME_UNITS.get(match.groupdict().get("unit") or "", unit)
        percent = 100.0 if match["share"] == "max" else float(match["share"].replace("_", "."))
        shares[round(percent / 100, 9)] = _seconds(match["value"], own)
    if "median" in spec and (median := _first(spec["median"], part)):
        shares[0.5] = _seconds(median, unit)
    return dict(sorted(shares.items()))


def _errors(spec: Row, text: str, count: int | None) -> int | None:
    """The answers that were no good: added up, or their share of all."""
    if "failed_share" not in spec:
        return sum(int(number) for find in spec["errors"] for number in _all(find, text))
    share = as_float(_first(spec["failed_share"], text))
    return None if share is None or count is None else round(count * share / (100 if spec.get("percent") else 1))


def _all(finds: Any, text: str) -> list[str]:
    """The first groups of all matches, of the first pattern that has any."""
    patterns = (finds,) if isinstance(finds, str) else finds
    return next((found for find in patterns if (found := [m[1] for m in pattern(find).finditer(text)])), [])


def _first(finds: Any, text: str) -> str | None:
    return next(iter(_all(finds, text)), None)


def _seconds(text: str, unit: float) -> float:
    """A duration with its unit, or a number of units."""
    return parse_seconds(text) if re.search(r"[a-zµ]", text.replace("e", "")) else float(text) * unit


def _exact(seconds: float, count: int | None, rate: float | None) -> float | None:
    """The length of a test by its count and the rate that the tool prints, which has more digits than the seconds."""
    if not count or not rate:
        return seconds or None
    exact = count / rate
    return exact if not seconds or abs(exact - seconds) <= SECONDS_OFF * seconds else seconds


def _spectrum(spec: Row, text: str, unit: float) -> Histogram | None:
    """A printed histogram: values with cumulative counts."""
    rows = (
        [(float(m["value"]), int(m["count"])) for m in pattern(spec["spectrum"]).finditer(text)]
        if "spectrum" in spec
        else []
    )
    return _cumulative(rows, unit) if rows else None


def _cumulative(rows: list[tuple[float, int]], unit: float) -> Histogram:
    counts = np.maximum(np.diff(np.array([0, *(count for _, count in rows)])), 0)
    return Histogram.from_counts([value * unit for value, _ in rows], counts)


def _notices(spec: Row, text: str) -> Iterator[Finding]:
    notice = spec.get("notice")
    if notice and (number := _first(notice["find"], text)):
        yield info(notice["code"], notice["message"].format(number), remedy=notice["remedy"])


@dataclass
class Requests:
    """Every request of a test, in seconds; `moments` are when they began or ended, `users` the most clients."""

    samples: list[float] = field(default_factory=list)
    good: list[float] = field(default_factory=list)
    moments: list[float] = field(default_factory=list)
    users: int = 0
    faults: list[Fault] = field(default_factory=list)

    def add(self, seconds: float, moment: float, *, good: bool) -> None:
        self.samples.append(seconds)
        self.moments.append(moment)
        if good:
            self.good.append(seconds)

    def records(self, source: Source, tool: str, *, begin: float | None = None, closed: bool = False) -> Records:
        """The record of these requests; every damaged row is a fault."""
        if self.faults or not self.samples:
            raise FormatError(self.faults[:MOST_FAULTS] or [Fault(f"no requests in the file of {tool}")])
        record = LatencyRecord(
            name=source.stem,
            histogram=Histogram.of(self.samples),
            good=Histogram.of(self.good) if self.good else Histogram.empty(),
            seconds=(max(self.moments) - (min(self.moments) if begin is None else begin)) or None,
            errors=len(self.samples) - len(self.good),
            connections=self.users or None,
            provenance=_by(tool, source),
            findings=(closed_loop(tool),) if closed else (),
        )
        return (record,)


def _rows_of(source: Source, requests: Requests) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The rows of a CSV or of JSON Lines with the numbers of their lines."""
    if source.looks_like_json:
        if source.json_lines is None:
            requests.faults.append(Fault("a line is not a JSON object", remedy="the file may be cut short"))
        yield from enumerate(source.json_lines or [], 1)
    else:
        yield from enumerate(csv.DictReader(source.text.lstrip().splitlines()), 2)


def read_hey(source: Source, options: ReadOptions) -> Records:
    """The summary as printed, or the CSV of samples."""
    if not source.head_text.lstrip().startswith("response-time,"):
        return _HEY_SUMMARY.read(source, options)
    requests = Requests()
    for number, row in _rows_of(source, requests):
        seconds, offset, code = (as_float(row.get(key)) for key in ("response-time", "offset", "status-code"))
        if seconds is None or offset is None or code is None:
            requests.faults.append(Fault("the row is damaged", where=f"line {number}", value=str(row)[:80]))
        else:
            requests.add(seconds, offset + seconds, good=code < 400)
    return requests.records(source, "hey", begin=0.0, closed=True)


def read_k6(source: Source, options: ReadOptions) -> Records:
    """The samples of `--out json`, else the percentiles of `--summary-export`; k6 counts milliseconds."""
    first = source.text.lstrip().partition("\n")[0]
    if '"type"' not in first or '"metric"' not in first:
        return _K6_SUMMARY.read(source, options)
    requests = Requests()
    for number, row in _rows_of(source, requests):
        data = as_dict(row.get("data"))
        if row.get("type") != "Point" or row.get("metric") not in ("vus", _DURATION):
            continue
        expected = str(as_dict(data.get("tags")).get("expected_response", "true")) != "false"
        _add_k6(requests, number, row["metric"], data.get("value"), _moment(data.get("time")), good=expected)
    return requests.records(source, "k6")


def read_k6_csv(source: Source, options: ReadOptions) -> Records:
    requests = Requests()
    for number, row in _rows_of(source, requests):
        expected = row.get("expected_response") != "false" and not row.get("error")
        moment = as_float(row.get("timestamp"))
        _add_k6(requests, number, row["metric_name"], row.get("metric_value"), moment, good=expected)
    return requests.records(source, "k6")


def _add_k6(requests: Requests, number: int, metric: str, value: Any, moment: float | None, *, good: bool) -> None:
    amount = as_float(value)
    if amount is None or moment is None:
        requests.faults.append(Fault("the row is damaged", where=f"line {number}"))
    elif metric == "vus":
        requests.users = max(requests.users, as_count(amount) or 0)
    elif metric == _DURATION:
        requests.add(amount * MILLI, moment, good=good)


def _moment(value: Any) -> float | None:
    """Seconds since 1970; Go writes nanoseconds, Python reads microseconds."""
    try:
        return datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", str(value))).timestamp()
    except (ValueError, OverflowError):
        return None


def read_locust(source: Source, options: ReadOptions) -> Records:
    """The row Aggregated of `--csv`: _stats.csv, or _stats_history.csv which also has the number of users."""
    rows = [row for row in csv.DictReader(source.text.splitlines()) if row.get("Name") in ("Aggregated", "Total")]
    last = rows[-1] if rows else {}
    prefix = "Total " if "User Count" in last else ""
    count, failures = as_float(last.get(f"{prefix}Request Count")), as_float(last.get(f"{prefix}Failure Count"))
    percentiles = {
        float(name[:-1]) / 100: number * MILLI
        for name, value in last.items()
        if name and re.fullmatch(r"[\d.]+%", name) and (number := as_float(value)) is not None
    }
    if not percentiles or not count or failures is None:
        row = row_of("locust")
        raise FormatError(Fault(row["empty"], remedy=row["remedy"]))
    moments = _numbers(rows, "Timestamp") if prefix else []
    rate = as_float(last.get("Requests/s"))
    record = LatencyRecord(
        name=source.stem,
        stated=percentiles,
        count=int(count),
        seconds=(max(moments) - min(moments) if moments else count / rate if rate else None) or None,
        errors=int(failures),
        connections=as_count(max(_numbers(rows, "User Count"), default=0)),
        provenance=_by("locust", source),
        findings=(closed_loop("locust"),),
    )
    return (record,)


def _numbers(rows: Iterable[Mapping[str, Any]], name: str) -> list[float]:
    return [number for row in rows if (number := as_float(row.get(name))) is not None]


def read_hgrm(source: Source, options: ReadOptions) -> Records:
    """HdrHistogram's percentile distribution; its unit is that of whoever wrote it, and must be stated."""
    rows = [(float(value), int(count)) for value, _, count in _HGRM_LINE.findall(source.text)]
    if not rows:
        raise FormatError(Fault("no percentiles below the header; the file may be cut short"))
    largest = f"{rows[-1][0]:g}"
    if options.unit is None:
        remedy = "say --unit ms (wrk2, most Java tools) or --unit us"
        raise FormatError(Fault("an .hgrm file does not say the unit of its values", value=largest, remedy=remedy))
    total = re.search(r"Total count\s*=\s*(\d+)", source.text)
    if total is not None and int(total[1]) != rows[-1][1]:
        value = f"{rows[-1][1]} of {total[1]}"
        raise FormatError(Fault("the percentiles do not reach the total count: the file is cut short", value=value))
    histogram = _cumulative(rows, options.unit)
    return (LatencyRecord(name=source.stem, histogram=histogram, provenance=_by("HdrHistogram", source)),)


_HEY_SUMMARY, _K6_SUMMARY = report("hey"), report("k6")
_WITH_CODE: dict[str, Read] = {
    "hey": read_hey,
    "k6": read_k6,
    "k6-csv": read_k6_csv,
    "locust": read_locust,
    "hgrm": read_hgrm,
}


def reader_of(name: str) -> Reader[Records]:
    """The reader of that row; most need no code."""
    return reader(name, _WITH_CODE[name]) if name in _WITH_CODE else report(name)
