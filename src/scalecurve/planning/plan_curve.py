"""The time of one result over the accelerators of a training plan, from the plan's JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scalecurve.errors import Fault, InputError
from scalecurve.estimate import Estimate
from scalecurve.planning.curve import CurvePoint, Kind, TimeCurve
from scalecurve.units import format_count

HINT = "give the output of scalecurve plan --json"


def curve_of_plan(plan: Mapping[str, Any], *, tokens_per_job: float | None) -> TimeCurve:
    """A result is `tokens_per_job` tokens, or the planned run where the plan has a token budget."""
    rows = plan.get("rows")
    if not isinstance(rows, Sequence) or not rows or not all(isinstance(row, Mapping) for row in rows):
        raise InputError(Fault("the plan has no rows", remedy=HINT))
    points = tuple(_point(row, tokens_per_job) for row in rows)
    words = "the planned run" if tokens_per_job is None else f"{format_count(tokens_per_job)} tokens"
    smallest = min(point.k for point in points)
    return TimeCurve(name="training plan", points=points, baseline_k=smallest, k_unit="gpus", result=words)


def _point(row: Mapping[str, Any], tokens: float | None) -> CurvePoint:
    """The step's interval carries over to the time: tokens per step do not vary."""
    seconds = _seconds(row, tokens)
    step, low, high = row.get("step_seconds"), row.get("step_low"), row.get("step_high")
    if step and low and high:
        estimate = Estimate(seconds, seconds * low / step, seconds * high / step, row.get("level"), "training plan")
    else:
        estimate = Estimate(seconds, method="training plan")
    return CurvePoint(k=int(row["gpus"]), seconds=estimate, kind=Kind.PLANNED)


def _seconds(row: Mapping[str, Any], tokens: float | None) -> float:
    """Failures, checkpoints and stragglers count: the rate is that of tokens that stay."""
    if not row.get("gpus") or not row.get("tokens_per_second"):
        raise InputError(Fault("a row of the plan lacks gpus or tokens_per_second", remedy=HINT))
    if tokens is None and row.get("run_seconds"):
        return float(row["run_seconds"])
    if tokens is None or not tokens > 0:
        hint = "say how many tokens one result is (--work-per-job 300B), or plan with a token budget"
        raise InputError(Fault("a plan's rate has no cost per result by itself", remedy=hint))
    goodput = (row.get("goodput") or {}).get("factor", 1.0)
    return tokens / (float(row["tokens_per_second"]) * float(goodput))
