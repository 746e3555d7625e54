"""Servers that a job uses: which processes they are, what they use while the job runs, and who the job talks to."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from scalecurve.errors import Fault, InputError

SECONDS = 10.0
_USERS = re.compile(r'\("([^"]*)",pid=(\d+)')


@dataclass(frozen=True)
class ServerReading:
    """CPU seconds of all processes of the servers, also of children that they have waited for; resident bytes of all
    together, shared pages counted in each; the cores they may use."""

    cpu_seconds: float
    bytes: int
    pids: tuple[int, ...]
    cores: tuple[int, ...]


@dataclass(frozen=True)
class Servers:
    """The processes behind names: a process number, a program, a systemd unit or a container, with all below them."""

    names: tuple[str, ...]

    def faults(self) -> list[Fault]:
        """A fault for each name that no process has."""
        hint = "give the number of a process, the name of a program, a systemd unit or a container that runs"
        missing = [name for name in self.names if not roots_of(name)]
        return [Fault("no such server runs here", where="serves", value=name, remedy=hint) for name in missing]

    def processes(self) -> dict[int, Any]:
        """Every process of the servers by its number; new ones are found at each call."""
        psutil: Any = import_module("psutil")
        found: dict[int, Any] = {}
        for pid in {pid for name in self.names for pid in roots_of(name)}:
            with suppress(psutil.Error):
                root = psutil.Process(pid)
                found |= {process.pid: process for process in (root, *root.children(recursive=True))}
        return found

    def reading(self) -> ServerReading:
        psutil: Any = import_module("psutil")
        seconds, size, pids = 0.0, 0, []
        cores: set[int] = set()
        for pid, process in self.processes().items():
            with suppress(psutil.Error), process.oneshot():
                seconds += sum(process.cpu_times()[:4])
                size += process.memory_info().rss
                cores |= set(process.cpu_affinity())
                pids.append(pid)
        return ServerReading(seconds, size, tuple(sorted(pids)), tuple(sorted(cores)))


def used_between(before: ServerReading, after: ServerReading) -> dict[str, Any]:
    """What the servers used between two readings, as it is kept with a run; InputError where they ended meanwhile."""
    if not after.pids:
        raise InputError(Fault("the server ended during the run", where="serves", value=str(before.pids)))
    seconds = round(max(0.0, after.cpu_seconds - before.cpu_seconds), 3)
    return {"cpu_seconds": seconds, "bytes": after.bytes, "processes": len(after.pids), "cores": list(after.cores)}


def roots_of(name: str) -> list[int]:
    """The processes that a name stands for, first as a number, then as a program, a unit or a container."""
    psutil: Any = import_module("psutil")
    if name.isdecimal():
        return [int(name)] if psutil.pid_exists(int(name)) else []
    programs = []
    for process in psutil.process_iter(["name", "exe"]):
        words = {process.info["name"], os.path.basename(process.info["exe"] or "")}
        if name in words and process.pid != os.getpid():
            programs.append(process.pid)
    asks = (
        ["systemctl", "show", "--property=MainPID", "--value", name],
        ["docker", "inspect", "--format={{.State.Pid}}", name],
        ["podman", "inspect", "--format={{.State.Pid}}", name],
    )
    answers = programs or [int(text) for words in asks if (text := _answer(words)).isdecimal()]
    return [pid for pid in answers if pid]


def _answer(words: Sequence[str]) -> str:
    """What a program says; empty where it is not here or fails."""
    if shutil.which(words[0]) is None:
        return ""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def server_at(url: str) -> tuple[str, ...]:
    """The process that listens at an address of this machine, as a name of `Servers`; empty for another machine."""
    parts = urlsplit(url)
    if parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        return ()
    port = parts.port or {"https": 443}.get(parts.scheme, 80)
    users = _USERS.findall(_answer(["ss", "-H", "-l", "-t", "-n", "-p", f"sport = :{port}"]))
    return tuple(sorted({pid for _, pid in users}))


@dataclass(frozen=True)
class Peer:
    """A process of this machine that the job talks to."""

    name: str
    pid: int


def peers_of(job: Iterable[int]) -> tuple[Peer, ...]:
    """The processes outside the job to which it has connections on this machine, by TCP or a local socket."""
    text = _answer(["ss", "-H", "-n", "-p", "-x", "-t", "state", "established"])
    return tuple(sorted(set(_peers_in(text, set(job))), key=lambda peer: peer.pid))


def _peers_in(text: str, job: set[int]) -> Iterator[Peer]:
    """The peers in the answer of `ss`: each line has both ends of a connection and the process of the first."""
    owner: dict[tuple[str, str], Peer] = {}
    for line in text.splitlines():
        words, user = line.split(), _USERS.search(line)
        if user is None or len(words) < 6:
            continue
        # A local socket has a path and a number at each end, a TCP connection an address.
        ends = (words[4], words[6]) if words[0].startswith("u_") and len(words) > 6 else (words[3], words[4])
        owner[ends] = Peer(user[1], int(user[2]))
    for (here, there), process in owner.items():
        other = owner.get((there, here))
        if process.pid in job and other is not None and other.pid not in job:
            yield other
