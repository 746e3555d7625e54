"""The verbs, each a few lines: the joint between the edges (command line, page, notebooks) and the core."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from scalecurve.errors import Fault, InputError

if TYPE_CHECKING:
    from scalecurve.analysis import SpeedupTable
    from scalecurve.fitting.fits import Fits
    from scalecurve.forecasting.forecast import Forecast
    from scalecurve.forecasting.standing import Standing
    from scalecurve.laws import Law
    from scalecurve.laws.tables import LawTable
    from scalecurve.measurement.outlook import Outlook
    from scalecurve.measurement.readiness import Readiness
    from scalecurve.measurement.sweep import Listener
    from scalecurve.planning.next_runs import NextRuns
    from scalecurve.study import Study
    from scalecurve.training.evaluate import Evaluation
    from scalecurve.training.explain import Explanation
    from scalecurve.training.plan import Plan


def load(
    source: str | Path,
    *,
    regime: str | None = None,
    quantity: str | None = None,
    k_column: str | None = None,
    value_column: str | None = None,
    k_unit: str | None = None,
    baseline_k: int | None = None,
    node_size: int | None = None,
) -> Study:
    """A study from a study file or a plain table; a table needs its regime stated."""
    from scalecurve.formats import load_study

    return load_study(
        source,
        regime=regime,
        quantity=quantity,
        k_column=k_column,
        value_column=value_column,
        k_unit=k_unit,
        baseline_k=baseline_k,
        node_size=node_size,
    )


def save(study: Study, path: str | Path) -> None:
    """Write a study file, atomically."""
    from scalecurve.study.file import write_study

    write_study(study, Path(path))


def tabulate(study: Study, **settings: Any) -> SpeedupTable:
    """T, S and E with intervals, and the bend; settings as in `scalecurve.analysis.tabulate`."""
    from scalecurve.analysis import tabulate as verb

    return verb(study, **settings)


def law(name: str) -> Law:
    """A law in closed form: `law("amdahl").speedup(64, serial=0.05)`."""
    from scalecurve.laws import law as verb

    return verb(name)


def tabulate_law(name: str, workers: Sequence[int], **given: Any) -> LawTable:
    """A law's rows and answers: `tabulate_law("amdahl", [1, 2, 4], serial=[0.05], below=0.5)`."""
    from scalecurve.errors import Fault, InputError
    from scalecurve.laws.answers import TABULATE

    if name not in TABULATE:
        raise InputError(Fault("unknown law", seen=name, remedy=f"one of {', '.join(TABULATE)}"))
    table: LawTable = TABULATE[name](workers, **given)
    return table


def fit(study: Study, **settings: Any) -> Fits:
    """Laws ranked by predictive density; `.best` raises Undecided where they tie: `fit(study, law="usl")`."""
    from scalecurve.fitting.fit import fit as verb

    return verb(study, **settings)


@overload
def forecast(study: Study, at: Sequence[int] | None = None, **settings: Any) -> Forecast: ...
@overload
def forecast(study: Sequence[Study], at: Sequence[int] | None = None, **settings: Any) -> list[Forecast]: ...
def forecast(
    study: Study | Sequence[Study], at: Sequence[int] | None = None, **settings: Any
) -> Forecast | list[Forecast]:
    """T (or throughput), S and E at other K, for one study or many: `forecast(study, at=[128, 256], level=0.9)`."""
    from scalecurve.forecasting.forecast import forecast_all
    from scalecurve.study import Study

    made = forecast_all([study] if isinstance(study, Study) else study, at, **settings)
    return made[0] if isinstance(study, Study) else made


def next_runs(study: Study, *, budget: float | str | None = None, **settings: Any) -> NextRuns:
    """Which K to measure next within a budget: `next_runs(study, budget="8 gpu-hours", target=256)`."""
    from scalecurve.planning.budget import parse_worker_seconds
    from scalecurve.planning.next_runs import next_runs as verb

    return verb(study, budget=parse_worker_seconds(budget) if isinstance(budget, str) else budget, **settings)


def stand(study: Study, domain: str | None = None) -> Standing | None:
    """A study's efficiency among published curves of its kind, at 2, 4, 8 ... times its smallest K."""
    from scalecurve.forecasting.standing import stand as verb

    return verb(study, domain)


def plot(result: Any, path: str | Path) -> None:
    """Draw a result; the ending of the path (.svg .png .pdf) says how."""
    from scalecurve.render.plots import draw

    draw(result, Path(path))


def measure(
    file: str | Path | None = None,
    *,
    resume: bool = False,
    force: bool = False,
    listener: Listener | None = None,
    **settings: Any,
) -> Study:
    """Run a scaling study: settings from a TOML file, keywords (`regime=`, `workers=`, `command=` ...), or both."""
    from scalecurve.measurement.entry import run_measurement

    heard = listener or (lambda _: None)
    return run_measurement(Path(file) if file else None, settings, resume=resume, force=force, listener=heard)


def doctor(*, seconds: float = 2.0) -> Readiness:
    """Which launchers can be used here, what the others lack, and the noise floor of this machine."""
    from scalecurve.measurement.readiness import examine
    from scalecurve.measurement.system import real_world

    return examine(real_world(), seconds=seconds)


def look_ahead(file: str | Path | None = None, **settings: Any) -> Outlook:
    """What `measure` would do with these settings: runs, order, wall time, cost, launches needed.  Starts nothing."""
    from scalecurve.measurement.entry import run_outlook

    return run_outlook(Path(file) if file else None, settings)


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
    from scalecurve.render.plan_plot import draw_plan
    from scalecurve.training.plan import Plan as Sweep

    if not isinstance(plan, Sweep):
        raise InputError(Fault("only a sweep over P can be drawn", remedy="leave out --layout and --explain"))
    draw_plan(plan, Path(path))
