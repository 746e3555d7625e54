"""The verb `diagnose`: why does the curve bend?  The strongest evidence a study holds decides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from scalecurve.analysis.summary import summarise
from scalecurve.analysis.table import efficiencies
from scalecurve.diagnosis.accounting import group, split_gap, useful_seconds
from scalecurve.diagnosis.causes import CAUSES, CONTENTION, NONE, SERIAL, UNDETERMINED, Cause
from scalecurve.diagnosis.evidence import account_evidence, account_findings, shape_evidence, shape_findings
from scalecurve.diagnosis.from_times import NEGLIGIBLE, judge_shape, seconds_by_k
from scalecurve.diagnosis.gains import gain_findings, gains, held_to_the_loss
from scalecurve.diagnosis.noise import observe
from scalecurve.diagnosis.phases import KINDS, Account, accounts, has_phases
from scalecurve.diagnosis.pop import pop_metrics
from scalecurve.diagnosis.result import CauseRow, Diagnosis
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding
from scalecurve.study import Regime, Study

SEED = 11
SURE = 0.8
RESAMPLES = 30
SINGLE_RUN_ERROR = 0.3
ONE_NODE_UNITS = frozenset({"threads", "cores"})
APART_UNITS = frozenset({"nodes", "hosts", "machines"})


def diagnose(study: Study, *, rng: np.random.Generator | None = None) -> Diagnosis:
    """Why the curve bends, from phases per worker, else workers' own times, else the shape and noise of T(K)."""
    if len(study.all_k) < 2:
        raise InputError(
            Fault("a diagnosis needs at least two worker counts", remedy="measure another K"), subject=study.name
        )
    generator = rng if rng is not None else np.random.default_rng(SEED)
    recorded = accounts(study)
    if len({account.k for account in recorded}) >= 2 and _tells_workers_apart(recorded, study):
        return _from_accounts(study, recorded, generator)
    return _from_shape(study, generator)


def _tells_workers_apart(recorded: tuple[Account, ...], study: Study) -> bool:
    """Workers' own seconds that are all the run's own seconds say no more than T(K) does."""
    return has_phases(study) or any(account.inside.max() > 0.02 * account.span for account in recorded)


def shares_machine(study: Study) -> bool | None:
    """Whether the workers of the largest K sit on one machine; None where nothing says so."""
    largest = [run.placement for run in study.runs if run.k == study.all_k[-1] and run.placement]
    nodes = {len(set(place.hosts)) or place.nodes for place in largest} - {None, 0}
    if nodes:
        return nodes == {1}
    if study.k_unit in ONE_NODE_UNITS or (study.node_size or 0) >= study.all_k[-1]:
        return True
    return False if study.k_unit in APART_UNITS else None


def _from_shape(study: Study, rng: np.random.Generator) -> Diagnosis:
    shared = shares_machine(study)
    gained = gains(study)
    judged = judge_shape(seconds_by_k(study), study.regime, shared_machine=shared, rng=rng)
    verdict = held_to_the_loss(judged, gained)
    cause, probability = _decide(verdict.chances)
    rows = tuple(
        CauseRow(k=k, efficiency=value, shares=verdict.by_k[k]) for k, value in _efficiency_by_k(study).items()
    )
    return _diagnosis(
        study,
        cause,
        probability,
        "samples of T(K) only",
        _causes(verdict.shares, verdict.chances),
        rows,
        shape_evidence(study, verdict),
        (*verdict.slow_runs.findings, *gain_findings(gained), *shape_findings(study, verdict, cause)),
    )


def _decide(chances: Mapping[str, float]) -> tuple[str, float]:
    best = max(chances, key=lambda name: chances[name])
    return (best if chances[best] >= SURE else UNDETERMINED), chances[best]


def _from_accounts(study: Study, recorded: tuple[Account, ...], rng: np.random.Generator) -> Diagnosis:
    by_k = group(recorded)
    weak = study.regime is Regime.WEAK
    replicated = shares_machine(study) is False
    split = split_gap(by_k, weak=weak, replicated=replicated)
    phased = has_phases(study)
    meanings = {} if phased else _growth_meanings(study, by_k, rng)
    chances = _chances(by_k, weak, replicated, meanings, rng)
    shares = {k: _shares(split.losses[k], split.spent[k], meanings) for k in by_k}
    cause, probability = _decide(chances)
    basis = "phases of every worker" if phased else "the workers' own times"
    last = next(reversed(shares.values()))
    _, slow = observe(seconds_by_k(study))
    return _diagnosis(
        study,
        cause,
        probability,
        basis,
        _causes(last, chances),
        _account_rows(study, by_k, shares, weak),
        account_evidence(by_k, split, weak),
        (*slow.findings, *account_findings(study, by_k, split, cause, replicated=replicated, phased=phased)),
    )


def _growth_meanings(study: Study, by_k: dict[int, list[Account]], rng: np.random.Generator) -> dict[str, float]:
    """Without phases, growing busy time may be contention, serial work or communication: its shape says how likely."""
    totals = {k: np.array([a.compute.mean() for a in runs]) for k, runs in by_k.items()}
    allowed = frozenset({"communication", CONTENTION, SERIAL})
    verdict = judge_shape(totals, study.regime, shared_machine=shares_machine(study), rng=rng, allowed=allowed)
    found = {name: verdict.chances[name] for name in allowed}
    total = sum(found.values())
    return {name: value / total for name, value in found.items()} if total > 0.2 else {}


def _meant(losses: Mapping[str, float], meanings: Mapping[str, float]) -> dict[str, float]:
    """Losses with the growth of busy time handed to the causes it may be."""
    if not meanings:
        return dict(losses)
    grown = losses[CONTENTION]
    meant = {**losses, CONTENTION: 0.0}
    return {name: value + grown * meanings.get(name, 0.0) for name, value in meant.items()}


def _shares(losses: Mapping[str, float], spent: float, meanings: Mapping[str, float]) -> dict[str, float]:
    total = sum(losses.values())
    if total <= NEGLIGIBLE * spent:
        return {**dict.fromkeys(CAUSES, 0.0), NONE: 1.0}
    return {**{name: value / total for name, value in _meant(losses, meanings).items()}, NONE: 0.0}


def _chances(
    by_k: dict[int, list[Account]],
    weak: bool,
    replicated: bool,
    meanings: Mapping[str, float],
    rng: np.random.Generator,
) -> dict[str, float]:
    """How often each cause comes out largest when the runs of every K are drawn again with replacement."""
    counts = dict.fromkeys((*CAUSES, NONE), 0.5 / len((*CAUSES, NONE)))
    for losses, spent in _looks(by_k, weak, replicated, rng):
        winner = max((shares := _shares(losses, spent, {})), key=lambda name: shares[name])
        for name, part in meanings.items() if winner == CONTENTION and meanings else ((winner, 1.0),):
            counts[name] += part
    total = sum(counts.values())
    return {name: count / total for name, count in counts.items()}


def _looks(
    by_k: dict[int, list[Account]], weak: bool, replicated: bool, rng: np.random.Generator
) -> Iterable[tuple[dict[str, float], float]]:
    """Losses and worker-seconds at the largest K, as they could have been.

    With repeats the runs of each K are drawn again with replacement; without, every loss is taken to be known to a
    factor of about `SINGLE_RUN_ERROR`.
    """
    largest = next(reversed(by_k))
    if all(len(runs) == 1 for runs in by_k.values()):
        split = split_gap(by_k, weak=weak, replicated=replicated)
        for _ in range(RESAMPLES):
            moved = {
                name: v * float(np.exp(rng.normal(0.0, SINGLE_RUN_ERROR))) for name, v in split.losses[largest].items()
            }
            yield moved, split.spent[largest]
        return
    for _ in range(RESAMPLES):
        drawn = {k: [runs[i] for i in rng.integers(len(runs), size=len(runs))] for k, runs in by_k.items()}
        split = split_gap(drawn, weak=weak, replicated=replicated)
        yield split.losses[largest], split.spent[largest]


def _causes(shares: Mapping[str, float], chances: Mapping[str, float]) -> tuple[Cause, ...]:
    found = [Cause(name=name, share=shares[name], probability=chances[name]) for name in (*CAUSES, NONE)]
    return tuple(sorted(found, key=lambda cause: (-cause.probability, -cause.share)))


def _efficiency_by_k(study: Study) -> dict[int, float]:
    summary = summarise(study.samples)
    return {int(k): float(e) for k, e in zip(summary.k, efficiencies(study, summary), strict=True)}


def _account_rows(
    study: Study, by_k: dict[int, list[Account]], shares: dict[int, dict[str, float]], weak: bool
) -> tuple[CauseRow, ...]:
    efficiency = _efficiency_by_k(study)
    base = next(iter(by_k))
    useful = useful_seconds(by_k[base])
    return tuple(
        CauseRow(
            k=k,
            efficiency=efficiency[k],
            shares=shares[k],
            seconds={kind: float(np.mean([getattr(a, kind).mean() for a in runs])) for kind in KINDS},
            pop=pop_metrics(runs, useful * (k / base if weak else 1.0)),
        )
        for k, runs in by_k.items()
    )


def _diagnosis(
    study: Study,
    cause: str,
    probability: float,
    basis: str,
    causes: tuple[Cause, ...],
    rows: tuple[CauseRow, ...],
    evidence: tuple[str, ...],
    findings: Iterable[Finding],
) -> Diagnosis:
    return Diagnosis(
        name=study.name,
        k_unit=study.k_unit,
        regime=str(study.regime),
        cause=cause,
        probability=probability,
        basis=basis,
        causes=causes,
        by_k=rows,
        evidence=evidence,
        findings=(*study.findings, *findings),
    )
