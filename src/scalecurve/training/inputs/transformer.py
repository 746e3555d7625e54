"""A transformer by its sizes: presets, sizes in words, a Hugging Face config.json, and the arrays the physics takes."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.hardware.accelerators import plain_name, unknown_name
from scalecurve.units import parse_count

Array = npt.NDArray[np.float64]
DEFAULT_VOCABULARY, DEFAULT_SEQ = 51_200, 2048


def as_array(value: Any) -> Array:
    return np.asarray(value, dtype=np.float64)


def training_table(name: str) -> str:
    """The text of one data file of the training planner."""
    return files("scalecurve.training").joinpath("data", name).read_text(encoding="utf-8")


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Sizes of one model, or of one model per row of a table; `seq` belongs here because it fixes the work per token.

    `experts` is 0 in a dense model; `q_rank` and `kv_rank` are 0 without multi-head latent attention.  `span` is the
    mean number of keys a layer's attention looks at (below `seq` with a sliding window).
    """

    hidden: Array
    layers: Array
    heads: Array
    kv_heads: Array
    head: Array
    value_head: Array
    ffn: Array
    gates: Array  # matrices into the ffn: 1, or 2 with a gated activation
    vocab: Array
    seq: Array
    span: Array
    experts: Array
    top_k: Array
    expert_ffn: Array
    shared_ffn: Array
    dense_layers: Array
    q_rank: Array
    kv_rank: Array
    rope: Array
    tied: Array  # 1 where the output layer shares the embedding
    positions: Array  # learned position embeddings

    @property
    def moe_layers(self) -> Array:
        return np.where(self.experts > 0, self.layers - self.dense_layers, 0.0)

    @property
    def has_experts(self) -> bool:
        return bool(np.any(self.experts > 0))

    @property
    def has_latent_attention(self) -> bool:
        return bool(np.any(self.kv_rank > 0))

    @property
    def attention_weights(self) -> Array:
        """Weights of one layer's attention, full or latent."""
        plain = self.hidden * (self.head + self.value_head) * (self.heads + self.kv_heads)
        query = self.hidden * self.q_rank + self.q_rank * self.heads * self.head
        upward = self.kv_rank * self.heads * (self.head - self.rope + self.value_head)
        latent = query + self.hidden * (self.kv_rank + self.rope) + upward + self.heads * self.value_head * self.hidden
        return np.where(self.kv_rank > 0, latent, plain)

    @property
    def dense_ffn_weights(self) -> Array:
        return (self.gates + 1.0) * self.hidden * self.ffn

    @property
    def expert_weights(self) -> Array:
        """All experts of one layer, without the shared ones and the router."""
        return self.experts * (self.gates + 1.0) * self.hidden * self.expert_ffn

    @property
    def shared_weights(self) -> Array:
        """What every rank of the expert group keeps of a MoE layer: shared experts and router."""
        return (self.gates + 1.0) * self.hidden * self.shared_ffn + self.hidden * self.experts

    @property
    def embedding_weights(self) -> Array:
        result: Array = self.vocab * self.hidden * np.where(self.tied > 0, 1.0, 2.0) + self.positions * self.hidden
        return result

    @property
    def dense_parameters(self) -> Array:
        """Everything but the routed experts; norms and biases are below 0.1 % and left out."""
        mlp = (self.layers - self.moe_layers) * self.dense_ffn_weights + self.moe_layers * self.shared_weights
        return self.layers * self.attention_weights + mlp + self.embedding_weights

    @property
    def parameters(self) -> Array:
        return self.dense_parameters + self.moe_layers * self.expert_weights

    @property
    def active_parameters(self) -> Array:
        """Weights one token meets."""
        routed = self.top_k * (self.gates + 1.0) * self.hidden * self.expert_ffn
        return self.dense_parameters + self.moe_layers * routed

    @property
    def flop_per_token(self) -> Array:
        """Model FLOP of forward and backward: 6 per weight met by a matrix product and 6 a (d + d_v) s per layer
        (SC21 equation 3 without recomputation: full, not causal, attention, as MFU is usually quoted)."""
        lookups = self.embedding_weights - self.vocab * self.hidden
        weights = self.active_parameters - lookups
        return 6.0 * weights + 6.0 * self.layers * self.heads * (self.head + self.value_head) * self.span


def stack_shapes(shapes: list[Shape]) -> Shape:
    """One Shape whose entries are columns, one row per shape."""
    names = [entry.name for entry in fields(Shape)]
    return Shape(**{name: as_array([float(getattr(shape, name)) for shape in shapes]) for name in names})


@dataclass(frozen=True, kw_only=True)
class Transformer:
    """Sizes of a decoder.  MoE fields are None in a dense model, latent-attention fields None with plain attention.

    `kv_heads` None means one per head, `head` None hidden / heads, `ffn` None four times hidden.  `window` limits how
    far `window_share` of the layers look back.
    """

    name: str = "custom"
    hidden: int
    layers: int
    heads: int
    vocab: int
    seq: int
    kv_heads: int | None = None
    head: int | None = None
    value_head: int | None = None
    ffn: int | None = None
    gated: bool = False
    tied: bool = False
    positions: int = 0
    experts: int | None = None
    top_k: int | None = None
    expert_ffn: int | None = None
    shared_ffn: int = 0
    dense_layers: int = 0
    q_rank: int | None = None
    kv_rank: int | None = None
    rope: int | None = None
    window: int | None = None
    window_share: float = 1.0
    source: str = "given"

    def __post_init__(self) -> None:
        """Refuse sizes that make no model."""
        sizes = {name: getattr(self, name) for name in ("hidden", "layers", "heads", "vocab", "seq")}
        faults = [
            Fault("must be a whole number above 0", where=name, value=str(value))
            for name, value in sizes.items()
            if not isinstance(value, int) or value < 1
        ]
        if not faults and self.head is None and self.hidden % self.heads:
            hint = "give `head`, the size of one head, if it is not hidden / heads"
            faults.append(Fault("hidden is not a multiple of heads", "heads", f"{self.hidden} and {self.heads}", hint))
        if not faults and self.heads % self.groups:
            faults.append(Fault("heads is not a multiple of kv_heads", "kv_heads", f"{self.heads} and {self.groups}"))
        moe = [name for name in ("top_k", "expert_ffn") if getattr(self, name) is not None]
        if not self.experts and (moe or self.shared_ffn):
            hint = "give `experts` too, or leave these out"
            faults.append(Fault("MoE fields on a dense model", ", ".join(moe or ["shared_ffn"]), remedy=hint))
        elif self.experts and len(moe) < 2:
            faults.append(Fault("a MoE model needs top_k and expert_ffn", "experts", str(self.experts)))
        elif self.experts and self.top_k and self.top_k > self.experts:
            faults.append(Fault("top_k is larger than experts", "top_k", str(self.top_k)))
        latent = [name for name in ("kv_rank", "rope") if getattr(self, name) is not None]
        if len(latent) == 1:
            faults.append(Fault("latent attention needs kv_rank and rope", latent[0]))
        if faults:
            raise InputError(faults, subject=f"model {self.name}")

    @property
    def groups(self) -> int:
        return self.kv_heads or self.heads

    @property
    def head_size(self) -> int:
        return self.head or self.hidden // self.heads

    @property
    def is_moe(self) -> bool:
        return bool(self.experts)

    @property
    def parameters(self) -> float:
        return float(self.shape().parameters)

    @property
    def active_parameters(self) -> float:
        return float(self.shape().active_parameters)

    def shape(self, seq: int | None = None) -> Shape:
        """The sizes as the physics takes them, at a sequence length."""
        length = seq or self.seq
        near = min(self.window or length, length)
        span = self.window_share * near + (1.0 - self.window_share) * length
        sizes: dict[str, float] = {
            "hidden": self.hidden, "layers": self.layers, "heads": self.heads, "kv_heads": self.groups,
            "head": self.head_size, "value_head": self.value_head or self.head_size,
            "ffn": self.ffn or 4 * self.hidden, "gates": 2 if self.gated else 1, "vocab": self.vocab,
            "seq": length, "span": span, "experts": self.experts or 0, "top_k": self.top_k or 0,
            "expert_ffn": self.expert_ffn or 0, "shared_ffn": self.shared_ffn, "dense_layers": self.dense_layers,
            "q_rank": self.q_rank or 0, "kv_rank": self.kv_rank or 0, "rope": self.rope or 0,
            "tied": self.tied, "positions": self.positions,
        }  # fmt: skip
        return Shape(**{name: as_array(value) for name, value in sizes.items()})

    def to_dict(self) -> dict[str, Any]:
        sizes = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return sizes | {"parameters": self.parameters, "active_parameters": self.active_parameters}


@cache
def models() -> Mapping[str, Transformer]:
    """Every model preset by name."""
    entries = tomllib.loads(training_table("models.toml"))
    return {name: Transformer(name=name, **sizes) for name, sizes in entries.items()}


def model_preset(name: str) -> Transformer:
    key = plain_name(name).replace("llama-", "llama").replace("llama3.1", "llama3").replace("llama3-1", "llama3")
    if key not in models():
        raise unknown_name("model", name, models())
    return models()[key]


ModelLike = str | Path | Mapping[str, Any] | Transformer
_SIZE_ALIASES = {
    "hidden_size": "hidden", "num_layers": "layers", "n_layers": "layers", "num_heads": "heads", "n_heads": "heads",
    "attention_heads": "heads", "num_kv_heads": "kv_heads", "n_kv_heads": "kv_heads", "ffn_hidden": "ffn",
    "ffn_hidden_size": "ffn", "intermediate": "ffn", "vocab_size": "vocab", "seq_len": "seq", "seq_length": "seq",
    "sequence_length": "seq", "head_dim": "head", "topk": "top_k", "num_experts": "experts", "swiglu": "gated",
    "moe_ffn": "expert_ffn", "ffn_hidden_moe": "expert_ffn", "kv": "kv_heads", "d_model": "hidden",
}  # fmt: skip


def read_model(model: ModelLike, *, seq: int | None = None) -> Transformer:
    """The model of a preset's name, a config.json, sizes (a mapping, or `hidden=8192,layers=80,heads=64`; with
    `preset=llama3-70b,layers=100` the sizes change a preset), or a Transformer.  `seq` fills in for sizes without one.
    """
    if isinstance(model, Transformer):
        return model
    if isinstance(model, Path) or (isinstance(model, str) and model.endswith(".json")):
        return read_config(Path(model))
    sizes: dict[str, Any] = {}
    if isinstance(model, str) and "=" in model:
        for item in model.split(","):
            name, equals, value = (part.strip() for part in item.partition("="))
            if not equals or not name or not value:
                hint = "write hidden=8192,layers=80,heads=64"
                raise InputError(Fault("not a size of a model", value=item, remedy=hint), subject="model")
            sizes[name] = value if name == "preset" else int(parse_count(value))
    elif isinstance(model, str):
        return model_preset(model)
    elif not isinstance(model, Mapping):
        raise InputError(Fault("not a model", "model", repr(model), "give a preset's name, sizes or a config.json"))
    elif "num_attention_heads" in model and "hidden" not in model:
        return from_config(model, name=str(model.get("_name_or_path", "given")))
    else:
        sizes = dict(model)
    sizes = {_SIZE_ALIASES.get(key, key): value for key, value in sizes.items() if value is not None}
    preset = sizes.pop("preset", None)
    names = sorted(entry.name for entry in fields(Transformer))
    hint = f"known: {', '.join(names)}"
    faults = [Fault("unknown field of a model", key, remedy=hint) for key in sizes if key not in names]
    if not preset:
        faults += [Fault("missing", key) for key in ("hidden", "layers", "heads") if key not in sizes]
    if faults:
        raise InputError(faults, subject="model")
    if preset:
        return replace(model_preset(str(preset)), **sizes)
    return Transformer(**{"vocab": DEFAULT_VOCABULARY, "seq": seq or DEFAULT_SEQ, **sizes})


_CONFIG_NAMES = {  # size: its names in a config.json
    "hidden": ("hidden_size", "n_embd", "d_model"),
    "layers": ("num_hidden_layers", "n_layer", "n_layers"),
    "heads": ("num_attention_heads", "n_head", "n_heads"),
    "vocab": ("vocab_size",),
    "seq": ("max_position_embeddings", "n_positions", "max_seq_len", "n_ctx"),
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


def read_config(path: Path) -> Transformer:
    """The model described by a Hugging Face config.json."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise FormatError(Fault("cannot read a model's config.json", str(path), str(problem))) from None
    if not isinstance(content, dict):
        raise FormatError(Fault("a config.json holds one object", str(path), type(content).__name__))
    return from_config(content, name=str(content.get("_name_or_path") or path.parent.name or path.stem))


def from_config(content: Mapping[str, Any], *, name: str = "config.json") -> Transformer:
    """The model of a config's content: latent heads, experts with the ffn's width, windows and ties are worked out."""
    config = {**content, **content.get("text_config", {})}
    sizes: dict[str, Any] = {}
    for key, names in _CONFIG_NAMES.items():
        value = next((config[entry] for entry in names if config.get(entry) is not None), None)
        if value is not None:
            sizes[key] = int(value)
    sizes["seq"] = sizes.get("seq") or 4096
    missing = [_CONFIG_NAMES[key][0] for key in ("hidden", "layers", "heads", "vocab") if key not in sizes]
    if missing:
        raise InputError([Fault("missing", entry) for entry in missing], subject=f"model {name}")
    if "kv_rank" in sizes:
        sizes["head"] = int(config.get("qk_nope_head_dim", 128)) + sizes.get("rope", 0)
        sizes.pop("kv_heads", None)
    if "experts" in sizes:
        sizes.setdefault("expert_ffn", sizes.get("ffn"))
        sizes["shared_ffn"] = int(config.get("n_shared_experts") or 0) * int(sizes["expert_ffn"])
    else:
        for key in ("top_k", "expert_ffn", "dense_layers"):
            sizes.pop(key, None)
    kind = str(config.get("model_type", ""))
    window = config.get("sliding_window")
    if window and config.get("use_sliding_window", True):
        sizes["window"] = int(window)
    return Transformer(
        name=name,
        gated=kind not in _UNGATED,
        tied=bool(config.get("tie_word_embeddings", kind in _UNGATED)),
        source=f"config.json of {name}",
        **sizes,
    )
