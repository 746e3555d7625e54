"""`local`: one command that is told `{workers}`, or K processes of the same command on this machine.

With `wrap` (for instance `["ssh", "{host}"]`) and `hosts`, the K processes may also sit on other machines that share
the folder of the study.
"""

from __future__ import annotations

from dataclasses import replace

from scalecurve import probe
from scalecurve.measurement.launchers.common import arguments, command, host_of, worker_env, wrapped
from scalecurve.measurement.ports import Command, Job, Outcome, World
from scalecurve.measurement.settings import Settings
from scalecurve.measurement.topology import Topology, cores_for, topology_of
from scalecurve.study import Placement
from scalecurve.study.run import SCALING


class Local:
    name = "local"

    def missing(self, world: World) -> str | None:
        return None

    def launch(self, job: Job, settings: Settings, world: World) -> Outcome:
        topology = topology_of(world.machine)
        alone = settings.launcher.mode == "command" or job.role != SCALING
        commands = [_one(job, settings, topology)] if alone else _many(job, settings, topology)
        outcome = world.runner.run_together(commands, folder=job.folder, token=job.token, timeout=job.timeout)
        return replace(outcome, placement=_placement(job, settings, commands, topology))


def _one(job: Job, settings: Settings, topology: Topology) -> Command:
    width = job.k * (job.threads or 1)
    cores = cores_for(topology, settings.launcher.pin, 0, width)
    argv = wrapped(arguments(job, settings), settings, rank=0, host=host_of(0, settings))
    return command(argv, worker_env(job, settings), settings, cores)


def _many(job: Job, settings: Settings, topology: Topology) -> list[Command]:
    """K processes that meet at the probe's first step, so that they have a common start."""
    shared = worker_env(job, settings) | {probe.SIZE: str(job.k), probe.MEET: str(job.k)}
    return [
        command(
            wrapped(arguments(job, settings), settings, rank=rank, host=host_of(rank, settings)),
            shared | {probe.RANK: str(rank)},
            settings,
            cores_for(topology, settings.launcher.pin, rank, job.threads or 1),
        )
        for rank in range(job.k)
    ]


def _placement(job: Job, settings: Settings, commands: list[Command], topology: Topology) -> Placement:
    cores = tuple(sorted({core for each in commands for core in each.cores}))
    hosts = tuple(dict.fromkeys(host_of(rank, settings) for rank in range(job.k))) if settings.launcher.hosts else ()
    return Placement(
        ranks=job.k,
        threads_per_rank=job.threads,
        nodes=len(hosts) or 1,
        hosts=hosts,
        cores=cores,
        numa_nodes=topology.numa_of(cores),
        pinning=settings.launcher.pin,
    )
