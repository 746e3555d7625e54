"""Which launches are made, in which order, and when there are enough of them.

Order: randomised blocks over K, so that a drift of the machine does not look like scaling.
Enough: the interval of T at one point is Student's t on its fresh launches, mean +- t(n-1) s / sqrt(n); steps within
a run never enter, because runs differ by more than their steps do.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from scalecurve.measurement.observation import disturbed_rows
from scalecurve.measurement.settings import MeasureSettings
from scalecurve.study import Run, RunStatus
from scalecurve.study.run import SCALING

MIN_FOR_INTERVAL = 3


@dataclass(frozen=True, order=True)
class SweepPoint:
    """Something measured several times: the job at one K, or a baseline candidate (always one worker)."""

    role: str
    k: int

    @property
    def name(self) -> str:
        return f"K = {self.k}" if self.role == SCALING else f"baseline {self.role}"


@dataclass(frozen=True)
class Planned:
    """One launch to be made.  Warm-up launches have negative repeats; their times do not count."""

    point: SweepPoint
    repeat: int

    @property
    def is_warmup(self) -> bool:
        return self.repeat < 0


def points_of(settings: MeasureSettings) -> tuple[SweepPoint, ...]:
    job = tuple(SweepPoint(SCALING, k) for k in settings.workers)
    return job + tuple(SweepPoint(name, 1) for name in settings.baseline)


def block(points: Sequence[SweepPoint], repeat: int, seed: int) -> list[Planned]:
    """Every point once; the order depends on the seed and the repeat alone, so that a resumed study keeps it."""
    shuffled = sorted(points)
    random.Random(f"{seed}:{repeat}").shuffle(shuffled)  # noqa: S311 - an order, not a secret
    return [Planned(point, repeat) for point in shuffled]


def runs_to_make(settings: MeasureSettings, done: Mapping[Planned, Run]) -> Iterator[Planned]:
    """The launches still missing, one after the other; `done` is read again before each block.

    Warm-up launches come first: one of each point fills caches and shows at once what does not run.
    After the repeats asked for, points go on whose interval is still too wide or that others disturbed; a point that
    only fails is given up.
    """
    points = points_of(settings)
    warmups = [Planned(point, -1 - i) for i in range(settings.warmup_launches) for point in points]
    yield from (planned for planned in warmups if planned not in done)
    for repeat in range(settings.most_repeats):
        if repeat >= settings.repeats:
            times = times_by_point(done)
            disturbed = disturbed_rows(done.values(), settings)
            points = tuple(
                point
                for point in points_of(settings)
                if times.get(point)
                and (
                    (point.role, point.k) in disturbed
                    or not is_precise(times[point], settings.precision, settings.level)
                )
            )
            if not points:
                return
        yield from (planned for planned in block(points, repeat, settings.seed) if planned not in done)


def times_by_point(runs: Mapping[Planned, Run]) -> dict[SweepPoint, list[float]]:
    """Seconds of the launches that count."""
    times: dict[SweepPoint, list[float]] = {}
    for planned, run in runs.items():
        if run.status is RunStatus.OK and run.value is not None and not planned.is_warmup:
            times.setdefault(planned.point, []).append(run.value)
    return times


def relative_halfwidth(values: Sequence[float], level: float) -> float | None:
    """Half the interval divided by the mean; None with fewer than three launches."""
    n = len(values)
    if n < MIN_FOR_INTERVAL:
        return None
    return _quantile(n, level) * spread_of(values) / math.sqrt(n)


def spread_of(values: Sequence[float]) -> float:
    """Coefficient of variation, s divided by the mean."""
    mean = math.fsum(values) / len(values)
    variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return math.sqrt(variance) / mean


def is_precise(values: Sequence[float], precision: float | None, level: float) -> bool:
    if precision is None:
        return True
    width = relative_halfwidth(values, level)
    return width is not None and width <= precision


def repeats_needed(cv: float, precision: float, level: float, most: int = 100_000) -> int:
    """The least n with t(n-1) cv / sqrt(n) <= precision; `most` when even that is not enough."""
    low, high = MIN_FOR_INTERVAL, most
    while low < high:
        middle = (low + high) // 2
        if _quantile(middle, level) * cv / math.sqrt(middle) <= precision:
            high = middle
        else:
            low = middle + 1
    return low


def _quantile(n: int, level: float) -> float:
    """Student's t of n - 1 degrees of freedom, two-sided."""
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, (1 + level) / 2))
