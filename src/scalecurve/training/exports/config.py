"""A layout as the configuration that a training framework starts with, and such a configuration read back as a layout.

Flags are those of Megatron-LM (core 0.12), torchtitan, DeepSpeed, NeMo 2 (Megatron-Bridge) and MaxText.  What a
framework cannot do is refused with the way out; what it does by itself is said in a finding.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from scalecurve.document import Document, FindingList, Listing, Result
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, info
from scalecurve.training.answers.evaluation import StepOutcome, TrainingJob
from scalecurve.training.exports.frameworks import (
    Settings,
    deepspeed_layout,
    deepspeed_settings,
    maxtext_layout,
    maxtext_settings,
    maxtext_text,
    megatron_layout,
    megatron_settings,
    megatron_text,
    nemo_layout,
    nemo_settings,
    nested_toml,
    nested_yaml,
    torchtitan_layout,
    torchtitan_settings,
)
from scalecurve.training.inputs.layout import Layout


@dataclass(frozen=True, kw_only=True, repr=False)
class ExportedConfig(Result):
    """A framework's configuration of one layout: `text` is what runs, `settings` the same as values."""

    framework: str
    text: str
    settings: Mapping[str, Any]
    findings: tuple[Finding, ...] = ()

    def __repr__(self) -> str:
        return f"<ExportedConfig {self.framework}: {len(self.text.splitlines())} lines>"

    def document(self) -> Document:
        return Document(f"Configuration for {self.framework}", (Listing(self.text), FindingList(self.findings)))


def export_config(outcome: StepOutcome | TrainingJob, framework: str) -> ExportedConfig:
    """The configuration of an outcome's job for `megatron`, `torchtitan`, `deepspeed`, `nemo` or `maxtext`."""
    job = outcome.job if isinstance(outcome, StepOutcome) else outcome
    if framework not in FRAMEWORKS:
        hint = f"use one of {', '.join(FRAMEWORKS)}"
        raise InputError(Fault("unknown framework", "export", framework, hint))
    faults = _cannot(job.layout, framework)
    if job.adapter:
        hint = "export the layout without --adapters, and add them by the framework's own recipe"
        faults.append(Fault("adapters are not part of an export", "adapters", remedy=hint))
    if faults:
        raise InputError(faults, subject=f"export for {framework}")
    settings = FRAMEWORKS[framework].settings(job)
    return ExportedConfig(
        framework=framework,
        text=FRAMEWORKS[framework].text(settings),
        settings=settings,
        findings=_said_by_itself(job, framework),
    )


def read_export(text: str, framework: str) -> Layout:
    """The layout that a configuration written by `export_config` stands for."""
    return FRAMEWORKS[framework].layout(text)


def _cannot(layout: Layout, framework: str) -> list[Fault]:
    """What a framework's configuration cannot express."""
    if layout.schedule != "1f1b":
        hint = "use schedule=1f1b, or a fork of the framework that has it"
        return [Fault(f"{framework} has no such pipeline schedule", "schedule", layout.schedule, hint)]
    if framework in ("megatron", "nemo"):
        wrong = layout.zero >= 2 and layout.pp > 1
        return (
            [Fault("ZeRO-2 and 3 exclude pipeline stages here", "zero", str(layout.zero), "use zero=1")]
            if wrong
            else []
        )
    if framework == "torchtitan":
        wrong = layout.zero == 1
        return [Fault("torchtitan has no ZeRO-1", "zero", "1", "use zero=2 or zero=3")] if wrong else []
    if framework == "maxtext":
        wrong = layout.zero == 2
        return [Fault("MaxText has no ZeRO-2", "zero", "2", "use zero=3 (fsdp) or zero=1")] if wrong else []
    parts = {"pp": layout.pp, "cp": layout.cp, "ep": layout.ep}
    faults = [
        Fault("not in a DeepSpeed configuration, but in the model's code", name, str(degree), "export for megatron")
        for name, degree in parts.items()
        if degree > 1
    ]
    if layout.recompute == "selective":
        faults.append(Fault("DeepSpeed has no selective recomputation", "recompute", "selective", "use none or full"))
    if layout.sequence_parallel:
        faults.append(Fault("DeepSpeed does not split the sequence", "sequence_parallel", "true", "leave it out"))
    return faults


def _said_by_itself(job: TrainingJob, framework: str) -> tuple[Finding, ...]:
    """What a framework decides by itself, and what the configuration leaves to the user."""
    notes = [info("paths", "data, tokenizer, checkpoint and learning-rate settings are yours to add")]
    layout = job.layout
    if framework in ("torchtitan", "maxtext") and layout.tp > 1 and not layout.sequence_parallel:
        notes.append(info("sequence-parallel", f"{framework} splits the sequence beside tensor parallelism by itself"))
    if layout.pp > 1 and job.model.layers % (layout.pp * layout.interleave):
        message = f"{job.model.layers} layers do not divide by {layout.pp} stages of {layout.interleave} chunks"
        notes.append(info("uneven-stages", message, remedy="set the layers of the first and last stage"))
    if job.model.linear_layers:
        notes.append(info("hybrid-layers", "the kinds of layers are set by the model's own recipe, not here"))
    return tuple(notes)


@dataclass(frozen=True)
class Framework:
    """How a framework's settings follow from a job, how they are written, and how they are read back."""

    settings: Callable[[TrainingJob], Settings]
    text: Callable[[Settings], str]
    layout: Callable[[str], Layout]


FRAMEWORKS: Mapping[str, Framework] = {
    "megatron": Framework(megatron_settings, megatron_text, megatron_layout),
    "torchtitan": Framework(torchtitan_settings, nested_toml, torchtitan_layout),
    "deepspeed": Framework(
        deepspeed_settings, lambda settings: json.dumps(settings, indent=2) + "\n", deepspeed_layout
    ),
    "nemo": Framework(nemo_settings, nested_yaml, nemo_layout),
    "maxtext": Framework(maxtext_settings, maxtext_text, maxtext_layout),
}
