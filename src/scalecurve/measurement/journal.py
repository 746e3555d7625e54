"""The record of a measurement under way, and how an interrupted one continues.

`<output>.work/` holds the journal, the files of runs and a lock, readable by their owner only.  Every completed run is
one line of the journal before the next launch begins, so that a killed tool loses no completed run; a torn last line
is cut off.  A journal that begins with runs of a finished study appears whole or not at all.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, is_dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import scalecurve.measurement.watchdog as watchdog
from scalecurve.errors import Fault, FormatError, InputError, read_as
from scalecurve.measurement.launchers import container_facts
from scalecurve.measurement.machine import machine_facts, masked, software_facts
from scalecurve.measurement.ports import World
from scalecurve.measurement.schedule import Planned, SweepPoint
from scalecurve.measurement.settings import LauncherSettings, MeasureSettings, SamenessSettings, TimingSettings
from scalecurve.study import Run, RunStatus
from scalecurve.study.atomic import write_atomically
from scalecurve.study.file import read_study

JOURNAL_VERSION = 1
FLUSH_SECONDS = 0.2
"""Lines reach the disk this often: a killed tool loses no completed run, a power failure those of this time."""
PRIVATE = os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)  # another user's link is not followed


@dataclass(frozen=True)
class Workspace:
    """`<output>.work/` with `journal.jsonl`, `lock` and `runs/`."""

    output: Path

    @cached_property
    def folder(self) -> Path:
        return self.output.with_name(self.output.name + ".work")

    @cached_property
    def journal(self) -> Path:
        return self.folder / "journal.jsonl"

    def run_folder(self, order: int) -> Path:
        return self.folder / "runs" / f"{order:05d}"

    @cached_property
    def scratch(self) -> Path:
        """The folder of a run whose files are not kept: one for all, since making a folder takes milliseconds."""
        return self.folder.absolute() / "runs" / "now"

    def clear_scratch(self) -> None:
        """Remove what the last run left in the folder; its output files are written anew."""
        for place, kept in ((str(self.scratch), ("probe", "out-0", "err-0")), (f"{self.scratch}/probe", ())):
            with suppress(FileNotFoundError), os.scandir(place) as entries:
                for entry in entries:
                    if entry.name in kept:
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        shutil.rmtree(entry.path, ignore_errors=True)
                    else:
                        os.unlink(entry.path)

    def holds_runs(self) -> bool:
        """Whether any run ended, well or not; read as bytes, so that one damaged line does not hide the others."""
        lines = self.journal.read_bytes().splitlines() if self.journal.exists() else []
        return any(line.startswith(b'{"run"') for line in lines)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the output for this process alone; the lock ends with the process, however it ends."""
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self.folder.mkdir(mode=0o700, exist_ok=True)
            if self.folder.is_symlink() or self.folder.stat().st_uid != os.getuid():
                fault = Fault("the work folder is a link or belongs to someone else", remedy="choose another -o")
                raise InputError(fault, subject=str(self.folder))
            handle = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | PRIVATE, 0o600)
        except OSError as problem:
            hint = "choose a place that can be written with -o"
            fault = Fault(f"cannot be written: {problem.strerror}", remedy=hint)
            raise InputError(fault, subject=str(self.folder)) from None
        with os.fdopen(handle, "r+"):  # held until the end of the measurement
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # A lock on a file that its last holder has just removed keeps nobody out.
                if os.fstat(handle).st_nlink == 0:
                    raise BlockingIOError
            except OSError:
                holder = os.pread(handle, 32, 0).decode(errors="replace").strip() or "unknown"
                hint = "wait for it, stop it, or choose another -o"
                fault = Fault("another measurement is writing here", value=f"process {holder}", remedy=hint)
                raise InputError(fault, subject=str(self.output)) from None
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
            try:
                yield
            finally:
                if not self.holds_runs():  # nothing was completed: leave nothing behind
                    self.remove()

    def append(self, line: Mapping[str, Any], *, flush: bool = True) -> None:
        """Write one line, and flush it to the disk if asked to; a line that does not fit is taken back whole."""
        raw = encoded(line)
        try:
            handle = os.open(self.journal, os.O_WRONLY | os.O_CREAT | PRIVATE, 0o600)
            try:
                end = os.lseek(handle, 0, os.SEEK_END)
                try:
                    written = 0
                    while written < len(raw):
                        written += os.write(handle, raw[written:])
                    if flush:
                        os.fsync(handle)
                except OSError:
                    os.ftruncate(handle, end)
                    raise
            finally:
                os.close(handle)
        except OSError as problem:
            raise cannot_write(self.journal, problem) from None

    def create(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Write a new journal with all its lines, or nothing."""
        try:
            write_atomically(self.journal, b"".join(map(encoded, lines)))
        except InputError as problem:
            reason = problem.faults[0].message.removeprefix("cannot be written: ")
            raise cannot_write(self.journal, OSError(0, reason)) from None

    def lines(self, *, repair: bool = True) -> list[dict[str, Any]]:
        """The lines of the journal; `repair` cuts off a last line that was not written whole."""
        if not self.journal.exists():
            return []
        raw = self.journal.read_bytes()
        whole = raw[: raw.rfind(b"\n") + 1]
        if repair and len(whole) < len(raw):
            os.truncate(self.journal, len(whole))
        lines, faults = [], []
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                lines.append(json.loads(line))
            except ValueError:
                faults.append(Fault("damaged", where=f"line {number}", value=line[:40].decode(errors="replace")))
        if faults:
            hint = "delete the damaged lines and --resume to keep the others, or --force to start anew"
            raise FormatError(
                [*faults[:5], Fault(f"{len(lines)} lines are whole", remedy=hint)], subject=str(self.journal)
            )
        return lines

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def encoded(line: Mapping[str, Any]) -> bytes:
    """A line of the journal: nouns by their fields, without the copies that `asdict` makes; other values as text."""
    text = json.dumps(line, allow_nan=False, default=lambda value: vars(value) if is_dataclass(value) else str(value))
    return (text + "\n").encode()


def cannot_write(path: Path, problem: OSError) -> InputError:
    hint = "the completed runs are safe; make room or choose another place, then measure --resume"
    if problem.errno == errno.ENOENT:
        hint = "something removed it, and the completed runs with it; begin anew with --force"
    return InputError(Fault(f"cannot be written: {problem.strerror}", remedy=hint), subject=str(path))


@dataclass
class Journal:
    """Every launch so far; `done` are those that need not be made again in this measurement."""

    space: Workspace
    header: Mapping[str, Any]
    runs: list[Run] = field(default_factory=list)
    done: dict[Planned, Run] = field(default_factory=dict)
    begun: dict[Planned, tuple[int, str]] = field(default_factory=dict)
    next_order: int = 0
    flushed: float = 0.0

    def begin(self, planned: Planned, token: str) -> tuple[int, str]:
        """Record that a launch starts; returns its number and token, the old ones if the tool was killed in it."""
        if planned in self.begun:
            return self.begun[planned]
        order, self.next_order = self.next_order, self.next_order + 1
        point = planned.point
        line = {"order": order, "token": token, "role": point.role, "k": point.k, "repeat": planned.repeat}
        self.space.append({"begin": line}, flush=False)
        return order, token

    def add(self, planned: Planned, run: Run) -> None:
        """Save a run at once; only then is it done."""
        self.done[planned] = self.keep(run)

    def keep(self, run: Run) -> Run:
        """Save a run that is evidence only; its launch is made again."""
        now = time.monotonic()
        flush = now - self.flushed >= FLUSH_SECONDS
        try:
            self.space.append({"run": run}, flush=flush)
        except ValueError:  # JSON has no word for it; readers of job output refuse such values first
            why = "the job reported a number that is not finite"
            run = Run(k=run.k, status=RunStatus.FAILED, role=run.role, repeat=run.repeat, order=run.order, error=why)
            self.space.append({"run": run}, flush=flush)
        if flush:
            self.flushed = time.monotonic()
        self.restore(run)
        return run

    def successes(self) -> dict[Planned, Run]:
        return {planned: run for planned, run in self.done.items() if run.status in (RunStatus.OK, RunStatus.WARMUP)}

    def restore(self, run: Run) -> None:
        """A run of an earlier start; one without a time is kept as evidence and is made again."""
        planned = Planned(SweepPoint(run.role, run.k), run.repeat if run.repeat is not None else 0)
        self.runs.append(run)
        self.begun.pop(planned, None)
        self.next_order = max(self.next_order, (run.order if run.order is not None else -1) + 1)
        if run.status in (RunStatus.OK, RunStatus.WARMUP):
            self.done[planned] = run

    def replay(self, lines: list[dict[str, Any]]) -> None:
        """The launches of journal lines after the header."""
        from pydantic import TypeAdapter

        for number, line in enumerate(lines, 2):
            with read_as("a journal", subject=str(self.space.journal), where=f"line {number}"):
                if "begin" in line:
                    begin = line["begin"]
                    planned = Planned(SweepPoint(str(begin["role"]), int(begin["k"])), int(begin["repeat"]))
                    self.begun[planned] = (int(begin["order"]), str(begin["token"]))
                    self.next_order = max(self.next_order, int(begin["order"]) + 1)
                elif "run" in line:
                    self.restore(TypeAdapter(Run).validate_python(line["run"]))


def open_journal(space: Workspace, settings: MeasureSettings, world: World, *, resume: bool, force: bool) -> Journal:
    """A fresh journal, or with `resume` the one to continue; an old one is never overwritten silently."""
    if not resume and (force or not space.holds_runs()):
        space.journal.unlink(missing_ok=True)  # it holds no completed run, or the user wants it gone
    unfinished = space.journal.exists()
    if not resume and not force and (unfinished or space.output.exists()):
        what = "an unfinished measurement is here" if unfinished else "the file exists"
        hint = (
            "--resume continues it, --force discards its runs"
            if unfinished
            else "--resume adds what is missing, --force replaces it, or choose another -o"
        )
        raise InputError(Fault(what, remedy=hint), subject=str(space.output))
    if resume and unfinished:
        lines = space.lines()
        header = lines[0].get("header") if lines else None
        if not isinstance(header, dict) or header.get("version") != JOURNAL_VERSION:
            fault = Fault("not a journal of this version", remedy="--force starts anew")
            raise FormatError(fault, subject=str(space.journal))
        _refuse_other_job(header["job"], settings, space)
        journal = journal_on_disk(space)
        for _, token in journal.begun.values():
            watchdog.end_marked(token, grace=0.5)  # processes that a killed tool may have left running
        return journal
    container = container_facts(settings, world)
    header = {
        "version": JOURNAL_VERSION,
        "created": datetime.fromtimestamp(world.clock.unix(), UTC).isoformat(timespec="seconds"),
        "job": settings.job(),
        "seed": settings.seed,
        "machine": machine_facts(world),
        "software": software_facts(world, settings.folder) | ({"container": container} if container else {}),
    }
    journal = Journal(space, header)
    if resume and space.output.exists():
        study = read_study(space.output)
        job = study.provenance.settings.get("job")
        if not isinstance(job, dict):
            fault = Fault("this study was not measured here", remedy="resume only a file of `scalecurve measure`")
            raise InputError(fault, subject=str(space.output))
        _refuse_other_job(job, settings, space)
        for run in study.runs:
            journal.restore(run)
    space.create([{"header": header}, *({"run": run} for run in journal.runs)])
    return journal


def _refuse_other_job(old: Mapping[str, Any], settings: MeasureSettings, space: Workspace) -> None:
    """Runs of different jobs are never joined."""
    new = settings.job()
    defaults = {"timing": TimingSettings(), "launcher": LauncherSettings(), "sameness": SamenessSettings()}
    # An option that an older version did not have was at its default then.
    kept: dict[str, Any] = masked(dict(old))
    kept |= {name: {**table.model_dump(mode="json"), **kept[name]} for name, table in defaults.items() if name in kept}
    hint = "measure the same job, or choose another -o"
    faults = [
        Fault(f"was {kept.get(name)!r} when the measurement began", where=name, value=repr(new.get(name)), remedy=hint)
        for name in sorted(set(kept) | set(new))
        if kept.get(name) != new.get(name)
    ]
    if faults:
        raise InputError(faults, subject=f"{space.output} cannot be resumed")


def journal_on_disk(space: Workspace) -> Journal:
    lines = space.lines()
    with read_as("a journal", subject=str(space.journal), where="line 1"):
        journal = Journal(space, lines[0]["header"])
    journal.replay(lines[1:])
    return journal


def done_before(output: Path) -> dict[Planned, Run]:
    """The successful runs of an earlier start; nothing on the disk is changed."""
    space = Workspace(output)
    journal = Journal(space, {})
    if space.journal.exists():
        journal.replay(space.lines(repair=False)[1:])
    elif output.exists():
        for run in read_study(output).runs:
            journal.restore(run)
    return journal.successes()
