"""Scalecurve: how far does adding machines get you, why does it stop, and what does it cost?

Names are loaded when first used, so that `import scalecurve` and `from scalecurve import probe` stay light.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "Estimate": "scalecurve.estimate",
    "Finding": "scalecurve.findings",
    "InputError": "scalecurve.errors",
    "MissingExtra": "scalecurve.errors",
    "Quantity": "scalecurve.study",
    "Refused": "scalecurve.errors",
    "Regime": "scalecurve.study",
    "Run": "scalecurve.study",
    "ScalecurveError": "scalecurve.errors",
    "Study": "scalecurve.study",
    "Tariff": "scalecurve.planning.tariff",
    "TaskGraph": "scalecurve.study.task_graph",
    "TaskRecorder": "scalecurve.mechanisms.recorder",
    "Undecided": "scalecurve.errors",
    "assess": "scalecurve.api",
    "audit": "scalecurve.api",
    "check": "scalecurve.api",
    "compare": "scalecurve.api",
    "compare_scaleup": "scalecurve.api",
    "cost": "scalecurve.api",
    "cost_collective": "scalecurve.api",
    "cost_stragglers": "scalecurve.api",
    "cost_training_step": "scalecurve.api",
    "curve_of_load": "scalecurve.api",
    "diagnose": "scalecurve.api",
    "doctor": "scalecurve.api",
    "evaluate_training": "scalecurve.api",
    "examine_tails": "scalecurve.api",
    "export": "scalecurve.api",
    "export_formats": "scalecurve.api",
    "fit": "scalecurve.api",
    "fit_collectives": "scalecurve.api",
    "fit_sweep": "scalecurve.api",
    "forecast": "scalecurve.api",
    "import_results": "scalecurve.api",
    "law": "scalecurve.api",
    "load": "scalecurve.api",
    "load_claim": "scalecurve.api",
    "look_ahead": "scalecurve.api",
    "measure": "scalecurve.api",
    "measure_collectives": "scalecurve.api",
    "measure_load": "scalecurve.api",
    "measure_parallelism": "scalecurve.api",
    "measure_roofline": "scalecurve.api",
    "merge": "scalecurve.api",
    "next_runs": "scalecurve.api",
    "place_kernels": "scalecurve.api",
    "place_torch_model": "scalecurve.api",
    "plan": "scalecurve.api",
    "plan_replicas": "scalecurve.api",
    "plan_training": "scalecurve.api",
    "plot": "scalecurve.api",
    "regime": "scalecurve.api",
    "save": "scalecurve.api",
    "save_sweep": "scalecurve.api",
    "stand": "scalecurve.api",
    "summarise_latencies": "scalecurve.api",
    "tabulate": "scalecurve.api",
    "tabulate_law": "scalecurve.api",
    "write_report": "scalecurve.api",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'scalecurve' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
