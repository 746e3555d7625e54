"""Training of large models on P accelerators: plan a run, evaluate one layout, explain a step, calibrate on own runs.

inputs: what a user says.  physics: seconds and bytes.  search: every layout.  answers: what a user sees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalecurve.lazy import lazy_names

if TYPE_CHECKING:
    from scalecurve.training.answers.evaluation import evaluate_layout
    from scalecurve.training.answers.explain import explain
    from scalecurve.training.answers.measured import calibrate
    from scalecurve.training.answers.plan import plan_training
    from scalecurve.training.inputs.request import plan_template

__all__ = ["calibrate", "evaluate_layout", "explain", "plan_template", "plan_training"]

if not TYPE_CHECKING:  # hidden from type checkers, so that they report a misspelt name
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "answers.evaluation": "evaluate_layout",
            "answers.explain": "explain",
            "answers.measured": "calibrate",
            "answers.plan": "plan_training",
            "inputs.request": "plan_template",
        },
    )
