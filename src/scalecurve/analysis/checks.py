"""Findings of a speedup table: single samples, superlinear points, outliers, modes, oversubscription."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from scalecurve.analysis.curve import Curve, curve_of, log_ratio
from scalecurve.findings import Finding, info, warning
from scalecurve.study import Quantity, Regime, Study
from scalecurve.study.run import FloatArray, IntArray
from scalecurve.study.study import is_load

if TYPE_CHECKING:
    from scalecurve.analysis.table import TableRow

FALSE_ALARMS = 0.04  # the chance of an outlier in a clean table, over all K
SLOW_SHARE = 0.7  # of these alarms, for slow samples; the rest is for fast ones
TAIL_RUNS = 20  # runs up to which the square root of a deviation has an exponential tail at worst
COMMON = 4  # runs that the spread of all K counts for in that of one K
MOST_FAR, LEAST_FAR = 5, 4.0
TINY = 1e-12  # deviations below are rounding
TWO_MODES = 0.01  # the chance of two modes in a clean table
LEAST_MODES, MODE_SHARE, ONE_GROUP = 10, 0.15, 0.2
MODE_DRAWS, MOST_CUT, MOST_K = 4000, 30, 12
TWO_SPEEDS = ("rare-slow-runs", "two-modes")
SEED = 7
LEAST_RARE = 3
RARE_FACTOR, RARE_SCORE, RARE_SHARE = 1.5, 8.0, 0.2
OUTLIERS_CHECKED = 100_000
FEW_REPEATS = 5
NEIGHBOURS = 3
MANY_RUNS = 10  # of a K, from which its own spread is enough
SUPERLINEAR, SURE = 1.2, 0.95
JUMP = 50.0  # between neighbours: seconds beside milliseconds or minutes, not scaling
LIKE_ALL_WORK = -0.7  # slope of ln T over ln K under weak scaling: the work of a worker falls with K
SLOWER = 1.05


def check_table(study: Study, curve: Curve, rows: Sequence[TableRow], shape: Sequence[Finding]) -> Iterator[Finding]:
    """All findings about a table, the most important first."""
    if single := curve.k[curve.n == 1].tolist():
        message = f"one sample only at K = {_listed(single)}: no standard deviation and no interval there"
        yield warning("single-sample", message, remedy="make at least 3, better 5, fresh launches per K", k=single)
    if few := curve.k[(curve.n > 1) & (curve.n < FEW_REPEATS)].tolist():
        message = (
            f"fewer than {FEW_REPEATS} samples at K = {_listed(few)}: the intervals there are wide and assume noise "
            "that is nearly normal; runs of two speeds would not show"
        )
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
    yield from shape
    over = sorted({run.k for run in study.runs if run.oversubscribed and run.counts})
    if over and all(finding.code != "oversubscribed" for finding in study.findings):
        message = f"K = {_listed(over)} had more workers than cores: these rows show the cost of sharing cores"
        yield warning("oversubscribed", message, remedy="do not read those rows as scaling", k=over)


def implausible(curve: Curve, k_unit: str) -> Finding | None:
    """What makes the values hard to believe, with or without repeats; None where nothing does.

    One client leaves a server idle and many get in each other's way, so a load may gain more than K or nothing at all.

    No K should be recommended from such a curve.  Evidence: `kind`, the `k` whose rows are concerned, and the `words`
    of their verdict.  The most particular explanation comes first, and only one is given.
    """
    tests = (_speedups_as_times, _mixed_units, _same_everywhere, _shared_work)
    for test in tests if is_load(k_unit) else (*tests, _slower_everywhere, _superlinear):
        if finding := test(curve):
            return finding
    return None


def doubts(study: Study) -> tuple[Finding, ...]:
    """What speaks against the values of a study; nothing where they can be believed."""
    doubt = implausible(curve_of(study), study.k_unit) if len(study.all_k) > 1 else None  # one K shows no curve
    return () if doubt is None else (doubt,)


def _implausible(kind: str, k: IntArray, words: str, message: str, remedy: str) -> Finding:
    return warning("implausible", message, remedy=remedy, kind=kind, k=k.tolist(), words=f"implausible: {words}")


def _beyond(curve: Curve) -> IntArray:
    return np.delete(curve.k, curve.base)


def _speedups_as_times(curve: Curve) -> Finding | None:
    """Times that are exactly 1 (or K0) at the baseline and then rise no faster than the workers."""
    first, ratio = float(curve.mean[curve.base]), curve.k / curve.k[curve.base]
    if curve.conversion.quantity is not Quantity.SECONDS or first not in (1.0, float(curve.k[curve.base])):
        return None
    gain, after = curve.mean / first, ratio > 1
    rises = np.all(np.diff(curve.mean[curve.base :]) > 0) and gain[-1] > max(1.5, ratio[-1] ** 0.3)
    if not (after.any() and rises and np.all(gain[after] <= SUPERLINEAR * ratio[after])):
        return None
    message = f"the values start at exactly {first:g} and rise to {curve.mean[-1]:.4g}: speedups, not times"
    remedy = "give the times behind them, or name the column that holds times"
    return _implausible("speedups-as-times", _beyond(curve), "speedups, not times", message, remedy)


def _mixed_units(curve: Curve) -> Finding | None:
    """A neighbour that takes 50 times as long, or 50 times less than perfect scaling would give."""
    steps, ideal = np.diff(np.log(curve.time)), -curve.conversion.shared * np.diff(np.log(curve.k))
    off = np.maximum(steps - np.maximum(ideal, 0.0), ideal - steps)
    place = int(np.argmax(off))
    if off[place] <= np.log(JUMP):
        return None
    pair = curve.k[place : place + 2]
    factor = float(np.exp(abs(steps[place])))
    message = f"the value changes {factor:,.0f}-fold from K = {pair[0]} to {pair[1]}: the units are probably mixed"
    return _implausible("mixed-units", pair, "mixed units", message, "write all values in one unit")


def _same_everywhere(curve: Curve) -> Finding | None:
    """One time at three K or more, digit for digit; under weak scaling a time of two digits may be rounded."""
    time, first = curve.time, float(curve.mean[0])
    is_rounded = curve.conversion.regime is Regime.WEAK and float(f"{first:.2g}") == first
    if len(time) < LEAST_RARE or is_rounded or np.ptp(time) > 1e-9 * time[0]:
        return None
    message = f"every K took exactly as long as K = {curve.k[0]}: one value was copied, or K did not reach the job"
    remedy = "check that the number of workers reaches the program, and keep all digits"
    return _implausible("same-everywhere", _beyond(curve), "the same time at every K", message, remedy)


def _shared_work(curve: Curve) -> Finding | None:
    """Times of weak scaling that fall about as 1/K."""
    if curve.conversion.regime is not Regime.WEAK:
        return None
    slope = float(np.polyfit(np.log(curve.k), np.log(curve.time), 1)[0])
    if slope > LIKE_ALL_WORK:
        return None
    ends = f"T({curve.k[-1]}) is 1/{curve.time[0] / curve.time[-1]:.3g} of T({curve.k[0]})"
    message = f"the time falls about as 1/K ({ends}): the total work is fixed, which is strong scaling"
    remedy = "read it as strong scaling: `scalecurve table STUDY --regime strong`"
    return _implausible("shared-work", _beyond(curve), "falls like 1/K, which is strong scaling", message, remedy)


def _slower_everywhere(curve: Curve) -> Finding | None:
    """Strong scaling in which every larger K is slower than the baseline."""
    beyond = np.arange(len(curve.k)) > curve.base
    slower = curve.time / curve.time[curve.base]
    if curve.conversion.regime is Regime.WEAK or not beyond.any() or np.any(slower[beyond] < SLOWER):
        return None
    message = f"every K above {curve.k[curve.base]} is slower than it: more workers made this job slower"
    remedy = "check that the workers share the work, and that the values are times; no scaling law applies"
    return _implausible("slower-everywhere", curve.k[beyond], "slower with more workers", message, remedy)


def _superlinear(curve: Curve) -> Finding | None:
    """E above 1.2 beyond the baseline, and beyond its interval where there is one."""
    k0, places = int(curve.k[curve.base]), []
    for place in np.flatnonzero((curve.efficiency > SUPERLINEAR) & (curve.k > k0)).tolist():
        k, share = int(curve.k[place]), float(curve.efficiency[place])
        low = log_ratio((curve, k0, 1.0), (curve, k, -1.0)).around(share, SURE).low
        if low is None or low > 1:
            places.append(place)
    if not places:
        return None
    above = curve.k[places]
    most = float(curve.efficiency[places].max())
    message = f"E is {most:.2f} at K = {above[int(np.argmax(curve.efficiency[places]))]}: more speed than workers"
    remedy = f"measure K = {k0} again: memory, cache, a debug build or another problem made it slow"
    return _implausible("superlinear", above, f"E up to {most:.3g}", message, remedy)


def check_shape(study: Study) -> Iterator[Finding]:
    """Samples far from the others, rare slow runs, and runs of two speeds: reported, never removed."""
    if len(study.samples) > OUTLIERS_CHECKED:
        return
    samples = study.samples.by_k()
    if slow := _rare_slow(study, samples):
        yield slow
    modes = two_modes(samples)
    if modes:
        k, (low, high, share) = next(iter(modes.items()))
        message = (
            f"samples have two modes at K = {_listed([*modes])} (K = {k}: {low:.4g}, and {high:.4g} in {share:.0%})"
        )
        yield warning("two-modes", message, remedy="find what differs between the runs; a mean hides it", k=[*modes])
    for k, far in outliers(samples).items():
        if k not in modes:
            yield warning(
                "outliers",
                f"{len(far)} of {len(samples[k])} samples at K = {k} lie far from the others; they are kept",
                remedy="look for a noisy neighbour, a cold start or a straggler in that run",
                k=k,
                count=len(far),
                worst=far[0],
                median=float(np.median(samples[k])),
            )


def common_spread(curve: Curve, shape: Sequence[Finding]) -> Curve:
    """The curve with the spread of all K together where that is larger and runs come in two speeds.

    A K whose few runs were all fast by chance shows a small spread, and its own interval would miss the mean.
    """
    if curve.covariance is not None or not any(finding.code in TWO_SPEEDS for finding in shape):
        return curve
    own, degrees = curve.std / curve.mean, np.where(curve.n > 1, curve.degrees, 0.0)
    every = float(np.sqrt(np.nansum(own**2 * degrees) / max(degrees.sum(), 1.0)))
    wider = own < every
    std, pooled = np.where(wider, every * curve.mean, curve.std), np.where(wider, degrees.sum(), curve.degrees)
    return replace(curve, std=std, pooled_degrees=pooled)


def spread_of_neighbours(curve: Curve, level: float) -> Curve:
    """The curve with the spread of the `NEIGHBOURS` nearest K, below `MANY_RUNS` where that widens the interval.

    Few runs that happen to be close show too small a spread; below `FEW_REPEATS` runs all K count as near.
    """
    from scalecurve.distributions import stdtrit

    if curve.covariance is not None:
        return curve
    tail, error = 0.5 + level / 2.0, np.nan_to_num(curve.log_se)
    sums = [np.r_[0.0, np.cumsum(part)] for part in (error**2 * curve.n * (curve.n - 1), curve.n - 1.0)]
    std, pooled = curve.std, curve.degrees
    widest = stdtrit(np.maximum(curve.degrees, 1.0), tail) * error
    places, count = np.arange(len(curve.k)), len(curve.k)
    for size, most in ((min(NEIGHBOURS, count), MANY_RUNS), (count, FEW_REPEATS)):
        start = np.clip(places - size // 2, 0, count - size)
        squares, degrees = (total[start + size] - total[start] for total in sums)
        near = np.sqrt(squares / np.maximum(degrees, 1.0) / curve.n)
        width = stdtrit(np.maximum(degrees, 1.0), tail) * near
        wider = (curve.n > 1) & (curve.n < most) & (width > widest)
        std = np.where(wider, near * curve.mean * np.sqrt(curve.n), std)
        pooled, widest = np.where(wider, degrees, pooled), np.where(wider, width, widest)
    return replace(curve, std=std, pooled_degrees=pooled)


def outliers(samples: dict[int, FloatArray]) -> dict[int, list[float]]:
    """The samples of each K that lie far from the others, the farthest first; K without any are left out.

    A sample is far where the gap below it is too large for the tail of all samples together.  Deviations are
    logarithms of sample over median.  The largest j of them, to a power that turns noise with a tail heavier than
    exponential into one with an exponential tail, have independent exponential spacings (Renyi 1953), so that the gap
    over the mean excess of the next ones follows F(2, 2r); lighter tails have smaller gaps.  It must be far both on
    the scale that all K share and on the own scale of its K, and `LEAST_FAR` usual spreads from its median.
    """
    rest = {k: np.log(values / np.median(values)) for k, values in samples.items() if len(values) > 1}
    if not rest:
        return {}
    worker = np.concatenate([np.full(len(own), k) for k, own in rest.items()])
    value = np.concatenate([samples[k] for k in rest])
    shared = np.concatenate(list(rest.values()))
    scaled = np.concatenate([own / scale for own, scale in zip(rest.values(), _scales(rest), strict=True)])
    near = LEAST_FAR * 1.4826 * float(np.median(np.abs(shared)))
    far_samples: dict[int, list[float]] = {}
    for sign, share in ((1.0, SLOW_SHARE), (-1.0, 1.0 - SLOW_SHARE)):
        level = FALSE_ALARMS * share
        last = set(_beyond_gap(sign * scaled, level))
        for place in _beyond_gap(sign * shared, level):
            if place in last and abs(shared[place]) > near:
                far_samples.setdefault(int(worker[place]), []).append(float(value[place]))
    return far_samples


def _scales(rest: dict[int, FloatArray]) -> list[float]:
    """The mean deviation of each K without its largest, drawn towards that of all K as far as the K agree.

    The common one is worth `COMMON` runs where the logarithms of the deviations differ by no more than chance
    (a variance of about 0.6 for each degree of freedom), and fewer as they differ more.
    """
    by_k = {k: float(np.sort(np.abs(part))[:-1].mean()) for k, part in rest.items() if len(part) >= LEAST_RARE}
    every = float(np.mean(list(by_k.values()))) if by_k else 1.0
    runs = {k: len(part) - 2 for k, part in rest.items()}
    logs = np.log(np.maximum(list(by_k.values()), 1e-300))
    chance = float(np.mean([0.6 / runs[k] for k in by_k])) if by_k else 1.0
    worth = COMMON * min(1.0, chance / max(float(logs.var(ddof=1)), 1e-300)) if len(by_k) > 1 else COMMON
    squares = [(worth * every**2 + runs[k] * by_k[k] ** 2) / (worth + runs[k]) if k in by_k else every**2 for k in rest]
    return [max(float(np.sqrt(square)), 1e-300) for square in squares]


def _beyond_gap(deviation: FloatArray, alpha: float) -> list[int]:
    """The places of the largest deviations above a gap that clean noise shows with probability `alpha`."""
    order = np.argsort(-deviation, kind="stable")
    tail = deviation[order][: int(np.sum(deviation > TINY))]
    count = len(deviation)
    power = min(0.5, TAIL_RUNS / count)  # more runs reach farther into a heavy tail
    height = (tail / max(float(tail.mean()), TINY)) ** power if len(tail) else tail
    most, depth = max(1, min(MOST_FAR, count // 8)), min(max(4, count // 4), 30)
    weights = 1 / np.arange(1, most + 1)
    last = 0
    for j in range(1, most + 1):
        below = min(depth, len(tail) - 1 - j)
        if below < LEAST_RARE:
            break
        excess = float(np.mean(height[j : j + below] - height[j + below]))
        gap = j * float(height[j - 1] - height[j])
        if excess > 0 and (1 + gap / excess / below) ** -below < alpha * weights[j - 1] / weights.sum():
            last = j
    return [int(place) for place in order[:last]]


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
    is_rate = study.quantity.higher_is_better
    ends = sorted(np.exp(-slow if is_rate else slow))
    factor = " to ".join(dict.fromkeys(f"{end:.2g}" for end in (ends[0], ends[-1])))
    pace = f"had {factor} of the usual rate" if is_rate else f"took {factor} times as long"
    message = f"{len(slow)} of {len(every)} runs {pace}"
    if without:
        way = "high" if is_rate else "low"
        message += f"; none of these at K = {_listed(without)}: by chance the means there may be too {way}"
    return warning("rare-slow-runs", message, remedy="use --statistic median, or many more runs", count=len(slow))


def two_modes(samples: dict[int, FloatArray]) -> dict[int, tuple[float, float, float]]:
    """For each K whose samples fall into two groups: their means and the share of the slower one.

    The samples of a K are cut where the squared distances from both group means are smallest.  What is left of the
    distances is compared with simulated samples of one group, for every K with enough runs by itself and for the mean
    of all K, which shows two modes in few runs of many K.
    """
    usable = {k: np.sort(np.log(v[:MOST_CUT])) for k, v in samples.items() if len(v) >= LEAST_RARE and np.ptp(v) > 0}
    if not usable:
        return {}
    cuts = {k: _best_cut(ranked[np.newaxis, :]) for k, ranked in usable.items()}
    left = {k: float(ratio[0]) for k, (ratio, _) in cuts.items()}
    place = {k: int(cut[0]) for k, (_, cut) in cuts.items()}
    sizes = tuple(sorted(len(own) for own in usable.values())[-MOST_K:])
    slower = sum(len(own) - place[k] for k, own in usable.items()) / sum(len(own) for own in usable.values())
    together = (
        len(usable) > 1
        and MODE_SHARE <= slower <= 1 - MODE_SHARE
        and _cut_below(float(np.mean(list(left.values()))), sizes, TWO_MODES / 2)
    )
    modes = {}
    for k, ranked in usable.items():
        count, cut = len(ranked), place[k]
        enough = count >= LEAST_MODES and MODE_SHARE * count <= min(cut, count - cut)
        alone = enough and _cut_below(left[k], (count,), TWO_MODES / 2 / len(usable))
        if alone or (together and left[k] < ONE_GROUP):
            first, second = np.exp(ranked[:cut]), np.exp(ranked[cut:])
            modes[k] = (float(first.mean()), float(second.mean()), len(second) / count)
    return modes


def _cut_below(left: float, sizes: tuple[int, ...], alpha: float) -> bool:
    """Whether the best cut leaves less, on average over K, than that of a single group does with chance `alpha`.

    Less than under each shape of noise: with the heavy tails of Student's t(3), normal, with an exponential tail, and
    from `LEAST_MODES` runs on, which tell it from two modes, crowded at its least value (gamma of shape 0.5).
    """
    shapes = ("standard_t", "standard_normal", "standard_exponential", "standard_gamma")
    return all(left < _cut_limit(shape, sizes, alpha) for shape in shapes[: 4 if min(sizes) >= LEAST_MODES else 3])


@cache
def _cut_limit(shape: str, sizes: tuple[int, ...], alpha: float) -> float:
    """The limit that the best cuts of one group of this shape fall below with chance `alpha`."""
    rng = np.random.default_rng(SEED)
    draw, first = getattr(rng, shape), {"standard_t": (3,), "standard_gamma": (0.5,)}.get(shape, ())
    cuts = [_best_cut(np.sort(draw(*first, size=(MODE_DRAWS, n)), axis=1))[0] for n in sizes]
    return float(np.quantile(np.mean(cuts, axis=0), alpha))


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
