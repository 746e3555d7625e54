"""Why a curve bends: the strongest evidence that a study holds decides, and its shares and numbers are shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scalecurve.analysis.curve import curve_of, times_by_k
from scalecurve.diagnosis.accounting import (
    ACCEPTABLE,
    PopMetrics,
    Runs,
    Split,
    account_evidence,
    account_findings,
    group,
    pop_metrics,
    split_gap,
    useful_seconds,
)
from scalecurve.diagnosis.causes import (
    CAUSES,
    COMMUNICATION,
    CONTENTION,
    MEANINGS,
    NONE,
    REMEDIES,
    SERIAL,
    UNDETERMINED,
)
from scalecurve.diagnosis.from_times import (
    NEGLIGIBLE,
    hold_to_loss,
    judge_shape,
    loss_chances,
    shape_evidence,
    shape_findings,
)
from scalecurve.diagnosis.phases import KINDS, accounts, has_phases
from scalecurve.diagnosis.posterior import observe
from scalecurve.document import Block, Cell, Column, Document, FindingList, Paragraph, Result, Tone, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding
from scalecurve.formats.accept import StudyLike, as_study
from scalecurve.study import Regime, Study

SEED = 11
SURE = 0.8
RESAMPLES = 30
SINGLE_RUN_ERROR = 0.3
POOR = 0.6  # a POP efficiency
ONE_NODE_UNITS = frozenset({"threads", "cores"})
APART_UNITS = frozenset({"nodes", "hosts", "machines"})
_POP_ROWS = (
    ("global efficiency", "global_efficiency"),
    ("- parallel efficiency", "parallel_efficiency"),
    ("  - load balance", "load_balance"),
    ("  - communication efficiency", "communication_efficiency"),
    ("- computation scalability", "computation_scalability"),
)


@dataclass(frozen=True, kw_only=True)
class Cause:
    """One cause: its share of the lost worker-time at the largest K, and the chance that it is the largest one."""

    name: str
    share: float
    probability: float

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))


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
    """The cause of the bend with its chance of being right; `basis` says what was looked at."""

    name: str
    k_unit: str
    regime: str
    cause: str
    probability: float
    basis: str
    causes: tuple[Cause, ...]
    by_k: tuple[CauseRow, ...]
    evidence: tuple[str, ...]
    findings: tuple[Finding, ...]

    def __repr__(self) -> str:
        return f"<Diagnosis of {self.name}: {self.cause}, probability {self.probability:.2f}, from {self.basis}>"

    @property
    def remedy(self) -> str:
        if self.cause == UNDETERMINED and self.by_k and self.by_k[-1].pop is not None:
            return "several causes cost about as much: see their shares, and repeat the runs to separate them"
        return REMEDIES[self.cause]

    def records(self) -> list[dict[str, Any]]:
        return [
            {
                "k": row.k,
                "efficiency": row.efficiency,
                **{f"share_{name}": row.shares.get(name, 0.0) for name in (*CAUSES, NONE)},
                **(row.pop.to_dict() if row.pop else {}),
            }
            for row in self.by_k
        ]

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "regime": self.regime,
            "cause": self.cause,
            "probability": self.probability,
            "basis": self.basis,
            "causes": [cause.to_dict() for cause in self.causes],
            "by_k": [row.to_dict() for row in self.by_k],
            "evidence": list(self.evidence),
            "remedy": self.remedy,
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def document(self) -> Document:
        names = [cause.name for cause in self.causes]
        causes = [(c.name, f"{c.share:.0%}", f"{c.probability:.2f}", MEANINGS[c.name]) for c in self.causes]
        heads: list[Column | str] = [Column("cause", "left"), "share", "probability", Column("meaning", "left")]
        rows = [
            [str(row.k), f"{row.efficiency:.3f}", *(f"{row.shares.get(name, 0.0):.0%}" for name in names)]
            for row in self.by_k
        ]
        by_k = table([f"K ({self.k_unit})", "E", *names], rows, caption="Shares of the lost worker-time at each K")
        blocks: list[Block] = [Paragraph(self._answer()), table(heads, causes), by_k]
        if all(row.pop for row in self.by_k):
            cells = []
            for title, name in _POP_ROWS:
                values = [float(getattr(row.pop, name)) for row in self.by_k]
                tones: list[Tone] = ["good" if v >= ACCEPTABLE else "warn" if v >= POOR else "bad" for v in values]
                marked = [Cell(f"{value:.2f}", tone) for value, tone in zip(values, tones, strict=True)]
                cells.append([Cell(title), *marked])
            columns = [Column("POP metric", "left"), *(Column(str(row.k)) for row in self.by_k)]
            caption = f"POP efficiencies by K; {ACCEPTABLE} and above is acceptable"
            blocks.append(table(columns, cells, caption=caption))
        blocks += [Paragraph(sentence) for sentence in self.evidence]
        blocks.append(Paragraph(f"Worth trying: {self.remedy}."))
        return Document(f"{self.name}: why the curve bends", (*blocks, FindingList(self.findings)))

    def _answer(self) -> str:
        """The first sentence of the document."""
        if self.cause == UNDETERMINED:
            likely = [c for c in sorted(self.causes, key=lambda c: -c.probability) if c.probability >= 0.05]
            listed = ", ".join(f"{c.name} {c.probability:.2f}" for c in likely)
            return f"Undetermined: {self.basis} cannot tell these apart: {listed}."
        chance = f"probability {self.probability:.2f}"
        if self.cause == NONE:
            return f"No cause to name: no loss beyond the noise ({chance}, from {self.basis})."
        share = next(c.share for c in self.causes if c.name == self.cause)
        lost = f"{100 * share:.0f} % of the lost worker-time at the largest K"
        return f"Cause: {self.cause} ({MEANINGS[self.cause]}), {chance}, {lost}; from {self.basis}."


def diagnose(study: StudyLike, *, rng: np.random.Generator | None = None) -> Diagnosis:
    """Why the curve bends, from phases per worker, else workers' own times, else the shape and noise of T(K).

    `rng` draws the particles and resamples behind the probabilities.
    """
    study = as_study(study)
    if len(study.all_k) < 2:
        fault = Fault("a diagnosis needs at least two worker counts", remedy="measure another K")
        raise InputError(fault, subject=study.name)
    generator = rng if rng is not None else np.random.default_rng(SEED)
    recorded, phased = accounts(study), has_phases(study)
    # Workers' own seconds that all equal the run's seconds say no more than T(K) does.
    telling = phased or any(account.inside.max() > 0.02 * account.span for account in recorded)
    if telling and len({account.k for account in recorded}) >= 2:
        return _from_accounts(study, group(recorded), phased, generator)
    losses = loss_chances(study)
    judged = judge_shape(times_by_k(study), study.regime, shared_machine=shares_machine(study), rng=generator)
    verdict = hold_to_loss(judged, losses)
    rows = tuple(CauseRow(k=k, efficiency=e, shares=verdict.by_k[k]) for k, e in _efficiencies(study).items())
    cause, _ = _decide(verdict.chances)
    findings = tuple(shape_findings(study, verdict, losses, cause))
    evidence = tuple(shape_evidence(study, verdict))
    return _diagnosis(study, "samples of T(K) only", verdict.shares, verdict.chances, rows, evidence, findings)


def shares_machine(study: Study) -> bool | None:
    """Whether the workers of the largest K sit on one machine; None where nothing says so."""
    largest = [run.placement for run in study.runs if run.k == study.all_k[-1] and run.placement]
    nodes = {len(set(place.hosts)) or place.nodes for place in largest} - {None, 0}
    if nodes:
        return nodes == {1}
    if study.k_unit in ONE_NODE_UNITS or (study.node_size or 0) >= study.all_k[-1]:
        return True
    return False if study.k_unit in APART_UNITS else None


def _decide(chances: Mapping[str, float]) -> tuple[str, float]:
    """The likeliest cause, "undetermined" below a chance of 0.8, and that chance."""
    best = max(chances, key=lambda name: chances[name])
    return (best if chances[best] >= SURE else UNDETERMINED), chances[best]


def _efficiencies(study: Study) -> dict[int, float]:
    curve = curve_of(study)
    return dict(zip(curve.k.tolist(), curve.efficiency.tolist(), strict=True))


def _diagnosis(
    study: Study,
    basis: str,
    shares: Mapping[str, float],
    chances: Mapping[str, float],
    rows: tuple[CauseRow, ...],
    evidence: tuple[str, ...],
    findings: tuple[Finding, ...],
) -> Diagnosis:
    cause, probability = _decide(chances)
    causes = [Cause(name=name, share=shares[name], probability=chances[name]) for name in (*CAUSES, NONE)]
    return Diagnosis(
        name=study.name,
        k_unit=study.k_unit,
        regime=str(study.regime),
        cause=cause,
        probability=probability,
        basis=basis,
        causes=tuple(sorted(causes, key=lambda own: (-own.probability, -own.share))),
        by_k=rows,
        evidence=evidence,
        findings=(*study.findings, *findings),
    )


def _from_accounts(study: Study, by_k: Runs, phased: bool, rng: np.random.Generator) -> Diagnosis:
    """The diagnosis from where each worker's time went."""
    weak, replicated = study.regime is Regime.WEAK, shares_machine(study) is False
    split = split_gap(by_k, weak=weak, replicated=replicated)
    meanings = {} if phased else _growth_meanings(study, by_k, rng)
    # How often each cause comes out largest when the runs of every K are drawn again with replacement.
    names = (*CAUSES, NONE)
    counts = dict.fromkeys(names, 0.5 / len(names))
    for losses, spent in _resampled_losses(by_k, split, weak, replicated, rng):
        drawn = _shares(losses, spent, {})
        winner = max(drawn, key=lambda name: drawn[name])
        for name, part in (meanings if winner == CONTENTION and meanings else {winner: 1.0}).items():
            counts[name] += part
    total = sum(counts.values())
    chances = {name: count / total for name, count in counts.items()}
    shares = {k: _shares(split.losses[k], split.spent[k], meanings) for k in by_k}
    efficiency, base = _efficiencies(study), next(iter(by_k))
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
    cause, _ = _decide(chances)
    _, slow = observe(times_by_k(study))
    findings = (*slow.findings, *account_findings(by_k, split, cause, replicated=replicated, phased=phased))
    basis = "phases of every worker" if phased else "the workers' own times"
    evidence = tuple(account_evidence(by_k, split, weak))
    return _diagnosis(study, basis, next(reversed(shares.values())), chances, rows, evidence, findings)


def _growth_meanings(study: Study, by_k: Runs, rng: np.random.Generator) -> dict[str, float]:
    """Without phases, growing busy time may be contention, serial work or communication: its shape says how likely."""
    totals = {k: np.array([a.compute.mean() for a in runs]) for k, runs in by_k.items()}
    allowed = frozenset({COMMUNICATION, CONTENTION, SERIAL})
    verdict = judge_shape(totals, study.regime, shared_machine=shares_machine(study), rng=rng, allowed=allowed)
    chances = {name: verdict.chances[name] for name in (COMMUNICATION, CONTENTION, SERIAL)}
    total = sum(chances.values())
    return {name: value / total for name, value in chances.items()} if total > 0.2 else {}


def _shares(losses: Mapping[str, float], spent: float, meanings: Mapping[str, float]) -> dict[str, float]:
    """Shares of the loss by cause; `meanings` says to which causes the growth of busy time is handed."""
    total = sum(losses.values())
    if total <= NEGLIGIBLE * spent:
        return {**dict.fromkeys(CAUSES, 0.0), NONE: 1.0}
    grown = losses[CONTENTION] if meanings else 0.0
    handed = {name: grown * (meanings.get(name, 0.0) - (name == CONTENTION)) for name in losses}
    return {**{name: (value + handed[name]) / total for name, value in losses.items()}, NONE: 0.0}


def _resampled_losses(
    by_k: Runs, split: Split, weak: bool, replicated: bool, rng: np.random.Generator
) -> Iterator[tuple[dict[str, float], float]]:
    """Losses and worker-seconds at the largest K, as they could have been.

    With repeats the runs of each K are drawn again with replacement; without, every loss is taken to be known to a
    factor of about `SINGLE_RUN_ERROR`.
    """
    largest = next(reversed(by_k))
    single = all(len(runs) == 1 for runs in by_k.values())
    for _ in range(RESAMPLES):
        if single:
            losses = split.losses[largest].items()
            moved = {name: value * float(np.exp(rng.normal(0.0, SINGLE_RUN_ERROR))) for name, value in losses}
            yield moved, split.spent[largest]
        else:
            drawn = {k: [runs[i] for i in rng.integers(len(runs), size=len(runs))] for k, runs in by_k.items()}
            again = split_gap(drawn, weak=weak, replicated=replicated)
            yield again.losses[largest], again.spent[largest]
