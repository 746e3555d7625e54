"""Configurations of other frameworks: written, read back, and the layout is the same."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace

import pytest
import yaml

from scalecurve.errors import InputError
from scalecurve.training import evaluate_layout
from scalecurve.training.answers.evaluation import TrainingJob
from scalecurve.training.exports.config import FRAMEWORKS, export_config
from scalecurve.training.inputs.layout import Layout
from tests.unit.training.exports.reading_back import read_export

LAYOUTS = {
    "dense": ("llama3-70b", "tp=8,pp=4,dp=4,micro=1,interleave=4,zero=1,sp=true,recompute=selective", 128),
    "sharded": ("llama3-8b", "dp=16,zero=3,micro=2,recompute=full", 64),
    "hybrid": ("llama3-8b", "dp=16,zero=3,shard=8,micro=1", 32),
    "tensor and shards": ("llama3-8b", "tp=4,dp=8,zero=3,micro=1,sp=true", 32),
    "replicas": ("llama3-8b", "tp=2,dp=8,zero=0,micro=1,sp=true", 64),
    "context": ("llama3-70b", "tp=8,cp=2,dp=2,micro=1,zero=3,sp=true", 8),
    "experts": ("mixtral-8x7b", "dp=16,ep=8,micro=1,zero=3", 64),
    "gradients": ("llama3-8b", "dp=8,zero=2,micro=1", 64),
    "uneven stages": ("llama3-405b", "tp=8,pp=16,dp=2,micro=1,interleave=7,zero=1,sp=true", 32),
    "split experts": ("mixtral-8x7b", "tp=2,dp=8,ep=4,etp=2,micro=1,zero=1,sp=true", 64),
    "plain tensor": ("llama3-8b", "tp=4,dp=2,zero=1,micro=2,sp=false", 64),
}
REFUSED = {
    "deepspeed": {
        "dense",
        "tensor and shards",
        "replicas",
        "context",
        "experts",
        "uneven stages",
        "split experts",
    },
    "torchtitan": {"dense", "plain tensor", "uneven stages", "split experts"},
    "maxtext": {"gradients", "uneven stages"},
}


def job_of(name: str) -> TrainingJob:
    model, layout, batch = LAYOUTS[name]
    return evaluate_layout(model, "h100", layout, batch=batch, stack="megatron-core").outcome.job


@pytest.mark.parametrize("framework", sorted(FRAMEWORKS))
@pytest.mark.parametrize("name", sorted(LAYOUTS))
def test_a_configuration_read_back_is_the_layout(name: str, framework: str) -> None:
    job = job_of(name)
    if name in REFUSED.get(framework, ()):
        with pytest.raises(InputError, match=r"use |export for|leave it out"):
            export_config(job, framework)
        return
    exported = export_config(job, framework)
    expected = job.layout
    if any(note.code == "sequence-parallel" for note in exported.findings):
        expected = replace(expected, sequence_parallel=True)
    assert read_export(exported.text, framework) == expected


def test_texts_are_what_the_frameworks_parse() -> None:
    job = job_of("sharded")
    assert tomllib.loads(export_config(job, "torchtitan").text)["parallelism"]["data_parallel_shard_degree"] == 16
    content = json.loads(export_config(job, "deepspeed").text)
    product = content["train_micro_batch_size_per_gpu"] * content["gradient_accumulation_steps"] * 16
    assert content["train_batch_size"] == product == 64
    nested = yaml.safe_load(export_config(job_of("dense"), "nemo").text)
    assert nested["model"]["virtual_pipeline_model_parallel_size"] == 4
    assert nested["ddp"]["use_distributed_optimizer"] is True
    flags = export_config(job_of("dense"), "megatron").text
    for flag in ("--num-layers 80", "--num-query-groups 8", "--swiglu", "--sequence-parallel", "--bf16"):
        assert flag in flags
    assert "per_device_batch_size=1.0" in export_config(job, "maxtext").text.replace("=2.0", "=1.0")


# Names of the settings in Megatron-LM core 0.20 (megatron/training/arguments.py, TransformerConfig), torchtitan 0.2.2
# (torchtitan/config/job_config.py) and Megatron-Bridge 0.6 (ConfigContainer and the classes of its sections).
MEGATRON_FLAGS = """
    nnodes nproc-per-node tensor-model-parallel-size pipeline-model-parallel-size context-parallel-size micro-batch-size
    global-batch-size expert-model-parallel-size expert-tensor-parallel-size num-virtual-stages-per-pipeline-rank
    pipeline-model-parallel-layout sequence-parallel use-distributed-optimizer overlap-grad-reduce overlap-param-gather
    use-megatron-fsdp data-parallel-sharding-strategy ckpt-format num-distributed-optimizer-instances
    recompute-granularity recompute-method recompute-num-layers fp16 bf16 fp8-format fp4-format num-layers hidden-size
    ffn-hidden-size num-attention-heads kv-channels seq-length max-position-embeddings vocab-size group-query-attention
    num-query-groups swiglu normalization disable-bias-linear position-embedding-type window-size window-attn-skip-freq
    untie-embeddings-and-output-weights num-experts moe-router-topk moe-ffn-hidden-size moe-layer-freq moe-grouped-gemm
    moe-token-dispatcher-type moe-shared-expert-intermediate-size multi-latent-attention kv-lora-rank v-head-dim
    qk-head-dim qk-pos-emb-head-dim q-lora-rank mtp-num-layers grad-reduce-in-bf16 attention-dropout hidden-dropout
    rotary-base qk-layernorm recompute-modules"""
TITAN_KEYS = """
    model.name model.flavor model.converters training.local_batch_size training.global_batch_size training.seq_len
    parallelism.data_parallel_replicate_degree parallelism.data_parallel_shard_degree
    parallelism.fsdp_reshard_after_forward parallelism.tensor_parallel_degree parallelism.pipeline_parallel_degree
    parallelism.context_parallel_degree parallelism.expert_parallel_degree parallelism.expert_tensor_parallel_degree
    parallelism.pipeline_parallel_schedule parallelism.pipeline_parallel_microbatch_size
    parallelism.module_fqns_per_model_part activation_checkpoint.mode activation_checkpoint.selective_ac_option
    compile.enable quantize.linear"""
NEMO_SECTIONS = {"model", "train", "ddp", "mixed_precision"}


@pytest.mark.parametrize("name", sorted(LAYOUTS))
def test_every_setting_has_a_name_that_the_framework_knows(name: str) -> None:
    job = job_of(name)
    assert set(export_config(job, "megatron").settings) <= set(MEGATRON_FLAGS.split())
    assert set(yaml.safe_load(export_config(job, "nemo").text)) == NEMO_SECTIONS
    if name not in REFUSED["torchtitan"]:
        sections = export_config(job, "torchtitan").settings
        assert {f"{part}.{key}" for part, content in sections.items() for key in content} <= set(TITAN_KEYS.split())


def test_uneven_stages_are_written_out() -> None:
    job = job_of("uneven stages")
    stages = export_config(job, "megatron").settings["pipeline-model-parallel-layout"].split("|")
    assert len(stages) == 16 * 7
    assert "".join(stages).count("t") == 126
    assert (stages[0][0], stages[-1][-1]) == ("E", "L")
    titan = replace(job, layout=replace(job.layout, zero=3))
    parts = tomllib.loads(export_config(titan, "torchtitan").text)["parallelism"]["module_fqns_per_model_part"]
    assert [name for part in parts for name in part if name.startswith("layers")] == [f"layers.{k}" for k in range(126)]
    assert read_export(export_config(titan, "torchtitan").text, "torchtitan") == titan.layout


@pytest.mark.parametrize("framework", sorted(FRAMEWORKS))
@pytest.mark.parametrize("precision", ["fp8", "nvfp4", "fp16"])
def test_a_precision_is_exported_or_refused(framework: str, precision: str) -> None:
    job = replace(job_of("sharded"), precision=precision)
    if (framework, precision) in {("torchtitan", "nvfp4"), ("torchtitan", "fp16"), ("deepspeed", "fp8"),
                                  ("deepspeed", "nvfp4")}:  # fmt: skip
        with pytest.raises(InputError, match="precision="):
            export_config(job, framework)
    else:
        assert export_config(job, framework).text != export_config(job_of("sharded"), framework).text


def test_windows_of_some_layers_are_not_windows_of_all() -> None:
    job = evaluate_layout("gemma3-27b", "h100", "tp=4,dp=2,micro=1,zero=1", batch=8, stack="megatron-core").outcome
    assert export_config(job, "megatron").settings["window-attn-skip-freq"] == 6
    sparse = evaluate_layout("deepseek-v3.2", "h100", "pp=16,dp=16,ep=16,zero=1", batch=256).outcome
    assert "window-size" not in export_config(sparse, "megatron").settings


def test_experts_and_tensor_ranks_need_the_sequence_split() -> None:
    job = job_of("split experts")
    with pytest.raises(InputError, match="sequence_parallel=true"):
        export_config(replace(job, layout=replace(job.layout, sequence_parallel=False)), "megatron")


def test_latent_attention_and_experts_are_in_the_flags() -> None:
    job = replace(job_of("experts"), model=job_of("experts").model)
    assert "--num-experts 8" in export_config(job, "megatron").text
    deep = evaluate_layout("deepseek-v3", "h800", "tp=1,pp=16,dp=128,ep=64,zero=1", batch=15360).outcome
    text = export_config(deep, "megatron").text
    for flag in ("--multi-latent-attention", "--kv-lora-rank 512", "--mtp-num-layers 1", "--moe-router-topk 8"):
        assert flag in text
    assert "'([0]*3+[1]*58)'" in text


def test_what_a_framework_cannot_do_is_refused_with_the_way_out() -> None:
    with pytest.raises(InputError, match=r"(?s)pp.*use pp=1"):
        export_config(job_of("dense"), "deepspeed")
    with pytest.raises(InputError, match="zero=2 or zero=3"):
        export_config(job_of("plain tensor"), "torchtitan")
    with pytest.raises(InputError, match="unknown framework"):
        export_config(job_of("dense"), "abacus")
    assert isinstance(read_export(export_config(job_of("dense"), "megatron").text, "megatron"), Layout)


def test_adapters_are_not_exported_silently():
    job = evaluate_layout("llama3-8b", "h100", "dp=8,micro=1", adapters=True).outcome
    with pytest.raises(InputError, match="adapters are not part of an export"):
        export_config(job, "megatron")


@pytest.mark.parametrize(
    ("framework", "model", "layout", "words"),
    [
        ("torchtitan", "llama3-8b", "cp=8,zero=0,micro=1", "shards the states over context ranks"),
        ("maxtext", "mixtral-8x7b", "dp=8,ep=8,zero=3,micro=1", "data ranks that are no expert ranks"),
        ("maxtext", "mixtral-8x7b", "dp=4,cp=2,ep=8,zero=0,micro=1", "expert ranks among the data ranks"),
    ],
)
def test_shards_that_a_framework_places_otherwise_are_refused(framework, model, layout, words):
    with pytest.raises(InputError, match=words):
        export_config(evaluate_layout(model, "h100", layout, batch=8).outcome, framework)


def test_states_sharded_over_context_ranks_are_read_back():
    outcome = evaluate_layout("llama3-8b", "h100", "cp=8,zero=2,micro=1", batch=8).outcome
    assert read_export(export_config(outcome, "torchtitan").text, "torchtitan") == outcome.layout


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_learning_rate_that_is_given_stands_in_the_configuration(framework):
    stack, zero = FRAMEWORKS[framework][0], 1 if framework == "megatron" else 3
    job = evaluate_layout("llama3-8b", "h100", f"dp=8,micro=1,zero={zero}", gpus=8, batch=64, stack=stack).outcome.job
    assert "0.00042" in export_config(job, framework, learning_rate=4.2e-4).text
    assert "0.00042" not in export_config(job, framework).text
