"""`forecast_grid`: T and E at sizes and worker counts that were not measured, from a fitted T(N, K)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from scalecurve.document import Answer, Document, FindingList, JsonRecord, Result, table
from scalecurve.errors import Fault, InputError
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, info, warning
from scalecurve.fitting.nodes import NODES_ENOUGH, across_nodes
from scalecurve.fitting.surface import (
    AVERAGED,
    DRAWS,
    FEWEST_LEVELS,
    FEWEST_POINTS,
    SEED,
    Array,
    SizeCurve,
    Surface,
    SurfacePoints,
    fit_surface,
    normal_width,
    size_curves,
    surface_points,
)
from scalecurve.formats.loading import SetLike, as_study_set
from scalecurve.study import Quantity, Regime
from scalecurve.units import (
    WorkersLike,
    as_workers,
    format_count,
    format_rate,
    format_seconds,
    format_seconds_range,
    level_faults,
)
from scalecurve.words import unit_words, workers_text

Ends = list[tuple[float, float, float]]
GREY, FARTHEST = 4.0, 16.0  # times the measured range, as in `forecast`


@dataclass(frozen=True, kw_only=True)
class GridForecastRow(JsonRecord):
    """T at (size, k) with its interval; None where the point is too far away.  `beyond` is the factor outside."""

    size: float
    k: int
    time: Estimate | None
    efficiency: Estimate | None
    beyond: float

    JSON = "size k time* efficiency* beyond"

    @property
    def grey(self) -> bool:
        """Whether it lies more than 4 times outside the measured sizes or K."""
        return self.beyond > GREY


@dataclass(frozen=True, kw_only=True, repr=False)
class GridForecast(Result):
    """T and E at sizes and worker counts that were not measured."""

    name: str
    level: float
    k_unit: str
    quantity: Quantity
    rows: tuple[GridForecastRow, ...]
    findings: tuple[Finding, ...]
    surface: Surface

    JSON = "name level rows findings"

    @property
    def answer(self) -> Answer:
        row = next((row for row in reversed(self.rows) if row.time is not None), None)
        if row is None or row.time is None:
            return Answer(decision="No size and K asked for is near enough to the measured ones to forecast.")
        shown, between = _time_words(self.quantity)
        e = f", efficiency {row.efficiency.value:.0%}" if row.efficiency else ""
        decision = (
            f"At size {format_count(row.size)} on {workers_text(row.k, self.k_unit)} T is {shown(row.time.value)}{e}."
        )
        sure = f"T lies within {between(row.time.low or 0.0, row.time.high or 0.0)} at {self.level:.0%}."
        return Answer(decision=decision, confidence=sure, next=None if not row.grey else "measure nearer to this point")

    def __getitem__(self, place: int) -> GridForecastRow:
        return self.rows[place]

    def __len__(self) -> int:
        return len(self.rows)

    def curves(self) -> tuple[SizeCurve, ...]:
        """T over K at the sizes asked for, to draw."""
        sizes = list(dict.fromkeys(row.size for row in self.rows))
        return size_curves(self.surface, sizes, float(max(row.k for row in self.rows)))

    def body(self) -> Document:
        in_time, between = _time_words(self.quantity)
        cells: list[list[str | None]] = []
        for row in self.rows:
            texts: list[str | None] = []
            shares = ("{:.3f}".format, "{:.3f}..{:.3f}".format)
            for own, (shown, ends_shown) in ((row.time, (in_time, between)), (row.efficiency, shares)):
                ends = None if own is None else ends_shown(own.low or 0.0, own.high or 0.0)
                texts += [None if own is None else shown(own.value), ends]
            note = "refused" if row.time is None else "grey" if row.grey else ""
            cells.append([format_count(row.size), str(row.k), *texts, note])
        what = "T" if self.quantity is Quantity.SECONDS else "T (of one unit of work)"
        head = ["size", f"K ({unit_words(self.k_unit)})", what, "interval", "E", "interval", ""]
        caption = f"Intervals at {self.level:.0%}, {AVERAGED}"
        return Document(f"Forecast of {self.name}", (table(head, cells, caption=caption), FindingList(self.findings)))


def _time_words(quantity: Quantity) -> tuple[Callable[[float], str], Callable[[float, float], str]]:
    """How T and its interval are written: in a unit of time, or as a plain number."""
    if quantity is Quantity.SECONDS:
        return format_seconds, format_seconds_range
    return format_rate, "{:.4g}..{:.4g}".format


def forecast_grid(
    studies: SetLike,
    *,
    size: float | Sequence[float],
    at: WorkersLike | None = None,
    regime: str | None = None,
    level: float = 0.9,
    extrapolate: bool = False,
    node_size: int | None = None,
) -> GridForecast:
    """T and E at each size and each K of `at` (default: the largest measured), with intervals at `level`.

    Parameters
    ----------
    studies
        A StudySet, a table with columns of K, size and time, or {size: {K: times}}.
    size
        One size or some.
    at
        The K (default: the largest measured).
    regime
        "strong" or "weak", for curves that do not state it.
    level
        The level of intervals.
    extrapolate
        Whether rows beyond 16 times the measured range are given too; beyond 4 times a row is grey.
    node_size
        Workers of a node, over that of the studies: K beyond it have a term of whole nodes.

    Returns
    -------
    GridForecast
        A row for each size and K.

    Raises
    ------
    InputError
        The curves cannot be read, or a size or K is wrong.

    Examples
    --------
    >>> import scalecurve as sc
    >>> grid = {n: {k: n * (0.02 + 0.98 / k) + 2 for k in (1, 2, 4, 8)} for n in (100, 200, 400)}
    >>> [(row.size, row.k) for row in sc.forecast_grid(grid, size=300, at=[8], regime="strong").rows]
    [(300.0, 8)]
    """
    curves = as_study_set(studies, regime=regime)
    points = surface_points(curves)
    sizes = _checked_sizes(size, level, node_size)
    workers = as_workers(at) if at is not None else (int(points.k.max()),)
    known = {one.node_size for _, one in curves.items() if one.node_size}
    node = node_size or (known.pop() if len(known) == 1 else None)
    pairs = [(own, k) for own in sizes for k in workers]
    size_at, k_at = np.array(pairs, dtype=np.float64).T
    grown = size_at * k_at if curves.regime is Regime.WEAK else size_at
    surface, times, shares, remarks = _predicted(
        points, node, grown, k_at, level, strong=curves.regime is Regime.STRONG
    )
    ratios = [
        np.maximum(there / own.max(), own.min() / there) for there, own in ((grown, points.size), (k_at, points.k))
    ]
    rows = []
    for (own, k), beyond, *estimates in zip(pairs, np.maximum(*ratios).tolist(), times, shares, strict=True):
        refused = beyond > FARTHEST and not extrapolate
        time, share = (None if refused else Estimate(*ends, level, AVERAGED) for ends in estimates)
        rows.append(GridForecastRow(size=own, k=k, time=time, efficiency=share, beyond=beyond))
    return GridForecast(
        name=curves.name,
        level=level,
        k_unit=curves.k_unit,
        quantity=curves.quantity,
        rows=tuple(rows),
        findings=(*curves.findings, *remarks, *_forecast_findings(rows)),
        surface=surface,
    )


def _checked_sizes(size: float | Sequence[float], level: float, node_size: int | None) -> list[float]:
    """The sizes asked for; an InputError with all that is wrong with them, the level and the node."""
    sizes = [float(own) for own in ([size] if isinstance(size, float | int) else size)]
    wrong = [f"{own:g}" for own in sizes if not 0 < own < math.inf]
    faults = [
        *level_faults(level),
        *(Fault("a size is not a positive number", where="size", value=own) for own in wrong),
    ]
    if node_size is not None and node_size < 1:
        faults.append(Fault("a node holds at least one worker", where="node_size", value=str(node_size)))
    if faults:
        raise InputError(faults, subject="forecast")
    return sizes


def _predicted(
    points: SurfacePoints, node: int | None, size: Array, k: Array, level: float, *, strong: bool
) -> tuple[Surface, Ends, Ends, tuple[Finding, ...]]:
    """The surface that is extrapolated; rows (middle, low, high) of T and of E at each (size, k); and what to say of
    the node."""
    fitted, remarks = _beyond_the_node(points, node)
    surface = fit_surface(fitted)
    logs = surface.quantiles(size, k, level)
    ends = efficiency_quantiles(surface, surface if fitted is points else fit_surface(points), size, k, level).T
    if node is not None and fitted is points and strong:
        moved = _with_nodes(surface, node, size, k, logs, level)
        ends = ends * np.exp((logs - moved)[:, [0, 2, 1]])
        logs = moved
    elif node is not None and fitted is points:
        remarks = (warning("node-size-not-used", "under weak scaling the node size does not change T(N, K)"),)
    slack = normal_width(level) * (points.noise or 0.0) / math.sqrt(float(points.runs.mean()))
    return surface, _three(np.exp(logs + np.array([0.0, -slack, slack]))), _three(ends), remarks


def _three(rows: Array) -> list[tuple[float, float, float]]:
    """Rows of middle, low and high as numbers."""
    return [(float(middle), float(low), float(high)) for middle, low, high in rows]


def _beyond_the_node(points: SurfacePoints, node: int | None) -> tuple[SurfacePoints, tuple[Finding, ...]]:
    """The points from one full node on where they are enough for T(N, K), and a finding that says so; else all."""
    beyond = points.k >= (node or math.inf)
    enough = beyond.sum() >= FEWEST_POINTS and len(set(points.size[beyond])) >= FEWEST_LEVELS
    if not enough or beyond.all() or len(set(points.k[beyond])) < NODES_ENOUGH:
        return points, ()
    message = f"only K from one full node ({node} workers) on are extrapolated"
    return points.part(beyond), (info("inside-node-left-out", message, node_size=node),)


def _with_nodes(surface: Surface, node: int, size: Array, k: Array, logs: Array, level: float) -> Array:
    """Rows (middle, low, high) of log T with the term of whole nodes, at each (size, k) beyond the node.

    How full the node is and what more nodes gave is read along K at the measured size nearest to the one asked for.
    """
    points, rows = surface.points, logs.copy()
    for own in np.unique(size):
        mine = size == own
        sizes = [one for one in np.unique(points.size) if (points.size == one).sum() >= 2]
        nearest = min(sizes, key=lambda one: abs(math.log(one / own)), default=None)
        if nearest is None:
            continue
        along = points.size == nearest
        edge = max(float(node), float(points.k[along].max()))
        middle, least, most = surface.quantiles(np.array([own]), np.array([edge]), level)[0]
        ahead = -logs[mine]
        across = across_nodes(points.k[along], -points.log_time[along], node, k[mine], ahead[:, 0], np.array(-middle))
        low, high = across.around(ahead[:, 2], ahead[:, 1], level)
        held = np.isfinite(across.low)
        low, high = np.where(held, low - (most - middle), low), np.where(held, high + (middle - least), high)
        rows[mine] = -np.column_stack([ahead[:, 0] + across.moved, high, low])
    return rows


def efficiency_quantiles(surface: Surface, whole: Surface, size: Array, k: Array, level: float) -> Array:
    """Rows (middle, low, high) of E at each (size, k), relative to the smallest K of the `whole` at the same size."""
    base = np.full(len(k), whole.points.k.min())
    if surface is whole:
        at_base, at_k = np.split(surface.draws(np.r_[size, size], np.r_[base, k], DRAWS, _rng()), 2, axis=1)
    else:
        at_base = whole.draws(size, base, DRAWS, _rng()) + _misfit(whole, size)
        at_k = surface.draws(size, k, DRAWS, _rng())
    shares = np.exp(at_base - at_k) * base / k
    ends: Array = np.quantile(shares, [0.5, (1 - level) / 2, (1 + level) / 2], axis=0)
    return ends


def _misfit(whole: Surface, size: Array) -> Array:
    """How much log T at the smallest K lies above the surface, interpolated over size."""
    first = whole.points.part(whole.points.k == whole.points.k.min())
    order = np.argsort(first.size)
    above = first.log_time - whole.quantiles(first.size, first.k, 0.5)[:, 0]
    misfit: Array = np.interp(np.log(size), np.log(first.size[order]), above[order])
    return misfit


def _rng() -> np.random.Generator:
    return np.random.default_rng(SEED)


def _forecast_findings(rows: Sequence[GridForecastRow]) -> Iterator[Finding]:
    refused = [row for row in rows if row.time is None]
    if refused:
        text = ", ".join(f"({format_count(row.size)}, {row.k})" for row in refused[:5])
        message = f"(N, K) = {text}: more than {FARTHEST:g} times outside the measured sizes or K"
        yield warning("too-far", message, remedy="measure nearer, or ask with --extrapolate")
    grey = [row for row in rows if row.time is not None and row.grey]
    if grey:
        message = (
            f"{len(grey)} rows lie more than {GREY:g} times outside the measured range: their intervals are not checked"
        )
        yield info("grey", message, remedy="measure nearer to them")
