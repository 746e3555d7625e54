"""config.json files as their authors publish them: with Hugging Face's defaults left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scalecurve.errors import InputError
from scalecurve.training.inputs.model_config import agrees_with_published, from_config
from scalecurve.training.inputs.transformer import model_preset, models, read_model
from scalecurve.units import parse_count

CONFIGS: dict[str, dict[str, Any]] = {
    "llama3.2-1b": {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16,
        "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 8192,
        "vocab_size": 128256, "tie_word_embeddings": True, "max_position_embeddings": 131072,
        "rope_scaling": {"original_max_position_embeddings": 8192, "rope_type": "llama3"},
    },
    "llama4-maverick": {
        "architectures": ["Llama4ForConditionalGeneration"], "model_type": "llama4",
        "vision_config": {"hidden_size": 1408, "num_hidden_layers": 34, "model_type": "llama4_vision_model"},
        "text_config": {
            "model_type": "llama4_text", "hidden_size": 5120, "intermediate_size": 8192, "num_hidden_layers": 48,
            "intermediate_size_mlp": 16384, "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128,
            "num_local_experts": 128, "num_experts_per_tok": 1, "interleave_moe_layer_step": 2, "vocab_size": 202048,
            "max_position_embeddings": 1048576, "attention_chunk_size": 8192, "moe_layers": list(range(1, 48, 2)),
        },
    },
    "llama4-scout": {
        "model_type": "llama4", "text_config": {"model_type": "llama4_text", "max_position_embeddings": 10485760},
    },
    "gemma3-4b": {
        "architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3",
        "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27},
        "text_config": {
            "model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34,
            "sliding_window": 1024, "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
        },
    },
    "gemma3-27b": {
        "model_type": "gemma3",
        "text_config": {
            "model_type": "gemma3_text", "hidden_size": 5376, "intermediate_size": 21504, "num_hidden_layers": 62,
            "num_attention_heads": 32, "num_key_value_heads": 16, "head_dim": 128, "sliding_window": 1024,
        },
    },
    "gpt-oss-120b": {
        "architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "hidden_size": 2880, "num_hidden_layers": 36,
        "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 2880,
        "vocab_size": 201088, "num_local_experts": 128, "num_experts_per_tok": 4, "sliding_window": 128,
        "layer_types": ["sliding_attention", "full_attention"] * 18, "max_position_embeddings": 131072,
        "rope_scaling": {"original_max_position_embeddings": 4096, "rope_type": "yarn"},
    },
    "deepseek-v3": {
        "architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "hidden_size": 7168,
        "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128, "intermediate_size": 18432,
        "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8,
        "first_k_dense_replace": 3, "moe_layer_freq": 1, "q_lora_rank": 1536, "kv_lora_rank": 512,
        "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 129280,
        "num_nextn_predict_layers": 1, "max_position_embeddings": 163840,
        "rope_scaling": {"original_max_position_embeddings": 4096, "type": "yarn"},
    },
    "deepseek-v2-lite": {
        "model_type": "deepseek_v2", "hidden_size": 2048, "num_hidden_layers": 27, "num_attention_heads": 16,
        "num_key_value_heads": 16, "intermediate_size": 10944, "moe_intermediate_size": 1408, "n_routed_experts": 64,
        "n_shared_experts": 2, "num_experts_per_tok": 6, "first_k_dense_replace": 1, "q_lora_rank": None,
        "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 102400,
    },
    "qwen3-next-80b-a3b": {
        "architectures": ["Qwen3NextForCausalLM"], "model_type": "qwen3_next", "hidden_size": 2048,
        "num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256,
        "intermediate_size": 5120, "moe_intermediate_size": 512, "num_experts": 512, "num_experts_per_tok": 10,
        "shared_expert_intermediate_size": 512, "decoder_sparse_step": 1, "mlp_only_layers": [],
        "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_num_key_heads": 16,
        "linear_num_value_heads": 32, "linear_value_head_dim": 128, "full_attention_interval": 4, "vocab_size": 151936,
    },
    "nemotron-h-8b": {
        "architectures": ["NemotronHForCausalLM"], "model_type": "nemotron_h", "hidden_size": 4096,
        "num_hidden_layers": 52, "num_attention_heads": 32, "num_key_value_heads": 8, "attention_head_dim": 128,
        "intermediate_size": 21504, "vocab_size": 131072, "mamba_num_heads": 128, "mamba_head_dim": 64, "n_groups": 8,
        "ssm_state_size": 128, "conv_kernel": 4, "max_position_embeddings": 8192,
        "hybrid_override_pattern": "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
    },
    "qwen3-8b": {
        "model_type": "qwen3", "hidden_size": 4096, "num_hidden_layers": 36, "num_attention_heads": 32,
        "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 12288, "vocab_size": 151936,
        "use_sliding_window": False, "sliding_window": None, "max_window_layers": 36, "tie_word_embeddings": False,
    },
    "bloom-7b1": {"model_type": "bloom", "n_embed": 4096, "n_layer": 30, "num_attention_heads": 32,
                  "vocab_size": 250880},
    "kimi-k2": {
        "architectures": ["DeepseekV3ForCausalLM"], "model_type": "kimi_k2", "hidden_size": 7168,
        "num_hidden_layers": 61, "num_attention_heads": 64, "num_key_value_heads": 64, "intermediate_size": 18432,
        "moe_intermediate_size": 2048, "n_routed_experts": 384, "n_shared_experts": 1, "num_experts_per_tok": 8,
        "first_k_dense_replace": 1, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 163840, "num_nextn_predict_layers": 0,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(models()))
def test_presets_have_the_published_number_of_parameters(name: str) -> None:
    """Within 1 %, or equal in the digits that were published; the sources are in models.toml."""
    model = models()[name]
    if model.published is not None:
        assert agrees_with_published(model.parameters + model.other_weights, model.published)


@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_a_config_and_the_preset_agree(name: str, tmp_path: Path) -> None:
    path = tmp_path / name / "config.json"
    path.parent.mkdir()
    path.write_text(json.dumps(CONFIGS[name]))
    read, preset = read_model(str(path)), model_preset(name)
    assert read.parameters == pytest.approx(preset.parameters, rel=2e-4)
    assert read.active_parameters == pytest.approx(preset.active_parameters, rel=2e-4)
    ours, theirs = (float(model.shape(8192).flop_per_token) for model in (read, preset))
    assert ours == pytest.approx(theirs, rel=2e-4)
    assert read.published == preset.published
    [said] = [note for note in read.notes if note.code == "parameters"]
    assert said.severity == "info"
    assert str(preset.published) in said.message


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"model_type": "bert", "architectures": ["BertForMaskedLM"], "hidden_size": 768, "num_hidden_layers": 12,
          "num_attention_heads": 12, "vocab_size": 30522}, "not a decoder: encoder"),
        ({"model_type": "t5", "is_encoder_decoder": True, "d_model": 512}, "encoder-decoder"),
        ({"model_type": "mamba2", "hidden_size": 4096, "num_hidden_layers": 64}, "without attention"),
        ({"model_type": "somebert", "architectures": ["SomeForMaskedLM"], "hidden_size": 768, "num_hidden_layers": 12,
          "num_attention_heads": 12, "vocab_size": 30522}, "not a decoder"),
        ({"model_type": "newhybrid", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
          "vocab_size": 30522, "mamba_d_state": 64}, "mamba_d_state"),
        ({"model_type": "dbrx", "d_model": 6144, "n_layers": 40, "n_heads": 48, "vocab_size": 100352,
          "ffn_config": {"moe_num_experts": 16, "moe_top_k": 4}}, "moe_intermediate_size"),
        ({"model_type": "jamba", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
          "vocab_size": 65536, "num_experts": 16, "mamba_d_state": 16}, "jamba"),
        ({"model_type": "nemotron_h", "hidden_size": 4096, "num_hidden_layers": 52, "num_attention_heads": 32,
          "vocab_size": 131072}, "hybrid_override_pattern"),
    ],
)  # fmt: skip
def test_what_is_not_known_is_refused_with_the_way_out(config: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        read_model(config)
    assert "layer" in str(caught.value)


def test_an_unknown_plain_decoder_is_read_with_a_warning() -> None:
    config = CONFIGS["qwen3-8b"] | {"model_type": "plainlm"}
    model = from_config({key: value for key, value in config.items() if "window" not in key})
    assert model.parameters == pytest.approx(8.19e9, rel=0.01)
    assert [note.code for note in model.notes if note.severity == "warning"] == ["model-type-unknown"]


def test_a_longest_context_is_not_the_training_length() -> None:
    model = from_config(CONFIGS["gpt-oss-120b"])
    assert model.seq == 4096
    assert any("131,072" in note.message for note in model.notes)
    assert from_config(CONFIGS["qwen3-8b"] | {"max_position_embeddings": 40960}).seq == 8192


def test_windows_count_the_keys_a_causal_window_leaves() -> None:
    """A query at place i sees min(i, w) keys: w - w^2 / 2s on average, where full attention has s / 2."""
    model = model_preset("gemma3-27b")
    keys = [sum(min(place, reach) for place in range(1, 4097)) / 4096 for reach in (1024, 4096)]
    mean = model.window_share * keys[0] + (1 - model.window_share) * keys[1]
    assert float(model.shape(4096).span) == pytest.approx(2 * mean, rel=1e-3)
    assert float(model_preset("llama3-8b").shape(4096).span) == 4096


def test_layers_that_predict_further_tokens_are_work_but_not_in_the_published_count() -> None:
    """DeepSeek-V3: 671B and a module of 14B that repeats 1.9B of embedding and output layer."""
    shape = model_preset("deepseek-v3").shape()
    assert float(shape.parameters) == pytest.approx(671e9, rel=0.002)
    assert float(shape.further_token_weights) == pytest.approx(14e9 - 1.9e9, rel=0.05)
    assert 0.02 < float(shape.further_token_flop / shape.flop_per_token) < 0.06


def test_published_counts_are_compared_in_their_digits() -> None:
    assert agrees_with_published(1.72e9, "1.7B")
    assert not agrees_with_published(1.76e9, "1.7B")
    assert agrees_with_published(parse_count("8.03B") * 1.009, "8.03B")


@pytest.mark.parametrize(
    ("config", "billions"),
    [
        ({"model_type": "qwen", "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32,
          "num_attention_heads": 32, "vocab_size": 151936, "seq_length": 8192}, 7.72),
        ({"model_type": "chatglm", "hidden_size": 4096, "ffn_hidden_size": 13696, "num_layers": 28,
          "num_attention_heads": 32, "multi_query_group_num": 2, "padded_vocab_size": 65024, "kv_channels": 128}, 6.24),
        ({"model_type": "dbrx", "d_model": 6144, "n_layers": 40, "n_heads": 48, "vocab_size": 100352,
          "attn_config": {"kv_n_heads": 8},
          "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4}}, 132),
        ({"model_type": "hunyuan_v1_moe", "hidden_size": 4096, "intermediate_size": 3072, "num_hidden_layers": 32,
          "moe_intermediate_size": [3072] * 32, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
          "num_experts": 64, "moe_topk": [8] * 32, "num_shared_expert": [1] * 32, "vocab_size": 128167,
          "tie_word_embeddings": True}, 80.4),
        ({"model_type": "minimax_m2", "hidden_size": 3072, "intermediate_size": 1536, "num_hidden_layers": 62,
          "num_attention_heads": 48, "num_key_value_heads": 8, "head_dim": 128, "num_local_experts": 256,
          "num_experts_per_tok": 8, "vocab_size": 200064}, 229),
        ({"model_type": "grok-1", "hidden_size": 6144, "intermediate_size": 32768, "num_hidden_layers": 64,
          "num_attention_heads": 48, "num_key_value_heads": 8, "num_experts": 8, "num_experts_per_tok": 2,
          "vocab_size": 131072}, 314),
    ],
)  # fmt: skip
def test_models_that_write_their_sizes_in_their_own_way_are_counted(config: dict[str, Any], billions: float) -> None:
    """Counts as on the models' own pages, within 1 %."""
    assert read_model(config).parameters == pytest.approx(billions * 1e9, rel=0.01)


def test_routing_limited_to_groups_of_experts_is_read() -> None:
    config = dict(CONFIGS["kimi-k2"])
    assert read_model(config | {"n_group": 1, "topk_group": 1}).node_limit is None
    assert read_model(config | {"n_group": 8, "topk_group": 4}).node_limit == 4
