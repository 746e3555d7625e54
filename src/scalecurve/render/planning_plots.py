"""Pictures of plans: time against cost of a job, and speed and efficiency of a training run over its accelerators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from scalecurve.planning.cost_rows import unit_words
from scalecurve.planning.curve import Kind
from scalecurve.render.plots import (
    BLUE,
    GREEN,
    GREY,
    NARROW_INCHES,
    ORANGE,
    PURPLE,
    RED,
    outside_legend,
    plain_numbers,
    plain_text,
    xy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from scalecurve.estimate import Estimate
    from scalecurve.planning.cost import Cost
    from scalecurve.training.answers.curve import PlanRow
    from scalecurve.training.answers.plan import Plan

MARKERS = {Kind.MEASURED: "o", Kind.INTERPOLATED: "D", Kind.FORECAST: "s", Kind.LAW: "o", Kind.PLANNED: "^"}
HOLLOW = (Kind.INTERPOLATED, Kind.FORECAST)
MARK_LINES = {
    "statistical cap": (RED, "--"), "granularity cap": (ORANGE, "-."), "node boundary": (GREY, ":"),
    "tp or pp forced": (PURPLE, ":"), "all-reduce no longer hidden": (GREY, "--"), "cost-effective scale": (GREEN, "-"),
}  # fmt: skip


def cost_axes(axes: Axes, result: Cost) -> None:
    """Time and cost of all jobs, both logarithmic; a point's label is its K, a hollow marker was not measured."""
    front = sorted(result.front, key=lambda row: row.elapsed.value)
    style: dict[str, Any] = {"color": GREEN, "linewidth": 5, "alpha": 0.25, "solid_capstyle": "round"}
    axes.plot(*xy([(row.hours, row.cost.value) for row in front]), label="no other K is faster and cheaper", **style)
    for kind in dict.fromkeys(row.kind for row in result.rows):
        points = [(row.hours, row.cost.value) for row in result.rows if row.kind is kind]
        fill = "white" if kind in HOLLOW else BLUE
        style = {"linestyle": "", "marker": MARKERS[kind], "color": BLUE, "markerfacecolor": fill, "zorder": 3}
        axes.plot(*xy(points), label=str(kind), markersize=6, **style)
    for row in result.rows:
        if row.elapsed.low and row.elapsed.high:
            axes.hlines(row.cost.value, row.elapsed.low / 3600, row.elapsed.high / 3600, color="black", linewidth=1)
        if row.cost.low and row.cost.high:
            axes.vlines(row.hours, row.cost.low, row.cost.high, color="black", linewidth=1)
        place = (row.hours, row.cost.value)
        axes.annotate(f"K = {row.k}", place, xytext=(6, 5), textcoords="offset points", fontsize=8)
    if result.goal.deadline is not None:
        hours = result.goal.deadline / 3600
        axes.axvline(hours, color=RED, linestyle=":", linewidth=1.2, label=f"deadline {hours:g} h")
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
            axes.plot(*xy([(choice.hours, choice.cost.value)]), label=f"{name}: K = {choice.k}", **style)
    axes.set_xscale("log")
    axes.set_yscale("log")
    plain_numbers(axes.xaxis)
    plain_numbers(axes.yaxis)
    axes.margins(0.12)
    axes.set_xlabel("time of all jobs (hours)" if result.campaign.jobs > 1 else "time of one job (hours)")
    axes.set_ylabel(f"cost ({result.tariff.currency})")
    jobs = f"{result.campaign.jobs:,} jobs" if result.campaign.jobs > 1 else "1 job"
    price = f"{unit_words(result.k_unit)} at {result.tariff.per_hour:g} {result.tariff.currency}/h"
    axes.set_title(plain_text(f"{result.name.partition(',')[0][:60]}: {jobs}, {price}"), loc="left", fontsize=10)
    axes.legend(loc="best", fontsize=8, labelspacing=0.8)


def cost_in_report(figure: Figure, result: Cost) -> None:
    """Cost against time with the legend outside, and few ticks where there is little room."""
    from matplotlib.ticker import LogLocator

    axes = figure.subplots()
    cost_axes(axes, result)
    legend = axes.get_legend()
    if legend is not None:
        legend.remove()
    axes.set_title("")
    if figure.get_figwidth() < NARROW_INCHES:
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0,), numticks=5))
    outside_legend(figure, 3)


def paint_plan(figure: Figure, plan: Plan) -> None:
    """Effective speed against P with its regimes, and the efficiencies below it."""
    upper, lower = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": [3, 2]})
    figure.suptitle(plan.title, fontsize=11)
    if plan.strong:
        _rate_band(upper, plan.rows, [row.work_rate for row in plan.rows], BLUE, "weak scaling (everything grows)")
        _rate_band(upper, plan.strong, [row.work_rate for row in plan.strong], ORANGE, "strong scaling (fixed job)")
    else:
        _rate_band(upper, plan.rows, [row.token_rate for row in plan.rows], BLUE, f"{plan.regime} scaling")
    upper.set_xscale("log", base=2)
    upper.set_yscale("log")
    upper.set_ylabel("model FLOP/s, 90 % band" if plan.strong else "tokens/s, 90 % band")
    gpus = [row.gpus for row in plan.rows]
    shares: list[tuple[str, str, str, Sequence[tuple[float, float | None]]]] = [
        ("E = 1/(1 + comm_frac)", "o-", BLUE, [(row.gpus, row.outcome.efficiency) for row in plan.rows]),
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
    lower.set_xticks(gpus, [f"{count:,}" for count in gpus], rotation=45)
    lower.minorticks_off()
    for mark in plan.marks:
        if mark.gpus is not None and gpus[0] <= mark.gpus <= gpus[-1]:
            colour, dash = MARK_LINES[mark.name]
            style: dict[str, Any] = {"color": colour, "linestyle": dash, "linewidth": 1.2, "alpha": 0.9}
            upper.axvline(mark.gpus, label=mark.name, **style)
            lower.axvline(mark.gpus, **style)
    upper.legend(loc="upper left", fontsize=8)
    lower.legend(loc="lower left", fontsize=8)


def _rate_band(axes: Axes, rows: Sequence[PlanRow], rates: Sequence[Estimate], colour: str, label: str) -> None:
    """Rates over P with their interval."""
    gpus = [row.gpus for row in rows]
    axes.plot(gpus, [rate.value for rate in rates], "o-", color=colour, label=label, markersize=4)
    lows, highs = [rate.low or rate.value for rate in rates], [rate.high or rate.value for rate in rates]
    axes.fill_between(gpus, lows, highs, color=colour, alpha=0.18, linewidth=0)


PLANS: dict[str, Callable[[Figure, Any], None]] = {
    "Cost": lambda figure, result: cost_axes(figure.subplots(), result),
    "Plan": paint_plan,
}
