"""`fit_grid`: T over problem size and workers, its terms, its rivals, a backtest and the isoefficiency curve."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from scalecurve.document import (
    Answer,
    Block,
    Column,
    Document,
    FindingList,
    Heading,
    JsonRecord,
    Paragraph,
    Result,
    table,
)
from scalecurve.errors import Fault, InputError
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, info, warning
from scalecurve.fitting.isoefficiency import GRID_BEYOND, IsoRow, isoefficiency
from scalecurve.fitting.surface import (
    FEWEST_POINTS,
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
from scalecurve.study import Quantity, Regime, StudySet
from scalecurve.study.study import PLACEMENT
from scalecurve.units import format_count, level_faults
from scalecurve.words import unit_words

HOLD = (0.7,)
SHOWN_MODELS = 5
LINEARISED = "linearised least squares of the best model"


@dataclass(frozen=True, kw_only=True)
class GridTerm(JsonRecord):
    """One term of the best model and its coefficient, in seconds (or seconds per unit of work, for rates)."""

    text: str
    coefficient: Estimate

    JSON = "term=text **coefficient"


@dataclass(frozen=True, kw_only=True)
class GridBacktest:
    """The largest size and the largest K predicted from all others; `inside` counts those within the interval."""

    count: int
    inside: int
    median_error: float


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

    @property
    def answer(self) -> Answer:
        reason = f"{self.formula} explains the {len(self.rows)} points within {self.misfit:.1%}."
        if not self.growth:
            return Answer(decision=reason, next="`scalecurve fit STUDY --hold 0.8` says how the size must grow with K")
        hold, rate = next(iter(self.growth.items()))
        decision = (
            f"To keep an efficiency of {hold:.0%}, twice the {self.k_unit} need {2**rate.value:.3g}x the problem."
        )
        ends = None
        if rate.low is not None and rate.high is not None:
            ends = f"Between {2**rate.low:.3g}x and {2**rate.high:.3g}x at {self.level:.0%}."
        following = f"`scalecurve forecast STUDY --size {max(row['size'] for row in self.rows):.12g}` predicts T there"
        return Answer(decision=decision, confidence=ends, reason=reason, next=following)

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

    def content(self) -> dict[str, Any]:
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

    def body(self) -> Document:
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
                table([Column("rival", "left"), Column("weight")], others, caption="Other models that explain the data")
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
        head = [f"K ({unit_words(self.k_unit)})", "N", "low", "high", ""]
        cells: list[list[str | None]] = []
        for row in own:
            ends = (None, None, None) if row.size is None else (row.size.value, row.size.low, row.size.high)
            sizes = [None if size is None else format_count(size) for size in ends]
            cells.append([str(row.k), *sizes, "" if row.measured else "extrapolated"])
        caption = f"Isoefficiency: the size that holds E = {hold:g}; bands at {self.level:.0%}"
        blocks: list[Block] = [Heading(f"Isoefficiency at E = {hold:g}"), table(head, cells, caption=caption)]
        growth = self.growth.get(hold)
        if growth is not None:
            blocks.append(
                Paragraph(f"N must grow as K^{growth.value:.2f} ({growth.low:.2f} to {growth.high:.2f}) to hold E.")
            )
        return blocks


def fit_grid(
    studies: SetLike,
    *,
    regime: str | None = None,
    level: float = 0.95,
    hold: float | Sequence[float] = HOLD,
) -> GridFit:
    """T(N, K) of curves that differ in problem size, with intervals at `level`, and the N that holds each E of `hold`.

    Parameters
    ----------
    studies
        A StudySet, a table with columns of K, size and time, or {size: {K: times}}.
    regime
        "strong" or "weak", for curves that do not state it.
    level
        The level of intervals.
    hold
        The efficiencies to hold; each gets the size that does.

    Returns
    -------
    GridFit
        The surface with its parameters, and the sizes that hold each efficiency.

    Raises
    ------
    InputError
        The curves cannot be read, or are too few for a surface.

    Examples
    --------
    >>> import scalecurve as sc
    >>> grid = {n: {k: n * (0.02 + 0.98 / k) + 2 for k in (1, 2, 4, 8)} for n in (100, 200, 400)}
    >>> type(sc.fit_grid(grid, regime="strong")).__name__
    'GridFit'
    """
    curves = as_study_set(studies, regime=regime)
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
    half = normal_width(level) * np.sqrt(np.diag(covariance))
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
    rows = fit_surface(points.part(inner)).quantiles(points.size[~inner], points.k[~inner], 0.9)
    slack = normal_width(0.9) * (points.noise or 0.0) / np.sqrt(points.runs[~inner])
    measured = points.log_time[~inner]
    inside = (rows[:, 1] - slack <= measured) & (measured <= rows[:, 2] + slack)
    error = float(np.expm1(np.median(np.abs(rows[:, 0] - measured))))
    return GridBacktest(count=int((~inner).sum()), inside=int(inside.sum()), median_error=error)


def _fit_findings(
    studies: StudySet,
    points: SurfacePoints,
    residuals: Array,
    weight: float,
    backtest: GridBacktest | None,
    iso: Sequence[IsoRow],
) -> Iterator[Finding]:
    if set(PLACEMENT) & set[str]().union(*studies.axes.values()):
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
