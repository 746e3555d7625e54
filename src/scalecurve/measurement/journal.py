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
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, is_dataclass
from datetime import UTC, datetime
from functools import cached_property
from glob import escape
from pathlib import Path
from typing import Any

import scalecurve.measurement.watchdog as watchdog
from scalecurve.errors import Fault, FormatError, InputError, read_as
from scalecurve.files import may_replace
from scalecurve.measurement.building import study_of
from scalecurve.measurement.machine import machine_facts, software_facts
from scalecurve.measurement.masking import masked
from scalecurve.measurement.ports import World
from scalecurve.measurement.schedule import Made, Planned, SweepPoint, launches_asked
from scalecurve.measurement.settings import LauncherSettings, MeasureSettings, SamenessSettings, TimingSettings
from scalecurve.study import Run, RunStatus
from scalecurve.study.atomic import write_atomically
from scalecurve.study.file import read_study, study_to_dict
from scalecurve.study.unfinished import JOURNAL, grid_folder, work_folder

JOURNAL_VERSION = 1
FLUSH_SECONDS = 1.0
"""Lines reach the disk this often: a killed tool loses no completed run, a power failure those of this time."""
PRIVATE = os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)  # another user's link is not followed


@dataclass(frozen=True, kw_only=True)
class Begin:
    """A launch that starts; `token` marks its processes."""

    order: int
    token: str
    role: str
    k: int
    repeat: int

    @property
    def planned(self) -> Planned:
        return Planned(SweepPoint(self.role, self.k), self.repeat)


@dataclass(frozen=True)
class Workspace:
    """`<output>.work/` with `journal.jsonl`, `lock` and `runs/`."""

    output: Path

    @cached_property
    def folder(self) -> Path:
        return work_folder(self.output)

    @cached_property
    def journal(self) -> Path:
        return self.folder / JOURNAL

    @cached_property
    def submitted(self) -> Path:
        """Is there where launches were given to a queue, to be collected later."""
        return self.folder / "submitted"

    def run_folder(self, order: int) -> Path:
        return self.folder / "runs" / f"{order:05d}"

    @cached_property
    def scratch(self) -> Path:
        """Holds the folders of runs whose files are not kept: a few for all, since making one takes milliseconds."""
        return self.folder.absolute() / "runs" / "now"

    def cleared_scratch(self, number: int) -> Path:
        """A folder without what the last run left in it; its output files are written anew."""
        folder = self.scratch / str(number)
        for place, kept in ((str(folder), ("probe", "out-0", "err-0")), (f"{folder}/probe", ())):
            try:
                left = [entry for entry in os.scandir(place) if entry.name not in kept]
            except FileNotFoundError:
                os.makedirs(place)
                continue
            for entry in left:
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    os.unlink(entry.path)
        return folder

    def holds_runs(self) -> bool:
        """Whether any run ended, well or not; read as bytes, so that one damaged line does not hide the others."""
        return any(line.startswith(b'{"run"') for line in self.raw_journal().splitlines())

    def raw_journal(self) -> bytes:
        """The bytes of the journal, empty without one; a link, a pipe or a device in its place is refused."""
        try:
            with os.fdopen(os.open(self.journal, os.O_RDONLY | os.O_NONBLOCK | PRIVATE), "rb") as file:
                if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    return file.read()
                why = "it is a pipe or a device, not a file"
        except FileNotFoundError:
            return b""
        except OSError as problem:
            why = "it is a link" if problem.errno == errno.ELOOP else problem.strerror or str(problem)
        fault = Fault(f"cannot be read: {why}", remedy="remove it, or choose another -o")
        raise FormatError(fault, subject=str(self.journal))

    def refuse_foreign_folders(self) -> None:
        """Raise InputError where a folder of this one is a link: what is written or cleared there may be anyone's."""
        inner = (
            path
            for pattern in ("runs", "runs/*", "runs/now/*", "runs/now/*/probe")
            for path in self.folder.glob(pattern)
        )
        paths = (self.folder, *inner)
        if os.stat(self.folder).st_uid != os.getuid() or any(os.path.islink(path) for path in paths):
            fault = Fault("the work folder is a link, has one in it, or is another user's", remedy="choose another -o")
            raise InputError(fault, subject=str(self.folder))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the output for this process alone; the lock ends with the process, however it ends."""
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self.folder.mkdir(mode=0o700, exist_ok=True)
            self.refuse_foreign_folders()
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
                raise InputError(_held_by(handle), subject=str(self.output)) from None
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
            for torn in self.output.parent.glob(
                f".{escape(self.output.name[:80])}.*.tmp"
            ):  # of a tool killed in writing
                torn.unlink(missing_ok=True)
            try:
                yield
            finally:
                # Nothing was completed, and no job waits in a queue: leave nothing behind.
                if not self.holds_runs() and not any(self.folder.glob("runs/*/*-job")):
                    self.remove()

    def held(self) -> Fault | None:
        """The measurement that writes here now, of another process or of this one."""
        with suppress(OSError), open(self.folder / "lock", "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return _held_by(file.fileno())
        return None

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
        raw = self.raw_journal()
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
            hint = "delete the damaged lines and --resume to keep the others, or start again with --force"
            raise FormatError(
                [*faults[:5], Fault(f"{len(lines)} lines are whole", remedy=hint)], subject=str(self.journal)
            )
        return lines

    def contents(self, *, repair: bool = True) -> tuple[dict[str, Any], list[Begin | Run]]:
        """The header of the journal, and every launch that began or ended."""
        from pydantic import TypeAdapter

        lines = self.lines(repair=repair)
        header = lines[0].get("header") if lines and isinstance(lines[0], dict) else None
        if not isinstance(header, dict) or header.get("version") != JOURNAL_VERSION:
            fault = Fault("not a journal of this version", remedy="start again with --force")
            raise FormatError(fault, subject=str(self.journal))
        kinds: dict[str, TypeAdapter[Any]] = {"begin": TypeAdapter(Begin), "run": TypeAdapter(Run)}
        entries: list[Begin | Run] = []
        for number, line in enumerate(lines[1:], 2):
            with read_as("a journal", subject=str(self.journal), where=f"line {number}"):
                entries += [kind.validate_python(line[name]) for name, kind in kinds.items() if name in line]
        return header, entries

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def _held_by(handle: int) -> Fault:
    """The process that holds the lock behind `handle`."""
    holder = os.pread(handle, 32, 0).decode(errors="replace").strip() or "unknown"
    hint = "wait for it, stop it, or choose another -o"
    return Fault("another measurement is writing here", value=f"process {holder}", remedy=hint)


_ENCODER = json.JSONEncoder(allow_nan=False, default=lambda value: vars(value) if is_dataclass(value) else str(value))


def encoded(line: Mapping[str, Any]) -> bytes:
    """A line of the journal: nouns by their fields, without the copies that `asdict` makes; other values as text."""
    return (_ENCODER.encode(line) + "\n").encode()


def cannot_write(path: Path, problem: OSError) -> InputError:
    hint = "the completed runs are safe; make room or choose another place, then measure --resume"
    if problem.errno == errno.ENOENT:
        hint = "something removed it, and the completed runs with it; start again with --force"
    return InputError(Fault(f"cannot be written: {problem.strerror}", remedy=hint), subject=str(path))


@dataclass
class Journal:
    """A measurement under way: what it knows of its launches, a few bytes for each; the launches are on the disk."""

    space: Workspace
    made: Made
    begun: dict[Planned, tuple[int, str]] = field(default_factory=dict)
    next_order: int = 0
    flushed: float = 0.0
    last_error: str | None = None
    has_site: bool = False

    def begin(self, planned: Planned, token: str) -> tuple[int, str]:
        """Record that a launch starts; returns its number and token, the old ones if the tool was killed in it."""
        if planned in self.begun:
            return self.begun[planned]
        order, self.next_order = self.next_order, self.next_order + 1
        begin = Begin(order=order, token=token, role=planned.point.role, k=planned.point.k, repeat=planned.repeat)
        self.space.append({"begin": begin}, flush=False)
        return order, token

    def add(self, run: Run) -> None:
        """Save a run at once; only then is it made."""
        self.made.add(self.keep(run))

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
        self.note(run)
        return run

    def note(self, run: Run) -> None:
        """Know of a run that is on the disk."""
        self.begun.pop(Planned(SweepPoint(run.role, run.k), run.repeat or 0), None)
        self.next_order = max(self.next_order, (run.order if run.order is not None else -1) + 1)
        self.last_error = run.error or self.last_error
        self.has_site = self.has_site or "site" in run.observed

    def restore(self, entries: Iterable[Begin | Run]) -> None:
        """Know of the launches of an earlier start; one without a time is made again."""
        for entry in entries:
            if isinstance(entry, Begin):
                self.begun[entry.planned] = (entry.order, entry.token)
                self.next_order = max(self.next_order, entry.order + 1)
                continue
            self.note(entry)
            if entry.status in (RunStatus.OK, RunStatus.WARMUP):
                self.made.add(entry)
        self.has_site = False  # the program may have been built again since


def open_journal(space: Workspace, settings: MeasureSettings, world: World, *, resume: bool, force: bool) -> Journal:
    """A fresh journal, or with `resume` the one to continue; an old one is never overwritten silently."""
    if not resume and (force or not space.holds_runs()):  # it holds no completed run, or the user wants it gone
        end_what_it_left(space)
        space.journal.unlink(missing_ok=True)
    unfinished = space.journal.exists()
    if fault := existing(space.output, resume=resume, force=force):
        raise InputError(fault, subject=str(space.output))
    journal = Journal(space, Made(settings))
    if resume and unfinished:
        header, entries = space.contents()
        _refuse_other_job(header, settings, space, world)
        end_what_it_left(space)
        journal.restore(entries)
        return journal
    header = {
        "version": JOURNAL_VERSION,
        "created": datetime.fromtimestamp(world.clock.unix(), UTC).isoformat(timespec="seconds"),
        "job": settings.job(),
        "seed": settings.seed,
        "machine": machine_facts(world),
        "software": software_facts(world, settings.folder),
    }
    header |= {"settings": settings.asked(), "launches": launches_asked(settings)}
    header["study"] = {
        name: part for name, part in study_to_dict(study_of(settings, header, ())).items() if name != "findings"
    }
    runs: tuple[Run, ...] = ()
    if resume and space.output.exists():
        study = read_study(space.output)
        may_replace(space.output)
        job = study.provenance.settings.get("job")
        if not isinstance(job, dict):
            fault = Fault("this study was not measured here", remedy="resume only a file of `scalecurve measure`")
            raise InputError(fault, subject=str(space.output))
        old = {"job": job, "machine": study.provenance.machine, "software": study.provenance.software}
        _refuse_other_job(old, settings, space, world)
        runs = study.runs
    journal.restore(runs)
    space.create([{"header": header}, *({"run": run} for run in runs)])
    return journal


def existing(output: Path, *, is_grid: bool = False, resume: bool, force: bool) -> Fault | None:
    """What stands where a study would be written and is neither continued nor replaced."""
    if output.exists() and not output.is_file():  # --force would put a study in the place of a folder or a device
        return Fault("a folder or a device, not a file", remedy="name the study file with -o, like -o study.json")
    if is_grid and output.exists() and not force and not grid_folder(output).exists():
        return Fault("there is a finished study", remedy="choose another -o, or start again with --force")
    if resume or force:
        return None
    if Workspace(output).holds_runs() or (is_grid and grid_folder(output).exists()):
        return Fault("an unfinished measurement is here", remedy="--resume continues it, --force discards its runs")
    if Workspace(output).submitted.exists():
        return Fault("submitted jobs are not collected", remedy="--collect reads them, --force cancels them")
    hint = "--resume adds what is missing, --force replaces it, or choose another -o"
    return Fault("the file exists", remedy=hint) if output.exists() else None


def _refuse_other_job(old: Mapping[str, Any], settings: MeasureSettings, space: Workspace, world: World) -> None:
    """Runs of different jobs, of different machines or under other thread settings are never joined."""
    new = settings.job()
    defaults = {"timing": TimingSettings(), "launcher": LauncherSettings(), "sameness": SamenessSettings()}
    # An option that an older version did not have was at its default then.
    kept: dict[str, Any] = masked(dict(old["job"]))
    kept |= {name: {**table.model_dump(mode="json"), **kept[name]} for name, table in defaults.items() if name in kept}
    pairs = [(name, kept.get(name), new.get(name)) for name in sorted(set(kept) | set(new))]
    software, machine = software_facts(world, settings.folder), machine_facts(world)
    before, now = old["software"].get("environment", {}), software.get("environment", {})
    pairs += [
        (f"environment {name}", before.get(name), now.get(name))
        for name in sorted(set(before) | set(now))
        if not name.startswith("SLURM_")  # these are of the allocation
    ]
    if settings.is_local:
        facts = {name: (old["machine"].get(name), machine.get(name)) for name in ("cpu", "usable_cores")}
        pairs += [(f"machine {name}", was, own) for name, (was, own) in facts.items() if was and own]
    hint = "measure the same job as before, or choose another -o"
    faults = [
        Fault(f"was {was!r} when the measurement began", where=name, value=repr(own), remedy=hint)
        for name, was, own in pairs
        if was != own
    ]
    if faults:
        raise InputError(faults, subject=f"{space.output} cannot be resumed")


def end_what_it_left(space: Workspace) -> None:
    """End the processes of launches that began and did not end: a tool that was killed with its watchdog left them."""
    begun: dict[int, str] = {}
    for line in space.raw_journal().splitlines():
        with suppress(ValueError, KeyError, TypeError, AttributeError):  # a damaged line is named by whoever reads it
            entry = json.loads(line)
            if "begin" in entry:
                begun[entry["begin"]["order"]] = str(entry["begin"]["token"])
            else:
                begun.pop(entry["run"]["order"], None)
    for token in begun.values():
        watchdog.end_marked(token, grace=0.5)


def runs_before(output: Path) -> Iterable[Run]:
    """The runs of an earlier start; nothing on the disk is changed."""
    space = Workspace(output)
    if space.journal.exists():
        return [entry for entry in space.contents(repair=False)[1] if isinstance(entry, Run)]
    return read_study(output).runs if output.exists() else ()
