"""Ratios, merging and outliers by another route: independence, the stated conditions, Monte Carlo."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scalecurve.analysis import tabulate
from scalecurve.analysis.curve import Curve, curve_of, log_ratio
from scalecurve.analysis.merging import merge
from scalecurve.analysis.sessions import _trimmed_share, shift_of_history
from scalecurve.study import Study, Treatment


def session(seed: int, *, shift: float = 0.0) -> Study:
    rng = np.random.default_rng(seed)
    samples = {k: (10 / k * np.exp(shift + 0.01 * rng.standard_normal(6))).tolist() for k in (1, 2, 8)}
    return Study.from_samples(samples, regime="strong")


def test_means_of_two_studies_share_no_session() -> None:
    """The variance of a difference of independent numbers is the sum; within one study the shared shift cancels."""
    first, second = (
        curve_of(merge([session(seed), session(seed + 1, shift=0.05), session(seed + 2, shift=-0.04)]))
        for seed in (1, 11)
    )

    def square(curve: Curve, k: int) -> float:
        return float(curve.log_se[curve.index(k)]) ** 2

    apart, within = log_ratio((first, 1, 1.0), (second, 8, -1.0)), log_ratio((first, 1, 1.0), (first, 8, -1.0))
    assert first.covariance is not None
    assert apart.variance == pytest.approx(square(first, 1) + square(second, 8))
    assert within.variance < 0.2 * (square(first, 1) + square(first, 8))


@pytest.mark.parametrize("field", ["warmup", "setup"])
def test_a_merged_study_states_what_all_parts_state(field: str) -> None:
    parts = [replace(session(seed), **{field: Treatment.EXCLUDED}) for seed in (1, 2)]
    other = replace(session(3), **{field: Treatment.INCLUDED})

    assert getattr(merge(parts), field) is Treatment.EXCLUDED
    assert getattr(merge([*parts, other]), field) is Treatment.UNKNOWN


def test_a_k_noisier_than_the_others_has_no_outliers() -> None:
    """Normal noise of 0.3 % at three K and of 6 % at the last: nothing is far out there."""
    rng, alarms = np.random.default_rng(4), 0
    for _ in range(60):
        noise = {1: 0.003, 2: 0.003, 4: 0.003, 8: 0.06}
        samples = {k: (10 / k * np.exp(sigma * rng.standard_normal(10))).tolist() for k, sigma in noise.items()}
        table = tabulate(Study.from_samples(samples, regime="strong"))
        alarms += any(finding.code == "outliers" for finding in table.findings)

    assert alarms <= 6


def test_a_history_of_sessions_gives_back_the_shifts_that_made_it() -> None:
    """Sessions that move all K by 5 %, and K = 8 by 3 % besides; runs whose means vary by 0.2 %."""
    rng, workers = np.random.default_rng(3), (1, 2, 4, 8)
    logs = 0.05 * rng.standard_normal((400, 1)) + 0.002 * rng.standard_normal((400, 4))
    logs[:, 3] += 0.03 * rng.standard_normal(400)
    noise = np.full((400, 4), 0.002**2)
    found = shift_of_history(workers, logs, noise)

    assert found is not None
    assert found.common == pytest.approx(0.05, rel=0.1)
    assert found.own is not None
    assert found.own[8] == pytest.approx(0.03, rel=0.15)
    assert max(found.own[k] for k in (1, 2, 4)) < 0.006
    alone = shift_of_history((8,), logs[:, 3:], noise[:, 3:])
    assert alone is not None
    assert (alone.common, alone.own) == (pytest.approx(np.hypot(0.05, 0.03), rel=0.1), {})


@pytest.mark.parametrize(("sessions", "known"), [(7, False), (8, True)])
def test_a_history_counts_from_eight_sessions_on(sessions: int, known: bool) -> None:
    logs = 0.05 * np.random.default_rng(1).standard_normal((sessions, 2))

    assert (shift_of_history((1, 2), logs, np.zeros_like(logs)) is not None) is known


@pytest.mark.parametrize("count", [15, 30])
def test_the_mean_without_the_largest_square_against_simulation(count: int) -> None:
    squares = np.sort(np.random.default_rng(2).standard_normal((40_000, count)) ** 2, axis=1)

    assert _trimmed_share(count) == pytest.approx(
        squares[:, :-1].mean(), rel=0.08
    )  # rather less: shifts are not called too small


def test_a_bend_that_every_drawn_curve_shows_leaves_no_other_chance() -> None:
    """Noise of a thousandth between E(4) = 0.87 and E(8) = 0.74: no curve drawn from such means bends elsewhere."""
    noise = np.random.default_rng(2)
    times = {k: (100 * (0.05 + 0.95 / k) * (1 + 0.001 * noise.standard_normal(5))).tolist() for k in (1, 2, 4, 8, 16)}
    answer = tabulate(Study.from_samples(times, regime="strong"), threshold=0.8).answer

    assert answer is not None
    assert answer.confidence == "Probability above 99 %."
