"""HTTP load generators as they print or export: wrk, wrk2, hey, oha, k6.

wrk, oha and the summaries of hey and k6 state percentiles only; wrk2's detailed spectrum is a histogram; `hey -o csv`
and k6 `--out json` list every request.
"""

from __future__ import annotations

import csv
import json
import re
from datetime import datetime
from typing import Any

import numpy as np

from scalecurve.errors import Fault, FormatError
from scalecurve.findings import Finding, warning
from scalecurve.formats.columns import as_count, as_float
from scalecurve.formats.latencies import Records
from scalecurve.formats.reading import MOST_FAULTS, FormatNote, Reader, ReadOptions
from scalecurve.formats.source import Source
from scalecurve.study import Provenance
from scalecurve.study.latency_record import Histogram, LatencyRecord
from scalecurve.units import parse_seconds

_WRK_TARGET = re.compile(r"Running .*? test @ (?P<url>\S+)")
_WRK_PLACES = re.compile(r"(?P<threads>\d+) threads? and (?P<connections>\d+) connections?")
_WRK_LINE = re.compile(r"^\s*(?P<share>\d+(?:\.\d+)?)%\s+(?P<value>[\d.]+)(?P<unit>us|ms|s|m|h)\s*$", re.MULTILINE)
_WRK_LONGEST = re.compile(r"^\s*Latency\s+\S+\s+\S+\s+(?P<most>[\d.]+(?:us|ms|s|m|h))\s", re.MULTILINE)
_WRK_TOTAL = re.compile(r"(?P<count>\d+) requests in (?P<time>[\d.]+(?:us|ms|s|m|h))")
_WRK_SPECTRUM = re.compile(
    r"^\s*(?P<value>[\d.]+)\s+(?P<share>[01]\.\d+)\s+(?P<count>\d+)\s+(?:[\d.]+|inf)\s*$", re.MULTILINE
)
_WRK_SOCKET = re.compile(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)")
_WRK_STATUS = re.compile(r"Non-2xx or 3xx responses: (\d+)")
_HEY_CSV = "response-time,DNS+dialup"
SECONDS_OFF = 0.05  # more than rounding: the rate is of something else than the count
_PRINTED_RATE = re.compile(r"^\s*Requests(?: per second|/sec):\s+(?P<rate>[\d.]+)", re.MULTILINE)
_HEY_TOTAL = re.compile(r"^\s*Total:\s+(?P<seconds>[\d.]+) secs", re.MULTILINE)
_HEY_LINE = re.compile(r"^\s*(?P<share>\d+)%+ in (?P<value>[\d.]+) secs", re.MULTILINE)
_HEY_STATUS = re.compile(r"^\s*\[(?P<code>\d{3})\]\s+(?P<count>\d+) responses", re.MULTILINE)
_HEY_FAILED = re.compile(r"^\s*\[(?P<count>\d+)\]\s+\S", re.MULTILINE)
_K6_METRIC = "http_req_duration"
_K6_SHARE = re.compile(r"p\((?P<share>[\d.]+)\)")


def exact_seconds(seconds: float, count: int, text: str) -> float | None:
    """The length of a test by its count and the rate that the tool prints, which has more digits than the seconds."""
    match = _PRINTED_RATE.search(text)
    exact = count / float(match["rate"]) if match and float(match["rate"]) > 0 else seconds
    return (exact if abs(exact - seconds) <= SECONDS_OFF * seconds else seconds) or None


def closed_loop(tool: str) -> Finding:
    text = f"{tool} waits for each answer before it sends again, so a stall hides the requests that would have waited"
    remedy = "use a constant-rate generator (wrk2, oha -q, k6 arrival rate, scalecurve latency measure)"
    return warning("closed-loop", text, remedy=remedy)


PRINTED = "Req/Bytes counts sampled"  # by autocannon, below the lines that wrk prints as well


def recognise_wrk(source: Source) -> str | None:
    is_wrk = "Running " in source.head_text and " test @ " in source.head_text and PRINTED not in source.head_text
    return "the lines of wrk" if is_wrk else None


def read_wrk(source: Source, options: ReadOptions) -> Records:
    """One run.  The intended rate (wrk2 -R) is not printed and must be stated."""
    text = source.text
    total, target, places = _WRK_TOTAL.search(text), _WRK_TARGET.search(text), _WRK_PLACES.search(text)
    if target is None or total is None:
        remedy = "expected 'Running ... test @ URL' and '... requests in ...'; run wrk with --latency"
        raise FormatError(Fault("not the complete output of wrk; it may be truncated", remedy=remedy))
    # wrk2's spectrum: values in milliseconds with cumulative counts.
    spectrum = [(float(m["value"]) / 1e3, int(m["count"])) for m in _WRK_SPECTRUM.finditer(text)]
    counts = np.maximum(np.diff(np.array([0, *(count for _, count in spectrum)])), 0)
    histogram = Histogram.from_counts([value for value, _ in spectrum], counts) if spectrum else None
    percentiles = {
        round(float(m["share"]) / 100, 9): parse_seconds(m["value"] + m["unit"]) for m in _WRK_LINE.finditer(text)
    }
    longest = _WRK_LONGEST.search(text)
    if not percentiles and histogram is None and longest is not None:  # run without --latency
        percentiles = {1.0: parse_seconds(longest["most"])}
    if not percentiles and histogram is None:
        raise FormatError(Fault("no latency distribution", remedy="run wrk with --latency"))
    socket, status = _WRK_SOCKET.search(text), _WRK_STATUS.search(text)
    record = LatencyRecord(
        name=target["url"],
        histogram=histogram,
        stated=percentiles,
        count=int(total["count"]),
        seconds=exact_seconds(parse_seconds(total["time"]), int(total["count"]), text),
        errors=sum(int(n) for n in (socket.groups() if socket else ())) + (int(status[1]) if status else 0),
        intended_rate=options.rate,
        connections=int(places["connections"]) if places else None,
        provenance=Provenance(source=source.file_name, tool="wrk2" if histogram else "wrk"),
        findings=() if histogram else (closed_loop("wrk"),),
    )
    return (record,)


def recognise_hey(source: Source) -> str | None:
    if source.head_text.lstrip().startswith(_HEY_CSV):
        return "the header of hey -o csv"
    return "hey's response time histogram" if "Response time histogram:" in source.head_text else None


def read_hey(source: Source, options: ReadOptions) -> Records:
    """The summary as printed, or the CSV of samples."""
    common: dict[str, Any] = {
        "name": source.stem,
        "provenance": Provenance(source=source.file_name, tool="hey"),
        "findings": (closed_loop("hey"),),
    }
    if source.text.lstrip().startswith(_HEY_CSV):
        return (_hey_samples(source, common),)
    text = source.text
    total = _HEY_TOTAL.search(text)
    if total is None or "Status code distribution" not in text:
        raise FormatError("not the complete summary of hey; it may be truncated")
    percentiles = {int(m["share"]) / 100: float(m["value"]) for m in _HEY_LINE.finditer(text)}
    codes = {int(m["code"]): int(m["count"]) for m in _HEY_STATUS.finditer(text)}
    if not percentiles or not codes:
        raise FormatError(Fault("no request succeeded", value=text.strip()[-160:]))
    failed = sum(int(m["count"]) for m in _HEY_FAILED.finditer(text.partition("Error distribution:")[2]))
    errors = failed + sum(count for code, count in codes.items() if code >= 400)
    count = sum(codes.values())
    seconds = exact_seconds(float(total["seconds"]), count, text)
    return (LatencyRecord(stated=percentiles, count=count, seconds=seconds, errors=errors, **common),)


def _hey_samples(source: Source, common: dict[str, Any]) -> LatencyRecord:
    samples: list[float] = []
    ends: list[float] = []
    faults: list[Fault] = []
    errors = 0
    for number, row in enumerate(csv.DictReader(source.text.lstrip().splitlines()), 2):
        try:
            samples.append(float(row["response-time"]))
            ends.append(float(row["offset"]) + samples[-1])
            errors += int(row["status-code"]) >= 400
        except (TypeError, ValueError, KeyError):
            faults.append(Fault("the row is damaged", where=f"line {number}", value=str(row)[:80]))
    if faults or not samples:
        raise FormatError(faults[:MOST_FAULTS] or [Fault("no samples below the header")])
    return LatencyRecord(histogram=Histogram.of(samples), seconds=max(ends), errors=errors, **common)


def recognise_oha(source: Source) -> str | None:
    return "JSON with latencyPercentiles" if '"latencyPercentiles"' in source.head_text else None


def read_oha(source: Source, options: ReadOptions) -> Records:
    """`oha --json` or `--output-format json`, after its documented fields."""
    data = source.required_json()
    try:
        codes: dict[str, Any] = data.get("statusCodeDistribution") or {}
        failed = sum(int(count) for count in (data.get("errorDistribution") or {}).values())
        failed += sum(int(count) for code, count in codes.items() if int(code) >= 400)
        count = sum(int(count) for count in codes.values()) or None
        seconds = float(data["summary"]["total"])
        percentiles = data["latencyPercentiles"].items()
        shares = {round(float(name.lstrip("p")) / 100, 9): float(v) for name, v in percentiles if v is not None}
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise FormatError(
            Fault("not the JSON of oha", value=str(problem), remedy="expected summary and latencyPercentiles")
        ) from None
    provenance = Provenance(source=source.file_name, tool="oha")
    record = LatencyRecord(
        name=source.stem, stated=shares, count=count, seconds=seconds, errors=failed, provenance=provenance
    )
    return (record,)


def recognise_k6(source: Source) -> str | None:
    marks = [mark for mark in (_K6_METRIC, '"metric"') if mark in source.head_text]
    return f"JSON with {marks[0]}" if marks else None


def read_k6(source: Source, options: ReadOptions) -> Records:
    """The samples of `--out json`, else the percentiles of `--summary-export`; k6 counts milliseconds."""
    first = source.text.lstrip().partition("\n")[0]
    if '"type"' in first and '"metric"' in first:
        return (_k6_samples(source),)
    data = source.required_json()
    try:
        metrics = data["metrics"]
        values: dict[str, Any] = metrics[_K6_METRIC].get("values", metrics[_K6_METRIC])
        percentiles = {
            round(float(m["share"]) / 100, 9): float(v) / 1e3
            for k, v in values.items()
            if (m := _K6_SHARE.fullmatch(k))
        }
        if "med" in values:
            percentiles[0.5] = float(values["med"]) / 1e3
        requests = metrics["http_reqs"].get("values", metrics["http_reqs"])
        count, rate = int(requests["count"]), float(requests["rate"])
        users = metrics.get("vus_max") or metrics.get("vus") or {}
        failed = metrics.get("http_req_failed") or {}
        users, failed = users.get("values", users), failed.get("values", failed)
        share = failed.get("rate", failed.get("value"))
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise FormatError(
            Fault("not a summary of k6", value=str(problem), remedy=f"expected metrics.{_K6_METRIC} and http_reqs")
        ) from None
    record = LatencyRecord(
        name=source.stem,
        stated=dict(sorted(percentiles.items())),
        count=count,
        seconds=count / rate if rate > 0 else None,
        errors=None if as_float(share) is None else round(count * float(share)),
        connections=as_count(users.get("max", users.get("value"))),
        provenance=Provenance(source=source.file_name, tool="k6"),
    )
    return (record,)


def _k6_samples(source: Source) -> LatencyRecord:
    samples: list[float] = []
    times: list[datetime] = []
    faults: list[Fault] = []
    good: list[float] = []
    users = 0
    for number, line in enumerate(source.text.splitlines(), 1):
        try:
            point = json.loads(line) if line.strip() else {}
            data = point.get("data", {})
            if point.get("type") == "Point" and point.get("metric") == "vus":
                users = max(users, as_count(data["value"]) or 0)
            if point.get("type") == "Point" and point.get("metric") == _K6_METRIC:
                samples.append(float(data["value"]) / 1e3)
                # Go writes nanoseconds; Python reads microseconds.
                times.append(datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", data["time"])))
                if str((data.get("tags") or {}).get("expected_response", "true")) != "false":
                    good.append(samples[-1])
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            faults.append(Fault(f"the line is damaged: {problem}", where=f"line {number}"))
    if faults or not samples:
        raise FormatError(faults[:MOST_FAULTS] or [Fault(f"no points of {_K6_METRIC}")])
    return LatencyRecord(
        name=source.stem,
        histogram=Histogram.of(samples),
        good=Histogram.of(good) if good else Histogram.empty(),
        seconds=(max(times) - min(times)).total_seconds() or None,
        errors=len(samples) - len(good),
        connections=users or None,
        provenance=Provenance(source=source.file_name, tool="k6"),
    )


RATES = "good answers per second, or a percentile"
WRK = Reader(
    "wrk",
    "wrk or wrk2",
    recognise_wrk,
    read_wrk,
    FormatNote(
        tried="wrk 4.1.0 (Debian), with and without --latency; wrk2 not run, from its documented output",
        real=True,
        k="connections",
        value=RATES,
        keeps="percentiles, errors",
    ),
    begins=re.compile(r"^Running .* test @ ", re.MULTILINE),
)
HEY = Reader(
    "hey",
    "hey",
    recognise_hey,
    read_hey,
    FormatNote(
        tried="0.1.4 (Debian), summary and -o csv",
        real=True,
        k="--k-from: hey does not print it",
        value=RATES,
        keeps="percentiles or every request",
    ),
    begins=re.compile(r"^Summary:", re.MULTILINE),
)
OHA = Reader(
    "oha",
    "oha",
    recognise_oha,
    read_oha,
    FormatNote(
        tried="no version run; written from the documented --json",
        real=False,
        k="--k-from: oha does not print it",
        value=RATES,
        keeps="percentiles, errors",
    ),
)
K6 = Reader(
    "k6",
    "k6",
    recognise_k6,
    read_k6,
    FormatNote(
        tried="no version run; written from the documented --out json and --summary-export",
        real=False,
        k="the most vus",
        value=RATES,
        keeps="percentiles or every request",
    ),
)
