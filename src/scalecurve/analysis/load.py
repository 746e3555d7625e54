"""What a table of load says: how much of it a system takes.  K are clients, connections or users, not workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalecurve.document import MEASURE_NEXT, Answer
from scalecurve.study import Quantity
from scalecurve.units import format_rate
from scalecurve.words import percent, workers_text

if TYPE_CHECKING:
    from scalecurve.analysis.table import SpeedupTable

SATURATED = 0.95
"""Of the highest throughput: the least load that reaches it saturates the system."""
SAME = 0.005
"""A change of throughput that whole percents do not show."""


def saturation_of(rates: Mapping[int, float]) -> int:
    """The least load with 95 % of the highest throughput."""
    return min(k for k, rate in rates.items() if rate >= SATURATED * max(rates.values()))


def change_words(change: float) -> str:
    """A change of throughput: `12 % more`, `no more`, `9 % less`."""
    if abs(change) < SAME:
        return "no more"
    return f"{percent(abs(change))} {'more' if change > 0 else 'less'}"


def answer_of_load(table: SpeedupTable) -> Answer:
    """How much load to offer: the saturation point with the throughput there, and what more load brings."""
    gains = {row.k: row.relative_speedup for row in table.rows}
    k, first, last = saturation_of(gains), table.baseline_k, max(gains)
    use, there, rate = workers_text(k, table.k_unit), table.row(k), "the throughput is "
    if table.quantity is not Quantity.SECONDS:
        of_all = format_rate(there.mean.value * (k if table.quantity is Quantity.THROUGHPUT_PER_WORKER else 1))
        rate = f"{of_all} {table.unit}, " if table.unit else f"a throughput of {of_all}, "
    gain = f"{rate}{gains[k]:.3g}x that of {first:,}"
    if k == last:
        decision = f"Offer {use} or more: {gain}; no load that was tried saturates the system."
        further = f"measure K = {2 * last:,} and {4 * last:,} too: {MEASURE_NEXT}"
    else:
        more = f"{last:,} bring {change_words(gains[last] / gains[k] - 1)}"
        decision = f"Offer at most {use}: {gain if k != first else rate + 'the highest'}; {more}."
        further = "`scalecurve diagnose STUDY` says what holds the system back"
    own, sure = there.speedup.scaled(1 / first), None
    if k != first and own.low is not None and own.high is not None:
        sure = f"The gain over {first:,} lies between {own.low:.3g}x and {own.high:.3g}x."
    return Answer(decision=decision, confidence=sure, next=further)
