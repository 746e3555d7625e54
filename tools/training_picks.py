"""The layout that the planner picks beside the best published one of the same model, machine, P and batch: under the
same stack, and where nobody names the stack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from training_tables import Row

from scalecurve.training.answers.evaluation import evaluate_jobs
from scalecurve.training.inputs.layout import Layout
from scalecurve.training.inputs.stack import StackCalibration, calibration_of
from scalecurve.training.search.search import SearchTask, search

WITHIN = 1.05


@dataclass(frozen=True)
class Pick:
    """The best published row of a job, the layout the planner picks for it, and the ratio of their predicted steps."""

    row: Row
    picked: str
    ratio: float


def best_published(rows: Sequence[Row]) -> list[Row]:
    """The fastest row of each source, model, machine, stack and precision at the largest P that was measured."""
    best: dict[tuple[object, ...], Row] = {}
    for row in rows:
        if row.adapter or row.excluded is not None or row.table == "vtrain-single":
            continue
        key = (row.source, row.model.name, row.cluster.name, row.stack.name, row.precision, row.seq)
        other = best.get(key)
        rank = (-row.layout.gpus, -row.layout.sequences, row.seconds)
        if other is None or rank < (-other.layout.gpus, -other.layout.sequences, other.seconds):
            best[key] = row
    return list(best.values())


def picked_layout(row: Row, calibration: StackCalibration) -> Layout | None:
    """The layout that the planner picks for the row's job under its stack, if some layout fits."""
    task = SearchTask(
        model=row.model, cluster=row.cluster, stack=row.stack, calibration=calibration, seq=row.seq,
        precision=row.precision,
    )  # fmt: skip
    [best] = search(task, [(row.layout.gpus, row.layout.sequences)])
    return best.layouts[0] if best.layouts else None


def picks(rows: Sequence[Row]) -> list[Pick]:
    """A pick for each best published row that some layout of the search fits for."""
    chosen = []
    for row in best_published(rows):
        calibration = calibration_of(row.cluster.accelerator, row.stack)
        layout = picked_layout(row, calibration)
        if layout is not None:
            published, picked = evaluate_jobs([row.job, replace(row.job, layout=layout)], calibration)
            chosen.append(Pick(row, layout.short(), picked.seconds / published.seconds))
    return chosen


def share_within(chosen: Sequence[Pick]) -> float:
    """The share of picks that are within 5 % of the best published layout's step, or faster."""
    return sum(pick.ratio <= WITHIN for pick in chosen) / len(chosen)
