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
    "Undecided": "scalecurve.errors",
    "doctor": "scalecurve.api",
    "evaluate_training": "scalecurve.api",
    "fit": "scalecurve.api",
    "forecast": "scalecurve.api",
    "law": "scalecurve.api",
    "load": "scalecurve.api",
    "look_ahead": "scalecurve.api",
    "measure": "scalecurve.api",
    "next_runs": "scalecurve.api",
    "plan": "scalecurve.api",
    "plan_training": "scalecurve.api",
    "plot": "scalecurve.api",
    "save": "scalecurve.api",
    "stand": "scalecurve.api",
    "tabulate": "scalecurve.api",
    "tabulate_law": "scalecurve.api",
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
