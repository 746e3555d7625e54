"""Submitting, waiting for, asking about and cancelling jobs of our own."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from scalecurve.errors import RunError
from scalecurve.measurement.ports import Job, Outcome, World
from scalecurve.measurement.processes import tail_of
from scalecurve.measurement.settings import Settings
from scalecurve.study import Placement, RunStatus

PATIENCE_POLLS = 10  # a job that left the queue may take a moment to show its files on a shared folder
_GONE = ("", "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "BOOT_FAIL")


def submit(flags: list[str], world: World) -> str:
    """The number of a new job."""
    code, text = world.runner.capture(["sbatch", "--parsable", *flags], timeout=120)
    number = text.strip().splitlines()[-1].split(";")[0] if text.strip() else ""
    if code or not number.isdigit():
        raise RunError(f"sbatch refused the job: {text.strip()[-400:]}")
    return number


def cancel(number: str, world: World) -> None:
    world.runner.capture(["scancel", number], timeout=60)


def state_of(number: str, world: World) -> str:
    """PENDING, RUNNING ...; empty when the queue no longer knows the job."""
    code, text = world.runner.capture(["squeue", "--noheader", "--format=%T", f"--jobs={number}"], timeout=60)
    return text.strip().splitlines()[0] if code == 0 and text.strip() else ""


def outcome_of(number: str, folder: Path, job: Job, settings: Settings, world: World) -> Outcome:
    """Wait for a job and say how it ended; an interrupt cancels it, an overlong run too."""
    try:
        late = _wait(number, folder, job, settings, world)
    except KeyboardInterrupt:
        cancel(number, world)
        raise
    if late:
        cancel(number, world)
    return _read_outcome(number, folder, job, late, world)


def _wait(number: str, folder: Path, job: Job, settings: Settings, world: World) -> bool:
    """True when the job ran longer than allowed; time in the queue does not count."""
    polls_after_end = 0
    while not (folder / "code").exists():
        if state_of(number, world) in _GONE:
            polls_after_end += 1
            if polls_after_end > PATIENCE_POLLS:
                return False
        began = _number_in(folder / "began")
        if job.timeout and began is not None and world.clock.unix() - began > job.timeout:
            return True
        world.clock.sleep(settings.launcher.slurm.poll)
    return False


def _read_outcome(number: str, folder: Path, job: Job, late: bool, world: World) -> Outcome:
    began, ended = _number_in(folder / "began"), _number_in(folder / "ended")
    code = _number_in(folder / "code")
    status, error = _judge(number, code, late, folder, job, world)
    return Outcome(
        status=status,
        launched=began if began is not None else world.clock.unix(),
        wall_seconds=ended - began if began is not None and ended is not None else None,
        error=error,
        output=tail_of(folder / "out-0", 4 * 1024 * 1024),
        observed={"slurm_job": number, **accounted(number, world)},
        placement=_placement(folder, job),
    )


def _judge(
    number: str, code: float | None, late: bool, folder: Path, job: Job, world: World
) -> tuple[RunStatus, str | None]:
    if late:
        return RunStatus.TIMEOUT, f"no end after {job.timeout:g} s; job {number} was cancelled"
    if code == 0:
        return RunStatus.OK, None
    state = final_state(number, world)
    what = f"job {number} ended with exit code {code:g}" if code is not None else f"job {number} ended as {state}"
    status = RunStatus.TIMEOUT if state.startswith("TIMEOUT") else RunStatus.FAILED
    return status, f"{what}\n{tail_of(folder / 'err-0')}".strip()


def final_state(number: str, world: World) -> str:
    """As accounting or the controller remember it."""
    facts = accounted(number, world)
    if "slurm_state" in facts:
        return str(facts["slurm_state"])
    code, text = world.runner.capture(["scontrol", "--oneliner", "show", "job", number], timeout=60)
    found = next((word for word in text.split() if word.startswith("JobState=")), None) if code == 0 else None
    return found.removeprefix("JobState=") if found else "unknown"


def accounted(number: str, world: World) -> dict[str, Any]:
    """State, elapsed seconds and peak memory from sacct, where the cluster keeps accounts."""
    rows = _account_rows(number, world)
    for _ in range(PATIENCE_POLLS):  # the accounts are written a moment after the job has ended
        if not rows or rows[0][0] not in ("RUNNING", "PENDING", "COMPLETING"):
            break
        world.clock.sleep(0.3)
        rows = _account_rows(number, world)
    if not rows:
        return {}
    peak = max((int(row[2]) for row in rows if row[2].isdigit()), default=None)
    facts = {"slurm_state": rows[0][0], "slurm_elapsed_seconds": _whole(rows[0][1]), "peak_process_bytes": peak}
    return {name: value for name, value in facts.items() if value is not None}


def _account_rows(number: str, world: World) -> list[list[str]]:
    """State, seconds and peak memory of the job and its steps; nothing where there are no accounts."""
    wanted = "--format=State,ElapsedRaw,MaxRSS"
    query = ["sacct", "--noheader", "--parsable2", wanted, f"--jobs={number}", "--noconvert"]
    code, text = world.runner.capture(query, timeout=60)
    return [] if code else [line.split("|") for line in text.splitlines() if line.count("|") == 2]


def nodes_for(k: int, settings: Settings) -> int | None:
    per_node = settings.launcher.slurm.tasks_per_node
    return math.ceil(k / per_node) if per_node else None


def _placement(folder: Path, job: Job) -> Placement:
    words = tail_of(folder / "nodes").split()
    nodes = int(words[0]) if words and words[0].isdigit() else None
    hosts = tuple(words[1:2])
    return Placement(ranks=job.k, threads_per_rank=job.threads, nodes=nodes, hosts=hosts)


def _number_in(path: Path) -> float | None:
    try:
        return float(path.read_text())
    except (OSError, ValueError):
        return None


def _whole(text: str) -> int | None:
    return int(text) if text.isdigit() else None
