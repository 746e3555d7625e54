"""`mpi`: mpirun or mpiexec of MPICH, Open MPI or Intel MPI.

An mpirun that does not belong to the program's MPI library starts K jobs of size 1 and ends with exit code 0:
`size_evidence` looks at every launch for it.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import replace

from scalecurve.measurement.launchers import arguments, command, run_alone, run_together, worker_env, wrapped
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
        hosts = settings.launcher.hosts
        place = Placement(ranks=job.k, threads_per_rank=job.threads, hosts=hosts, pinning="as mpirun binds")
        return replace(outcome, placement=place)


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
        return ("-n", str(k), *root, "--oversubscribe", "--bind-to", "none", *places, *passed, *extra)
    places = ("-hosts", ",".join(hosts)) if hosts else ()
    spread = ("-ppn", str(per_node)) if per_node else ()
    return ("-n", str(k), *places, *spread, *extra)
