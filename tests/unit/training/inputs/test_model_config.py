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
          "vocab_size": 65536, "num_experts": 16, "mamba_d_state": 16}, "moe_intermediate_size"),
        ({"model_type": "zamba2", "hidden_size": 2560, "num_hidden_layers": 54, "num_attention_heads": 32,
          "vocab_size": 32000, "layers_block_type": ["mamba"] * 54}, "zamba2"),
        ({"model_type": "nemotron_h", "hidden_size": 4096, "num_hidden_layers": 52, "num_attention_heads": 32,
          "vocab_size": 131072}, "hybrid_override_pattern"),
        ({"model_type": "nemotron-nas", "hidden_size": 8192, "num_hidden_layers": 80, "num_attention_heads": 64,
          "vocab_size": 128256, "block_configs": [{"ffn": {"ffn_mult": 5.25}}] * 80}, "block_configs"),
        ({"model_type": "unstated", "hidden_size": 8192, "num_hidden_layers": 80, "num_attention_heads": 64,
          "vocab_size": 128256}, "does not state the width"),
        ({"model_type": "opt", "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "ffn_dim": 4096,
          "vocab_size": 50272, "word_embed_proj_dim": 512}, "narrower than the layers"),
        ({"model_type": "arctic", "hidden_size": 7168, "num_hidden_layers": 35, "num_attention_heads": 56,
          "vocab_size": 32000, "num_local_experts": 128}, "expert_ffn=1408"),
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
        ({"model_type": "llada", "d_model": 4096, "n_layers": 32, "n_heads": 32, "n_kv_heads": 32, "vocab_size": 126464,
          "mlp_hidden_size": 12288}, 8.02),
        ({"model_type": "minimax_m1", "hidden_size": 6144, "intermediate_size": 9216, "num_hidden_layers": 80,
          "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128, "num_local_experts": 32,
          "num_experts_per_tok": 2, "vocab_size": 200064, "attn_type_list": [0, 0, 0, 0, 0, 0, 0, 1] * 10}, 456),
    ],
)  # fmt: skip
def test_models_that_write_their_sizes_in_their_own_way_are_counted(config: dict[str, Any], billions: float) -> None:
    """Counts as on the models' own pages, within 1 %."""
    assert read_model(config).parameters == pytest.approx(billions * 1e9, rel=0.01)


def test_routing_limited_to_groups_of_experts_is_read() -> None:
    config = dict(CONFIGS["kimi-k2"])
    assert read_model(config | {"n_group": 1, "topk_group": 1}).node_limit is None
    assert read_model(config | {"n_group": 8, "topk_group": 4}).node_limit == 4


def sizes_of(kind: str, hidden: int, layers: int, heads: int, vocab: int, **more: Any) -> dict[str, Any]:
    """A config.json's content."""
    return {"model_type": kind, "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
            "vocab_size": vocab, "max_position_embeddings": 8192, **more}  # fmt: skip


# Sizes of the config.json, billions of parameters in all and per token by the model card.
PUBLISHED: dict[str, tuple[dict[str, Any], float, float | None]] = {
    "qwen2-57b-a14b": (sizes_of("qwen2_moe", 3584, 28, 28, 151936, intermediate_size=18944, num_key_value_heads=4,
        moe_intermediate_size=2560, shared_expert_intermediate_size=20480, num_experts=64, num_experts_per_tok=8,
        decoder_sparse_step=1, tie_word_embeddings=False, use_sliding_window=False, sliding_window=65536,
        max_window_layers=28), 57.4, 14.2),
    "phi-2": (sizes_of("phi", 2560, 32, 32, 51200, intermediate_size=10240, tie_word_embeddings=False), 2.78,
        None),
    "phi-4-mini": (sizes_of("phi3", 3072, 32, 24, 200064, intermediate_size=8192, num_key_value_heads=8,
        tie_word_embeddings=True), 3.84, None),
    "phi-3.5-moe": (sizes_of("phimoe", 4096, 32, 32, 32064, intermediate_size=6400, num_key_value_heads=8,
        num_local_experts=16, num_experts_per_tok=2, sliding_window=131072, tie_word_embeddings=False), 41.9,
        6.6),
    "glm-4.5": (sizes_of("glm4_moe", 5120, 92, 96, 151552, head_dim=128, intermediate_size=12288,
        num_key_value_heads=8, moe_intermediate_size=1536, n_routed_experts=160, n_shared_experts=1,
        num_experts_per_tok=8, first_k_dense_replace=3, num_nextn_predict_layers=1, n_group=1, topk_group=1,
        tie_word_embeddings=False), 355, 32),
    "glm-5": (sizes_of("glm_moe_dsa", 6144, 78, 64, 154880, intermediate_size=12288, moe_intermediate_size=2048,
        n_routed_experts=256, n_shared_experts=1, num_experts_per_tok=8, first_k_dense_replace=3,
        q_lora_rank=2048, kv_lora_rank=512, qk_nope_head_dim=192, qk_rope_head_dim=64, v_head_dim=256,
        index_n_heads=32, index_head_dim=128, index_topk=2048, num_nextn_predict_layers=1, num_key_value_heads=64,
        tie_word_embeddings=False), 744, 40),
    "granite-3-8b": (sizes_of("granite", 4096, 40, 32, 49155, intermediate_size=12800, num_key_value_heads=8,
        tie_word_embeddings=True), 8.17, None),
    "granite-4-h-small": (sizes_of("granitemoehybrid", 4096, 40, 32, 100352, intermediate_size=768,
        shared_intermediate_size=1536, num_key_value_heads=8, num_local_experts=72, num_experts_per_tok=10,
        mamba_n_heads=128, mamba_d_head=64, mamba_d_state=128, mamba_n_groups=1, mamba_d_conv=4, mamba_expand=2,
        layer_types=["attention" if layer % 10 == 5 else "mamba" for layer in range(40)],
        tie_word_embeddings=True), 32.2, 9),
    "falcon-7b": (sizes_of("falcon", 4544, 32, 71, 65024, multi_query=True, new_decoder_architecture=False), 6.92,
        None),
    "falcon-180b": (sizes_of("falcon", 14848, 80, 232, 65024, num_kv_heads=8, new_decoder_architecture=True),
        179.5, None),
    "minimax-text-01": (sizes_of("minimax_text_01", 6144, 80, 64, 200064, head_dim=128, intermediate_size=9216,
        num_key_value_heads=8, num_local_experts=32, num_experts_per_tok=2, attn_type_list=[int(layer % 8 == 7)
        for layer in range(80)], layernorm_full_attention_alpha=3.5, postnorm=True, shared_intermediate_size=0,
        shared_moe_mode="sigmoid", tie_word_embeddings=False), 456, 45.9),
    "minimax-hf": (sizes_of("minimax", 6144, 80, 64, 200064, head_dim=128, intermediate_size=9216,
        num_key_value_heads=8, num_local_experts=32, num_experts_per_tok=2, layer_types=["full_attention" if layer
        % 8 == 7 else "linear_attention" for layer in range(80)], block_size=256, tie_word_embeddings=False), 456,
        45.9),
    "ling-mini-2": (sizes_of("bailing_moe_v2", 2048, 20, 16, 157184, intermediate_size=5120,
        num_key_value_heads=4, moe_intermediate_size=512, num_experts=256, num_shared_experts=1,
        num_experts_per_tok=8, first_k_dense_replace=1, head_dim=128, n_group=8, topk_group=4,
        num_nextn_predict_layers=0, tie_word_embeddings=False), 16.26, 1.43),
    "ling-1t": (sizes_of("bailing_moe_v2", 8192, 80, 64, 157184, intermediate_size=18432, num_key_value_heads=8,
        moe_intermediate_size=2048, num_experts=256, num_shared_experts=1, num_experts_per_tok=8,
        first_k_dense_replace=4, head_dim=128, n_group=8, topk_group=4, tie_word_embeddings=False), 1000, 50),
    "ernie-300b": (sizes_of("ernie4_5_moe", 8192, 54, 64, 103424, intermediate_size=28672, num_key_value_heads=8,
        moe_intermediate_size=3584, moe_num_experts=64, moe_k=8, moe_layer_start_index=3, moe_layer_end_index=53,
        moe_layer_interval=1, moe_num_shared_experts=0, tie_word_embeddings=False), 300, 47),
    "dots1": (sizes_of("dots1", 4096, 62, 32, 152064, intermediate_size=10944, num_key_value_heads=32,
        moe_intermediate_size=1408, n_routed_experts=128, n_shared_experts=2, num_experts_per_tok=6,
        first_k_dense_replace=1, n_group=1, topk_group=1, moe_layer_freq=1, layer_types=["full_attention"] * 62,
        tie_word_embeddings=False), 142.8, 14),
    "command-a": (sizes_of("cohere2", 12288, 64, 96, 256000, intermediate_size=36864, num_key_value_heads=8,
        sliding_window=4096, sliding_window_pattern=4, head_dim=128), 111, None),
    "mimo-7b": (sizes_of("mimo", 4096, 36, 32, 151680, intermediate_size=11008, num_key_value_heads=8,
        num_nextn_predict_layers=1, tie_word_embeddings=False), 7.6, None),
    "seed-oss-36b": (sizes_of("seed_oss", 5120, 64, 80, 155136, intermediate_size=27648, num_key_value_heads=8,
        head_dim=128, tie_word_embeddings=False), 36.15, None),
    "qwen2-vl-7b": (sizes_of("qwen2_vl", 3584, 28, 28, 152064, architectures=["Qwen2VLForConditionalGeneration"],
        intermediate_size=18944, num_key_value_heads=4, tie_word_embeddings=False, vision_config={"depth": 32,
        "embed_dim": 1280}), 7.62, None),
    "qwen3-vl-30b": ({"model_type": "qwen3_vl_moe", "architectures": ["Qwen3VLMoeForConditionalGeneration"],
        "vision_config": {"hidden_size": 1152}, "text_config": sizes_of("qwen3_vl_moe_text", 2048, 48, 32, 151936,
        intermediate_size=6144, moe_intermediate_size=768, num_experts=128, num_experts_per_tok=8,
        num_key_value_heads=4, head_dim=128, decoder_sparse_step=1, mlp_only_layers=[])}, 30.5, 3.3),
    "qwen3.5-397b": ({"model_type": "qwen3_5_moe", "architectures": ["Qwen3_5MoeForConditionalGeneration"],
        "vision_config": {"hidden_size": 1152}, "text_config": sizes_of("qwen3_5_moe_text", 4096, 60, 32, 248320,
        moe_intermediate_size=1024, shared_expert_intermediate_size=1024, num_experts=512, num_experts_per_tok=10,
        num_key_value_heads=2, head_dim=256, linear_num_key_heads=16, linear_num_value_heads=64,
        linear_key_head_dim=128, linear_value_head_dim=128, linear_conv_kernel_dim=4, full_attention_interval=4,
        attn_output_gate=True, mtp_num_hidden_layers=1, layer_types=["full_attention" if layer % 4 == 3 else
        "linear_attention" for layer in range(60)])}, 397, 17),
    "jamba": (sizes_of("jamba", 4096, 32, 32, 65536, intermediate_size=14336, num_key_value_heads=8,
        num_experts=16, num_experts_per_tok=2, expert_layer_period=2, expert_layer_offset=1, attn_layer_period=8,
        attn_layer_offset=4, mamba_d_state=16, mamba_d_conv=4, mamba_expand=2, mamba_dt_rank=256,
        tie_word_embeddings=False), 51.57, 12),
    "nemotron-3-nano": (sizes_of("nemotron_h", 2688, 52, 32, 131072, head_dim=128, num_key_value_heads=2,
        intermediate_size=1856, hybrid_override_pattern="MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
        mamba_num_heads=64, mamba_head_dim=64, n_groups=8, ssm_state_size=128, conv_kernel=4,
        n_routed_experts=128, num_experts_per_tok=6, moe_intermediate_size=1856, n_shared_experts=1,
        moe_shared_expert_intermediate_size=3712, tie_word_embeddings=False, expand=2, chunk_size=128), 31.6,
        3.6),
    "moonlight": (sizes_of("deepseek_v3", 2048, 27, 16, 163840, intermediate_size=11264,
        moe_intermediate_size=1408, n_routed_experts=64, n_shared_experts=2, num_experts_per_tok=6,
        first_k_dense_replace=1, q_lora_rank=None, kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64,
        v_head_dim=128, num_key_value_heads=16, tie_word_embeddings=False, moe_layer_freq=1, n_group=1,
        topk_group=1), 15.96, 3),
    "olmoe": (sizes_of("olmoe", 2048, 16, 16, 50304, intermediate_size=1024, num_key_value_heads=16,
        num_experts=64, num_experts_per_tok=8, tie_word_embeddings=False), 6.92, 1.28),
    "opt-66b": (sizes_of("opt", 9216, 64, 72, 50272, ffn_dim=36864, word_embed_proj_dim=9216), 65.7, None),
    "pythia-12b": (sizes_of("gpt_neox", 5120, 36, 40, 50688, intermediate_size=20480, tie_word_embeddings=False),
        11.85, None),
    "exaone4-32b": (sizes_of("exaone4", 5120, 64, 40, 102400, intermediate_size=27392, num_key_value_heads=8,
        sliding_window=4096, sliding_window_pattern="LLLG", tie_word_embeddings=False), 32.0, None),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_configs_are_counted_as_published(name: str) -> None:
    config, billions, active = PUBLISHED[name]
    model = from_config(config, name=name)
    assert model.parameters == pytest.approx(billions * 1e9, rel=0.01)
    if active is not None:  # some count the embeddings among the active parameters, some do not
        both = model.vocab * model.hidden * (1 if model.tied else 2)
        assert min(abs(model.active_parameters - left - active * 1e9) for left in (0, both)) < 0.06 * active * 1e9


def test_a_vision_part_is_said_to_be_left_out() -> None:
    model = from_config(PUBLISHED["qwen3-vl-30b"][0])
    assert "decoder-only" in {note.code for note in model.notes}


def test_layers_that_look_at_another_model_are_refused() -> None:
    text = sizes_of("mllama_text_model", 4096, 40, 32, 128256, intermediate_size=14336, cross_attention_layers=[3, 8])
    with pytest.raises(InputError, match="cross_attention_layers"):
        from_config({"model_type": "mllama", "text_config": text})
