"""Batch systems as data: PBS Pro, Torque, LSF, SGE, Flux, any other by a template, and Kubernetes Jobs through kubectl.

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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, InputError, RunError
from scalecurve.measurement.launchers import arguments, worker_env
from scalecurve.measurement.ports import Launcher, LaunchJob, LaunchOutcome, World
from scalecurve.measurement.processes import MOST_OUTPUT, last_words, tail_of
from scalecurve.measurement.settings import BatchSettings, MeasureSettings, fill
from scalecurve.measurement.worker_site import SCRIPT, facts_in, program_of
from scalecurve.patterns import search
from scalecurve.study import Placement, RunStatus

PENDING = "pending"
"""The file beside a submitted job that lists why it waited."""
PATIENCE_POLLS = 10  # a job that left the queue may take a moment to show its files on a shared folder
LONG_SECONDS = 60.0
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
    'export SCALECURVE_RANK=$JOB_COMPLETION_INDEX; echo "scalecurve began $JOB_COMPLETION_INDEX $(date +%s.%N)"; "$@"; '
    'code=$?; echo "scalecurve ended $JOB_COMPLETION_INDEX $(date +%s.%N) $code"; exit $code'
)


@dataclass(frozen=True, kw_only=True)
class BatchSystem:
    """The commands of a batch system.

    `submit`, `status` and `cancel` are words with {script}, {out}, {err}, {name}, {workers}, {threads} and {job};
    `options` are added where the settings say queue, account, time_limit or more than one of threads.  `number` finds
    the job's number in the answer of `submit`, and `alive` matches the answer of `status` while the job waits or runs;
    `after` makes a job wait for the end of {after}.
    """

    submit: tuple[str, ...]
    number: str
    status: tuple[str, ...]
    alive: str
    cancel: tuple[str, ...]
    after: tuple[str, ...] = ()
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    start: tuple[str, ...] = ("mpirun", "-n", "{workers}")


def _flags(queue: str, account: str, time_limit: str) -> dict[str, tuple[str, ...]]:
    flags = {"queue": queue, "account": account, "time_limit": time_limit}
    return {name: tuple(words.replace("VALUE", f"{{{name}}}").split()) for name, words in flags.items()}


_PBS = BatchSystem(
    submit=("qsub", "-N", "{name}", "-o", "{out}", "-e", "{err}", "-l", "select={workers}:ncpus={threads}:mpiprocs=1"),
    options=_flags("-q VALUE", "-A VALUE", "-l walltime=VALUE"),
    number=r"^(\d+(?:\[\])?\.?\S*)\s*$",
    status=("qstat", "-f", "{job}"),
    alive=r"job_state = [BEHQRSTUW]",
    cancel=("qdel", "{job}"),
    after=("-W", "depend=afterany:{after}"),
)
SYSTEMS = {
    "pbs": _PBS,
    "torque": BatchSystem(
        submit=("qsub", "-N", "{name}", "-o", "{out}", "-e", "{err}", "-l", "nodes={workers}:ppn={threads}"),
        options=_PBS.options,
        number=_PBS.number,
        status=_PBS.status,
        alive=r"job_state = [EHQRSTW]",
        cancel=_PBS.cancel,
        after=_PBS.after,
    ),
    "lsf": BatchSystem(
        submit=("bsub", "-J", "{name}", "-o", "{out}", "-e", "{err}", "-n", "{workers}"),
        # Where affinity is not enabled (lsb.hosts), a job that asks for it waits for ever: only threads need it.
        options=_flags("-q VALUE", "-P VALUE", "-W VALUE") | {"threads": ("-R", "affinity[core({threads})]")},
        number=r"^Job <(\d+)> is submitted",
        status=("bjobs", "-noheader", "-o", "stat", "{job}"),
        alive=r"^(PEND|PROV|PSUSP|RUN|USUSP|SSUSP|WAIT|UNKWN)\b",
        cancel=("bkill", "{job}"),
        after=("-w", "ended({after})"),
    ),
    "sge": BatchSystem(
        submit=("qsub", "-terse", "-S", "/bin/bash", "-N", "{name}", "-o", "{out}", "-e", "{err}"),
        options=_flags("-q VALUE", "-P VALUE", "-l h_rt=VALUE"),
        number=r"^(\d+)",
        status=("qstat", "-j", "{job}"),
        alive=r"^job_number:",
        cancel=("qdel", "{job}"),
        after=("-hold_jid", "{after}"),
    ),
    "flux": BatchSystem(
        submit=("flux", "batch", "--job-name={name}", "--output={out}", "--error={err}",
                "-n", "{workers}", "-c", "{threads}"),
        options=_flags("--queue=VALUE", "--bank=VALUE", "--time-limit=VALUE"),
        number=r"^(\S+)\s*$",
        status=("flux", "jobs", "--no-header", "--format={{state}}", "{job}"),
        alive=r"^(NEW|DEPEND|PRIORITY|SCHED|RUN|CLEANUP)\b",
        cancel=("flux", "cancel", "{job}"),
        after=("--dependency=afterany:{after}",),
        start=("flux", "run", "-n", "{workers}", "-c", "{threads}"),
    ),
}  # fmt: skip


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
        if self.name == "template":
            return None
        program = SYSTEMS[self.name].submit[0]
        return None if shutil.which(program) else f"no {program} on the path; measure from a host that submits jobs"

    def submit(self, job: LaunchJob, settings: MeasureSettings, world: World, *, after: str | None = None) -> str:
        note = job.folder / "batch-job"
        if not note.exists():
            system = system_of(self.name, settings.launcher.batch)
            note.write_text(submitted(system, job, settings, world, after=after))
        return note.read_text().strip()

    def queue(self, number: str, settings: MeasureSettings, world: World) -> Queue:
        """The queue as it answers about one job."""
        system = system_of(self.name, settings.launcher.batch)

        def answer(words: Sequence[str]) -> tuple[int, str]:
            return world.runner.capture([fill(word, {"job": number}) for word in words], timeout=LONG_SECONDS)

        def alive() -> bool | None:
            return lives(*answer(system.status), system.alive)

        return Queue(alive, lambda: answer(system.cancel), settings.launcher.batch.poll)

    def launch(self, job: LaunchJob, settings: MeasureSettings, world: World) -> LaunchOutcome:
        number = self.submit(job, settings, world)
        late = await_code(self.queue(number, settings, world), job.folder, job, world)
        return outcome_in(job.folder, job, world, number=number, late=late)

    def pending(self, job: LaunchJob, settings: MeasureSettings, world: World) -> str | None:
        number = tail_of(job.folder / "batch-job")
        if (job.folder / "code").exists() or self.queue(number, settings, world).alive() is False:
            return None
        return "running" if (job.folder / "began").exists() else "waiting in the queue"

    def abandon(self, folder: Path, settings: MeasureSettings, world: World) -> None:
        words = system_of(self.name, settings.launcher.batch).cancel
        for note in folder.glob("*/batch-job"):
            world.runner.capture([fill(word, {"job": tail_of(note)}) for word in words], timeout=LONG_SECONDS)


def system_of(name: str, asked: BatchSettings) -> BatchSystem:
    """The commands of a batch system, those of the settings first; a template has only these."""
    if name == "template":
        lacking = [key for key in ("submit", "status", "cancel") if not getattr(asked, key)]
        if lacking:
            hint = "the launcher `template` is told all three commands"
            raise InputError([Fault("not given", where=f"launcher.batch.{key}", remedy=hint) for key in lacking])
    system = SYSTEMS.get(name, BatchSystem(submit=(), number=r"(\d[\w.\[\]-]*)", status=(), alive=r"\S", cancel=()))
    return BatchSystem(
        submit=asked.submit or system.submit,
        number=asked.number_pattern or system.number,
        status=asked.status or system.status,
        alive=asked.alive_pattern or system.alive,
        cancel=asked.cancel or system.cancel,
        after=system.after,
        options=system.options,
        start=asked.start or system.start,
    )


def submitted(
    system: BatchSystem, job: LaunchJob, settings: MeasureSettings, world: World, *, after: str | None = None
) -> str:
    """The number of a new job, which starts when job `after` has ended."""
    batch = settings.launcher.batch
    chosen: dict[str, object] = {"queue": batch.queue, "account": batch.account, "time_limit": batch.time_limit}
    chosen["threads"] = job.threads if (job.threads or 1) > 1 else None
    values: dict[str, object] = {name: value for name, value in chosen.items() if value} | {
        "workers": job.k,
        "threads": job.threads or 1,
        "name": f"scale-k{job.k}",  # Torque allows 15 characters
        "script": job.folder / "job.sh",
        "out": job.folder / "system-out",
        "err": job.folder / "system-err",
        "folder": settings.folder or Path.cwd(),
        "after": after,
    }
    start = [fill(word, values) for word in system.start]
    script = job.folder / "job.sh"
    home = f"cd {shlex.quote(str((settings.folder or Path.cwd()).absolute()))} || exit 1; hostname"
    script.write_text(job_script(job, settings, worker_env(job, settings), start, nodes=home, own_output=True))
    script.chmod(0o700)
    options = [word for name in chosen if chosen[name] for word in system.options.get(name, ())]
    words = [*system.submit, *options, *(system.after if after else ()), *batch.extra]
    if not any("{script}" in word for word in words):
        words.append("{script}")
    code, text = world.runner.capture([fill(word, values) for word in words], timeout=LONG_SECONDS)
    numbers = search([("number", system.number, text.strip())])[0]
    if code or not numbers:
        raise RunError(f"{words[0]} refused the job: {text.strip()[-400:]}")
    return numbers[0]


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
    notes = [*folder.glob("*-job"), *folder.parent.glob("slurm-job")]
    facts: dict[str, Any] = {}
    if notes and began is not None:
        facts["queued_seconds"] = round(max(0.0, began - notes[0].stat().st_mtime), 1)
    reasons = list(dict.fromkeys(tail_of(folder / PENDING).splitlines()))
    return facts | ({"pending_reasons": reasons} if reasons else {})


class Kubernetes(Launcher):
    """K pods of one indexed Job; from the first that begins to the last that ends, by the clocks of their nodes."""

    name = "kubernetes"
    reattaches = True

    def missing(self, world: World) -> str | None:
        return None if shutil.which("kubectl") else "no kubectl on the path"

    def kubectl(self, settings: MeasureSettings, world: World, *words: str) -> tuple[int, str]:
        space = settings.launcher.batch.namespace
        named = [f"--namespace={space}"] if space else []
        return world.runner.capture(["kubectl", *named, *words], timeout=LONG_SECONDS)

    def submit(self, job: LaunchJob, settings: MeasureSettings, world: World, *, after: str | None = None) -> str:
        """The name of a new Job; Kubernetes has no word for one that waits for another."""
        if not settings.launcher.batch.image:
            hint = "the pods need an image that holds the program"
            raise InputError(Fault("no image is given", where="launcher.batch.image", remedy=hint))
        note = job.folder / "batch-job"
        if not note.exists():
            manifest = job.folder / "job.json"
            manifest.write_text(json.dumps(manifest_of(job, settings)))
            code, text = self.kubectl(settings, world, "create", "-f", str(manifest), "-o", "name")
            if code:
                raise RunError(f"kubectl refused the job: {text.strip()[-400:]}")
            note.write_text(text.strip().rpartition("/")[2])
        return note.read_text().strip()

    def pending(self, job: LaunchJob, settings: MeasureSettings, world: World) -> str | None:
        name = tail_of(job.folder / "batch-job")
        words = ("get", f"job/{name}", "-o", "jsonpath={.status.conditions[*].type}")
        code, text = self.kubectl(settings, world, *words)
        return None if re.search(r"\b(Complete|Failed)\b", text) or lives(code, text, "") is False else "not complete"

    def launch(self, job: LaunchJob, settings: MeasureSettings, world: World) -> LaunchOutcome:
        batch = settings.launcher.batch
        name = self.submit(job, settings, world)

        def kubectl(*words: str) -> tuple[int, str]:
            return self.kubectl(settings, world, *words)

        def logs() -> str:
            _, text = kubectl("logs", f"--selector=job-name={name}", "--tail=-1", f"--max-log-requests={job.k}")
            return text

        def alive() -> bool | None:
            code, text = kubectl("get", f"job/{name}", "-o", "jsonpath={.status.conditions[*].type}")
            began = [float(match[3]) for match in _POD_LINE.finditer(logs())] if job.timeout else []
            if began:
                (job.folder / "began").write_text(str(min(began)))
            if re.search(r"\b(Complete|Failed)\b", text):
                (job.folder / "code").touch()  # nothing more will come: the logs say how each pod ended
            return lives(code, text, "")

        def cancel() -> object:
            return kubectl("delete", f"job/{name}", "--wait=false", "--ignore-not-found")

        late = await_code(Queue(alive, cancel, batch.poll), job.folder, job, world)
        text = logs()
        cancel()  # what it printed is here: leave nothing in the cluster
        return outcome_of_pods(text, job, name=name, late=late, now=world.clock.unix())

    def abandon(self, folder: Path, settings: MeasureSettings, world: World) -> None:
        space = settings.launcher.batch.namespace
        for note in folder.glob("*/batch-job"):
            words = ["delete", f"job/{tail_of(note)}", "--wait=false", "--ignore-not-found"]
            words += [f"--namespace={space}"] if space else []
            world.runner.capture(["kubectl", *words], timeout=LONG_SECONDS)


def manifest_of(job: LaunchJob, settings: MeasureSettings) -> dict[str, object]:
    """The Job of a launch: K indexed pods that start together and are not tried again."""
    env = {**worker_env(job, settings), "SCALECURVE_SIZE": str(job.k)}
    script = "\n".join([*settings.launcher.prologue, _POD_SCRIPT])
    pod = {
        "name": "worker",
        "image": settings.launcher.batch.image,
        "command": ["/bin/sh", "-c", script, "sh", *arguments(job, settings)],
        "env": [{"name": name, "value": value} for name, value in sorted(env.items()) if name != "SCALECURVE_PROBE"],
        "resources": {"requests": {"cpu": str(job.threads or 1)}},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"scalecurve-{job.token[:16]}", "labels": {"app": "scalecurve"}},
        "spec": {
            "completions": job.k,
            "parallelism": job.k,
            "completionMode": "Indexed",
            "backoffLimit": 0,
            "template": {"spec": {"restartPolicy": "Never", "containers": [pod]}},
        },
    }


def outcome_of_pods(text: str, job: LaunchJob, *, name: str, late: bool, now: float) -> LaunchOutcome:
    """How K pods ended, from the lines that each of them printed."""
    lines = list(_POD_LINE.finditer(text))
    began = [float(line[3]) for line in lines if line[1] == "began"]
    ended = [float(line[3]) for line in lines if line[1] == "ended"]
    bad = next((line for line in lines if line[1] == "ended" and line[4] != "0"), None)
    output = _POD_LINE.sub("", text)
    status, error = RunStatus.OK, None
    if late:
        status, error = RunStatus.TIMEOUT, f"no end after {job.timeout:g} s; job {name} was deleted"
    elif bad is not None:
        status, error = RunStatus.FAILED, f"pod {bad[2]} of {name} ended with exit code {bad[4]}\n{output[-2000:]}"
    elif len(ended) != job.k:
        status, error = RunStatus.FAILED, f"{len(ended)} of {job.k} pods of {name} ended\n{output[-2000:]}"
    return LaunchOutcome(
        status=status,
        launched=min(began, default=now),
        wall_seconds=max(ended) - min(began) if began and ended else None,
        error=error,
        output=output,
        observed={"batch_job": name},
        placement=Placement(ranks=job.k, threads_per_rank=job.threads),
    )
