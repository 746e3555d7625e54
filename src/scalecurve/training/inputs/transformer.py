"""A transformer by its sizes: presets, sizes in words, and the arrays the physics takes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding
from scalecurve.hardware.accelerators import unknown_name
from scalecurve.units import parse_count

Array = npt.NDArray[np.float64]
DEFAULT_VOCABULARY, DEFAULT_SEQ = 51_200, 2048
UNTIMED = ("notes", "rotary_base", "qk_norm")  # fields that say nothing of sizes or times; exports write some of them
MOST_SIZE, MOST_LAYERS = 2**31, 100_000


def as_array(value: Any) -> Array:
    return np.asarray(value, dtype=np.float64)


def training_table(name: str) -> str:
    """The text of one data file of the training planner."""
    return files("scalecurve.training").joinpath("data", name).read_text(encoding="utf-8")


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Sizes of one model, or of one model per row of a table; `seq` belongs here because it fixes the work per token.

    `experts` is 0 in a dense model; `q_rank` and `kv_rank` are 0 without multi-head latent attention.  `span` is the
    mean over all layers of the keys that full attention of the same work would look at: `seq` without windows,
    2 w - w^2 / seq under a causal window of w keys, and what the state of a linear layer costs.  `ffn` is the mean
    width over the layers without experts.
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
    attention_layers: Array  # layers that mix tokens by softmax attention
    linear_layers: Array  # layers that mix tokens by a state: Mamba-2, gated DeltaNet
    linear_weights: Array  # of one such layer's mixer
    query_gate: Array  # 1 where the queries carry a gate of the attention's output
    indexer: Array  # heads x head size of the indexer that selects keys (DeepSeek-V3.2)
    indexer_head: Array
    mtp_layers: Array  # layers that predict further tokens, each with a pass through the output layer
    node_limit: Array  # nodes that the experts of one token may lie on; infinite without a limit

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
    def softmax_weights(self) -> Array:
        """Weights of the attention of one layer that has it, full or latent."""
        gate = self.query_gate * self.hidden * self.heads * self.head
        plain = self.hidden * (self.head + self.value_head) * (self.heads + self.kv_heads) + gate
        ranked = self.hidden * self.q_rank + self.q_rank * self.heads * self.head
        query = np.where(self.q_rank > 0, ranked, self.hidden * self.heads * self.head)
        upward = self.kv_rank * self.heads * (self.head - self.rope + self.value_head)
        latent = query + self.hidden * (self.kv_rank + self.rope) + upward + self.heads * self.value_head * self.hidden
        index = self.q_rank * self.indexer + self.hidden * (self.indexer_head + self.indexer / self.index_size)
        return np.where(self.kv_rank > 0, latent + index, plain)

    @property
    def index_size(self) -> Array:
        """Size of one head of the indexer; 1 where there is none, so that it can divide."""
        return np.maximum(self.indexer_head, 1.0)

    @property
    def attention_weights(self) -> Array:
        """Weights that mix tokens, the mean over all layers: softmax attention, state layers, and layers of neither."""
        mixed = self.attention_layers * self.softmax_weights + self.linear_layers * self.linear_weights
        result: Array = mixed / self.layers
        return result

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
        """Everything but the routed experts and what predicts further tokens; norms and biases are below 0.1 % and left
        out."""
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
        selecting = 6.0 * self.attention_layers * self.indexer * self.seq
        return 6.0 * weights + self.score_flop + selecting + self.further_token_flop

    @property
    def score_flop(self) -> Array:
        """Of a token, forward and backward, in the scores of the attention and what they weigh."""
        result: Array = 6.0 * self.layers * self.heads * (self.head + self.value_head) * self.span
        return result

    @property
    def further_token_weights(self) -> Array:
        """Weights of the layers that predict further tokens: a layer each and the product that joins two states
        (DeepSeek-V3, section 2.2); embedding and output layer are shared."""
        layer = np.where(
            self.experts > 0, self.shared_weights + self.expert_weights, (self.gates + 1.0) * self.hidden * self.ffn
        )
        return self.mtp_layers * (self.softmax_weights + layer + 2.0 * self.hidden**2)

    @property
    def further_token_flop(self) -> Array:
        """What they add to a token's FLOP: their active weights, their attention, and the output layer once more."""
        idle = self.mtp_layers * (self.experts - self.top_k) * (self.gates + 1.0) * self.hidden * self.expert_ffn
        weights = self.further_token_weights - np.where(self.experts > 0, idle, 0.0)
        scores = self.heads * (self.head + self.value_head) * self.span
        result: Array = 6.0 * (weights + self.mtp_layers * (self.vocab * self.hidden + scores))
        return result


def stack_shapes(shapes: list[Shape]) -> Shape:
    """One Shape whose entries are columns, one row per shape."""
    names = [entry.name for entry in fields(Shape)]
    return Shape(**{name: as_array([float(getattr(shape, name)) for shape in shapes]) for name in names})


@dataclass(frozen=True, kw_only=True)
class Transformer:
    """Sizes of a decoder.  MoE fields are None in a dense model, latent-attention fields None with plain attention.

    `kv_heads` None means one per head, `head` None hidden / heads, `ffn` None four times hidden.  `window` limits how
    far `window_share` of the attention layers look back.  `attention_layers` None means all; `linear_layers` mix tokens
    by a state instead (Mamba-2, gated DeltaNet), with `linear_weights` and `linear_flop` (per token, forward, of the
    state alone) each; `ffn_layers` None means that every layer without experts has a feed-forward part.  `mtp_layers`
    predict further tokens.  `node_limit` is how many nodes the experts of one token may lie on.  `other_weights` are
    published but not of the decoder, such as a vision tower; `published` is the count its authors state, as written.
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
    attention_layers: int | None = None
    linear_layers: int = 0
    linear_weights: int = 0
    linear_flop: int = 0
    ffn_layers: int | None = None
    query_gate: bool = False
    indexer_heads: int = 0
    indexer_head: int = 0
    mtp_layers: int = 0
    node_limit: int | None = None
    rotary_base: int = 10_000
    qk_norm: bool = False  # queries and keys are normalised
    other_weights: int = 0
    published: str | None = None
    source: str = "given"
    notes: tuple[Finding, ...] = field(default=(), compare=False)  # what a reader of its results must know

    def __post_init__(self) -> None:
        """Refuse sizes that make no model."""
        sizes = {name: getattr(self, name) for name in ("hidden", "layers", "heads", "vocab", "seq")}
        faults = [*(size_faults(sizes) or self._head_faults()), *self._expert_faults()] or self._layer_faults()
        if faults:
            raise InputError(faults, subject=f"model {self.name}")

    def _head_faults(self) -> list[Fault]:
        """Heads that do not divide what they share."""
        if self.head is None and self.hidden % self.heads:
            hint = "give `head`, the size of one head, if it is not hidden / heads"
            return [Fault("hidden is not a multiple of heads", "heads", f"{self.hidden} and {self.heads}", hint)]
        if self.heads % self.groups:
            return [Fault("heads is not a multiple of kv_heads", "kv_heads", f"{self.heads} and {self.groups}")]
        return []

    def _expert_faults(self) -> list[Fault]:
        """Sizes of experts or of latent attention of which another is missing."""
        faults = []
        moe = [name for name in ("top_k", "expert_ffn") if getattr(self, name) is not None]
        if not self.experts and (moe or self.shared_ffn):
            hint = "give `experts` too, or leave these out"
            faults.append(Fault("MoE fields on a dense model", ", ".join(moe or ["shared_ffn"]), remedy=hint))
        elif self.experts and len(moe) < 2:
            faults.append(Fault("a MoE model needs top_k and expert_ffn", "experts", str(self.experts)))
        elif self.experts and (self.top_k or 0) > self.experts:
            faults.append(Fault("top_k is larger than experts", "top_k", str(self.top_k)))
        latent = [name for name in ("kv_rank", "rope") if getattr(self, name) is not None]
        if len(latent) == 1:
            faults.append(Fault("latent attention needs kv_rank and rope", latent[0]))
        return faults

    def _layer_faults(self) -> list[Fault]:
        """Kinds of layers that do not add up."""
        faults = []
        if self.softmax_layers + self.linear_layers > self.layers:
            value = f"{self.softmax_layers} and {self.linear_layers} of {self.layers}"
            faults.append(Fault("more mixing layers than layers", "attention_layers, linear_layers", value))
        if self.dense_layers > self.layers or (self.ffn_layers or 0) > self.layers:
            faults.append(Fault("more layers of a kind than layers", "dense_layers, ffn_layers", str(self.layers)))
        if self.linear_layers and not self.linear_weights:
            faults.append(Fault("linear layers need their weights", "linear_weights", remedy="give weights per layer"))
        if not 0.0 <= self.window_share <= 1.0:
            faults.append(Fault("a share lies between 0 and 1", "window_share", f"{self.window_share:g}"))
        return faults

    @property
    def groups(self) -> int:
        return self.kv_heads or self.heads

    @property
    def softmax_layers(self) -> int:
        """Layers with softmax attention."""
        return self.layers - self.linear_layers if self.attention_layers is None else self.attention_layers

    @property
    def head_size(self) -> int:
        return self.head or self.hidden // self.heads

    @property
    def is_moe(self) -> bool:
        return bool(self.experts)

    @cached_property
    def parameters(self) -> float:
        return float(self.shape().parameters)

    @cached_property
    def active_parameters(self) -> float:
        return float(self.shape().active_parameters)

    def shape(self, seq: int | None = None) -> Shape:
        """The sizes as the physics takes them, at a sequence length."""
        length = seq or self.seq
        value_head = self.value_head or self.head_size
        near = min(self.window or length, length)
        span = self.window_share * (2.0 * near - near**2 / length) + (1.0 - self.window_share) * length
        state = self.linear_flop / (2.0 * self.heads * (self.head_size + value_head))
        span = (self.softmax_layers * span + self.linear_layers * state) / self.layers
        plain_layers = self.dense_layers if self.experts else self.layers
        width = float(self.ffn or 4 * self.hidden)
        if self.ffn_layers is not None:
            width *= self.ffn_layers / max(plain_layers, 1)
        sizes: dict[str, float] = {
            "hidden": self.hidden, "layers": self.layers, "heads": self.heads, "kv_heads": self.groups,
            "head": self.head_size, "value_head": value_head, "ffn": width, "gates": 2 if self.gated else 1,
            "vocab": self.vocab, "seq": length, "span": span, "experts": self.experts or 0, "top_k": self.top_k or 0,
            "expert_ffn": self.expert_ffn or 0, "shared_ffn": self.shared_ffn, "dense_layers": self.dense_layers,
            "q_rank": self.q_rank or 0, "kv_rank": self.kv_rank or 0, "rope": self.rope or 0,
            "tied": self.tied, "positions": self.positions, "attention_layers": self.softmax_layers,
            "linear_layers": self.linear_layers, "linear_weights": self.linear_weights, "query_gate": self.query_gate,
            "indexer": self.indexer_heads * self.indexer_head, "indexer_head": self.indexer_head,
            "mtp_layers": self.mtp_layers,
            "node_limit": self.node_limit or np.inf,
        }  # fmt: skip
        return Shape(**{name: as_array(value) for name, value in sizes.items()})

    def to_dict(self) -> dict[str, Any]:
        sizes = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name not in UNTIMED}
        return sizes | {"parameters": self.parameters, "active_parameters": self.active_parameters}


def size_faults(sizes: Mapping[str, Any]) -> list[Fault]:
    """A fault for every size that no model has: layers beyond this would be counted one by one for hours."""
    return [
        Fault(f"must be a whole number from 1 to {most:,}", name, str(value)[:40])
        for name, value in sizes.items()
        for most in (MOST_LAYERS if name == "layers" else MOST_SIZE,)
        if not isinstance(value, int) or not 1 <= value <= most
    ]


@cache
def models() -> Mapping[str, Transformer]:
    """Every model preset by name."""
    sizes = {name: {key: size for key, size in entry.items() if key != "aliases"} for name, entry in presets().items()}
    return {name: Transformer(name=name, **entry) for name, entry in sizes.items()}


@cache
def presets() -> Mapping[str, dict[str, Any]]:
    """What models.toml says of every preset."""
    return tomllib.loads(training_table("models.toml"))


def without_punctuation(text: str) -> str:
    """Letters and digits of a name, in lower case: `Llama-3.1_8B` and `llama31 8b` are one."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


FAMILY_PREFIX = re.compile(r"^(meta|google|mistralai|openai|deepseekai|bigscience|xai|nvidia|tiiuae|eleutherai)[-_ ]")
VERSION_SUFFIX = re.compile(
    r"[-_ ](instruct|chat|base|hf|it|pt|pretrain(ing|ed)?|preview|v0\.\d|\d{4}|bf16|fp8|128e(-instruct)?|16e)$"
)


@cache
def presets_by_spelling() -> Mapping[str, Transformer]:
    """Every preset under its name and other names, without punctuation."""
    others = {name: preset for preset in models().values() for name in presets()[preset.name].get("aliases", ())}
    return others | {without_punctuation(name): preset for name, preset in models().items()}


def preset_of(name: str) -> Transformer | None:
    """The preset that a name means, in the spelling of a Hugging Face id or of a table; None where there is none."""
    key = name.strip().lower().rpartition("/")[2]
    key = FAMILY_PREFIX.sub("", key)
    while (shorter := VERSION_SUFFIX.sub("", key)) != key:
        key = shorter
    key = re.sub(r"^(llama)[-_ ]?3[._-]?[13](?=[-_ ]?(8|70|405)b)", "llama3", key)
    return presets_by_spelling().get(without_punctuation(key))


def model_preset(name: str) -> Transformer:
    preset = preset_of(name)
    if preset is None:
        near = presets_near(name)
        like = near[0] if near else models()["llama3-8b"]
        sizes = f"hidden={like.hidden},layers={like.layers},heads={like.heads},kv_heads={like.groups},ffn={like.ffn}"
        way = (
            f"; or give its sizes ({sizes}{',gated=true' if like.gated else ''},vocab={like.vocab}) or its config.json"
        )
        if not near:
            raise unknown_name("model", name, models(), otherwise=way)
        hint = f"did you mean {', '.join(one.name for one in near)}{way}"
        raise InputError(Fault("unknown model", value=name, remedy=hint))
    return preset


def presets_near(name: str) -> list[Transformer]:
    """The presets of about the size that a name states (13b), nearest first, those of its family before others; no
    preset where it states none.  Plain decoders alone: others have more sizes than a hint can name."""
    size = re.search(r"(\d+(?:\.\d+)?)b(?![a-z0-9])", name.lower())
    if size is None or not float(size[1]):
        return []
    family = re.match(r"[a-z]{3,}", name.lower())
    plain = [one for one in models().values() if not (one.is_moe or one.kv_rank or one.linear_layers) and one.ffn]

    def distance(model: Transformer) -> tuple[bool, float]:
        return not (family and model.name.startswith(family[0][:4])), abs(
            np.log(model.parameters / (1e9 * float(size[1])))
        )

    return sorted(plain, key=distance)[:3]


ModelLike = str | Path | Mapping[str, Any] | Transformer
_SIZE_ALIASES = {
    "hidden_size": "hidden", "num_layers": "layers", "n_layers": "layers", "num_heads": "heads", "n_heads": "heads",
    "attention_heads": "heads", "num_kv_heads": "kv_heads", "n_kv_heads": "kv_heads", "ffn_hidden": "ffn",
    "ffn_hidden_size": "ffn", "intermediate": "ffn", "vocab_size": "vocab", "seq_len": "seq", "seq_length": "seq",
    "sequence_length": "seq", "head_dim": "head", "topk": "top_k", "num_experts": "experts", "swiglu": "gated",
    "moe_ffn": "expert_ffn", "ffn_hidden_moe": "expert_ffn", "kv": "kv_heads", "d_model": "hidden",
}  # fmt: skip


_SWITCHES = {"true": True, "yes": True, "false": False, "no": False}


def _size(name: str, value: str) -> int | str:
    """A count, a switch such as gated=true, or the name of a preset."""
    if name == "preset":
        return value
    if _SIZE_ALIASES.get(name, name) in ("gated", "tied") and value.lower() in _SWITCHES:
        return _SWITCHES[value.lower()]
    return int(parse_count(value))


def read_model(model: ModelLike, *, seq: int | None = None) -> Transformer:
    """The model of a preset's name, a config.json, sizes (a mapping, or `hidden=8192,layers=80,heads=64`; with
    `preset=llama3-70b,layers=100` the sizes change a preset), or a Transformer.  `seq` fills in for sizes without one.
    """
    if isinstance(model, Transformer):
        return model
    if isinstance(model, Path) or (isinstance(model, str) and model.endswith(".json")):
        from scalecurve.training.inputs.model_config import read_config

        return read_config(Path(model))
    if isinstance(model, str):
        return _of_sizes(_written_sizes(model), seq) if "=" in model else model_preset(model)
    if not isinstance(model, Mapping):
        raise InputError(Fault("not a model", "model", repr(model), "give a preset's name, sizes or a config.json"))
    if "hidden" not in model and {"model_type", "architectures", "num_attention_heads"} & set(model):
        from scalecurve.training.inputs.model_config import from_config

        return from_config(model, name=str(model.get("_name_or_path") or model.get("model_type") or "given"))
    return _of_sizes(model, seq)


def _written_sizes(text: str) -> dict[str, Any]:
    """`hidden=8192,layers=80` as names and values."""
    sizes: dict[str, Any] = {}
    for item in text.split(","):
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not name or not value:
            hint = "write hidden=8192,layers=80,heads=64"
            raise InputError(Fault("not a size of a model", value=item, remedy=hint), subject="model")
        sizes[name] = _size(name, value)
    return sizes


def _of_sizes(sizes: Mapping[str, Any], seq: int | None) -> Transformer:
    """The model of these sizes, by any of their names, or of a preset that they change."""
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
