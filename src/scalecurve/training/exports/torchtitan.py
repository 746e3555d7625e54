"""torchtitan: its TOML."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any

from scalecurve.training.answers.job import TrainingJob
from scalecurve.training.inputs.layout import Layout

Settings = dict[str, Any]


def torchtitan_settings(job: TrainingJob) -> Settings:
    layout, model = job.layout, job.model
    shard = 1 if layout.zero == 0 else layout.shard or layout.dp
    parallelism: Settings = {
        "data_parallel_replicate_degree": layout.dp // shard, "data_parallel_shard_degree": shard,
        "fsdp_reshard_after_forward": "always" if layout.zero == 3 else "never",
        "tensor_parallel_degree": layout.tp, "pipeline_parallel_degree": layout.pp,
        "context_parallel_degree": layout.cp, "expert_parallel_degree": layout.ep,
    }  # fmt: skip
    if layout.pp > 1:
        parallelism |= {
            "pipeline_parallel_schedule": "Interleaved1F1B" if layout.interleave > 1 else "1F1B",
            "pipeline_parallel_layers_per_stage": -(-model.layers // (layout.pp * layout.interleave)),
            "pipeline_parallel_microbatch_size": layout.micro,
        }
    local = layout.micro * (layout.accumulation if layout.pp > 1 else 1)
    settings: Settings = {
        "model": {"name": model.name, "layers": model.layers},
        "training": {"local_batch_size": local, "global_batch_size": layout.sequences, "seq_len": job.seq},
        "parallelism": parallelism,
        "activation_checkpoint": {"mode": layout.recompute},
        "compile": {"enable": True},
    }
    if layout.recompute == "selective":
        settings["activation_checkpoint"]["selective_ac_option"] = "op"
    if job.precision == "fp8":
        settings["quantize"] = {"linear": {"float8": {"enable_fsdp_float8_all_gather": True}}}
    return settings


def nested_toml(settings: Settings, path: str = "") -> str:
    plain = {key: value for key, value in settings.items() if not isinstance(value, Mapping)}
    lines = [f"{key} = {json.dumps(value)}" for key, value in plain.items()]
    text = (f"[{path}]\n" if path and lines else "") + "".join(f"{line}\n" for line in lines)
    parts = [(key, value) for key, value in settings.items() if isinstance(value, Mapping)]
    tables = [nested_toml(dict(value), f"{path}.{key}".lstrip(".")) for key, value in parts]
    return "\n".join([text, *tables] if text else tables)


def torchtitan_layout(text: str) -> Layout:
    settings = tomllib.loads(text)
    split, training = settings["parallelism"], settings["training"]
    replicas, shard = split["data_parallel_replicate_degree"], split["data_parallel_shard_degree"]
    zero = 0 if shard == 1 and replicas > 1 else 3 if split["fsdp_reshard_after_forward"] == "always" else 2
    pp, dp = split["pipeline_parallel_degree"], replicas * shard
    micro = split.get("pipeline_parallel_microbatch_size", training["local_batch_size"])
    depth = split.get("pipeline_parallel_layers_per_stage")
    return Layout(
        tp=split["tensor_parallel_degree"], pp=pp, cp=split["context_parallel_degree"], dp=dp,
        ep=split["expert_parallel_degree"], micro=micro, accumulation=training["global_batch_size"] // (dp * micro),
        interleave=max(settings["model"]["layers"] // (pp * depth), 1) if depth else 1, zero=zero if dp > 1 else 0,
        recompute=settings["activation_checkpoint"]["mode"], sequence_parallel=split["tensor_parallel_degree"] > 1,
        shard=shard if 1 < shard < dp else None,
    )  # fmt: skip
