"""The one pricing function and its conditions."""

import math

import numpy as np
import pytest

from scalecurve.errors import InputError, Refused
from scalecurve.planning.pricing import expected_elapsed, price_job, young_interval
from scalecurve.planning.tariff import Energy, Reserved, Spot, Tariff

HOUR = 3600.0


def test_cost_is_workers_times_price_times_time() -> None:
    bill = price_job(Tariff(per_hour=2.5), workers=8, seconds=3 * HOUR)

    assert bill.total == pytest.approx(8 * 2.5 * 3)
    assert bill.currency == "USD"
    assert (bill.energy, bill.energy_kwh, bill.co2_grams) == (None, None, None)


def test_a_node_is_paid_whole() -> None:
    tariff = Tariff(per_hour=20, workers_per_unit=8)

    assert price_job(tariff, workers=9, seconds=HOUR).units == 2
    assert price_job(tariff, workers=9, seconds=HOUR).total == pytest.approx(40)
    assert price_job(tariff, workers=8, seconds=HOUR).total == pytest.approx(20)


def test_minimum_and_step_billing() -> None:
    least = Tariff(per_hour=6, minimum_seconds=HOUR)
    whole = Tariff(per_hour=6, step_seconds=HOUR)

    assert price_job(least, workers=1, seconds=60).total == pytest.approx(6)
    assert price_job(least, workers=1, seconds=2 * HOUR).total == pytest.approx(12)
    assert price_job(whole, workers=1, seconds=HOUR + 1).billed_seconds == pytest.approx(2 * HOUR)
    assert price_job(whole, workers=1, seconds=2 * HOUR).billed_seconds == pytest.approx(2 * HOUR)


def test_set_up_is_billed_once_per_rental() -> None:
    tariff = Tariff(per_hour=6, setup_seconds=600)

    assert price_job(tariff, workers=1, seconds=HOUR).total == pytest.approx(7)
    assert price_job(tariff, workers=1, seconds=HOUR, jobs=3).total == pytest.approx(6 * 3 + 1)
    assert price_job(tariff, workers=1, seconds=HOUR).elapsed_seconds == pytest.approx(HOUR + 600)


def test_reserved_before_on_demand_and_idle_ones_are_paid() -> None:
    tariff = Tariff(per_hour=3, reserved=Reserved(units=8, per_hour=1))

    assert price_job(tariff, workers=12, seconds=HOUR).total == pytest.approx(8 * 1 + 4 * 3)
    idle = price_job(tariff, workers=2, seconds=HOUR)
    assert (idle.machines, idle.reserved_idle) == (pytest.approx(2), pytest.approx(6))


def test_energy_and_carbon() -> None:
    energy = Energy(watts=700, per_kwh=0.2, grams_co2_per_kwh=400, pue=1.25)
    bill = price_job(Tariff(per_hour=2, energy=energy), workers=8, seconds=HOUR)

    assert bill.energy_kwh == pytest.approx(0.7 * 1.25 * 8)
    assert bill.energy == pytest.approx(1.4)
    assert bill.co2_grams == pytest.approx(2800)
    assert bill.total == pytest.approx(16 + 1.4)


def test_spot_pays_for_lost_work() -> None:
    """10 h of work, one loss in 10 h, no checkpoint: 10 (e - 1) h."""
    tariff = Tariff(per_hour=3, spot=Spot(per_hour=1, interruptions_per_hour=0.1))
    bill = price_job(tariff, workers=1, seconds=10 * HOUR)

    assert bill.elapsed_seconds == pytest.approx(10 * HOUR * (math.e - 1))
    assert bill.total == pytest.approx(10 * (math.e - 1))
    assert price_job(tariff, workers=4, seconds=HOUR).elapsed_seconds > HOUR * 1.2  # four times as many losses


def test_checkpoints_save_work_and_their_interval_is_youngs_where_only_their_cost_is_known() -> None:
    def elapsed(**given: float) -> float:
        spot = Spot(per_hour=1, interruptions_per_hour=0.1, **given)
        return price_job(Tariff(per_hour=3, spot=spot), workers=1, seconds=10 * HOUR).elapsed_seconds

    saved = elapsed(checkpoint_seconds=60.0)

    assert 10 * HOUR < saved < 1.15 * 10 * HOUR
    assert saved == pytest.approx(
        elapsed(checkpoint_seconds=60.0, checkpoint_every=young_interval(60.0, 0.1 / HOUR)), rel=1e-9
    )


def test_interruptions_agree_with_a_simulation() -> None:
    """Daly's expectation against 40,000 simulated segments: work, checkpoint, restart, with losses at rate L."""
    rng = np.random.default_rng(11)
    rate, every, written, restart = 1 / 2000.0, 900.0, 60.0, 120.0

    def segment() -> float:
        elapsed = 0.0
        while True:
            loss = rng.exponential(1 / rate)
            if loss > every + written:
                return elapsed + every + written
            elapsed += loss + down()

    def down() -> float:
        """A restart may itself be interrupted."""
        elapsed = 0.0
        while (loss := rng.exponential(1 / rate)) < restart:
            elapsed += loss
        return elapsed + restart

    simulated = np.array([segment() for _ in range(40_000)])
    expected = expected_elapsed(
        every * 10, rate, checkpoint_every=every, checkpoint_seconds=written, restart_seconds=restart
    )

    assert expected is not None
    assert float(simulated.mean()) * 10 == pytest.approx(expected, rel=0.015)


def test_a_job_that_never_finishes_is_refused() -> None:
    tariff = Tariff(per_hour=3, spot=Spot(per_hour=1, interruptions_per_hour=1))

    with pytest.raises(Refused, match="never finish; write checkpoints"):
        price_job(tariff, workers=1000, seconds=HOUR)


def test_every_fault_of_a_tariff_at_once() -> None:
    with pytest.raises(InputError) as caught:
        Tariff(
            per_hour=-2.5,
            minimum_seconds=-1,
            workers_per_unit=0,
            spot=Spot(per_hour=-1, interruptions_per_hour=100, checkpoint_every=0),
            reserved=Reserved(units=0, per_hour=-1),
            energy=Energy(watts=-1, pue=0.5),
        )

    assert len(caught.value.faults) == 10
    assert "price: must be a number from 0 up (got '-2.5')" in str(caught.value)


@pytest.mark.parametrize(("workers", "seconds", "jobs"), [(0, 1.0, 1), (1, -1.0, 1), (1, math.nan, 1), (1, 1.0, 0)])
def test_what_cannot_be_priced(workers: int, seconds: float, jobs: int) -> None:
    with pytest.raises(InputError):
        price_job(Tariff(per_hour=1), workers=workers, seconds=seconds, jobs=jobs)


def test_unknown_currency() -> None:
    with pytest.raises(InputError, match="unknown currency"):
        Tariff(per_hour=1, currency="ABC")
