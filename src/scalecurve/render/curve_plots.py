"""Pictures of curves over K: studies, forecasts, laws, T(N, K) for every size N; where the time goes, rank by rank."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scalecurve.analysis import SpeedupTable
from scalecurve.analysis.side_by_side import SideBySide
from scalecurve.analysis.table import rule_words
from scalecurve.errors import Fault, InputError
from scalecurve.forecasting.forecast import Forecast
from scalecurve.forecasting.rows import GREY as GREY_BEYOND
from scalecurve.render.plots import (
    BLUE,
    GREY,
    MARKERS,
    NARROW_INCHES,
    ORANGE,
    RED,
    SERIES,
    USUAL,
    Size,
    area,
    lines,
    log_axis,
    name_axes,
    plain_numbers,
    shorten,
    shortened,
    wrapped,
    xy,
)
from scalecurve.study import Quantity, Regime
from scalecurve.study.study import what_scales
from scalecurve.units import format_count
from scalecurve.words import percent, unit_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from scalecurve.diagnosis.phases import PhaseShares, RankStrip
    from scalecurve.fitting.grid_fit import GridFit
    from scalecurve.fitting.grid_forecast import GridForecast
    from scalecurve.laws.tables import LawTable

DASHES = ("-", "--", "-.", ":")
HATCHES = ("", "//", "\\\\", "--", "xx", "||", "++")
MOST_OVERLAID, MOST_PANELS = 2, 12  # curves in one plot; panels of small multiples


def curve(
    figure: Figure,
    tables: Sequence[SpeedupTable],
    forecast: Sequence[dict[str, Any]] = (),
    *,
    panels: Sequence[str] = (),
    title: bool = False,
) -> None:
    """`speedup` against S = K and `efficiency` against 1, with intervals, bends and the band of a forecast.

    Without `panels`, strong scaling is drawn as speedup and weak scaling as efficiency, never the other way round.  All
    panels have the same K.  Of more than two curves each has its own panel, with the others in grey behind it.
    """
    first = tables[0]
    panels = panels or [main_quantity(first)]
    if title:
        names = first.name[:60] if len(tables) == 1 else f"{len(tables)} curves"
        held = f"{what_scales(first.regime, first.k_unit, first.findings)}, baseline K0 = {first.baseline_k}"
        figure.suptitle(wrapped(f"{names}: {held}", figure), x=0.01, ha="left", fontsize="medium")
    if len(tables) > MOST_OVERLAID:
        _multiples(figure, tables, panels[0])
        return
    stacked = figure.get_figwidth() < NARROW_INCHES
    grid = (len(panels), 1) if stacked else (1, len(panels))
    for what, axes in zip(panels, figure.subplots(*grid, squeeze=False).flat, strict=True):
        if len(tables) == 1:
            _alone(axes, first, near(tables, forecast), what)
        else:
            _overlaid(axes, tables, what)
        axes.legend(loc="upper left" if what == "speedup" else "best")


def _alone(axes: Axes, own: SpeedupTable, ahead: Sequence[dict[str, Any]], what: str) -> None:
    """One curve with its forecast and its bend."""
    _ideal(axes, [own], ahead, what)
    _points(axes, own, what, SERIES[0], MARKERS[0], "measured")
    _frame(axes, [own], ahead, what)
    if ahead:
        _forecast_band(axes, own, ahead, what)
    _mark_bend(axes, own, RED, f"{_bend_words(own)}: {rule_words(own)}")


def _overlaid(axes: Axes, tables: Sequence[SpeedupTable], what: str) -> None:
    """Curves in one plot, each with its bend in its colour."""
    _ideal(axes, tables, (), what)
    for place, (name, own) in enumerate(zip(shortened([own.name for own in tables]), tables, strict=True)):
        _points(axes, own, what, SERIES[place], MARKERS[place], f"{name}: {_bend_words(own)}")
    _frame(axes, tables, (), what)
    for colour, own in zip(SERIES, tables, strict=False):
        _mark_bend(axes, own, colour)


def main_quantity(table: SpeedupTable) -> str:
    """`speedup` under strong scaling, else `efficiency`."""
    return "speedup" if table.regime is Regime.STRONG else "efficiency"


def near(tables: Sequence[SpeedupTable], forecast: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a forecast that a plot shows: at most a third of its width, and at least one."""
    rows = tables[0].rows
    farthest = max(2.0, math.sqrt(rows[-1].k / rows[0].k)) * rows[-1].k
    return [row for row in forecast if row["k"] <= farthest and row.get("speedup") is not None]


def _ideal(axes: Axes, tables: Sequence[SpeedupTable], ahead: Sequence[dict[str, Any]], what: str) -> None:
    if what == "speedup":
        ends = _span(tables, ahead)
        axes.plot(ends, ends, color=GREY, linestyle="--", linewidth=1, label="ideal S = K")
    else:
        floor = tables[0].threshold
        axes.axhline(1.0, color=GREY, linestyle="--", linewidth=1, label="ideal E = 1")
        axes.axhline(floor, color=RED, linestyle=":", linewidth=1, label=f"threshold {floor:g}")


def _span(tables: Sequence[SpeedupTable], ahead: Sequence[dict[str, Any]]) -> tuple[int, int]:
    """The smallest and the largest K drawn."""
    workers = {row.k for table in tables for row in table.rows} | {row["k"] for row in ahead}
    return min(workers), max(workers)


def _points(axes: Axes, table: SpeedupTable, what: str, colour: str, marker: str, name: str = "") -> None:
    """Measured values joined by a line, with their intervals."""
    points = [(row.k, getattr(row, what)) for row in table.rows]
    axes.plot(*xy([(k, estimate.value) for k, estimate in points]), color=colour, marker=marker, label=name, zorder=4)
    bars = [(k, at.low, at.high) for k, at in points if at.low is not None and at.high is not None]
    if bars:  # in one call: each call looks at all that was drawn before
        axes.vlines(*zip(*bars, strict=True), color=colour, linewidth=2, alpha=0.55, zorder=3)


def _frame(axes: Axes, tables: Sequence[SpeedupTable], ahead: Sequence[dict[str, Any]], what: str) -> None:
    """Axes and their labels: the same K in every panel, S from the smallest value to the ideal line, E from 0."""
    workers = sorted({row.k for table in tables for row in table.rows} | {row["k"] for row in ahead})
    smallest, largest = _span(tables, ahead)
    margin = 1.12 * (largest / smallest) ** 0.02
    values = [getattr(row, what).value for table in tables for row in table.rows]
    if what == "efficiency":
        axes.set_ylim(0, 1.12 * max(1.0, *values))
    else:
        lowest = min([*values, *(row["speedup"] for row in ahead), smallest])
        axes.set_ylim(lowest / margin**2, max(largest, *values) * margin)
    log_axis(axes, workers, both=what == "speedup")
    axes.set_xlim(smallest / margin, largest * margin)
    axes.set_xlabel(f"K ({shorten(', '.join(dict.fromkeys(unit_words(own.k_unit) for own in tables)))})")
    base = "" if tables[0].baseline_k == 1 else f", K0 = {tables[0].baseline_k}"
    axes.set_ylabel(f"speedup S(K){base}" if what == "speedup" else f"efficiency E(K){base}")


def _forecast_band(axes: Axes, table: SpeedupTable, rows: Sequence[dict[str, Any]], what: str) -> None:
    """The band opens at the last measured point; forecast points are hollow."""
    last = table.rows[-1]
    start = getattr(last, what)
    workers = [last.k, *(row["k"] for row in rows)]
    lows = [start.low or start.value, *(row[f"{what}_low"] for row in rows)]
    highs = [start.high or start.value, *(row[f"{what}_high"] for row in rows)]
    axes.fill_between(workers, lows, highs, color=ORANGE, alpha=0.28, linewidth=0, label="forecast, interval")
    middle = [start.value, *(row[what] for row in rows)]
    axes.plot(workers, middle, color=ORANGE, linestyle="--", linewidth=1.5)
    hollow: dict[str, Any] = {"marker": "D", "markerfacecolor": "white", "markersize": 4.5, "zorder": 4}
    axes.plot(workers[1:], middle[1:], color=ORANGE, linestyle="none", **hollow)


def _mark_bend(axes: Axes, table: SpeedupTable, colour: str, label: str | None = None) -> None:
    if table.bend is not None:
        axes.axvline(table.bend.k, color=colour, linestyle=(0, (1, 2)), linewidth=1.2, label=label)


def _bend_words(table: SpeedupTable) -> str:
    return "no bend" if table.bend is None else f"bend at K = {table.bend.k}"


def paint_tables(figure: Figure, result: SpeedupTable | SideBySide) -> None:
    """A speedup table, or the tables of a set by the names of its curves; InputError where its answers are none."""
    if isinstance(result, SpeedupTable):
        return curve(figure, [result], title=True)
    tables = [replace(answer, name=name) for name, answer in result.answers.items() if isinstance(answer, SpeedupTable)]
    if not tables:
        raise InputError("there is no picture of these answers side by side; draw the table")
    return curve(figure, tables, title=True)


def multiples_size(count: int) -> Size:
    """Inches for one curve, two in one plot, or small multiples of more."""
    return USUAL if count <= MOST_OVERLAID else (8.4, 0.6 + 2.3 * math.ceil(min(count, MOST_PANELS) / _columns(count)))


def _columns(count: int) -> int:
    """Panels beside one another: two where three would leave a line with a single one."""
    return 2 if count == 4 else 3


def _multiples(figure: Figure, tables: Sequence[SpeedupTable], what: str) -> None:
    """A small panel for each curve, the others in grey behind it; all panels have the same axes."""
    shown = tables[:MOST_PANELS]
    columns = 1 if figure.get_figwidth() < 3 else 2 if figure.get_figwidth() < NARROW_INCHES else _columns(len(shown))
    grid = figure.subplots(math.ceil(len(shown) / columns), columns, sharex=True, sharey=True, squeeze=False)
    names = shortened([table.name for table in shown], max(12, int(11 * figure.get_figwidth() / columns)))
    for place, axes in enumerate(grid.flat):
        if place >= len(shown):
            axes.set_axis_off()
            continue
        table = shown[place]
        _ideal(axes, tables, (), what)
        for other in tables:
            points = [(row.k, getattr(row, what).value) for row in other.rows]
            axes.plot(*xy(points), color="#b8b8b8", linewidth=0.8, zorder=2)
        _points(axes, table, what, BLUE, "o")
        _frame(axes, tables, (), what)
        axes.set_title(f"{names[place]}\n{_bend_words(table)}", loc="left", fontsize="small")
        name = axes.get_xlabel()
        axes.label_outer()
        if place + columns >= len(shown):  # nothing stands below
            axes.xaxis.set_tick_params(labelbottom=True)
            axes.set_xlabel(name)
        _mark_bend(axes, table, RED)
    left = "" if len(tables) == len(shown) else f" ({len(tables) - len(shown)} in grey only)"
    words = f"dashed: ideal; grey: the other curves{left}; bend: {rule_words(tables[0])}"
    figure.supxlabel(words, fontsize="small", color=GREY)


def paint_forecast(figure: Figure, result: Forecast) -> None:
    """Measured medians, and the expected values beyond them with their interval; grey where the forecast is far."""
    axes, study = figure.subplots(), result.view.study
    workers = [k for k, _ in result.measured]
    area(axes, [(row.k, row.low, row.high) for row in result.curve], ORANGE, 0.22, f"{percent(result.level)} interval")
    lines(axes, [("forecast", ORANGE, "--", [(row.k, row.value) for row in result.curve])])
    lines(axes, [("measured (median)", BLUE, "o-", result.measured)])
    for row in result.rows:
        if row.low is None or row.high is None or row.extrapolation <= 1:
            continue
        colour = GREY if row.extrapolation > GREY_BEYOND else RED
        lines(axes, [(None, colour, "D", [(row.k, row.value)])], markerfacecolor="white", zorder=4)
        axes.vlines(row.k, row.low, row.high, color=colour, linewidth=1.3, zorder=3)
    log_axis(axes, [*workers, *(row.k for row in result.rows if row.k > workers[-1] and not row.refused)])
    title = (
        f"{result.name[:60]}: {what_scales(study.regime, study.k_unit, study.findings)}, measured to K = {workers[-1]}"
    )
    quantity = str(study.quantity).replace("_", " ")
    name_axes(axes, f"K ({unit_words(study.k_unit)})", quantity, wrapped(title, figure), log=True)
    plain_numbers(axes.yaxis)


def paint_law(figure: Figure, result: LawTable) -> None:
    """One axis for all cases: speedups against the diagonal, or efficiencies when any case lets the work grow."""
    if not any(case.rows for case in result.cases):
        raise InputError(Fault("there is no curve to draw", remedy="ask for worker counts, without --optimum"))
    axes, workers = figure.subplots(), [row.k for row in result.cases[0].rows]
    if any(case.grows for case in result.cases):
        _efficiencies(axes, result)
    else:
        axes.plot(workers, workers, color=GREY, linestyle="--", linewidth=1, label="ideal S = K")
        for case, colour, dash in _styled(result.cases):
            points = [(row.k, row.speedup) for row in case.rows]
            lines(axes, [(case.label, colour, f"o{dash}", points)], markersize=3.5)
            if case.ceiling is not None:
                axes.axhline(
                    case.ceiling, color=colour, linewidth=0.9, linestyle=":", label=f"ceiling {case.ceiling:g}"
                )
        title = f"{result.cases[0].title}: strong scaling, total work fixed"
        log_axis(axes, workers, both=True)
        name_axes(axes, "K (workers)", "speedup S(K)", title)


def _efficiencies(axes: Axes, result: LawTable) -> None:
    """The efficiencies of every case of a law, of which at least one lets the work grow."""
    axes.axhline(1.0, color=GREY, linestyle="--", linewidth=1, label="ideal E = 1")
    for case, colour, dash in _styled(result.cases):
        held = "weak, work per worker fixed" if case.grows else "strong, total work fixed"
        points = [(row.k, row.efficiency) for row in case.rows]
        lines(axes, [(f"{held}: {case.label}", colour, f"o{dash}", points)], markersize=3.5)
    log_axis(axes, [row.k for row in result.cases[0].rows])
    axes.set_ylim(0, 1.08)
    is_both = any(not case.grows for case in result.cases)
    held = "strong (total work fixed) and weak (work per worker fixed)" if is_both else "work grows with K"
    name_axes(axes, "K (workers)", "efficiency E(K)", f"{result.law}: {held}")


def _styled(those: Iterable[Any]) -> Iterator[tuple[Any, str, str]]:
    """Each with its colour and its dash, of which no two are the same for the first 28."""
    for i, one in enumerate(those):
        yield one, SERIES[i % len(SERIES)], DASHES[i // len(SERIES) % len(DASHES)]


def phase_bars(figure: Figure, rows: Sequence[PhaseShares]) -> None:
    """Stacked shares of the time by K; both colours and hatches tell the phases apart."""
    axes = figure.subplots()
    bottoms = [0.0] * len(rows)
    places = list(range(len(rows)))
    for number, name in enumerate(dict.fromkeys(name for row in rows for name in row.shares)):
        heights = [row.shares.get(name, 0.0) for row in rows]
        style: dict[str, Any] = {"color": SERIES[number % len(SERIES)], "hatch": HATCHES[number % len(HATCHES)]}
        label = shorten(name)
        axes.bar(places, heights, bottom=bottoms, edgecolor="white", linewidth=0.4, label=label, **style)
        bottoms = [below + height for below, height in zip(bottoms, heights, strict=True)]
    axes.set_xticks(places, [str(row.k) for row in rows])
    axes.set_ylim(0, 1.0)
    axes.set_xlabel("K")
    axes.set_ylabel("share of a rank's time")
    columns = 2 if figure.get_figwidth() < NARROW_INCHES else 5
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=columns)  # bars fill the axes


def rank_heat(figure: Figure, strips: Sequence[RankStrip]) -> None:
    """One line per K, one cell per rank: the rank's time relative to the mean of all ranks."""
    axes = figure.subplots()
    reach = max(0.01, *(abs(value - 1.0) for strip in strips for value in strip.relative))
    for place, strip in enumerate(strips):
        image = axes.imshow(
            [list(strip.relative)],
            extent=(0.0, 1.0, place - 0.42, place + 0.42),
            aspect="auto",
            cmap="PuOr_r",
            vmin=1 - reach,
            vmax=1 + reach,
            interpolation="nearest",
        )
    axes.set_ylim(-0.5, len(strips) - 0.5)
    axes.set_yticks(range(len(strips)), [str(strip.k) for strip in strips])
    axes.set_ylabel("K")
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 1], ["first rank", "last rank"])
    axes.grid(visible=False)
    figure.colorbar(image, ax=axes, location="bottom", label="rank's time / mean of ranks", shrink=0.8, aspect=30)


def paint_grid(figure: Figure, result: GridFit | GridForecast) -> None:
    """T over K with a curve for every size, measured and modelled; beside a fit the isoefficiency lines over K."""
    from scalecurve.fitting.grid_fit import GridFit  # late: few pictures are of grids

    panels = 2 if isinstance(result, GridFit) else 1
    grid = (panels, 1) if figure.get_figwidth() < NARROW_INCHES else (1, panels)
    axes = figure.subplots(*grid, squeeze=False).flat
    sizes = result.curves()
    for marker, (line, colour, dash) in zip(itertools.cycle(MARKERS), _styled(sizes), strict=False):
        axes[0].plot(line.k, line.time, color=colour, linestyle=dash, label=f"N = {line.label}")
        axes[0].fill_between(line.k, line.low, line.high, color=colour, alpha=0.15, linewidth=0)
        axes[0].plot(line.measured_k, line.measured, marker, color=colour)
    axes[0].set(yscale="log", xlabel=f"K ({unit_words(result.k_unit)})", title="T over K by size")
    axes[0].set_ylabel("T (seconds)" if result.quantity is Quantity.SECONDS else "T (of one unit of work)")
    log_axis(axes[0], sorted({round(k) for line in sizes for k in (*line.measured_k, *line.k[-1:])}))
    plain_numbers(axes[0].yaxis)
    axes[0].legend(fontsize="small")
    if isinstance(result, GridFit):
        isoefficiency_axes(axes[1], result)


def isoefficiency_axes(axes: Axes, result: GridFit) -> None:
    """The size that holds each E, with its band, and the textbook answers beside the first."""
    from matplotlib.ticker import FuncFormatter

    holds = dict.fromkeys(row.hold for row in result.isoefficiency)
    for hold, colour, _ in _styled(holds):
        rows = [(row, row.size) for row in result.isoefficiency if row.hold == hold and row.size is not None]
        lines(axes, [(f"E = {hold:g}", colour, "o-", [(row.k, size.value) for row, size in rows])])
        area(axes, [(row.k, size.low, size.high) for row, size in rows], colour, 0.15)
    axes.set(yscale="log", xlabel=f"K ({unit_words(result.k_unit)})", ylabel="N", title="Size that holds E")
    log_axis(axes, sorted({row.k for row in result.isoefficiency}))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda size, _: format_count(size)))
    axes.legend(fontsize="small")
