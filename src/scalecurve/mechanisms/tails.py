"""Fan-out and hedging: what the tail of one server becomes when a request needs many, and what asking twice gains.

Fan-out to K: the request is as slow as the slowest of K, so its percentile q is the leaf's percentile q^(1/K); the
chance that any of K is slower than a leaf's p99 is 1 - 0.99^K (63 % at K = 100). Hedging after d: P(T > t) = S(t) for
t < d and S(t) S(t - d) after it; the extra load is S(d).  Both assume independent draws: a cause that all share
removes the gain (Dean and Barroso, The Tail at Scale, 2013).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.document import Answer, Cell, Column, Document, FindingList, JsonRecord, Paragraph, Result, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, info, warning
from scalecurve.mechanisms.latencies import LatenciesLike, latency_records, percentile_name, samples_needed
from scalecurve.study.latency_record import Histogram, merged
from scalecurve.units import WorkersLike, as_workers, format_seconds
from scalecurve.words import chance_words

Floats = npt.NDArray[np.float64]
LEAST_GAIN = 1.02  # of a percentile by asking twice that is worth a sentence


@dataclass(frozen=True, kw_only=True)
class FanOutRow(JsonRecord):
    """One fan-out: the chance that a leaf exceeds its p99, and the request's percentiles in seconds."""

    fan_out: int
    any_slow: float
    p50: float | None
    p99: float | None

    JSON = "fan_out any_slower_than_p99=any_slow p50 p99"


@dataclass(frozen=True, kw_only=True)
class HedgeRow(JsonRecord):
    """One percentile in seconds without and with hedging."""

    share: float
    plain: float
    hedged: float

    JSON = "percentile plain hedged"

    @property
    def percentile(self) -> str:
        return percentile_name(self.share)


@dataclass(frozen=True, kw_only=True, repr=False)
class Tails(Result):
    """Fan-out amplification and hedging from one server's latencies."""

    n: int
    fan_out: tuple[FanOutRow, ...]
    hedge_after: float
    hedge_share: float
    extra_load: float
    hedged: tuple[HedgeRow, ...]
    findings: tuple[Finding, ...] = ()

    JSON = """
        n fan_out hedge.after_percentile=hedge_percentile hedge.after=hedge_after
        hedge.extra_load=extra_load hedge.rows=hedged findings"""

    @property
    def hedge_percentile(self) -> str:
        return percentile_name(self.hedge_share)

    def records(self) -> list[dict[str, Any]]:
        return [row.to_dict() for row in self.fan_out]

    @property
    def answer(self) -> Answer:
        """What fan-out does to the tail, and what hedging gains."""
        last = self.fan_out[-1]
        slow = f"{chance_words(last.any_slow)} of requests wait for a server beyond its p99"
        gain = max(self.hedged, key=lambda row: row.plain / row.hedged, default=None)
        hedge = (
            None
            if gain is None or gain.plain < LEAST_GAIN * gain.hedged
            else f"Asking twice after {format_seconds(self.hedge_after)} brings {percentile_name(gain.share)} from "
            f"{format_seconds(gain.plain)} to {format_seconds(gain.hedged)} for {self.extra_load:.1%} more requests."
        )
        return Answer(
            decision=f"At fan-out {last.fan_out:,}, {slow}.",
            reason=hedge,
            next="`SAME --hedge-after 0.9` sends a second request earlier",
        )

    def body(self) -> Document:
        rows = []
        for row in self.fan_out:
            times = [Cell("not enough samples", "warn") if t is None else format_seconds(t) for t in (row.p50, row.p99)]
            rows.append([str(row.fan_out), f"{row.any_slow:.1%}", *times])
        meaning = "chance that one of the servers takes longer than its own p99"
        any_slow = Column("any slow", meaning=meaning)
        hedge = table(
            ["percentile", "plain", "hedged"],
            [[percentile_name(r.share), format_seconds(r.plain), format_seconds(r.hedged)] for r in self.hedged],
        )
        after = f"{percentile_name(self.hedge_share)} ({format_seconds(self.hedge_after)})"
        cost = Paragraph(f"hedging after {after} costs {self.extra_load:.1%} more requests")
        fans = table(["fan-out", any_slow, "p50", "p99"], rows, caption=f"any slow: {meaning}")
        return Document("Tails", (fans, cost, hedge, FindingList(self.findings)))


def tail_latency(
    sources: LatenciesLike,
    *,
    fan_out: WorkersLike = (1, 10, 100, 1000),
    hedge_after: float = 0.95,
    unit: float | None = None,
) -> Tails:
    """What one server's tail becomes at fan-out, and what hedging after the percentile `hedge_after` gains and costs.

    `sources` are files of load tests or records, which are merged; `unit` is the seconds of one raw value.
    """
    counts = as_workers(fan_out)
    if not 0 < hedge_after < 1:
        raise InputError(
            Fault(
                "hedging needs a share between 0 and 1",
                where="hedge after",
                value=f"{hedge_after:g}",
                remedy="give one such as 95 %",
            )
        )
    histogram = merged(latency_records(sources, unit=unit)).histogram or Histogram.empty()
    distribution, n = _Distribution(histogram), histogram.n
    after = distribution.quantile(hedge_after)
    rows = []
    for k in counts:
        shares = 0.5 ** (1 / k), 0.99 ** (1 / k)
        p50, p99 = (distribution.quantile(share) if n >= samples_needed(share) else None for share in shares)
        rows.append(FanOutRow(fan_out=k, any_slow=1 - 0.99**k, p50=p50, p99=p99))
    text = "leaves are assumed independent; a shared stall removes the gain of hedging"
    findings = [info("independent-draws", text)]
    needed = samples_needed(0.99 ** (1 / max(counts)))
    if n < needed:
        text = f"p99 at fan-out {max(counts)} needs {needed:,} samples of one leaf; there are {n:,}"
        findings.append(warning("not-enough-samples", text, remedy="measure longer"))
    return Tails(
        n=n,
        fan_out=tuple(rows),
        hedge_after=after,
        hedge_share=hedge_after,
        extra_load=float(distribution.survival(np.array([after]))[0]),
        hedged=tuple(
            HedgeRow(share=s, plain=distribution.quantile(s), hedged=distribution.hedged_quantile(s, after))
            for s in (0.5, 0.9, 0.99, 0.999)
            if n >= samples_needed(s)
        ),
        findings=tuple(findings),
    )


class _Distribution:
    """Survival and quantiles of a histogram's buckets."""

    def __init__(self, histogram: Histogram) -> None:
        self.values, counts = histogram.nonzero()
        self.cumulative = np.cumsum(counts) / counts.sum()

    def quantile(self, share: float) -> float:
        place = int(np.searchsorted(self.cumulative, share - 1e-12))
        return float(self.values[min(place, len(self.values) - 1)])

    def survival(self, seconds: Floats) -> Floats:
        place = np.searchsorted(self.values, seconds, side="right")
        below = np.where(place > 0, self.cumulative[np.maximum(place - 1, 0)], 0.0)
        return np.asarray(1 - below)

    def hedged_quantile(self, share: float, after: float) -> float:
        """Smallest t with P(T > t) <= 1 - share under hedging; a hedge that answers first ends at after + a value."""
        moments = np.unique(np.concatenate([self.values, self.values + after]))
        tail = self.survival(moments)
        late = moments >= after
        tail[late] *= self.survival(moments[late] - after)
        return float(moments[int(np.argmax(tail <= 1 - share + 1e-12))])
