"""`ray` and `dask`: a Python function `module:function` run once by each of K workers, with the probe on.

The cluster is at `address`, or a local one is started for the launch.  A driver is a fresh process per launch
(`python -m scalecurve.measurement.launchers.functions ray ...`): it starts or joins the cluster and runs the function
on K distinct workers.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

from scalecurve import probe
from scalecurve.errors import Fault, InputError, RunError
from scalecurve.measurement.launchers import command, run_alone, run_together, without_usage, worker_env
from scalecurve.measurement.ports import Launcher, LaunchJob, LaunchOutcome, World
from scalecurve.measurement.settings import MeasureSettings
from scalecurve.study import Placement
from scalecurve.study.run import SCALING

STARTS = 3


class Functions(Launcher):
    """A Python function on the workers of an engine."""

    def __init__(self, name: str) -> None:
        self.name = name

    def missing(self, world: World) -> str | None:
        there = find_spec({"dask": "distributed"}.get(self.name, self.name))
        return None if there else f"{self.name.capitalize()} is not installed; pip install 'scalecurve[{self.name}]'"

    def launch(self, job: LaunchJob, settings: MeasureSettings, world: World) -> LaunchOutcome:
        outcome = launch_driver(self.name, job, settings, world)
        return without_usage(outcome) if settings.launcher.address else outcome


def launch_driver(engine: str, job: LaunchJob, settings: MeasureSettings, world: World) -> LaunchOutcome:
    """Start the driver."""
    if job.role != SCALING:
        outcome = run_alone(job, settings, world)
    else:
        module, _, function = job.argv[0].partition(":")
        if not (module.replace(".", "").isidentifier() and function.isidentifier()):
            hint = "the first word of command is module:function; it is called as function(rank, size, *words)"
            raise InputError(Fault("not a Python function", where="command", value=job.argv[0], remedy=hint))
        address = ("--address", settings.launcher.address) if settings.launcher.address else ()
        counts = ("--workers", str(job.k), "--threads", str(job.threads or 1))
        env = worker_env(job, settings) | {"PYTHONUNBUFFERED": "1"}
        argv = (sys.executable, "-m", __name__, engine, *counts, *address, *job.argv)
        outcome = run_together([command(argv, env, settings)], job, world)
    return replace(outcome, placement=Placement(ranks=job.k, threads_per_rank=job.threads))


@dataclass(frozen=True)
class WorkerTask:
    """What one worker gets; plain values only, because engines send it to other machines."""

    folder: str
    path: str
    target: str
    words: tuple[str, ...]
    rank: int
    size: int
    warmup_steps: int


def perform(task: WorkerTask) -> None:
    """Run the function as one worker; if it does not use the probe itself, all of it is measured."""
    if task.path not in sys.path:
        sys.path.insert(0, task.path)
    os.environ[probe.WARMUP] = str(task.warmup_steps)
    os.environ[probe.MEET] = str(task.size)
    module, _, name = task.target.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    probe.start(task.folder, rank=task.rank, size=task.size)
    try:
        with probe.whole():
            function(task.rank, task.size, *task.words)  # what it returns may be a part of the answer: no digest
    finally:
        probe.finish()


class Actor:
    """One Ray actor, so that K tasks run in K processes."""

    def perform(self, task: WorkerTask) -> None:
        perform(task)

    def nothing(self) -> None:
        """Answered once the actor is there."""


def start_ray(ray: Any, options: dict[str, Any]) -> None:
    """Start or join a cluster, again if need be: Ray gives itself thirty seconds, too few on a busy machine."""
    for left in reversed(range(STARTS)):
        try:
            ray.init(log_to_driver=False, **options)
            return
        except Exception:  # it raises no narrower one; a lasting reason is raised by the last attempt
            if not left:
                raise
            ray.shutdown()


def drive_ray(address: str | None, tasks: list[WorkerTask]) -> None:
    """Run the tasks on K Ray actors, once all of them are there."""
    # Zero GPUs must not hide the devices from the workers; set here because Ray warns about its old default.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    local = {"num_cpus": len(tasks), "include_dashboard": False}
    start_ray(ray, {"address": address} if address else local)
    try:
        kind: Any = ray.remote(num_cpus=1)(Actor)
        actors = [kind.remote() for _ in tasks]
        ray.get([actor.nothing.remote() for actor in actors])
        ray.get([actor.perform.remote(task) for actor, task in zip(actors, tasks, strict=True)])
    finally:
        ray.shutdown()


def drive_dask(address: str | None, tasks: list[WorkerTask]) -> None:
    """Run the tasks on K Dask workers."""
    distributed: Any = importlib.import_module("distributed")
    size = len(tasks)
    with ExitStack() as stack:
        cluster: Any = address or stack.enter_context(
            distributed.LocalCluster(n_workers=size, threads_per_worker=1, processes=True, dashboard_address=None)
        )
        client = stack.enter_context(distributed.Client(cluster))
        client.wait_for_workers(size)
        places = sorted(client.scheduler_info(n_workers=-1)["workers"])
        if len(places) < size:
            raise RunError(f"the cluster has {len(places)} workers, {size} were asked for")
        futures = [
            client.submit(perform, task, workers=[place], allow_other_workers=False, pure=False)
            for task, place in zip(tasks, places, strict=False)
        ]
        client.gather(futures)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("engine", choices=("ray", "dask"))
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--address")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("target")
    parser.add_argument("words", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    folder, warmup = os.environ[probe.FOLDER], int(os.environ.get(probe.WARMUP) or 0)
    tasks = [
        WorkerTask(folder, os.getcwd(), options.target, tuple(options.words), rank, options.workers, warmup)
        for rank in range(options.workers)
    ]
    (drive_ray if options.engine == "ray" else drive_dask)(options.address, tasks)


if __name__ == "__main__":
    # Under its importable name, so that the workers of the engine find the tasks.
    importlib.import_module("scalecurve.measurement.launchers.functions").main()
