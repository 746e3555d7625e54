"""`fit_grid` and `forecast_grid`: T over problem size and workers, the measured isoefficiency curve, and predictions.

Isoefficiency: the N that holds an efficiency E at each K, where E(N, K) = K0 T(N, K0) / (K T(N, K)) and K0 is the
smallest measured K.  Its band comes from surfaces that the data could have come from.  Beside it stand two textbook
answers, anchored at its first point: overhead that grows as log K asks for N ~ K log K, as K for N ~ K^2
(Grama, Gupta, Kumar 1993; `laws.communication`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from scalecurve.document import Block, Column, Document, FindingList, Heading, JsonRecord, Paragraph, Result, table
from scalecurve.errors import Fault, InputError
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, info, warning
from scalecurve.fitting.surface import FEWEST_POINTS, Array, Surface, SurfacePoints, fit_surface, surface_points
from scalecurve.formats.loading import SetLike, as_study_set
from scalecurve.laws.communication import GROWTHS
from scalecurve.study import Quantity, Regime, StudySet
from scalecurve.study.study import PLACEMENT
from scalecurve.units import WorkersLike, as_workers, format_count, format_seconds, level_faults

HOLD = (0.7,)
GREY, FARTHEST = 4.0, 16.0  # times the measured range, as in `forecast`
DRAWS, SEED = 300, 15
GRID_STEPS, GRID_BEYOND = 160, 64.0  # sizes tried for isoefficiency, and how far beyond the measured ones
SHOWN_MODELS = 5
AVERAGED = "quantiles over the models that predict left-out points"
LINEARISED = "linearised least squares of the best model"


@dataclass(frozen=True, kw_only=True)
class GridTerm(JsonRecord):
    """One term of the best model and its coefficient, in seconds (or seconds per unit of work, for rates)."""

    text: str
    coefficient: Estimate

    JSON = "term=text **coefficient"


@dataclass(frozen=True, kw_only=True)
class IsoRow(JsonRecord):
    """The size that holds E = `hold` at `k`; `size` is None where no size tried holds it, `theory` by overhead."""

    hold: float
    k: int
    size: Estimate | None
    theory: dict[str, float]
    measured: bool


@dataclass(frozen=True, kw_only=True)
class GridBacktest:
    """The largest size and the largest K predicted from all others; `inside` counts those within the interval."""

    count: int
    inside: int
    median_error: float


@dataclass(frozen=True, kw_only=True)
class SizeCurve:
    """T over K at one size, to draw: the model with its 90 % interval, and the measured means."""

    label: str
    k: tuple[float, ...]
    time: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    measured_k: tuple[float, ...]
    measured: tuple[float, ...]


def size_curves(surface: Surface, sizes: Sequence[float], last_k: float) -> tuple[SizeCurve, ...]:
    """The surface cut at each size, from the smallest measured K to `last_k`."""
    points, curves = surface.points, []
    k = np.geomspace(points.k.min(), max(last_k, 2 * points.k.min()), 24)
    for size in sizes:
        middle, low, high = np.exp(surface.quantiles(np.full(len(k), size), k, 0.9)).T
        mine = points.size == size
        columns = (k, middle, low, high, points.k[mine], np.exp(points.log_time[mine]))
        names = ("k", "time", "low", "high", "measured_k", "measured")
        own = {name: tuple(column.tolist()) for name, column in zip(names, columns, strict=True)}
        curves.append(SizeCurve(label=format_count(size), **own))
    return tuple(curves)


@dataclass(frozen=True, kw_only=True, repr=False)
class GridFit(Result):
    """T(N, K) of a set of curves.  `growth` is d ln N / d ln K along the isoefficiency curve, by the E held."""

    name: str
    level: float
    quantity: Quantity
    k_unit: str
    terms: tuple[GridTerm, ...]
    weight: float
    rivals: tuple[tuple[str, float], ...]
    misfit: float
    rows: tuple[dict[str, float], ...]
    isoefficiency: tuple[IsoRow, ...]
    growth: dict[float, Estimate]
    backtest: GridBacktest | None
    findings: tuple[Finding, ...]
    surface: Surface

    def __repr__(self) -> str:
        return f"<GridFit of {self.name}: {self.formula}, {len(self.rows)} points>"

    @property
    def formula(self) -> str:
        """The best model with its coefficients."""
        return "T = " + " + ".join(
            f"{term.coefficient.value:.4g}" + ("" if term.text == "1" else f" {term.text}") for term in self.terms
        )

    def curves(self) -> tuple[SizeCurve, ...]:
        """T over K at up to seven of the measured sizes, to draw."""
        points = self.surface.points
        sizes = np.unique(points.size)
        chosen = sizes[np.unique(np.linspace(0, len(sizes) - 1, min(len(sizes), 7)).round().astype(int))]
        return size_curves(self.surface, chosen.tolist(), 2 * float(points.k.max()))

    def records(self) -> list[dict[str, Any]]:
        return [dict(row) for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "level": self.level,
            "formula": self.formula,
            "terms": [term.to_dict() for term in self.terms],
            "weight": self.weight,
            "rivals": [{"formula": text, "weight": weight} for text, weight in self.rivals],
            "misfit": self.misfit,
            "points": self.records(),
            "isoefficiency": [row.to_dict() for row in self.isoefficiency],
            "growth": [{"hold": hold, **own.to_dict()} for hold, own in self.growth.items()],
            "backtest": None if self.backtest is None else asdict(self.backtest),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def document(self) -> Document:
        share = f"It has {self.weight:.0%} of the weight; predictions use all models, by how well they predict."
        blocks: list[Block] = [Paragraph(f"{self.formula}  (N: size, K: {self.k_unit}). {share}")]
        rows = [
            [term.text, f"{term.coefficient.value:.4g}", *(None if end is None else f"{end:.4g}" for end in ends)]
            for term in self.terms
            for ends in [(term.coefficient.low, term.coefficient.high)]
        ]
        head = [Column("term", "left"), Column("coefficient"), Column("low"), Column("high")]
        blocks.append(table(head, rows, caption=f"Best model, misfit {self.misfit:.1%}; intervals at {self.level:.0%}"))
        others = [[text, f"{weight:.0%}"] for text, weight in self.rivals]
        if others:
            blocks.append(
                table([Column("rival", "left"), Column("weight")], others, caption="Models that explain it too")
            )
        if self.backtest is not None:
            text = (
                f"Largest size and largest K left out: {self.backtest.inside} of {self.backtest.count} points in their "
                f"90% interval, median error {self.backtest.median_error:.1%}."
            )
            blocks.append(Paragraph(text))
        for hold in dict.fromkeys(row.hold for row in self.isoefficiency):
            blocks += self._isoefficiency_blocks(hold)
        return Document(f"T(N, K) of {self.name}", (*blocks, FindingList(self.findings)))

    def _isoefficiency_blocks(self, hold: float) -> list[Block]:
        own = [row for row in self.isoefficiency if row.hold == hold]
        head = [f"K ({self.k_unit})", "N", "low", "high", *(f"N ~ {name}" for name in THEORIES), ""]
        cells: list[list[str | None]] = []
        for row in own:
            ends = (None, None, None) if row.size is None else (row.size.value, row.size.low, row.size.high)
            numbers = [None if end is None else format_count(end) for end in ends]
            theory = [format_count(row.theory[name]) if name in row.theory else None for name in THEORIES]
            cells.append([str(row.k), *numbers, *theory, "" if row.measured else "extrapolated"])
        caption = f"Isoefficiency: the size that holds E = {hold:g}; bands at {self.level:.0%}"
        blocks: list[Block] = [Heading(f"Isoefficiency at E = {hold:g}"), table(head, cells, caption=caption)]
        growth = self.growth.get(hold)
        if growth is not None:
            blocks.append(
                Paragraph(f"N must grow as K^{growth.value:.2f} ({growth.low:.2f} to {growth.high:.2f}) to hold E.")
            )
        return blocks


THEORIES = {"K log K": "log", "K^2": "linear"}
"""Textbook isoefficiency functions by the growth of the overhead of one worker (`laws.communication`)."""


def fit_grid(
    studies: SetLike,
    *,
    regime: str | None = None,
    level: float = 0.95,
    hold: float | Sequence[float] = HOLD,
) -> GridFit:
    """T(N, K) of curves that differ in problem size, with intervals at `level`, and the N that holds each E of `hold`.

    `studies` is a StudySet, a table with columns of K, size and time, or {size: {K: times}}.
    """
    curves = _sized(as_study_set(studies, regime=regime))
    holds = tuple(sorted({float(own) for own in ((hold,) if isinstance(hold, float | int) else hold)}))
    faults = level_faults(level)
    faults += [
        Fault("an efficiency lies between 0 and 1", where="hold", value=f"{own:g}", remedy="0.7 or 70%")
        for own in holds
        if not 0 < own < 1
    ]
    if faults:
        raise InputError(faults, subject="fit")
    points = surface_points(curves)
    surface = fit_surface(points)
    terms, coefficients, covariance, weight = surface.best
    half = _normal(level) * np.sqrt(np.diag(covariance))
    estimates = [
        GridTerm(
            text=surface.library.text(int(term)),
            coefficient=Estimate(value, max(value - width, 0.0), value + width, level, LINEARISED),
        )
        for term, value, width in zip(terms, coefficients.tolist(), half.tolist(), strict=True)
    ]
    estimates.sort(key=lambda own: own.text == "1")
    fitted = surface.library.design(points.size, points.k, terms) @ coefficients
    residuals = points.log_time - np.log(fitted)
    columns = zip(points.size, points.k, np.exp(points.log_time), fitted, residuals, strict=True)
    names = ("size", "k", "time", "fitted", "residual")
    iso, growth = isoefficiency(surface, holds, level)
    back = _backtest(points)
    return GridFit(
        name=curves.name,
        level=level,
        quantity=curves.quantity,
        k_unit=curves.k_unit,
        terms=tuple(estimates),
        weight=weight,
        rivals=_rivals(surface),
        misfit=float(np.sqrt(np.mean(residuals**2))),
        rows=tuple(dict(zip(names, map(float, row), strict=True)) for row in columns),
        isoefficiency=iso,
        growth=growth,
        backtest=back,
        findings=(*curves.findings, *_fit_findings(curves, points, residuals, weight, back, iso)),
        surface=surface,
    )


def _sized(studies: StudySet) -> StudySet:
    """The set, if its curves have sizes and differ in nothing else but the split of cores; else an InputError."""
    names = dict.fromkeys(axis for cells in studies.axes.values() for axis in cells)
    if not studies.sizes:
        remedy = "give a table with a column `size` of numbers beside K and time, or measure with --axis-size"
        fault = Fault("the curves have no problem size", value=f"axes: {', '.join(names) or 'none'}", remedy=remedy)
        raise InputError(fault, subject=studies.name)
    levels = {axis: list(dict.fromkeys(cells.get(axis, "") for cells in studies.axes.values())) for axis in names}
    others = [axis for axis, own in levels.items() if axis not in (*PLACEMENT, studies.size_axis) and len(own) > 1]
    if others:
        value = "; ".join(f"{axis}: {', '.join(levels[axis][:4])}" for axis in others)
        remedy = "keep one of them in the table: one T(N, K) has one program and one machine"
        raise InputError(
            Fault("the curves differ in more than their size", value=value, remedy=remedy), subject=studies.name
        )
    return studies


def _normal(level: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(0.5 + level / 2))


def _rivals(surface: Surface) -> tuple[tuple[str, float], ...]:
    """The next models by weight, as texts."""
    every = [
        (float(weight), " + ".join(surface.library.text(int(term)) for term in terms))
        for own in surface.models
        for weight, terms in zip(own.weight, own.terms, strict=True)
    ]
    ranked = sorted(every, reverse=True)[1 : 1 + SHOWN_MODELS]
    return tuple((text, weight) for weight, text in ranked if weight >= 0.01)


def _backtest(points: SurfacePoints) -> GridBacktest | None:
    """The outer edge predicted from the rest; None where too few points remain."""
    inner = (points.size < points.size.max()) & (points.k < points.k.max())
    if inner.sum() < FEWEST_POINTS or min(len(set(own[inner])) for own in (points.size, points.k)) < 2:
        return None
    rest = SurfacePoints(
        points.size[inner], points.k[inner], points.log_time[inner], points.runs[inner], points.noise, points.freedom
    )
    rows = fit_surface(rest).quantiles(points.size[~inner], points.k[~inner], 0.9)
    slack = _normal(0.9) * (points.noise or 0.0) / np.sqrt(points.runs[~inner])
    measured = points.log_time[~inner]
    inside = (rows[:, 1] - slack <= measured) & (measured <= rows[:, 2] + slack)
    error = float(np.expm1(np.median(np.abs(rows[:, 0] - measured))))
    return GridBacktest(count=int((~inner).sum()), inside=int(inside.sum()), median_error=error)


def isoefficiency(
    surface: Surface, holds: Sequence[float], level: float
) -> tuple[tuple[IsoRow, ...], dict[float, Estimate]]:
    """The sizes that hold each E at the measured K and at 2 and 4 times the largest, and how fast they grow with K."""
    points = surface.points
    measured = [int(k) for k in np.unique(points.k)]
    base, largest = measured[0], measured[-1]
    workers = [k for k in (*measured, 2 * largest, 4 * largest) if k > base]
    sizes = np.geomspace(points.size.min() / GRID_BEYOND, points.size.max() * GRID_BEYOND, GRID_STEPS)
    if points.size.min() >= 2:
        sizes = sizes[sizes >= 2]
    every_k = np.array([base, *workers], dtype=np.float64)
    draws = surface.draws(
        np.tile(sizes, len(every_k)), np.repeat(every_k, len(sizes)), DRAWS, np.random.default_rng(SEED)
    ).reshape(DRAWS, len(every_k), len(sizes))
    cost = draws + np.log(every_k)[None, :, None]
    efficiency = np.exp(cost[:, :1] - cost[:, 1:])
    rows: list[IsoRow] = []
    growth: dict[float, Estimate] = {}
    for hold in holds:
        held = _first_size(efficiency, sizes, hold)
        low, middle, high = np.quantile(held, [(1 - level) / 2, 0.5, (1 + level) / 2], axis=0, method="nearest")
        anchor: tuple[int, float] | None = None
        for i, k in enumerate(workers):
            size = None
            if math.isfinite(middle[i]):
                least, most = (float(np.exp(own[i])) if math.isfinite(own[i]) else None for own in (low, high))
                size = Estimate(float(np.exp(middle[i])), least, most, level, AVERAGED)
                anchor = anchor or ((k, size.value) if k >= 2 else None)
            theory = {}
            if anchor is not None:
                ratio = {
                    name: k * GROWTHS[kind](k) / (anchor[0] * GROWTHS[kind](anchor[0]))
                    for name, kind in THEORIES.items()
                }
                theory = {name: anchor[1] * own for name, own in ratio.items()}
            rows.append(IsoRow(hold=hold, k=k, size=size, theory=theory, measured=k <= largest))
        slopes = [
            float(np.polyfit(np.log(np.array(workers, dtype=float)[ok]), own[ok], 1)[0])
            for own in held
            if (ok := np.isfinite(own)).sum() >= 2
        ]
        if len(slopes) >= DRAWS * level:
            low_end, value, high_end = np.quantile(slopes, [(1 - level) / 2, 0.5, (1 + level) / 2]).tolist()
            growth[hold] = Estimate(value, low_end, high_end, level, AVERAGED)
    return tuple(rows), growth


def _first_size(efficiency: Array, sizes: Array, hold: float) -> Array:
    """Log of the smallest size from which E is at least `hold`, by draw and K; -inf or inf where it is out of range."""
    above = efficiency >= hold
    place = np.argmax(above, axis=2)
    logs, before = np.log(sizes), np.maximum(place - 1, 0)
    rows, columns = np.indices(place.shape)
    here, there = efficiency[rows, columns, place], efficiency[rows, columns, before]
    share = np.clip((hold - there) / np.where(here > there, here - there, 1.0), 0.0, 1.0)
    between = logs[before] + share * (logs[place] - logs[before])
    return np.where(above.any(axis=2), np.where(place == 0, -np.inf, between), np.inf)


def _fit_findings(
    studies: StudySet,
    points: SurfacePoints,
    residuals: Array,
    weight: float,
    backtest: GridBacktest | None,
    iso: Sequence[IsoRow],
) -> Iterator[Finding]:
    if any(axis in PLACEMENT for cells in studies.axes.values() for axis in cells):
        message = "several splits of the same cores were measured; T(N, K) is that of the fastest at each point"
        yield info("fastest-split", message, remedy="`table` compares the splits")
    if points.noise is None:
        yield info("lack-of-fit-untested", "without repeats the misfit cannot be compared with the noise")
    else:
        expected = points.noise / float(np.sqrt(points.runs.mean()))
        misfit = float(np.sqrt(np.mean(residuals**2)))
        if misfit > 2.0 * max(expected, 0.002) and len(points) > FEWEST_POINTS:
            message = f"the best model misses the means by {misfit:.1%}, the noise of a mean is {expected:.1%}"
            yield warning("lack-of-fit", message, remedy="do not read its terms as causes; look for a node boundary")
    if weight < 0.5:
        message = f"no model has most of the weight (the best has {weight:.0%}): its terms are not established"
        yield info("models-tie", message, remedy="measure a wider range of sizes and K")
    if backtest is not None and backtest.inside < 0.7 * backtest.count:
        message = (
            f"{backtest.count - backtest.inside} of {backtest.count} points at the edge were not predicted by the rest"
        )
        yield warning("backtest-failed", message, remedy="do not extrapolate; measure nearer to what you ask")
    if studies.regime is Regime.STRONG and any(row.size is None for row in iso):
        lost = next(row for row in iso if row.size is None)
        message = f"no size up to {GRID_BEYOND:g} times the largest is likely to hold E = {lost.hold:g} at K = {lost.k}"
        yield info("not-isoefficient", message, remedy="hold a lower E with --hold")


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

    def __repr__(self) -> str:
        return f"<GridForecast of {self.name}: {len(self.rows)} points>"

    def __getitem__(self, place: int) -> GridForecastRow:
        return self.rows[place]

    def __len__(self) -> int:
        return len(self.rows)

    def curves(self) -> tuple[SizeCurve, ...]:
        """T over K at the sizes asked for, to draw."""
        sizes = list(dict.fromkeys(row.size for row in self.rows))
        return size_curves(self.surface, sizes, float(max(row.k for row in self.rows)))

    def document(self) -> Document:
        seconds = self.quantity is Quantity.SECONDS
        in_time = format_seconds if seconds else "{:.4g}".format
        cells: list[list[str | None]] = []
        for row in self.rows:
            texts: list[str | None] = []
            for own, shown in ((row.time, in_time), (row.efficiency, "{:.3f}".format)):
                ends = None if own is None else f"{shown(own.low or 0.0)}..{shown(own.high or 0.0)}"
                texts += [None if own is None else shown(own.value), ends]
            note = "refused" if row.time is None else "grey" if row.grey else ""
            cells.append([format_count(row.size), str(row.k), *texts, note])
        what = "T" if seconds else "T (of one unit of work)"
        head = ["size", f"K ({self.k_unit})", what, "interval", "E", "interval", ""]
        caption = f"Intervals at {self.level:.0%}, {AVERAGED}"
        return Document(f"Forecast of {self.name}", (table(head, cells, caption=caption), FindingList(self.findings)))


def forecast_grid(
    studies: SetLike,
    *,
    size: float | Sequence[float],
    at: WorkersLike | None = None,
    regime: str | None = None,
    level: float = 0.9,
    extrapolate: bool = False,
) -> GridForecast:
    """T and E at each size and each K of `at` (default: the largest measured), with intervals at `level`.

    Beyond 4 times the measured range a row is grey, beyond 16 times it is refused unless `extrapolate`.
    """
    curves = _sized(as_study_set(studies, regime=regime))
    points = surface_points(curves)
    sizes = [float(own) for own in ([size] if isinstance(size, float | int) else size)]
    workers = as_workers(at) if at is not None else (int(points.k.max()),)
    faults = level_faults(level)
    faults += [
        Fault("a size is not a positive number", where="size", value=f"{own:g}")
        for own in sizes
        if not own > 0 or math.isinf(own)
    ]
    if faults:
        raise InputError(faults, subject="forecast")
    surface = fit_surface(points)
    pairs = np.array([(own, k) for own in sizes for k in workers], dtype=np.float64)
    size_at, k_at = pairs.T
    grown = size_at * k_at if curves.regime is Regime.WEAK else size_at
    ratios = [
        np.maximum(at_own / own.max(), own.min() / at_own) for at_own, own in ((grown, points.size), (k_at, points.k))
    ]
    beyond = np.maximum(*ratios)
    logs = surface.quantiles(grown, k_at, level)
    slack = _normal(level) * (points.noise or 0.0) / math.sqrt(float(points.runs.mean()))
    base = float(points.k.min())
    draws = surface.draws(
        np.r_[grown, grown], np.r_[np.full(len(pairs), base), k_at], DRAWS, np.random.default_rng(SEED)
    )
    shares = np.exp(draws[:, : len(pairs)] - draws[:, len(pairs) :]) * base / k_at
    ends = np.quantile(shares, [0.5, (1 - level) / 2, (1 + level) / 2], axis=0)
    rows = []
    for i, (own, k) in enumerate(pairs.tolist()):
        refused = beyond[i] > FARTHEST and not extrapolate
        share, least, most = ends[:, i].tolist()
        middle, low, high = np.exp(logs[i] + np.array([0.0, -slack, slack])).tolist()
        rows.append(
            GridForecastRow(
                size=own,
                k=int(k),
                time=None if refused else Estimate(middle, low, high, level, AVERAGED),
                efficiency=None if refused else Estimate(share, least, most, level, AVERAGED),
                beyond=float(beyond[i]),
            )
        )
    return GridForecast(
        name=curves.name,
        level=level,
        k_unit=curves.k_unit,
        quantity=curves.quantity,
        rows=tuple(rows),
        findings=(*curves.findings, *_forecast_findings(rows)),
        surface=surface,
    )


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
