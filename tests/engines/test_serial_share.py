"""A program whose serial share is known (PyPI `amdahl`, which sleeps): its interval holds the truth."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import scalecurve as sc
from tests.engines.conftest import Measure
from tests.testbed.slurm_cluster import slurm_cluster, why_not

SERIAL = 0.2


WORDS = ("--regime", "strong", "--workers", "1,2,4,8", "--repeats", "5", "--warmup-launches", "0")
WORDS += ("--quiet-below", "1000", "--time-pattern", r"according to rank 0\): (\S+) seconds")


def known_program() -> tuple[str, ...]:
    """Two seconds of work of which 80 % are parallel."""
    folder = str(Path(str(find_spec("amdahl").origin)).parents[1])  # type: ignore[union-attr]
    code = f"import sys; sys.path.append({folder!r}); from amdahl.amdahl import amdahl; amdahl()"
    return (sys.executable, "-c", code, "-w", "2", "-p", "0.8", "-e")


def holds_the_truth(study: sc.Study) -> None:
    """What T(1) has beyond the work asked for is overhead of the start, which is serial too."""
    serial = sc.fit(study)["amdahl"].parameters["serial"]
    overhead = sum(run.value or 0.0 for run in study.runs if run.k == 1) / 5 / 2.0 - 1.0
    truth = (SERIAL + overhead) / (1 + overhead)

    assert {run.observed["size_verdict"] for run in study.runs if run.k > 1} == {"shown"}
    assert serial.low is not None
    assert serial.high is not None
    assert serial.low <= truth <= serial.high


@pytest.mark.engine("mpi")
@pytest.mark.engine("amdahl")
def test_the_serial_share_of_a_known_program(measure: Measure) -> None:
    _, study = measure(*WORDS, "--oversubscribe", "--launcher", "mpi", "--", *known_program())
    holds_the_truth(study)


@pytest.mark.engine("slurm")
@pytest.mark.engine("amdahl")
def test_the_serial_share_under_slurm(measure: Measure, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := why_not():
        pytest.skip(f"engine slurm: {reason}")
    with slurm_cluster() as env:
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        _, study = measure(*WORDS, "--launcher", "slurm", "--srun-mpi", "pmi2", "--", *known_program())
    holds_the_truth(study)
