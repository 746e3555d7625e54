"""Which K to measure next, and how often: the runs that narrow a forecast most within a budget.

For every affordable set of up to two new K the study is continued with what its own forecast expects there (the middle
and both sides of the interval), forecast again, and the expected half-width at the target compared with today's.
A run costs K times its expected time.  To part two laws instead, the cheapest K where they differ by two
standard errors is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from scalecurve.document import Document, FindingList, Paragraph, Shown, table
from scalecurve.errors import Fault, InputError, Refused
from scalecurve.findings import Finding, info
from scalecurve.forecasting.calibration import Calibration, shipped
from scalecurve.forecasting.curves import Array, LogCurve
from scalecurve.forecasting.prediction import predict
from scalecurve.forecasting.view import View, view
from scalecurve.study import Quantity, Study
from scalecurve.units import format_seconds

MOST_REPEATS = 3
OUTCOMES = (-0.8, 0.0, 0.8)  # of the expected scale: the study may turn out worse, as expected or better
NEARLY = 0.95  # a cheaper plan with this share of the best gain is preferred
LEAST_GAIN = 0.01  # of the half-width: less is not worth a run
LEVEL = 0.9
TYPICAL = 0.5  # level of the interval whose half-width is the typical error of a run
INDISTINCT = 0.05  # standard errors


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """Runs to make at one K; `seconds` is the expected time of one run, `cost` worker-seconds of all of them."""

    k: int
    repeats: int
    seconds: float
    cost: float

    def to_dict(self) -> dict[str, Any]:
        return {"k": self.k, "repeats": self.repeats, "seconds": self.seconds, "cost": self.cost}


@dataclass(frozen=True, kw_only=True)
class NextRuns(Shown):
    """The suggested runs; `before` and `after` are high/low at the target (or standard errors between two laws)."""

    name: str
    aim: str
    budget: float | None
    suggestions: tuple[Suggestion, ...]
    before: float
    after: float
    findings: tuple[Finding, ...]

    @property
    def cost(self) -> float:
        return sum(one.cost for one in self.suggestions)

    def records(self) -> list[dict[str, Any]]:
        return [one.to_dict() for one in self.suggestions]

    def to_dict(self) -> dict[str, Any]:
        return {
            "aim": self.aim,
            "budget": self.budget,
            "rows": self.records(),
            "cost": self.cost,
            "before": self.before,
            "after": self.after,
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def document(self) -> Document:
        rows = [
            [str(one.k), str(one.repeats), format_seconds(one.seconds), f"{one.cost / 3600:.3g}"]
            for one in self.suggestions
        ]
        runs = table(["K", "repeats", "time of a run", "worker-hours"], rows, caption="Measure next")
        change = f"{self.aim}: {self.before:.3g} now, {self.after:.3g} expected after these runs."
        return Document(f"Next runs for {self.name}", (runs, Paragraph(change), FindingList(self.findings)))


@dataclass(frozen=True)
class Candidate:
    """A K that could be measured, with what the forecast expects there."""

    k: float
    log: float
    scale: float
    seconds: float


def next_runs(
    study: Study,
    *,
    budget: float | None = None,
    target: int | None = None,
    separate: tuple[str, str] | None = None,
    run_seconds: float | None = None,
    largest: int | None = None,
    calibration: Calibration | None = None,
) -> NextRuns:
    """The runs to make next within `budget` worker-seconds.

    `target` is the K whose forecast shall narrow (default: 4 times the largest measured), `largest` the most workers
    there are, `run_seconds` the length of a run where throughput is measured.  `separate` names two laws to part.
    """
    _check(budget, target, run_seconds, largest)
    seen, learned = view(study), calibration or shipped()
    goal = float(target or 4 * seen.largest_k)
    candidates = _candidates(seen, min(goal, float(largest or goal)), run_seconds, learned)
    if separate is not None:
        return _separate(study, candidates, separate, budget)
    return _narrow(seen, candidates, goal, budget, learned)


def _check(budget: float | None, target: int | None, run_seconds: float | None, largest: int | None) -> None:
    given = {"budget": budget, "target": target, "run_seconds": run_seconds, "largest": largest}
    faults = [
        Fault("must be a positive number", where=name, seen=str(value))
        for name, value in given.items()
        if value is not None and not value > 0
    ]
    if faults:
        raise InputError(faults, subject="next")


def _candidates(seen: View, last: float, run_seconds: float | None, learned: Calibration) -> list[Candidate]:
    """Half-doublings beyond the measured range up to `last`, and the measured K themselves (more repeats)."""
    steps = np.arange(1, 2 * max(np.log2(max(last / seen.largest_k, 1.0)), 0.5) + 0.01)
    beyond = np.unique(np.round(seen.largest_k * 2 ** (steps / 2)))
    beyond = np.unique(np.r_[beyond[beyond <= last], last])
    beyond = beyond[beyond > seen.largest_k]
    made = [Candidate(k, log, 0.0, _seconds(seen, k, log, run_seconds)) for k, log in _measured(seen)]
    if len(beyond):
        ahead = predict([seen.fitted], [seen.kind], [beyond], learned)[0]
        expected = zip(beyond.tolist(), ahead.ahead.tolist(), ahead.half_width(TYPICAL).tolist(), strict=True)
        made += [Candidate(k, log, scale, _seconds(seen, k, log, run_seconds)) for k, log, scale in expected]
    return made


def _measured(seen: View) -> Iterator[tuple[float, float]]:
    return iter(zip(seen.fitted.k.tolist(), seen.fitted.log_performance.tolist(), strict=True))


def _seconds(seen: View, k: float, log: float, run_seconds: float | None) -> float:
    if run_seconds is not None:
        return run_seconds
    return float(seen.value(k, log)) if seen.study.quantity is Quantity.SECONDS else 60.0


def _narrow(
    seen: View, candidates: list[Candidate], goal: float, budget: float | None, learned: Calibration
) -> NextRuns:
    plans = [plan for plan in _plans(candidates) if budget is None or _cost(plan, 1) <= budget]
    if not plans:
        cheapest = min(candidate.k * candidate.seconds for candidate in candidates)
        hint = f"the cheapest run costs {cheapest / 3600:.3g} worker-hours"
        raise Refused(f"no run fits into {(budget or 0) / 3600:.3g} worker-hours: {hint}")
    now = float(_half_widths(seen, [()], goal, learned)[0])
    after = _half_widths(seen, plans, goal, learned)
    costs = np.array([_cost(plan, 1) for plan in plans])
    gains = np.maximum(now - after, 0.0)
    if gains.max() < LEAST_GAIN * now:
        hint = "allow larger K" if budget is None else "allow larger K or a larger budget"
        raise Refused(f"no allowed run narrows the forecast at K = {goal:g} by {LEAST_GAIN:.0%} or more; {hint}")
    good = gains >= NEARLY * gains.max()
    chosen = int(np.flatnonzero(good)[np.argmin(costs[good])])
    return NextRuns(
        name=seen.name,
        aim=f"high/low at K = {goal:g} ({LEVEL:.0%})",
        budget=budget,
        suggestions=_suggest(plans[chosen], budget),
        before=float(np.exp(2 * now)),
        after=float(np.exp(2 * min(now, float(after[chosen])))),
        findings=tuple(_findings(seen)),
    )


def _plans(candidates: Sequence[Candidate]) -> list[tuple[Candidate, ...]]:
    """Single K and pairs of new K; a measured K is only repeated alone."""
    new = [candidate for candidate in candidates if candidate.scale > 0]
    return [(one,) for one in candidates] + list(combinations(new, 2))


def _cost(plan: Sequence[Candidate], repeats: int) -> float:
    return repeats * sum(one.k * one.seconds for one in plan)


def _suggest(plan: Sequence[Candidate], budget: float | None) -> tuple[Suggestion, ...]:
    affordable = MOST_REPEATS if budget is None else int(budget // max(_cost(plan, 1), 1e-300))
    repeats = max(1, min(MOST_REPEATS, affordable))
    return tuple(
        Suggestion(k=int(one.k), repeats=repeats, seconds=one.seconds, cost=repeats * one.k * one.seconds)
        for one in sorted(plan, key=lambda one: one.k)
    )


def _half_widths(seen: View, plans: Sequence[Sequence[Candidate]], goal: float, learned: Calibration) -> Array:
    """Half the width of the interval at the goal after each plan, averaged over how its runs might turn out."""
    continued = [_continue(seen.fitted, plan, outcome) for plan in plans for outcome in OUTCOMES]
    at = [np.array([max(goal, own.k[-1] * 1.0001)]) for own in continued]
    made = predict(continued, [seen.kind] * len(continued), at, learned)
    scales = np.array([one.half_width(LEVEL)[0] for one in made]).reshape(len(plans), len(OUTCOMES))
    return np.asarray(scales.mean(axis=1))


def _continue(points: LogCurve, plan: Sequence[Candidate], outcome: float) -> LogCurve:
    """The curve with the plan's runs added; repeating a measured K leaves the curve and halves its error."""
    error = points.error if points.error is not None else np.full(len(points.k), np.nan)
    grown = replace(points, error=error)
    for one in sorted(plan, key=lambda own: own.k):
        if one.scale == 0:
            grown = replace(grown, error=np.where(grown.k == one.k, error / np.sqrt(2), error))
        else:
            y = one.log + outcome * one.scale
            grown = _with_point(grown, one.k, y)
    return grown


def _with_point(points: LogCurve, k: float, log: float) -> LogCurve:
    error = np.r_[points.error if points.error is not None else np.full(len(points.k), np.nan), np.nan]
    return LogCurve(np.r_[points.k, k], np.r_[points.log_performance, log], error, points.traits)


def _separate(study: Study, candidates: list[Candidate], pair: tuple[str, str], budget: float | None) -> NextRuns:
    from scalecurve.fitting.solution import SEPARATED, separation, solve_laws

    affordable = [one for one in candidates if budget is None or one.k * one.seconds <= budget]
    if not affordable:
        raise Refused("no run that could part the laws fits into the budget")
    solved = solve_laws(study, pair)
    solutions, draws = [solved.by_law[name] for name in pair], [solved.draws[name] for name in pair]
    apart = separation(solutions, draws, np.array([one.k for one in affordable]))
    if apart.max() < INDISTINCT:
        raise Refused(f"{pair[0]} and {pair[1]} fit this study as the same curve: no affordable K parts them")
    costs = np.array([one.k * one.seconds for one in affordable])
    enough = apart >= min(SEPARATED, apart.max())
    chosen = int(np.flatnonzero(enough)[np.argmin(costs[enough])])
    last = float(separation(solutions, draws, np.array([float(study.all_k[-1])]))[0])
    return NextRuns(
        name=study.name,
        aim=f"standard errors between {pair[0]} and {pair[1]}",
        budget=budget,
        suggestions=_suggest((affordable[chosen],), budget),
        before=last,
        after=float(apart[chosen]),
        findings=tuple(_findings(view(study))),
    )


def _findings(seen: View) -> Iterator[Finding]:
    if seen.study.quantity is not Quantity.SECONDS:
        message = "the study measures throughput, so the length of a run is assumed (60 s unless stated)"
        yield info("run-length-assumed", message, remedy="state it: --run-seconds")
