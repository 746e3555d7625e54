"""A program whose serial share is known (PyPI `amdahl`, which sleeps): its interval holds the truth.

T(K) is 2 s (0.2 + 0.8 / K) and what MPI adds, which grows with K on a busy machine.  That is measured apart, by the
same program without work, in the same random order: the truth is the share that Amdahl's law has with it added.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from statistics import mean, stdev

import pytest

import scalecurve as sc
from tests.engines.conftest import Measure
from tests.testbed.slurm_cluster import slurm_cluster, why_not

SERIAL = 0.2
WORKERS = (1, 2, 4, 8)
SECONDS = 2.0
WORDS = ("--regime", "strong", "--workers", "1,2,4,8", "--repeats", "4", "--warmup-launches", "0")
WORDS += ("--axis-size", "1,2", "--quiet-below", "1000", "--timeout", "30")
WORDS += ("--time-pattern", r"according to rank 0\): (\S+) seconds")


def known_program() -> tuple[str, ...]:
    """Two seconds of work of which 80 % are parallel; at size 1 the work, which is sleep, is left out."""
    folder = str(Path(str(find_spec("amdahl").origin)).parents[1])  # type: ignore[union-attr]
    code = f"import sys, time; sys.path.append({folder!r}); from amdahl.amdahl import amdahl; "
    code += "time.sleep = time.sleep if sys.argv.pop() == '2' else lambda seconds: None; amdahl()"
    return (sys.executable, "-c", code, "-w", "2", "-p", "0.8", "-e", "{size}")


def holds_the_truth(studies: sc.StudySet) -> None:
    """The interval from the runs with work meets the share with the overhead, which is known to its own error."""
    by_size = {studies.sizes[name]: study for name, study in studies.items()}
    empty, worked = by_size[1.0], by_size[2.0]
    assert empty.all_k == worked.all_k == WORKERS  # MPI aborts a launch now and then: the next block makes it again
    assert {run.observed["size_verdict"] for run in worked.runs if run.k > 1 and run.value is not None} == {"shown"}

    def share(sign: int) -> float:
        """The serial share of Amdahl's law with the mean overhead, or with one that grows by its standard error."""
        overheads = {k: [run.value for run in empty.runs if run.k == k and run.value is not None] for k in WORKERS}
        widest = max(stdev(values) for values in overheads.values() if len(values) > 1)
        times = {}
        for k, values in overheads.items():
            spread = stdev(values) if len(values) > 1 else widest
            error = spread / len(values) ** 0.5 * (1 if k == WORKERS[-1] else -1 if k == 1 else 0)
            times[k] = [SECONDS * (SERIAL + (1 - SERIAL) / k) + mean(values) + sign * error]
        return sc.fit(sc.load(times, regime="strong"))["amdahl"].parameters["serial"].value

    serial = sc.fit(worked)["amdahl"].parameters["serial"]
    assert serial.low is not None
    assert serial.high is not None
    assert serial.low <= share(+1)
    assert share(-1) <= serial.high


@pytest.mark.engine("mpi")
@pytest.mark.engine("amdahl")
def test_the_serial_share_of_a_known_program(measure: Measure) -> None:
    _, studies = measure(*WORDS, "--oversubscribe", "--launcher", "mpi", "--", *known_program(), check=False)
    holds_the_truth(studies)


@pytest.mark.engine("slurm")
@pytest.mark.engine("amdahl")
def test_the_serial_share_under_slurm(measure: Measure, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := why_not():
        pytest.skip(f"engine slurm: {reason}")
    with slurm_cluster() as env:
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        _, studies = measure(*WORDS, "--launcher", "slurm", "--srun-mpi", "pmi2", "--", *known_program(), check=False)
    holds_the_truth(studies)
