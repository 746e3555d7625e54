"""NeMo 2 (Megatron-Bridge): the sections of its configuration as YAML."""

from __future__ import annotations

import json
from collections.abc import Mapping

from scalecurve.training.answers.job import TrainingJob
from scalecurve.training.exports.megatron import Settings, layout_of_degrees, megatron_settings
from scalecurve.training.inputs.layout import Layout


def nemo_settings(job: TrainingJob) -> Settings:
    """Megatron's settings in NeMo's sections."""
    flags = megatron_settings(job)
    layout = job.layout
    model = {
        "tensor_model_parallel_size": layout.tp, "pipeline_model_parallel_size": layout.pp,
        "virtual_pipeline_model_parallel_size": layout.interleave if layout.interleave > 1 else None,
        "context_parallel_size": layout.cp, "expert_model_parallel_size": layout.ep,
        "sequence_parallel": layout.sequence_parallel, "seq_length": job.seq,
        "recompute_granularity": flags.get("recompute-granularity"), "recompute_method": flags.get("recompute-method"),
        "recompute_num_layers": flags.get("recompute-num-layers"),
    }  # fmt: skip
    ddp = {
        "use_distributed_optimizer": layout.zero >= 1,
        "overlap_grad_reduce": flags.get("overlap-grad-reduce", False),
        "overlap_param_gather": flags.get("overlap-param-gather", False),
        "use_megatron_fsdp": layout.zero >= 2,
        "data_parallel_sharding_strategy": flags.get("data-parallel-sharding-strategy", "no_shard"),
        "num_distributed_optimizer_instances": flags.get("num-distributed-optimizer-instances", 1),
    }
    names = {"bf16": "bf16_mixed", "fp16": "fp16_mixed", "fp8": "bf16_with_fp8_delayed_scaling_mixed"}
    return {
        "trainer": {"num_nodes": flags["nnodes"], "devices": flags["nproc-per-node"]},
        "model": model,
        "train": {"micro_batch_size": layout.micro, "global_batch_size": layout.sequences},
        "ddp": ddp,
        "mixed_precision": names.get(job.precision, "bf16_with_nvfp4_mixed"),
    }


def nested_yaml(settings: Settings, depth: int = 0) -> str:
    """Plain YAML of nested settings: every value is a number, a truth, null or a word."""
    lines = []
    for key, value in settings.items():
        if isinstance(value, Mapping):
            lines += [f"{'  ' * depth}{key}:", nested_yaml(dict(value), depth + 1).rstrip("\n")]
        else:
            lines.append(f"{'  ' * depth}{key}: {value if isinstance(value, str) else json.dumps(value)}")
    return "\n".join(lines) + "\n"


def nemo_layout(text: str) -> Layout:
    values = dict(line.strip().split(": ", 1) for line in text.splitlines() if ": " in line)
    number = {key: int(value) for key, value in values.items() if value.isdigit()}
    strategy = {"optim_grads": 2, "optim_grads_params": 3}.get(values["data_parallel_sharding_strategy"])
    granularity = values["recompute_granularity"]
    return layout_of_degrees(
        number["num_nodes"] * number["devices"], tp=number["tensor_model_parallel_size"],
        pp=number["pipeline_model_parallel_size"], cp=number["context_parallel_size"],
        ep=number["expert_model_parallel_size"], micro=number["micro_batch_size"],
        sequences=number["global_batch_size"], zero=strategy or int(values["use_distributed_optimizer"] == "true"),
        interleave=number.get("virtual_pipeline_model_parallel_size", 1),
        recompute="none" if granularity == "null" else granularity, split=values["sequence_parallel"] == "true",
        instances=number["num_distributed_optimizer_instances"],
    )  # fmt: skip
