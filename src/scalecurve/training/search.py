"""Every layout of a model on P accelerators, evaluated at once: memory first, then time, ties to the simpler layout.

The space is a table of degrees (tp, pp, cp, ep, dp) crossed with micro-batch, recomputation, interleaving and sharding.
Terms that depend on few of these are computed on their few values and meet by broadcasting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.training.arrays import Array, as_array
from scalecurve.training.calibration import Calibration
from scalecurve.training.cluster import Cluster
from scalecurve.training.grid import Grid, Recompute, TensorTraffic, place
from scalecurve.training.layout import RECOMPUTE, Layout
from scalecurve.training.machine import Machine
from scalecurve.training.machines import resolve
from scalecurve.training.memory import USABLE, memory
from scalecurve.training.shape import Shape
from scalecurve.training.stack import Stack
from scalecurve.training.steptime import step_time
from scalecurve.training.transformer import Transformer

MICRO = (1, 2, 4, 8, 16)
CHUNKS = (1, 2, 3, 4, 6, 8)
MODES = [(mode, split) for split in (False, True) for mode in (Recompute.NONE, Recompute.SELECTIVE, Recompute.FULL)]
SHARDING = ((0, False), (1, False), (2, False), (3, False), (3, True))
LONG_CONTEXT = 16384
TIE = 1e-4  # layouts this close in time are equal, and the simpler wins

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is to be split: the model and batch, the machine, and what the search may not do."""

    model: Transformer
    cluster: Cluster
    stack: Stack
    calibration: Calibration
    seq: int
    precision: str = "bf16"
    max_tp: int = 64
    allow_recompute: bool = True
    usable: float = USABLE


def divisors(number: int) -> list[int]:
    small = [value for value in range(1, int(number**0.5) + 1) if number % value == 0]
    return sorted({*small, *(number // value for value in small)})


def degrees(task: Task, gpus: int, sequences: int) -> Iterator[tuple[int, int, int, int, int]]:
    """(tp, pp, cp, ep, dp) with tp pp cp dp = gpus that this model and batch allow."""
    for tp in (value for value in divisors(gpus) if value <= task.max_tp and splits(task.model, value)):
        for cp in _context_degrees(task, gpus // tp):
            for pp in (value for value in divisors(gpus // tp // cp) if stages(task.model, value)):
                dp = gpus // (tp * cp * pp)
                if sequences % dp == 0:
                    yield from ((tp, pp, cp, ep, dp) for ep in _expert_degrees(task.model, tp * cp * dp))


def splits(model: Transformer, tp: int) -> bool:
    return model.heads % tp == 0 and model.hidden % tp == 0


def stages(model: Transformer, places: int) -> bool:
    """Stages of equal depth, or one or two layers short of it (126 in 128 places)."""
    return places <= model.layers and -model.layers % places <= min(3, places // 4)


def _context_degrees(task: Task, left: int) -> list[int]:
    if task.seq < LONG_CONTEXT:
        return [1]
    return [value for value in divisors(left) if value <= 64 and task.seq // value >= LONG_CONTEXT // 4]


def _expert_degrees(model: Transformer, ranks: int) -> list[int]:
    if not model.experts:
        return [1]
    return [value for value in divisors(model.experts) if ranks % value == 0]


@dataclass(frozen=True)
class Space:
    """The grid of one search and where it is valid; the first axis runs over `gpus`."""

    grid: Grid
    valid: Mask
    gpus: npt.NDArray[np.int64]

    @property
    def count(self) -> int:
        return int(self.valid.sum())


def space(task: Task, wanted: Sequence[tuple[int, int]]) -> Space:
    """All layouts for each (gpus, global batch in sequences)."""
    table = [(gpus, sequences, *split) for gpus, sequences in wanted for split in degrees(task, gpus, sequences)] or [
        (0, 0, 1, 1, 1, 1, 1)
    ]
    columns = np.array(table, dtype=np.float64).T
    gpus, sequences, tp, pp, cp, ep, dp = (column.reshape(-1, 1, 1, 1, 1) for column in columns)
    micro = as_array(MICRO).reshape(1, -1, 1, 1, 1)
    mode = as_array([mode for mode, _ in MODES]).reshape(1, 1, -1, 1, 1)
    split = np.array([split for _, split in MODES]).reshape(1, 1, -1, 1, 1)
    chunks = as_array(CHUNKS).reshape(1, 1, 1, -1, 1)
    zero = as_array([stage for stage, _ in SHARDING]).reshape(1, 1, 1, 1, -1)
    hybrid = np.array([part for _, part in SHARDING]).reshape(1, 1, 1, 1, -1)
    near = place(tp, cp, dp, pp, ep, float(task.cluster.node))
    grid = Grid(
        tp=tp, pp=pp, dp=dp, cp=cp, ep=ep, interleave=chunks, micro=micro,
        accumulation=sequences / (dp * micro), zero=zero, shard=np.where(hybrid, near["dp_inner"], dp), recompute=mode,
        traffic=np.where(split, float(TensorTraffic.SEQUENCE), float(TensorTraffic.ALL_REDUCE)),
        regather=as_array(1.0), data_overlap=as_array(task.stack.data_overlap),
        tensor_overlap=as_array(task.stack.tensor_overlap), **near,
    )  # fmt: skip
    return Space(grid, _valid(task, grid, split, hybrid) & (gpus > 0), columns[0].astype(np.int64))


def _valid(task: Task, grid: Grid, split: Mask, hybrid: Mask) -> Mask:
    places = grid.pp * grid.interleave
    short = np.mod(-task.model.layers, places)
    chunked = (grid.pp > 1) & (np.mod(grid.accumulation, grid.pp) == 0) & (places <= task.model.layers)
    chunked &= short <= np.minimum(3.0, places / 4.0)
    rules = [
        np.mod(grid.accumulation, 1.0) == 0,
        ~split | ((grid.tp > 1) & (np.mod(task.seq, grid.tp) == 0)),
        (grid.interleave == 1) | chunked,
        (grid.zero == 0) | (grid.dp * grid.cp > 1),
        (grid.zero < 2) | (grid.pp == 1),
        ~hybrid | ((grid.shard > 1) & (grid.shard < grid.dp)),
    ]
    if not task.allow_recompute:
        rules.append(grid.recompute == Recompute.NONE)
    valid = rules[0]
    for rule in rules[1:]:
        valid = valid & rule
    result: Mask = valid
    return result


@dataclass(frozen=True)
class Evaluated:
    """Seconds and bytes of every entry of a space."""

    seconds: Array
    bytes: Array


def evaluate_grid(machine: Machine, shape: Shape, grid: Grid) -> Evaluated:
    """Every configuration of a grid, for memory and time."""
    return Evaluated(step_time(machine, shape, grid).total, memory(machine, shape, grid).total)


@dataclass(frozen=True)
class Found:
    """The best layouts at one P, fastest first, and what stood in the way of the others."""

    gpus: int
    layouts: tuple[Layout, ...]
    tried: int
    least_bytes: float | None  # of all layouts, whether they fit or not
    data_parallel_fits: bool  # some layout with tp = pp = 1 fits
    data_parallel_valid: bool  # some layout with tp = pp = 1 honours the batch, whether it fits or not
    sequences: int  # the global batch that was to be split


def search(task: Task, wanted: Sequence[tuple[int, int]], *, top: int = 1) -> list[Found]:
    """The fastest layouts that fit, for each (gpus, sequences)."""
    places = space(task, wanted)
    machine = resolve(task.cluster, task.stack, task.calibration.constants, task.precision)
    shape = task.model.shape(task.seq)
    result = evaluate_grid(machine, shape, places.grid)
    whole = places.valid.shape
    seconds, held = (np.broadcast_to(values, whole) for values in (result.seconds, result.bytes))
    fits = places.valid & (held <= task.usable * task.cluster.accelerator.capacity)
    return [_best(places, seconds, held, fits, gpus, sequences, top) for gpus, sequences in wanted]


def _best(places: Space, seconds: Array, held: Array, fits: Mask, gpus: int, sequences: int, top: int) -> Found:
    rows = np.flatnonzero(places.gpus == gpus)
    valid, inside = places.valid[rows], fits[rows]
    least = float(held[rows][valid].min()) if valid.any() else None
    plain = places.grid.tp[rows] * places.grid.pp[rows] == 1
    possible = bool((plain & valid).any())
    if not inside.any():
        return Found(gpus, (), int(valid.sum()), least, False, possible, sequences)
    times = np.where(inside, seconds[rows], np.inf)
    flat = np.argsort(times, axis=None, kind="stable")[: max(256, 8 * top)]
    flat = flat[np.isfinite(times.ravel()[flat])]
    sizes = held[rows].ravel()
    layouts = [
        (float(times.ravel()[index]), float(sizes[index]), _layout(places.grid, rows, times.shape, int(index)))
        for index in flat
    ]
    fitting = bool((plain & inside).any())
    return Found(gpus, _ranked(layouts)[:top], int(valid.sum()), least, fitting, possible, sequences)


def _ranked(layouts: list[tuple[float, float, Layout]]) -> tuple[Layout, ...]:
    """(seconds, bytes, layout), fastest first; among layouts within TIE of one another the simplest.  Of layouts equal
    in time and memory only the simplest is kept: the others are no alternative."""
    ordered: dict[tuple[str, str], Layout] = {}
    left = list(layouts)
    while left:
        limit = left[0][0] * (1.0 + TIE)
        near = [entry for entry in left if entry[0] <= limit]
        for seconds, held, layout in sorted(near, key=lambda entry: complexity(entry[2])):
            ordered.setdefault((f"{seconds:.9g}", f"{held:.9g}"), layout)
        left = left[len(near) :]
    return tuple(ordered.values())


def complexity(layout: Layout) -> tuple[int, ...]:
    """How much there is to set up: fewer axes, smaller degrees, less machinery."""
    axes = sum(degree > 1 for degree in (layout.tp, layout.pp, layout.cp, layout.ep, layout.interleave))
    extras = layout.zero + RECOMPUTE[layout.recompute] + bool(layout.shard) + layout.sequence_parallel
    return (axes, extras, layout.tp * layout.pp * layout.cp, layout.interleave, layout.ep, -layout.micro)


def _layout(grid: Grid, rows: npt.NDArray[np.int64], shape: tuple[int, ...], index: int) -> Layout:
    row, micro, mode, chunk, zero = np.unravel_index(index, shape)
    at = rows[row]
    first: dict[str, Any] = {name: int(getattr(grid, name)[at, 0, 0, 0, 0]) for name in ("tp", "pp", "dp", "cp", "ep")}
    stage, hybrid = SHARDING[zero]
    recompute, split = MODES[mode]
    names = {value: name for name, value in RECOMPUTE.items()}
    return Layout(
        **first,
        micro=MICRO[micro],
        accumulation=int(grid.accumulation[at, micro, 0, 0, 0]),
        interleave=CHUNKS[chunk],
        zero=stage,
        shard=int(grid.shard[at, 0, 0, 0, zero]) if hybrid else None,
        recompute=names[recompute],
        sequence_parallel=split,
    )
