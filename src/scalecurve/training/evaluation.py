"""Several jobs at once through the physics: rows that share a machine become columns of one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scalecurve.training.arrays import Array
from scalecurve.training.cluster import Cluster
from scalecurve.training.grid import Grid
from scalecurve.training.layout import Layout, grid_of, stack_grids
from scalecurve.training.machine import Machine
from scalecurve.training.machines import resolve
from scalecurve.training.memory import memory
from scalecurve.training.shape import Shape, stack_shapes
from scalecurve.training.stack import Constants, Stack
from scalecurve.training.steptime import step_time
from scalecurve.training.transformer import Transformer


@dataclass(frozen=True, kw_only=True)
class Job:
    """One model on one cluster under one stack, split one way."""

    model: Transformer
    cluster: Cluster
    stack: Stack
    layout: Layout
    seq: int
    precision: str = "bf16"


@dataclass(frozen=True)
class Batch:
    """Jobs with the same cluster, stack, precision and kind of model, ready to be evaluated with any constants."""

    jobs: tuple[Job, ...]
    places: tuple[int, ...]
    shape: Shape
    grid: Grid

    def seconds(self, constants: Constants) -> Array:
        total = step_time(self._machine(constants), self.shape, self.grid).total
        return np.broadcast_to(total, (len(self.jobs),))

    def bytes(self, constants: Constants) -> Array:
        total = memory(self._machine(constants), self.shape, self.grid).total
        return np.broadcast_to(total, (len(self.jobs),))

    def _machine(self, constants: Constants) -> Machine:
        first = self.jobs[0]
        return resolve(first.cluster, first.stack, constants, first.precision)


def grid_of_job(job: Job) -> Grid:
    stack = job.stack
    return grid_of(job.layout, job.cluster.node, data_overlap=stack.data_overlap, tensor_overlap=stack.tensor_overlap)


def _batch(jobs: Sequence[Job], places: Sequence[int]) -> Batch:
    chosen = tuple(jobs[place] for place in places)
    shape = stack_shapes([job.model.shape(job.seq) for job in chosen])
    return Batch(chosen, tuple(places), shape, stack_grids([grid_of_job(job) for job in chosen]))


def batches(jobs: Sequence[Job]) -> list[Batch]:
    """Group jobs that can share a call; `places` remembers where each came from."""
    grouped: dict[tuple[object, ...], list[int]] = {}
    for place, job in enumerate(jobs):
        key = (job.cluster, job.stack, job.precision, job.model.is_moe, bool(job.model.kv_rank))
        grouped.setdefault(key, []).append(place)
    return [_batch(jobs, places) for places in grouped.values()]
