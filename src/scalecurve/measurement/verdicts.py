"""What a reader of the study must know about how it was measured, each from evidence in its runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from scalecurve.findings import Finding, error, info, warning
from scalecurve.measurement.environment import debug_signs
from scalecurve.measurement.precision import relative_halfwidth
from scalecurve.measurement.schedule import Planned, Point, points_of
from scalecurve.measurement.settings import Settings
from scalecurve.measurement.steady import steadiness_of
from scalecurve.study import Run, RunStatus
from scalecurve.study.run import SCALING
from scalecurve.units import format_seconds

BUSY_CORES = 0.3
SKEW_SHARE = 0.05
FAULTS_THAT_MATTER = 1000


@dataclass(frozen=True)
class Record:
    """All that the verdicts look at."""

    settings: Settings
    runs: tuple[Run, ...]
    cores: int
    done: dict[Planned, Run]

    @property
    def good(self) -> list[Run]:
        return [run for run in self.runs if run.status is RunStatus.OK and run.value is not None]


def verdicts_on(record: Record) -> list[Finding]:
    return [finding for verdict in VERDICTS for finding in verdict(record)]


def failed_runs(record: Record) -> Iterable[Finding]:
    bad = [run for run in record.runs if run.status in (RunStatus.FAILED, RunStatus.TIMEOUT)]
    if bad:
        where = ", ".join(f"K = {k}" for k in sorted({run.k for run in bad}))
        first = (bad[0].error or "no message").strip().splitlines()
        yield warning(
            "failed-runs",
            f"{len(bad)} of {len(record.runs)} launches failed ({where}) and are recorded without a time; the first "
            f"said: {first[0][:200]}",
            remedy="see the error of each failed run in the study file; measure --resume tries them again",
            count=len(bad),
        )


def missing_points(record: Record) -> Iterable[Finding]:
    have = _counts(record)
    lost = [point for point in points_of(record.settings) if not have.get(point)]
    if lost:
        names = ", ".join(_name(point) for point in lost)
        yield error("missing-points", f"no time was obtained for {names}", remedy="mend the failure, then --resume")
    few = [point for point in points_of(record.settings) if 0 < have.get(point, 0) < record.settings.repeats]
    if few:
        listed = ", ".join(f"{_name(point)} has {have[point]}" for point in few)
        yield warning(
            "too-few-repeats",
            f"{record.settings.repeats} fresh launches were asked for: {listed}",
            remedy="measure --resume makes the missing ones",
        )


def precision_reached(record: Record) -> Iterable[Finding]:
    wanted = record.settings.precision
    if wanted is None:
        return
    wide: dict[str, float] = {}
    for point in points_of(record.settings):
        times = [run.value for run in _runs_of(record, point) if run.value is not None]
        width = relative_halfwidth(times, record.settings.level)
        if width is None or width > wanted:
            wide[_name(point)] = math.nan if width is None else width
    if wide:
        listed = ", ".join(f"{name} {'unknown' if math.isnan(w) else f'{w:.1%}'}" for name, w in wide.items())
        yield warning(
            "precision-not-reached",
            f"the interval of T is wider than the {wanted:.1%} asked for: {listed}",
            remedy="raise --max-repeats or --max-time and --resume, or quiet the machine",
        )


def timing_source(record: Record) -> Iterable[Finding]:
    sources = sorted({str(run.observed.get("timing")) for run in record.good})
    if len(sources) > 1:
        yield error("timing-mixed", f"times come from different sources: {', '.join(sources)}", sources=sources)
    if sources == ["wall"] and not record.settings.timing.setup_command:
        yield warning(
            "timing-wall",
            "T is the wall time of the whole command: process start, imports and set-up are inside it",
            remedy="use the probe, a time printed by the program (timing.pattern), or --setup-command",
        )


def setup_apart(record: Record) -> Iterable[Finding]:
    seconds = {
        k: [run.setup_seconds for run in record.good if run.k == k and run.setup_seconds is not None]
        for k in record.settings.workers
    }
    means = {str(k): math.fsum(found) / len(found) for k, found in seconds.items() if found}
    if means:
        listed = ", ".join(f"K = {k} {format_seconds(mean)}" for k, mean in means.items())
        yield info("setup-apart", f"set-up was timed apart and is not in T: {listed}", mean_seconds=means)


def steady_state(record: Record) -> Iterable[Finding]:
    found = [(run, steadiness_of(rank.steps[rank.warmup_steps :])) for run in record.good for rank in run.ranks[:1]]
    seen = [(run, state) for run, state in found if state is not None]
    warming = [(run, state.warmup) for run, state in seen if state.warmup]
    if len(warming) * 2 > len(seen):
        most = max(count for _, count in warming)
        yield warning(
            "still-warming",
            f"in {len(warming)} of {len(seen)} runs the first steps after warm-up were still slower (up to {most})",
            remedy=f"--warmup-steps {record.settings.warmup_steps + most}",
            runs=len(warming),
        )
    drifting = [(run, state.drift) for run, state in seen if state.drift is not None]
    if len(drifting) * 4 > len(seen):
        run, drift = max(drifting, key=lambda pair: abs(pair[1]))
        yield warning(
            "drift",
            f"the steps of {len(drifting)} of {len(seen)} runs drift, by {drift:+.0%} within one run at K = {run.k}",
            remedy="measure longer, or find what heats up, fills up or grows",
            runs=len(drifting),
        )


def start_together(record: Record) -> Iterable[Finding]:
    worst = max(
        (run for run in record.good if run.observed.get("start_skew_seconds")),
        key=lambda run: run.observed["start_skew_seconds"] / (run.value or math.inf),
        default=None,
    )
    if worst is None or worst.value is None:
        return
    share = worst.observed["start_skew_seconds"] / worst.value
    if share > SKEW_SHARE:
        yield warning(
            "start-skew",
            f"at K = {worst.k} the workers began {format_seconds(worst.observed['start_skew_seconds'])} apart, "
            f"{share:.0%} of T",
            remedy="let them meet (a barrier) before the first step, or use warm-up steps",
            share=share,
        )


def oversubscription(record: Record) -> Iterable[Finding]:
    beyond = sorted({run.k for run in record.good if run.oversubscribed and run.role == SCALING})
    if beyond:
        listed = ", ".join(str(k) for k in beyond)
        yield warning(
            "oversubscribed",
            f"K = {listed} have more workers than the {record.cores} cores: the curve there shows time sharing, not "
            "scaling",
            remedy="leave them out of speedup claims",
            k=beyond,
            cores=record.cores,
        )
    yield from _thread_oversubscription(record)


def _thread_oversubscription(record: Record) -> Iterable[Finding]:
    for run in record.good:
        pools = run.observed.get("thread_pools") or {}
        threads = max(pools.values(), default=(run.placement.threads_per_rank if run.placement else None) or 1)
        if threads > 1 and _on_one_host(run) and threads * run.k > record.cores:
            yield warning(
                "too-many-threads",
                f"{threads} threads per worker x {run.k} workers are more than {record.cores} cores",
                remedy=f"launcher.threads_per_worker = {max(1, record.cores // run.k)} at every K",
                threads=threads,
                k=run.k,
                cores=record.cores,
            )
            return


def busy_machine(record: Record) -> Iterable[Finding]:
    worst = max(record.good, key=lambda run: run.observed.get("foreign_cores", 0.0), default=None)
    busy = worst.observed.get("foreign_cores", 0.0) if worst else 0.0
    if worst is not None and busy > BUSY_CORES:
        yield warning(
            "busy-machine",
            f"others used {busy:.1f} cores during a run at K = {worst.k}",
            remedy="measure on a quiet machine, or ask for more repeats",
            foreign_cores=busy,
            load=worst.observed.get("load_during"),
        )


def starved(record: Record) -> Iterable[Finding]:
    """A baseline that pages or swaps makes every speedup look better than it is."""
    for run in record.good:
        faults, swapped = run.observed.get("major_faults", 0), run.observed.get("swapped_pages", 0)
        if faults > FAULTS_THAT_MATTER or swapped > FAULTS_THAT_MATTER:
            yield warning(
                "starved",
                f"the run at K = {run.k} waited for the disk: {faults} major page faults, {swapped} pages swapped",
                remedy="a starved K = 1 inflates every speedup; use a problem that fits into memory",
                k=run.k,
                major_faults=faults,
                swapped_pages=swapped,
            )
            return


def debug_build(record: Record) -> Iterable[Finding]:
    signs = debug_signs(record.settings.command, record.settings.env)
    signs += sorted({sign for run in record.good for sign in run.observed.get("debug", [])})
    if signs:
        yield warning("debug-build", f"not built or started for speed: {'; '.join(signs)}", signs=signs)


def boundaries(record: Record) -> Iterable[Finding]:
    """A node or socket boundary inside the sweep is part of the curve's shape."""
    for what, count in (("node", _nodes), ("NUMA node", _numa_nodes)):
        most: dict[int, int] = {}
        for run in record.good:
            if run.role == SCALING and (seen := count(run)):
                most[run.k] = max(seen, most.get(run.k, 0))
        inside = [k for k in sorted(most) if most[k] == 1]
        beyond = [k for k in sorted(most) if most[k] > 1]
        if inside and beyond:
            yield info(
                f"{what.lower().replace(' ', '-')}-boundary",
                f"workers share one {what} up to K = {inside[-1]} and cross it from K = {beyond[0]}",
                last_inside=inside[-1],
                first_beyond=beyond[0],
            )


def work_unreported(record: Record) -> Iterable[Finding]:
    if record.good and all(run.work is None for run in record.good):
        yield info(
            "work-not-reported",
            "the job does not say how much work it did, so that it stayed the same could not be checked",
            remedy="probe.add_work(...), steps(..., work=...), or sameness.work_pattern",
        )


def _nodes(run: Run) -> int | None:
    return run.placement.nodes if run.placement else None


def _numa_nodes(run: Run) -> int | None:
    return len(run.placement.numa_nodes) or None if run.placement else None


def _on_one_host(run: Run) -> bool:
    return run.placement is None or (run.placement.nodes or 1) == 1


def _counts(record: Record) -> dict[Point, int]:
    return {point: len(_runs_of(record, point)) for point in points_of(record.settings)}


def _runs_of(record: Record, point: Point) -> list[Run]:
    return [run for run in record.good if (run.role, run.k) == (point.role, point.k)]


def _name(point: Point) -> str:
    return f"K = {point.k}" if point.role == SCALING else f"baseline {point.role}"


Verdict = Callable[[Record], Iterable[Finding]]
VERDICTS: Sequence[Verdict] = (
    missing_points,
    failed_runs,
    precision_reached,
    timing_source,
    work_unreported,
    steady_state,
    start_together,
    oversubscription,
    busy_machine,
    starved,
    debug_build,
    boundaries,
    setup_apart,
)
