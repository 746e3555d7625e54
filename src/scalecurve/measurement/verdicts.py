"""What a reader must know about how a study was measured, each verdict from evidence in its runs.

Warm-up in a series of steps is found by MSER (White 1997): drop the first d steps that make the standard error of the
mean of the rest least, d at most half of the series.  Drift of the rest is Theil-Sen's slope with the Mann-Kendall
test of trend.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import numpy as np
import numpy.typing as npt

from scalecurve.findings import Finding, error, info, warning
from scalecurve.measurement.guard import is_disturbed, limit_of
from scalecurve.measurement.machine import debug_signs
from scalecurve.measurement.schedule import Made, SweepPoint, points_of, relative_halfwidth, runs_to_make
from scalecurve.measurement.settings import MeasureSettings
from scalecurve.measurement.size_evidence import WAY_OUT, SizeVerdict
from scalecurve.measurement.starvation import QuietRow, quiet_efficiency, quiet_rows
from scalecurve.study import Regime, Run, RunStatus
from scalecurve.study.run import SCALING
from scalecurve.units import format_count, format_seconds, format_seconds_range

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
SATURATED = 0.95
"""Of the highest throughput: the least load that reaches it saturates the server."""
SAME_TO_THE_DIGIT = 0.01
SAME_WITHIN_NOISE = 0.05
SHORTEST_SECONDS = 0.1
ONLY_FIRST = 10.0
"""Cold caches cost a launch a few times its CPU time; more than this and the later ones do not work."""
COARSE_SHARE = 0.02
"""Of a figure: a last digit that is worth more hides the noise of most jobs."""
START_SECONDS = 0.02
"""A process and its libraries start in a few of these; a shorter T is that start."""
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
    def made(self) -> Made:
        return Made.of(self.settings, self.runs)

    def times(self) -> dict[SweepPoint, Sequence[float]]:
        """The values by point, for every point of the study."""
        return {point: self.made.times(point) for point in dict.fromkeys((*points_of(self.settings), *self.made.rows))}

    def busy_cores(self) -> dict[int, float]:
        """The cores that the job kept busy at each K, on average over a run; the median of the runs."""
        rows: dict[int, list[float]] = {}
        for run in self.good:
            if run.role == SCALING:
                rows.setdefault(run.k, []).append(cores_busy(run))
        return {k: float(np.median(cores)) for k, cores in sorted(rows.items())}


def verdicts_on(record: Record) -> list[Finding]:
    return [finding for verdict in VERDICTS for finding in verdict(record)]


def missing_points(record: Record) -> Iterable[Finding]:
    counts = {point: len(times) for point, times in record.times().items()}
    lost = [point.name for point, count in counts.items() if not count]
    if lost:
        yield error("missing-points", f"No time for {', '.join(lost)}.", remedy="fix the failure, then --resume")
    few = [f"{point.name} has {count}" for point, count in counts.items() if 0 < count < record.settings.repeats]
    if few:
        text = f"Fewer than {record.settings.repeats} fresh launches: {', '.join(few)}."
        yield warning("too-few-repeats", text, remedy="run measure --resume")


def failed_runs(record: Record) -> Iterable[Finding]:
    bad = [run for run in record.runs if run.status in (RunStatus.FAILED, RunStatus.TIMEOUT)]
    if bad:
        where = ", ".join(f"K = {k}" for k in sorted({run.k for run in bad}))
        owed = next(runs_to_make(record.settings, record.made), None) is not None
        yield warning(
            "failed-runs",
            f"{len(bad)} of {len(record.runs)} launches failed ({where}); the first said: {bad[0].failure}",
            remedy="read the errors in the study file"
            + (", then try again with measure --resume" if owed else "; later launches made up for them"),
            count=len(bad),
        )


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
        yield warning(
            "precision-not-reached",
            f"The interval of T is wider than the {precision:.1%} asked for: {', '.join(wide)}.",
            remedy="raise --max-repeats or --max-time and --resume, or quiet the machine",
        )


def timing_source(record: Record) -> Iterable[Finding]:
    sources = sorted({str(run.observed.get("timing")) for run in record.good})
    if len(sources) > 1:
        yield error("timing-mixed", f"Times come from different sources: {', '.join(sources)}.", sources=sources)
    timing = record.settings.timing
    if sources == ["wall"]:
        apart = ", except for what the set-up command does" if timing.setup_command else ""
        yield warning(
            "timing-wall",
            f"T is the wall time of the whole command, with process start, imports and set-up{apart}.",
            remedy="use the probe, or a time printed by the program (--time-pattern)",
        )
        short = {k: min(run.value or 0.0 for run in record.good if run.k == k) for k in {run.k for run in record.good}}
        k, least = min(short.items(), key=lambda pair: pair[1])
        if least < START_SECONDS:
            text = f"T is {format_seconds(least)} at K = {k}, which is mostly the start of processes."
            yield warning("too-short", text, remedy="measure a larger problem, or a time printed by the program", k=k)
    if timing.timer_excludes and sources != ["probe"]:
        left_out = " and ".join(timing.timer_excludes)
        if sources == ["wall"]:
            text = f"The wall time cannot exclude {left_out}: --timer-excludes is about a timer of the program."
            yield warning("timer-not-used", text, remedy="name that timer with --time-pattern")
        else:
            text = f"The program's own timer excludes {left_out}, as stated by the user; nothing here verifies it."
            yield info("timer-stated", text, excludes=list(timing.timer_excludes))
    several = [run for run in record.good if run.observed.get("time_matches", 1) > 1]
    if several and timing.take is None:
        most = max(int(run.observed["time_matches"]) for run in several)
        text = f"The pattern matched up to {most} times in a run; the last match counts."
        yield info("several-matches", text, remedy="say which with --take", matches=most)


def rounded_figures(record: Record) -> Iterable[Finding]:
    """A figure that is printed with few digits: equal repeats then show no noise, although there is some."""
    coarse = [run for run in record.good if run.observed.get("last_digit", 0.0) > COARSE_SHARE]
    if coarse:
        run = max(coarse, key=lambda run: float(run.observed["last_digit"]))
        share = float(run.observed["last_digit"])
        what = "rate" if record.settings.timing.measures_rate else "time"
        yield warning(
            "rounded",
            f"The {what} that the job prints has few digits: at K = {run.k} its last digit is {share:.0%} of it, so "
            "the intervals are too narrow.",
            remedy="print more digits, measure a larger problem, or leave out the pattern and take the wall time",
            k=run.k,
            share=share,
        )


def units_mixed(record: Record) -> Iterable[Finding]:
    """A program that chooses its unit by the size of the figure: 850 MB/s in one run, 1.2 GB/s in another."""
    units = sorted({str(unit) for run in record.good for unit in run.observed.get("printed_units", ())})
    if len(units) > 1:
        yield error(
            "units-mixed",
            f"The job prints its figure in several units ({', '.join(units)}), and all were read as one.",
            remedy="have it print one unit, or take the wall time",
            units=units,
        )


def program_changed(record: Record) -> Iterable[Finding]:
    """A program that was built again between a measurement and its `--resume`."""
    sites = [run.observed["site"] for run in record.runs if run.observed.get("site", {}).get("sha256")]
    hashes = list(dict.fromkeys(str(site["sha256"]) for site in sites))
    if len(hashes) > 1:
        name = sites[0].get("program", "The program")
        yield error(
            "program-changed",
            f"{name} changed between the runs (SHA-256 {' and '.join(own[:12] for own in hashes)}): they are runs of "
            "different programs.",
            remedy="measure all again with --force",
            sha256=hashes,
        )


def work_unreported(record: Record) -> Iterable[Finding]:
    if record.good and all(run.work is None for run in record.good) and not record.settings.k_is_load:
        yield info(
            "work-not-reported",
            "The job does not report its work, so nothing checks that it is the same at every K.",
            remedy="use probe.add_work(...), steps(..., work=...), or name what the job prints with --work-pattern",
        )


def steady_state(record: Record) -> Iterable[Finding]:
    pairs = [(run, steadiness_of(rank.steps[rank.warmup_steps :])) for run in record.good for rank in run.ranks[:1]]
    states = [(run, state) for run, state in pairs if state is not None]
    warmups = [state.warmup for _, state in states if state.warmup]
    if len(warmups) * 2 > len(states):
        most = max(warmups)
        yield warning(
            "still-warming",
            f"In {len(warmups)} of {len(states)} runs the first steps after warm-up were still slower (up to {most}).",
            remedy=f"use --warmup-steps {record.settings.warmup_steps + most}",
            runs=len(warmups),
        )
    drifts = [(run, state.drift) for run, state in states if state.drift is not None]
    if len(drifts) * 4 > len(states):
        run, drift = max(drifts, key=lambda pair: abs(pair[1]))
        yield warning(
            "drift",
            f"The steps of {len(drifts)} of {len(states)} runs drift, by {drift:+.0%} within one run at K = {run.k}.",
            remedy="measure longer, or find what heats up, fills up or grows",
            runs=len(drifts),
        )


def start_together(record: Record) -> Iterable[Finding]:
    skews = [(run, run.observed.get("start_skew_seconds") or 0.0) for run in record.good]
    if record.settings.timing.measures_rate:
        return
    run, skew = max(skews, key=lambda pair: pair[1] / (pair[0].value or math.inf), default=(None, 0.0))
    if run is None or not run.value or skew / run.value <= SKEW_SHARE:
        return
    share = skew / run.value
    yield warning(
        "start-skew",
        f"At K = {run.k} the workers started {format_seconds(skew)} apart, {share:.0%} of T.",
        remedy="put a barrier before the first step, or use warm-up steps",
        share=share,
    )


def complaints(record: Record) -> Iterable[Finding]:
    """A job that ends with exit code 0 and speaks of a failure may have done nothing."""
    complaining = [(run, run.observed["complaint"]) for run in record.good if run.observed.get("complaint")]
    if complaining:
        run, line = complaining[0]
        yield warning(
            "complains",
            f"{len(complaining)} of {len(record.good)} launches ended with exit code 0 but wrote to standard error, "
            f"the first at K = {run.k}: {line}",
            remedy="check that the job did its work; let it exit with another code where it did not",
            count=len(complaining),
        )


def work_left_over(record: Record) -> Iterable[Finding]:
    """Whether only the first launch worked, as `make` does: the later ones find what it left."""
    first = [run for run in record.runs if run.status is RunStatus.WARMUP]
    seconds = max((float(run.observed.get("cpu_seconds", 0.0)) for run in first), default=0.0)
    later = max((float(run.observed.get("cpu_seconds", 0.0)) for run in record.good), default=math.inf)
    if seconds > max(ONLY_FIRST * later, SHORTEST_SECONDS):
        yield warning(
            "work-left-over",
            f"A warm-up launch used {format_seconds(seconds)} of CPU time and no later launch more than "
            f"{format_seconds(later)}: the job finds what the first launch left.",
            remedy="remove its results before every launch with --setup-command, like 'make clean'",
            seconds=seconds,
            later=later,
        )


def left_running(record: Record) -> Iterable[Finding]:
    """T ends with the command; what it leaves in the background is not in T."""
    behind = [run for run in record.good if run.observed.get("behind")]
    if behind:
        most = max(int(run.observed["behind"]) for run in behind)
        text = f"{len(behind)} of {len(record.good)} launches left processes running (up to {most}), which were ended; "
        text += "T does not hold what they did."
        yield warning("left-running", text, remedy="let the job wait for what it starts", count=len(behind))


def cores_heeded(record: Record) -> Iterable[Finding]:
    """Whether the fewest workers of a sweep on this machine keep no more cores busy than they are: from CPU time."""
    settings = record.settings
    rows = record.busy_cores()
    if not rows or not settings.is_local or settings.k_unit not in CORE_UNITS or settings.serves:
        return
    k = min(rows)
    if rows[k] > BUSY_BEYOND * k * (settings.launcher.threads_per_worker or 1):
        hint = "tell the program its threads ({workers} in its options or OMP_NUM_THREADS), or count K in threads"
        if settings.launcher.name != "local":
            hint = "fix the threads of a worker with --threads-per-worker 1"
        yield warning(
            "more-than-one-core",
            f"At K = {k} the job kept {rows[k]:.1f} cores busy: it ignores the number of workers, or a worker "
            "has several threads.",
            remedy=hint,
            cores=rows[k],
        )


def workers_heeded(record: Record) -> Iterable[Finding]:
    """Whether one command that is told K uses K cores: from T over K, and from its CPU time beside its wall time."""
    settings = record.settings
    if (
        settings.k_is_load
        or settings.launcher.name != "local"
        or settings.launcher.mode != "command"
        or settings.launcher.hosts
    ):
        return
    times = {
        point.k: float(np.median(times)) for point, times in record.times().items() if point.role == SCALING and times
    }
    if settings.regime is not Regime.STRONG or settings.timing.measures_rate or len(times) < 2:
        return
    cores, least, most = record.busy_cores(), min(times), max(times)
    same = max(times.values()) / min(times.values())
    still = cores[least] > STILL_BUSY * least and cores[most] < BUSY_BEYOND * cores[least]
    idle = still and not record.made.disturbed()
    every = [run.value for run in record.good if run.role == SCALING and run.value is not None]
    exact = max(every) / min(every) < 1 + SAME_WITHIN_NOISE and not any(rounded_figures(record))
    if (exact and same < 1 + SAME_TO_THE_DIGIT) or (idle and same < 1 + SAME_WITHIN_NOISE):
        yield warning(
            "same-at-every-k",
            f"T is {format_seconds(times[least])} at every K from {least} to {most}: the job runs for a set time, or "
            "ignores the number of workers.",
            remedy="measure a rate with --rate-pattern, or give the job its {workers}",
            cores={str(k): own for k, own in cores.items()},
        )


def cores_busy(run: Run) -> float:
    """CPU time over wall time; 0 where either is not known or too short to say."""
    wall, cpu = run.wall_seconds or 0.0, run.observed.get("cpu_seconds", 0.0)
    return cpu / wall if wall >= SHORTEST_SECONDS else 0.0


def oversubscription(record: Record) -> Iterable[Finding]:
    cores = record.cores
    beyond = sorted({run.k for run in record.good if run.oversubscribed and run.role == SCALING})
    if beyond:
        yield warning(
            "oversubscribed",
            f"K = {', '.join(str(k) for k in beyond)} need more than the {cores} cores: these points show time "
            "sharing, not scaling.",
            remedy="leave them out of speedup claims",
            k=beyond,
            cores=cores,
        )
    for run in record.good:
        place = run.placement
        pools = run.observed.get("thread_pools") or {}
        threads = max(pools.values(), default=(place.threads_per_rank if place else None) or 1)
        on_one_host = place is None or (place.nodes or 1) == 1
        load = record.settings.k_is_load
        if threads > 1 and on_one_host and threads * run.k > cores and not run.oversubscribed and not load:
            yield warning(
                "too-many-threads",
                f"{run.k} workers with {threads} threads each are more than the {cores} cores.",
                remedy=f"set launcher.threads_per_worker = {max(1, cores // run.k)} for every K",
                threads=threads,
                k=run.k,
                cores=cores,
            )
            return


def cores_shared(record: Record) -> Iterable[Finding]:
    """Whether K workers may use fewer than K cores: taskset, a cpuset, or an mpirun that binds all of them alike."""
    width = record.settings.launcher.threads_per_worker or 1
    for run in record.good:
        allowed = {core for one in run.observed.get("affinity", ()) for core in one}
        needed = run.k * width
        if run.role != SCALING or run.oversubscribed or run.observed.get("threads", 0) < needed:
            continue
        if record.settings.is_local and 0 < len(allowed) < needed and record.settings.k_unit in CORE_UNITS:
            listed = ", ".join(map(str, sorted(allowed)))
            yield warning(
                "cores-shared",
                f"At K = {run.k} the job may use core {listed} only: {needed} threads share {len(allowed)} of "
                f"{record.cores} cores, so this point shows time sharing, not scaling.",
                remedy="bind the job to as many cores as it has workers (taskset, numactl, OMP_PLACES, --bind-to)",
                k=run.k,
                allowed=sorted(allowed),
            )
            return


def size_of_the_job(record: Record) -> Iterable[Finding]:
    """Whether each launch ran at size K, from the evidence that `size_evidence` left with it."""
    by_verdict: dict[str, list[Run]] = {}
    for run in record.good:
        if "size_verdict" in run.observed:
            by_verdict.setdefault(str(run.observed["size_verdict"]), []).append(run)
    for verdict, runs in sorted(by_verdict.items()):
        ks = sorted({run.k for run in runs})
        where = f"K = {', '.join(str(k) for k in ks)}"
        if verdict == SizeVerdict.UNKNOWN:
            text = f"Nothing shows that the job ran at size K ({where}); it may be K copies of one worker."
            yield warning("size-unproven", text, remedy=WAY_OUT, k=ks)
        elif verdict != SizeVerdict.SHOWN:
            why = runs[0].observed.get("size_evidence", "")
            kind = error if verdict == SizeVerdict.CONTRADICTED else warning
            text = f"The job seems to be K copies of size 1 at {where}: {why}."
            yield kind("singletons", text, remedy="pair the launcher with the job's library", k=ks)


def disturbed(record: Record) -> Iterable[Finding]:
    """Rows measured beside other work: what T would have been without it, as far as the waiting of the job tells."""
    settings, limit = record.settings, limit_of(record.settings)
    if rows := record.made.disturbed():
        worst, points = max(rows.values()), sorted(rows)
        waits_elsewhere = settings.serves or any(run.observed.get("talks_to") for run in record.runs)
        quiet = {} if waits_elsewhere else quiet_rows(record.good, settings)  # how a server waited is not known
        shares = quiet_efficiency(quiet, settings)
        unit = settings.timing.rate_unit or "per second"
        told = [(quiet[point.k], shares.get(point.k)) for point in points if point.role == SCALING and point.k in quiet]
        text = f"Other processes used up to {worst:.1f} cores during {', '.join(point.name for point in points)}"
        bounds = "; ".join(
            _quiet_words(row, share, unit if settings.timing.measures_rate else "") for row, share in told
        )
        text += f". On a quiet machine: {bounds}." if told else ": what they cost cannot be said."
        remedy = "measure on a quiet machine, or wait for one with --quiet-below 0.3"
        if names := unnamed_servers(record):
            remedy = f"make {', '.join(names)} part of the job with --serves {','.join(names)}; or {remedy}"
        yield warning(
            "disturbed",
            text,
            remedy=remedy,
            k=sorted({point.k for point in points}),
            foreign_cores=worst,
            limit=limit,
            quiet={str(row.k): [row.low, row.high] for row, _ in told},
            efficiency={str(k): list(share) for k, share in shares.items()},
        )
        return
    single = sum(is_disturbed(run, limit) for run in record.good)
    if single and settings.is_local:
        text = f"Other processes disturbed {single} of {len(record.good)} runs; most runs of every row are undisturbed."
        yield info("busy-machine", text, runs=single)


def _quiet_words(row: QuietRow, share: tuple[float, float] | None, unit: str) -> str:
    low, high = row.starved
    lost = f"{low:.0%} to {high:.0%}" if high - low >= 0.01 else f"{high:.0%}"
    value = f"{row.low:.4g} to {row.high:.4g} {unit}" if unit else format_seconds_range(row.low, row.high, " to ")
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
        listed = ", ".join(names)
        text = f"The job talks to {listed} on this machine, whose CPU time counts as that of others."
        yield info("uses-server", text, remedy=f"make it part of the job with --serves {','.join(names)}", names=names)


def load_unwatched(record: Record) -> Iterable[Finding]:
    """Where nothing tells what others used beside the job."""
    unwatched = not any("foreign_cpu_seconds" in run.observed for run in record.good)
    if record.good and unwatched and not record.settings.is_local:
        launcher = record.settings.launcher.name
        text = f"Nothing watched the load by others: the launcher {launcher} runs the job where it cannot be seen."
        yield info("load-unwatched", text, remedy="use nodes of your own (--exclusive), or compare repeats by hand")


def overlapping(record: Record) -> Iterable[Finding]:
    """Launches on the same hosts at the same time, as tasks of an array may be: each is the load of the other."""
    spans = (
        sorted(
            (datetime.fromisoformat(run.started).timestamp(), run.wall_seconds, run)
            for run in record.runs
            if run.started and run.wall_seconds and run.status in (RunStatus.OK, RunStatus.WARMUP)
        )
        if not record.settings.is_local
        else []
    )
    crowded = {
        one.k
        for place, (begin, wall, one) in enumerate(spans)
        for later, _, other in spans[place + 1 :]
        if later < begin + wall and _share_hosts(one, other)
        for one in (one, other)
    }
    if crowded:
        yield warning(
            "overlapping",
            f"Launches ran at the same time on the same hosts (K = {', '.join(map(str, sorted(crowded)))}): each "
            "disturbs the other.",
            remedy='run one at a time (throttle = 1, or allocation = "run"), or ask for nodes of its own (--exclusive)',
            k=sorted(crowded),
        )


def _share_hosts(one: Run, other: Run) -> bool:
    """Whether two runs had a host in common, or where they ran is not known."""
    hosts = [set(run.placement.hosts) if run.placement else set() for run in (one, other)]
    return not all(hosts) or bool(hosts[0] & hosts[1])


def queued(record: Record) -> Iterable[Finding]:
    """How long jobs waited in a queue, by K."""
    waits: dict[int, list[float]] = {}
    for run in record.good:
        if "queued_seconds" in run.observed:
            waits.setdefault(run.k, []).append(float(run.observed["queued_seconds"]))
    if waits:
        medians = {k: float(np.median(seconds)) for k, seconds in sorted(waits.items())}
        listed = ", ".join(f"K = {k} {format_seconds(seconds)}" for k, seconds in medians.items())
        reasons = sorted({str(why) for run in record.good for why in run.observed.get("pending_reasons", ())})
        why = f" (the queue said: {'; '.join(reasons)})" if reasons else ""
        text = f"Between submission and start the jobs waited, at the median: {listed}{why}. It is not in T."
        yield info("queued", text, seconds={str(k): seconds for k, seconds in medians.items()}, reasons=reasons)


def saturation(record: Record) -> Iterable[Finding]:
    """Where a server takes no more: the least load with 95 % of the highest throughput, and what latency does."""
    settings = record.settings
    if not (settings.k_is_load and settings.timing.measures_rate):
        return
    rates = {point.k: float(np.mean(times)) for point, times in record.times().items() if times}
    if len(rates) < 2 or record.made.disturbed():
        return
    best = max(rates.values())
    k = min(k for k, rate in rates.items() if rate >= SATURATED * best)
    unit, load = settings.timing.rate_unit or "per second", settings.k_unit
    text = f"Throughput is {format_count(rates[k])} {unit} at {k} {load}"
    more = max(rates)
    text += (
        f" and {rates[more] / rates[k] - 1:+.0%} at {more}: more load only waits."
        if more > k
        else ", the most that was tried."
    )
    tails = latencies_by_k(record)
    if tails:
        name = next(name for name in ("p99", "p95", "p50", "mean") if any(name in own for own in tails.values()))
        listed = ", ".join(f"{format_seconds(own[name])} at {k}" for k, own in tails.items() if name in own)
        text += f" Latency {name}: {listed}."
    remedy = f"offer at most {k} {load}, or add servers" if more > k else f"measure more than {k} {load}"
    evidence = {str(k): {"rate": rate, **tails.get(k, {})} for k, rate in rates.items()}
    yield info("saturation", text, remedy=remedy, k=k, rows=evidence)


def latencies_by_k(record: Record) -> dict[int, dict[str, float]]:
    """Latencies in seconds that the job printed, by K and name (mean, p50, p99 ...): the median of its runs."""
    rows: dict[int, dict[str, list[float]]] = {}
    for run in record.good:
        for name, seconds in run.observed.get("latency", {}).items():
            rows.setdefault(run.k, {}).setdefault(name, []).append(float(seconds))
    return {k: {name: float(np.median(own)) for name, own in row.items()} for k, row in sorted(rows.items())}


def pinning_kept(record: Record) -> Iterable[Finding]:
    """Whether the workers got the cores that were asked for, from the cores that they may use."""
    pin = record.settings.launcher.pin
    bound = [(run, run.observed["affinity"]) for run in record.good if run.observed.get("affinity")]
    if pin == "none" or record.settings.launcher.name not in ("mpi", "slurm"):
        return
    if not bound:
        text = f"Workers were asked to be bound ({pin}), but nothing shows which cores they got."
        yield info("pinning-unproven", text)
        return
    width = record.settings.launcher.threads_per_worker or 1
    here = record.cores if record.settings.is_local and record.cores > width else math.inf
    # Two logical processors may share a core; all that there are mean that nothing was bound.
    loose = sorted({run.k for run, cores in bound if any(len(one) >= min(here, 2 * width + 1) for one in cores)})
    if loose:
        where = ", ".join(str(k) for k in loose)
        text = f"Workers were asked to be bound ({pin}), but at K = {where} they may use more cores than they need."
        yield warning("pinning-lost", text, remedy="read the launcher's own options for binding", k=loose)


def starved(record: Record) -> Iterable[Finding]:
    for run in record.good:
        faults, swapped = run.observed.get("major_faults", 0), run.observed.get("swapped_pages", 0)
        if faults > FAULTS_THAT_MATTER or swapped > FAULTS_THAT_MATTER:
            yield warning(
                "starved",
                f"The run at K = {run.k} waited for the disk: {faults} major page faults, {swapped} pages swapped; "
                "at K = 1 this inflates every speedup.",
                remedy="use a problem that fits into memory",
                k=run.k,
                major_faults=faults,
                swapped_pages=swapped,
            )
            return


def debug_build(record: Record) -> Iterable[Finding]:
    signs = debug_signs(record.settings.command, record.settings.env)
    signs += sorted({sign for run in record.good for sign in run.observed.get("debug", [])})
    if signs:
        yield warning("debug-build", f"The job is not built or started for speed: {'; '.join(signs)}.", signs=signs)


def boundaries(record: Record) -> Iterable[Finding]:
    """A node or NUMA boundary inside the sweep is part of the curve's shape."""
    placed = [(run.k, run.placement) for run in record.good if run.role == SCALING and run.placement]
    nodes: dict[str, dict[int, int]] = {"node": {}, "NUMA node": {}}
    for k, place in placed:
        nodes["node"][k] = max(place.nodes or 0, nodes["node"].get(k, 0))
        nodes["NUMA node"][k] = max(len(place.numa_nodes), nodes["NUMA node"].get(k, 0))
    for what, most in nodes.items():
        inside = [k for k in sorted(most) if most[k] == 1]
        beyond = [k for k in sorted(most) if most[k] > 1]
        if inside and beyond:
            yield info(
                f"{what.lower().replace(' ', '-')}-boundary",
                f"Workers share one {what} up to K = {inside[-1]} and use several from K = {beyond[0]}.",
                last_inside=inside[-1],
                first_beyond=beyond[0],
            )


def setup_apart(record: Record) -> Iterable[Finding]:
    means = {}
    for k in record.settings.workers:
        seconds = [run.setup_seconds for run in record.good if run.k == k and run.setup_seconds is not None]
        if seconds:
            means[str(k)] = math.fsum(seconds) / len(seconds)
    if means:
        listed = ", ".join(f"K = {k} {format_seconds(mean)}" for k, mean in means.items())
        yield info("setup-apart", f"Set-up was timed separately and is not in T: {listed}.", mean_seconds=means)


VERDICTS: Sequence[Callable[[Record], Iterable[Finding]]] = (
    missing_points,
    failed_runs,
    precision_reached,
    timing_source,
    rounded_figures,
    units_mixed,
    program_changed,
    work_unreported,
    steady_state,
    start_together,
    complaints,
    work_left_over,
    left_running,
    cores_heeded,
    workers_heeded,
    oversubscription,
    cores_shared,
    size_of_the_job,
    disturbed,
    uses_server,
    load_unwatched,
    overlapping,
    queued,
    saturation,
    pinning_kept,
    starved,
    debug_build,
    boundaries,
    setup_apart,
)


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
