"""`mpi`: mpirun or mpiexec of MPICH, Open MPI or Intel MPI.

The size of the job is checked: an mpirun that does not belong to the program's MPI library starts K jobs of size 1 and
ends with exit code 0.  With the probe the workers say their size; without it `size_pattern` may catch it, and before
the first launch two mpi4py processes are asked, where mpi4py is installed.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

from scalecurve.errors import RunError
from scalecurve.measurement.launchers.common import arguments, command, worker_env, wrapped
from scalecurve.measurement.ports import Job, Outcome, World
from scalecurve.measurement.settings import Settings
from scalecurve.study import Placement
from scalecurve.study.run import SCALING

PROGRAMS = ("mpirun", "mpiexec")
_FLAVOURS = (("Open MPI", "openmpi"), ("OpenRTE", "openmpi"), ("Intel(R) MPI", "intel"), ("HYDRA", "mpich"))
# One write, because the lines of two processes may be mixed letter by letter.
_ASK_SIZE = "import os; from mpi4py import MPI; os.write(1, b'size %d\\n' % MPI.COMM_WORLD.Get_size())"


class Mpi:
    name = "mpi"

    def __init__(self) -> None:
        self.paired = False

    def missing(self, world: World) -> str | None:
        if not any(shutil.which(program) for program in PROGRAMS):
            return "no mpirun or mpiexec on the path; pip install 'scalecurve[mpi]' brings MPICH"
        return None

    def launch(self, job: Job, settings: Settings, world: World) -> Outcome:
        if job.role != SCALING:
            return _baseline(job, settings, world)
        program = settings.launcher.program or next((p for p in PROGRAMS if shutil.which(p)), PROGRAMS[0])
        flavour = flavour_of(program, world)
        if not self.paired:
            check_pairing(program, flavour, job, settings, world)
            self.paired = True
        env = worker_env(job, settings)
        argv = (program, *flags(flavour, job.k, settings, tuple(env)), *wrapped_job(job, settings))
        outcome = world.runner.run_together(
            [command(argv, env, settings)], folder=job.folder, token=job.token, timeout=job.timeout
        )
        return replace(outcome, placement=_placement(job, settings))


def wrapped_job(job: Job, settings: Settings) -> tuple[str, ...]:
    return wrapped(arguments(job, settings), settings, rank=0, host="localhost")


def _baseline(job: Job, settings: Settings, world: World) -> Outcome:
    """A candidate for T(1) is a single process, without mpirun."""
    alone = command(arguments(job, settings), worker_env(job, settings), settings)
    return world.runner.run_together([alone], folder=job.folder, token=job.token, timeout=job.timeout)


def flavour_of(program: str, world: World) -> str:
    """mpich, openmpi or intel, as `--version` says."""
    _, text = world.runner.capture([program, "--version"])
    return next((flavour for word, flavour in _FLAVOURS if word in text), "mpich")


def flags(flavour: str, k: int, settings: Settings, variables: tuple[str, ...]) -> tuple[str, ...]:
    """What each flavour needs to start K ranks where and as asked, also more ranks than cores when that is allowed."""
    hosts, per_node = settings.launcher.hosts, settings.launcher.workers_per_node
    extra = settings.launcher.extra
    if flavour == "openmpi":
        passed = tuple(word for name in variables for word in ("-x", name))
        places = ("--host", ",".join(f"{host}:{per_node or k}" for host in hosts)) if hosts else ()
        root = ("--allow-run-as-root",) if os.geteuid() == 0 else ()
        return ("-n", str(k), *root, "--oversubscribe", "--bind-to", "none", *places, *passed, *extra)
    places = ("-hosts", ",".join(hosts)) if hosts else ()
    spread = ("-ppn", str(per_node)) if per_node else ()
    return ("-n", str(k), *places, *spread, *extra)


def check_pairing(program: str, flavour: str, job: Job, settings: Settings, world: World) -> None:
    """Ask two processes of the job's Python for the size of their job; without mpi4py there is no answer."""
    python = job.argv[0] if Path(job.argv[0]).name.startswith("python") else sys.executable
    options = flags(flavour, 2, settings, ())
    code, text = world.runner.capture([program, *options, python, "-c", _ASK_SIZE], timeout=60)
    if "No module named" in text:
        return
    seen = {int(size) for size in re.findall(r"size (\d+)", text)}
    if code or seen - {2}:
        what = f"failed: {text.strip()[-300:]}" if code else f"gave jobs of size {sorted(seen)}"
        raise RunError(
            f"{program} ({flavour}) does not belong to the MPI library of {python}: a test with 2 processes {what}; "
            "choose the right one with launcher.program"
        )


def _placement(job: Job, settings: Settings) -> Placement:
    hosts = settings.launcher.hosts
    return Placement(ranks=job.k, threads_per_rank=job.threads, hosts=hosts, pinning="as mpirun binds")
