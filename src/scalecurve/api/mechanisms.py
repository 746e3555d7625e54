"""Verbs of the laws and mechanisms: collectives, roofline, work and depth, stragglers, latency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalecurve.errors import Fault, InputError

if TYPE_CHECKING:
    from scalecurve.laws import Law
    from scalecurve.laws.roofline import Ceilings
    from scalecurve.laws.tables import LawTable
    from scalecurve.measurement.calibration.roofline import MeasuredCeilings
    from scalecurve.mechanisms.collective_cost import CollectiveCost, StepCost
    from scalecurve.mechanisms.fitted_network import FittedNetwork, FittedNetworks, HeldOutNetworks
    from scalecurve.mechanisms.latency_summary import LatencySummaries
    from scalecurve.mechanisms.load_curve import LoadCurve
    from scalecurve.mechanisms.replicas import ReplicaPlan
    from scalecurve.mechanisms.roofline_placement import Roofline
    from scalecurve.mechanisms.straggler_cost import StragglerCost
    from scalecurve.mechanisms.tails import Tails
    from scalecurve.mechanisms.work_depth import WorkDepth
    from scalecurve.study.kernel import Kernel
    from scalecurve.study.latency_record import LatencyRecord
    from scalecurve.study.message_sweep import MessageSweep
    from scalecurve.study.task_graph import TaskGraph


def law(name: str) -> Law:
    """A law in closed form: `law("amdahl").speedup(64, serial=0.05)`."""
    from scalecurve.laws import law as verb

    return verb(name)


def tabulate_law(name: str, workers: Sequence[int], **given: Any) -> LawTable:
    """A law's rows and answers: `tabulate_law("amdahl", [1, 2, 4], serial=[0.05], below=0.5)`."""
    from scalecurve.laws.answers import TABULATE

    if name not in TABULATE:
        raise InputError(Fault("unknown law", seen=name, remedy=f"one of {', '.join(TABULATE)}"))
    table: LawTable = TABULATE[name](workers, **given)
    return table


def cost_collective(
    operation: str, vector: float, ranks: Sequence[int], network: str, *, algorithm: str | None = None, **wires: Any
) -> CollectiveCost:
    """What a collective costs over ranks: `cost_collective("allreduce", 350e6, [8, 64], "nvlink+ib400")`."""
    from scalecurve.hardware.networks import network as named
    from scalecurve.mechanisms.collective_cost import cost_collective as verb

    return verb(operation, vector, ranks, named(network, **wires), algorithm=algorithm)


def cost_training_step(
    *, vector: float, compute: float, ranks: Sequence[int], network: str, regime: str = "strong", **given: Any
) -> StepCost:
    """T(K) of a step that computes and then all-reduces `vector` bytes of gradients."""
    from scalecurve.hardware.networks import network as named
    from scalecurve.mechanisms.collective_cost import cost_step

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
    from scalecurve.hardware.accelerators import accelerator
    from scalecurve.measurement.calibration.roofline import ceilings_from_dict
    from scalecurve.study.file import read_json

    if not Path(name).is_file():
        preset = accelerator(name, otherwise="; or give a file of roofline measure")
        return preset.ceilings(precision), preset.source
    measured = ceilings_from_dict(read_json(Path(name)), subject=name)
    return measured.ceilings(precision), measured.method


def plan_replicas(*, rate: float, service: float, slo: float, slo_share: float = 0.99) -> ReplicaPlan:
    """How many replicas an SLO needs when requests queue for the first free one (M/M/c)."""
    from scalecurve.mechanisms.replicas import plan_replicas as verb

    return verb(rate=rate, service=service, slo=slo, share=slo_share)
