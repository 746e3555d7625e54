"""What this machine tells of a run while it lasts: load, CPU time of others, memory, the workers' cores and MPI."""

from __future__ import annotations

import ctypes
import math
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from scalecurve.measurement.guard import busy_seconds
from scalecurve.measurement.machine import SystemMachine
from scalecurve.measurement.ports import MachineView
from scalecurve.measurement.servers import Peer, peers_of
from scalecurve.measurement.threads import SHORTEST_SECONDS, ThreadSampler
from scalecurve.measurement.watchdog import below, relatives

LOOK_AROUND_SECONDS = 0.5
FIRST_LOOKS_SECONDS = (0.05, 0.15, 0.3)
"""The first looks at the processes of a run come sooner: a short job would be over."""
PEER_LOOKS = range(1, 16)
"""At one of these looks the job has connected to the servers that it uses; later ones come ever more rarely."""
KIB = 1024
POWERCAP_ZONES = tuple(
    f"/sys/class/powercap/intel-rapl:{place}"
    for place in (*range(8), *(f"{i}:{j}" for i in range(8) for j in range(4)))
)
"""Where the kernel counts the energy of Intel and AMD processors: eight packages and the zones inside them."""
MPI_LIBRARY = re.compile(r"/lib(?:p?mpi(?:ch|_cray|_gnu\w*|fort|_mpifh|cxx)?|open-rte|mpi_abi)\.so[.\d]*$")
MPI_STARTER = re.compile(r"/(?:mpirun|mpiexec|orterun|prterun)(?:\.\w+)?$")
MOST_PROCESSES = 4096


Usage = tuple[float, int, int]
"""Of a process that ended, with the children it waited for: CPU seconds, peak KiB, major page faults."""


@dataclass(frozen=True)
class ProcessView:
    """One process: its threads, the cores that they may use, and the files of the MPI libraries in its memory."""

    pid: int
    threads: int
    cores: tuple[int, ...]
    mpi_libraries: tuple[str, ...]


def starter_among(pids: Iterable[int]) -> str | None:
    """The file of the mpirun or mpiexec among these processes."""
    for pid in pids:
        with suppress(OSError):
            path = os.readlink(f"/proc/{pid}/exe")
            if MPI_STARTER.search(path):
                return path
    return None


def workers_below(tree: Iterable[int]) -> tuple[ProcessView, ...]:
    """The processes at the ends of a tree: what mpirun started, not mpirun or its helpers."""
    tree = set(tree)
    family = relatives()
    inner = {family[pid][0] for pid in tree if pid in family}
    ends = [pid for pid in sorted(tree) if pid not in inner]
    views = (_view_of(pid) for pid in ends[:MOST_PROCESSES])
    return tuple(view for view in views if view is not None)


def _view_of(pid: int) -> ProcessView | None:
    cores: set[int] = set()
    try:
        maps = Path(f"/proc/{pid}/maps").read_text(errors="replace")
        threads = [int(name) for name in os.listdir(f"/proc/{pid}/task")]
        for thread in threads:  # with OMP_PROC_BIND each has a core of its own
            with suppress(ProcessLookupError):
                cores |= os.sched_getaffinity(thread)
    except (OSError, AttributeError):
        return None
    files = {line.split(None, 5)[5].strip() for line in maps.splitlines() if line.count("/")}
    libraries = tuple(sorted(file for file in files if MPI_LIBRARY.search(file)))
    return ProcessView(pid, len(threads), tuple(sorted(cores)), libraries)


@dataclass(frozen=True)
class EnergyCounters:
    """Counters of energy in joules since some moment, by source and place; a RAPL counter starts anew at its range."""

    rapl: Mapping[str, tuple[float, float]]
    nvml: Mapping[str, float]

    def since(self, before: EnergyCounters) -> dict[str, Any] | None:
        """Joules between two readings, with their sources; None where nothing counts."""
        cpu = [
            (value - before.rapl[zone][0]) % full if full else value - before.rapl[zone][0]
            for zone, (value, full) in self.rapl.items()
            if zone in before.rapl
        ]
        gpu = [value - before.nvml[device] for device, value in self.nvml.items() if device in before.nvml]
        if not cpu and not gpu:
            return None
        parts = ({"cpu_joules": sum(cpu)} if cpu else {}) | ({"gpu_joules": sum(gpu)} if gpu else {})
        sources = (["RAPL"] if cpu else []) + (["NVML"] if gpu else [])
        return {"joules": sum(cpu) + sum(gpu), **parts, "sources": sources}


def energy_now(machine: MachineView, library: Any = None) -> EnergyCounters:
    """The energy counters of this machine; empty where it has none or they may not be read."""
    rapl = {}
    for zone in POWERCAP_ZONES:
        name, value, full = (
            (machine.read(f"{zone}/{file}") or "").strip() for file in ("name", "energy_uj", "max_energy_range_uj")
        )
        # A package holds its cores; memory stands beside it.  Other zones are parts of these.
        if re.match(r"package|dram", name) and value.isdecimal():
            rapl[zone] = (int(value) / 1e6, int(full) / 1e6 if full.isdecimal() else 0.0)
    return EnergyCounters(rapl, gpu_joules(library if library is not None else nvml()))


@cache
def counts_energy() -> bool:
    """Whether this machine counts energy at all; asked once, since most do not."""
    here = energy_now(SystemMachine())
    return bool(here.rapl or here.nvml)


@cache
def nvml() -> Any:
    """The NVIDIA management library, started; None where there is none.  Tested with a fake only."""
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    return library if library.nvmlInit_v2() == 0 else None


def gpu_joules(library: Any) -> dict[str, float]:
    """Joules that each GPU has used since its driver was loaded; GPUs before Volta do not count them."""
    count = ctypes.c_uint(0)
    if library is None or library.nvmlDeviceGetCount_v2(ctypes.byref(count)):
        return {}
    joules = {}
    for place in range(count.value):
        device, millijoules = ctypes.c_void_p(), ctypes.c_ulonglong(0)
        if library.nvmlDeviceGetHandleByIndex_v2(place, ctypes.byref(device)):
            continue
        if library.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(millijoules)) == 0:
            joules[str(place)] = millijoules.value / 1e3
    return joules


@dataclass(frozen=True)
class CpuReading:
    """A moment in seconds of the clock, what the usable cores and what this process have worked until then."""

    moment: float
    busy: float | None
    own: float

    @classmethod
    def now(cls) -> CpuReading:
        return cls(time.perf_counter(), busy_seconds(SystemMachine()), time.process_time())


class Observer:
    """Load, CPU time of others, peak memory, major page faults, swapping, and the cores and the MPI library of the
    workers of one run; cheap to collect."""

    def __init__(self, *, asks_peers: bool = False) -> None:
        self.asks_peers = asks_peers
        self.loads: list[float] = []
        self.looks = 0
        self.next_at = 0.0
        self.sampler: ThreadSampler | None = None
        self.workers: tuple[ProcessView, ...] = ()
        self.starter: str | None = None
        self.peers: tuple[Peer, ...] | None = None
        self.look()
        self.begin = self.end = CpuReading.now()
        self.swap_before = _swapped_pages()
        self.energy_before = energy_now(SystemMachine()) if counts_energy() else None

    def next_look(self) -> float:
        """Seconds until the next look or sample."""
        left = max(0.0, self.next_at - time.perf_counter())
        return min(left, SHORTEST_SECONDS if self.sampler is None else self.sampler.due())

    def watch(self, roots: Sequence[int], watchdog: int) -> None:
        """Sample the threads of the job below `watchdog`, and look at its processes where that is due."""
        if self.sampler is None and roots:
            self.sampler = ThreadSampler(watchdog, self.begin.moment)
        if self.sampler is not None and not self.sampler.due():
            self.sampler.sample()
        if time.perf_counter() >= self.next_at:
            self.look(roots)

    def look(self, roots: Sequence[int] = ()) -> None:
        with suppress(OSError):
            self.loads.append(os.getloadavg()[0])
        first = FIRST_LOOKS_SECONDS[self.looks] if self.looks < len(FIRST_LOOKS_SECONDS) else LOOK_AROUND_SECONDS
        self.next_at = time.perf_counter() + first
        if not roots:
            return
        self.looks += 1
        asks = self.asks_peers and not self.peers
        if self.looks <= len(FIRST_LOOKS_SECONDS) + 1 or self._looks_again(asks):
            tree = sorted({*roots, *below(roots)})
            workers = workers_below(tree)
            self.starter = self.starter or starter_among(tree)
            # Later looks know more: ranks are bound and load their library after they have started.
            if len(workers) >= len(self.workers) or any(worker.mpi_libraries for worker in workers):
                self.workers = workers
            if asks:
                self.peers = peers_of(tree)

    def _looks_again(self, asks_peers: bool) -> bool:
        """Whether to look again for peers or for ranks that have not loaded MPI yet, late at looks 16, 32 and so on."""
        waits = self.starter is not None and not any(worker.mpi_libraries for worker in self.workers)
        return (asks_peers and self.looks in PEER_LOOKS) or ((waits or asks_peers) and self.looks.bit_count() == 1)

    def facts(self, launches: Sequence[tuple[float, Sequence[Usage]]], own: float) -> list[dict[str, Any]]:
        """What this system tells of each launch, from its wall seconds and what its processes used; the rest is left
        out.  Of several launches, what was seen from outside is told of all together.

        `own` is the CPU time that the watchdog used meanwhile; this process adds its own.
        """
        swapped, self.end = _swapped_pages(), CpuReading.now()
        wall = math.fsum(seconds for seconds, _ in launches)
        cpu = math.fsum(usage[0] for _, used in launches for usage in used)
        if self.sampler is not None:  # daemons that a job leaves to themselves, as Ray does, are not waited for
            cpu = max(cpu, self.sampler.seconds["running"])
        foreign, alone = self._foreign(wall, cpu + own), len(launches) == 1
        seen = (
            self._around(wall, cpu, swapped) if alone else dict.fromkeys(("load_before", "load_during"), self.loads[0])
        )
        told = [used_by(seconds, used, foreign) | seen for seconds, used in launches]
        return [{**told[0], "cpu_seconds": cpu}] if alone else told

    def _around(self, wall: float, cpu: float, swapped: int | None) -> dict[str, Any]:
        """What was seen of one launch from outside."""
        files = {file for worker in self.workers for file in worker.mpi_libraries}
        facts: dict[str, Any] = {
            "load_before": next(iter(self.loads), None),
            "load_during": max(self.loads, default=None),
            "swapped_pages": None if swapped is None else swapped - (self.swap_before or 0),
            **self._states(wall, cpu),
            "energy": energy_now(SystemMachine()).since(self.energy_before) if self.energy_before else None,
            "affinity": [list(worker.cores) for worker in self.workers] or None,
            "threads": sum(worker.threads for worker in self.workers) or None,
            "mpi_libraries": sorted(files, key=lambda file: ("libmpi" not in file, file)) or None,
            "mpi_starter": self.starter,
            "talks_to": [vars(peer) for peer in self.peers or ()] or None,
        }
        return {name: value for name, value in facts.items() if value is not None}

    def _foreign(self, wall: float, ours: float) -> float | None:
        """Cores that other programs used meanwhile; `ours` are the CPU seconds of the job and of the watchdog."""
        begin, end = self.begin, self.end
        if end.busy is None or begin.busy is None or wall <= 0:
            return None
        others = end.busy - begin.busy - ours - (end.own - begin.own)
        return others * min(1.0, wall / (end.moment - begin.moment)) / wall  # the run's part between the readings

    def _states(self, wall: float, cpu: float) -> dict[str, Any]:
        """Seconds of the threads by state, and the bounds of what the job lost by waiting for a core."""
        seconds = self.sampler.facts(wall, cpu) if self.sampler is not None else None
        if self.sampler is None or not seconds:
            return {}
        low, high = self.sampler.lost(wall)
        return {"thread_seconds": seconds, "lost_seconds": [round(low, 4), round(high, 4)]}


def used_by(seconds: float, used: Sequence[Usage], foreign: float | None) -> dict[str, Any]:
    """What the processes of a launch used, and others beside them; `foreign` is the latter in cores."""
    most = max((int(usage[1]) for usage in used), default=0)
    facts: dict[str, Any] = {
        "cpu_seconds": math.fsum(usage[0] for usage in used),
        "major_faults": sum(int(usage[2]) for usage in used),
    }
    facts |= {"peak_process_bytes": most * KIB} if most else {}
    if foreign is None:
        return facts
    cores = round(max(0.0, foreign), 3)
    return facts | {"foreign_cpu_seconds": round(foreign * seconds, 3), "foreign_cores": cores}


@cache
def _has_swap() -> bool:
    """Whether this machine can swap; asked once."""
    return len((SystemMachine().read("/proc/swaps") or "").splitlines()) > 1


def _swapped_pages() -> int | None:
    """Pages swapped in and out since the machine started; None where it does not say."""
    if not _has_swap():
        return 0
    try:
        with open("/proc/vmstat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    counts = [re.search(name + rb" (\d+)", text) for name in (b"pswpin", b"pswpout")]
    return sum(int(count[1]) for count in counts if count) if all(counts) else None
