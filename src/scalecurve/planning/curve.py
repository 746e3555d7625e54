"""The time of one result over K, from whatever knows it: a study, a forecast, a law or a training plan.

A *result* is the job at the baseline K0.  Under weak scaling the job at K holds K/K0 of them, so that the time of one
is T(K) K0/K, and cost(K)/cost(K0) = 1/E(K) holds in both regimes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

from scalecurve.analysis.table import TableRow, tabulate
from scalecurve.errors import Fault, InputError
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, info, warning
from scalecurve.formats.loading import DataFrame, StudyLike, as_study
from scalecurve.laws import Law
from scalecurve.study import Quantity, Regime, Study
from scalecurve.study.study import is_load
from scalecurve.units import WorkersLike, as_workers, format_count

if TYPE_CHECKING:
    from scalecurve.forecasting.forecast import Forecast

DEFENSIBLE = 4  # times the largest measured K: beyond it the forecast itself warns
HOUR = 3600.0
PLAN_HINT = "give the output of scalecurve plan --json"


class TimeSource(StrEnum):
    """Where a time comes from."""

    MEASURED = "measured"
    INTERPOLATED = "interpolated"
    FORECAST = "forecast"
    LAW = "law"
    PLANNED = "planned"


@dataclass(frozen=True)
class Repeats:
    """How many runs stand behind a measured time, and their standard deviation in seconds per result."""

    n: int
    std: float


@dataclass(frozen=True, kw_only=True)
class CurvePoint:
    """The time of one result on K workers."""

    k: int
    seconds: Estimate
    kind: TimeSource
    repeats: Repeats | None = None


@dataclass(frozen=True, kw_only=True)
class TimeCurve:
    """Times over K, rising; `result` says what one result is."""

    name: str
    points: tuple[CurvePoint, ...]
    baseline_k: int
    k_unit: str = "workers"
    result: str = "one job"
    findings: tuple[Finding, ...] = ()

    def __post_init__(self) -> None:
        if not self.points:
            raise InputError(Fault("there is no K to price", remedy="give worker counts, such as --workers 1..512"))
        object.__setattr__(self, "points", tuple(sorted(self.points, key=lambda point: point.k)))

    def point(self, k: int) -> CurvePoint:
        for point in self.points:
            if point.k == k:
                return point
        raise InputError(Fault("this K is not on the curve", value=str(k), remedy="add it to --workers"))

    def limited(self, most: int) -> TimeCurve:
        """The part of the curve that fits into `most` workers; the baseline is then its smallest K where needed."""
        kept = tuple(point for point in self.points if point.k <= most)
        if not kept:
            hint = f"at least {self.points[0].k}"
            raise InputError(
                Fault("the fleet is smaller than the smallest K", where="fleet", value=str(most), remedy=hint)
            )
        baseline = self.baseline_k if any(point.k == self.baseline_k for point in kept) else kept[0].k
        return replace(self, points=kept, baseline_k=baseline)


class PlanLike(Protocol):
    """A training plan: `to_dict()["rows"]` holds gpus and tokens_per_second."""

    def to_dict(self) -> dict[str, Any]: ...


Timed = StudyLike | TimeCurve | Law | Mapping[str, Any] | PlanLike


def time_curve(
    subject: Timed | Forecast,
    *,
    regime: str | None = None,
    at: WorkersLike | None = None,
    work_per_job: float | None = None,
    level: float = 0.95,
    parameters: Mapping[str, float] | None = None,
    seconds_at_one: float = HOUR,
    k_unit: str = "workers",
) -> TimeCurve:
    """The time of one result over K, in seconds.

    `parameters`, `seconds_at_one` and `k_unit` are for a law; `work_per_job` is the work of one result where a rate is
    measured or planned.
    """
    from scalecurve.forecasting.forecast import Forecast

    workers = None if at is None else as_workers(at)
    if isinstance(subject, TimeCurve):
        return subject
    if isinstance(subject, Law):
        if workers is None:
            raise InputError(Fault("a law needs worker counts", remedy="give at=[1, 2, 4], or --workers 1..512"))
        return curve_of_law(subject, workers, parameters or {}, seconds_at_one=seconds_at_one, k_unit=k_unit)
    if isinstance(subject, Forecast):
        return curve_of_forecast(subject, work_per_job=work_per_job)
    if isinstance(subject, Mapping) and (not subject or any(isinstance(key, str) for key in subject)):
        return curve_of_plan(subject, tokens_per_job=work_per_job)  # type: ignore[arg-type]
    if hasattr(subject, "to_dict") and not isinstance(subject, Study | DataFrame | Sequence):
        return curve_of_plan(subject.to_dict(), tokens_per_job=work_per_job)
    return curve_of_study(as_study(subject, regime=regime), at=workers, work_per_job=work_per_job, level=level)  # type: ignore[arg-type]


def refuse_load(study: Study) -> None:
    """An InputError where K is the load on a server: nobody rents clients."""
    if is_load(study.k_unit):
        remedy = "divide the server's price per hour by its rate; or say --k-unit nodes where K counts machines"
        fault = Fault("K is the load on a server, and nobody pays per client", value=study.k_unit, remedy=remedy)
        raise InputError(fault, subject=study.name)


def curve_of_study(
    study: Study,
    *,
    at: Sequence[int] | None = None,
    work_per_job: float | None = None,
    level: float = 0.95,
) -> TimeCurve:
    """Measured K, the doublings between them, and forecasts to four times the largest; `at` names the K instead."""
    refuse_load(study)
    per_result, result = _per_result(study, work_per_job)
    table = tabulate(study, level=level)
    measured = [_measured_point(row, per_result) for row in table.rows]
    inside, outside = priced_k(study.all_k, at)
    points = {point.k: point for point in measured if point.k in (study.baseline_k, *inside)}
    points |= {k: interpolate(measured, k) for k in inside if k not in points}
    findings = list(table.findings)
    if study.regime is Regime.WEAK and study.quantity is Quantity.SECONDS:
        k0 = study.baseline_k
        message = f"weak scaling: time and cost are per unit of work, the work of the run at K0 = {k0}"
        findings.append(info("weak-result", message, baseline_k=k0))
    if outside:
        ahead, refused = _forecast_points(study, outside, level, per_result)
        points |= {point.k: point for point in ahead}
        if refused:
            message = f"no price at K = {', '.join(map(str, refused))}: the data cannot support a forecast there"
            tell = info if at is None else warning
            findings.append(tell("forecast-refused", message, k=refused, remedy="measure a larger K"))
    return TimeCurve(
        name=study.name,
        points=tuple(points.values()),
        baseline_k=study.baseline_k,
        k_unit=study.k_unit,
        result=result,
        findings=tuple(findings),
    )


def _measured_point(row: TableRow, per_result: PerResult) -> CurvePoint:
    """A row of the table as seconds per result, with its repeats where there are any."""
    seconds, repeats = _converted(row.k, row.mean, per_result), None
    if row.std is not None and row.n > 1:
        repeats = Repeats(row.n, row.std / row.mean.value * seconds.value)
    return CurvePoint(k=row.k, seconds=seconds, kind=TimeSource.MEASURED, repeats=repeats)


def priced_k(measured: Sequence[int], at: Sequence[int] | None) -> tuple[list[int], list[int]]:
    """The K to price inside the measured range and outside of it: those named, or the usual ones.

    The usual ones are the measured K, the doublings between neighbours, and 2 and 4 times the largest.
    """
    smallest, largest = measured[0], measured[-1]
    if at is not None:
        return [k for k in at if smallest <= k <= largest], [k for k in at if not smallest <= k <= largest]
    between = [
        left * 2**i for left, right in pairwise(measured) for i in range(1, right.bit_length()) if left * 2**i < right
    ]
    return [*measured, *between], [largest * 2, largest * DEFENSIBLE]


def curve_of_forecast(forecast: Forecast, *, work_per_job: float | None = None) -> TimeCurve:
    """The measured K of the study behind a forecast, and the forecast's own rows beyond them."""
    study = forecast.view.study
    per_result, _ = _per_result(study, work_per_job)
    measured = curve_of_study(study, at=study.all_k, work_per_job=work_per_job, level=forecast.level)
    rows = [row for row in forecast.rows if row.k not in study.all_k]
    ahead = _points_of(rows, forecast.level, per_result)
    return replace(measured, points=(*measured.points, *ahead))


def curve_of_law(
    law: Law, workers: Sequence[int], parameters: Mapping[str, float], *, seconds_at_one: float, k_unit: str = "workers"
) -> TimeCurve:
    """A law's times; where its work grows with K, the time of one worker's worth of work."""
    if not (math.isfinite(seconds_at_one) and seconds_at_one > 0):
        raise InputError(Fault("T(1) is above 0", where="time at one", value=f"{seconds_at_one:g}"))
    checked = law.checked(parameters)
    points = tuple(
        CurvePoint(
            k=k, seconds=Estimate(seconds_at_one / law.speedup(k, **checked), method=law.title), kind=TimeSource.LAW
        )
        for k in workers
    )
    label = ", ".join(f"{name} {value:g}" for name, value in checked.items())
    smallest = min(workers, default=1)
    return TimeCurve(name=f"{law.title}, {label}", points=points, baseline_k=smallest, k_unit=k_unit)


def curve_of_plan(plan: Mapping[str, Any], *, tokens_per_job: float | None) -> TimeCurve:
    """The rows of a training plan; a result is `tokens_per_job` tokens, or the planned run where the plan has a budget.

    Failures, checkpoints and stragglers count: the rate is that of tokens that stay.  The interval of a step carries
    over to the time, because tokens per step do not vary.
    """
    rows = plan.get("rows")
    if not isinstance(rows, Sequence) or not rows or not all(isinstance(row, Mapping) for row in rows):
        raise InputError(Fault("the plan has no rows", remedy=PLAN_HINT))
    points = tuple(_planned_point(row, tokens_per_job) for row in rows)
    result = "the planned run" if tokens_per_job is None else f"{format_count(tokens_per_job)} tokens"
    smallest = min(point.k for point in points)
    return TimeCurve(name="training plan", points=points, baseline_k=smallest, k_unit="gpus", result=result)


def _planned_point(row: Mapping[str, Any], tokens_per_job: float | None) -> CurvePoint:
    """A row of a plan as the seconds of one result."""
    if not row.get("gpus") or not row.get("tokens_per_second"):
        raise InputError(Fault("a row of the plan lacks gpus or tokens_per_second", remedy=PLAN_HINT))
    if tokens_per_job is None and row.get("run_seconds"):
        seconds = float(row["run_seconds"])
    elif tokens_per_job is not None and tokens_per_job > 0:
        goodput = (row.get("goodput") or {}).get("factor", 1.0)
        seconds = tokens_per_job / (float(row["tokens_per_second"]) * float(goodput))
    else:
        hint = "say how many tokens one result is (--work-per-job 300B), or plan with a token budget"
        raise InputError(Fault("a plan's rate has no cost per result by itself", remedy=hint))
    estimate = Estimate(seconds, method="training plan")
    step, low, high = row.get("step_seconds"), row.get("step_low"), row.get("step_high")
    if step and low and high:
        estimate = replace(estimate, low=seconds * low / step, high=seconds * high / step, level=row.get("level"))
    return CurvePoint(k=int(row["gpus"]), seconds=estimate, kind=TimeSource.PLANNED)


def interpolate(points: Sequence[CurvePoint], k: int) -> CurvePoint:
    """Between two neighbours on a straight line in log T over log K: a power law from one to the next.

    The interval is the neighbours' interpolated in the same way: it holds their noise, not the line's own error.
    """
    below = [point for point in points if point.k < k]
    above = [point for point in points if point.k > k]
    if not below or not above:
        raise InputError(
            Fault("outside the measured range", where="K", value=str(k), remedy="forecast it, or measure it")
        )
    left, right = below[-1], above[0]
    share = math.log(k / left.k) / math.log(right.k / left.k)

    def power(one: float, other: float) -> float:
        return math.exp((1.0 - share) * math.log(one) + share * math.log(other))

    a, b = left.seconds, right.seconds
    seconds = Estimate(power(a.value, b.value), method="log-log interpolation between neighbours")
    if a.low and b.low and a.high and b.high and a.low > 0 and b.low > 0:
        seconds = replace(seconds, low=power(a.low, b.low), high=power(a.high, b.high), level=a.level)
    return CurvePoint(k=k, seconds=seconds, kind=TimeSource.INTERPOLATED)


PerResult = Callable[[int, float], float]


def _per_result(study: Study, work_per_job: float | None) -> tuple[PerResult, str]:
    """From (K, value in the study's quantity) to the seconds of one result, and what a result is."""
    k0 = study.baseline_k
    if study.quantity is Quantity.SECONDS and study.regime is Regime.WEAK:
        return lambda k, value: value * k0 / k, f"the work of the run at K0 = {k0}"
    if study.quantity is Quantity.SECONDS:
        return lambda k, value: value, "one run of the job"
    work = work_per_job if work_per_job is not None else study.workload.total
    if work is None:
        unit = study.unit or "units per second"
        hint = f"say how much work one result is (--work-per-job 1e6, in the unit of the rate, {unit})"
        quantity = f"a study in {study.quantity}"
        raise InputError(Fault("a rate has no cost per result by itself", value=quantity, remedy=hint))
    if not (math.isfinite(work) and work > 0):
        raise InputError(Fault("the work of a job is above 0", where="work per job", value=f"{work:g}"))
    result, per_worker = f"{work:g} of {study.unit or 'work'}", study.quantity is Quantity.THROUGHPUT_PER_WORKER
    return lambda k, value: work / (value * k if per_worker else value), result


def _converted(k: int, value: Estimate, per_result: PerResult) -> Estimate:
    """A time or rate as seconds per result; a rate's interval changes ends, and a time is never below 0."""
    seconds = Estimate(per_result(k, value.value), method=value.method)
    ends = [per_result(k, end) for end in (value.low, value.high) if end is not None and end > 0]
    if len(ends) == 2:
        return replace(seconds, low=min(ends), high=max(ends), level=value.level)
    is_time = per_result(k, 2.0) > per_result(k, 1.0)
    if value.low is not None and value.high is not None and is_time:
        return replace(seconds, low=0.0, high=per_result(k, value.high), level=value.level)
    return seconds


def _forecast_points(
    study: Study, workers: Sequence[int], level: float, per_result: PerResult
) -> tuple[list[CurvePoint], list[int]]:
    """Forecasts at these K, at the level asked for or the highest calibrated one, and the K that were refused."""
    from scalecurve.forecasting.forecast import forecast
    from scalecurve.forecasting.published import shipped

    calibration = shipped()
    level = min(level, *(width.highest_level for width in calibration.widths.values()))
    points = _points_of(forecast(study, workers, level=level, calibration=calibration).rows, level, per_result)
    return points, [k for k in workers if all(point.k != k for point in points)]


def _points_of(rows: Sequence[Any], level: float, per_result: PerResult) -> list[CurvePoint]:
    """The rows of a forecast that were not refused."""
    points = []
    for row in rows:
        if not row.refused and row.value is not None:
            value = Estimate(row.value, row.low, row.high, level, "forecast")
            points.append(CurvePoint(k=row.k, seconds=_converted(row.k, value, per_result), kind=TimeSource.FORECAST))
    return points
