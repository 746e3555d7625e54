"""Whether a job ran at size K or K times at size 1, from everything that a launch shows of it.

A launcher that does not belong to the job's library starts K copies with exit code 0, and their times look like a curve
that does not scale.  Signs, by what is there: the probe's sizes, the size pattern, the banner of a known program, the
MPI library that the job loads beside the one that starts it, the time printed once or the output K times over, and
T(K) = T(1) with K times the CPU time.
"""

from __future__ import annotations

import re
import shutil
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from scalecurve.errors import RunError
from scalecurve.measurement.guard import BUSY_CORES, is_disturbed
from scalecurve.measurement.ports import LaunchJob, LaunchOutcome, Runner, World
from scalecurve.measurement.settings import MeasureSettings
from scalecurve.measurement.starvation import cpu_within
from scalecurve.measurement.worker_site import (
    MpiLibrary,
    library_in_errors,
    library_in_files,
    library_of_starter,
    program_and_library,
    starter_in,
    starters_of,
    words_of,
)
from scalecurve.study import Regime, Run, RunStatus
from scalecurve.study.run import SCALING

LONGEST = 4_000_000
"""Banners stand near the beginning or the end of an output: this many characters of each are read."""


@dataclass(frozen=True)
class Banner:
    """A line about the number of processes: whose it is (None: some program's) and the numbers of all its matches."""

    program: str | None
    sizes: tuple[int, ...]


@cache
def banner_words() -> dict[str, Any]:
    """The patterns of banners.toml."""
    return tomllib.loads(files("scalecurve.measurement").joinpath("banners.toml").read_text(encoding="utf-8"))


def banners_in(output: str) -> Iterator[Banner]:
    """Every banner in an output, those of known programs first."""
    text = output if len(output) <= 2 * LONGEST else output[:LONGEST] + "\n" + output[-LONGEST:]
    words = banner_words()
    rows = [(program, f"(?m){pattern}") for program, pattern in words["named"] + words["alone"]]
    for program, pattern in [*rows, *((None, f"(?i){pattern}") for pattern in words["common"])]:
        sizes = re.findall(pattern, text)  # a build without MPI names no number, or none that counts
        if sizes:
            yield Banner(program, tuple(int(size) if size.isdecimal() else 1 for size in sizes))


SAME_TIME = 0.9
"""T(K) above this share of T(1) is no faster, within the noise of two launches."""
SAME_CPU = 0.8
"""Copies use K times the CPU time of one; this share of it leaves room for noise."""
LEAST_CPU_SECONDS = 0.2
"""Below it the start of a process is most of its CPU time, and that is K-fold in any job."""
WAY_OUT = (
    "name the number of workers that the job prints with --size-pattern, use scalecurve.probe, or accept it as it is "
    "with --size-check off, which marks the study"
)


class SizeRefused(RunError):
    """The job does not run at size K, so that a sweep would measure K copies."""


class SizeVerdict(StrEnum):
    """What the signs say together."""

    SHOWN = "shown"
    CONTRADICTED = "contradicted"
    DOUBTFUL = "doubtful"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class SizeSign:
    """One sign.  `direct`: the job itself says its size; other signs are outweighed by it."""

    agrees: bool
    direct: bool
    text: str


@dataclass(frozen=True)
class Starter:
    """What starts the ranks of a job, and the MPI library it belongs to, where both are known."""

    program: str
    library: MpiLibrary | None


def judge(signs: Sequence[SizeSign]) -> SizeVerdict:
    """Direct signs decide; indirect ones count where no direct one is there."""
    direct = [sign for sign in signs if sign.direct] or list(signs)
    kinds = {sign.agrees for sign in direct}
    if len(kinds) == 2:
        return SizeVerdict.DOUBTFUL
    if not kinds:
        return SizeVerdict.UNKNOWN
    return SizeVerdict.SHOWN if kinds == {True} else SizeVerdict.CONTRADICTED


def needs_evidence(settings: MeasureSettings, job: LaunchJob, outcome: LaunchOutcome | None = None) -> bool:
    """Whether K separate processes form the job: one command that is told K has no size to check.

    A command whose processes show that an mpirun is behind it has one: `outcome` tells.  Under weak scaling K processes
    of this launcher's own may be copies: each brings its own work.
    """
    if job.role != SCALING or job.k < 2 or settings.launcher.name in ("ray", "dask"):
        return False
    if settings.launcher.name == "ssh" or settings.launcher.mode == "processes":
        return settings.regime is not Regime.WEAK
    if settings.launcher.name != "local":
        return True
    hidden = outcome is not None and bool(outcome.observed.get("mpi_starter") and outcome.observed.get("mpi_libraries"))
    return hidden or starter_in(words_of(job.argv, shell=settings.shell)) is not None


def starter_of(
    settings: MeasureSettings, job: LaunchJob, runner: Runner, outcome: LaunchOutcome | None = None
) -> Starter | None:
    """The mpirun, mpiexec or srun of a launch, also behind a script; None where plain processes are started."""
    launcher = settings.launcher
    program: str | None
    if launcher.name == "mpi":
        from scalecurve.measurement.launchers.direct import starting_program

        program = starting_program(settings)
    elif launcher.name == "slurm":
        program = starter_in(launcher.slurm.launch) or "srun"
    elif launcher.name in ("local", "torchrun", "ssh"):
        program = starter_in(words_of(job.argv, shell=settings.shell))
        if program is None and outcome is not None:
            program = outcome.observed.get("mpi_starter")
    else:  # the mpirun of a node, which this host cannot ask
        program = None
    if program is None:
        return None
    return Starter(program, None if Path(program).name == "srun" else library_of_starter(program, runner))


def refuse_wrong_pair(settings: MeasureSettings, job: LaunchJob, world: World) -> None:
    """Before the first launch: the library that the job links against must be that of its mpirun.

    A size pattern is better evidence, so it is waited for.
    """
    if not needs_evidence(settings, job) or settings.launcher.size_check == "off" or settings.launcher.size_pattern:
        return
    starter = starter_of(settings, job, world.runner)
    if starter is None:
        return
    words = words_of(job.argv, shell=settings.shell)
    program, library = program_and_library(
        [word for word in words if word != starter.program], settings.folder, world.runner
    )
    if program is None or library is None:
        return
    if starter.library is not None and not starter.library.pairs_with(library):
        raise SizeRefused(pair_sentence(starter, program, library, job, settings, world.runner))
    if starter.program == "srun" and not settings.launcher.slurm.mpi and default_pmi(world.runner) == "none":
        raise SizeRefused(
            f"srun starts {job.k} jobs of size 1: {program} uses {library}, and without --mpi this Slurm offers no "
            "process management (MpiDefault = none); choose one that `srun --mpi=list` names with --srun-mpi, such as "
            "pmi2 or pmix"
        )


def default_pmi(runner: Runner) -> str | None:
    """The MpiDefault of this Slurm; None where it does not say."""
    code, text = runner.capture(["scontrol", "show", "config"])
    value = re.search(r"^MpiDefault\s*=\s*(\S+)", text, re.MULTILINE) if code == 0 else None
    return value[1] if value else None


def pair_sentence(
    starter: Starter, program: str, library: MpiLibrary, job: LaunchJob, settings: MeasureSettings, runner: Runner
) -> str:
    """The refusal of a launcher and a program of two libraries, with the launcher that would do."""
    other = next(iter(starters_of(library, runner)), f"the mpirun of {library.name}")
    choice = f"--mpirun {other}" if settings.launcher.name == "mpi" else f"{other} instead of {starter.program}"
    return (
        f"{starter.program} ({starter.library}) does not belong to the MPI library of {program} ({library}): together "
        f"they do not make one job of size {job.k}; choose {choice}; if they do, {WAY_OUT}"
    )


def library_signs(
    settings: MeasureSettings, job: LaunchJob, run: Run, outcome: LaunchOutcome, runner: Runner
) -> Iterator[SizeSign]:
    """The library that the workers report or have in memory, or else that of the program, beside that of its mpirun."""
    starter = starter_of(settings, job, runner, outcome)
    if starter is None or starter.library is None:
        return
    words = words_of(job.argv, shell=settings.shell)
    rest = [word for word in words if word != starter.program]
    here = settings.folder or Path.cwd()
    program: str | None = next((word for word in rest if shutil.which(word) or (here / word).is_file()), "the job")
    library = library_in_files(run.observed.get("mpi_libraries", ()))
    if library is None and outcome.status is RunStatus.FAILED:
        library = library_in_errors(f"{outcome.output}\n{outcome.errors}\n{outcome.error}", starter.library)
    if library is None:
        program, library = program_and_library(rest, settings.folder, runner)
    if library is None or program is None:
        return
    if starter.library.pairs_with(library):
        yield SizeSign(True, False, f"{starter.program} and {program} both use {library.name}")
    else:
        yield SizeSign(False, False, pair_sentence(starter, program, library, job, settings, runner))


def size_signs(sizes: Iterable[int | None], pattern_size: float | None, job: LaunchJob, text: str) -> list[SizeSign]:
    """What the job itself says: the sizes that its workers reported, the size pattern, banners in its output."""
    reported = [size for size in sizes if size is not None]
    signs = []
    if reported:
        listed = sorted(set(reported))
        what = f"{len(reported)} jobs of size 1 ran" if listed == [1] else f"the workers report size {listed}"
        signs.append(SizeSign(listed == [job.k] and len(reported) == job.k, True, f"{what} (probe)"))
    if pattern_size is not None:
        signs.append(SizeSign(pattern_size == job.k, True, f"the job says it had {pattern_size:g} (size pattern)"))
    if not signs and text:
        signs = list(banner_signs(job, text))
    return signs


def banner_signs(job: LaunchJob, text: str) -> Iterator[SizeSign]:
    for banner in banners_in(text):
        sizes = sorted(set(banner.sizes))
        whose = banner.program or "the job"
        if sizes == [job.k]:
            yield SizeSign(True, True, f"{whose} says that it ran on {job.k} processes")
        elif banner.program is not None:
            copies = f"{len(banner.sizes)} times " if len(banner.sizes) > 1 else ""
            listed = ", ".join(str(size) for size in sizes)
            yield SizeSign(False, True, f"{whose} says {copies}that it ran on {listed}, not {job.k} processes")
        elif sizes == [1] and len(banner.sizes) % job.k == 0:
            yield SizeSign(False, True, f"the output says {len(banner.sizes)} times that it ran on 1 process")


def copy_signs(
    run: Run, alone: Run | None, lines: Counter[str], lines_alone: Counter[str] | None, *, strong: bool
) -> list[SizeSign]:
    """Signs that K copies of the whole job ran: what K = 1 prints, K times over, or K times its CPU time in its time.

    In weak scaling equal times and K times the CPU time are what a good job has, so only what it prints counts there.
    """
    signs: list[SizeSign] = []
    if run.value is None or alone is None:
        return signs
    k, seconds, before = run.k, _seconds(run), _seconds(alone)
    faster = seconds is not None and before is not None and seconds <= SAME_TIME * before
    if strong and faster:
        return signs
    matches, matches_alone = run.observed.get("time_matches", 0), alone.observed.get("time_matches", 0)
    if matches_alone and matches == k * matches_alone:
        often = "once" if matches_alone == 1 else f"{matches_alone} times"
        signs.append(SizeSign(False, False, f"it prints its time {matches} times, and {often} at K = 1"))
    elif lines_alone and lines == Counter({line: k * count for line, count in lines_alone.items()}):
        signs.append(SizeSign(False, False, f"every line of its output is there {k} times as often as at K = 1"))
    cpu, cpu_alone = cpu_within(run), cpu_within(alone)  # imports and set-up cost K times as much in any job
    crowded = any(is_disturbed(one, BUSY_CORES) for one in (run, alone))  # others may have taken the cores of K
    if (
        strong
        and seconds
        and before
        and cpu_alone >= LEAST_CPU_SECONDS
        and cpu >= SAME_CPU * k * cpu_alone
        and not crowded
    ):
        text = f"T({k}) is {seconds / before:.2f} T(1), with {cpu / cpu_alone:.1f} times its CPU time"
        signs.append(SizeSign(False, False, text))
    return signs


def _seconds(run: Run) -> float | None:
    """T, or the wall time where the value of a run is a rate."""
    return run.wall_seconds if run.observed.get("timing") == "rate" else run.value


def shape_of(text: str) -> Counter[str]:
    """The lines of an output without their numbers, counted; empty for an output that is too long to compare."""
    if len(text) > 1_000_000:
        return Counter()
    return Counter(
        re.sub(r"[\d.]+(?:[eEdD][+-]?\d+)?", "#", line.strip()) for line in text.splitlines() if line.strip()
    )


@dataclass
class SizeCheck:
    """The evidence of a sweep, launch by launch; K = 1 is remembered, so that later launches can be held against it."""

    settings: MeasureSettings
    world: World
    asked: bool = False
    passed: bool = False
    alone: Run | None = None
    lines_alone: Counter[str] | None = None
    libraries: tuple[SizeSign, ...] | None = None

    def before(self, job: LaunchJob) -> None:
        """Refuse a pair that cannot work, before the first launch at any K."""
        if not self.asked:
            self.asked = True
            refuse_wrong_pair(self.settings, replace(job, k=max(self.settings.workers), role=SCALING), self.world)

    def after(self, job: LaunchJob, run: Run, outcome: LaunchOutcome, said: Sequence[SizeSign]) -> Run:
        """The run with the verdict on its size; `said` is what the job itself told.

        Raises SizeRefused where the first launch with several workers did not run at size K; a later one only fails.
        """
        if job.role == SCALING and job.k == 1 and run.value is not None:
            self.alone, self.lines_alone = run, shape_of(outcome.output)
        if not said and not needs_evidence(self.settings, job, outcome):
            return run
        signs = list(said) or self._indirect(job, run, outcome)
        verdict = judge(signs)
        against = [sign.text for sign in signs if not sign.agrees]
        if verdict is not SizeVerdict.CONTRADICTED or self.settings.launcher.size_check == "off":
            self.passed = self.passed or (job.k > 1 and verdict is SizeVerdict.SHOWN and run.value is not None)
            why = "; ".join(dict.fromkeys(against or [sign.text for sign in signs]))
            return replace(run, observed={**run.observed, "size_verdict": str(verdict), "size_evidence": why})
        # A launcher and a job of two MPI libraries would explain the wrong size.
        libraries = library_signs(self.settings, job, run, outcome, self.world.runner)
        reasons = [*against, *(sign.text for sign in libraries if not sign.agrees)]
        sentence = refusal(job.k, reasons, self.settings.launcher.name)
        if not self.passed:
            raise SizeRefused(sentence)
        return replace(run, status=RunStatus.FAILED, value=None, error=sentence)

    def _indirect(self, job: LaunchJob, run: Run, outcome: LaunchOutcome) -> list[SizeSign]:
        if self.libraries is None or run.observed.get("mpi_libraries"):
            self.libraries = tuple(library_signs(self.settings, job, run, outcome, self.world.runner))
        strong = self.settings.regime is Regime.STRONG
        copies = copy_signs(run, self.alone, shape_of(outcome.output), self.lines_alone, strong=strong)
        if any(sign.agrees for sign in self.libraries) and len(copies) < 2:
            copies = []  # one such sign alone is what a job that does not scale, or whose ranks all print, leaves too
        return [*self.libraries, *copies, *self._one_voice(run)]

    def _one_voice(self, run: Run) -> Iterator[SizeSign]:
        """A sign of one job: K processes print the time as often as one does; K copies would each print it."""
        often = run.observed.get("time_matches", 0)
        together = set(self.settings.timing.read_from) <= {"stdout", "stderr"}  # copies write over each other's files
        if often and together and self.alone is not None and often == self.alone.observed.get("time_matches"):
            yield SizeSign(True, False, f"{run.k} processes print their time as often as one does")


PAIRING = "the launcher and the job's communication library do not belong together, or the job is not a parallel one"
CHOICES = {
    "mpi": f"{PAIRING}: choose --mpirun PROGRAM",
    "slurm": f"{PAIRING}: choose --srun-mpi TYPE",
    "local": "a program that takes its number of workers needs no --processes: tell it {workers}",
}
"""What to do by launcher."""


def refusal(k: int, against: Sequence[str], launcher: str) -> str:
    """Why the job did not run at size K, and what to do."""
    pair = next((text for text in against if "does not belong to the MPI library" in text), None)
    if pair is not None:
        return pair
    return (
        f"{k} workers were asked for, but the job did not run at size {k}: {'; '.join(against)}; "
        f"{CHOICES.get(launcher, PAIRING)}; otherwise {WAY_OUT}"
    )
