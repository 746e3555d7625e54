"""`preview`: the runs that a measurement would make, their order, time and cost, and how many are enough."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Unpack

from scalecurve.document import Answer, Document, FindingList, Paragraph, Result, table
from scalecurve.findings import Finding
from scalecurve.measurement.axes import cell_name, grid_sweeps
from scalecurve.measurement.beforehand import checked_settings
from scalecurve.measurement.journal import runs_before
from scalecurve.measurement.machine import real_world
from scalecurve.measurement.schedule import (
    Made,
    Planned,
    SweepPoint,
    points_of,
    repeats_needed,
    runs_to_make,
    spread_of,
)
from scalecurve.measurement.sentences import say
from scalecurve.measurement.settings import AxesSettings, MeasureKeywords, MeasureSettings
from scalecurve.planning.pricing import price_of
from scalecurve.study import Regime
from scalecurve.study.run import SCALING
from scalecurve.units import format_seconds, format_seconds_range

ASSUMED_CV = 0.05
LISTED_RUNS = 60
FEWEST_CELLS = 6
"""Fewer do not fit T(N, K)."""


@dataclass(frozen=True)
class Span:
    """A lower and an upper bound, in seconds or dollars."""

    low: float
    high: float

    def __str__(self) -> str:
        low, high = format_seconds(self.low), format_seconds(self.high)
        return low if low == high else format_seconds_range(self.low, self.high, " to ")


@dataclass(frozen=True, kw_only=True)
class PointOutlook:
    """What is foreseen of one point, which `name` names, of a grid with the levels of its cell.

    `launches` are still to be made: the scheduled ones and, for a precision, those it needs within the limit.
    """

    name: str
    point: SweepPoint
    launches: int
    wall: Span | None
    cv: float
    cv_is_assumed: bool
    needed: int | None


@dataclass(frozen=True, kw_only=True, repr=False)
class Outlook(Result):
    """The result of a dry run."""

    settings: MeasureSettings
    runs: tuple[Planned, ...]
    points: tuple[PointOutlook, ...]
    findings: tuple[Finding, ...]

    @property
    def wall(self) -> Span | None:
        """Seconds of all launches; None where those of a point are unknown."""
        walls = [row.wall for row in self.points if row.wall is not None]
        if len(walls) < len(self.points):
            return None
        return Span(sum(wall.low for wall in walls), sum(wall.high for wall in walls))

    @property
    def cost(self) -> Span | None:
        """Dollars of all launches; None without a price or a wall time."""
        price = self.settings.usd_per_worker_hour
        if price is None or self.wall is None:
            return None
        parts = [(row.point.k, row.wall) for row in self.points if row.wall is not None]
        low = sum(price_of(price, workers=k, seconds=wall.low) for k, wall in parts)
        return Span(low, sum(price_of(price, workers=k, seconds=wall.high) for k, wall in parts))

    @property
    def launches(self) -> str:
        """The launches that are certain, and how many a precision makes of them."""
        expected = sum(row.launches for row in self.points)
        certain = f"{len(self.runs)} launches"
        return certain if expected == len(self.runs) else f"{certain} scheduled, {expected} expected"

    @property
    def answer(self) -> Answer:
        """How long the measurement takes and what it costs."""
        if self.wall is None:
            decision = f"{self.launches} are to be made; how long they take is not known."
            return Answer(
                decision=decision, next="`SAME --expected-seconds 10s` gives the time, from that of one launch at K = 1"
            )
        cost = f" and {self.cost.low:,.2f} to {self.cost.high:,.2f} USD" if self.cost else ""
        decision = f"{self.launches} take {self.wall}{cost}."
        known = any(not row.cv_is_assumed for row in self.points)
        why = "From the launches made so far." if known else "Less if it scales perfectly, more if not at all."
        return Answer(decision=decision, confidence=why, next="`SAME without --dry-run` measures")

    def records(self) -> list[dict[str, Any]]:
        return [
            {"order": i, "role": run.point.role, "k": run.point.k, "repeat": run.repeat, "warmup": run.is_warmup}
            for i, run in enumerate(self.runs)
        ]

    def content(self) -> dict[str, Any]:
        points = [{**asdict(row), "point": None, "role": row.point.role, "k": row.point.k} for row in self.points]
        return {
            "seed": self.settings.seed,
            "runs": self.records(),
            "points": [{key: value for key, value in row.items() if key != "point"} for row in points],
            "wall_seconds": self.wall and asdict(self.wall),
            "cost_usd": self.cost and asdict(self.cost),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def body(self) -> Document:
        settings = self.settings
        names = [str(run.point.k) if run.point.role == SCALING else run.point.role for run in self.runs]
        order = [name + "w" * run.is_warmup for name, run in zip(names, self.runs, strict=True)][:LISTED_RUNS]
        more = f" ... and {len(self.runs) - LISTED_RUNS} more" if len(self.runs) > LISTED_RUNS else ""
        rows = [
            [
                row.name,
                str(row.launches),
                None if row.wall is None else str(row.wall),
                f"{row.cv:.1%}{' assumed' if row.cv_is_assumed and settings.expected_cv is None else ''}",
                None if row.needed is None else str(row.needed),
            ]
            for row in self.points
        ]
        spread = "spread of the rate" if settings.timing.measures_rate else "spread of T"
        asked = f"asked: T within {settings.precision:.1%} at {settings.level:.0%}" if settings.precision else ""
        return Document(
            f"{self.launches}, nothing was started",
            (
                table(("point", "launches", "wall time", spread, "launches needed"), rows),
                *([Paragraph(asked)] if asked else ()),
                FindingList(self.findings),
            ),
            details=(Paragraph(f"order (seed {settings.seed}; w: warm-up): {' '.join(order)}{more}"),),
        )


def preview(
    file: str | Path | None = None,
    *,
    resume: bool = False,
    force: bool = False,
    **settings: Unpack[MeasureKeywords],
) -> Outlook:
    """What `measure` would do with these settings: runs, order, wall time, cost, launches needed.  Starts nothing.

    What `measure` would refuse is refused.  With `resume` a measurement at `output` counts: only what is missing is
    listed.
    """
    checked = checked_settings(file, settings, real_world(), resume=resume, force=force)
    if checked.axes is not None:
        return grid_outlook(checked)
    return outlook_of(checked, Made.of(checked, runs_before(checked.output) if checked.output and resume else ()))


def outlook_of(settings: MeasureSettings, made: Made) -> Outlook:
    """The runs still to be made, with bounds from what was measured or expected."""
    runs = tuple(runs_to_make(settings, made))
    means = {}
    for k in sorted({point.k for point, row in made.rows.items() if row.timed}):
        rows = [row for point, row in made.rows.items() if point.k == k]
        means[k] = sum(row.wall_seconds for row in rows) / sum(row.timed for row in rows)
    if not means and settings.expected_seconds is not None:
        means = {1: settings.expected_seconds}
    points = [
        point_outlook(point, settings, made, [run for run in runs if run.point == point], means)
        for point in points_of(settings)
    ]
    has_times = any(row.times for row in made.rows.values())
    findings = tuple(_findings(settings, points, bool(means), has_times))
    return Outlook(settings=settings, runs=runs, points=tuple(points), findings=findings)


def point_outlook(
    point: SweepPoint, settings: MeasureSettings, made: Made, scheduled: Sequence[Planned], means: Mapping[int, float]
) -> PointOutlook:
    """Launches and wall seconds of one point; `means` are the wall seconds of a launch at other K."""
    seconds = made.times(point)
    measured_cv = spread_of(seconds) if len(seconds) >= 3 else settings.expected_cv
    cv = measured_cv if measured_cv is not None else ASSUMED_CV
    needed, launches = None, len(scheduled)
    if settings.precision:
        needed = repeats_needed(cv, settings.precision, settings.level)
        last = min(max(needed, settings.repeats), settings.most_repeats)
        launches = sum(run.is_warmup for run in scheduled) + max(0, last - len(seconds))
    wall = wall_bounds(point.k, settings.regime, means)
    return PointOutlook(
        name=point.name,
        point=point,
        launches=launches,
        wall=None if wall is None else Span(launches * wall.low, launches * wall.high),
        cv=cv,
        cv_is_assumed=len(seconds) < 3,
        needed=needed,
    )


def wall_bounds(k: int, regime: Regime, walls: Mapping[int, float]) -> Span | None:
    """Seconds of one launch: between perfect scaling and none, from the nearest smaller K with a time."""
    if k in walls:
        return Span(walls[k], walls[k])
    if not walls:
        return None
    near = max((smaller for smaller in walls if smaller < k), default=min(walls))
    other = walls[near] * near / k if regime is Regime.STRONG else walls[near] * k / near
    return Span(min(walls[near], other), max(walls[near], other))


def grid_outlook(settings: MeasureSettings) -> Outlook:
    """The outlooks of all sweeps of a grid as one; a size takes as much longer as it is larger than the first."""
    sizes, rows = (settings.axes or AxesSettings()).size, []
    runs: list[Planned] = []
    for sweep in grid_sweeps(settings):
        first, seconds = sweep.cells[0], settings.expected_seconds
        grown = None if seconds is None else seconds * (first.size or 1.0) / (sizes[0] if sizes else 1.0)
        own = outlook_of(sweep.settings.model_copy(update={"expected_seconds": grown}), Made(sweep.settings))
        cell = cell_name(sweep.settings.axes or AxesSettings())
        rows += [replace(row, name=f"{row.name}, {cell}") for row in own.points]
        runs += own.runs
    findings = list(_findings(settings, rows, settings.expected_seconds is not None, has_times=False))
    if len(sizes) == 1 or (sizes and len(rows) < FEWEST_CELLS):
        findings.append(say("too-few-for-surface"))
    return Outlook(settings=settings, runs=tuple(runs), points=tuple(rows), findings=tuple(findings))


def _findings(
    settings: MeasureSettings, points: Sequence[PointOutlook], has_walls: bool, has_times: bool
) -> Iterable[Finding]:
    if not has_walls:
        yield say("wall-unknown")
    elif not has_times:
        yield say("wall-bounds")
    if settings.precision and settings.expected_cv is None and not has_times:
        yield say("spread-assumed", cv=ASSUMED_CV)
    most = settings.most_repeats
    beyond = [(row.needed, row.name) for row in points if row.needed is not None and row.needed > most]
    if beyond:
        needed, names = max(beyond)[0], ", ".join(name for _, name in beyond)
        precision = settings.precision
        yield say("precision-out-of-reach", precision=precision, needed=needed, most_repeats=most, points=names)
