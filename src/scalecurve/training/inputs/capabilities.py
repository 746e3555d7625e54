"""What a stack can do, as one table of rules over layouts: it bounds search, `--layout`, `--why-not`, export and score
alike.  What the rules speak of (degrees, ZeRO stages, schedules, precisions) is in stacks.toml, with the release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

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


def above_one(name: str, grid: Grid) -> Mask:
    return np.asarray(getattr(grid, name) > 1)


def none_of(values: tuple[float, ...], field: npt.NDArray[np.float64]) -> Mask:
    return ~np.isin(field, values)


def rules(stack: Stack, model: Transformer) -> Iterator[Rule]:
    """The rules of this stack for this model; only those that some layout can break."""
    yield from (
        Rule(name, f"does not split {what}", f"use {name}=1", partial(above_one, name))
        for name, what in DEGREE_NAMES.items()
        if name not in stack.degrees
    )
    if len(stack.stages) < 4:
        ways = " or ".join(f"zero={stage}" for stage in stack.stages)
        yield Rule("zero", "has no such ZeRO stage", f"use {ways}", lambda grid: none_of(stack.stages, grid.zero))
    ways = " or ".join(f"zero={stage}" for stage in stack.staged)
    yield Rule(
        "zero",
        "has no such ZeRO stage beside pipeline stages",
        f"use {ways}, or pp=1",
        lambda grid: none_of(stack.staged, grid.zero) & (grid.pp > 1),
    )
    if not stack.hybrid:
        yield Rule(
            "shard",
            "splits states over all replicas",
            "leave shard out",
            lambda grid: np.asarray((grid.shard < grid.dp) & (grid.zero > 0)),
        )
    known = tuple(float(SCHEDULES[name]) for name in stack.schedules)
    yield Rule(
        "schedule",
        "has no such pipeline schedule",
        f"use schedule={' or '.join(stack.schedules)}",
        lambda grid: none_of(known, grid.schedule),
    )
    if len(stack.modes) < len(RECOMPUTE):
        able = tuple(float(RECOMPUTE[name]) for name in stack.modes)
        yield Rule(
            "recompute",
            "has no such recomputation",
            f"use {' or '.join(stack.modes)}",
            lambda grid: none_of(able, grid.recompute),
        )
    if not stack.sequence:
        yield Rule(
            "sequence_parallel", "does not split the sequence", "leave it out", lambda grid: grid.sequence_parallel > 0
        )
    if stack.copy_below_zero3:
        yield Rule(
            "zero",
            "shards the states over context ranks",
            "use zero=2 or zero=3",
            lambda grid: (grid.zero == 0) & (grid.cp > 1),
        )
    if stack.even_stages:
        yield Rule(
            "pp",
            "has stages of equal depth",
            "use pp x interleave that divides the layers",
            lambda grid: (grid.pp > 1) & (np.mod(model.layers, grid.pp * grid.interleave) > 0),
        )
        yield Rule(
            "accumulation",
            "has a multiple of pp micro-batches",
            "use another batch",
            lambda grid: (grid.pp > 1) & (np.mod(grid.accumulation, grid.pp) > 0),
        )
    if stack.expert_ranks == "data":
        yield Rule(
            "zero", "shards weights over data ranks, not over context ranks alone", "use zero=0, or dp above 1",
            lambda grid: (grid.zero == 3) & (grid.shard == 1) & (grid.cp > 1),
        )  # fmt: skip
    if model.is_moe:
        yield from expert_rules(stack)


def expert_rules(stack: Stack) -> Iterator[Rule]:
    if stack.expert_ranks == "data":
        yield Rule(
            "ep",
            "has expert ranks among the data ranks",
            "use ep that divides dp",
            lambda grid: np.mod(grid.dp, grid.ep) > 0,
        )
        yield Rule(
            "etp", "splits experts over all tensor ranks", "use etp=tp", lambda grid: np.asarray(grid.etp != grid.tp)
        )
        yield Rule(
            "zero",
            "shards weights over data ranks that are no expert ranks",
            "use zero=1, or a smaller ep",
            lambda grid: (grid.zero == 3) & ((np.mod(grid.shard, grid.ep) > 0) | (grid.shard == grid.ep)),
        )
    elif stack.family == "megatron-core":
        yield Rule(
            "tp",
            "needs the sequence split for experts beside tensor parallelism",
            "use sequence_parallel=true or tp=1",
            lambda grid: (grid.tp > 1) & (grid.sequence_parallel == 0),
        )
    elif stack.family == "fsdp":
        yield Rule(
            "etp",
            "splits experts over all tensor ranks or none",
            "use etp=1 or etp=tp",
            lambda grid: (grid.etp > 1) & (grid.etp != grid.tp),
        )


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
