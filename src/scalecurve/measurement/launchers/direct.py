"""Launchers whose jobs are processes of this host: `local`, `mpi`, `torchrun` and `ssh`.

`local` starts one command that is told `{workers}`, or K processes of it; with `wrap` (`["ssh", "{host}"]`) and `hosts`
they may run on other machines that share the folder of the study.  `mpi` is mpirun or mpiexec of MPICH, Open MPI or
Intel MPI: one that does not belong to the program's library starts K jobs of size 1 and ends with exit code 0, so that
`size_evidence` looks at every launch.  `torchrun` starts K workers on one node or on several.
"""

from __future__ import annotations

import math
import os
import shlex
import shutil
import socket
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from scalecurve import probe
from scalecurve.errors import Fault, InputError
from scalecurve.measurement.launchers import (
    arguments,
    command,
    run_alone,
    run_together,
    without_usage,
    worker_env,
    wrapped,
)
from scalecurve.measurement.machine import Topology, topology_of
from scalecurve.measurement.ports import Command, Launcher, LaunchJob, LaunchOutcome, World
from scalecurve.measurement.settings import MeasureSettings
from scalecurve.measurement.worker_site import OPEN_MPI, library_of_starter
from scalecurve.study import Placement
from scalecurve.study.run import SCALING


class Local(Launcher):
    name = "local"

    def missing(self, world: World) -> str | None:
        return None

    def commands(self, job: LaunchJob, settings: MeasureSettings, world: World) -> list[Command]:
        pin, places = settings.launcher.pin, self.places(job, settings)
        topology = topology_of(world.machine) if pin != "none" else Topology(())
        argv, env, width = arguments(job, settings), worker_env(job, settings), job.threads or 1
        if settings.launcher.mode == "command" or job.role != SCALING:
            cores = topology.cores_for(pin, 0, job.k * width)
            return [command(wrapped(argv, settings, rank=0, host=places[0]), env, settings, cores)]
        # K processes that meet at the probe's first step, so that they have a common start
        env |= {probe.SIZE: str(job.k), probe.MEET: str(job.k)}
        return [
            command(
                wrapped(argv, settings, rank=rank, host=host),
                env | {probe.RANK: str(rank)},
                settings,
                topology.cores_for(pin, rank, width),
            )
            for rank, host in enumerate(places)
        ]

    def places(self, job: LaunchJob, settings: MeasureSettings) -> list[str]:
        """The host of every worker."""
        hosts, per_host = settings.launcher.hosts, settings.launcher.workers_per_node or 1
        return [hosts[rank // per_host % len(hosts)] if hosts else "localhost" for rank in range(job.k)]

    def launch(self, job: LaunchJob, settings: MeasureSettings, world: World) -> LaunchOutcome:
        commands, pin = self.commands(job, settings, world), settings.launcher.pin
        bound = tuple(sorted({core for one in commands for core in one.cores}))
        used = tuple(dict.fromkeys(self.places(job, settings))) if settings.launcher.hosts else ()
        placement = Placement(
            ranks=job.k,
            threads_per_rank=job.threads,
            nodes=len(used) or 1,
            hosts=used,
            cores=bound,
            numa_nodes=topology_of(world.machine).numa_of(bound) if bound else (),
            pinning=pin,
        )
        return replace(run_together(commands, job, world), placement=placement)


class Ssh(Local):
    """K processes on the hosts of the settings, each by one ssh; they share the folder of the study.

    The remote side gets a terminal without its conversions, so that its processes end with the connection.
    """

    name = "ssh"

    def missing(self, world: World) -> str | None:
        return None if shutil.which("ssh") else "no ssh on the path"

    def commands(self, job: LaunchJob, settings: MeasureSettings, world: World) -> list[Command]:
        if not settings.launcher.hosts:
            hint = 'set hosts = ["node1", "node2"] in [launcher]'
            raise InputError(Fault("no host is given", where="launcher.hosts", remedy=hint))
        env = worker_env(job, settings) | {probe.SIZE: str(job.k), probe.MEET: str(job.k)}
        start, words = (*SSH, *settings.launcher.extra), arguments(job, settings)
        return [
            Command(argv=(*start, host, remote_line(words, {**env, probe.RANK: str(rank)}, settings)))
            for rank, host in enumerate(self.places(job, settings))
        ]

    def launch(self, job: LaunchJob, settings: MeasureSettings, world: World) -> LaunchOutcome:
        return without_usage(super().launch(job, settings, world))


def remote_line(argv: tuple[str, ...], env: dict[str, str], settings: MeasureSettings) -> str:
    """What the shell of another host runs: the folder, the prologue, the variables, the command."""
    folder = shlex.quote(str((settings.folder or Path.cwd()).absolute()))
    variables = " ".join(f"{name}={shlex.quote(value)}" for name, value in sorted(env.items()))
    lines = ["stty -opost 2> /dev/null", f"cd {folder} || exit 1", *settings.launcher.prologue]
    return "; ".join([*lines, f"exec env {variables} {shlex.join(argv)}"])


SSH = ("ssh", "-tt", "-o", "BatchMode=yes")
PROGRAMS = ("mpirun", "mpiexec")


class Mpi(Launcher):
    name = "mpi"

    def missing(self, world: World) -> str | None:
        program = next((program for program in PROGRAMS if shutil.which(program)), None)
        if program is None:
            return "no mpirun or mpiexec on the path; pip install 'scalecurve[mpi]' brings MPICH"
        code, text = world.runner.capture([program, "--version"])
        return f"{program} does not start: {text.strip()[:80]}" if code else None

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


DEFAULT_THREADS = 1
SLURM_STEP = ("srun", "--nodes=1", "--ntasks=1", "--overlap", "--export=ALL")


class Torchrun(Launcher):
    name = "torchrun"

    def missing(self, world: World) -> str | None:
        if find_spec("torch") is None:
            return "PyTorch is not installed; pip install 'scalecurve[torch]'"
        return None

    def launch(self, job: LaunchJob, settings: MeasureSettings, world: World) -> LaunchOutcome:
        job = replace(job, threads=job.threads or DEFAULT_THREADS)
        if job.role != SCALING:
            step = SLURM_STEP if settings.in_allocation else ()
            alone = command((*step, *arguments(job, settings)), worker_env(job, settings), settings)
            nodes, outcome = 1, run_together([alone], job, world)
        else:
            commands = list(agents(job, settings, world))
            nodes, outcome = len(commands), run_together(commands, job, world)
        outcome = without_usage(outcome) if settings.in_allocation else outcome
        return replace(outcome, placement=Placement(ranks=job.k, threads_per_rank=job.threads, nodes=nodes))


def agents(job: LaunchJob, settings: MeasureSettings, world: World) -> Iterator[Command]:
    """One torchrun per node; on one node a rendezvous of its own, so that two studies never meet.

    Inside a Slurm allocation each is a step on its node, also that of one node: the tool may run on a login host.
    """
    launcher = settings.launcher
    nodes, per_node = shape(job.k, settings)
    hosts = allocated_hosts(world) if settings.in_allocation else launcher.hosts or ("localhost",)
    if settings.in_allocation and nodes > len(hosts):
        hint = f"the allocation has {len(hosts)}: ask for as many nodes, or name hosts with wrap and endpoint"
        raise InputError(Fault(f"K = {job.k} needs {nodes} nodes", where="launcher.workers_per_node", remedy=hint))
    program = (launcher.program,) if launcher.program else (sys.executable, "-m", "torch.distributed.run")
    # torchrun starts Python itself: `python train.py` and `train.py` mean the same.
    script = job.argv[1:] if Path(job.argv[0]).name.startswith("python") and len(job.argv) > 1 else job.argv
    first = address_of(hosts[0], world) if settings.in_allocation and nodes > 1 else hosts[0]
    # Another port for every launch: the last one may still be closing its own.
    endpoint = launcher.endpoint or f"{first}:{29500 + (os.getpid() + job.order) % 1000}"
    env = worker_env(job, settings) | {"PYTHONUNBUFFERED": "1"}
    for node in range(nodes):
        meeting: tuple[str, ...] = ("--standalone",)
        if nodes > 1:
            meeting = ("--nnodes", str(nodes), "--node-rank", str(node), "--rdzv-backend", "c10d")
            meeting += ("--rdzv-endpoint", endpoint, "--rdzv-id", job.token[:12])
        words = (*program, "--nproc-per-node", str(per_node), *meeting, *launcher.extra, *script)
        host = hosts[node % len(hosts)]
        step = (*SLURM_STEP, f"--nodelist={host}") if settings.in_allocation else ()
        yield command((*step, *wrapped(words, settings, rank=node, host=host)), env, settings)


def allocated_hosts(world: World) -> tuple[str, ...]:
    """The hosts of the Slurm allocation in which the tool runs."""
    code, text = world.runner.capture(["scontrol", "show", "hostnames"], timeout=60)
    if code:
        hint = "run inside salloc or sbatch, or name launcher.hosts with wrap"
        raise InputError(Fault("the nodes of the allocation are not known", value=text.strip()[:200], remedy=hint))
    return tuple(text.split())


def address_of(host: str, world: World) -> str:
    """Where a node of Slurm is reached; its name where Slurm does not say."""
    _, text = world.runner.capture(["scontrol", "--oneliner", "show", "node", host], timeout=60)
    return next((word.removeprefix("NodeAddr=") for word in text.split() if word.startswith("NodeAddr=")), host)


def shape(k: int, settings: MeasureSettings) -> tuple[int, int]:
    """Nodes and workers per node; torchrun needs the same number on every node."""
    per_node = settings.launcher.workers_per_node or k
    if k <= per_node:
        return 1, k
    if k % per_node:
        hint = "choose K in multiples of workers_per_node"
        raise InputError(Fault(f"K = {k} cannot be divided by {per_node} per node", where="workers", remedy=hint))
    return k // per_node, per_node
