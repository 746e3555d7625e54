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
from scalecurve.measurement.launchers import command, run_alone, run_together, worker_env, wrapped
from scalecurve.measurement.ports import Command, Launcher, LaunchJob, LaunchOutcome, World
from scalecurve.measurement.settings import MeasureSettings
from scalecurve.study import Placement
from scalecurve.study.run import SCALING

DEFAULT_THREADS = 1


class Torchrun(Launcher):
    name = "torchrun"

    def missing(self, world: World) -> str | None:
        if find_spec("torch") is None:
            return "PyTorch is not installed; pip install 'scalecurve[torch]'"
        return None

    def launch(self, job: LaunchJob, settings: MeasureSettings, world: World) -> LaunchOutcome:
        job = replace(job, threads=job.threads or DEFAULT_THREADS)
        if job.role != SCALING:
            nodes, outcome = 1, run_alone(job, settings, world)
        else:
            commands = list(agents(job, settings))
            nodes, outcome = len(commands), run_together(commands, job, world)
        return replace(outcome, placement=Placement(ranks=job.k, threads_per_rank=job.threads, nodes=nodes))


def agents(job: LaunchJob, settings: MeasureSettings) -> Iterator[Command]:
    """One torchrun per node; on one node a rendezvous of its own, so that two studies never meet."""
    launcher = settings.launcher
    nodes, per_node = shape(job.k, settings)
    hosts = launcher.hosts or ("localhost",)
    program = (launcher.program,) if launcher.program else (sys.executable, "-m", "torch.distributed.run")
    # torchrun starts Python itself: `python train.py` and `train.py` mean the same.
    script = job.argv[1:] if Path(job.argv[0]).name.startswith("python") and len(job.argv) > 1 else job.argv
    # Another port for every launch: the last one may still be closing its own.
    endpoint = launcher.endpoint or f"localhost:{29500 + (os.getpid() + job.order) % 1000}"
    env = worker_env(job, settings) | {"PYTHONUNBUFFERED": "1"}
    for node in range(nodes):
        meeting: tuple[str, ...] = ("--standalone",)
        if nodes > 1:
            meeting = ("--nnodes", str(nodes), "--node-rank", str(node), "--rdzv-backend", "c10d")
            meeting += ("--rdzv-endpoint", endpoint, "--rdzv-id", job.token[:12])
        words = (*program, "--nproc-per-node", str(per_node), *meeting, *launcher.extra, *script)
        yield command(wrapped(words, settings, rank=node, host=hosts[node % len(hosts)]), env, settings)


def shape(k: int, settings: MeasureSettings) -> tuple[int, int]:
    """Nodes and workers per node; torchrun needs the same number on every node."""
    per_node = settings.launcher.workers_per_node or k
    if k <= per_node:
        return 1, k
    if k % per_node:
        hint = "choose K in multiples of workers_per_node"
        raise InputError(Fault(f"K = {k} cannot be divided by {per_node} per node", where="workers", remedy=hint))
    return k // per_node, per_node
