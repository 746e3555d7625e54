"""What a reader must know about how a study was measured: each rule looks at the evidence in its runs.

The sentences stand in findings.toml.  Warm-up in a series of steps is found by MSER (White 1997): drop the first d
steps that make the standard error of the mean of the rest least, d at most half of the series.  Drift of the rest is
Theil-Sen's slope with the Mann-Kendall test of trend.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import numpy as np
import numpy.typing as npt

from scalecurve.analysis.load import saturation_of
from scalecurve.findings import Finding
from scalecurve.measurement.guard import is_disturbed, limit_of
from scalecurve.measurement.machine import debug_signs
from scalecurve.measurement.schedule import Made, SweepPoint, points_of, relative_halfwidth, runs_to_make, spread_of
from scalecurve.measurement.sentences import say
from scalecurve.measurement.settings import MeasureSettings
from scalecurve.measurement.size_evidence import WAY_OUT, SizeVerdict
from scalecurve.measurement.starvation import QuietRow, quiet_efficiency, quiet_rows
from scalecurve.study import Regime, Run, RunStatus
from scalecurve.study.run import SCALING
from scalecurve.units import format_seconds, format_seconds_range

SKEW_SHARE = 0.05
FAULTS_THAT_MATTER = 1000
FEWEST_STEPS = 10
MOST_STEPS = 400
DRIFT_SHARE = 0.05
BUSY_BEYOND = 1.6
"""More cores than this times those meant are not helpers of the language: a collector, a compiler at run time."""
STILL_BUSY = 0.8
CORE_UNITS = ("workers", "cores", "threads", "processes", "ranks", "cpus")
"""Units of K in which one is one core; a GPU or a node has several."""
SAME_TO_THE_DIGIT = 0.01
SAME_WITHIN_NOISE = 0.05
SHORTEST_SECONDS = 0.1
ONLY_FIRST = 10.0
"""Cold caches cost a launch a few times its CPU time; more than this and the later ones do not work."""
COARSE_SHARE = 0.02
"""Of a figure: a last digit that is worth more hides the noise of most jobs."""
START_SECONDS = 0.02
"""A process and its libraries start in a few of these; a shorter T is that start."""
LONG_LAUNCHES = 60.0
MOSTLY_SETUP = 0.9
WIDEST = 20.0
"""Bounds of T farther apart than this say only one thing: how long it takes at most."""
SIGNIFICANT_Z = 2.58  # two-sided 1 %


@dataclass(frozen=True)
class Record:
    """All that the verdicts use."""

    settings: MeasureSettings
    runs: tuple[Run, ...]
    cores: int

    @cached_property
    def good(self) -> list[Run]:
        return [run for run in self.runs if run.status is RunStatus.OK and run.value is not None]

    @cached_property
    def scaling(self) -> list[Run]:
        """The good runs of the job itself, without baselines."""
        return [run for run in self.good if run.role == SCALING]

    @cached_property
    def made(self) -> Made:
        return Made.of(self.settings, self.runs)

    def times(self) -> dict[SweepPoint, Sequence[float]]:
        """The values by point, for every point of the study."""
        return {point: self.made.times(point) for point in dict.fromkeys((*points_of(self.settings), *self.made.rows))}

    def having(self, fact: str) -> list[Run]:
        """The good runs that know this fact."""
        return [run for run in self.good if run.observed.get(fact)]

    def medians(self, fact: Callable[[Run], float | None], runs: Sequence[Run] | None = None) -> dict[int, float]:
        """The median of a number over the runs of each K that have it."""
        rows: dict[int, list[float]] = {}
        for run in self.good if runs is None else runs:
            if (value := fact(run)) is not None:
                rows.setdefault(run.k, []).append(float(value))
        return {k: float(np.median(own)) for k, own in sorted(rows.items())}

    def busy_cores(self) -> dict[int, float]:
        """The cores that the job kept busy at each K, on average over a run; the median of the runs."""
        return self.medians(cores_busy, self.scaling)


def verdicts_on(record: Record) -> list[Finding]:
    return [finding for rule in RULES for finding in rule(record)]


def cores_busy(run: Run) -> float:
    """CPU time over wall time; 0 where either is not known or too short to say."""
    wall, cpu = run.wall_seconds or 0.0, run.observed.get("cpu_seconds", 0.0)
    return cpu / wall if wall >= SHORTEST_SECONDS else 0.0


def ks_of(runs: Iterable[Run]) -> list[int]:
    return sorted({run.k for run in runs})


def missing_points(record: Record) -> Iterable[Finding]:
    counts = {point.name: len(times) for point, times in record.times().items()}
    if lost := [name for name, count in counts.items() if not count]:
        yield say("missing-points", points=lost)
    repeats = record.settings.repeats
    if few := [f"{name} has {count}" for name, count in counts.items() if 0 < count < repeats]:
        yield say("too-few-repeats", repeats=repeats, few=few)


def failed_runs(record: Record) -> Iterable[Finding]:
    bad = [run for run in record.runs if run.status in (RunStatus.FAILED, RunStatus.TIMEOUT)]
    if bad:
        owed = next(runs_to_make(record.settings, record.made), None) is not None
        then = ", then try again with measure --resume" if owed else "; later launches made up for them"
        said, launches = str(bad[0].failure), len(record.runs)
        yield say("failed-runs", count=len(bad), launches=launches, k=ks_of(bad), said=said, then=then)


def precision_reached(record: Record) -> Iterable[Finding]:
    precision = record.settings.precision
    if precision is None:
        return
    widths = {point.name: relative_halfwidth(times, record.settings.level) for point, times in record.times().items()}
    wide = [
        f"{name} {'unknown' if width is None else f'{width:.1%}'}"
        for name, width in widths.items()
        if width is None or width > precision
    ]
    if wide:
        yield say("precision-not-reached", precision=precision, wide=wide)


def timing_source(record: Record) -> Iterable[Finding]:
    sources = sorted({str(run.observed.get("timing")) for run in record.good})
    if len(sources) > 1:
        yield say("timing-mixed", sources=sources)
    timing = record.settings.timing
    if sources == ["wall"]:
        yield say("timing-wall", apart=", except for what the set-up command does" if timing.setup_command else "")
        shortest = min(record.good, key=lambda run: run.value or 0.0)
        if (shortest.value or 0.0) < START_SECONDS:
            yield say("too-short", seconds=shortest.value, k=shortest.k)
    if timing.timer_excludes and sources != ["probe"]:
        code = "timer-not-used" if sources == ["wall"] else "timer-stated"
        yield say(code, left_out=" and ".join(timing.timer_excludes), excludes=timing.timer_excludes)
    most = max((int(run.observed.get("time_matches", 1)) for run in record.good), default=1)
    if most > 1 and timing.take is None:
        yield say("several-matches", matches=most)


def rounded_figures(record: Record) -> Iterable[Finding]:
    """A figure that is printed with few digits: equal repeats then show no noise, although there is some."""
    coarse = [(float(run.observed.get("last_digit", 0.0)), run.k) for run in record.good]
    share, k = max(coarse, default=(0.0, 0))
    if share > COARSE_SHARE:
        yield say("rounded", what="rate" if record.settings.timing.measures_rate else "time", k=k, share=share)


def units_mixed(record: Record) -> Iterable[Finding]:
    """A program that chooses its unit by the size of the figure: 850 MB/s in one run, 1.2 GB/s in another."""
    units = sorted({str(unit) for run in record.good for unit in run.observed.get("printed_units", ())})
    if len(units) > 1:
        yield say("units-mixed", units=units)


def program_changed(record: Record) -> Iterable[Finding]:
    """A program that was built again between a measurement and its `--resume`."""
    sites = [run.observed["site"] for run in record.runs if run.observed.get("site", {}).get("sha256")]
    hashes = list(dict.fromkeys(str(site["sha256"]) for site in sites))
    if len(hashes) > 1:
        short = " and ".join(own[:12] for own in hashes)
        yield say("program-changed", program=sites[0].get("program", "The program"), short=short, sha256=hashes)


def work_unreported(record: Record) -> Iterable[Finding]:
    if record.good and all(run.work is None for run in record.good) and not record.settings.k_is_load:
        yield say("work-not-reported")


def steady_state(record: Record) -> Iterable[Finding]:
    pairs = [(run, steadiness_of(rank.steps[rank.warmup_steps :])) for run in record.good for rank in run.ranks[:1]]
    states = [(run, state) for run, state in pairs if state is not None]
    warmups = [state.warmup for _, state in states if state.warmup]
    if len(warmups) * 2 > len(states):
        most = max(warmups)
        enough = record.settings.warmup_steps + most
        yield say("still-warming", runs=len(warmups), of=len(states), most=most, enough=enough)
    drifts = [(run, state.drift) for run, state in states if state.drift is not None]
    if len(drifts) * 4 > len(states):
        run, drift = max(drifts, key=lambda pair: abs(pair[1]))
        yield say("drift", runs=len(drifts), of=len(states), drift=drift, k=run.k)


def short_steps(record: Record) -> Iterable[Finding]:
    """Launches that cost minutes for seconds of T, and what more steps in each would tell."""
    if record.settings.timing.measures_rate:
        return
    inside = math.fsum(run.value or 0.0 for run in record.good)
    around = math.fsum(max(0.0, (run.wall_seconds or 0.0) - (run.value or 0.0)) for run in record.good)
    if around < LONG_LAUNCHES or around < MOSTLY_SETUP * (around + inside):
        return
    series = [rank.steps[rank.warmup_steps :] for run in record.good for rank in run.ranks[:1]]
    errors = [own for steps in series if (own := error_of_mean(steps)) is not None]
    between = [spread_of(times) for times in record.times().values() if len(times) > 2]
    spread = ""
    if errors and between:
        spread = f" Steps of one launch give their mean within {np.median(errors):.1%} (batch means, which count "
        spread += f"neighbours that are alike); launches differ by {np.median(between):.1%}."
    share, factor = around / (around + inside), around / inside
    yield say("short-steps", around=around, inside=inside, share=share, factor=factor, spread=spread)


def start_together(record: Record) -> Iterable[Finding]:
    if record.settings.timing.measures_rate:
        return
    skews = [((run.observed.get("start_skew_seconds") or 0.0) / run.value, run) for run in record.good if run.value]
    share, run = max(skews, key=lambda pair: pair[0], default=(0.0, None))
    if run is not None and share > SKEW_SHARE:
        yield say("start-skew", k=run.k, skew=run.observed["start_skew_seconds"], share=share)


def complaints(record: Record) -> Iterable[Finding]:
    """A job that ends with exit code 0 and speaks of a failure may have done nothing."""
    if runs := record.having("complaint"):
        line = str(runs[0].observed["complaint"])
        yield say("complains", count=len(runs), launches=len(record.good), k=runs[0].k, line=line)


def work_left_over(record: Record) -> Iterable[Finding]:
    """Whether only the first launch worked, as `make` does: the later ones find what it left."""
    first = [run for run in record.runs if run.status is RunStatus.WARMUP]
    seconds = max((float(run.observed.get("cpu_seconds", 0.0)) for run in first), default=0.0)
    later = max((float(run.observed.get("cpu_seconds", 0.0)) for run in record.good), default=math.inf)
    if seconds > max(ONLY_FIRST * later, SHORTEST_SECONDS):
        yield say("work-left-over", seconds=seconds, later=later)


def left_running(record: Record) -> Iterable[Finding]:
    """T ends with the command; what it leaves in the background is not in T."""
    if runs := record.having("behind"):
        most = max(int(run.observed["behind"]) for run in runs)
        yield say("left-running", count=len(runs), launches=len(record.good), most=most)


def cores_heeded(record: Record) -> Iterable[Finding]:
    """Whether the fewest workers of a sweep on this machine keep no more cores busy than they are: from CPU time."""
    settings = record.settings
    rows = record.busy_cores()
    if not rows or not settings.is_local or settings.k_unit not in CORE_UNITS or settings.serves:
        return
    k = min(rows)
    if rows[k] > BUSY_BEYOND * k * (settings.launcher.threads_per_worker or 1):
        hint = None if settings.launcher.name == "local" else "fix the threads of a worker with --threads-per-worker 1"
        yield say("more-than-one-core", remedy=hint, k=k, cores=rows[k])


def workers_heeded(record: Record) -> Iterable[Finding]:
    """Whether one command that is told K uses K cores: from T over K, and from its CPU time beside its wall time."""
    settings, launcher = record.settings, record.settings.launcher
    is_told = launcher.name == "local" and launcher.mode == "command" and not launcher.hosts
    if not is_told or settings.k_is_load or settings.regime is not Regime.STRONG or settings.timing.measures_rate:
        return
    times = record.medians(lambda run: run.value, record.scaling)
    if len(times) < 2:
        return
    cores, least, most = record.busy_cores(), min(times), max(times)
    same = max(times.values()) / min(times.values())
    still = cores[least] > STILL_BUSY * least and cores[most] < BUSY_BEYOND * cores[least]
    every = [run.value or 0.0 for run in record.scaling]
    exact = max(every) / min(every) < 1 + SAME_WITHIN_NOISE and not any(rounded_figures(record))
    idle = still and not record.made.disturbed()
    if (exact and same < 1 + SAME_TO_THE_DIGIT) or (idle and same < 1 + SAME_WITHIN_NOISE):
        yield say("same-at-every-k", seconds=times[least], least=least, most=most, cores=cores)


def oversubscription(record: Record) -> Iterable[Finding]:
    cores = record.cores
    if beyond := ks_of(run for run in record.scaling if run.oversubscribed):
        yield say("oversubscribed", k=beyond, cores=cores)
    for run in record.good:
        place = run.placement
        pools = run.observed.get("thread_pools") or {}
        threads = max(pools.values(), default=(place.threads_per_rank if place else None) or 1)
        on_one_host = place is None or (place.nodes or 1) == 1
        too_many = threads > 1 and on_one_host and threads * run.k > cores
        if too_many and not run.oversubscribed and not record.settings.k_is_load:
            yield say("too-many-threads", threads=threads, k=run.k, cores=cores, fit=max(1, cores // run.k))
            return


def cores_shared(record: Record) -> Iterable[Finding]:
    """Whether K workers may use fewer than K cores: taskset, a cpuset, or an mpirun that binds all of them alike."""
    if not record.settings.is_local or record.settings.k_unit not in CORE_UNITS:
        return
    for run in record.scaling:
        allowed = sorted({core for one in run.observed.get("affinity", ()) for core in one})
        needed = run.k * (record.settings.launcher.threads_per_worker or 1)
        busy = not run.oversubscribed and run.observed.get("threads", 0) >= needed
        if busy and 0 < len(allowed) < needed:
            yield say("cores-shared", k=run.k, allowed=allowed, needed=needed, share=len(allowed), cores=record.cores)
            return


def size_of_the_job(record: Record) -> Iterable[Finding]:
    """Whether each launch ran at size K, from the evidence that `size_evidence` left with it."""
    by_verdict: dict[str, list[Run]] = {}
    for run in record.having("size_verdict"):
        by_verdict.setdefault(str(run.observed["size_verdict"]), []).append(run)
    for verdict, runs in sorted(by_verdict.items()):
        if verdict == SizeVerdict.UNKNOWN:
            yield say("size-unproven", remedy=WAY_OUT, k=ks_of(runs))
        elif verdict != SizeVerdict.SHOWN:
            severity = "error" if verdict == SizeVerdict.CONTRADICTED else "warning"
            yield say("singletons", severity=severity, k=ks_of(runs), why=runs[0].observed.get("size_evidence", ""))


def disturbed(record: Record) -> Iterable[Finding]:
    """Rows measured beside other work: what T would have been without it, as far as the waiting of the job tells."""
    settings, limit = record.settings, limit_of(record.settings)
    if not (rows := record.made.disturbed()):
        single = sum(is_disturbed(run, limit) for run in record.good)
        if single and settings.is_local:
            yield say("busy-machine", runs=single, launches=len(record.good))
        return
    points = sorted(rows)
    asks_server = settings.serves or settings.k_is_load or any(run.observed.get("talks_to") for run in record.runs)
    quiet = {} if asks_server else quiet_rows(record.good, settings)  # how a server waited is not known
    shares = quiet_efficiency(quiet, settings)
    unit = (settings.timing.rate_unit or "per second") if settings.timing.measures_rate else ""
    told = [quiet[point.k] for point in points if point.role == SCALING and point.k in quiet]
    words = "; ".join(_quiet_words(row, shares.get(row.k), unit) for row in told)
    yield say(
        "disturbed",
        foreign_cores=max(rows.values()),
        points=", ".join(point.name for point in points),
        bounds=f". On a quiet machine: {words}." if told else ": what they cost cannot be said.",
        serves=_remedy_of_servers(record),
        k=sorted({point.k for point in points}),
        limit=limit,
        servers=unnamed_servers(record),
        quiet={row.k: [row.low, row.high] for row in told},
        efficiency={k: list(share) for k, share in shares.items()},
    )


def _remedy_of_servers(record: Record) -> str:
    """How to make a server part of the job, before another remedy; empty where there is none or it is named."""
    if names := unnamed_servers(record):
        return f"make {', '.join(names)} part of the job with --serves {','.join(names)}; or "
    asks = record.settings.k_is_load and not record.settings.serves
    return "name the server with --serves where it is on this machine; or " if asks else ""


def _quiet_words(row: QuietRow, share: tuple[float, float] | None, unit: str) -> str:
    low, high = row.starved
    lost = f"{low:.0%} to {high:.0%}" if high - low >= 0.01 else f"{high:.0%}"
    value = f"{row.low:.4g} to {row.high:.4g} {unit}" if unit else format_seconds_range(row.low, row.high, " to ")
    if row.high > WIDEST * row.low:  # one end says nothing
        value = f"at least {row.low:.4g} {unit}" if unit else f"at most {format_seconds(row.high)}"
    measured = f"{row.value:.4g} {unit}" if unit else format_seconds(row.value)
    text = f"K = {row.k} {value} (measured {measured}, {lost} of it waiting for cores)"
    return text if share is None else f"{text}, E {share[0]:.2f} to {share[1]:.2f}"


def unnamed_servers(record: Record) -> list[str]:
    """Programs of this machine that the job talks to and that --serves does not name."""
    if record.settings.serves:
        return []
    return sorted({str(peer["name"]) for run in record.runs for peer in run.observed.get("talks_to", ())})


def uses_server(record: Record) -> Iterable[Finding]:
    if names := unnamed_servers(record):
        yield say("uses-server", names=names, listed=",".join(names))


def load_unwatched(record: Record) -> Iterable[Finding]:
    """Where nothing tells what others used beside the job."""
    unwatched = not any("foreign_cpu_seconds" in run.observed for run in record.good)
    if record.good and unwatched and not record.settings.is_local:
        launcher = record.settings.launcher
        alone = any("exclusive" in word for word in (*launcher.extra, *launcher.slurm.extra, *launcher.batch.extra))
        yield say("load-unwatched", severity="info" if alone else "warning", launcher=launcher.name)


def overlapping(record: Record) -> Iterable[Finding]:
    """Launches on the same hosts at the same time, as tasks of an array may be: each is the load of the other."""
    if record.settings.is_local:
        return
    spans = sorted(
        (datetime.fromisoformat(run.started).timestamp(), run.order or 0, run)
        for run in record.runs
        if run.started and run.wall_seconds and run.status in (RunStatus.OK, RunStatus.WARMUP)
    )
    crowded = {
        run.k
        for place, (begin, _, one) in enumerate(spans)
        for later, _, other in spans[place + 1 :]
        if later < begin + (one.wall_seconds or 0.0) and _share_hosts(one, other)
        for run in (one, other)
    }
    if crowded:
        yield say("overlapping", k=sorted(crowded))


def _share_hosts(one: Run, other: Run) -> bool:
    """Whether two runs had a host in common, or where they ran is not known."""
    hosts = [set(run.placement.hosts) if run.placement else set() for run in (one, other)]
    return not all(hosts) or bool(hosts[0] & hosts[1])


def queued(record: Record) -> Iterable[Finding]:
    """How long jobs waited in a queue, by K."""
    if medians := record.medians(lambda run: run.observed.get("queued_seconds")):
        reasons = sorted({str(why) for run in record.good for why in run.observed.get("pending_reasons", ())})
        why = f" (the queue said: {'; '.join(reasons)})" if reasons else ""
        yield say("queued", seconds=medians, why=why, reasons=reasons)


def saturation(record: Record) -> Iterable[Finding]:
    """Where a server takes no more, with throughput and latencies at every load."""
    settings = record.settings
    rates = {point.k: float(np.mean(times)) for point, times in record.times().items() if times}
    is_told = settings.k_is_load and settings.timing.measures_rate and len(rates) > 1
    if not is_told or record.made.disturbed():
        return
    tails = latencies_by_k(record)
    rows = {k: {"rate": rate, **tails.get(k, {})} for k, rate in rates.items()}
    k, load, latency = saturation_of(rates), settings.k_unit, latency_words(tails)
    yield say("saturation", k=k, load=load, latency=latency, rows=rows)


def latency_words(tails: Mapping[int, Mapping[str, float]]) -> str:
    """The most telling latency at every load; empty without any."""
    names = [name for name in ("p99", "p95", "p50", "mean") if any(name in own for own in tails.values())]
    listed = ", ".join(f"{format_seconds(own[names[0]])} at {k}" for k, own in tails.items() if names[0] in own)
    return f" Latency {names[0]}: {listed}." if names else ""


def latencies_by_k(record: Record) -> dict[int, dict[str, float]]:
    """Latencies in seconds that the job printed, by K and name (mean, p50, p99 ...): the median of its runs."""
    rows: dict[int, dict[str, list[float]]] = {}
    for run in record.having("latency"):
        for name, seconds in run.observed["latency"].items():
            rows.setdefault(run.k, {}).setdefault(name, []).append(float(seconds))
    return {k: {name: float(np.median(own)) for name, own in row.items()} for k, row in sorted(rows.items())}


def pinning_kept(record: Record) -> Iterable[Finding]:
    """Whether the workers got the cores that were asked for, from the cores that they may use."""
    pin = record.settings.launcher.pin
    if pin == "none" or record.settings.launcher.name not in ("mpi", "slurm"):
        return
    bound = record.having("affinity")
    if not bound:
        yield say("pinning-unproven", pin=pin)
        return
    width = record.settings.launcher.threads_per_worker or 1
    here = record.cores if record.settings.is_local and record.cores > width else math.inf
    # Two logical processors may share a core; all that there are mean that nothing was bound.
    most = min(here, 2 * width + 1)
    if loose := ks_of(run for run in bound if any(len(one) >= most for one in run.observed["affinity"])):
        yield say("pinning-lost", pin=pin, k=loose)


def starved(record: Record) -> Iterable[Finding]:
    for run in record.good:
        faults, swapped = run.observed.get("major_faults", 0), run.observed.get("swapped_pages", 0)
        if max(faults, swapped) > FAULTS_THAT_MATTER:
            yield say("starved", k=run.k, major_faults=faults, swapped_pages=swapped)
            return


def debug_build(record: Record) -> Iterable[Finding]:
    signs = debug_signs(record.settings.command, record.settings.env)
    signs += sorted({sign for run in record.good for sign in run.observed.get("debug", [])})
    if signs:
        yield say("debug-build", listed="; ".join(signs), signs=signs)


def boundaries(record: Record) -> Iterable[Finding]:
    """A node or NUMA boundary inside the sweep is part of the curve's shape."""

    def nodes(run: Run) -> int | None:
        return run.placement.nodes if run.placement else None

    def numa_nodes(run: Run) -> int | None:
        return len(run.placement.numa_nodes) if run.placement else None

    for code, places in (("node-boundary", nodes), ("numa-node-boundary", numa_nodes)):
        counts = record.medians(places, record.scaling)
        inside, beyond = [k for k in counts if counts[k] == 1], [k for k in counts if counts[k] > 1]
        if inside and beyond:
            yield say(code, last_inside=max(inside), first_beyond=min(beyond))


def setup_apart(record: Record) -> Iterable[Finding]:
    if medians := record.medians(lambda run: run.setup_seconds):
        yield say("setup-apart", seconds=medians)


RULES: Sequence[Callable[[Record], Iterable[Finding]]] = (
    missing_points, failed_runs, precision_reached, timing_source, rounded_figures, units_mixed, program_changed,
    work_unreported, steady_state, short_steps, start_together, complaints, work_left_over, left_running, cores_heeded,
    workers_heeded, oversubscription, cores_shared, size_of_the_job, disturbed, uses_server, load_unwatched,
    overlapping, queued, saturation, pinning_kept, starved, debug_build, boundaries, setup_apart,
)  # fmt: skip


def error_of_mean(steps: Sequence[float]) -> float | None:
    """The standard error of the mean of a series as a share of it, by batch means: ten batches, each long enough that
    neighbouring steps which are alike fall into one; None with fewer than twenty steps."""
    if len(steps) < 2 * FEWEST_STEPS:
        return None
    means = np.asarray([np.mean(part) for part in np.array_split(np.asarray(steps), FEWEST_STEPS)])
    return float(means.std(ddof=1) / math.sqrt(len(means)) / means.mean())


@dataclass(frozen=True)
class Steadiness:
    """`warmup`: slower steps at the beginning.  `drift`: relative change over the rest, None if not significant."""

    warmup: int
    drift: float | None


def steadiness_of(steps: Sequence[float]) -> Steadiness | None:
    """Warm-up and drift of a series of step times; None with fewer than ten steps."""
    series = np.asarray(steps, dtype=np.float64)
    if len(series) < FEWEST_STEPS:
        return None
    warmup = warmup_length(series)
    return Steadiness(warmup, drift_of(series[warmup:]))


def warmup_length(series: npt.NDArray[np.float64]) -> int:
    """MSER on the series, winsorised at the 95th percentile so that one late hiccup is not taken for a warm-up."""
    n = len(series)
    calm = np.minimum(series, np.quantile(series, 0.95)) if n >= 20 else series
    reverse = calm[::-1]
    counts = np.arange(1, n + 1)
    means = np.cumsum(reverse) / counts
    variances = np.cumsum(reverse**2) / counts - means**2
    errors = (np.maximum(variances, 0.0) / counts)[::-1]  # errors[d]: squared standard error when d are dropped
    cut = int(np.argmin(errors[: n // 2 + 1]))
    if cut == n // 2:  # still falling at the limit: MSER has no answer, and `drift_of` finds the trend
        return 0
    # A cut that hardly lowers the mean is noise, not warm-up.
    return cut if cut and float(np.median(calm[:cut])) > 1.05 * float(np.mean(calm[cut:])) else 0


def drift_of(series: npt.NDArray[np.float64]) -> float | None:
    """Relative change from the first to the last step when a trend is significant and above 5 %; else None."""
    if len(series) > MOST_STEPS:  # medians of equal groups keep the test of all pairs small
        series = np.asarray([np.median(group) for group in np.array_split(series, MOST_STEPS)])
    n = len(series)
    if n < FEWEST_STEPS:
        return None
    i, j = np.triu_indices(n, 1)
    differences = series[j] - series[i]
    z = abs(float(np.sign(differences).sum())) / math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    change = float(np.median(differences / (j - i))) * (n - 1) / float(np.median(series))
    return change if z > SIGNIFICANT_Z and abs(change) > DRIFT_SHARE else None
