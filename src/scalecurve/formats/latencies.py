"""Any file with latencies: which reader it needs, told from its content."""

from __future__ import annotations

from pathlib import Path

from scalecurve.formats.access_log import looks_like_access_log, read_access_log
from scalecurve.formats.hey import CSV_HEADER, read_hey
from scalecurve.formats.hlog import read_hlog
from scalecurve.formats.k6 import read_k6
from scalecurve.formats.latency_csv import read_latency_csv
from scalecurve.formats.oha import read_oha
from scalecurve.formats.wrk import read_wrk
from scalecurve.study.latency_record import LatencyRecord

PEEK = 8192


def read_latencies(path: Path, *, unit: float | None = None, rate: float | None = None) -> tuple[LatencyRecord, ...]:
    """HdrHistogram logs, wrk, wrk2, hey, oha, k6, access logs, or a column of latencies; one record for each tag."""
    head = _head(path)
    if "#[Histogram log format" in head or "Interval_Compressed_Histogram" in head:
        return read_hlog(path, unit=unit)
    if "Running " in head and " test @ " in head:
        return (read_wrk(path, rate=rate),)
    if head.startswith(CSV_HEADER) or "Response time histogram:" in head:
        return (read_hey(path),)
    if '"latencyPercentiles"' in head:
        return (read_oha(path),)
    if "http_req_duration" in head or '"metric"' in head:
        return (read_k6(path),)
    if looks_like_access_log(head):
        return (read_access_log(path, unit=unit),)
    return (read_latency_csv(path, unit=unit),)


def _head(path: Path) -> str:
    from scalecurve.errors import FormatError

    try:
        with path.open("rb") as file:
            return file.read(PEEK).decode("utf-8-sig", errors="replace").lstrip()
    except OSError as problem:
        raise FormatError(f"cannot be read: {problem.strerror}", subject=str(path)) from None
