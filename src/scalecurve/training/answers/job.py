"""Training jobs: one model on one cluster under one stack, split one way; as a user wrote it, and many as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from scalecurve.errors import Fault, InputError
from scalecurve.training.inputs.cluster import Cluster, ClusterLike, read_cluster
from scalecurve.training.inputs.layout import Grid, Layout, LayoutLike, grid_of_layouts, layout_faults, read_layout
from scalecurve.training.inputs.request import batch_sequences, sequence_length
from scalecurve.training.inputs.stack import Constants, Device, Stack, device_of, read_stack
from scalecurve.training.inputs.transformer import ModelLike, Shape, Transformer, read_model, stack_shapes


@dataclass(frozen=True, kw_only=True)
class TrainingJob:
    """One model on one cluster under one stack, split one way."""

    model: Transformer
    cluster: Cluster
    stack: Stack
    layout: Layout
    seq: int
    precision: str = "bf16"
    adapter: bool = False  # low-rank adapters are trained, the weights are frozen


@dataclass(frozen=True)
class JobColumns:
    """Jobs with the same cluster, stack, precision and kind of model as columns of one call; `places` says where each
    stood in the list they came from."""

    jobs: tuple[TrainingJob, ...]
    places: tuple[int, ...]
    shape: Shape
    grid: Grid

    def device(self, constants: Constants) -> Device:
        first = self.jobs[0]
        return device_of(first.cluster, first.stack, constants, first.precision, frozen=first.adapter)


def columns_of_jobs(jobs: Sequence[TrainingJob]) -> list[JobColumns]:
    """The jobs grouped by what they can share a call with."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for place, job in enumerate(jobs):
        key = (job.cluster, job.stack, job.precision, job.adapter, job.model.is_moe, bool(job.model.kv_rank))
        groups.setdefault(key, []).append(place)
    columns = []
    for places in groups.values():
        group = tuple(jobs[place] for place in places)
        stack = group[0].stack
        shape = stack_shapes([job.model.shape(job.seq) for job in group])
        grid = grid_of_layouts(
            [job.layout for job in group], group[0].cluster.node, data_overlap=stack.data_overlap,
            tensor_overlap=stack.tensor_overlap,
        )  # fmt: skip
        columns.append(JobColumns(group, tuple(places), shape, grid))
    return columns


def read_job(
    model: ModelLike,
    cluster: ClusterLike,
    layout: LayoutLike,
    *,
    batch: float | str | None,
    seq: int | None,
    stack: str | Stack | None,
    precision: str | None = None,
    gpus: int | None = None,
) -> TrainingJob:
    """A job from what a user wrote: dp from the accelerators, accumulation from the batch, the stack's habits where the
    layout does not say."""
    transformer, machine, parts = read_model(model, seq=seq), read_cluster(cluster), read_layout(layout)
    tp = int(parts.get("tp", 1))
    software = read_stack(stack, machine.accelerator)
    length = sequence_length(seq, transformer.seq)
    habits = {"zero": software.zero, "sequence_parallel": tp > 1 and software.splits_sequence}
    others = tp * int(parts.get("pp", 1)) * int(parts.get("cp", 1))
    if "dp" not in parts and gpus is not None:
        if gpus % others:
            raise InputError(Fault("tp x pp x cp does not divide the accelerators", "gpus", f"{gpus} by {others}"))
        habits["dp"] = gpus // others
    split = Layout(**(habits | parts))
    if gpus is not None and split.gpus != gpus:
        value = f"{split.gpus} by the layout (tp x pp x dp x cp), {gpus} given"
        raise InputError(Fault("the layout and the number of accelerators disagree", "gpus", value, "leave one out"))
    if batch is not None:
        sequences, unit = batch_sequences(batch, length), split.dp * split.micro
        if sequences % unit:
            hint = f"a multiple of dp x micro = {unit} sequences, such as {max(sequences // unit, 1) * unit}"
            raise InputError(Fault("no whole number of micro-batches makes this batch", "batch", f"{sequences}", hint))
        if "accumulation" in parts and split.accumulation > 1 and split.sequences != sequences:
            value = f"{split.sequences} by layout, {sequences} by batch"
            raise InputError(Fault("the layout's accumulation and the batch disagree", "batch", value))
        split = replace(split, accumulation=sequences // unit)
    kind, faults = machine.precision(precision)
    faults = [*layout_faults(split, transformer), *faults]
    if faults:
        raise InputError(faults, subject=f"layout {split.short()}")
    return TrainingJob(model=transformer, cluster=machine, stack=software, layout=split, seq=length, precision=kind)
