"""Which K to measure next, and how often: the runs that narrow a forecast most within a budget.

For every affordable set of up to two new K the study is continued with what its own forecast expects there (the middle
and both sides of the interval), forecast again, and the expected half-width at the target compared with today's.
A run costs K times its expected time.  To separate two laws instead, the cheapest K where they differ by two standard
errors is chosen.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from scalecurve.analysis.checks import doubts
from scalecurve.analysis.curve import thinned
from scalecurve.document import MEASURE_NEXT, Answer, Document, FindingList, JsonRecord, Result, and_list, table
from scalecurve.errors import Fault, InputError, Refused
from scalecurve.findings import Finding, carried, info, warning
from scalecurve.forecasting.curves import Array, LogCurve, View, view
from scalecurve.forecasting.prediction import predict
from scalecurve.forecasting.published import Calibration, shipped
from scalecurve.formats.loading import StudyLike, as_study
from scalecurve.study import Quantity, Study
from scalecurve.study.study import is_load
from scalecurve.units import format_seconds, parse_seconds, positive_faults
from scalecurve.words import percent

MOST_REPEATS = 3
OUTCOMES = (-0.8, 0.0, 0.8)  # of the expected scale: the study may turn out worse, as expected or better
NEARLY = 0.95  # a cheaper plan with this share of the best gain is preferred
LEAST_GAIN = 0.01  # of the half-width: less is not worth a run
LEVEL = 0.9
TYPICAL = 0.5  # level of the interval whose half-width is the typical error of a run
INDISTINCT = 0.05  # standard errors
WORTH_RUNNING = 0.8  # of the error before: a run that leaves more changes no decision
ASSUMED_SECONDS = 60.0  # of a run, where throughput is measured and its length is not stated

_BUDGET = re.compile(r"\s*([\d._]+(?:e[-+]?\d+)?)\s*(?:([a-z]+?)s?[- ])?([a-zµ]+)\s*", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Suggestion(JsonRecord):
    """Runs to make at one K; `seconds` is the expected time of one run, `cost` worker-seconds of all of them."""

    k: int
    repeats: int
    seconds: float
    cost: float


@dataclass(frozen=True, kw_only=True, repr=False)
class NextRuns(Result):
    """The suggested runs; `before` and `after` are high/low at the target (or standard errors between two laws)."""

    name: str
    aim: str
    budget: float | None
    suggestions: tuple[Suggestion, ...]
    before: float
    after: float
    findings: tuple[Finding, ...]
    target: int | None = None
    is_load: bool = False

    REFUSAL = "Nothing to measure yet"
    JSON = "aim target budget rows=suggestions cost before after findings"

    @property
    def cost(self) -> float:
        """Worker-seconds of all suggested runs."""
        return sum(run.cost for run in self.suggestions)

    def records(self) -> list[dict[str, Any]]:
        return [run.to_dict() for run in self.suggestions]

    @property
    def answer(self) -> Answer:
        """The runs to make, with what they cost and what they bring."""
        runs = and_list([f"K = {run.k:,}" for run in self.suggestions])
        times = self.suggestions[0].repeats if self.suggestions else 0
        often = {1: "once", 2: "twice", 3: "three times"}.get(times, f"{times} times")
        if self.target is None:
            from scalecurve.fitting.solution import SEPARATED

            enough = "would" if self.after >= SEPARATED else "would probably still not"
            change = f"These runs {enough} decide between the two laws ({self.after:.2g} {self.aim} there)."
        else:
            change = (
                f"The forecast of T({self.target:,}) is up to {_off(self.before)} off now, about {_off(self.after)} "
                "after these runs."
            )
        hours = self.cost / 3600
        shown = f"{hours:,.0f}" if hours >= 10 else f"{hours:.2g}"
        price = "" if self.is_load else f": {shown} worker-hours"
        decision = f"Measure {runs} {often}{price}."
        if self.target is not None and self.after - 1 > WORTH_RUNNING * (self.before - 1):
            decision = f"No run narrows T({self.target:,}) much; the best is {runs}, {often}{price}."
        return Answer(decision=decision, reason=change, next=MEASURE_NEXT)

    def body(self) -> Document:
        rows = [
            [str(run.k), str(run.repeats), format_seconds(run.seconds), f"{run.cost / 3600:.3g}"]
            for run in self.suggestions
        ]
        if self.answer.decision.startswith(self.REFUSAL):
            return Document(f"Next runs for {self.name}", (FindingList(self.findings),))
        runs = table(["K", "repeats", "time of a run", "worker-hours"], rows, caption="Measure next")
        return Document(f"Next runs for {self.name}", (runs, FindingList(self.findings)))


def _off(ratio: float) -> str:
    """How far off a number may be: `2.3x` or `8 %`."""
    return f"{ratio:.2g}x" if ratio >= 2 else percent(ratio - 1)


@dataclass(frozen=True)
class PossibleRun:
    """A K that could be measured, with what the forecast expects there; `scale` is 0 where K is measured already."""

    k: float
    log: float
    scale: float
    seconds: float

    @property
    def cost(self) -> float:
        """Worker-seconds of one run."""
        return self.k * self.seconds


def next_runs(
    study: StudyLike,
    *,
    regime: str | None = None,
    budget: float | str | None = None,
    target: int | None = None,
    separate: tuple[str, str] | None = None,
    run_seconds: float | None = None,
    largest: int | None = None,
    calibration: Calibration | None = None,
) -> NextRuns:
    """The runs to make next: those that narrow a forecast most, or that tell two laws apart.

    Parameters
    ----------
    study
        A study in any form that `load` takes.
    regime
        "strong" or "weak", for a study that does not state it.
    budget
        Worker-seconds, or text such as "8 gpu-hours".
    target
        The K whose forecast to narrow (default: 4 times the largest measured).
    separate
        The names of two laws to tell apart instead.
    run_seconds
        The length of a run, where throughput is measured.
    largest
        The largest K that can be run.
    calibration
        What a forecast is weighed by (default: the one that is shipped).

    Returns
    -------
    NextRuns
        The K with repeats, seconds of a run and worker-seconds, and what is known before and after them.

    Raises
    ------
    InputError
        A setting is not above 0, or the study cannot be read.
    Refused
        No run fits the budget, or none helps.

    Examples
    --------
    >>> import scalecurve as sc
    >>> runs = sc.next_runs({1: 100.0, 2: 53.0, 4: 29.5, 8: 18.0}, regime="strong", largest=16)
    >>> [run.k for run in runs.suggestions]
    [16]
    """
    study = thinned(as_study(study, regime=regime))
    budget = parse_worker_seconds(budget) if isinstance(budget, str) else budget
    settings = {"budget": budget, "target": target, "run_seconds": run_seconds, "largest": largest}
    if faults := positive_faults(settings):
        raise InputError(faults, subject="next")
    data, calibration = view(study), calibration or shipped()
    goal = float(target or 4 * data.largest_k)

    def within(most: float) -> NextRuns:
        candidates = _candidates(data, min(goal, most), run_seconds, calibration)
        if separate is not None:
            return _separate(study, candidates, separate, budget)
        return _narrow(data, candidates, goal, budget, calibration)

    result = _within_reach(study, within) if largest is None else within(float(largest))
    result = replace(result, is_load=is_load(study.k_unit))
    if study.quantity is Quantity.SECONDS:
        return replace(result, findings=carried(study, own=(*doubts(study), *result.findings)))
    message = "the study measures throughput, so the length of a run is assumed (60 s unless stated)"
    assumed = info("run-length-assumed", message, remedy="state it: --run-seconds")
    return replace(result, findings=carried(study, own=(*doubts(study), *result.findings, assumed)))


def _within_reach(study: Study, within: Callable[[float], NextRuns]) -> NextRuns:
    """Runs that the machine of the study can make; where none helps, larger ones, with a finding that says so."""
    reach = study.provenance.reach
    if reach is None:
        return within(math.inf)
    try:
        result = within(float(max(reach, study.all_k[-1])))
        text = f"only K up to the {reach} workers that the machine of the study runs are considered"
        return replace(result, findings=(info("within-reach", text, remedy="say how many there are: --largest"),))
    except Refused:
        result = within(math.inf)
    text = f"no run on the {reach} workers of the study's machine narrows the answer; these need a larger one"
    return replace(result, findings=(warning("beyond-reach", text, remedy="find a machine of that size", reach=reach),))


def parse_worker_seconds(text: str) -> float:
    """`8 gpu-hours`, `30 core-min`, `2 node h` or `3600 worker-seconds` as worker-seconds."""
    match = _BUDGET.fullmatch(text)
    try:
        value = parse_seconds(f"{match[1]}{match[3].lower()}") if match else 0.0
    except InputError:
        value = 0.0
    if value <= 0:
        raise InputError(Fault("not a budget of machine time", value=text, remedy="write it like '8 gpu-hours'"))
    return value


def _candidates(data: View, last: float, run_seconds: float | None, calibration: Calibration) -> list[PossibleRun]:
    """Half-doublings beyond the measured range up to `last`, and the measured K themselves (more repeats)."""
    steps = np.arange(1, 2 * max(np.log2(max(last / data.largest_k, 1.0)), 0.5) + 0.01)
    beyond = np.unique(np.round(data.largest_k * 2 ** (steps / 2)))
    beyond = np.unique(np.r_[beyond[beyond <= last], last])
    beyond = beyond[beyond > data.largest_k]
    measured = data.fitted.k.tolist()
    expected = list(zip(measured, data.fitted.log_performance.tolist(), [0.0] * len(measured), strict=True))
    if len(beyond):
        ahead = predict([data.fitted], [data.kind], [beyond], calibration)[0]
        expected += zip(beyond.tolist(), ahead.ahead.tolist(), ahead.half_width(TYPICAL).tolist(), strict=True)
    candidates = []
    for k, log, scale in expected:
        timed = data.study.quantity is Quantity.SECONDS
        seconds = float(data.value(k, log)) if timed else ASSUMED_SECONDS
        candidates.append(PossibleRun(k, log, scale, seconds if run_seconds is None else run_seconds))
    return candidates


def _narrow(
    data: View, candidates: list[PossibleRun], goal: float, budget: float | None, calibration: Calibration
) -> NextRuns:
    """The cheapest plan with nearly the largest gain: one K, or two new K (a measured K is only repeated alone)."""
    new = [candidate for candidate in candidates if candidate.scale > 0]
    plans: list[tuple[PossibleRun, ...]] = [(one,) for one in candidates] + list(combinations(new, 2))
    plans = [plan for plan in plans if budget is None or _cost(plan) <= budget]
    if not plans:
        cheapest = min(candidate.cost for candidate in candidates)
        hint = f"the cheapest run costs {cheapest / 3600:.3g} worker-hours; raise the budget"
        raise Refused(f"no run fits into {(budget or 0) / 3600:.3g} worker-hours: {hint}")
    now = float(_half_widths(data, [()], goal, calibration)[0])
    after = _half_widths(data, plans, goal, calibration)
    costs = np.array([_cost(plan) for plan in plans])
    gains = np.maximum(now - after, 0.0)
    if gains.max() < LEAST_GAIN * now:
        hint = "allow larger K" if budget is None else "allow larger K or a larger budget"
        raise Refused(f"no allowed run narrows the forecast at K = {goal:g} by {LEAST_GAIN:.0%} or more; {hint}")
    good = gains >= NEARLY * gains.max()
    chosen = int(np.flatnonzero(good)[np.argmin(costs[good])])
    return NextRuns(
        name=data.name,
        aim=f"the interval at K = {goal:,.0f} ({LEVEL:.0%}), high over low",
        budget=budget,
        suggestions=_suggest(plans[chosen], budget),
        before=float(np.exp(2 * now)),
        after=float(np.exp(2 * min(now, float(after[chosen])))),
        findings=(),
        target=round(goal),
    )


def _cost(plan: Sequence[PossibleRun]) -> float:
    """Worker-seconds of one run at every K of a plan."""
    return sum(candidate.cost for candidate in plan)


def _suggest(plan: Sequence[PossibleRun], budget: float | None) -> tuple[Suggestion, ...]:
    affordable = MOST_REPEATS if budget is None else int(budget // max(_cost(plan), 1e-300))
    repeats = max(1, min(MOST_REPEATS, affordable))
    return tuple(
        Suggestion(k=int(one.k), repeats=repeats, seconds=one.seconds, cost=repeats * one.cost)
        for one in sorted(plan, key=lambda one: one.k)
    )


def _half_widths(data: View, plans: Sequence[Sequence[PossibleRun]], goal: float, calibration: Calibration) -> Array:
    """Half the width of the interval at the goal after each plan, averaged over how its runs might turn out."""
    continued = [_continued(data.fitted, plan, outcome) for plan in plans for outcome in OUTCOMES]
    at = [np.array([max(goal, curve.k[-1] * 1.0001)]) for curve in continued]
    predictions = predict(continued, [data.kind] * len(continued), at, calibration)
    scales = np.array([one.half_width(LEVEL)[0] for one in predictions]).reshape(len(plans), len(OUTCOMES))
    return np.asarray(scales.mean(axis=1))


def _continued(curve: LogCurve, plan: Sequence[PossibleRun], outcome: float) -> LogCurve:
    """The curve with the plan's runs added; repeating a measured K leaves the curve and halves its variance."""
    k, log = curve.k, curve.log_performance
    error = curve.error if curve.error is not None else np.full(len(k), np.nan)
    for candidate in sorted(plan, key=lambda one: one.k):
        if candidate.scale == 0:
            error = np.where(k == candidate.k, error / np.sqrt(2), error)
        else:
            k, error = np.r_[k, candidate.k], np.r_[error, np.nan]
            log = np.r_[log, candidate.log + outcome * candidate.scale]
    return LogCurve(k, log, error, curve.traits)


def _separate(study: Study, candidates: list[PossibleRun], laws: tuple[str, str], budget: float | None) -> NextRuns:
    """The cheapest K at which two fitted laws differ enough."""
    from scalecurve.fitting.solution import SEPARATED, separation, solve_laws

    affordable = [candidate for candidate in candidates if budget is None or candidate.cost <= budget]
    if not affordable:
        raise Refused("no run that could separate the laws fits into the budget")
    solved = solve_laws(study, laws)
    solutions, draws = [solved.by_law[name] for name in laws], [solved.draws[name] for name in laws]
    apart = separation(solutions, draws, np.array([one.k for one in affordable]))
    if apart.max() < INDISTINCT:
        raise Refused(f"{laws[0]} and {laws[1]} fit this study as the same curve: no affordable K separates them")
    costs = np.array([one.cost for one in affordable])
    enough = apart >= min(SEPARATED, apart.max())
    chosen = int(np.flatnonzero(enough)[np.argmin(costs[enough])])
    last = float(separation(solutions, draws, np.array([float(study.all_k[-1])]))[0])
    return NextRuns(
        name=study.name,
        aim=f"standard errors between {laws[0]} and {laws[1]}",
        budget=budget,
        suggestions=_suggest((affordable[chosen],), budget),
        before=last,
        after=float(apart[chosen]),
        findings=(),
    )
