"""Calibration with fakes: no timing, no engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scalecurve.errors import InputError, RunError
from scalecurve.measurement import collectives_calibration as collectives
from scalecurve.measurement import roofline_calibration as roofline
from scalecurve.measurement.collectives_calibration import command_for, measure_collectives
from scalecurve.mechanisms.roofline import machine_ceilings


def _printing(size: int, jobs: int = 1) -> Any:
    results = [{"operation": "allreduce", "message": n, "samples": [2e-6 * n, 1e-6 * n, 3e-6 * n]} for n in (64, 4096)]
    line = "SCALECURVE " + json.dumps({"size": size, "results": results})
    return lambda command, timeout: "\n".join(["noise", *[line] * jobs])


def test_what_rank_0_prints_becomes_a_sweep() -> None:
    sweep = measure_collectives(ranks=(2,), sizes=(64, 4096), launch="echo {k}", run=_printing(2))
    assert [(t.ranks, t.message, t.seconds, t.spread) for t in sweep.timings] == [
        (2, 64, pytest.approx(128e-6), pytest.approx(64e-6)),
        (2, 4096, pytest.approx(8192e-6), pytest.approx(4096e-6)),
    ]
    assert sweep.provenance.timing is not None


@pytest.mark.parametrize(
    ("size", "jobs", "message"), [(1, 4, "do not belong together"), (2, 2, "wrong launch command")]
)
def test_a_launcher_that_starts_k_single_jobs_is_caught(size: int, jobs: int, message: str) -> None:
    with pytest.raises(RunError, match=message):
        measure_collectives(ranks=(2 if size == 2 else 4,), launch="echo {k}", run=_printing(size, jobs))
    with pytest.raises(RunError, match="printed no result"):
        measure_collectives(ranks=(2,), launch="echo {k}", run=lambda command, timeout: "nothing")


def test_the_launch_command_is_an_argument_list() -> None:
    command = command_for("mpi", "echo 'a b' {k}", 4, "{}")
    assert command[:3] == ["echo", "a b", "4"]
    with pytest.raises(InputError, match="does not exist"):
        command_for("mpi", "no-such-launcher -n {k}", 4, "{}")
    with pytest.raises(InputError) as caught:
        measure_collectives(engine="pigeon", sizes=(0,), ranks=(1,))
    assert len(caught.value.faults) == 3


class _Alone:
    """An engine of one rank that counts."""

    rank, size = 0, 1

    def __init__(self) -> None:
        self.calls = 0

    def operation(self, name: str, message: int) -> Any:
        def run() -> None:
            self.calls += 1

        return run

    def slowest(self, seconds: float) -> float:
        return 1e-3

    def barrier(self) -> None:
        return None


def test_operations_run_back_to_back_in_blocks() -> None:
    engine = _Alone()
    found = collectives.time_all(
        engine, {"operations": ["allreduce"], "sizes": [8], "blocks": 3, "block_seconds": 0.01}
    )
    assert len(found[0]["samples"]) == 3
    assert engine.calls == 2 + 3 * 10


def test_ceilings_are_measured_by_a_fake_clock(tmp_path: Path) -> None:
    ticks = iter(range(1_000_000))
    found = roofline.measure_roofline([1], size=64, words=1024, clock=lambda: float(next(ticks)))
    assert found.rows[0].fp64 == 2 * 64**3  # one tick for each product
    assert found.rows[0].memory == 24 * 1024
    (tmp_path / "box.json").write_text(json.dumps(found.to_dict()))
    ceilings, _ = machine_ceilings(tmp_path / "box.json", "fp32")
    assert ceilings.peak == found.rows[0].fp32
    assert "flop per byte" in str(found)


def test_without_a_compiler_numpy_streams_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roofline.shutil, "which", lambda name: None)
    ticks = iter(range(1_000_000))
    found = roofline.measure_roofline([2], size=64, words=1024, clock=lambda: float(next(ticks)))
    assert found.method.startswith("numpy triad")
    assert [finding.code for finding in found.findings] == ["numpy-triad"]


def test_bad_ceilings_are_refused() -> None:
    with pytest.raises(InputError, match="threads are from 1"):
        roofline.measure_roofline([0])
