"""MPICH and Open MPI from wheels: K really is the size of the job, and a mismatched pair is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scalecurve.study import RunStatus
from tests.engines.conftest import OPENMPI, Measure

QUICK = ("--repeats", "2", "--warmup-launches", "0", "--oversubscribe", "--workers", "1,2,4")


@pytest.mark.engine("mpi")
def test_mpich_runs_the_example_with_ranks_phases_and_a_baseline(measure: Measure, examples: Path) -> None:
    _, study = measure(str(examples / "mpi" / "study.toml"), *QUICK)
    at_four = [run for run in study.runs if run.k == 4 and run.counts]

    assert len(at_four) == 2
    assert all([rank.rank for rank in run.ranks] == [0, 1, 2, 3] for run in at_four)
    assert all(set(rank.phases) == {"compute", "communication"} for run in at_four for rank in run.ranks)
    assert {run.work for run in study.runs if run.value} == {2_000_000.0 * 27}
    assert study.baseline.candidates == ("numpy",)
    assert study.baseline.chosen in ("numpy", "scaling")
    assert study.setup == "excluded"
    assert study.warmup == "excluded"


@pytest.mark.engine("mpi")
def test_a_rank_that_dies_fails_the_run(measure: Measure, tmp_path: Path) -> None:
    job = tmp_path / "dies.py"
    job.write_text(
        "import os, signal\nfrom mpi4py import MPI\n"
        "if MPI.COMM_WORLD.Get_rank() == 1: os.kill(os.getpid(), signal.SIGKILL)\n"
        "MPI.COMM_WORLD.Barrier()\n"
    )
    words = ("--regime", "strong", "--workers", "1,2", "--repeats", "1", "--warmup-launches", "0", "--launcher", "mpi")
    done, study = measure(*words, "--oversubscribe", "--timeout", "60", "--", sys.executable, str(job), check=False)

    assert done.returncode == 1
    assert [run.status for run in study.runs if run.k == 2] == [RunStatus.FAILED]


@pytest.mark.engine("mpi")
@pytest.mark.engine("openmpi")
@pytest.mark.parametrize(("program", "python"), [(OPENMPI / "mpirun", sys.executable), ("mpirun", OPENMPI / "python")])
def test_an_mpirun_of_another_library_is_refused(
    examples: Path, tmp_path: Path, program: str | Path, python: str | Path
) -> None:
    """A mismatched pair starts K jobs of size 1 with exit code 0, or stops with a message few understand."""
    toml = (examples / "mpi" / "study.toml").read_text().replace('"{python}"', f'"{python}"')
    file = tmp_path / "study.toml"
    toml = toml.replace('name = "mpi"', f'name = "mpi"\nprogram = "{program}"')
    file.write_text(f'folder = "{examples / "mpi"}"\n' + toml)
    done = subprocess.run(
        [sys.executable, "-m", "scalecurve", "measure", str(file), *QUICK], capture_output=True, text=True, timeout=120
    )

    assert done.returncode == 2
    assert "does not belong to the MPI library" in done.stderr


@pytest.mark.engine("openmpi")
def test_open_mpi_starts_k_ranks_as_root_and_beyond_the_cores(measure: Measure, examples: Path, tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    toml = (examples / "mpi" / "study.toml").read_text().replace('"{python}"', f'"{OPENMPI / "python"}"')
    file.write_text(f'folder = "{examples / "mpi"}"\n' + toml)
    env = {**os.environ, "PATH": f"{OPENMPI}:{os.environ['PATH']}"}
    _, study = measure(str(file), *QUICK, env=env)

    assert study.all_k == (1, 2, 4)
    assert all(len(run.ranks) == run.k for run in study.runs if run.counts)
