"""Configurations as a structure of broadcastable arrays: one entry, a column per row of a table, or a whole space."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from scalecurve.training.arrays import Array, as_array


class Recompute(IntEnum):
    NONE = 0
    SELECTIVE = 1
    FULL = 2


class TensorTraffic(IntEnum):
    """How tensor parallelism adds up activations: one all-reduce, its two halves, or the halves with the sequence
    split between them (sequence parallelism, Korthikanti et al. 2022)."""

    ALL_REDUCE = 0
    HALVES = 1
    SEQUENCE = 2


@dataclass(frozen=True, kw_only=True)
class Grid:
    """`*_inner` is how many ranks of that group share a node; counts are whole numbers kept as floats.

    `micro` is sequences per micro-batch and `accumulation` the micro-batches per step and replica.  `shard` is the
    size of the group that ZeRO splits states over (all of dp, or a part with hybrid sharding).
    """

    tp: Array
    pp: Array
    dp: Array
    cp: Array
    ep: Array
    interleave: Array
    micro: Array
    accumulation: Array
    zero: Array
    shard: Array
    recompute: Array
    traffic: Array
    regather: Array  # 1: the gathered activation is not kept but gathered again in the backward pass
    data_overlap: Array  # 1: gradient traffic under the backward pass
    tensor_overlap: Array  # share of tensor-parallel traffic hidden (0 to 1)
    tp_inner: Array
    cp_inner: Array
    ep_inner: Array
    dp_inner: Array
    pp_crosses: Array  # 1: neighbouring stages are on different nodes

    @property
    def sequence_parallel(self) -> Array:
        return as_array(self.traffic == TensorTraffic.SEQUENCE)

    @property
    def gpus(self) -> Array:
        return self.tp * self.pp * self.dp * self.cp

    @property
    def sequences(self) -> Array:
        """The global batch in sequences."""
        return self.dp * self.micro * self.accumulation


def place(tp: Array, cp: Array, dp: Array, pp: Array, ep: Array, node: float) -> dict[str, Array]:
    """The usual placement: tensor ranks nearest, then context, then data, pipeline stages farthest apart."""
    tp_inner = np.gcd(tp.astype(np.int64), int(node)).astype(np.float64)
    tp_inner = np.where(tp <= node, np.minimum(tp, node), tp_inner)
    left = np.maximum(np.floor(node / tp), 1.0)
    cp_inner = np.minimum(cp, left)
    left = np.maximum(np.floor(left / cp), 1.0)
    dp_inner = np.minimum(dp, left)
    ep_inner = np.minimum(ep, np.maximum(np.floor(node / np.where(ep > tp * cp * dp, tp, 1.0)), 1.0))
    crosses = np.where(tp * cp * dp * pp <= node, 0.0, 1.0)
    return {
        "tp_inner": tp_inner,
        "cp_inner": cp_inner,
        "dp_inner": dp_inner,
        "ep_inner": ep_inner,
        "pp_crosses": crosses,
    }
