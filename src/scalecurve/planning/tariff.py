"""What machines cost: the price of an hour and the conditions that come with it."""

from __future__ import annotations

import math
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
        spot, reserved, energy = self.spot, self.reserved, self.energy
        price, duration = "a price per hour from 0 up", "a duration"
        amounts: list[tuple[str, float | None, str]] = [
            ("price", self.per_hour, price),
            ("minimum billing", self.minimum_seconds, duration),
            ("billing step", self.step_seconds, duration),
            ("set-up", self.setup_seconds, duration),
        ]
        limits = [
            ("node size", self.workers_per_unit >= 1, f"{self.workers_per_unit}", "a unit holds at least one worker")
        ]
        if spot is not None:
            rate, every = spot.interruptions_per_hour, spot.checkpoint_every
            amounts += [("spot price", spot.per_hour, price), ("interruptions", rate, "lost units per unit and hour")]
            amounts += [
                ("checkpoint time", spot.checkpoint_seconds, duration),
                ("restart", spot.restart_seconds, duration),
            ]
            limits += [
                ("interruptions", rate <= MOST_INTERRUPTIONS, f"{rate:g}", "the rate is per unit and hour, like 0.05")
            ]
            limits += [
                ("checkpoint every", every is None or every > 0, f"{every}", "checkpoints need an interval above 0")
            ]
        if reserved is not None:
            amounts.append(("reserved price", reserved.per_hour, price))
            limits.append(("reserved", reserved.units >= 1, f"{reserved.units}", "reserve at least one unit"))
        if energy is not None:
            amounts += [("watts", energy.watts, "watts of one worker"), ("price per kWh", energy.per_kwh, price)]
            amounts.append(("gCO2 per kWh", energy.grams_co2_per_kwh, "grams from 0 up"))
            limits.append(("pue", energy.pue >= 1, f"{energy.pue:g}", "a PUE is total power over IT power, at least 1"))
        faults = [
            Fault("must be a number from 0 up", where=where, value=f"{value:g}", remedy=remedy)
            for where, value, remedy in amounts
            if value is not None and not (math.isfinite(value) and value >= 0)
        ]
        faults += [Fault(rule, where=where, value=value) for where, holds, value, rule in limits if not holds]
        if faults:
            raise InputError(faults, subject="price")

    def units(self, workers: int) -> int:
        """How many units must be rented to have that many workers."""
        return -(-workers // self.workers_per_unit)

    def reserved_units(self, units: int) -> int:
        """How many of the rented units are reserved ones."""
        return 0 if self.reserved is None else min(units, self.reserved.units)

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
