"""`local`: one command that is told `{workers}`, or K processes of the same command on this machine.

With `wrap` (for instance `["ssh", "{host}"]`) and `hosts`, the K processes may also run on other machines that share
the folder of the study.
"""

from __future__ import annotations

from dataclasses import replace

from scalecurve import probe
from scalecurve.measurement.launchers import arguments, command, run_together, worker_env, wrapped
from scalecurve.measurement.machine import topology_of
from scalecurve.measurement.ports import Launcher, LaunchJob, LaunchOutcome, World
from scalecurve.measurement.settings import MeasureSettings
from scalecurve.study import Placement
from scalecurve.study.run import SCALING


class Local(Launcher):
    name = "local"

    def missing(self, world: World) -> str | None:
        return None

    def launch(self, job: LaunchJob, settings: MeasureSettings, world: World) -> LaunchOutcome:
        topology = topology_of(world.machine)
        pin, hosts = settings.launcher.pin, settings.launcher.hosts
        per_host = settings.launcher.workers_per_node or 1
        places = [hosts[rank // per_host % len(hosts)] if hosts else "localhost" for rank in range(job.k)]
        argv, env, width = arguments(job, settings), worker_env(job, settings), job.threads or 1
        if settings.launcher.mode == "command" or job.role != SCALING:
            cores = topology.cores_for(pin, 0, job.k * width)
            commands = [command(wrapped(argv, settings, rank=0, host=places[0]), env, settings, cores)]
        else:  # K processes that meet at the probe's first step, so that they have a common start
            env |= {probe.SIZE: str(job.k), probe.MEET: str(job.k)}
            commands = [
                command(
                    wrapped(argv, settings, rank=rank, host=host),
                    env | {probe.RANK: str(rank)},
                    settings,
                    topology.cores_for(pin, rank, width),
                )
                for rank, host in enumerate(places)
            ]
        bound = tuple(sorted({core for one in commands for core in one.cores}))
        used = tuple(dict.fromkeys(places)) if hosts else ()
        placement = Placement(
            ranks=job.k,
            threads_per_rank=job.threads,
            nodes=len(used) or 1,
            hosts=used,
            cores=bound,
            numa_nodes=topology.numa_of(bound),
            pinning=pin,
        )
        return replace(run_together(commands, job, world), placement=placement)
