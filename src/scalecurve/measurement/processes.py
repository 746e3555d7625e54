"""Starting processes together, waiting for all of them, and leaving none behind."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scalecurve.errors import RunError
from scalecurve.measurement import watchdog
from scalecurve.measurement.observation import Observer
from scalecurve.measurement.ports import Command, Outcome
from scalecurve.study import RunStatus

LOOK_AROUND_SECONDS = 0.5
TAIL_CHARACTERS = 4000
MOST_OUTPUT = 16 * 1024 * 1024
RUN_VARIABLE = "SCALECURVE_RUN"


@dataclass
class _Started:
    """A process and, once it ended, how."""

    process: subprocess.Popen[bytes]
    number: int
    code: int | None = None


class LocalRunner:
    """Runs commands on this machine; output goes to files, so that no pipe can fill up and stop the job."""

    def __init__(self) -> None:
        self._watchdog: subprocess.Popen[bytes] | None = None

    def run_together(self, commands: Sequence[Command], *, folder: Path, token: str, timeout: float | None) -> Outcome:
        """Start all, wait for the last; one that fails or a timeout ends the rest, with everything they started."""
        launched = time.time()
        with self._watched(token):
            observer = Observer()
            begin = time.perf_counter()
            started = _start_all(commands, folder, token)
            late = _wait(started, observer, None if timeout is None else begin + timeout)
            wall = time.perf_counter() - begin
            observed = observer.finish(wall)
        status, error = _judge(started, late, timeout, folder)
        return Outcome(
            status=status,
            launched=launched,
            wall_seconds=wall,
            error=error,
            output=_output(folder, len(commands)),
            observed=observed,
        )

    def capture(self, argv: Sequence[str], *, timeout: float = 30.0) -> tuple[int, str]:
        """Exit code and text of a short command; 127 when there is no such program."""
        try:
            done = subprocess.run(
                argv, capture_output=True, text=True, errors="replace", timeout=timeout, stdin=subprocess.DEVNULL
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            return 127, str(problem)
        return done.returncode, done.stdout + done.stderr

    @contextmanager
    def _watched(self, token: str) -> Iterator[None]:
        """Tell the watchdog, and whatever happens end what still carries the token when the run is over."""
        self._tell("+" + token)
        try:
            yield
        finally:
            watchdog.end_marked(token)
            self._tell("-" + token)

    def _tell(self, word: str) -> None:
        if self._watchdog is None:
            program = [sys.executable, "-I", "-S", watchdog.__file__]
            self._watchdog = subprocess.Popen(program, stdin=subprocess.PIPE, start_new_session=True)
        pipe = self._watchdog.stdin
        if pipe is not None:
            pipe.write(word.encode() + b"\n")
            pipe.flush()

    def close(self) -> None:
        if self._watchdog is not None and self._watchdog.stdin is not None:
            self._watchdog.stdin.close()
            self._watchdog.wait()
            self._watchdog = None


def _start_all(commands: Sequence[Command], folder: Path, token: str) -> list[_Started]:
    folder.mkdir(parents=True, exist_ok=True)
    started: list[_Started] = []
    for number, command in enumerate(commands):
        with (folder / f"out-{number}").open("wb") as out, (folder / f"err-{number}").open("wb") as err:
            started.append(_Started(_start(command, token, out.fileno(), err.fileno()), number))
    return started


def _start(command: Command, token: str, out: int, err: int) -> subprocess.Popen[bytes]:
    with _bound_to(command.cores):
        try:
            return subprocess.Popen(
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


@contextmanager
def _bound_to(cores: Sequence[int]) -> Iterator[None]:
    """Children inherit the cores of their parent: bind ourselves for the moment of starting one."""
    if not cores:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _wait(started: Sequence[_Started], observer: Observer, deadline: float | None) -> bool:
    """Wait until all have ended, one has failed, or it is too late (then True)."""
    poll = select.poll()
    by_handle = {os.pidfd_open(each.process.pid): each for each in started}
    for handle in by_handle:
        poll.register(handle, select.POLLIN)
    try:
        return _wait_on(poll, by_handle, observer, deadline)
    finally:
        for handle in by_handle:
            os.close(handle)


def _wait_on(poll: select.poll, by_handle: dict[int, _Started], observer: Observer, deadline: float | None) -> bool:
    left = dict(by_handle)
    while left:
        for handle, _ in poll.poll(1000 * LOOK_AROUND_SECONDS):
            poll.unregister(handle)
            _reap(left.pop(handle), observer)
        if any(each.code for each in by_handle.values()):
            return False
        if left and deadline is not None and time.perf_counter() >= deadline:
            return True
        observer.look()
    return False


def _reap(each: _Started, observer: Observer) -> None:
    _, status, usage = os.wait4(each.process.pid, 0)
    each.code = each.process.returncode = os.waitstatus_to_exitcode(status)
    observer.count(usage)


def _judge(
    started: Sequence[_Started], late: bool, timeout: float | None, folder: Path
) -> tuple[RunStatus, str | None]:
    for each in started:
        if each.code is None:  # ended by us just now: collect it, so that it is no zombie
            each.process.wait()
    if late:
        return RunStatus.TIMEOUT, _with_tail(f"no end after {timeout:g} s; the whole process tree was ended", folder, 0)
    failed = next((each for each in started if each.code), None)
    if failed is None or failed.code is None:
        return RunStatus.OK, None
    which = f"process {failed.number} of {len(started)} " if len(started) > 1 else ""
    return RunStatus.FAILED, _with_tail(which + describe_exit(failed.code), folder, failed.number)


def describe_exit(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def _with_tail(message: str, folder: Path, number: int) -> str:
    tail = tail_of(folder / f"err-{number}") or tail_of(folder / f"out-{number}")
    return f"{message}\n{tail}" if tail else message


def tail_of(path: Path, most: int = TAIL_CHARACTERS) -> str:
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - most))
            return file.read().decode(errors="replace").strip()
    except OSError:
        return ""


def _output(folder: Path, count: int) -> str:
    """What the processes printed, the first one first, bounded."""
    parts = [tail_of(folder / f"out-{number}", MOST_OUTPUT // max(1, count)) for number in range(count)]
    return "\n".join(part for part in parts if part)
