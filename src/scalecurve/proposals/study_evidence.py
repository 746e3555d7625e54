"""Efficiency over K from a study: measured, between the measured K, and beyond them where a forecast is defensible."""

from __future__ import annotations

from scalecurve.analysis import tabulate
from scalecurve.errors import ScalecurveError
from scalecurve.estimate import Estimate
from scalecurve.planning.curve_sources import Forecaster, curve_of_study
from scalecurve.proposals.known import Evidence, Known
from scalecurve.study import Quantity, Study

LEVEL = 0.95


def evidence_of_study(study: Study, *, forecaster: Forecaster | None = None) -> Evidence:
    """Every measured K with its interval; other K by interpolation or forecast, or not at all."""
    table = tabulate(study, level=LEVEL)
    times = study.quantity is Quantity.SECONDS
    points = tuple(
        Known(
            k=row.k,
            value=row.efficiency.value,
            low=row.efficiency.low,
            high=row.efficiency.high,
            kind="measured",
            seconds=row.mean if times else None,
        )
        for row in table.rows
    )
    return Evidence(
        regime=study.regime,
        baseline_k=study.baseline_k,
        points=points,
        source=f"study {study.name}",
        beyond=lambda k: _beyond(study, k, forecaster),
        findings=table.findings,
    )


def _beyond(study: Study, k: int, forecaster: Forecaster | None) -> Known | None:
    """An unmeasured K through the curve that prices it; None where the data cannot support it."""
    try:
        curve = curve_of_study(study, at=[k], level=LEVEL, work_per_job=1.0, forecaster=forecaster)
        point, base = curve.point(k), curve.point(study.baseline_k)
    except ScalecurveError:
        return None
    work = base.seconds.value * study.baseline_k / k
    seconds = point.seconds
    bounded = seconds.low is not None and seconds.high is not None and seconds.low > 0
    return Known(
        k=k,
        value=work / seconds.value,
        low=work / seconds.high if bounded and seconds.high else None,
        high=work / seconds.low if bounded and seconds.low else None,
        kind=str(point.kind),
        seconds=_job_seconds(study, k, seconds) if study.quantity is Quantity.SECONDS else None,
    )


def _job_seconds(study: Study, k: int, seconds: Estimate) -> Estimate:
    """The curve is per result; under weak scaling the job at K holds K/K0 of them."""
    return seconds if study.regime == "strong" else seconds.scaled(k / study.baseline_k)
