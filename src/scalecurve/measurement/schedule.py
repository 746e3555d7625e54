"""Which runs are made, and in which order: randomised blocks over K, so that drift does not become scaling."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from scalecurve.measurement.precision import is_precise
from scalecurve.measurement.settings import Settings
from scalecurve.study import Run, RunStatus
from scalecurve.study.run import SCALING

WARMUP_REPEAT = -1


@dataclass(frozen=True, order=True)
class Point:
    """Something measured several times: the job at one K, or a baseline candidate (always one worker)."""

    role: str
    k: int


@dataclass(frozen=True)
class Planned:
    """One launch to be made.  Warm-up launches have negative repeats; their times do not count."""

    point: Point
    repeat: int

    @property
    def is_warmup(self) -> bool:
        return self.repeat < 0


def points_of(settings: Settings) -> tuple[Point, ...]:
    job = tuple(Point(SCALING, k) for k in settings.workers)
    return job + tuple(Point(name, 1) for name in settings.baseline)


def warmups(settings: Settings) -> list[Planned]:
    """Discarded launches first: one of each point fills caches and shows at once what does not run."""
    return [Planned(point, -1 - i) for i in range(settings.warmup_launches) for point in points_of(settings)]


def block(points: Sequence[Point], repeat: int, seed: int) -> list[Planned]:
    """Every point once, in an order made of the seed and the block alone, so that a resumed study keeps it."""
    shuffled = sorted(points)
    random.Random(f"{seed}:{repeat}").shuffle(shuffled)  # noqa: S311 - an order, not a secret
    return [Planned(point, repeat) for point in shuffled]


def runs_to_make(settings: Settings, done: Mapping[Planned, Run]) -> Iterator[Planned]:
    """The launches still missing, one after the other; `done` is looked at again before each block."""
    yield from (planned for planned in warmups(settings) if planned not in done)
    for repeat in range(settings.most_repeats):
        wanted = points_of(settings) if repeat < settings.repeats else unsettled(settings, done)
        if not wanted:
            return
        yield from (planned for planned in block(wanted, repeat, settings.seed) if planned not in done)


def unsettled(settings: Settings, done: Mapping[Planned, Run]) -> tuple[Point, ...]:
    """Points whose interval is still wider than asked; a point that only fails is given up."""
    times = times_by_point(done.items())
    return tuple(
        point
        for point in points_of(settings)
        if times.get(point) and not is_precise(times[point], settings.precision, settings.level)
    )


def times_by_point(runs: Iterable[tuple[Planned, Run]]) -> dict[Point, list[float]]:
    times: dict[Point, list[float]] = {}
    for planned, run in runs:
        if run.status is RunStatus.OK and run.value is not None and not planned.is_warmup:
            times.setdefault(planned.point, []).append(run.value)
    return times
