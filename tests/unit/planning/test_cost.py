"""Cost of results: studies, laws and plans, deadlines, budgets, fleets and the sentences."""

import math
from pathlib import Path

import pytest

import scalecurve as sc
from scalecurve.errors import InputError
from scalecurve.planning.cost import cost
from scalecurve.planning.curve import TimeCurve, TimeSource, time_curve
from scalecurve.planning.pricing import Campaign
from scalecurve.planning.tariff import Spot, Tariff
from scalecurve.words import workers_text
from tests.reference_study import strong_study, weak_study

HOUR = 3600.0


def amdahl(*workers: int, hours: float = 100.0) -> TimeCurve:
    parameters = {"serial": 0.05}
    return time_curve(sc.law("amdahl"), at=workers, parameters=parameters, seconds_at_one=hours * HOUR, k_unit="gpus")


def test_the_managers_sentence() -> None:
    """Amdahl with 5 % serial: T(256)/T(512) = 1.0358, cost(512)/cost(256) = 1.931."""
    table = cost(amdahl(256, 512), 2.5)

    assert [step.sentence for step in table.steps] == [
        "from 256 to 512 GPUs: 3.6 % faster, costs 1.93x as much per result"
    ]


def test_relative_cost_is_one_over_efficiency() -> None:
    study = strong_study()
    speedups = sc.tabulate(study)
    priced = cost(study, 2.5, at=study.all_k)

    for row in priced.rows:
        assert row.relative_cost == pytest.approx(1 / speedups.row(row.k).efficiency.value)


def test_relative_cost_is_one_over_efficiency_under_weak_scaling_too() -> None:
    study = weak_study()
    speedups = sc.tabulate(study)
    priced = cost(study, 2.5, at=study.all_k)

    for row in priced.rows:
        assert row.relative_cost == pytest.approx(1 / speedups.row(row.k).efficiency.value)
    assert "weak-result" in [finding.code for finding in priced.findings]


def test_a_study_has_intervals_and_kinds() -> None:
    table = cost(strong_study(), 2.5, at=[2, 3, 64, 128])

    assert [row.kind for row in table.rows] == [
        TimeSource.MEASURED, TimeSource.MEASURED, TimeSource.INTERPOLATED, TimeSource.MEASURED, TimeSource.FORECAST,
    ]  # fmt: skip
    assert [row.k for row in table.rows] == [1, 2, 3, 64, 128]
    for row in table.rows:
        assert row.job_cost.low is not None
        assert row.job_cost.high is not None
        assert row.job_cost.low < row.job_cost.value < row.job_cost.high
    codes = [finding.code for finding in table.findings]
    assert "interpolated" in codes
    assert "forecast" in codes


def test_interpolation_is_a_power_law_between_neighbours() -> None:
    study = sc.Study.from_samples({1: [8.0], 4: [2.0], 8: [1.6]}, regime="strong")
    table = cost(study, 1.0, at=[1, 2, 4])

    assert table.row(2).seconds.value == pytest.approx(4.0)


def test_unmeasured_gaps_are_filled_and_forecasts_stay_in_the_defensible_range() -> None:
    study = sc.Study.from_samples({1: [16.0, 16.1], 2: [8.3, 8.2], 16: [1.4, 1.5], 32: [0.9, 0.92]}, regime="strong")
    table = cost(study, 1.0)

    assert [row.k for row in table.rows if row.kind is TimeSource.INTERPOLATED] == [4, 8]
    assert max(row.k for row in table.rows) <= 4 * 32


def test_a_far_forecast_is_refused_and_said() -> None:
    table = cost(strong_study(), 2.5, at=[64, 100_000])

    assert [row.k for row in table.rows] == [1, 64]
    assert "forecast-refused" in [finding.code for finding in table.findings]


def test_the_cheapest_in_time_and_the_fastest_in_budget() -> None:
    table = cost(amdahl(1, 2, 4, 8, 16, 32), 2.5, deadline=20 * HOUR, budget=500)

    assert table.cheapest.k == 1
    assert table.cheapest_in_time is not None
    assert table.cheapest_in_time.k == 8  # 16.9 h; K = 4 needs 28.75 h
    assert table.fastest_in_budget is not None
    assert table.fastest_in_budget.k == 16  # 437.50; K = 32 costs 637.50


def test_the_value_of_time_has_its_closed_form() -> None:
    """Minimising (p K + v) T(K) under Amdahl gives K = sqrt(v (1-s)/(p s)): here sqrt(47*0.95/(2.5*0.05)) = 18.90."""
    table = cost(amdahl(*range(1, 60)), 2.5, value_per_hour=47)
    closed = math.sqrt(47 * 0.95 / (2.5 * 0.05))

    assert table.best_for_value is not None
    assert table.best_for_value.k == round(closed) == 19


def test_beyond_that_k_an_hour_saved_costs_more_than_it_is_worth() -> None:
    table = cost(amdahl(*range(1, 60)), 2.5, value_per_hour=47)
    prices = {row.k: row.saved_hour_cost for row in table.rows}

    assert prices[1] is None
    assert prices[19] is not None
    assert prices[20] is not None
    assert prices[19] <= 47 < prices[20]


def test_no_saved_hour_has_no_price() -> None:
    table = cost(sc.law("logcomm"), 1.0, at="1,64,512", parameters={"serial": 0.02, "comm": 0.01})

    assert table.row(512).saved_hour_cost is None
    assert [row.k for row in table.front] == [1, 64]
    assert "Never take 512: another K is both faster and cheaper." in str(table)


def test_where_every_k_is_a_trade_it_is_said() -> None:
    table = cost(amdahl(*range(1, 31)), 2.5)

    assert "Every step up is faster and costs more per result." in str(table)


def test_packing_a_fleet() -> None:
    """100 jobs on 64 workers: 64 lanes of K = 1 take two waves, 8 lanes of K = 8 thirteen."""
    table = cost(amdahl(1, 8, 64, hours=1.0), 2.5, jobs=100, fleet=64)
    one, eight, all_of_them = table.rows

    assert (one.lanes, eight.lanes, all_of_them.lanes) == (64, 8, 1)
    assert one.elapsed.value == pytest.approx(2 * HOUR)
    assert eight.elapsed.value == pytest.approx(13 * HOUR * (0.05 + 0.95 / 8))
    assert one.cost.value == pytest.approx(100 * 2.5)
    assert one.job_cost.value == cost(amdahl(1, 8, 64, hours=1.0), 2.5).rows[0].job_cost.value


def test_packing_is_shown_where_it_is_the_better_answer() -> None:
    table = cost(amdahl(1, 8, 64, hours=1.0), 2.5, jobs=100)

    [finding] = [finding for finding in table.findings if finding.code == "pack-jobs"]
    assert "packed 64 at a time with K = 1 each, the 100 jobs take 2 h and 250.00 USD" in finding.message


def test_a_fleet_too_small() -> None:
    with pytest.raises(InputError, match="fleet is smaller than the smallest K"):
        cost(amdahl(8, 16), 1.0, jobs=3, fleet=4)


def test_keeping_the_machines_pays_set_up_once() -> None:
    tariff = Tariff(per_hour=6, setup_seconds=600)
    each = cost(amdahl(1, hours=1), tariff, jobs=10)
    once = cost(amdahl(1, hours=1), tariff, jobs=10, one_rental=True)

    assert each.rows[0].cost.value == pytest.approx(10 * 7)
    assert once.rows[0].cost.value == pytest.approx(10 * 6 + 1)
    assert once.rows[0].elapsed.value == pytest.approx(10 * HOUR + 600)


def test_a_kept_fleet_bills_every_lane_for_what_it_runs() -> None:
    """10 jobs in 4 lanes: two lanes run three jobs, two lanes two; each lane sets up once."""
    campaign = Campaign(jobs=10, fleet=4, one_rental=True)

    assert (campaign.lanes(1), campaign.waves(1), campaign.full_lanes(1)) == (4, 3, 2)
    tariff = Tariff(per_hour=6, setup_seconds=600)
    table = cost(amdahl(1, hours=1), tariff, jobs=10, fleet=4, one_rental=True)
    assert table.rows[0].cost.value == pytest.approx(10 * 6 + 4)


def test_a_deadline_no_k_can_meet_names_the_best_possible() -> None:
    with pytest.raises(InputError, match=r"no K meets the deadline .*best possible is 5.186 h on 512 GPUs"):
        cost(amdahl(1, 256, 512), 2.5, deadline=HOUR)


def test_a_budget_below_one_job() -> None:
    with pytest.raises(InputError, match=r"budget does not pay for one job .*250.00 USD, on 1 GPU"):
        cost(amdahl(1, 2), 2.5, budget=100)


def test_a_budget_for_some_of_the_jobs() -> None:
    table = cost(amdahl(1, 2), 2.5, jobs=10, budget=1000)

    assert table.fastest_in_budget is None
    [finding] = [finding for finding in table.findings if finding.code == "budget-too-small"]
    assert finding.evidence["jobs"] == 4


@pytest.mark.parametrize("goal", [{"deadline": -1}, {"budget": 0}, {"value_per_hour": math.nan}, {"chance": 2}])
def test_goals_that_make_no_sense(goal: dict[str, float]) -> None:
    with pytest.raises(InputError):
        cost(amdahl(1, 2), 2.5, **goal)  # type: ignore[arg-type]


@pytest.mark.parametrize("campaign", [{"jobs": 0}, {"fleet": 0}])
def test_campaigns_that_make_no_sense(campaign: dict[str, int]) -> None:
    with pytest.raises(InputError):
        cost(amdahl(1, 2), 2.5, **campaign)  # type: ignore[arg-type]


def test_a_negative_price() -> None:
    with pytest.raises(InputError, match="price: must be a number from 0 up"):
        cost(amdahl(1, 2), -2.5)


def test_a_rate_needs_the_work_of_a_result() -> None:
    study = sc.Study.from_samples({1: [100.0, 101], 2: [190.0, 191]}, regime="strong", quantity="throughput")

    with pytest.raises(InputError, match=r"a rate has no cost per result.*work_per_job="):
        cost(study, 2.5)
    table = cost(study, 2.5, work_per_job=36_180.0, at=[1, 2])
    assert table.row(1).seconds.value == pytest.approx(360)
    assert table.row(1).seconds.low is not None
    assert table.row(1).seconds.low < 360
    assert table.row(2).relative_cost == pytest.approx(1 / sc.tabulate(study).row(2).efficiency.value)


def test_a_rate_per_worker() -> None:
    study = sc.Study.from_samples({1: [100.0], 2: [95.0]}, regime="weak", quantity="throughput_per_worker")
    table = cost(study, 2.5, work_per_job=36_000.0, at=[1, 2])

    assert table.row(2).seconds.value == pytest.approx(36_000 / 190)


def test_the_rows_of_a_training_plan() -> None:
    rows = [
        {"gpus": 8, "tokens_per_second": 1e5, "step_seconds": 10.0, "step_low": 9.0, "step_high": 11.0},
        {"gpus": 16, "tokens_per_second": 1.8e5, "step_seconds": 5.6, "step_low": None, "step_high": None},
    ]
    table = cost({"rows": rows}, 2.0, work_per_job=3.6e8)

    assert table.row(8).kind is TimeSource.PLANNED
    assert table.row(8).job_cost.value == pytest.approx(8 * 2.0)
    assert table.row(8).job_cost.low == pytest.approx(8 * 2.0 * 0.9)
    assert table.row(16).relative_cost == pytest.approx(2 / 1.8)
    with pytest.raises(InputError, match="work_per_job="):
        cost({"rows": rows}, 2.0)
    with pytest.raises(InputError, match="no rows"):
        cost({}, 2.0, work_per_job=1.0)


def test_spot_shows_the_expected_time_beside_the_bare_one() -> None:
    """Daly without checkpoints: 1 h on one machine lost once in an hour takes e - 1 = 1.718 h."""
    shown = cost(amdahl(1, 2, hours=1), Tariff(per_hour=3, spot=Spot(per_hour=1, interruptions_per_hour=1.0)))

    assert "expected time" in str(shown)
    assert shown.rows[0].elapsed.value == pytest.approx(3600 * (math.e - 1))
    assert "expected time" not in str(cost(amdahl(1, 2, hours=1), Tariff(per_hour=3)))


def test_spot_is_pointed_out() -> None:
    spot = Tariff(per_hour=3, spot=Spot(per_hour=1, interruptions_per_hour=0.01))
    codes = [finding.code for finding in cost(amdahl(1, 2, hours=1), spot).findings]

    assert {"spot-expected", "spot-without-checkpoints"} <= set(codes)


def test_one_price_for_study_law_and_plan() -> None:
    """The same times from three sources cost the same, under a tariff with every condition."""
    workers, law = (1, 2, 4, 8), sc.law("amdahl")
    tariff = Tariff(per_hour=20, workers_per_unit=4, minimum_seconds=600, step_seconds=60, setup_seconds=120)
    times = {k: law.time(k, at_one=HOUR, serial=0.05) for k in workers}
    rows = [{"gpus": k, "tokens_per_second": 1e6 / seconds} for k, seconds in times.items()]

    of_law = cost(law, tariff, at=workers, parameters={"serial": 0.05}, jobs=7)
    of_study = cost(
        sc.Study.from_samples({k: [t] for k, t in times.items()}, regime="strong"), tariff, jobs=7, at=workers
    )
    of_plan = cost({"rows": rows}, tariff, jobs=7, work_per_job=1e6)

    for one, two, three in zip(of_law.rows, of_study.rows, of_plan.rows, strict=True):
        assert one.cost.value == pytest.approx(two.cost.value, rel=1e-12)
        assert one.cost.value == pytest.approx(three.cost.value, rel=1e-12)


def test_a_forecast_is_priced_as_it_was_made() -> None:
    study = strong_study()
    made = sc.forecast(study, at=[32, 128, 5000], level=0.8, extrapolate=True)
    table = cost(made, 2.5)

    assert [row.k for row in table.rows] == [*study.all_k, 128, 5000]
    assert table.row(128).seconds.value == pytest.approx(made[1].seconds)
    assert table.row(128).seconds.level == 0.8
    assert table.row(32).kind is TimeSource.MEASURED


def test_a_noun_with_the_rows_of_a_plan() -> None:
    class Plan:
        def to_dict(self) -> dict[str, object]:
            return {"rows": [{"gpus": 8, "tokens_per_second": 1e5}]}

    assert cost(Plan(), 2.0, work_per_job=3.6e8).rows[0].job_cost.value == pytest.approx(16)


def test_a_plan_costs_what_it_says_itself() -> None:
    """A real plan at its own price: dollars per billion tokens, and its planned run, to the digit."""
    plan = sc.plan_training("llama2-7b", "h100-ib400", gpus=[8, 64], seq=4096, batch=1_048_576, tokens=1e11)
    rows = plan.to_dict()["rows"]
    price = plan.rows[0].outcome.job.cluster.usd_per_gpu_hour
    tokens, whole_run = cost(plan, price, work_per_job=1e9), cost(plan, price)

    for row in rows:
        assert tokens.row(row["gpus"]).job_cost.value == pytest.approx(row["usd_per_billion_tokens"])
        assert whole_run.row(row["gpus"]).job_cost.value == pytest.approx(row["run_usd"])
        assert whole_run.row(row["gpus"]).job_cost.low < row["run_usd"] < whole_run.row(row["gpus"]).job_cost.high


def test_a_path_and_the_answer_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "study.json"
    sc.save(strong_study(), path)
    priced = cost(path, 2.5, at="1..4")

    assert [row.k for row in priced.rows] == [1, 2, 4]
    assert repr(priced).startswith("Cheapest is 1 GPU, 1.005 s")
    assert "Cheapest is 1 GPU, " in repr(priced)


@pytest.mark.parametrize(
    ("k", "unit", "text"),
    [(1, "gpus", "1 GPU"), (8, "gpus", "8 GPUs"), (1, "processes", "1 process"), (1, "nodes", "1 node")],
)
def test_a_number_of_workers_in_words(k: int, unit: str, text: str) -> None:
    assert workers_text(k, unit) == text


def test_a_law_needs_worker_counts() -> None:
    with pytest.raises(InputError, match="a law needs worker counts"):
        cost(sc.law("amdahl"), 2.5, parameters={"serial": 0.05})


def test_clients_of_a_server_are_not_rented() -> None:
    study = sc.Study.from_samples(
        {1: [100.0], 8: [700.0]}, regime="strong", quantity="throughput", k_unit="clients", name="pgbench"
    )
    with pytest.raises(sc.InputError, match="load on a server"):
        sc.cost(study, 2.5)


def test_what_is_only_forecast_is_called_so() -> None:
    study = sc.Study.from_samples({k: [100 / k, 101 / k, 99 / k] for k in (1, 2, 4, 8)}, regime="strong")
    with pytest.raises(sc.InputError, match="by a forecast, not measured"):
        sc.cost(study, 2.5, deadline=0.5)
    fastest = sc.cost(study, 2.5, budget=1000.0)
    assert "(forecast)" in str(fastest)
