"""Does K help?  One regime at a time, from what is known of efficiency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from scalecurve.estimate import Estimate
from scalecurve.proposals.evidence import Evidence, Known, model_evidence
from scalecurve.proposals.proposal import Proposal, ProposedRegime
from scalecurve.study import Regime

FIRST_STUDY = (1, 2, 4, 8)
MOST_NAMED = 3
FURTHEST = 4  # a forecast is defensible to four times the largest measured K


class ProposalVerdict(StrEnum):
    """What the check concludes."""

    HELPS = "helps"
    WASTEFUL = "helps but wasteful"
    NO_HELP = "does not help"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """The verdict in one regime, with the numbers behind it.

    `gain` is S(K)/S(today) - 1 and `cost_change` cost(K)/cost(today) - 1 per result at a linear price; None where
    either end is not known as a number.  `measure` lists the K to measure first where the verdict is `cannot tell`.
    """

    regime: Regime
    evidence: Evidence | None
    workers: int
    today_k: int
    proposed: Known | None
    today: Known | None
    verdict: ProposalVerdict
    why: str
    measure: tuple[int, ...] = ()

    @property
    def gain(self) -> float | None:
        return speed_gain(self.proposed, self.today)

    @property
    def cost_change(self) -> float | None:
        return None if self.gain is None else self.workers / self.today_k / (1.0 + self.gain) - 1.0

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
        parts = {"proposed": self.proposed, "today": self.today, "speedup": self.speedup, "efficiency": self.efficiency}
        return {
            "regime": str(self.regime),
            "verdict": str(self.verdict),
            "why": self.why,
            "source": None if self.evidence is None else self.evidence.source,
            "baseline_k": None if self.evidence is None else self.evidence.baseline_k,
            **{name: None if part is None else part.to_dict() for name, part in parts.items()},
            "gain": self.gain,
            "dearer": self.cost_change,
            "measure": list(self.measure),
        }


def speed_gain(proposed: Known | None, today: Known | None) -> float | None:
    """S(proposed)/S(today) - 1; None where either efficiency is not known as a number."""
    if proposed is None or today is None or not proposed.value or not today.value:
        return None
    return proposed.k * proposed.value / (today.k * today.value) - 1.0


def regimes_of(proposal: Proposal) -> tuple[Regime, ...]:
    """Which efficiency applies: one regime where it is stated, both where it is mixed or not known."""
    stated = {ProposedRegime.STRONG: (Regime.STRONG,), ProposedRegime.WEAK: (Regime.WEAK,)}
    return stated.get(proposal.regime, (Regime.STRONG, Regime.WEAK))


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
        why = f"nothing is known of E({workers}) under {regime} scaling"
        smaller = [point for point in evidence.points if point.k < workers] if evidence else []
        if smaller and smaller[-1].reaches(floor) is False:  # efficiency does not rise with K
            why += f", but {smaller[-1].text} is already below {floor:g} and does not rise with K"
        measure = further_k(evidence, workers)
    elif gain is not None and gain < proposal.least_gain:
        verdict = ProposalVerdict.NO_HELP
        why = f"{gain:+.1%} in speed against K = {today_k}, below the least gain of {proposal.least_gain:.0%}"
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
