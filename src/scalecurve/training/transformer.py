"""A transformer by its sizes: what a user names, and what the physics is given."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from scalecurve.errors import Fault, InputError
from scalecurve.training.arrays import as_array
from scalecurve.training.shape import Shape


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
        faults = [*self._sizes(), *self._moe(), *self._latent()]
        if faults:
            raise InputError(faults, subject=f"model {self.name}")

    def _sizes(self) -> list[Fault]:
        named = {name: getattr(self, name) for name in ("hidden", "layers", "heads", "vocab", "seq")}
        faults = [
            Fault("must be a whole number above 0", where=name, seen=str(value))
            for name, value in named.items()
            if not isinstance(value, int) or value < 1
        ]
        if not faults and self.head is None and self.hidden % self.heads:
            hint = "give `head`, the size of one head, if it is not hidden / heads"
            faults.append(Fault("hidden is not a multiple of heads", "heads", f"{self.hidden} and {self.heads}", hint))
        if not faults and self.heads % self.groups:
            faults.append(Fault("heads is not a multiple of kv_heads", "kv_heads", f"{self.heads} and {self.groups}"))
        return faults

    def _moe(self) -> list[Fault]:
        given = [name for name in ("top_k", "expert_ffn") if getattr(self, name) is not None]
        if not self.experts and (given or self.shared_ffn):
            seen = ", ".join(given or ["shared_ffn"])
            return [Fault("MoE fields on a dense model", seen, remedy="give `experts` too, or leave these out")]
        if self.experts and len(given) < 2:
            return [Fault("a MoE model needs top_k and expert_ffn", "experts", str(self.experts))]
        if self.experts and self.top_k and self.top_k > self.experts:
            return [Fault("top_k is larger than experts", "top_k", str(self.top_k))]
        return []

    def _latent(self) -> list[Fault]:
        given = [name for name in ("kv_rank", "rope") if getattr(self, name) is not None]
        return [Fault("latent attention needs kv_rank and rope", given[0])] if len(given) == 1 else []

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

    def with_sizes(self, **changes: Any) -> Transformer:
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        sizes = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return sizes | {"parameters": self.parameters, "active_parameters": self.active_parameters}
