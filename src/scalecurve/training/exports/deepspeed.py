"""DeepSpeed: its JSON; pipelines, contexts and experts are in the model's code, not there."""

from __future__ import annotations

import json
from typing import Any

from scalecurve.training.answers.job import TrainingJob
from scalecurve.training.inputs.layout import Layout

Settings = dict[str, Any]


def deepspeed_settings(job: TrainingJob) -> Settings:
    layout = job.layout
    overlap = job.stack.data_overlap if layout.data_overlap is None else layout.data_overlap
    zero: Settings = {"stage": layout.zero, "overlap_comm": overlap, "contiguous_gradients": True}
    if layout.shard:
        zero |= {"mics_shard_size": layout.shard, "mics_hierarchical_params_gather": True}
    settings: Settings = {
        "train_batch_size": layout.sequences, "train_micro_batch_size_per_gpu": layout.micro,
        "gradient_accumulation_steps": layout.accumulation, "zero_optimization": zero,
        "fp16" if job.precision == "fp16" else "bf16": {"enabled": True}, "gradient_clipping": 1.0,
    }  # fmt: skip
    if layout.tp > 1:
        settings["tensor_parallel"] = {"autotp_size": layout.tp}
    if layout.recompute == "full":
        settings["activation_checkpointing"] = {"number_checkpoints": job.model.layers}
    return settings


def deepspeed_layout(text: str) -> Layout:
    settings = json.loads(text)
    micro, many = settings["train_micro_batch_size_per_gpu"], settings["gradient_accumulation_steps"]
    zero = settings["zero_optimization"]
    return Layout(
        tp=settings.get("tensor_parallel", {}).get("autotp_size", 1), micro=micro, accumulation=many,
        dp=settings["train_batch_size"] // (micro * many), zero=zero["stage"], shard=zero.get("mics_shard_size"),
        recompute="full" if "activation_checkpointing" in settings else "none",
    )  # fmt: skip
