"""`slurm`: sbatch and srun.  One job per launch, one array per K, or one allocation for all launches.

The folder of the study must be shared with the nodes.  Job numbers are written beside the journal before we wait, so
that a tool that was killed finds its queued or finished jobs again; Ctrl-C cancels its own jobs and no others.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from scalecurve.errors import RunError
from scalecurve.measurement.launchers import slurm_jobs
from scalecurve.measurement.launchers.common import arguments, command, without_usage, worker_env
from scalecurve.measurement.launchers.slurm_script import batch_script, resource_flags, srun
from scalecurve.measurement.ports import Job, Outcome, World
from scalecurve.measurement.settings import Settings
from scalecurve.study import Placement


class Slurm:
    name = "slurm"
    reattaches = True

    def missing(self, world: World) -> str | None:
        for program in ("sbatch", "srun", "squeue", "scancel"):
            if shutil.which(program) is None:
                return f"no {program} on the path; measure from a host that submits to Slurm"
        code, text = world.runner.capture(["sinfo", "--noheader", "--format=%P"])
        first = text.strip().partition("\n")[0]
        return f"Slurm does not answer here ({first[:80]})" if code else None

    def launch(self, job: Job, settings: Settings, world: World) -> Outcome:
        job = _with_visible_folder(job)
        by_kind = {"run": _launch_job, "array": _launch_in_array, "all": _launch_step}
        return by_kind[settings.launcher.slurm.allocation](job, settings, world)

    def finish(self, folder: Path, world: World) -> None:
        """Give back the allocation for all launches, and cancel what is left of arrays."""
        for note in [folder / "allocation", *folder.glob("array-*/slurm-job")]:
            if note.exists():
                slurm_jobs.cancel(note.read_text().strip(), world)
                note.unlink()


def _with_visible_folder(job: Job) -> Job:
    job.probe_folder.mkdir(parents=True, exist_ok=True)
    return job


def _launch_job(job: Job, settings: Settings, world: World) -> Outcome:
    """One job for this launch; one that an earlier start submitted is waited for instead."""
    note = job.folder / "slurm-job"
    if not note.exists():
        script = job.folder / "job.sh"
        script.write_text(batch_script(job, settings, worker_env(job, settings), str(job.folder)))
        note.write_text(slurm_jobs.submit([*resource_flags(job, settings), str(script)], world))
    return slurm_jobs.outcome_of(note.read_text().strip(), job.folder, job, settings, world)


def _launch_in_array(job: Job, settings: Settings, world: World) -> Outcome:
    """All repeats of one K in one array, at most `throttle` at a time.

    Warm-ups, extra repeats and what is tried again after an array is gone are jobs of their own.
    """
    shared = job.folder.parent / f"array-{job.role}-{job.k}"
    note = shared / "slurm-job"
    if not shared.exists() and job.repeat >= 0:
        _submit_array(job, settings, shared, note, world)
    mine = shared / str(job.repeat)
    if not (note.exists() and mine.is_dir()):
        return _launch_job(job, settings, world)
    number = f"{note.read_text().strip()}_{job.repeat}"
    outcome = slurm_jobs.outcome_of(number, mine, job, settings, world)
    shutil.copytree(mine / "probe", job.probe_folder, dirs_exist_ok=True)
    return outcome


def _submit_array(job: Job, settings: Settings, shared: Path, note: Path, world: World) -> None:
    for repeat in range(settings.repeats):
        (shared / str(repeat) / "probe").mkdir(parents=True, exist_ok=True)
    inside = replace(job, folder=shared / "$SLURM_ARRAY_TASK_ID")
    script = shared / "job.sh"
    script.write_text(batch_script(inside, settings, _array_env(job, settings, shared), str(inside.folder)))
    tasks = f"--array=0-{settings.repeats - 1}%{settings.launcher.slurm.throttle}"
    note.write_text(slurm_jobs.submit([*resource_flags(inside, settings, array=True), tasks, str(script)], world))


def _array_env(job: Job, settings: Settings, shared: Path) -> dict[str, str]:
    from scalecurve import probe

    return worker_env(job, settings) | {probe.FOLDER: f"{shared}/$SLURM_ARRAY_TASK_ID/probe"}


def _launch_step(job: Job, settings: Settings, world: World) -> Outcome:
    """A step of the one allocation; srun is our child, so its end and its output are at hand."""
    number = _allocation(job, settings, world)
    shape = srun(job, settings, nodes=slurm_jobs.nodes_for(job.k, settings))
    argv = (*shape[:1], f"--jobid={number}", *shape[1:], *arguments(job, settings))
    step = command(argv, worker_env(job, settings), settings)
    outcome = world.runner.run_together([step], folder=job.folder, token=job.token, timeout=job.timeout)
    outcome = without_usage(outcome)
    nodes = slurm_jobs.nodes_for(job.k, settings)
    return replace(outcome, placement=Placement(ranks=job.k, threads_per_rank=job.threads, nodes=nodes))


def _allocation(job: Job, settings: Settings, world: World) -> str:
    """The allocation that all launches share: an earlier one if it still runs, else a new one."""
    held = job.folder.parent / "allocation"
    if held.exists() and slurm_jobs.state_of(held.read_text().strip(), world) == "RUNNING":
        return held.read_text().strip()
    most = replace(job, k=max(settings.workers))
    flags = [flag for flag in resource_flags(most, settings) if not flag.startswith(("--output", "--error"))]
    if settings.launcher.slurm.nodes:
        flags.append(f"--nodes={settings.launcher.slurm.nodes}")
    code, text = world.runner.capture(["salloc", "--no-shell", *flags], timeout=24 * 3600)
    words = [word for word in text.replace("\n", " ").split() if word.isdigit()]
    if code or not words:
        raise RunError(f"salloc gave no allocation: {text.strip()[-300:]}")
    held.write_text(words[0])
    return words[0]
