"""The decision in sentences: what to buy, what not, and what to do instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scalecurve.planning.choices import share_text, unit_words
from scalecurve.proposals.known import Known
from scalecurve.proposals.model import exchange_seconds
from scalecurve.proposals.proposal import Growth, Proposal
from scalecurve.proposals.verdict import Judgement, Verdict, efficiency_text
from scalecurve.study import Regime

FAR_OFF = 0.1  # a claim this much above the evidence is worth a sentence


@dataclass(frozen=True)
class Relief:
    """The most a free network could bring: speedup over today, and efficiency relative to it."""

    speedup: float
    efficiency: float
    basis: str


def decide(proposal: Proposal, verdict: Verdict, judgements: Sequence[Judgement]) -> str:
    """Everything the numbers say about the purchase, most important first."""
    by_regime = {judgement.regime: judgement for judgement in judgements}
    weak, strong = by_regime.get(Regime.WEAK), by_regime.get(Regime.STRONG)
    sentences = [
        *_network(proposal, strong),
        *_purchase(proposal, verdict, strong, weak),
        *_claim(proposal, judgements),
    ]
    return " ".join(f"{text[:1].upper()}{text[1:]}." for text in sentences)


def _purchase(proposal: Proposal, verdict: Verdict, strong: Judgement | None, weak: Judgement | None) -> Iterator[str]:
    unit = unit_words(proposal.k_unit)
    if verdict is Verdict.CANNOT_TELL:
        yield from _measure_first(proposal, [one for one in (strong, weak) if one is not None])
    elif proposal.growth is Growth.MIXED and _parted(strong, weak):
        yield from _partition(proposal, strong)
    elif strong is not None and strong.verdict is not Verdict.HELPS:
        yield from _strong_purchase(proposal, strong)
    elif weak is not None and weak.verdict is not Verdict.HELPS:
        yield from _smaller(proposal, weak)
    else:
        yield f"{proposal.workers} {unit} are defensible: {'; '.join(one.why for one in (strong, weak) if one)}"


def _parted(strong: Judgement | None, weak: Judgement | None) -> bool:
    return strong is not None and weak is not None and weak.verdict is Verdict.HELPS is not strong.verdict


def _partition(proposal: Proposal, strong: Judgement | None) -> Iterator[str]:
    unit = unit_words(proposal.k_unit)
    part = _largest(proposal, strong)
    if part is None:
        yield f"buy {proposal.workers} {unit} for weak-scaling workloads only"
        return
    strong_part = f"reserve a {part.k}-{unit.removesuffix('s')} partition for strong ones"
    yield f"buy {proposal.workers} {unit} for weak-scaling workloads and {strong_part}"


def _strong_purchase(proposal: Proposal, strong: Judgement) -> Iterator[str]:
    if _weak_is_fine(proposal):
        yield from _reassess(proposal, strong)
    else:
        yield from _smaller(proposal, strong)


def _weak_is_fine(proposal: Proposal) -> bool:
    known = None if proposal.weak is None else proposal.weak.at(proposal.workers)
    return known is not None and bool(known.reaches(proposal.floor))


def _reassess(proposal: Proposal, strong: Judgement) -> Iterator[str]:
    """The same machines under weak scaling, with the batch and the learning rate that go with it."""
    known = None if proposal.weak is None else proposal.weak.at(proposal.workers)
    unit = unit_words(proposal.k_unit).removesuffix("s")
    words = "reassess as weak scaling"
    if proposal.batch is not None:
        each = proposal.batch.size // strong.today_k
        words += f" at {each} per {unit}, a global batch of {each * proposal.workers:,}"
    if known is not None:
        words += f", where efficiency is {'above' if known.value is None else 'at'} {share_text(known.at_least or 0.0)}"
    yield words
    if proposal.batch is not None:
        ratio = proposal.workers / strong.today_k
        rule = f"scale the learning rate by {ratio:g} with a warm-up (Goyal et al. 2017)"
        yield f"{rule} and check the validation accuracy"
        yield from _critical(proposal, each * proposal.workers)


def _critical(proposal: Proposal, batch: float) -> Iterator[str]:
    critical = proposal.batch.critical if proposal.batch is not None else None
    if critical is None:
        yield "the critical batch is not stated: beyond it a larger batch no longer saves steps"
    elif batch > critical:
        yield f"that batch is above the critical batch of {critical:,.0f}: extra examples will be partly wasted"


def _smaller(proposal: Proposal, judgement: Judgement) -> Iterator[str]:
    unit = unit_words(proposal.k_unit)
    best = _largest(proposal, judgement)
    yield from _not_defensible(proposal, judgement)
    if best is None:
        yield f"no known K reaches an efficiency of {proposal.floor:g}"
    elif best.k < judgement.today_k:
        yield f"efficiency reaches {proposal.floor:g} only up to {best.k} {unit}"
    else:
        why = f"{efficiency_text(best)} is still above {proposal.floor:g}"
        yield f"take {best.k} {unit} instead of {proposal.workers}: {why}"


def _not_defensible(proposal: Proposal, judgement: Judgement) -> Iterator[str]:
    """Where each percent of speed costs more than a percent of money."""
    gain, dearer = judgement.gain, judgement.dearer
    if gain is None or dearer is None or dearer <= gain:
        return
    unit = unit_words(proposal.k_unit)
    speed = f"{share_text(gain)} faster" if gain > 0 else "no faster"
    step = f"from {judgement.today_k} to {proposal.workers} {unit}: {speed}, {share_text(dearer)} dearer per result"
    yield f"not defensible: {step} when billed linearly"


def _largest(proposal: Proposal, judgement: Judgement | None) -> Known | None:
    if judgement is None or judgement.evidence is None:
        return None
    return judgement.evidence.largest_reaching(proposal.floor, most=proposal.workers)


def _measure_first(proposal: Proposal, judgements: Sequence[Judgement]) -> Iterator[str]:
    if proposal.growth is Growth.UNKNOWN and len({judgement.verdict for judgement in judgements}) > 1:
        yield "say first whether the problem grows with the cluster: strong and weak scaling give different answers"
    wanted = sorted({k for judgement in judgements for k in judgement.measure})
    if wanted:
        why = "; ".join(one.why for one in judgements if one.measure)
        yield f"measure K = {', '.join(map(str, wanted))} first ({why})"


def _claim(proposal: Proposal, judgements: Sequence[Judgement]) -> Iterator[str]:
    claim = proposal.claim
    if claim is None:
        return
    words = f"the claim of {claim.speedup:.4g}x on {claim.workers} is an efficiency of {claim.efficiency:.2f}"
    yield f"{words}: {share_text(1.0 - claim.efficiency)} of the fleet idle"
    for judgement in judgements:
        known = None if judgement.evidence is None else judgement.evidence.at(claim.workers)
        if known is not None and known.value is not None and claim.efficiency > known.value + FAR_OFF:
            source = judgement.evidence.source if judgement.evidence else ""
            yield f"the evidence says {known.value:.2f} there and not {claim.efficiency:.2f} ({source})"


def network_relief(proposal: Proposal, strong: Judgement) -> Relief | None:
    """How fast the fixed job could be at K if the network cost nothing, from what is known about it.

    Under weak scaling T_w(K)/T(K0) = 1/E_w: the step grew by at most 1/E_w - 1 of a step from K0 to K, all overhead of
    the larger K included.  Gradients have the same size whatever the batch, so the fixed job pays no more than that:
    T(K) - (1/E_w - 1) T(K0) is the best a free network leaves.
    """
    if strong.proposed is None or not strong.proposed.value or strong.evidence is None:
        return None
    ratio = proposal.workers / strong.evidence.baseline_k
    time = 1.0 / (ratio * strong.proposed.value)
    saved, basis = _network_share(proposal, strong.evidence.baseline_k)
    if saved is None or saved >= time:
        return None
    return Relief(1.0 / (time - saved), 1.0 / ((time - saved) * ratio), basis)


def _network_share(proposal: Proposal, baseline: int) -> tuple[float | None, str]:
    """The network's part of a step at the proposed K, in units of the step at K0."""
    weak = None if proposal.weak is None else proposal.weak.at(proposal.workers)
    if proposal.weak is not None and proposal.weak.baseline_k == baseline and weak is not None and weak.at_least:
        return 1.0 / weak.at_least - 1.0, f"weak-scaling efficiency of {weak.at_least:g}"
    if proposal.exchange is not None and baseline == 1:
        name, seconds = exchange_seconds(proposal.exchange, proposal.workers)
        return seconds / proposal.exchange.step_seconds, f"{name} {proposal.exchange.operation}"
    return None, ""


def _network(proposal: Proposal, strong: Judgement | None) -> Iterator[str]:
    if not proposal.buys_network or strong is None:
        return
    relief = network_relief(proposal, strong)
    if relief is None:
        yield "what a faster network would bring cannot be told: state the exchange per step, or measure weak scaling"
        return
    reach = f"{relief.speedup:.1f}x (E = {relief.efficiency:.2f}), by the {relief.basis}"
    if relief.efficiency < proposal.floor:
        where = f"{proposal.workers} {unit_words(proposal.k_unit)}"
        yield f"do not buy a faster network: even a free one brings {where} to at most {reach}"
    else:
        yield f"a free network would bring at most {reach}"
