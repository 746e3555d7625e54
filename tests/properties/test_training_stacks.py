"""Plans that exist: every pick is within what its stack can do, its export is accepted, and the memory recounted from
the exported settings and the framework's documented defaults is that of the accelerator or less."""

from __future__ import annotations

import json
import math
import os
import random
import shlex
import tomllib

import pytest

from scalecurve.training.answers.evaluation import TrainingJob
from scalecurve.training.exports.config import export_config
from scalecurve.training.inputs.capabilities import capability_faults
from scalecurve.training.inputs.cluster import cluster_preset
from scalecurve.training.inputs.layout import layout_faults
from scalecurve.training.inputs.stack import calibration_of, read_stack, stacks
from scalecurve.training.inputs.transformer import Transformer, model_preset
from scalecurve.training.search.search import SearchTask, search

JOBS = int(os.environ.get("SCALECURVE_RANDOM_JOBS", "6"))
MODELS = ("llama3-8b", "llama3-70b", "llama2-13b", "qwen3-8b", "mpt-7b", "gpt3-175b", "llama3-405b", "mixtral-8x7b",
          "qwen3-30b-a3b", "llama3.2-1b")  # fmt: skip
CLUSTERS = ("h100", "a100-80gb", "b200", "gb200", "h200", "tpu-v5p", "tpu-v5e", "tpu-v6e", "mi300x")
EXPORTS = {"megatron-core": "megatron", "nemo": "nemo", "torchtitan": "torchtitan", "deepspeed": "deepspeed",
           "deepspeed-zero3": "deepspeed", "maxtext": "maxtext", "primus": "megatron"}  # fmt: skip


def random_jobs(count: int) -> list[tuple[str, str, int, int, int]]:
    draw = random.Random(29)
    return [
        (draw.choice(MODELS), draw.choice(CLUSTERS), 2 ** draw.randrange(3, 12) * draw.choice((1, 1, 3)),
         draw.choice((2048, 4096, 8192, 32768)), draw.choice((128, 256, 512, 1536)))
        for _ in range(count)
    ]  # fmt: skip


def picks(stack: str) -> list[TrainingJob]:
    chosen = []
    for model, cluster, gpus, seq, sequences in random_jobs(JOBS):
        machine, software = cluster_preset(cluster), read_stack(stack)
        task = SearchTask(model=model_preset(model), cluster=machine, stack=software, seq=seq,
                          calibration=calibration_of(machine.accelerator, software))  # fmt: skip
        [best] = search(task, [(gpus, sequences)], top=3)
        chosen += [
            TrainingJob(model=task.model, cluster=machine, stack=software, layout=layout, seq=seq)
            for layout in best.layouts
        ]
    return chosen


@pytest.mark.parametrize("stack", sorted({stack.name for stack in stacks().values()}))
def test_a_pick_is_within_its_stack_and_its_export_fits_when_recounted(stack: str) -> None:
    for job in picks(stack):
        assert not layout_faults(job.layout, job.model)
        assert not capability_faults(job.stack, job.layout, job.model)
        if stack in EXPORTS:
            text = export_config(job, EXPORTS[stack]).text
            capacity = job.cluster.accelerator.capacity
            assert recount(text, EXPORTS[stack], job) <= capacity, (job.model.name, job.layout.short(), stack)


def parameters(model: Transformer, layers: int, *, ends: int) -> tuple[float, float]:
    """Weights of so many layers and of `ends` tables of words: (all but experts, experts)."""
    h, d, wide = model.hidden, model.head_size, 3 if model.gated else 2
    attention = h * d * (2 * model.heads + 2 * model.groups)
    mlp = wide * h * (model.shared_ffn if model.experts else model.ffn or 4 * h)
    experts = wide * h * (model.expert_ffn or 0) * (model.experts or 0)
    return layers * (attention + mlp) + ends * model.vocab * h, layers * experts


def kept_bytes(
    model: Transformer, seq: int, micro: int, cp: int, tp: int, mode: str, *, split: bool, other: float
) -> float:
    """Activations of one layer with fused attention, tensor by tensor; `other` is the share that partial
    recomputation keeps by the framework's description."""
    tokens, h = micro * seq / cp, model.hidden
    whole = tokens * h / (tp if split else 1)
    if mode == "full":
        return 2.0 * whole
    width = (model.top_k or 1) * (model.expert_ffn or 0) + model.shared_ffn if model.experts else model.ffn or 4 * h
    insides = 2 * (2 * model.heads + 2 * model.groups) * model.head_size + (6 if model.gated else 4) * width
    return (8.0 * whole + tokens * insides / tp) * (1.0 if mode == "none" else other)


def recount(text: str, framework: str, job: TrainingJob) -> float:
    """Bytes on the fullest accelerator by the settings in `text` alone; sizes of the model are the job's."""
    model = job.model
    values = {"megatron": of_megatron, "nemo": of_nemo, "torchtitan": of_torchtitan, "deepspeed": of_deepspeed,
              "maxtext": of_maxtext}[framework](text, job)  # fmt: skip
    tp, pp, cp, ep, etp = (values[name] for name in ("tp", "pp", "cp", "ep", "etp"))
    depth = math.ceil(model.layers / pp)
    group, expert_group = values["shard"] * cp, max(values["shard"] * cp * tp // (ep * etp), 1)
    ends = 1 if pp > 1 or model.tied else 2
    dense, experts = parameters(model, depth, ends=ends)
    whole = dense / tp + experts / (ep * etp)
    split = dense / tp / group + experts / (ep * etp) / expert_group
    states = sum(size * (split if sharded else whole) for size, sharded in values["states"])
    kept = kept_bytes(
        model, job.seq, values["micro"], cp, tp, values["mode"], split=values["split"], other=values["other"]
    )
    in_flight = min(values["count"], pp) * (1 + (pp - 1) / (pp * values["chunks"]) if values["chunks"] > 1 else 1)
    logits = values["logits"] * values["micro"] * job.seq / cp * model.vocab / tp
    first = depth * in_flight * kept + (0 if pp > 1 else logits)
    last = depth * kept + logits
    live = min(values.get("live", 0.0), whole)
    return states + 2.0 * live + max(first, last)


def of_megatron(text: str, job: TrainingJob) -> dict:
    """Megatron-LM: bf16 weights, gradients in fp32 unless reduced in bf16, fp32 copy and two moments, split by the
    distributed optimiser; dropout of 0.1 keeps a byte for every mask unless set to 0."""
    parts = text.replace("\\\n", " ").replace(" pretrain_gpt.py", "").split(" --")
    flag = {name.strip(): " ".join(shlex.split(value)) for name, _, value in (part.partition(" ") for part in parts)}
    return megatron_values(flag, job)


def of_nemo(text: str, job: TrainingJob) -> dict:
    pairs = [line.strip().split(": ", 1) for line in text.splitlines() if ": " in line]
    flag = {key.replace("_", "-"): value for key, value in pairs if value not in ("null", "false")}
    words = text.splitlines()[0].split()
    flag |= {words[i][2:]: words[i + 1] for i in range(len(words)) if words[i].startswith("--")}
    precision = text.partition("mixed_precision:")[2]  # laid over ddp's setting when a run starts; 4 bytes if silent
    if "grad_reduce_in_fp32: false" in precision:
        flag["grad-reduce-in-bf16"] = ""
    return megatron_values(flag, job)


def megatron_values(flag: dict, job: TrainingJob) -> dict:
    tp, pp, cp = (int(flag[f"{name}-parallel-size"]) for name in ("tensor-model", "pipeline-model", "context"))
    dp = int(flag["nnodes"]) * int(flag["nproc-per-node"]) // (tp * pp * cp)
    assert float(flag["attention-dropout"]) == float(flag["hidden-dropout"]) == 0.0
    gradient, optimizer = (2, 16) if "grad-reduce-in-bf16" in flag else (4, 12)
    strategy = flag.get("data-parallel-sharding-strategy", "no_shard")
    stage = {"optim_grads": 2, "optim_grads_params": 3}.get(strategy, int("use-distributed-optimizer" in flag))
    chunks = len(flag.get("pipeline-model-parallel-layout", "").split("|")) // pp
    virtual = flag.get("num-virtual-stages-per-pipeline-rank") or flag.get("virtual-pipeline-model-parallel-size") or 1
    micro = int(flag["micro-batch-size"])
    return {
        "tp": tp, "pp": pp, "cp": cp, "dp": dp, "ep": int(flag.get("expert-model-parallel-size", 1)),
        "etp": int(flag.get("expert-tensor-parallel-size", 1)), "micro": micro,
        "count": int(flag["global-batch-size"]) // (dp * micro), "chunks": max(chunks, int(virtual)),
        "shard": dp // int(flag.get("num-distributed-optimizer-instances", 1)),
        "states": [(2, stage >= 3), (gradient, stage >= 2), (optimizer, stage >= 1)],
        "mode": flag.get("recompute-granularity", "none"), "split": "sequence-parallel" in flag, "logits": 10,
        "other": of_modules(flag.get("recompute-modules", "core_attn"), job.model),
    }  # fmt: skip


def of_modules(modules: str, model: Transformer) -> float:
    """The share of a layer that is kept: fused attention keeps no scores, so core_attn saves its context only;
    layernorm saves the two norms' outputs, moe_act what goes into the second product of the experts."""
    h, heads = model.hidden, model.heads * model.head_size
    width = (model.top_k or 1) * (model.expert_ffn or 0) + model.shared_ffn if model.experts else model.ffn or 4 * h
    inside = 2 * (2 * model.heads + 2 * model.groups) * model.head_size + (6 if model.gated else 4) * width
    saved = 2 * heads * ("core_attn" in modules) + 4 * h * ("layernorm" in modules)
    saved += 2 * (model.top_k or 1) * (model.expert_ffn or 0) * ("moe_act" in modules)
    return 1.0 - saved / (8 * h + inside)


def of_torchtitan(text: str, job: TrainingJob) -> dict:
    """FSDP2: fp32 weights, gradients and moments in shards; whole bf16 weights where nothing is resharded."""
    settings = tomllib.loads(text)
    split, training = settings["parallelism"], settings["training"]
    pp, shard = split["pipeline_parallel_degree"], split["data_parallel_shard_degree"]
    kept = split["fsdp_reshard_after_forward"] == "never" or pp > 1
    dp = shard * split["data_parallel_replicate_degree"]
    micro = split.get("pipeline_parallel_microbatch_size", training["local_batch_size"])
    return {
        "tp": split["tensor_parallel_degree"], "pp": pp, "cp": split["context_parallel_degree"], "dp": dp,
        "ep": split["expert_parallel_degree"], "etp": split.get("expert_tensor_parallel_degree", 1), "shard": shard,
        "micro": micro, "count": training["global_batch_size"] // (dp * micro),
        "chunks": len(split.get("module_fqns_per_model_part", "-" * pp)) // pp,
        "states": [(16, True), (2 if kept else 0, False), (4 if pp > 1 else 0, False)],
        "mode": settings["activation_checkpoint"]["mode"], "split": True, "logits": 8, "other": 0.5,
    }  # fmt: skip


def of_deepspeed(text: str, job: TrainingJob) -> dict:
    """ZeRO: bf16 weights and gradients, fp32 copy and moments; up to 1e9 live parameters and a bucket of 5e8."""
    settings = json.loads(text)
    zero, micro = settings["zero_optimization"], settings["train_micro_batch_size_per_gpu"]
    count, stage = settings["gradient_accumulation_steps"], zero["stage"]
    dp = settings["train_batch_size"] // (micro * count)
    return {
        "tp": settings.get("tensor_parallel", {}).get("autotp_size", 1), "pp": 1, "cp": 1, "dp": dp, "ep": 1, "etp": 1,
        "shard": zero.get("mics_shard_size", dp), "micro": micro, "count": count, "chunks": 1,
        "states": [(2, stage >= 3), (2 if stage else 4, stage >= 2), (12, stage >= 1)],  # engine.get_data_types
        "live": 1e9 + 5e8 if stage >= 3 else 5e8,  # parameters: stage3_max_live_parameters, reduce_bucket_size
        "mode": "full" if "activation_checkpointing" in settings else "none", "split": False, "logits": 8, "other": 1.0,
    }  # fmt: skip


def of_maxtext(text: str, job: TrainingJob) -> dict:
    """MaxText: weights and moments in fp32, gradients in `grad_dtype` (fp32 unless set); tensor ranks split
    `activation_embed`."""
    values = dict(word.split("=", 1) for word in shlex.split(text.replace("\\\n", " ")) if "=" in word)
    axis = {name: int(values[f"ici_{name}_parallelism"]) for name in
            ("data", "fsdp", "tensor", "context", "expert", "pipeline")}  # fmt: skip
    dp = axis["data"] * axis["fsdp"] * axis["expert"]
    count = int(values.get("num_pipeline_microbatches", values["gradient_accumulation_steps"]))
    whole = float(values["per_device_batch_size"]) * dp * axis["tensor"] * axis["context"] * axis["pipeline"]
    sequences = whole * int(values["gradient_accumulation_steps"])
    sharded, moments = axis["fsdp"] > 1, values["shard_optimizer_over_data"] == "True"
    gradient = 2 if values.get("grad_dtype") == "bfloat16" else 4
    mode = {"full": "full", "minimal_with_context": "none"}.get(values["remat_policy"], "selective")
    return {
        "tp": axis["tensor"], "pp": axis["pipeline"], "cp": axis["context"], "dp": dp, "ep": axis["expert"],
        "etp": axis["tensor"], "shard": dp // axis["data"] if sharded else dp,
        "micro": round(sequences / (dp * count)), "count": count, "chunks": int(values.get("num_pipeline_repeats", 1)),
        "states": [(4, sharded), (gradient, sharded), (8, sharded or moments)],
        "mode": mode, "split": True, "logits": 2, "other": 0.35,
    }  # fmt: skip
