"""The pictures people expect: strong scaling against the diagonal, weak efficiency against the flat line.

Never the other way round; the title says what was held fixed.  Colours are from the Okabe-Ito set, which colour-blind
readers can tell apart, and every series also differs by marker or dash.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalecurve.analysis import SpeedupTable
from scalecurve.analysis.table import rule_words
from scalecurve.errors import Fault, InputError
from scalecurve.forecasting.forecast import GREY as GREY_BEYOND
from scalecurve.forecasting.forecast import Forecast
from scalecurve.laws.tables import LawCase, LawTable
from scalecurve.planning.cost import CostTable
from scalecurve.study import Regime
from scalecurve.study.atomic import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, PURPLE, GREY, RED = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#6b6b6b", "#D55E00"
SERIES = (BLUE, ORANGE, GREEN, PURPLE, RED, "#56B4E9", "#000000")
DASHES = ("-", "--", "-.", ":")
FORMATS = ("svg", "png", "pdf")
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
}
METADATA: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}


def draw(result: Any, path: Path) -> None:
    """Draw a result to a file, whole or not at all."""
    kind = path.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        hint = "name the file .svg, .png or .pdf"
        raise InputError(Fault("unknown picture format", seen=path.suffix or path.name, remedy=hint))
    write_atomically(path, picture(result, kind))


def picture(result: Any, kind: str) -> bytes:
    """A result as an SVG, PNG or PDF."""
    painter = _painter(result)
    return paint(painter, kind)


def paint(painter: Callable[[Figure], None], kind: str, size: tuple[float, float] = (7.0, 4.8)) -> bytes:
    """Run a painter on a fresh figure in the house style and return the file."""
    import matplotlib as mpl

    mpl.use("Agg")
    with mpl.rc_context(STYLE):
        from matplotlib.figure import Figure as NewFigure

        figure = NewFigure(figsize=size, layout="constrained")
        painter(figure)
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind, dpi=150, metadata=METADATA[kind])
    return buffer.getvalue()


def _painter(result: Any) -> Callable[[Figure], None]:
    match result:
        case SpeedupTable(regime=Regime.STRONG):
            return lambda figure: strong_axes(figure.subplots(), result)
        case SpeedupTable():
            return lambda figure: weak_axes(figure.subplots(), result)
        case LawTable():
            return lambda figure: law_axes(figure.subplots(), result)
        case Forecast():
            return lambda figure: forecast_axes(figure.subplots(), result)
        case CostTable():
            from scalecurve.render.cost_plot import cost_axes

            return lambda figure: cost_axes(figure.subplots(), result)
    from scalecurve.render.mechanism_plots import painter_of

    found = painter_of(result)
    if found is None:
        raise InputError(f"there is no picture of a {type(result).__name__}")
    return found


def forecast_axes(axes: Axes, result: Forecast) -> None:
    """What was measured, and what is expected beyond it with its interval; grey where the forecast is far."""
    study, curve = result.view.study, result.curve
    workers, values = zip(*result.measured, strict=True)
    known = [row for row in curve if row.value is not None and row.low is not None and row.high is not None]
    ahead = [row.k for row in known]
    low, high = [row.low for row in known if row.low], [row.high for row in known if row.high]
    axes.fill_between(ahead, low, high, color=ORANGE, alpha=0.22, linewidth=0, label=f"{result.level:.0%} interval")
    expected = [row.value for row in known if row.value]
    axes.plot(ahead, expected, color=ORANGE, linestyle="--", label="forecast")
    axes.plot(workers, values, color=BLUE, marker="o", label="measured (median)")
    _forecast_points(axes, result)
    log_axis(axes, [*workers, *(row.k for row in result.rows if row.k > workers[-1] and not row.refused)])
    _plain_log_values(axes)
    axes.set_xlabel(f"K ({plain_text(study.k_unit)})")
    axes.set_ylabel(str(study.quantity).replace("_", " "))
    title = f"{result.name[:60]}: {study.regime} scaling, {study.regime.held_fixed}, measured to K = {workers[-1]}"
    axes.set_title(plain_text(title), loc="left", fontsize=10)
    axes.legend(loc="best", fontsize=9)


def _plain_log_values(axes: Axes) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0), numticks=12))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _forecast_points(axes: Axes, result: Forecast) -> None:
    for row in result.rows:
        if row.value is None or row.extrapolation <= 1:
            continue
        colour = GREY if row.extrapolation > GREY_BEYOND else RED
        axes.plot([row.k], [row.value], color=colour, marker="D", linestyle="none", zorder=4)
        axes.vlines(row.k, row.low or row.value, row.high or row.value, color=colour, linewidth=1.3, zorder=3)


def strong_axes(axes: Axes, result: SpeedupTable) -> None:
    """Speedup against the diagonal S = K, error bars, and the bend."""
    workers = [row.k for row in result.rows]
    axes.plot(workers, workers, color=GREY, linestyle="--", linewidth=1, label="ideal, S = K")
    axes.plot(workers, [row.speedup.value for row in result.rows], color=BLUE, marker="o", label="measured S")
    for row in result.rows:
        _error_bar(axes, row.k, row.speedup.low, row.speedup.high)
    log_axis(axes, workers, both=True)
    axes.set_ylabel("speedup S(K)")
    _name(axes, result)
    mark_bend(axes, result, [row.speedup.value for row in result.rows if result.bend and row.k == result.bend.k])
    axes.legend(loc="upper left")


def weak_axes(axes: Axes, result: SpeedupTable) -> None:
    """Weak-scaling efficiency against the flat line at 1."""
    workers = [row.k for row in result.rows]
    axes.axhline(1.0, color=GREY, linestyle="--", linewidth=1, label="ideal, E = 1")
    axes.plot(workers, [row.efficiency.value for row in result.rows], color=GREEN, marker="s", label="measured E")
    for row in result.rows:
        _error_bar(axes, row.k, row.efficiency.low, row.efficiency.high)
    axes.axhline(result.threshold, color=RED, linestyle=":", linewidth=1, label=f"threshold {result.threshold:g}")
    log_axis(axes, workers)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("weak-scaling efficiency E(K)")
    _name(axes, result)
    mark_bend(axes, result, [row.efficiency.value for row in result.rows if result.bend and row.k == result.bend.k])
    axes.legend(loc="lower left")


def _name(axes: Axes, result: SpeedupTable) -> None:
    axes.set_xlabel(f"K ({plain_text(result.k_unit)})")
    title = (
        f"{result.name[:60]}: {result.regime} scaling, {result.regime.held_fixed}, baseline K0 = {result.baseline_k}"
    )
    axes.set_title(plain_text(title), loc="left", fontsize=10)


def plain_text(text: str) -> str:
    """Names come from files: without this, a dollar sign would start a formula."""
    return text.replace("\\", "\\\\").replace("$", r"\$")


def _error_bar(axes: Axes, k: int, low: float | None, high: float | None) -> None:
    if low is not None and high is not None:
        axes.vlines(k, low, high, color="black", linewidth=1.1, zorder=3)


def mark_bend(axes: Axes, result: SpeedupTable, heights: Sequence[float]) -> None:
    """The bend with its rule; the height is that of its own point."""
    if result.bend is None or not heights:
        return
    chance = "" if result.bend.probability is None else f", p = {result.bend.probability:.2f}"
    axes.annotate(
        f"bend at K = {result.bend.k}{chance}\n{rule_words(result)}",
        (result.bend.k, heights[0]),
        xytext=(14, -34),
        textcoords="offset points",
        fontsize=9,
        color=RED,
        arrowprops={"arrowstyle": "-|>", "color": RED},
    )


def log_axis(axes: Axes, workers: Sequence[int], *, both: bool = False) -> None:
    """Powers of two along K, with ticks where something was measured."""
    from matplotlib.ticker import FixedLocator, FormatStrFormatter, NullFormatter, NullLocator

    axes.set_xscale("log", base=2)
    ticks = list(workers)[:: max(1, len(workers) // 12)]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FormatStrFormatter("%g"))
    if both:
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
        axes.yaxis.set_minor_formatter(NullFormatter())


def law_axes(axes: Axes, result: LawTable) -> None:
    """One axis for all cases: speedups against the diagonal, or efficiencies when any case lets the work grow."""
    if any(case.grows for case in result.cases):
        _law_efficiency(axes, result)
    else:
        _law_speedup(axes, result)
    axes.legend(loc="best", fontsize=9)


def _law_speedup(axes: Axes, result: LawTable) -> None:
    workers = [row.k for row in result.cases[0].rows]
    axes.plot(workers, workers, color=GREY, linestyle="--", linewidth=1, label="ideal, S = K")
    for place, case in enumerate(result.cases):
        style = _series_style(place)
        axes.plot(*_points(case, "speedup"), **style, label=case.label)
        if case.ceiling is not None:
            axes.axhline(
                case.ceiling, color=style["color"], linewidth=0.9, linestyle=":", label=f"ceiling {case.ceiling:g}"
            )
    log_axis(axes, workers, both=True)
    axes.set_xlabel("K (workers)")
    axes.set_ylabel("speedup S(K)")
    axes.set_title(f"{result.cases[0].title}: strong scaling, total work fixed", loc="left", fontsize=10)


def _law_efficiency(axes: Axes, result: LawTable) -> None:
    workers = [row.k for row in result.cases[0].rows]
    axes.axhline(1.0, color=GREY, linestyle="--", linewidth=1, label="ideal, E = 1")
    for place, case in enumerate(result.cases):
        words = "weak, work per worker fixed" if case.grows else "strong, total work fixed"
        axes.plot(*_points(case, "efficiency"), **_series_style(place), label=f"{words}: {case.label}")
    log_axis(axes, workers)
    axes.set_ylim(0, 1.08)
    axes.set_xlabel("K (workers)")
    axes.set_ylabel("efficiency E(K)")
    strong = any(not case.grows for case in result.cases)
    words = "strong (total work fixed) and weak (work per worker fixed)" if strong else "work grows with K"
    axes.set_title(f"{result.law}: {words}", loc="left", fontsize=10)


def _points(case: LawCase, what: str) -> tuple[list[int], list[float]]:
    pairs = [(row.k, getattr(row, what)) for row in case.rows if getattr(row, what) is not None]
    return [k for k, _ in pairs], [value for _, value in pairs]


def _series_style(place: int) -> dict[str, Any]:
    return {
        "color": SERIES[place % len(SERIES)],
        "linestyle": DASHES[place // len(SERIES) % len(DASHES)],
        "marker": "o",
        "markersize": 3.5,
    }
