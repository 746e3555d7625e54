"""Training jobs (one model on one cluster under one stack, split one way) through the physics: step time with its
interval, where it goes, throughput, use of the hardware, memory.

`evaluate_jobs` is the one evaluation: a plan, one layout and the explorer all show its numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from scalecurve.document import Answer, Document, FindingList, JsonRecord, Paragraph, Result, as_typed, table
from scalecurve.errors import Fault, InputError
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, info, warning
from scalecurve.training.inputs.capabilities import capability_faults
from scalecurve.training.inputs.cluster import Cluster, ClusterLike, read_cluster
from scalecurve.training.inputs.layout import Grid, Layout, LayoutLike, grid_of_layouts, layout_faults, read_layout
from scalecurve.training.inputs.likeness import StepTraits, job_place, left_between, one_of
from scalecurve.training.inputs.request import batch_sequences, sequence_length
from scalecurve.training.inputs.stack import (
    DOUBTS,
    Constants,
    Device,
    Stack,
    StackCalibration,
    calibration_of,
    device_of,
    moved_by,
    read_stack,
)
from scalecurve.training.inputs.transformer import (
    Array,
    ModelLike,
    Shape,
    Transformer,
    models,
    read_model,
    stack_shapes,
)
from scalecurve.training.physics.memory import USABLE, Memory, memory, stage_memory
from scalecurve.training.physics.run import DataParallelCap
from scalecurve.training.physics.steptime import STEP_TERMS, step_time
from scalecurve.units import format_count, format_memory, format_seconds, format_seconds_range

LEVEL = 0.9
UNITS = {"tpu": "TPUs", "trainium": "chips", "gaudi": "accelerators"}
SLOPE_STEP = 0.02  # of a logarithm
NEEDS_LESS = "recompute more, raise tp, pp or the ZeRO stage, or lower the micro-batch"
LEFT_OUT = (
    "data loading and logging",
    "checkpoint writes and failures (see goodput)",
    "kernel autotuning, power and thermal limits beyond the measured ceilings",
    "congestion from other jobs on the network",
)


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
    optimizer: str = "adamw"  # how its states are kept: adamw, mixed, bf16, 8bit or host

    def traits(self, slopes: Sequence[float]) -> StepTraits:
        """How its errors hang together with those of other jobs, by the slopes of its step."""
        place = job_place(self.model, self.layout, self.seq, self.precision)
        kind = f"{self.model.name} {self.precision} {self.adapter}"
        return StepTraits(np.array([slopes]), np.array([place]), np.array([kind]))


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
        return device_of(
            first.cluster, first.stack, constants, first.precision, frozen=first.adapter, optimizer=first.optimizer
        )


def columns_of_jobs(jobs: Sequence[TrainingJob]) -> list[JobColumns]:
    """The jobs grouped by what they can share a call with."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for place, job in enumerate(jobs):
        key = (
            job.cluster, job.stack, job.precision, job.adapter, job.optimizer, job.model.is_moe,
            bool(job.model.kv_rank),
        )  # fmt: skip
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
    software = read_stack(stack or machine.stack, machine.accelerator)
    length = sequence_length(seq, transformer.seq)
    habits: dict[str, Any] = {"zero": software.zero, "sequence_parallel": tp > 1 and software.splits_sequence}
    others = tp * int(parts.get("pp", 1)) * int(parts.get("cp", 1))
    if "dp" not in parts and gpus is not None:
        habits["dp"] = replicas_of(gpus, others)
    if transformer.is_moe and software.expert_ranks == "data":
        habits["etp"] = tp
    if software.dualpipe and int(parts.get("pp", 1)) % 2 == 0 and int(parts.get("interleave", 1)) == 1:
        habits["schedule"] = "dualpipe"
    split = Layout(**(habits | parts))
    if gpus is not None and split.gpus != gpus:
        value = f"{split.gpus} by the layout (tp x pp x dp x cp), {gpus} given"
        raise InputError(Fault("the layout and the number of accelerators disagree", "gpus", value, "leave one out"))
    if batch is not None:
        split = with_batch(split, batch_sequences(batch, length), stated="accumulation" in parts)
    kind, faults = machine.precision(precision)
    faults = [*layout_faults(split, transformer), *capability_faults(software, split, transformer, kind), *faults]
    if faults:
        raise InputError(faults, subject=f"layout {split.short()}")
    return TrainingJob(model=transformer, cluster=machine, stack=software, layout=split, seq=length, precision=kind)


def replicas_of(gpus: int, others: int) -> int:
    """What is left of the accelerators for data parallelism."""
    if gpus % others:
        hint, value = "change the layout or the accelerators", f"{gpus} by {others}"
        raise InputError(Fault("tp x pp x cp does not divide the accelerators", "gpus", value, hint))
    return gpus // others


def with_batch(split: Layout, sequences: int, *, stated: bool) -> Layout:
    """The layout with the accumulation that makes this batch; where one is `stated` they must agree."""
    unit = split.dp * split.micro
    if sequences % unit:
        near = as_typed(f"`SAME --global-batch {max(sequences // unit, 1) * unit}seq`")
        hint = f"a multiple of dp x micro = {unit} sequences: {near}"
        raise InputError(Fault("no whole number of micro-batches makes this batch", "batch", f"{sequences}", hint))
    if stated and split.accumulation > 1 and split.sequences != sequences:
        value = f"{split.sequences} by layout, {sequences} by batch"
        hint = "leave the accumulation out of the layout, or change the global batch"
        raise InputError(Fault("the layout's accumulation and the batch disagree", "batch", value, hint))
    return replace(split, accumulation=sequences // unit)


@dataclass(frozen=True, kw_only=True)
class StepOutcome(JsonRecord):
    """Seconds, bytes, tokens and dollars of one step of one job."""

    job: TrainingJob
    calibration: StackCalibration
    breakdown: dict[str, float]
    memory: dict[str, float]
    stages: dict[str, float]  # bytes on an accelerator of the first and of the last pipeline stage
    mfu: float
    hfu: float
    slopes: tuple[float, ...]  # of the logarithm of the step by each of DOUBTS
    longer: float = 1.0  # times the step that the constants give: what own runs of like jobs took over it

    JSON = """
        gpus layout global_batch_sequences=layout.sequences global_batch_tokens=tokens
        step_seconds=step.value step_low=step.low step_high=step.high level=step.level breakdown comm_frac
        comm_share efficiency mfu hfu model_tflops_per_gpu memory_bytes memory memory_by_stage=stages
        memory_capacity=job.cluster.accelerator.capacity fits tokens_per_second tokens_per_second_per_gpu
        usd_per_billion_tokens evidence=calibration.evidence"""

    @property
    def layout(self) -> Layout:
        return self.job.layout

    @property
    def gpus(self) -> int:
        return self.layout.gpus

    @property
    def unit(self) -> str:
        """What people call this accelerator: GPUs, TPUs."""
        chip = self.job.cluster.accelerator.name
        return next((words for start, words in UNITS.items() if chip.startswith(start)), "GPUs")

    @property
    def peak(self) -> float:
        """FLOP/s of one accelerator that MFU is measured against."""
        return self.job.cluster.peak(self.job.precision)

    @property
    def seconds(self) -> float:
        return sum(self.breakdown.values())

    @property
    def traits(self) -> StepTraits:
        return self.job.traits(self.slopes)

    @property
    def half_width(self) -> float:
        """Half of the 90 % interval of log(measured / predicted)."""
        left = left_between(self.calibration.spreads, self.calibration.runs, self.traits)
        return self.calibration.interval(float(left[0, 0]))

    def half_width_after(self, run: StepOutcome) -> float:
        """The same after one more run."""
        known, both = self.calibration, one_of([self.traits, run.traits])
        left = left_between(known.spreads, known.runs, both)
        return known.interval(float(left[0, 0] - left[0, 1] ** 2 / (left[1, 1] + known.spreads.within**2)))

    @property
    def memory_share(self) -> float:
        """Memory held over the accelerator's."""
        return self.memory_bytes / self.job.cluster.accelerator.capacity

    @property
    def memory_text(self) -> str:
        """`71.3 of 80 GiB (89 %)`."""
        capacity = format_memory(self.job.cluster.accelerator.capacity)
        return f"{format_memory(self.memory_bytes)} of {capacity} ({100 * self.memory_share:.0f} %)"

    @property
    def step(self) -> Estimate:
        """Seconds of the step with their 90 % interval."""
        spread, value = math.exp(self.half_width), self.seconds
        return Estimate(value, value / spread, value * spread, LEVEL, f"residuals of {self.calibration.evidence} rows")

    @property
    def tokens(self) -> int:
        """The global batch in tokens."""
        return self.layout.sequences * self.job.seq

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds

    @property
    def memory_bytes(self) -> float:
        return sum(self.memory.values())

    @property
    def fits(self) -> bool:
        return self.memory_share <= 1.0

    @property
    def tight(self) -> bool:
        """It fits, but only in the memory that a plan leaves to fragmentation."""
        return USABLE < self.memory_share <= 1.0

    @property
    def compute_seconds(self) -> float:
        """Seconds of products, attention, recomputation and optimiser: no communication, bubble or waiting."""
        return sum(self.breakdown[name] for name in ("compute", "recompute", "optimizer"))

    @property
    def comm_frac(self) -> float:
        """Exposed communication and bubble over compute, so that efficiency is 1 / (1 + comm_frac)."""
        return (self.seconds - self.compute_seconds) / self.compute_seconds

    @property
    def efficiency(self) -> float:
        return 1.0 / (1.0 + self.comm_frac)

    @property
    def usd_per_billion_tokens(self) -> float | None:
        return self.job.cluster.dollars(self.gpus, 1e9 / self.tokens_per_second)

    @property
    def comm_share(self) -> float:
        return 1.0 - self.efficiency

    @property
    def model_tflops_per_gpu(self) -> float:
        return self.mfu * self.peak / 1e12

    @property
    def tokens_per_second_per_gpu(self) -> float:
        return self.tokens_per_second / self.gpus

    def record(self) -> dict[str, Any]:
        """A row of --csv."""
        nested = self.to_dict()
        layout = {name: value for name, value in nested.pop("layout").items() if name != "micro"}
        parts = {f"{name}_seconds": value for name, value in nested.pop("breakdown").items()}
        nested.pop("memory")
        nested.pop("memory_by_stage")
        return {"gpus": nested.pop("gpus")} | layout | nested | parts


def step_slopes(columns: JobColumns, constants: Constants, seconds: Array) -> Array:
    """Derivatives of the logarithm of each step by the DOUBTS, a row for each doubt, all in one call of the physics."""
    moves = SLOPE_STEP * np.eye(len(DOUBTS))[1:]  # by everything it is one
    shifts = {name: moves[:, place, None] for place, name in enumerate(DOUBTS)}
    moved = step_time(columns.device(moved_by(constants, shifts)), columns.shape, columns.grid).total
    slopes = np.log(np.broadcast_to(moved, (len(DOUBTS) - 1, len(seconds))) / seconds) / SLOPE_STEP
    return np.vstack([np.ones(len(seconds)), slopes])


def longer_than_constants(jobs: Sequence[TrainingJob], slopes: Array, calibration: StackCalibration) -> Array:
    """How many times as long each step takes as the moved constants say: what own runs of like jobs are off by."""
    runs = calibration.runs
    if runs is None:
        return np.ones(len(jobs))
    steps = one_of([job.traits(own) for job, own in zip(jobs, slopes.T.tolist(), strict=True)])
    return np.exp(calibration.spreads.alike(steps, runs.traits) @ runs.weights)


def evaluate_jobs(jobs: Sequence[TrainingJob], calibration: StackCalibration) -> list[StepOutcome]:
    """Every job through the physics, in the order given."""
    outcomes: dict[int, StepOutcome] = {}
    for columns in columns_of_jobs(jobs):
        device = columns.device(calibration.constants)
        time, held = step_time(device, columns.shape, columns.grid), memory(device, columns.shape, columns.grid)
        count = (len(columns.jobs),)
        ends = {
            name: np.broadcast_to(stage_memory(device, columns.shape, columns.grid, last=name == "last").total, count)
            for name in ("first", "last")
        }
        terms = {name: np.broadcast_to(getattr(time, name), count) for name in STEP_TERMS}
        slopes = step_slopes(columns, calibration.constants, np.broadcast_to(time.total, count))
        parts = {entry.name: np.broadcast_to(getattr(held, entry.name), count) for entry in fields(Memory)}
        shape = columns.shape
        idle = (shape.flop_per_token - shape.score_flop) / 3.0 if device.frozen else 0.0  # no gradients by weight
        per_token = np.broadcast_to(shape.flop_per_token - idle, count)
        longer = longer_than_constants(columns.jobs, slopes, calibration)
        for column, (place, job) in enumerate(zip(columns.places, columns.jobs, strict=True)):
            breakdown = {name: float(values[column] * longer[column]) for name, values in terms.items()}
            flop = float(per_token[column]) * job.layout.sequences * job.seq
            mfu = flop / (sum(breakdown.values()) * job.layout.gpus * job.cluster.peak(job.precision))
            outcomes[place] = StepOutcome(
                job=job,
                calibration=calibration,
                breakdown=breakdown,
                memory={name: float(values[column]) for name, values in parts.items()},
                stages={name: float(values[column]) for name, values in ends.items()},
                mfu=mfu,
                hfu=mfu * (4.0 / 3.0 if job.layout.recompute == "full" else 1.0),
                slopes=tuple(map(float, slopes[:, column])),
                longer=float(longer[column]),
            )
    return [outcomes[place] for place in range(len(jobs))]


@dataclass(frozen=True, kw_only=True, repr=False)
class Evaluation(Result):
    """One layout's step with its interval, where it goes, what it needs, and how sure that is."""

    outcome: StepOutcome
    findings: tuple[Finding, ...] = ()
    cap: DataParallelCap | None = None  # how far replicas of this layout reach
    run: str = ""  # what the target takes, and whether deadline and budget are kept
    run_seconds: float | None = None
    run_usd: float | None = None
    way_out: str | None = None  # where they are not: the plan that names a count that does
    chance: float | None = None  # of keeping deadline and budget

    left_out = LEFT_OUT
    JSON = """
        **outcome run_seconds run_usd chance model=outcome.job.model cluster=outcome.job.cluster
        stack=outcome.job.stack cap calibration=outcome.calibration left_out findings"""

    @property
    def answer(self) -> Answer:
        one = answer_of_step(self.outcome, self.cap)
        usual = any(note.code == "usual-batch" for note in self.findings)
        batch = f"No batch is given: {format_count(self.outcome.tokens)} tokens a step." if usual else ""
        reason = " ".join(filter(None, (one.reason, batch, counted_parameters(self.outcome.job.model)))) or None
        run = f" {self.run}" if self.run and self.outcome.fits else ""
        further = one.next if self.way_out is None else f"a plan names the count that keeps it: `{self.way_out}`"
        return replace(one, decision=one.decision + run, reason=reason, next=further)

    @property
    def step_seconds(self) -> float:
        return self.outcome.seconds

    @property
    def mfu(self) -> float:
        return self.outcome.mfu

    @property
    def memory_bytes(self) -> float:
        return self.outcome.memory_bytes

    def records(self) -> list[dict[str, Any]]:
        return [self.outcome.record()]

    def body(self) -> Document:
        one, job, step = self.outcome, self.outcome.job, self.outcome.step
        head = (
            f"{job.model.name} ({format_count(job.model.parameters)} parameters) on {one.gpus} x "
            f"{job.cluster.accelerator.name}, {job.stack.name}, {job.layout.short()}"
        )
        ends = format_seconds_range(step.low or 0.0, step.high or 0.0, " to ")
        facts = (
            f"step {format_seconds(step.value)} (90 %: {ends}), "
            f"{format_count(one.tokens_per_second)} tokens/s, MFU {100 * one.mfu:.1f} %, HFU {100 * one.hfu:.1f} %, "
            f"memory {one.memory_text}"
        )
        if one.layout.pp > 1:
            facts += " (" + ", ".join(f"{name} stage {format_memory(held)}" for name, held in one.stages.items()) + ")"
        rows = [
            (name, format_seconds(seconds), f"{100 * seconds / one.seconds:.1f} %")
            for name, seconds in one.breakdown.items()
            if seconds > 0
        ]
        origin = f"Constants: {one.calibration.evidence}, {one.calibration.source}."
        left = Paragraph("Left out: " + "; ".join(LEFT_OUT) + ".", "muted")
        shares = table(["term", "seconds", "share"], rows)
        return Document(head, (Paragraph(facts), shares, Paragraph(origin), left, FindingList(self.findings)))


def counted_parameters(model: Transformer) -> str:
    """How many parameters the sizes make, for a model that is no preset; else empty."""
    if models().get(model.name) == model:
        return ""
    count = f"By its sizes the model has {format_count(model.parameters)} parameters"
    if model.gated or model.source != "given":
        return f"{count}."
    return f"{count} ({format_count(replace(model, gated=True).parameters)} with gated=true, as Llama's)."


def answer_of_step(outcome: StepOutcome, cap: DataParallelCap | None = None) -> Answer:
    """Whether a layout runs, how fast, what takes most of its step beside compute, and how far its replicas reach."""
    known = f"The step is known within a factor of {math.exp(outcome.half_width):.2f} (90 %)."
    if not outcome.fits:
        return Answer(decision=f"It does not fit: it needs {outcome.memory_text}.", confidence=known, next=NEEDS_LESS)
    rate = f"{format_count(outcome.tokens_per_second)} tokens/s"
    worst = max((name for name in outcome.breakdown if name != "compute"), key=lambda name: outcome.breakdown[name])
    lost = f"{worst.capitalize()} takes {100 * outcome.breakdown[worst] / outcome.seconds:.0f} % of the step."
    return Answer(
        decision=f"It runs at {100 * outcome.mfu:.1f} % MFU: {format_seconds(outcome.seconds)} a step, {rate}.",
        confidence=known, reason=lost if cap is None else f"{lost} {cap.sentence}",
        next="time three steps of your own: they outweigh every constant"
        if outcome.calibration.evidence != "measured here" else None,
    )  # fmt: skip


def calibration_notes(stack: Stack, cluster: Cluster, calibration: StackCalibration) -> list[Finding]:
    """What own runs tell; what a reader must know where no table calibrates the stack, or nobody names it."""
    if calibration.evidence == "measured here":
        told, doubt, check = calibration.source.partition("; a run took ")
        if doubt:
            return [
                warning(
                    "measured-runs", f"a run took {check.partition(', so ')[0]}", remedy=check.partition(", so ")[2]
                )
            ]
        return [info("measured-runs", told)]
    if calibration.evidence not in ("assumed", "transferred"):
        return []
    reason = f"no published table calibrates {stack.name} on {cluster.accelerator.name}"
    remedy = "give runs of your own: --measured runs.csv"
    if not stack.named:
        reason, remedy = f"no stack is named, {stack.name} is the usual one", f"name yours with --stack, or {remedy}"
    message = f"{reason}: constants are {calibration.evidence}, so the interval is wide"
    return [info("not-calibrated", message, remedy=remedy)]


def evaluate_layout(
    model: ModelLike,
    cluster: ClusterLike,
    layout: LayoutLike,
    *,
    batch: float | str | None = None,
    seq: int | None = None,
    stack: str | Stack | None = None,
    precision: str | None = None,
    gpus: int | None = None,
    calibration: StackCalibration | None = None,
    price: float | None = None,
    adapters: bool = False,
) -> Evaluation:
    """Step time, throughput, MFU and memory of one layout, with intervals.

    `batch` is the global batch: "4Mi" are tokens, "512 sequences" and small numbers sequences (read_batch).  dp is
    taken from `gpus` and accumulation from `batch` where the layout leaves them out.  `price` is dollars per
    accelerator-hour; with `adapters` low-rank adapters are trained beside frozen weights.
    """
    if "dp" not in read_layout(layout):
        gpus = gpus or read_cluster(cluster).gpus
    job = read_job(model, cluster, layout, batch=batch, seq=seq, stack=stack, precision=precision, gpus=gpus)
    job = replace(job, adapter=adapters)
    if price is not None:
        job = replace(job, cluster=job.cluster.with_price(price))
    [outcome] = evaluate_jobs([job], calibration or calibration_of(job.cluster.accelerator, job.stack))
    findings: list[Finding] = [*job.model.notes, *job.cluster.precision_notes(job.precision)]
    capacity = job.cluster.accelerator.capacity
    held = f"needs {outcome.memory_text}"
    if not outcome.fits:
        over = outcome.memory_bytes - capacity
        message = f"{held}: {format_memory(over)} too much"
        findings.append(warning("does-not-fit", message, remedy=NEEDS_LESS, over_bytes=over))
    elif outcome.tight:
        message = f"{held}: above the {100 * USABLE:.0f} % that a plan counts on, the rest goes to fragmentation"
        findings.append(warning("tight", message, remedy=NEEDS_LESS))
    findings += calibration_notes(job.stack, job.cluster, outcome.calibration)
    if job.cluster.gpus is not None and outcome.gpus > job.cluster.gpus:
        message = f"the layout needs {outcome.gpus:,} {outcome.unit}: the cluster has {job.cluster.gpus:,}"
        findings.append(warning("beyond-cluster", message, remedy="lower dp"))
    if job.layout.interleave > 1 and job.layout.accumulation % job.layout.pp:
        message = f"{job.layout.accumulation} micro-batches do not divide by pp {job.layout.pp}, as interleaving needs"
        findings.append(warning("ragged-interleave", message))
    return Evaluation(outcome=outcome, findings=tuple(findings))
