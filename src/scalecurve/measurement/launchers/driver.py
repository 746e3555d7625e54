"""What Ray and Dask drivers share: a function `module:function` run once by each of K workers, with the probe on.

A driver is a fresh process per launch.  It starts or joins the cluster, times an empty round of K tasks (what the
engine itself costs), runs the function on K distinct workers and leaves `engine.json` beside the probe's files.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scalecurve import probe
from scalecurve.errors import Fault, InputError
from scalecurve.measurement.launchers.common import arguments, command, worker_env
from scalecurve.measurement.ports import Job, Outcome, World
from scalecurve.measurement.settings import Settings
from scalecurve.study import Placement
from scalecurve.study.run import SCALING

ROUNDS = 5


@dataclass(frozen=True)
class Task:
    """What one worker is told; plain values only, because engines send it to other machines."""

    folder: str
    path: str
    target: str
    words: tuple[str, ...]
    rank: int
    size: int
    warmup_steps: int


def perform(task: Task) -> None:
    """Run the function as one worker; if it does not use the probe itself, all of it is measured."""
    if task.path not in sys.path:
        sys.path.insert(0, task.path)
    os.environ[probe.WARMUP] = str(task.warmup_steps)
    os.environ[probe.MEET] = str(task.size)
    function = resolve(task.target)
    probe.start(task.folder, rank=task.rank, size=task.size)
    try:
        with probe.whole():
            answer = function(task.rank, task.size, *task.words)
        if isinstance(answer, str | float | int):
            probe.digest(answer)
    finally:
        probe.finish()


def nothing() -> None:
    """An empty task: what is left of its time is the engine's own cost."""


def resolve(target: str) -> Callable[..., Any]:
    module, _, name = target.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


def tasks_of(given: argparse.Namespace) -> list[Task]:
    words = (given.target, tuple(given.words))
    warmup = int(os.environ.get(probe.WARMUP) or 0)
    folder = os.environ[probe.FOLDER]
    return [Task(folder, os.getcwd(), *words, rank, given.workers, warmup) for rank in range(given.workers)]


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--address")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("target")
    parser.add_argument("words", nargs=argparse.REMAINDER)
    return parser.parse_args()


@contextmanager
def timed(costs: dict[str, float], name: str) -> Iterator[None]:
    begin = time.perf_counter()
    yield
    costs[name] = time.perf_counter() - begin


def write_costs(costs: dict[str, float]) -> None:
    Path(os.environ[probe.FOLDER], "..", "engine.json").write_text(json.dumps(costs))


def round_trip(once: Callable[[], object]) -> float:
    """Median seconds of a round of empty tasks, after a first one that is not counted."""
    once()
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        once()
        times.append(time.perf_counter() - begin)
    return sorted(times)[ROUNDS // 2]


def launch_with_driver(module: str, job: Job, settings: Settings, world: World) -> Outcome:
    """Start the driver and read what the engine cost."""
    if job.role != SCALING:
        argv = arguments(job, settings)
    else:
        argv = (sys.executable, "-m", module, *_driver_flags(job, settings), *_target_of(job))
    env = worker_env(job, settings) | {"PYTHONUNBUFFERED": "1"}
    outcome = world.runner.run_together(
        [command(argv, env, settings)], folder=job.folder, token=job.token, timeout=job.timeout
    )
    try:
        costs = json.loads((job.folder / "engine.json").read_text())
    except (OSError, ValueError):
        costs = {}
    observed = {**outcome.observed, **{f"engine_{name}_seconds": seconds for name, seconds in costs.items()}}
    return replace(outcome, observed=observed, placement=Placement(ranks=job.k, threads_per_rank=job.threads))


def _driver_flags(job: Job, settings: Settings) -> tuple[str, ...]:
    flags = ["--workers", str(job.k), "--threads", str(job.threads or 1)]
    return (*flags, *(("--address", settings.launcher.address) if settings.launcher.address else ()))


def _target_of(job: Job) -> tuple[str, ...]:
    module, _, name = job.argv[0].partition(":")
    if not (module.replace(".", "").isidentifier() and name.isidentifier()):
        hint = "the first word of command is module:function; it is called as function(rank, size, *words)"
        raise InputError(Fault("not a Python function", where="command", seen=job.argv[0], remedy=hint))
    return job.argv
