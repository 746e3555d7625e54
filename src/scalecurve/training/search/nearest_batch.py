"""The batch nearest to the one asked for that P accelerators can share evenly."""

from __future__ import annotations

from scalecurve.training.inputs.layout import Layout, grid_of_layouts
from scalecurve.training.inputs.stack import device_of
from scalecurve.training.physics.steptime import step_time
from scalecurve.training.search.search import SearchTask, degrees, search

CANDIDATES = 6  # batches tried, nearest first
FAR = 0.5  # a batch that differs by more than this share is no neighbour
AS_FAST = 0.95  # of the best candidate's tokens/s: among these the nearest is proposed


def nearest_batch(task: SearchTask, gpus: int, sequences: int) -> int | None:
    """Sequences of the nearest global batch with a layout that fits and is about as fast as any; None without one."""
    whole = {gpus // (tp * pp * cp) for tp, pp, cp, *_ in degrees(task, gpus, 0)}
    near = {max(round(sequences / replicas), 1) * replicas for replicas in whole}
    near = {count for count in near if abs(count / sequences - 1.0) <= FAR}
    rates: dict[int, float] = {}
    for count in sorted(near, key=lambda count: (abs(count - sequences), count))[:CANDIDATES]:
        [best] = search(task, [(gpus, count)])
        if best.layouts:
            rates[count] = count / _step_seconds(task, best.layouts[0])
    if not rates:
        return None
    fast = [count for count, rate in rates.items() if rate >= AS_FAST * max(rates.values())]
    return min(fast, key=lambda count: (abs(count - sequences), count))


def _step_seconds(task: SearchTask, layout: Layout) -> float:
    device = device_of(task.cluster, task.stack, task.calibration.constants, task.precision)
    overlap, share = task.stack.data_overlap, task.stack.tensor_overlap
    grid = grid_of_layouts([layout], task.cluster.node, data_overlap=overlap, tensor_overlap=share)
    return float(step_time(device, task.model.shape(task.seq), grid).total.item())
