"""What a measurement would do: its runs, their order, how long and how dear they may be, how many would be enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scalecurve.document import Document, FindingList, Paragraph, Shown, table
from scalecurve.findings import Finding, info, warning
from scalecurve.measurement.precision import repeats_needed, spread_of
from scalecurve.measurement.schedule import Planned, Point, points_of, runs_to_make, times_by_point
from scalecurve.measurement.settings import Settings
from scalecurve.planning.pricing import price_of
from scalecurve.study import Regime, Run
from scalecurve.study.run import SCALING
from scalecurve.units import format_seconds

ASSUMED_CV = 0.05
SHOWN_RUNS = 60


@dataclass(frozen=True)
class Span:
    """Seconds between a lower and an upper bound."""

    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class PointOutlook:
    """`launches` are still to be made: the scheduled ones and, for a precision, those it needs within the limit."""

    point: Point
    launches: int
    wall: Span | None
    cv: float
    cv_is_assumed: bool
    needed: int | None


@dataclass(frozen=True, kw_only=True)
class Outlook(Shown):
    """The result of a dry run."""

    settings: Settings
    runs: tuple[Planned, ...]
    points: tuple[PointOutlook, ...]
    findings: tuple[Finding, ...]

    @property
    def wall(self) -> Span | None:
        return _sum([each.wall for each in self.points])

    @property
    def cost(self) -> Span | None:
        price = self.settings.usd_per_worker_hour
        if price is None or self.wall is None:
            return None
        parts = [(each.point.k, each.wall) for each in self.points if each.wall is not None]
        low = sum(price_of(price, workers=k, seconds=wall.low).amount for k, wall in parts)
        return Span(low, sum(price_of(price, workers=k, seconds=wall.high).amount for k, wall in parts))

    def records(self) -> list[dict[str, Any]]:
        return [
            {"order": i, "role": run.point.role, "k": run.point.k, "repeat": run.repeat, "warmup": run.is_warmup}
            for i, run in enumerate(self.runs)
        ]

    def to_dict(self) -> dict[str, Any]:
        wall, cost = self.wall, self.cost
        return {
            "seed": self.settings.seed,
            "runs": self.records(),
            "points": [_point_dict(each) for each in self.points],
            "wall_seconds": None if wall is None else {"low": wall.low, "high": wall.high},
            "cost_usd": None if cost is None else {"low": cost.low, "high": cost.high},
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def document(self) -> Document:
        order = " ".join(_short(run) for run in self.runs[:SHOWN_RUNS])
        more = f" ... and {len(self.runs) - SHOWN_RUNS} more" if len(self.runs) > SHOWN_RUNS else ""
        rows = [_row(each, self.settings) for each in self.points]
        columns = ("point", "launches", "wall time", "spread of T", "launches needed")
        return Document(
            f"{_launches_text(self)}, nothing was started",
            (
                Paragraph(f"order (seed {self.settings.seed}; w: warm-up): {order}{more}"),
                table(columns, rows),
                Paragraph(_totals(self)),
                FindingList(self.findings),
            ),
        )


def look_ahead(settings: Settings, done: Mapping[Planned, Run]) -> Outlook:
    """The runs still to be made, with bounds from what was measured or expected."""
    runs = tuple(runs_to_make(settings, done))
    walls = _known_walls(settings, done)
    times = times_by_point(done.items())
    points = tuple(_look_at(point, settings, runs, walls, times.get(point, [])) for point in points_of(settings))
    found = (*_findings(settings, walls, times), *_beyond_the_limit(settings, points))
    return Outlook(settings=settings, runs=runs, points=points, findings=found)


def _look_at(
    point: Point, settings: Settings, runs: Sequence[Planned], walls: Mapping[int, float], times: Sequence[float]
) -> PointOutlook:
    each = _bounds(point.k, settings, walls)
    known = spread_of(times) if len(times) >= 3 else settings.expected_cv
    cv = known if known is not None else ASSUMED_CV
    needed = repeats_needed(cv, settings.precision, settings.level) if settings.precision else None
    scheduled = [run for run in runs if run.point == point]
    launches = len(scheduled) if needed is None else _launches(scheduled, settings, needed, len(times))
    return PointOutlook(
        point=point,
        launches=launches,
        wall=None if each is None else Span(launches * each.low, launches * each.high),
        cv=cv,
        cv_is_assumed=len(times) < 3,
        needed=needed,
    )


def _launches(scheduled: Sequence[Planned], settings: Settings, needed: int, made: int) -> int:
    """Warm-ups, and the repeats until the precision is met or the limit reached; the asked repeats in any case."""
    last = min(max(needed, settings.repeats), settings.most_repeats)
    return sum(run.is_warmup for run in scheduled) + max(0, last - made)


def _beyond_the_limit(settings: Settings, points: Sequence[PointOutlook]) -> list[Finding]:
    most = settings.most_repeats
    short = [each for each in points if each.needed is not None and each.needed > most]
    if not short or settings.precision is None:
        return []
    needed = max(each.needed for each in short if each.needed is not None)
    where = ", ".join(_point_name(each.point) for each in short)
    text = (
        f"a precision of {settings.precision:.1%} will not be met: up to {needed} launches are needed and at most "
        f"{most} are made ({where})"
    )
    hint = f"--max-repeats {needed}, a wider --precision, or a quieter machine"
    return [warning("precision-out-of-reach", text, remedy=hint, needed=needed, most_repeats=most)]


def _point_name(point: Point) -> str:
    return f"K = {point.k}" if point.role == SCALING else f"baseline {point.role}"


def _known_walls(settings: Settings, done: Mapping[Planned, Run]) -> dict[int, float]:
    """Wall time of a launch by K: as measured, or T(1) as the user expects it."""
    by_k: dict[int, list[float]] = {}
    for planned, run in done.items():
        if run.wall_seconds is not None and run.value is not None:
            by_k.setdefault(planned.point.k, []).append(run.wall_seconds)
    means = {k: sum(walls) / len(walls) for k, walls in by_k.items()}
    if not means and settings.expected_seconds is not None:
        return {1: settings.expected_seconds}
    return means


def _bounds(k: int, settings: Settings, walls: Mapping[int, float]) -> Span | None:
    """Between perfect scaling and none, from the nearest smaller K that is known (or the smallest)."""
    if k in walls:
        return Span(walls[k], walls[k])
    if not walls:
        return None
    near = max((known for known in walls if known < k), default=min(walls))
    perfect = walls[near] * near / k if settings.regime is Regime.STRONG else walls[near]
    none = walls[near] if settings.regime is Regime.STRONG else walls[near] * k / near
    return Span(min(perfect, none), max(perfect, none))


def _findings(settings: Settings, walls: Mapping[int, float], times: Mapping[Point, Sequence[float]]) -> list[Finding]:
    found = []
    if not walls:
        hint = "--expected-seconds T, or measure a little first and --resume"
        found.append(info("wall-unknown", "how long a launch takes is not known, so no wall time or cost", remedy=hint))
    elif not any(len(values) for values in times.values()):
        found.append(info("wall-bounds", "wall times lie between perfect scaling and none at all"))
    if settings.precision and settings.expected_cv is None and not times:
        message = f"a run-to-run spread of {ASSUMED_CV:.0%} is assumed for the launches needed"
        found.append(info("spread-assumed", message, remedy="`scalecurve doctor` measures the noise of this machine"))
    return found


def _sum(spans: Sequence[Span | None]) -> Span | None:
    known = [span for span in spans if span is not None]
    if len(known) != len(spans):
        return None
    return Span(sum(span.low for span in known), sum(span.high for span in known))


def _short(run: Planned) -> str:
    name = str(run.point.k) if run.point.role == SCALING else run.point.role
    return f"{name}w" if run.is_warmup else name


def _row(each: PointOutlook, settings: Settings) -> list[str | None]:
    spread = f"{each.cv:.1%}{' assumed' if each.cv_is_assumed and settings.expected_cv is None else ''}"
    needed = None if each.needed is None else str(each.needed)
    return [_point_name(each.point), str(each.launches), _span_text(each.wall), spread, needed]


def _span_text(span: Span | None) -> str | None:
    if span is None:
        return None
    low, high = format_seconds(span.low), format_seconds(span.high)
    return low if low == high else f"{low} to {high}"


def _launches_text(outlook: Outlook) -> str:
    """The launches that are certain, and how many a precision makes of them."""
    expected = sum(each.launches for each in outlook.points)
    certain = f"{len(outlook.runs)} launches"
    return certain if expected == len(outlook.runs) else f"{certain} scheduled, {expected} expected"


def _totals(outlook: Outlook) -> str:
    text = f"wall time: {_span_text(outlook.wall) or 'unknown'}"
    if outlook.cost is not None:
        text += f"; cost: {outlook.cost.low:.2f} to {outlook.cost.high:.2f} USD"
    if outlook.settings.precision:
        text += f"; asked: T within {outlook.settings.precision:.1%} at {outlook.settings.level:.0%}"
    return text


def _point_dict(each: PointOutlook) -> dict[str, Any]:
    wall = None if each.wall is None else {"low": each.wall.low, "high": each.wall.high}
    return {
        "role": each.point.role,
        "k": each.point.k,
        "launches": each.launches,
        "wall_seconds": wall,
        "spread": each.cv,
        "spread_assumed": each.cv_is_assumed,
        "launches_needed": each.needed,
    }
