"""What is handed to Slurm: the batch script and the flags that say how many tasks sit where."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from scalecurve.measurement import placeholders
from scalecurve.measurement.launchers.common import arguments
from scalecurve.measurement.ports import Job
from scalecurve.measurement.settings import Settings

_ARRAY_TASK = "$SLURM_ARRAY_TASK_ID"


def batch_script(job: Job, settings: Settings, env: Mapping[str, str], folder: str) -> str:
    """Start K tasks and leave behind when they began, when they ended, where they were and how they ended."""
    place = quoted(folder)
    exports = [f"export {name}={quoted(value)}" for name, value in sorted(env.items())]
    start = " ".join(shlex.quote(word) for word in (*starter(job, settings), *arguments(job, settings)))
    return "\n".join(
        [
            "#!/bin/bash",
            *exports,
            f'echo "$SLURM_JOB_NUM_NODES $SLURM_JOB_NODELIST" > {place}/nodes',
            f"date +%s.%N > {place}/began",
            start,
            "code=$?",
            f"date +%s.%N > {place}/ended",
            f"echo $code > {place}/code.new && mv {place}/code.new {place}/code",
            "exit $code",
            "",
        ]
    )


def quoted(text: str) -> str:
    """Quoted for the shell, except the number of the array's task, which only the node knows."""
    parts = [shlex.quote(part) if part else "" for part in text.split(_ARRAY_TASK)]
    return f'"{_ARRAY_TASK}"'.join(parts)


def starter(job: Job, settings: Settings) -> tuple[str, ...]:
    """`srun` unless the file names another one, such as ["mpirun", "-n", "{workers}"]."""
    other = settings.launcher.slurm.launch
    if other:
        return tuple(placeholders.fill(word, {"workers": job.k}) for word in other)
    return srun(job, settings, nodes=None)


def srun(job: Job, settings: Settings, *, nodes: int | None) -> tuple[str, ...]:
    options = [f"--ntasks={job.k}"]
    options += [f"--mpi={settings.launcher.slurm.mpi}"] if settings.launcher.slurm.mpi else []
    options += [f"--nodes={nodes}"] if nodes else []
    options += [f"--cpus-per-task={job.threads}"] if job.threads else []
    return ("srun", *options, *settings.launcher.extra)


def resource_flags(job: Job, settings: Settings, *, array: bool = False) -> list[str]:
    """Flags of sbatch; those the user did not give are the cluster's own business."""
    slurm = settings.launcher.slurm
    where = str(job.folder).replace(_ARRAY_TASK, "%a") if array else str(job.folder)
    flags = [
        f"--job-name=scalecurve-k{job.k}",
        f"--ntasks={job.k}",
        f"--output={where}/out-0",
        f"--error={where}/err-0",
    ]
    named: dict[str, object] = {"--partition": slurm.partition, "--account": slurm.account, "--time": slurm.time_limit}
    named |= {"--chdir": settings.folder and settings.folder.absolute(), "--cpus-per-task": job.threads}
    if slurm.tasks_per_node:
        named["--ntasks-per-node"] = min(slurm.tasks_per_node, job.k)
    return [*flags, *(f"{name}={value}" for name, value in named.items() if value), *slurm.extra]
