"""The decision in sentences: what to buy, what not, what to do instead, and which inputs would change the verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scalecurve.errors import ScalecurveError
from scalecurve.laws.collectives import Link, Network, Protocol
from scalecurve.planning.cost_rows import cost_text, share_text, unit_words
from scalecurve.proposals.evidence import Known, exchange_seconds
from scalecurve.proposals.proposal import Proposal, ProposedRegime
from scalecurve.proposals.verdict import Judgement, ProposalVerdict, regimes_of, verdict_of
from scalecurve.study import Regime

FAR_OFF = 0.1  # a claim this much above the evidence is worth a sentence
WIDEST = 16.0  # an input that may be sixteen times off is not known at all
COARSE, FINE = 12, 24
SHOWN = 2


def decide(proposal: Proposal, verdict: ProposalVerdict, judgements: Sequence[Judgement]) -> str:
    """Everything the numbers say about the purchase, most important first."""
    by_regime = {judgement.regime: judgement for judgement in judgements}
    weak, strong = by_regime.get(Regime.WEAK), by_regime.get(Regime.STRONG)
    sentences = [*_purchase_sentences(proposal, verdict, strong, weak), *_claim_sentences(proposal, judgements)]
    if proposal.buys_faster_network and strong is not None:
        sentences.insert(0, _network_sentence(proposal, network_relief(proposal, strong)))
    return " ".join(f"{text[:1].upper()}{text[1:]}." for text in sentences)


def _purchase_sentences(
    proposal: Proposal, verdict: ProposalVerdict, strong: Judgement | None, weak: Judgement | None
) -> Iterator[str]:
    unit, helps = unit_words(proposal.k_unit), ProposalVerdict.HELPS
    judgements = [one for one in (strong, weak) if one is not None]
    if verdict is ProposalVerdict.CANNOT_TELL:
        if proposal.regime is ProposedRegime.UNKNOWN and len({one.verdict for one in judgements}) > 1:
            yield "say first whether the problem grows with the cluster: strong and weak scaling give different answers"
        first = sorted({k for one in judgements for k in one.measure})
        if first:
            why = "; ".join(one.why for one in judgements if one.measure)
            yield f"measure K = {', '.join(map(str, first))} first ({why})"
    elif proposal.regime is ProposedRegime.MIXED and weak and strong and weak.verdict is helps is not strong.verdict:
        part = _largest(proposal, strong)
        if part is None:
            yield f"buy {proposal.workers} {unit} for weak-scaling workloads only"
        else:
            strong_part = f"reserve a {part.k}-{unit.removesuffix('s')} partition for strong ones"
            yield f"buy {proposal.workers} {unit} for weak-scaling workloads and {strong_part}"
    elif strong is not None and strong.verdict is not helps:
        stated = proposal.evidence(Regime.WEAK)
        as_weak = None if stated is None else stated.at(proposal.workers)
        reassess = as_weak is not None and as_weak.reaches(proposal.floor)
        yield from _weak_instead(proposal, strong, as_weak) if reassess and as_weak else _smaller(proposal, strong)
    elif weak is not None and weak.verdict is not helps:
        yield from _smaller(proposal, weak)
    else:
        yield f"{proposal.workers} {unit} are defensible: {'; '.join(one.why for one in judgements)}"


def _weak_instead(proposal: Proposal, strong: Judgement, weak: Known) -> Iterator[str]:
    """The same machines under weak scaling, with the batch and the learning rate that go with it."""
    efficiency = f"efficiency is {'above' if weak.value is None else 'at'} {share_text(weak.at_least or 0.0)}"
    if proposal.batch is None:
        yield f"reassess as weak scaling, where {efficiency}"
        return
    unit = unit_words(proposal.k_unit).removesuffix("s")
    per_worker, critical = proposal.batch.size // strong.today_k, proposal.batch.critical
    total = per_worker * proposal.workers
    yield f"reassess as weak scaling at {per_worker} per {unit}, a global batch of {total:,}, where {efficiency}"
    rate = f"scale the learning rate by {proposal.workers / strong.today_k:g} with a warm-up (Goyal et al. 2017)"
    yield f"{rate} and check the validation accuracy"
    if critical is None:
        yield "the critical batch is not stated: beyond it a larger batch no longer saves steps"
    elif total > critical:
        yield f"that batch is above the critical batch of {critical:,.0f}: extra examples will be partly wasted"


def _smaller(proposal: Proposal, judgement: Judgement) -> Iterator[str]:
    unit, floor, today = unit_words(proposal.k_unit), proposal.floor, judgement.today_k
    gain, change = judgement.gain, judgement.cost_change
    if gain is not None and change is not None and change > gain:  # a percent of speed costs more than one of money
        speed = f"{share_text(gain)} faster" if gain > 0 else "no faster"
        step = f"from {today} to {proposal.workers} {unit}: {speed}, {cost_text(1.0 + change)}"
        yield f"not defensible: {step} when billed linearly"
    largest = _largest(proposal, judgement)
    if largest is None:
        yield f"no known K reaches an efficiency of {floor:g}"
    elif largest.k < today:
        yield f"efficiency reaches {floor:g} only up to {largest.k} {unit}"
    else:
        yield f"take {largest.k} {unit} instead of {proposal.workers}: {largest.text} is still above {floor:g}"


def _largest(proposal: Proposal, judgement: Judgement) -> Known | None:
    if judgement.evidence is None:
        return None
    return judgement.evidence.largest_reaching(proposal.floor, most=proposal.workers)


def _claim_sentences(proposal: Proposal, judgements: Sequence[Judgement]) -> Iterator[str]:
    claim = proposal.claim
    if claim is None:
        return
    claimed = claim.claimed_efficiency
    stated = f"the claim of {claimed * claim.workers:.4g}x on {claim.workers} is an efficiency of {claimed:.2f}"
    yield f"{stated}: {share_text(1.0 - claimed)} of the fleet idle"
    for judgement in judgements:
        evidence = judgement.evidence
        known = None if evidence is None else evidence.at(claim.workers)
        if evidence is not None and known is not None and known.value is not None and claimed > known.value + FAR_OFF:
            yield f"the evidence says {known.value:.2f} there and not {claimed:.2f} ({evidence.source})"


@dataclass(frozen=True)
class Relief:
    """The most a free network could bring: speedup over today, and efficiency relative to it."""

    speedup: float
    efficiency: float
    basis: str


def network_relief(proposal: Proposal, strong: Judgement) -> Relief | None:
    """How fast the fixed job could be at K if the network cost nothing, from what is known about it.

    Under weak scaling T_w(K)/T(K0) = 1/E_w: the step grew by at most 1/E_w - 1 of a step from K0 to K, all overhead of
    the larger K included.  Gradients have the same size whatever the batch, so the fixed job pays no more than that:
    T(K) - (1/E_w - 1) T(K0) is the best a free network leaves.
    """
    if strong.proposed is None or not strong.proposed.value or strong.evidence is None:
        return None
    baseline, exchange = strong.evidence.baseline_k, proposal.collective
    stated = proposal.evidence(Regime.WEAK)
    weak = None if stated is None else stated.at(proposal.workers)
    if stated is not None and stated.baseline_k == baseline and weak is not None and weak.at_least:
        saved, basis = 1.0 / weak.at_least - 1.0, f"weak-scaling efficiency of {weak.at_least:g}"
    elif exchange is not None and baseline == 1:
        name, seconds = exchange_seconds(exchange, proposal.workers)
        saved, basis = seconds / exchange.step_time, f"{name} {exchange.operation}"
    else:
        return None
    ratio = proposal.workers / baseline
    time = 1.0 / (ratio * strong.proposed.value)
    return None if saved >= time else Relief(1.0 / (time - saved), 1.0 / ((time - saved) * ratio), basis)


def _network_sentence(proposal: Proposal, relief: Relief | None) -> str:
    if relief is None:
        return "the gain from a faster network is not known: state the exchange per step, or measure weak scaling"
    reach = f"{relief.speedup:.1f}x (E = {relief.efficiency:.2f}), by the {relief.basis}"
    if relief.efficiency >= proposal.floor:
        return f"a free network would bring at most {reach}"
    size = f"{proposal.workers} {unit_words(proposal.k_unit)}"
    return f"do not buy a faster network: even a free one brings {size} to at most {reach}"


@dataclass(frozen=True, kw_only=True)
class Sensitivity:
    """An input, its value, and the value at which the verdict becomes `becomes`; None where it never does."""

    name: str
    value: float
    turns_at: float | None = None
    becomes: str | None = None

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
    """The inputs whose smallest change, alone, turns the verdict; nearest first."""
    now = verdict_of(proposal)
    results = []
    for key, name, value in _inputs(proposal):
        turns = [turn for sign in (1, -1) if (turn := _turn(proposal, key, now, sign)) is not None]
        result = Sensitivity(name=name, value=value)
        if turns and value != 0:
            factor, becomes = min(turns, key=lambda turn: abs(math.log(turn[0])))
            result = replace(result, turns_at=value * factor, becomes=str(becomes))
        results.append(result)
    return tuple(sorted(results, key=lambda result: result.distance)[:SHOWN])


def _inputs(proposal: Proposal) -> Iterator[tuple[str, str, float]]:
    """Every number the verdict may depend on: its key, its name and its value."""
    yield "floor", "efficiency floor", proposal.floor
    if proposal.serial is not None:
        yield "serial", "serial share", proposal.serial.share
    if proposal.spread is not None:
        yield "spread", "spread of workers' times", proposal.spread
    exchange = proposal.collective
    if exchange is not None:
        yield "bytes", "bytes per step", exchange.bytes
        yield "step_time", "seconds of work per step", exchange.step_time
        if exchange.links.inter.peak is not None:
            yield "network", "network bytes per second", exchange.links.inter.peak
    for regime in regimes_of(proposal):
        evidence = proposal.evidence(regime)
        known = None if evidence is None else evidence.at(proposal.workers)
        number = None if known is None else known.value or known.at_least or known.at_most
        if number:
            yield str(regime), f"{regime} efficiency at K = {proposal.workers}", number


def changed(proposal: Proposal, key: str, factor: float) -> Proposal | None:
    """The proposal with one input times a factor, its range included; None where that is not possible."""
    exchange, update = proposal.collective, dict[str, Any]()
    match key:
        case "floor":
            update["floor"] = proposal.floor * factor
            return proposal.model_copy(update=update) if update["floor"] <= 1 else None
        case "serial" | "spread":
            name, field = ("serial", "share") if key == "serial" else ("stragglers", "spread")
            part = getattr(proposal, name)
            ends = {end: getattr(part, end) for end in (field, "low", "high")}
            moved = {end: None if value is None else value * factor for end, value in ends.items()}
            if key == "serial" and max(moved["share"] or 0.0, moved["high"] or 0.0) > 1:
                return None
            update[name] = part.model_copy(update=moved)
        case "network" if exchange is not None:
            update["collective"] = exchange.with_links(faster_network(exchange.links, factor))
        case "bytes" | "step_time" if exchange is not None:
            update["collective"] = exchange.model_copy(update={key: getattr(exchange, key) * factor})
        case _:
            evidence = proposal.evidence(Regime(key))
            known = None if evidence is None else evidence.at(proposal.workers)
            number = 0.0 if known is None else known.value or known.at_least or known.at_most or 0.0
            if evidence is None or (number * factor > 1 and factor > 1):
                return None
            return proposal.with_evidence(evidence.scaled_at(proposal.workers, factor))
    return proposal.model_copy(update=update)


def faster_network(network: Network, factor: float) -> Network:
    """The same network with every bandwidth times a factor."""
    links = []
    for link in (network.inter, network.intra):
        ways = (
            () if link is None else tuple(Protocol(alpha=way.alpha, beta=way.beta / factor) for way in link.protocols)
        )
        links.append(None if link is None else Link(protocols=ways, name=link.name))
    return replace(network, inter=links[0] or network.inter, intra=links[1])


def _turn(proposal: Proposal, key: str, now: ProposalVerdict, sign: int) -> tuple[float, ProposalVerdict] | None:
    """The factor at which the verdict changes, and to what: a coarse walk outwards, then halving."""
    agreed, differs = 0.0, None
    for i in range(1, COARSE + 1):
        step = sign * math.log(WIDEST) * (i / COARSE) ** 2  # small steps first: an input may end nearby
        if _verdict_with(proposal, key, step) not in (now, None):
            differs = step
            break
        agreed = step
    if differs is None:
        return None
    for _ in range(FINE):
        middle = (agreed + differs) / 2.0
        same = _verdict_with(proposal, key, middle) in (now, None)
        agreed, differs = (middle, differs) if same else (agreed, middle)
    return math.exp(differs), _verdict_with(proposal, key, differs) or now


def _verdict_with(proposal: Proposal, key: str, step: float) -> ProposalVerdict | None:
    """The verdict with one input changed by a factor of exp(step); None where the change is not possible."""
    try:
        other = changed(proposal, key, math.exp(step))
        return None if other is None else verdict_of(other)
    except ScalecurveError:
        return None
