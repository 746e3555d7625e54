"""A given layout, evaluated: the way published tables are checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scalecurve.document import Block, Document, FindingList, Paragraph, Shown, Table, table
from scalecurve.errors import Fault, InputError
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, info, warning
from scalecurve.training.calibration import Calibration, calibration_of
from scalecurve.training.cluster import Cluster
from scalecurve.training.evaluation import Job
from scalecurve.training.inputs import gpus_of, read_cluster, read_model, read_stack
from scalecurve.training.layout import Layout, layout_faults, read_layout
from scalecurve.training.memory import USABLE
from scalecurve.training.outcome import Outcome, evaluate_job
from scalecurve.training.stack import Stack
from scalecurve.training.tokens import batch_sequences, sequence_length
from scalecurve.training.transformer import Transformer
from scalecurve.units import format_bytes, format_count, format_seconds

LEFT_OUT = (
    "data loading and logging",
    "checkpoint writes and failures (see goodput)",
    "kernel autotuning, power and thermal limits beyond the measured ceilings",
    "congestion from other jobs on the network",
)


@dataclass(frozen=True, kw_only=True)
class Evaluation(Shown):
    """One layout's step with its interval, where it goes, what it needs, and how sure that is."""

    outcome: Outcome
    findings: tuple[Finding, ...] = ()

    @property
    def step_seconds(self) -> float:
        return self.outcome.seconds

    @property
    def mfu(self) -> float:
        return self.outcome.mfu

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
    def hfu(self) -> float:
        return self.outcome.hfu

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
        return [flat(self.outcome)]

    def document(self) -> Document:
        job, step = self.outcome.job, self.outcome.step
        head = (
            f"{job.model.name} ({format_count(job.model.parameters)} parameters) on {self.outcome.gpus} x "
            f"{job.cluster.accelerator.name}, {job.stack.name}, {job.layout.short()}"
        )
        facts = (
            f"step {format_seconds(step.value)} (90 %: {format_seconds(step.low or 0)} to "
            f"{format_seconds(step.high or 0)}), {format_count(self.outcome.tokens_per_second)} tokens/s, "
            f"MFU {100 * self.outcome.mfu:.1f} %, HFU {100 * self.outcome.hfu:.1f} %, memory "
            f"{format_bytes(self.outcome.memory_bytes)} of {format_bytes(job.cluster.accelerator.capacity)}"
        )
        origin = f"Constants: {self.outcome.calibration.evidence}, {self.outcome.calibration.source}."
        blocks: tuple[Block, ...] = (
            Paragraph(facts), breakdown_table(self.outcome), Paragraph(origin),
            Paragraph("Left out: " + "; ".join(LEFT_OUT) + ".", "muted"), FindingList(self.findings),
        )  # fmt: skip
        return Document(head, blocks)


def breakdown_table(outcome: Outcome) -> Table:
    rows = [
        (name, format_seconds(seconds), f"{100 * seconds / outcome.seconds:.1f} %")
        for name, seconds in outcome.breakdown.items()
        if seconds > 0
    ]
    return table(["term", "seconds", "share"], rows)


def flat(outcome: Outcome) -> dict[str, Any]:
    """A row of --csv."""
    nested = outcome.to_dict()
    layout = {name: value for name, value in nested.pop("layout").items() if name != "micro"}
    parts = {f"{name}_seconds": value for name, value in nested.pop("breakdown").items()}
    nested.pop("memory")
    return {"gpus": nested.pop("gpus")} | layout | nested | parts


def evaluate_training(
    *,
    model: str | Path | Mapping[str, Any] | Transformer,
    cluster: str | Mapping[str, Any] | Cluster,
    layout: str | Mapping[str, Any] | Layout,
    batch: float | str | None = None,
    seq: int | None = None,
    stack: str | Stack | None = None,
    precision: str = "bf16",
    gpus: int | None = None,
    calibration: Calibration | None = None,
    price: float | None = None,
) -> Evaluation:
    """Step time, throughput, MFU and memory of one layout, with intervals.

    `batch` is the global batch in sequences (a suffixed text such as "4Mi", or a number from 262,144, is tokens).  dp
    is taken from `gpus` and accumulation from `batch` where the layout leaves them out.
    """
    if gpus is None and isinstance(cluster, Mapping):
        gpus = gpus_of(cluster)
    job = read_job(
        model=model, cluster=cluster, layout=layout, batch=batch, seq=seq, stack=stack, precision=precision, gpus=gpus
    )
    if price is not None:
        job = replace(job, cluster=job.cluster.with_price(price))
    known = calibration or calibration_of(job.cluster.accelerator, job.stack)
    outcome = evaluate_job(job, known)
    return Evaluation(outcome=outcome, findings=tuple(_findings(outcome)))


def read_job(
    *,
    model: Any,
    cluster: Any,
    layout: Any,
    batch: float | str | None,
    seq: int | None,
    stack: str | Stack | None,
    precision: str = "bf16",
    gpus: int | None = None,
) -> Job:
    """A job from what a user wrote; every fault at once."""
    shape, machine = read_model(model, seq=seq), read_cluster(cluster)
    given = read_layout(layout)
    sharded = int(given.get("zero", 0)) >= 3 and int(given.get("tp", 1)) == 1 and int(given.get("pp", 1)) == 1
    software = read_stack(stack, sharded=sharded)
    length = sequence_length(seq, shape.seq)
    split = _completed(given, software, batch, length, gpus)
    faults = [*layout_faults(split, shape), *precision_faults(precision, machine)]
    if faults:
        raise InputError(faults, subject=f"layout {split.short()}")
    return Job(
        model=shape, cluster=machine, stack=software, layout=split, seq=length, precision=plain_precision(precision)
    )


def plain_precision(name: str) -> str:
    return "fp8" if "8" in name or "fp4" in name.lower() else "bf16"


def precision_faults(name: str, cluster: Cluster) -> list[Fault]:
    known = ("bf16", "fp16", "fp8", "mxfp8", "nvfp4", "amp_bf16", "amp_fp8")
    if name.lower() not in known:
        return [Fault("unknown precision", "precision", name, f"use one of {', '.join(known)}")]
    if plain_precision(name) == "fp8" and cluster.accelerator.fp8_peak is None:
        return [Fault(f"{cluster.accelerator.name} has no fp8 matrix units", "precision", name, "use bf16")]
    return []


def _completed(given: dict[str, Any], stack: Stack, batch: float | str | None, seq: int, gpus: int | None) -> Layout:
    """Dp from the number of accelerators, accumulation from the batch, the stack's habits where nothing is said."""
    tp = int(given.get("tp", 1))
    habits = {"zero": stack.zero, "sequence_parallel": tp > 1 and stack.name == "megatron-core"}
    others = tp * int(given.get("pp", 1)) * int(given.get("cp", 1))
    if "dp" not in given and gpus is not None:
        if gpus % others:
            raise InputError(Fault("tp x pp x cp does not divide the accelerators", "gpus", f"{gpus} by {others}"))
        habits["dp"] = gpus // others
    split = Layout(**(habits | given))
    if gpus is not None and split.gpus != gpus:
        seen = f"{split.gpus} by the layout (tp x pp x dp x cp), {gpus} given"
        raise InputError(Fault("the layout and the number of accelerators disagree", "gpus", seen, "leave one out"))
    return _with_batch(split, "accumulation" in given, batch, seq)


def _with_batch(layout: Layout, said: bool, batch: float | str | None, seq: int) -> Layout:
    if batch is None:
        return layout
    sequences = batch_sequences(batch, seq)
    each = layout.dp * layout.micro
    if sequences % each:
        hint = f"a multiple of dp x micro = {each} sequences, such as {max(sequences // each, 1) * each}"
        raise InputError(Fault("no whole number of micro-batches makes this batch", "batch", f"{sequences}", hint))
    if said and layout.accumulation > 1 and layout.sequences != sequences:
        seen = f"{layout.sequences} by layout, {sequences} by batch"
        raise InputError(Fault("the layout's accumulation and the batch disagree", "batch", seen))
    return replace(layout, accumulation=sequences // each)


def _findings(outcome: Outcome) -> Sequence[Finding]:
    found = _memory_findings(outcome)
    chip = outcome.job.cluster.accelerator
    if outcome.calibration.evidence in ("assumed", "transferred"):
        message = (
            f"{outcome.job.stack.name} on {chip.name} has no published table here: constants are "
            f"{outcome.calibration.evidence}, so the interval is wide"
        )
        found.append(info("not-calibrated", message, remedy="give one or two measured runs"))
    layout = outcome.layout
    if layout.interleave > 1 and layout.accumulation % layout.pp:
        found.append(warning("ragged-interleave", "interleaving wants micro-batches in multiples of pp"))
    return found


def _memory_findings(outcome: Outcome) -> list[Finding]:
    """Beyond the memory it does not fit; in the share a plan does not count on it is tight."""
    capacity = outcome.job.cluster.accelerator.capacity
    held = f"{format_bytes(outcome.memory_bytes)} of {format_bytes(capacity)}"
    remedy = "recompute more, raise tp, pp or the ZeRO stage, or lower the micro-batch"
    if not outcome.fits:
        over = outcome.memory_bytes - capacity
        message = f"needs {held}: {format_bytes(over)} too much"
        return [warning("does-not-fit", message, remedy=remedy, over_bytes=over)]
    if outcome.tight:
        message = f"needs {held}: above the {100 * USABLE:.0f} % that a plan counts on, the rest goes to fragmentation"
        return [warning("tight", message, remedy=remedy)]
    return []
