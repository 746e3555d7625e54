"""One K, priced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scalecurve.estimate import Estimate
from scalecurve.planning.curve import Kind


@dataclass(frozen=True, kw_only=True)
class CostRow:
    """Time and cost of one job and of all of them on K workers each.

    `seconds` is the bare time of one result; `elapsed` and `cost` are the campaign's, with set-up, interruptions and
    billing rules.  `relative_cost` is cost(K)/cost(K0) per result; `saved_hour_cost` what each hour saved against the
    next smaller K costs, None where no hour is saved.  `chance` is the probability of meeting the deadline.
    """

    k: int
    kind: Kind
    lanes: int
    seconds: Estimate
    job_cost: Estimate
    relative_cost: float
    results_per_money: float | None
    elapsed: Estimate
    cost: Estimate
    energy_kwh: float | None
    co2_grams: float | None
    meets_deadline: bool | None = None
    chance: float | None = None
    within_budget: bool | None = None
    saved_hour_cost: float | None = None
    on_front: bool = False

    @property
    def hours(self) -> float:
        return self.elapsed.value / 3600.0

    def to_dict(self) -> dict[str, Any]:
        return {
            "k": self.k,
            "kind": str(self.kind),
            "lanes": self.lanes,
            **_flat("seconds", self.seconds),
            **_flat("job_cost", self.job_cost),
            "relative_cost": self.relative_cost,
            "results_per_money": self.results_per_money,
            **_flat("elapsed_seconds", self.elapsed),
            **_flat("cost", self.cost),
            "energy_kwh": self.energy_kwh,
            "co2_grams": self.co2_grams,
            "meets_deadline": self.meets_deadline,
            "deadline_probability": self.chance,
            "within_budget": self.within_budget,
            "saved_hour_cost": self.saved_hour_cost,
            "pareto": self.on_front,
        }


def _flat(name: str, estimate: Estimate) -> dict[str, Any]:
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
