"""Starting processes together through the watchdog, waiting for all of them, and ending everything they started."""

from __future__ import annotations

import json
import os
import select
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import scalecurve.measurement.watchdog as watchdog
from scalecurve.errors import RunError
from scalecurve.measurement.observation import Observer
from scalecurve.measurement.ports import Command, Launch, LaunchOutcome
from scalecurve.study import RunStatus

TAIL_CHARACTERS = 4000
LAST_LINES = 5
MOST_OUTPUT = 16 * 1024 * 1024
RUN_VARIABLE = "SCALECURVE_RUN"
LAST_SECONDS = watchdog.GRACE_SECONDS + watchdog.PATIENCE_SECONDS + 3.0
"""The longest that the watchdog takes to end what runs and then itself."""
ASKS_FOR_PEERS = 3
"""Launches of which it is asked whom they talk to: the first ones that last long enough."""
SHORT_SECONDS = 60.0
"""A command that may take longer is watched; a shorter one ends by itself when the tool is killed."""


class WatchdogLost(RunError):
    """The watchdog ended before the tool; its job was ended too."""


class _Watchdog:
    """The process that starts and ends the jobs, and what there was before it."""

    def __init__(self) -> None:
        # Should the watchdog be killed, its processes become children of this one and can still be found.
        self.adopted_before = watchdog.adopt_orphans()
        self.children_before = self._children()
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-S", watchdog.__file__, str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as problem:
            raise RunError(f"the watchdog of the measurement cannot be started: {problem.strerror}") from None
        self.text = b""
        self.cpu_seconds = 0.0

    def _children(self) -> set[int]:
        """Children of this process in other sessions than its own: not those that a library user started."""
        here = os.getsid(0)
        return {
            pid
            for pid, (parent, _, session) in watchdog.relatives().items()
            if parent == os.getpid() and session != here
        }

    def ask(self, question: Sequence[dict[str, Any]], observer: Observer) -> list[dict[str, Any]] | None:
        """The answers to a question, after looks at the processes meanwhile; None when the watchdog is gone."""
        roots: list[int] = []
        answers: list[dict[str, Any]] = []
        answer = self.process.stdout
        if answer is None or not self.tell(question):
            return None
        poll = select.poll()
        poll.register(answer, select.POLLIN)
        while len(answers) < len(question):
            if not poll.poll(1000 * observer.next_look()):
                self.wake()
                observer.watch(roots, self.process.pid)
            elif part := os.read(answer.fileno(), watchdog.PART):
                *lines, self.text = (self.text + part).split(b"\n")
                said: list[dict[str, Any]] = [json.loads(line) for line in lines]
                roots = [pid for one in said for pid in one.get("started", ())] or roots
                answers += [one for one in said if "started" not in one]
            else:
                return None
        return answers

    def tell(self, question: Sequence[dict[str, Any]]) -> bool:
        """Send a question; False when the watchdog is gone."""
        if self.process.stdin is None:
            return False
        try:
            self.process.stdin.write(json.dumps(question).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            return False
        return True

    def wake(self) -> None:
        """Continue it where a job or a stranger has stopped it: stopped, it would keep no deadline and end nothing."""
        with suppress(OSError):
            self.process.send_signal(signal.SIGCONT)

    def end(self, tokens: Sequence[str] = ()) -> list[int]:
        """Let it end what runs, then itself; what a dead watchdog left is ended here.  Returns what is left."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self.wake()
        try:
            code = self.process.wait(LAST_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        orphans: set[int] = set()

        def living() -> list[int]:
            mine = self._children() - self.children_before
            orphans.update(mine)
            marked = [pid for token in tokens for pid in watchdog.marked(token)]
            return sorted({*mine, *watchdog.below(mine), *marked})

        left = watchdog.end_all(living) if code else []
        for pid in orphans:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        if self.adopted_before is False:
            watchdog.adopt_orphans(False)
        return left


class LocalRunner:
    """Runs commands on this machine.  Output goes to files, so that no full pipe can stop the job."""

    def __init__(self) -> None:
        self._watchdog: _Watchdog | None = None
        self._asks_peers = ASKS_FOR_PEERS
        self._ahead: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}

    def run_ahead(self, launches: Sequence[Launch]) -> None:
        """Make short launches one after the other, with nothing done between them; `run_together` then has the answers.

        What the machine did meanwhile is told of them together: each has its share by its wall time.
        """
        question = [question_of(*launch) for launch in launches]
        tokens = [launch[2] for launch in launches]
        for launch, answer, facts in zip(launches, *self._answers(question, tokens), strict=True):
            self._ahead[launch[2]] = answer, facts

    def _answers(
        self, question: Sequence[dict[str, Any]], tokens: Sequence[str]
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The answers of the watchdog, and what was observed of each."""
        if self._watchdog is None:
            self._watchdog = _Watchdog()
        observer = Observer(asks_peers=self._asks_peers > 0)
        try:
            answers = self._watchdog.ask(question, observer)
        except BaseException:
            self._end_watchdog(tokens)
            raise
        if answers is None:
            pid = self._watchdog.process.pid
            left = self._end_watchdog(tokens)
            more = f"; processes {left} could not be ended" if left else ""
            raise WatchdogLost(f"the watchdog (process {pid}) was killed, so its job was ended{more}")
        own, self._watchdog.cpu_seconds = answers[-1]["own"] - self._watchdog.cpu_seconds, answers[-1]["own"]
        facts = observer.facts([(answer["wall"], answer["usage"]) for answer in answers], own)
        self._asks_peers -= observer.peers is not None
        return answers, facts

    def run_together(
        self, commands: Sequence[Command], *, folder: Path, token: str, timeout: float | None
    ) -> LaunchOutcome:
        """Start all, wait for the last; a failure or a timeout ends the rest, with everything they started.

        `folder` exists; their output goes there.
        """
        if token in self._ahead:
            answer, observed = self._ahead.pop(token)
        else:
            [answer], [observed] = self._answers([question_of(commands, folder, token, timeout)], [token])
        if answer["trouble"]:
            command = commands[min(answer["trouble"]["number"], len(commands) - 1)]
            where = f" in {command.folder}" if command.folder else ""
            raise RunError(f"cannot start {command.argv[0]!r}{where}: {answer['trouble']['reason']}")
        status, error = _judge(answer, timeout, folder, commands)
        most = MOST_OUTPUT // max(1, len(commands))
        texts = {
            name: "\n".join(text for i in range(len(commands)) if (text := tail_of(f"{folder}/{name}-{i}", most)))
            for name in ("out", "err")
        }
        return LaunchOutcome(
            status=status,
            launched=answer["launched"],
            wall_seconds=answer["wall"],
            error=error,
            output=texts["out"],
            errors=texts["err"],
            observed=observed | ({"behind": answer["behind"]} if answer["behind"] else {}),
        )

    def capture(self, argv: Sequence[str], *, timeout: float = 30.0) -> tuple[int, str]:
        """Exit code and text of a command; 127 when the program does not exist or takes too long."""
        if timeout > SHORT_SECONDS:
            with tempfile.TemporaryDirectory(prefix="scalecurve-") as folder:
                alone, token = Command(argv=tuple(argv)), os.path.basename(folder)
                try:
                    watched = self.run_together([alone], folder=Path(folder), token=token, timeout=timeout)
                except WatchdogLost:
                    raise
                except RunError as problem:
                    return 127, str(problem)
            text = "\n".join(part for part in (watched.output, watched.errors) if part)
            return (0, text) if watched.status is RunStatus.OK else (1, text or str(watched.error))
        try:
            done = subprocess.run(
                argv, capture_output=True, text=True, errors="replace", timeout=timeout, stdin=subprocess.DEVNULL
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            return 127, str(problem)
        return done.returncode, done.stdout + done.stderr

    def _end_watchdog(self, tokens: Sequence[str] = ()) -> list[int]:
        if self._watchdog is None:
            return []
        ending, self._watchdog = self._watchdog, None
        return ending.end(tokens)

    def close(self) -> None:
        self._end_watchdog()


def question_of(commands: Sequence[Command], folder: Path, token: str, timeout: float | None) -> dict[str, Any]:
    """One launch as the watchdog takes it."""
    here, place = os.getcwd(), os.path.abspath(folder)
    return {
        "timeout": timeout,
        "commands": [
            {
                "argv": command.argv,
                "env": {**command.env, RUN_VARIABLE: token},
                "folder": os.path.join(here, command.folder or ""),
                "cores": command.cores,
                "out": f"{place}/out-{number}",
                "err": f"{place}/err-{number}",
            }
            for number, command in enumerate(commands)
        ],
    }


def _judge(
    answer: dict[str, Any], timeout: float | None, folder: Path, commands: Sequence[Command]
) -> tuple[RunStatus, str | None]:
    """The status and, unless all is well, the message with the end of the error output."""
    number = next((place for place, code in enumerate(answer["codes"]) if code), None)
    if answer["why"] == "late":
        status, message, number = RunStatus.TIMEOUT, f"no end after {timeout:g} s; the whole process tree was ended", 0
    elif number is not None:
        status = RunStatus.FAILED
        message = f"process {number} of {len(commands)} " if len(commands) > 1 else ""
        message += describe_exit(answer["codes"][number])
    else:
        status, message, number = RunStatus.OK, "", 0
    if answer["left"]:
        status = RunStatus.FAILED if status is RunStatus.OK else status
        left = ", ".join(map(str, answer["left"]))
        message += f"; processes {left} could not be ended: end them by hand" if message else f"processes {left} remain"
    if status is RunStatus.OK:
        return status, None
    return status, f"{message}\n{last_words(folder, number)}".strip()


def last_words(folder: Path, number: int = 0) -> str:
    """The end of what a process wrote: standard output first, where many programs say what is wrong, then errors."""
    output, errors = (tail_of(folder / f"{stream}-{number}") for stream in ("out", "err"))
    output = "\n".join(output.splitlines()[-LAST_LINES:]) if errors else output
    return f"{output}\n{errors}".strip()


def describe_exit(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def tail_of(path: Path | str, most: int = TAIL_CHARACTERS) -> str:
    """The end of a file as text; empty when there is none."""
    try:
        if not os.stat(path).st_size:  # most programs leave one of their outputs empty
            return ""
        return end_of_file(path, most).decode(errors="replace").strip()
    except OSError:
        return ""


def end_of_file(path: Path | str, most: int) -> bytes:
    """At most the last `most` bytes of a regular file; OSError for a pipe or a device, which has no end."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(22, "it is a pipe or a device, not a file")
        file.seek(max(0, status.st_size - most))
        return file.read(most)
