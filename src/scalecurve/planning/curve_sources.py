"""Curves of the time of one result: from a study, or from a law in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Protocol

from scalecurve.analysis import TableRow, tabulate
from scalecurve.analysis.curve import conversion_of
from scalecurve.errors import Fault, InputError
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, info, warning
from scalecurve.laws import Law
from scalecurve.planning.curve import CurvePoint, Kind, Repeats, TimeCurve, interpolate
from scalecurve.study import Quantity, Regime, Study

DEFENSIBLE = 4  # times the largest measured K; beyond it a forecast is grey (see the forecast's own findings)


class Predicted(Protocol):
    """What a forecast says of one K: `value` in the study's quantity."""

    @property
    def k(self) -> int: ...
    @property
    def value(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def refused(self) -> bool: ...


Forecaster = Callable[[Study, Sequence[int], float], tuple[float, Sequence[Predicted]]]


def curve_of_study(
    study: Study,
    *,
    at: Sequence[int] | None = None,
    work_per_job: float | None = None,
    level: float = 0.95,
    forecaster: Forecaster | None = None,
) -> TimeCurve:
    """Measured K, and between and beyond them what can be defended; `at` names the K instead."""
    per_result = seconds_per_result(study, work_per_job)
    table = tabulate(study, level=level)
    measured = [_measured(row, per_result) for row in table.rows]
    inside, outside = _wanted(study, at, forecasts=forecaster is not None)
    ahead, findings = _ahead(study, outside, level, per_result, forecaster, insisted=at is not None)
    chosen = [study.baseline_k, *inside]
    points = {k: _known_or_between(measured, k) for k in chosen} | {point.k: point for point in ahead}
    return TimeCurve(
        name=study.name,
        points=tuple(points.values()),
        baseline_k=study.baseline_k,
        k_unit=study.k_unit,
        result=_result_words(study, work_per_job),
        node_size=study.node_size,
        findings=(*table.findings, *_weak_finding(study), *findings),
    )


def _wanted(study: Study, at: Sequence[int] | None, *, forecasts: bool) -> tuple[list[int], list[int]]:
    """The K within and beyond the measured range: those asked for, or all that can be defended."""
    smallest, largest = study.all_k[0], study.all_k[-1]
    if at is None:
        return [*study.all_k, *_gaps(study.all_k)], [largest * 2, largest * DEFENSIBLE] if forecasts else []
    inside = [k for k in at if smallest <= k <= largest]
    return inside, [k for k in at if not smallest <= k <= largest]


PerResult = Callable[[int, float], float]


def seconds_per_result(study: Study, work_per_job: float | None) -> PerResult:
    """From (K, value in the study's quantity) to the seconds of one result."""
    conversion, weak = conversion_of(study), study.regime is Regime.WEAK
    timed = study.quantity is Quantity.SECONDS
    work = (study.baseline_k if weak else 1.0) if timed else _work(study, work_per_job)
    return lambda k, value: work * conversion.time(float(k), value) / (k if weak else 1)


def _work(study: Study, work_per_job: float | None) -> float:
    work = work_per_job if work_per_job is not None else study.workload.total
    if work is None:
        unit = study.unit or "units per second"
        hint = f"say how much work one result is (--work-per-job 1e6, in the unit of the rate, {unit})"
        raise InputError(
            Fault("a rate has no cost per result by itself", seen=f"a study in {study.quantity}", remedy=hint)
        )
    if not (math.isfinite(work) and work > 0):
        raise InputError(Fault("the work of a job is above 0", where="work per job", seen=f"{work:g}"))
    return work


def _result_words(study: Study, work_per_job: float | None) -> str:
    if study.quantity is not Quantity.SECONDS:
        return f"{_work(study, work_per_job):g} of {study.unit or 'work'}"
    if study.regime is Regime.WEAK:
        return f"the work of the run at K0 = {study.baseline_k}"
    return "one run of the job"


def _measured(row: TableRow, per_result: PerResult) -> CurvePoint:
    seconds = _converted(row.k, row.mean, per_result)
    repeats = None
    if row.std is not None and row.n > 1:
        repeats = Repeats(row.n, row.std / row.mean.value * seconds.value)
    return CurvePoint(k=row.k, seconds=seconds, kind=Kind.MEASURED, repeats=repeats)


def _converted(k: int, value: Estimate, per_result: PerResult) -> Estimate:
    """A time or rate as seconds per result; a rate's interval changes ends, and a time is never below 0."""
    ends = [per_result(k, end) for end in (value.low, value.high) if end is not None and end > 0]
    if len(ends) == 2:
        return Estimate(per_result(k, value.value), min(ends), max(ends), value.level, value.method)
    if value.low is not None and value.high is not None and per_result(k, 2.0) > per_result(k, 1.0):
        return Estimate(per_result(k, value.value), 0.0, per_result(k, value.high), value.level, value.method)
    return Estimate(per_result(k, value.value), method=value.method)


def _gaps(measured: Sequence[int]) -> list[int]:
    """Doublings that fall between neighbours more than a factor of two apart."""
    found = []
    for left, right in pairwise(measured):
        k = left * 2
        while k < right:
            found.append(k)
            k *= 2
    return found


def _known_or_between(measured: Sequence[CurvePoint], k: int) -> CurvePoint:
    known = [point for point in measured if point.k == k]
    return known[0] if known else interpolate(measured, k)


def _ahead(
    study: Study,
    workers: Sequence[int],
    level: float,
    per_result: PerResult,
    forecaster: Forecaster | None,
    *,
    insisted: bool,
) -> tuple[list[CurvePoint], list[Finding]]:
    """Forecast points, and what was refused; K that were asked for by name must have an answer."""
    if not workers:
        return [], []
    if forecaster is None:
        listed = ", ".join(map(str, workers))
        raise InputError(Fault("outside the measured range", where="K", seen=listed, remedy="measure these K"))
    used, rows = forecaster(study, workers, level)
    points = [predicted_point(row, used, per_result) for row in rows if not row.refused and row.value is not None]
    refused = [row.k for row in rows if row.refused or row.value is None]
    return points, _refusal(refused, insisted=insisted) if refused else []


def predicted_point(row: Predicted, level: float, per_result: PerResult) -> CurvePoint:
    value = Estimate(row.value or 0.0, row.low, row.high, level, "forecast")
    return CurvePoint(k=row.k, seconds=_converted(row.k, value, per_result), kind=Kind.FORECAST)


def _refusal(refused: Sequence[int], *, insisted: bool) -> list[Finding]:
    words = f"no price at K = {', '.join(map(str, refused))}: the data cannot support a forecast there"
    if not insisted:
        return [info("forecast-refused", words, k=list(refused), remedy="measure a larger K")]
    return [warning("forecast-refused", words, k=list(refused), remedy="measure a larger K")]


def _weak_finding(study: Study) -> list[Finding]:
    if study.regime is not Regime.WEAK or study.quantity is not Quantity.SECONDS:
        return []
    words = (
        f"weak scaling: the run at K does K/{study.baseline_k} times the work of the run at K0 = {study.baseline_k}, "
        "so time and cost are per that much work"
    )
    return [info("weak-result", words, baseline_k=study.baseline_k)]


def curve_of_law(
    law: Law, workers: Sequence[int], parameters: Mapping[str, float], *, seconds_at_one: float, k_unit: str = "workers"
) -> TimeCurve:
    """A law's times; where its work grows with K, the time of one worker's worth of work."""
    if not (math.isfinite(seconds_at_one) and seconds_at_one > 0):
        raise InputError(Fault("T(1) is above 0", where="time at one", seen=f"{seconds_at_one:g}"))
    given = law.checked(parameters)
    points = tuple(
        CurvePoint(k=k, seconds=Estimate(seconds_at_one / law.speedup(k, **given), method=law.title), kind=Kind.LAW)
        for k in workers
    )
    label = ", ".join(f"{name} {value:g}" for name, value in given.items())
    smallest = min(workers, default=1)
    return TimeCurve(name=f"{law.title}, {label}", points=points, baseline_k=smallest, k_unit=k_unit)
