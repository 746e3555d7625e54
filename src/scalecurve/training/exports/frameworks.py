"""How Megatron-LM, NeMo, torchtitan, DeepSpeed and MaxText write a job, and what their settings say of a layout.

Names and values are those of Megatron-LM core 0.20 (pretrain_gpt.py), Megatron-Bridge 0.6 (ConfigContainer), torchtitan
0.2.2 (JobConfig), DeepSpeed 0.19 (its JSON; pipelines, contexts and experts are in the model's code) and MaxText
e591f30 (configs/base.yml).
"""

from __future__ import annotations

import json
import math
import shlex
import tomllib
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from scalecurve.training.answers.evaluation import TrainingJob
from scalecurve.training.inputs.layout import Layout
from scalecurve.training.inputs.transformer import Transformer

Settings = dict[str, Any]


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


LARGEST_SERVER, TRAY = 16, 4  # accelerators of a server; racks on one fabric are servers of four
MODULES = {False: "core_attn layernorm", True: "core_attn layernorm moe_act"}  # that selective recomputation repeats


def megatron_settings(job: TrainingJob) -> Settings:
    layout, model = job.layout, job.model
    server = job.cluster.node if job.cluster.node <= LARGEST_SERVER else TRAY
    node = math.gcd(server, layout.gpus)
    flags: Settings = {
        "nnodes": max(layout.gpus // node, 1), "nproc-per-node": node,
        "tensor-model-parallel-size": layout.tp, "pipeline-model-parallel-size": layout.pp,
        "context-parallel-size": layout.cp, "micro-batch-size": layout.micro, "global-batch-size": layout.sequences,
    } | megatron_model(model, job.seq)  # fmt: skip
    if model.is_moe:  # Megatron splits experts like the rest unless told
        flags |= {"expert-model-parallel-size": layout.ep, "expert-tensor-parallel-size": layout.etp}
    chunks = layout.pp * layout.interleave
    if model.layers % chunks:
        depths = stage_depths(model.layers, chunks)
        ends = f"|{'t' * depths[-1]}{'m' * model.mtp_layers}L"
        flags["pipeline-model-parallel-layout"] = "E" + "|".join("t" * depth for depth in depths[:-1]) + ends
    elif layout.interleave > 1:
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
    if job.stack.gradient_bytes == 2 and layout.zero >= 1:  # otherwise Megatron keeps gradients in 4 bytes
        flags["grad-reduce-in-bf16"] = True
    if layout.shard:
        flags["num-distributed-optimizer-instances"] = layout.dp // layout.shard
    if layout.recompute == "full":
        flags |= {"recompute-granularity": "full", "recompute-method": "uniform", "recompute-num-layers": 1}
    elif layout.recompute == "selective":
        flags |= {"recompute-granularity": "selective", "recompute-modules": MODULES[model.is_moe]}
    flags["fp16" if job.precision == "fp16" else "bf16"] = True
    return flags | {"fp8": {"fp8-format": "hybrid"}, "nvfp4": {"fp4-format": "e2m1"}}.get(job.precision, {})


def megatron_model(model: Transformer, seq: int) -> Settings:
    """The sizes of a model as Megatron's flags."""
    flags: Settings = {
        "num-layers": model.layers, "hidden-size": model.hidden, "ffn-hidden-size": model.ffn or 4 * model.hidden,
        "num-attention-heads": model.heads, "kv-channels": model.head_size, "seq-length": seq,
        "max-position-embeddings": seq, "vocab-size": model.vocab, "attention-dropout": 0.0, "hidden-dropout": 0.0,
    }  # fmt: skip
    if model.groups < model.heads:
        flags |= {"group-query-attention": True, "num-query-groups": model.groups}
    if model.gated:
        flags |= {"swiglu": True, "normalization": "RMSNorm", "disable-bias-linear": True}
    if not model.positions:
        flags |= {"position-embedding-type": "rope", "rotary-base": model.rotary_base}
    if model.qk_norm:
        flags["qk-layernorm"] = True
    if not model.tied:
        flags["untie-embeddings-and-output-weights"] = True
    if model.window and not model.indexer_heads:  # an indexer's keys are no window
        flags["window-size"] = f"{model.window - 1},0"
        if model.window_share < 1.0:  # one layer in so many looks at all keys
            flags["window-attn-skip-freq"] = max(round(1.0 / (1.0 - model.window_share)), 2)
    if model.experts:
        sparse = model.layers - model.dense_layers
        kinds = f"[0,1]*{sparse}" if sparse == model.dense_layers else f"[0]*{model.dense_layers}+[1]*{sparse}"
        flags |= {
            "num-experts": model.experts, "moe-router-topk": model.top_k, "moe-ffn-hidden-size": model.expert_ffn,
            "moe-layer-freq": f"({kinds})", "moe-token-dispatcher-type": "alltoall", "moe-grouped-gemm": True,
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
    lines = [f"--{key}" if value is True else f"--{key} {words(key, value)}" for key, value in rest]
    return " \\\n  ".join([launch, *lines]) + "\n"


def words(key: str, value: object) -> str:
    """A value as a shell takes it; a list of modules is several words."""
    return str(value) if key == "recompute-modules" else shlex.quote(str(value))


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


NEMO_MODEL = {  # what stands where Megatron's flag is left out; a recipe's own value would stay otherwise
    "tensor-model-parallel-size": 1, "pipeline-model-parallel-size": 1, "pipeline-model-parallel-layout": None,
    "context-parallel-size": 1, "expert-model-parallel-size": 1, "expert-tensor-parallel-size": 1,
    "sequence-parallel": False, "seq-length": None, "recompute-granularity": None, "recompute-method": None,
    "recompute-num-layers": None,
}  # fmt: skip
NEMO_DDP = {
    "use-distributed-optimizer": False, "overlap-grad-reduce": False, "overlap-param-gather": False,
    "use-megatron-fsdp": False, "data-parallel-sharding-strategy": "no_shard", "num-distributed-optimizer-instances": 1,
    "grad-reduce-in-fp32": False,
}  # fmt: skip
NEMO_PRECISIONS = {
    "bf16": "bf16_mixed", "fp16": "fp16_mixed", "fp8": "bf16_with_fp8_delayed_scaling_mixed",
    "nvfp4": "bf16_with_nvfp4_mixed",
}  # fmt: skip


def nemo_settings(job: TrainingJob) -> Settings:
    """Megatron's settings in NeMo's sections; `launch` is the command's, not the configuration's."""
    flags = megatron_settings(job)
    model, ddp = (
        {name.replace("-", "_"): flags.get(name, plain) for name, plain in names.items()}
        for names in (NEMO_MODEL, NEMO_DDP)
    )
    return {
        "launch": {"nnodes": flags["nnodes"], "nproc-per-node": flags["nproc-per-node"]},
        "model": model | {"virtual_pipeline_model_parallel_size": flags.get("num-virtual-stages-per-pipeline-rank")},
        "train": {"micro_batch_size": job.layout.micro, "global_batch_size": job.layout.sequences},
        "ddp": dict(ddp, grad_reduce_in_fp32="grad-reduce-in-bf16" not in flags),
        "mixed_precision": NEMO_PRECISIONS[job.precision],
    }


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


def nemo_layout(text: str) -> Layout:
    first, *lines = text.splitlines()
    values = dict(line.strip().replace("_", "-").split(": ", 1) for line in lines if ": " in line)
    flags = read_flags(first) | {name: value for name, value in values.items() if value not in ("null", "false")}
    chunks = flags.get("virtual-pipeline-model-parallel-size", "1")
    return layout_of_flags(flags | {"num-virtual-stages-per-pipeline-rank": chunks})


TITAN_MODELS = {  # the planner's preset: name and flavor in torchtitan
    "llama3-8b": ("llama3", "8B"), "llama3-70b": ("llama3", "70B"), "llama3-405b": ("llama3", "405B"),
    "llama4-scout": ("llama4", "17bx16e"), "llama4-maverick": ("llama4", "17bx128e"),
    "deepseek-v3": ("deepseek_v3", "671B"), "deepseek-v2": ("deepseek_v3", "236B"),
    "deepseek-v2-lite": ("deepseek_v3", "16B"), "qwen3-0.6b": ("qwen3", "0.6B"), "qwen3-1.7b": ("qwen3", "1.7B"),
    "qwen3-4b": ("qwen3", "4B"), "qwen3-8b": ("qwen3", "8B"), "qwen3-14b": ("qwen3", "14B"),
    "qwen3-32b": ("qwen3", "32B"),
    "qwen3-30b-a3b": ("qwen3", "30B-A3B"), "qwen3-235b-a22b": ("qwen3", "235B-A22B"),
    "gpt-oss-20b": ("gpt_oss", "20b"), "gpt-oss-120b": ("gpt_oss", "120b"),
}  # fmt: skip


def torchtitan_settings(job: TrainingJob) -> Settings:
    layout, model = job.layout, job.model
    shard = 1 if layout.zero == 0 else layout.shard or layout.dp
    parallelism: Settings = {
        "data_parallel_replicate_degree": layout.dp // shard, "data_parallel_shard_degree": shard,
        "fsdp_reshard_after_forward": "default" if layout.zero == 3 else "never",  # not resharded in a pipeline
        "tensor_parallel_degree": layout.tp, "pipeline_parallel_degree": layout.pp,
        "context_parallel_degree": layout.cp, "expert_parallel_degree": layout.ep,
    }  # fmt: skip
    if model.is_moe:
        parallelism["expert_tensor_parallel_degree"] = layout.etp
    if layout.pp > 1:
        parallelism |= {
            "pipeline_parallel_schedule": "Interleaved1F1B" if layout.interleave > 1 else "1F1B",
            "pipeline_parallel_microbatch_size": layout.micro,
            "module_fqns_per_model_part": titan_chunks(stage_depths(model.layers, layout.pp * layout.interleave)),
        }
    name, flavor = TITAN_MODELS.get(model.name, (model.name, "yours"))
    local = layout.micro * (layout.accumulation if layout.pp > 1 else 1)
    settings: Settings = {
        "model": {"name": name, "flavor": flavor},
        "training": {"local_batch_size": local, "global_batch_size": layout.sequences, "seq_len": job.seq},
        "parallelism": parallelism,
        "activation_checkpoint": {"mode": layout.recompute},
        "compile": {"enable": True},
    }
    if layout.recompute == "selective":
        settings["activation_checkpoint"]["selective_ac_option"] = "op"
    if job.precision == "fp8":
        settings["model"]["converters"] = ["quantize.linear.float8"]
        settings["quantize"] = {
            "linear": {"float8": {"enable_fsdp_float8_all_gather": layout.zero > 0, "filter_fqns": ["output"]}}
        }
    return settings


def titan_chunks(depths: list[int]) -> list[list[str]]:
    """The modules of each chunk by torchtitan's names."""
    ends = list(accumulate(depths))
    parts = [[f"layers.{layer}" for layer in range(end - depth, end)] for depth, end in zip(depths, ends, strict=True)]
    return [["tok_embeddings", *parts[0]], *parts[1:-1], [*parts[-1], "norm", "output"]]


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


def deepspeed_settings(job: TrainingJob) -> Settings:
    layout = job.layout
    overlap = job.stack.data_overlap if layout.data_overlap is None else layout.data_overlap
    zero: Settings = {"stage": layout.zero, "overlap_comm": overlap, "contiguous_gradients": True}
    if layout.shard:
        crosses = layout.shard * layout.tp > job.cluster.node
        zero |= {"mics_shard_size": layout.shard, "mics_hierarchical_params_gather": crosses}
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


MAXTEXT_MODELS = {  # the planner's preset: its name in MaxText
    **{name: name for name in (
        "llama2-7b", "llama2-13b", "llama2-70b", "llama3-8b", "llama3-70b", "llama3-405b", "mistral-7b", "mixtral-8x7b",
        "mixtral-8x22b", "gpt-oss-20b", "gpt-oss-120b", "qwen3-8b", "qwen3-14b", "qwen3-32b", "qwen3-30b-a3b",
        "qwen3-235b-a22b", "qwen3-480b-a35b", "qwen3-next-80b-a3b", "qwen3-0.6b", "qwen3-1.7b", "qwen3-4b",
        "qwen2.5-1.5b", "qwen2.5-7b", "qwen2.5-14b", "gemma2-2b", "gemma2-9b", "gemma2-27b", "gemma3-4b", "gemma3-12b",
        "gemma3-27b", "gpt3-175b", "olmo3-7b", "olmo3-32b",
    )},
    "deepseek-v3": "deepseek3-671b", "deepseek-v3.2": "deepseek3.2-671b", "deepseek-v2": "deepseek2-236b",
    "kimi-k2": "kimi-k2-1t", "llama4-scout": "llama4-17b-16e", "llama4-maverick": "llama4-17b-128e",
    "deepseek-v2-lite": "deepseek2-16b",
}  # fmt: skip
REMAT = {
    "none": "minimal_with_context",
    "selective": "save_dot_except_mlp",
    "full": "full",
    "offload": "qkv_proj_offloaded",
}


def maxtext_settings(job: TrainingJob) -> Settings:
    layout, staged, tpu = job.layout, job.layout.pp > 1, job.cluster.accelerator.name.startswith("tpu")
    shard = layout.shard or layout.dp if layout.zero == 3 else 1
    flags: Settings = maxtext_model(job.model) | {
        "hardware": "tpu" if tpu else "gpu", "max_target_length": job.seq,
        "per_device_batch_size": layout.sequences / layout.gpus / (1 if staged else layout.accumulation),
        "gradient_accumulation_steps": 1 if staged else layout.accumulation,
        "ici_data_parallelism": layout.dp // shard // layout.ep if layout.zero < 3 else layout.dp // shard,
        "ici_fsdp_parallelism": max(shard // layout.ep, 1) if layout.zero == 3 else 1,
        "ici_tensor_parallelism": layout.tp, "ici_context_parallelism": layout.cp,
        "ici_expert_parallelism": layout.ep, "ici_pipeline_parallelism": layout.pp,
        "shard_optimizer_over_data": layout.zero == 1, "remat_policy": REMAT[layout.recompute],
        "dtype": "float16" if job.precision == "fp16" else "bfloat16", "grad_dtype": "bfloat16",
    }  # fmt: skip
    if staged:
        flags |= {
            "num_pipeline_microbatches": layout.accumulation, "num_pipeline_repeats": layout.interleave,
            "num_layers_per_pipeline_stage": job.model.layers // (layout.pp * layout.interleave),
        }  # fmt: skip
    if job.precision == "nvfp4":
        flags["quantization"] = "te_nvfp4"
    elif job.precision == "fp8":
        flags |= {"quantization": "fp8_full" if tpu else "fp8_gpu", "use_qwix_quantization": True}
    return flags


def maxtext_model(model: Transformer) -> Settings:
    """MaxText's name of the model, or the sizes of a dense one that it has no file for."""
    if model.name in MAXTEXT_MODELS or model.is_moe:
        return {"model_name": MAXTEXT_MODELS.get(model.name, model.name)}
    return {
        "decoder_block": "llama2", "base_emb_dim": model.hidden, "base_num_decoder_layers": model.layers,
        "base_num_query_heads": model.heads, "base_num_kv_heads": model.groups, "head_dim": model.head_size,
        "base_mlp_dim": model.ffn or 4 * model.hidden, "vocab_size": model.vocab, "logits_via_embedding": model.tied,
    }  # fmt: skip


def maxtext_text(flags: Settings) -> str:
    lines = [f"{key}={value}" for key, value in flags.items()]
    return " \\\n  ".join(["python3 -m maxtext.trainers.pre_train.train src/maxtext/configs/base.yml", *lines]) + "\n"


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
        etp=axes["tensor"] if ep > 1 else 1,
        interleave=int(values.get("num_pipeline_repeats", 1)), zero=zero, recompute=words[values["remat_policy"]],
        sequence_parallel=axes["tensor"] > 1, shard=dp // axes["data"] if sharded and axes["data"] > 1 else None,
    )  # fmt: skip
