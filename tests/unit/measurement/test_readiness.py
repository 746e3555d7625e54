"""The noise floor of known times and of this machine."""

from __future__ import annotations

import numpy as np
import pytest

from scalecurve.measurement.readiness import measure_noise, noise_of


def test_the_noise_floor_of_known_times() -> None:
    found = noise_of(np.asarray([1.0] * 98 + [2.0, 4.0]))

    assert (found.quanta, found.quantum_seconds, found.median, found.worst) == (100, 1.0, 1.0, 4.0)
    assert found.slow_share == pytest.approx(0.02)
    assert found.run_to_run > 0


def test_the_noise_floor_of_this_machine_is_a_number() -> None:
    found = measure_noise(0.05)

    assert found.quanta >= 50
    assert found.median >= 1.0
