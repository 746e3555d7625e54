"""The verbs, each a few lines: the joint between the edges (command line, page, notebooks) and the core."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from scalecurve.errors import Fault, InputError

if TYPE_CHECKING:
    from scalecurve.analysis import SpeedupTable
    from scalecurve.analysis.comparison import Comparison
    from scalecurve.auditing import Audit, Claim
    from scalecurve.auditing.gate_result import Gate
    from scalecurve.diagnosis import Diagnosis
    from scalecurve.diagnosis.regimes import RegimeVerdict
    from scalecurve.document import Tone
    from scalecurve.findings import Finding
    from scalecurve.fitting.fits import Fits
    from scalecurve.forecasting.forecast import Forecast
    from scalecurve.forecasting.standing import Standing
    from scalecurve.formats.imported import Imported
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
    from scalecurve.planning.cost import CostTable
    from scalecurve.planning.curve import TimeCurve
    from scalecurve.planning.next_runs import NextRuns
    from scalecurve.planning.scaleup import ScaleUp
    from scalecurve.planning.tariff import Tariff
    from scalecurve.proposals.assessment import Assessment
    from scalecurve.proposals.known import Evidence
    from scalecurve.proposals.proposal import Proposal
    from scalecurve.render.report import Material
    from scalecurve.study import Study
    from scalecurve.study.latency_record import LatencyRecord
    from scalecurve.study.message_sweep import MessageSweep
    from scalecurve.study.task_graph import TaskGraph
    from scalecurve.training.cluster import Cluster
    from scalecurve.training.evaluate import Evaluation
    from scalecurve.training.explain import Explanation
    from scalecurve.training.plan import Plan
    from scalecurve.training.quick import QuickSweep
    from scalecurve.training.transformer import Transformer


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
    """A study from a study file, a plain table or a folder of profiler traces; only a study file states its regime."""
    """A study from a study file, a plain table, another tool's result or a folder of them.

    A file that does not state its regime needs it stated; `k_from` is a pattern that finds K in names (`n(\\d+)_`), and
    `series` names one of several curves in a file.
    """
    from scalecurve.formats import load_study
    from scalecurve.formats.chrome_trace import study_from_traces, trace_files

    if traces := trace_files(source):
        return study_from_traces(traces, regime=regime, name=Path(source).name, k_unit=k_unit, node_size=node_size)
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


def diagnose(study: Study, **settings: Any) -> Diagnosis:
    """Why the curve bends, with shares, evidence and a chance of being right; `rng` may be given."""
    from scalecurve.diagnosis import diagnose as verb

    return verb(study, **settings)


def audit(subject: Study | Claim) -> Audit:
    """The reporting checklist and the red flags held against a study or a claim."""
    from scalecurve.auditing import audit as verb

    return verb(subject)


def load_claim(source: str | Path | None = None, **given: Any) -> Study | Claim:
    """A study file, a claim.toml, a published table, or a bare claim (`workers=256, speedup=180`)."""
    from scalecurve.formats.claim_sources import load_claim as verb

    return verb(source, **given)


def write_claim_template(path: str | Path) -> None:
    """An example claim.toml to fill in; an existing file is left alone."""
    from scalecurve.formats.claim_sources import write_template

    write_template(Path(path))


def write_badge(label: str, verdict: str, path: str | Path) -> None:
    """A verdict as a small SVG."""
    from scalecurve.render.badge import badge
    from scalecurve.study.atomic import write_atomically

    tones: dict[str, Tone] = {"sound": "good", "warnings": "warn"}
    write_atomically(Path(path), badge(label, verdict, tones.get(verdict, "bad")).encode())


def compare(first: Study, second: Study, **settings: Any) -> Comparison:
    """Ratios of T and E at each K, second over first; `level=`, `allow_mixed=`."""
    from scalecurve.analysis.comparison import compare as verb

    return verb(first, second, **settings)


def merge(studies: Sequence[Study], *, allow_mixed: bool = False) -> Study:
    """One study with the runs of all."""
    from scalecurve.analysis.merging import merge as verb

    return verb(studies, allow_mixed=allow_mixed)


def check(study: Study, *, min_efficiency: Sequence[str] = (), **settings: Any) -> Gate:
    """A gate: floors such as "0.8@8", and with `against=` an older study, losses beyond noise."""
    from scalecurve.auditing.gate import check as verb
    from scalecurve.auditing.gate import parse_floors

    return verb(study, floors=parse_floors(min_efficiency), **settings)


def write_junit(gate: Gate, path: str | Path) -> None:
    """A gate's checks as JUnit XML."""
    from scalecurve.study.atomic import write_atomically

    write_atomically(Path(path), gate.junit().encode())


def append_history(gate: Gate, study: Study, path: str | Path) -> None:
    """One JSON line more: when, which commit, T and E at each K, passed or not."""
    from scalecurve.auditing.history import append

    append(gate, study, Path(path))


def regime(study: str | Path | Study | None = None, **given: Any) -> RegimeVerdict:
    """Strong, weak, mixed or neither, from a study that counts its work or from numbers."""
    from scalecurve.diagnosis.regimes import regime_of_study
    from scalecurve.diagnosis.sentence import regime_of_sentence

    if study is None:
        return regime_of_sentence(**given)
    return regime_of_study(load(study) if isinstance(study, str | Path) else study)


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


def next_runs(study: Study, *, budget: float | str | None = None, **settings: Any) -> NextRuns:
    """Which K to measure next within a budget: `next_runs(study, budget="8 gpu-hours", target=256)`."""
    from scalecurve.planning.budget import parse_worker_seconds
    from scalecurve.planning.next_runs import next_runs as verb

    return verb(study, budget=parse_worker_seconds(budget) if isinstance(budget, str) else budget, **settings)


def stand(study: Study, domain: str | None = None) -> Standing | None:
    """A study's efficiency among published curves of its kind, at 2, 4, 8 ... times its smallest K."""
    from scalecurve.forecasting.standing import stand as verb

    return verb(study, domain)


def price_curve(
    source: Study | Forecast | Mapping[str, Any] | Any,
    *,
    at: Sequence[int] | None = None,
    work_per_job: float | None = None,
    level: float = 0.95,
) -> TimeCurve:
    """The time of one result over K, from a study, a forecast, or a training plan (as noun or as its JSON)."""
    from scalecurve.forecasting.forecast import Forecast as ForecastNoun
    from scalecurve.planning.curve_sources import curve_of_study
    from scalecurve.planning.forecasts import curve_of_forecast, forecast_rows
    from scalecurve.planning.plan_curve import curve_of_plan
    from scalecurve.study import Study as StudyNoun

    match source:
        case StudyNoun():
            return curve_of_study(source, at=at, work_per_job=work_per_job, level=level, forecaster=forecast_rows)
        case ForecastNoun():
            return curve_of_forecast(source, work_per_job=work_per_job)
        case Mapping():
            return curve_of_plan(source, tokens_per_job=work_per_job)
    return curve_of_plan(source.to_dict(), tokens_per_job=work_per_job)


def price_law(
    name: str,
    workers: Sequence[int],
    *,
    seconds_at_one: float = 3600.0,
    k_unit: str = "workers",
    **parameters: float,
) -> TimeCurve:
    """The time of one result over K by a law: `price_law("amdahl", [256, 512], serial=0.05)`."""
    from scalecurve.planning.curve_sources import curve_of_law

    return curve_of_law(law(name), workers, parameters, seconds_at_one=seconds_at_one, k_unit=k_unit)


def cost(
    source: Study | Forecast | TimeCurve | Mapping[str, Any] | Any,
    price: float | Tariff,
    *,
    jobs: int = 1,
    fleet: int | None = None,
    one_rental: bool = False,
    deadline: float | None = None,
    budget: float | None = None,
    value_per_hour: float | None = None,
    chance: float | None = None,
    notes: Sequence[Finding] = (),
    **curve: Any,
) -> CostTable:
    """What a result costs at every K, and which K to choose: `cost(study, 2.50, jobs=1000, deadline=5 * 3600)`.

    `price` is dollars per worker-hour or a Tariff, and `notes` what is to be known of it; `curve` as in `price_curve`.
    """
    from scalecurve.planning.campaign import Campaign
    from scalecurve.planning.cost import Goal
    from scalecurve.planning.cost import cost as verb
    from scalecurve.planning.curve import TimeCurve as Curve
    from scalecurve.planning.tariff import Tariff as PriceList

    tariff = price if isinstance(price, PriceList) else PriceList(per_hour=price)
    times = source if isinstance(source, Curve) else price_curve(source, **curve)
    goal = Goal(deadline=deadline, budget=budget, value_per_hour=value_per_hour, chance=chance)
    campaign = Campaign(jobs=jobs, fleet=fleet, one_rental=one_rental)
    return verb(times, tariff, campaign=campaign, goal=goal, notes=notes)


def assess(proposal: str | Path | Proposal) -> Assessment:
    """Will this cluster size help?  A proposal file or a Proposal, judged by the checklist."""
    from scalecurve.proposals import assess as verb
    from scalecurve.proposals.file import read_proposal
    from scalecurve.proposals.proposal import Proposal as ProposalNoun

    if isinstance(proposal, ProposalNoun):
        return verb(proposal)
    return verb(read_proposal(Path(proposal), read_study=load_for_proposal, evidence_of=_with_forecasts))


def _with_forecasts(study: Study) -> Evidence:
    from scalecurve.planning.forecasts import forecast_rows
    from scalecurve.proposals.study_evidence import evidence_of_study

    return evidence_of_study(study, forecaster=forecast_rows)


def load_for_proposal(path: Path, regime: str) -> Study:
    """A study a proposal names: a study file says its own regime, a plain table takes the section's."""
    try:
        return load(path)
    except InputError:
        return load(path, regime=regime)


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


def plot(result: Any, path: str | Path) -> None:
    """Draw a result; the ending of the path (.svg .png .pdf) says how."""
    from scalecurve.render.plots import draw

    draw(result, Path(path))


def sweep_training(model: Transformer, cluster: Cluster, *, stack: str = "megatron-core", **given: Any) -> QuickSweep:
    """The best split of a dense model at every P, quickly: for the page's sliders."""
    from scalecurve.training.presets import stack as named
    from scalecurve.training.quick import quick_sweep

    return quick_sweep(model, cluster, named(stack), **given)


def gather(
    study: Study, *, threshold: float = 0.7, price: float | None = None, proposal: str | Path | None = None
) -> Material:
    """All that can be said about a study, for a report; what is refused stands there with its reason."""
    from scalecurve.render.report import Material

    priced = "" if price is None else f" --price {price:g}"
    priced += "" if proposal is None else " --proposal proposal.toml"
    return Material(
        study=study,
        table=tabulate(study, threshold=threshold),
        fits=_attempt(lambda: fit(study)),
        forecast=_attempt(lambda: forecast(study, at=_beyond(study))),
        diagnosis=_attempt(lambda: diagnose(study)),
        audit=_attempt(lambda: audit(study)),
        cost=None if price is None else _attempt(lambda: cost(study, price)),
        proposal=None if proposal is None else assess(proposal),
        command=f"scalecurve report study.json -o report.html --threshold {threshold:g}{priced}",
        made=f"scalecurve {_version()}",
    )


def _attempt(verb: Callable[[], Any]) -> Any:
    """The answer, or the reason why there is none."""
    from scalecurve.errors import ScalecurveError
    from scalecurve.render.report import Refusal

    try:
        return verb()
    except ScalecurveError as problem:
        return Refusal(str(problem))


def _beyond(study: Study) -> list[int]:
    """Twice to eight times the largest K measured: where people ask, and short of where answers are refused."""
    return [study.all_k[-1] * factor for factor in (2, 4, 8)]


def write_report(path: str | Path, *studies: Study, **settings: Any) -> list[Path]:
    """A page about one study, or several side by side; the ending says .html .md .tex .pdf .svg or .png."""
    from scalecurve.errors import InputError
    from scalecurve.render.report import write

    if not studies:
        raise InputError("a report needs at least one study")
    compared = _attempt(lambda: compare(*studies)) if len(studies) == 2 else None
    return write(Path(path), [gather(study, **settings) for study in studies], compared)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("scalecurve")
    except PackageNotFoundError:  # run from a source tree
        return "from source"


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
    """One machine `faster` times as fast against K small ones; E(K) from a law, or a study and its forecast."""
    from scalecurve.planning.scaleup import compare_scaleup as verb
    from scalecurve.planning.scaleup import efficiency_of_forecast, efficiency_of_law

    if (law_name is None) == (study is None):
        from scalecurve.errors import Fault, InputError

        raise InputError(Fault("E(K) comes from a law or from a study", remedy="give exactly one of the two"))
    if study is not None:
        rows = efficiency_of_forecast(study, workers)
    else:
        rows = efficiency_of_law(law_name or "", parameters or {}, workers)
    return verb(rows, faster=faster, big_price=big_price, small_price=small_price)


def plan_replicas(*, rate: float, service: float, slo: float, slo_share: float = 0.99) -> ReplicaPlan:
    """How many replicas an SLO needs when requests queue for the first free one (M/M/c)."""
    from scalecurve.mechanisms.replicas import plan_replicas as verb

    return verb(rate=rate, service=service, slo=slo, share=slo_share)
