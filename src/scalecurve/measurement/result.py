"""The study from a journal: every raw run, how it was measured, and what must be known about it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from scalecurve.findings import Finding, error
from scalecurve.measurement.baseline import choose_baseline
from scalecurve.measurement.gradient_noise import noise_scale_findings
from scalecurve.measurement.journal import Journal
from scalecurve.measurement.ports import World
from scalecurve.measurement.sameness import sameness_findings
from scalecurve.measurement.settings import Settings
from scalecurve.measurement.verdicts import Record, verdicts_on
from scalecurve.study import Provenance, Run, RunStatus, Study, Treatment, Workload


def build_study(settings: Settings, journal: Journal, world: World, *, interrupted: bool = False) -> Study:
    runs = tuple(journal.runs) or (Run(k=settings.workers[0], status=RunStatus.INTERRUPTED),)
    baseline, findings = choose_baseline(runs, settings)
    record = Record(settings, runs, len(world.machine.usable_cores()), journal.done)
    found = [*_cut_short(interrupted), *sameness_findings(runs, settings), *findings, *verdicts_on(record)]
    found += noise_scale_findings(runs)
    return Study(
        regime=settings.regime,
        k_unit=settings.k_unit,
        workload=_workload(settings),
        runs=runs,
        baseline=baseline,
        warmup=_warmup(settings),
        setup=_setup(runs, settings),
        node_size=settings.launcher.workers_per_node or settings.launcher.slurm.tasks_per_node,
        provenance=_provenance(settings, journal, runs),
        findings=tuple(found),
    )


def _cut_short(interrupted: bool) -> list[Finding]:
    if not interrupted:
        return []
    return [error("interrupted", "the measurement was interrupted before its end", remedy="measure --resume")]


def _workload(settings: Settings) -> Workload:
    return Workload(
        name=settings.name or _name_of(settings.command),
        command=settings.command,
        description=settings.description,
        total=settings.total,
        per_worker=settings.per_worker,
        work_unit=settings.work_unit,
    )


def _name_of(command: Sequence[str]) -> str:
    """The program rather than its interpreter: `python -m heat` is heat."""
    words = [Path(word).name for word in command]
    if words[0].strip("{").startswith("python") and len(words) > 1:
        rest = [word for word in words[1:] if not word.startswith("-")]
        return rest[0] if rest else words[0]
    return words[0]


def _warmup(settings: Settings) -> Treatment:
    return Treatment.EXCLUDED if settings.warmup_launches or settings.warmup_steps else Treatment.INCLUDED


def _setup(runs: Sequence[Run], settings: Settings) -> Treatment:
    """Excluded when the probe or a command of its own timed it; a wall time cannot tell the two apart."""
    sources = {run.observed.get("timing") for run in runs if run.value is not None}
    if sources == {"probe"} or settings.timing.setup_command:
        return Treatment.EXCLUDED
    return Treatment.UNKNOWN


def _provenance(settings: Settings, journal: Journal, runs: Sequence[Run]) -> Provenance:
    sources = sorted({str(run.observed["timing"]) for run in runs if "timing" in run.observed})
    limits = {"repeats", "precision", "level", "max_repeats", "max_time", "timeout", "warmup_launches", "oversubscribe"}
    asked = settings.model_dump(mode="json", include=limits)
    return Provenance(
        source=settings.name,
        tool="scalecurve measure",
        tool_version=_version(),
        created=str(journal.header["created"]),
        launcher=settings.launcher.name,
        timing=", ".join(sources) or None,
        seed=settings.seed,
        machine=journal.header["machine"],
        software=journal.header["software"],
        settings={**asked, "workers": list(settings.workers), "job": settings.job()},
    )


def _version() -> str | None:
    try:
        return metadata.version("scalecurve")
    except metadata.PackageNotFoundError:
        return None
