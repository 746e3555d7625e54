"""The one pricing function: what a rental costs.  Study, forecast, law, plan and explorer all come through here.

    cost = units x price x billed hours + energy,     billed = set-up + time (+ lost work), at least the minimum

With a plain price per worker-hour this is cost(K) = K p T(K), so that cost(K)/cost(1) = 1/E(K).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from scalecurve.errors import Fault, InputError, Refused
from scalecurve.planning.currency import DEFAULT, Money
from scalecurve.planning.interruptions import expected_elapsed, young_interval
from scalecurve.planning.tariff import Spot, Tariff

HOUR = 3600.0
JOULES_PER_KWH = 3.6e6
ROUNDING = 1e-9  # so that 2.0000000001 billing steps are two


@dataclass(frozen=True, kw_only=True)
class Bill:
    """The parts of one rental's cost, in `currency`; None where the tariff does not say."""

    workers: int
    units: int
    jobs: int
    useful_seconds: float
    elapsed_seconds: float
    billed_seconds: float
    machines: float
    reserved_idle: float
    energy_kwh: float | None
    energy: float | None
    co2_grams: float | None
    currency: str

    @property
    def total(self) -> float:
        return self.machines + self.reserved_idle + (self.energy or 0.0)

    @property
    def overhead_seconds(self) -> float:
        """Set-up, checkpoints, restarts and lost work."""
        return self.elapsed_seconds - self.useful_seconds

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "total": self.total}


def price_job(tariff: Tariff, *, workers: int, seconds: float, jobs: int = 1) -> Bill:
    """The bill of one rental of `workers` that runs `jobs` jobs of `seconds` each, one after another."""
    _check(workers, seconds, jobs)
    units = tariff.units(workers)
    elapsed = elapsed_seconds(tariff, workers=workers, seconds=seconds, jobs=jobs)
    billed = _billed(tariff, elapsed)
    used, idle = _machine_rates(tariff, units)
    kwh, energy, grams = _energy(tariff, workers, elapsed)
    return Bill(
        workers=workers,
        units=units,
        jobs=jobs,
        useful_seconds=seconds * jobs,
        elapsed_seconds=elapsed,
        billed_seconds=billed,
        machines=used * billed / HOUR,
        reserved_idle=idle * billed / HOUR,
        energy_kwh=kwh,
        energy=energy,
        co2_grams=grams,
        currency=tariff.currency,
    )


def price_of(per_worker_hour: float, *, workers: int, seconds: float, currency: str = DEFAULT) -> Money:
    """The plain case: a price per worker-hour without conditions."""
    bill = price_job(Tariff(per_hour=per_worker_hour, currency=currency), workers=workers, seconds=seconds)
    return Money(bill.total, bill.currency)


def elapsed_seconds(tariff: Tariff, *, workers: int, seconds: float, jobs: int = 1) -> float:
    """From the start of the rental to the last result: set-up, the work, and what interruptions take."""
    setup = tariff.setup_seconds or 0.0
    if tariff.spot is None:
        return setup + jobs * seconds
    units = tariff.units(workers) - _reserved_used(tariff, tariff.units(workers))
    one = _with_interruptions(tariff.spot, units, seconds, setup)
    if one is None:
        hint = "write checkpoints (checkpoint every ...), use fewer units or pay for on-demand ones"
        what = f"interruptions come so often that a job of {seconds:g} s on {units} spot units would never finish"
        raise Refused(f"{what}; {hint}")
    return setup + jobs * one


def _with_interruptions(spot: Spot, units: int, seconds: float, setup: float) -> float | None:
    rate = spot.interruptions_per_hour * units / HOUR
    every = spot.checkpoint_every
    if every is None and spot.checkpoint_seconds and rate > 0:
        every = young_interval(spot.checkpoint_seconds, rate)
    return expected_elapsed(
        seconds,
        rate,
        checkpoint_every=every,
        checkpoint_seconds=spot.checkpoint_seconds or 0.0,
        restart_seconds=setup if spot.restart_seconds is None else spot.restart_seconds,
    )


def _billed(tariff: Tariff, elapsed: float) -> float:
    billed = max(elapsed, tariff.minimum_seconds or 0.0)
    if not tariff.step_seconds:
        return billed
    return math.ceil(billed / tariff.step_seconds - ROUNDING) * tariff.step_seconds


def _reserved_used(tariff: Tariff, units: int) -> int:
    return 0 if tariff.reserved is None else min(units, tariff.reserved.units)


def _machine_rates(tariff: Tariff, units: int) -> tuple[float, float]:
    """Price per hour of the units in use, and of the reserved ones that stand idle beside them."""
    used = _reserved_used(tariff, units)
    market = tariff.spot.per_hour if tariff.spot is not None else tariff.per_hour
    rate = (units - used) * market
    if tariff.reserved is None:
        return rate, 0.0
    return rate + used * tariff.reserved.per_hour, (tariff.reserved.units - used) * tariff.reserved.per_hour


def _energy(tariff: Tariff, workers: int, elapsed: float) -> tuple[float | None, float | None, float | None]:
    energy = tariff.energy
    if energy is None:
        return None, None, None
    kwh = energy.watts * energy.pue * workers * elapsed / JOULES_PER_KWH
    cost = None if energy.per_kwh is None else kwh * energy.per_kwh
    return kwh, cost, None if energy.grams_co2_per_kwh is None else kwh * energy.grams_co2_per_kwh


def _check(workers: int, seconds: float, jobs: int) -> None:
    faults = []
    if isinstance(workers, bool) or workers != int(workers) or workers < 1:
        faults.append(Fault("workers are a whole number from 1", where="workers", seen=f"{workers}"))
    if not (math.isfinite(seconds) and seconds >= 0):
        faults.append(Fault("a time is a number of seconds from 0", where="seconds", seen=f"{seconds:g}"))
    if isinstance(jobs, bool) or jobs != int(jobs) or jobs < 1:
        faults.append(Fault("jobs are a whole number from 1", where="jobs", seen=f"{jobs}"))
    if faults:
        raise InputError(faults)
