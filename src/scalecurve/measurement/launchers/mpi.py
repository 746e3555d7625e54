"""`mpi`: mpirun or mpiexec of MPICH, Open MPI or Intel MPI.

The size of the job is checked: an mpirun that does not belong to the program's MPI library starts K jobs of size 1 and
ends with exit code 0.  With the probe the workers report their size; without it `size_pattern` may find it, and before
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
from scalecurve.measurement.launchers import arguments, command, run_alone, run_together, worker_env, wrapped
from scalecurve.measurement.ports import Launcher, LaunchJob, LaunchOutcome, World
from scalecurve.measurement.settings import MeasureSettings
from scalecurve.study import Placement
from scalecurve.study.run import SCALING

PROGRAMS = ("mpirun", "mpiexec")
_FLAVOURS = (("Open MPI", "openmpi"), ("OpenRTE", "openmpi"), ("Intel(R) MPI", "intel"), ("HYDRA", "mpich"))
# One write, because the lines of two processes may be mixed letter by letter.
_ASK_SIZE = "import os; from mpi4py import MPI; os.write(1, b'size %d\\n' % MPI.COMM_WORLD.Get_size())"


class Mpi(Launcher):
    name = "mpi"

    def __init__(self) -> None:
        self.paired = False

    def missing(self, world: World) -> str | None:
        if not any(shutil.which(program) for program in PROGRAMS):
            return "no mpirun or mpiexec on the path; pip install 'scalecurve[mpi]' brings MPICH"
        return None

    def launch(self, job: LaunchJob, settings: MeasureSettings, world: World) -> LaunchOutcome:
        if job.role != SCALING:
            return run_alone(job, settings, world)
        program = settings.launcher.program or next((p for p in PROGRAMS if shutil.which(p)), PROGRAMS[0])
        _, version = world.runner.capture([program, "--version"])
        flavour = next((name for word, name in _FLAVOURS if word in version), "mpich")
        if not self.paired:
            check_pairing(program, flavour, job, settings, world)
            self.paired = True
        env = worker_env(job, settings)
        ranks = wrapped(arguments(job, settings), settings, rank=0, host="localhost")
        argv = (program, *flags(flavour, job.k, settings, tuple(env)), *ranks)
        outcome = run_together([command(argv, env, settings)], job, world)
        hosts = settings.launcher.hosts
        place = Placement(ranks=job.k, threads_per_rank=job.threads, hosts=hosts, pinning="as mpirun binds")
        return replace(outcome, placement=place)


def flags(flavour: str, k: int, settings: MeasureSettings, variables: tuple[str, ...]) -> tuple[str, ...]:
    """What each flavour needs to start K ranks on the hosts given, also more ranks than cores."""
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


def check_pairing(program: str, flavour: str, job: LaunchJob, settings: MeasureSettings, world: World) -> None:
    """Ask two processes of the job's Python for the size of their job; without mpi4py there is no answer."""
    python = job.argv[0] if Path(job.argv[0]).name.startswith("python") else sys.executable
    options = flags(flavour, 2, settings, ())
    code, text = world.runner.capture([program, *options, python, "-c", _ASK_SIZE], timeout=60)
    if "No module named" in text:
        return
    sizes = {int(size) for size in re.findall(r"size (\d+)", text)}
    if code or sizes - {2}:
        what = f"failed: {text.strip()[-300:]}" if code else f"gave jobs of size {sorted(sizes)}"
        raise RunError(
            f"{program} ({flavour}) does not belong to the MPI library of {python}: a test with 2 processes {what}; "
            "choose the right one with launcher.program"
        )
