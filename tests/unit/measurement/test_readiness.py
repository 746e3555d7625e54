"""The noise floor of known times and of this machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scalecurve.measurement.ports import World
from scalecurve.measurement.readiness import examine, measure_noise, noise_of
from tests.fakes.world import FakeClock, FakeMachine, FakeRunner


def test_the_noise_floor_of_known_times() -> None:
    found = noise_of(np.asarray([1.0] * 98 + [2.0, 4.0]))

    assert (found.quanta, found.quantum_seconds, found.median, found.worst) == (100, 1.0, 1.0, 4.0)
    assert found.slow_share == pytest.approx(0.02)
    assert found.run_to_run > 0


def test_the_noise_floor_of_this_machine_is_a_number() -> None:
    found = measure_noise(0.05)

    assert found.quanta >= 50
    assert found.median >= 1.0


def test_a_launcher_is_usable_where_its_system_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A qsub on the path is no batch system: the one that it speaks to must answer, and hosts must have been named."""
    for name in ("qsub", "qstat", "qdel", "kubectl", "ssh", "mpirun"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    answers = {"qstat": (0, "Server"), "kubectl": (0, "no"), "mpirun": (0, "HYDRA")}
    world = World(FakeClock(), FakeRunner(answers), FakeMachine())
    found = examine(world, seconds=0.01).launchers
    silent = examine(World(FakeClock(), FakeRunner({"qstat": (1, "cannot connect")}), FakeMachine()), seconds=0.01)

    assert (found["pbs"], found["mpi"], found["local"]) == (None, None, None)
    assert "does not answer" in str(found["kubernetes"])
    assert "not tried" in str(found["ssh"])
    assert "not tried" in str(found["template"])
    assert "no bsub" in str(found["lsf"])
    assert silent.launchers["pbs"] == "pbs does not answer here (cannot connect)"
    assert "does not start" in str(silent.launchers["mpi"])
