"""What a measured program imports: it times its own steps and reports the work it did.

    from scalecurve import probe

    for batch in probe.steps(loader, work=len):
        with probe.phase("compute"):
            ...
        with probe.phase("communication"):
            ...

Outside a measurement `steps(x)` is `iter(x)` and the other calls do nothing.  Inside one (the environment variable
SCALECURVE_PROBE names a folder) times are kept in memory and written once, at the end of the process, as two JSON
lines; docs/reference/probe-protocol.md describes them for programs in other languages.

Standard library only: this module must be importable wherever a workload runs.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import islice, pairwise
from threading import current_thread, main_thread
from types import FrameType, TracebackType
from typing import Any, TypeVar

Item = TypeVar("Item")
Work = float | Callable[[Any], float] | None

FOLDER = "SCALECURVE_PROBE"
RANK = "SCALECURVE_RANK"
SIZE = "SCALECURVE_SIZE"
WARMUP = "SCALECURVE_WARMUP_STEPS"
MEET = "SCALECURVE_MEET"
VERSION = 1
MEETING_SECONDS = 300.0
PHASED_STEPS = 1000  # phases are kept step by step for the first so many measured steps

# Launchers that name the rank in the environment, the most specific first: inside an sbatch script SLURM_PROCID is 0
# for every process that mpirun starts.
_LAUNCHERS = (
    (RANK, SIZE),
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("PMIX_RANK", "PMIX_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def steps(iterable: Iterable[Item], *, work: Work = None) -> Iterator[Item]:
    """Iterate and time each step; `work` is the amount of one step, or a function of the item that gives it.

    A step is from one request for an item to the next, so that waiting for data is part of it.
    """
    recorder = _recorder
    return iter(iterable) if recorder is None else recorder.steps(iterable, work)


def phase(name: str) -> AbstractContextManager[Any]:
    """Time spent inside is added to `name`; a phase does not contain itself."""
    timer = _phases.get(name)
    if timer is None:
        if _recorder is None:
            return _NOTHING
        timer = _phases[name] = _Phase()
    return timer


def region(*, work: float | None = None) -> AbstractContextManager[None]:
    """The measured part of a program that has no steps."""
    return _NOTHING if _recorder is None else _recorder.region(work)


def whole() -> AbstractContextManager[None]:
    """The block is measured unless it has steps or regions of its own; for launchers that call functions."""
    return _NOTHING if _recorder is None else _recorder.whole()


def add_work(amount: float) -> None:
    """Work done (items, cells, tokens) by this worker; equal totals show that the job stayed the same."""
    if _recorder is not None:
        _recorder.work = (_recorder.work or 0.0) + amount


def digest(value: str | float) -> None:
    """The answer, or a checksum of it: a faster job with another answer is no speedup."""
    if _recorder is not None:
        _recorder.digest = value


def quality(value: float) -> None:
    """The quality reached now (accuracy, loss), for the time to a target."""
    if _recorder is not None:
        _recorder.quality.append((_recorder.now(), float(value)))


def record(name: str, value: float) -> None:
    """One number of a named series that is kept with the run."""
    if _recorder is not None:
        _recorder.series.setdefault(name, []).append(float(value))


def identify(*, rank: int, size: int) -> None:
    """Set rank and size, where a program starts its workers itself."""
    if _recorder is not None:
        _recorder.identity = (rank, size)


def is_on() -> bool:
    """Whether this process is being measured."""
    return _recorder is not None


def start(folder: str, *, rank: int | None = None, size: int | None = None) -> None:
    """Begin recording into `folder`; launchers whose workers outlive a run call this and `finish`."""
    global _recorder
    _phases.clear()
    _recorder = _Recorder(folder, int(os.environ.get(WARMUP) or 0))
    if rank is not None and size is not None:
        _recorder.identity = (rank, size)


def finish() -> None:
    """Write what was recorded, once; called at the end of the process by itself."""
    global _recorder
    recorder, _recorder = _recorder, None
    if recorder is not None:
        recorder.write()
        _phases.clear()


class _Phase:
    """Adds the time between enter and exit to its total; one object per name, reused at every step."""

    __slots__ = ("nanoseconds", "opened")

    def __init__(self) -> None:
        self.nanoseconds = 0
        self.opened = 0

    def __enter__(self) -> None:
        self.opened = _tick()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.nanoseconds += _tick() - self.opened


class _Recorder:
    """Everything one worker recorded, in memory."""

    def __init__(self, folder: str, warmup_steps: int) -> None:
        self.folder = folder
        self.pid = os.getpid()
        self.warmup_steps = warmup_steps
        self.now: Callable[[], int] = time.perf_counter_ns
        self.origin = (time.perf_counter_ns(), time.time_ns())
        self.loops: list[list[int]] = []
        self.regions: list[list[int]] = []
        self.totals: list[list[int]] = []  # nanoseconds of every phase at the end of each measured step
        self.series: dict[str, list[float]] = {}
        self.quality: list[tuple[int, float]] = []
        self.work: float | None = None
        self.warmup_work = 0.0
        self.digest: str | float | None = None
        self.identity: tuple[int | None, int | None] | None = None
        self.threads: dict[str, int] = {}
        self.ready = False
        self.met = False

    def steps(self, iterable: Iterable[Item], work: Work) -> Iterator[Item]:
        self._prepare()
        iterator = iter(iterable)
        first = not self.loops
        ticks: list[int] = []
        self.loops.append(ticks)
        if first and self.warmup_steps:
            yield from self._loop(islice(iterator, self.warmup_steps), ticks, work)
            # Phases and work of warm-up steps do not count; the warm-up step times themselves are kept.
            self.warmup_work, self.work = self.work or 0.0, None
            for timer in _phases.values():
                timer.nanoseconds = 0
            self.totals.clear()
            ticks.pop()  # the first measured step begins anew, just below
        self._meet()
        yield from self._loop(iterator, ticks, work)

    def _loop(self, iterator: Iterator[Item], ticks: list[int], work: Work) -> Iterator[Item]:
        append, now = ticks.append, self.now
        append(now())
        try:
            for item in iterator:
                yield item
                append(now())
                if work is not None:
                    self.work = (self.work or 0.0) + (work(item) if callable(work) else work)
                if _phases and len(self.totals) < PHASED_STEPS:
                    self.totals.append([timer.nanoseconds for timer in _phases.values()])
        except GeneratorExit:  # the caller left the loop: the step it left in is over now
            append(now())
            raise

    @contextmanager
    def region(self, work: float | None) -> Iterator[None]:
        self._prepare()
        self._meet()
        opened = self.now()
        yield
        self.regions.append([opened, self.now()])
        if work is not None:
            self.work = (self.work or 0.0) + work

    @contextmanager
    def whole(self) -> Iterator[None]:
        opened = self.now()
        yield
        if not (self.loops or self.regions):
            self._prepare()
            self.regions.append([opened, self.now()])

    def _prepare(self) -> None:
        """Once, when set-up is over: the clock, rank and size, thread pools, and the ways in which a process ends."""
        global _tick
        if self.ready:
            return
        self.ready = True
        self.now = _tick = _gpu_clock() or time.perf_counter_ns
        self.identity = self.identity or _find_identity()
        self.threads = _thread_counts()
        # Write on exit, on an exception, on SIGTERM, and at the end of a multiprocessing child (which skips atexit).
        util = sys.modules.get("multiprocessing.util")
        if util is not None:
            util.Finalize(None, finish, exitpriority=100)
        if current_thread() is main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _write_and_die)

    def _meet(self) -> None:
        """Wait in the folder for the other workers, once, so that the measured part has a common start."""
        size = int(os.environ.get(MEET) or 0)
        if self.met or size < 2:
            return
        self.met = True
        rank = self.identity[0] if self.identity else None
        with open(os.path.join(self.folder, f"ready-{rank}-{self.pid}"), "w"):
            pass
        deadline = time.monotonic() + MEETING_SECONDS
        while sum(name.startswith("ready-") for name in os.listdir(self.folder)) < size:
            if time.monotonic() > deadline:
                raise TimeoutError(f"scalecurve.probe: fewer than {size} workers came to the common start")
            time.sleep(0.0005)

    def write(self) -> None:
        """The two lines of docs/reference/probe-protocol.md."""
        loops = [ticks for ticks in self.loops if ticks]
        if os.getpid() != self.pid or not (self.loops or self.regions):
            return  # a forked copy that measured nothing, or a program that never began
        begins = [ticks[0] for ticks in (*loops, *self.regions)]
        if loops:
            begins[0] = loops[0][min(self.warmup_steps, len(loops[0]) - 1)]
        begin, end = min(begins), max(ticks[-1] for ticks in (*loops, *self.regions))
        first = {"begin": self._unix(begin), "begin_ns": begin, **self._process()}
        last = {"end": self._unix(end), "end_ns": end, **self._recorded(begin)}
        rank = "x" if first["rank"] is None else first["rank"]
        name = f"rank-{rank}-{first['host']}-{self.pid}.jsonl"
        path = os.path.join(self.folder, name)
        try:
            with open(path + ".tmp", "w") as file:
                file.write(f"{json.dumps(first)}\n{json.dumps(last)}\n")
            os.replace(path + ".tmp", path)
        except OSError as problem:
            sys.stderr.write(f"scalecurve.probe: nothing recorded, {name}: {problem.strerror}\n")

    def _process(self) -> dict[str, Any]:
        """Who this worker is and where it runs."""
        rank, size = self.identity or _find_identity()
        signs = ["python -X dev"] if sys.flags.dev_mode else []
        signs += ["debug build of Python"] if hasattr(sys, "gettotalrefcount") else []
        return {
            "probe": VERSION,
            "rank": rank,
            "size": size,
            "host": os.environ.get("SLURMD_NODENAME") or socket.gethostname(),  # the node as the scheduler names it
            "boot": _boot_id(),
            "pid": self.pid,
            "threads": self.threads,
            "cores": sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [],
            "debug": signs,
            "mpi_libraries": _mpi_libraries(),
        }

    def _recorded(self, begin: int) -> dict[str, Any]:
        """Steps, phases, work and answer; times in seconds, those of qualities since `begin`."""
        return {
            "steps": [(b - a) / 1e9 for ticks in self.loops for a, b in pairwise(ticks)],
            "warmup_steps": min(self.warmup_steps, max(0, len(self.loops[0]) - 1)) if self.loops else 0,
            "phases": {name: timer.nanoseconds / 1e9 for name, timer in _phases.items()},
            "step_phases": {name: self._by_step(place) for place, name in enumerate(_phases)} if self.totals else {},
            "work": self.work,
            "warmup_work": self.warmup_work,
            "digest": self.digest,
            "quality": [[(tick - begin) / 1e9, value] for tick, value in self.quality],
            "series": self.series,
        }

    def _by_step(self, place: int) -> list[float]:
        """Seconds of one phase in each step; a phase that came later was 0 until then."""
        totals = [row[place] if place < len(row) else 0 for row in self.totals]
        return [(b - a) / 1e9 for a, b in pairwise([0, *totals])]

    def _unix(self, tick: int) -> float:
        return (self.origin[1] + tick - self.origin[0]) / 1e9


def _gpu_clock() -> Callable[[], int] | None:
    """A clock that waits for the GPU first, where torch is loaded and has one."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return None
    synchronise, tick = torch.cuda.synchronize, time.perf_counter_ns

    def now() -> int:
        synchronise()
        return tick()

    return now


def _find_identity() -> tuple[int | None, int | None]:
    """Rank and size: from the communication library, else from the launcher's variables.

    The library comes first because a mismatched mpirun starts K jobs of size 1 while the environment says K.
    """
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is not None and mpi.Is_initialized() and not mpi.Is_finalized():
        return mpi.COMM_WORLD.Get_rank(), mpi.COMM_WORLD.Get_size()
    group = sys.modules.get("torch.distributed")
    if group is not None and group.is_available() and group.is_initialized():
        return group.get_rank(), group.get_world_size()
    for rank, size in _LAUNCHERS:
        if os.environ.get(rank, "").isdecimal():
            count = os.environ.get(size, "")
            return int(os.environ[rank]), int(count) if count.isdecimal() else None
    return None, None


def _thread_counts() -> dict[str, int]:
    """Sizes of the thread pools of this worker: variables, torch, and loaded BLAS and OpenMP (threadpoolctl)."""
    counts = {name: int(os.environ[name]) for name in _THREAD_VARIABLES if os.environ.get(name, "").isdecimal()}
    torch = sys.modules.get("torch")
    if torch is not None:
        counts["torch"] = torch.get_num_threads()
    if "numpy" in sys.modules:
        try:
            from threadpoolctl import threadpool_info
        except ImportError:
            return counts
        counts |= {str(pool["internal_api"]): int(pool["num_threads"]) for pool in threadpool_info()}
    return counts


def _mpi_libraries() -> list[str]:
    """The files of the MPI library that mpi4py has loaded, as /proc/self/maps names them."""
    if "mpi4py.MPI" not in sys.modules:
        return []
    try:
        with open("/proc/self/maps") as file:
            paths = {words[5] for line in file if len(words := line.split(maxsplit=5)) == 6}
    except OSError:
        return []
    return sorted(path.strip() for path in paths if os.path.basename(path).startswith(("libmpi", "libpmpi")))


def _boot_id() -> str | None:
    """Equal on two workers means that their monotonic clocks can be compared."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return None


def _write_and_die(number: int, frame: FrameType | None) -> None:
    finish()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _after_fork() -> None:
    """A forked child is another worker: it starts with an empty record of its own."""
    if _recorder is not None:
        start(_recorder.folder)


_NOTHING: AbstractContextManager[None] = nullcontext()
_tick: Callable[[], int] = time.perf_counter_ns
_phases: dict[str, _Phase] = {}
_recorder: _Recorder | None = None
if os.environ.get(FOLDER):
    start(os.environ[FOLDER])
atexit.register(finish)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
