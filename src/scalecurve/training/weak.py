"""Weak scaling: how a model, its tokens and its batch grow together with P."""

from __future__ import annotations

from dataclasses import dataclass

from scalecurve.training.transformer import Transformer

CRITICAL_POWER = 0.47  # critical batch ~ tokens^0.47 (Zhang et al. 2024)


@dataclass(frozen=True)
class Growth:
    """Factors over the first P, for `scale` times the compute rate; `critical` is what the critical batch grows by."""

    parameters: float
    tokens: float
    batch: float
    critical: float


def grown(model: Transformer, scale: float) -> tuple[Transformer, Growth]:
    """Compute goes as N D with D ~ N, so N and D each grow by sqrt(scale) at constant time to train.  The batch keeps
    the work per accelerator and step (N B / P); the critical batch grows by D^0.47.  Width and depth grow by the cube
    root of N, in numbers of heads and layers that divide well."""
    size = scale**0.5
    factor = size ** (1.0 / 3.0)
    head = model.head_size
    heads = _multiple(model.heads * factor, 16 if model.heads >= 32 else 4 if model.heads >= 8 else 1)
    layers = _multiple(model.layers * factor, 16 if model.layers >= 32 else 4 if model.layers >= 8 else 1)
    wide = heads / model.heads
    changes = {
        "heads": heads, "hidden": heads * head if model.head is None else _multiple(model.hidden * wide, 64),
        "layers": layers, "ffn": None if model.ffn is None else _multiple(model.ffn * wide, 128),
        "kv_heads": model.kv_heads, "name": f"{model.name} x{size:.2g}" if scale != 1 else model.name,
    }  # fmt: skip
    bigger = model.with_sizes(**changes) if scale != 1 else model
    grew = bigger.parameters / model.parameters
    return bigger, Growth(grew, grew, scale / grew, grew**CRITICAL_POWER)


def _multiple(value: float, unit: int) -> int:
    return max(round(value / unit), 1) * unit
