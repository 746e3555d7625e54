"""A quick sweep over cluster sizes, for questions asked while a slider moves.

For every P a few hundred ways to split a dense model are put through the physics in one call, and the one with the
most tokens per second that fits is kept.  The batch is what both the target and the critical batch allow,
B = min(B_target, B_crit), so replicas are limited to

    dp <= B / (micro accum seq),     at most B / seq with micro = accum = 1          (the cap)

and beyond the cap more accelerators can only split the model further (tensor, pipeline), which costs communication:
E = 1/(1 + comm_frac), comm_frac = (exposed communication + bubble) / compute.

Left out: experts, context parallelism, ZeRO-2 and 3, failures; `scalecurve plan` searches these too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.errors import Fault, InputError
from scalecurve.training.arrays import Array
from scalecurve.training.calibration import calibration_of
from scalecurve.training.cluster import Cluster
from scalecurve.training.grid import Grid, Recompute, TensorTraffic, place
from scalecurve.training.machine import Machine
from scalecurve.training.machines import resolve
from scalecurve.training.memory import USABLE, memory
from scalecurve.training.stack import Stack
from scalecurve.training.steptime import step_time, terms
from scalecurve.training.transformer import Transformer

TENSOR = (1, 2, 4, 8, 16)
PIPELINE = (1, 2, 4, 8, 16, 32, 64)
MICRO = (1, 2, 4)
RECOMPUTE = (Recompute.NONE, Recompute.SELECTIVE, Recompute.FULL)
PAYING = 1.7  # a doubling of accelerators still pays while it brings at least this factor in tokens per second


@dataclass(frozen=True, kw_only=True)
class QuickRow:
    """The best split at one P; `regime` is data while replicas can still be added, model beyond the cap."""

    gpus: int
    regime: str
    layout: dict[str, int]
    step_seconds: float
    breakdown: dict[str, float]
    comm_frac: float
    mfu: float
    memory_bytes: float
    tokens: float

    @property
    def efficiency(self) -> float:
        return 1.0 / (1.0 + self.comm_frac)

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.step_seconds

    def to_dict(self) -> dict[str, Any]:
        return {
            "gpus": self.gpus,
            "regime": self.regime,
            "layout": self.layout,
            "step_seconds": self.step_seconds,
            "breakdown": self.breakdown,
            "comm_frac": self.comm_frac,
            "efficiency": self.efficiency,
            "mfu": self.mfu,
            "memory_bytes": self.memory_bytes,
            "batch_tokens": self.tokens,
            "tokens_per_second": self.tokens_per_second,
        }


@dataclass(frozen=True, kw_only=True)
class QuickSweep:
    """Rows by P; `cap_replicas` is B/seq and `cap_gpus` the accelerators those replicas take at their smallest."""

    rows: tuple[QuickRow, ...]
    cap_replicas: int
    cap_gpus: int | None
    smallest_gpus: int | None
    cost_effective_gpus: int | None
    parameters: float

    def to_dict(self) -> dict[str, Any]:
        return {
            "rows": [row.to_dict() for row in self.rows],
            "cap_replicas": self.cap_replicas,
            "cap_gpus": self.cap_gpus,
            "smallest_gpus": self.smallest_gpus,
            "cost_effective_gpus": self.cost_effective_gpus,
            "parameters": self.parameters,
        }


def quick_sweep(
    model: Transformer,
    cluster: Cluster,
    stack: Stack,
    *,
    seq: int,
    batch_tokens: float,
    critical_tokens: float,
    gpus: Sequence[int],
) -> QuickSweep:
    """The best split of a dense model at every P, with the batch held at min(target, critical)."""
    if model.is_moe:
        raise InputError(Fault("the quick sweep takes dense models", seen=model.name, remedy="use scalecurve plan"))
    sequences = max(1, int(min(batch_tokens, critical_tokens) // seq))
    machine = resolve(cluster, stack, calibration_of(cluster.accelerator, stack).constants)
    grid = _candidates(model, stack, machine, np.array(sorted(set(gpus)), dtype=np.float64), sequences)
    smallest = _smallest(model, machine, stack, sequences, seq)
    rows = _best(model, machine, grid, seq, None if smallest is None else smallest * sequences)
    cap = None if smallest is None else smallest * sequences
    return QuickSweep(
        rows=tuple(rows),
        cap_replicas=sequences,
        cap_gpus=cap,
        smallest_gpus=smallest,
        cost_effective_gpus=_paying(rows),
        parameters=model.parameters,
    )


def _candidates(model: Transformer, stack: Stack, machine: Machine, gpus: Array, sequences: int) -> Grid:
    """Every combination of the axes that uses all P, divides the model, and keeps to the batch."""
    axes = np.meshgrid(gpus, TENSOR, PIPELINE, MICRO, [float(each) for each in RECOMPUTE], indexing="ij")
    count, tp, pp, micro, recompute = (axis.ravel().astype(np.float64) for axis in axes)
    dp = count / (tp * pp)
    fits = (dp >= 1) & (dp == np.floor(dp)) & (model.heads % tp == 0) & _even_enough(model.layers, pp)
    fits &= dp * micro <= sequences
    tp, pp, dp, micro, recompute = (axis[fits] for axis in (tp, pp, dp, micro, recompute))
    return _grid(model, stack, machine, tp, pp, dp, micro, np.floor(sequences / (dp * micro)), recompute)


def _even_enough(layers: int, places: Array) -> npt.NDArray[np.bool_]:
    """Stages of equal depth, or short by so few layers that the ends even them out (126 in 128 places)."""
    even: npt.NDArray[np.bool_] = (places <= layers) & (
        -layers % places <= np.maximum(3.0, places // 16) * (places > 1)
    )
    return even


def _grid(
    model: Transformer,
    stack: Stack,
    machine: Machine,
    tp: Array,
    pp: Array,
    dp: Array,
    micro: Array,
    many: Array,
    recompute: Array,
) -> Grid:
    one = np.ones_like(tp)
    chunks = np.where((pp > 1) & (model.layers % (2 * pp) == 0), 2.0, 1.0)
    return Grid(
        tp=tp,
        pp=pp,
        dp=dp,
        cp=one,
        ep=one,
        interleave=chunks,
        micro=micro,
        accumulation=many,
        zero=np.where(dp > 1, 1.0, 0.0),
        shard=dp,
        recompute=recompute,
        traffic=np.where(tp > 1, float(TensorTraffic.SEQUENCE), float(TensorTraffic.ALL_REDUCE)),
        regather=one,
        data_overlap=one * float(stack.data_overlap),
        tensor_overlap=one * stack.tensor_overlap,
        **place(tp, one, dp, pp, one, machine.node),
    )


def _best(model: Transformer, machine: Machine, everything: Grid, seq: int, cap: int | None) -> list[QuickRow]:
    """Memory first: only what fits is timed."""
    shape = model.shape(seq)
    everywhere = np.broadcast_to(memory(machine, shape, everything).total, everything.tp.shape)
    fits = everywhere <= USABLE * machine.capacity
    grid, held = _chosen(everything, fits), everywhere[fits]
    if not len(grid.tp):
        return []
    step = step_time(machine, shape, grid)
    rate = grid.sequences * seq / step.total
    flop = float(shape.flop_per_token) * seq
    parts = {name: np.broadcast_to(getattr(step, name), grid.tp.shape) for name in terms()}
    rows = []
    for count in np.unique(grid.gpus):
        here = np.flatnonzero(grid.gpus == count)
        chosen = int(here[np.argmax(rate[here])])
        rows.append(_row(grid, chosen, parts, float(held[chosen]), machine, seq, flop, cap))
    return rows


def _chosen(grid: Grid, which: npt.NDArray[np.bool_]) -> Grid:
    return replace(grid, **{entry.name: getattr(grid, entry.name)[which] for entry in fields(grid)})


def _row(
    grid: Grid,
    i: int,
    parts: dict[str, Array],
    held: float,
    machine: Machine,
    seq: int,
    flop: float,
    cap: int | None,
) -> QuickRow:
    breakdown = {name: float(part[i]) for name, part in parts.items()}
    compute = breakdown["compute"] + breakdown["recompute"] + breakdown["optimizer"]
    step = sum(breakdown.values())
    used = float(grid.sequences[i])
    layout = {name: int(getattr(grid, name)[i]) for name in ("dp", "tp", "pp", "micro", "accumulation", "recompute")}
    return QuickRow(
        gpus=int(grid.gpus[i]),
        regime="data" if cap is not None and grid.gpus[i] <= cap else "model",
        layout=layout,
        step_seconds=step,
        breakdown=breakdown,
        comm_frac=(step - compute) / compute,
        mfu=used * flop / (step * float(grid.gpus[i]) * machine.model_peak),
        memory_bytes=held,
        tokens=used * seq,
    )


def _smallest(model: Transformer, machine: Machine, stack: Stack, sequences: int, seq: int) -> int | None:
    """The fewest accelerators one replica fits on when all replicas share the optimiser's states."""
    axes = np.meshgrid(TENSOR, PIPELINE, indexing="ij")
    tp, pp = (axis.ravel().astype(np.float64) for axis in axes)
    whole = (model.heads % tp == 0) & _even_enough(model.layers, pp)
    tp, pp = tp[whole], pp[whole]
    one = np.ones_like(tp)
    grid = _grid(model, stack, machine, tp, pp, one * sequences, one, one, one * float(Recompute.FULL))
    held = np.broadcast_to(memory(machine, model.shape(seq), grid).total, tp.shape)
    fitting = (tp * pp)[held <= USABLE * machine.capacity]
    return int(fitting.min()) if len(fitting) else None


def _paying(rows: Sequence[QuickRow]) -> int | None:
    """The largest P reached by doublings that each still pay."""
    by_gpus = {row.gpus: row for row in rows}
    best = None
    for row in rows:
        half = by_gpus.get(row.gpus // 2)
        if half is not None and row.tokens_per_second < PAYING * half.tokens_per_second:
            return best
        best = row.gpus
    return best
