"""A layout as the configuration that a training framework starts with, and such a configuration read back as a layout.

What a framework cannot do is refused with the way out; what it does by itself is said in a finding.
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
    MAXTEXT_MODELS,
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
    nemo_text,
    nested_toml,
    torchtitan_layout,
    torchtitan_settings,
)
from scalecurve.training.inputs.capabilities import capability_faults
from scalecurve.training.inputs.layout import Layout
from scalecurve.training.inputs.stack import read_stack


@dataclass(frozen=True, kw_only=True, repr=False)
class ExportedConfig(Result):
    """A framework's configuration of one layout: `text` is what runs, `settings` the same as values."""

    framework: str
    text: str
    settings: Mapping[str, Any]
    findings: tuple[Finding, ...] = ()

    def __repr__(self) -> str:
        return f"<ExportedConfig {self.framework}: {len(self.text.splitlines())} lines>"

    def body(self) -> Document:
        return Document(f"Configuration for {self.framework}", (Listing(self.text), FindingList(self.findings)))


def export_config(outcome: StepOutcome | TrainingJob, framework: str) -> ExportedConfig:
    """The configuration of an outcome's job for `megatron`, `torchtitan`, `deepspeed`, `nemo` or `maxtext`."""
    job = outcome.job if isinstance(outcome, StepOutcome) else outcome
    if framework not in FRAMEWORKS:
        hint = f"use one of {', '.join(FRAMEWORKS)}"
        raise InputError(Fault("unknown framework", "export", framework, hint))
    faults = _cannot(job, framework)
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
        findings=_said_by_itself(job, framework, settings),
    )


def read_export(text: str, framework: str) -> Layout:
    """The layout that a configuration written by `export_config` stands for."""
    return FRAMEWORKS[framework].layout(text)


def _cannot(job: TrainingJob, framework: str) -> list[Fault]:
    """What a framework's configuration cannot express or would refuse to start with."""
    stack = read_stack(FRAMEWORKS[framework].stack)
    faults = capability_faults(stack, job.layout, job.model, job.precision)
    if framework in ("torchtitan", "deepspeed") and job.precision == "nvfp4":
        faults.append(Fault("the configuration has no nvfp4", "precision", "nvfp4", "use --precision bf16"))
    if job.optimizer != "adamw":
        hint = "export with optimizer=adamw, and set how states are kept in the framework"
        faults.append(Fault("the optimiser's states are not part of an export", "optimizer", job.optimizer, hint))
    return faults


def _said_by_itself(job: TrainingJob, framework: str, settings: Settings) -> tuple[Finding, ...]:
    """What a framework decides by itself, and what the configuration leaves to the user."""
    notes = [info("paths", "data, tokenizer, checkpoint and learning-rate settings are yours to add")]
    layout, model = job.layout, job.model
    if framework == "torchtitan":
        message = "written for torchtitan 0.2.2, the last release that reads TOML; later sources take Python"
        notes.append(info("framework-version", message, remedy="give the same settings to the config of your version"))
    if framework in ("torchtitan", "maxtext") and layout.tp > 1 and not layout.sequence_parallel:
        notes.append(info("sequence-parallel", f"{framework} splits the sequence beside tensor parallelism by itself"))
    if framework in ("megatron", "nemo") and layout.tp * layout.cp > 1 and layout.zero < 2:
        notes.append(info("environment", "before Blackwell, tensor and context parallelism start only with a setting",
                          remedy="export CUDA_DEVICE_MAX_CONNECTIONS=1"))  # fmt: skip
    if framework == "deepspeed" and layout.recompute == "full":
        message = "a DeepSpeed configuration does not turn recomputation on"
        notes.append(info("recompute", message, remedy="call the model's gradient_checkpointing_enable()"))
    unnamed = framework == "torchtitan" and settings["model"]["flavor"] == "yours"
    unnamed = unnamed or (framework == "maxtext" and settings.get("model_name") == model.name not in MAXTEXT_MODELS)
    if unnamed:
        message = f"{framework} has no model called {model.name}"
        notes.append(info("model-name", message, remedy="register it there and set its name"))
    if model.linear_layers or model.indexer_heads:
        notes.append(info("hybrid-layers", "the kinds of layers are set by the model's own recipe, not here"))
    return tuple(notes)


@dataclass(frozen=True)
class Framework:
    """Its stack, how its settings follow from a job, how they are written, and how they are read back."""

    stack: str
    settings: Callable[[TrainingJob], Settings]
    text: Callable[[Settings], str]
    layout: Callable[[str], Layout]


FRAMEWORKS: Mapping[str, Framework] = {
    "megatron": Framework("megatron-core", megatron_settings, megatron_text, megatron_layout),
    "torchtitan": Framework("torchtitan", torchtitan_settings, nested_toml, torchtitan_layout),
    "deepspeed": Framework(
        "deepspeed", deepspeed_settings, lambda settings: json.dumps(settings, indent=2) + "\n", deepspeed_layout
    ),
    "nemo": Framework("nemo", nemo_settings, nemo_text, nemo_layout),
    "maxtext": Framework("maxtext", maxtext_settings, maxtext_text, maxtext_layout),
}
