"""The launchers by name, and what they share: the environment of a worker, argument lists, prefixes of commands."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from importlib import import_module

from scalecurve import probe
from scalecurve.errors import Fault, InputError
from scalecurve.measurement.ports import Command, Launcher, LaunchJob, LaunchOutcome, World
from scalecurve.measurement.settings import MeasureSettings, fill

LAUNCHERS = {
    "local": "direct.Local",
    "mpi": "direct.Mpi",
    "torchrun": "direct.Torchrun",
    "ssh": "direct.Ssh",
    "slurm": "slurm.Slurm",
    "ray": "functions.Functions",
    "dask": "functions.Functions",
    "pbs": "batch.Batch",
    "torque": "batch.Batch",
    "lsf": "batch.Batch",
    "sge": "batch.Batch",
    "flux": "batch.Batch",
    "template": "batch.Batch",
    "kubernetes": "batch.Kubernetes",
}
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def launcher_named(name: str) -> Launcher:
    """A launcher; its engine is not imported here."""
    if name not in LAUNCHERS:
        near = get_close_matches(name, LAUNCHERS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"one of {', '.join(LAUNCHERS)}"
        raise InputError(Fault("unknown launcher", where="launcher.name", value=name, remedy=hint))
    module, _, kind = LAUNCHERS[name].partition(".")
    make = getattr(import_module(f"{__name__}.{module}"), kind)
    launcher: Launcher = make(name) if module in ("batch", "slurm", "functions") else make()
    return launcher


def worker_env(job: LaunchJob, settings: MeasureSettings) -> dict[str, str]:
    """The environment of every worker of a run: the probe's folder, the warm-up steps, the threads."""
    env = {probe.FOLDER: str(job.probe_folder), probe.WARMUP: str(settings.warmup_steps)}
    if job.threads is not None:
        env |= dict.fromkeys(THREAD_VARIABLES, str(job.threads))
    return env | dict(job.env)


def arguments(job: LaunchJob, settings: MeasureSettings) -> tuple[str, ...]:
    """The job as an argument list; a shell only where the file says `shell = true`."""
    return ("/bin/sh", "-c", " ".join(job.argv)) if settings.shell else job.argv


def wrapped(argv: tuple[str, ...], settings: MeasureSettings, *, rank: int, host: str) -> tuple[str, ...]:
    """The command behind its prefix, such as `ssh {host}` or `numactl --cpunodebind={rank}`."""
    prefix = tuple(fill(word, {"rank": rank, "host": host}) for word in settings.launcher.wrap)
    return prefix + argv


def command(
    argv: tuple[str, ...], env: dict[str, str], settings: MeasureSettings, cores: tuple[int, ...] = ()
) -> Command:
    """A process of the job, after the prologue (`module load ...`) in a login shell where there is one."""
    if settings.launcher.prologue:
        script = "\n".join([*settings.launcher.prologue, 'exec "$@"'])
        argv = ("/bin/bash", "-l", "-c", script, "bash", *argv)
    return Command(argv=argv, env=env, folder=settings.folder, cores=cores)


def run_together(commands: list[Command], job: LaunchJob, world: World) -> LaunchOutcome:
    """Start the commands of a job and wait for all of them."""
    return world.runner.run_together(commands, folder=job.folder, token=job.token, timeout=job.timeout)


def run_alone(job: LaunchJob, settings: MeasureSettings, world: World) -> LaunchOutcome:
    """A baseline candidate: one plain process, without the engine."""
    return run_together([command(arguments(job, settings), worker_env(job, settings), settings)], job, world)


def without_usage(outcome: LaunchOutcome) -> LaunchOutcome:
    """Without CPU and memory counters, which are srun's or the driver's own: the workers are not its children."""
    load = {"cpu_seconds", "foreign_cpu_seconds", "foreign_cores", "peak_process_bytes", "major_faults"}
    ours = load | {"affinity", "threads", "energy"}
    return replace(outcome, observed={name: value for name, value in outcome.observed.items() if name not in ours})
