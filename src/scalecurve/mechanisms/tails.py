"""Fan-out and hedging: what the tail of one server becomes when a request needs many, and what asking twice buys.

Fan-out to K: the request is as slow as the slowest of K, so its percentile q is the leaf's percentile q^(1/K); the
chance that any of K is slower than a leaf's p99 is 1 - 0.99^K (63 % at K = 100). Hedging after d: P(T > t) = S(t) for
t < d and S(t) S(t - d) after it; the extra load is S(d).  Both assume independent draws: a cause that all share
removes the gain (Dean and Barroso, The Tail at Scale, 2013).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.document import Cell, Column, Document, FindingList, Paragraph, Shown, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, info, warning
from scalecurve.mechanisms.percentiles import percentile_name, samples_needed
from scalecurve.study.latency_record import Histogram
from scalecurve.units import format_seconds

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class FanOutRow:
    fan_out: int
    any_slow: float
    p50: float | None
    p99: float | None

    def to_dict(self) -> dict[str, Any]:
        return {"fan_out": self.fan_out, "any_slower_than_p99": self.any_slow, "p50": self.p50, "p99": self.p99}


@dataclass(frozen=True, kw_only=True)
class HedgeRow:
    share: float
    plain: float
    hedged: float

    def to_dict(self) -> dict[str, Any]:
        return {"percentile": percentile_name(self.share), "plain": self.plain, "hedged": self.hedged}


@dataclass(frozen=True, kw_only=True)
class Tails(Shown):
    """Fan-out amplification and hedging from one server's latencies."""

    n: int
    fan_out: tuple[FanOutRow, ...]
    hedge_after: float
    hedge_share: float
    extra_load: float
    hedged: tuple[HedgeRow, ...]
    findings: tuple[Finding, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "n": self.n,
            "fan_out": [row.to_dict() for row in self.fan_out],
            "hedge": {
                "after_percentile": percentile_name(self.hedge_share),
                "after": self.hedge_after,
                "extra_load": self.extra_load,
                "rows": [row.to_dict() for row in self.hedged],
            },
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def records(self) -> list[dict[str, Any]]:
        return [row.to_dict() for row in self.fan_out]

    def document(self) -> Document:
        fans = table(
            ["fan-out", Column("any slow", meaning="chance that some leaf exceeds its own p99"), "p50", "p99"],
            [[str(r.fan_out), f"{r.any_slow:.1%}", _shown(r.p50), _shown(r.p99)] for r in self.fan_out],
        )
        hedge = table(
            ["percentile", "plain", "hedged"],
            [[percentile_name(r.share), format_seconds(r.plain), format_seconds(r.hedged)] for r in self.hedged],
        )
        text = f"hedging after {percentile_name(self.hedge_share)} ({format_seconds(self.hedge_after)}) "
        cost = Paragraph(text + f"costs {self.extra_load:.1%} more requests")
        return Document("Tails", (fans, cost, hedge, FindingList(self.findings)))


def _shown(value: float | None) -> Cell | str:
    return Cell("not enough samples", "warn") if value is None else format_seconds(value)


def examine_tails(
    histogram: Histogram, *, fan_out: Sequence[int] = (1, 10, 100, 1000), hedge_share: float = 0.95
) -> Tails:
    """Fan-out and hedging of measured latencies, assuming independent draws."""
    if not 0 < hedge_share < 1 or any(k < 1 for k in fan_out):
        seen = f"hedge after {hedge_share:g}, fan-out {list(fan_out)}"
        raise InputError(Fault("hedging needs a share between 0 and 1 and fan-outs from 1", seen=seen))
    distribution = _Distribution(histogram)
    after = distribution.quantile(hedge_share)
    shares = [s for s in (0.5, 0.9, 0.99, 0.999) if histogram.n >= samples_needed(s)]
    return Tails(
        n=histogram.n,
        fan_out=tuple(_fan_row(distribution, histogram.n, k) for k in fan_out),
        hedge_after=after,
        hedge_share=hedge_share,
        extra_load=float(distribution.survival(np.array([after]))[0]),
        hedged=tuple(
            HedgeRow(share=s, plain=distribution.quantile(s), hedged=distribution.hedged_quantile(s, after))
            for s in shares
        ),
        findings=_findings(histogram.n, fan_out),
    )


def _fan_row(distribution: _Distribution, n: int, k: int) -> FanOutRow:
    middle, high = 0.5 ** (1 / k), 0.99 ** (1 / k)
    return FanOutRow(
        fan_out=k,
        any_slow=1 - 0.99**k,
        p50=distribution.quantile(middle) if n >= samples_needed(middle) else None,
        p99=distribution.quantile(high) if n >= samples_needed(high) else None,
    )


def _findings(n: int, fan_out: Sequence[int]) -> tuple[Finding, ...]:
    found = [info("independent-draws", "leaves are taken as independent; a shared stall removes the gain of hedging")]
    needed = samples_needed(0.99 ** (1 / max(fan_out)))
    if n < needed:
        text = f"p99 at fan-out {max(fan_out)} needs {needed:,} samples of one leaf; there are {n:,}"
        found.append(warning("not-enough-samples", text, remedy="measure longer"))
    return tuple(found)


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
        """Smallest t with P(T > t) <= 1 - share under hedging; a hedge that came first ends at after + a value."""
        moments = np.unique(np.concatenate([self.values, self.values + after]))
        tail = self.survival(moments)
        late = moments >= after
        tail[late] *= self.survival(moments[late] - after)
        return float(moments[int(np.argmax(tail <= 1 - share + 1e-12))])
