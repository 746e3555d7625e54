"""One kernel for a roofline: its FLOP, its bytes and its time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """FLOP, bytes moved at each memory level, and the measured seconds (None if not timed)."""

    name: str
    flops: float
    moved: Mapping[str, float]
    seconds: float | None = None
    calls: int = 1
