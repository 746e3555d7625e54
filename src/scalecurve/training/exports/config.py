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
    faults = []
    if job.layout.schedule != "1f1b":
        hint = "use schedule=1f1b, or a fork of the framework that has it"
        faults.append(Fault(f"{framework} has no such pipeline schedule", "schedule", job.layout.schedule, hint))
    precisions = PRECISIONS.get(framework, (job.precision,))
    if job.precision not in precisions:
        hint = f"use --precision {' or '.join(precisions)}, or export for megatron"
        faults.append(Fault(f"{framework}'s configuration has no {job.precision}", "precision", job.precision, hint))
    limits = {"torchtitan": _torchtitan_limits, "maxtext": _maxtext_limits, "deepspeed": _deepspeed_limits}
    wrong = limits.get(framework, _megatron_limits)(job)
    return faults + [Fault(message, where, value, hint) for is_so, message, where, value, hint in wrong if is_so]


PRECISIONS = {"torchtitan": ("bf16", "fp8"), "deepspeed": ("bf16", "fp16")}
Limit = tuple[bool, str, str, str, str]  # whether it is broken; message, where, value, way out


def _megatron_limits(job: TrainingJob) -> list[Limit]:
    layout = job.layout
    return [
        (layout.zero >= 2 and layout.pp > 1, "ZeRO-2 and 3 exclude pipeline stages here", "zero", str(layout.zero),
         "use zero=1"),
        (job.model.is_moe and layout.tp > 1 and not layout.sequence_parallel,
         "experts beside tensor parallelism need the sequence split", "tp", str(layout.tp),
         "use sequence_parallel=true or tp=1"),
    ]  # fmt: skip


def _torchtitan_limits(job: TrainingJob) -> list[Limit]:
    layout = job.layout
    return [
        (layout.zero == 1, "torchtitan has no ZeRO-1", "zero", "1", "use zero=2 or zero=3"),
        (layout.zero == 0 and layout.cp > 1, "torchtitan shards the states over context ranks", "zero", "0",
         "use zero=2 or zero=3"),
        (layout.etp not in (1, layout.tp), "torchtitan splits experts over all tensor ranks or none", "etp",
         str(layout.etp), f"use etp=1 or etp={layout.tp}"),
    ]  # fmt: skip


def _maxtext_limits(job: TrainingJob) -> list[Limit]:
    layout, chunks = job.layout, job.layout.pp * job.layout.interleave
    shard = layout.shard or layout.dp
    return [
        (layout.zero == 2, "MaxText has no ZeRO-2", "zero", "2", "use zero=3 (fsdp) or zero=1"),
        (layout.zero == 3 and (shard % layout.ep > 0 or shard == layout.ep),
         "MaxText shards weights over data ranks that are neither expert nor context ranks", "zero",
         f"3 over {shard} ranks, ep {layout.ep}", "use zero=1, or a smaller ep"),
        (layout.dp % layout.ep > 0, "MaxText's expert ranks are data ranks", "ep", f"ep {layout.ep}, dp {layout.dp}",
         "use ep that divides dp"),
        (job.model.is_moe and layout.etp != layout.tp, "MaxText splits experts over all tensor ranks", "etp",
         str(layout.etp), f"use etp={layout.tp}"),
        (job.model.layers % chunks > 0, "MaxText's stages have equal depth", "pp",
         f"{job.model.layers} layers in {chunks} chunks", "use pp x interleave that divides the layers"),
        (layout.accumulation % layout.pp > 0, "micro-batches must be a multiple of pp", "accumulation",
         f"{layout.accumulation} micro-batches, pp {layout.pp}", "use another batch"),
    ]  # fmt: skip


def _deepspeed_limits(job: TrainingJob) -> list[Limit]:
    layout = job.layout
    parts = {"pp": layout.pp, "cp": layout.cp, "ep": layout.ep}
    code = "not in a DeepSpeed configuration, but in the model's code"
    return [
        *((degree > 1, code, name, str(degree), "export for megatron") for name, degree in parts.items()),
        (layout.recompute == "selective", "DeepSpeed has no selective recomputation", "recompute", "selective",
         "use none or full"),
        (layout.sequence_parallel, "DeepSpeed does not split the sequence", "sequence_parallel", "true",
         "leave it out"),
    ]  # fmt: skip


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
    "nemo": Framework(nemo_settings, nemo_text, nemo_layout),
    "maxtext": Framework(maxtext_settings, maxtext_text, maxtext_layout),
}
