"""Which inputs the verdict hangs on: how far each must move, alone, before the verdict is another."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from scalecurve.errors import ScalecurveError
from scalecurve.proposals.known import Evidence
from scalecurve.proposals.model import faster_network
from scalecurve.proposals.proposal import Exchange, Proposal
from scalecurve.proposals.verdict import Verdict, regimes_of, verdict_of
from scalecurve.study import Regime

WIDEST = 16.0  # an input that may be sixteen times off is not known at all
COARSE, FINE = 12, 24
SHOWN = 2

Change = Callable[[float], Proposal | None]


@dataclass(frozen=True, kw_only=True)
class Sensitivity:
    """An input, its value, and the value at which the verdict becomes `becomes`; None where it never does."""

    name: str
    value: float
    turns_at: float | None
    becomes: str | None

    @property
    def distance(self) -> float:
        """How far the input must move, as a logarithm; infinite where moving it changes nothing."""
        return math.inf if self.turns_at is None else abs(math.log(self.turns_at / self.value))

    @property
    def sentence(self) -> str:
        if self.turns_at is None:
            return f"{self.name} = {self.value:.4g}: no value within a factor of {WIDEST:g} changes the verdict"
        side = "above" if self.turns_at > self.value else "below"
        return f"{self.name} = {self.value:.4g}: {side} {self.turns_at:.3g} the verdict is '{self.becomes}'"

    def to_dict(self) -> dict[str, Any]:
        return {"input": self.name, "value": self.value, "turns_at": self.turns_at, "becomes": self.becomes}


def most_sensitive(proposal: Proposal) -> tuple[Sensitivity, ...]:
    """The inputs whose smallest change turns the verdict, nearest first."""
    now = verdict_of(proposal)
    found = [_turning(name, value, change, now) for name, value, change in _inputs(proposal)]
    return tuple(sorted(found, key=lambda item: item.distance)[:SHOWN])


def _inputs(proposal: Proposal) -> Iterator[tuple[str, float, Change]]:
    yield "efficiency floor", proposal.floor, _floor(proposal)
    if proposal.serial is not None:
        yield "serial share", proposal.serial.value, _ranged(proposal, "serial")
    if proposal.spread is not None:
        yield "spread of workers' times", proposal.spread.value, _ranged(proposal, "spread")
    if proposal.exchange is not None:
        yield from _exchange_inputs(proposal, proposal.exchange)
    for regime in regimes_of(proposal):
        yield from _evidence_inputs(proposal, regime)


def _floor(proposal: Proposal) -> Change:
    return lambda factor: replace(proposal, floor=proposal.floor * factor) if proposal.floor * factor <= 1 else None


def _ranged(proposal: Proposal, name: str) -> Change:
    """A serial share and a spread move with their range."""
    part = getattr(proposal, name)

    def change(factor: float) -> Proposal | None:
        ends = {end: None if getattr(part, end) is None else getattr(part, end) * factor for end in ("low", "high")}
        largest = max(part.value * factor, ends["high"] or 0.0)
        if name == "serial" and largest > 1:
            return None
        moved: dict[str, Any] = {name: replace(part, value=part.value * factor, **ends)}
        return replace(proposal, **moved)

    return change


def _exchange_inputs(proposal: Proposal, exchange: Exchange) -> Iterator[tuple[str, float, Change]]:
    names = {"bytes": "bytes per step", "step_seconds": "seconds of work per step"}
    for field, name in names.items():
        yield name, getattr(exchange, field), _exchanged(proposal, exchange, field)
    if exchange.network.inter.peak is not None:
        yield "network bytes per second", exchange.network.inter.peak, _networked(proposal, exchange)


def _networked(proposal: Proposal, exchange: Exchange) -> Change:
    def change(factor: float) -> Proposal:
        return replace(proposal, exchange=replace(exchange, network=faster_network(exchange.network, factor)))

    return change


def _exchanged(proposal: Proposal, exchange: Exchange, field: str) -> Change:
    def change(factor: float) -> Proposal:
        moved: dict[str, Any] = {field: getattr(exchange, field) * factor}
        return replace(proposal, exchange=replace(exchange, **moved))

    return change


def _evidence_inputs(proposal: Proposal, regime: Regime) -> Iterator[tuple[str, float, Change]]:
    evidence = proposal.strong if regime is Regime.STRONG else proposal.weak
    known = None if evidence is None else evidence.at(proposal.workers)
    number = None if known is None else known.value or known.at_least or known.at_most
    if evidence is not None and number:
        yield f"{regime} efficiency at K = {proposal.workers}", number, _evident(proposal, evidence, number)


def _evident(proposal: Proposal, evidence: Evidence, number: float) -> Change:
    def change(factor: float) -> Proposal | None:
        if number * factor > 1 and factor > 1:
            return None
        moved: dict[str, Any] = {str(evidence.regime): evidence.scaled_at(proposal.workers, factor)}
        return replace(proposal, **moved)

    return change


def _turning(name: str, value: float, change: Change, now: Verdict) -> Sensitivity:
    """The nearest value, up or down, at which the verdict changes."""
    turns = [turn for sign in (1, -1) if (turn := _turn(change, now, sign)) is not None]
    if not turns or value == 0:
        return Sensitivity(name=name, value=value, turns_at=None, becomes=None)
    factor, becomes = min(turns, key=lambda turn: abs(math.log(turn[0])))
    return Sensitivity(name=name, value=value, turns_at=value * factor, becomes=str(becomes))


def _turn(change: Change, now: Verdict, sign: int) -> tuple[float, Verdict] | None:
    """A coarse walk outwards, then halving between the last step that agreed and the first that did not."""
    agreed = 0.0
    for i in range(1, COARSE + 1):
        step = sign * math.log(WIDEST) * (i / COARSE) ** 2  # small steps first: an input may end nearby
        verdict = _try(change, math.exp(step))
        if verdict is not None and verdict is not now:
            return _halve(change, now, agreed, step)
        agreed = step
    return None


def _halve(change: Change, now: Verdict, agreed: float, differs: float) -> tuple[float, Verdict]:
    for _ in range(FINE):
        middle = (agreed + differs) / 2.0
        verdict = _try(change, math.exp(middle))
        agreed, differs = (middle, differs) if verdict in (now, None) else (agreed, middle)
    factor = math.exp(differs)
    return factor, _try(change, factor) or now


def _try(change: Change, factor: float) -> Verdict | None:
    """The verdict with one input changed; None where the change is not possible."""
    try:
        changed = change(factor)
        return None if changed is None else verdict_of(changed)
    except ScalecurveError:
        return None
