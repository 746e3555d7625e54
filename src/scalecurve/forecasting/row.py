"""One line of a forecast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scalecurve.findings import Finding
from scalecurve.study import Quantity


@dataclass(frozen=True, kw_only=True)
class ForecastRow:
    """The value expected at K with its interval; all None where the forecast is refused.

    `extrapolation` is K over the largest measured K; up to 1 the row is interpolated between measurements.
    """

    k: int
    quantity: Quantity
    value: float | None
    low: float | None
    high: float | None
    speedup: float | None
    efficiency: float | None
    extrapolation: float
    refused: bool = False
    findings: tuple[Finding, ...] = ()

    @property
    def seconds(self) -> float | None:
        return self.value if self.quantity is Quantity.SECONDS else None

    @property
    def throughput(self) -> float | None:
        """Of all workers together."""
        if self.quantity is Quantity.THROUGHPUT_PER_WORKER:
            return None if self.value is None else self.value * self.k
        return self.value if self.quantity is Quantity.THROUGHPUT else None

    def to_dict(self) -> dict[str, Any]:
        return {
            "k": self.k,
            str(self.quantity): self.value,
            "low": self.low,
            "high": self.high,
            "speedup": self.speedup,
            "efficiency": self.efficiency,
            "extrapolation": self.extrapolation,
            "refused": self.refused,
        }


def refused_row(k: int, quantity: Quantity, extrapolation: float, findings: tuple[Finding, ...]) -> ForecastRow:
    """A row without numbers: absent, never a guess."""
    return ForecastRow(
        k=k,
        quantity=quantity,
        value=None,
        low=None,
        high=None,
        speedup=None,
        efficiency=None,
        extrapolation=extrapolation,
        refused=True,
        findings=findings,
    )
