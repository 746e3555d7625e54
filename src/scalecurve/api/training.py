"""Verbs of the training planner."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalecurve.errors import Fault, InputError

if TYPE_CHECKING:
    from scalecurve.training.answers.evaluation import Evaluation
    from scalecurve.training.answers.explain import Explanation
    from scalecurve.training.answers.plan import Plan


def plan_training(model: Any, cluster: Any, **settings: Any) -> Plan:
    """The best split of a model at each P; settings as in `scalecurve.training.plan_training`."""
    from scalecurve.training.answers.plan import plan_training as verb

    return verb(model, cluster, **settings)


def evaluate_training(**job: Any) -> Evaluation:
    """One layout; arguments as in `scalecurve.training.evaluate_layout`."""
    from scalecurve.training.answers.evaluation import evaluate_layout

    return evaluate_layout(**job)


def plan(file: str | Path | None = None, **options: Any) -> Plan | Evaluation | Explanation:
    """What a plan.toml and options ask for: a sweep, one layout, or an explanation of one P."""
    from scalecurve.training.answers.plan import plan as verb
    from scalecurve.training.inputs.request import read_request

    return verb(read_request(options, file=file))


def plot_plan(plan: Any, path: str | Path) -> None:
    """Draw a sweep."""
    from scalecurve.render.plots import plot
    from scalecurve.training.plan import Plan as Sweep

    if not isinstance(plan, Sweep):
        raise InputError(Fault("only a sweep over P can be drawn", remedy="leave out --layout and --explain"))
    plot(plan, path)
