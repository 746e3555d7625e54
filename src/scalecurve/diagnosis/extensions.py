"""Measurements that a diagnosis advised, taken into the next: the same K spread out, the network alone, a baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from scalecurve.analysis.curve import times_by_k
from scalecurve.diagnosis.causes import COMMUNICATION, CONTENTION
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding
from scalecurve.formats.loading import StudyLike, as_study
from scalecurve.study import Regime, Study

KINDS = ("spread", "network", "baseline")
MOST_SHIFT = 4.0  # of log odds: a measurement beside the job is no proof
SAVED = 0.15  # of the loss: contention that is the main cause gives back more when half of the neighbours go
IN_MESSAGES = 0.45  # of the loss: communication that is the main cause takes more


@dataclass(frozen=True, kw_only=True)
class Extensions:
    """The study with its new baseline, log odds to add by cause, what is now known, and sentences about it."""

    study: Study
    shifts: Mapping[str, float] = field(default_factory=dict)
    known: frozenset[str] = frozenset()
    sentences: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


def extensions_of(study: Study, beside: Mapping[str, StudyLike]) -> Extensions:
    """What the measurements beside a study say; InputError for one of another kind or without a common K."""
    unknown = sorted(set(beside) - set(KINDS))
    if unknown:
        remedy = "say what each file is: --with spread=FILE, network=FILE or baseline=FILE"
        raise InputError(Fault("unknown kind of measurement", value=", ".join(unknown), remedy=remedy))
    loaded = {kind: as_study(source, regime=str(study.regime)) for kind, source in beside.items()}
    if "baseline" in loaded:
        study = _with_baseline(study, loaded["baseline"])
    shifts, sentences = {}, []
    for kind, cause, judge in (("spread", CONTENTION, _spread), ("network", COMMUNICATION, _network)):
        if kind in loaded:
            shifts[cause], sentence = judge(study, loaded[kind])
            sentences.append(sentence)
    return Extensions(study=study, shifts=shifts, known=frozenset(loaded), sentences=tuple(sentences))


def _with_baseline(study: Study, baseline: Study) -> Study:
    """The study whose smallest K has the times of the new measurement."""
    k = study.all_k[0]
    again = times_by_k(baseline).get(k)
    if again is None:
        fault = Fault(f"the baseline has no K = {k}", value=str(list(baseline.all_k)), remedy=f"measure K = {k} again")
        raise InputError(fault, subject=baseline.name)
    if baseline.quantity is not study.quantity:
        raise InputError(Fault("the baseline measures another quantity", value=str(baseline.quantity)))
    runs = [run for run in study.runs if run.k != k] + [run for run in baseline.runs if run.k == k]
    return replace(study, runs=tuple(runs)) if study.runs and baseline.runs else study


def _common(study: Study, other: Study, kind: str) -> tuple[int, float, float, float]:
    """The largest common K, seconds of the study and of the other there, and the loss per worker in the study."""
    times, beside = times_by_k(study), times_by_k(other)
    common = [k for k in times if k in beside and k != study.all_k[0]]
    if not common:
        value = f"{list(times)} and {list(beside)}"
        raise InputError(Fault(f"no K in common with {kind}", value=value, remedy="measure it at the largest K"))
    k, base = common[-1], study.all_k[0]
    own, there, first = (float(np.median(values)) for values in (times[k], beside[k], times[base]))
    ideal = first if study.regime is Regime.WEAK else first * base / k
    return k, own, there, own - ideal


def _bounded(share: float, even: float) -> float:
    return float(np.clip((share - even) / even * 3.0, -MOST_SHIFT, MOST_SHIFT))


def _spread(study: Study, other: Study) -> tuple[float, str]:
    k, own, there, loss = _common(study, other, "spread")
    saved = (own - there) / loss if loss > 0 else 0.0
    words = (
        f"Spread over more nodes, K = {k} takes {there / own:.0%} of the time: {max(saved, 0.0):.0%} of the loss goes."
    )
    return _bounded(saved, SAVED), words


def _network(study: Study, other: Study) -> tuple[float, str]:
    k, own, there, loss = _common(study, other, "network")
    part = there / loss if loss > 0 else 0.0
    return _bounded(
        part, IN_MESSAGES
    ), f"The collectives alone take {there / own:.0%} of T({k}), {part:.0%} of the loss."
