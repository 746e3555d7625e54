"""What a reader of a speedup table must be told: single samples, superlinear points, outliers, oversubscription."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from scalecurve.analysis.row import TableRow
from scalecurve.analysis.summary import Summary
from scalecurve.findings import Finding, info, warning
from scalecurve.study import Study
from scalecurve.study.samples import FloatArray, Samples

OUTLIER_SCORE = 3.5
STEADY_MAD = 10
OUTLIERS_CHECKED = 100_000
FEW_REPEATS = 3


def check_table(study: Study, summary: Summary, rows: Sequence[TableRow]) -> tuple[Finding, ...]:
    """All findings about a table, in the order a reader needs them."""
    return (
        *_repeats(summary),
        *_superlinear(study, rows),
        *_no_spread(summary),
        *_baseline(study),
        *_outliers(study.samples),
        *_oversubscribed(study),
    )


def _repeats(summary: Summary) -> Iterable[Finding]:
    single = [int(k) for k in summary.k[summary.n == 1]]
    if single:
        yield warning(
            "single-sample",
            f"one sample only at K = {_listed(single)}: no standard deviation and no interval there",
            remedy="repeat with fresh launches, at least 3 and better 5 per K",
            k=single,
        )
    few = [int(k) for k in summary.k[(summary.n > 1) & (summary.n < FEW_REPEATS)]]
    if few:
        yield info(
            "few-repeats",
            f"fewer than {FEW_REPEATS} samples at K = {_listed(few)}: the intervals there are very wide",
            remedy="5 fresh launches per K make them useful",
            k=few,
        )


def _superlinear(study: Study, rows: Sequence[TableRow]) -> Iterable[Finding]:
    for row in rows:
        if row.efficiency.low is not None and row.efficiency.low > 1:
            yield warning(
                "superlinear",
                f"E = {row.efficiency.value:.3f} at K = {row.k} is above 1 beyond its interval: audit the baseline",
                remedy=f"re-measure K = {study.baseline_k} alone (memory, debug build, threads); a cache effect is the "
                "other explanation",
                k=row.k,
                efficiency=row.efficiency.value,
                low=row.efficiency.low,
            )


def _no_spread(summary: Summary) -> Iterable[Finding]:
    same = [int(k) for k in summary.k[summary.std == 0]]
    if same:
        yield warning(
            "no-spread",
            f"all samples at K = {_listed(same)} are identical: rounded values, or copies of one run",
            remedy="keep the timer's full precision and one value per fresh launch",
            k=same,
        )


def _baseline(study: Study) -> Iterable[Finding]:
    k0 = study.baseline_k
    if k0 != 1:
        yield info(
            "baseline-not-one",
            f"the baseline is K0 = {k0}: S = K0 T(K0)/T(K) assumes that K0 workers are perfectly efficient",
            baseline_k=k0,
        )


def _outliers(samples: Samples) -> Iterable[Finding]:
    """Samples far from the rest of their K: pointed out, never removed."""
    if len(samples) > OUTLIERS_CHECKED:
        return
    for k, values in samples.by_k().items():
        far = _far_out(values)
        if np.any(far):
            middle = float(np.median(values))
            worst = float(max(values[far], key=lambda value: abs(value - middle)))
            yield warning(
                "outliers",
                f"{int(far.sum())} of {len(values)} samples at K = {k} lie far from the others; they are kept",
                remedy="look for a noisy neighbour, a cold start or a straggler in that run",
                k=k,
                count=int(far.sum()),
                worst=worst,
                median=middle,
            )


def _far_out(values: FloatArray) -> npt.NDArray[np.bool_]:
    """Modified z-score above 3.5 (Iglewicz and Hoaglin 1993) from ten samples on; below, the median absolute
    deviation is too unsteady (at n = 5 it would cry on most clean data), so half the median away counts."""
    deviation: FloatArray = np.abs(values - np.median(values))
    if len(values) < STEADY_MAD:
        return deviation > 0.5 * float(np.median(values))
    scale = 1.4826 * float(np.median(deviation))
    return deviation > OUTLIER_SCORE * scale if scale > 0 else np.zeros(len(values), dtype=bool)


def _oversubscribed(study: Study) -> Iterable[Finding]:
    known = any(finding.code == "oversubscribed" for finding in study.findings)  # said when it was measured
    over = sorted({run.k for run in study.runs if run.oversubscribed and run.counts})
    if over and not known:
        yield warning(
            "oversubscribed",
            f"K = {_listed(over)} had more workers than cores: this shows the cost of sharing cores, not scaling",
            remedy="read those rows as a warning of what oversubscription costs",
            k=over,
        )


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(str(number) for number in numbers)
