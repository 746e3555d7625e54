"""The curve over P: a row per P with what the whole run takes, marks on the axis, and the P that answers best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scalecurve.document import JsonRecord
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, info, warning
from scalecurve.training.answers.evaluation import StepOutcome, TrainingJob, evaluate_jobs
from scalecurve.training.inputs.request import OBJECTIVES, GlobalBatch, PlanRequest
from scalecurve.training.physics.run import CriticalBatch, Goodput, Reliability, goodput, loss_law
from scalecurve.training.search.search import BestLayouts, SearchTask
from scalecurve.units import format_count, format_seconds

EFFORT_TOKENS = 20.0  # tokens per parameter where no budget of tokens is given (Hoffmann et al. 2022)
DEFAULT_DEADLINE = 30 * 86400.0  # for --compute-optimal without --deadline
PAYS = 1.7  # a doubling that gives less than this is not worth its price
SHOWS = 0.02  # gradient traffic counts as exposed from this share of the step


@dataclass(frozen=True, kw_only=True)
class Optimal:
    """The compute-optimal model for what P accelerators compute in `seconds`, by a named loss law."""

    parameters: float
    tokens: float
    loss: float
    seconds: float
    law: str


SURE = 0.9  # probability from which a deadline counts as met
STATE_BYTES = 14.0  # bytes of a parameter in a checkpoint: bf16 weights, fp32 copy and two moments


@dataclass(frozen=True, kw_only=True)
class PlanRow(JsonRecord):
    """The best layout at P, and what the whole run takes with it.

    `run_tokens` are the tokens to process, with the extra that batches near or beyond the critical one are charged.
    """

    outcome: StepOutcome
    alternatives: tuple[StepOutcome, ...]
    goodput: Goodput
    tokens_factor: float
    run_tokens: float | None
    speedup: float = 1.0
    doubling: float | None = None  # speedup over half as many accelerators, per effective token
    optimal: Optimal | None = None

    JSON = """
        **outcome goodput tokens_factor effective_tokens_per_second usd_per_billion_effective_tokens speedup
        doubling_speedup=doubling run_tokens run_seconds run_gpu_hours run_usd run_joules run_kwh run_kg_co2
        compute_optimal=optimal loss=optimal.loss alternatives"""

    @property
    def gpus(self) -> int:
        return self.outcome.gpus

    @property
    def step_seconds(self) -> float:
        return self.outcome.seconds

    @property
    def mfu(self) -> float:
        return self.outcome.mfu

    @property
    def statistical_efficiency(self) -> float:
        """1 / (1 + B/B_crit): the share of tokens that a small batch would have needed too."""
        return 1.0 / self.tokens_factor

    @property
    def token_rate(self) -> Estimate:
        """Tokens per second with the step's interval."""
        return _rate(self.outcome.tokens, self.outcome.step)

    @property
    def work_rate(self) -> Estimate:
        """Model FLOP per second with the step's interval: what compares models of different size."""
        return _rate(self.outcome.mfu * self.outcome.peak * self.gpus * self.outcome.seconds, self.outcome.step)

    @property
    def effective_tokens_per_second(self) -> float:
        """Tokens that count: throughput, less failures and stragglers, over the charge for the batch."""
        return self.outcome.tokens_per_second * self.goodput.factor / self.tokens_factor

    @property
    def run_seconds(self) -> float | None:
        if self.run_tokens is None:
            return None
        return self.run_tokens / (self.outcome.tokens_per_second * self.goodput.factor)

    def chance_within(self, seconds: float) -> float | None:
        """The probability that the run ends within these seconds, from the interval of its step."""
        if self.run_seconds is None:
            return None
        spread = self.outcome.half_width / 1.645
        return 0.5 * (1.0 + math.erf(math.log(seconds / self.run_seconds) / (spread * math.sqrt(2.0))))

    @property
    def run_gpu_hours(self) -> float | None:
        """Accelerator-hours of the run, as publications state it."""
        return None if self.run_seconds is None else self.gpus * self.run_seconds / 3600.0

    @property
    def run_usd(self) -> float | None:
        return self.outcome.job.cluster.dollars(self.gpus, self.run_seconds)

    @property
    def run_joules(self) -> float | None:
        watts = self.outcome.job.cluster.accelerator.watts
        return None if watts is None or self.run_seconds is None else watts * self.gpus * self.run_seconds

    @property
    def run_kwh(self) -> float | None:
        """Energy of the run at the accelerators' rated power, with the hall's share where the cluster has a `pue`."""
        joules = self.run_joules
        return None if joules is None else joules / 3.6e6 * (self.outcome.job.cluster.pue or 1.0)

    @property
    def run_kg_co2(self) -> float | None:
        """Carbon dioxide of that energy; None where the cluster does not say the grams per kWh of its grid."""
        grams = self.outcome.job.cluster.gco2_per_kwh
        return None if grams is None or self.run_kwh is None else self.run_kwh * grams / 1e3

    @property
    def usd_per_billion_effective_tokens(self) -> float | None:
        per_token = self.outcome.usd_per_billion_tokens
        return None if per_token is None else per_token * self.tokens_factor / self.goodput.factor


def _rate(amount: float, step: Estimate) -> Estimate:
    low, high = step.low or step.value, step.high or step.value
    return Estimate(amount / step.value, amount / high, amount / low, step.level, step.method)


def build_rows(
    tasks: Sequence[SearchTask],
    best: Sequence[BestLayouts],
    batch: GlobalBatch,
    critical: CriticalBatch | None,
    reliability: Reliability | None,
    *,
    tokens: float | None,
) -> tuple[PlanRow, ...]:
    """A row for each P with a layout.  `tokens` is the budget of the run; None gives each row's model its own.

    The budget is what the batch asked for needs, and other batches are charged or credited against it, so that runs at
    a grown batch compare with those at the fixed one.  Speedup is per effective token over the smallest P; where models
    grow it is per effective FLOP, since larger models compute more per token.
    """
    jobs = [
        TrainingJob(
            model=task.model, cluster=task.cluster, stack=task.stack, layout=layout, seq=task.seq,
            precision=task.precision, adapter=task.adapters,
        )
        for task, one in zip(tasks, best, strict=True)
        for layout in one.layouts
    ]  # fmt: skip
    outcomes = iter(evaluate_jobs(jobs, tasks[0].calibration))
    rows: list[PlanRow] = []
    for task, one in zip(tasks, best, strict=True):
        if not one.layouts:
            continue
        outcome, *others = [next(outcomes) for _ in one.layouts]
        active = task.model.active_parameters
        charged = EFFORT_TOKENS * active if tokens is None else tokens
        factor = 1.0
        if critical is not None:
            factor = critical.tokens_factor(outcome.tokens / task.critical_growth)
            charged *= factor / critical.tokens_factor(batch.tokens)
        states = STATE_BYTES * task.model.parameters
        useful = goodput(outcome.gpus, reliability, states=states, node=task.cluster.node)
        row = PlanRow(
            outcome=outcome, alternatives=tuple(others), goodput=useful,
            tokens_factor=factor, run_tokens=charged,
        )  # fmt: skip
        if rows:
            first = rows[0]
            speedup = row.effective_tokens_per_second / first.effective_tokens_per_second
            speedup *= 1.0 if tokens is not None else active / first.outcome.job.model.active_parameters
            half = next((other for other in rows if other.gpus * 2 == row.gpus), None)
            row = replace(row, speedup=speedup, doubling=None if half is None else speedup / half.speedup)
        rows.append(row)
    return tuple(rows)


def compute_optimal(row: PlanRow, law_name: str, deadline: float | None, budget: float | None) -> Optimal:
    """The best model and tokens for what this P computes within deadline (seconds) and budget (dollars) at the MFU
    planned here, and the loss they reach."""
    hourly = row.outcome.job.cluster.usd_per_gpu_hour
    seconds = deadline or DEFAULT_DEADLINE
    if budget is not None and hourly:
        seconds = min(seconds, budget / (hourly * row.gpus) * 3600.0)
    rate = row.outcome.mfu * row.outcome.peak * row.gpus * row.goodput.factor / row.tokens_factor
    law = loss_law(law_name)
    parameters, tokens = law.optimal(rate * seconds)
    loss = law.loss(parameters, tokens)
    return Optimal(parameters=parameters, tokens=tokens, loss=loss, seconds=seconds, law=law.name)


@dataclass(frozen=True, kw_only=True)
class LargestRun:
    """The most tokens that this model can be trained on within a deadline and a budget, and the P that does it."""

    gpus: int
    tokens: float
    seconds: float
    usd: float | None

    @property
    def sentence(self) -> str:
        price = "" if self.usd is None else f" and {self.usd:,.0f} USD"
        return (
            f"The largest run within the limits: {format_count(self.tokens)} tokens on P {self.gpus:,}, in "
            f"{format_seconds(self.seconds)}{price}."
        )


def largest_run(rows: Sequence[PlanRow], deadline: float | None, budget: float | None) -> LargestRun | None:
    """The row that gets furthest; None without limits, or where the budget has no price to go by.  A budget alone is
    spent on the P that makes most tokens of it."""
    if deadline is None and budget is None:
        return None
    runs = []
    for row in rows:
        hourly = row.outcome.job.cluster.dollars(row.gpus, 3600.0)
        if budget is not None and not hourly:
            return None
        paid = math.inf if budget is None or hourly is None else budget / hourly * 3600.0
        seconds = min(deadline or math.inf, paid)
        usd = row.outcome.job.cluster.dollars(row.gpus, seconds)
        tokens = row.outcome.tokens_per_second * row.goodput.factor * seconds
        runs.append((tokens / row.tokens_factor, LargestRun(gpus=row.gpus, tokens=tokens, seconds=seconds, usd=usd)))
    return max(runs, key=lambda run: (run[0], -run[1].gpus))[1]


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A place on the axis of P worth a line: `gpus` None where it lies outside the sweep."""

    name: str
    gpus: float | None
    meaning: str


def smallest_replica(rows: Sequence[PlanRow]) -> int:
    """The fewest accelerators of one replica among the rows."""
    return min(row.outcome.layout.tp * row.outcome.layout.pp * row.outcome.layout.cp for row in rows)


def find_marks(
    task: SearchTask,
    rows: Sequence[PlanRow],
    best: Sequence[BestLayouts],
    batch: GlobalBatch,
    critical: CriticalBatch | None,
    regime: str,
) -> tuple[Mark, ...]:
    """The caps, where splitting the model becomes forced, where traffic shows, where doublings stop paying."""
    copies, node = smallest_replica(rows), task.cluster.node
    marks = [Mark(name="node boundary", gpus=node, meaning=f"{node:,} accelerators share the fast links")]
    if critical:
        replicas = critical.tokens.value / task.seq
        size = f"{format_count(critical.tokens.value)} tokens{critical.equivalent}"
        meaning = f"the critical batch, {size}, holds {replicas:,.0f} sequences: dp above that wastes data"
        marks.append(Mark(name="statistical cap", gpus=replicas * copies, meaning=meaning))
    if regime == "strong":
        meaning = f"the batch holds {batch.sequences:,} sequences, so dp cannot exceed that"
        marks.append(Mark(name="granularity cap", gpus=float(batch.sequences * copies), meaning=meaning))
    forced = next((one for one in best if one.layouts and not one.data_parallel_fits), None)
    if forced is None:
        meaning = "data parallelism alone is possible throughout"
    elif forced.data_parallel_valid:
        meaning = "by memory: data parallelism alone does not fit"
    elif forced.gpus > forced.sequences:
        meaning = f"by the cap: more accelerators than the {forced.sequences:,} sequences of the batch"
    else:
        meaning = f"by the batch: {forced.sequences:,} sequences do not divide over {forced.gpus:,} replicas"
    marks.append(Mark(name="tp or pp forced", gpus=forced.gpus if forced else None, meaning=meaning))
    shares = {row.gpus: row.outcome.breakdown["data"] / row.step_seconds for row in rows if row.outcome.layout.dp > 1}
    visible = next((gpus for gpus, share in shares.items() if share > SHOWS), None)
    meaning = f"gradient traffic is {100 * shares[visible]:.0f} % of the step" if visible else "hidden throughout"
    marks.append(Mark(name="all-reduce no longer hidden", gpus=visible, meaning=meaning))
    if len(rows) == 1:
        return tuple(marks)
    if not never_stops_paying(rows):
        meaning = f"the last P before a doubling gives less than {PAYS:g}x the effective tokens"
    elif all(row.doubling is None for row in rows):
        meaning = "at least: no two P of the sweep are a doubling apart, so where doublings stop paying does not show"
    else:
        meaning = f"at least: every doubling in the sweep still gives {PAYS:g}x the effective tokens or more"
    return (*marks, Mark(name="cost-effective scale", gpus=cost_effective(rows), meaning=meaning))


def cost_effective(rows: Sequence[PlanRow]) -> int:
    """The last P before a doubling gives less than PAYS times the effective tokens, or the last of the sweep."""
    place = next((place for place, row in enumerate(rows) if (row.doubling or PAYS) < PAYS), len(rows))
    return rows[max(place - 1, 0)].gpus


def never_stops_paying(rows: Sequence[PlanRow]) -> bool:
    """No doubling of the sweep gives less than PAYS, so it ended before the cost-effective scale showed."""
    return all(row.doubling is None or row.doubling >= PAYS for row in rows)


@dataclass(frozen=True)
class ChosenScale:
    """The chosen P, a sentence saying why where something was asked, and what stood in the way."""

    gpus: int | None
    sentence: str | None
    findings: tuple[Finding, ...] = ()


def choose(rows: Sequence[PlanRow], request: PlanRequest) -> ChosenScale:
    """The P that is best by the objective (time, where none is named) among those within deadline and budget."""
    objective, deadline, budget = request.objective or "time", request.deadline_seconds, request.budget_dollars
    key = OBJECTIVES[objective]
    judged = [
        row
        for row in rows
        if getattr(row, key) is not None and row.run_seconds is not None and (budget is None or row.run_usd is not None)
    ]
    if not judged:
        missing = "budget" if budget is not None else f"objective {objective}"
        message = f"the {missing} needs a figure that this cluster does not have"
        return ChosenScale(None, None, (info("no-price", message, remedy="give --price"),))
    time = [] if deadline is None else [f"the deadline of {format_seconds(deadline)}"]
    limits = " and ".join(time + ([] if budget is None else [f"{budget:,.0f} USD"]))
    allowed = [row for row in judged if _excess(row, deadline, budget) <= 1.0]
    if not allowed:
        near = min(judged, key=lambda row: (_excess(row, deadline, budget), row.gpus))
        sentence = f"No P of the sweep meets {limits}; the nearest is P {near.gpus:,} ({_time_and_price(near)})."
        further = f"continue with --gpus {2 * near.gpus}, or " if near is judged[-1] and len(time) == 1 else ""
        remedy = f"{further}allow a later deadline, a larger budget or fewer tokens"
        return ChosenScale(
            None, sentence, (warning("nothing-within-limits", sentence, remedy=remedy, nearest=near.gpus),)
        )
    best = min(allowed, key=lambda row: (getattr(row, key), row.gpus))
    within = f" within {limits}" if limits else ""
    sentence = f"Best by {objective}{within}: P {best.gpus:,} ({_time_and_price(best)})."
    notes: tuple[Finding, ...] = ()
    chance = None if deadline is None else best.chance_within(deadline)
    if chance is not None:
        likely = "above 99 %" if chance > 0.99 else f"of {100 * chance:.0f} %"
        sentence += f" It meets the deadline with a probability {likely}."
        if chance < SURE:
            remedy = f"continue with --gpus {2 * rows[-1].gpus}, allow a later deadline, or give runs (--measured)"
            message = f"P {best.gpus:,} meets the deadline with a probability of {100 * chance:.0f} % only"
            notes = (warning("deadline-uncertain", message, remedy=remedy, probability=chance),)
    return ChosenScale(best.gpus, sentence if limits or request.objective is not None else None, notes)


def _excess(row: PlanRow, deadline: float | None, budget: float | None) -> float:
    """The larger of run time over deadline and price over budget: 1 just meets both."""
    late = 0.0 if deadline is None else (row.run_seconds or 0.0) / deadline
    return max(late, 0.0 if budget is None else (row.run_usd or 0.0) / budget)


def _time_and_price(row: PlanRow) -> str:
    time = [] if row.run_seconds is None else [format_seconds(row.run_seconds)]
    return ", ".join(time + ([] if row.run_usd is None else [f"{row.run_usd:,.0f} USD"]))
