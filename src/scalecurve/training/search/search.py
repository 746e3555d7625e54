"""Every layout of a model on P accelerators, evaluated at once: memory first, then time, ties to the simpler layout.

The space is a table of degrees (tp, pp, cp, ep, dp) crossed with micro-batch, recomputation, interleaving and sharding.
Terms that depend on few of these are computed on their few values and meet by broadcasting.

`batches_of` are the batches that a plan chooses from; `grown_models` are the jobs of weak scaling.
What is found at one P never depends on which others are asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.training.inputs.capabilities import can_run
from scalecurve.training.inputs.cluster import Cluster
from scalecurve.training.inputs.layout import Grid, Layout, Recompute, Schedule, place_ranks
from scalecurve.training.inputs.stack import Device, Stack, StackCalibration, device_of
from scalecurve.training.inputs.transformer import Array, Transformer, as_array
from scalecurve.training.physics.memory import USABLE, memory
from scalecurve.training.physics.steptime import step_time

LONG_CONTEXT = 16384  # tokens from which any split of the sequence is tried; below it powers of two
SHORTEST_PART = 1024  # tokens of a sequence that a context rank has at least; a quarter of LONG_CONTEXT from there on
LARGEST_MICRO = 131_072  # tokens of a micro-batch of more than FULL.micro sequences
LARGER_MICRO = (32, 64, 128)  # sequences of a micro-batch, where they are short
MAX_TP = 64
UNUSUAL = 0.05  # what a layout that splits short sequences must gain beyond a tie
TIE = 0.02  # layouts this close in time are equal, and the one that experts prefer wins
CANDIDATES = 4096  # fastest entries at each P that are compared
EMPTY = 0.05  # share of the places of a pipeline that may be without a layer
CRITICAL_POWER = 0.47  # critical batch ~ tokens^0.47 (Zhang et al. 2024)
AT_ONCE = 16384  # configurations of one call, so that its arrays stay in the cache
UNEVEN = 0.06  # of a grown batch, by which it may be rounded down to divide well
USUAL_TOKENS = 2**22  # of a batch that is not given: with what most published runs of 7 to 100 billion parameters begin
NEAR_BATCHES = 6  # batches tried, nearest first
ROUND = (8, 24, 40, 64, 80, 96, 160, 192)  # multiples of these divide well
DIVIDES_WELL = 15  # as does a power of two times a number up to this
MANY_REPLICAS = 64  # over which sharded states are thin enough
MOST_OF_A_REPLICA = 8192
FAR = 0.5  # a batch that differs by more than this share is no neighbour
AS_FAST = 0.95  # of the best candidate's tokens/s: among these the nearest is proposed

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
    axes: Axes = FULL
    tokens_growth: float = 1.0  # this job's tokens over those of the job the plan started from

    @property
    def critical_growth(self) -> float:
        """Its critical batch over that of the job the plan started from."""
        return float(self.tokens_growth**CRITICAL_POWER)

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
        return USABLE * self.cluster.accelerator.capacity


@lru_cache(maxsize=4096)
def divisors(number: int) -> tuple[int, ...]:
    small = [value for value in range(1, int(number**0.5) + 1) if number % value == 0]
    return tuple(sorted({*small, *(number // value for value in small)}))


def degrees(task: SearchTask, gpus: int, sequences: int) -> list[tuple[int, int, int, int, int]]:
    """(tp, pp, cp, ep, dp) with tp pp cp dp = gpus that this model and batch allow."""
    scarce = gpus > sequences * task.cluster.node  # not even tensor ranks throughout the node leave enough
    return [split for split in splits(task, gpus, scarce=scarce) if sequences % split[-1] == 0]


@lru_cache(maxsize=256)
def splits(task: SearchTask, gpus: int, *, scarce: bool) -> list[tuple[int, int, int, int, int]]:
    """(tp, pp, cp, ep, dp) that this model allows, whatever the batch.

    Stages have equal depth, or few places are empty (126 layers in 128, 61 in 64, 32 in 33).
    """
    able = task.stack.degrees
    stages = depths_of(task) if "pp" in able else {1}
    experts = divisors(task.model.experts) if task.model.experts and "ep" in able else (1,)
    ranks = [
        (tp, cp)
        for tp in (tensor_ranks(task, gpus) if "tp" in able else [1])
        for cp in (contexts_of(task, gpus // tp, scarce=scarce) if "cp" in able else [1])
    ]
    found = [
        (tp, pp, cp, ep, gpus // (tp * cp * pp))
        for tp, cp in ranks
        for pp in stages.intersection(divisors(gpus // tp // cp))
        for ep in experts
        if gpus // pp % ep == 0
    ]
    return sorted(found)


def depths_of(task: SearchTask) -> set[int]:
    """Numbers of stages that leave few places of the pipeline empty."""
    layers, even = task.model.layers, task.axes.powers_of_two
    empty = {pp: -layers % pp for pp in range(1, layers + 1)}
    depths = [pp for pp, places in empty.items() if places <= EMPTY * (layers + places)]
    return {pp for pp in depths if not even or pp & (pp - 1) == 0 or layers % pp == 0}


def tensor_ranks(task: SearchTask, gpus: int) -> list[int]:
    """Degrees of tensor parallelism that divide heads and widths."""
    model, even = task.model, task.axes.powers_of_two
    whole = [tp for tp in divisors(gpus) if tp <= task.max_tp and model.heads % tp == 0 and model.hidden % tp == 0]
    return [tp for tp in whole if not even or tp & (tp - 1) == 0]


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
    """The valid layouts of several sizes, one after the other; `place` says of which size each is."""

    grid: Grid
    hybrid: Mask
    place: npt.NDArray[np.int64]


def space(task: SearchTask, sizes: Sequence[tuple[int, int]]) -> Space:
    """All valid layouts for each (gpus, global batch in sequences).  Axis after axis is crossed with what was valid
    without it, so that nothing is made that a rule refuses."""
    axes, layers = task.stack_axes, task.model.layers
    table = [
        (place, sequences, *split)
        for place, (gpus, sequences) in enumerate(sizes)
        for split in degrees(task, gpus, sequences)
    ]
    columns = np.array(table, dtype=np.float64).reshape(-1, 7).T
    micros, chunks = as_array(micro_batches(task, sizes)), as_array(axes.chunks)
    short = task.seq < LONG_CONTEXT  # several short sequences are not split as well
    each = columns[1][:, None] / (columns[6][:, None] * micros)
    row, which = np.nonzero((np.mod(each, 1.0) == 0) & ((columns[4][:, None] == 1) | (micros == 1) | (not short)))
    pp, steps = columns[3][row, None], each[row, which, None]
    dual = task.stack.dualpipe & (pp > 1) & (np.mod(pp, 2) == 0)
    places = pp * chunks
    chunked = (pp > 1) & ~dual & (np.mod(steps, pp) == 0) & (places <= layers)
    chunked &= np.mod(-layers, places) <= np.minimum(3.0, places / 4.0)
    kept, chunk = np.nonzero((chunks == 1) | chunked)
    row, which = row[kept], which[kept]

    split = np.array([split for _, split in axes.modes])[:, None]
    zero = as_array([stage for stage, _ in axes.sharding])
    part = np.array([part for _, part in axes.sharding])
    tp, pp, cp, dp = (columns[number][row, None, None] for number in (2, 3, 4, 6))
    near = place_ranks(columns[2], columns[4], columns[6], columns[3], columns[5], float(task.cluster.node))
    inner = near["dp_inner"][row, None, None]
    kept, mode, sharding = np.nonzero(
        (~split | ((tp > 1) & (np.mod(task.seq, tp) == 0)))
        & ((zero == axes.sharding[0][0]) | (dp * cp > 1))
        & (~part | ((inner > 1) & (inner < dp) & (np.mod(dp, inner) == 0)))
    )
    row, which, chunk = row[kept], which[kept], chunk[kept]
    place, _, tp, pp, cp, ep, dp = columns[:, row]
    near = {name: values[row] for name, values in near.items()}
    hybrid = part[sharding]
    dualpipe = (pp > 1) & (np.mod(pp, 2) == 0) & task.stack.dualpipe
    grid = Grid(
        tp=tp, pp=pp, dp=dp, cp=cp, ep=ep, etp=tp if task.splits_experts else as_array(1.0),
        interleave=chunks[chunk], micro=micros[which],
        accumulation=each[row, which], zero=zero[sharding], shard=np.where(hybrid, near["dp_inner"], dp),
        recompute=as_array([float(kind) for kind, _ in axes.modes])[mode], sequence_parallel=as_array(split[mode, 0]),
        regather=as_array(1.0), data_overlap=as_array(task.stack.data_overlap),
        tensor_overlap=as_array(task.stack.tensor_overlap),
        schedule=np.where(dualpipe, float(Schedule.DUALPIPE), float(Schedule.ONE_F_ONE_B)), **near,
    )  # fmt: skip
    able = np.flatnonzero(np.broadcast_to(can_run(task.stack, task.model, grid), place.shape))
    return Space(part_of(grid, able), hybrid[able], place[able].astype(np.int64))


def part_of(grid: Grid, entries: slice | npt.NDArray[np.int64]) -> Grid:
    """Some configurations of a flat grid."""
    values = {entry.name: getattr(grid, entry.name) for entry in fields(Grid)}
    return Grid(**{name: value[entries] if value.ndim else value for name, value in values.items()})


@dataclass(frozen=True)
class BestLayouts:
    """The best layouts at one P, fastest first, and what stood in the way of the others."""

    gpus: int
    sequences: int  # the global batch that was to be split
    layouts: tuple[Layout, ...]
    seconds: float  # of a step of the first; infinite without one
    tried: int
    least_bytes: float | None  # of all layouts, whether they fit or not


def search(task: SearchTask, sizes: Sequence[tuple[int, int]], *, top: int = 1) -> list[BestLayouts]:
    """The fastest `top` layouts that fit, for each (gpus, sequences), whatever else is asked.  Each is searched once,
    whatever the price."""
    free = replace(task, cluster=replace(task.cluster, usd_per_gpu_hour=None, price_source=None), tokens_growth=1.0)
    known = _searched(free, top)
    missing = tuple(dict.fromkeys(size for size in sizes if size not in known))
    if missing:
        known |= dict(zip(missing, _search(free, missing, top), strict=True))
    return [known[size] for size in sizes]


@lru_cache(maxsize=64)
def _searched(task: SearchTask, top: int) -> dict[tuple[int, int], BestLayouts]:
    """What is known of a task, filled by `search`."""
    return {}


def _search(task: SearchTask, sizes: Sequence[tuple[int, int]], top: int) -> Iterator[BestLayouts]:
    places = space(task, sizes)
    device, shape = task.device, task.model.shape(task.seq)
    count = len(places.place)
    parts = [slice(start, start + AT_ONCE) for start in range(0, count, AT_ONCE)]
    held, seconds = np.empty(count), np.full(count, np.inf)
    for part in parts:
        held[part] = memory(device, shape, part_of(places.grid, part)).total
    fitting = np.flatnonzero(held <= task.usable_bytes)
    for start in range(0, len(fitting), AT_ONCE):
        some = fitting[start : start + AT_ONCE]
        seconds[some] = step_time(device, shape, part_of(places.grid, some)).total
    ends = np.searchsorted(places.place, np.arange(len(sizes) + 1))
    for (gpus, sequences), start, end in zip(sizes, ends, ends[1:], strict=False):
        entries = np.arange(start, end)
        chosen = _ranked(task, places, entries[np.isfinite(seconds[start:end])], seconds, held, top)
        yield BestLayouts(
            gpus=gpus,
            sequences=sequences,
            layouts=tuple(_layout(places, index) for index in chosen),
            seconds=float(seconds[chosen[0]]) if chosen else math.inf,
            tried=int(end - start),
            least_bytes=float(held[start:end].min()) if end > start else None,
        )


def _ranked(
    task: SearchTask, places: Space, fitting: npt.NDArray[np.int64], seconds: Array, held: Array, top: int
) -> list[int]:
    """The layouts that fit, fastest first; among layouts within TIE of one another the preferred.  Of layouts equal in
    time and memory only the preferred is kept: the others are no alternative."""
    handicap = 1.0 + UNUSUAL * ((places.grid.cp[fitting] > 1) & (task.seq < LONG_CONTEXT))
    times = seconds[fitting] * handicap
    order = np.argsort(times, kind="stable")[: max(CANDIDATES, 8 * top)]
    left, times = fitting[order], times[order]
    ordered: dict[tuple[str, str], int] = {}
    while len(left) and len(ordered) < top:
        tied = int(np.searchsorted(times, times[0] * (1.0 + TIE), side="right"))
        group = left[:tied]
        for place in np.lexsort(preferences(task, places.grid, group)[::-1]):
            ordered.setdefault((f"{times[place]:.9g}", f"{held[group[place]]:.9g}"), int(group[place]))
            if len(ordered) >= top:
                break
        left, times = left[tied:], times[tied:]
    return list(ordered.values())


def preferences(task: SearchTask, grid: Grid, group: npt.NDArray[np.int64]) -> list[Array]:
    """What experts look at among layouts of equal time, most important first, smaller is better: tensor parallelism
    within the node, short sequences whole, few stages, little recomputation, then all that is simpler."""
    names = ("tp", "pp", "cp", "ep", "interleave", "micro", "zero", "shard", "dp", "recompute", "sequence_parallel")
    tp, pp, cp, ep, chunks, size, zero, shard, dp, recompute, split = (getattr(grid, name)[group] for name in names)
    many = sum((degree > 1).astype(np.float64) for degree in (tp, pp, cp, ep, chunks))
    short = ((cp > 1) & (task.seq < LONG_CONTEXT)).astype(np.float64)
    usual_split = np.where((tp > 1) & task.stack.splits_sequence, 1.0 - split, split)
    return [
        np.maximum(tp / task.cluster.node, 1.0), short, pp, recompute, as_array(many), zero + 0.5 * (shard < dp),
        usual_split, tp * cp, chunks, ep, -size,
    ]  # fmt: skip


def _layout(places: Space, index: int) -> Layout:
    """The layout at an index into the space."""
    grid = places.grid
    names = ("tp", "pp", "dp", "cp", "ep", "micro", "accumulation", "interleave", "zero")
    degrees_of_it: dict[str, Any] = {name: int(getattr(grid, name)[index]) for name in names}
    return Layout(
        **degrees_of_it,
        etp=int(grid.etp[index]) if grid.etp.ndim else 1,
        shard=int(grid.shard[index]) if places.hybrid[index] else None,
        recompute=Recompute(int(grid.recompute[index])).name.lower(),
        sequence_parallel=bool(grid.sequence_parallel[index]),
        schedule="dualpipe" if grid.schedule[index] == Schedule.DUALPIPE else "1f1b",
    )


NEAR_SIZE = 0.15  # a grown model may miss its size by this much where its layers then divide better
NEAR_WIDTH = 0.08  # and its width by this much, where its heads do
ABOUT_OPTIMAL = (0.8, 1.0, 1.25)  # times the optimal size: the loss at equal compute hardly differs


def grown_models(model: Transformer, scale: float) -> list[tuple[Transformer, float]]:
    """Models for `scale` times the compute rate at constant time to train, each with the growth of its tokens and of
    its largest batch.

    Compute goes as N D with D ~ N where it is optimal, so N and D each grow by about sqrt(scale).  The batch keeps the
    work per accelerator and step (N B / P).  Width and depth grow by about the cube root of N, in numbers of heads and
    layers that divide well; a model whose layers are counted kind by kind grows in width alone.
    """
    deeper = replace(model, layers=model.layers + 4).parameters > model.parameters
    unit = model.groups if model.kv_heads else 8 if model.heads >= 32 else 4 if model.heads >= 8 else 1
    shapes = {}
    for share in ABOUT_OPTIMAL:
        size = share * scale**0.5
        wide = model.heads * size ** (1.0 / 3.0 if deeper else 1.0 / 2.0)
        grown = replace(
            _wider(model, unit * most_even(wide / unit, NEAR_WIDTH)), name=f"{model.name} x{scale**0.5:.2g}"
        )
        if deeper:
            layer = (replace(grown, layers=grown.layers + 4).parameters - grown.parameters) / 4
            layers = max(grown.layers + (size * model.parameters - grown.parameters) / layer, 1.0)
            grown = replace(grown, layers=most_even(layers, NEAR_SIZE))
        shapes[grown] = scale * model.parameters / grown.parameters
    return list(shapes.items())


def most_even(value: float, near: float) -> int:
    """The whole number within this share of a value that the largest power of two divides, the nearest of several; the
    nearest whole number where none is within."""
    for power in reversed(range(max(int(value), 1).bit_length())):
        count = round(value / (1 << power)) << power
        if count and abs(count / value - 1.0) <= near:
            return count
    return max(round(value), 1)


def _wider(model: Transformer, heads: int) -> Transformer:
    """The model with this many heads, its other widths in proportion."""
    wide = heads / model.heads
    hidden = heads * model.head_size if model.head is None else _multiple(model.hidden * wide, 64)
    return replace(
        model, heads=heads, hidden=hidden, ffn=None if model.ffn is None else _multiple(model.ffn * wide, 128)
    )


def _multiple(value: float, unit: int) -> int:
    return max(round(value / unit), 1) * unit


def even_batch(sequences: float) -> int:
    """At most so many sequences, rounded down within UNEVEN to a multiple of a power of two."""
    unit = 1 << math.floor(math.log2(max(UNEVEN * sequences, 1.0)))
    return max(math.floor(sequences / unit) * unit, 1)


def batches_of(gpus: int, largest: int) -> tuple[int, ...]:
    """Batches tried on P accelerators, in sequences, largest first: the largest accepted and its halvings, a sequence
    for each accelerator or each group of 2, 4, 8 ..., and the most of whole such groups."""
    groups = [gpus >> power for power in range((gpus & -gpus).bit_length())]
    doubled = [gpus << power for power in range(64) if gpus << power <= largest]
    halved = [largest >> power for power in range((largest & -largest).bit_length())]
    counts = {*groups, *doubled, *halved, *(largest // group * group for group in groups)}
    return tuple(sorted((count for count in counts if 1 <= count <= largest), reverse=True))


def idle_counts(gpus: int) -> list[int]:
    """Counts that P accelerators may use while the others stay idle, largest first: every power of two below P, its
    halves, and for a P that divides badly itself the next below it that divide well."""
    counts = {1 << power for power in range(gpus.bit_length())} | {gpus >> power for power in range(gpus.bit_length())}
    if gpus // (gpus & -gpus) > DIVIDES_WELL:
        counts |= {gpus // size * size for size in ROUND}
    return sorted((count for count in counts if 0 < count < gpus), reverse=True)


@dataclass(frozen=True)
class Replica:
    """The fewest accelerators that hold one replica, and the sequences of a step that keep it busy: a micro-batch for
    each stage of its pipeline."""

    accelerators: int
    sequences: int


@lru_cache(maxsize=256)
def smallest_replica(task: SearchTask) -> Replica | None:
    """By powers of two, with the stack's own sharding of states over MANY_REPLICAS; tensor ranks fill the node before
    stages are made.  None where MOST_OF_A_REPLICA hold none."""
    dp = MANY_REPLICAS
    axes = Axes(micro=(1,), chunks=(1,), modes=FULL.modes, sharding=((task.stack.zero, False),), powers_of_two=True)
    small = replace(task, axes=axes, max_tp=min(task.max_tp, task.cluster.node))
    sizes = [1 << power for power in range(MOST_OF_A_REPLICA.bit_length())]
    places = space(small, [(dp * size, dp * MANY_REPLICAS) for size in sizes])
    held = np.broadcast_to(memory(task.device, task.model.shape(task.seq), places.grid).total, places.place.shape)
    fitting = np.flatnonzero((held <= task.usable_bytes) & (places.grid.dp == dp))
    if not len(fitting):
        return None
    size, _, stages = min(zip(places.place[fitting], places.grid.cp[fitting], places.grid.pp[fitting], strict=True))
    return Replica(sizes[int(size)], int(stages))


def nearest_batch(task: SearchTask, gpus: int, sequences: int) -> int | None:
    """Sequences of the nearest global batch with a layout that fits and is about as fast as any; None without one."""
    whole = {gpus // (tp * pp * cp) for tp, pp, cp, *_ in degrees(task, gpus, 0)}
    near = {max(round(sequences / replicas), 1) * replicas for replicas in whole}
    near = {count for count in near if abs(count / sequences - 1.0) <= FAR}
    nearest = sorted(near, key=lambda count: (abs(count - sequences), count))[:NEAR_BATCHES]
    rates = {one.sequences: one.sequences / one.seconds for one in search(task, [(gpus, count) for count in nearest])}
    fast = [count for count, rate in rates.items() if rate > 0.0 and rate >= AS_FAST * max(rates.values())]
    return min(fast, key=lambda count: (abs(count - sequences), count), default=None)
