"""Real programs of both MPI libraries under both launchers: a wrong pair is refused, a right one is measured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scalecurve.study.file import read_study
from tests.engines.conftest import Measure

pytestmark = pytest.mark.engine("debian-mpi")

QUICK = ("--regime", "strong", "--workers", "1,2", "--repeats", "2", "--oversubscribe", "--quiet-below", "1000")
LIBRARIES = {"mpich": "MPICH", "openmpi": "Open MPI"}
PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words) {
    int rank, size;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double begin = MPI_Wtime(), sum = 0;
    for (long i = 0; i < atol(words[1]) / size; i++) sum += 1.0 / (1 + i);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("elapsed %.6f for %g\n", MPI_Wtime() - begin, sum > 0 ? 1.0 : 0.0);
    MPI_Finalize();
}
"""
MELT = """
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
run 50
"""


def compiled(folder: Path, library: str) -> Path:
    source, program = folder / "job.c", folder / f"job-{library}"
    source.write_text(PROGRAM)
    subprocess.run([f"mpicc.{library}", "-o", program, source], check=True)
    return program


@pytest.mark.parametrize("starter", LIBRARIES)
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("hidden", [False, True])
def test_a_small_program(measure: Measure, tmp_path: Path, starter: str, library: str, hidden: bool) -> None:
    """Hidden behind a script, the library shows only in the memory of the running processes."""
    job = compiled(tmp_path, library)
    if hidden:
        script = tmp_path / "run.sh"
        script.write_text(f'#!/bin/sh\nexec {job} "$@"\n')
        script.chmod(0o755)
        job = script
    words = ("--launcher", "mpi", "--mpirun", f"mpirun.{starter}", "--time-pattern", r"elapsed (\S+)")
    if starter == library:
        _, study = measure(*QUICK, *words, "--", str(job), "40000000")
        verdicts = {run.observed.get("size_verdict") for run in study.runs if run.k == 2}
        assert verdicts == {"shown"}
        return
    out = tmp_path / "refused.json"
    done = tool(*QUICK, *words, "-o", str(out), "--", str(job), "40000000")

    assert done.returncode == 2
    assert f"mpirun.{starter} ({LIBRARIES[starter]} " in done.stderr
    assert f"does not belong to the MPI library of {job} ({LIBRARIES[library]}, " in done.stderr
    assert "--mpirun mpirun" in done.stderr
    assert not out.exists()


def tool(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "scalecurve", "measure", *words], capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize("as_command", [False, True])
def test_lammps_under_both_launchers(measure: Measure, tmp_path: Path, as_command: bool) -> None:
    """LAMMPS of Debian is linked with Open MPI; under MPICH it runs as singletons with exit code 0."""
    melt = tmp_path / "in.melt"
    melt.write_text(MELT)

    def words(starter: str) -> tuple[str, ...]:
        job = ("lmp", "-in", str(melt), "-log", "none")
        pattern = ("--time-pattern", r"Loop time of (\S+)")
        if as_command:
            root = ("--allow-run-as-root", "--oversubscribe") if starter == "openmpi" else ()
            return (*pattern, "--", f"mpirun.{starter}", *root, "-n", "{workers}", *job)
        return (*pattern, "--launcher", "mpi", "--mpirun", f"mpirun.{starter}", "--", *job)

    done = tool(*QUICK, "-o", str(tmp_path / "refused.json"), *words("mpich"))
    assert done.returncode == 2
    assert "mpirun.mpich (MPICH" in done.stderr
    assert "of lmp (Open MPI" in done.stderr
    _, study = measure(*QUICK, *words("openmpi"))
    at_two = [run.observed for run in study.runs if run.k == 2]
    assert {facts["size_verdict"] for facts in at_two} == {"shown"}
    assert all("LAMMPS says that it ran on 2 processes" in facts["size_evidence"] for facts in at_two)


def test_singletons_that_are_wanted_are_measured_and_marked(tmp_path: Path) -> None:
    job, out = compiled(tmp_path, "openmpi"), tmp_path / "marked.json"
    words = ("--launcher", "mpi", "--mpirun", "mpirun.mpich", "--size-check", "off", "-o", str(out))
    done = tool(*QUICK, *words, "--", str(job), "40000000")

    assert done.returncode == 1
    assert "singletons" in {finding.code for finding in read_study(out).findings}


@pytest.mark.parametrize("form", ["script", "shell"])
@pytest.mark.parametrize("starter", LIBRARIES)
def test_an_mpirun_behind_a_script_is_seen(tmp_path: Path, starter: str, form: str) -> None:
    """`./run.sh 2` and `sh -c 'mpirun ...'`: one command that is told K, but K processes of MPI."""
    program, script = compiled(tmp_path, "openmpi"), tmp_path / "run.sh"
    root = "--allow-run-as-root --oversubscribe" if starter == "openmpi" else ""
    line = f"mpirun.{starter} {root} -n {{}} {program} 60000000"
    script.write_text(f"#!/bin/sh\n{line.format('$1')}\n")
    script.chmod(0o755)
    command = [str(script), "{workers}"] if form == "script" else ["sh", "-c", line.format("{workers}")]
    words = [sys.executable, "-m", "scalecurve", "measure", *QUICK, "--time-pattern", r"elapsed (\S+)"]
    out = tmp_path / "s.json"
    done = subprocess.run([*words, "-o", str(out), "--", *command], capture_output=True, text=True, timeout=300)

    assert (done.returncode == 2) is (starter == "mpich"), done.stderr
    assert ("does not belong to the MPI library" in done.stderr) is (starter == "mpich")
    if starter == "openmpi":
        assert all(run.observed["size_verdict"] == "shown" for run in read_study(out).runs if run.k == 2)
