"""Every term of a step with its formula, the numbers in it, and how well each is known."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from scalecurve.document import Answer, Column, Document, Paragraph, Result, table
from scalecurve.findings import Finding
from scalecurve.training.answers.evaluation import LEFT_OUT, JobColumns, StepOutcome, answer_of_step, columns_of_jobs
from scalecurve.training.inputs.stack import Device
from scalecurve.training.physics.layer import LayerTime, layer_time
from scalecurve.training.physics.memory import USABLE, activation_bytes, stage_layers, state_bytes
from scalecurve.training.physics.steptime import (
    OPTIMIZER_TRAFFIC,
    bubble_passes,
    data_windows,
    exposed_expert,
    gradient_traffic,
    pipeline_seconds,
    sharded_seconds,
)
from scalecurve.units import format_count, format_memory, format_seconds, format_seconds_range

STEP_FORMULAS = {
    "compute": "m (L/p (forward + backward) + output layer)",
    "recompute": "m L/p again",
    "tensor": "m L/p tensor traffic",
    "context": "m L/p ring traffic beyond its attention",
    "expert": "m L/p 4 all-to-all",
    "data": "max(traffic - window, 0) + contention x min(traffic, window)",
    "pipeline": "(m v + p - 1) sends, exposed part",
    "bubble": "(p - 1) layers of a chunk, fewer by schedule",
    "optimizer": "38 bytes x parameters held / memory rate",
    "host": "a step, each micro-batch, stalls",
}
MEMORY_FORMULAS = {
    "weights": "bytes x parameters held",
    "gradients": "bytes x parameters held",
    "optimizer": "bytes x parameters held",
    "activations": "bytes a layer keeps x layers in flight",
    "logits": "bytes a score x b s V/t",
    "buffers": "gathered weights and gradients, buckets",
    "working": "one layer again",
    "runtime": "context, workspaces, communicators",
}


@dataclass(frozen=True)
class ExplainedTerm:
    """One line of an explanation; `evidence` is measured here, published, calibrated, transferred or assumed."""

    name: str
    formula: str
    numbers: str
    value: str
    evidence: str


@dataclass(frozen=True, repr=False)
class StepExplanation(Result):
    """The step of one outcome, term by term."""

    outcome: StepOutcome
    parts: tuple[ExplainedTerm, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def answer(self) -> Answer:
        return answer_of_step(self.outcome)

    def content(self) -> dict[str, Any]:
        return self.outcome.to_dict() | {"terms": self.records(), "left_out": list(LEFT_OUT)}

    def records(self) -> list[dict[str, Any]]:
        return [asdict(part) for part in self.parts]

    def body(self) -> Document:
        job = self.outcome.job
        head = f"{job.model.name} on {self.outcome.gpus} x {job.cluster.accelerator.name}: {job.layout.short()}"
        columns = [Column(name, "left") for name in ("term", "formula", "numbers", "value", "evidence")]
        rows = [(part.name, part.formula, part.numbers, part.value, part.evidence) for part in self.parts]
        terms = [row for row in rows if row[0] == "step" or self.outcome.breakdown.get(row[0])]
        left = Paragraph("What this leaves out: " + "; ".join(LEFT_OUT) + ".")
        shown = table(columns[:4], [row[:4] for row in terms])
        return Document(head, (shown,), (table(columns, rows), left))


def explain(outcome: StepOutcome) -> StepExplanation:
    """The terms of steptime.step_time and of memory, filled in."""
    [columns] = columns_of_jobs([outcome.job])
    device = columns.device(outcome.calibration.constants)
    layer = layer_time(device, columns.shape, columns.grid)
    return StepExplanation(
        outcome,
        (
            *_rate_terms(outcome),
            *_step_terms(outcome, columns, device, layer),
            *_memory_terms(outcome, columns, device),
        ),
    )


def _rate_terms(outcome: StepOutcome) -> list[ExplainedTerm]:
    """Published rates times achieved shares."""
    cluster, shares = outcome.job.cluster, outcome.calibration.constants
    chip = cluster.accelerator
    rates = [
        ("matrix rate", "peak x matmul", outcome.peak, 1e12, "TFLOP/s", ".0f", shares.matmul, ".3f"),
        ("memory rate", "HBM x memory", chip.memory_rate, 1e12, "TB/s", ".2f", shares.memory, ".2f"),
        ("fast link", "link x inner", cluster.inner_rate, 1e9, "GB/s", ".0f", shares.inner, ".2f"),
        ("network", "port x outer", cluster.outer_rate, 1e9, "GB/s", ".1f", shares.outer, ".2f"),
    ]
    terms = [
        ExplainedTerm(
            name, formula, f"{rate / unit:{digits}} {word} x {share:{places}}",
            f"{rate * share / unit:{digits}} {word}", outcome.calibration.evidence_of(formula.split()[-1]),
        )
        for name, formula, rate, unit, word, digits, share, places in rates
    ]  # fmt: skip
    return [*terms, ExplainedTerm("peak, HBM, links", "data sheet", chip.source[:60], "", "published")]


def _step_terms(outcome: StepOutcome, columns: JobColumns, device: Device, layer: LayerTime) -> list[ExplainedTerm]:
    """Each formula of the step with its numbers in place of the letters.  With ZeRO-3 what each layer shows of its
    gathering is paid first, then the gradients' traffic."""
    job, layout, shape, grid = outcome.job, outcome.layout, columns.shape, columns.grid
    m, p, v = layout.accumulation, layout.pp, layout.interleave
    depth = int(stage_layers(device, shape, grid)[0].item())
    chunk = -(-job.model.layers // (p * v)) if v > 1 else job.model.layers / p
    work = (layer.compute.forward + layer.compute.backward).item()
    sharded = sharded_seconds(device, shape, grid, layer).item()
    expert = exposed_expert(device, grid, layer)
    whole = work + sharded + (layer.recompute + layer.tensor + layer.context + expert).item()
    ends = outcome.breakdown["compute"] / m - depth * work
    send = format_seconds(pipeline_seconds(device, shape, grid).item())
    each = (outcome.breakdown["host"] - device.step) / (m + p - 1)
    moved = outcome.breakdown["optimizer"] * device.memory_rate
    held = f"{OPTIMIZER_TRAFFIC:.0f} x {format_count(moved / OPTIMIZER_TRAFFIC)}"
    if device.stack.gradient_traffic > 0.0:
        held = f"{format_count(moved)} bytes of states and gradients"
    bubble = f"{bubble_passes(grid).item():.4g} x {chunk:.4g} x {format_seconds(whole)}"
    if device.stack.weighs_stages and p > 1:
        bubble = f"the other {p - 1} stages, layers of {format_seconds(whole)} each"
    data = data_text(device, columns, layer)
    if layout.zero >= 3:
        data = f"{m} x {depth} x {format_seconds(sharded)} gathering, {data}"
    numbers = {
        name: f"{m} x {depth} x {format_seconds(getattr(layer, name).item())}"
        for name in ("recompute", "tensor", "context")
    }
    numbers |= {
        "expert": f"{m} x {depth} x {format_seconds(expert.item())}",
        "compute": f"{m} x ({depth} x {format_seconds(work)} + {format_seconds(max(ends, 0.0))})",
        "data": data,
        "pipeline": f"{m * v + p - 1} x {send} x {1.0 - device.stack.pipeline_overlap:.2f}" if p > 1 else "one stage",
        "bubble": bubble,
        "host": f"{format_seconds(device.step)} + {m + p - 1} x {format_seconds(each)}",
        "optimizer": f"{held} / {device.memory_rate / 1e12:.2f} TB/s",
    }
    evidence, step = outcome.calibration.evidence, outcome.step
    like = "" if outcome.longer == 1.0 else f", x {outcome.longer:.3f} as like runs took"
    terms = [
        ExplainedTerm(name, STEP_FORMULAS[name], numbers[name] + like, format_seconds(seconds), evidence)
        for name, seconds in outcome.breakdown.items()
    ]
    spread = f"90 % interval {format_seconds_range(step.low or 0.0, step.high or 0.0, ' to ')}"
    return [*terms, ExplainedTerm("step", "sum", spread, format_seconds(step.value), evidence)]


def data_text(device: Device, columns: JobColumns, layer: LayerTime) -> str:
    """`8 x 58.17 ms under 610.6 ms + 58.17 ms under 276 ms, contention 0.25`: the traffic and the window of each part,
    whose exposed seconds add up to the term."""
    grid, shape = columns.grid, columns.shape
    traffic = gradient_traffic(device, shape, grid)
    often, last = int(np.where(grid.zero == 2, grid.accumulation, 1).item()), 1.0 / grid.interleave.item()
    if not grid.data_overlap.item() > 0:
        backward, forward = (format_seconds(each.item()) for each in (traffic.backward, traffic.forward))
        return f"traffic {often} x {backward} + {forward}, not overlapped"
    parts = [
        f"{f'{times} x ' if times > 1 else ''}{format_seconds(share * seconds.item())} under "
        f"{format_seconds(np.asarray(room).item())}"
        for share, window in zip((1.0 - last, last), data_windows(device, shape, grid, layer), strict=True)
        for times, seconds, room in ((often, traffic.backward, window.backward), (1, traffic.forward, window.forward))
        if share * seconds.item() > 0
    ]
    return f"traffic {' + '.join(parts) or 'none'}, contention {device.contention:.2f}"


def _memory_terms(outcome: StepOutcome, columns: JobColumns, device: Device) -> list[ExplainedTerm]:
    """Bytes on the fullest accelerator, part by part."""
    job, layout, held = outcome.job, outcome.layout, outcome.memory
    layer = activation_bytes(device, columns.shape, columns.grid).item()
    tokens = layout.micro * job.seq // layout.cp
    scores = f"{device.stack.logit_bytes:g} x {tokens:,} x {job.model.vocab:,} / {layout.tp}"
    numbers = {
        "activations": f"{format_memory(layer)} x {held['activations'] / layer:.4g} layers ({layout.recompute} again)",
        "logits": scores if held["logits"] > 0 else "on the last stage",
        "buffers": "a stage" if layout.pp > 1 else "a layer",
        "working": layout.recompute,
        "runtime": "a fixed size",
    }
    from_stage = {"weights": 2 if device.stack.copy_below_zero3 else 3, "gradients": 2, "optimizer": 1}
    for (name, stage), each in zip(from_stage.items(), state_bytes(device, columns.grid), strict=True):
        size = float(np.asarray(each).item())
        split = f" (split over {(layout.shard or layout.dp) * layout.cp})" if layout.zero >= stage else ""
        numbers[name] = f"{size:g} x {format_count(held[name] / size)}{split}"
    terms = [
        ExplainedTerm(f"memory: {name}", MEMORY_FORMULAS[name], numbers[name], format_memory(value), "published")
        for name, value in held.items()
    ]
    capacity = format_memory(job.cluster.accelerator.capacity)
    share = f"{100 * outcome.memory_share:.0f} % of {capacity}"
    free = format_memory((1 - USABLE) * job.cluster.accelerator.capacity)
    left = ExplainedTerm(
        "memory: fragmentation",
        "share that a plan leaves free",
        f"{100 * (1 - USABLE):.0f} % of {capacity}",
        free,
        "assumed",
    )
    return [*terms, left, ExplainedTerm("memory", "sum", share, format_memory(outcome.memory_bytes), "published")]
