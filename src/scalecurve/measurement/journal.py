"""The record of a measurement under way, and how one that was cut off goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.measurement import watchdog
from scalecurve.measurement.environment import machine_facts, software_facts
from scalecurve.measurement.ports import World
from scalecurve.measurement.schedule import Planned, Point
from scalecurve.measurement.settings import Settings
from scalecurve.measurement.workspace import JOURNAL_VERSION, Workspace
from scalecurve.study import Run, RunStatus
from scalecurve.study.file import read_study

_ENDED = (RunStatus.OK, RunStatus.WARMUP)


@dataclass
class Journal:
    """Every launch so far; `done` are those that need not be made again in this measurement."""

    space: Workspace
    header: Mapping[str, Any]
    runs: list[Run] = field(default_factory=list)
    done: dict[Planned, Run] = field(default_factory=dict)
    begun: dict[Planned, tuple[int, str]] = field(default_factory=dict)
    next_order: int = 0

    def begin(self, planned: Planned, token: str) -> tuple[int, str]:
        """Write down that a launch starts; a launch begun before the tool was killed keeps its number and token."""
        if planned in self.begun:
            return self.begun[planned]
        order, self.next_order = self.next_order, self.next_order + 1
        point = planned.point
        line = {"order": order, "token": token, "role": point.role, "k": point.k, "repeat": planned.repeat}
        self.space.append({"begin": line})
        return order, token

    def add(self, planned: Planned, run: Run) -> None:
        """Save a run at once; only then is it done."""
        self.space.append({"run": asdict(run)})
        self._take(planned, run)

    def successes(self) -> dict[Planned, Run]:
        return {planned: run for planned, run in self.done.items() if run.status in _ENDED}

    def _take(self, planned: Planned, run: Run) -> None:
        self.runs.append(run)
        self.done[planned] = run
        self.begun.pop(planned, None)
        self.next_order = max(self.next_order, (run.order if run.order is not None else -1) + 1)

    def restore(self, run: Run) -> None:
        """A run of an earlier start; one that gave no time is kept as evidence and tried again."""
        planned = planned_of(run)
        if run.status in _ENDED:
            self._take(planned, run)
            return
        self.runs.append(run)
        self.begun.pop(planned, None)
        self.next_order = max(self.next_order, (run.order if run.order is not None else -1) + 1)

    def restore_begin(self, line: Mapping[str, Any]) -> None:
        planned = Planned(Point(str(line["role"]), int(line["k"])), int(line["repeat"]))
        self.begun[planned] = (int(line["order"]), str(line["token"]))
        self.next_order = max(self.next_order, int(line["order"]) + 1)


def planned_of(run: Run) -> Planned:
    return Planned(Point(run.role, run.k), run.repeat if run.repeat is not None else 0)


def open_journal(space: Workspace, settings: Settings, world: World, *, resume: bool, force: bool) -> Journal:
    """A fresh journal, or the one that is to be continued; never silently over an old one."""
    if not any("run" in line for line in space.lines(mend=False)) or (force and not resume):
        space.journal.unlink(missing_ok=True)  # nothing was completed, or it is to be thrown away
    if not resume and not force:
        _refuse_overwriting(space)
    if resume and space.exists():
        return _continued(space, settings)
    journal = Journal(space, _header(settings, world))
    space.append({"header": journal.header})
    if resume and space.output.exists():
        _continue_study(journal, settings)
    return journal


def done_before(space: Workspace) -> dict[Planned, Run]:
    """The successful runs of an earlier start, for an outlook; nothing is changed on the disk."""
    journal = Journal(space, {})
    if space.exists():
        _replay(journal, space.lines(mend=False)[1:])
    elif space.output.exists():
        for run in read_study(space.output).runs:
            journal.restore(run)
    return journal.successes()


def _refuse_overwriting(space: Workspace) -> None:
    if space.exists():
        hint = "--resume continues it, --force throws its runs away"
        raise InputError(Fault("an unfinished measurement is here", remedy=hint), subject=str(space.output))
    if space.output.exists():
        hint = "--resume adds what is missing, --force replaces it, or choose another -o"
        raise InputError(Fault("the file exists", remedy=hint), subject=str(space.output))


def _header(settings: Settings, world: World) -> dict[str, Any]:
    created = datetime.fromtimestamp(world.clock.unix(), UTC).isoformat(timespec="seconds")
    return {
        "version": JOURNAL_VERSION,
        "created": created,
        "job": settings.job(),
        "seed": settings.seed,
        "machine": machine_facts(world),
        "software": software_facts(world, settings.folder),
    }


def _continued(space: Workspace, settings: Settings) -> Journal:
    lines = space.lines()
    header = lines[0].get("header") if lines else None
    if not isinstance(header, dict) or header.get("version") != JOURNAL_VERSION:
        raise FormatError(
            Fault("not a journal of this version", remedy="--force starts anew"), subject=str(space.journal)
        )
    _refuse_other_job(header["job"], settings, str(space.output))
    journal = journal_on_disk(space)
    for _, token in journal.begun.values():
        watchdog.end_marked(token, grace=0.5)  # what a killed tool may have left running
    return journal


def journal_on_disk(space: Workspace) -> Journal:
    lines = space.lines()
    journal = Journal(space, lines[0]["header"])
    _replay(journal, lines[1:])
    return journal


def _replay(journal: Journal, lines: list[dict[str, Any]]) -> None:
    from pydantic import TypeAdapter

    runs = TypeAdapter(Run)
    for line in lines:
        if "begin" in line:
            journal.restore_begin(line["begin"])
        elif "run" in line:
            journal.restore(runs.validate_python(line["run"]))


def _continue_study(journal: Journal, settings: Settings) -> None:
    """More of a finished study: its runs are taken over when it was the same job."""
    study = read_study(journal.space.output)
    job = study.provenance.settings.get("job")
    if not isinstance(job, dict):
        hint = "only a file that `scalecurve measure` wrote can be resumed"
        raise InputError(Fault("this study was not measured here", remedy=hint), subject=str(journal.space.output))
    _refuse_other_job(job, settings, str(journal.space.output))
    for run in study.runs:
        journal.space.append({"run": asdict(run)})
        journal.restore(run)


def _refuse_other_job(old: Mapping[str, Any], settings: Settings, subject: str) -> None:
    """Runs of different jobs are never put together."""
    new = settings.job()
    hint = "measure the same job, or choose another -o"
    faults = [
        Fault(f"was {old.get(name)!r} when the measurement began", where=name, seen=repr(new.get(name)), remedy=hint)
        for name in sorted(set(old) | set(new))
        if old.get(name) != new.get(name)
    ]
    if faults:
        raise InputError(faults, subject=f"{subject} cannot be resumed")
