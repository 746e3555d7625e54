"""A history of checks as a picture: T and E of every K over the commits, changes marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalecurve.render.plots import GREY, MARKERS, RED, SERIES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from scalecurve.auditing.history import History

MOST_LABELS = 12


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
                marker=MARKERS[place % len(MARKERS)],
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
    axes[0].legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))
    axes[0].set_title(f"{result.name}: {len(result.entries)} checks, {len(result.changes)} changes", fontsize=10)
