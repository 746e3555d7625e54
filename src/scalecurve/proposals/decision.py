"""Does K help, one regime at a time?  And the decision in sentences: what to buy, what not, what may change it."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from scalecurve.document import JsonRecord
from scalecurve.errors import ScalecurveError
from scalecurve.estimate import Estimate
from scalecurve.planning.cost_rows import cost_text, speed_text
from scalecurve.proposals.evidence import EfficiencyPoint, Evidence, exchange_seconds, model_evidence
from scalecurve.proposals.proposal import Proposal, ProposedRegime
from scalecurve.study import Regime
from scalecurve.words import share_text, single, unit_words

FIRST_STUDY = (1, 2, 4, 8)
MOST_NAMED = 3
FURTHEST = 4  # a forecast is defensible to four times the largest measured K
FAR_OFF = 0.1  # a claim this much above the evidence is worth a sentence
WIDEST = 16.0  # beyond sixteen times its stated value an input is not tried
COARSE, FINE = 8, 1 << 14
SHOWN = 2


class ProposalVerdict(StrEnum):
    """What the check concludes."""

    HELPS = "helps"
    WASTEFUL = "wasteful"
    NO_HELP = "does not help"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, kw_only=True)
class Judgement(JsonRecord):
    """The verdict in one regime, with the numbers behind it.

    `gain` is S(K)/S(today) - 1 and `cost_change` cost(K)/cost(today) - 1 per result at a linear price; None where
    either efficiency is only a bound.  `measure` lists the K to measure first where the verdict is `cannot tell`.
    """

    regime: Regime
    evidence: Evidence | None
    workers: int
    today_k: int
    proposed: EfficiencyPoint | None
    today: EfficiencyPoint | None
    verdict: ProposalVerdict
    why: str
    measure: tuple[int, ...] = ()

    JSON = """
        regime verdict why source=evidence.source baseline_k=evidence.baseline_k proposed today speedup
        efficiency gain dearer=cost_change measure"""

    @property
    def gain(self) -> float | None:
        return speed_gain(self.proposed, self.today)

    @property
    def cost_change(self) -> float | None:
        return None if self.gain is None else self.workers / self.today_k / (1.0 + self.gain) - 1.0

    @property
    def efficiency(self) -> Estimate | None:
        point = self.proposed
        if point is None or point.value is None:
            return None
        return Estimate(point.value, point.low, point.high, None, point.kind)

    @property
    def speedup(self) -> Estimate | None:
        """Relative to one worker at the baseline's efficiency; scaled speedup under weak scaling."""
        return None if self.efficiency is None else self.efficiency.scaled(self.workers)


def speed_gain(proposed: EfficiencyPoint | None, today: EfficiencyPoint | None) -> float | None:
    """S(proposed)/S(today) - 1; None where either efficiency is absent or only a bound."""
    if proposed is None or today is None or not proposed.value or not today.value:
        return None
    return proposed.k * proposed.value / (today.k * today.value) - 1.0


def regimes_of(proposal: Proposal) -> tuple[Regime, ...]:
    """Which efficiency applies: one regime where it is stated, both where it is mixed or not stated."""
    single = {ProposedRegime.STRONG: (Regime.STRONG,), ProposedRegime.WEAK: (Regime.WEAK,)}
    return single.get(proposal.regime, (Regime.STRONG, Regime.WEAK))


def judge(proposal: Proposal, regime: Regime, *, quick: bool = False) -> Judgement:
    """The verdict in one regime; `quick` leaves out the K that only bend and recommendation need.

    Measured or stated efficiencies come before a model made of parts.
    """
    workers, floor = proposal.workers, proposal.floor
    evidence = proposal.evidence(regime)
    if evidence is None or evidence.at(workers) is None:
        evidence = model_evidence(proposal, regime, quick=quick) or evidence
    today_k = proposal.workers_today or (1 if evidence is None else evidence.baseline_k)
    proposed = None if evidence is None else evidence.at(workers)
    today = None if evidence is None else evidence.at(today_k)
    gain = speed_gain(proposed, today)
    verdict, measure = ProposalVerdict.CANNOT_TELL, ()  # type: tuple[ProposalVerdict, tuple[int, ...]]
    if proposed is None:
        why = f"there is no evidence of E({workers}) under {regime} scaling{_already_below(evidence, workers, floor)}"
        measure = further_k(evidence, workers, proposal.workers_today)
    elif gain is not None and gain < proposal.least_gain:
        verdict = ProposalVerdict.NO_HELP
        least = share_text(proposal.least_gain)
        why = f"{workers:,} are {speed_text(1.0 + gain)} than {today_k:,}, and less than {least} counts as no gain"
    elif proposed.unsure(floor) or proposed.reaches(floor) is None:
        why = f"{proposed.text} does not decide whether E reaches {floor:g}"
        measure = closer_k(evidence, proposed, workers, today_k)
    elif proposed.reaches(floor):
        verdict, why = ProposalVerdict.HELPS, f"{proposed.text} reaches the floor of {floor:g}"
    else:
        verdict, why = ProposalVerdict.WASTEFUL, f"{proposed.text} is below the floor of {floor:g}"
    return Judgement(
        regime=regime,
        evidence=evidence,
        workers=workers,
        today_k=today_k,
        proposed=proposed,
        today=today,
        verdict=verdict,
        why=why,
        measure=measure,
    )


def _already_below(evidence: Evidence | None, workers: int, floor: float) -> str:
    """What a smaller K says where it is below the floor: efficiency does not rise with K."""
    smaller = [point for point in evidence.points if point.k < workers] if evidence else []
    if not smaller or smaller[-1].reaches(floor) is not False:
        return ""
    return f", but {smaller[-1].text} is already below {floor:g} and does not rise with K"


def closer_k(evidence: Evidence | None, proposed: EfficiencyPoint, workers: int, today: int) -> tuple[int, ...]:
    """What would decide it: more repeats of a measured K, the next doubling of a study, or a study up to today's K."""
    if proposed.kind == "measured" or workers <= today:
        return (workers,)
    if proposed.kind in ("forecast", "interpolated") and evidence is not None:
        return (min(workers, 2 * max(point.k for point in evidence.points)),)
    return study_up_to(max(today, -(-workers // FURTHEST)))


def study_up_to(last: int) -> tuple[int, ...]:
    """The K of a short study that ends at `last`."""
    return tuple(sorted({max(1, last // 4), max(1, last // 2), last}))


def further_k(evidence: Evidence | None, workers: int, today: int | None = None) -> tuple[int, ...]:
    """The next K towards the proposed one, until a forecast reaches it; without evidence a first study, up to today's
    K where that is stated."""
    if evidence is None or not evidence.points:
        if today is not None and today >= FURTHEST:
            return study_up_to(min(today, workers))
        return tuple(k for k in FIRST_STUDY if k < workers) or (1, workers)
    further: list[int] = []
    k = max(point.k for point in evidence.points)
    while k * FURTHEST < workers and len(further) < MOST_NAMED:
        k *= 2
        further.append(k)
    return tuple(further) or (workers,)


def overall(proposal: Proposal, judgements: Sequence[Judgement]) -> ProposalVerdict:
    """One verdict: a mixed load helps where its growing part does; an unknown regime counts only where all agree."""
    verdicts = [judgement.verdict for judgement in judgements]
    if len(set(verdicts)) == 1:
        return verdicts[0]
    if proposal.regime is ProposedRegime.UNKNOWN:
        return ProposalVerdict.CANNOT_TELL
    return min(verdicts, key=list(ProposalVerdict).index)


def verdict_of(proposal: Proposal) -> ProposalVerdict:
    """Only the verdict, for trying out other inputs."""
    return overall(proposal, [judge(proposal, regime, quick=True) for regime in regimes_of(proposal)])


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
    helps, judgements = ProposalVerdict.HELPS, [one for one in (strong, weak) if one is not None]
    failing = next((one for one in judgements if one.verdict is not helps), None)
    if verdict is ProposalVerdict.CANNOT_TELL:
        yield from _measure_first(proposal, judgements)
    elif failing is None:
        size = f"{proposal.workers} {unit_words(proposal.k_unit)}"
        yield f"{size} are worth it: {'; '.join(one.why for one in judgements)}"
    elif proposal.regime is ProposedRegime.MIXED and failing is strong and weak and weak.verdict is helps:
        yield _for_weak_only(proposal, failing)
    else:
        weak_evidence = proposal.evidence(Regime.WEAK) if failing is strong else None
        as_weak = None if weak_evidence is None else weak_evidence.at(proposal.workers)
        reassess = as_weak is not None and as_weak.reaches(proposal.floor)
        yield from _weak_instead(proposal, failing, as_weak) if reassess and as_weak else _smaller(proposal, failing)


def _measure_first(proposal: Proposal, judgements: Sequence[Judgement]) -> Iterator[str]:
    """What would decide it: the regime, or the K to measure."""
    if proposal.regime is ProposedRegime.UNKNOWN and len({one.verdict for one in judgements}) > 1:
        yield "say first whether the problem grows with the cluster: strong and weak scaling give different answers"
    if first := sorted({k for one in judgements for k in one.measure}):
        why = "; ".join(one.why for one in judgements if one.measure)
        yield f"measure K = {', '.join(map(str, first))} first ({why})"


def _for_weak_only(proposal: Proposal, strong: Judgement) -> str:
    """A mixed load of which only the growing part is helped."""
    unit, part = unit_words(proposal.k_unit), _largest(proposal, strong)
    if part is None:
        return f"buy {proposal.workers} {unit} for weak-scaling workloads only"
    strong_part = f"reserve a {part.k}-{unit.removesuffix('s')} partition for strong ones"
    return f"buy {proposal.workers} {unit} for weak-scaling workloads and {strong_part}"


def _weak_instead(proposal: Proposal, strong: Judgement, weak: EfficiencyPoint) -> Iterator[str]:
    """The same machines under weak scaling, with the batch and the learning rate that go with it."""
    efficiency = f"efficiency is {'above' if weak.value is None else 'at'} {share_text(weak.at_least or 0.0)}"
    if proposal.batch is None:
        yield f"reassess as weak scaling, where {efficiency}"
        return
    unit = single(unit_words(proposal.k_unit))
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
        yield f"{step} when billed linearly"
    largest = _largest(proposal, judgement)
    if largest is None:
        yield f"no K of the evidence reaches an efficiency of {floor:g}"
    elif largest.k < today:
        yield f"efficiency reaches {floor:g} only up to {largest.k} {unit}"
    else:
        yield f"take {largest.k} {unit} instead of {proposal.workers}: {largest.text} is still above {floor:g}"


def _largest(proposal: Proposal, judgement: Judgement) -> EfficiencyPoint | None:
    if judgement.evidence is None:
        return None
    return judgement.evidence.largest_reaching(proposal.floor, most=proposal.workers)


def _claim_sentences(proposal: Proposal, judgements: Sequence[Judgement]) -> Iterator[str]:
    claim = proposal.claim
    if claim is None:
        return
    claimed = claim.claimed_efficiency
    sentence = f"the claim of {claimed * claim.workers:.4g}x on {claim.workers} is an efficiency of {claimed:.2f}"
    yield f"{sentence}: {share_text(1.0 - claimed)} of the fleet idle"
    for judgement in judgements:
        evidence = judgement.evidence
        point = None if evidence is None else evidence.at(claim.workers)
        if evidence is not None and point is not None and point.value is not None and claimed > point.value + FAR_OFF:
            yield f"the evidence says {point.value:.2f} there and not {claimed:.2f} ({evidence.source})"


@dataclass(frozen=True)
class Relief:
    """The most a free network could bring: speedup over today, and efficiency relative to it."""

    speedup: float
    efficiency: float
    basis: str


def network_relief(proposal: Proposal, strong: Judgement) -> Relief | None:
    """How fast the fixed job could be at K if the network cost nothing.

    Under weak scaling T_w(K)/T(K0) = 1/E_w: the step grew by at most 1/E_w - 1 of a step from K0 to K, all overhead of
    the larger K included.  Gradients have the same size whatever the batch, so the fixed job pays no more than that:
    T(K) - (1/E_w - 1) T(K0) is the best a free network leaves.
    """
    if strong.proposed is None or not strong.proposed.value or strong.evidence is None:
        return None
    baseline, exchange = strong.evidence.baseline_k, proposal.collective
    weak_evidence = proposal.evidence(Regime.WEAK)
    weak = None if weak_evidence is None else weak_evidence.at(proposal.workers)
    if weak_evidence is not None and weak_evidence.baseline_k == baseline and weak is not None and weak.at_least:
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
        return "the gain from a faster network is unknown: state the exchange per step, or measure weak scaling"
    reach = f"{relief.speedup:.1f}x (E = {relief.efficiency:.2f}), by the {relief.basis}"
    if relief.efficiency >= proposal.floor:
        return f"a free network would bring at most {reach}"
    size = f"{proposal.workers} {unit_words(proposal.k_unit)}"
    return f"do not buy a faster network: even a free one brings {size} to at most {reach}"


@dataclass(frozen=True, kw_only=True)
class Sensitivity(JsonRecord):
    """An input, its value, and the value at which the verdict becomes `becomes`; None where it never does."""

    name: str
    value: float
    turns_at: float | None = None
    becomes: str | None = None

    JSON = "input=name value turns_at becomes"

    @property
    def distance(self) -> float:
        """How far the input must move, as a logarithm; infinite where moving it changes nothing."""
        return math.inf if self.turns_at is None else abs(math.log(self.turns_at / self.value))

    @property
    def sentence(self) -> str:
        if self.turns_at is None:
            return f"No {self.name} within a factor of {WIDEST:g} of {self.value:.4g} changes the verdict"
        side = "above" if self.turns_at > self.value else "below"
        change = abs(self.turns_at / self.value - 1)
        much = f"{change:.0%} {'more' if side == 'above' else 'less'}, now {self.value:.3g}"
        return f"With {self.name} {side} {self.turns_at:.3g} ({much}) the verdict would be '{self.becomes}'"


def most_sensitive(proposal: Proposal) -> tuple[Sensitivity, ...]:
    """The inputs whose smallest change, alone, turns the verdict; nearest first."""
    now = verdict_of(proposal)
    results = []
    for path, name in INPUTS.items():
        value = _follow(proposal, path)
        if value is None:
            continue
        turns = [turn for sign in (1, -1) if value and (turn := _turn(proposal, path, now, sign))]
        nearest = min(turns, key=lambda turn: abs(math.log(turn[0])), default=None)
        turns_at, becomes = (None, None) if nearest is None else (value * nearest[0], str(nearest[1]))
        results.append(Sensitivity(name=name, value=value, turns_at=turns_at, becomes=becomes))
    results += _stated_efficiencies(proposal, now)
    return tuple(sorted(results, key=lambda result: result.distance)[:SHOWN])


def _stated_efficiencies(proposal: Proposal, now: ProposalVerdict) -> Iterator[Sensitivity]:
    """The efficiencies at the proposed K that decide: the verdict turns at the floor."""
    opposite = {ProposalVerdict.HELPS: ProposalVerdict.WASTEFUL, ProposalVerdict.WASTEFUL: ProposalVerdict.HELPS}
    for regime in regimes_of(proposal) if now in opposite else ():
        evidence = proposal.evidence(regime)
        point = None if evidence is None else evidence.at(proposal.workers)
        if point is not None and point.value and judge(proposal, regime, quick=True).verdict is now:
            name = f"{regime} efficiency at K = {proposal.workers}"
            yield Sensitivity(name=name, value=point.value, turns_at=proposal.floor, becomes=str(opposite[now]))


INPUTS = {  # numbers that the verdict may depend on, by where they stand in a proposal
    "floor": "efficiency floor",
    "serial.share": "serial share",
    "stragglers.spread": "spread of workers' times",
    "collective.bytes": "bytes per step",
    "collective.step_time": "seconds of work per step",
}
SHARES = ("floor", "serial.share")


def _follow(proposal: Proposal, path: str) -> float | None:
    part, _, name = path.rpartition(".")
    owner = getattr(proposal, part) if part else proposal
    return None if owner is None else getattr(owner, name)


def changed(proposal: Proposal, path: str, factor: float) -> Proposal | None:
    """The proposal with one input times a factor, its range included; None where a share would exceed 1."""
    part, _, name = path.rpartition(".")
    owner = getattr(proposal, part) if part else proposal
    ends = {end: getattr(owner, end, None) for end in (name, "low", "high")}
    moved = {end: value * factor for end, value in ends.items() if value is not None}
    if path in SHARES and max(moved.values()) > 1:
        return None
    changed_part = owner.model_copy(update=moved)
    return proposal.model_copy(update={part: changed_part}) if part else changed_part


def _turn(proposal: Proposal, path: str, now: ProposalVerdict, sign: int) -> tuple[float, ProposalVerdict] | None:
    """The factor at which the verdict changes, and to what: a coarse walk outwards, then halving."""
    furthest = sign * math.log(WIDEST)
    walk = [furthest * (i / COARSE) ** 2 for i in range(COARSE + 1)]  # small steps first: an input may end nearby

    def turned(step: float) -> bool:
        return _verdict_with(proposal, path, step) not in (now, None)

    agreed, differs = next((pair for pair in pairwise(walk) if turned(pair[1])), (0.0, None))
    if differs is None:
        return None
    between = [agreed + (differs - agreed) * i / FINE for i in range(FINE + 1)]
    step = between[bisect_left(between, True, lo=1, hi=FINE, key=turned)]
    return math.exp(step), _verdict_with(proposal, path, step) or now


def _verdict_with(proposal: Proposal, path: str, step: float) -> ProposalVerdict | None:
    """The verdict with one input changed by a factor of exp(step); None where the change is not possible."""
    try:
        other = changed(proposal, path, math.exp(step))
        return None if other is None else verdict_of(other)
    except ScalecurveError:
        return None
