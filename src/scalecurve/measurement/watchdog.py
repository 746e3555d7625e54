"""Starts the processes of a measurement, times them, and ends everything they started, whatever becomes of the tool.

Started once per measurement as `python -I -S watchdog.py PID`, in a session of its own.  It is the parent of every job
and a child subreaper: whatever a job starts stays below it, also without its environment, session or parent.  A job is
over when the watchdog has no child left.  When the tool PID is gone (SIGKILL, a closed terminal) or closes the pipe,
the watchdog ends what runs and then itself.

A question is a line of JSON on standard input: launches to make one after the other.  The answers are lines on standard
output, one for each.  Standard library only, and no
imports of this package.
"""

from __future__ import annotations

import ctypes
import gc
import json
import math
import os
import resource
import select
import signal
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

Actions = list[tuple[Any, ...]]
MARK = b"SCALECURVE_RUN="
GRACE_SECONDS = 2.0
PATIENCE_SECONDS = 5.0
"""After SIGKILL: a process that is still there then belongs to another user, or the kernel holds it."""
PAUSE_SECONDS = 0.02
PART = 1 << 16
"""Bytes read at once: the allocator keeps a buffer of this size, and asks the kernel for a larger one each time."""
QUIET_SECONDS = 0.03
"""A job that lasts longer is announced to the tool, which then looks at its processes."""
LOOKS = 4
SET_SUBREAPER, GET_SUBREAPER = 36, 37
LEAST_MARK = 1 << 62
"""Microseconds: so late a limit of real-time work, 146,000 years, limits nothing."""
DEFAULT_SIGNALS = [
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGQUIT, signal.SIGCHLD,
]  # fmt: skip


def adopt_orphans(adopt: bool = True) -> bool | None:
    """Make this process the parent of orphans below it, or not; returns what it was, None where the system cannot."""
    try:
        control = ctypes.CDLL(None, use_errno=True).prctl
    except (OSError, AttributeError):
        return None
    before = ctypes.c_int(0)
    if control(GET_SUBREAPER, ctypes.byref(before), 0, 0, 0) or control(SET_SUBREAPER, int(adopt), 0, 0, 0):
        return None
    return bool(before.value)


def relatives() -> dict[int, tuple[int, int, int]]:
    """The parent, process group and session of every living process; empty where there is no /proc."""
    families = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else []:
        if name.isdecimal():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    # The name of a program may hold spaces and brackets: the fields begin after the last bracket.
                    state, *fields = file.read().rpartition(b")")[2].split()[:4]
            except (OSError, ValueError):
                continue
            if state not in (b"Z", b"X") and len(fields) == 3:
                families[int(name)] = (int(fields[0]), int(fields[1]), int(fields[2]))
    return families


def below(roots: Iterable[int]) -> list[int]:
    """The living processes of which one of `roots` is an ancestor, without the roots."""
    family = relatives()
    tree = set(roots)
    size = 0
    while size != len(tree):
        size = len(tree)
        tree |= {pid for pid, (parent, _, _) in family.items() if parent in tree}
    return sorted(pid for pid in tree - set(roots) if pid in family)


def mark_of(token: str) -> int:
    """The number that marks the processes of a run, as their limit of real-time work (RLIMIT_RTTIME).

    Children inherit it, also those that clear their environment, begin a session and lose their parent.
    """
    text = token.encode()
    return LEAST_MARK | zlib.crc32(text) << 30 ^ zlib.crc32(text[::-1])


@contextmanager
def marking_children(token: str) -> Iterator[None]:
    """Processes started inside carry the mark of the token; this one does so meanwhile."""
    limits = resource.getrlimit(resource.RLIMIT_RTTIME)
    with suppress(ValueError):  # a lower limit is in force: the environment alone is the mark
        resource.setrlimit(resource.RLIMIT_RTTIME, (mark_of(token), limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_RTTIME, limits)


def carries(pid: int, token: str) -> bool:
    """Whether a process has the mark of a run, in its limits or its environment."""
    with suppress(OSError), open(f"/proc/{pid}/limits", "rb") as file:
        if b" %d " % mark_of(token) in file.read():
            return True
    with suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
        return MARK + token.encode() in file.read().split(b"\0")
    return False


def marked(token: str) -> list[int]:
    """Processes that carry the mark of a run, with their process groups and sessions and all below them."""
    family = relatives()
    roots = {pid for pid in family if pid != os.getpid() and carries(pid, token)}
    # A session or group that a marked process leads holds nothing else.
    led = {pid for pid in roots if pid in (family[pid][1], family[pid][2])}
    roots |= {pid for pid, (_, group, session) in family.items() if group in led or session in led}
    return sorted(roots | set(below(roots)))


def end_all(
    living: Callable[[], list[int]], grace: float = GRACE_SECONDS, *, none_left: Callable[[], bool] | None = None
) -> list[int]:
    """Terminate, wait, kill, and look again until none is left; returns those that could not be ended.

    A look at /proc misses a process that is born while its parent ends: none is left when `none_left` says so, or
    without it when several looks in a row find none.
    """
    begin = time.monotonic()
    empty = 0
    signalled: set[int] = set()
    while True:
        left = living()
        empty = (empty + 1) * (not left)
        elapsed = time.monotonic() - begin
        if none_left() if none_left else empty >= LOOKS:
            return []
        if elapsed > grace + PATIENCE_SECONDS:
            return left
        late = elapsed > grace
        send(left if late else set(left) - signalled, signal.SIGKILL if late else signal.SIGTERM)
        signalled.update(left)
        time.sleep(PAUSE_SECONDS)


def end_marked(token: str, grace: float = GRACE_SECONDS) -> list[int]:
    """End the processes of a run whose tool and watchdog are gone."""
    return end_all(lambda: marked(token), grace)


def send(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def reap(spare: Iterable[int] = ()) -> bool:
    """Collect children that have ended, except `spare`; False when this process has no child at all."""
    try:
        while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if ended.si_pid in spare:
                return True
            os.waitpid(ended.si_pid, 0)
    except ChildProcessError:
        return False
    return True


def end_children(grace: float = GRACE_SECONDS) -> list[int]:
    """End everything below this process; returns what could not be ended.

    The kernel knows exactly whether a process has a child, and every orphan of a job becomes one.
    """
    if not reap():
        return []
    return end_all(lambda: below([os.getpid()]), grace, none_left=lambda: not reap())


class Root:
    """A process of a job: a handle that tells when it has ended, its exit code and what it used."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.handle = os.pidfd_open(pid)
        self.code: int | None = None
        self.usage = (0.0, 0, 0)

    def collect(self) -> None:
        _, status, usage = os.wait4(self.pid, 0)
        self.code = os.waitstatus_to_exitcode(status)
        self.usage = (usage.ru_utime + usage.ru_stime, usage.ru_maxrss, usage.ru_majflt)


def as_bytes(environment: dict[str, str]) -> dict[bytes, bytes]:
    return {os.fsencode(name): os.fsencode(value) for name, value in environment.items()}


@cache
def program_path(word: str, path: bytes) -> str:
    """The file of a program as the path of its own environment gives it; a word with a slash is that file.

    It is looked for once, so that every launch of a measurement starts the same file.
    """
    if "/" in word:
        return word
    for place in os.fsdecode(path).split(os.pathsep):
        file = os.path.join(place, word)
        if os.path.isfile(file) and os.access(file, os.X_OK):
            return file
    raise FileNotFoundError(2, os.strerror(2))


class Job:
    """The processes of one launch: prepared, started together, waited for, ended."""

    def __init__(self, asked: dict[str, Any], environment: dict[bytes, bytes], *, adopts: bool = True) -> None:
        self.environment, self.adopts = environment, adopts
        self.timeout: float | None = asked["timeout"]
        self.commands: list[dict[str, Any]] = asked["commands"]
        self.token: str = self.commands[0]["env"]["SCALECURVE_RUN"]
        self.roots: list[Root] = []
        self.cores = os.sched_getaffinity(0)
        self.handles: list[int] = []
        self.launched = self.begin = self.end = 0.0

    def run(self, watched: list[int]) -> dict[str, Any]:
        """Start all, wait for the last; a failure, a timeout or the end of the tool ends the rest."""
        trouble, why = None, ""
        try:
            prepared = [self.prepare(command) for command in self.commands]
            with marking_children(self.token):
                self.launched, self.begin = time.time(), time.perf_counter()
                for command, (path, env, actions) in zip(self.commands, prepared, strict=True):
                    self.start(command, path, env, actions)
            why = self.wait(watched)
        except OSError as problem:
            trouble = {"number": len(self.roots), "reason": problem.strerror or str(problem)}
        finally:
            os.chdir("/")
            for handle in self.handles:
                os.close(handle)
        return {
            "launched": self.launched,
            "wall": self.end - self.begin,
            "codes": [root.code for root in self.roots],
            "usage": [root.usage for root in self.roots],
            "own": time.process_time(),
            "why": why,
            "trouble": trouble,
            "behind": 0 if why or trouble else self.behind(),
            "left": self.finish(),
        }

    def behind(self) -> int:
        """How many processes outlive the job; helpers of a launcher that are about to end are waited for."""
        if not reap():
            return 0
        time.sleep(PAUSE_SECONDS)
        return len(below([os.getpid()])) if reap() else 0

    def finish(self) -> list[int]:
        """End what is left of the job; where orphans cannot be adopted, also what carries its mark."""
        left = end_children()
        if not self.adopts:
            left += end_marked(self.token)
        return left

    def prepare(self, command: dict[str, Any]) -> tuple[str, dict[bytes, bytes], Actions]:
        """What need not be timed: the file of the program, its environment as bytes, and its open output files."""
        actions: Actions = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
        mode = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        for place, name in enumerate(("out", "err"), 1):
            if len(self.commands) > 1:  # each process opens its own: there may be more than this one may hold open
                actions.append((os.POSIX_SPAWN_OPEN, place, command[name], mode, 0o600))
            else:
                self.handles.append(os.open(command[name], mode | os.O_CLOEXEC, 0o600))
                actions.append((os.POSIX_SPAWN_DUP2, self.handles[-1], place))
        os.chdir(command["folder"])
        env = {**self.environment, **as_bytes(command["env"])}
        return program_path(command["argv"][0], env.get(b"PATH", os.defpath.encode())), env, actions

    def start(self, command: dict[str, Any], path: str, env: dict[bytes, bytes], actions: Actions) -> None:
        """Start one process; children inherit the cores of their parent, so this process is bound meanwhile."""
        os.chdir(command["folder"])
        if command["cores"]:
            os.sched_setaffinity(0, command["cores"])
        try:
            pid = os.posix_spawn(
                path,
                command["argv"],
                env,
                file_actions=actions,
                setpgroup=0,  # not a session of its own: the scheduler treats every session as a new group of tasks
                setsigmask=[],
                setsigdef=DEFAULT_SIGNALS,
            )
        finally:
            if command["cores"]:
                os.sched_setaffinity(0, self.cores)
        self.roots.append(Root(pid))
        self.handles.append(self.roots[-1].handle)

    def wait(self, watched: list[int]) -> str:
        """Wait until all have ended or one has failed (then ""), the deadline has passed, or the tool is gone."""
        deadline = self.begin + (self.timeout or math.inf)
        poll = select.poll()
        running = {root.handle: root for root in self.roots}
        for handle in (*watched, *running):
            poll.register(handle, select.POLLIN)
        pause = QUIET_SECONDS
        while running and not any(root.code for root in self.roots):
            if time.perf_counter() >= deadline:
                return "late"
            ready = [handle for handle, _ in poll.poll(1000 * max(0.0, min(pause, deadline - time.perf_counter())))]
            self.end = time.perf_counter()
            if not ready:
                pause = self.look(pause)
            for handle in ready:
                if handle in watched:
                    return "gone"
                poll.unregister(handle)
                running.pop(handle).collect()
        return ""

    def look(self, pause: float) -> float:
        """Announce the job at the first look, collect its orphans; the seconds until the next look."""
        if pause == QUIET_SECONDS:
            say({"started": [root.pid for root in self.roots]})
        reap([root.pid for root in self.roots])
        return 1.0


def say(*answers: dict[str, Any]) -> None:
    try:
        os.write(1, b"".join(json.dumps(answer).encode() + b"\n" for answer in answers))
    except OSError:  # nobody listens any more; standard input says so next
        return


def main() -> None:
    tool = int(sys.argv[1])
    adopts = adopt_orphans() is not None
    gc.disable()  # there is nothing to collect, and looking for it takes time
    watched = [0]
    with suppress(OSError):  # the tool is gone, or this kernel has no such handles: the end of the input says so
        watched.append(os.pidfd_open(tool))
    environment = as_bytes(dict(os.environ))
    for requests in questions(tool, watched):
        answers: list[dict[str, Any]] = []
        for request in requests:
            answers.append(Job(request, environment, adopts=adopts).run(watched))
            if answers[-1]["why"] == "gone":
                break
        say(*answers)  # at the end: the tool would otherwise work on the first while the second is timed
    end_children()


def questions(tool: int, watched: list[int]) -> Iterator[list[dict[str, Any]]]:
    """The questions of the tool, until it is gone."""
    idle, text = select.poll(), b""
    for handle in watched:
        idle.register(handle, select.POLLIN)
    while os.getppid() == tool and not any(handle != 0 for handle, _ in idle.poll()):
        part = os.read(0, PART)
        if not part:
            return
        text += part
        if text.endswith(b"\n"):
            yield json.loads(text)
            text = b""


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends when its work is done
    main()
