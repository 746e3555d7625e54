"""`mpi`: mpirun or mpiexec of MPICH, Open MPI or Intel MPI.

An mpirun that does not belong to the program's MPI library starts K jobs of size 1 and ends with exit code 0:
`size_evidence` looks at every launch for it.
"""

from __future__ import annotations

import math
import os
import shutil
import socket
from dataclasses import replace

from scalecurve.measurement.launchers import arguments, command, run_alone, run_together, worker_env, wrapped
from scalecurve.measurement.machine import topology_of
from scalecurve.measurement.mpi_libraries import OPEN_MPI, library_of_starter
from scalecurve.measurement.ports import Launcher, LaunchJob, LaunchOutcome, World
from scalecurve.measurement.settings import MeasureSettings
from scalecurve.study import Placement
from scalecurve.study.run import SCALING

PROGRAMS = ("mpirun", "mpiexec")


class Mpi(Launcher):
    name = "mpi"

    def missing(self, world: World) -> str | None:
        if not any(shutil.which(program) for program in PROGRAMS):
            return "no mpirun or mpiexec on the path; pip install 'scalecurve[mpi]' brings MPICH"
        return None

    def launch(self, job: LaunchJob, settings: MeasureSettings, world: World) -> LaunchOutcome:
        if job.role != SCALING:
            return run_alone(job, settings, world)
        program = starting_program(settings)
        library = library_of_starter(program, world.runner)
        env = worker_env(job, settings)
        ranks = wrapped(arguments(job, settings), settings, rank=0, host="localhost")
        argv = (program, *flags(library.name if library else None, job.k, settings, tuple(env)), *ranks)
        outcome = run_together([command(argv, env, settings)], job, world)
        return replace(outcome, placement=placement_of(job, settings, outcome, world))


def placement_of(job: LaunchJob, settings: MeasureSettings, outcome: LaunchOutcome, world: World) -> Placement:
    """Where mpirun put the ranks: on hosts as they were named, else here, on the cores that the ranks may use."""
    hosts, per_node = settings.launcher.hosts, settings.launcher.workers_per_node or job.k
    used = hosts[: math.ceil(job.k / per_node)] if hosts else (socket.gethostname(),)
    cores = sorted({core for rank in outcome.observed.get("affinity", ()) for core in rank}) if not hosts else []
    return Placement(
        ranks=job.k,
        threads_per_rank=job.threads,
        nodes=len(used),
        hosts=used,
        cores=tuple(cores),
        numa_nodes=topology_of(world.machine).numa_of(tuple(cores)),
        pinning=settings.launcher.pin,
    )


def starting_program(settings: MeasureSettings) -> str:
    """The mpirun or mpiexec that the settings name, or the first on the path."""
    return settings.launcher.program or next((name for name in PROGRAMS if shutil.which(name)), PROGRAMS[0])


def flags(library: str | None, k: int, settings: MeasureSettings, variables: tuple[str, ...]) -> tuple[str, ...]:
    """What the mpirun of each library needs to start K ranks on the hosts given, also more ranks than cores."""
    hosts, per_node = settings.launcher.hosts, settings.launcher.workers_per_node
    extra = settings.launcher.extra
    if library == OPEN_MPI:
        passed = tuple(word for name in variables for word in ("-x", name))
        places = ("--host", ",".join(f"{host}:{per_node or k}" for host in hosts)) if hosts else ()
        root = ("--allow-run-as-root",) if os.geteuid() == 0 else ()
        return ("-n", str(k), *root, "--oversubscribe", *pinning(library, settings), *places, *passed, *extra)
    places = ("-hosts", ",".join(hosts)) if hosts else ()
    spread = ("-ppn", str(per_node)) if per_node else ()
    return ("-n", str(k), *pinning(library, settings), *places, *spread, *extra)


def pinning(library: str | None, settings: MeasureSettings) -> tuple[str, ...]:
    """Flags that bind each rank to its cores: one after the other (compact), or the sockets in turn (spread)."""
    pin, width = settings.launcher.pin, settings.launcher.threads_per_worker or 1
    if library == OPEN_MPI:
        if pin == "none":
            return ("--bind-to", "none")
        unit = "core" if pin == "compact" else "socket"
        cores = f":PE={width}" if width > 1 else ""
        return ("--map-by", f"{unit}{cores}", "--bind-to", "core:overload-allowed")
    if pin == "none":
        return ()
    unit = f"core:{width}" if pin == "compact" else "socket"
    return ("-bind-to", f"core:{width}", "-map-by", unit)
