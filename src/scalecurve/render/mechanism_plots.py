"""Pictures of the mechanisms; the numbers are in the results, nothing is computed here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scalecurve.render.plots import BLUE, GREEN, GREY, MARKERS, ORANGE, RED, SERIES, xy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scalecurve.mechanisms import CollectiveCost, LoadCurve, Roofline, StepCost, StragglerCost, WorkDepth


def _log_ranks(axes: Axes, label: str, values: list[int]) -> None:
    """Powers of two along the number of ranks, with a tick at each value."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(values, [str(value) for value in values])
    axes.minorticks_off()
    axes.set_xlabel(label)


def collective_axes(axes: Axes, result: CollectiveCost) -> None:
    """Time over ranks for every algorithm, the lower bound below them."""
    names = list(dict.fromkeys(name for row in result.rows for name in row.others))
    for i, name in enumerate(names):
        points = [(row.ranks, row.others.get(name) or None) for row in result.rows]
        marker = MARKERS[i % len(MARKERS)]
        axes.plot(*xy(points), color=SERIES[i % len(SERIES)], marker=marker, markersize=4, linewidth=1.2, label=name)
    bounds = [(row.ranks, row.bound or None) for row in result.rows]
    axes.plot(*xy(bounds), color=GREY, linestyle="--", label="lower bound")
    axes.set_yscale("log")
    _log_ranks(axes, "ranks", [row.ranks for row in result.rows])
    axes.set_ylabel("seconds")
    axes.set_title(f"{result.operation} over {result.network.name}", loc="left", fontsize="medium")
    axes.legend(loc="best")


def step_axes(axes: Axes, result: StepCost) -> None:
    """Compute, communication and their sum over K."""
    rows = result.rows
    axes.plot(*xy([(row.workers, row.compute) for row in rows]), color=GREEN, marker="s", label="compute")
    communication = [(row.workers, row.communication) for row in rows if row.communication > 0]
    axes.plot(*xy(communication), color=ORANGE, marker="^", label="all-reduce")
    steps = [(row.workers, row.to_dict()["seconds"]) for row in rows]
    axes.plot(*xy(steps), color=BLUE, marker="o", label="step, nothing overlapped")
    if result.exceeds_at is not None:
        label = f"communication exceeds compute: K = {result.exceeds_at}"
        axes.axvline(result.exceeds_at, color=RED, linestyle=":", label=label)
    axes.set_yscale("log")
    _log_ranks(axes, "K", [row.workers for row in rows])
    axes.set_ylabel("seconds")
    axes.set_title(f"a step with its gradient all-reduce, {result.regime} scaling", loc="left", fontsize="medium")
    axes.legend(loc="best")


def work_depth_axes(axes: Axes, result: WorkDepth) -> None:
    """T_P between its bounds, over P."""
    workers = [row.workers for row in result.rows]
    lows, highs = [row.least for row in result.rows], [row.greedy_bound for row in result.rows]
    axes.fill_between(workers, lows, highs, color=BLUE, alpha=0.15, label="between max(W/P, D) and (W-D)/P + D")
    simulated = [(row.workers, row.simulated) for row in result.rows if row.simulated is not None]
    if simulated:
        axes.plot(*xy(simulated), color=BLUE, marker="o", label="greedy schedule")
    axes.axhline(result.depth, color=RED, linestyle=":", label="depth D: no schedule is faster")
    axes.set_yscale("log")
    _log_ranks(axes, "workers P", workers)
    axes.set_ylabel(f"T_P ({result.unit})")
    axes.set_title("work and depth", loc="left", fontsize="medium")
    axes.legend(loc="best")


def straggler_axes(axes: Axes, result: StragglerCost) -> None:
    """Barrier efficiency over K: a barrier at every step against one at the end."""
    rows = [row.to_dict() | {"workers": row.workers} for row in result.rows]
    axes.axhline(1.0, color=GREY, linestyle="--", linewidth=1, label="no waiting")
    every = [(row["workers"], row["efficiency"]) for row in rows]
    axes.plot(*xy(every), color=BLUE, marker="o", label="barrier every step")
    at_end = [(row["workers"], row["end_efficiency"]) for row in rows]
    axes.plot(*xy(at_end), color=GREEN, marker="s", label=f"one barrier after {result.steps} steps")
    simulated = [(row["workers"], row["simulated_efficiency"]) for row in rows]
    axes.plot(*xy(simulated), color=ORANGE, marker="x", linestyle="none", label="simulated")
    axes.set_ylim(0, 1.05)
    _log_ranks(axes, "K", [row.workers for row in result.rows])
    axes.set_ylabel("barrier efficiency, mean / slowest")
    axes.set_title(f"stragglers, {result.delays}", loc="left", fontsize="medium")
    axes.legend(loc="best")


def load_axes(axes: Axes, result: LoadCurve) -> None:
    """Latency against offered load, with the knee and the queue model."""
    points = result.points
    axes.plot(*xy([(point.offered, point.mean) for point in points]), color=BLUE, marker="o", label="mean")
    tails = [(point.offered, point.p99.estimate.value) for point in points if point.p99.estimate is not None]
    axes.plot(*xy(tails), color=RED, marker="^", label="p99")
    axes.plot(*xy([(point.offered, point.mmc) for point in points]), color=GREY, linestyle="--", label="M/M/c mean")
    if result.knee is not None:
        axes.axvline(result.knee, color=GREEN, linestyle=":", label=f"knee {result.knee:.4g}/s")
    if result.slo is not None:
        axes.axhline(result.slo, color=ORANGE, linestyle=":", label="SLO")
    axes.set_yscale("log")
    axes.set_xlabel("offered requests per second")
    axes.set_ylabel("seconds")
    axes.set_title("latency over load", loc="left", fontsize="medium")
    axes.legend(loc="best")


def roofline_axes(axes: Axes, result: Roofline) -> None:
    """The plot people know: both axes logarithmic, ceilings labelled, kernels named, hollow where nothing was timed."""
    for i, (label, corners) in enumerate(result.lines):
        colour, dash = SERIES[i % len(SERIES)], "-" if i + 1 < len(result.lines) else "--"
        axes.plot(*xy(corners), color=colour, linestyle=dash, linewidth=1.6, label=label)
        axes.annotate(label, corners[0], textcoords="offset points", xytext=(2, 5), fontsize="small", color=colour)
    for i, placement in enumerate(result.placements):
        height = placement.achieved or placement.attainable
        if placement.intensity and height:
            colour, place = SERIES[i % len(SERIES)], (placement.intensity, height)
            fill = "none" if placement.achieved is None else colour
            marker = MARKERS[i % len(MARKERS)]
            axes.plot(*xy([place]), marker=marker, color=colour, markerfacecolor=fill, linestyle="none", markersize=6)
            name = placement.kernel.name
            axes.annotate(name, place, textcoords="offset points", xytext=(6, -10), fontsize="small")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(f"intensity (flop per byte of {result.level})")
    axes.set_ylabel("flop/s")
    axes.set_title(f"roofline of {result.machine}", loc="left", fontsize="medium")
    axes.legend(loc="lower right")


MECHANISMS: dict[str, Callable[[Axes, Any], None]] = {
    "CollectiveCost": collective_axes,
    "StepCost": step_axes,
    "LoadCurve": load_axes,
    "Roofline": roofline_axes,
    "StragglerCost": straggler_axes,
    "WorkDepth": work_depth_axes,
}
