"""Which launches are made, in which order, and when there are enough of them.

Order: randomised blocks over K, so that a drift of the machine does not look like scaling.
Enough: the interval of T at one point is Student's t on its fresh launches, mean +- t(n-1) s / sqrt(n); steps within
a run never enter, because runs differ by more than their steps do.
"""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from scalecurve.measurement.guard import DISTURBED_SHARE, disturbs, is_disturbed, limit_of
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


def launches_asked(settings: MeasureSettings) -> int:
    """The launches of a sweep with its warm-ups, without those that a precision adds."""
    return (settings.repeats + settings.warmup_launches) * len(points_of(settings))


def block(points: Sequence[SweepPoint], repeat: int, seed: int) -> list[Planned]:
    """Every point once; the order depends on the seed and the repeat alone, so that a resumed study keeps it."""
    shuffled = sorted(points)
    if len(shuffled) > 1:
        random.Random(f"{seed}:{repeat}").shuffle(shuffled)  # noqa: S311 - an order, not a secret
    return [Planned(point, repeat) for point in shuffled]


@dataclass
class Row:
    """The launches of one point in a few bytes each, so that ten thousand of them stay small.

    `times` are the values that count; `wall_seconds` and `timed` count all with a value, warm-ups too.  Repeats below
    `upto` were all made, and those in `others`.
    """

    times: array[float] = field(default_factory=lambda: array("d"))
    wall_seconds: float = 0.0
    timed: int = 0
    failed: int = 0
    watched: int = 0
    watched_seconds: float = 0.0
    foreign_seconds: float = 0.0
    disturbed: int = 0
    upto: int = 0
    others: set[int] = field(default_factory=set)

    def add(self, run: Run, limit: float) -> None:
        """Count a launch; `limit` is the number of cores beyond which others disturb it."""
        self.others.add(run.repeat or 0)
        while self.upto in self.others:
            self.others.remove(self.upto)
            self.upto += 1
        if run.value is None:
            self.failed += 1
            return
        self.timed += 1
        self.wall_seconds += run.wall_seconds or 0.0
        if run.status is not RunStatus.OK:
            return
        self.times.append(run.value)
        if "foreign_cpu_seconds" in run.observed:
            self.watched += 1
            self.watched_seconds += run.wall_seconds or 0.0
            self.foreign_seconds += float(run.observed["foreign_cpu_seconds"])
            self.disturbed += is_disturbed(run, limit)

    def made_below(self, repeats: int) -> int:
        """How many launches were made of warm-ups and repeats below that number."""
        return min(self.upto, repeats) + sum(repeat < repeats for repeat in self.others)


@dataclass
class Made:
    """The launches of a measurement so far, point by point; they need not be made again."""

    settings: MeasureSettings
    rows: dict[SweepPoint, Row] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: MeasureSettings, runs: Iterable[Run]) -> Made:
        """The launches that succeeded; one that failed is made again."""
        made = cls(settings)
        for run in runs:
            if run.status in (RunStatus.OK, RunStatus.WARMUP):
                made.add(run)
        return made

    def add(self, run: Run) -> None:
        self.rows.setdefault(SweepPoint(run.role, run.k), Row()).add(run, limit_of(self.settings))

    def __contains__(self, planned: Planned) -> bool:
        row = self.rows.get(planned.point)
        return row is not None and (0 <= planned.repeat < row.upto or planned.repeat in row.others)

    def times(self, point: SweepPoint) -> Sequence[float]:
        """The values of the launches that count."""
        return self.rows[point].times if point in self.rows else ()

    def disturbed(self) -> dict[SweepPoint, float]:
        """The points that others disturbed, with the cores that others used on average over the runs of each.

        Runs too short for the kernel's clock are judged together.  What happens on other machines is not known here.
        """
        limit = limit_of(self.settings)
        return {
            point: max(0.0, row.foreign_seconds) / row.watched_seconds
            for point, row in self.rows.items()
            if self.settings.is_local and row.watched
            if row.disturbed / row.watched > DISTURBED_SHARE
            or disturbs(row.foreign_seconds, row.watched_seconds, limit)
        }


def runs_to_make(settings: MeasureSettings, made: Made) -> Iterator[Planned]:
    """The launches still missing, one after the other; `made` is read again before each block.

    Warm-up launches come first: one of each point fills caches and shows at once what does not run.
    After the repeats asked for, points go on whose interval is still too wide or that others disturbed; a point that
    only fails is given up.
    """
    points = points_of(settings)
    warmups = [Planned(point, -1 - i) for i in range(settings.warmup_launches) for point in points]
    yield from (planned for planned in warmups if planned not in made)
    for repeat in range(settings.most_repeats):
        if repeat >= settings.repeats:
            disturbed = made.disturbed()
            points = tuple(
                point
                for point in points_of(settings)
                if (times := made.times(point))
                and (point in disturbed or not is_precise(times, settings.precision, settings.level))
            )
            if not points:
                return
        yield from (planned for planned in block(points, repeat, settings.seed) if planned not in made)


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
