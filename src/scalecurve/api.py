"""The verbs, each a few lines: the joint between the edges (command line, page, notebooks) and the core."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from scalecurve.analysis import SpeedupTable
    from scalecurve.fitting.fits import Fits
    from scalecurve.forecasting.forecast import Forecast
    from scalecurve.forecasting.standing import Standing
    from scalecurve.formats.imported import Imported
    from scalecurve.laws import Law
    from scalecurve.laws.tables import LawTable
    from scalecurve.measurement.outlook import Outlook
    from scalecurve.measurement.sweep import Listener
    from scalecurve.mechanisms.collective_cost import CollectiveCost, StepCost
    from scalecurve.mechanisms.fitted_network import FittedNetwork, FittedNetworks, HeldOutNetworks
    from scalecurve.planning.next_runs import NextRuns
    from scalecurve.study import Study
    from scalecurve.study.message_sweep import MessageSweep


def load(
    source: str | Path,
    *,
    regime: str | None = None,
    quantity: str | None = None,
    k_column: str | None = None,
    value_column: str | None = None,
    k_unit: str | None = None,
    k_from: str | None = None,
    series: str | None = None,
    baseline_k: int | None = None,
    node_size: int | None = None,
) -> Study:
    """A study from a study file, a plain table, another tool's result or a folder of them.

    A file that does not state its regime needs it stated; `k_from` is a pattern that finds K in names (`n(\\d+)_`), and
    `series` names one of several curves in a file.
    """
    from scalecurve.formats import load_study

    return load_study(
        source,
        regime=regime,
        quantity=quantity,
        k_column=k_column,
        value_column=value_column,
        k_unit=k_unit,
        k_from=k_from,
        series=series,
        baseline_k=baseline_k,
        node_size=node_size,
    )


def import_results(*sources: str | Path, **settings: Any) -> Imported:
    """Results of other tools as one study, and the mapping that led to it; settings as in `load`, and allow_mixed."""
    from scalecurve.formats.importing import import_files
    from scalecurve.formats.wishes import make_wishes

    return import_files(sources, make_wishes(**settings))


def export(study: Study, to: str) -> bytes:
    """A study in another tool's format: one of `export_formats()`."""
    from scalecurve.render.exports import write_as

    return write_as(study, to)


def export_formats() -> dict[str, str]:
    """The names `export` takes, and what each is for."""
    from scalecurve.render.exports import purposes

    return purposes()


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
    from scalecurve.forecasting.forecast import forecast as verb

    return verb(study, at, **settings)


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


def look_ahead(file: str | Path | None = None, **settings: Any) -> Outlook:
    """What `measure` would do with these settings: runs, order, wall time, cost, launches needed.  Starts nothing."""
    from scalecurve.measurement.entry import run_outlook

    return run_outlook(Path(file) if file else None, settings)


def cost_collective(
    operation: str, vector: float, ranks: Sequence[int], network: str, *, algorithm: str | None = None, **wires: Any
) -> CollectiveCost:
    """What a collective costs over ranks: `cost_collective("allreduce", 350e6, [8, 64], "nvlink+ib400")`."""
    from scalecurve.mechanisms.collective_cost import cost_collective as verb
    from scalecurve.mechanisms.network_presets import network as named

    return verb(operation, vector, ranks, named(network, **wires), algorithm=algorithm)


def cost_training_step(
    *, vector: float, compute: float, ranks: Sequence[int], network: str, regime: str = "strong", **given: Any
) -> StepCost:
    """T(K) of a step that computes and then all-reduces `vector` bytes of gradients."""
    from scalecurve.mechanisms.collective_cost import cost_step
    from scalecurve.mechanisms.network_presets import network as named

    wires = {name: given[name] for name in ("per_node", "adapters", "gamma") if name in given}
    return cost_step(vector, compute, ranks, named(network, **wires), regime=regime)


def fit_collectives(
    files: Sequence[str | Path],
    *,
    operation: str | None = None,
    ranks: int | None = None,
    nodes: int | None = None,
    predict: Sequence[int] | None = None,
    holdout: bool = False,
) -> FittedNetworks | HeldOutNetworks:
    """Latency and bandwidth per operation from other tools' timings; `holdout` tests the predictions instead."""
    from scalecurve.formats.sweeps import read_sweeps
    from scalecurve.mechanisms.fitted_network import FittedNetworks, fit_sweep, hold_out_all

    sweeps = read_sweeps([Path(file) for file in files], operation=operation, ranks=ranks, nodes=nodes)
    if holdout:
        return hold_out_all(sweeps, operation=operation)
    fitted = tuple(fit_sweep(sweep, operation=operation, predict=predict or ()) for sweep in sweeps)
    return FittedNetworks(systems=fitted)


def measure_collectives(**plan: Any) -> MessageSweep:
    """Time real collectives on this machine; settings as in `measurement.calibration.network.SweepPlan`."""
    from scalecurve.measurement.calibration.network import SweepPlan
    from scalecurve.measurement.calibration.network import measure_collectives as verb

    return verb(SweepPlan(**plan))


def save_sweep(sweep: MessageSweep, path: str | Path) -> None:
    """Keep timings of collectives, atomically."""
    from scalecurve.study.message_sweep import write_sweep

    write_sweep(sweep, Path(path))


def fit_sweep(sweep: MessageSweep, *, predict: Sequence[int] = ()) -> FittedNetwork:
    """Latency and bandwidth from timings measured here."""
    from scalecurve.mechanisms.fitted_network import fit_sweep as verb

    return verb(sweep, predict=predict)
