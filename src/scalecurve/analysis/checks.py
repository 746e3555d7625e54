"""Findings of a speedup table: single samples, superlinear points, outliers, modes, oversubscription."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from scalecurve.analysis.curve import Curve
from scalecurve.findings import Finding, info, warning
from scalecurve.study import Study
from scalecurve.study.run import FloatArray, IntArray

if TYPE_CHECKING:
    from scalecurve.analysis.table import TableRow

FALSE_ALARMS = 0.05  # the chance of an outlier in a clean table, over all K
TWO_MODES = 0.01  # the same for two modes
LEAST_MODES = 10
MODE_DRAWS = 20_000
SEED = 7
LEAST_RARE = 3
RARE_FACTOR, RARE_SCORE, RARE_SHARE = 1.5, 8.0, 0.2
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
    yield from check_shape(study)
    over = sorted({run.k for run in study.runs if run.oversubscribed and run.counts})
    if over and all(finding.code != "oversubscribed" for finding in study.findings):
        message = f"K = {_listed(over)} had more workers than cores: these rows show the cost of sharing cores"
        yield warning("oversubscribed", message, remedy="do not read those rows as scaling", k=over)


def check_shape(study: Study) -> Iterator[Finding]:
    """Samples far from the others, rare slow runs, and K with two modes: reported, never removed."""
    if len(study.samples) > OUTLIERS_CHECKED:
        return
    samples = study.samples.by_k()
    slow = _rare_slow(study, samples)
    if slow:
        yield slow
    for k, values in samples.items():
        far = outliers(values, FALSE_ALARMS / len(samples))
        if far:
            yield warning(
                "outliers",
                f"{len(far)} of {len(values)} samples at K = {k} lie far from the others; they are kept",
                remedy="look for a noisy neighbour, a cold start or a straggler in that run",
                k=k,
                count=len(far),
                worst=float(far[0]),
                median=float(np.median(values)),
            )
    modes = {k: split for k, values in samples.items() if (split := two_modes(values, TWO_MODES / len(samples)))}
    if modes:
        k, (low, high, share) = next(iter(modes.items()))
        message = (
            f"samples have two modes at K = {_listed([*modes])} (K = {k}: {low:.4g}, and {high:.4g} in {share:.0%})"
        )
        yield warning("two-modes", message, remedy="find what differs between the runs; a mean hides it", k=[*modes])


def outliers(values: FloatArray, alpha: float) -> list[float]:
    """Values that are outliers on the scale of the values and of their logarithms, the farthest first.

    Generalised extreme Studentised deviates (Rosner 1983) with up to a fifth of the values: its cutoff counts how many
    values and how many tests there are, so that clean normal or lognormal data gives one with probability `alpha`.
    """
    plain, logs = _extreme(values, alpha), _extreme(np.log(values), alpha)
    return [float(values[place]) for place in plain if place in logs]


def _extreme(values: FloatArray, alpha: float) -> list[int]:
    """The places of the outliers, the farthest first."""
    from scipy.special import stdtrit

    left, count = list(range(len(values))), len(values)
    removed, last = [], 0
    for step in range(1, max(1, count // 5) + 1):
        rest = values[left]
        spread = float(np.std(rest, ddof=1)) if len(rest) > 2 else 0.0
        if spread <= 1e-12 * abs(float(rest.mean())):
            break
        deviation = np.abs(rest - rest.mean()) / spread
        place = int(np.argmax(deviation))
        degrees = count - step - 1
        t = float(stdtrit(degrees, 1 - alpha / (2 * (count - step + 1)))) if degrees > 0 else np.inf
        limit = (count - step) * t / np.sqrt((degrees + t * t) * (count - step + 1)) if np.isfinite(t) else np.inf
        removed.append(left.pop(place))
        last = step if float(deviation[place]) > limit else last
    return removed[:last]


def _rare_slow(study: Study, samples: dict[int, FloatArray]) -> Finding | None:
    """Few runs that took far longer than the others of their K: the mean of a K depends on whether it had one."""
    sign = -1.0 if study.quantity.higher_is_better else 1.0
    rest = {k: sign * np.log(values / np.median(values)) for k, values in samples.items() if len(values) >= LEAST_RARE}
    if not rest:
        return None
    every = np.concatenate(list(rest.values()))
    limit = max(np.log(RARE_FACTOR), RARE_SCORE * 1.4826 * float(np.median(np.abs(every))))
    slow = every[every > limit]
    if not 0 < len(slow) <= RARE_SHARE * len(every):
        return None
    without = [k for k, own in rest.items() if not (own > limit).any()]
    least, most = f"{np.exp(slow.min()):.2g}", f"{np.exp(slow.max()):.2g}"
    factor = least if least == most else f"{least} to {most}"
    message = f"{len(slow)} of {len(every)} runs took {factor} times as long"
    if without:
        message += f"; none at K = {_listed(without)}, whose means and intervals may miss them by chance"
    return warning("rare-slow-runs", message, remedy="use --statistic median, or many more runs", count=len(slow))


def two_modes(values: FloatArray, alpha: float) -> tuple[float, float, float] | None:
    """The means of two groups and the share of the second, where one normal group is unlikely; else None.

    The values are cut where the squared distances from both group means are smallest; that sum, over the total, is
    compared with simulated normal samples of the same size.
    """
    count = len(values)
    if count < LEAST_MODES or float(np.ptp(values)) == 0:
        return None
    ranked = np.sort(np.log(values))
    ratio, cut = _best_cut(ranked[np.newaxis, :])
    smallest = min(int(cut[0]), count - int(cut[0]))
    if smallest < 0.15 * count or ratio[0] > _cut_limit(count, alpha):
        return None
    first, second = np.exp(ranked[: cut[0]]), np.exp(ranked[cut[0] :])
    return float(first.mean()), float(second.mean()), len(second) / count


@cache
def _cut_limit(count: int, alpha: float) -> float:
    """The share of squared distances left by the best cut that normal samples go below with probability `alpha`."""
    rng = np.random.default_rng(SEED)
    ratios, _ = _best_cut(np.sort(rng.standard_normal((MODE_DRAWS, count)), axis=1))
    return float(np.quantile(ratios, alpha))


def _best_cut(ranked: FloatArray) -> tuple[FloatArray, IntArray]:
    """For each row of rising values: what the best cut leaves of the squared distances, and its place."""
    count = ranked.shape[1]
    size = np.arange(1, count)
    sums, squares = np.cumsum(ranked, axis=1), np.cumsum(ranked**2, axis=1)
    left = squares[:, :-1] - sums[:, :-1] ** 2 / size
    right = squares[:, -1:] - squares[:, :-1] - (sums[:, -1:] - sums[:, :-1]) ** 2 / (count - size)
    total = squares[:, -1] - sums[:, -1] ** 2 / count
    inside = left + right
    place = np.argmin(inside, axis=1)
    best = np.take_along_axis(inside, place[:, np.newaxis], axis=1)[:, 0]
    return best / np.maximum(total, 1e-300), (place + 1).astype(np.int64)


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
