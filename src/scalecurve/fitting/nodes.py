"""Whole nodes as a term of their own: what more nodes give where the measured K say little or nothing of the network.

From one node on, performance grows as the number of nodes to a power: the one measured between nodes where two or more
of them were, else one from `ACROSS`.  A node may be full (memory, cores) and yet two do twice as much, or the network
may eat it.  The point goes part of the way to that term, the further the flatter the curve within the node is, and the
interval holds both; where the node is full its low end is that of the nodes, which know why the curve was flat.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

CROSSING, WORST_ACROSS = 0.45, -0.45  # log performance lost at worst by leaving the node, and the power of nodes then
ACROSS = (0.6, 1.02)  # the power of the number of nodes by which performance grows, where no second node was measured
MEASURED_ACROSS = 0.25  # to both sides of the power that was measured
BEYOND_ONE = 0.4  # how far a flat end says the same where more nodes were measured
FULL_NODE = 0.42  # the last slope below which a node begins to count as full
NODES_SHARE, FULL_SHARE = 0.5, 0.4  # of the term of whole nodes in the point forecast, and more where a node is full
NODES_ENOUGH = 3  # K at or beyond one full node that are extrapolated alone: the inside says little about the network


@dataclass(frozen=True)
class AcrossNodes:
    """Log performance of whole nodes at each K, its range at 90 % and `worst`, and how far it `moved` the forecast.

    `full` is 1 where the curve within the node is flat, so that more nodes are what it needs, and 0 where it rises.
    The range is NaN at K that cross no node.
    """

    low: Array
    high: Array
    moved: Array
    worst: Array
    full: float

    def around(self, low: Array, high: Array, level: float) -> tuple[Array, Array]:
        """An interval of the forecast within the node, extended by that of the nodes where they count."""
        middle, tail = (self.low + self.high) / 2, np.log(1 - level) / np.log(0.1)
        least, most, worst = (middle + tail * (end - middle) for end in (self.low, self.high, self.worst))
        counts, deeper = np.isfinite(self.low), low + self.full * np.maximum(least - low, 0.0)
        deeper = np.minimum(np.maximum(deeper, worst), least)
        return np.where(counts, deeper, low), np.where(counts, np.maximum(high, most), high)


def across_nodes(k: Array, logs: Array, node: float, at: Array, ahead: Array, start: Array) -> AcrossNodes:
    """The term of whole nodes at `at`, from the measured log performance at rising `k`.

    `ahead` is the forecast without it, `start` the log performance at one full node or at the largest K beyond it.
    """
    edge = max(float(node), float(k[-1]))
    least, most = ACROSS
    nodes = k >= node
    if nodes.sum() >= 2:
        power = float((logs[-1] - logs[nodes][0]) / np.log(k[-1] / k[nodes][0]))
        least, most = min(power, 1.0) - MEASURED_ACROSS, min(power + MEASURED_ACROSS, 1.05)
    steps = np.where(at > edge, np.log(np.maximum(at, edge) / edge), np.nan)
    low, high = start + least * steps, start + most * steps
    last = float((logs[-1] - logs[-2]) / np.log(k[-1] / k[-2]))
    flat, one_node = float(np.clip((FULL_NODE - last) / 0.3, 0.0, 1.0)), nodes.sum() < 2
    share = NODES_SHARE + FULL_SHARE * flat * one_node
    moved = np.where(at > edge, share * ((low + high) / 2 - ahead), 0.0)
    return AcrossNodes(
        low, high, moved, start - CROSSING + WORST_ACROSS * steps, flat * (1.0 if one_node else BEYOND_ONE)
    )
