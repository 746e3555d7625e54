"""What machines cost: the price of an hour and the conditions that come with it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from scalecurve.errors import Fault, InputError
from scalecurve.planning.currency import DEFAULT, known_currency

MOST_INTERRUPTIONS = 60.0  # per unit and hour: a machine lost every minute


@dataclass(frozen=True, kw_only=True)
class Spot:
    """Capacity that may be taken back.

    `interruptions_per_hour` is the rate at which one billed unit is lost; losing one stops the whole job, which goes
    on from its last checkpoint, or from its start where `checkpoint_every` is None.  Times are seconds.
    """

    per_hour: float
    interruptions_per_hour: float
    checkpoint_every: float | None = None
    checkpoint_seconds: float | None = None
    restart_seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class Reserved:
    """Units paid for at their own price for as long as the job lasts, whether it uses them or not."""

    units: int
    per_hour: float


@dataclass(frozen=True, kw_only=True)
class Energy:
    """Electricity, where it is paid or counted apart: watts of one worker at the plug times `pue`."""

    watts: float
    per_kwh: float | None = None
    grams_co2_per_kwh: float | None = None
    pue: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Tariff:
    """The price of one billed unit (a worker, or a node of `workers_per_unit`) per hour, and its conditions.

    Durations are seconds and None where there is no such condition.  `source` says where the price comes from.
    """

    per_hour: float
    currency: str = DEFAULT
    workers_per_unit: int = 1
    minimum_seconds: float | None = None
    step_seconds: float | None = None
    setup_seconds: float | None = None
    spot: Spot | None = None
    reserved: Reserved | None = None
    energy: Energy | None = None
    source: str = "stated"

    def __post_init__(self) -> None:
        object.__setattr__(self, "currency", known_currency(self.currency))
        faults = list(_faults(self))
        if faults:
            raise InputError(faults, subject="price")

    def units(self, workers: int) -> int:
        """How many units must be rented to have that many workers."""
        return -(-workers // self.workers_per_unit)

    def scaled(self, factor: float) -> Tariff:
        """Every price of the tariff times a factor."""
        spot = None if self.spot is None else replace(self.spot, per_hour=self.spot.per_hour * factor)
        reserved = None if self.reserved is None else replace(self.reserved, per_hour=self.reserved.per_hour * factor)
        energy = self.energy
        if energy is not None and energy.per_kwh is not None:
            energy = replace(energy, per_kwh=energy.per_kwh * factor)
        return replace(self, per_hour=self.per_hour * factor, spot=spot, reserved=reserved, energy=energy)

    def to_dict(self) -> dict[str, Any]:
        return {
            "per_hour": self.per_hour,
            "currency": self.currency,
            "workers_per_unit": self.workers_per_unit,
            "minimum_seconds": self.minimum_seconds,
            "step_seconds": self.step_seconds,
            "setup_seconds": self.setup_seconds,
            "spot": None if self.spot is None else vars(self.spot),
            "reserved": None if self.reserved is None else vars(self.reserved),
            "energy": None if self.energy is None else vars(self.energy),
            "source": self.source,
        }


def _faults(tariff: Tariff) -> Iterable[Fault]:
    yield from _negative("price", tariff.per_hour, "a price per hour from 0 up")
    yield from _negative("minimum billing", tariff.minimum_seconds, "a duration")
    yield from _negative("billing step", tariff.step_seconds, "a duration")
    yield from _negative("set-up", tariff.setup_seconds, "a duration")
    if tariff.workers_per_unit < 1:
        yield Fault("a unit holds at least one worker", where="node size", seen=str(tariff.workers_per_unit))
    yield from _spot_faults(tariff.spot)
    if tariff.reserved is not None:
        yield from _negative("reserved price", tariff.reserved.per_hour, "a price per hour from 0 up")
        if tariff.reserved.units < 1:
            yield Fault("reserve at least one unit", where="reserved", seen=str(tariff.reserved.units))
    yield from _energy_faults(tariff.energy)


def _spot_faults(spot: Spot | None) -> Iterable[Fault]:
    if spot is None:
        return
    yield from _negative("spot price", spot.per_hour, "a price per hour from 0 up")
    yield from _negative("interruptions", spot.interruptions_per_hour, "lost units per unit and hour")
    if spot.interruptions_per_hour > MOST_INTERRUPTIONS:
        hint = "the rate is per unit and hour, such as 0.05"
        yield Fault(
            "more than one loss a minute", where="interruptions", seen=f"{spot.interruptions_per_hour:g}", remedy=hint
        )
    yield from _negative("checkpoint time", spot.checkpoint_seconds, "a duration")
    yield from _negative("restart", spot.restart_seconds, "a duration")
    if spot.checkpoint_every is not None and not spot.checkpoint_every > 0:
        yield Fault("checkpoints need an interval above 0", where="checkpoint every", seen=f"{spot.checkpoint_every:g}")


def _energy_faults(energy: Energy | None) -> Iterable[Fault]:
    if energy is None:
        return
    yield from _negative("watts", energy.watts, "watts of one worker")
    yield from _negative("price per kWh", energy.per_kwh, "a price from 0 up")
    yield from _negative("gCO2 per kWh", energy.grams_co2_per_kwh, "grams from 0 up")
    if not energy.pue >= 1:
        yield Fault(
            "a PUE is at least 1", where="pue", seen=f"{energy.pue:g}", remedy="total power over IT power, 1.1 is good"
        )


def _negative(where: str, value: float | None, remedy: str) -> Iterable[Fault]:
    if value is not None and not (math.isfinite(value) and value >= 0):
        yield Fault("must be a number from 0 up", where=where, seen=f"{value:g}", remedy=remedy)
