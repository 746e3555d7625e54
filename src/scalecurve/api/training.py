"""Verbs of the training planner."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalecurve.errors import Fault, InputError

if TYPE_CHECKING:
    from scalecurve.training.cluster import Cluster
    from scalecurve.training.evaluate import Evaluation
    from scalecurve.training.explain import Explanation
    from scalecurve.training.plan import Plan
    from scalecurve.training.quick import QuickSweep
    from scalecurve.training.transformer import Transformer


def sweep_training(model: Transformer, cluster: Cluster, *, stack: str = "megatron-core", **given: Any) -> QuickSweep:
    """The best split of a dense model at every P, quickly: for the page's sliders."""
    from scalecurve.training.presets import stack as named
    from scalecurve.training.quick import quick_sweep

    return quick_sweep(model, cluster, named(stack), **given)


def plan_training(model: Any, cluster: Any, *, gpus: Sequence[int], **settings: Any) -> Plan:
    """The best split of a model at each P; settings as in `scalecurve.training.planner.plan_training`."""
    from scalecurve.training.planner import plan_training as verb

    return verb(model, cluster, gpus=gpus, **settings)


def evaluate_training(**job: Any) -> Evaluation:
    """One given layout; arguments as in `scalecurve.training.evaluate.evaluate_training`."""
    from scalecurve.training.evaluate import evaluate_training as verb

    return verb(**job)


def plan(file: str | Path | None = None, **given: Any) -> Plan | Evaluation | Explanation:
    """What a plan.toml and options ask for: a sweep, a given layout, or an explanation of one P."""
    from scalecurve.training.request import answer, read_plan_file

    named = {key: value for key, value in given.items() if value is not None and value is not False}
    return answer((read_plan_file(Path(file)) if file else {}) | named)


def plot_plan(plan: Any, path: str | Path) -> None:
    """Draw a sweep."""
    from scalecurve.render.plots import plot
    from scalecurve.training.plan import Plan as Sweep

    if not isinstance(plan, Sweep):
        raise InputError(Fault("only a sweep over P can be drawn", remedy="leave out --layout and --explain"))
    plot(plan, path)
