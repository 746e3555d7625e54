"""Money and deadlines by another route: simulation, brute force, published numbers."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

import scalecurve as sc
from scalecurve.errors import InputError
from scalecurve.estimate import Estimate
from scalecurve.fitting.solution import solve_laws
from scalecurve.planning.cost import cost
from scalecurve.planning.cost_rows import PricedRow, allowed_seconds, chance_by, mark_front
from scalecurve.planning.curve import CurvePoint, Repeats, TimeCurve, TimeSource
from scalecurve.planning.next_runs import next_runs, parse_worker_seconds
from scalecurve.planning.pricing import Campaign, elapsed_seconds, expected_elapsed, price_job
from scalecurve.planning.scaleup import ScaleUp, compare_scaleup
from scalecurve.planning.tariff import Energy, Reserved, Spot, Tariff
from scalecurve.study import Study

PLAIN = Tariff(per_hour=1)


def simulated_chance(mean: float, std: float, n: int, deadline: float, jobs: int, lanes: int) -> float:
    """How often `lanes` lanes of jobs one after another are all done, over what n runs leave open about the truth."""
    rng, draws = np.random.default_rng(11), 20_000
    spread = std * np.sqrt((n - 1) / rng.chisquare(n - 1, draws))
    centre = rng.normal(mean, spread / math.sqrt(n))
    per_lane = [jobs // lanes + (lane < jobs % lanes) for lane in range(lanes)]
    slowest = np.max(
        [rng.normal(centre[:, None], spread[:, None], (draws, count)).sum(axis=1) for count in per_lane], axis=0
    )
    return float(np.mean(slowest <= deadline))


@pytest.mark.parametrize(
    ("jobs", "fleet", "deadline"), [(80, 8, 1010.0), (10, 1, 1010.0), (80, 8, 1040.0), (12, 4, 310.0)]
)
def test_the_deadline_of_many_lanes_against_simulation(jobs: int, fleet: int, deadline: float) -> None:
    point = CurvePoint(k=1, seconds=Estimate(100.0, 95, 105, 0.95), kind=TimeSource.MEASURED, repeats=Repeats(5, 5.0))
    truth = simulated_chance(100.0, 5.0, 5, deadline, jobs, fleet)

    assert chance_by(point, deadline, Campaign(jobs=jobs, fleet=fleet), PLAIN) == pytest.approx(truth, abs=0.012)


def test_a_last_wave_that_is_not_full_has_fewer_lanes_that_finish_last() -> None:
    campaign = Campaign(jobs=10, fleet=4)
    waves = [[job for job in range(10) if job // 4 == wave] for wave in range(3)]  # 4, 4 and 2 jobs

    assert (campaign.lanes(1), campaign.waves(1), campaign.full_lanes(1)) == (4, len(waves), len(waves[-1]))
    assert [(times, bill.jobs) for times, bill in Campaign(jobs=10, fleet=4, one_rental=True).bills(PLAIN, 1, 60)] == [
        (2, 3),
        (2, 2),
    ]
    whole = Campaign(jobs=8, fleet=4, one_rental=True).bills(PLAIN, 1, 60)
    assert [(times, bill.jobs) for times, bill in whole] == [(4, 2)]  # no lane is done a wave earlier


def simulated_job(work: float, rate: float, every: float, written: float, restart: float) -> float:
    """Mean seconds of a job on machines that are lost at `rate`, also while it writes or starts again."""
    rng = np.random.default_rng(5)

    def tries(need: float, lost: list[float]) -> float:
        """Seconds until `need` seconds pass without a loss; each loss is noted."""
        spent = 0.0
        while (gone := rng.exponential(1 / rate)) < need:
            lost.append(gone)
            spent += gone
        return spent + need

    def piece() -> float:
        lost: list[float] = []
        seconds = tries(every + written, lost)
        return seconds + sum(tries(restart, []) for _ in lost)

    return float(np.mean([sum(piece() for _ in range(round(work / every))) for _ in range(8000)]))


@pytest.mark.parametrize(("every", "written", "restart"), [(50.0, 2.0, 20.0), (100.0, 0.0, 40.0), (25.0, 5.0, 0.0)])
def test_interruptions_cost_what_a_simulation_says(every: float, written: float, restart: float) -> None:
    formula = expected_elapsed(100.0, 0.01, checkpoint_every=every, checkpoint_seconds=written, restart_seconds=restart)

    assert formula == pytest.approx(simulated_job(100.0, 0.01, every, written, restart), rel=0.03)


def test_a_restart_takes_its_own_time_or_that_of_setting_up() -> None:
    """One loss in 1,000 s and unit; four units; a job of 500 s: 250 (e^2 - 1) s without, times e^(4 R/1000) with R."""

    def hours(setup: float | None, restart: float | None) -> float:
        spot = Spot(per_hour=1, interruptions_per_hour=3.6, restart_seconds=restart)
        return elapsed_seconds(Tariff(per_hour=3, setup_seconds=setup, spot=spot), workers=4, seconds=500.0)

    plain = 250 * math.expm1(2)
    assert hours(None, None) == pytest.approx(plain)
    assert hours(None, 100.0) == pytest.approx(plain * math.exp(0.4))
    assert hours(30.0, 100.0) == pytest.approx(30 + plain * math.exp(0.4))
    assert hours(30.0, None) == pytest.approx(30 + plain * math.exp(0.12))
    assert hours(30.0, 0.0) == pytest.approx(30 + plain)


def test_spot_units_are_lost_and_priced_apart_from_reserved_ones() -> None:
    """Six workers on three nodes of two, of which one is reserved: two spot nodes can be lost."""
    tariff = Tariff(
        per_hour=9,
        workers_per_unit=2,
        spot=Spot(per_hour=2, interruptions_per_hour=0.5),
        reserved=Reserved(units=1, per_hour=5),
    )
    bill = price_job(tariff, workers=6, seconds=3600.0)

    assert bill.elapsed_seconds == pytest.approx(3600 * math.expm1(1))  # rate 2 x 0.5 per hour, no checkpoints
    assert bill.machines == pytest.approx((2 * 2 + 1 * 5) * math.expm1(1))
    assert bill.reserved_idle == 0


def test_a_bill_by_hand() -> None:
    """90 s on 3 workers, billed by the minute from 5 min on; 2 of 4 reserved nodes idle; 200 W at a PUE of 1.5."""
    tariff = Tariff(
        per_hour=12, workers_per_unit=2, setup_seconds=20, minimum_seconds=100, step_seconds=60,
        reserved=Reserved(units=4, per_hour=6), energy=Energy(watts=200, per_kwh=0.3, grams_co2_per_kwh=400, pue=1.5),
    )  # fmt: skip
    bill = price_job(tariff, workers=3, seconds=90.0)
    kwh = 0.2 * 1.5 * 3 * 110 / 3600

    assert (bill.units, bill.elapsed_seconds, bill.billed_seconds) == (2, 110, 120)
    assert bill.machines == pytest.approx(2 * 6 * 120 / 3600)
    assert bill.reserved_idle == pytest.approx(2 * 6 * 120 / 3600)
    assert bill.energy_kwh == pytest.approx(kwh)
    assert bill.energy == pytest.approx(0.3 * kwh)
    assert bill.co2_grams == pytest.approx(400 * kwh)
    assert bill.total == pytest.approx(0.8 + 0.3 * kwh)
    assert price_job(tariff, workers=3, seconds=10.0).billed_seconds == 120  # the minimum of 100 s, by the minute
    assert price_job(tariff, workers=3, seconds=10.0, jobs=20).billed_seconds == 240


def row(k: int, seconds: float, money: float) -> PricedRow:
    return PricedRow(
        k=k, kind=TimeSource.MEASURED, lanes=1, seconds=Estimate(seconds), job_cost=Estimate(money), relative_cost=1.0,
        results_per_money=None, elapsed=Estimate(seconds), cost=Estimate(money), energy_kwh=None, co2_grams=None,
    )  # fmt: skip


def test_the_front_is_what_nothing_beats_ties_included() -> None:
    """All tables of four rows with times and costs of 1 to 3, against the definition."""
    for times in product((1.0, 2.0, 3.0), repeat=3):
        for costs in product((1.0, 2.0, 3.0), repeat=3):
            rows = [row(k, *pair) for k, pair in enumerate(zip(times, costs, strict=True), start=1)]
            for own in mark_front(rows):
                here = (own.elapsed.value, own.cost.value)
                others = [(other.elapsed.value, other.cost.value) for other in rows]
                beaten = any(t <= here[0] and c <= here[1] and (t, c) != here for t, c in others)
                assert own.on_front is not beaten


def test_a_tariff_scaled_by_three_bills_three_times_as_much() -> None:
    tariff = Tariff(
        per_hour=9, workers_per_unit=2, reserved=Reserved(units=2, per_hour=5), energy=Energy(watts=300, per_kwh=0.25)
    )
    spot = Tariff(per_hour=9, spot=Spot(per_hour=2, interruptions_per_hour=0.1))
    for own in (tariff, spot, PLAIN):
        plain, dear = (price_job(each, workers=6, seconds=1800.0) for each in (own, own.scaled(3.0)))
        assert dear.machines == pytest.approx(3 * plain.machines)
        assert dear.total == pytest.approx(3 * plain.total)
        assert dear.elapsed_seconds == plain.elapsed_seconds


def test_a_budget_buys_as_many_repeats_as_fit_into_it() -> None:
    """The runs advised, once more of each, would pass the budget, unless there are already three of each."""
    study = Study.from_samples({k: [100 / k + 2, 101 / k + 2] for k in (1, 2, 4, 8)}, regime="strong")
    counts = set()
    for hours in (0.1, 0.2, 1.0, 10.0):
        advice = next_runs(study, budget=3600.0 * hours, target=64)
        once = sum(one.cost / one.repeats for one in advice.suggestions)
        repeats = advice.suggestions[0].repeats
        assert repeats == min(3, int(3600 * hours / once))
        counts.add(repeats)
    assert len(counts) > 1, "a small budget buys fewer"


def test_what_is_done_exactly_at_the_deadline_and_costs_exactly_the_budget_is_in() -> None:
    """T(1) = 3,600 s and T(2) = 1,800 s at 1 per hour: both cost 1."""
    study = Study.from_samples({1: [3600.0], 2: [1800.0]}, regime="strong")
    rows = {row.k: row for row in cost(study, price=1.0, deadline=3600.0, budget=1.0).rows}

    assert {k: row.meets_deadline for k, row in rows.items()} == {1: True, 2: True}
    assert {k: row.within_budget for k, row in rows.items()} == {1: True, 2: True}
    early = {row.k: row.meets_deadline for row in cost(study, price=1.0, deadline=3599.0).rows}
    assert early == {1: False, 2: True}


@pytest.mark.parametrize(
    ("text", "seconds"), [("0.5 core-seconds", 0.5), ("8 gpu-hours", 28800), ("30 core-min", 1800)]
)
def test_a_budget_of_machine_time_in_worker_seconds(text: str, seconds: float) -> None:
    assert parse_worker_seconds(text) == pytest.approx(seconds)


def point(**more: object) -> CurvePoint:
    return CurvePoint(**{"k": 4, "kind": TimeSource.MEASURED, "seconds": Estimate(100.0)} | more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("deadline", "chance"), [(99.0, 0.0), (100.0, 1.0), (101.0, 1.0)])
def test_runs_without_spread_are_in_time_or_not(deadline: float, chance: float) -> None:
    flat = Estimate(100.0, 100.0, 100.0, 0.95)
    assert chance_by(point(repeats=Repeats(5, 0.0)), deadline, Campaign(), PLAIN) == chance
    assert chance_by(point(seconds=flat, kind=TimeSource.FORECAST), deadline, Campaign(), PLAIN) == chance


def test_the_chance_of_a_forecast_is_that_of_a_lognormal() -> None:
    """80 to 125 s with 90 %: ln T is normal around ln 100 with a deviation of ln 1.25/1.6449."""
    ahead = point(seconds=Estimate(100.0, 80.0, 125.0, 0.9), kind=TimeSource.FORECAST)
    spread = math.log(1.25) / 1.6448536
    draws = 100 * np.exp(spread * np.random.default_rng(3).standard_normal(200_000))

    for deadline in (70.0, 100.0, 130.0):
        found = chance_by(ahead, deadline, Campaign(), PLAIN)
        assert found == pytest.approx(float(np.mean(draws <= deadline)), abs=0.005)
    late = Tariff(per_hour=1, setup_seconds=200)
    assert chance_by(ahead, 150.0, Campaign(), late) == 0.0
    assert chance_by(ahead, 200.0, Campaign(), late) == 0.0  # set up, and not a second left
    assert chance_by(point(), 150.0, Campaign(), late) is None  # no spread, no chance


def test_the_time_allowed_under_interruptions_meets_the_deadline_exactly() -> None:
    tariff = Tariff(per_hour=1, setup_seconds=60, spot=Spot(per_hour=1, interruptions_per_hour=1))
    allowed = allowed_seconds(2, 3600.0, Campaign(jobs=3), tariff)

    assert allowed is not None
    assert Campaign(jobs=3).elapsed(tariff, 2, allowed) == pytest.approx(3600.0)
    assert allowed_seconds(2, 3600.0, Campaign(jobs=3), Tariff(per_hour=1, setup_seconds=60)) == pytest.approx(1140)
    assert allowed_seconds(2, 100.0, Campaign(jobs=3), tariff) is None  # three set-ups alone take 180 s


def test_an_interval_whose_end_never_finishes_has_no_upper_cost() -> None:
    """One loss a minute and machine: a job of 10 s ends, and one of 20 h never does."""
    curve = TimeCurve(name="job", points=(point(seconds=Estimate(10.0, 9.0, 72_000.0, 0.9)),), baseline_k=4)
    tariff = Tariff(per_hour=1, spot=Spot(per_hour=1, interruptions_per_hour=60))
    [row] = cost(curve, tariff).rows

    assert row.cost.high is None
    assert row.cost.value == pytest.approx(4 * elapsed_seconds(tariff, workers=4, seconds=10.0) / 3600)
    assert row.cost.low == pytest.approx(4 * elapsed_seconds(tariff, workers=4, seconds=9.0) / 3600)


def test_choices_by_brute_force_over_every_k() -> None:
    """Amdahl with s = 5 %, T(1) = 1 h, 3 an hour: every choice is looked for among all K."""
    seconds = {k: 3600 * (0.05 + 0.95 / k) for k in range(1, 65)}
    money = {k: k * 3 * t / 3600 for k, t in seconds.items()}
    law = sc.law("amdahl")
    found = cost(
        law, 3.0, parameters={"serial": 0.05}, at=range(1, 65), deadline=400.0, budget=8.0, value_per_hour=100.0
    )

    in_time = [k for k, t in seconds.items() if t <= 400]
    within = [k for k, m in money.items() if m <= 8]
    assert found.cheapest.k == 1
    assert found.cheapest_in_time is not None
    assert found.cheapest_in_time.k == min(in_time, key=lambda k: money[k])
    assert found.fastest_in_budget is not None
    assert found.fastest_in_budget.k == min(within, key=lambda k: seconds[k])
    assert found.best_for_value is not None
    assert found.best_for_value.k == min(seconds, key=lambda k: money[k] + 100 * seconds[k] / 3600)
    assert found.row(8).saved_hour_cost == pytest.approx((money[8] - money[7]) / (seconds[7] - seconds[8]) * 3600)
    [step] = [step for step in found.steps if step.to_k == 8]
    assert (step.faster, step.cost_change) == pytest.approx((seconds[7] / seconds[8] - 1, money[8] / money[7] - 1))


def test_scaling_up_against_out_by_brute_force() -> None:
    """USL rises and falls, so scaling out beats 5 times one machine between two K, at 5.5 or 20 times its price."""
    values = {"contention": 0.02, "coherency": 0.002}
    speedups = {k: k / (1 + 0.02 * (k - 1) + 0.002 * k * (k - 1)) for k in range(1, 101)}

    def compared(price: float) -> ScaleUp:
        return compare_scaleup(
            sc.law("usl"), faster=5, big_price=price, small_price=1, at=range(1, 101), parameters=values
        )

    cheap, dear = compared(5.5), compared(20)
    for found, price in ((cheap, 5.5), (dear, 20)):
        faster = [k for k, s in speedups.items() if s > 5]
        cheaper = [k for k, s in speedups.items() if k / s < price / 5]
        assert [row.workers for row in found.rows if row.faster] == faster
        assert [row.workers for row in found.rows if row.cheaper] == cheaper
        assert (found.time_from, found.cost_up_to) == (faster[0], cheaper[-1])
    assert cheap.findings[-1].code == "trade-off"
    assert cheap.answer.decision.startswith("Scale up to save money; 6 small machines are faster at")
    assert dear.findings[-1].code == "out-wins-both"
    last = max(k for k, s in speedups.items() if s > 5)
    assert f"faster at K = 6..{last} and cheaper up to K = {dear.cost_up_to}" in str(dear.answer.reason)


def test_a_plan_is_priced_by_its_tokens_that_stay() -> None:
    """10 tokens/s on 4 GPUs of which 80 % stay: 400 tokens take 50 s; a step of 2 s (1.9 to 2.2) gives 47.5 to 55 s."""
    row = {"gpus": 4, "tokens_per_second": 10.0, "goodput": {"factor": 0.8}, "step_seconds": 2.0, "step_low": 1.9}
    plan = {"rows": [row | {"step_high": 2.2, "level": 0.9, "run_seconds": 500.0}]}
    [priced] = cost(plan, 3600.0, work_per_job=400).rows

    assert (priced.seconds.value, priced.seconds.low, priced.seconds.high) == pytest.approx((50, 47.5, 55))
    assert priced.cost.value == pytest.approx(4 * 50)
    assert cost(plan, 3600.0).rows[0].seconds.value == 500.0
    for rows in ([], [{"gpus": 4}], [{"gpus": 4, "tokens_per_second": 1.0}]):
        with pytest.raises(InputError):
            cost({"rows": rows}, 1.0)


def test_weak_scaling_is_priced_for_the_work_of_one_worker() -> None:
    """T = 100, 110 and 120 s on 1, 2 and 4: a result takes T/K, so it costs T at 3,600 an hour."""
    study = Study.from_samples({1: [100.0], 2: [110.0], 4: [120.0]}, regime="weak")
    found = cost(study, 3600.0, at=[1, 2, 4])

    assert [row.seconds.value for row in found.rows] == pytest.approx([100, 55, 30])
    assert [row.cost.value for row in found.rows] == pytest.approx([100, 110, 120])
    rates = Study.from_samples({1: [5.0], 4: [16.0]}, regime="strong", quantity="throughput")
    assert cost(rates, 1.0, at=[4], work_per_job=320).row(4).seconds.value == pytest.approx(20)
    each = Study.from_samples({1: [5.0], 4: [4.0]}, regime="strong", quantity="throughput_per_worker")
    assert cost(each, 1.0, at=[4], work_per_job=320).row(4).seconds.value == pytest.approx(20)


def test_packing_is_advised_from_a_tenth_of_the_time_on_and_energy_is_printed_as_counted() -> None:
    """Ten jobs on 10 workers: one by one 10 T(10), side by side T(1)."""

    def advised(side_by_side: float) -> bool:
        points = (point(k=1, seconds=Estimate(side_by_side)), point(k=10, seconds=Estimate(10.0)))
        found = cost(TimeCurve(name="job", points=points, baseline_k=1), 1.0, jobs=10)
        return any(finding.code == "pack-jobs" for finding in found.findings)

    assert advised(90.0)
    assert not advised(92.0)
    power = Tariff(per_hour=1, energy=Energy(watts=500))
    text = str(cost(TimeCurve(name="job", points=(point(seconds=Estimate(3600.0)),), baseline_k=4), power))
    assert " 2 " in next(line for line in text.splitlines() if line.lstrip().startswith("4 "))  # 4 x 0.5 kW x 1 h


def test_two_laws_are_told_apart_by_their_gap_over_noise_and_doubt_at_the_last_measured_k() -> None:
    """The gap of the fitted curves in standard errors, from the fits themselves."""
    noise = np.random.default_rng(3)
    times = {k: (100 * (0.05 + 0.95 / k) * np.exp(0.02 * noise.standard_normal(5))).tolist() for k in (1, 2, 4, 8, 16)}
    study = Study.from_samples(times, regime="strong")
    solved = solve_laws(study, ("amdahl", "logcomm"))
    first, second = (solved.by_law[name] for name in ("amdahl", "logcomm"))
    at = np.array([16.0])
    doubts = [
        np.diff(np.percentile(law.log_times(at, solved.draws[name])[:, 0], [16, 84]))[0] / 2
        for name, law in (("amdahl", first), ("logcomm", second))
    ]
    gap = abs(first.log_time(at)[0] - second.log_time(at)[0])
    error = np.sqrt(max(first.scale, second.scale) ** 2 + sum(doubt**2 for doubt in doubts))

    assert next_runs(study, separate=("amdahl", "logcomm")).before == pytest.approx(gap / error)
