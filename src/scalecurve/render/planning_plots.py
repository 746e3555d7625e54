"""Pictures of money and time: cost against time, a training run over its accelerators, a history of checks."""

from __future__ import annotations

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
    log_axis,
    plain_numbers,
    wrapped,
    xy,
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
    front = sorted(result.front, key=lambda row: row.elapsed.value)
    style: dict[str, Any] = {"color": GREEN, "linewidth": 5, "alpha": 0.25, "solid_capstyle": "round"}
    axes.plot(
        *xy([(row.elapsed.value / seconds, row.cost.value) for row in front]),
        label="no other K is faster and cheaper",
        **style,
    )
    for kind in dict.fromkeys(row.kind for row in result.rows):
        points = [(row.elapsed.value / seconds, row.cost.value) for row in result.rows if row.kind is kind]
        colour, fill = COLOURS.get(kind, BLUE), "white" if kind in HOLLOW else COLOURS.get(kind, BLUE)
        style = {"linestyle": "", "marker": MARKERS[kind], "color": colour, "markerfacecolor": fill, "zorder": 3}
        axes.plot(*xy(points), label=str(kind), markersize=6, **style)
    for row in result.rows:
        bar: dict[str, Any] = {"color": COLOURS.get(row.kind, BLUE), "linewidth": 1.2, "alpha": 0.6}
        if row.elapsed.low and row.elapsed.high:
            axes.hlines(row.cost.value, row.elapsed.low / seconds, row.elapsed.high / seconds, **bar)
        if row.cost.low and row.cost.high:
            axes.vlines(row.elapsed.value / seconds, row.cost.low, row.cost.high, **bar)
        label: dict[str, Any] = {"xytext": (5, 4), "textcoords": "offset points", "fontsize": "small", "zorder": 5}
        axes.annotate(f"K = {row.k}", (row.elapsed.value / seconds, row.cost.value), **label)
    if result.goal.deadline is not None:
        label_of_it = f"deadline {format_seconds(result.goal.deadline)}"
        axes.axvline(result.goal.deadline / seconds, color=RED, linestyle=":", linewidth=1.2, label=label_of_it)
    if result.goal.budget is not None:
        budget = result.goal.budget
        axes.axhline(budget, color=PURPLE, linestyle="--", linewidth=1.2, label=f"budget {budget:g}")
    # Rings of different size, so that one K that is several choices shows them all.
    choices = [
        ("cheapest in time", result.cheapest_in_time, RED, 11),
        ("fastest in budget", result.fastest_in_budget, PURPLE, 15),
        ("best at the value of time", result.best_for_value, ORANGE, 19),
    ]
    if not any(row for _, row, _, _ in choices):
        choices = [("cheapest", result.cheapest, GREY, 14)]
    for name, choice, colour, size in choices:
        if choice is not None:
            style = {"marker": "o", "markersize": size, "fillstyle": "none", "color": colour, "linestyle": ""}
            axes.plot(
                *xy([(choice.elapsed.value / seconds, choice.cost.value)]), label=f"{name}: K = {choice.k}", **style
            )
    axes.set_xscale("log")
    axes.set_yscale("log")
    few = figure.get_figwidth() < NARROW_INCHES
    plain_numbers(axes.xaxis, few=few)
    plain_numbers(axes.yaxis, few=few)
    axes.margins(0.12)
    axes.set_xlabel(f"time of {'all jobs' if result.campaign.jobs > 1 else 'one job'} ({unit})")
    axes.set_ylabel(f"cost ({result.tariff.currency})")
    if title:
        jobs = f"{result.campaign.jobs:,} jobs" if result.campaign.jobs > 1 else "1 job"
        price = f"{unit_words(result.k_unit)} at {result.tariff.per_hour:g} {result.tariff.currency}/h"
        text = wrapped(f"{result.name.partition(',')[0][:60]}: {jobs}, {price}", figure)
        axes.set_title(text, loc="left", fontsize="medium")
    axes.legend(loc="best", labelspacing=0.6)


def paint_plan(figure: Figure, plan: Plan) -> None:
    """Effective speed against P with its regimes, and the efficiencies below it."""
    from matplotlib.ticker import FuncFormatter

    upper, lower = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": [3, 2]})
    figure.suptitle(wrapped(plan.title, figure), x=0.01, ha="left", fontsize="medium")
    if plan.strong:
        _rate_band(upper, plan.rows, [row.work_rate for row in plan.rows], BLUE, "weak scaling (everything grows)")
        _rate_band(upper, plan.strong, [row.work_rate for row in plan.strong], ORANGE, "strong scaling (fixed job)")
    else:
        _rate_band(upper, plan.rows, [row.token_rate for row in plan.rows], BLUE, f"{plan.regime} scaling")
    upper.set_yscale("log")
    write = format_flops if plan.strong else format_count
    upper.yaxis.set_major_formatter(FuncFormatter(lambda rate, _: write(rate)))
    upper.set_ylabel("model FLOP/s, 90 % band" if plan.strong else "tokens/s, 90 % band")
    gpus = [row.gpus for row in plan.rows]
    shares: list[tuple[str, str, str, Sequence[tuple[float, float | None]]]] = [
        ("compute share, 1/(1 + comm_frac)", "o-", BLUE, [(row.gpus, row.outcome.efficiency) for row in plan.rows]),
        ("MFU", "s--", GREEN, [(row.gpus, row.outcome.mfu) for row in plan.rows]),
    ]
    if plan.critical:
        statistical = [(row.gpus, row.statistical_efficiency) for row in plan.rows]
        shares.append(("statistical efficiency 1/(1 + B/B_crit)", "^:", RED, statistical))
    if plan.strong:
        shares.append(("MFU, fixed job", "s--", ORANGE, [(row.gpus, row.outcome.mfu) for row in plan.strong]))
    for label, form, colour, points in shares:
        lower.plot(*xy(points), marker=form[0], linestyle=form[1:], color=colour, label=label, markersize=4)
    lower.set_ylim(0.0, 1.05)
    lower.set_xlabel("accelerators P")
    lower.set_ylabel("share")
    log_axis(lower, gpus)
    for mark in plan.marks:
        if gpus[0] <= mark.gpus <= gpus[-1]:
            colour, dash = MARK_LINES[mark.name]
            style: dict[str, Any] = {"color": colour, "linestyle": dash, "linewidth": 1.2, "alpha": 0.9}
            upper.axvline(mark.gpus, label=mark.name, **style)
            lower.axvline(mark.gpus, **style)
    upper.legend(loc="upper left", fontsize="small")
    lower.legend(loc="lower left", fontsize="small")


def _rate_band(axes: Axes, rows: Sequence[PlanRow], rates: Sequence[Estimate], colour: str, label: str) -> None:
    """Rates over P with their interval."""
    gpus = [row.gpus for row in rows]
    axes.plot(gpus, [rate.value for rate in rates], "o-", color=colour, label=label, markersize=4)
    lows, highs = [rate.low or rate.value for rate in rates], [rate.high or rate.value for rate in rates]
    axes.fill_between(gpus, lows, highs, color=colour, alpha=0.18, linewidth=0)


def paint_history(figure: Figure, result: History) -> None:
    """T above, E below, one line for each K; a dashed line stands where T changed."""
    axes = figure.subplots(2, 1, sharex=True)
    for name, own in zip(("time", "efficiency"), axes, strict=True):
        for place, k in enumerate(result.all_k):
            points = [(i, point) for i, entry in enumerate(result.entries) if (point := entry.at(k)) is not None]
            own.plot(
                [i for i, _ in points],
                [getattr(point, name) for _, point in points],
                color=SERIES[place % len(SERIES)],
                marker=POINTS[place % len(MARKERS)],
                linewidth=1,
                label=f"K = {k}",
            )
        for change in result.changes:
            own.axvline(change.place - 0.5, color=RED, linestyle="--", linewidth=1)
    axes[0].set_yscale("log")
    axes[0].set_ylabel("T")
    axes[1].set_ylabel("E")
    axes[1].axhline(1.0, color=GREY, linestyle=":", linewidth=1)
    step = max(1, len(result.entries) // MOST_LABELS)
    places = list(range(0, len(result.entries), step))
    axes[1].set_xticks(places, [result.entries[i].label for i in places], rotation=45, ha="right")
    axes[0].legend(loc="best", ncols=3)
    axes[0].set_title(f"{result.name}: {len(result.entries)} checks, {len(result.changes)} changes", fontsize="medium")


PLANS: dict[str, Callable[[Figure, Any], None]] = {
    "Cost": paint_cost,
    "History": paint_history,
    "Plan": paint_plan,
}
