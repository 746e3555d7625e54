"""What workers wait for: a worker that works alone, workers that always have more to do, or a slow one now and then.

Compute of worker i in repeat r at one K is taken as mean + lasting effect of i + passing effect.  Analysis of
variance over the repeats tells whether there is a lasting effect, and shrinks it so that the largest of K noisy means
is not mistaken for one (best linear unbiased prediction; C. R. Henderson, Biometrics 31, 1975).

A worker that works alone keeps its extra seconds whatever K is; a larger shard shrinks like 1/K.  Non-negative least
squares over K parts the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

import numpy as np

from scalecurve.diagnosis.phases import Account
from scalecurve.diagnosis.shapes import Maxima
from scalecurve.study.samples import FloatArray

SIGNIFICANT = 0.01
LARGEST_K = 3
LEAST_K = 3  # a constant and a shrinking part cannot be told apart from fewer
ALONE_AT = 2  # of the three largest K, the same worker must be the slowest in so many


def compute_matrix(runs: list[Account]) -> FloatArray:
    """Rows are repeats, columns workers; data loading is part of the work."""
    return np.array([account.compute + account.data for account in runs])


@dataclass(frozen=True, eq=False)
class Lasting:
    """Seconds by which each worker is lastingly above the mean (shrunk), and the test behind it."""

    effects: FloatArray
    p_value: float | None

    @property
    def excess(self) -> float:
        return max(0.0, float(self.effects.max()))


def lasting_effects(matrix: FloatArray) -> Lasting:
    """Worker effects that repeats do not wash out; none where there is one repeat only to judge by."""
    repeats, ranks = matrix.shape
    relative = matrix / matrix.mean(axis=1, keepdims=True)
    means = relative.mean(axis=0)
    scale = float(matrix.mean())
    if ranks == 1:
        return Lasting(np.zeros(1), None)
    if repeats == 1:
        return Lasting((means - 1.0) * scale, None)
    residual = relative - means
    within = float((residual**2).sum()) / ((repeats - 1) * (ranks - 1))
    between = repeats * float(((means - 1.0) ** 2).sum()) / (ranks - 1)
    p_value = _f_tail(between, within, ranks - 1, (repeats - 1) * (ranks - 1))
    kept = max(0.0, 1.0 - within / between) if between > 0 and p_value < SIGNIFICANT else 0.0
    return Lasting(kept * (means - 1.0) * scale, p_value)


def _f_tail(between: float, within: float, top: int, bottom: int) -> float:
    from scipy.special import fdtrc

    if within <= 0:
        return 0.0 if between > 0 else 1.0
    return float(fdtrc(top, bottom, between / within))


@dataclass(frozen=True)
class Alone:
    """A worker whose extra seconds do not shrink with K: it works while the others wait."""

    rank: int
    seconds: float


def works_alone(by_k: dict[int, list[Account]]) -> Alone | None:
    """The one worker that is slowest at the largest K by an amount that stays over all K, if there is one."""
    means = {k: _unexplained(runs).mean(axis=0) for k, runs in by_k.items() if len(runs[0].compute) > 1}
    if len(means) < 2:
        return None
    tops = {k: int(np.argmax(values)) for k, values in means.items()}
    rank = tops[max(tops)]
    if list(tops.values())[-LARGEST_K:].count(rank) < ALONE_AT:
        return None
    usable = dict(takewhile(lambda item: tops[item[0]] == rank, reversed(means.items())))
    k = np.array(list(usable), dtype=np.float64)
    extra = np.array([values[rank] - np.delete(values, rank).mean() for values in usable.values()])
    return _constant_part(rank, k, extra) if len(k) >= LEAST_K else None


def _unexplained(runs: list[Account]) -> FloatArray:
    """Compute of each worker beyond what its counted work explains; all of it where work was not counted."""
    matrix = compute_matrix(runs)
    if any(account.work is None or account.work.sum() <= 0 for account in runs):
        return matrix
    shares = np.array([account.work / account.work.sum() for account in runs if account.work is not None])
    totals = matrix.sum(axis=1, keepdims=True)
    left: FloatArray = matrix - totals * (shares - 1.0 / matrix.shape[1])
    return left


def _constant_part(rank: int, k: FloatArray, extra: FloatArray) -> Alone | None:
    from scipy.optimize import nnls

    if not np.all(extra > 0):
        return None
    basis = np.column_stack([np.ones_like(k), 1.0 / k, np.log2(k) / k])
    parts, _ = nnls(basis / extra[:, None], np.ones_like(k))
    share = parts[0] / extra[0]  # the largest K comes first
    return Alone(rank, float(parts[0])) if share > 0.3 else None


def hidden_waiting(by_k: dict[int, list[Account]]) -> dict[int, float]:
    """Seconds per worker of the least time in collectives that is waiting for passing slowness, by K.

    With several barriers in a run every worker waits somewhere, so the least time in collectives contains waiting.
    The spread of the workers' compute gives the log-spread of one barrier for each number of barriers that may have
    been; the number is chosen whose waiting, plus communication that grows like log2 K, K - 1 or (K-1)/K, explains
    the least time best over K.
    """
    usable = {k: runs for k, runs in by_k.items() if k > 1}
    if len(usable) < 2:
        return dict.fromkeys(by_k, 0.0)
    k = np.array(list(usable), dtype=np.float64)
    least = np.array([np.mean([a.inside.min() for a in runs]) for runs in usable.values()])
    known = np.array([np.mean([(a.compute.max() - a.compute).mean() for a in runs]) for runs in usable.values()])
    spread = _passing_spread(usable)
    best = min((_with_barriers(b, k, least, known, usable, spread) for b in BARRIERS_TRIED), key=lambda fit: fit[0])
    return dict.fromkeys(by_k, 0.0) | dict(zip(usable, best[1].tolist(), strict=True))


BARRIERS_TRIED = (1, 2, 3, 4, 6, 8, 10, 14, 20)
WIDEST = 2.0


@lru_cache(maxsize=16)
def _maxima(k: tuple[int, ...]) -> Maxima:
    return Maxima.of(np.array(k, dtype=np.float64), top=WIDEST, points=101)


def _passing_spread(usable: dict[int, list[Account]]) -> float:
    """Relative variance of a worker's compute from repeat to repeat, over all K."""
    top = bottom = 0.0
    for runs in usable.values():
        matrix = compute_matrix(runs)
        relative = matrix / matrix.mean(axis=1, keepdims=True)
        residual = relative - relative.mean(axis=0) if len(runs) > 1 else relative - 1.0
        ranks = matrix.shape[1]
        top += float((residual**2).sum())
        bottom += (max(len(runs) - 1, 1)) * (ranks - 1)
    return top / bottom if bottom else 0.0


def _with_barriers(
    barriers: int, k: FloatArray, least: FloatArray, known: FloatArray, usable: dict[int, list[Account]], spread: float
) -> tuple[float, FloatArray]:
    """Misfit of this number of barriers, and the waiting hidden in the least time in collectives."""
    from scipy.optimize import nnls

    sigma = min(float(np.sqrt(np.log1p(barriers * spread))), WIDEST)
    mean = np.array([np.mean([a.compute.mean() for a in runs]) for runs in usable.values()])
    waiting = mean * (_maxima(tuple(usable)).at(np.array([sigma]))[0][0] - 1.0)
    hidden = np.clip(waiting - known, 0.0, least) if barriers > 1 else np.zeros_like(least)
    weight = 1.0 / np.maximum(least, 0.02 * least.max() + 1e-300)
    basis = np.column_stack([np.log2(k), k - 1.0, (k - 1.0) / k])
    _, misfit = nnls(basis * weight[:, None], (least - hidden) * weight)
    return float(misfit), hidden
