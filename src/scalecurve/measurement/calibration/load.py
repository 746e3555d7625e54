"""An open-loop load: requests leave at their intended times whether or not earlier ones have come back.

Latency counts from the intended start, so a stalled server cannot hide the requests that should have been sent in the
meantime.  Requests are made by httpx; its pool keeps connections and uses them again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from scalecurve.errors import Fault, InputError, MissingExtra, RunError
from scalecurve.findings import Finding, warning
from scalecurve.mechanisms.load import LoadCurve, load_curve
from scalecurve.study.latency_record import Histogram, LatencyRecord
from scalecurve.study.provenance import Provenance

TIMEOUT = 10.0
LATE = 0.01  # a sender later than this share of the interval, or a millisecond, is itself overloaded


@dataclass
class _Answers:
    """Seconds from the intended starts, failed or refused requests, and requests that left late."""

    latencies: list[float] = field(default_factory=list)
    errors: int = 0
    late: int = 0


def measure_load(
    url: str,
    *,
    rates: Sequence[float],
    seconds: float = 10.0,
    slo: float | None = None,
    slo_share: float = 0.99,
    limit: int = 1000,
) -> LoadCurve:
    """Throughput and latency at each rate (requests per second), held for `seconds`; at most `limit` in flight."""
    return load_curve(load_records(url, rates, seconds=seconds, limit=limit), slo=slo, slo_share=slo_share)


def load_records(
    url: str, rates: Sequence[float], *, seconds: float = 10.0, limit: int = 1000
) -> tuple[LatencyRecord, ...]:
    """One record for each rate, lowest first; an address that does not answer one request is not loaded."""
    if not rates or any(not rate > 0 for rate in rates) or not seconds > 0:
        asked = f"rates {list(rates)}, {seconds:g} s"
        raise InputError(Fault("rates and duration are positive", value=asked, remedy="such as --rates 10,20,40"))
    parts = urlsplit(url)
    try:
        port_is_valid = parts.port is None or parts.port > 0
    except ValueError:
        port_is_valid = False
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_valid:
        hint = "write http://host:port/path"
        raise InputError(Fault("not an address that can be loaded", value=url, remedy=hint))
    try:
        httpx = import_module("httpx")
    except ImportError:
        raise MissingExtra("loading an address", "load") from None
    return asyncio.run(_load_all(httpx, url, sorted(rates), seconds, limit))


async def _load_all(
    httpx: Any, url: str, rates: Sequence[float], seconds: float, limit: int
) -> tuple[LatencyRecord, ...]:
    limits = httpx.Limits(max_connections=limit, max_keepalive_connections=limit)
    # A full pool is this client's own limit: a request waits there without a timeout, and its latency shows it.
    timeout = httpx.Timeout(TIMEOUT, pool=None)
    async with httpx.AsyncClient(limits=limits, timeout=timeout, headers={"user-agent": "scalecurve"}) as client:
        try:
            await client.get(url)
        except (httpx.HTTPError, OSError) as problem:
            reason = str(problem) or type(problem).__name__
            raise RunError(f"{url} does not answer: {reason}; nothing was loaded and nothing written") from None
        return tuple([await _load_at(httpx, client, url, rate, seconds) for rate in rates])


async def _load_at(httpx: Any, client: Any, url: str, rate: float, seconds: float) -> LatencyRecord:
    """One rate: every request leaves at its intended time."""
    answers = _Answers()

    async def request(intended: float) -> None:
        try:
            response = await client.get(url)
        except (httpx.HTTPError, OSError):
            answers.errors += 1
            return
        answers.latencies.append(time.perf_counter() - intended)
        answers.errors += response.status_code >= 400

    total, begin = max(1, round(rate * seconds)), time.perf_counter()
    tasks = []
    for i in range(total):
        intended = begin + i / rate
        wait = intended - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        elif -wait > max(1e-3, LATE / rate):
            answers.late += 1
        tasks.append(asyncio.create_task(request(intended)))
    await asyncio.gather(*tasks)
    span = max(time.perf_counter() - begin, seconds)
    if not answers.latencies:
        raise RunError(f"{url}: all {answers.errors} requests at {rate:g}/s failed; stopped")
    findings: tuple[Finding, ...] = ()
    if answers.late > 0.05 * total:
        text = f"{answers.late} of {total} requests left late: this client, not the server, is at its limit."
        findings = (warning("generator-late", text, remedy="lower the rate or use a faster generator (wrk2, oha)"),)
    return LatencyRecord(
        name=f"{rate:g}/s",
        histogram=Histogram.of(answers.latencies),
        seconds=span,
        errors=answers.errors,
        intended_rate=rate,
        open_loop=True,
        provenance=Provenance(
            source=url,
            tool="scalecurve",
            timing="open loop, from intended starts",
            settings={"offered_per_second": rate},
        ),
        findings=findings,
    )
