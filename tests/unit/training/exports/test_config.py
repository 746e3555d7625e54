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
from scalecurve.training.exports.config import FRAMEWORKS, export_config, read_export
from scalecurve.training.inputs.layout import Layout

LAYOUTS = {
    "dense": ("llama3-70b", "tp=8,pp=4,dp=4,micro=1,interleave=4,zero=1,sp=true,recompute=selective", 128),
    "sharded": ("llama3-8b", "dp=16,zero=3,micro=2,recompute=full", 64),
    "hybrid": ("llama3-8b", "dp=16,zero=3,shard=8,micro=1", 32),
    "tensor and shards": ("llama3-8b", "tp=4,dp=8,zero=3,micro=1,sp=true", 32),
    "replicas": ("llama3-8b", "tp=2,dp=8,zero=0,micro=1,sp=true", 64),
    "context": ("llama3-70b", "tp=8,cp=2,dp=2,micro=1,zero=3,sp=true", 8),
    "experts": ("mixtral-8x7b", "dp=16,ep=8,micro=1,zero=3", 64),
    "gradients": ("llama3-8b", "dp=8,zero=2,micro=1", 64),
    "plain tensor": ("llama3-8b", "tp=4,dp=2,zero=1,micro=2,sp=false", 64),
}
REFUSED = {
    "deepspeed": {"dense", "tensor and shards", "replicas", "context", "experts"},
    "torchtitan": {"dense", "plain tensor"},
    "maxtext": {"gradients"},
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


def test_latent_attention_and_experts_are_in_the_flags() -> None:
    job = replace(job_of("experts"), model=job_of("experts").model)
    assert "--num-experts 8" in export_config(job, "megatron").text
    deep = evaluate_layout("deepseek-v3", "h800", "tp=1,pp=16,dp=128,ep=64,zero=1", batch=15360).outcome
    text = export_config(deep, "megatron").text
    for flag in ("--multi-latent-attention", "--kv-lora-rank 512", "--mtp-num-layers 1", "--moe-router-topk 8"):
        assert flag in text
    assert "'([0]*3+[1]*58)'" in text


def test_what_a_framework_cannot_do_is_refused_with_the_way_out() -> None:
    with pytest.raises(InputError, match=r"(?s)pp.*export for megatron"):
        export_config(job_of("dense"), "deepspeed")
    with pytest.raises(InputError, match="use zero=2 or zero=3"):
        export_config(job_of("plain tensor"), "torchtitan")
    with pytest.raises(InputError, match="unknown framework"):
        export_config(job_of("dense"), "abacus")
    assert isinstance(read_export(export_config(job_of("dense"), "megatron").text, "megatron"), Layout)


def test_adapters_are_not_exported_silently():
    job = evaluate_layout("llama3-8b", "h100", "dp=8,micro=1", adapters=True).outcome
    with pytest.raises(InputError, match="adapters are not part of an export"):
        export_config(job, "megatron")
