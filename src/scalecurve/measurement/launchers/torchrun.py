"""`torchrun`: K workers of one PyTorch job, on one node or several.

torchrun itself sets OMP_NUM_THREADS=1 for K > 1 and leaves it alone for K = 1, which compares one worker with all cores
to two workers with one core each (S(2) read 0.84 where it was 1.57).  Here threads are the same at every K.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from scalecurve.errors import Fault, InputError
from scalecurve.measurement.launchers.common import arguments, command, worker_env, wrapped
from scalecurve.measurement.ports import Command, Job, Outcome, World
from scalecurve.measurement.settings import Settings
from scalecurve.study import Placement
from scalecurve.study.run import SCALING

DEFAULT_THREADS = 1


class Torchrun:
    name = "torchrun"

    def missing(self, world: World) -> str | None:
        if find_spec("torch") is None:
            return "PyTorch is not installed; pip install 'scalecurve[torch]'"
        return None

    def launch(self, job: Job, settings: Settings, world: World) -> Outcome:
        job = replace(job, threads=job.threads or DEFAULT_THREADS)
        alone = job.role != SCALING
        commands = [_alone(job, settings)] if alone else list(agents(job, settings))
        outcome = world.runner.run_together(commands, folder=job.folder, token=job.token, timeout=job.timeout)
        nodes = 1 if alone else len(commands)
        return replace(outcome, placement=Placement(ranks=job.k, threads_per_rank=job.threads, nodes=nodes))


def _alone(job: Job, settings: Settings) -> Command:
    """A candidate for T(1) is a plain process, without torchrun and without a process group."""
    return command(arguments(job, settings), worker_env(job, settings), settings)


def agents(job: Job, settings: Settings) -> Iterator[Command]:
    """One torchrun per node; on one node a rendezvous of its own, so that two studies never meet."""
    nodes, per_node = shape(job.k, settings)
    hosts = settings.launcher.hosts or ("localhost",)
    program = (
        (settings.launcher.program,) if settings.launcher.program else (sys.executable, "-m", "torch.distributed.run")
    )
    env = worker_env(job, settings) | {"PYTHONUNBUFFERED": "1"}
    for node in range(nodes):
        meeting = _rendezvous(nodes, node, job, settings)
        options = ("--nproc-per-node", str(per_node), *meeting, *settings.launcher.extra)
        argv = wrapped((*program, *options, *_script(job)), settings, rank=node, host=hosts[node % len(hosts)])
        yield command(argv, env, settings)


def shape(k: int, settings: Settings) -> tuple[int, int]:
    """Nodes and workers per node; torchrun wants the same number on every node."""
    per_node = settings.launcher.workers_per_node or k
    if k <= per_node:
        return 1, k
    if k % per_node:
        hint = "choose K in multiples of workers_per_node"
        raise InputError(Fault(f"K = {k} cannot be shared out by {per_node} per node", where="workers", remedy=hint))
    return k // per_node, per_node


def _rendezvous(nodes: int, node: int, job: Job, settings: Settings) -> tuple[str, ...]:
    if nodes == 1:
        return ("--standalone",)
    # Another port for every launch: the last one's may still be closing.
    endpoint = settings.launcher.endpoint or f"localhost:{29500 + (os.getpid() + job.order) % 1000}"
    where = ("--rdzv-backend", "c10d", "--rdzv-endpoint", endpoint, "--rdzv-id", job.token[:12])
    return ("--nnodes", str(nodes), "--node-rank", str(node), *where)


def _script(job: Job) -> tuple[str, ...]:
    """Torchrun starts Python itself: `python train.py` and `train.py` mean the same."""
    words = job.argv
    if Path(words[0]).name.startswith("python") and len(words) > 1:
        return words[1:]
    return words
