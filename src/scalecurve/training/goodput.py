"""What of the time is left at scale: failures, checkpoints and stragglers, each a factor that can be switched off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from scalecurve.errors import Fault, InputError

DEVICE_HOURS = 50_000.0  # Llama 3 405B: 419 unexpected stops in 54 days of 16,384 GPUs are one per 50,700 GPU-hours


@dataclass(frozen=True, kw_only=True)
class Reliability:
    """`device_hours` is the mean time between failures of one accelerator with its share of the node; None of a field
    switches that factor off."""

    device_hours: float | None = DEVICE_HOURS
    checkpoint_seconds: float = 60.0
    restart_seconds: float = 600.0
    step_spread: float | None = 0.01  # standard deviation of one accelerator's step, relative

    def __post_init__(self) -> None:
        sizes = (self.device_hours, self.checkpoint_seconds, self.restart_seconds, self.step_spread)
        if any(value is not None and value < 0 for value in sizes) or self.device_hours == 0:
            raise InputError(Fault("times between failures, checkpoints and restarts cannot be negative or zero"))


@dataclass(frozen=True)
class Goodput:
    """Shares of the time that remain: their product is what counts."""

    failures: float
    checkpoints: float
    stragglers: float
    checkpoint_interval: float | None

    @property
    def factor(self) -> float:
        return self.failures * self.checkpoints * self.stragglers

    def to_dict(self) -> dict[str, Any]:
        return {
            "factor": self.factor, "failures": self.failures, "checkpoints": self.checkpoints,
            "stragglers": self.stragglers, "checkpoint_interval_seconds": self.checkpoint_interval,
        }  # fmt: skip


def young_daly(checkpoint_seconds: float, mean_seconds: float) -> float:
    """The interval that loses least: sqrt(2 C M) - C for C < M/2 (Young 1974; Daly 2006), else M."""
    if checkpoint_seconds < mean_seconds / 2.0:
        return float(np.sqrt(2.0 * checkpoint_seconds * mean_seconds)) - checkpoint_seconds
    return mean_seconds


def goodput(gpus: int, reliability: Reliability) -> Goodput:
    """With failures every M = MTBF/P seconds, a checkpoint of C every t: lost C/(t+C), and (t/2 + restart)/M."""
    slow = expected_slowest(gpus, reliability.step_spread)
    if reliability.device_hours is None:
        return Goodput(1.0, 1.0, 1.0 / slow, None)
    mean = reliability.device_hours * 3600.0 / gpus
    interval = max(young_daly(reliability.checkpoint_seconds, mean), 1.0)
    writing = reliability.checkpoint_seconds / (interval + reliability.checkpoint_seconds)
    lost = min((interval / 2.0 + reliability.restart_seconds) / mean, 1.0)
    return Goodput(max(1.0 - lost, 0.0), 1.0 - writing, 1.0 / slow, interval)


def expected_slowest(gpus: int, spread: float | None) -> float:
    """Mean of the slowest of P normal steps over the mean: 1 + spread * E[max], Blom's approximation of E[max]
    (within 0.7 % for P from 8)."""
    if not spread or gpus < 2:
        return 1.0
    from scipy.special import ndtri

    return 1.0 + spread * float(ndtri((gpus - 0.375) / (gpus + 0.25)))
