"""The place where the workers ran: its processor, memory, GPUs and modules, the program and the libraries it loads.

One script for sh says it, so that a batch job can run it on its own node, where this package need not be installed.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from scalecurve.measurement.mpi_libraries import library_in_files, starter_in, words_of
from scalecurve.measurement.ports import LaunchJob, World
from scalecurve.measurement.process_tree import MPI_LIBRARY
from scalecurve.measurement.settings import MeasureSettings

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
    """The program of a job, behind the mpirun or srun that a command may begin with."""
    words = words_of(job.argv, shell=settings.shell)
    starter = starter_in(words)
    if starter is None:
        return words[0]
    here = settings.folder or Path.cwd()
    rest = words[words.index(starter) + 1 :]
    return next((word for word in rest if shutil.which(word) or (here / word).is_file()), starter)


def site_here(job: LaunchJob, settings: MeasureSettings, world: World) -> dict[str, Any]:
    """The facts of this machine; empty where there is no sh."""
    program = program_of(job, settings)
    here = settings.folder or Path.cwd()
    path = str(here / program) if "/" in program else program
    code, text = world.runner.capture(["/bin/sh", "-c", SCRIPT, "sh", path], timeout=30)
    return facts_in(text) if code == 0 else {}


def facts_in(text: str) -> dict[str, Any]:
    """The facts that the script printed; sizes in bytes."""
    pairs = [line.split("=", 1) for line in text.splitlines() if "=" in line]
    facts: dict[str, Any] = {name: value for name, value in pairs if value and name not in ("gpu", "library")}
    for name in ("memory_kib", "usable_cores"):
        if name in facts and str(facts[name]).isdigit():
            facts[name] = int(facts[name])
    if "memory_kib" in facts:
        facts["memory_bytes"] = 1024 * int(facts.pop("memory_kib"))
    if "modules" in facts:
        facts["modules"] = str(facts["modules"]).split(":")
    libraries = [value for name, value in pairs if name == "library"]
    library = library_in_files(file for file in libraries if MPI_LIBRARY.search(file))
    gpus = [value for name, value in pairs if name == "gpu"]
    more = {"libraries": libraries, "gpus": gpus, "mpi": None if library is None else str(library)}
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
