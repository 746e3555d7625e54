"""Efficiency from parts, where nobody has measured: serial share, exchange and stragglers put together.

    strong   T(K)/T(1) = s + (1 - s)/K x M(K) + c(K)          weak   T(K)/T(1) = s + (1 - s) M(K) + c(K)

M(K) is the expected maximum of K workers' times in means (lognormal with the stated spread), c(K) the part of the
collective that is not hidden, in units of the step on one worker.  Parts that are not given are left out, and the
efficiency is then an upper bound.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from scalecurve.estimate import Estimate
from scalecurve.laws.collectives import Link, Network, Protocol, as_operation, best, cost
from scalecurve.laws.stragglers import lognormal_maximum
from scalecurve.proposals.known import Evidence, Known, Ranged
from scalecurve.proposals.proposal import Exchange, Proposal
from scalecurve.study import Regime
from scalecurve.units import parse_workers


def exchange_seconds(exchange: Exchange, k: int) -> tuple[str, float]:
    """The algorithm and the seconds of one collective among K workers, the hidden share left out."""
    operation = as_operation(exchange.operation)
    if exchange.algorithm is None:
        choice = best(operation, k, exchange.bytes, exchange.network)
    else:
        choice = cost(operation, exchange.algorithm, k, exchange.bytes, exchange.network)
    return choice.algorithm, choice.seconds * (1.0 - exchange.hidden)


def faster_network(network: Network, factor: float) -> Network:
    """The same network with every bandwidth times a factor."""
    intra = None if network.intra is None else _faster_link(network.intra, factor)
    return replace(network, inter=_faster_link(network.inter, factor), intra=intra)


def _faster_link(link: Link, factor: float) -> Link:
    return Link(
        protocols=tuple(Protocol(alpha=way.alpha, beta=way.beta / factor) for way in link.protocols), name=link.name
    )


def time_ratio(k: int, regime: Regime, *, serial: float, exchange: Exchange | None, spread: float | None) -> float:
    """T(K)/T(1) by the formula above."""
    slowest = 1.0 if spread is None or k == 1 else _slowest(k, spread)
    parallel = (1.0 - serial) * slowest / (k if regime is Regime.STRONG else 1)
    exposed = 0.0 if exchange is None or k == 1 else exchange_seconds(exchange, k)[1] / exchange.step_seconds
    return serial + parallel + exposed


@lru_cache(maxsize=4096)
def _slowest(k: int, spread: float) -> float:
    """Trying out other inputs asks for the same maximum again and again."""
    return lognormal_maximum(k, spread)


def model_evidence(proposal: Proposal, regime: Regime, *, quick: bool = False) -> Evidence | None:
    """The model as evidence, on doublings unless `quick`; None without a serial share, which nobody may invent."""
    if proposal.serial is None:
        return None

    def known(k: int) -> Known:
        return _known(proposal, regime, k)

    largest = max(proposal.workers, proposal.workers_today or 1)
    grid = [] if quick else sorted({*parse_workers(f"1..{largest}"), *_more_workers(proposal)})
    return Evidence(
        regime=regime,
        baseline_k=1,
        points=tuple(known(k) for k in grid),
        source=model_source(proposal),
        beyond=known,
    )


def _more_workers(proposal: Proposal) -> list[int]:
    return [k for k in (proposal.workers, proposal.workers_today) if k is not None]


def model_source(proposal: Proposal) -> str:
    """Which parts the model holds, and where its serial share comes from."""
    parts = ["serial share"]
    parts += ["exchange"] if proposal.exchange is not None else []
    parts += ["stragglers"] if proposal.spread is not None else []
    told = proposal.serial.source if proposal.serial is not None else ""
    return f"model of {', '.join(parts)} ({told})"


def _known(proposal: Proposal, regime: Regime, k: int) -> Known:
    value = _efficiency(proposal, regime, k)
    if k == 1 or not _has_range(proposal):
        return Known(k=k, value=value, kind="model", seconds=_seconds(proposal, regime, k, value, None, None))
    low = _efficiency(_at_end(proposal, worst=True), regime, k)
    high = _efficiency(_at_end(proposal, worst=False), regime, k)
    return Known(
        k=k, value=value, low=low, high=high, kind="model", seconds=_seconds(proposal, regime, k, value, low, high)
    )


def _efficiency(proposal: Proposal, regime: Regime, k: int) -> float:
    serial = proposal.serial.value if proposal.serial is not None else 0.0
    spread = proposal.spread.value if proposal.spread is not None else None
    ratio = time_ratio(k, regime, serial=serial, exchange=proposal.exchange, spread=spread)
    return 1.0 / (ratio * k) if regime is Regime.STRONG else 1.0 / ratio


def _has_range(proposal: Proposal) -> bool:
    given = (proposal.serial, proposal.spread)
    return any(part is not None and part.low is not None and part.high is not None for part in given)


def _at_end(proposal: Proposal, *, worst: bool) -> Proposal:
    """Every ranged input at its worse or its better end: efficiency falls with each of them."""
    return replace(proposal, serial=_end(proposal.serial, worst=worst), spread=_end(proposal.spread, worst=worst))


def _end(part: Ranged | None, *, worst: bool) -> Ranged | None:
    if part is None:
        return None
    end = part.high if worst else part.low
    return part if end is None else replace(part, value=end)


def _seconds(
    proposal: Proposal, regime: Regime, k: int, value: float, low: float | None, high: float | None
) -> Estimate | None:
    one = proposal.seconds_at_baseline
    if one is None:
        return None
    work = one / (k if regime is Regime.STRONG else 1)
    if low is None or high is None:
        return Estimate(work / value, method="model")
    return Estimate(work / value, work / high, work / low, None, "model, stated ranges")
