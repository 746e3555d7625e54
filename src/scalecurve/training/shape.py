"""A transformer as the physics sees it: sizes only, each a broadcastable array."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from scalecurve.training.arrays import Array, as_array


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
        plain = self.hidden * self.head * (self.heads + self.kv_heads) + self.hidden * self.value_head * (
            self.heads + self.kv_heads
        )
        query = self.hidden * self.q_rank + self.q_rank * self.heads * self.head
        latent = self.hidden * (self.kv_rank + self.rope) + self.kv_rank * self.heads * (
            self.head - self.rope + self.value_head
        )
        return np.where(self.kv_rank > 0, query + latent + self.heads * self.value_head * self.hidden, plain)

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
    """One Shape whose entries are columns, a row per given shape."""
    names = [entry.name for entry in fields(Shape)]
    return Shape(**{name: as_array([float(getattr(shape, name)) for shape in shapes]) for name in names})
