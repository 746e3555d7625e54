"""Places on the axis of P: the caps, where splitting the model becomes forced, where traffic shows, where it pays."""

from __future__ import annotations

from collections.abc import Sequence

from scalecurve.training.critical_batch import CriticalBatch
from scalecurve.training.plan import Mark, PlanRow
from scalecurve.training.search import Found, Task
from scalecurve.training.tokens import Rounded
from scalecurve.units import format_count

PAYS = 1.7  # a doubling that gives less than this is not worth its price
SHOWS = 0.02  # gradient traffic counts as exposed from this share of the step


def find_marks(
    task: Task,
    rows: Sequence[PlanRow],
    found: Sequence[Found],
    batch: Rounded,
    critical: CriticalBatch | None,
    effective: int | None,
    regime: str,
) -> tuple[Mark, ...]:
    """All marks of a sweep, in the order of reading."""
    copies = min(row.outcome.layout.tp * row.outcome.layout.pp * row.outcome.layout.cp for row in rows)
    marks = [
        Mark(name="node boundary", gpus=task.cluster.node, meaning=f"{task.cluster.node} accelerators share a node")
    ]
    if critical:
        replicas = critical.tokens.value / task.seq
        size = f"{format_count(critical.tokens.value)} tokens{critical.equivalent}"
        meaning = f"B_crit = {size}: dp <= {replicas:,.0f} at one sequence each"
        marks.append(Mark(name="statistical cap", gpus=replicas * copies, meaning=meaning))
    if regime == "strong":
        meaning = f"the batch holds {batch.sequences:,} sequences: dp cannot exceed them"
        marks.append(Mark(name="granularity cap", gpus=float(batch.sequences * copies), meaning=meaning))
    marks += [_forced(found), _traffic(rows)]
    marks.append(Mark(name="cost-effective scale", gpus=effective, meaning=_paying(rows)))
    return tuple(marks)


def _forced(found: Sequence[Found]) -> Mark:
    """The first P where no purely data-parallel layout is left."""
    name = "tp or pp forced"
    for one in found:
        if one.layouts and not one.data_parallel_fits:
            return Mark(name=name, gpus=one.gpus, meaning=_cause(one))
    return Mark(name=name, gpus=None, meaning="data parallelism alone is possible throughout")


def _cause(one: Found) -> str:
    """Why no replica-only layout is left: it would not fit, there are too few sequences, or they do not divide."""
    if one.data_parallel_valid:
        return "by memory: data parallelism alone does not fit"
    if one.gpus > one.sequences:
        return f"by the cap: more accelerators than the {one.sequences:,} sequences of the batch"
    return f"by the batch: {one.sequences:,} sequences do not divide over {one.gpus:,} replicas"


def _traffic(rows: Sequence[PlanRow]) -> Mark:
    for row in rows:
        if row.outcome.breakdown["data"] > SHOWS * row.outcome.seconds and row.outcome.layout.dp > 1:
            meaning = (
                f"gradient traffic is {100 * row.outcome.breakdown['data'] / row.outcome.seconds:.0f} % of the step"
            )
            return Mark(name="all-reduce no longer hidden", gpus=row.gpus, meaning=meaning)
    return Mark(name="all-reduce no longer hidden", gpus=None, meaning="hidden throughout")


def cost_effective(rows: Sequence[PlanRow]) -> int:
    """The last P before a doubling gives less than PAYS times the effective tokens, or the last of the sweep."""
    last = rows[0].gpus
    for row in rows[1:]:
        if row.doubling is not None and row.doubling < PAYS:
            return last
        last = row.gpus
    return last


def never_stops_paying(rows: Sequence[PlanRow]) -> bool:
    """No doubling of the sweep gives less than PAYS, so it ended before the cost-effective scale showed."""
    return all(row.doubling is None or row.doubling >= PAYS for row in rows)


def _paying(rows: Sequence[PlanRow]) -> str:
    if not never_stops_paying(rows):
        return f"the last P before a doubling gives less than {PAYS:g}x the effective tokens"
    if all(row.doubling is None for row in rows):
        return "at least: no two P of the sweep are a doubling apart, so it does not show where doublings stop paying"
    return f"at least: every doubling in the sweep still gives {PAYS:g}x the effective tokens or more"
