"""What the posterior is fed with: expected maxima, and samples without slow runs."""

from __future__ import annotations

import numpy as np
import pytest

from scalecurve.diagnosis.causes import Maxima
from scalecurve.diagnosis.posterior import observe
from scalecurve.laws.stragglers import lognormal_maximum


@pytest.mark.parametrize("sigma", [0.05, 0.3, 0.6])
def test_maxima_agree_with_the_law_by_quadrature(sigma: float) -> None:
    k = (1, 2, 8, 64, 1024)
    means, spreads = Maxima.of(np.array(k, dtype=float)).at(np.array([sigma]))

    expected = [lognormal_maximum(count, sigma) for count in k]
    assert means[0].tolist() == pytest.approx(expected, rel=1e-3)
    assert spreads[0, 0] == pytest.approx(np.sqrt(np.expm1(sigma**2)), rel=2e-2)


def test_slow_runs_do_not_move_the_curve() -> None:
    rng = np.random.default_rng(2)
    clean = {k: 1 / k * (1 + 0.01 * rng.standard_normal(5)) for k in (1, 2, 4)}
    spoilt = {k: np.append(values, values.max() * 1.4) for k, values in clean.items()}

    points, slow = observe(spoilt)

    assert slow.count == 3
    assert slow.worst == pytest.approx(0.4, abs=0.05)
    assert points.kept.mean == pytest.approx([np.log(v).mean() for v in clean.values()])
