"""Training of large models on P accelerators: plan a run, evaluate one layout, explain a step, calibrate on own runs.

inputs: what a user says.  physics: seconds and bytes.  search: every layout.  answers: what a user sees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scalecurve.training.answers.evaluation import evaluate_layout as evaluate_layout
    from scalecurve.training.answers.explain import explain as explain
    from scalecurve.training.answers.measured import calibrate as calibrate
    from scalecurve.training.answers.plan import plan_training as plan_training
    from scalecurve.training.inputs.request import plan_template as plan_template

_HOMES = {
    "calibrate": "scalecurve.training.answers.measured",
    "evaluate_layout": "scalecurve.training.answers.evaluation",
    "explain": "scalecurve.training.answers.explain",
    "plan_template": "scalecurve.training.inputs.request",
    "plan_training": "scalecurve.training.answers.plan",
}
__all__ = ["calibrate", "evaluate_layout", "explain", "plan_template", "plan_training"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
