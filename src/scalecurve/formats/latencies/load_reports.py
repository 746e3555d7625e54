"""More HTTP load generators: ab, autocannon, vegeta, locust, k6 as CSV and as printed; and HdrHistogram's .hgrm.

ab, autocannon, vegeta and locust state percentiles only; k6's CSV lists every request; .hgrm is a histogram whose unit
is not written in it and must be stated.
"""

from __future__ import annotations

import csv
import re
from typing import Any

import numpy as np

from scalecurve.errors import Fault, FormatError
from scalecurve.findings import Finding, info
from scalecurve.formats.columns import as_count, as_dict, as_float
from scalecurve.formats.latencies import Records
from scalecurve.formats.latencies.load_tests import PRINTED, closed_loop, exact_seconds
from scalecurve.formats.reading import MOST_FAULTS, FormatNote, Reader, ReadOptions
from scalecurve.formats.source import Source
from scalecurve.study import Provenance
from scalecurve.study.latency_record import Histogram, LatencyRecord
from scalecurve.units import parse_seconds

_AB_LINE = re.compile(r"^([A-Z][\w -]+):\s+([\d.]+)", re.MULTILINE)
_AB_SHARE = re.compile(r"^\s+(\d+)%\s+(\d+)", re.MULTILINE)
_AB_CAUSES = re.compile(r"Connect: (\d+), Receive: (\d+), Length: (\d+), Exceptions: (\d+)")
_VEGETA_LINE = re.compile(r"^(Requests|Duration|Latencies|Status Codes)\s+\[([^\]]*)\]\s+(.*)$", re.MULTILINE)
_K6_PRINTED = re.compile(
    r"^\s*(?:✓|✗)?\s*(http_req_duration|http_reqs|http_req_failed|vus_max|vus)\.*:\s*(.*)$", re.MULTILINE
)
_K6_TERM = re.compile(r"(avg|min|med|max|p\([\d.]+\))=([\d.]+(?:ns|µs|us|ms|s|m|h)[\dms.]*)")
_HGRM_LINE = re.compile(r"^\s*([\d.]+)\s+([01]\.\d+)\s+(\d+)(?:\s+(?:[\d.]+|inf))?\s*$", re.MULTILINE)
LOCUST_STATS = ("Request Count", "Failure Count", "Median Response Time")
LOCUST_HISTORY = ("User Count", "Total Request Count", "Total Failure Count")
MILLI, NANO = 1e-3, 1e-9


def _by(tool: str, source: Source) -> Provenance:
    return Provenance(source=source.file_name, tool=tool)


def recognise_ab(source: Source) -> str | None:
    return "the title of ApacheBench" if "This is ApacheBench" in source.head_text else None


def read_ab(source: Source, options: ReadOptions) -> Records:
    """As printed; answers of another length than the first are what a page that changes gives, not failures."""
    text = source.text
    if "<table" in text:
        raise FormatError(Fault("ab -w prints no percentiles", remedy="run ab without -w"))
    lines = {name: number for name, value in _AB_LINE.findall(text) if (number := as_float(value)) is not None}
    percentiles = {int(share) / 100: int(value) * MILLI for share, value in _AB_SHARE.findall(text)}
    needed = ("Concurrency Level", "Time taken for tests", "Complete requests", "Failed requests")
    missing = [name for name in needed if name not in lines]
    if missing or not percentiles:
        value = ", ".join(missing) or "the percentiles"
        raise FormatError(Fault("not the complete output of ab; it may be cut short", value=value))
    causes = _AB_CAUSES.search(text)
    connect, receive, length, exceptions = map(int, causes.groups()) if causes else (0, 0, 0, 0)
    failed = connect + receive + exceptions if causes else int(lines["Failed requests"])
    findings: list[Finding] = [closed_loop("ab")]
    if length:
        message = f"{length} answers have another length than the first; they count as good"
        findings.append(info("lengths-differ", message, remedy="run ab with -l where pages change"))
    record = LatencyRecord(
        name=source.stem,
        stated=percentiles,
        count=int(lines["Complete requests"]),
        seconds=exact_seconds(lines["Time taken for tests"], int(lines["Complete requests"]), text),
        errors=failed + int(lines.get("Non-2xx responses", 0)),
        connections=int(lines["Concurrency Level"]),
        provenance=_by("ab", source),
        findings=tuple(findings),
    )
    return (record,)


def recognise_autocannon(source: Source) -> str | None:
    names = {"connections", "pipelining", "latency", "requests"}
    if PRINTED in source.head_text:
        return "the printed table of autocannon"
    return "JSON with connections, pipelining, latency and requests" if names <= source.keys else None


def read_autocannon(source: Source, options: ReadOptions) -> Records:
    if not source.looks_like_json:
        raise FormatError(Fault("the printed table of autocannon is rounded", remedy="run it with --json"))
    data = source.required_json()
    latency, requests = as_dict(data["latency"]), as_dict(data["requests"])
    percentiles = {
        float(name[1:].replace("_", ".")) / 100: number * MILLI
        for name, value in latency.items()
        if re.fullmatch(r"p\d+(_\d+)?", name) and (number := as_float(value)) is not None
    }
    count, seconds = as_float(requests.get("total")), as_float(data.get("duration"))
    if not percentiles or count is None or not seconds:
        raise FormatError(Fault("not the complete result of autocannon", remedy="run it with --json"))
    errors, refused, timeouts = (as_count(data.get(name)) or 0 for name in ("errors", "non2xx", "timeouts"))
    record = LatencyRecord(
        name=source.stem,
        stated=percentiles,
        count=int(count),
        seconds=seconds,
        errors=errors + refused,
        timeouts=timeouts,
        connections=as_count(data.get("connections")),
        provenance=_by("autocannon", source),
        findings=(closed_loop("autocannon"),),
    )
    return (record,)


def recognise_vegeta(source: Source) -> str | None:
    if {"latencies", "rate", "throughput", "status_codes"} <= source.keys:
        return "JSON with latencies, rate, throughput and status_codes"
    first = source.head_text.lstrip()[:400]
    return "the lines of vegeta report" if "[total, rate, throughput]" in first or "[total, rate]" in first else None


def read_vegeta(source: Source, options: ReadOptions) -> Records:
    """`vegeta report`, as printed or with -type=json; the rate it sent at is the load."""
    codes: dict[str, Any]
    if source.looks_like_json:
        data = source.required_json()
        times = {name: as_float(value) for name, value in as_dict(data["latencies"]).items()}
        percentiles = {
            share: value * NANO
            for name, share in {"50th": 0.5, "90th": 0.9, "95th": 0.95, "99th": 0.99, "max": 1.0}.items()
            if (value := times.get(name)) is not None
        }
        count, rate, codes = as_float(data.get("requests")), as_float(data.get("rate")), as_dict(data["status_codes"])
        seconds = ((as_float(data.get("duration")) or 0.0) + (as_float(data.get("wait")) or 0.0)) * NANO
    else:
        rows = {
            m[1]: dict(zip(m[2].split(", "), m[3].split(", "), strict=False))
            for m in _VEGETA_LINE.finditer(source.text)
        }
        try:
            latencies = rows["Latencies"].items()
            percentiles = {
                int(n) / 100 if n.isdecimal() else 1.0: parse_seconds(v)
                for n, v in latencies
                if n.isdecimal() or n == "max"
            }
            count, rate = as_float(rows["Requests"]["total"]), as_float(rows["Requests"]["rate"])
            seconds = parse_seconds(rows["Duration"]["total"])
        except (KeyError, ValueError) as problem:
            raise FormatError(Fault("not the complete report of vegeta", value=str(problem))) from None
        printed = re.search(r"^Status Codes\s+\[code:count\]\s+(.*)$", source.text, re.MULTILINE)
        codes = dict(pair.split(":", 1) for pair in printed[1].split() if ":" in pair) if printed else {}
    if not percentiles or not count or not seconds:
        raise FormatError(Fault("not the complete report of vegeta", remedy="run vegeta report -type=json"))
    good = sum(int(n) for code, n in codes.items() if code.isdecimal() and 200 <= int(code) < 400)
    record = LatencyRecord(
        name=source.stem,
        stated=percentiles,
        count=int(count),
        seconds=seconds,
        errors=max(0, int(count) - good),
        intended_rate=rate,
        open_loop=True,
        provenance=_by("vegeta", source),
    )
    return (record,)


def recognise_locust(source: Source) -> str | None:
    header = source.head_text.partition("\n")[0]
    for kind, names in (("_stats.csv", LOCUST_STATS), ("_stats_history.csv", LOCUST_HISTORY)):
        if all(name in header for name in names):
            return f"the header of locust's {kind}"
    return None


def read_locust(source: Source, options: ReadOptions) -> Records:
    """The row Aggregated of `--csv`: _stats.csv, or _stats_history.csv which also has the number of users."""
    rows = [row for row in csv.DictReader(source.text.splitlines()) if row.get("Name") == "Aggregated"]
    history = bool(rows) and "User Count" in rows[0]
    prefix = "Total " if history else ""
    moments = [moment for row in rows if (moment := as_float(row.get("Timestamp"))) is not None]
    last = rows[-1] if rows else {}
    count, failures = as_float(last.get(f"{prefix}Request Count")), as_float(last.get(f"{prefix}Failure Count"))
    rate = as_float(last.get("Requests/s"))
    percentiles = {
        float(name[:-1]) / 100: number * MILLI
        for name, value in last.items()
        if name and re.fullmatch(r"[\d.]+%", name) and (number := as_float(value)) is not None
    }
    if not percentiles or not count or failures is None:
        raise FormatError(Fault("no row Aggregated with requests", remedy="give the _stats.csv of locust --csv"))
    seconds = max(moments) - min(moments) if history and moments else count / rate if rate else None
    record = LatencyRecord(
        name=source.stem,
        stated=percentiles,
        count=int(count),
        seconds=seconds or None,
        errors=int(failures),
        connections=max((as_count(row.get("User Count")) or 0 for row in rows), default=0) or None,
        provenance=_by("locust", source),
        findings=(closed_loop("locust"),),
    )
    return (record,)


def recognise_k6_csv(source: Source) -> str | None:
    header = source.head_text.partition("\n")[0]
    return "the header of k6 --out csv" if header.startswith("metric_name,timestamp,metric_value") else None


def read_k6_csv(source: Source, options: ReadOptions) -> Records:
    samples: list[float] = []
    good: list[float] = []
    moments: list[float] = []
    users, faults = 0, []
    for number, row in enumerate(csv.DictReader(source.text.splitlines()), 2):
        value, moment = as_float(row.get("metric_value")), as_float(row.get("timestamp"))
        if value is None or moment is None:
            faults.append(Fault("the row is damaged", where=f"line {number}"))
        elif row["metric_name"] == "vus":
            users = max(users, as_count(value) or 0)
        elif row["metric_name"] == "http_req_duration":
            samples.append(value * MILLI)
            moments.append(moment)
            if row.get("expected_response") != "false" and not row.get("error"):
                good.append(value * MILLI)
    if faults or not samples:
        raise FormatError(faults[:MOST_FAULTS] or [Fault("no rows of http_req_duration")])
    record = LatencyRecord(
        name=source.stem,
        histogram=Histogram.of(samples),
        good=Histogram.of(good) if good else Histogram.empty(),
        seconds=(max(moments) - min(moments)) or None,
        errors=len(samples) - len(good),
        connections=users or None,
        provenance=_by("k6", source),
    )
    return (record,)


def recognise_k6_printed(source: Source) -> str | None:
    return "the summary that k6 prints" if re.search(r"http_req_duration\.*:\s+avg=", source.head_text) else None


def read_k6_printed(source: Source, options: ReadOptions) -> Records:
    lines = {match[1]: match[2] for match in _K6_PRINTED.finditer(source.text)}
    terms = {name: parse_seconds(value) for name, value in _K6_TERM.findall(lines.get("http_req_duration", ""))}
    percentiles = {float(name[2:-1]) / 100: value for name, value in terms.items() if name.startswith("p(")}
    percentiles |= {0.5: terms["med"]} if "med" in terms else {}
    requests = re.match(r"(\d+)\s+([\d.]+)/s", lines.get("http_reqs", ""))
    failed = re.search(r"([\d.]+)%", lines.get("http_req_failed", ""))
    users = re.match(r"(\d+)", lines.get("vus_max", ""))
    if not percentiles or requests is None:
        raise FormatError(Fault("not the complete summary of k6", remedy="expected http_req_duration and http_reqs"))
    count, rate = int(requests[1]), float(requests[2])
    record = LatencyRecord(
        name=source.stem,
        stated=dict(sorted(percentiles.items())),
        count=count,
        seconds=count / rate if rate > 0 else None,
        errors=round(count * float(failed[1]) / 100) if failed else None,
        connections=int(users[1]) if users else None,
        provenance=_by("k6", source),
    )
    return (record,)


def recognise_hgrm(source: Source) -> str | None:
    return (
        "the columns of HdrHistogram's percentiles"
        if re.search(r"Value\s+Percentile\s+TotalCount", source.head_text)
        else None
    )


def read_hgrm(source: Source, options: ReadOptions) -> Records:
    """HdrHistogram's percentile distribution; its unit is that of whoever wrote it, and must be stated."""
    rows = [(float(value), int(count)) for value, _, count in _HGRM_LINE.findall(source.text)]
    if not rows:
        raise FormatError(Fault("no percentiles below the header; the file may be cut short"))
    if options.unit is None:
        remedy = "say --unit ms (wrk2, most Java tools) or --unit us"
        raise FormatError(
            Fault("an .hgrm file does not say the unit of its values", value=f"{rows[-1][0]:g}", remedy=remedy)
        )
    total = re.search(r"Total count\s*=\s*(\d+)", source.text)
    if total is not None and int(total[1]) != rows[-1][1]:
        value = f"{rows[-1][1]} of {total[1]}"
        raise FormatError(Fault("the percentiles do not reach the total count: the file is cut short", value=value))
    counts = np.maximum(np.diff(np.array([0, *(count for _, count in rows)])), 0)
    histogram = Histogram.from_counts([value * options.unit for value, _ in rows], counts)
    return (LatencyRecord(name=source.stem, histogram=histogram, provenance=_by("HdrHistogram", source)),)


CLIENTS = "clients that wait for each answer"
AB = Reader(
    "ab",
    "ab",
    recognise_ab,
    read_ab,
    FormatNote(
        tried="2.3 (Debian apache2-utils), also -q; -w is refused",
        real=True,
        k="Concurrency Level",
        value="good answers per second, or a percentile",
        keeps="percentiles, errors",
    ),
    begins=re.compile(r"^Server Software:", re.MULTILINE),
)
AUTOCANNON = Reader(
    "autocannon",
    "autocannon",
    recognise_autocannon,
    read_autocannon,
    FormatNote(
        tried="7.15.0 and 8.0.0 (npm), --json; the printed table is refused",
        real=True,
        k="connections",
        value="good answers per second, or a percentile",
        keeps="percentiles, errors, time-outs",
    ),
)
VEGETA = Reader(
    "vegeta",
    "vegeta",
    recognise_vegeta,
    read_vegeta,
    FormatNote(
        tried="no version run; written from the documented report, text and JSON",
        real=False,
        k="the rate sent, or --k-from",
        value="good answers per second, or a percentile",
        keeps="percentiles, status codes",
    ),
    begins=re.compile(r"^Requests\s+\[total, rate", re.MULTILINE),
)
LOCUST = Reader(
    "locust",
    "locust",
    recognise_locust,
    read_locust,
    FormatNote(
        tried="2.47.0 (PyPI), --csv",
        real=True,
        k="User Count of _stats_history.csv, or --k-from",
        value="good answers per second, or a percentile",
        keeps="percentiles, failures",
    ),
)
K6_CSV = Reader(
    "k6-csv",
    "k6 CSV",
    recognise_k6_csv,
    read_k6_csv,
    FormatNote(
        tried="no version run; written from the documented --out csv",
        real=False,
        k="the most vus",
        value="good answers per second, or a percentile",
        keeps="every request",
    ),
)
K6_PRINTED = Reader(
    "k6-printed",
    "k6 as printed",
    recognise_k6_printed,
    read_k6_printed,
    FormatNote(
        tried="no version run; written from the documented end-of-test summary",
        real=False,
        k="vus_max",
        value="good answers per second, or a percentile",
        keeps="percentiles, failures",
    ),
    begins=re.compile(r"^\s*scenarios: \(", re.MULTILINE),
)
HGRM = Reader(
    "hgrm",
    "HdrHistogram percentiles",
    recognise_hgrm,
    read_hgrm,
    FormatNote(
        tried="no version run; written from the documented percentile table",
        real=False,
        k="-",
        value="latency; the unit is stated with --unit",
        keeps="the histogram",
    ),
)
