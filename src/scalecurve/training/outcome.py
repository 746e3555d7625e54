"""One configuration, evaluated: step time with interval, where it goes, throughput, use of the hardware, memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from scalecurve.estimate import Estimate
from scalecurve.training.calibration import Calibration
from scalecurve.training.evaluation import Job, grid_of_job
from scalecurve.training.layout import RECOMPUTE, Layout
from scalecurve.training.machines import resolve
from scalecurve.training.memory import USABLE, Memory, memory
from scalecurve.training.steptime import StepTime, step_time, terms

LEVEL = 0.9


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Seconds, bytes, tokens and dollars of one step of one job."""

    job: Job
    calibration: Calibration
    breakdown: dict[str, float]
    memory: dict[str, float]
    mfu: float
    hfu: float

    @property
    def layout(self) -> Layout:
        return self.job.layout

    @property
    def gpus(self) -> int:
        return self.layout.gpus

    @property
    def seconds(self) -> float:
        return sum(self.breakdown.values())

    @property
    def step(self) -> Estimate:
        spread = float(np.exp(self.calibration.half_width))
        value = self.seconds
        return Estimate(value, value / spread, value * spread, LEVEL, f"residuals of {self.calibration.evidence} rows")

    @property
    def tokens(self) -> int:
        return self.layout.sequences * self.job.seq

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds

    @property
    def memory_bytes(self) -> float:
        return sum(self.memory.values())

    @property
    def fits(self) -> bool:
        return self.memory_bytes <= self.job.cluster.accelerator.capacity

    @property
    def tight(self) -> bool:
        """It fits, but only in the memory that a plan leaves to fragmentation."""
        return self.fits and self.memory_bytes > USABLE * self.job.cluster.accelerator.capacity

    @property
    def compute_seconds(self) -> float:
        """What is not communication, bubble or waiting: products, attention, recomputation, optimiser."""
        return sum(self.breakdown[name] for name in ("compute", "recompute", "optimizer"))

    @property
    def comm_frac(self) -> float:
        """Exposed communication and bubble over compute, so that efficiency is 1 / (1 + comm_frac)."""
        return (self.seconds - self.compute_seconds) / self.compute_seconds

    @property
    def efficiency(self) -> float:
        return 1.0 / (1.0 + self.comm_frac)

    @property
    def usd_per_billion_tokens(self) -> float | None:
        from scalecurve.planning.pricing import price_of

        hourly = self.job.cluster.usd_per_gpu_hour
        if hourly is None:
            return None
        return price_of(hourly, workers=self.gpus, seconds=1e9 / self.tokens_per_second).amount

    def to_dict(self) -> dict[str, Any]:
        step = self.step
        return {
            "gpus": self.gpus,
            "layout": self.layout.to_dict(),
            "global_batch_sequences": self.layout.sequences,
            "global_batch_tokens": self.tokens,
            "step_seconds": step.value,
            "step_low": step.low,
            "step_high": step.high,
            "level": LEVEL,
            "breakdown": self.breakdown,
            "comm_frac": self.comm_frac,
            "comm_share": 1.0 - self.efficiency,
            "efficiency": self.efficiency,
            "mfu": self.mfu,
            "hfu": self.hfu,
            "model_tflops_per_gpu": self.mfu * self.peak / 1e12,
            "memory_bytes": self.memory_bytes,
            "memory": self.memory,
            "memory_capacity": self.job.cluster.accelerator.capacity,
            "fits": self.fits,
            "tokens_per_second": self.tokens_per_second,
            "tokens_per_second_per_gpu": self.tokens_per_second / self.gpus,
            "usd_per_billion_tokens": self.usd_per_billion_tokens,
            "evidence": self.calibration.evidence,
        }

    @property
    def peak(self) -> float:
        return peak_of(self.job)


def peak_of(job: Job) -> float:
    """FLOP/s that MFU is measured against: the peak of the precision the products run in."""
    chip = job.cluster.accelerator
    return chip.fp8_peak if job.precision == "fp8" and chip.fp8_peak else chip.peak


def evaluate_job(job: Job, calibration: Calibration) -> Outcome:
    """One configuration through the physics."""
    machine = resolve(job.cluster, job.stack, calibration.constants, job.precision)
    shape, grid = job.model.shape(job.seq), grid_of_job(job)
    time, held = step_time(machine, shape, grid), memory(machine, shape, grid)
    flop = float(shape.flop_per_token) * job.layout.sequences * job.seq
    seconds = float(time.total)
    mfu = flop / (seconds * job.layout.gpus * peak_of(job))
    full = RECOMPUTE[job.layout.recompute] == RECOMPUTE["full"]
    return Outcome(
        job=job,
        calibration=calibration,
        breakdown=_named(time),
        memory={name: float(getattr(held, name)) for name in Memory.__dataclass_fields__},
        mfu=mfu,
        hfu=mfu * (4.0 / 3.0 if full else 1.0),
    )


def _named(time: StepTime) -> dict[str, float]:
    return {name: float(getattr(time, name)) for name in terms()}
