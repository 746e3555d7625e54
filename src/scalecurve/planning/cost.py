"""What a result costs on K workers, which K meets a deadline or a budget, and what the last hour saved costs.

    cost(K) = K p T(K)  per result,    cost(K)/cost(1) = 1/E(K)  for linear prices

so the cheapest K is the most efficient one, and only a deadline or a value of time makes a larger K rational.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scalecurve.document import (
    MEASURE_NEXT,
    Answer,
    Block,
    Cell,
    Column,
    Document,
    FindingList,
    Paragraph,
    Result,
    Table,
    Tone,
    and_list,
    repeat_at,
    table,
)
from scalecurve.errors import Fault, InputError
from scalecurve.estimate import MATTERS
from scalecurve.findings import Finding, info, warning
from scalecurve.planning.cost_rows import (
    CostStep,
    PricedRow,
    best_for_value,
    cheapest_in_time,
    fastest_in_budget,
    price_rows,
    steps_between,
)
from scalecurve.planning.curve import HOUR, TimeCurve, Timed, TimeSource, time_curve
from scalecurve.planning.pricing import Campaign
from scalecurve.planning.tariff import Tariff, format_amount, format_money
from scalecurve.units import WorkersLike, as_number, format_interval, format_seconds, positive_faults, seconds_alike
from scalecurve.words import chance_words, unit_words, workers_text

if TYPE_CHECKING:
    from scalecurve.forecasting.forecast import Forecast

WORTH_PACKING = 1.1
TONES: dict[TimeSource, Tone] = {
    TimeSource.FORECAST: "assumed",
    TimeSource.LAW: "assumed",
    TimeSource.PLANNED: "assumed",
}


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What the choice of K must meet: seconds, money in the tariff's currency, money per hour of waiting."""

    deadline: float | None = None
    budget: float | None = None
    value_per_hour: float | None = None
    chance: float | None = None

    def __post_init__(self) -> None:
        limits = {"deadline": self.deadline, "budget": self.budget, "value of time": self.value_per_hour}
        faults = positive_faults(limits)
        if self.chance is not None and not 0 < self.chance < 1:
            faults.append(Fault("a probability lies between 0 and 1", where="chance", value=f"{self.chance:g}"))
        if faults:
            raise InputError(faults)


@dataclass(frozen=True, kw_only=True, repr=False)
class Cost(Result):
    """Every K priced, the choices among them, and the sentences a manager needs."""

    name: str
    k_unit: str
    result: str
    baseline_k: int
    tariff: Tariff
    campaign: Campaign
    goal: Goal
    rows: tuple[PricedRow, ...]
    steps: tuple[CostStep, ...]
    cheapest: PricedRow
    cheapest_in_time: PricedRow | None
    fastest_in_budget: PricedRow | None
    best_for_value: PricedRow | None
    findings: tuple[Finding, ...]

    JSON = """
        name k_unit result baseline_k currency=tariff.currency price=tariff **campaign
        deadline_seconds=goal.deadline budget=goal.budget value_per_hour=goal.value_per_hour rows steps
        pareto cheapest=cheapest.k cheapest_in_time=cheapest_in_time.k fastest_in_budget=fastest_in_budget.k
        best_for_value=best_for_value.k findings"""

    @property
    def pareto(self) -> list[int]:
        return [row.k for row in self.front]

    def row(self, k: int) -> PricedRow:
        for row in self.rows:
            if row.k == k:
                return row
        raise InputError(Fault("this K was not priced", value=str(k), remedy="add it to --workers"))

    @property
    def front(self) -> tuple[PricedRow, ...]:
        """The K that no other K beats in both time and cost."""
        return tuple(row for row in self.rows if row.on_front)

    @property
    def answer(self) -> Answer:
        """The K to rent for what was asked: the deadline first, then the budget, then the worth of an hour."""
        wish, row = self._wish()
        known = [row for row in self.rows if row.kind is not TimeSource.FORECAST] or self.rows
        fastest = min(known if wish is None else self.rows, key=lambda row: row.elapsed.value)
        rivals = self._rivals() if wish is None else []
        if rivals:
            named = and_list([f"{k:,}" for k in rivals])
            decision = f"Cannot tell which K is cheapest: {self._choice(self.cheapest)} on average, but {named} may be"
        elif wish is None:
            decision = f"Cheapest is {self._choice(self.cheapest)}"
            if fastest.k != self.cheapest.k and self.cheapest.cost.value > 0:
                faster = self.cheapest.elapsed.value / fastest.elapsed.value
                dearer = fastest.cost.value / self.cheapest.cost.value
                decision += f"; {workers_text(fastest.k, self.k_unit)}: {faster:.3g}x as fast at {dearer:.3g}x the cost"
        elif row is None:
            decision = f"No K is {wish}: {self._choice(fastest if self.goal.deadline else self.cheapest)} comes closest"
        else:
            decision = f"Use {self._choice(row)}: {wish}"
        chance = row.chance if row is not None and self.goal.deadline is not None else None
        return Answer(
            decision=f"{decision}.",
            confidence=self._ends(row or self.cheapest)
            if chance is None
            else f"In time with probability {chance_words(chance)}.",
            reason=self._trade(),
            next=repeat_at([self.cheapest.k, *rivals]) if rivals else self._following(wish is None),
        )

    def _rivals(self) -> list[int]:
        """The measured K that the noise leaves as cheaper than the cheapest, by so much that it matters."""
        if not self.cheapest.cost.value:
            return []
        known = [row for row in self.rows if row.kind is TimeSource.MEASURED and row is not self.cheapest]
        ratios = {row.k: self.cheapest.cost.over(row.cost) for row in known}
        return [k for k, ratio in ratios.items() if ratio.is_above(MATTERS) is not False]

    def _ends(self, row: PricedRow) -> str | None:
        """The interval of the cost of a K; None for a law, whose curve has none."""
        ends = row.cost.span(format_amount, " and ")
        if ends is None or len(set(ends.split(" and "))) == 1:
            return None
        return f"Its cost lies between {ends} {self.tariff.currency} at {row.cost.level or 0:.0%}."

    def _following(self, is_open: bool) -> str:
        """The command that states a goal, or the runs behind the numbers."""
        if is_open and self.front:
            return "`SAME --deadline 2h` finds the K for a deadline: put in your own"
        if any(row.kind in (TimeSource.LAW, TimeSource.PLANNED) for row in self.rows):
            return f"measure T at two K: {MEASURE_NEXT}"
        return "`scalecurve next STUDY` says which run would narrow the times"

    def _wish(self) -> tuple[str | None, PricedRow | None]:
        """What was asked for in words, and the K that meets it; (None, None) where nothing was asked for."""
        goal, currency = self.goal, self.tariff.currency
        if goal.deadline is not None:
            return f"within {format_seconds(goal.deadline)} and cheapest", self.cheapest_in_time
        if goal.budget is not None:
            return f"at most {format_money(goal.budget, currency)} and fastest", self.fastest_in_budget
        if goal.value_per_hour is not None:
            return f"best at {format_money(goal.value_per_hour, currency)} an hour of waiting", self.best_for_value
        return None, None

    def body(self) -> Document:
        blocks: list[Block] = [Paragraph(self._head())]
        asked = (self.goal.deadline, self.goal.budget, self.goal.value_per_hour)
        if sum(goal is not None for goal in asked) > 1:
            blocks.append(Paragraph("\n".join(self._choices())))
        blocks += [self._table(), FindingList(self.findings)]
        details = (Paragraph("\n".join(step.sentence for step in self.steps)),) if self.steps else ()
        return Document(None, tuple(blocks), details)

    def _head(self) -> str:
        """What was priced and how, in one paragraph."""
        tariff, campaign = self.tariff, self.campaign
        unit = "worker" if tariff.workers_per_unit == 1 else f"unit of {tariff.workers_per_unit} workers"
        price = f"{format_money(tariff.per_hour, tariff.currency)} per {unit} and hour ({tariff.source})"
        if tariff.spot is not None:
            price = f"spot at {format_money(tariff.spot.per_hour, tariff.currency)} per {unit} and hour"
        packed = "one after another on K" if campaign.fleet is None else f"packed into {campaign.fleet}"
        jobs = "1 job" if campaign.jobs == 1 else f"{campaign.jobs:,} jobs, {packed} {unit_words(self.k_unit)}"
        text = f"{self.name}: {price}; {jobs}; a result is {self.result}; baseline K0 = {self.baseline_k}"
        levels = sorted({row.seconds.level for row in self.rows if row.seconds.level is not None})
        return text + (f"; intervals at {' and '.join(f'{level:.0%}' for level in levels)}" if levels else "")

    def _choices(self) -> Iterator[str]:
        """Every choice asked for, with its time and cost."""
        goal, currency = self.goal, self.tariff.currency
        yield f"Cheapest: {self._choice(self.cheapest)}."
        if goal.deadline is not None:
            row = self.cheapest_in_time
            chance = "" if row is None or row.chance is None else f", probability {chance_words(row.chance)}"
            choice = f"no K with probability {goal.chance:g}" if row is None else f"{self._choice(row)}{chance}"
            yield f"Cheapest within {format_seconds(goal.deadline)}: {choice}."
        if goal.budget is not None:
            row = self.fastest_in_budget
            choice = "no K (see below)" if row is None else self._choice(row)
            yield f"Fastest within {format_money(goal.budget, currency)}: {choice}."
        if self.best_for_value is not None and goal.value_per_hour is not None:
            best = self.best_for_value
            larger = next((row.k for row in self.rows if row.k > best.k), None)
            beyond = f"from K = {larger} on, more workers cost more than they save"
            worth = f"{format_money(goal.value_per_hour, currency)} an hour of waiting"
            yield f"At {worth}: {self._choice(best)}; {beyond if larger else 'no larger K was priced'}."

    def _trade(self) -> str:
        """Whether each step up buys time with money."""
        if len(self.front) == len(self.rows) > 1:
            return "Every step up is faster and costs more per result."
        forecast = [f"{row.k:,}" for row in self.rows if row.kind is TimeSource.FORECAST and not row.on_front]
        worse = [f"{row.k:,}" for row in self.rows if row.kind is not TimeSource.FORECAST and self._is_beaten(row)]
        never = f"Never take {', '.join(worse)}: another K is both faster and cheaper." if worse else ""
        ahead = f"By forecast, another K beats {and_list(forecast)} in time and cost." if forecast else ""
        return " ".join(filter(None, (never, ahead)))

    def _is_beaten(self, row: PricedRow) -> bool:
        """Whether another K is both faster and cheaper, beyond the noise."""
        if row.on_front or not row.cost.value:
            return not row.on_front
        ratios = [(row.elapsed.over(other.elapsed), row.cost.over(other.cost)) for other in self.front]
        return any(slower.is_above(1) and dearer.is_above(1) for slower, dearer in ratios)

    def _choice(self, row: PricedRow) -> str:
        """`8 GPUs, 3.2 h, $120`."""
        side = f", {row.lanes} at a time" if row.lanes > 1 else ""
        total = format_money(row.cost.value, self.tariff.currency)
        by = " (forecast)" if row.kind is TimeSource.FORECAST else ""
        elapsed = seconds_alike(one.elapsed.value for one in self.rows)(row.elapsed.value)
        return f"{workers_text(row.k, self.k_unit)}{side}, {elapsed}, {total}{by}"

    def _table(self) -> Table:
        """The columns that apply: intervals, lanes, the campaign, interruptions, the deadline and energy."""
        currency, spot, unit = self.tariff.currency, self.tariff.spot, unit_words(self.k_unit)
        ranges = any(row.seconds.has_interval for row in self.rows)
        packed = self.campaign.fleet is not None
        many = packed or self.campaign.jobs > 1
        interrupted = bool(spot and spot.interruptions_per_hour) and not many
        carbon = any(row.co2_grams is not None for row in self.rows)
        times = [end for row in self.rows for end in (row.seconds.value, row.seconds.low, row.seconds.high)]
        job_time, all_time = seconds_alike(times), seconds_alike(row.elapsed.value for row in self.rows)
        columns: list[tuple[str | Column, bool, Callable[[PricedRow], Cell | str | None]]] = [
            (f"K ({unit})", True, lambda row: str(row.k)),
            ("time/job", True, lambda row: job_time(row.seconds.value)),
            (Column("interval", meaning="interval of the time", rank=1), ranges,
             lambda row: row.seconds.ends and format_interval(*row.seconds.ends, job_time)),
            (f"{currency}/job", True, lambda row: format_amount(row.job_cost.value)),
            (Column("interval", meaning="interval of the cost", rank=2), ranges,
             lambda row: row.job_cost.span(format_amount, "..")),
            (Column("cost/cost(K0)", rank=3), True, lambda row: f"{row.relative_cost:.3f}"),
            (Column(f"jobs/{currency}", rank=5), True, lambda row: _four_digits(row.results_per_money)),
            ("side by side", packed, lambda row: str(row.lanes)),
            ("all: time", many, lambda row: all_time(row.elapsed.value)),
            (f"all: {currency}", many, lambda row: format_amount(row.cost.value)),
            ("expected time", interrupted, lambda row: all_time(row.elapsed.value)),
            ("P(in time)", self.goal.deadline is not None, _chance_cell),
            ("kWh", self.tariff.energy is not None, lambda row: _four_digits(row.energy_kwh)),
            ("kg CO2", carbon, lambda row: _four_digits(row.co2_grams, 1000)),
            (Column(f"{currency} per saved hour", rank=4), True,
             lambda row: None if row.saved_hour_cost is None else format_amount(row.saved_hour_cost)),
            (Column("Pareto", "left"), True, lambda row: Cell("*" if row.on_front else "")),
            (Column("basis", "left"), True, lambda row: Cell(str(row.kind), TONES.get(row.kind, "plain"))),
        ]  # fmt: skip
        shown = [(head, cell) for head, applies, cell in columns if applies]
        return table([head for head, _ in shown], [[cell(row) for _, cell in shown] for row in self.rows])


def _chance_cell(row: PricedRow) -> Cell:
    """The probability of being in time; yes or no where T has no spread."""
    sure = "yes" if row.meets_deadline else "no"
    return Cell(sure if row.chance is None else f"{row.chance:.2f}", "good" if row.meets_deadline else "bad")


def _four_digits(value: float | None, unit: float = 1) -> str | None:
    return None if value is None else f"{value / unit:.4g}"


def cost(
    subject: Timed | Forecast,
    price: float | Tariff,
    *,
    regime: str | None = None,
    at: WorkersLike | None = None,
    work_per_job: float | None = None,
    level: float = 0.95,
    parameters: Mapping[str, float] | None = None,
    seconds_at_one: float = HOUR,
    k_unit: str = "workers",
    jobs: int = 1,
    fleet: int | None = None,
    one_rental: bool = False,
    deadline: float | None = None,
    budget: float | None = None,
    value_per_hour: float | None = None,
    chance: float | None = None,
    notes: Sequence[Finding] = (),
) -> Cost:
    """What a result costs at every K, and which K to choose.

    Parameters
    ----------
    subject
        A study in any form that `load` takes, a forecast, a training plan (or its JSON), or a law.
    price
        Dollars per worker-hour, or a Tariff.
    regime
        "strong" or "weak", for a subject that does not state it.
    at
        The K to price; a law needs them.
    work_per_job
        The work of one result, where the study or plan holds rates.
    level
        The level of intervals.
    parameters, seconds_at_one, k_unit
        Of a law: its parameters, T(1) in seconds, and what a worker is.
    jobs, fleet, one_rental
        How many results, the workers they are packed into, and whether machines are kept from job to job.
    deadline, budget, value_per_hour
        What to choose by: seconds, money for all jobs, money per hour of waiting.
    chance
        The probability with which the deadline must be met.
    notes
        Findings about the price.

    Returns
    -------
    Cost
        A row for each K with time, money and its place on the Pareto front, and the K that meets each goal.

    Raises
    ------
    InputError
        A setting is wrong, the subject cannot be read, no K meets the deadline, or the budget pays for no job.
    Refused
        Interruptions come so often that a job would never finish.

    Examples
    --------
    >>> import scalecurve as sc
    >>> priced = sc.cost(sc.law("amdahl"), 2.50, parameters={"serial": 0.05}, at=[1, 8, 64], deadline=900)
    >>> priced.cheapest_in_time.k, round(priced.row(8).cost.value, 2)
    (8, 3.38)
    """
    tariff = price if isinstance(price, Tariff) else Tariff(per_hour=as_number(price, "price"))
    campaign = Campaign(jobs=jobs, fleet=fleet, one_rental=one_rental)
    goal = Goal(deadline=deadline, budget=budget, value_per_hour=value_per_hour, chance=chance)
    curve = time_curve(
        subject,
        regime=regime,
        at=at,
        work_per_job=work_per_job,
        level=level,
        parameters=parameters,
        seconds_at_one=seconds_at_one,
        k_unit=k_unit,
    )
    curve = curve if fleet is None else curve.limited(fleet)
    rows = price_rows(curve, tariff, campaign, deadline=deadline, budget=budget)
    _require_possible(rows, goal, curve.k_unit, tariff.currency)
    return Cost(
        name=curve.name,
        k_unit=curve.k_unit,
        result=curve.result,
        baseline_k=curve.baseline_k,
        tariff=tariff,
        campaign=campaign,
        goal=goal,
        rows=rows,
        steps=steps_between(rows, curve.k_unit),
        cheapest=min(rows, key=lambda row: (row.cost.value, row.elapsed.value)),
        cheapest_in_time=cheapest_in_time(rows, chance) if deadline is not None else None,
        fastest_in_budget=fastest_in_budget(rows) if budget is not None else None,
        best_for_value=best_for_value(rows, value_per_hour) if value_per_hour is not None else None,
        findings=(*notes, *curve.findings, *cost_findings(curve, tariff, campaign, budget, rows)),
    )


def _require_possible(rows: Sequence[PricedRow], goal: Goal, k_unit: str, currency: str) -> None:
    """A deadline no K meets, or a budget that pays for no job at all, is an error that says what is possible."""
    faults = []
    best = min(rows, key=lambda row: row.elapsed.value)
    if goal.deadline is not None and best.elapsed.value > goal.deadline:
        by = " by a forecast, not measured" if best.kind is TimeSource.FORECAST else ""
        possible = f"the best possible is {format_seconds(best.elapsed.value)} on {workers_text(best.k, k_unit)}{by}"
        least_time = f"--deadline {math.ceil(1000 * best.elapsed.value) / 1000:.12g}s"
        hint = f"{possible}; allow more time ({least_time}), fewer jobs, or pack them into a larger fleet"
        limit = format_seconds(goal.deadline)
        faults.append(Fault("no K meets the deadline", where="deadline", value=limit, remedy=hint))
    least = min(rows, key=lambda row: row.job_cost.value)
    if goal.budget is not None and least.job_cost.value > goal.budget:
        hint = f"the cheapest costs {format_money(least.job_cost.value, currency)}, on {workers_text(least.k, k_unit)}"
        hint += f": --budget {math.ceil(100 * least.job_cost.value) / 100:.12g}"
        limit = format_money(goal.budget, currency)
        faults.append(Fault("the budget does not pay for one job", where="budget", value=limit, remedy=hint))
    if faults:
        raise InputError(faults)


def cost_findings(
    curve: TimeCurve, tariff: Tariff, campaign: Campaign, budget: float | None, rows: Sequence[PricedRow]
) -> Iterator[Finding]:
    """What a reader of the table must know beside its numbers."""
    hint = "measure the K you mean to pay for"
    if between := [row.k for row in rows if row.kind is TimeSource.INTERPOLATED]:
        message = f"K = {_listed(between)} were not measured: their times lie on a power law between the neighbours"
        yield info("interpolated", message, k=between, remedy=hint)
    if ahead := [row.k for row in rows if row.kind is TimeSource.FORECAST]:
        message = f"K = {_listed(ahead)} are forecasts: read their intervals, not their estimates"
        yield warning("forecast", message, k=ahead, remedy=hint)
    if campaign.fleet is None:
        yield from _packing_finding(curve, tariff, campaign, rows) if campaign.jobs > 1 else ()
    elif idle := {row.k: count for row in rows if (count := campaign.fleet - row.lanes * row.k) > 0}:
        listed = ", ".join(f"{count} at K = {k}" for k, count in idle.items())
        message = f"some workers of the fleet of {campaign.fleet} are idle and not paid for here: {listed}"
        yield info("fleet-idle", message, idle={str(k): count for k, count in idle.items()})
    yield from _tariff_findings(tariff, rows)
    if budget is not None and not any(row.within_budget for row in rows):
        least = min(rows, key=lambda row: row.job_cost.value)
        count, needed = int(budget / least.job_cost.value), format_money(least.cost.value, tariff.currency)
        message = (
            f"the budget pays for {count} of {campaign.jobs} jobs at the cheapest K = {least.k}; all cost {needed}"
        )
        yield warning("budget-too-small", message, jobs=count, k=least.k, needed=least.cost.value)


def _packing_finding(
    curve: TimeCurve, tariff: Tariff, campaign: Campaign, rows: Sequence[PricedRow]
) -> Iterator[Finding]:
    """Many jobs rarely need to be fast one by one: the same workers, packed at an efficient K, finish sooner."""
    largest = [row for row in rows if row.kind is not TimeSource.FORECAST][-1]
    packed = Campaign(jobs=campaign.jobs, fleet=largest.k, one_rental=campaign.one_rental)
    points = [(packed.elapsed(tariff, p.k, p.seconds.value), p) for p in curve.points if p.k <= largest.k]
    elapsed, point = min(points, key=lambda pair: (pair[0], pair[1].k))
    if point.k == largest.k or largest.elapsed.value < WORTH_PACKING * elapsed:
        return
    alone = format_money(largest.cost.value, tariff.currency)
    together = format_money(packed.total(tariff, point.k, point.seconds.value), tariff.currency)
    message = (
        f"packed {packed.lanes(point.k)} at a time with K = {point.k} each, the {campaign.jobs} jobs take "
        f"{format_seconds(elapsed)} and {together} on {workers_text(largest.k, curve.k_unit)}; one after another on "
        f"all of them {format_seconds(largest.elapsed.value)} and {alone}"
    )
    yield info("pack-jobs", message, k=point.k, fleet=largest.k, remedy=f"--fleet {largest.k} shows every K")


def _tariff_findings(tariff: Tariff, rows: Sequence[PricedRow]) -> Iterator[Finding]:
    reserved, spot = tariff.reserved, tariff.spot
    if reserved is not None and tariff.per_hour > 0:
        share = reserved.per_hour / tariff.per_hour
        message = f"a reserved unit pays off when it is busy more than {share:.0%} of the time it is paid for"
        yield info("reserved-break-even", message, share=share)
    if reserved is not None:
        idle = [row.k for row in rows if tariff.units(row.k) < reserved.units]
        if idle:
            message = (
                f"at K = {_listed(idle)} some of the {reserved.units} reserved units are idle; the cost includes them"
            )
            yield info("reserved-idle", message, k=idle)
    if spot is not None:
        message = "times include the expected interruptions; the probabilities leave interruptions out"
        yield info("spot-expected", message, interruptions_per_hour=spot.interruptions_per_hour)
        if spot.checkpoint_every is None and not spot.checkpoint_seconds:
            message = "no checkpoints: every interruption loses all work since the job's start"
            yield warning("spot-without-checkpoints", message, remedy="give --checkpoint-every")
    if tariff.setup_seconds:
        setup = format_seconds(tariff.setup_seconds)
        message = f"set-up of {setup} is billed with every rental, so cost is no longer proportional to 1/E"
        yield info("setup-billed", message, seconds=tariff.setup_seconds)


def _listed(workers: Sequence[int]) -> str:
    return ", ".join(str(k) for k in workers)
