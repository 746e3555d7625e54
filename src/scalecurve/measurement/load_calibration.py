"""An open-loop load: requests leave at their intended times whether or not earlier ones have come back.

Latency counts from the intended start, so a stalled server cannot hide the requests that should have been sent in the
meantime; a request that fails or times out counts as at least the time-out, since nobody who waits for it gets less.
HTTP/1.1 is spoken by h11 over plain asyncio, because a full client costs more than a small answer takes: see
docs/decisions/0064-a-thin-load-generator.md.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any
from urllib.parse import SplitResult, urlsplit

import numpy as np

from scalecurve.errors import Fault, InputError, MissingExtra, RunError
from scalecurve.findings import Finding, info, warning
from scalecurve.measurement.guard import LoadWatch
from scalecurve.measurement.servers import server_at
from scalecurve.mechanisms.load import LoadCurve, load_curve
from scalecurve.study.latency_record import Histogram, LatencyRecord
from scalecurve.study.run import Provenance
from scalecurve.units import format_seconds

TIMEOUT = 10.0
LATE = 0.01  # a sender later than this share of the interval, or a millisecond, is itself overloaded
NEAR = 2.5e-3  # asyncio sleeps in whole milliseconds: nearer than this the sender watches the clock instead
ERROR_STATUS = 400
PART = 1 << 16
ATTEMPTS = 3  # to get a first answer, before an address counts as dead


class _Connection:
    """One connection that asks one question at a time; `reusable` once the answer is complete."""

    def __init__(self, h11: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.h11, self.state, self.reader, self.writer = h11, h11.Connection(h11.CLIENT), reader, writer
        self.reusable, self.used, self.status = False, False, 0

    async def ask(self, request: Any) -> int:
        """Send the request; the status, once the whole answer is here."""
        h11, state, self.reusable = self.h11, self.state, False
        self.writer.write(state.send(request) + state.send(h11.EndOfMessage()))
        try:
            while not isinstance(event := state.next_event(), h11.EndOfMessage):
                if event is h11.NEED_DATA:
                    state.receive_data(await self.reader.read(PART))
                elif isinstance(event, h11.Response):
                    self.status = event.status_code
                elif isinstance(event, h11.ConnectionClosed):
                    raise ConnectionResetError("the connection was closed")
        except h11.RemoteProtocolError as problem:
            raise ConnectionError(str(problem)) from None
        if state.our_state is h11.DONE and state.their_state is h11.DONE:
            state.start_next_cycle()
            self.reusable = True
        return self.status

    def close(self) -> None:
        self.writer.transport.abort()


class _Client:
    """Keeps connections to one address and uses them again; at most `limit` at once."""

    def __init__(self, h11: Any, parts: SplitResult, limit: int, timeout: float) -> None:
        self.h11, self.timeout = h11, timeout
        self.host, self.secure = parts.hostname or "", parts.scheme == "https"
        self.port = parts.port or (443 if self.secure else 80)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = [("host", parts.netloc.rpartition("@")[2]), ("user-agent", "scalecurve"), ("accept", "*/*")]
        self.request = h11.Request(method="GET", target=target, headers=headers)
        self.idle: list[_Connection] = []
        self.places = asyncio.Semaphore(limit)

    async def get(self) -> int:
        """The status of one answer; TimeoutError or OSError where none comes."""
        async with self.places, asyncio.timeout(self.timeout):
            while True:
                connection = self.idle.pop() if self.idle else await self._connect()
                reused, connection.used, connection.status = connection.used, True, 0
                try:
                    return await connection.ask(self.request)
                except ConnectionError:
                    if not reused or connection.status:  # else the server closed a connection it had kept: ask again
                        raise
                finally:
                    if connection.reusable:
                        self.idle.append(connection)
                    else:
                        connection.close()

    async def _connect(self) -> _Connection:
        streams = await asyncio.open_connection(self.host, self.port, ssl=True if self.secure else None)
        return _Connection(self.h11, *streams)

    def close(self) -> None:
        for connection in self.idle:
            connection.close()


@dataclass
class _Answers:
    """Seconds from the intended starts of good answers and of failures, and how late requests left."""

    good: list[float] = field(default_factory=list)
    failed: list[float] = field(default_factory=list)
    timeouts: int = 0
    lateness: list[float] = field(default_factory=list)


def measure_load(
    url: str,
    *,
    rates: Sequence[float],
    seconds: float = 10.0,
    slo: float | None = None,
    slo_share: float = 0.99,
    limit: int = 1000,
    timeout: float = TIMEOUT,
) -> LoadCurve:
    """Throughput and latency at each rate (requests per second), held for `seconds`; at most `limit` in flight."""
    watch = LoadWatch(server_at(url))
    records = load_records(url, rates, seconds=seconds, limit=limit, timeout=timeout)
    curve = load_curve(records, slo=slo, slo_share=slo_share)
    return replace(curve, findings=(*curve.findings, *watch.findings("the latencies")))


def load_records(
    url: str, rates: Sequence[float], *, seconds: float = 10.0, limit: int = 1000, timeout: float = TIMEOUT
) -> tuple[LatencyRecord, ...]:
    """One record for each rate, lowest first; an address that answers none of three requests is not loaded."""
    if not rates or any(not rate > 0 for rate in rates) or not seconds > 0 or not timeout > 0:
        request = f"rates {list(rates)}, {seconds:g} s, time-out {timeout:g} s"
        raise InputError(
            Fault("rates, duration and time-out are positive", value=request, remedy="such as --rates 10,20,40")
        )
    parts = urlsplit(url)
    try:
        port_is_valid = parts.port is None or parts.port > 0
    except ValueError:
        port_is_valid = False
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_valid:
        hint = "write http://host:port/path"
        raise InputError(Fault("not an address that can be loaded", value=url, remedy=hint))
    try:
        h11 = import_module("h11")
    except ImportError:
        raise MissingExtra("loading an address", "load") from None
    return asyncio.run(_load_all(h11, parts, url, sorted(rates), seconds, limit, timeout))


async def _load_all(
    h11: Any, parts: SplitResult, url: str, rates: Sequence[float], seconds: float, limit: int, timeout: float
) -> tuple[LatencyRecord, ...]:
    client = _Client(h11, parts, limit, timeout)
    for attempt in range(ATTEMPTS):
        try:
            await client.get()
            break
        except (TimeoutError, OSError) as problem:
            reason = str(problem) or type(problem).__name__
            if isinstance(problem, ConnectionRefusedError) or attempt == ATTEMPTS - 1:
                raise RunError(f"{url} does not answer: {reason}; nothing was loaded and nothing written") from None
    try:
        return tuple([await _load_at(client, url, rate, seconds) for rate in rates])
    finally:
        client.close()


async def _load_at(client: _Client, url: str, rate: float, seconds: float) -> LatencyRecord:
    """One rate: every request leaves at its intended time."""
    answers = _Answers()

    async def request(intended: float) -> None:
        answers.lateness.append(max(0.0, time.perf_counter() - intended))
        try:
            good = await client.get() < ERROR_STATUS
        except TimeoutError:
            good = False
            answers.timeouts += 1
        except OSError:
            good = False
        waited = time.perf_counter() - intended
        if good:
            answers.good.append(waited)
        else:
            answers.failed.append(max(waited, client.timeout))

    total, begin = max(1, round(rate * seconds)), time.perf_counter()
    tasks = []
    for i in range(total):
        intended = begin + i / rate
        while (wait := intended - time.perf_counter()) > 0:
            await asyncio.sleep(wait - NEAR / 2 if wait > NEAR else 0)
        tasks.append(asyncio.create_task(request(intended)))
    await asyncio.gather(*tasks)
    span = max(time.perf_counter() - begin, seconds)
    return LatencyRecord(
        name=f"{rate:g}/s",
        histogram=Histogram.of([*answers.good, *answers.failed]),
        good=Histogram.of(answers.good) if answers.good else Histogram.empty(),
        seconds=span,
        errors=len(answers.failed),
        timeouts=answers.timeouts,
        intended_rate=rate,
        open_loop=True,
        provenance=Provenance(
            source=url,
            tool="scalecurve",
            timing="open loop, from intended starts",
            settings={"offered_per_second": rate, "timeout_seconds": client.timeout},
        ),
        findings=_run_findings(answers, rate, client.timeout),
    )


def _run_findings(answers: _Answers, rate: float, timeout: float) -> tuple[Finding, ...]:
    """How late requests left, and what counts for those that failed."""
    median, tail = np.quantile(answers.lateness, (0.5, 0.99)).tolist()
    total = len(answers.lateness)
    late = sum(lateness > max(1e-3, LATE / rate) for lateness in answers.lateness)
    text = f"at {rate:g}/s requests left {format_seconds(median)} late (median; p99 {format_seconds(tail)})"
    numbers = {"rate": rate, "median": median, "p99": tail}
    if late > 0.05 * total:
        text += f", {late} of {total} noticeably: this client, not the server, is at its limit"
        remedy = "lower the rate or use a faster generator (wrk2, oha)"
        findings = [warning("generator-late", text, remedy=remedy, **numbers)]
    else:
        findings = [info("generator-lateness", f"{text}; latencies count from the intended time", **numbers)]
    if answers.failed:
        text = (
            f"at {rate:g}/s {len(answers.failed)} of {total} requests failed ({answers.timeouts} by time-out): each "
            f"counts as at least the time-out of {format_seconds(timeout)} in the percentiles"
        )
        findings.insert(0, warning("failed-requests", text, remedy="look at the server's log", **numbers))
    return tuple(findings)
