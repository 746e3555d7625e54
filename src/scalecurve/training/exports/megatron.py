"""Megatron-LM: the flags of pretrain_gpt.py (core 0.12) and what they say of a layout."""

from __future__ import annotations

import shlex
from typing import Any

from scalecurve.training.answers.job import TrainingJob
from scalecurve.training.inputs.layout import Layout
from scalecurve.training.inputs.transformer import Transformer

Settings = dict[str, Any]


def megatron_settings(job: TrainingJob) -> Settings:
    layout, model, node = job.layout, job.model, min(job.cluster.node, job.layout.gpus)
    flags: Settings = {
        "nnodes": max(layout.gpus // node, 1), "nproc-per-node": node,
        "tensor-model-parallel-size": layout.tp, "pipeline-model-parallel-size": layout.pp,
        "context-parallel-size": layout.cp, "micro-batch-size": layout.micro, "global-batch-size": layout.sequences,
    } | megatron_model(model, job.seq)  # fmt: skip
    if model.is_moe:
        flags["expert-model-parallel-size"] = layout.ep
    if layout.interleave > 1:
        flags["num-virtual-stages-per-pipeline-rank"] = layout.interleave
    if layout.sequence_parallel:
        flags["sequence-parallel"] = True
    if layout.zero >= 1:
        flags["use-distributed-optimizer"] = True
        overlap = job.stack.data_overlap if layout.data_overlap is None else layout.data_overlap
        flags |= {"overlap-grad-reduce": True, "overlap-param-gather": True} if overlap else {}
    if layout.zero >= 2:
        strategy = "optim_grads" if layout.zero == 2 else "optim_grads_params"
        flags |= {"use-megatron-fsdp": True, "data-parallel-sharding-strategy": strategy, "ckpt-format": "fsdp_dtensor"}
    if layout.shard:
        flags["num-distributed-optimizer-instances"] = layout.dp // layout.shard
    if layout.recompute == "full":
        flags |= {"recompute-granularity": "full", "recompute-method": "uniform", "recompute-num-layers": 1}
    elif layout.recompute == "selective":
        flags["recompute-granularity"] = "selective"
    flags["fp16" if job.precision == "fp16" else "bf16"] = True
    return flags | ({"fp8-format": "hybrid"} if job.precision == "fp8" else {})


def megatron_model(model: Transformer, seq: int) -> Settings:
    """The sizes of a model as Megatron's flags."""
    flags: Settings = {
        "num-layers": model.layers, "hidden-size": model.hidden, "ffn-hidden-size": model.ffn or 4 * model.hidden,
        "num-attention-heads": model.heads, "kv-channels": model.head_size, "seq-length": seq,
        "max-position-embeddings": seq, "vocab-size": model.vocab,
    }  # fmt: skip
    if model.groups < model.heads:
        flags |= {"group-query-attention": True, "num-query-groups": model.groups}
    if model.gated:
        flags["swiglu"] = True
    if not model.tied:
        flags["untie-embeddings-and-output-weights"] = True
    if model.window:
        flags["window-size"] = f"{model.window - 1},0"
    if model.experts:
        flags |= {
            "num-experts": model.experts, "moe-router-topk": model.top_k, "moe-ffn-hidden-size": model.expert_ffn,
            "moe-layer-freq": f"([0]*{model.dense_layers}+[1]*{model.layers - model.dense_layers})",
        }  # fmt: skip
        flags |= {"moe-shared-expert-intermediate-size": model.shared_ffn} if model.shared_ffn else {}
    if model.kv_rank:
        flags |= {"multi-latent-attention": True, "kv-lora-rank": model.kv_rank, "v-head-dim": model.value_head}
        flags |= {"qk-head-dim": model.head_size - (model.rope or 0), "qk-pos-emb-head-dim": model.rope}
        flags |= {"q-lora-rank": model.q_rank} if model.q_rank else {}
    return flags | ({"mtp-num-layers": model.mtp_layers} if model.mtp_layers else {})


def megatron_text(flags: Settings) -> str:
    launch = f"torchrun --nnodes {flags['nnodes']} --nproc-per-node {flags['nproc-per-node']} pretrain_gpt.py"
    rest = [(key, value) for key, value in flags.items() if key not in ("nnodes", "nproc-per-node")]
    lines = [f"--{key}" if value is True else f"--{key} {shlex.quote(str(value))}" for key, value in rest]
    return " \\\n  ".join([launch, *lines]) + "\n"


def read_flags(text: str) -> dict[str, str]:
    """`--name value` and `--name` of a command line."""
    words = [word for word in shlex.split(text.replace("\\\n", " ")) if word]
    names = [place for place, word in enumerate(words) if word.startswith("--")]
    values = [words[place + 1] if place + 1 < len(words) and place + 1 not in names else "true" for place in names]
    return {words[place][2:]: value for place, value in zip(names, values, strict=True)}


def megatron_layout(text: str) -> Layout:
    flags = read_flags(text)
    gpus = int(flags["nnodes"]) * int(flags["nproc-per-node"])
    strategy = flags.get("data-parallel-sharding-strategy")
    zero = {"optim_grads": 2, "optim_grads_params": 3}.get(strategy or "", int("use-distributed-optimizer" in flags))
    return layout_of_degrees(
        gpus, tp=int(flags["tensor-model-parallel-size"]), pp=int(flags["pipeline-model-parallel-size"]),
        cp=int(flags["context-parallel-size"]), ep=int(flags.get("expert-model-parallel-size", 1)),
        micro=int(flags["micro-batch-size"]), sequences=int(flags["global-batch-size"]), zero=zero,
        interleave=int(flags.get("num-virtual-stages-per-pipeline-rank", 1)),
        recompute=flags.get("recompute-granularity", "none"), split="sequence-parallel" in flags,
        instances=int(flags.get("num-distributed-optimizer-instances", 1)),
    )  # fmt: skip


def layout_of_degrees(
    gpus: int, *, tp: int, pp: int, cp: int, ep: int, micro: int, sequences: int, zero: int, interleave: int,
    recompute: str, split: bool, instances: int,
) -> Layout:  # fmt: skip
    """A layout whose data-parallel degree and accumulation follow from the accelerators and the batch."""
    dp = gpus // (tp * pp * cp)
    return Layout(
        tp=tp, pp=pp, cp=cp, ep=ep, dp=dp, micro=micro, accumulation=sequences // (dp * micro), interleave=interleave,
        zero=zero, recompute=recompute, sequence_parallel=split, shard=dp // instances if instances > 1 else None,
    )  # fmt: skip
