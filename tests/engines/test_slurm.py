"""A real Slurm of four nodes: three ways to allocate, a killed tool, Ctrl-C, a time limit, a job that fails."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scalecurve.study import RunStatus
from scalecurve.study.file import read_json, read_study, set_from_dict
from tests.engines.conftest import ROOT, Measure
from tests.testbed import slurm_accounts
from tests.testbed.slurm_cluster import slurm_cluster, why_not

pytestmark = pytest.mark.engine("slurm")


@pytest.fixture(scope="module")
def cluster() -> Iterator[dict[str, str]]:
    if reason := why_not():
        pytest.skip(f"engine slurm: {reason}")
    with slurm_cluster() as env:
        yield {**env, "PYTHONPATH": str(ROOT / "src")}


def study_file(
    folder: Path, command: list[str], *, allocation: str = "run", more: str = "", workers: str = "1,2"
) -> Path:
    path = folder / "study.toml"
    words = ", ".join(f"'{word}'" for word in command)
    path.write_text(
        f'regime = "strong"\nworkers = "{workers}"\nrepeats = 2\nwarmup_launches = 0\ncommand = [{words}]\n{more}\n'
        f'[launcher]\nname = "slurm"\n[launcher.slurm]\nallocation = "{allocation}"\npoll = "100ms"\n'
        'tasks_per_node = 1\ntime_limit = "00:05:00"\n'
    )
    return path


def queue(env: dict[str, str]) -> list[str]:
    done = subprocess.run(["squeue", "-h", "-o", "%i %T"], env=env, capture_output=True, text=True, check=True)
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize("allocation", ["run", "array", "all"])
def test_the_example_in_every_allocation(
    measure: Measure, cluster: dict[str, str], examples: Path, tmp_path: Path, allocation: str
) -> None:
    toml = (examples / "slurm" / "study.toml").read_text().replace('allocation = "run"', f'allocation = "{allocation}"')
    file = tmp_path / "study.toml"
    file.write_text(f'folder = "{examples / "slurm"}"\n' + toml)
    _, study = measure(str(file), "--repeats", "2", "--warmup-launches", "0", env=cluster)
    runs = [run for run in study.runs if run.counts]

    assert sorted(run.k for run in runs) == [1, 1, 2, 2, 4, 4]
    assert all(len(run.ranks) == run.k for run in runs)
    assert {run.k: run.placement.nodes for run in runs if run.placement} == {1: 1, 2: 2, 4: 4}
    assert {run.work for run in runs} == {1_000_000.0 * 27}
    assert queue(cluster) == []


def test_the_tool_killed_while_jobs_are_queued_finds_them_again(cluster: dict[str, str], tmp_path: Path) -> None:
    """A job that holds all nodes keeps ours in the queue; the tool dies meanwhile; nothing is submitted twice."""
    hold = subprocess.run(
        ["sbatch", "--parsable", "--nodes=4", "--exclusive", "--wrap=sleep 12", "--output=/dev/null"],
        env=cluster, capture_output=True, text=True, check=True,
    )  # fmt: skip
    marker = tmp_path / "launches"
    job = tmp_path / "job.py"
    job.write_text(
        "import os, time\nfrom scalecurve import probe\n"
        f"if os.environ['SLURM_PROCID'] == '0': open({str(marker)!r}, 'a').write('x')\n"
        "with probe.region(work=1): time.sleep(0.05)\n"
    )
    file = study_file(tmp_path, [sys.executable, str(job)], workers="2")
    out = tmp_path / "s.json"
    command = [sys.executable, "-m", "scalecurve", "measure", str(file), "-o", str(out)]
    _until(lambda: queue(cluster) == [f"{hold.stdout.strip()} RUNNING"])
    tool = subprocess.Popen(command, env=cluster, stderr=subprocess.DEVNULL)
    _until(lambda: any("PENDING" in line for line in queue(cluster)))
    os.kill(tool.pid, signal.SIGKILL)
    tool.wait()
    pending = [line for line in queue(cluster) if "PENDING" in line]
    resumed = subprocess.run([*command, "--resume"], env=cluster, capture_output=True, text=True, timeout=120)

    assert len(pending) == 1
    assert resumed.returncode == 0, resumed.stderr
    study = read_study(out)
    assert len(study.samples) == 2
    assert marker.read_text() == "xx"
    assert study.runs[0].observed["batch_job"] == pending[0].split()[0]


@pytest.mark.parametrize("allocation", ["run", "array", "all"])
def test_ctrl_c_cancels_our_jobs_and_no_other(cluster: dict[str, str], tmp_path: Path, allocation: str) -> None:
    other = subprocess.run(
        ["sbatch", "--parsable", "--ntasks=1", "--wrap=sleep 120", "--output=/dev/null"],
        env=cluster, capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    file = study_file(tmp_path, ["sleep", "60"], allocation=allocation)
    command = [sys.executable, "-m", "scalecurve", "measure", str(file), "-o", str(tmp_path / "s.json")]
    tool = subprocess.Popen(command, env=cluster, stderr=subprocess.PIPE, text=True)
    _until(lambda: sum("RUNNING" in line for line in queue(cluster)) == 2)
    time.sleep(0.5)
    tool.send_signal(signal.SIGINT)
    _, messages = tool.communicate(timeout=60)
    _until(lambda: len(queue(cluster)) == 1)

    assert tool.returncode == 130, messages
    assert [line.split()[0] for line in queue(cluster)] == [other]
    subprocess.run(["scancel", other], env=cluster, check=True)
    _until(lambda: queue(cluster) == [])


def test_jobs_are_submitted_as_a_chain_and_collected_by_the_name_of_the_study(
    cluster: dict[str, str], tmp_path: Path
) -> None:
    file = study_file(tmp_path, ["/bin/sh", "-c", "sleep 0.3", "{workers}"], more="[sameness]\n", workers="1,2")
    out = tmp_path / "study.json"

    def tool(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "scalecurve", "measure", *words]
        return subprocess.run(command, env=cluster, capture_output=True, text=True, timeout=120, cwd="/")

    begun = tool("--submit", str(file), "--size-check", "off")
    assert begun.returncode == 0, begun.stderr
    assert not out.exists()
    for _ in range(100):
        done = tool("--collect", str(out))
        if done.returncode == 0:
            break
        time.sleep(0.5)
    study = read_study(out)
    spans = sorted((run.started or "", run.wall_seconds or 0.0, run.k) for run in study.runs)
    assert sorted(run.k for run in study.runs if run.counts) == [1, 1, 2, 2]
    assert all(run.observed["queued_seconds"] >= 0 for run in study.runs)
    assert "overlapping" not in {finding.code for finding in study.findings}, spans


def test_a_failing_job_and_one_that_hangs(cluster: dict[str, str], tmp_path: Path) -> None:
    code = (
        'import os, sys, time; n = os.environ["SLURM_NTASKS"]; sys.exit("no licence") if n == "1" else time.sleep(60)'
    )
    file = study_file(tmp_path, [sys.executable, "-c", code], more='timeout = "3s"')
    out = tmp_path / "s.json"
    done = subprocess.run(
        [sys.executable, "-m", "scalecurve", "measure", str(file), "-o", str(out), "--repeats", "1"],
        env=cluster, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    runs = {run.k: run for run in read_study(out).runs}

    assert done.returncode == 2
    assert runs[1].status is RunStatus.FAILED
    assert "no licence" in (runs[1].error or "")
    assert runs[2].status is RunStatus.TIMEOUT
    _until(lambda: queue(cluster) == [])


def test_a_wrong_partition_is_said_plainly(cluster: dict[str, str], tmp_path: Path) -> None:
    file = study_file(tmp_path, ["hostname"])
    file.write_text(file.read_text() + 'partition = "nowhere"\n')
    done = subprocess.run(
        [sys.executable, "-m", "scalecurve", "measure", str(file), "-o", str(tmp_path / "s.json")],
        env=cluster, capture_output=True, text=True, timeout=60,
    )  # fmt: skip

    assert done.returncode == 2
    assert "sbatch refused the job" in done.stderr
    assert "nowhere" in done.stderr or "partition" in done.stderr


def test_sacct_is_read_where_there_are_accounts(measure: Measure, tmp_path: Path) -> None:
    if reason := slurm_accounts.why_not():
        pytest.skip(f"engine slurm: {reason}")
    with slurm_cluster(accounting=True) as env:
        file = study_file(tmp_path, [sys.executable, "-c", "import time; time.sleep(1)"], workers="1")
        _, study = measure(str(file), "--repeats", "1", env=env)

    run = next(run for run in study.runs if run.counts)
    assert run.observed["slurm_state"] == "COMPLETED"
    assert run.observed["slurm_elapsed_seconds"] >= 1


def _until(condition, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail("the awaited state did not come")
        time.sleep(0.1)


MPI_PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
int main(int count, char **words) {
    int rank, size;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double begin = MPI_Wtime(), sum = 0;
    for (long i = 0; i < 100000000 / size; i++) sum += 1.0 / (1 + i);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("elapsed %.6f for %g\n", MPI_Wtime() - begin, sum > 0 ? 1.0 : 0.0);
    MPI_Finalize();
}
"""


@pytest.mark.engine("debian-mpi")
@pytest.mark.parametrize("hidden", [False, True])
def test_singletons_are_refused_and_the_right_process_management_is_measured(
    measure: Measure, cluster: dict[str, str], tmp_path: Path, hidden: bool
) -> None:
    """Without --mpi srun starts K jobs of size 1: by the library of the program, or by its time printed K times."""
    (tmp_path / "job.c").write_text(MPI_PROGRAM)
    job = tmp_path / "job"
    subprocess.run(["mpicc.mpich", "-o", job, tmp_path / "job.c"], check=True)
    if hidden:
        job = tmp_path / "run.sh"
        job.write_text(f"#!/bin/sh\nexec {tmp_path / 'job'}\n")
        job.chmod(0o755)
    file = study_file(tmp_path, [str(job)], more="[timing]\npattern = 'elapsed (\\S+)'")
    done = subprocess.run(
        [sys.executable, "-m", "scalecurve", "measure", str(file), "-o", str(tmp_path / "refused.json")],
        env=cluster, capture_output=True, text=True, timeout=120,
    )  # fmt: skip

    assert done.returncode == 2
    assert "--srun-mpi" in done.stderr
    assert ("MpiDefault = none" in done.stderr) is not hidden
    assert ("prints its time 2 times" in done.stderr) is hidden
    assert queue(cluster) == []
    _, study = measure(str(file), "--srun-mpi", "pmi2", env=cluster)
    assert study.all_k == (1, 2)
    assert "singletons" not in {finding.code for finding in study.findings}
    assert study.provenance.machine["host"]
    assert study.provenance.software["job"]["sha256"]


HYBRID_PROGRAM = r"""
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
int main(int count, char **words) {
    int rank, size, level, threads = 0;
    MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double begin = MPI_Wtime(), sum = 0;
    #pragma omp parallel reduction(+ : sum)
    {
        #pragma omp single
        threads = omp_get_num_threads();
        #pragma omp for
        for (long i = 0; i < 40000000 / size; i++) sum += 1.0 / (1 + i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("number of ranks: %d\nthreads %d\nelapsed %.6f for %g\n", size, threads, MPI_Wtime() - begin, sum > 0);
    MPI_Finalize();
}
"""


@pytest.mark.engine("debian-mpi")
def test_nodes_times_ranks_times_threads(cluster: dict[str, str], tmp_path: Path) -> None:
    """Every cell runs with its nodes, ranks and threads; one that a node of two cores cannot hold is named."""
    (tmp_path / "job.c").write_text(HYBRID_PROGRAM)
    job = tmp_path / "job"
    subprocess.run(["mpicc.mpich", "-O2", "-fopenmp", "-o", job, tmp_path / "job.c"], check=True)
    out = tmp_path / "grid.json"
    words = ["--regime", "strong", "--repeats", "2", "--warmup-launches", "0", "--launcher", "slurm"]
    words += ["--axis-nodes", "1,2", "--axis-ranks-per-node", "1,2", "--axis-threads", "1,2", "--srun-mpi", "pmi2"]
    words += ["--time-pattern", r"elapsed (\S+)", "--metric", r"threads=threads (\d+)", "-o", str(out), "--", str(job)]
    done = subprocess.run(
        [sys.executable, "-m", "scalecurve", "measure", *words],
        env=cluster, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert out.exists(), done.stderr
    studies = set_from_dict(read_json(out)).studies
    findings = [finding for study in studies.values() for finding in study.findings]
    cells = {
        (run.placement.nodes, run.placement.ranks, run.observed["metrics"]["threads"]["value"], run.k)
        for study in studies.values()
        for run in study.runs
        if run.counts and run.placement
    }

    # Nodes, ranks, threads of a rank as OpenMP counts them, and K in cores.
    assert cells == {(1, 1, 1, 1), (2, 2, 1, 2), (1, 2, 1, 2), (2, 4, 1, 4), (1, 1, 2, 2), (2, 2, 2, 4)}
    assert set(studies) == {"1 rank a node, 1 thread", "2 ranks a node, 1 thread", "1 rank a node, 2 threads"}
    (failed,) = {finding.message for finding in findings if finding.code == "cells-failed"}
    assert failed.startswith("1 of 4 sweeps gave no time: sbatch refused the job")
    assert not {"size-unproven", "singletons"} & {finding.code for finding in findings}
    assert queue(cluster) == []
    text = subprocess.run(
        [sys.executable, "-m", "scalecurve", "table", str(out)], env=cluster, capture_output=True, text=True
    ).stdout
    assert "cores" in text


def test_torchrun_finds_the_nodes_of_its_allocation(cluster: dict[str, str], examples: Path, tmp_path: Path) -> None:
    """One option, `--workers-per-node`, inside an allocation; more workers than this host has cores are no fault."""
    pytest.importorskip("torch", reason="engine torchrun: PyTorch is not installed")
    out = tmp_path / "s.json"
    tool = [sys.executable, "-m", "scalecurve", "measure", str(examples / "torchrun" / "strong.toml")]
    options = ["--workers", "1,2,4", "--workers-per-node", "1", "--repeats", "1", "--warmup-launches", "0"]
    words = ["salloc", "--nodes=4", "--ntasks-per-node=1", *tool, *options, "--force", "-o", str(out)]
    done = subprocess.run(words, env=cluster, capture_output=True, text=True, timeout=400)
    assert out.exists(), done.stderr
    runs = [run for run in read_study(out).runs if run.counts]

    assert {run.k: run.placement.nodes for run in runs if run.placement} == {1: 1, 2: 2, 4: 4}, done.stderr
    assert {run.k: len({rank.host for rank in run.ranks}) for run in runs} == {1: 1, 2: 2, 4: 4}
    assert len({run.work for run in runs}) == 1
    assert queue(cluster) == []
