"""Why a curve bends: the strongest evidence that a study holds decides, and its shares and numbers are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from scalecurve.analysis.curve import curve_of, thinned, times_by_k
from scalecurve.diagnosis.accounting import (
    ACCEPTABLE,
    PopMetrics,
    Runs,
    group,
    pop_metrics,
    tells_apart,
    useful_seconds,
)
from scalecurve.diagnosis.causes import (
    ANSWERS,
    COMMUNICATION,
    CONTENTION,
    LOAD_CAUSES,
    LOAD_MEANINGS,
    LOAD_REMEDIES,
    MEANINGS,
    NAMES,
    NONE,
    NOTHING,
    OTHER,
    REMEDIES,
    SERIAL,
    SURE,
    TELLING,
    TIMES,
    TOTALS,
    UNDETERMINED,
    answer,
    anything,
    separation,
)
from scalecurve.diagnosis.from_phases import account_evidence, account_findings, draw_losses
from scalecurve.diagnosis.from_times import hold_to_loss, judge_shape, loss_chances, shape_evidence, shape_findings
from scalecurve.diagnosis.phases import KINDS, accounts, has_phases
from scalecurve.diagnosis.shapes import observe
from scalecurve.document import Block, Cell, Column, Document, FindingList, JsonRecord, Paragraph, Result, Tone, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding
from scalecurve.formats.loading import StudyLike, as_study
from scalecurve.study import Regime, Study
from scalecurve.study.study import is_load

SEED = 11
MOST_DIAGNOSED = 64  # worker counts; thousands of curves are drawn through them
POOR = 0.6  # a POP efficiency
MOST_LISTED = 4  # causes with their chances in the answer
IN_WORDS = {OTHER: "a mechanism that has no name here", NONE: "no loss at all"}
SMALL_SHARE = 0.05  # of the loss: a cause that surely cost less is not printed
GROWN = {CONTENTION: 1.0, SERIAL: 0.25, OTHER: 0.06}  # how often compute that grows comes from each, shapes aside
ONE_NODE_UNITS = frozenset({"threads", "cores"})
APART_UNITS = frozenset({"nodes", "hosts", "machines"})
DISTURBANCES = ("disturbed", "oversubscribed", "singletons")  # findings of a measurement that leave no cause to name
DISTURBED, LACK_OF_FIT = "disturbed", "lack of fit"
FROM_TIMES, FROM_PHASES, FROM_OWN_TIMES = "samples of T(K) only", "phases of every worker", "the workers' own times"
MEASURE_AGAIN = "measure again on a quiet machine with a core for every worker, all workers in one job"
_POP_ROWS = (
    ("global efficiency", "global_efficiency"),
    ("- parallel efficiency", "parallel_efficiency"),
    ("  - load balance", "load_balance"),
    ("  - communication efficiency", "communication_efficiency"),
    ("    - serialisation efficiency", "serialisation_efficiency"),
    ("    - transfer efficiency", "transfer_efficiency"),
    ("- computation scalability", "computation_scalability"),
)


@dataclass(frozen=True, kw_only=True)
class Cause(JsonRecord):
    """One cause: its share of the lost worker-time at the largest K, and the chance that it is the largest one.

    `share_low` to `share_high` holds the share with a chance of 90 %, as far as the evidence can tell causes apart.
    """

    name: str
    share: float
    share_low: float
    share_high: float
    probability: float


@dataclass(frozen=True, kw_only=True)
class CauseRow:
    """One K: shares of the lost worker-time by cause (with `none` they add up to 1), and mean seconds by kind."""

    k: int
    efficiency: float
    shares: Mapping[str, float]
    seconds: Mapping[str, float] = field(default_factory=dict)
    pop: PopMetrics | None = None

    def to_dict(self) -> dict[str, Any]:
        row: dict[str, Any] = {"k": self.k, "efficiency": self.efficiency, "shares": dict(self.shares)}
        return row | {"seconds": dict(self.seconds) or None, "pop": self.pop.to_dict() if self.pop else None}


@dataclass(frozen=True, kw_only=True, repr=False)
class Diagnosis(Result):
    """The cause of the bend, or the set that holds it; `basis` says what was looked at.

    `cause` is "undetermined" unless one cause has a chance of 0.9.  `candidates` is the smallest set of causes that
    holds the true one with the chance `probability`, the likeliest first, and `separate_by` the one measurement that
    tells them apart.  `reason` is "disturbed" or "lack of fit" where nothing can be said at all.
    """

    name: str
    k_unit: str
    regime: str
    cause: str
    probability: float
    candidates: tuple[str, ...]
    separate_by: str | None
    reason: str | None
    basis: str
    causes: tuple[Cause, ...]
    by_k: tuple[CauseRow, ...]
    evidence: tuple[str, ...]
    findings: tuple[Finding, ...]

    JSON = "name regime cause probability candidates separate_by reason basis causes by_k evidence remedy findings"

    def __repr__(self) -> str:
        cause = self.cause if self.cause != UNDETERMINED else self.reason or " or ".join(self.candidates)
        return f"<Diagnosis of {self.name}: {cause}, probability {self.probability:.2f}, from {self.basis}>"

    @property
    def remedy(self) -> str:
        if self.cause == UNDETERMINED:
            return self.separate_by or MEASURE_AGAIN
        return (REMEDIES | LOAD_REMEDIES if is_load(self.k_unit) else REMEDIES)[self.cause]

    @property
    def meanings(self) -> Mapping[str, str]:
        """What each cause is, in the words of the job: workers that share it, or clients of a server."""
        return MEANINGS | LOAD_MEANINGS if is_load(self.k_unit) else MEANINGS

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        chance = f"probability {self.probability:.2f}"
        if self.reason == DISTURBED:
            return "Undetermined: disturbed. The runs measure the disturbance as well as the job."
        if self.reason == LACK_OF_FIT:
            return "Undetermined: the times follow no mechanism, and no sum of two, that has a name here."
        if self.cause == UNDETERMINED:
            chances = {cause.name: cause.probability for cause in self.causes}
            words = [IN_WORDS.get(name, name) for name in self.candidates]
            first = len(words) if len(words) <= MOST_LISTED else MOST_LISTED - 1
            listed = _either(
                [f"{word} ({chances[name]:.2f})" for word, name in zip(words, self.candidates, strict=True)][:first]
            )
            listed += f", less likely {_either(words[first:])}" if words[first:] else ""
            seen = "T(K) alone" if self.basis == FROM_TIMES else self.basis
            return f"Undetermined: {listed}, {chance} together; {seen} cannot tell them apart."
        if self.cause == NONE:
            return f"No cause to name: no loss beyond the noise ({chance}, from {self.basis})."
        own = next(c for c in self.causes if c.name == self.cause)
        share = (
            f"{own.share:.0%} ({own.share_low:.0%} to {own.share_high:.0%}) of the lost worker-time at the largest K"
        )
        return f"Cause: {self.cause} ({self.meanings[self.cause]}), {chance}, {share}; from {self.basis}."

    @property
    def ruled_out(self) -> tuple[str, ...]:
        """The causes outside the set, in the order of their chances; none where nothing can be said."""
        return tuple(c.name for c in self.causes if c.name not in self.candidates) if self.reason is None else ()

    def records(self) -> list[dict[str, Any]]:
        return [
            {
                "k": row.k,
                "efficiency": row.efficiency,
                **{f"share_{name}": row.shares.get(name, 0.0) for name in ANSWERS},
                **(row.pop.to_dict() if row.pop else {}),
            }
            for row in self.by_k
        ]

    def body(self) -> Document:
        """The answer and what to do first, so that one screen holds them; then the numbers behind them."""
        step = "Worth trying" if self.cause != UNDETERMINED else "Next" if self.reason is None else "Do next"
        blocks: list[Block] = [Paragraph(self.sentence), Paragraph(f"{step}: {self.remedy}.")]
        if self.cause == UNDETERMINED and self.ruled_out:
            words = ", ".join(IN_WORDS.get(name, name) for name in self.ruled_out)
            blocks.append(Paragraph(f"Ruled out as the main cause (probability {self.probability:.2f}): {words}."))
        blocks += self._shares() if self.reason is None else []
        if all(row.pop for row in self.by_k):
            cells = []
            for title, name in _POP_ROWS:
                values = [getattr(row.pop, name) for row in self.by_k]
                if any(value is not None for value in values):
                    cells.append([Cell(title), *(_graded(value) for value in values)])
            columns = [Column("POP metric", "left"), *(Column(str(row.k)) for row in self.by_k)]
            caption = (
                f"POP efficiencies by K; {ACCEPTABLE} and above is acceptable. They count the phases of the parallel "
                "program alone, so they differ from E of the table"
            )
            blocks.append(table(columns, cells, caption=caption))
        blocks += [Paragraph(sentence) for sentence in self.evidence]
        return Document(f"{self.name}: why the curve bends", (*blocks, FindingList(self.findings)))

    def _shares(self) -> list[Block]:
        """The causes that cost anything, and their shares at each K."""
        shown = [c for c in self.causes if c.name in self.candidates or c.share_high >= SMALL_SHARE]
        heads: list[Column | str] = [Column("cause", "left"), "share", "90 %", "probability", Column("meaning", "left")]
        causes = [
            (
                c.name,
                f"{c.share:.0%}",
                f"{c.share_low:.0%} to {c.share_high:.0%}",
                f"{c.probability:.2f}",
                self.meanings[c.name],
            )
            for c in shown
        ]
        if self.cause == UNDETERMINED and self.basis == FROM_TIMES:  # shares by K would show the models, not the runs
            first, last = self.by_k[0], self.by_k[-1]
            e = last.efficiency
            lost = f"{max(0.0, 1 - e):.0%} of the worker-time at K = {last.k} is lost against K = {first.k}"
            return [table(heads, causes), Paragraph(f"{lost} (E = {e:.3f}).")]
        rows = [
            [str(row.k), f"{row.efficiency:.3f}", *(f"{row.shares.get(c.name, 0.0):.0%}" for c in shown)]
            for row in self.by_k
        ]
        caption = "Shares of the lost worker-time at each K"
        by_k = table([f"K ({self.k_unit})", "E", *(c.name for c in shown)], rows, caption=caption)
        return [table(heads, causes), by_k]


def _either(words: list[str]) -> str:
    return " or ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else words[0]


def _graded(value: float | None) -> Cell:
    if value is None:
        return Cell("-")
    tone: Tone = "good" if value >= ACCEPTABLE else "warn" if value >= POOR else "bad"
    return Cell(f"{value:.2f}", tone)


def diagnose(study: StudyLike, *, regime: str | None = None, rng: np.random.Generator | None = None) -> Diagnosis:
    """Why the curve bends, from phases per worker, else workers' own times, else the shape and noise of T(K).

    `rng` draws the particles and resamples behind the probabilities.
    """
    study = thinned(as_study(study, regime=regime), MOST_DIAGNOSED)
    if len(study.all_k) < 2:
        fault = Fault("a diagnosis needs at least two worker counts", remedy="measure another K")
        raise InputError(fault, subject=study.name)
    generator = rng if rng is not None else np.random.default_rng(SEED)
    recorded, phased = accounts(study), has_phases(study)
    # Workers' own seconds that all equal the run's seconds say no more than T(K) does.
    telling = phased or any(account.inside.max() > 0.02 * account.span for account in recorded)
    if telling and len({account.k for account in recorded}) >= 2:
        judged = _from_accounts(study, group(recorded), phased, generator)
    else:
        judged = _from_times(study, generator)
    codes = {finding.code for finding in study.findings}
    if codes & set(DISTURBANCES) or any(run.oversubscribed for run in study.runs if run.counts):
        return _refused(judged, DISTURBED)
    return judged


def _refused(judged: Diagnosis, reason: str) -> Diagnosis:
    """The same without a cause: every one alike, and what to do instead."""
    chances = anything()
    candidates = tuple(name for name, chance in chances.items() if chance > 0)
    causes = tuple(replace(own, share_low=0.0, share_high=1.0, probability=chances[own.name]) for own in judged.causes)
    load = is_load(judged.k_unit)
    separate_by = (
        MEASURE_AGAIN if reason == DISTURBED else separation(candidates, phased=False, telling=False, load=load)
    )
    return replace(
        judged,
        cause=UNDETERMINED,
        probability=1.0,
        candidates=candidates,
        separate_by=separate_by,
        reason=reason,
        causes=causes,
    )


def _from_times(study: Study, rng: np.random.Generator) -> Diagnosis:
    """The diagnosis from the shape and the noise of T(K)."""
    losses, machine = loss_chances(study), shares_machine(study)
    verdict = judge_shape(
        times_by_k(study),
        weak=study.regime is Regime.WEAK,
        shared_machine=machine,
        node_size=study.node_size,
        rng=rng,
        allowed=LOAD_CAUSES if is_load(study.k_unit) else NAMES,
    )
    chances = TIMES(hold_to_loss(verdict.draws.chances(), losses))
    gained = {loss.k for loss in losses if loss.efficiency > 1}
    shares = {k: dict(NOTHING if k in gained else own) for k, own in verdict.draws.shares().items()}
    rows = tuple(CauseRow(k=k, efficiency=e, shares=shares[k]) for k, e in _efficiencies(study).items())
    findings = tuple(shape_findings(study, verdict, losses))
    evidence = tuple(shape_evidence(study, verdict))
    judged = _diagnosis(study, FROM_TIMES, chances, verdict.draws.intervals(), rows, evidence, findings)
    surely_none = judged.cause == NONE
    return judged if verdict.fits or surely_none else _refused(judged, LACK_OF_FIT)


def shares_machine(study: Study) -> bool | None:
    """Whether the workers of the largest K sit on one machine; None where nothing says so."""
    largest = [run.placement for run in study.runs if run.k == study.all_k[-1] and run.placement]
    nodes = {len(set(place.hosts)) or place.nodes for place in largest} - {None, 0}
    if nodes:
        return nodes == {1}
    if study.k_unit in ONE_NODE_UNITS or (study.node_size or 0) >= study.all_k[-1]:
        return True
    return False if study.k_unit in APART_UNITS else None


def _efficiencies(study: Study) -> dict[int, float]:
    curve = curve_of(study)
    return dict(zip(curve.k.tolist(), curve.efficiency.tolist(), strict=True))


def _diagnosis(
    study: Study,
    basis: str,
    chances: Mapping[str, float],
    intervals: Mapping[str, tuple[float, float]],
    rows: tuple[CauseRow, ...],
    evidence: tuple[str, ...],
    findings: tuple[Finding, ...],
    *,
    telling: bool = False,
) -> Diagnosis:
    verdict, shares = answer(chances), rows[-1].shares
    causes = []
    for name in ANSWERS:
        (low, high), share = intervals[name], shares[name]
        low, high = min(low, share), max(high, share)
        causes.append(Cause(name=name, share=share, share_low=low, share_high=high, probability=chances[name]))
    return Diagnosis(
        name=study.name,
        k_unit=study.k_unit,
        regime=str(study.regime),
        cause=verdict.cause,
        probability=verdict.probability,
        candidates=verdict.candidates,
        separate_by=separation(
            verdict.candidates, phased=basis == FROM_PHASES, telling=telling, load=is_load(study.k_unit)
        ),
        reason=None,
        basis=basis,
        causes=tuple(sorted(causes, key=lambda own: (-own.probability, -own.share))),
        by_k=rows,
        evidence=evidence,
        findings=(*study.findings, *findings),
    )


def _from_accounts(study: Study, by_k: Runs, phased: bool, rng: np.random.Generator) -> Diagnosis:
    """The diagnosis from where each worker's time went."""
    weak, apart = study.regime is Regime.WEAK, shares_machine(study) is False
    grown = _growth_meanings(study, by_k, phased, rng)
    lost = loss_chances(study)[-1].bent >= SURE
    split, draws = draw_losses(by_k, weak=weak, apart=apart, phased=phased, surely_lost=lost, grown=grown, rng=rng)
    telling = phased and all(tells_apart(account) for runs in by_k.values() for account in runs)
    chances = (TELLING if telling else TOTALS)(draws.chances())
    shares, efficiency, base = draws.shares(), _efficiencies(study), next(iter(by_k))
    useful = useful_seconds(by_k[base])
    rows = tuple(
        CauseRow(
            k=k,
            efficiency=efficiency[k],
            shares=shares[k],
            seconds={kind: float(np.mean([getattr(a, kind).mean() for a in runs])) for kind in KINDS},
            pop=pop_metrics(runs, useful * (k / base if weak else 1.0)),
        )
        for k, runs in by_k.items()
    )
    _, slow = observe(times_by_k(study))
    candidates = answer(chances).candidates
    findings = (*slow.findings, *account_findings(by_k, split, candidates, apart=apart, phased=phased))
    basis = FROM_PHASES if phased else FROM_OWN_TIMES
    evidence = tuple(account_evidence(by_k, split, weak))
    return _diagnosis(study, basis, chances, draws.intervals(), rows, evidence, findings, telling=telling)


def _growth_meanings(study: Study, by_k: Runs, phased: bool, rng: np.random.Generator) -> dict[str, float]:
    """What growing busy time may be, by its shape over K; without phases it may hold messages too."""
    totals = {k: np.array([a.compute.mean() for a in runs]) for k, runs in by_k.items()}
    allowed = (CONTENTION, SERIAL, OTHER) if phased else (COMMUNICATION, CONTENTION, SERIAL, OTHER)
    weak, machine = study.regime is Regime.WEAK, shares_machine(study)
    verdict = judge_shape(
        totals, weak=weak, shared_machine=machine, node_size=study.node_size, rng=rng, allowed=allowed
    )
    chances = verdict.draws.chances()
    if not phased:
        return {name: max(chances[name], 0.05) for name in allowed}
    return {name: max(rarity * chances[name], 0.003) for name, rarity in GROWN.items()}
