"""Exported configurations read back as layouts, by what each framework documents of its settings."""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Mapping

from scalecurve.training.inputs.layout import Layout

REMAT = {"minimal_with_context": "none", "save_dot_except_mlp": "selective", "full": "full",
         "qkv_proj_offloaded": "offload"}  # fmt: skip


def read_flags(text: str) -> dict[str, str]:
    """`--name value` and `--name` of a command line."""
    words = [word for word in shlex.split(text.replace("\\\n", " ")) if word]
    names = [place for place, word in enumerate(words) if word.startswith("--")]
    values = [words[place + 1] if place + 1 < len(words) and place + 1 not in names else "true" for place in names]
    return {words[place][2:]: value for place, value in zip(names, values, strict=True)}


def megatron_layout(text: str) -> Layout:
    return layout_of_flags(read_flags(text))


def layout_of_flags(flags: Mapping[str, str]) -> Layout:
    """A layout whose data-parallel degree and accumulation follow from the accelerators and the batch."""
    number = {name: int(value) for name, value in flags.items() if value.isdigit()}
    tp, pp = number["tensor-model-parallel-size"], number["pipeline-model-parallel-size"]
    cp, micro = number["context-parallel-size"], number["micro-batch-size"]
    dp = number["nnodes"] * number["nproc-per-node"] // (tp * pp * cp)
    chunks = len(flags.get("pipeline-model-parallel-layout", "").split("|"))
    strategy = flags.get("data-parallel-sharding-strategy", "").replace("-", "_")
    instances = number.get("num-distributed-optimizer-instances", 1)
    return Layout(
        tp=tp, pp=pp, cp=cp, dp=dp, ep=number.get("expert-model-parallel-size", 1),
        etp=number.get("expert-tensor-parallel-size", 1), micro=micro,
        accumulation=number["global-batch-size"] // (dp * micro),
        interleave=max(chunks // pp, number.get("num-virtual-stages-per-pipeline-rank", 1)),
        zero={"optim_grads": 2, "optim_grads_params": 3}.get(strategy, int("use-distributed-optimizer" in flags)),
        recompute=flags.get("recompute-granularity", "none"), sequence_parallel="sequence-parallel" in flags,
        shard=dp // instances if instances > 1 else None,
    )  # fmt: skip


def nemo_layout(text: str) -> Layout:
    first, *lines = text.splitlines()
    values = dict(line.strip().replace("_", "-").split(": ", 1) for line in lines if ": " in line)
    flags = read_flags(first) | {name: value for name, value in values.items() if value not in ("null", "false")}
    chunks = flags.get("virtual-pipeline-model-parallel-size", "1")
    return layout_of_flags(flags | {"num-virtual-stages-per-pipeline-rank": chunks})


def torchtitan_layout(text: str) -> Layout:
    settings = tomllib.loads(text)
    split, training = settings["parallelism"], settings["training"]
    replicas, shard = split["data_parallel_replicate_degree"], split["data_parallel_shard_degree"]
    pp, cp, dp = split["pipeline_parallel_degree"], split["context_parallel_degree"], replicas * shard
    sharded = shard * cp > 1  # its states are sharded over context ranks too
    zero = 0 if not sharded else 2 if split["fsdp_reshard_after_forward"] == "never" else 3
    micro = split.get("pipeline_parallel_microbatch_size", training["local_batch_size"])
    return Layout(
        tp=split["tensor_parallel_degree"], pp=pp, cp=cp, dp=dp,
        ep=split["expert_parallel_degree"], micro=micro, accumulation=training["global_batch_size"] // (dp * micro),
        interleave=len(split.get("module_fqns_per_model_part", "-" * pp)) // pp, zero=zero,
        etp=split.get("expert_tensor_parallel_degree", 1),
        recompute=settings["activation_checkpoint"]["mode"], sequence_parallel=split["tensor_parallel_degree"] > 1,
        shard=shard if 1 < shard < dp else None,
    )  # fmt: skip


def deepspeed_layout(text: str) -> Layout:
    settings = json.loads(text)
    micro, many = settings["train_micro_batch_size_per_gpu"], settings["gradient_accumulation_steps"]
    zero = settings["zero_optimization"]
    return Layout(
        tp=settings.get("tensor_parallel", {}).get("autotp_size", 1), micro=micro, accumulation=many,
        dp=settings["train_batch_size"] // (micro * many), zero=zero["stage"], shard=zero.get("mics_shard_size"),
        recompute="full" if "activation_checkpointing" in settings else "none",
    )  # fmt: skip


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
    return Layout(
        tp=axes["tensor"], cp=axes["context"], pp=pp, ep=ep, dp=dp, micro=round(whole / (dp * many)), accumulation=many,
        etp=axes["tensor"] if ep > 1 else 1,
        interleave=int(values.get("num_pipeline_repeats", 1)), zero=zero, recompute=REMAT[values["remat_policy"]],
        sequence_parallel=axes["tensor"] > 1, shard=dp // axes["data"] if sharded and axes["data"] > 1 else None,
    )  # fmt: skip


READERS = {"megatron": megatron_layout, "nemo": nemo_layout, "torchtitan": torchtitan_layout,
           "deepspeed": deepspeed_layout, "maxtext": maxtext_layout}  # fmt: skip


def read_export(text: str, framework: str) -> Layout:
    """The layout that a configuration written by `export_config` stands for."""
    return READERS[framework](text)
