"""MaxText: its flags, key=value (AI-Hypercomputer/maxtext e591f30, configs/base.yml)."""

from __future__ import annotations

import shlex
from typing import Any

from scalecurve.training.answers.job import TrainingJob
from scalecurve.training.inputs.layout import Layout

Settings = dict[str, Any]


REMAT = {"none": "minimal_with_context", "selective": "save_dot_except_mlp", "full": "full"}


def maxtext_settings(job: TrainingJob) -> Settings:
    layout, staged = job.layout, job.layout.pp > 1
    shard = layout.shard or layout.dp if layout.zero == 3 else 1
    flags: Settings = {
        "model_name": job.model.name, "max_target_length": job.seq,
        "per_device_batch_size": layout.sequences / layout.gpus / (1 if staged else layout.accumulation),
        "gradient_accumulation_steps": 1 if staged else layout.accumulation,
        "ici_data_parallelism": layout.dp // shard // layout.ep if layout.zero < 3 else layout.dp // shard,
        "ici_fsdp_parallelism": max(shard // layout.ep, 1) if layout.zero == 3 else 1,
        "ici_tensor_parallelism": layout.tp, "ici_context_parallelism": layout.cp,
        "ici_expert_parallelism": layout.ep, "ici_pipeline_parallelism": layout.pp,
        "shard_optimizer_over_data": layout.zero == 1, "remat_policy": REMAT[layout.recompute],
        "dtype": "float16" if job.precision == "fp16" else "bfloat16",
    }  # fmt: skip
    if staged:
        flags |= {
            "num_pipeline_microbatches": layout.accumulation, "num_pipeline_repeats": layout.interleave,
            "num_layers_per_pipeline_stage": -(-job.model.layers // (layout.pp * layout.interleave)),
        }  # fmt: skip
    return flags | ({"quantization": "fp8_full", "use_qwix_quantization": True} if job.precision == "fp8" else {})


def maxtext_text(flags: Settings) -> str:
    lines = [f"{key}={value}" for key, value in flags.items()]
    return " \\\n  ".join(["python3 -m maxtext.trainers.pre_train.train configs/base.yml", *lines]) + "\n"


def maxtext_layout(text: str) -> Layout:
    values = dict(word.split("=", 1) for word in shlex.split(text.replace("\\\n", " ")) if "=" in word)
    axes = {name: int(values[f"ici_{name}_parallelism"]) for name in ("data", "fsdp", "tensor", "context", "expert")}
    pp, ep = int(values["ici_pipeline_parallelism"]), axes["expert"]
    dp = axes["data"] * axes["fsdp"] * ep
    gpus = dp * axes["tensor"] * axes["context"] * pp
    many = int(values.get("num_pipeline_microbatches", values["gradient_accumulation_steps"]))
    whole = float(values["per_device_batch_size"]) * gpus * int(values["gradient_accumulation_steps"])
    sharded = axes["fsdp"] > 1
    zero = 3 if sharded else int(values["shard_optimizer_over_data"] == "True")
    words = {word: mode for mode, word in REMAT.items()}
    return Layout(
        tp=axes["tensor"], cp=axes["context"], pp=pp, ep=ep, dp=dp, micro=round(whole / (dp * many)), accumulation=many,
        interleave=int(values.get("num_pipeline_repeats", 1)), zero=zero, recompute=words[values["remat_policy"]],
        sequence_parallel=axes["tensor"] > 1, shard=dp // axes["data"] if sharded and axes["data"] > 1 else None,
    )  # fmt: skip
