"""The gradient noise scale of a known gradient, and when there is none."""

from __future__ import annotations

import numpy as np
import pytest

from scalecurve.errors import InputError, Refused
from scalecurve.measurement.building import noise_scale


def test_the_noise_scale_of_a_known_gradient() -> None:
    """Gradients N(g, S) with |g|^2 = 4 and tr S = 400: B_simple = 100."""
    rng = np.random.default_rng(9)
    g = np.full(100, 0.2)
    small_batch, big_batch, steps = 16, 64, 400
    small = [np.mean([np.sum((g + rng.normal(0, 2 / 4, 100)) ** 2) for _ in range(4)]) for _ in range(steps)]
    big = [np.sum((g + rng.normal(0, 2 / 8, 100)) ** 2) for _ in range(steps)]
    found = noise_scale(small, big, small_batch=small_batch, big_batch=big_batch)

    assert found.low is not None
    assert found.high is not None
    assert found.low < 100 < found.high
    assert found.value == pytest.approx(100, rel=0.15)


def test_a_noise_scale_that_cannot_be_had_is_refused() -> None:
    with pytest.raises(InputError, match="different batch sizes"):
        noise_scale([1.0] * 9, [1.0] * 9, small_batch=8, big_batch=8)
    with pytest.raises(Refused, match="at least 5 steps"):
        noise_scale([1.0], [1.0], small_batch=4, big_batch=8)
    with pytest.raises(Refused, match="lost in its noise"):
        noise_scale([9.0] * 9, [1.0] * 9, small_batch=4, big_batch=8)
