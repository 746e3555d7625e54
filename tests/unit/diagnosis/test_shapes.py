"""What the posterior is fed with, and what it makes of curves whose shape is known."""

from __future__ import annotations

import numpy as np
import pytest

from scalecurve.diagnosis.from_times import judge_shape
from scalecurve.diagnosis.shapes import MISFIT, observe
from scalecurve.study.run import FloatArray

K = np.array([1, 2, 4, 8, 16, 32, 64], dtype=np.float64)
HARMONIC = np.array([np.sum(1.0 / np.arange(1, int(k) + 1)) for k in K])


def repeated(curve: FloatArray, *, noise: float = 0.01) -> dict[int, FloatArray]:
    rng = np.random.default_rng(3)
    return {int(k): t * np.exp(noise * rng.standard_normal(5)) for k, t in zip(K, curve, strict=True)}


def chances_of(curve: FloatArray, *, weak: bool = False) -> dict[str, float]:
    verdict = judge_shape(repeated(curve), weak=weak, shared_machine=None, node_size=None, rng=np.random.default_rng(1))
    assert verdict.fit >= MISFIT
    return verdict.draws.chances()


def test_slow_runs_do_not_move_the_curve() -> None:
    rng = np.random.default_rng(2)
    clean = {k: 1 / k * (1 + 0.01 * rng.standard_normal(5)) for k in (1, 2, 4)}
    spoilt = {k: np.append(values, values.max() * 1.4) for k, values in clean.items()}

    points, slow = observe(spoilt)

    assert slow.count == 3
    assert slow.worst == pytest.approx(0.4, abs=0.05)
    assert points.kept.mean == pytest.approx([np.log(v).mean() for v in clean.values()])


@pytest.mark.parametrize(
    ("curve", "cause"),
    [
        (0.97 / K + 0.03 + 0.005 * np.log2(K), "communication"),
        (1 / K + 0.002 * HARMONIC, "straggler"),
        (1 / K + 0.02 * (1 - 0.99**K), "straggler"),
        (1 / K + 0.2 * K ** (-2 / 3) * (K > 1), "communication"),
        (np.maximum(1 / K, 1 / 11), "contention"),
        (1 / K + 0.01 * (K > 8), "communication"),
        (0.95 / K + 0.05, "serial"),
        (1.4 / K * np.where(K > 1, 1.0, 1 / 1.4), "imbalance"),
    ],
)
def test_no_mechanism_is_ruled_out_by_its_own_curve(curve: FloatArray, cause: str) -> None:
    assert chances_of(curve)[cause] > 0.1


@pytest.mark.parametrize(
    ("curve", "never"),
    [
        (0.97 / K + 0.005 * HARMONIC, "communication"),
        (0.97 / K + 0.03 + 0.005 * np.log2(K), "communication"),
        (1 / K + 0.03, "serial"),
    ],
)
def test_curves_that_several_mechanisms_share_have_no_sure_cause(curve: FloatArray, never: str) -> None:
    assert chances_of(curve)[never] < 0.9


def test_a_curve_that_no_mechanism_draws_does_not_fit() -> None:
    wild = 1 / K * np.array([1.0, 1.6, 1.0, 1.5, 1.1, 1.9, 1.0])
    verdict = judge_shape(repeated(wild), weak=False, shared_machine=None, node_size=None, rng=np.random.default_rng(1))
    assert verdict.fit < MISFIT


def test_a_serial_part_cancels_under_weak_scaling() -> None:
    assert chances_of(1 + 0.1 * np.log2(K), weak=True)["serial"] == 0.0


def test_a_loss_that_grows_with_k_keeps_its_name_over_a_wide_range_of_k() -> None:
    k = np.array([2.0, 4, 8, 16, 32, 64, 128, 256, 512])
    rng = np.random.default_rng(3)
    times = {int(own): (3.5 / own + 6e-5 * (own - 1)) * np.exp(rng.normal(0, 0.01, 5)) for own in k}

    verdict = judge_shape(times, weak=False, shared_machine=None, node_size=None, rng=rng)

    assert verdict.fits
    assert verdict.draws.chances()["communication"] > 0.2
