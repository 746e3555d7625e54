"""The report's plots.  Legends stand outside the axes and notes at its foot, so that nothing covers a point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scalecurve.analysis import SpeedupTable
from scalecurve.diagnosis.phases import PhaseShares, RankStrip
from scalecurve.planning.cost import CostTable
from scalecurve.render.cost_plot import cost_axes
from scalecurve.render.plots import GREY, ORANGE, RED, SERIES, log_axis, plain_text
from scalecurve.study import Regime

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
HATCHES = ("", "//", "\\\\", "--", "xx", "||", "++")
NAME_LENGTH = 24

ForecastRow = dict[str, Any]


def curve(figure: Figure, tables: Sequence[SpeedupTable], forecast: Sequence[ForecastRow] = ()) -> None:
    """Strong scaling as speedup against S = K; weak scaling as efficiency against 1."""
    if tables[0].regime is Regime.STRONG:
        speedup(figure, tables, forecast)
    else:
        efficiency(figure, tables, forecast)


def speedup(figure: Figure, tables: Sequence[SpeedupTable], forecast: Sequence[ForecastRow] = ()) -> None:
    axes = figure.subplots()
    ahead = [row for row in forecast if row.get("speedup") is not None]
    workers = _all_k(tables, ahead)
    axes.plot(workers, workers, color=GREY, linestyle="--", linewidth=1, label="ideal, S = K")
    _measured(axes, tables, "speedup")
    _forecast_band(axes, tables, ahead, "speedup")
    log_axis(axes, workers, both=True)
    _finish(figure, axes, tables, "speedup S(K)")


def efficiency(figure: Figure, tables: Sequence[SpeedupTable], forecast: Sequence[ForecastRow] = ()) -> None:
    axes = figure.subplots()
    ahead = [row for row in forecast if row.get("efficiency") is not None]
    workers = _all_k(tables, ahead)
    axes.axhline(1.0, color=GREY, linestyle="--", linewidth=1, label="ideal, E = 1")
    axes.axhline(tables[0].threshold, color=RED, linestyle=":", linewidth=1, label=f"threshold {tables[0].threshold:g}")
    _measured(axes, tables, "efficiency")
    _forecast_band(axes, tables, ahead, "efficiency")
    log_axis(axes, workers)
    axes.set_ylim(bottom=0, top=max(1.08, axes.get_ylim()[1]))
    weak = tables[0].regime is Regime.WEAK
    _finish(figure, axes, tables, "weak-scaling efficiency E(K)" if weak else "efficiency E(K)")


def _measured(axes: Axes, tables: Sequence[SpeedupTable], what: str) -> None:
    for place, table in enumerate(tables):
        color, marker = SERIES[place], MARKERS[place]
        points = [(row.k, getattr(row, what)) for row in table.rows]
        name = f"measured {what}" if len(tables) == 1 else short(table.name)
        axes.plot(
            [k for k, _ in points],
            [each.value for _, each in points],
            color=color,
            marker=marker,
            markersize=5,
            label=plain_text(name),
        )
        for k, each in points:
            if each.low is not None and each.high is not None:
                axes.vlines(k, each.low, each.high, color=color, linewidth=2.2, alpha=0.55, zorder=3)


def _forecast_band(axes: Axes, tables: Sequence[SpeedupTable], rows: Sequence[ForecastRow], what: str) -> None:
    """The band opens at the last measured point, and a line marks where measuring ended."""
    if not rows:
        return
    last = tables[0].rows[-1]
    start = getattr(last, what)
    axes.axvline(last.k, color=GREY, linewidth=0.8, label="end of what was measured")
    workers = [last.k, *(row["k"] for row in rows)]
    lows = [start.low or start.value, *(row[f"{what}_low"] for row in rows)]
    highs = [start.high or start.value, *(row[f"{what}_high"] for row in rows)]
    axes.fill_between(workers, lows, highs, color=ORANGE, alpha=0.28, linewidth=0, label="forecast interval")
    middle = [start.value, *(row[what] for row in rows)]
    axes.plot(workers, middle, color=ORANGE, linestyle="-.", linewidth=1.5, label="forecast")
    axes.plot(workers[1:], middle[1:], color=ORANGE, linestyle="none", marker="D", markersize=4)


def _all_k(tables: Sequence[SpeedupTable], ahead: Sequence[ForecastRow]) -> list[int]:
    measured = {row.k for table in tables for row in table.rows}
    return sorted(measured | {row["k"] for row in ahead})


def _finish(figure: Figure, axes: Axes, tables: Sequence[SpeedupTable], label: str) -> None:
    axes.set_xlabel(f"K ({plain_text(short(tables[0].k_unit))})")
    axes.set_ylabel(label)
    for place, table in enumerate(tables):
        _mark_bend(axes, table, place, RED if len(tables) == 1 else SERIES[place])
    columns = 1 if figure.get_figwidth() < 5 else 4
    figure.legend(loc="outside lower center", ncols=columns, fontsize=9)


def _mark_bend(axes: Axes, table: SpeedupTable, place: int, color: str) -> None:
    if table.bend is None:
        return
    chance = "" if table.bend.probability is None else f", p = {table.bend.probability:.2f}"
    axes.axvline(table.bend.k, color=color, linestyle=(0, (1, 2)), linewidth=1.2)
    first, last = axes.get_xlim()
    late = table.bend.k**2 > first * last
    axes.annotate(
        f"bend at K = {table.bend.k}{chance}",
        (table.bend.k, 0.03 + 0.07 * place),
        xycoords=("data", "axes fraction"),
        xytext=(-5 if late else 5, 0),
        textcoords="offset points",
        ha="right" if late else "left",
        fontsize=9,
        color=color,
        bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
    )


def phases(figure: Figure, rows: Sequence[PhaseShares]) -> None:
    """Stacked shares of the time by K; colours and hatches both tell the phases apart."""
    axes = figure.subplots()
    names = list(dict.fromkeys(name for row in rows for name in row.shares))
    bottoms = [0.0] * len(rows)
    places = list(range(len(rows)))
    for number, name in enumerate(names):
        heights = [row.shares.get(name, 0.0) for row in rows]
        axes.bar(
            places,
            heights,
            bottom=bottoms,
            color=SERIES[number % len(SERIES)],
            hatch=HATCHES[number % len(HATCHES)],
            edgecolor="white",
            linewidth=0.4,
            label=plain_text(short(name)),
        )
        bottoms = [below + height for below, height in zip(bottoms, heights, strict=True)]
    axes.set_xticks(places, [str(row.k) for row in rows])
    axes.set_ylim(0, 1.0)
    axes.set_xlabel("K")
    axes.set_ylabel("share of a rank's time")
    figure.legend(loc="outside lower center", ncols=2 if figure.get_figwidth() < 5 else 5, fontsize=9)


def heat_strip(figure: Figure, strips: Sequence[RankStrip]) -> None:
    """One line per K, one cell per rank: how far its time is from the mean of all ranks."""
    axes = figure.subplots()
    reach = max(max(abs(value - 1.0) for value in strip.relative) for strip in strips)
    reach = max(reach, 0.01)
    image = None
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
    if image is not None:
        figure.colorbar(image, ax=axes, location="bottom", label="rank's time / mean of ranks", shrink=0.8, aspect=30)


def money(figure: Figure, priced: CostTable) -> None:
    """Cost against time with the legend outside, and few ticks where there is little room."""
    from matplotlib.ticker import LogLocator

    axes = figure.subplots()
    cost_axes(axes, priced)
    inside = axes.get_legend()
    if inside is not None:
        inside.remove()
    axes.set_title("")
    narrow = figure.get_figwidth() < 5
    if narrow:
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0,), numticks=5))
    figure.legend(loc="outside lower center", ncols=1 if narrow else 3, fontsize=9)


def short(name: str) -> str:
    return name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"
