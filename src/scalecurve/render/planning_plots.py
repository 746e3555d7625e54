"""Pictures of money and time: cost against time, a training run over its accelerators, a history of checks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from scalecurve.planning.curve import TimeSource
from scalecurve.render.plots import (
    BLUE,
    GREEN,
    GREY,
    NARROW_INCHES,
    ORANGE,
    PURPLE,
    RED,
    SERIES,
    Curve,
    area,
    lines,
    log_axis,
    name_axes,
    plain_numbers,
    rules,
    wrapped,
)
from scalecurve.render.plots import MARKERS as POINTS
from scalecurve.units import format_count, format_flops, format_seconds
from scalecurve.words import unit_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from scalecurve.auditing.history import History
    from scalecurve.estimate import Estimate
    from scalecurve.planning.cost import Cost
    from scalecurve.planning.cost_rows import PricedRow
    from scalecurve.training.answers.curve import PlanRow
    from scalecurve.training.answers.plan import Plan

MARKERS = {
    TimeSource.MEASURED: "o",
    TimeSource.INTERPOLATED: "D",
    TimeSource.FORECAST: "s",
    TimeSource.LAW: "o",
    TimeSource.PLANNED: "^",
}
COLOURS = {TimeSource.FORECAST: ORANGE, TimeSource.LAW: ORANGE, TimeSource.PLANNED: ORANGE}  # nobody measured these
TIME_UNITS = (("days", 86400.0, 259200.0), ("hours", 3600.0, 10800.0), ("minutes", 60.0, 180.0), ("seconds", 1.0, 0.0))
MOST_LABELS = 12  # of the commits of a history
HOLLOW = (TimeSource.INTERPOLATED, TimeSource.FORECAST)
MARK_LINES = {
    "statistical cap": (RED, "--"), "granularity cap": (ORANGE, "-."), "node boundary": (GREY, ":"),
    "cost-effective scale": (GREEN, "-"),
}  # fmt: skip


def paint_cost(figure: Figure, result: Cost, *, title: bool = True) -> None:
    """Time and cost of all jobs, both logarithmic; a point's label is its K, a hollow marker was not measured."""
    axes = figure.subplots()
    unit, seconds = next(own for own in TIME_UNITS if max(row.elapsed.value for row in result.rows) >= own[2])[:2]

    def at(row: PricedRow) -> tuple[float, float]:
        return row.elapsed.value / seconds, row.cost.value

    front = [at(row) for row in sorted(result.front, key=lambda row: row.elapsed.value)]
    style: dict[str, Any] = {"linewidth": 5, "alpha": 0.25, "solid_capstyle": "round"}
    lines(axes, [("no other K is faster and cheaper", GREEN, "-", front)], **style)
    for kind in dict.fromkeys(row.kind for row in result.rows):
        colour = COLOURS.get(kind, BLUE)
        style = {"markerfacecolor": "white" if kind in HOLLOW else colour, "zorder": 3, "markersize": 6}
        points = [at(row) for row in result.rows if row.kind is kind]
        lines(axes, [(str(kind), colour, MARKERS[kind], points)], **style)
    for row in result.rows:
        _interval_bars(axes, row, seconds)
        label: dict[str, Any] = {"xytext": (5, 4), "textcoords": "offset points", "fontsize": "small", "zorder": 5}
        axes.annotate(f"K = {row.k}", at(row), **label)
    goal = result.goal
    if goal.deadline is not None:
        rules(axes, "x", [(goal.deadline / seconds, RED, f"deadline {format_seconds(goal.deadline)}")])
    rules(axes, "y", [(goal.budget, PURPLE, f"budget {goal.budget or 0:g}")], dash="--")
    for name, choice, colour, size in _choices(result):
        style = {"markersize": size, "fillstyle": "none"}
        lines(axes, [(f"{name}: K = {choice.k}", colour, "o", [at(choice)])], **style)
    axes.set_xscale("log")
    axes.margins(0.12)
    jobs = f"{result.campaign.jobs:,} jobs" if result.campaign.jobs > 1 else "1 job"
    price = f"{unit_words(result.k_unit)} at {result.tariff.per_hour:g} {result.tariff.currency}/h"
    words = wrapped(f"{result.name.partition(',')[0][:60]}: {jobs}, {price}", figure) if title else ""
    below = f"time of {'all jobs' if result.campaign.jobs > 1 else 'one job'} ({unit})"
    name_axes(axes, below, f"cost ({result.tariff.currency})", words, log=True)
    for axis in (axes.xaxis, axes.yaxis):
        plain_numbers(axis, few=figure.get_figwidth() < NARROW_INCHES)


def _interval_bars(axes: Axes, row: PricedRow, seconds: float) -> None:
    """The intervals of time and cost of one K."""
    bar: dict[str, Any] = {"color": COLOURS.get(row.kind, BLUE), "linewidth": 1.2, "alpha": 0.6}
    if row.elapsed.low and row.elapsed.high:
        axes.hlines(row.cost.value, row.elapsed.low / seconds, row.elapsed.high / seconds, **bar)
    if row.cost.low and row.cost.high:
        axes.vlines(row.elapsed.value / seconds, row.cost.low, row.cost.high, **bar)


def _choices(result: Cost) -> list[tuple[str, PricedRow, str, int]]:
    """The K chosen by each goal with the colour and size of its ring; one K that is several shows them all."""
    asked = [
        ("cheapest in time", result.cheapest_in_time, RED, 11),
        ("fastest in budget", result.fastest_in_budget, PURPLE, 15),
        ("best at the value of time", result.best_for_value, ORANGE, 19),
    ]
    found = [(name, row, colour, size) for name, row, colour, size in asked if row is not None]
    return found or [("cheapest", result.cheapest, GREY, 14)]


def paint_plan(figure: Figure, plan: Plan) -> None:
    """Effective speed against P with its regimes, and the efficiencies below it."""
    from matplotlib.ticker import FuncFormatter

    upper, lower = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": [3, 2]})
    figure.suptitle(wrapped(plan.title, figure), x=0.01, ha="left", fontsize="medium")
    write: Callable[[float], str] = format_count
    if plan.strong:
        write = format_flops
        _rate_band(
            upper,
            plan.rows,
            [row.estimate(row.useful_work) for row in plan.rows],
            BLUE,
            "weak scaling (everything grows)",
        )
        _rate_band(
            upper,
            plan.strong,
            [row.estimate(row.useful_work) for row in plan.strong],
            ORANGE,
            "strong scaling (fixed job)",
        )
    else:
        _rate_band(
            upper,
            plan.rows,
            [row.estimate(row.effective_tokens_per_second) for row in plan.rows],
            BLUE,
            f"{plan.regime} scaling",
        )
    upper.set_yscale("log")
    upper.yaxis.set_major_formatter(FuncFormatter(lambda rate, _: write(rate)))
    upper.set_ylabel("model FLOP/s, 90 % band" if plan.strong else "tokens/s, 90 % band")
    statistical = [(row.gpus, row.statistical_efficiency) for row in plan.rows if plan.critical]
    shares: list[Curve] = [
        ("compute share, 1/(1 + comm_frac)", BLUE, "o-", [(row.gpus, row.outcome.efficiency) for row in plan.rows]),
        ("MFU", GREEN, "s--", [(row.gpus, row.outcome.mfu) for row in plan.rows]),
        ("statistical efficiency 1/(1 + B/B_crit)", RED, "^:", statistical),
        ("MFU, fixed job", ORANGE, "s--", [(row.gpus, row.outcome.mfu) for row in plan.strong]),
    ]
    lines(lower, shares, markersize=4)
    lower.set_ylim(0.0, 1.05)
    lower.set(xlabel="accelerators P", ylabel="share")
    log_axis(lower, [row.gpus for row in plan.rows])
    _mark_limits(upper, lower, plan)
    upper.legend(loc="upper left", fontsize="small")
    lower.legend(loc="lower left", fontsize="small")


def _mark_limits(upper: Axes, lower: Axes, plan: Plan) -> None:
    """The limits along P as lines in both panels."""
    first, last = plan.rows[0].gpus, plan.rows[-1].gpus
    for mark in (mark for mark in plan.marks if first <= mark.gpus <= last):
        colour, dash = MARK_LINES[mark.name]
        style: dict[str, Any] = {"color": colour, "linestyle": dash, "linewidth": 1.2, "alpha": 0.9}
        upper.axvline(mark.gpus, label=mark.name, **style)
        lower.axvline(mark.gpus, **style)


def _rate_band(axes: Axes, rows: Sequence[PlanRow], rates: Sequence[Estimate], colour: str, label: str) -> None:
    """Rates over P with their interval."""
    gpus = [row.gpus for row in rows]
    lines(axes, [(label, colour, "o-", [(p, rate.value) for p, rate in zip(gpus, rates, strict=True)])], markersize=4)
    ends = [(p, one.low or one.value, one.high or one.value) for p, one in zip(gpus, rates, strict=True)]
    area(axes, ends, colour, 0.18)


def paint_history(figure: Figure, result: History) -> None:
    """T above, E below, one line for each K; a dashed line stands where T changed."""
    axes = figure.subplots(2, 1, sharex=True)
    for name, own in zip(("time", "efficiency"), axes, strict=True):
        for k, colour, marker in zip(result.all_k, itertools.cycle(SERIES), itertools.cycle(POINTS), strict=False):
            points = [(i, getattr(entry.at(k), name, None)) for i, entry in enumerate(result.entries)]
            lines(own, [(f"K = {k}", colour, f"{marker}-", points)], linewidth=1)
        for change in result.changes:
            own.axvline(change.place - 0.5, color=RED, linestyle="--", linewidth=1)
    axes[0].set(yscale="log", ylabel="T")
    axes[1].set_ylabel("E")
    axes[1].axhline(1.0, color=GREY, linestyle=":", linewidth=1)
    places = list(range(0, len(result.entries), max(1, len(result.entries) // MOST_LABELS)))
    axes[1].set_xticks(places, [result.entries[i].label for i in places], rotation=45, ha="right")
    axes[0].legend(loc="best", ncols=3)
    axes[0].set_title(f"{result.name}: {len(result.entries)} checks, {len(result.changes)} changes", fontsize="medium")
