"""A software stack: what it does, and the achieved shares that were fitted for it, at most six per accelerator."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

CONSTANTS = (
    "matmul",
    "ramp",
    "tail",
    "memory",
    "inner",
    "outer",
    "attention",
    "contention",
    "imbalance",
    "launch",
    "expert_launch",
    "low_precision",
    "grouped",
)


@dataclass(frozen=True, kw_only=True)
class Constants:
    """Achieved shares of published figures.

    `matmul`, `attention`: of peak FLOP/s; `memory`: of HBM bandwidth; `inner`, `outer`: of link bandwidth;
    `ramp`: depth lost in a product; `tail`: waves lost; `contention`: share of hidden traffic that is paid;
    `imbalance`: busiest expert group over the mean; `launch`, `expert_launch`: host seconds per dense and MoE layer and
    forward pass; `low_precision`, `grouped`: what of `matmul` is left at fp8 and in the experts' grouped products.
    """

    matmul: float
    ramp: float
    tail: float
    memory: float
    inner: float
    outer: float
    attention: float
    contention: float
    imbalance: float
    launch: float
    expert_launch: float
    low_precision: float
    grouped: float

    def with_values(self, **values: float) -> Constants:
        return replace(self, **values)

    def to_dict(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in CONSTANTS}


@dataclass(frozen=True, kw_only=True)
class Stack:
    """Structure of a stack; `constants` names what is fitted for it."""

    name: str
    fused_attention: bool
    data_overlap: bool
    gradient_bytes: float
    norm_traffic: float
    gate_traffic: float
    logit_bytes: float
    launch: float
    zero: int
    tensor_overlap: float = 0.0
    expert_overlap: float = 0.0
    pipeline_overlap: float = 0.0
    scatter_gather: bool = False
    dropout: bool = False
    single_port: bool = False
    selective_again: float = 0.0
    selective_kept: float = 1.0
    aliases: tuple[str, ...] = ()
    constants: tuple[str, ...] = field(default=())
    source: str = "given"

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "constants": list(self.constants), "source": self.source}
