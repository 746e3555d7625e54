"""A model's sizes from a Hugging Face config.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.training.transformer import Transformer

_NAMES = {
    "hidden": ("hidden_size", "n_embd", "d_model"),
    "layers": ("num_hidden_layers", "n_layer", "n_layers"),
    "heads": ("num_attention_heads", "n_head", "n_heads"),
    "vocab": ("vocab_size",),
    "seq": ("max_position_embeddings", "n_positions", "max_seq_len", "n_ctx"),
}
_OPTIONAL = {
    "kv_heads": ("num_key_value_heads", "num_kv_heads"),
    "head": ("head_dim",),
    "ffn": ("intermediate_size", "n_inner", "ffn_dim"),
    "experts": ("n_routed_experts", "num_local_experts", "num_experts"),
    "top_k": ("num_experts_per_tok", "experts_per_token", "moe_topk"),
    "expert_ffn": ("moe_intermediate_size",),
    "q_rank": ("q_lora_rank",),
    "kv_rank": ("kv_lora_rank",),
    "rope": ("qk_rope_head_dim",),
    "value_head": ("v_head_dim",),
    "dense_layers": ("first_k_dense_replace",),
}
_UNGATED = ("gpt2", "gpt_neox", "gpt_neo", "opt", "bloom", "mpt", "falcon", "gpt_bigcode", "phi", "nemotron")


def is_config(mapping: Mapping[str, Any]) -> bool:
    return "model_type" in mapping or "hidden_size" in mapping or "num_hidden_layers" in mapping


def read_config(path: Path) -> Transformer:
    """The model described by a config.json."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise FormatError(Fault("cannot read a model's config.json", str(path), str(problem))) from None
    if not isinstance(content, dict):
        raise FormatError(Fault("a config.json holds one object", str(path), type(content).__name__))
    return from_config(content, name=str(content.get("_name_or_path") or path.parent.name or path.stem))


def from_config(content: Mapping[str, Any], *, name: str = "config.json") -> Transformer:
    config = {**content, **content.get("text_config", {})}
    missing = [
        Fault("missing", names[0]) for key, names in _NAMES.items() if key != "seq" and _find(config, names) is None
    ]
    if missing:
        raise InputError(missing, subject=f"model {name}")
    sizes: dict[str, Any] = {key: int(_find(config, names) or 4096) for key, names in _NAMES.items()}
    optional = {key: int(value) for key, names in _OPTIONAL.items() if (value := _find(config, names)) is not None}
    return Transformer(name=name, **sizes, **_settled(config, optional), source=f"config.json of {name}")


def _find(config: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((config[name] for name in names if config.get(name) is not None), None)


def _settled(config: Mapping[str, Any], sizes: dict[str, int]) -> dict[str, Any]:
    """What the fields mean together: latent heads, experts that use the ffn's width, windows, ties."""
    settled: dict[str, Any] = dict(sizes)
    if "kv_rank" in sizes:
        settled["head"] = int(config.get("qk_nope_head_dim", 128)) + sizes.get("rope", 0)
        settled.pop("kv_heads", None)
    if "experts" in sizes:
        settled.setdefault("expert_ffn", sizes.get("ffn"))
        settled["shared_ffn"] = int(config.get("n_shared_experts") or 0) * int(settled["expert_ffn"])
    else:
        for key in ("top_k", "expert_ffn", "dense_layers"):
            settled.pop(key, None)
    kind = str(config.get("model_type", ""))
    settled["gated"] = kind not in _UNGATED
    settled["tied"] = bool(config.get("tie_word_embeddings", kind in _UNGATED))
    window = config.get("sliding_window")
    if window and config.get("use_sliding_window", True):
        settled["window"] = int(window)
    return settled
