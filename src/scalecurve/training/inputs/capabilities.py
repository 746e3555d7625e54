"""What a stack can do, as one table of rules over layouts: it bounds search, `--layout`, `--why-not`, export and score
alike.  What the rules speak of (degrees, ZeRO stages, schedules, precisions) is in stacks.toml, with the release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scalecurve.errors import Fault
from scalecurve.training.inputs.layout import RECOMPUTE, SCHEDULES, Grid, Layout, grid_of_layouts
from scalecurve.training.inputs.stack import Stack
from scalecurve.training.inputs.transformer import Transformer

Mask = npt.NDArray[np.bool_]
DEGREE_NAMES = {"tp": "tensors", "pp": "the layers into stages", "cp": "the context", "ep": "experts over ranks"}


@dataclass(frozen=True)
class Rule:
    """What a stack cannot do: where `broken` is true of a grid; `where` names the field of a layout, `remedy` the way
    out."""

    where: str
    message: str
    remedy: str
    broken: Callable[[Grid], Mask]


def one_of(values: Iterable[float], name: str) -> Callable[[Grid], Mask]:
    """Where a field of a grid is none of these values."""
    known = tuple(map(float, values))
    return lambda grid: ~np.isin(getattr(grid, name), known)


def rules(stack: Stack, model: Transformer) -> Iterator[Rule]:
    """The rules of this stack for this model; only those that some layout can break."""
    for name in (name for name in DEGREE_NAMES if name not in stack.degrees):
        yield Rule(name, f"does not split {DEGREE_NAMES[name]}", f"use {name}=1", one_of((1,), name))
    stages, staged = (" or ".join(f"zero={stage}" for stage in each) for each in (stack.stages, stack.staged))
    stage, beside = one_of(stack.stages, "zero"), one_of(stack.staged, "zero")
    schedule = one_of((SCHEDULES[name] for name in stack.schedules), "schedule")
    mode = one_of((RECOMPUTE[name] for name in stack.modes), "recompute")
    schedules, modes = " or ".join(stack.schedules), " or ".join(stack.modes)
    data, moe = stack.expert_ranks == "data", model.is_moe
    table: tuple[tuple[bool, str, str, str, Callable[[Grid], Mask]], ...] = (
        (len(stack.stages) < 4, "zero", "has no such ZeRO stage", f"use {stages}", stage),
        (True, "zero", "has no such ZeRO stage beside pipeline stages", f"use {staged}, or pp=1",
         lambda grid: beside(grid) & (grid.pp > 1)),
        (not stack.hybrid, "shard", "splits states over all replicas", "leave shard out",
         lambda grid: (grid.shard < grid.dp) & (grid.zero > 0)),
        (True, "schedule", "has no such pipeline schedule", f"use schedule={schedules}", schedule),
        (len(stack.modes) < len(RECOMPUTE), "recompute", "has no such recomputation", f"use {modes}", mode),
        (not stack.sequence, "sequence_parallel", "does not split the sequence", "leave it out",
         lambda grid: grid.sequence_parallel > 0),
        (stack.copy_below_zero3, "zero", "shards the states over context ranks", "use zero=2 or zero=3",
         lambda grid: (grid.zero == 0) & (grid.cp > 1)),
        (stack.even_stages, "pp", "has stages of equal depth", "use pp x interleave that divides the layers",
         lambda grid: (grid.pp > 1) & (np.mod(model.layers, grid.pp * grid.interleave) > 0)),
        (stack.even_stages, "accumulation", "has a multiple of pp micro-batches", "use another batch",
         lambda grid: (grid.pp > 1) & (np.mod(grid.accumulation, grid.pp) > 0)),
        (data, "zero", "shards weights over data ranks, not over context ranks alone", "use zero=0, or dp above 1",
         lambda grid: (grid.zero == 3) & (grid.shard == 1) & (grid.cp > 1)),
        (data and moe, "ep", "has expert ranks among the data ranks", "use ep that divides dp",
         lambda grid: np.mod(grid.dp, grid.ep) > 0),
        (data and moe, "etp", "splits experts over all tensor ranks", "use etp=tp", lambda grid: grid.etp != grid.tp),
        (data and moe, "zero", "shards weights over data ranks that are no expert ranks",
         "use zero=1, or a smaller ep",
         lambda grid: (grid.zero == 3) & ((np.mod(grid.shard, grid.ep) > 0) | (grid.shard == grid.ep))),
        (moe and stack.family == "megatron-core" and not data, "tp",
         "needs the sequence split for experts beside tensor parallelism", "use sequence_parallel=true or tp=1",
         lambda grid: (grid.tp > 1) & (grid.sequence_parallel == 0)),
        (moe and stack.family == "fsdp" and not data, "etp", "splits experts over all tensor ranks or none",
         "use etp=1 or etp=tp", lambda grid: (grid.etp > 1) & (grid.etp != grid.tp)),
    )  # fmt: skip
    yield from (Rule(*rule) for holds, *rule in table if holds)  # type: ignore[arg-type]


def can_run(stack: Stack, model: Transformer, grid: Grid) -> Mask:
    """Where the stack can do what a grid says."""
    able = np.asarray(True)
    for rule in rules(stack, model):
        able = able & ~rule.broken(grid)
    return able


def capability_faults(stack: Stack, layout: Layout, model: Transformer, precision: str = "bf16") -> list[Fault]:
    """What this stack cannot do of a layout and precision; empty where it can."""
    grid = grid_of_layouts([layout], 1, data_overlap=False, tensor_overlap=0.0)
    name = f"{stack.name} ({stack.release})" if stack.release else stack.name
    faults = [
        Fault(f"{name} {rule.message}", rule.where, str(getattr(layout, rule.where)), rule.remedy)
        for rule in rules(stack, model)
        if bool(np.any(rule.broken(grid)))
    ]
    if precision not in stack.precisions:
        hint = f"use --precision {' or '.join(stack.precisions)}, or another stack"
        faults.append(Fault(f"{name} has no {precision}", "precision", precision, hint))
    return faults
