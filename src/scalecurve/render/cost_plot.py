"""Time against cost, both for all jobs: every K, the front no other K beats, the deadline and the budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scalecurve.planning.cost import Cost
from scalecurve.planning.cost_rows import PricedRow, unit_words
from scalecurve.planning.curve import Kind
from scalecurve.render.plots import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, plain_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = {Kind.MEASURED: "o", Kind.INTERPOLATED: "D", Kind.FORECAST: "s", Kind.LAW: "o", Kind.PLANNED: "^"}
HOLLOW = (Kind.INTERPOLATED, Kind.FORECAST)


def cost_axes(axes: Axes, result: Cost) -> None:
    """Both axes logarithmic; a point's label is its K, a hollow marker was not measured."""
    _front(axes, result)
    for kind in dict.fromkeys(row.kind for row in result.rows):
        _points(axes, [row for row in result.rows if row.kind is kind], kind)
    for row in result.rows:
        axes.annotate(
            f"K = {row.k}", (row.hours, row.cost.value), xytext=(6, 5), textcoords="offset points", fontsize=8
        )
    _goals(axes, result)
    _choices(axes, result)
    axes.set_xscale("log")
    axes.set_yscale("log")
    plain_numbers(axes)
    axes.margins(0.12)
    axes.set_xlabel("time of all jobs (hours)" if result.campaign.jobs > 1 else "time of one job (hours)")
    axes.set_ylabel(f"cost ({result.tariff.currency})")
    jobs = f"{result.campaign.jobs:,} jobs" if result.campaign.jobs > 1 else "1 job"
    price = f"{unit_words(result.k_unit)} at {result.tariff.per_hour:g} {result.tariff.currency}/h"
    title = f"{result.name.partition(',')[0][:60]}: {jobs}, {price}"
    axes.set_title(plain_text(title), loc="left", fontsize=10)
    axes.legend(loc="best", fontsize=8, labelspacing=0.8)


def plain_numbers(axes: Axes) -> None:
    """Numbers people read, also where a logarithmic axis spans less than a decade."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        axis.set_minor_formatter(NullFormatter())


def _front(axes: Axes, result: Cost) -> None:
    ordered = sorted(result.front, key=lambda row: row.elapsed.value)
    label = "no other K is faster and cheaper"
    axes.plot(*_places(ordered), color=GREEN, linewidth=5, alpha=0.25, label=label, solid_capstyle="round")


def _points(axes: Axes, rows: Sequence[PricedRow], kind: Kind) -> None:
    fill = "white" if kind in HOLLOW else BLUE
    axes.plot(
        *_places(rows), linestyle="", marker=MARKERS[kind], color=BLUE, markerfacecolor=fill, label=str(kind), zorder=3
    )
    for row in rows:
        if row.elapsed.low and row.elapsed.high:
            axes.hlines(row.cost.value, row.elapsed.low / 3600, row.elapsed.high / 3600, color="black", linewidth=1)
        if row.cost.low and row.cost.high:
            axes.vlines(row.hours, row.cost.low, row.cost.high, color="black", linewidth=1)


def _places(rows: Sequence[PricedRow]) -> tuple[list[float], list[float]]:
    return [row.hours for row in rows], [row.cost.value for row in rows]


def _goals(axes: Axes, result: Cost) -> None:
    if result.goal.deadline is not None:
        hours = result.goal.deadline / 3600
        axes.axvline(hours, color=RED, linestyle=":", linewidth=1.2, label=f"deadline {hours:g} h")
    if result.goal.budget is not None:
        axes.axhline(
            result.goal.budget, color=PURPLE, linestyle="--", linewidth=1.2, label=f"budget {result.goal.budget:g}"
        )


def _choices(axes: Axes, result: Cost) -> None:
    """Rings of different size, so that one K that is several choices shows them all."""
    chosen = (
        ("cheapest in time", result.cheapest_in_time, RED, 11),
        ("fastest in budget", result.fastest_in_budget, PURPLE, 15),
        ("best at the value of time", result.best_for_value, ORANGE, 19),
    )
    for label, row, colour, size in chosen:
        if row is not None:
            at = ([row.hours], [row.cost.value])
            text = f"{label}: K = {row.k}"
            axes.plot(*at, marker="o", markersize=size, fillstyle="none", color=colour, linestyle="", label=text)
    if not any(row for _, row, _, _ in chosen):
        row = result.cheapest
        axes.plot(
            [row.hours],
            [row.cost.value],
            marker="o",
            markersize=14,
            fillstyle="none",
            color=GREY,
            linestyle="",
            label=f"cheapest: K = {row.k}",
        )
