"""The one place where time becomes money: price per worker-hour, times workers, times hours."""

from __future__ import annotations

from dataclasses import dataclass

from scalecurve.errors import Fault, InputError

SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True)
class Money:
    amount: float
    currency: str = "USD"


def price_of(per_worker_hour: float, *, workers: float, seconds: float, currency: str = "USD") -> Money:
    """Amount = price per worker-hour * workers * seconds / 3600, in the price's own currency."""
    if per_worker_hour < 0 or workers < 0 or seconds < 0:
        seen = f"{per_worker_hour} per hour, {workers} workers, {seconds} s"
        raise InputError(Fault("price, workers and time cannot be negative", seen=seen))
    return Money(per_worker_hour * workers * seconds / SECONDS_PER_HOUR, currency)
