"""The planner's picture: effective speed against P with its regimes, and efficiency below it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scalecurve.errors import Fault, InputError
from scalecurve.estimate import Estimate
from scalecurve.render.plots import BLUE, FORMATS, GREEN, GREY, ORANGE, PURPLE, RED, paint
from scalecurve.study.atomic import write_atomically
from scalecurve.training.answers.curve import PlanRow
from scalecurve.training.answers.plan import Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINES = {
    "statistical cap": (RED, "--"), "granularity cap": (ORANGE, "-."), "node boundary": (GREY, ":"),
    "tp or pp forced": (PURPLE, ":"), "all-reduce no longer hidden": (GREY, "--"), "cost-effective scale": (GREEN, "-"),
}  # fmt: skip


def draw_plan(plan: Plan, path: Path) -> None:
    """Draw a sweep to a file, whole or not at all."""
    kind = path.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        raise InputError(Fault("unknown picture format", seen=path.name, remedy="name the file .svg, .png or .pdf"))
    write_atomically(path, paint(lambda figure: paint_plan(figure, plan), kind, size=(8.5, 6.8)))


def paint_plan(figure: Figure, plan: Plan) -> None:
    upper, lower = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": [3, 2]})
    figure.suptitle(plan.title, fontsize=11)
    _speed(upper, plan)
    _efficiency(lower, plan)
    _marks(upper, lower, plan)
    upper.legend(loc="upper left", fontsize=8)
    lower.legend(loc="lower left", fontsize=8)


def _speed(axes: Axes, plan: Plan) -> None:
    if plan.strong:
        _band(axes, plan.rows, [row.work_rate for row in plan.rows], BLUE, "weak scaling (everything grows)")
        _band(axes, plan.strong, [row.work_rate for row in plan.strong], ORANGE, "strong scaling (fixed job)")
    else:
        _band(axes, plan.rows, [row.token_rate for row in plan.rows], BLUE, f"{plan.regime} scaling")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_ylabel("model FLOP/s, 90 % band" if plan.strong else "tokens/s, 90 % band")


def _band(axes: Axes, rows: Sequence[PlanRow], rates: Sequence[Estimate], colour: str, label: str) -> None:
    gpus = [row.gpus for row in rows]
    axes.plot(gpus, [rate.value for rate in rates], "o-", color=colour, label=label, markersize=4)
    lows, highs = [rate.low or rate.value for rate in rates], [rate.high or rate.value for rate in rates]
    axes.fill_between(gpus, lows, highs, color=colour, alpha=0.18, linewidth=0)


def _efficiency(axes: Axes, plan: Plan) -> None:
    gpus = [row.gpus for row in plan.rows]
    axes.plot(
        gpus,
        [row.outcome.efficiency for row in plan.rows],
        "o-",
        color=BLUE,
        label="E = 1/(1 + comm_frac)",
        markersize=4,
    )
    axes.plot(gpus, [row.outcome.mfu for row in plan.rows], "s--", color=GREEN, label="MFU", markersize=4)
    if plan.critical:
        shares = [row.statistical_efficiency for row in plan.rows]
        axes.plot(gpus, shares, "^:", color=RED, label="statistical efficiency 1/(1 + B/B_crit)", markersize=4)
    if plan.strong:
        axes.plot(
            [row.gpus for row in plan.strong],
            [row.outcome.mfu for row in plan.strong],
            "s--",
            color=ORANGE,
            label="MFU, fixed job",
            markersize=4,
        )
    axes.set_ylim(0.0, 1.05)
    axes.set_xlabel("accelerators P")
    axes.set_ylabel("share")
    axes.set_xticks(gpus, [f"{count:,}" for count in gpus], rotation=45)
    axes.minorticks_off()


def _marks(upper: Axes, lower: Axes, plan: Plan) -> None:
    low, high = plan.rows[0].gpus, plan.rows[-1].gpus
    for mark in plan.marks:
        if mark.gpus is None or not low <= mark.gpus <= high:
            continue
        colour, dash = LINES[mark.name]
        for axes in (upper, lower):
            axes.axvline(
                mark.gpus,
                color=colour,
                linestyle=dash,
                linewidth=1.2,
                alpha=0.9,
                label=mark.name if axes is upper else None,
            )
