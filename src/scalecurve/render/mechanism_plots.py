"""Pictures of the mechanisms; the numbers are in the results, nothing is computed here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from scalecurve.mechanisms import CollectiveCost, LoadCurve, Roofline, StepCost, StragglerCost, WorkDepth

BLUE, ORANGE, GREEN, GREY, RED = "#0072B2", "#E69F00", "#009E73", "#6b6b6b", "#D55E00"
SERIES = (BLUE, ORANGE, GREEN, "#CC79A7", RED, "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def painter_of(result: Any) -> Callable[[Figure], None] | None:
    """The painter for a mechanism's result, or None if it has no picture."""
    painters: dict[str, Callable[[Axes, Any], None]] = {
        "CollectiveCost": collective_axes,
        "StepCost": step_axes,
        "LoadCurve": load_axes,
        "Roofline": roofline_axes,
        "StragglerCost": straggler_axes,
        "WorkDepth": work_depth_axes,
    }
    paint = painters.get(type(result).__name__)
    return None if paint is None else lambda figure: paint(figure.subplots(), result)


def _log_ranks(axes: Axes, label: str, values: list[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(values, [str(value) for value in values])
    axes.minorticks_off()
    axes.set_xlabel(label)


def collective_axes(axes: Axes, result: CollectiveCost) -> None:
    """Time over ranks for every algorithm, the lower bound below them."""
    ranks = [row.ranks for row in result.rows]
    names = list(dict.fromkeys(name for row in result.rows for name in row.others))
    for i, name in enumerate(names):
        points = [(row.ranks, row.others[name]) for row in result.rows if row.others.get(name)]
        axes.plot(
            [p for p, _ in points],
            [t for _, t in points],
            color=SERIES[i % len(SERIES)],
            marker=MARKERS[i % len(MARKERS)],
            markersize=4,
            linewidth=1.2,
            label=name,
        )
    bound = [(row.ranks, row.bound) for row in result.rows if row.bound]
    axes.plot([p for p, _ in bound], [t for _, t in bound], color=GREY, linestyle="--", label="lower bound")
    axes.set_yscale("log")
    _log_ranks(axes, "ranks", ranks)
    axes.set_ylabel("seconds")
    axes.set_title(f"{result.operation} over {result.network.name}")
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))


def step_axes(axes: Axes, result: StepCost) -> None:
    """Compute, communication and their sum over K."""
    k = [row.workers for row in result.rows]
    axes.plot(k, [row.compute for row in result.rows], color=GREEN, marker="s", label="compute")
    several = [row for row in result.rows if row.communication > 0]
    axes.plot(
        [r.workers for r in several], [r.communication for r in several], color=ORANGE, marker="^", label="all-reduce"
    )
    axes.plot(
        k, [row.to_dict()["seconds"] for row in result.rows], color=BLUE, marker="o", label="step, nothing overlapped"
    )
    if result.exceeds_at is not None:
        axes.axvline(
            result.exceeds_at, color=RED, linestyle=":", label=f"communication exceeds compute: K = {result.exceeds_at}"
        )
    axes.set_yscale("log")
    _log_ranks(axes, "K", k)
    axes.set_ylabel("seconds")
    axes.set_title(f"a step with its gradient all-reduce, {result.regime} scaling")
    axes.legend(fontsize=8)


def work_depth_axes(axes: Axes, result: WorkDepth) -> None:
    """T_P between its bounds, over P."""
    p = [row.workers for row in result.rows]
    axes.fill_between(
        p,
        [row.least for row in result.rows],
        [row.greedy_bound for row in result.rows],
        color=BLUE,
        alpha=0.15,
        label="between max(W/P, D) and (W-D)/P + D",
    )
    simulated = [(row.workers, row.simulated) for row in result.rows if row.simulated is not None]
    if simulated:
        axes.plot([a for a, _ in simulated], [b for _, b in simulated], color=BLUE, marker="o", label="greedy schedule")
    axes.axhline(result.depth, color=RED, linestyle=":", label="depth D: no schedule is faster")
    axes.set_yscale("log")
    _log_ranks(axes, "workers P", p)
    axes.set_ylabel(f"T_P ({result.unit})")
    axes.set_title("work and depth")
    axes.legend(fontsize=8)


def straggler_axes(axes: Axes, result: StragglerCost) -> None:
    """Barrier efficiency over K: a barrier at every step against one at the end."""
    k = [row.workers for row in result.rows]
    axes.axhline(1.0, color=GREY, linestyle="--", linewidth=1, label="no waiting")
    axes.plot(
        k, [row.to_dict()["efficiency"] for row in result.rows], color=BLUE, marker="o", label="barrier every step"
    )
    ends = [(row.workers, row.to_dict()["end_efficiency"]) for row in result.rows if row.at_end is not None]
    axes.plot(
        [a for a, _ in ends],
        [b for _, b in ends],
        color=GREEN,
        marker="s",
        label=f"one barrier after {result.steps} steps",
    )
    seen = [(row.workers, row.to_dict()["simulated_efficiency"]) for row in result.rows if row.simulated]
    axes.plot([a for a, _ in seen], [b for _, b in seen], color=ORANGE, marker="x", linestyle="none", label="simulated")
    axes.set_ylim(0, 1.05)
    _log_ranks(axes, "K", k)
    axes.set_ylabel("barrier efficiency, mean / slowest")
    axes.set_title(f"stragglers, {result.delays}")
    axes.legend(fontsize=8)


def load_axes(axes: Axes, result: LoadCurve) -> None:
    """Latency against offered load, with the knee and the queue model."""
    offered = [point.offered for point in result.points]
    axes.plot(offered, [point.mean for point in result.points], color=BLUE, marker="o", label="mean")
    high = [(point.offered, point.p99.value) for point in result.points if point.p99 is not None]
    axes.plot([a for a, _ in high], [b for _, b in high], color=RED, marker="^", label="p99")
    model = [(point.offered, point.mmc) for point in result.points if point.mmc is not None]
    axes.plot([a for a, _ in model], [b for _, b in model], color=GREY, linestyle="--", label="M/M/c mean")
    axes.axvline(result.knee, color=GREEN, linestyle=":", label=f"knee {result.knee:.4g}/s")
    if result.slo is not None:
        axes.axhline(result.slo, color=ORANGE, linestyle=":", label="SLO")
    axes.set_yscale("log")
    axes.set_xlabel("offered requests per second")
    axes.set_ylabel("seconds")
    axes.set_title("latency over load")
    axes.legend(fontsize=8)


def roofline_axes(axes: Axes, result: Roofline) -> None:
    """The plot people know: log-log, ceilings labelled, kernels named."""
    for i, (label, corners) in enumerate(result.lines):
        xs, ys = [x for x, _ in corners], [y for _, y in corners]
        style = "-" if i + 1 < len(result.lines) else "--"
        axes.plot(xs, ys, color=SERIES[i % len(SERIES)], linestyle=style, linewidth=1.6, label=label)
        axes.annotate(label, (xs[0], ys[0]), textcoords="offset points", xytext=(2, 5), fontsize=8, color=SERIES[i])
    for i, each in enumerate(result.placements):
        height = each.achieved or each.attainable
        if each.intensity and height:
            hollow = "none" if each.achieved is None else SERIES[i % len(SERIES)]
            axes.plot([each.intensity], [height], marker=MARKERS[i % len(MARKERS)], color=SERIES[i % len(SERIES)],
                      markerfacecolor=hollow, linestyle="none")  # fmt: skip
            axes.annotate(
                each.kernel.name, (each.intensity, height), textcoords="offset points", xytext=(6, -10), fontsize=8
            )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(f"intensity (flop per byte of {result.level})")
    axes.set_ylabel("flop/s")
    axes.set_title(f"roofline of {result.machine}")
    axes.legend(fontsize=8, loc="lower right")
