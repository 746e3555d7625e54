"""The order of the runs: pairs within blocks, drift, dependence, and warnings where it is unknown."""

from __future__ import annotations

import numpy as np
import pytest

from bench.coverage import coverage_of_studies, study_in_blocks
from scalecurve.analysis.order import PAIRED, blocks_of
from scalecurve.analysis.table import tabulate
from scalecurve.study import Regime, Run, Study

WORKERS = (1, 2, 4, 8)


def codes(study: Study) -> set[str]:
    return {finding.code for finding in tabulate(study).findings}


def in_order(orders: list[tuple[int, int]], noise: list[float] | np.ndarray) -> Study:
    runs = tuple(
        Run(k=k, value=10.0 / k * float(factor), repeat=repeat, order=place)
        for place, ((k, repeat), factor) in enumerate(zip(orders, noise, strict=True))
    )
    return Study(regime=Regime.STRONG, runs=runs)


def test_runs_in_blocks_are_compared_pair_by_pair() -> None:
    study = study_in_blocks(np.random.default_rng(1), WORKERS, 6, noise=0.02)

    assert blocks_of(study) is not None
    assert {row.efficiency.method for row in tabulate(study).rows[1:]} == {PAIRED}
    assert not {"order-unknown", "blocked-by-k"} & codes(study)


def test_pairs_hold_under_drift_with_half_the_width() -> None:
    paired = coverage_of_studies(400, drift=0.2, noise=0.02, blocks=6, seed=2)
    free = coverage_of_studies(60, drift=0.2, noise=0.02, blocks=6, seed=2, forget=True)

    assert 0.92 <= paired[0] <= 0.98
    assert paired[1] < 0.6 * free[1]


def test_all_runs_of_one_k_together_are_warned_of() -> None:
    orders = [(k, repeat) for k in WORKERS for repeat in range(5)]
    study = in_order(orders, 1 + 0.01 * np.random.default_rng(2).standard_normal(20))

    assert "blocked-by-k" in codes(study)
    assert blocks_of(study) is None


def test_an_unknown_order_is_warned_of_where_there_are_intervals() -> None:
    assert "order-unknown" in codes(Study.from_samples({1: [1.0, 1.1, 1.05], 2: [0.6, 0.61]}, regime="strong"))
    assert "order-unknown" not in codes(Study.from_samples({1: [1.0], 2: [0.6]}, regime="strong"))


def test_drift_and_dependence_are_seen() -> None:
    rng = np.random.default_rng(4)
    orders = [(k, repeat) for repeat in range(10) for k in rng.permutation(WORKERS).tolist()]
    noise = 0.01 * rng.standard_normal(40)
    like = np.zeros(40)
    for place in range(1, 40):
        like[place] = 0.9 * like[place - 1] + noise[place]

    assert "drift" in codes(in_order(orders, 1 + np.linspace(0, 0.2, 40) + noise))
    assert "runs-not-independent" in codes(in_order(orders, 1 + like))
    assert not {"drift", "runs-not-independent"} & codes(in_order(orders, 1 + noise))


@pytest.mark.parametrize("workers", [WORKERS, (1, 2, 4, 8, 16)])
def test_clean_studies_rarely_seem_to_drift(workers: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    alarms = [codes(study_in_blocks(rng, workers, 5, noise=0.05)) for _ in range(150)]

    assert sum(bool({"drift", "runs-not-independent"} & one) for one in alarms) <= 7  # 2 % expected
