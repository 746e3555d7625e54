"""The curve over P: a row per P with what the whole run takes, marks on the axis, and the P that answers best.

Useful work is the currency: tokens that small batches would need.  A batch B processes 1 + B / B_crit times as many.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby, pairwise
from operator import attrgetter

from scalecurve.document import JsonRecord
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, info, warning
from scalecurve.training.answers.evaluation import StepOutcome, TrainingJob, evaluate_jobs
from scalecurve.training.inputs.request import OBJECTIVES, BatchChoice, PlanRequest, Target
from scalecurve.training.physics.run import CriticalBatch, DataParallelCap, Goodput, Reliability, goodput, loss_law
from scalecurve.training.search.search import (
    TIE,
    BestLayouts,
    SearchTask,
    batches_of,
    even_batch,
    grown_models,
    idle_counts,
    search,
)
from scalecurve.units import format_count, format_seconds
from scalecurve.words import chance_words, workers_text

DEFAULT_DEADLINE = 30 * 86400.0  # for --compute-optimal without --deadline
PAYS = 1.7  # a doubling that gives less than this is not worth its price
SURE = 0.9  # probability from which a deadline counts as met
STATE_BYTES = 14.0  # bytes of a parameter in a checkpoint: bf16 weights, fp32 copy and two moments
FROZEN_SAVES = 1.5  # times the rate that adapters may reach, since they need no gradients by weight


@dataclass(frozen=True, kw_only=True)
class Optimal:
    """The compute-optimal model for what P accelerators compute in `seconds`, by a named loss law."""

    parameters: float
    tokens: float
    loss: float
    seconds: float
    law: str

    @property
    def words(self) -> str:
        """`loss 1.929 after 640B tokens in 30 d`."""
        return f"loss {self.loss:.3f} after {format_count(self.tokens)} tokens in {format_seconds(self.seconds)}"


@dataclass(frozen=True, kw_only=True)
class RunTerms:
    """What the run of every row is held to: the target, the batch that may be chosen, the critical batch, and what
    failures cost.  `target` None: no end of the run is known."""

    target: Target | None
    choice: BatchChoice
    critical: CriticalBatch | None
    reliability: Reliability | None = None
    top: int = 1

    def charge(self, task: SearchTask, batch_tokens: float) -> float:
        """Tokens processed over tokens that small batches would need."""
        return 1.0 if self.critical is None else self.critical.tokens_factor(batch_tokens / task.critical_growth)

    def stated_tokens(self, task: SearchTask) -> float | None:
        """Tokens of the run as stated, more where the model grew."""
        return None if self.target is None else self.target.tokens * task.tokens_growth

    def useful_tokens(self, task: SearchTask) -> float | None:
        """Tokens that small batches would need to reach the target."""
        stated = self.stated_tokens(task)
        if stated is None or self.target is None or self.target.at_batch is None or self.critical is None:
            return stated
        return stated / self.critical.tokens_factor(self.target.at_batch)

    def goodput(self, task: SearchTask, gpus: int) -> Goodput:
        states = STATE_BYTES * task.model.parameters
        return goodput(gpus, self.reliability, states=states, node=task.cluster.node)

    def raw_rate(self, task: SearchTask, best: BestLayouts) -> float:
        """Tokens per second of the best layout, less what failures take; 0 without one."""
        return best.sequences * task.seq / best.seconds * self.goodput(task, best.gpus).factor

    def useful_rate(self, task: SearchTask, best: BestLayouts) -> float:
        """Useful tokens per second of the best layout."""
        return self.raw_rate(task, best) / self.charge(task, best.sequences * task.seq)


@dataclass(frozen=True)
class Use:
    """What is done with P accelerators: the best layouts, on all of them or on fewer, and the job that is split."""

    gpus: int
    best: BestLayouts
    task: SearchTask

    @property
    def jobs(self) -> list[TrainingJob]:
        """The job split by each of the layouts."""
        task = self.task
        return [
            TrainingJob(
                model=task.model, cluster=task.cluster, stack=task.stack, layout=layout, seq=task.seq,
                precision=task.precision, adapter=task.adapters,
            )
            for layout in self.best.layouts
        ]  # fmt: skip


def best_batches(task: SearchTask, counts: Sequence[int], terms: RunTerms, largest: int) -> dict[int, BestLayouts]:
    """At each P the best layouts with the batch, in sequences up to `largest`, that does most useful work.  Where no
    batch is charged the largest that is about as good as any is taken."""
    whole = counts if terms.choice.fixed else shared_whole(task, counts, terms, largest)
    sizes = [
        (count, size) for count in counts for size in ((largest,) if count in whole else batches_of(count, largest))
    ]
    tried: dict[int, list[tuple[BestLayouts, float]]] = {count: [] for count in counts}
    for one in search(task, sizes, top=terms.top):
        tried[one.gpus].append((one, terms.useful_rate(task, one)))
    near = 1.0 + TIE if terms.critical is None else 1.0
    most = {count: max(rate for _, rate in some) for count, some in tried.items()}
    return {
        count: next(one for one, rate in some if near * rate >= most[count])  # the largest batch first
        for count, some in tried.items()
    }


def shared_whole(task: SearchTask, counts: Sequence[int], terms: RunTerms, largest: int) -> set[int]:
    """The P that share the largest batch well, where nothing charges for it."""
    if terms.critical is not None:
        return set()
    even = [(count, largest) for count in counts if largest % (count // (count & -count)) == 0]
    return {one.gpus for one in search(task, even, top=terms.top) if one.layouts}


def best_uses(task: SearchTask, counts: Sequence[int], terms: RunTerms, largest: int | None = None) -> list[Use]:
    """At each P the layouts that do most useful work, on P or with some accelerators idle: useful work never falls.
    Fewer accelerators are tried as far as the peak of the machine lets them be better."""
    largest = largest or terms.choice.largest.sequences
    best = best_batches(task, counts, terms, largest)
    peak = task.cluster.peak(task.precision) / float(task.model.shape(task.seq).flop_per_token)
    peak *= FROZEN_SAVES if task.adapters else 1.0
    rates = {count: terms.useful_rate(task, one) for count, one in best.items()}
    fewer = {count: [some for some in idle_counts(count) if some * peak > rates[count]] for count in counts}
    more = sorted({some for others in fewer.values() for some in others} - set(best))
    best |= best_batches(task, more, terms, largest)
    rates |= {count: terms.useful_rate(task, best[count]) for count in more}
    return [
        Use(count, best[max((count, *fewer[count]), key=lambda some: (rates[some], some))], task) for count in counts
    ]


def grown_uses(task: SearchTask, counts: Sequence[int], terms: RunTerms) -> list[Use]:
    """The job as it grows from the first P it fits on (compute-optimal: parameters and tokens as the square root of P):
    the largest batch keeps the work of an accelerator, the critical batch grows with the tokens.  Of a few models
    of about that size the one is taken that splits best."""
    uses: list[Use] = []
    start: int | None = None
    for count in counts:
        own, largest = task, terms.choice.largest.sequences
        if start is not None:
            tried, models = [], grown_models(task.model, count / start)
            least = uses[-1].task.model.parameters  # with more accelerators no model is smaller
            for model, more in [each for each in models if each[0].parameters >= least] or models:
                grown, most = replace(task, model=model, tokens_growth=more), even_batch(largest * more)
                best = best_batches(grown, [count], terms, most)[count]
                tried.append((terms.useful_rate(grown, best) * model.active_parameters, grown, most))
            _, own, largest = max(tried, key=lambda one: one[0])
        uses += best_uses(own, [count], terms, largest)
        start = count if start is None and uses[-1].best.layouts else start
    return uses


@dataclass(frozen=True, kw_only=True)
class PlanRow(JsonRecord):
    """The best layout at P, and what the whole run takes with it.

    `run_tokens` are the tokens to process: those that small batches would need, times `tokens_factor` for the batch.
    `raw_tokens` are the tokens as stated.  Accelerators that the layout leaves idle are paid for.
    """

    gpus: int
    outcome: StepOutcome
    alternatives: tuple[StepOutcome, ...]
    goodput: Goodput
    tokens_factor: float
    run_tokens: float | None
    raw_tokens: float | None
    past_cap: bool | None = None  # None where no cap is known
    speedup: float = 1.0  # in useful work, over the first row
    useful_efficiency: float = 1.0  # useful work per accelerator over that of the best row
    doubling: float | None = None  # useful work over that of half as many accelerators
    next_doubling: float | None = None  # useful work of twice as many accelerators over this
    optimal: Optimal | None = None

    JSON = """
        **outcome gpus idle_gpus=idle goodput tokens_factor wasted_tokens_share=wasted past_cap
        effective_tokens_per_second usd_per_billion_effective_tokens speedup useful_efficiency
        doubling_speedup=doubling next_doubling_speedup=next_doubling run_tokens run_seconds run_gpu_hours run_usd
        run_joules run_kwh run_kg_co2 raw_run_seconds compute_optimal=optimal loss=optimal.loss alternatives"""

    @property
    def idle(self) -> int:
        """Accelerators without work."""
        return self.gpus - self.outcome.gpus

    @property
    def step_seconds(self) -> float:
        return self.outcome.seconds

    @property
    def mfu(self) -> float:
        return self.outcome.mfu

    @property
    def words(self) -> str:
        """`512 GPUs (2.29 d, 80,302 USD)`."""
        price = "" if self.run_usd is None else f", {self.run_usd:,.0f} USD"
        counted = workers_text(self.gpus, self.outcome.unit)
        return f"{counted} ({format_seconds(self.run_seconds or 0.0)}{price})"

    @property
    def unit(self) -> str:
        """What people call this accelerator: GPUs, TPUs."""
        return self.outcome.unit

    @property
    def statistical_efficiency(self) -> float:
        """1 / (1 + B/B_crit): the share of tokens that a small batch would have needed too."""
        return 1.0 / self.tokens_factor

    @property
    def wasted(self) -> float:
        """The share of tokens that a small batch would not have needed."""
        return 1.0 - self.statistical_efficiency

    def estimate(self, per_second: float) -> Estimate:
        """A rate of this row with the interval of its step."""
        step, seconds = self.outcome.step, self.outcome.seconds
        low, high = (per_second * seconds / (end or seconds) for end in (step.high, step.low))
        return Estimate(per_second, low, high, step.level, step.method)

    @property
    def effective_tokens_per_second(self) -> float:
        """Useful tokens: throughput, less failures and stragglers, over the charge for the batch."""
        return self.outcome.tokens_per_second * self.goodput.factor / self.tokens_factor

    @property
    def useful_work(self) -> float:
        """FLOP per second that small batches would have needed too: 6 x active parameters x useful tokens."""
        return 6.0 * self.outcome.job.model.active_parameters * self.effective_tokens_per_second

    @property
    def work(self) -> float:
        """What compares P: useful FLOP per second, or of the whole run where limits end it (compute-optimal)."""
        return self.useful_work * (1.0 if self.optimal is None else self.optimal.seconds)

    def seconds_for(self, tokens: float | None) -> float | None:
        return None if tokens is None else tokens / (self.outcome.tokens_per_second * self.goodput.factor)

    @property
    def run_seconds(self) -> float | None:
        """Seconds to the target."""
        return self.seconds_for(self.run_tokens)

    @property
    def raw_run_seconds(self) -> float | None:
        """Seconds of exactly the tokens stated, whatever they are worth at this batch."""
        return self.seconds_for(self.raw_tokens)

    def chance_within(self, seconds: float | None) -> float:
        """The probability that the run ends within these seconds, from the interval of its step; 1 without a limit."""
        if self.run_seconds is None or seconds is None:
            return 1.0
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
    def optimal_usd(self) -> float | None:
        """What the compute-optimal run costs."""
        return None if self.optimal is None else self.outcome.job.cluster.dollars(self.gpus, self.optimal.seconds)

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
        if per_token is None:
            return None
        return per_token * self.tokens_factor / self.goodput.factor * self.gpus / self.outcome.gpus


def build_rows(uses: Sequence[Use], terms: RunTerms, cap: DataParallelCap | None) -> list[PlanRow]:
    """A row for each P with a layout."""
    uses = [use for use in uses if use.best.layouts]
    jobs = [job for use in uses for job in use.jobs]
    outcomes = iter(evaluate_jobs(jobs, uses[0].task.calibration) if uses else ())
    rows = []
    for use in uses:
        outcome, *others = [next(outcomes) for _ in use.best.layouts]
        factor, useful = terms.charge(use.task, outcome.tokens), terms.useful_tokens(use.task)
        rows.append(
            PlanRow(
                gpus=use.gpus, outcome=outcome, alternatives=tuple(others),
                goodput=terms.goodput(use.task, outcome.gpus), tokens_factor=factor,
                run_tokens=None if useful is None else useful * factor, raw_tokens=terms.stated_tokens(use.task),
                past_cap=None if cap is None else use.gpus > cap.accelerators,
            )
        )  # fmt: skip
    return rows


def side_by_side(rows: Sequence[PlanRow], counts: Sequence[int]) -> tuple[PlanRow, ...]:
    """The rows of these P, compared by useful work: with the first of them, with the best of all rows, and with half
    and twice as many accelerators, which may be among the others."""
    work = {row.gpus: row.work for row in rows}
    most = max((row.work / row.gpus for row in rows), default=1.0)
    shown = [row for row in rows if row.gpus in counts]
    return tuple(
        replace(
            row,
            speedup=row.work / shown[0].work,
            useful_efficiency=row.work / row.gpus / most,
            doubling=row.work / work[row.gpus // 2] if row.gpus % 2 == 0 and row.gpus // 2 in work else None,
            next_doubling=work[row.gpus * 2] / row.work if row.gpus * 2 in work else None,
        )
        for row in sorted(shown, key=attrgetter("gpus"))
    )


def compute_optimal(row: PlanRow, law_name: str, deadline: float | None, budget: float | None) -> Optimal:
    """The best model and tokens for what this P computes within deadline (seconds) and budget (dollars) at the MFU
    planned here, and the loss they reach."""
    hourly = row.outcome.job.cluster.usd_per_gpu_hour
    seconds = deadline or DEFAULT_DEADLINE
    if budget is not None and hourly:
        seconds = min(seconds, budget / (hourly * row.gpus) * 3600.0)
    rate = row.outcome.mfu * row.outcome.peak * row.outcome.gpus * row.goodput.factor / row.tokens_factor
    law = loss_law(law_name)
    parameters, tokens = law.optimal(rate * seconds)
    loss = law.loss(parameters, tokens)
    return Optimal(parameters=parameters, tokens=tokens, loss=loss, seconds=seconds, law=law.name)


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A place on the axis of P worth a line."""

    name: str
    gpus: int
    meaning: str


@dataclass(frozen=True)
class CostEffective(JsonRecord):
    """The swept P up to which doublings pay, and the range of P that the interval of step times allows.  `peak` is
    where they stop, which may lie between two swept P; `ended`: they still pay at the end of the sweep."""

    gpus: int
    low: int
    high: int
    ended: bool
    peak: int

    @property
    def meaning(self) -> str:
        """What the place is, with its range."""
        if self.ended:
            return f"at least: every doubling up to here gives {PAYS:g}x the useful work or more"
        text = f"from here on a doubling gives less than {PAYS:g}x the useful work"
        return text if self.low == self.high else f"{text}; {self.low:,} to {self.high:,} by the interval"


POWER = math.log2(PAYS)  # P to this power is a fair price: twice as many accelerators for PAYS times the work


def cost_effective(rows: Sequence[PlanRow], swept: Sequence[int], by_batch: int | None = None) -> CostEffective:
    """The P that gets most for a fair price: the largest W(P) / P^POWER, with W the upper envelope of useful work.
    Layouts jump; this place on the envelope does not hang on one dip.  `by_batch` is that P where the batch was chosen
    (`scale_by_batch`).  The range holds every P that may be it, given how well a ratio of steps is known.  `rows`, in
    rising order, may have more P than were `swept`: of those the last up to that place is meant."""
    envelope = accumulate((row.work for row in rows), max)
    worth = {row.gpus: math.log(work) - POWER * math.log(row.gpus) for row, work in zip(rows, envelope, strict=True)}
    best = by_batch if by_batch in worth else max(worth, key=lambda gpus: (round(worth[gpus], 9), gpus))
    margin = rows[0].outcome.calibration.ratio_width
    near = [gpus for gpus, value in worth.items() if value >= max(worth.values()) - margin] + [best]
    last = rows[-1]
    ended = best == last.gpus and (last.next_doubling is None or last.next_doubling >= PAYS)
    gpus = max((count for count in swept if count <= best), default=min(swept))
    return CostEffective(gpus, min(near), max(near), ended, best)


def between(counts: Sequence[int]) -> list[int]:
    """The doublings that lie between the swept P and are not among them."""
    return [
        low << power for low, high in pairwise(counts) for power in range(1, high.bit_length()) if low << power < high
    ]


def scale_by_batch(task: SearchTask, counts: Sequence[int], terms: RunTerms) -> int | None:
    """The cost-effective P where the batch is chosen too: for batches up to each size the P that gets most for a fair
    price, then the size that does most useful work so.  A smaller critical batch never asks for a larger batch, and the
    largest P of any size up to the chosen one is taken, so it never asks for more accelerators either.  None where
    nothing is to be chosen."""
    if terms.critical is None or terms.choice.fixed:
        return None
    sizes = [(count, size) for count in counts for size in batches_of(count, terms.choice.largest.sequences)]
    found = sorted((one for one in search(task, sizes) if one.layouts), key=lambda one: one.sequences)
    usable = {one.gpus for one in found}
    worth = dict.fromkeys(counts, -math.inf)  # of each P, with any batch up to the size at hand
    charged: list[tuple[float, int]] = []  # the best of it less what the size is charged, and its P
    for _, octave in groupby(found, key=lambda one: (one.sequences - 1).bit_length()):
        several = list(octave)  # counts divide other batches: within a doubling they count as one size
        for one in several:
            value = math.log(terms.raw_rate(task, one)) - POWER * math.log(one.gpus)
            worth[one.gpus] = max(worth[one.gpus], value)
        best = max(worth, key=lambda gpus: (worth[gpus], gpus))
        if any(gpus < best and worth[gpus] == -math.inf for gpus in usable):
            continue  # a smaller P divides no batch so small: nothing to compare with
        charged.append((worth[best] - math.log(terms.charge(task, several[-1].sequences * task.seq)), best))
    if not charged:
        return None
    chosen = max(range(len(charged)), key=lambda place: (charged[place][0], -place))
    return max(gpus for _, gpus in charged[: chosen + 1])


def find_marks(
    node: int, rows: Sequence[PlanRow], caps: dict[str, DataParallelCap], effective: CostEffective
) -> tuple[Mark, ...]:
    """The end of the fast links, the caps, and where doublings stop paying."""
    named = {name: f"{cap.limited_by}: {cap.formula}" for name, cap in caps.items()}
    return (
        Mark(name="node boundary", gpus=node, meaning=f"{node:,} accelerators share the fast links"),
        *(Mark(name=name, gpus=caps[name].accelerators, meaning=meaning) for name, meaning in named.items()),
        *([Mark(name="cost-effective scale", gpus=effective.gpus, meaning=effective.meaning)] if len(rows) > 1 else []),
    )


@dataclass(frozen=True)
class ChosenScale:
    """The chosen P, a sentence saying why where something was asked (`short`: what it is the best of), and what stood
    in the way."""

    gpus: int | None = None
    sentence: str | None = None
    short: str | None = None
    findings: tuple[Finding, ...] = ()
    way_out: str | None = None  # a command that keeps what none of the swept P keeps


def choose(rows: Sequence[PlanRow], request: PlanRequest) -> ChosenScale:
    """The P that is best by the objective among those within deadline and budget, surely where some are; where no
    objective is named the cheapest that is in time, or the soonest."""
    first, deadline, budget = rows[0], request.deadline_seconds, request.budget_dollars
    cheap = deadline is not None and budget is None and first.run_usd is not None
    objective = request.objective or ("cost" if cheap else "time")
    key, limits = OBJECTIVES[objective], limit_words(deadline, budget)
    if (budget is not None and first.run_usd is None) or getattr(first, key) is None:
        return chosen_without_price(rows, request, objective)
    near = min(rows, key=lambda row: (excess(row, request), row.gpus))
    allowed = [row for row in rows if excess(row, request) <= 1.0]
    if not allowed:
        counts = f"{near.unit[:-1]} counts"
        return ChosenScale(sentence=f"None of these {counts} meets {limits}; the nearest is {near.words}.")
    sure = [row for row in allowed if chance_of_limits(row, request) >= SURE]
    best = min(sure or allowed, key=lambda row: (getattr(row, key), row.gpus))
    if not limits and request.objective is None:
        return ChosenScale(best.gpus)
    energy = f" ({best.run_kwh:,.0f} kWh)" if objective == "energy" else ""
    return worded(best, f"best by {objective}{energy}{f' within {limits}' if limits else ''}", request, sure=bool(sure))


def chosen_without_price(rows: Sequence[PlanRow], request: PlanRequest, objective: str) -> ChosenScale:
    """What is left of a choice that needs a price or watts nobody knows: the deadline, where there is one."""
    unpaid = request.budget_dollars is not None and rows[0].run_usd is None
    asked = limit_words(None, request.budget_dollars) if unpaid else f"the objective {objective}"
    note = info("no-price", f"{asked} needs a figure that this cluster does not have", remedy="give --price")
    if request.deadline_seconds is None or rows[0].run_seconds is None:
        return ChosenScale(findings=(note,))
    chosen = choose(rows, replace(request, budget=None if unpaid else request.budget, objective="time"))
    return replace(chosen, findings=(note, *chosen.findings))


def worded(best: PlanRow, short: str, request: PlanRequest, *, sure: bool) -> ChosenScale:
    """A choice in words, with the probability of its limits, and a warning where no P is sure to meet them."""
    given = {"deadline": request.deadline_seconds, "budget": request.budget_dollars}
    limits = [f"the {name}" for name, limit in given.items() if limit is not None]
    sentence = f"{short[0].upper()}{short[1:]}: {best.words}."
    if not limits:
        return ChosenScale(best.gpus, sentence, short)
    chance, met = chance_of_limits(best, request), " and ".join(limits)
    likely = chance_words(chance)
    sentence += f" It meets {met} with a probability {'' if likely[0].isalpha() else 'of '}{likely}."
    late = request.deadline_seconds is not None and chance >= best.chance_within(request.deadline_seconds)
    way = "take more accelerators, allow a later deadline" if late else "allow a larger budget"
    unsure = warning(
        "limits-uncertain", f"with {best.gpus:,} {best.unit} the probability of keeping {met} is only {likely}",
        remedy=f"{way}, or give runs (--measured)", probability=chance,
    )  # fmt: skip
    return ChosenScale(best.gpus, sentence, f"{short} (chance {likely})", () if sure else (unsure,))


def chance_of_limits(row: PlanRow, request: PlanRequest) -> float:
    """The probability of keeping deadline and budget: the bill follows the time, so the tighter limit decides."""
    over = excess(row, request)
    return row.chance_within(row.run_seconds / over if row.run_seconds and over else None)


def limit_words(deadline: float | None, budget: float | None) -> str:
    """`the deadline of 30 d and 5,000,000 USD`; empty without limits."""
    time = [] if deadline is None else [f"the deadline of {format_seconds(deadline)}"]
    return " and ".join(time + ([] if budget is None else [f"{budget:,.0f} USD"]))


def excess(row: PlanRow, request: PlanRequest) -> float:
    """The larger of run time over deadline and price over budget: 1 just meets both."""
    limits = ((row.run_seconds, request.deadline_seconds), (row.run_usd, request.budget_dollars))
    return max(((value or 0.0) / limit for value, limit in limits if limit is not None), default=0.0)
