"""Efficiency over K from a study: measured, between the measured K, and beyond them where a forecast is defensible."""

from __future__ import annotations

from functools import cache

from scalecurve.analysis import tabulate
from scalecurve.errors import ScalecurveError
from scalecurve.estimate import Estimate
from scalecurve.planning.curve_sources import Forecaster, curve_of_study
from scalecurve.proposals.known import Evidence, Known, Ranged
from scalecurve.study import Quantity, Regime, Study

LEVEL = 0.95
FEWEST_K = 4
SERIAL = ("serial", "contention")  # contention is what the universal law calls it


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
        beyond=cache(lambda k: _beyond(study, k, forecaster)),
        serial=fitted_serial(study),
        findings=table.findings,
    )


def fitted_serial(study: Study) -> Ranged | None:
    """The serial share of the law that fits best, over all laws that fit as well; None where none has one."""
    from scalecurve.fitting.fit import fit

    if study.regime is not Regime.STRONG or len(study.all_k) < FEWEST_K:
        return None
    try:
        fits = fit(study)
    except ScalecurveError:
        return None
    good = [law for law in fits if law.name in (fits.tied or (fits.laws[0].name,))]
    found = [(law.name, law.parameters[name]) for law in good for name in SERIAL if name in law.parameters]
    if not found:
        return None
    lows = [share.low for _, share in found if share.low is not None]
    highs = [share.high for _, share in found if share.high is not None]
    words = f"fit of {', '.join(name for name, _ in found)} to study {study.name}"
    return Ranged(value=found[0][1].value, low=min(lows, default=None), high=max(highs, default=None), source=words)


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
    return seconds if study.regime is Regime.STRONG else seconds.scaled(k / study.baseline_k)
