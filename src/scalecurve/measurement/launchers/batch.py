"""Batch systems as rows of systems.toml: Slurm, PBS Pro, Torque, LSF, SGE, Flux, Kubernetes, any other by a template.

Each is a few commands (submit, status, cancel) and what their answers look like.  A job script writes when it began,
when it ended and its exit code into the folder of the run, which must be shared with the nodes; pods of Kubernetes,
which share nothing, print them instead.  Numbers of jobs are written down before the launcher waits, so that a killed
tool finds its jobs again; Ctrl-C and the timeout cancel them.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, InputError, RunError
from scalecurve.measurement.launchers import arguments, worker_env
from scalecurve.measurement.ports import PENDING, Launcher, LaunchJob, LaunchOutcome, World
from scalecurve.measurement.processes import MOST_OUTPUT, last_words, tail_of
from scalecurve.measurement.settings import MeasureSettings, fill
from scalecurve.measurement.worker_site import SCRIPT, facts_in, program_of
from scalecurve.patterns import search
from scalecurve.study import Placement, RunStatus

PATIENCE_POLLS = 10  # a job that left the queue may take a moment to show its files on a shared folder
LONG_SECONDS = 60.0
LONGEST_REASON = 80
"""Characters: a longer answer of a queue is a list of all it knows, not a reason."""
CLOCK_SET_SECONDS = 0.5  # a clock that is slewed, not set, stays below it
SILENT_SECONDS = 600.0
"""A batch system that does not answer for so long is given up; shorter outages are waited for."""
GONE = re.compile(
    r"unknown job|jobid \S+ unknown|not found|not exist|invalid job|no such job|no matching job|has finished",
    re.IGNORECASE,
)
"""How systems say that a job is no longer in the queue; any other failure of `status` says nothing about the job."""
_POD_LINE = re.compile(r"^scalecurve (began|ended) (\d*) ([0-9.]+)(?: (\d+))?\n?", re.MULTILINE)
_POD_SCRIPT = (
    'rank=${JOB_COMPLETION_INDEX:-$RANK}; [ -z "$JOB_COMPLETION_INDEX" ] || export SCALECURVE_RANK=$rank; '
    'echo "scalecurve began $rank $(date +%s.%N)"; "$@"; '
    'code=$?; echo "scalecurve ended $rank $(date +%s.%N) $code"; exit $code'
)


@dataclass(frozen=True, kw_only=True)
class BatchSystem:
    """The commands of a batch system as words, and the patterns of their answers; see systems.toml."""

    submit: tuple[str, ...]
    number: str
    status: tuple[str, ...]
    alive: str
    cancel: tuple[str, ...]
    after: tuple[str, ...]
    start: tuple[str, ...]
    reach: tuple[str, ...]
    options: Mapping[str, tuple[str, ...]]


@cache
def systems() -> dict[str, BatchSystem]:
    """The batch systems by name."""
    rows = tomllib.loads(files(__package__).joinpath("systems.toml").read_text(encoding="utf-8"))
    return {
        name: BatchSystem(
            **{key: tuple(shlex.split(row.get(key, ""))) for key in ("submit", "status", "cancel", "after", "reach")},
            start=tuple(shlex.split(row.get("start", "mpirun -n {workers}"))),
            number=row["number"],
            alive=row["alive"],
            options={key: tuple(shlex.split(text)) for key, text in row.get("options", {}).items()},
        )
        for name, row in rows.items()
    }


@dataclass(frozen=True)
class Queue:
    """A job of a batch system: whether it waits or runs (None: the system does not answer), and how to cancel it."""

    alive: Callable[[], bool | None]
    cancel: Callable[[], object]
    poll: float


def lives(code: int, text: str, pattern: str) -> bool | None:
    """Whether a job waits or runs, from the answer to `status`; None where the system gave none."""
    if code == 0:
        return bool(search([("alive", pattern, text)])[0])
    return False if not text.strip() or GONE.search(text) else None


def await_code(queue: Queue, folder: Path, job: LaunchJob, world: World) -> bool:
    """Wait until the job wrote its exit code or left the queue; True when it ran longer than allowed and was cancelled.

    Time in the queue does not count.  An interrupt cancels the job.
    """
    polls_after_end = 0
    answered, began = world.clock.now(), None
    try:
        while not (folder / "code").exists():
            alive = queue.alive()
            if alive is not None:
                answered = world.clock.now()
                polls_after_end += not alive
                if polls_after_end > PATIENCE_POLLS:
                    return False
            elif world.clock.now() - answered > SILENT_SECONDS:
                what = f"the batch system has not answered for {SILENT_SECONDS / 60:.0f} minutes"
                raise RunError(f"{what}; its job may still run: --resume finds it again")
            if began is None and (told := number_in(folder / "began")) is not None:
                began = world.clock.now() - max(0.0, world.clock.unix() - told)  # from here a clock that is never set
            if job.timeout and began is not None and world.clock.now() - began > job.timeout:
                queue.cancel()
                return True
            world.clock.sleep(queue.poll)
        return False
    except KeyboardInterrupt:
        queue.cancel()
        raise


def number_in(path: Path) -> float | None:
    """The first word of a file as a number; None where there is none yet."""
    try:
        return float(tail_of(path).partition(" ")[0])
    except ValueError:
        return None


def seconds_between(folder: Path) -> tuple[float | None, float]:
    """How long the workers of a job ran, and by how much the clock of their node was set meanwhile.

    Time since the node started has two digits only, so it counts where the clock of the day was set.
    """
    times = [number_in(folder / name) for name in ("began", "ended", "uptime-began", "uptime-ended")]
    began, ended, first, last = times
    if began is None or ended is None:
        return None, 0.0
    shift = 0.0 if first is None or last is None else (ended - began) - (last - first)
    return (ended - began, 0.0) if abs(shift) < CLOCK_SET_SECONDS else (ended - began - shift, shift)


def job_script(
    job: LaunchJob,
    settings: MeasureSettings,
    env: Mapping[str, str],
    start: Sequence[str],
    *,
    nodes: str,
    quote: Callable[[str], str] = shlex.quote,
    own_output: bool = False,
) -> str:
    """Start K workers and write when they began, when they ended, where they were and how they ended.

    `nodes` is the line that prints the hosts of the job.  With `own_output` the script writes what the workers print:
    PBS and LSF deliver it only after the job, LSF with a report of its own.
    """
    place = quote(str(job.folder))
    output = f" > {place}/out-0 2> {place}/err-0" if own_output else ""
    prologue = settings.launcher.prologue
    return "\n".join(
        [
            "#!/bin/bash -l" if prologue else "#!/bin/bash",
            *prologue,
            *(f"export {name}={quote(value)}" for name, value in sorted(env.items())),
            f"{nodes} > {place}/nodes",
            f"/bin/sh -c {shlex.quote(SCRIPT)} sh {shlex.quote(program_of(job, settings))} > {place}/site 2> /dev/null",
            f"cat /proc/uptime > {place}/uptime-began 2> /dev/null; date +%s.%N > {place}/began",
            shlex.join((*start, *arguments(job, settings))) + output,
            "code=$?",
            f"date +%s.%N > {place}/ended; cat /proc/uptime > {place}/uptime-ended 2> /dev/null",
            f"echo $code > {place}/code.new && mv {place}/code.new {place}/code",
            "exit $code",
            "",
        ]
    )


class Batch(Launcher):
    """Jobs of one batch system, one for each launch."""

    reattaches = True

    def __init__(self, name: str) -> None:
        self.name = name

    def missing(self, world: World) -> str | None:
        system = systems()[self.name]
        programs = dict.fromkeys(words[0] for words in (system.submit, system.status, system.cancel) if words)
        if lacking := [program for program in programs if shutil.which(program) is None]:
            return f"no {lacking[0]} on the path; measure from a host that submits jobs"
        code, text = world.runner.capture(system.reach, timeout=LONG_SECONDS) if system.reach else (0, "")
        said = text.strip().partition("\n")[0][:80]
        return f"{self.name} does not answer here ({said})" if code or said == "no" else None

    def system(self, settings: MeasureSettings) -> BatchSystem:
        """The commands of the system, those of the settings first; a template has only these."""
        asked, system = settings.launcher.batch, systems()[self.name]
        own = {key: getattr(asked, key) for key in ("submit", "status", "cancel", "start") if getattr(asked, key)}
        lacking = [key for key in ("submit", "status", "cancel") if not (own.get(key) or getattr(system, key))]
        if lacking:
            hint = "the launcher `template` is told all three commands"
            raise InputError([Fault("not given", where=f"launcher.batch.{key}", remedy=hint) for key in lacking])
        number, alive = asked.number_pattern or system.number, asked.alive_pattern or system.alive
        return replace(system, **own, number=number, alive=alive)

    def values(self, job: LaunchJob, settings: MeasureSettings) -> dict[str, object]:
        """What is filled into the commands."""
        batch = settings.launcher.batch
        return {
            **{name: getattr(batch, name) for name in ("queue", "account", "time_limit", "namespace")},
            "workers": job.k,
            "threads": job.threads or 1,
            "name": f"scale-k{job.k}",  # Torque allows 15 characters
            "script": job.folder / "job.sh",
            "out": job.folder / "system-out",
            "err": job.folder / "system-err",
            "folder": settings.folder or Path.cwd(),
        }

    def write(self, job: LaunchJob, settings: MeasureSettings) -> None:
        """The script of the job."""
        script, start = job.folder / "job.sh", self.system(settings).start
        words = [fill(word, self.values(job, settings)) for word in start]
        home = f"cd {shlex.quote(str((settings.folder or Path.cwd()).absolute()))} || exit 1; hostname"
        script.write_text(job_script(job, settings, worker_env(job, settings), words, nodes=home, own_output=True))
        script.chmod(0o700)

    def flags(self, job: LaunchJob, settings: MeasureSettings) -> list[str]:
        """Words of `submit` that the settings add."""
        values, system = self.values(job, settings), self.system(settings)
        chosen = {name: value for name, value in values.items() if value and (name != "threads" or value != 1)}
        return [*(word for name in chosen for word in system.options.get(name, ())), *settings.launcher.batch.extra]

    def submit(self, job: LaunchJob, settings: MeasureSettings, world: World, *, after: str | None = None) -> str:
        """The number of the job of this launch, submitted now unless an earlier start did so."""
        note = job.folder / "batch-job"
        if not note.exists():
            self.write(job, settings)
            chain = self.system(settings).after if after else ()
            words = [*self.flags(job, settings), *chain]
            note.write_text(self.submitted(words, {**self.values(job, settings), "after": after}, settings, world))
        return note.read_text().strip()

    def submitted(
        self, flags: Sequence[str], values: Mapping[str, object], settings: MeasureSettings, world: World
    ) -> str:
        """The number of a new job."""
        system = self.system(settings)
        last = () if any("{script}" in word for word in (*system.submit, *flags)) else ("{script}",)
        words = (*system.submit, *flags, *last)
        code, text = world.runner.capture([fill(word, values) for word in words], timeout=LONG_SECONDS)
        if settings.launcher.batch.number_pattern:
            numbers = search([("number", system.number, text.strip())])[0]
        else:  # at once: a tool that is killed before the number is written down would submit the job again
            numbers = re.findall(system.number, text.strip(), re.MULTILINE)
        if code or not numbers:
            raise RunError(f"{words[0]} refused the job: {text.strip()[-400:]}")
        return numbers[0]

    def answer(self, words: Sequence[str], number: str, settings: MeasureSettings, world: World) -> tuple[int, str]:
        """Exit code and text of a command about one job."""
        space = settings.launcher.batch.namespace
        more = self.system(settings).options.get("namespace", ()) if space else ()
        values = {"job": number, "namespace": space}
        return world.runner.capture([fill(word, values) for word in (*words, *more)], timeout=LONG_SECONDS)

    def alive(self, number: str, settings: MeasureSettings, world: World, job: LaunchJob) -> bool | None:
        """Whether the job waits or runs; None where the system does not answer."""
        system = self.system(settings)
        code, text = self.answer(system.status, number, settings, world)
        return lives(code, text.strip(), system.alive)

    def cancel(self, number: str, settings: MeasureSettings, world: World) -> None:
        self.answer(self.system(settings).cancel, number, settings, world)

    def ended(self, number: str, folder: Path, job: LaunchJob, settings: MeasureSettings, world: World) -> bool:
        """Wait for a job; True when it ran longer than allowed and was cancelled."""
        queue = Queue(
            lambda: self.alive(number, settings, world, job),
            lambda: self.cancel(number, settings, world),
            (settings.launcher.slurm if self.name == "slurm" else settings.launcher.batch).poll,
        )
        return await_code(queue, folder, job, world)

    def launch(self, job: LaunchJob, settings: MeasureSettings, world: World) -> LaunchOutcome:
        number = self.submit(job, settings, world)
        late = self.ended(number, job.folder, job, settings, world)
        return outcome_in(job.folder, job, world, number=number, late=late)

    def pending(self, job: LaunchJob, settings: MeasureSettings, world: World) -> str | None:
        system, number = self.system(settings), tail_of(job.folder / "batch-job")
        code, text = self.answer(system.status, number, settings, world)
        if (job.folder / "code").exists() or lives(code, text.strip(), system.alive) is False:
            return None
        words = " ".join(text.split()).removesuffix(" None")
        if words and len(words) < LONGEST_REASON:
            return words
        return "running" if (job.folder / "began").exists() else "waiting in the queue"

    def abandon(self, folder: Path, settings: MeasureSettings, world: World) -> None:
        for note in folder.glob("*/batch-job"):
            self.cancel(tail_of(note), settings, world)


def outcome_in(
    folder: Path, job: LaunchJob, world: World, *, number: str, late: bool, state: str | None = None
) -> LaunchOutcome:
    """How a job ended, from the files in its folder; `state` is what its system calls an end without an exit code."""
    began, code = (number_in(folder / name) for name in ("began", "code"))
    wall, shift = seconds_between(folder)
    status, error = RunStatus.OK, None
    if late:
        status, error = RunStatus.TIMEOUT, f"no end after {job.timeout:g} s; job {number} was cancelled"
    elif code != 0:
        how = f"with exit code {code:g}" if code is not None else f"as {state}" if state else "without an exit code"
        outputs = [last_words(folder), *(tail_of(folder / name) for name in ("system-out", "system-err"))]
        status, error = RunStatus.FAILED, "\n".join([f"job {number} ended {how}", *(text for text in outputs if text)])
    site = facts_in(tail_of(folder / "site", MOST_OUTPUT))
    return LaunchOutcome(
        status=status,
        launched=began if began is not None else world.clock.unix(),
        wall_seconds=wall,
        error=error,
        output=tail_of(folder / "out-0", MOST_OUTPUT),
        errors=tail_of(folder / "err-0", MOST_OUTPUT),
        observed={
            "batch_job": number,
            **({"site": site} if site else {}),
            **({"clock_set_seconds": round(shift, 3)} if shift else {}),
            **queue_facts(folder, began),
        },
        placement=Placement(
            ranks=job.k, threads_per_rank=job.threads, hosts=tuple(tail_of(folder / "nodes").split()[:1])
        ),
    )


def queue_facts(folder: Path, began: float | None) -> dict[str, Any]:
    """How long a job waited in the queue since it was submitted, and why, as far as the queue said."""
    notes = [*folder.glob("batch-job"), *folder.parent.glob("batch-job")]
    facts: dict[str, Any] = {}
    if notes and began is not None:
        facts["queued_seconds"] = round(max(0.0, began - notes[0].stat().st_mtime), 1)
    reasons = list(dict.fromkeys(tail_of(folder / PENDING).splitlines()))
    return facts | ({"pending_reasons": reasons} if reasons else {})


class Kubernetes(Batch):
    """Pods of a Job, JobSet, PyTorchJob or MPIJob; from the first that begins to the last that ends, by the clocks of
    their nodes."""

    def write(self, job: LaunchJob, settings: MeasureSettings) -> None:
        if not settings.launcher.batch.image:
            hint = "the pods need an image that holds the program"
            raise InputError(Fault("no image is given", where="launcher.batch.image", remedy=hint))
        (job.folder / "job.sh").write_text(json.dumps(manifest_of(job, settings)))

    def alive(self, number: str, settings: MeasureSettings, world: World, job: LaunchJob) -> bool | None:
        """Whether pods wait or run; what they printed is kept as the files that other jobs write."""
        alive = super().alive(number, settings, world, job)
        if alive is False or job.timeout:
            pods = pods_of(job, settings)
            words = ("kubectl", "logs", f"--selector=scalecurve={name_of(job)}", "--tail=-1")
            text = self.answer((*words, f"--max-log-requests={pods}"), number, settings, world)[1]
            write_pods(text, job, pods, ended=alive is False)
        return alive

    def launch(self, job: LaunchJob, settings: MeasureSettings, world: World) -> LaunchOutcome:
        outcome = super().launch(job, settings, world)
        self.cancel(tail_of(job.folder / "batch-job"), settings, world)  # leave nothing in the cluster
        return outcome


def name_of(job: LaunchJob) -> str:
    """What the cluster calls a launch."""
    return f"scalecurve-{job.token[:16]}"


def pods_of(job: LaunchJob, settings: MeasureSettings) -> int:
    """How many pods run the command and say when: all workers, one for each node, or the launcher of MPI alone."""
    each = settings.launcher.workers_per_node or 1
    return {"PyTorchJob": -(-job.k // each), "MPIJob": 1}.get(settings.launcher.batch.kind, job.k)


def manifest_of(job: LaunchJob, settings: MeasureSettings) -> dict[str, Any]:
    """What is created for a launch: pods that start together and are not tried again, as manifests.toml has them."""
    batch, each = settings.launcher.batch, settings.launcher.workers_per_node or 1
    row = tomllib.loads(files(__package__).joinpath("manifests.toml").read_text(encoding="utf-8"))[batch.kind]
    env = {**worker_env(job, settings), "SCALECURVE_SIZE": str(job.k)}
    script = "\n".join([*settings.launcher.prologue, _POD_SCRIPT])
    start = [fill(word, {"workers": job.k}) for word in batch.start or row.get("start", ())]
    container = {
        "name": "pytorch" if batch.kind == "PyTorchJob" else "worker",
        "image": batch.image,
        "resources": {part: batch.resources or {"cpu": job.threads or 1} for part in ("requests", "limits")},
    }
    work = {
        "command": ["/bin/sh", "-c", script, "sh", *start, *arguments(job, settings)],
        "env": [{"name": name, "value": value} for name, value in sorted(env.items()) if name != "SCALECURVE_PROBE"],
    }
    spec, label = {"restartPolicy": "Never", **batch.pod}, {"labels": {"scalecurve": name_of(job)}}
    values: dict[str, object] = {
        "name": name_of(job),
        "workers": job.k,
        "nodes": -(-job.k // each),
        "others": -(-job.k // each) - 1,
        "workers_per_node": each,
        "pod": json.dumps({"metadata": label, "spec": {**spec, "containers": [{**container, **work}]}}),
        "idle": json.dumps({"spec": {**spec, "containers": [container]}}),
    }
    manifest: dict[str, Any] = json.loads(fill(row["manifest"], values))
    replicas = manifest["spec"].get("pytorchReplicaSpecs", {})
    for role in [role for role, own in replicas.items() if own["replicas"] == 0]:
        del replicas[role]
    return manifest


def write_pods(text: str, job: LaunchJob, pods: int, *, ended: bool) -> None:
    """What pods printed as the files of a job: from the first that began to the last that ended, the first bad code.

    After their end nothing more will come, so that a pod that says no code has failed.
    """
    lines = list(_POD_LINE.finditer(text))
    times = {word: [float(line[3]) for line in lines if line[1] == word] for word in ("began", "ended")}
    codes = [(line[4], line[2]) for line in lines if line[1] == "ended"]
    (job.folder / "out-0").write_text(_POD_LINE.sub("", text))
    if times["began"]:
        (job.folder / "began").write_text(str(min(times["began"])))
    if not ended:
        return
    if times["ended"]:
        (job.folder / "ended").write_text(str(max(times["ended"])))
    code, why = next(
        ((code, f"pod {pod} ended with exit code {code}") for code, pod in codes if code != "0"), ("0", "")
    )
    if not why and len(codes) != pods:
        code, why = "1", f"{len(codes)} of {pods} pods ended"
    (job.folder / "err-0").write_text(why)
    (job.folder / "code").write_text(code)
