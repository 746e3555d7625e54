"""The verbs, each a few lines: the joint between the edges (command line, page, notebooks) and the core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from scalecurve.analysis import SpeedupTable
    from scalecurve.fitting.fits import Fits
    from scalecurve.forecasting.forecast import Forecast
    from scalecurve.forecasting.standing import Standing
    from scalecurve.laws import Law
    from scalecurve.laws.roofline import Ceilings
    from scalecurve.laws.tables import LawTable
    from scalecurve.measurement.calibration.roofline import MeasuredCeilings
    from scalecurve.measurement.outlook import Outlook
    from scalecurve.measurement.readiness import Readiness
    from scalecurve.measurement.sweep import Listener
    from scalecurve.mechanisms.collective_cost import CollectiveCost, StepCost
    from scalecurve.mechanisms.fitted_network import FittedNetwork, FittedNetworks, HeldOutNetworks
    from scalecurve.mechanisms.latency_summary import LatencySummaries
    from scalecurve.mechanisms.load_curve import LoadCurve
    from scalecurve.mechanisms.replicas import ReplicaPlan
    from scalecurve.mechanisms.roofline_placement import Kernel, Roofline
    from scalecurve.mechanisms.straggler_cost import StragglerCost
    from scalecurve.mechanisms.tails import Tails
    from scalecurve.mechanisms.work_depth import WorkDepth
    from scalecurve.planning.next_runs import NextRuns
    from scalecurve.planning.scaleup import ScaleUp
    from scalecurve.study import Study
    from scalecurve.study.latency_record import LatencyRecord
    from scalecurve.study.message_sweep import MessageSweep
    from scalecurve.study.task_graph import TaskGraph


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


def summarise_latencies(
    files: Sequence[str | Path],
    *,
    unit: float | None = None,
    slo: float | None = None,
    rate: float | None = None,
    merge: bool = False,
) -> LatencySummaries:
    """Percentiles of load tests in files of other tools; `merge` adds their histograms."""
    from dataclasses import replace

    from scalecurve.mechanisms.latency_summary import LatencySummaries, summarise_latency
    from scalecurve.study.latency_record import merged

    records = _read_latencies(files, unit, rate)
    if merge and len(records) > 1:
        records = [merged(records)]
    if rate:
        records = [replace(record, intended_rate=rate) for record in records]
    return LatencySummaries(summaries=tuple(summarise_latency(record, slo=slo) for record in records))


def _read_latencies(files: Sequence[str | Path], unit: float | None, rate: float | None = None) -> list[LatencyRecord]:
    from scalecurve.formats.latencies import read_latencies

    return [record for file in files for record in read_latencies(Path(file), unit=unit, rate=rate)]


def examine_tails(
    files: Sequence[str | Path], *, fan_out: Sequence[int], hedge_after: float, unit: float | None = None
) -> Tails:
    """Fan-out amplification and hedging from one server's latencies."""
    from scalecurve.mechanisms.tails import examine_tails as verb
    from scalecurve.study.latency_record import Histogram, merged

    whole = merged(_read_latencies(files, unit))
    return verb(whole.histogram or Histogram.empty(), fan_out=fan_out, hedge_share=hedge_after)


def curve_of_load(
    files: Sequence[str | Path],
    *,
    unit: float | None = None,
    slo: float | None = None,
    slo_share: float = 0.99,
    rates: Sequence[float] | None = None,
) -> LoadCurve:
    """Throughput against latency from one file for each load."""
    from scalecurve.mechanisms.load_curve import curve_of_load as verb

    return verb(_read_latencies(files, unit), slo=slo, slo_share=slo_share, rates=rates or ())


def measure_load(
    url: str, *, rates: Sequence[float], seconds: float = 10.0, slo: float | None = None, slo_share: float = 0.99
) -> LoadCurve:
    """Drive an open-loop load at stepped rates against an address."""
    from scalecurve.measurement.calibration.load import measure_load as verb
    from scalecurve.mechanisms.load_curve import curve_of_load as curve

    return curve(verb(url, rates, seconds=seconds), slo=slo, slo_share=slo_share)


def cost_stragglers(
    *,
    workers: Sequence[int],
    distribution: str = "lognorm",
    shape: Mapping[str, float] | None = None,
    samples: str | Path | Sequence[float] | None = None,
    steps: int = 100,
    backups: Sequence[int] = (0, 1, 2, 4, 8),
    slow_share: float | None = None,
    slow_factor: float = 2.0,
) -> StragglerCost:
    """What waiting for the slowest of K costs, for a scipy distribution or your own step times."""
    from scalecurve.mechanisms.straggler_cost import cost_stragglers as verb
    from scalecurve.mechanisms.straggler_cost import delays_from, delays_of

    if isinstance(samples, str | Path):
        from scalecurve.formats.latency_csv import read_numbers

        samples = read_numbers(Path(samples))
    delays = delays_of(distribution, **(shape or {})) if samples is None else delays_from(samples)
    return verb(
        delays, workers, steps=steps, backups=backups, persistent_share=slow_share, persistent_factor=slow_factor
    )


def measure_parallelism(graph: str | Path | TaskGraph, *, workers: Sequence[int]) -> WorkDepth:
    """Work, depth and the speedup a task graph admits; a file (JSON, DOT, chrome trace, .npz) or a TaskGraph."""
    from scalecurve.formats.task_graphs import read_task_graph
    from scalecurve.mechanisms.work_depth import measure_parallelism as verb
    from scalecurve.study.task_graph import TaskGraph

    return verb(graph if isinstance(graph, TaskGraph) else read_task_graph(str(graph)), workers)


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


def measure_roofline(threads: Sequence[int] = (1,), *, size: int = 1500) -> MeasuredCeilings:
    """This machine's ceilings by number of threads."""
    from scalecurve.measurement.calibration.roofline import measure_roofline as verb

    return verb(threads, size=size)


def place_kernels(
    *,
    machine: str,
    kernels: Sequence[str | Kernel] = (),
    files: Sequence[str | Path] = (),
    precision: str = "fp64",
    level: str = "memory",
) -> Roofline:
    """Kernels under a machine's roof: typed `name:flops:bytes[:seconds]`, or from ncu and likwid files."""
    from scalecurve.formats.kernels import parse_kernel, read_kernels
    from scalecurve.mechanisms.roofline_placement import place_kernels as verb

    listed = [parse_kernel(kernel) if isinstance(kernel, str) else kernel for kernel in kernels]
    listed += [kernel for file in files for kernel in read_kernels(Path(file))]
    ceilings, method = _ceilings(machine, precision)
    return verb(listed, ceilings, machine=f"{machine} {precision}", level=level, method=method)


def place_torch_model(
    model: str, shape: Sequence[int], *, machine: str, precision: str = "fp32", level: str = "memory"
) -> Roofline:
    """A torch model's operators under a machine's roof, counted in one forward pass."""
    from scalecurve.measurement.calibration.torch_counts import count_model
    from scalecurve.mechanisms.roofline_placement import place_kernels as verb

    ceilings, method = _ceilings(machine, precision)
    return verb(
        count_model(model, tuple(shape)), ceilings, machine=f"{machine} {precision}", level=level, method=method
    )


def _ceilings(name: str, precision: str) -> tuple[Ceilings, str | None]:
    """A preset, or a file of `roofline measure`."""
    from scalecurve.measurement.calibration.roofline import ceilings_from_dict
    from scalecurve.mechanisms.machines import machine
    from scalecurve.study.file import read_json

    if not Path(name).is_file():
        preset = machine(name)
        return preset.ceilings(precision), preset.source
    measured = ceilings_from_dict(read_json(Path(name)), subject=name)
    return measured.ceilings(precision), measured.method


def compare_scaleup(
    *,
    faster: float,
    big_price: float,
    small_price: float,
    workers: Sequence[int],
    law_name: str | None = None,
    parameters: Mapping[str, float] | None = None,
    study: Study | None = None,
) -> ScaleUp:
    """One machine `faster` times as fast against K small ones, with E(K) from a law or a study."""
    from scalecurve.planning.scaleup import compare_scaleup as verb
    from scalecurve.planning.scaleup import efficiency_of_law, efficiency_of_study

    if (law_name is None) == (study is None):
        from scalecurve.errors import Fault, InputError

        raise InputError(Fault("E(K) comes from a law or from a study", remedy="give exactly one of the two"))
    if study is not None:
        return verb(efficiency_of_study(study), faster=faster, big_price=big_price, small_price=small_price)
    rows = efficiency_of_law(law_name or "", parameters or {}, workers)
    return verb(rows, faster=faster, big_price=big_price, small_price=small_price)


def plan_replicas(*, rate: float, service: float, slo: float, slo_share: float = 0.99) -> ReplicaPlan:
    """How many replicas an SLO needs when requests queue for the first free one (M/M/c)."""
    from scalecurve.mechanisms.replicas import plan_replicas as verb

    return verb(rate=rate, service=service, slo=slo, share=slo_share)
