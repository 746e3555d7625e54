"""A model from a Hugging Face config.json: what is known by `model_type` is read, what is not is refused."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, FormatError, InputError, read_as
from scalecurve.findings import Finding, info, warning
from scalecurve.study.file import read_json
from scalecurve.training.inputs.transformer import Transformer, models, size_faults, training_table
from scalecurve.units import format_count, parse_count

TRAINED_AT = 8192  # tokens of a sequence at most, where only the longest context is stated
COUNT_OFF = 0.01  # of the published count; a larger difference is pointed out, if not of rounding
WAY_OUT = "give the sizes instead: --model hidden=4096,layers=32,heads=32,kv_heads=8,ffn=14336,vocab=128256"
WAY_OUT_EXPERTS = f"{WAY_OUT},experts=64,top_k=8,expert_ffn=1408"
_EXPERT_SIZES = ("experts", "top_k", "expert_ffn")
NOT_SIZES = (
    "shared_experts", "shared_width", "expert_steps", "lengths", "structure", "other_tables",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ModelTypes:
    """What `data/model_types.toml` knows of each model_type."""

    gated: frozenset[str]
    ungated: frozenset[str]
    tied: frozenset[str]
    learned_positions: frozenset[str]
    window_off: frozenset[str]
    qk_norm: frozenset[str]
    refused: Mapping[str, str]  # model_type: what it is
    defaults: Mapping[str, Mapping[str, int]]
    keys: Mapping[str, Sequence[str]]  # of a config, by what they hold

    @property
    def decoders(self) -> frozenset[str]:
        return self.gated | self.ungated


@cache
def model_types() -> ModelTypes:
    """The table of model types."""
    content = tomllib.loads(training_table("model_types.toml"))
    refused = {name: kind for kind, names in content["refused"].items() for name in names}
    sets = {name: frozenset(value) for name, value in content.items() if isinstance(value, list)}
    return ModelTypes(**sets, refused=refused, defaults=content["defaults"], keys=content["keys"])


def read_config(path: Path) -> Transformer:
    """The model described by a Hugging Face config.json."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise FormatError(Fault("a config.json holds one object", str(path), type(content).__name__))
    with read_as("a Hugging Face config.json", subject=str(path)):
        return from_config(
            content,
            name=str(content.get("_name_or_path") or (path.parent.name if path.stem == "config" else "") or path.stem),
        )


def from_config(content: Mapping[str, Any], *, name: str = "config.json") -> Transformer:
    """The decoder of a config's content, with the count its authors published where a preset has the same sizes.
    Raises InputError for models that are no decoder, and for layers that are not known here."""
    text = content.get("text_config") or content.get("llm_config") or content.get("language_config") or {}
    config = {**content, **(text if isinstance(text, Mapping) else {})}
    kind = str(config.get("model_type") or "")
    kind = f"{kind}_text" if kind in ("gemma3", "llama4") else kind
    _refuse_what_is_no_decoder(config, kind, name)
    config = plain_values({**model_types().defaults.get(kind, {}), **config})
    sizes = _plain_sizes(config, name)
    notes = _unknown_type_notes(config, kind, known_width="ffn" in sizes)
    narrow = config.get("word_embed_proj_dim", sizes["hidden"])
    if narrow != sizes["hidden"]:
        value = f"{narrow} in layers of {sizes['hidden']}"
        raise InputError(Fault("the embedding is narrower than the layers", "word_embed_proj_dim", value, WAY_OUT))
    seq, length_notes = _training_length(config)
    sizes |= _attention_sizes(config, kind, sizes)
    sizes |= _expert_sizes(config, kind, sizes)
    sizes |= _hybrid_sizes(config, kind, sizes)
    if kind in model_types().learned_positions:
        sizes["positions"] = int(next((config[key] for key in model_types().keys["lengths"] if config.get(key)), 0))
    sizes = {key: value for key, value in sizes.items() if value is not None}
    model = Transformer(
        name=name,
        seq=seq,
        gated=kind not in model_types().ungated,
        tied=bool(config.get("tie_word_embeddings", kind in model_types().tied)),
        source=f"config.json of {name}",
        **sizes,
    )
    return beside_published(replace(model, notes=(*notes, *length_notes, *_other_parts(content))))


def _plain_sizes(config: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The sizes that have a key of their own, by whatever name."""
    sizes: dict[str, Any] = {}
    for key, names in model_types().keys.items():
        value = None if key in NOT_SIZES else first_of(config, names)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            sizes[key] = int(value)
    needed = ("hidden", "layers", "heads", "vocab")
    faults = [Fault("missing", model_types().keys[key][0], remedy=WAY_OUT) for key in needed if key not in sizes]
    faults = faults or size_faults({key: sizes[key] for key in needed})
    if faults:
        raise InputError(faults, subject=f"model {name}")
    return sizes


def first_of(config: Mapping[str, Any], names: Iterable[str]) -> Any:
    """The first of these keys that holds something; None where none does."""
    return next((config[name] for name in names if config.get(name) is not None), None)


def _other_parts(content: Mapping[str, Any]) -> tuple[Finding, ...]:
    """That a vision or audio part beside the decoder is not planned."""
    parts = [key.removesuffix("_config") for key in ("vision_config", "audio_config") if content.get(key)]
    message = f"only the decoder is planned: the {' and '.join(parts)} part is left out"
    return (info("decoder-only", message),) if parts else ()


def plain_values(config: Mapping[str, Any]) -> dict[str, Any]:
    """A config with the tables of its parts (DBRX, MPT) beside it, and lists that repeat one number for every layer
    (Hunyuan) as that number."""
    parts = [config[key] for key in ("attn_config", "ffn_config") if isinstance(config.get(key), Mapping)]
    values = {key: value for part in parts for key, value in part.items()} | dict(config)
    return {
        key: value[0]
        if isinstance(value, list) and value and isinstance(value[0], int) and value.count(value[0]) == len(value)
        else value
        for key, value in values.items()
    }


def _refuse_what_is_no_decoder(config: Mapping[str, Any], kind: str, name: str) -> None:
    """Encoders, encoder-decoders and models without attention: the counts of a decoder would be wrong for them."""
    architectures = [str(entry) for entry in config.get("architectures") or []]
    what = model_types().refused.get(kind)
    if what is None and config.get("is_encoder_decoder"):
        what = "encoder-decoder"
    words = ("MaskedLM", "ConditionalGeneration", "ImageClassification", "EncoderModel")
    if what is None and kind not in model_types().decoders and not config.get("text_config"):
        what = next((f"model of {entry}" for entry in architectures if any(word in entry for word in words)), None)
    if what is not None:
        value = ", ".join([kind, *architectures])
        hint = f"the planner counts decoders of attention and feed-forward layers; {WAY_OUT}, if it is one"
        raise InputError(Fault(f"not a decoder: {what}", "model_type", value, hint), subject=f"model {name}")


def _unknown_type_notes(config: Mapping[str, Any], kind: str, *, known_width: bool) -> tuple[Finding, ...]:
    """A type not in the table is read as a plain decoder with a gate and a warning, if no key tells of other layers and
    one tells the width of the feed-forward part."""
    if kind in model_types().decoders or not kind:
        odd: list[str] = [] if kind else _structure_keys(config, ("expert", "lora_rank", "moe", "window"))
    else:
        odd = _structure_keys(config, ())
    if odd:
        value = f"{kind or 'none'}: {', '.join(odd[:8])}"
        message = "layers of an unknown model_type"
        way = WAY_OUT_EXPERTS if any("expert" in key or "moe" in key for key in odd) else WAY_OUT
        raise InputError(Fault(message, "model_type", value, way), subject="config.json")
    if kind in model_types().decoders:
        return ()
    if kind and not known_width:
        message = "an unknown model_type that does not state the width of its feed-forward part"
        raise InputError(Fault(message, "model_type", kind, WAY_OUT), subject="config.json")
    message = f"model_type {kind or 'not stated'}: read as a plain decoder with a gated feed-forward part"
    return (warning("model-type-unknown", message, remedy="check the parameter count, or give the sizes"),)


def _structure_keys(config: Mapping[str, Any], harmless: tuple[str, ...]) -> list[str]:
    """Keys that are set, here or in a table inside, and tell of layers unlike a plain decoder's."""
    odd: list[str] = []
    for key, value in config.items():
        if isinstance(value, Mapping) and key not in model_types().keys["other_tables"]:
            odd += [f"{key}.{inner}" for inner in _structure_keys(value, harmless)]
        elif value not in (None, False, 0, [], {}) and any(word in key for word in model_types().keys["structure"]):
            odd += [] if any(word in key for word in harmless) else [key]
    return odd


def _training_length(config: Mapping[str, Any]) -> tuple[int, tuple[Finding, ...]]:
    """Tokens of a training sequence: the length before a context extension, or the longest context up to 8,192."""
    scaling = config.get("rope_scaling") or config.get("rope_parameters") or {}
    before = scaling.get("original_max_position_embeddings") if isinstance(scaling, Mapping) else None
    longest = next((int(config[key]) for key in model_types().keys["lengths"] if config.get(key)), None)
    seq = min(int(before or longest or 4096), TRAINED_AT)
    if longest is None or seq == longest:
        return seq, ()
    message = (
        f"a config.json states the longest context ({longest:,}), not the training length: {seq:,} tokens are taken"
    )
    return seq, (info("sequence-length", message, remedy="give --seq", seq=seq, longest=longest),)


def _attention_sizes(config: Mapping[str, Any], kind: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    """Latent heads, shared key heads, and windows with the share of layers that have one."""
    parts: dict[str, Any] = {"qk_norm": kind in model_types().qk_norm}
    rotary = config.get("rope_parameters") if isinstance(config.get("rope_parameters"), Mapping) else {}
    base = config.get("rope_theta") or (rotary or {}).get("rope_theta")
    parts |= {"rotary_base": int(base)} if isinstance(base, (int, float)) else {}
    if "kv_rank" in sizes:
        parts |= {"head": int(config.get("qk_nope_head_dim", 128)) + sizes.get("rope", 0), "kv_heads": None}
    elif config.get("multi_query") and not config.get("new_decoder_architecture"):
        parts["kv_heads"] = 1
    if kind == "qwen":  # both matrices into the gate together
        parts["ffn"] = sizes["ffn"] // 2
    if kind == "mpt":
        parts |= {"ffn": int(config.get("expansion_ratio", 4)) * sizes["hidden"]}
        parts["kv_heads"] = (config.get("attn_config") or {}).get("kv_n_heads")
    if config.get("index_topk"):  # the indexer leaves so many keys to attention
        parts["window"] = int(config["index_topk"])
    window = config.get("sliding_window") or config.get("attention_chunk_size")
    if not window or not config.get("use_sliding_window", kind not in model_types().window_off):
        return parts
    limited = _limited_share(config, kind, sizes["layers"])
    return parts | ({"window": int(window), "window_share": limited} if limited > 0 else {})


def _limited_share(config: Mapping[str, Any], kind: str, layers: int) -> float:
    """The share of the attention layers that look back one window only."""
    kinds = [str(entry) for entry in config.get("layer_types") or []]
    mixing = [entry for entry in kinds if "linear" not in entry]
    every = config.get("sliding_window_pattern") or config.get("no_rope_layer_interval")
    if mixing:
        return sum("sliding" in entry or "chunked" in entry for entry in mixing) / len(mixing)
    if isinstance(every, str) and every:  # a letter for each layer, such as LLLG
        return sum(letter == "L" for letter in every) / len(every)
    if isinstance(every, int) and every > 1:
        return 1.0 - (layers // every) / layers  # the last of every so many layers looks at all keys
    if kind in model_types().window_off:
        return max(layers - int(config.get("max_window_layers", layers)), 0) / layers
    return 1.0


def _expert_sizes(config: Mapping[str, Any], kind: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    """Widths of routed and shared experts, and how many layers have none; nothing of it in a dense model."""
    if sizes.get("experts", 0) < 2:
        return dict.fromkeys(_EXPERT_SIZES, None)
    layers = sizes["layers"]
    wide = sizes.get("expert_ffn") or int(config.get("intermediate_size") or sizes.get("ffn") or 0)
    if not wide:
        raise InputError(Fault("missing", "moe_intermediate_size", remedy=WAY_OUT), subject="config.json")
    many = 1 if kind == "llama4_text" else first_of(config, model_types().keys["shared_experts"]) or 0
    shared = int(first_of(config, model_types().keys["shared_width"]) or int(many) * wide)
    groups = config.get("topk_group") if (config.get("n_group") or 1) > 1 else None
    routed = _expert_layers(config, kind, layers)
    return {"expert_ffn": wide, "shared_ffn": shared, "dense_layers": layers - routed, "node_limit": groups}


def _expert_layers(config: Mapping[str, Any], kind: str, layers: int) -> int:
    """How many layers have experts: those of a list, or every so many from the first on."""
    if kind == "llama4_text" and config.get("moe_layers"):
        return len(config["moe_layers"])
    first = first_of(config, ("first_k_dense_replace", "moe_layer_start_index")) or 0
    step = next((config[key] for key in model_types().keys["expert_steps"] if config.get(key)), 1)
    step = step if isinstance(step, int) and step > 1 else 1
    offset = int(config.get("expert_layer_offset", step - 1))
    sparse = {layer for layer in range(int(first), layers) if layer % step == offset}
    return len(sparse - set(config.get("mlp_only_layers") or []))


def _hybrid_sizes(config: Mapping[str, Any], kind: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    """Layers that mix tokens by a state instead of attention, by the type's own way to say which."""
    if kind == "nemotron_h":
        return _nemotron_layers(config, sizes)
    if kind in ("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"):
        names = ("linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim", "linear_value_head_dim")
        every = int(config.get("full_attention_interval", 4))
        linear = _listed(config, "linear", sizes["layers"] - sizes["layers"] // every)
        kernel = int(config.get("linear_conv_kernel_dim", 4))
        return _linear(linear, delta_mixer(sizes["hidden"], kernel, *_need(config, names))) | {"query_gate": True}
    if kind == "jamba":
        period, offset, state = _need(config, ("attn_layer_period", "attn_layer_offset", "mamba_d_state"))
        linear = sum(layer % period != offset for layer in range(sizes["layers"]))
        inner = int(config.get("mamba_expand", 2)) * sizes["hidden"]
        rank, kernel = _whole(config.get("mamba_dt_rank"), -(-sizes["hidden"] // 16)), config.get("mamba_d_conv", 4)
        return _linear(linear, first_mamba_mixer(sizes["hidden"], inner, rank, state, int(kernel)))
    if kind in ("granitemoehybrid", "bamba"):
        plain = config.get("attn_layer_indices")
        linear = _listed(config, "mamba", 0) if plain is None else sizes["layers"] - len(plain)
        heads, state = _need(config, ("mamba_n_heads", "mamba_d_state"))
        wide = int(config.get("mamba_expand", 2)) * sizes["hidden"] // heads
        mixer = mamba_mixer(
            sizes["hidden"], heads, _whole(config.get("mamba_d_head"), wide), int(config.get("mamba_n_groups", 1)),
            state, int(config.get("mamba_d_conv", 4)),
        )  # fmt: skip
        dense = {} if sizes.get("experts") or kind == "bamba" else {"ffn": int(config["shared_intermediate_size"])}
        return _linear(linear, mixer) | dense
    if kind in ("minimax", "minimax_text_01", "minimax_m1"):
        inner = sizes["heads"] * sizes["head"]
        return _linear(_listed(config, "linear", 0), (5 * sizes["hidden"] * inner, 4 * inner * sizes["head"]))
    return {}


def _nemotron_layers(config: Mapping[str, Any], sizes: Mapping[str, Any]) -> dict[str, Any]:
    """Nemotron-H has one part in each layer, by a letter: Mamba-2, attention, a feed-forward part or experts."""
    layers, pattern = sizes["layers"], str(config.get("hybrid_override_pattern") or "")
    if len(pattern) != layers or set(pattern) - set("M*-E"):
        hint = "a letter for each layer: M, *, - or E"
        raise InputError(Fault("cannot tell the layers", "hybrid_override_pattern", pattern or "missing", hint))
    heads, head = _need(config, ("mamba_num_heads", "mamba_head_dim"))
    mixer = mamba_mixer(
        sizes["hidden"], heads, head, int(config.get("n_groups", 8)), int(config.get("ssm_state_size", 128)),
        int(config.get("conv_kernel", 4)),
    )  # fmt: skip
    routed = pattern.count("E")
    experts: dict[str, Any] = {"dense_layers": layers - routed, "shared_ffn": sizes.get("shared_ffn", 0)}
    experts = experts if routed else dict.fromkeys((*_EXPERT_SIZES, "shared_ffn"), None)
    parts = {"attention_layers": pattern.count("*"), "ffn_layers": pattern.count("-")}
    return experts | parts | _linear(pattern.count("M"), mixer)


def _linear(layers: int, mixer: tuple[int, int]) -> dict[str, Any]:
    return {"linear_layers": layers, "linear_weights": mixer[0], "linear_flop": mixer[1]} if layers else {}


def _listed(config: Mapping[str, Any], word: str, unlisted: int) -> int:
    """How many layers a config's list calls `word`; in MiniMax's own list they are the zeros."""
    kinds = config.get("layer_types") or config.get("layers_block_type") or []
    if not kinds and config.get("attn_type_list"):
        return list(config["attn_type_list"]).count(0)
    return sum(word in str(entry) for entry in kinds) if kinds else unlisted


def _whole(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) else otherwise  # "auto", or left out


def _need(config: Mapping[str, Any], keys: tuple[str, ...]) -> list[int]:
    missing = [Fault("missing", key, remedy=WAY_OUT) for key in keys if not isinstance(config.get(key), int)]
    if missing:
        raise InputError(missing, subject="config.json")
    return [config[key] for key in keys]


def first_mamba_mixer(hidden: int, inner: int, rank: int, state: int, kernel: int) -> tuple[int, int]:
    """Weights of a Mamba-1 mixer (Gu and Dao 2023), and FLOP per token of its state alone."""
    weights = hidden * 2 * inner + inner * (kernel + rank + 2 * state) + rank * inner + inner * state + inner * hidden
    return weights, 6 * inner * state


def mamba_mixer(hidden: int, heads: int, head: int, groups: int, state: int, kernel: int) -> tuple[int, int]:
    """Weights of a Mamba-2 mixer, and FLOP per token of its state alone: written (2 x inner x state) and read (as much)
    (Dao and Gu 2024)."""
    inner, mixed = heads * head, heads * head + 2 * groups * state
    weights = hidden * (inner + mixed + heads) + mixed * kernel + inner * hidden
    return weights, 4 * inner * state


def delta_mixer(hidden: int, kernel: int, keys: int, values: int, key: int, value: int) -> tuple[int, int]:
    """Weights of a gated DeltaNet mixer with `keys` heads of size `key` and `values` heads of size `value`, and FLOP
    per token of its state alone: read, corrected and written (Yang et al. 2024)."""
    wide, narrow = values * value, keys * key
    weights = hidden * (2 * narrow + 2 * wide + 2 * values) + (2 * narrow + wide) * kernel + wide * hidden
    return weights, 6 * values * key * value


def agrees_with_published(counted: float, published: str) -> bool:
    """Whether a count is within 1 % of the published one, or rounds to its digits (1.72B to `1.7B`)."""
    count = parse_count(published)
    digits = published.strip("kMBT ")
    unit = count / float(digits) * 10.0 ** -len(digits.partition(".")[2])
    return abs(counted - count) <= max(COUNT_OFF * count, 0.5 * unit)


def beside_published(model: Transformer) -> Transformer:
    """The model with the published count of the preset of the same sizes, and a finding that says both."""
    names = ("hidden", "layers", "heads", "groups", "experts", "expert_ffn", *(() if model.experts else ("ffn",)))
    twin = next(
        (
            other
            for other in models().values()
            if all(getattr(other, key) == getattr(model, key) for key in names)
            and abs(model.vocab / other.vocab - 1.0) < COUNT_OFF
        ),
        None,
    )
    if twin is None or twin.published is None:
        message = f"counted {format_count(model.parameters)} parameters; no published count is known for these sizes"
        return replace(model, notes=(*model.notes, info("parameters", message, counted=model.parameters)))
    counted = model.parameters + twin.other_weights
    beside = f" with {format_count(twin.other_weights)} outside the decoder" if twin.other_weights else ""
    message = f"counted {format_count(counted)} parameters{beside}; published {twin.published} ({twin.name})"
    tell = info if agrees_with_published(counted, twin.published) else warning
    note = tell("parameters", message, counted=counted, published=parse_count(twin.published))
    return replace(model, published=twin.published, other_weights=twin.other_weights, notes=(*model.notes, note))
