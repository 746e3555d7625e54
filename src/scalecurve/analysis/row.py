"""One line of a speedup table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scalecurve.estimate import Estimate


@dataclass(frozen=True, kw_only=True)
class TableRow:
    """T, S and E at one K.  `sure` is False where the interval of E contains the threshold, None without interval."""

    k: int
    n: int
    mean: Estimate
    std: float | None
    speedup: Estimate
    relative_speedup: float
    efficiency: Estimate
    verdict: str
    sure: bool | None
    karp_flatt: float | None = None
    oversubscribed: bool = False

    def to_dict(self) -> dict[str, Any]:
        return {
            "k": self.k,
            "n": self.n,
            **_flat("mean", self.mean),
            "std": self.std,
            **_flat("speedup", self.speedup),
            "relative_speedup": self.relative_speedup,
            **_flat("efficiency", self.efficiency),
            "verdict": self.verdict,
            "sure": self.sure,
            "karp_flatt": self.karp_flatt,
            "oversubscribed": self.oversubscribed,
        }


def _flat(name: str, estimate: Estimate) -> dict[str, Any]:
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
