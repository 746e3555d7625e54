"""Every K priced, and the choices among them: the cheapest in time, the fastest within the budget, the best of both.

The probability that a deadline is met, from the spread of T(K).

Measured K: with n runs of mean m and standard deviation s, the mean of J further runs is m + s sqrt(1/n + 1/J) t with
Student's t at n - 1 degrees of freedom, so

    P(J runs within D) = F_t((D/J - m)/(s sqrt(1/n + 1/J)))

With several lanes the slowest counts; they share the unknown mean and spread, over which the product is averaged.
Forecast and interpolated K: the interval is read as that of a lognormal.  No interval: no probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from scalecurve.document import JsonRecord
from scalecurve.errors import Refused
from scalecurve.estimate import Estimate
from scalecurve.planning.curve import CurvePoint, Repeats, TimeCurve, TimeSource
from scalecurve.planning.pricing import HOUR, Campaign
from scalecurve.planning.tariff import Tariff
from scalecurve.words import share_text, unit_words

SEED = 7
DRAWS = 20_000
BISECTIONS = 80
SAME = 0.0005  # less than half a tenth of a percent is shown as no change


def chance_by(point: CurvePoint, deadline: float, campaign: Campaign, tariff: Tariff) -> float | None:
    """P(the campaign is done by `deadline`); None where T has no spread."""
    seconds, repeats = point.seconds, point.repeats
    allowed = allowed_seconds(point.k, deadline, campaign, tariff)
    if allowed is None:
        return None if repeats is None and not seconds.has_interval else 0.0
    if repeats is not None:
        waves, lanes = campaign.waves(point.k), campaign.full_lanes(point.k)
        return chance_of_runs(seconds.value, repeats, allowed, waves, lanes)
    return chance_of_interval(seconds, allowed)


def chance_of_runs(mean: float, repeats: Repeats, allowed: float, waves: int, lanes: int) -> float:
    """P(the mean of `waves` further runs is within `allowed` seconds, in every one of the lanes)."""
    from scalecurve.distributions import stdtr

    if repeats.std == 0:
        return float(mean <= allowed)
    if lanes > 1:
        return slowest_lane_chance(mean, repeats, allowed, waves, lanes)
    error = repeats.std * math.sqrt(1.0 / repeats.n + 1.0 / waves)
    return float(stdtr(repeats.n - 1, (allowed - mean) / error))


def chance_of_interval(seconds: Estimate, allowed: float) -> float | None:
    """P(T is within `allowed` seconds), T lognormal with this interval; None where there is none."""
    from scalecurve.distributions import ndtr, ndtri

    if seconds.low is None or seconds.high is None or seconds.level is None or seconds.low <= 0:
        return None
    spread = math.log(seconds.high / seconds.low) / (2.0 * float(ndtri(0.5 + seconds.level / 2.0)))
    if spread == 0 or allowed <= 0:
        return float(0 < seconds.value <= allowed)
    return float(ndtr(math.log(allowed / seconds.value) / spread))


def slowest_lane_chance(mean: float, repeats: Repeats, allowed: float, waves: int, lanes: int) -> float:
    """P(every lane stays within `allowed` seconds per job), averaged over the unknown mean and spread."""
    from scalecurve.distributions import ndtr

    rng = np.random.default_rng(SEED)
    degrees = repeats.n - 1
    std = repeats.std * np.sqrt(degrees / rng.chisquare(degrees, DRAWS))
    centre = mean + std / math.sqrt(repeats.n) * rng.standard_normal(DRAWS)
    one = ndtr((allowed - centre) * math.sqrt(waves) / std)
    return float(np.mean(one**lanes))


def allowed_seconds(k: int, deadline: float, campaign: Campaign, tariff: Tariff) -> float | None:
    """The longest T(K) in seconds with which the campaign meets the deadline; None where even T = 0 does not."""
    setup = campaign.elapsed(tariff, k, 0.0)
    if setup > deadline:
        return None
    if tariff.spot is None:
        return (deadline - setup) / campaign.waves(k)
    # With interruptions the time of a campaign grows faster than T, but it always grows.
    low, high = 0.0, deadline
    for _ in range(BISECTIONS):
        middle = (low + high) / 2.0
        try:
            fits = campaign.elapsed(tariff, k, middle) <= deadline
        except Refused:
            fits = False
        low, high = (middle, high) if fits else (low, middle)
    return low


@dataclass(frozen=True, kw_only=True)
class PricedRow(JsonRecord):
    """Time and cost of one job and of all of them on K workers each.

    `seconds` is the bare time of one result; `elapsed` and `cost` are the campaign's, with set-up, interruptions and
    billing rules.  `relative_cost` is cost(K)/cost(K0) per result; `saved_hour_cost` what each hour saved against the
    next smaller K costs, None where no hour is saved.  `chance` is the probability of meeting the deadline.
    """

    k: int
    kind: TimeSource
    lanes: int
    seconds: Estimate
    job_cost: Estimate
    relative_cost: float
    results_per_money: float | None
    elapsed: Estimate
    cost: Estimate
    energy_kwh: float | None
    co2_grams: float | None
    meets_deadline: bool | None = None
    chance: float | None = None
    within_budget: bool | None = None
    saved_hour_cost: float | None = None
    on_front: bool = False

    JSON = """
        k kind lanes seconds* job_cost* relative_cost results_per_money elapsed_seconds*=elapsed cost*
        energy_kwh co2_grams meets_deadline deadline_probability=chance within_budget saved_hour_cost
        pareto=on_front"""

    @property
    def hours(self) -> float:
        return self.elapsed.value / HOUR


def price_rows(
    curve: TimeCurve, tariff: Tariff, campaign: Campaign, *, deadline: float | None, budget: float | None
) -> tuple[PricedRow, ...]:
    """Every K of the curve priced, with its hours saved and its place on the Pareto front."""
    base = curve.point(curve.baseline_k)
    unit = campaign.per_job(tariff, base.k, base.seconds.value)
    rows: list[PricedRow] = []
    for point in curve.points:
        row = _priced(point, tariff, campaign, unit)
        if deadline is not None:
            chance = chance_by(point, deadline, campaign, tariff)
            row = replace(row, meets_deadline=row.elapsed.value <= deadline, chance=chance)
        if budget is not None:
            row = replace(row, within_budget=row.cost.value <= budget)
        saved = rows[-1].hours - row.hours if rows else 0.0
        if saved > 0:
            row = replace(row, saved_hour_cost=(row.cost.value - rows[-1].cost.value) / saved)
        rows.append(row)
    return mark_front(rows)


def _priced(point: CurvePoint, tariff: Tariff, campaign: Campaign, unit: float) -> PricedRow:
    """One K; `unit` is the cost of a result at K0."""
    k, seconds = point.k, point.seconds
    job = _through(seconds, lambda time: campaign.per_job(tariff, k, time))
    bills = campaign.bills(tariff, k, seconds.value)
    energy = [times * bill.energy_kwh for times, bill in bills if bill.energy_kwh is not None]
    carbon = [times * bill.co2_grams for times, bill in bills if bill.co2_grams is not None]
    return PricedRow(
        k=k,
        kind=point.kind,
        lanes=campaign.lanes(k),
        seconds=seconds,
        job_cost=job,
        relative_cost=job.value / unit if unit > 0 else 1.0,
        results_per_money=1.0 / job.value if job.value > 0 else None,
        elapsed=_through(seconds, lambda time: campaign.elapsed(tariff, k, time)),
        cost=_through(seconds, lambda time: campaign.total(tariff, k, time)),
        energy_kwh=sum(energy) if energy else None,
        co2_grams=sum(carbon) if carbon else None,
    )


def _through(seconds: Estimate, price: Callable[[float], float]) -> Estimate:
    """An interval of seconds carried through a price: cost never falls with time, so the ends carry over."""
    low = None if seconds.low is None else price(seconds.low)
    try:
        high = None if seconds.high is None else price(seconds.high)
    except Refused:  # at the upper end interruptions may never let the job finish
        high = None
    return Estimate(price(seconds.value), low, high, seconds.level, seconds.method)


def mark_front(rows: Sequence[PricedRow]) -> tuple[PricedRow, ...]:
    """The rows with `on_front` set where no other row is as good in time and cost and better in one."""
    marked: set[int] = set()
    best = float("inf")
    groups: dict[float, list[PricedRow]] = {}
    for row in rows:
        groups.setdefault(row.elapsed.value, []).append(row)
    for elapsed in sorted(groups):
        cheapest = min(row.cost.value for row in groups[elapsed])
        if cheapest < best:
            marked |= {row.k for row in groups[elapsed] if row.cost.value == cheapest}
            best = cheapest
    return tuple(replace(row, on_front=row.k in marked) for row in rows)


def cheapest_in_time(rows: Sequence[PricedRow], chance: float | None) -> PricedRow | None:
    """The least cost among the rows that meet the deadline, with probability `chance` where one is asked for.

    A law or a single run has no probability: its time counts as certain.
    """
    fitting = [
        row for row in rows if row.meets_deadline and (chance is None or row.chance is None or row.chance >= chance)
    ]
    return min(fitting, key=lambda row: (row.cost.value, row.k), default=None)


def fastest_in_budget(rows: Sequence[PricedRow]) -> PricedRow | None:
    fitting = [row for row in rows if row.within_budget]
    return min(fitting, key=lambda row: (row.elapsed.value, row.k), default=None)


def best_for_value(rows: Sequence[PricedRow], value_per_hour: float) -> PricedRow:
    """The least of cost plus value of the time waited: beyond it another worker costs more than it saves."""
    return min(rows, key=lambda row: (row.cost.value + value_per_hour * row.hours, row.k))


@dataclass(frozen=True, kw_only=True)
class CostStep(JsonRecord):
    """From one K to the next larger one: the change in speed and in cost per result, as shares (0.036 is +3.6 %)."""

    from_k: int
    to_k: int
    faster: float
    cost_change: float
    sentence: str

    JSON = "from_k to_k faster dearer=cost_change sentence"


def steps_between(rows: Sequence[PricedRow], k_unit: str) -> tuple[CostStep, ...]:
    """What a manager asks: how much faster, and at what cost per result."""
    steps = []
    for left, right in pairwise(rows):
        alone = left.lanes == right.lanes == 1
        faster = left.elapsed.value / right.elapsed.value if alone else left.seconds.value / right.seconds.value
        cost = right.job_cost.value / left.job_cost.value if left.job_cost.value > 0 else 1.0
        sentence = f"from {left.k} to {right.k} {unit_words(k_unit)}: {speed_text(faster)}, {cost_text(cost)}"
        step = CostStep(from_k=left.k, to_k=right.k, faster=faster - 1.0, cost_change=cost - 1.0, sentence=sentence)
        steps.append(step)
    return tuple(steps)


def speed_text(ratio: float) -> str:
    """A ratio of speeds: `3.6 % faster`, `5.0 % slower`, `no faster`."""
    if abs(ratio - 1.0) < SAME:
        return "no faster"
    return f"{share_text(ratio - 1.0)} faster" if ratio > 1 else f"{share_text(1.0 / ratio - 1.0)} slower"


def cost_text(ratio: float) -> str:
    """A ratio of costs per result: `costs 3.05x as much per result`."""
    if abs(ratio - 1.0) < SAME:
        return "costs the same per result"
    return f"costs {ratio:.2f}x as much per result" if ratio < 100 else f"costs {ratio:,.0f}x as much per result"
