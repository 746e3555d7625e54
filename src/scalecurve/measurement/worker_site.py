"""Where the workers run: the machine, the program, its libraries, and the MPI of the program and of its launcher.

One script for sh says it, so that a batch job can run it on its own node, where this package need not be installed.
"""

from __future__ import annotations

import mmap
import os
import re
import shlex
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from scalecurve.measurement.observation import MPI_LIBRARY
from scalecurve.measurement.ports import LaunchJob, Runner, World
from scalecurve.measurement.settings import MeasureSettings

STARTERS = (
    "mpirun", "mpiexec", "mpirun.openmpi", "mpiexec.openmpi", "mpirun.mpich", "mpiexec.mpich", "mpiexec.hydra",
    "orterun", "prterun",
)  # fmt: skip
SHELLS = ("sh", "bash", "dash", "zsh", "ksh")
BUILTINS = (
    "cd", "export", "set", "unset", "ulimit", "umask", "module", "source", ".", "trap", "for", "while", "until", "if",
    "echo", "printf", "test", "[", ":", "done", "fi", "mkdir", "rm",
)  # fmt: skip
"""What a shell does before the program that counts."""
WRAPPERS = (
    "env", "nice", "ionice", "time", "taskset", "numactl", "timeout", "stdbuf", "setsid", "nohup", "chrt", "exec",
    "command", "catchsegv", "unbuffer",
)  # fmt: skip
# Words of `mpirun --version`, most telling first.
_VERSION_WORDS = (
    ("Open MPI", "Open MPI"), ("OpenRTE", "Open MPI"), ("PRRTE", "Open MPI"), ("Intel(R) MPI", "Intel MPI"),
    ("MVAPICH", "MVAPICH"), ("HYDRA", "MPICH"),
)  # fmt: skip
# Text that only the library of this name holds.
_INSIDE = (
    (b"Intel(R) MPI Library", "Intel MPI"), (b"MVAPICH", "MVAPICH"), (b"CRAY MPICH", "Cray MPICH"),
    (b"MPICH Version", "MPICH"), (b"Open MPI v", "Open MPI"), (b"OMPI_", "Open MPI"),
)  # fmt: skip
OPEN_MPI = "Open MPI"
# Names inside a library that it prints when it cannot start.
_OWN_NAMES = (
    ("MPICH", re.compile(r"\bMPI(?:R|D|DI)_\w+|PMI version PMIx")),
    (OPEN_MPI, re.compile(r"\bo(?:mpi|rte|pal)_\w+|\bOMPI\b")),
)


@dataclass(frozen=True)
class MpiLibrary:
    """An implementation of MPI by its name, with the file that shows it and, where it is known, its version."""

    name: str
    file: str
    version: str | None = None

    def __str__(self) -> str:
        return f"{self.name}{f' {self.version}' if self.version else ''}, {self.file}"

    def pairs_with(self, other: MpiLibrary) -> bool:
        """MPICH, Intel MPI, MVAPICH and Cray MPICH start each other's programs; Open MPI starts its own."""
        return (self.name == OPEN_MPI) == (other.name == OPEN_MPI)


def library_of_starter(program: str, runner: Runner) -> MpiLibrary | None:
    """The library that an mpirun belongs to; None where its version text does not say."""
    code, text = runner.capture([program, "--version"])
    name = next((name for word, name in _VERSION_WORDS if word in text), None)
    if code or name is None:
        return None
    version = re.search(r"(?:Version:|\)|Version)\s*v?(\d+(?:\.\d+)+)", text)
    return MpiLibrary(name, shutil.which(program) or program, version[1] if version else None)


def library_in_file(file: str) -> MpiLibrary | None:
    """The library in a shared object, by the text inside it."""
    name = _name_in_file(os.path.realpath(file))
    return None if name is None else MpiLibrary(name, file)


@cache
def _name_in_file(file: str) -> str | None:
    try:
        with open(file, "rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return next((name for text, name in _INSIDE if data.find(text) >= 0), None)
    except (OSError, ValueError):
        return None


def library_in_files(files: Iterable[str]) -> MpiLibrary | None:
    """The library that the first telling file holds."""
    return next((library for file in files if (library := library_in_file(file)) is not None), None)


def library_in_errors(text: str, starter: MpiLibrary) -> MpiLibrary | None:
    """The MPI library that a failed job names in its messages, if its mpirun belongs to another one; else None."""
    names = (MpiLibrary(name, "by its error message") for name, pattern in _OWN_NAMES if pattern.search(text))
    return next((library for library in names if not library.pairs_with(starter)), None)


def program_and_library(
    argv: Sequence[str], folder: Path | None, runner: Runner
) -> tuple[str, MpiLibrary] | tuple[None, None]:
    """The first program among the words of a command that is linked with MPI, and its library, by ldd.

    Wrappers (env, numactl, time) link no MPI and are passed over.  A script tells nothing: (None, None).
    """
    for word in argv:
        path = _binary(word, folder)
        if path is None:
            continue
        code, text = runner.capture(["ldd", path])
        files = re.findall(r"=> (/\S+)", text) if code == 0 else []
        library = library_in_files(file for file in files if MPI_LIBRARY.search(file))
        if library is not None:
            return word, library
    return None, None


def _binary(word: str, folder: Path | None) -> str | None:
    """The path of an ELF program that a word names; None for anything else."""
    here = folder or Path.cwd()
    path = str(here / word) if os.sep in word else shutil.which(word)
    try:
        with open(path or "", "rb") as file:
            return path if file.read(4) == b"\x7fELF" and os.access(path or "", os.X_OK) else None
    except OSError:
        return None


def words_of(argv: Sequence[str], *, shell: bool) -> list[str]:
    """The words of a command, also of one that a shell splits: of `sh -c 'OMP_NUM_THREADS=4 ./app'` those inside."""
    words = list(argv)
    option = next((i for i, word in enumerate(words[1:], 1) if re.fullmatch(r"-[a-z]*c", word)), len(words))
    inside = Path(words[0]).name in SHELLS and option + 1 < len(words)
    if not (shell or inside):
        return words
    text = words[option + 1] if inside else " ".join(words)
    text = re.sub(r"\$\(\((.*?)\)\)", lambda sum_of: re.sub(r"[\s()]", "", sum_of[1]), text)  # $(({workers} * 2))
    try:
        lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        return list(lexer)
    except ValueError:
        return text.split()


def commands_in(words: Sequence[str]) -> list[list[str]]:
    """The commands of a line of a shell that start programs; the whole line where there is none."""
    parts: list[list[str]] = [[]]
    for word in words:
        if re.fullmatch(r"[;&|()\n]+", word):
            parts.append([])
        elif parts[-1] or word not in ("do", "then", "else", "{", "!"):
            parts[-1].append(word)
    return [part for part in parts if part and part[0] not in BUILTINS] or [list(words)]


def program_in(words: Sequence[str], here: Path) -> str:
    """The program that a command runs, behind its wrappers, its mpirun or srun, and what a shell does before it.

    Of several in one line of a shell it is the one that is told the number of workers, else the first.
    """
    commands = commands_in(words)
    part = next((part for part in commands if "{workers}" in " ".join(part)), commands[0])
    if starter := starter_in(part):
        rest = part[part.index(starter) + 1 :]
        return next((word for word in rest if shutil.which(word) or (here / word).is_file()), starter)
    return behind_wrappers([word for word in part if not re.fullmatch(r"\w+=.*", word)] or part)


def behind_wrappers(plain: list[str]) -> str:
    """The first word of a command that is not nice, timeout or another wrapper."""
    while len(plain) > 1 and Path(plain[0]).name in WRAPPERS:  # with their options and numbers: nice -n 5, timeout 10s
        behind = [i for i, word in enumerate(plain) if i and not re.fullmatch(r"-.*|[\d.,x-]+[smhd]?", word)]
        plain = plain[behind[0] :] if behind else plain[:1]
    return plain[0]


def starter_in(words: Sequence[str]) -> str | None:
    """The mpirun, mpiexec or srun that a command begins with, behind wrappers such as env or time."""
    return next((word for word in words if Path(word).name in (*STARTERS, "srun")), None)


def starters_of(library: MpiLibrary, runner: Runner) -> list[str]:
    """The programs on the path that start jobs of this library, those installed beside it first."""
    there = {program: file for program in STARTERS if (file := shutil.which(program))}
    pairs = [(program, library_of_starter(program, runner)) for program in there]
    fit = [program for program, own in pairs if own is not None and own.pairs_with(library)]
    home = os.path.realpath(library.file)
    return sorted(fit, key=lambda program: -len(os.path.commonpath([home, os.path.abspath(there[program])])))


# Lines `name=value`; what a node lacks is left out.  The first argument is the program of the job.
SCRIPT = r"""
p=$(command -v "$1" 2>/dev/null || echo "$1")
echo "host=$(hostname)"
echo "system=$(uname -sr)"
echo "cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)"
echo "memory_kib=$(sed -n 's/^MemTotal: *\([0-9]*\).*/\1/p' /proc/meminfo 2>/dev/null)"
echo "usable_cores=$(nproc 2>/dev/null)"
echo "modules=$LOADEDMODULES"
echo "container_image=${APPTAINER_CONTAINER:-$SINGULARITY_CONTAINER}"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | sed 's/^/gpu=/'
if [ -f "$p" ]; then
echo "program=$p"
sha256sum "$p" 2>/dev/null | sed 's/^\([0-9a-f]*\).*/sha256=\1/'
ldd "$p" 2>/dev/null | sed -n 's/.*=> \(\/[^ ]*\).*/library=\1/p'
fi
""".strip()
_PLACE = ("host", "system", "cpu", "usable_cores", "memory_bytes", "gpus")


def program_of(job: LaunchJob, settings: MeasureSettings) -> str:
    """The program of a job, behind whatever starts it."""
    return program_in(words_of(job.argv, shell=settings.shell), settings.folder or Path.cwd())


def site_here(job: LaunchJob, settings: MeasureSettings, world: World) -> dict[str, Any]:
    """The facts of this machine; empty where there is no sh."""
    program = program_of(job, settings)
    here = settings.folder or Path.cwd()
    path = str(here / program) if "/" in program else program
    code, text = world.runner.capture(["/bin/sh", "-c", SCRIPT, "sh", path], timeout=30)
    return facts_in(text) if code == 0 else {}


def facts_in(text: str) -> dict[str, Any]:
    """The facts that the script printed; sizes in bytes."""
    lists: dict[str, list[str]] = {"gpu": [], "library": []}
    facts: dict[str, Any] = {}
    for name, _, value in (line.partition("=") for line in text.splitlines()):
        if name in lists:
            lists[name].append(value)
        elif value:
            facts[name] = int(value) if name in ("memory_kib", "usable_cores") and value.isdecimal() else value
    if "memory_kib" in facts:
        facts["memory_bytes"] = 1024 * int(facts.pop("memory_kib"))
    if "modules" in facts:
        facts["modules"] = facts["modules"].split(":")
    library = library_in_files(file for file in lists["library"] if MPI_LIBRARY.search(file))
    more = {"libraries": lists["library"], "gpus": lists["gpu"], "mpi": library and str(library)}
    return facts | {name: value for name, value in more.items() if value}


def machine_and_software(
    site: dict[str, Any], machine: dict[str, Any], software: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The facts of a study: what the workers' node says replaces what this host says, which stays as `submit_host`."""
    place = {name: site[name] for name in _PLACE if name in site}
    if place and place.get("host") != machine.get("host"):
        machine = {**place, "submit_host": machine.get("host")}
    job = {name: value for name, value in site.items() if name not in _PLACE}
    return machine, software | ({"job": job} if job else {})
