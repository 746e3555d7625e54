"""How many configurations a second: Calculon's own search space, every configuration evaluated for memory and time.

    python bench/plan_search.py [--calculon CHECKOUT] [--model gpt3-175b] [--gpus 512] [--batch 512]

The space is that of calculon/llm/optimal_execution.py without offload (see its nested loops): for GPT-3 175B on 512
A100 952,776 configurations.  With a checkout, a sample of the same space runs through Calculon with its logging off;
otherwise the ratio is to 700 a second, the middle of what it reaches so (500 to 900).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from scalecurve.training.inputs.cluster import cluster_preset
from scalecurve.training.inputs.layout import Grid, Recompute
from scalecurve.training.inputs.stack import calibration_of, device_of, read_stack
from scalecurve.training.inputs.transformer import Array, Shape, as_array, model_preset
from scalecurve.training.physics.memory import memory
from scalecurve.training.physics.steptime import step_time
from scalecurve.training.search.search import divisors

CALCULON_RATE = 700.0
FIELDS = tuple(Grid.__dataclass_fields__)
MODES = [  # Calculon tries the two halves of an all-reduce as a third kind of traffic; here it is a second all-reduce
    (recompute, split, redo)
    for recompute in (Recompute.FULL, Recompute.SELECTIVE, Recompute.NONE)
    for split in (0, 0, 1)
    for redo in ((0, 1) if split and recompute is not Recompute.FULL else (0,))
]


def axis(values: Sequence[float], place: int) -> Array:
    """Values along one of the ten axes of a block."""
    shape = [1] * 9
    shape[place] = -1
    return as_array(values).reshape(shape)


def blocks(model: Shape, gpus: int, most: int, seq: int) -> Iterator[Grid]:
    """One Cartesian block per (tp, pp), with Calculon's axes and conditions."""
    hidden, heads, layers = (int(size) for size in (model.hidden, model.heads, model.layers))
    for tp in (t for t in divisors(gpus) if hidden % t == 0 and heads % t == 0):
        for pp in (p for p in divisors(min(gpus // tp, layers)) if gpus % (tp * p) == 0 and layers % p == 0):
            dp = gpus // (tp * pp)
            if dp <= most:
                yield block(tp, pp, dp, layers, most // dp * dp, seq)


def block(tp: int, pp: int, dp: int, layers: int, batch: int, seq: int) -> Grid:
    micro = [m for m in divisors(batch // dp) if m * seq % tp == 0]
    many = dp > 1
    sizes = axis(micro, 3)
    near = {
        name: axis([count, 1] if count > 1 else [1], place) for name, count, place in (("tp", tp, 2), ("dp", dp, 8))
    }
    return Grid(
        tp=as_array(tp), pp=as_array(pp), dp=as_array(dp), cp=as_array(1), ep=as_array(1), etp=as_array(1),
        recompute=axis([mode for mode, _, _ in MODES], 0), sequence_parallel=axis([split for _, split, _ in MODES], 0),
        regather=axis([redo for _, _, redo in MODES], 0), tensor_overlap=axis([0.0, 0.5, 0.7] if tp > 1 else [0.0], 1),
        tp_inner=near["tp"], micro=sizes, accumulation=batch / dp / sizes,
        interleave=axis(divisors(layers // pp) if pp > 1 else [1], 4), pp_crosses=axis([0, 1] if pp > 1 else [0], 5),
        zero=axis([0, 1] if many else [0], 6), shard=as_array(dp), data_overlap=axis([0, 1] if many else [0], 7),
        dp_inner=near["dp"], cp_inner=as_array(1), ep_inner=as_array(1),
    )  # fmt: skip


def whole_shape(grid: Grid) -> tuple[int, ...]:
    return np.broadcast_shapes(*(np.shape(getattr(grid, name)) for name in FIELDS))


def single(grid: Grid, shape: tuple[int, ...], index: int) -> Grid:
    """One configuration of a block, as the one-at-a-time function takes it."""
    return Grid(**{name: np.broadcast_to(getattr(grid, name), shape).flat[index].reshape(()) for name in FIELDS})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calculon", type=Path)
    parser.add_argument("--model", default="gpt3-175b")
    parser.add_argument("--gpus", type=int, default=512)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    model, cluster, stack = model_preset(given.model), cluster_preset("a100-80gb"), read_stack("megatron-lm")
    machine = device_of(cluster, stack, calibration_of(cluster.accelerator, stack).constants)
    shape = model.shape()

    def run() -> tuple[list[Grid], Array, Array]:
        grids = list(blocks(shape, given.gpus, given.batch, model.seq))
        sizes = [whole_shape(grid) for grid in grids]
        total = sum(int(np.prod(size)) for size in sizes)
        seconds, held, start = np.empty(total), np.empty(total), 0
        for grid, size in zip(grids, sizes, strict=True):
            stop = start + int(np.prod(size))
            times, sizes_held = step_time(machine, shape, grid).total, memory(machine, shape, grid).total
            seconds[start:stop].reshape(size)[...] = times
            held[start:stop].reshape(size)[...] = sizes_held
            start = stop
        return grids, seconds, held

    run()
    best = min(_timed(run) for _ in range(given.repeats))
    grids, seconds, held = run()
    rate = len(seconds) / best
    print(f"configurations            {len(seconds):,}")
    print(f"fit in memory             {int((held <= machine.capacity).sum()):,}")
    print(f"CPU seconds, one core     {best:.3f}")
    print(f"configurations/s          {rate:,.0f}")
    print(f"equal one at a time       {check(grids, seconds, held, machine, shape)} of 1,000 random ones")
    base = calculon_rate(given.calculon) if given.calculon else CALCULON_RATE
    print(f"Calculon, logging off     {base:,.0f} a second{' (not run here)' if not given.calculon else ''}")
    print(f"ratio                     {rate / base:,.0f}x")


def _timed(function) -> float:  # type: ignore[no-untyped-def]
    start = time.process_time()
    function()
    return time.process_time() - start


def check(grids: list[Grid], seconds: Array, held: Array, machine, shape: Shape) -> int:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(7)
    ends = np.cumsum([int(np.prod(whole_shape(grid))) for grid in grids])
    same = 0
    for index in rng.integers(0, len(seconds), 1000):
        place = int(np.searchsorted(ends, index, side="right"))
        inside = int(index - (ends[place - 1] if place else 0))
        one = single(grids[place], whole_shape(grids[place]), inside)
        alone = step_time(machine, shape, one).total, memory(machine, shape, one).total
        same += all(np.isclose(alone, (seconds[index], held[index]), rtol=1e-12))
    return same


def calculon_rate(checkout: Path) -> float:
    """Configurations a CPU-second of Calculon's own runner on a sample, logging off."""
    import subprocess
    import sys

    script = Path(__file__).with_name("plan_calculon.py")
    done = subprocess.run([sys.executable, str(script), str(checkout)], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


if __name__ == "__main__":
    main()
