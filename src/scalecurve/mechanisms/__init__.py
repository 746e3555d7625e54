"""Where the constants of the laws come from: networks, rooflines, task graphs, stragglers, latencies.

The verbs and nouns below are loaded when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalecurve.lazy import lazy_names

if TYPE_CHECKING:
    from scalecurve.mechanisms.collectives import CollectiveCost, StepCost, collective_cost, training_step_cost
    from scalecurve.mechanisms.latencies import LatencySummaries, LatencySummary, summarise_latencies
    from scalecurve.mechanisms.load import LoadCurve, ReplicaPlan, load_curve, replicas_needed
    from scalecurve.mechanisms.network_fit import FittedNetwork, FittedNetworks, fit_collectives, fit_sweep, save_sweep
    from scalecurve.mechanisms.roofline import Roofline, place_kernels
    from scalecurve.mechanisms.stragglers import StragglerCost, straggler_cost
    from scalecurve.mechanisms.tails import Tails, tail_latency
    from scalecurve.mechanisms.workdepth import TaskRecorder, WorkDepth, work_depth

__all__ = [
    "CollectiveCost",
    "FittedNetwork",
    "FittedNetworks",
    "LatencySummaries",
    "LatencySummary",
    "LoadCurve",
    "ReplicaPlan",
    "Roofline",
    "StepCost",
    "StragglerCost",
    "Tails",
    "TaskRecorder",
    "WorkDepth",
    "collective_cost",
    "fit_collectives",
    "fit_sweep",
    "load_curve",
    "place_kernels",
    "replicas_needed",
    "save_sweep",
    "straggler_cost",
    "summarise_latencies",
    "tail_latency",
    "training_step_cost",
    "work_depth",
]

if not TYPE_CHECKING:  # hidden from type checkers, so that they report a misspelt name
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "collectives": "CollectiveCost StepCost collective_cost training_step_cost",
            "latencies": "LatencySummaries LatencySummary summarise_latencies",
            "load": "LoadCurve ReplicaPlan load_curve replicas_needed",
            "network_fit": "FittedNetwork FittedNetworks fit_collectives fit_sweep save_sweep",
            "roofline": "Roofline place_kernels",
            "stragglers": "StragglerCost straggler_cost",
            "tails": "Tails tail_latency",
            "workdepth": "TaskRecorder WorkDepth work_depth",
        },
    )
