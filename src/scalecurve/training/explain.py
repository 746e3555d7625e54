"""Every term of a step with its formula, the numbers in it, and how well each is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scalecurve.document import Column, Document, Paragraph, Shown, table
from scalecurve.training.evaluate import LEFT_OUT
from scalecurve.training.evaluation import grid_of_job
from scalecurve.training.grid import Grid
from scalecurve.training.layer import LayerTime, layer_time
from scalecurve.training.machine import Machine
from scalecurve.training.machines import resolve
from scalecurve.training.memory import OPTIMIZER_BYTES, WEIGHT_BYTES, activation_bytes
from scalecurve.training.outcome import Outcome
from scalecurve.training.shape import Shape
from scalecurve.training.steptime import (
    OPTIMIZER_TRAFFIC,
    backward_window,
    gradient_seconds,
    head_seconds,
    pipeline_seconds,
    sharded_traffic,
)
from scalecurve.units import format_bytes, format_count, format_seconds


@dataclass(frozen=True)
class Term:
    """One line of an explanation; `evidence` is measured here, published, calibrated, transferred or assumed."""

    name: str
    formula: str
    numbers: str
    value: str
    evidence: str

    def to_dict(self) -> dict[str, str]:
        return {
            "name": self.name, "formula": self.formula, "numbers": self.numbers, "value": self.value,
            "evidence": self.evidence,
        }  # fmt: skip


@dataclass(frozen=True)
class Explanation(Shown):
    """The step of one outcome, term by term."""

    outcome: Outcome
    parts: tuple[Term, ...]

    def to_dict(self) -> dict[str, Any]:
        return self.outcome.to_dict() | {"terms": [part.to_dict() for part in self.parts], "left_out": list(LEFT_OUT)}

    def records(self) -> list[dict[str, str]]:
        return [part.to_dict() for part in self.parts]

    def document(self) -> Document:
        job = self.outcome.job
        head = f"{job.model.name} on {self.outcome.gpus} x {job.cluster.accelerator.name}: {job.layout.short()}"
        columns = [Column(name, "left") for name in ("term", "formula", "numbers", "value", "evidence")]
        rows = [(part.name, part.formula, part.numbers, part.value, part.evidence) for part in self.parts]
        left = Paragraph("What this leaves out: " + "; ".join(LEFT_OUT) + ".")
        return Document(head, (table(columns, rows), left))


def explain(outcome: Outcome) -> Explanation:
    """The terms of steptime.step_time, filled in."""
    return Explanation(outcome, (*_constants(outcome), *_layer(outcome), *_step(outcome), *_memory(outcome)))


def _constants(outcome: Outcome) -> list[Term]:
    chip, known = outcome.job.cluster.accelerator, outcome.calibration
    peak = outcome.peak
    values = known.constants
    return [
        Term("matrix rate", "peak x matmul", f"{peak / 1e12:.0f} TFLOP/s x {values.matmul:.3f}",
             f"{peak * values.matmul / 1e12:.0f} TFLOP/s", known.evidence),
        Term("memory rate", "HBM x memory", f"{chip.memory_rate / 1e12:.2f} TB/s x {values.memory:.2f}",
             f"{chip.memory_rate * values.memory / 1e12:.2f} TB/s", known.evidence),
        Term("fast link", "link x inner", f"{outcome.job.cluster.inner_rate / 1e9:.0f} GB/s x {values.inner:.2f}",
             f"{outcome.job.cluster.inner_rate * values.inner / 1e9:.0f} GB/s", known.evidence),
        Term("network", "port x outer", f"{outcome.job.cluster.outer_rate / 1e9:.1f} GB/s x {values.outer:.2f}",
             f"{outcome.job.cluster.outer_rate * values.outer / 1e9:.1f} GB/s", known.evidence),
        Term("peak, HBM, links", "data sheet", chip.source[:60], "", "published"),
    ]  # fmt: skip


def _layer(outcome: Outcome) -> list[Term]:
    job, known = outcome.job, outcome.calibration
    machine = resolve(job.cluster, job.stack, known.constants, job.precision)
    shape, grid = job.model.shape(job.seq), grid_of_job(job)
    layer = layer_time(machine, shape, grid)
    tokens = job.layout.micro * job.seq // job.layout.cp
    forward, backward = float(layer.compute.forward), float(layer.compute.backward)
    return [
        Term("layer forward", "products + attention + elementwise", f"{tokens:,} tokens, tp {job.layout.tp}",
             format_seconds(forward), known.evidence),
        Term("layer backward", "gradients by input and weight", "as forward", format_seconds(backward), known.evidence),
        Term("layer again", "recomputation", job.layout.recompute, format_seconds(float(layer.recompute)),
             known.evidence),
        Term("layer tensor traffic", "4 x all-reduce of 2 b s h bytes, exposed part",
             f"{format_bytes(2 * tokens * job.model.hidden)} over {job.layout.tp}", format_seconds(float(layer.tensor)),
             known.evidence),
        Term("output layer", "products + 18 bytes a score", f"{tokens:,} x {job.model.vocab:,} / {job.layout.tp}",
             format_seconds(float(head_seconds(machine, shape, grid))), known.evidence),
        Term("stage to stage", "2 x 2 b s h / rate", f"pp {job.layout.pp}",
             format_seconds(float(pipeline_seconds(machine, shape, grid))), known.evidence),
    ]  # fmt: skip


_FORMULAS = {
    "compute": "m (L/p (forward + backward) + output layer)",
    "recompute": "m L/p again",
    "tensor": "m L/p tensor traffic",
    "context": "m L/p ring traffic beyond its attention",
    "expert": "m L/p 4 all-to-all",
    "data": "max(traffic - window, 0) + contention x min(traffic, window)",
    "pipeline": "(m v + p - 1) sends, exposed part",
    "bubble": "(p - 1)/v L/p layer",
    "optimizer": "38 bytes x parameters held / memory rate",
}


def _step(outcome: Outcome) -> list[Term]:
    evidence, numbers = outcome.calibration.evidence, _filled(outcome)
    parts = [
        Term(name, _FORMULAS[name], numbers[name], format_seconds(seconds), evidence)
        for name, seconds in outcome.breakdown.items()
    ]
    step = outcome.step
    spread = f"{format_seconds(step.low or 0.0)} to {format_seconds(step.high or 0.0)}"
    return [*parts, Term("step", "sum", f"90 % interval {spread}", format_seconds(step.value), evidence)]


def _filled(outcome: Outcome) -> dict[str, str]:
    """Each formula of the step with its numbers in place of the letters."""
    job, layout = outcome.job, outcome.layout
    machine = resolve(job.cluster, job.stack, outcome.calibration.constants, job.precision)
    shape, grid = job.model.shape(job.seq), grid_of_job(job)
    layer = layer_time(machine, shape, grid)
    m, p, v, depth = layout.accumulation, layout.pp, layout.interleave, -(-job.model.layers // layout.pp)
    work = float(layer.compute.forward + layer.compute.backward)
    sharded = float(sharded_traffic(machine, shape, grid, layer))
    whole = work + sharded + float(layer.recompute + layer.tensor + layer.context + layer.expert)
    ends = outcome.breakdown["compute"] / m - depth * work
    each = {
        name: f"{m} x {depth} x {format_seconds(float(getattr(layer, name)))}"
        for name in ("recompute", "tensor", "context", "expert")
    }
    send = format_seconds(float(pipeline_seconds(machine, shape, grid)))
    held = outcome.breakdown["optimizer"] * machine.memory_rate / OPTIMIZER_TRAFFIC
    return each | {
        "compute": f"{m} x ({depth} x {format_seconds(work)} + {format_seconds(max(ends, 0.0))})",
        "data": _data_numbers(machine, shape, grid, layer, f"{m} x {depth} x {format_seconds(sharded)}"),
        "pipeline": f"{m * v + p - 1} x {send} x {1.0 - machine.pipeline_overlap:.2f}" if p > 1 else "one stage",
        "bubble": f"{p - 1}/{v} x {depth} x {format_seconds(whole)}",
        "optimizer": f"{OPTIMIZER_TRAFFIC:.0f} x {format_count(held)} / {machine.memory_rate / 1e12:.2f} TB/s",
    }


def _data_numbers(machine: Machine, shape: Shape, grid: Grid, layer: LayerTime, sharded: str) -> str:
    """With ZeRO-3 what each layer shows of its gathering is paid first, then the gradients' traffic."""
    traffic = f"traffic {format_seconds(float(gradient_seconds(machine, shape, grid)))}"
    if grid.data_overlap > 0:
        window = format_seconds(float(backward_window(shape, grid, layer)))
        traffic += f", window {window}, contention {machine.contention:.2f}"
    else:
        traffic += ", not overlapped"
    return f"{sharded} gathering, {traffic}" if grid.zero >= 3 else traffic


_MEMORY = {
    "weights": "bytes x parameters held",
    "gradients": "bytes x parameters held",
    "optimizer": "bytes x parameters held",
    "activations": "bytes a layer keeps x layers in flight",
    "logits": "bytes a score x b s V/t",
    "working": "one layer again, gathered weights, runtime",
}


def _memory(outcome: Outcome) -> list[Term]:
    numbers = _memory_numbers(outcome)
    parts = [
        Term(f"memory: {name}", _MEMORY[name], numbers[name], format_bytes(value), "published")
        for name, value in outcome.memory.items()
    ]
    capacity = format_bytes(outcome.job.cluster.accelerator.capacity)
    return [*parts, Term("memory", "sum", f"of {capacity}", format_bytes(outcome.memory_bytes), "published")]


def _memory_numbers(outcome: Outcome) -> dict[str, str]:
    job, layout = outcome.job, outcome.layout
    machine = resolve(job.cluster, job.stack, outcome.calibration.constants, job.precision)
    layer = float(activation_bytes(machine, job.model.shape(job.seq), grid_of_job(job)))
    sizes = {"weights": WEIGHT_BYTES, "gradients": machine.gradient_bytes, "optimizer": OPTIMIZER_BYTES}
    first = {"weights": 3, "gradients": 2, "optimizer": 1}  # the ZeRO stage from which it is split
    states = {
        name: f"{size:g} x {format_count(outcome.memory[name] / size)}"
        + (f" (split over {(layout.shard or layout.dp) * layout.cp})" if layout.zero >= first[name] else "")
        for name, size in sizes.items()
    }
    scores = f"{machine.logit_bytes:g} x {layout.micro * job.seq // layout.cp:,} x {job.model.vocab:,} / {layout.tp}"
    return states | {
        "activations": f"{format_bytes(layer)} x {outcome.memory['activations'] / layer:.4g} layers",
        "logits": scores if outcome.memory["logits"] > 0 else "on the last stage",
        "working": f"of it runtime {format_bytes(machine.reserved)}",
    }
