"""A program whose serial share is known (PyPI `amdahl`, which sleeps): its interval holds the truth."""

from __future__ import annotations

import os
import sys

import pytest

import scalecurve as sc
from tests.engines.conftest import Measure

SERIAL = 0.2


@pytest.mark.engine("mpi")
@pytest.mark.engine("amdahl")
def test_the_serial_share_of_a_known_program(measure: Measure) -> None:
    """What T(1) has beyond the work asked for is overhead of the start, which is serial too."""
    words = ("--regime", "strong", "--workers", "1,2,4,8", "--repeats", "5", "--warmup-launches", "0")
    options = ("--oversubscribe", "--launcher", "mpi", "--time-pattern", r"according to rank 0\): (\S+) seconds")
    job = (sys.executable, "-c", "from amdahl.amdahl import amdahl; amdahl()", "-w", "2", "-p", "0.8", "-e")
    _, study = measure(*words, *options, "--", *job, env={**os.environ})
    serial = sc.fit(study)["amdahl"].parameters["serial"]
    overhead = sum(run.value or 0.0 for run in study.runs if run.k == 1) / 5 / 2.0 - 1.0
    truth = (SERIAL + overhead) / (1 + overhead)

    assert {run.observed["size_verdict"] for run in study.runs if run.k > 1} == {"shown"}
    assert serial.low is not None
    assert serial.high is not None
    assert serial.low <= truth <= serial.high
