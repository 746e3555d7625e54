"""Findings of a speedup table: single samples, superlinear points, equal samples, outliers, oversubscription."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from scalecurve.analysis.curve import Curve
from scalecurve.findings import Finding, info, warning
from scalecurve.study import Study

if TYPE_CHECKING:
    from scalecurve.analysis.table import TableRow

OUTLIER_SCORE = 3.5
STEADY_MAD = 10
OUTLIERS_CHECKED = 100_000
FEW_REPEATS = 3


def check_table(study: Study, curve: Curve, rows: Sequence[TableRow]) -> Iterator[Finding]:
    """All findings about a table, the most important first."""
    if single := curve.k[curve.n == 1].tolist():
        message = f"one sample only at K = {_listed(single)}: no standard deviation and no interval there"
        yield warning("single-sample", message, remedy="make at least 3, better 5, fresh launches per K", k=single)
    if few := curve.k[(curve.n > 1) & (curve.n < FEW_REPEATS)].tolist():
        message = f"fewer than {FEW_REPEATS} samples at K = {_listed(few)}: the intervals there are very wide"
        yield info("few-repeats", message, remedy="make 5 fresh launches per K", k=few)
    if above := [row for row in rows if (row.efficiency.low or 0.0) > 1]:
        most = max(row.efficiency.value for row in above)
        places = [row.k for row in above]
        yield warning(
            "superlinear",
            f"E is above 1 beyond its interval at K = {_listed(places)} (at most {most:.3f})",
            remedy=f"measure K = {study.baseline_k} again (memory, debug build, threads): a slow baseline or a cache "
            "effect explains this",
            k=places,
            efficiency=most,
        )
    if equal := curve.k[curve.std == 0].tolist():
        message = f"all samples at K = {_listed(equal)} are equal: the values are rounded, or copies of one run"
        yield warning("no-spread", message, remedy="keep the timer's full precision, one value per launch", k=equal)
    if study.baseline_k != 1:
        message = f"the baseline is K0 = {study.baseline_k}: S and E assume that K0 workers are perfectly efficient"
        yield info("baseline-not-one", message, baseline_k=study.baseline_k)
    yield from _outliers(study)
    over = sorted({run.k for run in study.runs if run.oversubscribed and run.counts})
    if over and all(finding.code != "oversubscribed" for finding in study.findings):
        message = f"K = {_listed(over)} had more workers than cores: these rows show the cost of sharing cores"
        yield warning("oversubscribed", message, remedy="do not read those rows as scaling", k=over)


def _outliers(study: Study) -> Iterator[Finding]:
    """Samples far from the others of their K: reported, never removed.

    From ten samples on, a modified z-score above 3.5 (Iglewicz and Hoaglin 1993).  With fewer samples the median
    absolute deviation is too unsteady (at n = 5 it would flag most clean data), so half the median away counts.
    """
    if len(study.samples) > OUTLIERS_CHECKED:
        return
    for k, values in study.samples.by_k().items():
        middle = float(np.median(values))
        deviation = np.abs(values - middle)
        limit = 0.5 * middle
        if len(values) >= STEADY_MAD:
            limit = OUTLIER_SCORE * 1.4826 * float(np.median(deviation)) or np.inf
        far = values[deviation > limit]
        if len(far):
            yield warning(
                "outliers",
                f"{len(far)} of {len(values)} samples at K = {k} lie far from the others; they are kept",
                remedy="look for a noisy neighbour, a cold start or a straggler in that run",
                k=k,
                count=len(far),
                worst=float(max(far, key=lambda value: abs(value - middle))),
                median=middle,
            )


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
