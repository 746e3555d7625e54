"""Findings of the samples of a table: outliers, rare slow runs, two modes; medians and bands beside them."""

from __future__ import annotations

import numpy as np
import pytest

from scalecurve.analysis.checks import two_modes
from scalecurve.analysis.curve import median_of
from scalecurve.analysis.table import tabulate
from scalecurve.errors import InputError
from scalecurve.study import Study

WORKERS = (1, 2, 4, 8, 16)


def study(rng: np.random.Generator, n: int, spread: float, shape: str = "normal") -> Study:
    noise = {"normal": lambda: np.abs(1 + spread * rng.standard_normal(n)), "log": lambda: rng.lognormal(0, spread, n)}
    return Study.from_samples({k: 10.0 / k * noise[shape]() for k in WORKERS}, regime="strong")


@pytest.mark.parametrize(("n", "shape", "spread"), [(10, "normal", 0.05), (5, "normal", 0.2), (20, "log", 0.15)])
def test_clean_tables_have_outliers_in_at_most_five_percent(n: int, shape: str, spread: float) -> None:
    rng = np.random.default_rng(1)
    flags = [
        {finding.code for finding in tabulate(study(rng, n, spread, shape), karp_flatt=False).findings}
        for _ in range(300)
    ]

    assert sum("outliers" in codes for codes in flags) <= 25  # 15 expected at most
    assert sum("two-modes" in codes for codes in flags) <= 10
    assert sum("rare-slow-runs" in codes for codes in flags) <= 3


def test_rare_slow_runs_are_told_and_the_median_does_not_move() -> None:
    rng = np.random.default_rng(2)
    samples = {k: 10.0 / k * (1 + 0.01 * rng.standard_normal(8)) for k in WORKERS}
    samples[4][3] *= 3
    table = tabulate(Study.from_samples(samples, regime="strong"), statistic="median")

    message = next(finding.message for finding in table.findings if finding.code == "rare-slow-runs")
    assert message.startswith("1 of 40 runs took 3 times as long")
    assert table.row(4).efficiency.value == pytest.approx(1.0, abs=0.02)
    assert tabulate(Study.from_samples(samples, regime="strong")).row(4).efficiency.value < 0.85


def test_two_modes_are_told() -> None:
    rng = np.random.default_rng(3)
    values = np.where(rng.random(20) < 0.4, 1.3, 1.0) * (1 + 0.01 * rng.standard_normal(20))

    low, high, share = two_modes(values, 0.01) or (0, 0, 0)
    assert (low, high) == (pytest.approx(1.0, abs=0.02), pytest.approx(1.3, abs=0.02))
    assert 0.2 < share < 0.6
    assert two_modes(rng.standard_normal(20) * 0.05 + 1, 0.001) is None


def test_the_interval_of_the_median_is_that_of_order_statistics() -> None:
    values = np.arange(1.0, 11.0)

    estimate = median_of(values, 0.95)
    assert (estimate.low, estimate.value, estimate.high) == (2.0, 5.5, 9.0)  # ranks 2 and 9: 97.9 %
    assert median_of(values[:5], 0.95).low is None
    assert median_of(values[:6], 0.95).low == 1.0


def test_no_lower_bound_of_a_time_is_negative() -> None:
    rng = np.random.default_rng(4)
    bounds = [row.mean.low for _ in range(50) for row in tabulate(study(rng, 2, 0.2)).rows]

    assert min(bound for bound in bounds if bound is not None) > 0


def test_simultaneous_bands_are_wider_and_hold_together() -> None:
    rng = np.random.default_rng(5)
    together = 0
    for _ in range(300):
        own = study(rng, 5, 0.05)
        band, single = tabulate(own, simultaneous=True), tabulate(own)
        assert (band.rows[1].speedup.high or 0) > (single.rows[1].speedup.high or 0)
        together += all((row.mean.low or 0) <= 10.0 / row.k <= (row.mean.high or 0) for row in band.rows)
    assert 0.91 < together / 300 < 0.99


def test_no_bend_has_a_probability() -> None:
    table = tabulate(study(np.random.default_rng(6), 5, 0.02))

    assert table.bend is None
    assert (table.no_bend or 0) > 0.99
    assert "probability above 0.99" in str(table)


@pytest.mark.parametrize("level", [0.0, 1.0, 1.5, float("nan")])
def test_levels_are_validated(level: float) -> None:
    with pytest.raises(InputError, match="a level lies between 0 and 1"):
        tabulate(study(np.random.default_rng(7), 3, 0.02), level=level)
