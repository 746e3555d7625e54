"""Starting processes together, waiting for all of them, and ending everything they started."""

from __future__ import annotations

import os
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import scalecurve.measurement.watchdog as watchdog
from scalecurve.errors import RunError
from scalecurve.measurement.disturbance import busy_seconds
from scalecurve.measurement.machine import SystemMachine
from scalecurve.measurement.ports import Command, LaunchOutcome
from scalecurve.measurement.process_tree import ProcessView, workers_below
from scalecurve.study import RunStatus

LOOK_AROUND_SECONDS = 0.5
FIRST_LOOKS_SECONDS = (0.05, 0.15, 0.3)
"""The first looks at the processes of a run come sooner: a short job would be over."""
TAIL_CHARACTERS = 4000
MOST_OUTPUT = 16 * 1024 * 1024
RUN_VARIABLE = "SCALECURVE_RUN"
KIB = 1024


@dataclass
class _Started:
    """A process and, once it ended, its exit code."""

    process: subprocess.Popen[bytes]
    number: int
    code: int | None = None


class LocalRunner:
    """Runs commands on this machine.  Output goes to files, so that no full pipe can stop the job."""

    def __init__(self) -> None:
        self._watchdog: subprocess.Popen[bytes] | None = None

    def run_together(
        self, commands: Sequence[Command], *, folder: Path, token: str, timeout: float | None
    ) -> LaunchOutcome:
        """Start all, wait for the last; a failure or a timeout ends the rest, with everything they started."""
        launched = time.time()
        folder.mkdir(parents=True, exist_ok=True)
        self._tell_watchdog("+" + token)
        try:
            observer = Observer()
            begin = time.perf_counter()
            started = [_start(command, number, folder, token) for number, command in enumerate(commands)]
            late = _wait(started, observer, None if timeout is None else begin + timeout)
            wall = time.perf_counter() - begin
            observed = observer.facts(wall)
        finally:
            watchdog.end_marked(token)
            self._tell_watchdog("-" + token)
        for one in started:
            if one.code is None:  # the watchdog's function ended it just now: collect it, so that no zombie stays
                one.process.wait()
        status, error = _judge(started, timeout if late else None, folder)
        most = MOST_OUTPUT // max(1, len(commands))
        texts = {
            name: "\n".join(text for i in range(len(commands)) if (text := tail_of(folder / f"{name}-{i}", most)))
            for name in ("out", "err")
        }
        return LaunchOutcome(
            status=status,
            launched=launched,
            wall_seconds=wall,
            error=error,
            output=texts["out"],
            errors=texts["err"],
            observed=observed,
        )

    def capture(self, argv: Sequence[str], *, timeout: float = 30.0) -> tuple[int, str]:
        """Exit code and text of a short command; 127 when the program does not exist."""
        try:
            done = subprocess.run(
                argv, capture_output=True, text=True, errors="replace", timeout=timeout, stdin=subprocess.DEVNULL
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            return 127, str(problem)
        return done.returncode, done.stdout + done.stderr

    def _tell_watchdog(self, word: str) -> None:
        if self._watchdog is None:
            program = [sys.executable, "-I", "-S", watchdog.__file__]
            self._watchdog = subprocess.Popen(program, stdin=subprocess.PIPE, start_new_session=True)
        if self._watchdog.stdin is not None:
            self._watchdog.stdin.write(word.encode() + b"\n")
            self._watchdog.stdin.flush()

    def close(self) -> None:
        if self._watchdog is not None and self._watchdog.stdin is not None:
            self._watchdog.stdin.close()
            self._watchdog.wait()
            self._watchdog = None


def _start(command: Command, number: int, folder: Path, token: str) -> _Started:
    """Start one process; children inherit the cores of their parent, so this process is bound while it starts one."""
    before = os.sched_getaffinity(0) if command.cores else None
    with (folder / f"out-{number}").open("wb") as out, (folder / f"err-{number}").open("wb") as err:
        try:
            if command.cores:
                os.sched_setaffinity(0, command.cores)
            process = subprocess.Popen(
                command.argv,
                env={**os.environ, **command.env, RUN_VARIABLE: token},
                cwd=command.folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        except OSError as problem:
            where = f" in {command.folder}" if command.folder else ""
            raise RunError(f"cannot start {command.argv[0]!r}{where}: {problem.strerror}") from None
        finally:
            if before is not None:
                os.sched_setaffinity(0, before)
    return _Started(process, number)


def _wait(started: Sequence[_Started], observer: Observer, deadline: float | None) -> bool:
    """Wait until all have ended, one has failed, or the deadline has passed (then True)."""
    poll = select.poll()
    handles = {os.pidfd_open(one.process.pid): one for one in started}
    for handle in handles:
        poll.register(handle, select.POLLIN)
    running = dict(handles)
    try:
        while running:
            for handle, _ in poll.poll(1000 * observer.next_look()):
                poll.unregister(handle)
                one = running.pop(handle)
                _, status, usage = os.wait4(one.process.pid, 0)
                one.code = one.process.returncode = os.waitstatus_to_exitcode(status)
                observer.count(usage)
            if any(one.code for one in started):
                return False
            if running and deadline is not None and time.perf_counter() >= deadline:
                return True
            observer.look([one.process.pid for one in running.values()])
        return False
    finally:
        for handle in handles:
            os.close(handle)


def _judge(started: Sequence[_Started], late_after: float | None, folder: Path) -> tuple[RunStatus, str | None]:
    """The status and, unless all is well, the message with the end of the error output."""
    failed = next((one for one in started if one.code), None)
    if late_after is not None:
        status, number = RunStatus.TIMEOUT, 0
        message = f"no end after {late_after:g} s; the whole process tree was ended"
    elif failed is not None and failed.code is not None:
        status, number = RunStatus.FAILED, failed.number
        message = f"process {number} of {len(started)} " if len(started) > 1 else ""
        message += describe_exit(failed.code)
    else:
        return RunStatus.OK, None
    tail = tail_of(folder / f"err-{number}") or tail_of(folder / f"out-{number}")
    return status, f"{message}\n{tail}" if tail else message


def describe_exit(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def tail_of(path: Path, most: int = TAIL_CHARACTERS) -> str:
    """The end of a file as text; empty when there is none."""
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - most))
            return file.read().decode(errors="replace").strip()
    except OSError:
        return ""


class Observer:
    """Load, CPU time of others, peak memory, major page faults, swapping, and the cores and the MPI library of the
    workers of one run; cheap to collect."""

    def __init__(self) -> None:
        self.loads: list[float] = []
        self.looks = 0
        self.workers: tuple[ProcessView, ...] = ()
        self.look()
        self.busy_before = busy_seconds(SystemMachine())
        self.swap_before = _counters("/proc/vmstat", "pswpin ", "pswpout ")
        self.cpu_seconds = 0.0
        self.peak_bytes = 0
        self.major_faults = 0

    def next_look(self) -> float:
        """Seconds until the next look."""
        return FIRST_LOOKS_SECONDS[self.looks] if self.looks < len(FIRST_LOOKS_SECONDS) else LOOK_AROUND_SECONDS

    def look(self, roots: Sequence[int] = ()) -> None:
        with suppress(OSError):
            self.loads.append(os.getloadavg()[0])
        if roots and self.looks <= len(FIRST_LOOKS_SECONDS):
            self.looks += 1
            workers = workers_below(roots)
            # Later looks know more: ranks are bound and load their library after they have started.
            if len(workers) >= len(self.workers) or any(worker.mpi_libraries for worker in workers):
                self.workers = workers

    def count(self, usage: resource.struct_rusage) -> None:
        """Add a process that ended, with the children it waited for."""
        self.cpu_seconds += usage.ru_utime + usage.ru_stime
        self.peak_bytes = max(self.peak_bytes, usage.ru_maxrss * KIB)
        self.major_faults += usage.ru_majflt

    def facts(self, wall: float) -> dict[str, Any]:
        """What this system tells of a run of `wall` seconds; the rest is left out."""
        facts: dict[str, Any] = {"cpu_seconds": self.cpu_seconds, "major_faults": self.major_faults}
        if self.loads:
            facts |= {"load_before": self.loads[0], "load_during": max(self.loads)}
        if self.peak_bytes:
            facts["peak_process_bytes"] = self.peak_bytes
        swapped, busy = _counters("/proc/vmstat", "pswpin ", "pswpout "), busy_seconds(SystemMachine())
        if swapped and self.swap_before:
            facts["swapped_pages"] = sum(swapped) - sum(self.swap_before)
        if busy is not None and self.busy_before is not None and wall > 0:
            others = busy - self.busy_before - self.cpu_seconds
            facts["foreign_cpu_seconds"] = round(others, 3)
            facts["foreign_cores"] = round(max(0.0, others) / wall, 3)
        files = {file for worker in self.workers for file in worker.mpi_libraries}
        libraries = sorted(files, key=lambda file: ("libmpi" not in file, file))
        return (
            facts
            | ({"affinity": [list(worker.cores) for worker in self.workers]} if self.workers else {})
            | ({"mpi_libraries": libraries} if libraries else {})
        )


def _counters(path: str, *starts: str) -> list[int] | None:
    """The numbers of the lines that begin so; None where the file or a line is missing."""
    try:
        with open(path) as file:
            lines = [line for line in file if line.startswith(starts)]
    except OSError:
        return None
    return [int(word) for line in lines for word in line.split()[1:]] if len(lines) == len(starts) else None
