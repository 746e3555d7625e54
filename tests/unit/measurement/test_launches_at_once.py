"""Launches too short for what is done between them are made at once and read afterwards, as if each had been alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalecurve.measurement.machine import real_world
from scalecurve.measurement.processes import LocalRunner
from scalecurve.measurement.settings import make_settings
from scalecurve.measurement.sweep import run_sweep
from scalecurve.study import RunStatus


def test_short_launches_are_made_at_once_and_none_is_lost_or_mixed_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[int] = []
    ahead = LocalRunner.run_ahead

    def counted(self: LocalRunner, launches: list[object]) -> None:
        batches.append(len(launches))
        ahead(self, launches)  # type: ignore[arg-type]

    monkeypatch.setattr(LocalRunner, "run_ahead", counted)
    monkeypatch.setattr("scalecurve.measurement.sweep.AHEAD_SECONDS", 3.0)  # however slow this machine is
    values = {
        "regime": "strong",
        "workers": "1,2",
        "repeats": 10,
        "oversubscribe": True,
        "timing": {"pattern": r"took ([\d.]+),"},
        "metrics": [r"k=workers (\d+)"],
        "command": ["/bin/sh", "-c", "echo took 0.00{workers}, workers {workers}", "{workers}"],
    }
    world = real_world()
    try:
        study = run_sweep(make_settings(values), world, output=tmp_path / "s.json")
    finally:
        world.runner.close()
    runs = [run for run in study.runs if run.status is RunStatus.OK]
    assert max(batches) > 1
    assert sorted((run.k, run.repeat) for run in runs) == [(k, repeat) for k in (1, 2) for repeat in range(10)]
    assert all(run.value == pytest.approx(run.k / 1000) for run in runs)  # the output of each is its own
    assert all(run.observed["metrics"]["k"]["value"] == run.k for run in runs)
    assert len({run.order for run in study.runs}) == len(study.runs)
    assert all(run.observed["cpu_seconds"] < 3.0 for run in runs)
