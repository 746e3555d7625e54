"""How the job grows with P: not at all (strong), its batch up to the critical one, or model, tokens and batch too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scalecurve.training.inputs.request import GlobalBatch
from scalecurve.training.inputs.transformer import Transformer
from scalecurve.training.physics.run import CriticalBatch
from scalecurve.training.search.search import BestLayouts, SearchTask, search

CRITICAL_POWER = 0.47  # critical batch ~ tokens^0.47 (Zhang et al. 2024)
Searched = tuple[list[BestLayouts], list[SearchTask]]  # the best layouts at each P, and the task that was split there


def grown_model(model: Transformer, scale: float) -> tuple[Transformer, float, float]:
    """Compute goes as N D with D ~ N, so N and D each grow by sqrt(scale) at constant time to train.  The batch keeps
    the work per accelerator and step (N B / P); the critical batch grows by D^0.47.  Width and depth grow by the cube
    root of N, in numbers of heads and layers that divide well.  Returns the model for `scale` times the compute rate
    and the factors by which its batch and its critical batch grow."""
    size = scale**0.5
    factor = size ** (1.0 / 3.0)
    heads = _multiple(model.heads * factor, 16 if model.heads >= 32 else 4 if model.heads >= 8 else 1)
    layers = _multiple(model.layers * factor, 16 if model.layers >= 32 else 4 if model.layers >= 8 else 1)
    wide = heads / model.heads
    bigger = replace(
        model, name=f"{model.name} x{size:.2g}", heads=heads, layers=layers,
        hidden=heads * model.head_size if model.head is None else _multiple(model.hidden * wide, 64),
        ffn=None if model.ffn is None else _multiple(model.ffn * wide, 128),
    )  # fmt: skip
    grew = bigger.parameters / model.parameters
    return bigger, scale / grew, grew**CRITICAL_POWER


def _multiple(value: float, unit: int) -> int:
    return max(round(value / unit), 1) * unit


def even_batch(sequences: int, gpus: int) -> int:
    """A batch that divides well: a multiple of the largest power of two in P that it can hold."""
    unit = gpus & -gpus
    while unit > sequences:
        unit //= 2
    return max(sequences // unit * unit, 1)


def capped_batch(task: SearchTask, critical: CriticalBatch | None, sequences: int, gpus: int) -> int:
    """At most the critical batch, in sequences that divide well over P."""
    if critical is None:
        return sequences
    return even_batch(min(sequences, max(int(critical.tokens.value // task.seq), 1)), gpus)


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
    the critical batch, where it is smaller; with `weak` the model, its tokens and its critical batch grow too."""
    if not weak and critical is not None and critical.tokens.value // task.seq <= batch.sequences:
        sizes = [(count, capped_batch(task, critical, batch.sequences, count)) for count in gpus]
        return search(task, sizes, top=top), [task] * len(gpus)
    best: list[BestLayouts] = []
    for count in gpus:
        best += search(task, [(count, capped_batch(task, critical, batch.sequences, count))], top=top)
        if best[-1].layouts:
            break
    tasks = [task] * len(best)
    start, rest = best[-1].gpus, gpus[len(best) :]
    if not weak:
        sizes = [(count, capped_batch(task, critical, batch.sequences * count // start, count)) for count in rest]
        return best + (search(task, sizes, top=top) if sizes else []), tasks + [task] * len(rest)
    for count in rest:
        model, batch_factor, critical_factor = grown_model(task.model, count / start)
        sequences = batch.sequences * batch_factor
        if critical:
            sequences = min(sequences, critical.tokens.value * critical_factor / task.seq)
        tasks.append(replace(task, model=model))
        best += search(tasks[-1], [(count, even_batch(max(round(sequences), 1), count))], top=top)
    return best, tasks
