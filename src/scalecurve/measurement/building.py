"""The study from a journal: every raw run, T(1) of the fastest correct program, and the findings.

A study is broken when the job is not the same at every K: its work, its answer or its threads.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from scalecurve.errors import Fault, InputError, Refused
from scalecurve.findings import Finding
from scalecurve.measurement.masking import masked_words
from scalecurve.measurement.ports import World
from scalecurve.measurement.sentences import say
from scalecurve.measurement.settings import MeasureSettings
from scalecurve.measurement.verdicts import Record, verdicts_on
from scalecurve.measurement.worker_site import machine_and_software, program_in, words_of
from scalecurve.study import Baseline, Provenance, Quantity, Regime, Run, RunStatus, Study, Treatment, Workload
from scalecurve.study.run import SCALING
from scalecurve.units import format_seconds

if TYPE_CHECKING:
    from scalecurve.estimate import Estimate
    from scalecurve.measurement.journal import Workspace
    from scalecurve.measurement.schedule import Planned

INTERPRETERS = ("sh", "bash", "dash", "java", "node", "perl", "ruby", "Rscript", "julia", "octave")


def build_study(
    settings: MeasureSettings,
    space: Workspace,
    world: World,
    *,
    interrupted: bool = False,
    pending: Mapping[Planned, str] | None = None,
) -> Study:
    """The study of all launches so far, from the journal on the disk; `pending` are jobs that wait in a queue."""
    header, entries = space.contents()
    runs = tuple(entry for entry in entries if isinstance(entry, Run))
    reasons = Counter((pending or {}).values())
    listed = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    waiting: dict[str, Any] = {"jobs": reasons.total(), "listed": listed, "reasons": dict(reasons)}
    findings = [
        *([say("interrupted", output=str(settings.output or space.output))] if interrupted else ()),
        *([say("pending-jobs", output=str(space.output), **waiting)] if pending else ()),
        *sameness_findings(runs, settings),
        *choose_baseline(runs, settings)[1],
        *(verdicts_on(Record(settings, runs, len(world.machine.usable_cores()))) if runs or not pending else ()),
    ]
    if any("series" in run.observed for run in runs):
        findings += noise_scale_findings(runs)
    return study_of(settings, header, runs, findings)


def study_of(
    settings: MeasureSettings, header: Mapping[str, Any], runs: tuple[Run, ...], findings: Iterable[Finding] = ()
) -> Study:
    """The study of these runs; `header` is that of their journal."""
    runs = runs or (Run(k=settings.workers[0], status=RunStatus.INTERRUPTED),)
    sources = sorted({str(run.observed["timing"]) for run in runs if "timing" in run.observed})
    # The probe times the set-up apart; what else a program's own timer leaves out, only its user can say.
    timed_apart = sources == ["probe"] or (sources != ["wall"] and "setup" in settings.timing.timer_excludes)
    site = next((dict(run.observed["site"]) for run in runs if "site" in run.observed), {})
    machine, software = machine_and_software(site, dict(header["machine"]), dict(header["software"]))
    limits = {"repeats", "precision", "level", "max_repeats", "max_time", "timeout", "warmup_launches", "oversubscribe"}
    asked = {name: value for name, value in settings.asked().items() if name != "folder"}
    requested = settings.model_dump(mode="json", include=limits) | {"workers": list(settings.workers)}
    return Study(
        regime=settings.regime,
        quantity=Quantity.THROUGHPUT if settings.timing.measures_rate else Quantity.SECONDS,
        unit=settings.timing.rate_unit if settings.timing.measures_rate else None,
        k_unit=settings.k_unit,
        workload=Workload(
            name=settings.name or name_of_job(settings),
            command=masked_words(settings.command),
            description=settings.description,
            total=settings.total,
            per_worker=settings.per_worker,
            work_unit=settings.work_unit,
        ),
        runs=runs,
        baseline=choose_baseline(runs, settings)[0],
        warmup=Treatment.EXCLUDED if settings.warmup_launches or settings.warmup_steps else Treatment.INCLUDED,
        setup=Treatment.EXCLUDED if timed_apart else Treatment.UNKNOWN,
        node_size=settings.launcher.workers_per_node or settings.launcher.slurm.tasks_per_node,
        provenance=Provenance(
            source=settings.name,
            tool="scalecurve measure",
            tool_version=header["software"].get("packages", {}).get("scalecurve"),
            created=str(header["created"]),
            launcher=settings.launcher.name,
            timing=", ".join(sources) or None,
            seed=settings.seed,
            machine=machine,
            software=software,
            settings={**requested, "job": settings.job(), "asked": asked},
        ),
        findings=tuple(findings),
    )


def name_of_job(settings: MeasureSettings) -> str:
    """The name of the program; of an interpreter the script it runs: `python -m heat` is heat."""
    words = words_of(settings.command, shell=settings.shell)
    word = program_in(words, settings.folder or Path.cwd())
    program, rest = Path(word).name.strip("{}"), words[words.index(word) + 1 :]
    if program.startswith("python"):
        script = next((Path(word).name for word in rest if not word.startswith("-")), program)
        return f"{program} -c" if "-c" in rest[:2] else script
    if program in INTERPRETERS:
        return next((Path(word).name for word in rest if re.fullmatch(r"[^-{]\S*\.[A-Za-z]\w*", word)), program)
    return program


def choose_baseline(runs: Sequence[Run], settings: MeasureSettings) -> tuple[Baseline, list[Finding]]:
    """The fastest correct single-worker program, which gives T(1), and by how much the job itself is slower."""
    if not settings.baseline:
        return Baseline(), []
    candidates = tuple(settings.baseline)
    means, findings = means_alone(runs, settings)
    if not means:
        return Baseline(candidates=candidates), findings
    chosen, own = min(means, key=lambda name: means[name]), means.get(SCALING)
    if chosen == SCALING:
        description = "the distributed code with one worker, the fastest of those tried"
        tried = ", ".join(f"{name} {format_seconds(mean)}" for name, mean in means.items() if name != SCALING)
        findings.append(say("baseline-is-the-job", own=own, tried=tried or "none gave a time", means=means))
        return Baseline(candidates=candidates, chosen=chosen, description=description), findings
    candidate, fast = settings.baseline[chosen], means[chosen]
    threads = f", {candidate.threads} threads" if candidate.threads else ""
    description = f"{' '.join(masked_words(candidate.command))}{threads}"
    if own is not None:
        ratio = own / fast
        findings.append(say("baseline-chosen", chosen=chosen, seconds=fast, own=own, inflation=ratio, means=means))
    return Baseline(candidates=candidates, chosen=chosen, description=description), findings


def means_alone(runs: Sequence[Run], settings: MeasureSettings) -> tuple[dict[str, float], list[Finding]]:
    """Mean seconds on one worker of every program whose answer is that of the job; a wrong answer is a finding."""
    job = next((run for run in runs if run.role == SCALING and run.k == 1 and run.value is not None), None)
    wrong = {run.role for run in runs if run.value and job is not None and not agree(job, run, settings)}
    means = {}
    for name in (*sorted(settings.baseline), SCALING):
        times = [run.value for run in runs if run.k == 1 and run.value and run.counts_as(name)]
        if times and name not in wrong:
            means[name] = math.fsum(times) / len(times)
    return means, [say("baseline-wrong-answer", candidate=name) for name in sorted(wrong)]


def agree(one: Run, other: Run, settings: MeasureSettings) -> bool:
    """Whether two runs did the same work and gave the same answer, as far as both report them."""
    same = settings.sameness
    if one.work is not None and other.work is not None and not _close(one.work, other.work, same.work_tolerance):
        return False
    return digests_agree(one, other, same.digest_tolerance)


def digests_agree(one: Run, other: Run, tolerance: float) -> bool:
    """Equal, or both numbers and within the tolerance; an absent answer agrees with any."""
    if one.digest is None or other.digest is None:
        return True
    if isinstance(one.digest, float | int) and isinstance(other.digest, float | int):
        return _close(one.digest, other.digest, tolerance)
    return one.digest == other.digest


def _close(one: float, other: float, tolerance: float) -> bool:
    return abs(one - other) <= tolerance * max(abs(one), abs(other))


def sameness_findings(runs: Sequence[Run], settings: MeasureSettings) -> list[Finding]:
    """Errors where the work, the answer or the threads of the job change with K."""
    good = [run for run in runs if run.value is not None and run.role == SCALING]
    return [*_work_findings(good, settings), *_digest_findings(good, settings), *_thread_findings(good)]


def _work_findings(runs: Sequence[Run], settings: MeasureSettings) -> Iterable[Finding]:
    """Strong: the total work must be equal.  Weak: the work per worker."""
    weak = settings.regime is Regime.WEAK
    amounts = [(run.work / (run.k if weak else 1), run.k) for run in runs if run.work is not None]
    if not amounts:
        return
    (low, k_low), (high, k_high) = min(amounts), max(amounts)
    if _close(low, high, settings.sameness.work_tolerance):
        return
    what = "work per worker" if weak else "total work"
    regime = str(settings.regime)
    yield say("work-differs", what=what, regime=regime, low_work=low, low_k=k_low, high_work=high, high_k=k_high)


def _digest_findings(runs: Sequence[Run], settings: MeasureSettings) -> Iterable[Finding]:
    """The answer must be the same; that of a weak job grows with K, so there only among the runs of one K."""
    groups: dict[int, list[Run]] = {}
    for run in runs:
        if run.digest is not None:
            groups.setdefault(run.k if settings.regime is Regime.WEAK else 0, []).append(run)
    for first, *others in groups.values():
        tolerance = settings.sameness.digest_tolerance
        other = next((run for run in others if not digests_agree(first, run, tolerance)), None)
        if other is not None:
            one, two = str(first.digest), str(other.digest)
            yield say("answer-differs", first=one, other=two, first_k=first.k, other_k=other.k)
            return


def _thread_findings(runs: Sequence[Run]) -> Iterable[Finding]:
    """Threads per worker that change with K compare two machines, not two worker counts."""
    first_k: dict[int, int] = {}
    for run in runs:
        if pools := run.observed.get("thread_pools"):
            first_k.setdefault(max(pools.values()), run.k)
    if len(first_k) > 1:
        few, many = min(first_k), max(first_k)
        yield say("threads-differ", many=many, few=few, k_many=first_k[many], k_few=first_k[few])


SERIES = ("gradient_small_norm2", "gradient_big_norm2", "gradient_small_batch", "gradient_big_batch")
FEWEST_STEPS = 5
Z95 = 1.959963984540054


def noise_scale(
    small_norm2: Sequence[float], big_norm2: Sequence[float], *, small_batch: float, big_batch: float
) -> Estimate:
    """B_simple in samples with a 95 % interval, the delete-one jackknife on the logarithm of the ratio of means."""
    from scalecurve.estimate import Estimate

    if not 0 < small_batch < big_batch:
        raise InputError(Fault("two different batch sizes are needed", value=f"{small_batch:g} and {big_batch:g}"))
    n = len(small_norm2)
    if n != len(big_norm2) or n < FEWEST_STEPS:
        raise Refused(f"the noise scale needs at least {FEWEST_STEPS} steps with both norms, not {n}")
    small, big = np.asarray(small_norm2, dtype=np.float64), np.asarray(big_norm2, dtype=np.float64)
    signal = (big_batch * big - small_batch * small) / (big_batch - small_batch)
    noise = (small - big) / (1 / small_batch - 1 / big_batch)
    if signal.mean() <= 0 or noise.mean() <= 0:
        raise Refused("the gradient is lost in its noise; use more steps or a larger big batch")
    value = float(noise.mean() / signal.mean())
    noise_without, signal_without = (noise.sum() - noise) / (n - 1), (signal.sum() - signal) / (n - 1)
    if (noise_without <= 0).any() or (signal_without <= 0).any():
        return Estimate(value, method="two batches, ratio of means; too noisy for an interval")
    logs = np.log(noise_without / signal_without)
    error = math.sqrt((n - 1) / n * float(((logs - logs.mean()) ** 2).sum()))
    low, high = value * math.exp(-Z95 * error), value * math.exp(Z95 * error)
    return Estimate(value, low, high, 0.95, "two batches, ratio of means, jackknife")


def noise_scale_findings(runs: Sequence[Run]) -> list[Finding]:
    """The noise scale of the runs that reported both norms, all steps of equal batch sizes together."""
    reported = [run.observed["series"] for run in runs if set(SERIES) <= set(run.observed.get("series", {}))]
    batches = [(series[SERIES[2]][0], series[SERIES[3]][0]) for series in reported]
    first = next(((small, big) for small, big in batches if small < big), None)
    if first is None:
        return []
    alike = [series for series, pair in zip(reported, batches, strict=True) if pair == first]
    small, big = ([value for series in alike for value in series[name]] for name in SERIES[:2])
    try:
        scale = noise_scale(small, big, small_batch=first[0], big_batch=first[1])
    except Refused as problem:
        return [say("gradient-noise-unknown", why=str(problem))]
    interval = f" (95 %: {scale.low:.3g} to {scale.high:.3g})" if scale.low is not None else ""
    return [say("gradient-noise-scale", interval=interval, **scale.to_dict())]
