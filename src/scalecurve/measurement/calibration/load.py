"""An open-loop load: requests leave at their intended times whether or not earlier ones have come back.

Latency counts from the intended start, so a stalled server cannot hide the requests that should have been sent
meanwhile. A small HTTP/1.1 client on asyncio streams; one connection per request in flight, kept and used again.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from scalecurve.errors import Fault, InputError, RunError
from scalecurve.findings import Finding, warning
from scalecurve.study.latency_record import Histogram, LatencyRecord
from scalecurve.study.provenance import Provenance

TIMEOUT = 10.0
MAX_BODY = 64 * 1024 * 1024
LATE = 0.01  # a sender later than this share of the interval, or a millisecond, is itself overloaded

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where requests go."""

    host: str
    port: int
    path: str
    tls: bool

    @classmethod
    def of(cls, url: str) -> Target:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            hint = "write http://host:port/path"
            raise InputError(Fault("not an address that can be loaded", seen=url, remedy=hint))
        tls = parts.scheme == "https"
        try:
            port = parts.port or (443 if tls else 80)
        except ValueError:
            raise InputError(Fault("not a port", seen=url)) from None
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return cls(host=parts.hostname, port=port, path=path, tls=tls)


@dataclass
class _Outcome:
    latencies: list[float] = field(default_factory=list)
    errors: int = 0
    late: int = 0


def measure_load(
    url: str, rates: Sequence[float], *, seconds: float = 10.0, limit: int = 1000
) -> tuple[LatencyRecord, ...]:
    """One record for each rate, lowest first; stops after the first failure of the address to answer at all."""
    if not rates or any(not rate > 0 for rate in rates) or not seconds > 0:
        seen = f"rates {list(rates)}, {seconds:g} s"
        raise InputError(Fault("rates and duration are positive", seen=seen, remedy="such as --rates 10,20,40"))
    target = Target.of(url)
    return asyncio.run(_measure_all(target, url, sorted(rates), seconds, limit))


async def _measure_all(
    target: Target, url: str, rates: Sequence[float], seconds: float, limit: int
) -> tuple[LatencyRecord, ...]:
    await _probe(target, url)
    return tuple([await _measure_rate(target, url, rate, seconds, limit) for rate in rates])


async def _probe(target: Target, url: str) -> None:
    """One request before any load: an address that does not answer is not loaded."""
    try:
        connection = await asyncio.wait_for(_connect(target), TIMEOUT)
        await asyncio.wait_for(_request(target, connection), TIMEOUT)
        connection[1].close()
    except (TimeoutError, OSError, ValueError, asyncio.IncompleteReadError) as problem:
        reason = str(problem) or type(problem).__name__
        raise RunError(f"{url} does not answer: {reason}; nothing was loaded and nothing written") from None


async def _measure_rate(target: Target, url: str, rate: float, seconds: float, limit: int) -> LatencyRecord:
    outcome, idle = _Outcome(), list[Connection]()
    gate = asyncio.Semaphore(limit)
    total, begin = max(1, round(rate * seconds)), time.perf_counter()
    tasks = []
    for i in range(total):
        intended = begin + i / rate
        wait = intended - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        elif -wait > max(1e-3, LATE / rate):
            outcome.late += 1
        tasks.append(asyncio.create_task(_one(target, intended, outcome, idle, gate)))
    await asyncio.gather(*tasks)
    span = max(time.perf_counter() - begin, seconds)
    for _, writer in idle:
        writer.close()
    return _record(url, rate, span, outcome, total)


async def _one(
    target: Target, intended: float, outcome: _Outcome, idle: list[Connection], gate: asyncio.Semaphore
) -> None:
    async with gate:
        try:
            connection = idle.pop() if idle else await asyncio.wait_for(_connect(target), TIMEOUT)
            status, keep = await asyncio.wait_for(_request(target, connection), TIMEOUT)
        except (TimeoutError, OSError, ValueError, asyncio.IncompleteReadError):
            outcome.errors += 1
            return
    outcome.latencies.append(time.perf_counter() - intended)
    outcome.errors += status >= 400
    if keep:
        idle.append(connection)
    else:
        connection[1].close()


async def _connect(target: Target) -> Connection:
    context = ssl.create_default_context() if target.tls else None
    return await asyncio.open_connection(target.host, target.port, ssl=context)


async def _request(target: Target, connection: Connection) -> tuple[int, bool]:
    """One GET; the status, and whether the connection may be used again."""
    reader, writer = connection
    lines = [
        f"GET {target.path} HTTP/1.1",
        f"Host: {target.host}:{target.port}",
        "User-Agent: scalecurve",
        "Accept: */*",
    ]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    status = int(head[0].split()[1])
    fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    closed = fields.get("connection", "").lower() == "close" or head[0].startswith("HTTP/1.0")
    return status, await _drain(reader, fields) and not closed


async def _drain(reader: asyncio.StreamReader, fields: dict[str, str]) -> bool:
    """Read the body; False where its end is the end of the connection."""
    if "content-length" in fields:
        await reader.readexactly(min(int(fields["content-length"]), MAX_BODY))
        return True
    if fields.get("transfer-encoding", "").lower() == "chunked":
        while size := int((await reader.readline()).split(b";")[0], 16):
            await reader.readexactly(min(size, MAX_BODY) + 2)
        await reader.readline()
        return True
    await reader.read(MAX_BODY)
    return False


def _record(url: str, rate: float, span: float, outcome: _Outcome, total: int) -> LatencyRecord:
    if not outcome.latencies:
        raise RunError(f"{url}: all {outcome.errors} requests at {rate:g}/s failed; stopped")
    found: tuple[Finding, ...] = ()
    if outcome.late > 0.05 * total:
        text = f"{outcome.late} of {total} requests left late: this client, not the server, is at its limit"
        found = (warning("generator-late", text, remedy="lower the rate or use an installed generator (wrk2, oha)"),)
    return LatencyRecord(
        name=f"{rate:g}/s",
        histogram=Histogram.of(outcome.latencies),
        seconds=span,
        errors=outcome.errors,
        intended_rate=rate,
        open_loop=True,
        provenance=Provenance(
            source=url,
            tool="scalecurve",
            timing="open loop, from intended starts",
            settings={"offered_per_second": rate},
        ),
        findings=found,
    )
