"""Which K: the cheapest in time, the fastest within the budget, and those no other K beats in both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from scalecurve.planning.cost_row import CostRow

SAME = 0.0005  # less than half a tenth of a percent is shown as no change


@dataclass(frozen=True, kw_only=True)
class Step:
    """From one K to the next larger one: the gain in speed and in cost per result, as shares (0.036 is 3.6 %)."""

    from_k: int
    to_k: int
    faster: float
    dearer: float
    sentence: str

    def to_dict(self) -> dict[str, Any]:
        return vars(self)


def front(rows: Sequence[CostRow]) -> tuple[CostRow, ...]:
    """The rows with `on_front` set where no other row is as good in time and cost and better in one."""
    marked: set[int] = set()
    best = float("inf")
    groups: dict[float, list[CostRow]] = {}
    for row in rows:
        groups.setdefault(row.elapsed.value, []).append(row)
    for elapsed in sorted(groups):
        cheapest = min(row.cost.value for row in groups[elapsed])
        if cheapest < best:
            marked |= {row.k for row in groups[elapsed] if row.cost.value == cheapest}
            best = cheapest
    return tuple(replace(row, on_front=row.k in marked) for row in rows)


def with_saved_hours(rows: Sequence[CostRow]) -> tuple[CostRow, ...]:
    """What each hour saved against the next smaller K costs; None where none is saved."""
    marked = [rows[0]]
    for left, right in pairwise(rows):
        hours = left.hours - right.hours
        price = (right.cost.value - left.cost.value) / hours if hours > 0 else None
        marked.append(replace(right, saved_hour_cost=price))
    return tuple(marked)


def cheapest_in_time(rows: Sequence[CostRow], chance: float | None) -> CostRow | None:
    """The least cost among the rows that meet the deadline (with probability `chance`, where that is asked for)."""
    fitting = [row for row in rows if row.meets_deadline and (chance is None or sure_enough(row, chance))]
    return min(fitting, key=lambda row: (row.cost.value, row.k), default=None)


def sure_enough(row: CostRow, chance: float) -> bool:
    """A law or a single run has no probability: it is taken at its word."""
    return row.chance is None or row.chance >= chance


def fastest_in_budget(rows: Sequence[CostRow]) -> CostRow | None:
    fitting = [row for row in rows if row.within_budget]
    return min(fitting, key=lambda row: (row.elapsed.value, row.k), default=None)


def best_for_value(rows: Sequence[CostRow], value_per_hour: float) -> CostRow:
    """The least of cost plus value of the time waited: beyond it another worker costs more than it saves."""
    return min(rows, key=lambda row: (row.cost.value + value_per_hour * row.hours, row.k))


def steps(rows: Sequence[CostRow], k_unit: str) -> tuple[Step, ...]:
    """What a manager asks: how much faster, how much dearer per result."""
    return tuple(step(left, right, k_unit) for left, right in pairwise(rows))


def step(left: CostRow, right: CostRow, k_unit: str) -> Step:
    faster = (
        left.elapsed.value / right.elapsed.value
        if left.lanes == right.lanes == 1
        else left.seconds.value / right.seconds.value
    ) - 1.0
    dearer = right.job_cost.value / left.job_cost.value - 1.0 if left.job_cost.value > 0 else 0.0
    text = f"from {left.k} to {right.k} {unit_words(k_unit)}: {_speed(faster)}, {_price(dearer)} per result"
    return Step(from_k=left.k, to_k=right.k, faster=faster, dearer=dearer, sentence=text)


def unit_words(k_unit: str) -> str:
    return {"gpus": "GPUs", "cpus": "CPUs", "tpus": "TPUs"}.get(k_unit, k_unit)


def _speed(share: float) -> str:
    if abs(share) < SAME:
        return "no faster"
    return f"{share_text(share)} faster" if share > 0 else f"{share_text(1.0 / (1.0 + share) - 1.0)} slower"


def _price(share: float) -> str:
    if abs(share) < SAME:
        return "at the same cost"
    return f"{share_text(abs(share))} {'dearer' if share > 0 else 'cheaper'}"


def share_text(share: float) -> str:
    """A share in percent: one decimal below 10 %, whole above."""
    percent = 100.0 * share
    return f"{percent:.1f} %" if percent < 9.95 else f"{percent:,.0f} %"
