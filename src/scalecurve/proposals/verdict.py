"""Does K help?  One regime at a time, from what is known of efficiency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from scalecurve.estimate import Estimate
from scalecurve.proposals.known import Evidence, Known
from scalecurve.proposals.model import model_evidence
from scalecurve.proposals.proposal import Growth, Proposal
from scalecurve.study import Regime

FIRST_STUDY = (1, 2, 4, 8)
MOST_NAMED = 3
FURTHEST = 4  # a forecast is defensible to four times the largest measured K


class Verdict(StrEnum):
    """What the check concludes."""

    HELPS = "helps"
    WASTEFUL = "helps but wasteful"
    NO_HELP = "does not help"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """The verdict in one regime, with the numbers behind it.

    `gain` is S(K)/S(today) - 1 and `dearer` cost(K)/cost(today) - 1 per result at a linear price; None where either end
    is not known as a number.  `measure` lists the K to measure first where the verdict is `cannot tell`.
    """

    regime: Regime
    evidence: Evidence | None
    workers: int
    today_k: int
    proposed: Known | None
    today: Known | None
    verdict: Verdict
    why: str
    measure: tuple[int, ...] = ()

    @property
    def gain(self) -> float | None:
        pair = self._pair()
        return None if pair is None else self.workers * pair[0] / (self.today_k * pair[1]) - 1.0

    @property
    def dearer(self) -> float | None:
        pair = self._pair()
        return None if pair is None else pair[1] / pair[0] - 1.0

    def _pair(self) -> tuple[float, float] | None:
        if self.proposed is None or self.today is None or not self.proposed.value or not self.today.value:
            return None
        return self.proposed.value, self.today.value

    @property
    def efficiency(self) -> Estimate | None:
        known = self.proposed
        if known is None or known.value is None:
            return None
        return Estimate(known.value, known.low, known.high, None, known.kind)

    @property
    def speedup(self) -> Estimate | None:
        """Relative to one worker at the baseline's efficiency; scaled speedup under weak scaling."""
        return None if self.efficiency is None else self.efficiency.scaled(self.workers)

    def to_dict(self) -> dict[str, Any]:
        return {
            "regime": str(self.regime),
            "verdict": str(self.verdict),
            "why": self.why,
            "source": None if self.evidence is None else self.evidence.source,
            "baseline_k": None if self.evidence is None else self.evidence.baseline_k,
            "proposed": None if self.proposed is None else self.proposed.to_dict(),
            "today": None if self.today is None else self.today.to_dict(),
            "speedup": None if self.speedup is None else self.speedup.to_dict(),
            "efficiency": None if self.efficiency is None else self.efficiency.to_dict(),
            "gain": self.gain,
            "dearer": self.dearer,
            "measure": list(self.measure),
        }


def regimes_of(proposal: Proposal) -> tuple[Regime, ...]:
    """Which efficiency applies: one regime where the growth is stated, both where it is mixed or not known."""
    stated = {Growth.STRONG: (Regime.STRONG,), Growth.WEAK: (Regime.WEAK,)}
    return stated.get(proposal.growth, (Regime.STRONG, Regime.WEAK))


def evidence_for(proposal: Proposal, regime: Regime, *, quick: bool = False) -> Evidence | None:
    """Measured or stated efficiencies before a model made of parts."""
    given = proposal.strong if regime is Regime.STRONG else proposal.weak
    if given is not None and given.at(proposal.workers) is not None:
        return given
    model = model_evidence(proposal, regime, quick=quick)
    return model if model is not None else given


def judge(proposal: Proposal, regime: Regime, *, quick: bool = False) -> Judgement:
    """The verdict in one regime; `quick` leaves out the K that only bend and recommendation need."""
    evidence = evidence_for(proposal, regime, quick=quick)
    today_k = proposal.workers_today or (1 if evidence is None else evidence.baseline_k)
    proposed = None if evidence is None else evidence.at(proposal.workers)
    today = None if evidence is None else evidence.at(today_k)
    known = Judgement(
        regime=regime,
        evidence=evidence,
        workers=proposal.workers,
        today_k=today_k,
        proposed=proposed,
        today=today,
        verdict=Verdict.CANNOT_TELL,
        why="",
    )
    return _decided(proposal, known)


def _decided(proposal: Proposal, known: Judgement) -> Judgement:
    floor, proposed = proposal.floor, known.proposed
    if proposed is None:
        return replace(known, why=_unknown(proposal, known), measure=further_k(known.evidence, proposal.workers))
    shown = efficiency_text(proposed)
    if known.gain is not None and known.gain < proposal.least_gain:
        words = (
            f"{known.gain:+.1%} in speed against K = {known.today_k}, below the least gain of {proposal.least_gain:.0%}"
        )
        return replace(known, verdict=Verdict.NO_HELP, why=words)
    if proposed.unsure(floor) or proposed.reaches(floor) is None:
        words = f"{shown} does not decide whether E reaches {floor:g}"
        return replace(known, why=words, measure=closer_k(known.evidence, proposed, proposal.workers, known.today_k))
    if proposed.reaches(floor):
        return replace(known, verdict=Verdict.HELPS, why=f"{shown} reaches the floor of {floor:g}")
    return replace(known, verdict=Verdict.WASTEFUL, why=f"{shown} is below the floor of {floor:g}")


def efficiency_text(known: Known) -> str:
    """E with its interval or bound."""
    name = f"E({known.k})"
    if known.value is None:
        return f"{name} of at least {known.low:g}" if known.low is not None else f"{name} of at most {known.high:g}"
    if known.low is not None and known.high is not None:
        return f"{name} = {known.value:.2f} ({known.low:.2f} to {known.high:.2f})"
    return f"{name} = {known.value:.2f}" if known.value >= 0.1 else f"{name} = {known.value:.3f}"


def _unknown(proposal: Proposal, known: Judgement) -> str:
    """Nothing is known of K itself, but efficiency does not rise with K."""
    words = f"nothing is known of E({proposal.workers}) under {known.regime} scaling"
    smaller = [point for point in known.evidence.points if point.k < proposal.workers] if known.evidence else []
    if not smaller or smaller[-1].reaches(proposal.floor) is not False:
        return words
    return f"{words}, but {efficiency_text(smaller[-1])} is already below {proposal.floor:g} and does not rise with K"


def closer_k(evidence: Evidence | None, proposed: Known, workers: int, today: int) -> tuple[int, ...]:
    """What would decide it: more repeats of a measured K, the next doubling of a study, or a study up to today's K."""
    if proposed.kind == "measured" or workers <= today:
        return (workers,)
    if proposed.kind in ("forecast", "interpolated") and evidence is not None:
        return (min(workers, 2 * max(point.k for point in evidence.points)),)
    last = max(today, -(-workers // FURTHEST))
    return tuple(sorted({max(1, last // 4), max(1, last // 2), last}))


def further_k(evidence: Evidence | None, workers: int) -> tuple[int, ...]:
    """The next K towards the proposed one, until a forecast reaches it; without evidence, a first study."""
    if evidence is None or not evidence.points:
        return tuple(k for k in FIRST_STUDY if k < workers) or (1, workers)
    wanted: list[int] = []
    k = max(point.k for point in evidence.points)
    while k * FURTHEST < workers and len(wanted) < MOST_NAMED:
        k *= 2
        wanted.append(k)
    return tuple(wanted) or (workers,)


def overall(proposal: Proposal, judgements: Sequence[Judgement]) -> Verdict:
    """One verdict: a mixed load helps where its growing part does; an unknown regime counts only where all agree."""
    verdicts = [judgement.verdict for judgement in judgements]
    if len(verdicts) == 1 or len(set(verdicts)) == 1:
        return verdicts[0]
    if proposal.growth is Growth.UNKNOWN:
        return Verdict.CANNOT_TELL
    order = (Verdict.HELPS, Verdict.WASTEFUL, Verdict.NO_HELP, Verdict.CANNOT_TELL)
    return min(verdicts, key=order.index)


def verdict_of(proposal: Proposal) -> Verdict:
    """Only the verdict, for trying out other inputs."""
    return overall(proposal, [judge(proposal, regime, quick=True) for regime in regimes_of(proposal)])
