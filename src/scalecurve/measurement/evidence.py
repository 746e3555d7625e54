"""Reading what a run left behind: the probe's files, a pattern in its output, or nothing but its wall time.

The protocol of the files is docs/reference/probe-protocol.md; each file is one worker's two JSON lines.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scalecurve.study import RankRecord

LARGEST_FILE = 64 * 1024 * 1024
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}


class Unreadable(Exception):
    """What the job left behind cannot be understood; the run is recorded as failed, never as a time."""


@dataclass(frozen=True, kw_only=True)
class Worker:
    """One probe file, checked."""

    rank: int | None
    size: int | None
    host: str | None
    boot: str | None
    begin: float
    end: float
    begin_ns: int | None = None
    end_ns: int | None = None
    seconds: float | None = None
    steps: tuple[float, ...] = ()
    warmup_steps: int = 0
    phases: Mapping[str, float] = field(default_factory=dict)
    work: float | None = None
    digest: str | float | None = None
    quality: tuple[tuple[float, float], ...] = ()
    series: Mapping[str, Any] = field(default_factory=dict)
    threads: Mapping[str, int] = field(default_factory=dict)
    cores: tuple[int, ...] = ()
    debug: tuple[str, ...] = ()

    @property
    def duration(self) -> float:
        if self.seconds is not None:
            return self.seconds
        if self.begin_ns is not None and self.end_ns is not None:
            return (self.end_ns - self.begin_ns) / 1e9
        return self.end - self.begin

    def record(self, fallback_rank: int) -> RankRecord:
        return RankRecord(
            rank=self.rank if self.rank is not None else fallback_rank,
            seconds=self.duration,
            host=self.host,
            steps=self.steps,
            warmup_steps=self.warmup_steps,
            phases=dict(self.phases),
            work=self.work,
        )


def read_workers(folder: Path) -> tuple[Worker, ...]:
    """Every worker that wrote a file, by rank; a file that does not parse is Unreadable."""
    if not folder.is_dir():
        return ()
    workers = [_read_worker(path) for path in sorted(folder.glob("*.jsonl"))]
    return tuple(sorted(workers, key=lambda worker: (worker.rank is None, worker.rank or 0)))


def _read_worker(path: Path) -> Worker:
    if path.stat().st_size > LARGEST_FILE:
        raise Unreadable(f"{path.name}: larger than {LARGEST_FILE} bytes")
    lines = [line for line in path.read_text(errors="replace").splitlines() if line.strip()]
    data: dict[str, Any] = {}
    for number, line in enumerate(lines, 1):
        data |= _object(path, number, line)
    if "end" not in data and "seconds" not in data:
        raise Unreadable(f"{path.name}: the worker began but did not write its last line")
    return _worker_of(path, data)


def _object(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (json.JSONDecodeError, RecursionError):
        raise Unreadable(f"{path.name}, line {number}: not JSON: {line[:80]!r}") from None
    if not isinstance(found, dict):
        raise Unreadable(f"{path.name}, line {number}: not a JSON object: {line[:80]!r}")
    return found


def _worker_of(path: Path, data: Mapping[str, Any]) -> Worker:
    from pydantic import TypeAdapter, ValidationError

    known = {name: data[name] for name in Worker.__dataclass_fields__ if data.get(name) is not None}
    defaults = {"rank": None, "size": None, "host": None, "boot": None, "begin": 0.0, "end": data.get("seconds", 0.0)}
    try:
        worker = TypeAdapter(Worker).validate_python({**defaults, **known})
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise Unreadable(f"{path.name}: {where}: {first['msg']} (saw {str(first['input'])[:80]!r})") from None
    if not (worker.duration > 0 and math.isfinite(worker.duration)):
        raise Unreadable(f"{path.name}: the measured part took {worker.duration} s")
    return worker


def common_seconds(workers: Sequence[Worker]) -> float:
    """From the common start to the last worker's end; where clocks cannot be compared, the longest worker."""
    begins = [worker.begin_ns for worker in workers if worker.begin_ns is not None]
    ends = [worker.end_ns for worker in workers if worker.end_ns is not None]
    one_clock = len({worker.boot for worker in workers}) == 1 and workers[0].boot is not None
    if one_clock and len(begins) == len(ends) == len(workers) and all(worker.seconds is None for worker in workers):
        return (max(ends) - min(begins)) / 1e9
    return max(worker.duration for worker in workers)


def start_skew(workers: Sequence[Worker]) -> float | None:
    """How far apart the workers began, where one clock saw them all."""
    begins = [worker.begin_ns for worker in workers if worker.begin_ns is not None]
    if len(begins) < 2 or len({worker.boot for worker in workers}) != 1:
        return None
    return (max(begins) - min(begins)) / 1e9


def step_seconds(workers: Sequence[Worker]) -> float:
    """Mean measured step of the slowest worker."""
    means = [_mean(worker.steps[worker.warmup_steps :]) for worker in workers]
    found = [mean for mean in means if mean is not None]
    if not found:
        raise Unreadable("the workers reported no steps; timing.what = 'step' needs probe.steps")
    return max(found)


def seconds_to_target(workers: Sequence[Worker], quality: float, higher_is_better: bool) -> float:
    """When the quality was first reached, by the last worker that watched it."""
    reached = [_first_reached(worker, quality, higher_is_better) for worker in workers if worker.quality]
    if not reached:
        raise Unreadable("the workers reported no quality; time to a target needs probe.quality(...)")
    if any(when is None for when in reached):
        best = (max if higher_is_better else min)(value for worker in workers for _, value in worker.quality)
        raise Unreadable(f"the target quality {quality:g} was not reached; the best was {best:g}")
    return max(when for when in reached if when is not None)


def _first_reached(worker: Worker, quality: float, higher_is_better: bool) -> float | None:
    sign = 1 if higher_is_better else -1
    return next((when for when, value in worker.quality if sign * (value - quality) >= 0), None)


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def caught_number(pattern: str, output: str, what: str) -> float:
    text = caught_text(pattern, output, what)
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        raise Unreadable(f"the {what} pattern caught {text[:80]!r}, which is not a number") from None
    if not math.isfinite(value):
        raise Unreadable(f"the {what} pattern caught {text[:80]!r}, which is not finite")
    return value


def caught_text(pattern: str, output: str, what: str) -> str:
    """The first group of the last match: programs print progress first and the result last."""
    found = list(re.finditer(pattern, output))
    if not found:
        raise Unreadable(f"the {what} pattern {pattern!r} matches nothing in the output, which ends {output[-200:]!r}")
    return str(found[-1][1])
