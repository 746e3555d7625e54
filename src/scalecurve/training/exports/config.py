"""A layout as the configuration that a training framework starts with.

`facts` says what a job is in plain names; data/exports.toml says how each framework calls them.  What a framework
cannot do is refused with the way out; what it does by itself is said in a finding.
"""

from __future__ import annotations

import json
import math
import shlex
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate
from typing import Any

from scalecurve.document import Document, FindingList, Listing, Result
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, info, warning
from scalecurve.training.answers.evaluation import StepOutcome, TrainingJob, evaluate_jobs
from scalecurve.training.inputs.capabilities import capability_faults
from scalecurve.training.inputs.layout import Layout
from scalecurve.training.inputs.stack import calibration_of, read_stack
from scalecurve.training.inputs.transformer import Transformer, training_table

Settings = dict[str, Any]
LARGEST_SERVER, TRAY = 16, 4  # accelerators of a server; racks on one fabric are servers of four


@cache
def export_tables() -> Mapping[str, Any]:
    """exports.toml: the settings of each framework, and its names of models."""
    return tomllib.loads(training_table("exports.toml"))


def stage_depths(layers: int, chunks: int) -> list[int]:
    """Layers of each pipeline chunk: equal, or with the embedding and the output counted as a layer each."""
    if layers % chunks == 0:
        return [layers // chunks] * chunks
    least, more = divmod(layers + 2, chunks)
    start = (chunks - more) // 2  # neighbours, so that the deeper chunks are on different accelerators
    depths = [least + (start <= place < start + more) for place in range(chunks)]
    depths[0] -= 1
    depths[-1] -= 1
    return depths


def facts(job: TrainingJob, learning_rate: float | None = None) -> Settings:
    """What a job is, by the names that exports.toml uses; none or false where a framework is not to be told."""
    return {
        **model_facts(job.model), **layout_facts(job), **titan_facts(job), **maxtext_facts(job),
        "seq": job.seq, "learning_rate": learning_rate, "adamw": learning_rate and "AdamW",
        "fp16": job.precision == "fp16", "bf16": job.precision != "fp16",
        "fp8_format": {"fp8": "hybrid"}.get(job.precision), "fp4_format": {"nvfp4": "e2m1"}.get(job.precision),
        "fp8_recipe": job.precision == "fp8" and "delayed", "fp4_recipe": job.precision == "nvfp4" and "nvfp4",
        "torch_type": "torch.half" if job.precision == "fp16" else "torch.bfloat16",
    }  # fmt: skip


def model_facts(model: Transformer) -> Settings:
    """The sizes of a model."""
    sparse, latent = model.layers - model.dense_layers, bool(model.kv_rank)
    kinds = f"[0,1]*{sparse}" if sparse == model.dense_layers else f"[0]*{model.dense_layers}+[1]*{sparse}"
    return {
        "layers": model.layers, "hidden": model.hidden, "ffn": model.ffn or 4 * model.hidden, "heads": model.heads,
        "head": model.head_size, "vocab": model.vocab, "grouped": model.groups < model.heads,
        "groups": model.groups if model.groups < model.heads else None, "gated": model.gated,
        "norm": model.gated and "RMSNorm", "positions": not model.positions and "rope",
        "rotary_base": None if model.positions else model.rotary_base, "qk_norm": model.qk_norm,
        "untied": not model.tied, **window_facts(model),
        "experts": model.experts, "top_k": model.top_k, "expert_ffn": model.expert_ffn,
        "expert_layers": model.experts and f"({kinds})", "moe": model.is_moe,
        "dispatcher": model.is_moe and "alltoall", "shared_ffn": model.shared_ffn or None, "latent": latent,
        "kv_rank": model.kv_rank, "q_rank": model.q_rank, "rope": model.rope,
        "value_head": model.value_head if latent else None,
        "latent_head": model.head_size - (model.rope or 0) if latent else None, "mtp_layers": model.mtp_layers or None,
    }  # fmt: skip


def window_facts(model: Transformer) -> Settings:
    """An indexer's keys are no window; of some models one layer in so many has none."""
    if not model.window or model.indexer_heads:
        return {"window": None, "window_every": None}
    every = max(round(1.0 / (1.0 - model.window_share)), 2) if model.window_share < 1 else None
    return {"window": f"{model.window - 1},0", "window_every": every}


def layout_facts(job: TrainingJob) -> Settings:
    """How the job is split, and what the stack does about it."""
    return {**split_facts(job), **state_facts(job), **recompute_facts(job.layout, job.model)}


def split_facts(job: TrainingJob) -> Settings:
    """Accelerators, degrees, micro-batches and pipeline stages."""
    layout, model = job.layout, job.model
    server = job.cluster.node if job.cluster.node <= LARGEST_SERVER else TRAY
    node, chunks = math.gcd(server, layout.gpus), layout.pp * layout.interleave
    uneven = model.layers % chunks > 0
    stages = "|".join("t" * depth for depth in stage_depths(model.layers, chunks))
    return {
        "nodes": max(layout.gpus // node, 1), "node": node, "tp": layout.tp, "pp": layout.pp, "cp": layout.cp,
        "micro": layout.micro, "accumulation": layout.accumulation, "sequences": layout.sequences,
        "ep": layout.ep if model.is_moe else None, "etp": layout.etp if model.is_moe else None,
        "expert_ranks": layout.ep, "tensor_ranks": layout.tp if layout.tp > 1 else None,
        "uneven_stages": uneven and f"E{stages}{'m' * model.mtp_layers}L",
        "even_chunks": layout.interleave if layout.interleave > 1 and not uneven else None,
        "sequence_parallel": layout.sequence_parallel,
    }  # fmt: skip


def state_facts(job: TrainingJob) -> Settings:
    """Where weights, gradients and optimiser states are, and in how many bytes gradients travel."""
    layout, zero = job.layout, job.layout.zero
    overlaps = job.stack.data_overlap if layout.data_overlap is None else layout.data_overlap
    short = job.stack.gradient_bytes == 2 and zero >= 1
    return {
        "zero": zero, "split_states": zero >= 1, "split_gradients": zero >= 2, "overlaps": overlaps,
        "overlap": overlaps and zero >= 1, "strategy": {2: "optim_grads", 3: "optim_grads_params"}.get(zero),
        "checkpoint": zero >= 2 and "fsdp_dtensor", "short_gradients": short, "long_gradients": not short,
        "shard": layout.shard, "instances": layout.shard and layout.dp // layout.shard,
        "shard_crosses": layout.shard and layout.shard * layout.tp > job.cluster.node,
    }  # fmt: skip


def recompute_facts(layout: Layout, model: Transformer) -> Settings:
    """Which activations are computed again."""
    full, selective = (layout.recompute == mode for mode in ("full", "selective"))
    modules = ("core_attn", "layernorm", *(["moe_act"] if model.is_moe else []))
    return {
        "recompute_mode": layout.recompute, "recompute": (full or selective) and layout.recompute,
        "recompute_method": full and "uniform", "recompute_layers": int(full) or None,
        "recompute_modules": selective and " ".join(modules),
        "recompute_list": selective and f"[{', '.join(modules)}]",
        "full_layers": model.layers if full else None,
    }  # fmt: skip


def titan_facts(job: TrainingJob) -> Settings:
    """What only torchtitan asks.  In a pipeline weights are not resharded."""
    layout, staged, eight = job.layout, job.layout.pp > 1, job.precision == "fp8"
    shard = 1 if layout.zero == 0 else layout.shard or layout.dp
    name, flavor = export_tables()["models"]["torchtitan"].get(job.model.name, (job.model.name, "yours"))
    return {
        "titan_name": name, "titan_flavor": flavor, "titan_copies": layout.dp // shard, "titan_shard": shard,
        "titan_reshard": "default" if layout.zero == 3 else "never",
        "titan_schedule": ("Interleaved1F1B" if layout.interleave > 1 else "1F1B") if staged else None,
        "titan_chunks": titan_chunks(stage_depths(job.model.layers, layout.pp * layout.interleave)) if staged else None,
        "titan_selective": "op" if layout.recompute == "selective" else None,
        "titan_converters": ["quantize.linear.float8"] if eight else None,
        "titan_gathers_fp8": eight and layout.zero > 0, "titan_not_fp8": ["output"] if eight else None,
        "local_batch": layout.micro * (layout.accumulation if staged else 1),
        "staged_micro": layout.micro if staged else None,
    }  # fmt: skip


def titan_chunks(depths: list[int]) -> list[list[str]]:
    """The modules of each chunk by torchtitan's names."""
    ends = list(accumulate(depths))
    parts = [[f"layers.{layer}" for layer in range(end - depth, end)] for depth, end in zip(depths, ends, strict=True)]
    return [["tok_embeddings", *parts[0]], *parts[1:-1], [*parts[-1], "norm", "output"]]


def maxtext_names() -> Mapping[str, str]:
    """MaxText's names of the presets that it has a file for."""
    models = export_tables()["models"]
    return {**{name: name for name in models["maxtext_same"]}, **models["maxtext"]}


def maxtext_facts(job: TrainingJob) -> Settings:
    """What only MaxText asks: its name of the model, or the sizes of a dense one that it has no file for."""
    layout, model, tpu = job.layout, job.model, job.cluster.accelerator.name.startswith("tpu")
    staged, sharded, eight = layout.pp > 1, layout.zero == 3, job.precision == "fp8"
    shard = layout.shard or layout.dp if sharded else 1
    named = model.name in maxtext_names() or model.is_moe
    sizes = {
        "block": "llama2", "hidden": model.hidden, "layers": model.layers, "heads": model.heads,
        "groups": model.groups, "head": model.head_size, "ffn": model.ffn or 4 * model.hidden, "vocab": model.vocab,
        "tied": model.tied,
    }  # fmt: skip
    return {f"maxtext_{name}": None if named else value for name, value in sizes.items()} | {
        "maxtext_name": maxtext_names().get(model.name, model.name) if named else None,
        "maxtext_hardware": "tpu" if tpu else "gpu",
        "device_batch": layout.sequences / layout.gpus / (1 if staged else layout.accumulation),
        "unstaged_accumulation": 1 if staged else layout.accumulation,
        "maxtext_data": layout.dp // shard if sharded else layout.dp // layout.ep,
        "maxtext_fsdp": max(shard // layout.ep, 1) if sharded else 1, "splits_states_only": layout.zero == 1,
        "maxtext_remat": export_tables()["names"]["remat"][layout.recompute],
        "maxtext_dtype": "float16" if job.precision == "fp16" else "bfloat16",
        "staged_accumulation": layout.accumulation if staged else None,
        "staged_chunks": layout.interleave if staged else None,
        "staged_layers": model.layers // (layout.pp * layout.interleave) if staged else None,
        "maxtext_quantization": {"nvfp4": "te_nvfp4", "fp8": "fp8_full" if tpu else "fp8_gpu"}.get(job.precision),
        "maxtext_qwix": eight,
    }  # fmt: skip


def meant(meaning: object, known: Settings) -> object:
    """A fact by its name, text after "=", or the number or truth that is written out."""
    if not isinstance(meaning, str):
        return meaning
    return meaning[1:] if meaning.startswith("=") else known.get(meaning)


def settings_of(framework: str, known: Settings) -> Settings:
    """The framework's settings by its own names, in sections where a name has dots."""
    rows = dict(export_tables()[framework])
    otherwise = rows.pop("otherwise", {})
    settings: Settings = {}
    for name, meaning in rows.items():
        value = meant(meaning, known)
        if value is None or value is False:
            value = otherwise.get(name)
        if value is not None:
            *sections, key = name.split(".")
            place = settings
            for section in sections:
                place = place.setdefault(section, {})
            place[key] = None if value == "none" and name in otherwise else value
    return settings


def megatron_text(flags: Settings) -> str:
    launch = f"torchrun --nnodes {flags['nnodes']} --nproc-per-node {flags['nproc-per-node']} pretrain_gpt.py"
    rest = [(key, value) for key, value in flags.items() if key not in ("nnodes", "nproc-per-node")]
    several = ("recompute-modules",)  # a list of modules is several words
    values = {key: str(value) if key in several else shlex.quote(str(value)) for key, value in rest}
    lines = [f"--{key}" if value is True else f"--{key} {values[key]}" for key, value in rest]
    return " \\\n  ".join([launch, *lines]) + "\n"


def nemo_text(settings: Settings) -> str:
    """YAML that a recipe is started with, the launch in its first line."""
    launch = " ".join(f"--{name} {value}" for name, value in settings["launch"].items())
    rest = {name: section for name, section in settings.items() if name != "launch"}
    return f"# torchrun {launch}\n{nested_yaml(rest)}"


def nested_yaml(settings: Settings, depth: int = 0) -> str:
    """Plain YAML of nested settings: every value is a number, a truth, null or a word."""
    lines = []
    for key, value in settings.items():
        if isinstance(value, Mapping):
            lines += [f"{'  ' * depth}{key}:", nested_yaml(dict(value), depth + 1).rstrip("\n")]
        else:
            lines.append(f"{'  ' * depth}{key}: {value if isinstance(value, str) else json.dumps(value)}")
    return "\n".join(lines) + "\n"


def nested_toml(settings: Settings, path: str = "") -> str:
    plain = {key: value for key, value in settings.items() if not isinstance(value, Mapping)}
    lines = [f"{key} = {json.dumps(value)}" for key, value in plain.items()]
    text = (f"[{path}]\n" if path and lines else "") + "".join(f"{line}\n" for line in lines)
    parts = [(key, value) for key, value in settings.items() if isinstance(value, Mapping)]
    tables = [nested_toml(dict(value), f"{path}.{key}".lstrip(".")) for key, value in parts]
    return "\n".join([text, *tables] if text else tables)


def maxtext_text(flags: Settings) -> str:
    lines = [f"{key}={value}" for key, value in flags.items()]
    return " \\\n  ".join(["python3 -m maxtext.trainers.pre_train.train src/maxtext/configs/base.yml", *lines]) + "\n"


FRAMEWORKS: Mapping[str, tuple[str, Callable[[Settings], str]]] = {  # its stack, and how settings are written
    "megatron": ("megatron-core", megatron_text),
    "torchtitan": ("torchtitan", nested_toml),
    "deepspeed": ("deepspeed", lambda settings: json.dumps(settings, indent=2) + "\n"),
    "nemo": ("nemo", nemo_text),
    "maxtext": ("maxtext", maxtext_text),
}


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


def export_config(
    outcome: StepOutcome | TrainingJob, framework: str, *, learning_rate: float | None = None
) -> ExportedConfig:
    """The configuration of an outcome's job for `megatron`, `torchtitan`, `deepspeed`, `nemo` or `maxtext`, with the
    learning rate of its batch where that is known."""
    job = outcome.job if isinstance(outcome, StepOutcome) else outcome
    if framework not in FRAMEWORKS:
        hint = f"use one of {', '.join(FRAMEWORKS)}"
        raise InputError(Fault("unknown framework", "export", framework, hint))
    if faults := cannot(job, framework):
        raise InputError(faults, subject=f"export for {framework}")
    settings = settings_of(framework, facts(job, learning_rate))
    return ExportedConfig(
        framework=framework, text=FRAMEWORKS[framework][1](settings), settings=settings,
        findings=said_by_itself(job, framework, learning_rate),
    )  # fmt: skip


def cannot(job: TrainingJob, framework: str) -> list[Fault]:
    """What a framework's configuration cannot express or would refuse to start with."""
    faults = capability_faults(read_stack(FRAMEWORKS[framework][0]), job.layout, job.model, job.precision)
    if framework in ("torchtitan", "deepspeed") and job.precision == "nvfp4":
        faults.append(Fault("the configuration has no nvfp4", "precision", "nvfp4", "use --precision bf16"))
    if job.optimizer != "adamw":
        hint = "export with optimizer=adamw, and set how states are kept in the framework"
        faults.append(Fault("the optimiser's states are not part of an export", "optimizer", job.optimizer, hint))
    if job.adapter:
        hint = "export the layout without --adapters, and add them by the framework's own recipe"
        faults.append(Fault("adapters are not part of an export", "adapters", remedy=hint))
    return faults


def said_by_itself(job: TrainingJob, framework: str, learning_rate: float | None) -> tuple[Finding, ...]:
    """What a framework decides by itself, and what the configuration leaves to the user."""
    layout, model = job.layout, job.model
    megatron = framework in ("megatron", "nemo")
    known = export_tables()["models"]["torchtitan"] if framework == "torchtitan" else maxtext_names()
    named = model.name in known or not (framework == "torchtitan" or (framework == "maxtext" and model.is_moe))
    rate = "" if learning_rate else " and learning-rate"
    splits = framework in ("torchtitan", "maxtext") and layout.tp > 1 and not layout.sequence_parallel
    own = read_stack(FRAMEWORKS[framework][0])
    [there] = evaluate_jobs([replace(job, stack=own)], calibration_of(job.cluster.accelerator, own))
    notes = [
        (not there.fits, warning("does-not-fit", f"under {own.name} it needs {there.memory_text}",
                                 remedy=f"plan it with --stack {own.name} and without --layout")),
        (True, info("paths", f"data, tokenizer, checkpoint{rate} settings are yours to add")),
        (framework == "torchtitan", info(
            "framework-version", "written for torchtitan 0.2.2, the last release that reads TOML; later sources take "
            "Python", remedy="give the same settings to the config of your version")),
        (splits, info("sequence-parallel", f"{framework} splits the sequence beside tensor parallelism by itself")),
        (megatron and layout.tp * layout.cp > 1 and layout.zero < 2, info(
            "environment", "before Blackwell, tensor and context parallelism start only with a setting",
            remedy="export CUDA_DEVICE_MAX_CONNECTIONS=1")),
        (framework == "deepspeed" and layout.recompute == "full", info(
            "recompute", "a DeepSpeed configuration does not turn recomputation on",
            remedy="call the model's gradient_checkpointing_enable()")),
        (not named, info("model-name", f"{framework} has no model called {model.name}",
                         remedy="register it there and set its name")),
        (bool(model.linear_layers or model.indexer_heads), info(
            "hybrid-layers", "the kinds of layers are set by the model's own recipe, not here")),
    ]  # fmt: skip
    return tuple(note for holds, note in notes if holds)
