"""Pictures of the mechanisms; the numbers are in the results, nothing is computed here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalecurve.render.plots import BLUE, GREEN, GREY, MARKERS, ORANGE, RED, SERIES, area, lines, name_axes, rules, xy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from scalecurve.mechanisms import CollectiveCost, LoadCurve, Roofline, StepCost, StragglerCost, WorkDepth


def _ranks_below(axes: Axes, values: list[int]) -> None:
    """Powers of two along the number of ranks, with a tick at each value."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(values, [str(value) for value in values])
    axes.minorticks_off()


def paint_collective(figure: Figure, result: CollectiveCost) -> None:
    """Time over ranks for every algorithm, the lower bound below them."""
    axes = figure.subplots()
    rows = result.rows
    for i, name in enumerate(dict.fromkeys(name for row in rows for name in row.others)):
        points = [(row.ranks, row.others.get(name) or None) for row in rows]
        look = (SERIES[i % len(SERIES)], f"{MARKERS[i % len(MARKERS)]}-")
        lines(axes, [(name, *look, points)], markersize=4, linewidth=1.2)
    lines(axes, [("lower bound", GREY, "--", [(row.ranks, row.bound or None) for row in rows])])
    name_axes(axes, "ranks", "seconds", f"{result.operation} over {result.network.name}", log=True)
    _ranks_below(axes, [row.ranks for row in rows])


def paint_step(figure: Figure, result: StepCost) -> None:
    """Compute, communication and their sum over K."""
    axes = figure.subplots()
    rows = result.rows
    lines(
        axes,
        [
            ("compute", GREEN, "s-", [(row.workers, row.compute) for row in rows]),
            ("all-reduce", ORANGE, "^-", [(row.workers, row.communication or None) for row in rows]),
            ("step, nothing overlapped", BLUE, "o-", [(row.workers, row.to_dict()["seconds"]) for row in rows]),
        ],
    )
    rules(axes, "x", [(result.exceeds_at, RED, f"communication exceeds compute: K = {result.exceeds_at}")])
    name_axes(axes, "K", "seconds", f"a step with its gradient all-reduce, {result.regime} scaling", log=True)
    _ranks_below(axes, [row.workers for row in rows])


def paint_work_depth(figure: Figure, result: WorkDepth) -> None:
    """T_P between its bounds, over P."""
    axes = figure.subplots()
    rows = result.rows
    area(
        axes,
        [(row.workers, row.least, row.greedy_bound) for row in rows],
        BLUE,
        0.15,
        "between max(W/P, D) and (W-D)/P + D",
    )
    lines(axes, [("greedy schedule", BLUE, "o-", [(row.workers, row.simulated) for row in rows])])
    rules(axes, "y", [(result.depth, RED, "depth D: no schedule is faster")])
    name_axes(axes, "workers P", f"T_P ({result.unit})", "work and depth", log=True)
    _ranks_below(axes, [row.workers for row in rows])


def paint_straggler(figure: Figure, result: StragglerCost) -> None:
    """Barrier efficiency over K: a barrier at every step against one at the end."""
    axes = figure.subplots()
    rows = [row.to_dict() | {"workers": row.workers} for row in result.rows]
    axes.axhline(1.0, color=GREY, linestyle="--", linewidth=1, label="no waiting")
    names = {
        "efficiency": ("barrier every step", BLUE, "o-"),
        "end_efficiency": (f"one barrier after {result.steps} steps", GREEN, "s-"),
        "simulated_efficiency": ("simulated", ORANGE, "x"),
    }
    lines(axes, [(*look, [(row["workers"], row[name]) for row in rows]) for name, look in names.items()])
    axes.set_ylim(0, 1.05)
    name_axes(axes, "K", "barrier efficiency, mean / slowest", f"stragglers, {result.delays}")
    _ranks_below(axes, [row["workers"] for row in rows])


def paint_load(figure: Figure, result: LoadCurve) -> None:
    """Latency against offered load, with the knee and the queue model."""
    axes = figure.subplots()
    points = result.points
    tails = [(point.offered, point.p99.estimate.value) for point in points if point.p99.estimate is not None]
    lines(
        axes,
        [
            ("mean", BLUE, "o-", [(point.offered, point.mean) for point in points]),
            ("p99", RED, "^-", tails),
            ("M/M/c mean", GREY, "--", [(point.offered, point.mmc) for point in points]),
        ],
    )
    rules(axes, "x", [(result.knee, GREEN, f"knee {result.knee or 0:.4g}/s")])
    rules(axes, "y", [(result.slo, ORANGE, "SLO")])
    name_axes(axes, "offered requests per second", "seconds", "latency over load", log=True)


def paint_roofline(figure: Figure, result: Roofline) -> None:
    """The plot people know: both axes logarithmic, ceilings labelled, kernels named, hollow where nothing was timed."""
    axes = figure.subplots()
    for i, (label, corners) in enumerate(result.lines):
        colour, dash = SERIES[i % len(SERIES)], "-" if i + 1 < len(result.lines) else "--"
        lines(axes, [(label, colour, dash, corners)], linewidth=1.6)
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
    below = f"intensity (flop per byte of {result.level})"
    name_axes(axes, below, "flop/s", f"roofline of {result.machine}", log=True, legend="lower right")
