"""The former names of the verbs in `scalecurve.laws` and `scalecurve.mechanisms`, and those that measure."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scalecurve.measurement.calibration.roofline import MeasuredCeilings
    from scalecurve.mechanisms import LoadCurve, Roofline
    from scalecurve.study.message_sweep import MessageSweep

FORMER = {
    "cost_collective": "mechanisms.collective_cost",
    "cost_stragglers": "mechanisms.straggler_cost",
    "cost_training_step": "mechanisms.training_step_cost",
    "curve_of_load": "mechanisms.load_curve",
    "examine_tails": "mechanisms.tail_latency",
    "fit_collectives": "mechanisms.fit_collectives",
    "fit_sweep": "mechanisms.fit_sweep",
    "law": "laws.law",
    "measure_parallelism": "mechanisms.work_depth",
    "place_kernels": "mechanisms.place_kernels",
    "plan_replicas": "mechanisms.replicas_needed",
    "save_sweep": "mechanisms.save_sweep",
    "summarise_latencies": "mechanisms.summarise_latencies",
    "tabulate_law": "laws.law_table",
}


def __getattr__(name: str) -> Any:
    if name not in FORMER:
        raise AttributeError(f"module 'scalecurve.api.mechanisms' has no attribute {name!r}")
    package, _, verb = FORMER[name].partition(".")
    return getattr(import_module(f"scalecurve.{package}"), verb)


def measure_collectives(**plan: Any) -> MessageSweep:
    """Time real collectives on this machine; settings as in `measurement.measure_collectives`."""
    from scalecurve.measurement.calibration.collectives import measure_collectives as verb

    return verb(**plan)


def measure_load(
    url: str, *, rates: Sequence[float], seconds: float = 10.0, slo: float | None = None, slo_share: float = 0.99
) -> LoadCurve:
    """Drive an open-loop load at stepped rates against an address."""
    from scalecurve.measurement.calibration.load import measure_load as verb
    from scalecurve.mechanisms import load_curve

    return load_curve(verb(url, rates, seconds=seconds), slo=slo, slo_share=slo_share)


def measure_roofline(threads: Sequence[int] = (1,), *, size: int = 1500) -> MeasuredCeilings:
    """This machine's ceilings by number of threads."""
    from scalecurve.measurement.calibration.roofline import measure_roofline as verb

    return verb(threads, size=size)


def place_torch_model(
    model: str, shape: Sequence[int], *, machine: str, precision: str = "fp32", level: str = "memory"
) -> Roofline:
    """A torch model's operators under a machine's roof, counted in one forward pass."""
    from scalecurve.measurement.calibration.torch_counts import count_model
    from scalecurve.mechanisms import place_kernels

    return place_kernels(count_model(model, tuple(shape)), machine=machine, precision=precision, level=level)
