"""Every layout of a model on P accelerators, evaluated at once: memory first, then time, ties to the simpler layout.

The space is a table of degrees (tp, pp, cp, ep, dp) crossed with micro-batch, recomputation, interleaving and sharding.
Terms that depend on few of these are computed on their few values and meet by broadcasting.

With P the job stays fixed (`search_strong`), or its batch grows up to the critical one, or model, tokens and batch grow
(`search_growing`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from scalecurve.training.inputs.capabilities import can_run
from scalecurve.training.inputs.cluster import Cluster
from scalecurve.training.inputs.layout import Grid, Layout, Recompute, Schedule, grid_of_layouts, place_ranks
from scalecurve.training.inputs.request import GlobalBatch
from scalecurve.training.inputs.stack import Device, Stack, StackCalibration, device_of
from scalecurve.training.inputs.transformer import Array, Shape, Transformer, as_array
from scalecurve.training.physics.memory import USABLE, memory
from scalecurve.training.physics.run import CriticalBatch
from scalecurve.training.physics.steptime import step_time

LONG_CONTEXT = 16384  # tokens from which any split of the sequence is tried; below it powers of two
SHORTEST_PART = 1024  # tokens of a sequence that a context rank has at least; a quarter of LONG_CONTEXT from there on
LARGEST_MICRO = 131_072  # tokens of a micro-batch of more than FULL.micro sequences
LARGER_MICRO = (32, 64, 128)  # sequences of a micro-batch, where they are short
MAX_TP = 64
UNUSUAL = 0.05  # what a layout that splits short sequences must gain beyond a tie
TIE = 0.02  # layouts this close in time are equal, and the one that experts prefer wins
CANDIDATES = 4096  # fastest entries at each P that are compared
NEAR = (0.85, 1.05)  # times the batch that is meant: what one that divides well may be
EMPTY = 0.05  # share of the places of a pipeline that may be without a layer
CRITICAL_POWER = 0.47  # critical batch ~ tokens^0.47 (Zhang et al. 2024)
EVEN_BATCHES = 5  # batches that divide well, tried where the batch grows
USUAL_TOKENS = 2**22  # of a batch that is not given: with what most published runs of 7 to 100 billion parameters begin
NEAR_BATCHES = 6  # batches tried, nearest first
FAR = 0.5  # a batch that differs by more than this share is no neighbour
AS_FAST = 0.95  # of the best candidate's tokens/s: among these the nearest is proposed

MODEL_DEGREES = ("tp", "pp", "cp")  # what splits the model, and stays as P grows where nothing is lost by it

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Axes:
    """Values tried along each axis of the search beside the degrees of parallelism."""

    micro: tuple[int, ...]
    chunks: tuple[int, ...]
    modes: tuple[tuple[Recompute, bool], ...]  # recomputation, sequence parallelism
    sharding: tuple[tuple[int, bool], ...]  # ZeRO stage, hybrid sharding
    powers_of_two: bool = False  # degrees that are powers of two only


FULL = Axes(
    micro=(1, 2, 4, 8, 16),
    chunks=(1, 2, 3, 4, 5, 6, 7, 8, 12),
    modes=tuple(
        (mode, split) for split in (False, True) for mode in (Recompute.NONE, Recompute.SELECTIVE, Recompute.FULL)
    ),
    sharding=((0, False), (1, False), (2, False), (3, False), (3, True)),
)
COARSE = Axes(
    micro=(1, 2, 4),
    chunks=(1, 2, 4, 8),
    modes=tuple((mode, split) for split in (False, True) for mode in (Recompute.NONE, Recompute.FULL)),
    sharding=((0, False), (1, False), (2, False), (3, False)),
    powers_of_two=True,
)


@dataclass(frozen=True, kw_only=True)
class SearchTask:
    """What is to be split: the model and batch, the machine, and what the search may not do."""

    model: Transformer
    cluster: Cluster
    stack: Stack
    calibration: StackCalibration
    seq: int
    precision: str = "bf16"
    adapters: bool = False  # low-rank adapters are trained, the weights are frozen
    max_tp: int = MAX_TP
    usable: float = USABLE
    axes: Axes = FULL
    critical_growth: float = 1.0  # this job's critical batch over that of the job the plan started from

    @property
    def device(self) -> Device:
        constants = self.calibration.constants
        return device_of(self.cluster, self.stack, constants, self.precision, frozen=self.adapters)

    @property
    def stack_axes(self) -> Axes:
        """The axes without what the stack cannot do."""
        return replace(
            self.axes,
            modes=tuple(
                (mode, split)
                for mode, split in self.axes.modes
                if mode.name.lower() in self.stack.modes and (self.stack.sequence or not split)
            ),
            sharding=tuple(
                (stage, part)
                for stage, part in self.axes.sharding
                if stage in self.stack.stages and (self.stack.hybrid or not part)
            ),
        )

    @property
    def splits_experts(self) -> bool:
        """Every expert is split over all tensor ranks."""
        return self.model.is_moe and self.stack.expert_ranks == "data"

    @property
    def usable_bytes(self) -> float:
        return self.usable * self.cluster.accelerator.capacity


@lru_cache(maxsize=4096)
def divisors(number: int) -> tuple[int, ...]:
    small = [value for value in range(1, int(number**0.5) + 1) if number % value == 0]
    return tuple(sorted({*small, *(number // value for value in small)}))


def degrees(task: SearchTask, gpus: int, sequences: int) -> Iterator[tuple[int, int, int, int, int]]:
    """(tp, pp, cp, ep, dp) with tp pp cp dp = gpus that this model and batch allow.

    Stages have equal depth, or few places are empty (126 layers in 128, 61 in 64, 32 in 33).
    """
    model, even = task.model, task.axes.powers_of_two
    empty = {pp: -model.layers % pp for pp in range(1, model.layers + 1)}
    depths = [pp for pp, places in empty.items() if places <= EMPTY * (model.layers + places)]
    stages = {pp for pp in depths if not even or pp & (pp - 1) == 0 or model.layers % pp == 0}
    able = task.stack.degrees
    for tp in divisors(gpus) if "tp" in able else (1,):
        if tp > task.max_tp or model.heads % tp or model.hidden % tp or (even and tp & (tp - 1)):
            continue
        scarce = gpus > sequences * task.cluster.node  # not even tensor ranks throughout the node leave enough
        for cp in contexts_of(task, gpus // tp, scarce=scarce) if "cp" in able else (1,):
            for pp in divisors(gpus // tp // cp) if "pp" in able else (1,):
                dp = gpus // (tp * cp * pp)
                if pp in stages and sequences % dp == 0:
                    experts = divisors(model.experts) if model.experts and "ep" in able else (1,)
                    yield from ((tp, pp, cp, ep, dp) for ep in experts if tp * cp * dp % ep == 0)


def contexts_of(task: SearchTask, ranks: int, *, scarce: bool) -> list[int]:
    """Degrees of context parallelism that leave a rank enough of the sequence to work on.  A short sequence is split in
    two at most, or further where the batch has too few sequences for the accelerators."""
    if task.seq >= LONG_CONTEXT:
        return [cp for cp in divisors(ranks) if cp <= 64 and task.seq // cp >= LONG_CONTEXT // 4]
    most = 8 if scarce else 1 if task.axes.powers_of_two else 2
    few = (cp for cp in (2, 4, 8) if cp <= most and task.seq // cp >= SHORTEST_PART and task.seq % (2 * cp) == 0)
    return [1, *(cp for cp in few if ranks % cp == 0)]


def micro_batches(task: SearchTask, sizes: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """Sequences of a micro-batch that are tried: the powers of two, up to many where sequences are short, and a few
    multiples of three and five where a batch divides by them."""
    base = task.axes.micro
    if task.axes.powers_of_two:
        return base
    powers = [*base, *(size for size in LARGER_MICRO if size * task.seq <= LARGEST_MICRO)]
    odd = [factor for factor in (3, 5) if any(sequences % factor == 0 for _, sequences in sizes)]
    return tuple(sorted({*powers, *(factor * size for factor in odd for size in (1, 2))}))


@dataclass(frozen=True)
class Space:
    """The grid of one search and where it is valid; the first axis runs over `gpus`."""

    grid: Grid
    valid: Mask
    gpus: npt.NDArray[np.int64]
    micros: tuple[int, ...]


def space(task: SearchTask, sizes: Sequence[tuple[int, int]]) -> Space:
    """All layouts for each (gpus, global batch in sequences)."""
    axes, layers = task.stack_axes, task.model.layers
    table = [(gpus, sequences, *split) for gpus, sequences in sizes for split in degrees(task, gpus, sequences)]
    columns = np.array(table or [(0, 0, 1, 1, 1, 1, 1)], dtype=np.float64).T
    gpus, sequences, tp, pp, cp, ep, dp = (column.reshape(-1, 1, 1, 1, 1) for column in columns)
    micros = micro_batches(task, sizes)
    micro = as_array(micros).reshape(1, -1, 1, 1, 1)
    mode = as_array([mode for mode, _ in axes.modes]).reshape(1, 1, -1, 1, 1)
    split = np.array([split for _, split in axes.modes]).reshape(1, 1, -1, 1, 1)
    chunks = as_array(axes.chunks).reshape(1, 1, 1, -1, 1)
    zero = as_array([stage for stage, _ in axes.sharding]).reshape(1, 1, 1, 1, -1)
    hybrid = np.array([part for _, part in axes.sharding]).reshape(1, 1, 1, 1, -1)
    near = place_ranks(tp, cp, dp, pp, ep, float(task.cluster.node))
    accumulation = sequences / (dp * micro)
    shard = np.where(hybrid, near["dp_inner"], dp)
    grid = Grid(
        tp=tp, pp=pp, dp=dp, cp=cp, ep=ep, etp=tp if task.splits_experts else as_array(1.0), interleave=chunks,
        micro=micro,
        accumulation=accumulation, zero=zero,
        shard=shard, recompute=mode, sequence_parallel=as_array(split), regather=as_array(1.0),
        data_overlap=as_array(task.stack.data_overlap), tensor_overlap=as_array(task.stack.tensor_overlap), **near,
    )  # fmt: skip
    dual = (pp > 1) & (np.mod(pp, 2) == 0) & task.stack.dualpipe
    grid = replace(grid, schedule=np.where(dual, float(Schedule.DUALPIPE), float(Schedule.ONE_F_ONE_B)))
    places = pp * chunks
    chunked = (pp > 1) & (np.mod(accumulation, pp) == 0) & (places <= layers)
    chunked &= ~dual
    chunked &= np.mod(-layers, places) <= np.minimum(3.0, places / 4.0)
    valid = (
        (gpus > 0)
        & (np.mod(accumulation, 1.0) == 0)
        & (~split | ((tp > 1) & (np.mod(task.seq, tp) == 0)))
        & ((chunks == 1) | chunked)
        & ((zero == axes.sharding[0][0]) | (dp * cp > 1))
        & can_run(task.stack, task.model, grid)
        & (~hybrid | ((shard > 1) & (shard < dp) & (np.mod(dp, shard) == 0)))
        & ((cp == 1) | (micro == 1) | (task.seq >= LONG_CONTEXT))  # several short sequences are not split as well
    )
    return Space(grid, valid, columns[0].astype(np.int64), micros)


def evaluate_grid(device: Device, shape: Shape, grid: Grid) -> tuple[Array, Array]:
    """Seconds of a step and bytes on the fullest accelerator, for every configuration of a grid."""
    return step_time(device, shape, grid).total, memory(device, shape, grid).total


@dataclass(frozen=True)
class BestLayouts:
    """The best layouts at one P, fastest first, and what stood in the way of the others."""

    gpus: int
    sequences: int  # the global batch that was to be split
    layouts: tuple[Layout, ...]
    tried: int
    least_bytes: float | None  # of all layouts, whether they fit or not
    data_parallel_fits: bool  # some layout with tp = pp = cp = 1 fits
    data_parallel_valid: bool  # some layout with tp = pp = cp = 1 honours the batch, whether it fits or not


def search(
    task: SearchTask, sizes: Sequence[tuple[int, int]], *, top: int = 1, neighbour: Layout | None = None
) -> list[BestLayouts]:
    """The fastest `top` layouts that fit, for each (gpus, sequences); among equals those that split the model as
    `neighbour`, the layout of the P before.  A search is made once, whatever the price."""
    free = replace(task.cluster, usd_per_gpu_hour=None, price_source=None)
    return list(_search(replace(task, cluster=free), tuple(sizes), top, neighbour))


@lru_cache(maxsize=256)
def _search(
    task: SearchTask, sizes: tuple[tuple[int, int], ...], top: int, neighbour: Layout | None
) -> tuple[BestLayouts, ...]:
    places = space(task, sizes)
    device = task.device
    whole = places.valid.shape
    totals = evaluate_grid(device, task.model.shape(task.seq), places.grid)
    seconds, held = (np.broadcast_to(values, whole) for values in totals)
    fits = places.valid & (held <= task.usable_bytes)
    best: list[BestLayouts] = []
    for gpus, sequences in sizes:
        rows = np.flatnonzero(places.gpus == gpus)
        valid, fitting = places.valid[rows], fits[rows]
        plain = places.grid.tp[rows] * places.grid.pp[rows] * places.grid.cp[rows] == 1
        chosen = _ranked(task, places, rows, seconds, held, fits, top, neighbour) if fitting.any() else ()
        neighbour = chosen[0] if chosen else neighbour
        best.append(
            BestLayouts(
                gpus=gpus,
                sequences=sequences,
                layouts=chosen,
                tried=int(valid.sum()),
                least_bytes=float(held[rows][valid].min()) if valid.any() else None,
                data_parallel_fits=bool((plain & fitting).any()),
                data_parallel_valid=bool((plain & valid).any()),
            )
        )
    return tuple(best)


def _ranked(
    task: SearchTask, places: Space, rows: npt.NDArray[np.int64], seconds: Array, held: Array, fits: Mask, top: int,
    neighbour: Layout | None,
) -> tuple[Layout, ...]:  # fmt: skip
    """The layouts of these rows that fit, fastest first; among layouts within TIE of one another the preferred.  Of
    layouts equal in time and memory only the preferred is kept: the others are no alternative."""
    shape = (len(rows), *seconds.shape[1:])
    handicap = 1.0 + UNUSUAL * ((places.grid.cp[rows] > 1) & (task.seq < LONG_CONTEXT))
    times = np.where(fits[rows], seconds[rows] * handicap, np.inf).ravel()
    sizes = held[rows].ravel()
    most = min(max(CANDIDATES, 8 * top), len(times))
    near = np.flatnonzero(times <= min(np.partition(times, most - 1)[most - 1], np.finfo(float).max))
    left = near[np.argsort(times[near], kind="stable")][:most]
    ordered: dict[tuple[str, str], int] = {}
    while len(left) and len(ordered) < top:
        tied = times[left] <= times[left[0]] * (1.0 + TIE)
        group = left[tied]
        order = np.lexsort(preferences(task, places, rows, shape, group, neighbour)[::-1])
        for index in group[order]:
            ordered.setdefault((f"{times[index]:.9g}", f"{sizes[index]:.9g}"), int(index))
            if len(ordered) >= top:
                break
        left = left[~tied]
    return tuple(_layout(task, places, rows, shape, index) for index in ordered.values())[:top]


def preferences(
    task: SearchTask, places: Space, rows: npt.NDArray[np.int64], shape: tuple[int, ...],
    group: npt.NDArray[np.int64], neighbour: Layout | None,
) -> list[npt.NDArray[np.float64]]:  # fmt: skip
    """What experts look at among layouts of equal time, most important first, smaller is better: tensor parallelism
    within the node, short sequences whole, the degrees of the neighbouring P, few stages, little recomputation, then
    all that is simpler."""
    row, micro, mode, chunk, sharding = np.unravel_index(group, shape)
    at = rows[row]
    tp, pp, cp, ep = (getattr(places.grid, name)[at, 0, 0, 0, 0] for name in ("tp", "pp", "cp", "ep"))
    axes = task.stack_axes
    modes = axes.modes
    recompute = as_array([float(kind) for kind, _ in modes])[mode]
    split = as_array([float(part) for _, part in modes])[mode]
    zero = as_array([stage + 0.5 * part for stage, part in axes.sharding])[sharding]
    chunks = as_array(axes.chunks)[chunk]
    size = as_array(places.micros)[micro]
    elsewhere = np.zeros(len(group))
    if neighbour is not None:
        elsewhere = ((tp != neighbour.tp) | (pp != neighbour.pp) | (cp != neighbour.cp)).astype(np.float64)
    many = sum((degree > 1).astype(np.float64) for degree in (tp, pp, cp, ep, chunks))
    short = ((cp > 1) & (task.seq < LONG_CONTEXT)).astype(np.float64)
    usual_split = np.where((tp > 1) & task.stack.splits_sequence, 1.0 - split, split)
    return [
        np.maximum(tp / task.cluster.node, 1.0), short, elsewhere, pp, recompute, as_array(many), zero, usual_split,
        tp * cp, chunks, ep, -size,
    ]  # fmt: skip


def _layout(task: SearchTask, places: Space, rows: npt.NDArray[np.int64], shape: tuple[int, ...], index: int) -> Layout:
    """The layout at a flat index into the rows of one P."""
    grid, axes = places.grid, task.stack_axes
    row, micro, mode, chunk, sharding = (int(place) for place in np.unravel_index(index, shape))
    at = rows[row]
    tp, pp, dp, cp, ep = (int(getattr(grid, name)[at, 0, 0, 0, 0]) for name in ("tp", "pp", "dp", "cp", "ep"))
    zero, hybrid = axes.sharding[sharding]
    recompute, split = axes.modes[mode]
    return Layout(
        tp=tp, pp=pp, dp=dp, cp=cp, ep=ep, etp=tp if task.splits_experts else 1, micro=places.micros[micro],
        accumulation=int(grid.accumulation[at, micro, 0, 0, 0]), interleave=axes.chunks[chunk], zero=zero,
        shard=int(grid.shard[at, 0, 0, 0, sharding]) if hybrid else None,
        recompute=recompute.name.lower(), sequence_parallel=split,
        schedule="dualpipe" if grid.schedule[at, 0, 0, 0, 0] == Schedule.DUALPIPE else "1f1b",
    )  # fmt: skip


Searched = tuple[list[BestLayouts], list[SearchTask]]  # the best layouts at each P, and the task that was split there


HALVINGS = 6  # of the layers of a grown model: pipelines of 4 to 128 stages
NEAR_SIZE = 0.06  # a grown model may miss its size by this much where its layers then divide better


def grown_model(model: Transformer, scale: float) -> tuple[Transformer, float, float]:
    """Compute goes as N D with D ~ N, so N and D each grow by sqrt(scale) at constant time to train.  The batch keeps
    the work per accelerator and step (N B / P); the critical batch grows by D^0.47.  Width and depth grow by about the
    cube root of N, in numbers of heads and layers that divide well; a model whose layers are counted kind by kind grows
    in width alone.  Returns the model for `scale` times the compute rate and the factors by which its batch and its
    critical batch grow."""
    size = scale**0.5
    deeper = replace(model, layers=model.layers + 4).parameters > model.parameters
    unit = model.groups if model.kv_heads else 8 if model.heads >= 32 else 4 if model.heads >= 8 else 1
    wide = model.heads * size ** (1.0 / 3.0 if deeper else 1.0 / 2.0)
    wider = [_wider(model, max(count, 1) * unit) for count in (math.floor(wide / unit), math.ceil(wide / unit))]
    even = 4 if model.layers >= 32 else 2 if model.layers >= 8 else 1
    grown = []
    for one in wider if deeper else ():
        layer = (replace(one, layers=one.layers + even).parameters - one.parameters) / even
        layers = one.layers + (size * model.parameters - one.parameters) / layer
        depths = {_multiple(layers, even * 2**power) for power in range(HALVINGS)}
        grown += [replace(one, layers=depth, name=f"{model.name} x{size:.2g}") for depth in depths]
    grown = grown or [replace(one, name=f"{model.name} x{size:.2g}") for one in wider]

    def misfit(one: Transformer) -> tuple[float, ...]:
        """Far from the size, then few halvings of its layers into stages, then the distance."""
        distance = abs(math.log(one.parameters / (size * model.parameters)))
        return (max(distance, NEAR_SIZE), -(one.layers & -one.layers), distance)

    bigger = min(grown, key=misfit)
    grew = bigger.parameters / model.parameters
    return bigger, scale / grew, grew**CRITICAL_POWER


def _wider(model: Transformer, heads: int) -> Transformer:
    """The model with this many heads, its other widths in proportion."""
    wide = heads / model.heads
    hidden = heads * model.head_size if model.head is None else _multiple(model.hidden * wide, 64)
    return replace(
        model, heads=heads, hidden=hidden, ffn=None if model.ffn is None else _multiple(model.ffn * wide, 128)
    )


def _multiple(value: float, unit: int) -> int:
    return max(round(value / unit), 1) * unit


def even_batches(sequences: float, gpus: int) -> tuple[int, ...]:
    """The few batches near so many sequences that divide best: multiples of the powers of two in P, the next below and
    above each; the nearest whole number where none is near enough."""
    units = [2**power for power in reversed(range((gpus & -gpus).bit_length()))]
    near = dict.fromkeys(way(sequences / unit) * unit for unit in units for way in (math.ceil, math.floor))
    enough = [count for count in near if NEAR[0] * sequences <= count <= max(NEAR[1] * sequences, 1.0)]
    return tuple(sorted(enough[:EVEN_BATCHES])) or (max(round(sequences), 1),)


def usual_batch(seq: int, gpus: int) -> int:
    """Sequences of a batch of about USUAL_TOKENS that divide over P accelerators, or over as many replicas as P has."""
    target = USUAL_TOKENS / seq
    if gpus <= target:
        return round(target / gpus) * gpus
    return min(divisors(gpus), key=lambda count: abs(math.log(count / max(target, 1.0))))


def search_near(
    task: SearchTask,
    gpus: int,
    sequences: float,
    critical: CriticalBatch | None,
    *,
    top: int,
    neighbour: Layout | None,
) -> BestLayouts:
    """The best layouts with a batch near `sequences`: the one that gives the most effective tokens per second; among
    equals the one that splits the model as the neighbour."""
    tried = [search(task, [(gpus, count)], top=top, neighbour=neighbour)[0] for count in even_batches(sequences, gpus)]
    limit = math.inf if critical is None else critical.tokens.value * task.critical_growth / task.seq
    shape = task.model.shape(task.seq)
    found = [one for one in tried if one.layouts]
    if not found:
        return tried[-1]
    rates = []
    for one in found:
        seconds = step_time(task.device, shape, layout_grid(task, one.layouts[0])).total.item()
        rates.append(one.sequences / seconds / (1.0 + one.sequences / limit))
    equal = [place for place, rate in enumerate(rates) if rate * (1.0 + TIE) >= max(rates)]
    return found[min(equal, key=lambda place: (moved(found[place].layouts[0], neighbour), -rates[place]))]


def moved(layout: Layout, neighbour: Layout | None) -> bool:
    """Whether the model is split in another way than the neighbour's."""
    return neighbour is not None and any(getattr(layout, name) != getattr(neighbour, name) for name in MODEL_DEGREES)


def layout_grid(task: SearchTask, layout: Layout) -> Grid:
    stack = task.stack
    return grid_of_layouts(
        [layout], task.cluster.node, data_overlap=stack.data_overlap, tensor_overlap=stack.tensor_overlap
    )


def search_strong(task: SearchTask, gpus: Sequence[int], batch: GlobalBatch, *, top: int = 1) -> Searched:
    """The fixed job at every P."""
    best = search(task, [(count, batch.sequences) for count in gpus], top=top)
    return best, [task] * len(best)


def search_growing(
    task: SearchTask,
    gpus: Sequence[int],
    batch: GlobalBatch,
    critical: CriticalBatch | None,
    *,
    weak: bool,
    top: int = 1,
) -> Searched:
    """The job as it grows from the first P it fits on; smaller P stay without a layout.  The batch grows with P up to
    about the critical batch, where it is smaller; with `weak` the model, its tokens and its critical batch grow too."""
    limit = math.inf if critical is None else critical.tokens.value / task.seq
    best: list[BestLayouts] = []
    tasks: list[SearchTask] = []
    start: int | None = None
    before: Layout | None = None
    for count in gpus:
        more, own = 1.0 if start is None else count / start, task
        if weak and start is not None:
            model, more, critical_factor = grown_model(task.model, more)
            own = replace(task, model=model, critical_growth=critical_factor)
        sequences = min(batch.sequences * more, limit * own.critical_growth)
        if sequences == batch.sequences * more and more.is_integer():  # as given, or so many times it
            best += search(own, [(count, int(sequences))], top=top, neighbour=before)
        else:
            best.append(search_near(own, count, sequences, critical, top=top, neighbour=before))
        tasks.append(own)
        before = best[-1].layouts[0] if best[-1].layouts else before
        start = count if start is None and best[-1].layouts else start
    return best, tasks


def nearest_batch(task: SearchTask, gpus: int, sequences: int) -> int | None:
    """Sequences of the nearest global batch with a layout that fits and is about as fast as any; None without one."""
    whole = {gpus // (tp * pp * cp) for tp, pp, cp, *_ in degrees(task, gpus, 0)}
    near = {max(round(sequences / replicas), 1) * replicas for replicas in whole}
    near = {count for count in near if abs(count / sequences - 1.0) <= FAR}
    device = task.device
    rates: dict[int, float] = {}
    for count in sorted(near, key=lambda count: (abs(count - sequences), count))[:NEAR_BATCHES]:
        [best] = search(task, [(gpus, count)])
        if best.layouts:
            grid = layout_grid(task, best.layouts[0])
            rates[count] = count / float(step_time(device, task.model.shape(task.seq), grid).total.item())
    if not rates:
        return None
    fast = [count for count, rate in rates.items() if rate >= AS_FAST * max(rates.values())]
    return min(fast, key=lambda count: (abs(count - sequences), count))
