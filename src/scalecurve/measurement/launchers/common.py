"""What launchers share: the environment of a worker, argument lists, the wrapping of commands."""

from __future__ import annotations

from dataclasses import replace

from scalecurve import probe
from scalecurve.measurement import placeholders
from scalecurve.measurement.ports import Command, Job, Outcome
from scalecurve.measurement.settings import Settings

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def worker_env(job: Job, settings: Settings) -> dict[str, str]:
    """What every worker of a run is told: where to write, how many warm-up steps, how many threads."""
    job.probe_folder.mkdir(parents=True, exist_ok=True)
    env = {probe.FOLDER: str(job.probe_folder), probe.WARMUP: str(settings.warmup_steps)}
    if job.threads is not None:
        env |= dict.fromkeys(THREAD_VARIABLES, str(job.threads))
    return env | dict(job.env)


def arguments(job: Job, settings: Settings) -> tuple[str, ...]:
    """The job as an argument list; a shell only where `shell = true` was written."""
    if not settings.shell:
        return job.argv
    return ("/bin/sh", "-c", " ".join(job.argv))


def wrapped(argv: tuple[str, ...], settings: Settings, *, rank: int, host: str) -> tuple[str, ...]:
    """The command behind its prefix, such as `ssh {host}` or `numactl --cpunodebind={rank}`."""
    prefix = tuple(placeholders.fill(word, {"rank": rank, "host": host}) for word in settings.launcher.wrap)
    return prefix + argv


def host_of(rank: int, settings: Settings) -> str:
    """The host of a worker: the list is filled host by host."""
    hosts = settings.launcher.hosts
    if not hosts:
        return "localhost"
    return hosts[(rank // (settings.launcher.workers_per_node or 1)) % len(hosts)]


def without_usage(outcome: Outcome) -> Outcome:
    """What the system counted is srun's or the driver's own use, not the workers': they are no children of ours."""
    ours = ("cpu_seconds", "foreign_cores", "peak_process_bytes", "major_faults")
    return replace(outcome, observed={name: value for name, value in outcome.observed.items() if name not in ours})


def command(argv: tuple[str, ...], env: dict[str, str], settings: Settings, cores: tuple[int, ...] = ()) -> Command:
    return Command(argv=argv, env=env, folder=settings.folder, cores=cores)
