"""How Megatron-LM, NeMo, torchtitan, DeepSpeed and MaxText write a job, and what their settings say of a layout.

Megatron: the flags of pretrain_gpt.py (core 0.12).  NeMo 2 (Megatron-Bridge): the sections of its configuration.
DeepSpeed: its JSON; pipelines, contexts and experts are in the model's code, not there.  MaxText: key=value
(AI-Hypercomputer/maxtext e591f30, configs/base.yml).
"""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Mapping
from typing import Any

from scalecurve.training.answers.evaluation import TrainingJob
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
