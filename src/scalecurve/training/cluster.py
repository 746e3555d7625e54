"""Accelerators and the network between them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from scalecurve.errors import Fault, InputError
from scalecurve.hardware.accelerators import Accelerator


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """`node` accelerators share the fast link; each has `outer_rate` bytes/s into the network.

    `usd_per_gpu_hour` is None where no price is known.
    """

    name: str
    accelerator: Accelerator
    node: int
    inner_rate: float
    outer_rate: float
    usd_per_gpu_hour: float | None = None
    price_source: str | None = None
    source: str = "given"

    def __post_init__(self) -> None:
        sizes = {"node": self.node, "inner_rate": self.inner_rate, "outer_rate": self.outer_rate}
        faults = [Fault("must be above 0", name, str(value)) for name, value in sizes.items() if not value > 0]
        if self.usd_per_gpu_hour is not None and self.usd_per_gpu_hour < 0:
            faults.append(Fault("a price cannot be negative", "usd_per_gpu_hour", str(self.usd_per_gpu_hour)))
        if faults:
            raise InputError(faults, subject=f"cluster {self.name}")

    def with_price(self, usd_per_gpu_hour: float, source: str = "given") -> Cluster:
        return replace(self, usd_per_gpu_hour=usd_per_gpu_hour, price_source=source)

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "accelerator": self.accelerator.name,
            "node": self.node,
            "inner_gb_s": self.inner_rate / 1e9,
            "outer_gb_s": self.outer_rate / 1e9,
            "memory_bytes": self.accelerator.capacity,
            "usd_per_gpu_hour": self.usd_per_gpu_hour,
            "price_source": self.price_source,
            "source": self.source,
        }
