"""Pictures of results: strong scaling against the diagonal, weak efficiency against the flat line, laws and forecasts.

The title or the caption says what was held fixed.  Colours are from the Okabe-Ito set, which colour-blind readers can
tell apart, and every series also differs by marker or dash.  Legends of curves stand outside the axes.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalecurve.analysis import SpeedupTable, tabulate
from scalecurve.analysis.side_by_side import SideBySide, side_by_side
from scalecurve.analysis.table import rule_words
from scalecurve.auditing.history import History
from scalecurve.document import Result
from scalecurve.errors import Fault, InputError
from scalecurve.forecasting.forecast import Forecast
from scalecurve.forecasting.rows import GREY as GREY_BEYOND
from scalecurve.formats.accept import StudyLike, as_study
from scalecurve.formats.loading import load
from scalecurve.laws.tables import LawTable
from scalecurve.study import Regime, Study, StudySet
from scalecurve.study.atomic import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from scalecurve.diagnosis.phases import PhaseShares, RankStrip

Size = tuple[float, float]
Painter = Callable[["Figure"], None]

BLUE, ORANGE, GREEN, PURPLE, GREY, RED = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#6b6b6b", "#D55E00"
SERIES = (BLUE, ORANGE, GREEN, PURPLE, RED, "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":")
HATCHES = ("", "//", "\\\\", "--", "xx", "||", "++")
FORMATS = ("svg", "png", "pdf")
NAME_LENGTH = 24
NARROW_INCHES = 5.0  # a figure below this width is for a phone: one legend column, few ticks
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "svg.hashsalt": "scalecurve",  # so that the same data gives the same file
    "svg.fonttype": "none",
    "legend.frameon": False,
    "lines.markersize": 5,
}
METADATA: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A plot that can be painted at any size.  `alt` describes it; its numbers are in a table beside it."""

    name: str
    alt: str
    painter: Painter
    wide: Size = (7.6, 4.2)
    narrow: Size = (3.7, 3.7)


def plot(result: Result | StudyLike, path: str | Path) -> None:
    """Draw a result, or a study's speedup table, to a file; its ending (.svg .png .pdf) is the format."""
    target = Path(path)
    kind = target.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        hint = "name the file .svg, .png or .pdf"
        raise InputError(Fault("unknown picture format", value=target.suffix or target.name, remedy=hint))
    write_atomically(target, picture(result, kind))


def picture(result: Result | StudyLike, kind: str) -> bytes:
    """A result, or a study's speedup table, as the bytes of an SVG, PNG or PDF."""
    if isinstance(result, str | Path):
        result = load(result)
    if isinstance(result, StudySet):
        result = side_by_side(result, tabulate)
    if isinstance(result, Study | Mapping):
        result = tabulate(as_study(result))
    match result:
        case SpeedupTable():
            return paint(lambda figure: curve(figure, [result], title=True), kind)
        case LawTable():
            return paint(lambda figure: law_axes(figure.subplots(), result), kind)
        case SideBySide():
            return paint(lambda figure: side_by_side_axes(figure, result), kind)
        case Forecast():
            return paint(lambda figure: forecast_axes(figure.subplots(), result), kind)
    from scalecurve.render.mechanism_plots import MECHANISMS
    from scalecurve.render.planning_plots import PLANS

    name = type(result).__name__
    if isinstance(result, History):
        from scalecurve.render.history_plots import paint_history

        return paint(lambda figure: paint_history(figure, result), kind, (8.5, 6.0))
    if name in PLANS:
        return paint(lambda figure: PLANS[name](figure, result), kind, (8.5, 6.8) if name == "Plan" else (7.0, 4.8))
    if name in MECHANISMS:
        return paint(lambda figure: MECHANISMS[name](figure.subplots(), result), kind)
    raise InputError(f"there is no picture of a {name}")


def side_by_side_axes(figure: Figure, result: SideBySide) -> None:
    """All curves of a set in one picture: the measured speedup or efficiency of each, by its name."""
    tables = [replace(answer, name=name) for name, answer in result.answers.items() if isinstance(answer, SpeedupTable)]
    if not tables:
        raise InputError("there is no picture of these answers side by side; draw the table")
    curve(figure, tables, title=True)


def paint(painter: Painter, kind: str, size: Size = (7.0, 4.8)) -> bytes:
    """Run a painter on a fresh figure in the house style and return the bytes of the file."""
    import matplotlib as mpl

    mpl.use("Agg")
    with mpl.rc_context(STYLE):
        from matplotlib.figure import Figure as NewFigure

        figure = NewFigure(figsize=size, layout="constrained")
        painter(figure)
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind, dpi=150, metadata=METADATA[kind])
    return buffer.getvalue()


def curve(
    figure: Figure,
    tables: Sequence[SpeedupTable],
    forecast: Sequence[dict[str, Any]] = (),
    *,
    what: str | None = None,
    title: bool = False,
) -> None:
    """`speedup` against S = K or `efficiency` against 1, with intervals, bends and the band of a forecast.

    Without `what`, strong scaling is drawn as speedup and weak scaling as efficiency, never the other way round.
    """
    first, is_strong = tables[0], tables[0].regime is Regime.STRONG
    what = what or ("speedup" if is_strong else "efficiency")
    axes = figure.subplots()
    ahead = [row for row in forecast if row.get(what) is not None]
    workers = sorted({row.k for table in tables for row in table.rows} | {row["k"] for row in ahead})
    if what == "speedup":
        axes.plot(workers, workers, color=GREY, linestyle="--", linewidth=1, label="ideal, S = K")
    else:
        axes.axhline(1.0, color=GREY, linestyle="--", linewidth=1, label="ideal, E = 1")
        axes.axhline(first.threshold, color=RED, linestyle=":", linewidth=1, label=f"threshold {first.threshold:g}")
    for place, table in enumerate(tables):
        colour = SERIES[place]
        points = [(row.k, getattr(row, what)) for row in table.rows]
        name = f"measured {what}" if len(tables) == 1 else plain_text(shorten(table.name))
        axes.plot(*xy([(k, estimate.value) for k, estimate in points]), color=colour, marker=MARKERS[place], label=name)
        for k, estimate in points:
            if estimate.low is not None and estimate.high is not None:
                axes.vlines(k, estimate.low, estimate.high, color=colour, linewidth=2.2, alpha=0.55, zorder=3)
    if ahead:
        _forecast_band(axes, first, ahead, what)
    log_axis(axes, workers, both=what == "speedup")
    if what == "efficiency":
        axes.set_ylim(bottom=0, top=max(1.08, axes.get_ylim()[1]))
    axes.set_xlabel(f"K ({plain_text(shorten(first.k_unit))})")
    label = "speedup S(K)" if what == "speedup" else "efficiency E(K)"
    axes.set_ylabel(label if what == "speedup" or is_strong else f"weak-scaling {label}")
    if title:
        held = f"{first.regime} scaling, {first.regime.held_fixed}, baseline K0 = {first.baseline_k}"
        axes.set_title(plain_text(f"{first.name[:60]}: {held}"), loc="left", fontsize=10)
    for place, table in enumerate(tables):
        note = f"\n{rule_words(table)}" if title else ""
        _mark_bend(axes, table, place, RED if len(tables) == 1 else SERIES[place], note)
    outside_legend(figure, 4)


def xy(points: Iterable[tuple[float, float | None]]) -> tuple[list[float], list[float]]:
    """The x and the y of points, without those that have no y."""
    pairs = [(x, y) for x, y in points if y is not None]
    return [x for x, _ in pairs], [y for _, y in pairs]


def _forecast_band(axes: Axes, table: SpeedupTable, rows: Sequence[dict[str, Any]], what: str) -> None:
    """The band opens at the last measured point, and a line marks the end of the measured range."""
    last = table.rows[-1]
    start = getattr(last, what)
    axes.axvline(last.k, color=GREY, linewidth=0.8, label="last measured K")
    workers = [last.k, *(row["k"] for row in rows)]
    lows = [start.low or start.value, *(row[f"{what}_low"] for row in rows)]
    highs = [start.high or start.value, *(row[f"{what}_high"] for row in rows)]
    axes.fill_between(workers, lows, highs, color=ORANGE, alpha=0.28, linewidth=0, label="forecast interval")
    middle = [start.value, *(row[what] for row in rows)]
    axes.plot(workers, middle, color=ORANGE, linestyle="-.", linewidth=1.5, label="forecast")
    axes.plot(workers[1:], middle[1:], color=ORANGE, linestyle="none", marker="D", markersize=4)


def _mark_bend(axes: Axes, table: SpeedupTable, place: int, colour: str, note: str) -> None:
    """A line at the bend, and a note at the foot of the axes where it covers no point."""
    if table.bend is None:
        return
    chance = "" if table.bend.probability is None else f", p = {table.bend.probability:.2f}"
    axes.axvline(table.bend.k, color=colour, linestyle=(0, (1, 2)), linewidth=1.2)
    left, right = axes.get_xlim()
    is_late = table.bend.k**2 > left * right
    axes.annotate(
        f"bend at K = {table.bend.k}{chance}{note}",
        (table.bend.k, 0.03 + 0.07 * place),
        xycoords=("data", "axes fraction"),
        xytext=(-5 if is_late else 5, 0),
        textcoords="offset points",
        ha="right" if is_late else "left",
        va="bottom",
        fontsize=9,
        color=colour,
        bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
    )


def outside_legend(figure: Figure, columns: int) -> None:
    """The legend below the axes, in one column where the figure is narrow."""
    is_narrow = figure.get_figwidth() < NARROW_INCHES
    figure.legend(loc="outside lower center", ncols=1 if is_narrow else columns, fontsize=9)


def forecast_axes(axes: Axes, result: Forecast) -> None:
    """Measured medians, and the expected values beyond them with their interval; grey where the forecast is far."""
    study = result.view.study
    workers, medians = zip(*result.measured, strict=True)
    band = [(row.k, row.low, row.high) for row in result.curve if row.low is not None and row.high is not None]
    ahead, lows, highs = zip(*band, strict=True) if band else ((), (), ())
    axes.fill_between(ahead, lows, highs, color=ORANGE, alpha=0.22, linewidth=0, label=f"{result.level:.0%} interval")
    expected = [(row.k, row.value) for row in result.curve if row.value is not None]
    if expected:
        axes.plot(*xy(expected), color=ORANGE, linestyle="--", label="forecast")
    for alike in result.explanation.alike if result.explained and result.explanation else ():
        label = plain_text(f"shape of {alike.source[:40]}")
        axes.plot(*xy(list(alike.line)), color=GREY, linewidth=0.9, linestyle=":", label=label)
    axes.plot(workers, medians, color=BLUE, marker="o", label="measured (median)")
    for row in result.rows:
        if row.low is None or row.high is None or row.extrapolation <= 1:
            continue
        colour = GREY if row.extrapolation > GREY_BEYOND else RED
        if row.value is not None:
            axes.plot([row.k], [row.value], color=colour, marker="D", linestyle="none", zorder=4)
        axes.vlines(row.k, row.low, row.high, color=colour, linewidth=1.3, zorder=3)
    log_axis(axes, [*workers, *(row.k for row in result.rows if row.k > workers[-1] and not row.refused)])
    axes.set_yscale("log")
    plain_numbers(axes.yaxis)
    axes.set_xlabel(f"K ({plain_text(study.k_unit)})")
    axes.set_ylabel(str(study.quantity).replace("_", " "))
    title = f"{result.name[:60]}: {study.regime} scaling, {study.regime.held_fixed}, measured to K = {workers[-1]}"
    axes.set_title(plain_text(title), loc="left", fontsize=10)
    axes.legend(loc="best", fontsize=9)


def law_axes(axes: Axes, result: LawTable) -> None:
    """One axis for all cases: speedups against the diagonal, or efficiencies when any case lets the work grow."""
    workers = [row.k for row in result.cases[0].rows]
    grows = any(case.grows for case in result.cases)
    if grows:
        axes.axhline(1.0, color=GREY, linestyle="--", linewidth=1, label="ideal, E = 1")
    else:
        axes.plot(workers, workers, color=GREY, linestyle="--", linewidth=1, label="ideal, S = K")
    for place, case in enumerate(result.cases):
        colour, dash = SERIES[place % len(SERIES)], DASHES[place // len(SERIES) % len(DASHES)]
        held = "weak, work per worker fixed" if case.grows else "strong, total work fixed"
        points = [(row.k, row.efficiency if grows else row.speedup) for row in case.rows]
        label = f"{held}: {case.label}" if grows else case.label
        axes.plot(*xy(points), color=colour, linestyle=dash, marker="o", markersize=3.5, label=label)
        if case.ceiling is not None and not grows:
            axes.axhline(case.ceiling, color=colour, linewidth=0.9, linestyle=":", label=f"ceiling {case.ceiling:g}")
    log_axis(axes, workers, both=not grows)
    axes.set_xlabel("K (workers)")
    axes.set_ylabel("efficiency E(K)" if grows else "speedup S(K)")
    if grows:
        axes.set_ylim(0, 1.08)
        is_both = any(not case.grows for case in result.cases)
        held = "strong (total work fixed) and weak (work per worker fixed)" if is_both else "work grows with K"
        axes.set_title(f"{result.law}: {held}", loc="left", fontsize=10)
    else:
        axes.set_title(f"{result.cases[0].title}: strong scaling, total work fixed", loc="left", fontsize=10)
    axes.legend(loc="best", fontsize=9)


def phase_bars(figure: Figure, rows: Sequence[PhaseShares]) -> None:
    """Stacked shares of the time by K; both colours and hatches tell the phases apart."""
    axes = figure.subplots()
    bottoms = [0.0] * len(rows)
    places = list(range(len(rows)))
    for number, name in enumerate(dict.fromkeys(name for row in rows for name in row.shares)):
        heights = [row.shares.get(name, 0.0) for row in rows]
        style: dict[str, Any] = {"color": SERIES[number % len(SERIES)], "hatch": HATCHES[number % len(HATCHES)]}
        label = plain_text(shorten(name))
        axes.bar(places, heights, bottom=bottoms, edgecolor="white", linewidth=0.4, label=label, **style)
        bottoms = [below + height for below, height in zip(bottoms, heights, strict=True)]
    axes.set_xticks(places, [str(row.k) for row in rows])
    axes.set_ylim(0, 1.0)
    axes.set_xlabel("K")
    axes.set_ylabel("share of a rank's time")
    figure.legend(loc="outside lower center", ncols=2 if figure.get_figwidth() < NARROW_INCHES else 5, fontsize=9)


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


def log_axis(axes: Axes, workers: Sequence[int], *, both: bool = False) -> None:
    """Powers of two along K, with ticks at the measured K."""
    from matplotlib.ticker import FixedLocator, FormatStrFormatter, NullFormatter, NullLocator

    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(list(workers)[:: max(1, len(workers) // 12)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FormatStrFormatter("%g"))
    if both:
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
        axes.yaxis.set_minor_formatter(NullFormatter())


def plain_numbers(axis: Any) -> None:
    """Numbers as people write them along a logarithmic axis, also where it spans less than a decade."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0), numticks=12))
    axis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axis.set_minor_formatter(NullFormatter())


def plain_text(text: str) -> str:
    """Names come from files: without this, a dollar sign would start a formula."""
    return text.replace("\\", "\\\\").replace("$", r"\$")


def shorten(name: str) -> str:
    return name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"
