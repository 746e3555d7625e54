"""What a rental costs.  Study, forecast, law, plan and explorer all come through here.

    cost = units x price x billed hours + energy,     billed = set-up + time (+ lost work), at least the minimum

With a plain price per worker-hour this is cost(K) = K p T(K), so that cost(K)/cost(1) = 1/E(K).

Interruptions: a job of T seconds writes a checkpoint every tau seconds, which takes C; interruptions come at rate L
(all units together) and each costs the work since the last checkpoint and R seconds to restart.  Expected time:

    T_elapsed = (T/tau) exp(L R) (exp(L (tau + C)) - 1)/L,        L -> 0:  T (1 + C/tau)

Without checkpoints tau = T and C = 0: everything since the start is lost.
Source: J. T. Daly, A higher order estimate of the optimum checkpoint interval for restart dumps, Future Generation
Computer Systems 22, 2006 (the complete model, for interruptions that are independent of time).
Worked number: T = 10 h, one loss in 10 h, no checkpoint, R = 0: 10 (e - 1) = 17.2 h.
Limits: losses are independent of one another; spot markets also take many machines back at once.

Many jobs: with J jobs, a fleet of N and K workers each, lanes = N // K jobs run at a time in ceil(J / lanes) waves:

    time = waves x T(K),      cost = J x K p T(K)

so packing changes the time and not the cost per result.  Workers that no lane uses are not paid for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scalecurve.errors import Fault, InputError, Refused
from scalecurve.planning.tariff import Tariff

HOUR = 3600.0
JOULES_PER_KWH = 3.6e6
ROUNDING = 1e-9  # so that 2.0000000001 billing steps are two
LARGEST_EXPONENT = 700.0


@dataclass(frozen=True, kw_only=True)
class Bill:
    """The parts of one rental's cost, in `currency`; None where the tariff does not say."""

    units: int
    jobs: int
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


def price_job(tariff: Tariff, *, workers: int, seconds: float, jobs: int = 1) -> Bill:
    """The bill of one rental of `workers` that runs `jobs` jobs of `seconds` each, one after another."""
    faults = []
    if not (math.isfinite(seconds) and seconds >= 0):
        faults.append(Fault("a time is a number of seconds from 0", where="seconds", value=f"{seconds:g}"))
    for name, count in (("workers", workers), ("jobs", jobs)):
        if isinstance(count, bool) or count != int(count) or count < 1:
            faults.append(Fault(f"{name} are a whole number from 1", where=name, value=f"{count}"))
    if faults:
        raise InputError(faults)
    units = tariff.units(workers)
    elapsed = elapsed_seconds(tariff, workers=workers, seconds=seconds, jobs=jobs)
    billed = max(elapsed, tariff.minimum_seconds or 0.0)
    if tariff.step_seconds:
        billed = math.ceil(billed / tariff.step_seconds - ROUNDING) * tariff.step_seconds
    reserved = tariff.reserved_units(units)
    machines = (units - reserved) * (tariff.spot.per_hour if tariff.spot is not None else tariff.per_hour)
    reserved_idle = 0.0
    if tariff.reserved is not None:
        machines += reserved * tariff.reserved.per_hour
        reserved_idle = (tariff.reserved.units - reserved) * tariff.reserved.per_hour
    power, kwh, energy, grams = tariff.energy, None, None, None
    if power is not None:
        kwh = power.watts * power.pue * workers * elapsed / JOULES_PER_KWH
        energy = None if power.per_kwh is None else kwh * power.per_kwh
        grams = None if power.grams_co2_per_kwh is None else kwh * power.grams_co2_per_kwh
    return Bill(
        units=units,
        jobs=jobs,
        elapsed_seconds=elapsed,
        billed_seconds=billed,
        machines=machines * billed / HOUR,
        reserved_idle=reserved_idle * billed / HOUR,
        energy_kwh=kwh,
        energy=energy,
        co2_grams=grams,
        currency=tariff.currency,
    )


def price_of(per_worker_hour: float, *, workers: int, seconds: float) -> float:
    """The plain case: a price per worker-hour without conditions."""
    return price_job(Tariff(per_hour=per_worker_hour), workers=workers, seconds=seconds).total


def elapsed_seconds(tariff: Tariff, *, workers: int, seconds: float, jobs: int = 1) -> float:
    """Seconds from the start of the rental to the last result: set-up, the work, and what interruptions take."""
    setup, spot = tariff.setup_seconds or 0.0, tariff.spot
    if spot is None:
        return setup + jobs * seconds
    units = tariff.units(workers) - tariff.reserved_units(tariff.units(workers))
    rate = spot.interruptions_per_hour * units / HOUR
    every = spot.checkpoint_every
    if every is None and spot.checkpoint_seconds and rate > 0:
        every = young_interval(spot.checkpoint_seconds, rate)
    one = expected_elapsed(
        seconds,
        rate,
        checkpoint_every=every,
        checkpoint_seconds=spot.checkpoint_seconds or 0.0,
        restart_seconds=setup if spot.restart_seconds is None else spot.restart_seconds,
    )
    if one is None:
        hint = "write checkpoints (checkpoint every ...), use fewer units or pay for on-demand ones"
        problem = f"interruptions come so often that a job of {seconds:g} s on {units} spot units would never finish"
        raise Refused(f"{problem}; {hint}")
    return setup + jobs * one


def expected_elapsed(
    seconds: float,
    rate_per_second: float,
    *,
    checkpoint_every: float | None = None,
    checkpoint_seconds: float = 0.0,
    restart_seconds: float = 0.0,
) -> float | None:
    """Expected seconds until the job is done under interruptions; None where it would in practice never finish."""
    every, written = seconds, 0.0
    if checkpoint_every is not None and checkpoint_every < seconds:
        every, written = checkpoint_every, checkpoint_seconds
    if rate_per_second == 0 or seconds == 0:
        return seconds * (1.0 + written / every) if seconds else 0.0
    exponent = rate_per_second * (every + written)
    if exponent > LARGEST_EXPONENT or rate_per_second * restart_seconds > LARGEST_EXPONENT:
        return None
    tries = math.expm1(exponent) / rate_per_second
    elapsed = seconds / every * math.exp(rate_per_second * restart_seconds) * tries
    return elapsed if math.isfinite(elapsed) else None


def young_interval(checkpoint_seconds: float, rate_per_second: float) -> float:
    """The checkpoint interval in seconds that loses least, sqrt(2 C/L), for C well below 1/L (Young 1974)."""
    return math.sqrt(2.0 * checkpoint_seconds / rate_per_second)


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """How many jobs, into how many workers they are packed (None: one after another on K), and how they rent.

    `one_rental`: the machines are kept from job to job, so set-up and minimum billing are paid once per lane.
    Otherwise every job is a rental of its own.
    """

    jobs: int = 1
    fleet: int | None = None
    one_rental: bool = False

    def __post_init__(self) -> None:
        faults = []
        if self.jobs < 1:
            faults.append(Fault("jobs are a whole number from 1", where="jobs", value=str(self.jobs)))
        if self.fleet is not None and self.fleet < 1:
            faults.append(Fault("a fleet holds at least one worker", where="fleet", value=str(self.fleet)))
        if faults:
            raise InputError(faults)

    def lanes(self, k: int) -> int:
        return 1 if self.fleet is None else min(self.jobs, max(1, self.fleet // k))

    def waves(self, k: int) -> int:
        return -(-self.jobs // self.lanes(k))

    def full_lanes(self, k: int) -> int:
        """Lanes that run a job in the last wave too: the ones that finish last."""
        return self.jobs - self.lanes(k) * (self.waves(k) - 1)

    def elapsed(self, tariff: Tariff, k: int, seconds: float) -> float:
        """Seconds from the first start to the last result."""
        waves = self.waves(k)
        if self.one_rental:
            return elapsed_seconds(tariff, workers=k, seconds=seconds, jobs=waves)
        return waves * elapsed_seconds(tariff, workers=k, seconds=seconds)

    def bills(self, tariff: Tariff, k: int, seconds: float) -> list[tuple[int, Bill]]:
        """The bills of all rentals, each with how often it occurs."""
        if not self.one_rental:
            return [(self.jobs, price_job(tariff, workers=k, seconds=seconds))]
        full, waves = self.full_lanes(k), self.waves(k)
        bills = [(full, price_job(tariff, workers=k, seconds=seconds, jobs=waves))]
        rest = self.lanes(k) - full
        if rest and waves > 1:
            bills.append((rest, price_job(tariff, workers=k, seconds=seconds, jobs=waves - 1)))
        return bills

    def total(self, tariff: Tariff, k: int, seconds: float) -> float:
        """What all jobs cost together."""
        return sum(times * bill.total for times, bill in self.bills(tariff, k, seconds))

    def per_job(self, tariff: Tariff, k: int, seconds: float) -> float:
        """What one result costs: a rental of its own, or its share of the campaign's."""
        if self.one_rental:
            return self.total(tariff, k, seconds) / self.jobs
        return price_job(tariff, workers=k, seconds=seconds).total
