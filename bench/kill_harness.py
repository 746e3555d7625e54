"""Kills measurements at random moments and counts what is lost or left: `python -m bench.kill_harness --kills 500`.

Every trial measures a job that hides (no environment, own session, two forks), kills the tool, its watchdog or both,
and then resumes.  Counted are runs that were reported and are not on the disk, runs that the resumed study does not
hold, studies that `load` refuses at a moment when runs are on the disk (sampled before and after the kill),
processes that outlive the tool, and files left behind.  With Slurm, `--submit` and `--collect` are killed too.  A run
may be made in parts: `--figures` keeps the counts of a part, `--sum` adds them up.  `--record`
writes the figures to bench/reliability.json, from which docs/reliability.md is made.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.reliability import add_options, figures_of, record, runs_of
from scalecurve.cli.main import run
from scalecurve.errors import ScalecurveError
from scalecurve.formats.loading import load
from scalecurve.study.file import read_study

KINDS = ("lost", "unreadable", "orphans", "leftovers", "hang", "resume", "preparation")
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
PATIENCE_SECONDS = 30.0
HIDING = "(setsid env -i sh -c '(env -i sleep {mark} &)' > /dev/null 2>&1 &); env -i sleep 0.02"
"""A job of some 30 ms that leaves a daemon behind, which nothing but its ancestry ties to the job."""
QUICK = "(setsid env -i sh -c '(env -i sleep {mark} &)' > /dev/null 2>&1 &); :"
"""The same in a few milliseconds: such launches are made at once and read afterwards."""
RANK = "env -i sh -c 'sleep 0.1; :' {mark}"
"""A rank of MPI: mpirun itself waits for whatever keeps the connections of a rank open, so it leaves nothing behind."""
FUNCTION = """
import subprocess, time

def work(rank, size, mark):
    subprocess.Popen(["env", "-i", "sleep", mark], start_new_session=True)
    time.sleep(0.05)
"""
SCENARIOS = ("measure", "resume", "extend", "setup", "launch", "watchdog", "both", "early")
QUEUED = ("submit", "collect")
"""`launch`: at a launch.  `both`: the tool and its watchdog at once.  `early`: before any run is complete."""
LAUNCHERS = {
    "local": (),
    "short": (),
    "mpi": ("--launcher", "mpi", "--size-check", "off"),
    "slurm": ("--launcher", "slurm", "--size-check", "off"),
    "ray": ("--launcher", "ray"),
    "dask": ("--launcher", "dask"),
}


@dataclass(frozen=True)
class Trial:
    """One kill: what was under way, by which launcher, and the random numbers that choose the signal and the moment."""

    scenario: str
    launcher: str
    folder: Path
    mark: str
    chance: random.Random

    @property
    def out(self) -> Path:
        return self.folder / "s.json"

    def words(self, repeats: int, *more: str) -> list[str]:
        """The command line of a measurement."""
        words = ["measure", "--regime", "strong", "--workers", "1,2", "--oversubscribe", "--quiet-below", "1000"]
        words += ["--repeats", str(repeats), "--warmup-launches", "0", "-o", str(self.out), *LAUNCHERS[self.launcher]]
        if self.scenario == "setup":
            words += ["--setup-command", f'/bin/sh -c "{HIDING.format(mark=self.mark)}"']
        if self.launcher in ("ray", "dask"):
            return [*words, *more, "--", "kill_job:work", self.mark]
        if self.launcher == "slurm":  # what a step leaves on a node is Slurm's to end; its jobs are ours
            return [*words, *more, "--", "/bin/sh", "-c", "sleep 0.1", self.mark, "{workers}"]
        job = {"mpi": RANK, "short": QUICK}.get(self.launcher, HIDING)
        return [*words, *more, "--", "/bin/sh", "-c", job.format(mark=self.mark), "job", "{workers}"]

    def start(self, words: list[str], log: str) -> int:
        """Start a measurement in a child of this process, so that nothing has to be imported again."""
        (self.folder / log).touch()
        pid = os.fork()
        if pid:
            return pid
        os.setsid()
        os.chdir(self.folder)
        handle = os.open(self.folder / log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        code = 70
        try:
            code = run(words)
            sys.stderr.flush()
        finally:
            os._exit(code)

    def runs_on_disk(self) -> list[dict[str, Any]]:
        """The runs of the journal, or else of the study file."""
        journal = self.out.with_name("s.json.work") / "journal.jsonl"
        if journal.exists():
            whole = journal.read_bytes().rpartition(b"\n")[0]
            return [line["run"] for text in whole.splitlines() if "run" in (line := json.loads(text))]
        if self.out.exists():
            return [vars(run) for run in read_study(self.out).runs]
        return []


def ended(pid: int, seconds: float = 600.0) -> int | None:
    """The exit code of a child, waited for; None when it does not end."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def with_word(word: str) -> list[int]:
    """Living processes with that word in their command line."""
    pids = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                text = Path(f"/proc/{name}/cmdline").read_bytes()
            except OSError:
                continue
            if word.encode() in text.split(b"\0"):
                pids.append(int(name))
    return pids


def awaited(condition: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


def faults_of(trial: Trial) -> Iterator[str]:
    """Kill once and say what went wrong; nothing when all is well."""
    repeats = 24 if trial.launcher == "short" else 4
    if trial.launcher in ("ray", "dask"):
        (trial.folder / "kill_job.py").write_text(FUNCTION)
        repeats = 2 if trial.launcher == "dask" else 1
    first = trial.words(repeats, *(["--submit"] if trial.scenario == "submit" else ()))
    if trial.scenario == "collect":
        if (code := ended(trial.start(trial.words(repeats, "--submit"), "before.log"))) != 0:
            yield f"preparation: exit code {code}"
        first = ["measure", "--collect", str(trial.out)]
    if trial.scenario in ("resume", "extend"):
        repeats = max(2, repeats)
        code = ended(trial.start(trial.words(repeats // 2), "before.log"))
        if code not in (0, 1):
            yield f"preparation: exit code {code}"
        first = trial.words(repeats, "--resume")
    before = trial.runs_on_disk()
    tool = trial.start(first, "killed.log")
    targets, number = aim(trial, tool)
    yield from unreadable(trial)
    for target in targets:
        with suppress(ProcessLookupError):
            os.kill(target, number)
    code = ended(tool)
    if code is None:
        yield f"hang: the tool did not end after {signal.Signals(number).name}"
    if trial.scenario == "watchdog" and code == 2 and not trial.out.exists():
        yield "lost: no study after the watchdog was killed"
    yield from unreadable(trial)
    yield from losses(trial, before)
    yield from faults_after_resuming(trial, repeats)


def unreadable(trial: Trial) -> Iterator[str]:
    """Whether the study cannot be read at this moment although it holds a time."""
    if not any(run.get("value") is not None for run in trial.runs_on_disk()):
        return
    try:
        load(trial.out)
    except ScalecurveError as problem:
        if any(run.get("value") is not None for run in trial.runs_on_disk()):  # not removed meanwhile by its owner
            yield f"unreadable: {problem}"


def collected(trial: Trial, repeats: int) -> int | None:
    """Submit what is missing and collect until no job is left; the exit code of the last."""
    code = ended(trial.start(trial.words(repeats, "--submit", "--resume"), "after.log"))
    deadline = time.monotonic() + 4 * PATIENCE_SECONDS
    while trial.out.with_name("s.json.work").exists() and time.monotonic() < deadline:
        time.sleep(1.0)
        code = ended(trial.start(["measure", "--collect", str(trial.out)], "after.log"))
    return code


def faults_after_resuming(trial: Trial, repeats: int) -> Iterator[str]:
    """Resume, and say which saved runs the study lacks, and which processes, jobs and files are left."""
    saved = trial.runs_on_disk()
    again = "--resume" if saved or trial.chance.random() < 0.5 else "--force"
    if trial.scenario in QUEUED:
        code = collected(trial, repeats)
    else:
        code = ended(trial.start(trial.words(repeats, again), "after.log"))
    for _ in range(3):  # an engine that does not start on a loaded machine fails a launch: do what the finding says
        if "[failed-runs]" not in (trial.folder / "after.log").read_text():
            break
        code = ended(trial.start(trial.words(repeats, "--resume"), "after.log"))
    if code not in (0, 1):
        yield f"resume: exit code {code}: {(trial.folder / 'after.log').read_text()[-300:]}"
        return
    kept = {(run["k"], run["repeat"], run["wall_seconds"]) for run in trial.runs_on_disk()}
    lost = [one for one in saved if (one["k"], one["repeat"], one["wall_seconds"]) not in kept]
    if lost:
        yield f"lost: {len(lost)} runs in the resumed study"
    if not awaited(lambda: not with_word(trial.mark)):
        yield f"orphans: {with_word(trial.mark)} after the resumed measurement"
    if trial.launcher == "slurm" and not awaited(lambda: not queued()):
        yield f"orphans: jobs {queued()}"
    extra = sorted(path.name for path in trial.folder.iterdir() if path.name not in EXPECTED)
    if extra:
        yield f"leftovers: {extra}"


def queued() -> list[str]:
    """The jobs of the Slurm cluster under test."""
    done = subprocess.run(["squeue", "--noheader", "--format=%i"], capture_output=True, text=True)
    return done.stdout.split()


EXPECTED = {"s.json", "before.log", "killed.log", "after.log", "kill_job.py", "__pycache__"}


def aim(trial: Trial, tool: int) -> tuple[list[int], int]:
    """Whom to kill with which signal, after waiting for a random moment; nobody when the tool ended before it."""
    chance = trial.chance
    number = chance.choice(SIGNALS)
    journal = trial.out.with_name("s.json.work") / "journal.jsonl"

    def begun() -> int:
        try:
            return journal.read_bytes().count(b'{"begin"')
        except OSError:
            return 0

    def over() -> bool:
        return bool(os.waitid(os.P_PID, tool, os.WEXITED | os.WNOHANG | os.WNOWAIT))

    def dogs() -> list[int]:
        return [pid for pid in with_word(str(tool)) if pid != tool]

    longest = {"local": 2.5, "short": 2.5, "mpi": 4.0, "slurm": 8.0, "ray": 12.0, "dask": 8.0}[trial.launcher]
    if trial.scenario in ("launch", "watchdog", "both", "early"):
        wanted = begun() + (1 if trial.scenario == "early" else chance.randint(1, 3))
        awaited(lambda: begun() >= wanted or over())
        time.sleep(chance.uniform(0.0, 0.006 if trial.scenario == "launch" else 0.05))
        number = signal.SIGKILL if trial.scenario != "early" else number
    else:
        deadline = time.monotonic() + chance.uniform(0.0, longest)
        awaited(lambda: time.monotonic() >= deadline or over(), longest)
    targets = {"watchdog": dogs, "both": lambda: [*dogs(), tool]}.get(trial.scenario, lambda: [tool])
    return ([] if over() else targets()), number


def losses(trial: Trial, before: list[dict[str, Any]]) -> Iterator[str]:
    """What a kill lost or left, before anything is resumed."""
    log = trial.folder / "killed.log"
    reported = len(re.findall(r"^\[ *\d+/\d+\].*T = ", log.read_text(errors="replace"), re.MULTILINE))
    saved = trial.runs_on_disk()
    fresh = [run for run in saved if run.get("value") is not None]
    old = [run for run in before if run.get("value") is not None]
    if len(fresh) < len(old) + reported:
        yield f"lost: {reported} runs were reported, {len(fresh) - len(old)} are on the disk"
    alone = trial.scenario == "both"  # nobody was left to end the job: the next start ends it
    if trial.launcher != "slurm" and not alone and not awaited(lambda: not with_word(trial.mark)):
        yield f"orphans: {with_word(trial.mark)}"


def kill_often(launcher: str, kills: int, chance: random.Random, minutes: float) -> tuple[Counter[str], Counter[str]]:
    """How many kills of each scenario were tried in so many minutes, and how many faults of each kind there were."""
    tried, faults = Counter[str](), Counter[str]()
    deadline = time.monotonic() + 60 * minutes
    for number in range(kills):
        if time.monotonic() > deadline:
            break
        scenarios = (*SCENARIOS, *QUEUED) if launcher == "slurm" else SCENARIOS
        scenario = scenarios[number % len(scenarios)]
        folder = Path(tempfile.mkdtemp(prefix="kill-"))
        trial = Trial(scenario, launcher, folder, f"{5000 + random.SystemRandom().random():.9f}", chance)
        problems = list(faults_of(trial))
        tried[scenario] += 1
        for problem in problems:
            faults[problem.partition(":")[0]] += 1
            print(f"{scenario} {number}: {problem} ({folder})", flush=True)
        if not problems:
            shutil.rmtree(folder, ignore_errors=True)
    return tried, faults


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--launcher", choices=tuple(LAUNCHERS), default="local")
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no further kill after this long")
    add_options(parser)
    options = parser.parse_args()
    if options.launcher == "slurm" and options.sum is None:
        from tests.testbed.slurm_cluster import slurm_cluster

        with slurm_cluster() as env:
            os.environ.update(env)
            return kill_and_count(options)
    return kill_and_count(options)


def kill_and_count(options: argparse.Namespace) -> int:
    """Kill as often as asked, in parallel, print the counts and record them; 1 when anything failed."""
    figures = figures_of(options, lambda: kill_in_parallel(options))
    tried = ", ".join(f"{name} {count}" for name, count in figures["scenarios"].items())
    print(f"{options.launcher}: {figures['tried']} kills ({tried})")
    print(", ".join(f"{kind} {count}" for kind, count in figures["figures"].items()))
    if options.record:
        command = f"python -m bench.kill_harness --launcher {options.launcher} --kills {figures['tried']}"
        entry = {
            "what": f"kills of measurements by {options.launcher}: {tried}",
            "asked": "reported runs lost 0, orphans 0, leftovers 0",
            **{name: figures[name] for name in ("tried", "failed", "figures")},
        }
        record(f"kills, {options.launcher}", entry, command + runs_of(options))
    return 1 if figures["failed"] else 0


def kill_in_parallel(options: argparse.Namespace) -> dict[str, Any]:
    """The kills of each scenario and the faults of each kind."""
    share = -(-options.kills // options.parallel)
    pipes = [os.pipe() for _ in range(options.parallel)]
    for number, (_, write) in enumerate(pipes):
        if os.fork() == 0:
            chance = random.Random(f"{options.seed}:{number}")
            counts = kill_often(options.launcher, share, chance, options.minutes)
            os.write(write, json.dumps(counts).encode())
            os._exit(0)
        os.close(write)
    tried, faults = Counter[str](), Counter[str]()
    for read, _ in pipes:
        with os.fdopen(read) as file:
            some, wrong = json.load(file)
        tried.update(some)
        faults.update(wrong)
    return {
        "tried": tried.total(),
        "failed": faults.total(),
        "scenarios": dict(tried),
        "figures": {kind: faults[kind] for kind in KINDS},
    }


if __name__ == "__main__":
    sys.exit(main())
