"""The raw records: the job, each launch of it at one K, samples without a launch, and where they come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.errors import Fault, InputError, make_inert

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

MAX_K = 10**9
LARGEST_VALUE = 1e100  # no time or rate is larger, and squares and ratios would overflow
SMALLEST_VALUE = 1e-100
FEW_K = 32
COUNTABLE_K = 10**6  # up to here a table indexed by K is cheaper than sorting the samples
MOST_FAULTS = 20
SCALING = "scaling"


class RunStatus(StrEnum):
    """How a run ended; only `ok` runs are observations, the others are kept as evidence."""

    OK = "ok"
    WARMUP = "warmup"
    FAILED = "failed"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"
    DISTURBED = "disturbed"


@dataclass(frozen=True, kw_only=True)
class RankRecord:
    """What one worker of a run reported: its own seconds, its steps, and where its time went.

    `step_phases` holds the seconds of each phase in each measured step, one number per step: all ranks list the same
    steps.  Seconds in a collective that every worker of a step spends there are transfer; the rest is waiting.
    """

    rank: int
    seconds: float | None = None
    host: str | None = None
    steps: tuple[float, ...] = ()
    warmup_steps: int = 0
    phases: Mapping[str, float] = field(default_factory=dict)
    step_phases: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    work: float | None = None


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Where the workers of a run were placed; None where it was not recorded."""

    ranks: int | None = None
    threads_per_rank: int | None = None
    nodes: int | None = None
    hosts: tuple[str, ...] = ()
    cores: tuple[int, ...] = ()
    numa_nodes: tuple[int, ...] = ()
    pinning: str | None = None


@dataclass(frozen=True, kw_only=True)
class Run:
    """One fresh launch.

    `value` is in the study's quantity and None unless the run succeeded.  `role` is "scaling" for a point of the
    curve, or the name of a baseline candidate.  `observed` holds per-run facts (load, peak memory, page faults).
    `threads` says what all threads of the job did, in seconds summed over them: running, runnable (waiting for a core),
    blocked_io, blocked_other and, within it, futex; `alone` are seconds in which one thread alone could run, `longest`
    those of the thread that ran most, `samples` and `threads` the number of samples and the mean number of threads.
    """

    k: int
    value: float | None = None
    status: RunStatus = RunStatus.OK
    role: str = SCALING
    repeat: int | None = None
    order: int | None = None
    started: str | None = None
    wall_seconds: float | None = None
    setup_seconds: float | None = None
    work: float | None = None
    digest: str | float | None = None
    oversubscribed: bool = False
    ranks: tuple[RankRecord, ...] = ()
    placement: Placement | None = None
    observed: Mapping[str, Any] = field(default_factory=dict)
    threads: Mapping[str, float] | None = None
    error: str | None = None

    def __post_init__(self) -> None:
        make_inert(self, "role")

    @property
    def counts(self) -> bool:
        """Whether this run is an observation of the job's own T(K)."""
        return self.counts_as(SCALING)

    @property
    def failure(self) -> str:
        """Why there is no time, in one line: how the launch ended and the last words of the job."""
        lines = [line.strip() for line in (self.error or "no message").splitlines() if line.strip()]
        return ": ".join(dict.fromkeys(line[:160] for line in (*lines[:1], *lines[-1:])))

    def counts_as(self, role: str) -> bool:
        """Whether this run succeeded in that role and has a value."""
        return self.status is RunStatus.OK and self.value is not None and self.role == role


@dataclass(frozen=True, kw_only=True)
class Workload:
    """The job, described once for all K.  `total` is held in strong scaling, `per_worker` in weak scaling."""

    name: str | None = None
    command: tuple[str, ...] = ()
    description: str | None = None
    total: float | None = None
    per_worker: float | None = None
    work_unit: str | None = None

    def __post_init__(self) -> None:
        make_inert(self, "name", "description", "work_unit")


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """What T(K0) is.  `k` None means the smallest measured K; `candidates` are programs tried for T(1)."""

    k: int | None = None
    description: str | None = None
    candidates: tuple[str, ...] = ()
    chosen: str | None = None

    def __post_init__(self) -> None:
        make_inert(self, "description", "candidates", "chosen")


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Who measured, with what, where.  `machine` and `software` hold facts by allow-list; never secrets."""

    source: str | None = None
    tool: str | None = None
    tool_version: str | None = None
    created: str | None = None
    launcher: str | None = None
    timing: str | None = None
    seed: int | None = None
    machine: Mapping[str, Any] = field(default_factory=dict)
    software: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        make_inert(self, "source", "tool", "tool_version", "created", "launcher", "timing", "notes")

    @property
    def reach(self) -> int | None:
        """The most workers that the launcher of this study can run on cores of their own.

        None where it is not known: other hosts, a scheduler, or a study that was not measured here.
        """
        job = self.settings.get("job")
        launcher = job.get("launcher") if isinstance(job, Mapping) else None
        cores = self.machine.get("usable_cores")
        if not isinstance(launcher, Mapping) or not isinstance(cores, int):
            return None
        here = self.launcher in ("local", "mpi", "torchrun", "ray", "dask")
        elsewhere = not here or launcher.get("hosts") or launcher.get("address")
        return None if elsewhere else max(1, cores // int(launcher.get("threads_per_worker") or 1))


@dataclass(frozen=True)
class Summary:
    """What a table without raw samples says of the one value at K: a mean of `n` runs with standard deviation `std`.

    Both are None where the table does not say; `std` is in the unit of the samples.
    """

    k: int
    n: int | None = None
    std: float | None = None


@dataclass(frozen=True, eq=False)
class Samples:
    """Raw observations in two columns, so that ten million of them are two arrays.

    Observation i was made with `k[i]` workers and gave `values[i]`; both arrays are read-only.
    """

    k: IntArray
    values: FloatArray

    @classmethod
    def of(cls, k: Iterable[Any] | npt.NDArray[Any], values: Iterable[Any] | npt.NDArray[Any]) -> Samples:
        """Checked samples from any two equally long columns."""
        workers, observations = _as_numbers(k, "k"), _as_numbers(values, "value").astype(np.float64, copy=False)
        if len(workers) != len(observations):
            lengths = f"{len(workers)} and {len(observations)}"
            raise InputError(Fault("the two columns differ in length", value=lengths), subject="samples")
        if not len(workers):
            remedy = "give at least one time for each of two worker counts"
            raise InputError(Fault("there are no samples", remedy=remedy), subject="samples")
        with np.errstate(invalid="ignore"):
            bad_k = ~((workers >= 1) & (workers <= MAX_K))
            if workers.dtype != np.int64:
                bad_k |= workers != np.floor(workers)
            bad_values = ~((observations >= SMALLEST_VALUE) & (observations <= LARGEST_VALUE))
        faults = [
            *_faults_at(bad_k, workers, "worker count is not a whole number from 1"),
            *_faults_at(bad_values, observations, "value is not a positive finite number (1e-100 to 1e100)"),
        ]
        if faults:
            raise InputError(faults, subject="samples")
        workers, observations = workers.astype(np.int64, copy=False), observations.astype(np.float64, copy=False)
        return cls(_frozen(workers, k), _frozen(observations, values))

    @classmethod
    def from_mapping(cls, samples: Mapping[int, Iterable[float]]) -> Samples:
        """Samples from {K: values}."""
        pairs = [(k, value) for k, values in samples.items() for value in values]
        return cls.of([k for k, _ in pairs], [value for _, value in pairs])

    def __len__(self) -> int:
        return len(self.k)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Samples):
            return NotImplemented
        return np.array_equal(self.k, other.k) and np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]  # arrays are compared, not hashed

    @cached_property
    def distinct_k(self) -> IntArray:
        """The worker counts, rising."""
        if len(self.k) and int(self.k.max()) <= COUNTABLE_K:
            return np.flatnonzero(np.bincount(self.k)).astype(np.int64)
        return np.unique(self.k, return_index=True)[0]  # without places numpy imports masked arrays

    def at(self, k: int) -> FloatArray:
        """The values measured with k workers."""
        values: FloatArray = self.values[self.k == k]
        return values

    def by_k(self) -> dict[int, FloatArray]:
        """The values of each K in their order, K rising."""
        every = self.distinct_k
        if len(every) <= FEW_K:  # without an order of all rows, which takes three times their memory
            return {int(k): self.at(int(k)) for k in every}
        order = np.argsort(self.k, kind="stable")
        starts = np.searchsorted(self.k, every, sorter=order)
        parts = np.split(self.values[order], starts[1:])
        return {int(k): part for k, part in zip(every, parts, strict=True)}


def _as_numbers(column: Iterable[Any] | npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """A column as an array of floats, or as it is where it is an array of whole numbers."""
    try:
        if isinstance(column, np.ndarray) and column.dtype == np.int64:
            array = column
        else:
            array = np.asarray(column if isinstance(column, np.ndarray) else list(column), dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise InputError(Fault(f"the {name} column is not all numbers: {problem}")) from None
    if array.ndim != 1:
        raise InputError(Fault(f"the {name} column must be one-dimensional", value=f"{array.ndim} dimensions"))
    return array


def _frozen(column: npt.NDArray[Any], original: object) -> npt.NDArray[Any]:
    """The column, read-only; a copy where it is the caller's own array, which the caller may go on to write."""
    if column is original and column.flags.writeable:
        column = column.copy()
    column.setflags(write=False)
    return column


def _faults_at(bad: npt.NDArray[np.bool_], column: npt.NDArray[Any], message: str) -> list[Fault]:
    places = np.flatnonzero(bad)
    faults = [Fault(message, where=f"sample {i + 1}", value=f"{column[i]:g}") for i in places[:MOST_FAULTS]]
    if len(places) > MOST_FAULTS:
        faults.append(Fault(f"... and {len(places) - MOST_FAULTS} more like it"))
    return faults
