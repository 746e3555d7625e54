"""Layouts through the physics: step time with its interval, where it goes, throughput, use of the hardware, memory.

`evaluate_jobs` is the one evaluation: a plan, one layout and the explorer all show its numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from scalecurve.document import Document, FindingList, Paragraph, Result, table
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, info, warning
from scalecurve.training.answers.job import TrainingJob, columns_of_jobs, read_job
from scalecurve.training.inputs.cluster import ClusterLike, cluster_gpus
from scalecurve.training.inputs.layout import Layout, LayoutLike
from scalecurve.training.inputs.stack import (
    Stack,
    StackCalibration,
    calibration_of,
)
from scalecurve.training.inputs.transformer import ModelLike
from scalecurve.training.physics.memory import USABLE, Memory, memory, stage_memory
from scalecurve.training.physics.steptime import STEP_TERMS, step_time
from scalecurve.units import format_bytes, format_count, format_seconds

LEVEL = 0.9
LEFT_OUT = (
    "data loading and logging",
    "checkpoint writes and failures (see goodput)",
    "kernel autotuning, power and thermal limits beyond the measured ceilings",
    "congestion from other jobs on the network",
)


@dataclass(frozen=True, kw_only=True)
class StepOutcome:
    """Seconds, bytes, tokens and dollars of one step of one job."""

    job: TrainingJob
    calibration: StackCalibration
    breakdown: dict[str, float]
    memory: dict[str, float]
    stages: dict[str, float]  # bytes on an accelerator of the first and of the last pipeline stage
    mfu: float
    hfu: float

    @property
    def layout(self) -> Layout:
        return self.job.layout

    @property
    def gpus(self) -> int:
        return self.layout.gpus

    @property
    def peak(self) -> float:
        """FLOP/s of one accelerator that MFU is measured against."""
        return self.job.cluster.peak(self.job.precision)

    @property
    def seconds(self) -> float:
        return sum(self.breakdown.values())

    @property
    def half_width(self) -> float:
        """Half of the 90 % interval of log(measured / predicted)."""
        return self.calibration.half_width

    @property
    def memory_share(self) -> float:
        """Memory held over the accelerator's."""
        return self.memory_bytes / self.job.cluster.accelerator.capacity

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
        return self.memory_bytes <= self.job.cluster.accelerator.capacity

    @property
    def tight(self) -> bool:
        """It fits, but only in the memory that a plan leaves to fragmentation."""
        return self.fits and self.memory_bytes > USABLE * self.job.cluster.accelerator.capacity

    @property
    def compute_seconds(self) -> float:
        """What is not communication, bubble or waiting: products, attention, recomputation, optimiser."""
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

    def to_dict(self) -> dict[str, Any]:
        step = self.step
        return {
            "gpus": self.gpus,
            "layout": self.layout.to_dict(),
            "global_batch_sequences": self.layout.sequences,
            "global_batch_tokens": self.tokens,
            "step_seconds": step.value,
            "step_low": step.low,
            "step_high": step.high,
            "level": LEVEL,
            "breakdown": self.breakdown,
            "comm_frac": self.comm_frac,
            "comm_share": 1.0 - self.efficiency,
            "efficiency": self.efficiency,
            "mfu": self.mfu,
            "hfu": self.hfu,
            "model_tflops_per_gpu": self.mfu * self.peak / 1e12,
            "memory_bytes": self.memory_bytes,
            "memory": self.memory,
            "memory_by_stage": self.stages,
            "memory_capacity": self.job.cluster.accelerator.capacity,
            "fits": self.fits,
            "tokens_per_second": self.tokens_per_second,
            "tokens_per_second_per_gpu": self.tokens_per_second / self.gpus,
            "usd_per_billion_tokens": self.usd_per_billion_tokens,
            "evidence": self.calibration.evidence,
        }

    def record(self) -> dict[str, Any]:
        """A row of --csv."""
        nested = self.to_dict()
        layout = {name: value for name, value in nested.pop("layout").items() if name != "micro"}
        parts = {f"{name}_seconds": value for name, value in nested.pop("breakdown").items()}
        nested.pop("memory")
        nested.pop("memory_by_stage")
        return {"gpus": nested.pop("gpus")} | layout | nested | parts


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
        parts = {entry.name: np.broadcast_to(getattr(held, entry.name), count) for entry in fields(Memory)}
        per_token = np.broadcast_to(columns.shape.flop_per_token, count)
        for column, (place, job) in enumerate(zip(columns.places, columns.jobs, strict=True)):
            breakdown = {name: float(values[column]) for name, values in terms.items()}
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
            )
    return [outcomes[place] for place in range(len(jobs))]


@dataclass(frozen=True, kw_only=True, repr=False)
class Evaluation(Result):
    """One layout's step with its interval, where it goes, what it needs, and how sure that is."""

    outcome: StepOutcome
    findings: tuple[Finding, ...] = ()

    def __repr__(self) -> str:
        one = self.outcome
        return (
            f"<Evaluation {one.job.model.name} on {one.gpus} x {one.job.cluster.accelerator.name}, "
            f"{one.layout.short()}: step {format_seconds(one.seconds)}, MFU {100 * one.mfu:.1f} %>"
        )

    @property
    def step_seconds(self) -> float:
        return self.outcome.seconds

    @property
    def mfu(self) -> float:
        return self.outcome.mfu

    @property
    def hfu(self) -> float:
        return self.outcome.hfu

    @property
    def tokens_per_second(self) -> float:
        return self.outcome.tokens_per_second

    @property
    def tokens_per_second_per_gpu(self) -> float:
        return self.outcome.tokens_per_second / self.outcome.gpus

    @property
    def step(self) -> Estimate:
        return self.outcome.step

    @property
    def step_low(self) -> float | None:
        return self.outcome.step.low

    @property
    def step_high(self) -> float | None:
        return self.outcome.step.high

    @property
    def memory_bytes(self) -> float:
        return self.outcome.memory_bytes

    def to_dict(self) -> dict[str, Any]:
        return self.outcome.to_dict() | {
            "model": self.outcome.job.model.to_dict(),
            "cluster": self.outcome.job.cluster.to_dict(),
            "stack": self.outcome.job.stack.to_dict(),
            "calibration": self.outcome.calibration.to_dict(),
            "left_out": list(LEFT_OUT),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def records(self) -> list[dict[str, Any]]:
        return [self.outcome.record()]

    def document(self) -> Document:
        one, job, step = self.outcome, self.outcome.job, self.outcome.step
        head = (
            f"{job.model.name} ({format_count(job.model.parameters)} parameters) on {one.gpus} x "
            f"{job.cluster.accelerator.name}, {job.stack.name}, {job.layout.short()}"
        )
        facts = (
            f"step {format_seconds(step.value)} (90 %: {format_seconds(step.low or 0)} to "
            f"{format_seconds(step.high or 0)}), {format_count(one.tokens_per_second)} tokens/s, "
            f"MFU {100 * one.mfu:.1f} %, HFU {100 * one.hfu:.1f} %, memory "
            f"{format_bytes(one.memory_bytes)} of {format_bytes(job.cluster.accelerator.capacity)}"
        )
        if one.layout.pp > 1:
            facts += " (" + ", ".join(f"{name} stage {format_bytes(held)}" for name, held in one.stages.items()) + ")"
        rows = [
            (name, format_seconds(seconds), f"{100 * seconds / one.seconds:.1f} %")
            for name, seconds in one.breakdown.items()
            if seconds > 0
        ]
        origin = f"Constants: {one.calibration.evidence}, {one.calibration.source}."
        left = Paragraph("Left out: " + "; ".join(LEFT_OUT) + ".", "muted")
        shares = table(["term", "seconds", "share"], rows)
        return Document(head, (Paragraph(facts), shares, Paragraph(origin), left, FindingList(self.findings)))


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
) -> Evaluation:
    """Step time, throughput, MFU and memory of one layout, with intervals.

    `batch` is the global batch: "4Mi" are tokens, "512 sequences" and small numbers sequences (read_batch).  dp is
    taken from `gpus` and accumulation from `batch` where the layout leaves them out.  `price` is dollars per
    accelerator-hour.
    """
    gpus = gpus or cluster_gpus(cluster)
    job = read_job(model, cluster, layout, batch=batch, seq=seq, stack=stack, precision=precision, gpus=gpus)
    if price is not None:
        job = replace(job, cluster=job.cluster.with_price(price))
    [outcome] = evaluate_jobs([job], calibration or calibration_of(job.cluster.accelerator, job.stack))
    findings: list[Finding] = [*job.model.notes, *job.cluster.precision_notes(job.precision)]
    capacity = job.cluster.accelerator.capacity
    held = f"needs {format_bytes(outcome.memory_bytes)} of {format_bytes(capacity)}"
    remedy = "recompute more, raise tp, pp or the ZeRO stage, or lower the micro-batch"
    if not outcome.fits:
        over = outcome.memory_bytes - capacity
        message = f"{held}: {format_bytes(over)} too much"
        findings.append(warning("does-not-fit", message, remedy=remedy, over_bytes=over))
    elif outcome.tight:
        message = f"{held}: above the {100 * USABLE:.0f} % that a plan counts on, the rest goes to fragmentation"
        findings.append(warning("tight", message, remedy=remedy))
    if outcome.calibration.evidence in ("assumed", "transferred"):
        message = (
            f"no published table calibrates {job.stack.name} on {job.cluster.accelerator.name}: constants are "
            f"{outcome.calibration.evidence}, so the interval is wide"
        )
        findings.append(info("not-calibrated", message, remedy="give one or two measured runs"))
    if job.layout.interleave > 1 and job.layout.accumulation % job.layout.pp:
        message = f"{job.layout.accumulation} micro-batches do not divide by pp {job.layout.pp}, as interleaving needs"
        findings.append(warning("ragged-interleave", message))
    return Evaluation(outcome=outcome, findings=tuple(findings))
