"""What a user's own runs tell: the doubts about a source, drawn from their priors to what its runs took.

The logarithm of a step is taken as linear in the DOUBTS around where they are now, plus what is its own, which like
jobs share (inputs/likeness.py).  Runs tell of both at once; a few rounds follow the curvature.  What the runs say
nothing of stays where it was, as wide as it was.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scalecurve.errors import Fault, InputError
from scalecurve.hardware.accelerators import accelerator_in
from scalecurve.study import Quantity, Study
from scalecurve.training.answers.evaluation import TrainingJob, evaluate_jobs, read_job
from scalecurve.training.answers.measured_layouts import Unread
from scalecurve.training.answers.measurements import measured_seconds, measurement
from scalecurve.training.inputs.cluster import ClusterLike, cluster_preset, read_cluster
from scalecurve.training.inputs.likeness import OwnRuns, one_of
from scalecurve.training.inputs.measured_table import NEEDED, TIMES, plain_row, whole
from scalecurve.training.inputs.stack import (
    DOUBTS,
    Stack,
    StackCalibration,
    calibration_of,
    moved_by,
    read_stack,
    within_peaks,
)
from scalecurve.training.inputs.transformer import ModelLike, as_array, preset_of
from scalecurve.words import percent

LAYOUT_COLUMNS = {  # of a table: the field of a layout
    **{name: name for name in ("tp", "pp", "dp", "cp", "ep", "etp", "zero", "sp", "recompute", "schedule", "shard")},
    "micro_batch": "micro", "grad_accum": "accumulation", "vp": "interleave",
}  # fmt: skip
HARDWARE = ("accelerator", "hardware", "gpu", "device", "chip")  # columns that name it
ACCELERATORS = ("gpus", "accelerators", "devices", "chips", "tpus", "ranks")  # units of K that count it
ROUNDS = 4
OUTLIER = 2.0  # standard deviations of a run, beyond which its weight falls
FAR = 1.5  # half widths of the interval beyond which a run is more likely misread than unusual
LEARNED = 0.35  # a doubt is learned where runs tell more than this share of its variance


@dataclass(frozen=True, kw_only=True)
class MeasuredStep:
    """A job and the seconds its step took."""

    job: TrainingJob
    seconds: float

    @property
    def mfu(self) -> float:
        """The share of the accelerators' peak that the model's FLOP took, as measured."""
        job = self.job
        flop = float(job.model.shape(job.seq).flop_per_token) * job.layout.sequences * job.seq
        return flop / (self.seconds * job.layout.gpus * job.cluster.peak(job.precision))


def calibrate(
    rows: Sequence[Mapping[str, Any]],
    *,
    model: ModelLike,
    cluster: ClusterLike,
    stack: str | Stack | None,
    precision: str | None = None,
) -> StackCalibration:
    """Constants moved by measured steps, one or more, from those of this accelerator and stack."""
    runs = read_runs(rows, model=model, cluster=cluster, stack=stack, precision=precision)
    return anchored(calibration_of(runs[0].job.cluster.accelerator, runs[0].job.stack), runs)


def read_runs(
    rows: Sequence[Mapping[str, Any]],
    *,
    model: ModelLike,
    cluster: ClusterLike,
    stack: str | Stack | None,
    precision: str | None = None,
) -> tuple[MeasuredStep, ...]:
    """The measured steps of a table: of this model on this cluster, or as rows of the common schema say."""
    lines = [plain_row(row) for row in rows]
    if all(set(NEEDED) <= set(line) for line in lines):  # rows that name their model and accelerator
        steps = schema_steps(lines, cluster, stack)
    else:
        steps = [
            read_step(line, f"run {place}", model=model, cluster=cluster, stack=stack, precision=precision)
            for place, line in enumerate(lines, start=1)
        ]
    if impossible := [step for step in steps if step.mfu > 1.0]:
        worst = max(impossible, key=lambda step: step.mfu)
        value = f"{worst.seconds:g} s for {worst.job.layout.sequences:,} sequences on {worst.job.layout.gpus:,}"
        hint = "check step_seconds, the batch (sequences, or tokens with a suffix) and the accelerators of that run"
        raise InputError(Fault(f"faster than the peak: {percent(worst.mfu)} MFU", "measured", value, hint))
    return tuple(steps)


def anchored(prior: StackCalibration, steps: Sequence[MeasuredStep]) -> StackCalibration:
    """The prior moved and narrowed by own runs."""
    spreads, variances = prior.spreads, np.square(prior.spreads.doubts)
    usual = spreads.own**2 + spreads.same**2 + spreads.within**2  # of what is the run's own
    measured = np.log([step.seconds for step in steps])
    known, shifts, far = prior, np.zeros(len(DOUBTS)), None
    for _ in range(ROUNDS):
        outcomes = evaluate_jobs([step.job for step in steps], known)
        errors = measured - np.log([one.seconds for one in outcomes])
        far = far or max(zip(errors, outcomes, strict=True), key=lambda one: abs(one[0]) / one[1].half_width)
        traits = one_of([one.traits for one in outcomes])
        strange = usual * np.maximum(np.abs(errors) / (OUTLIER * usual**0.5) - 1.0, 0.0)
        inverse = as_array(np.linalg.inv(spreads.shared(traits, traits) + np.diag(spreads.within**2 + strange)))
        gain = variances[:, None] * (traits.slopes.T @ inverse)
        weights = inverse @ (errors + traits.slopes @ shifts)
        shifts = variances * (traits.slopes.T @ weights)
        moves = dict(zip(DOUBTS, map(float, shifts), strict=True))
        known = replace(prior, constants=within_peaks(moved_by(prior.constants, moves)))
    told = np.diag(gain @ traits.slopes)  # of the variance of each doubt, in these runs
    learned = {name: moves[name] for name, share in zip(DOUBTS, told, strict=True) if share > LEARNED}
    moved = ", ".join(f"{name} x{np.exp(shift):.2f}" for name, shift in learned.items())
    source = f"{runs_in_words(steps)} on top of {prior.source}; "
    source += f"they tell what takes longer: {moved}" if moved else "they tell no doubt apart"
    if far is not None and abs(far[0]) > FAR * far[1].half_width:
        source += f"; a run took {math.exp(far[0]):.2f} times the planned step, so check its batch and step_seconds"
    return replace(
        known, runs=OwnRuns(traits, inverse, weights), evidence="measured here", source=source, rows=len(steps),
        fitted=tuple({constant for name in learned for constant in DOUBTS[name]}),
    )  # fmt: skip


def runs_in_words(steps: Sequence[MeasuredStep], charge: Callable[[float], float] | None = None) -> str:
    """`2 measured runs at 42.0 to 44.3 % MFU`; with the tokens processed for each useful one at a batch of so many
    tokens, also the share of the peak that useful work took."""
    words = f"{len(steps)} measured run{'s' if len(steps) > 1 else ''} at {shares([one.mfu for one in steps])} MFU"
    useful = [] if charge is None else [one.mfu / charge(one.job.layout.sequences * one.job.seq) for one in steps]
    return words if useful in ([], [one.mfu for one in steps]) else f"{words} ({shares(useful)} of useful work)"


def shares(values: Sequence[float]) -> str:
    """`42.0 to 44.3 %`."""
    ends = dict.fromkeys(f"{100 * value:.1f}" for value in (min(values), max(values)))
    return f"{' to '.join(ends)} %"


def mfu_of_study(study: Study, rates: Mapping[int, float]) -> dict[int, float] | None:
    """The share of the peak that the model's FLOP take at each K, from tokens per second; None where the study's
    columns do not name a model and an accelerator that are known, or K counts something else."""
    told = dict(re.findall(r"(\w+)[:=] ?(.+?)(?= \w+=|$)", "\n".join((*study.provenance.notes, study.name)), re.M))
    model = preset_of(told.get("model", ""))
    chips = (accelerator_in(told[name]) for name in HARDWARE if name in told)
    chip = next((each for each in chips if each), None)
    if model is None or chip is None or study.quantity is Quantity.SECONDS or study.k_unit not in ACCELERATORS:
        return None
    cluster = cluster_preset(chip.name)
    kind, faults = cluster.precision(told.get("precision"))
    flop = float(model.shape(whole(told, "seq") or model.seq).flop_per_token)
    each = study.quantity is Quantity.THROUGHPUT_PER_WORKER
    use = {k: rate / (1 if each else k) * flop / cluster.peak(kind) for k, rate in rates.items()}
    return None if faults or max(use.values()) > 1.0 else use


def schema_steps(
    rows: Sequence[Mapping[str, Any]], cluster: ClusterLike, stack: str | Stack | None
) -> list[MeasuredStep]:
    """The rows of the common schema that ran on this accelerator under this stack; blanks at their first plausible
    value."""
    machine = read_cluster(cluster)
    chip = machine.accelerator
    software = read_stack(stack or machine.stack, chip)
    runs = [measurement(row, "measured", machine) for row in rows]
    steps = [
        MeasuredStep(job=replace(one.jobs[0], stack=software), seconds=one.seconds)
        for one in runs
        if one.jobs and one.seconds and one.jobs[0].cluster.accelerator.name == chip.name
        and (stack is None or one.jobs[0].stack.name == software.name)
    ]  # fmt: skip
    if not steps:
        reasons = sorted({one.reason for one in runs if one.reason}) or ["other accelerators or stacks"]
        hint = f"give rows measured on {chip.name} under {software.name}"
        raise InputError(Fault("no row can be calibrated on", "measured", "; ".join(reasons), hint))
    return steps


def read_step(
    row: Mapping[str, str],
    where: str,
    *,
    model: ModelLike,
    cluster: ClusterLike,
    stack: str | Stack | None,
    precision: str | None,
) -> MeasuredStep:
    """One row of runs of this model on this cluster; `where` names it in errors."""
    written = row.get("parallelism") or {ours: row[name] for name, ours in LAYOUT_COLUMNS.items() if row.get(name)}
    try:
        job = read_job(
            model, cluster, written, batch=row.get("global_batch_seqs") or None, seq=whole(row, "seq"), stack=stack,
            precision=precision, gpus=whole(row, "accels"),
        )  # fmt: skip
    except InputError as problem:
        raise InputError(
            [replace(fault, remedy="correct the row") for fault in problem.faults], subject=where
        ) from None
    try:
        seconds, _ = measured_seconds(row, job)
    except Unread:
        hint = f"a column such as {', '.join((*TIMES, 'step_ms'))} with a number above 0"
        raise InputError(Fault("no step time", where, row.get("step_s") or ", ".join(row), hint)) from None
    return MeasuredStep(job=job, seconds=seconds)
