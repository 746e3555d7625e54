"""`slurm`: sbatch and srun.  One job per launch, one array per K, or one allocation for all launches.

The folder of the study must be shared with the nodes.  Job numbers are written beside the journal before the launcher
waits, so that a killed tool finds its queued or finished jobs again; Ctrl-C cancels its own jobs and no others.
"""

from __future__ import annotations

import math
import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from scalecurve import probe
from scalecurve.errors import RunError
from scalecurve.measurement.launchers import arguments, command, run_together, without_usage, worker_env
from scalecurve.measurement.launchers.batch import PATIENCE_POLLS, Batch, job_script, number_in, outcome_in
from scalecurve.measurement.ports import LaunchJob, LaunchOutcome, World
from scalecurve.measurement.processes import tail_of
from scalecurve.measurement.settings import MeasureSettings, fill
from scalecurve.study import Placement, RunStatus

_BOUND = re.compile(r"cpu[-_]bind=\w+ - .*: mask (0x[0-9A-Fa-f]+)(?:,\S+)? set")
_ARRAY_TASK = "$SLURM_ARRAY_TASK_ID"


class Slurm(Batch):
    """A row of systems.toml with more: arrays, one allocation for all launches, srun, and accounts."""

    def launch(self, job: LaunchJob, settings: MeasureSettings, world: World) -> LaunchOutcome:
        job.probe_folder.mkdir(parents=True, exist_ok=True)
        kind = settings.launcher.slurm.allocation
        if kind == "all" and not (job.folder / "batch-job").exists():  # it may have been submitted before
            return self.launch_step(job, settings, world)
        if kind == "array" and (task := self.array_task(job, settings, world)):
            outcome = self.outcome_of(*task, job, settings, world)
            shutil.copytree(task[1] / "probe", job.probe_folder, dirs_exist_ok=True)
            return outcome
        return self.outcome_of(self.submit(job, settings, world), job.folder, job, settings, world)

    def write(self, job: LaunchJob, settings: MeasureSettings) -> None:
        (job.folder / "job.sh").write_text(batch_script(job, settings, worker_env(job, settings)))

    def flags(self, job: LaunchJob, settings: MeasureSettings) -> list[str]:
        return resource_flags(job, settings)

    def abandon(self, folder: Path, settings: MeasureSettings, world: World) -> None:
        super().abandon(folder, settings, world)
        self.finish(folder, world)

    def finish(self, folder: Path, world: World) -> None:
        """Give back the allocation for all launches, and cancel what is left of arrays."""
        for note in [folder / "allocation", *folder.glob("array-*/batch-job")]:
            if note.exists():
                world.runner.capture(["scancel", note.read_text().strip()], timeout=60)
                note.unlink()

    def array_task(self, job: LaunchJob, settings: MeasureSettings, world: World) -> tuple[str, Path] | None:
        """The number and the folder of this launch in the array of all repeats of its K, at most `throttle` at a time.

        Warm-ups, extra repeats and second attempts after an array is gone are jobs of their own: None.
        """
        shared = job.folder.parent / f"array-{job.role}-{job.k}"
        note, mine = shared / "batch-job", shared / str(job.repeat)
        if not shared.exists() and job.repeat >= 0:
            for repeat in range(settings.repeats):
                (shared / str(repeat) / "probe").mkdir(parents=True, exist_ok=True)
            inside = replace(job, folder=shared / _ARRAY_TASK)
            env = worker_env(job, settings) | {probe.FOLDER: f"{shared}/{_ARRAY_TASK}/probe"}
            (shared / "job.sh").write_text(batch_script(inside, settings, env))
            tasks = f"--array=0-{settings.repeats - 1}%{settings.launcher.slurm.throttle}"
            flags = [*resource_flags(inside, settings, array=True), tasks]
            note.write_text(self.submitted(flags, {"script": shared / "job.sh"}, settings, world))
        there = note.exists() and mine.is_dir()
        return (f"{note.read_text().strip()}_{job.repeat}", mine) if there else None

    def launch_step(self, job: LaunchJob, settings: MeasureSettings, world: World) -> LaunchOutcome:
        """A step of the one allocation, an earlier one if it still runs; srun is our child: its output is at hand."""
        slurm, held = settings.launcher.slurm, job.folder.parent / "allocation"
        number = tail_of(held)
        if not number or "RUNNING" not in self.answer(self.system(settings).status, number, settings, world)[1]:
            most = resource_flags(replace(job, k=max(settings.workers)), settings)
            flags = [flag for flag in most if not flag.startswith(("--output", "--error"))]
            flags += [f"--nodes={slurm.nodes}"] if slurm.nodes else []
            code, text = world.runner.capture(["salloc", "--no-shell", *flags], timeout=24 * 3600)
            number = next((word for word in text.split() if word.isdecimal()), "")
            if code or not number:
                raise RunError(f"salloc gave no allocation: {text.strip()[-300:]}")
            held.write_text(number)
        nodes = math.ceil(job.k / slurm.tasks_per_node) if slurm.tasks_per_node else None
        start, *options = srun(job, settings, nodes=nodes)
        argv = (start, f"--jobid={number}", *options, *arguments(job, settings))
        outcome = run_together([command(argv, worker_env(job, settings), settings)], job, world)
        place = Placement(ranks=job.k, threads_per_rank=job.threads, nodes=nodes)
        return replace(without_usage(outcome), placement=place)

    def outcome_of(
        self, number: str, folder: Path, job: LaunchJob, settings: MeasureSettings, world: World
    ) -> LaunchOutcome:
        """Wait for a job and return how it ended; an interrupt cancels it, and so does the timeout."""
        late = self.ended(number, folder, job, settings, world)
        facts, state = accounted(number, world), ""
        if not late and number_in(folder / "code") != 0:
            state = str(facts.get("slurm_state") or final_state(number, world))
        outcome = outcome_in(folder, job, world, number=number, late=late, state=state)
        words = tail_of(folder / "nodes").split()
        affinity = [cores_of_mask(mask) for mask in _BOUND.findall(outcome.errors)]
        place = replace(
            outcome.placement or Placement(),
            nodes=int(words[0]) if words and words[0].isdecimal() else None,
            hosts=tuple(words[1:2]),
            pinning=settings.launcher.pin,
        )
        status = RunStatus.TIMEOUT if state.startswith("TIMEOUT") else outcome.status
        observed = {**outcome.observed, **facts, **({"affinity": affinity} if affinity else {})}
        return replace(outcome, status=status, observed=observed, placement=place)


def batch_script(job: LaunchJob, settings: MeasureSettings, env: Mapping[str, str]) -> str:
    """The script of a job or of an array's task, which starts the tasks by srun or by what the settings name."""
    other = settings.launcher.slurm.launch
    start = tuple(fill(word, {"workers": job.k}) for word in other)
    start = start or srun(job, settings, nodes=nodes_of(job, settings))
    nodes = 'echo "$SLURM_JOB_NUM_NODES $SLURM_JOB_NODELIST"'
    return job_script(job, settings, env, start, nodes=nodes, quote=quoted)


def quoted(text: str) -> str:
    """Quoted for the shell, except the number of the array's task, which only the node knows."""
    parts = [shlex.quote(part) if part else "" for part in text.split(_ARRAY_TASK)]
    return f'"{_ARRAY_TASK}"'.join(parts)


def nodes_of(job: LaunchJob, settings: MeasureSettings) -> int | None:
    """How many nodes a cell of a grid asks for; None where the cluster decides."""
    per_node = settings.launcher.slurm.tasks_per_node
    return math.ceil(job.k / per_node) if per_node and settings.axes is not None and settings.axes.nodes else None


def srun(job: LaunchJob, settings: MeasureSettings, *, nodes: int | None) -> tuple[str, ...]:
    options = [f"--ntasks={job.k}"]
    options += [f"--mpi={settings.launcher.slurm.mpi}"] if settings.launcher.slurm.mpi else []
    options += [f"--nodes={nodes}"] if nodes else []
    options += [f"--cpus-per-task={job.threads}"] if job.threads else []
    if settings.launcher.pin != "none":  # verbose: srun tells on its error output which cores each task got
        spread = "block" if settings.launcher.pin == "compact" else "cyclic"
        options += ["--cpu-bind=verbose,cores", f"--distribution=block:{spread}"]
    return ("srun", *options, *settings.launcher.extra)


def resource_flags(job: LaunchJob, settings: MeasureSettings, *, array: bool = False) -> list[str]:
    """Flags of sbatch; those not given are left to the cluster."""
    slurm = settings.launcher.slurm
    where = str(job.folder).replace(_ARRAY_TASK, "%a") if array else str(job.folder)
    named: dict[str, object] = {
        "--job-name": f"scalecurve-k{job.k}",
        "--ntasks": job.k,
        "--output": f"{where}/out-0",
        "--error": f"{where}/err-0",
        "--partition": slurm.partition,
        "--account": slurm.account,
        "--time": slurm.time_limit,
        "--chdir": settings.folder and settings.folder.absolute(),
        "--cpus-per-task": job.threads,
        "--nodes": nodes_of(job, settings),
        "--ntasks-per-node": slurm.tasks_per_node and min(slurm.tasks_per_node, job.k),
    }
    return [*(f"{name}={value}" for name, value in named.items() if value), *slurm.extra]


def cores_of_mask(mask: str) -> list[int]:
    """The cores of a mask such as 0x5: [0, 2]."""
    bits = int(mask, 16)
    return [core for core in range(bits.bit_length()) if bits >> core & 1]


def final_state(number: str, world: World) -> str:
    """The state of an ended job as the controller remembers it."""
    code, text = world.runner.capture(["scontrol", "--oneliner", "show", "job", number], timeout=60)
    words = [word for word in text.split() if word.startswith("JobState=")] if code == 0 else []
    return words[0].removeprefix("JobState=") if words else "unknown"


def accounted(number: str, world: World) -> dict[str, Any]:
    """State, elapsed seconds, peak memory and energy of a job and its steps from sacct; empty without accounting."""
    for attempt in range(PATIENCE_POLLS + 1):  # the accounts are written a moment after the job has ended
        world.clock.sleep(0.3 * bool(attempt))
        rows = accounts_of(number, world)
        if not rows or rows[0][0] not in ("RUNNING", "PENDING", "COMPLETING"):
            break
    if not rows:
        return {}
    peak, joules = (max((int(row[i]) for row in rows if row[i].isdecimal()), default=0) for i in (2, 3))
    facts = {
        "slurm_state": rows[0][0],
        "slurm_elapsed_seconds": int(rows[0][1]) if rows[0][1].isdecimal() else None,
        "energy": {"joules": float(joules), "sources": ["sacct ConsumedEnergy"]} if joules else None,  # 0: not counted
        "peak_process_bytes": peak or None,
    }
    return {name: value for name, value in facts.items() if value is not None}


def accounts_of(number: str, world: World) -> list[list[str]]:
    """State, elapsed seconds, peak bytes and joules of a job and of each of its steps, as sacct writes them."""
    fields = "State,ElapsedRaw,MaxRSS,ConsumedEnergyRaw"
    query = ["sacct", "--noheader", "--parsable2", f"--format={fields}", f"--jobs={number}", "--noconvert"]
    code, text = world.runner.capture(query, timeout=60)
    return [] if code else [line.split("|") for line in text.splitlines() if line.count("|") == 3]
