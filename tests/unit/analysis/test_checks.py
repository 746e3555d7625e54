"""Findings of the samples of a table: outliers, rare slow runs, two modes; medians and bands beside them."""

from __future__ import annotations

import numpy as np
import pytest

from scalecurve.analysis.checks import check_shape, implausible, outliers, two_modes
from scalecurve.analysis.curve import curve_of, median_of
from scalecurve.analysis.table import tabulate
from scalecurve.errors import InputError
from scalecurve.formats.loading import as_study
from scalecurve.study import Study

WORKERS = (1, 2, 4, 8, 16)


NOISES = {
    "normal": lambda rng, n, spread: np.abs(1 + spread * rng.standard_normal(n)),
    "log": lambda rng, n, spread: rng.lognormal(0, spread, n),
    "exponential": lambda rng, n, spread: 1 + spread * rng.standard_exponential(n),
    "gamma": lambda rng, n, spread: 1 + spread * rng.gamma(0.7, size=n),
    "heavy": lambda rng, n, spread: np.maximum(1 + spread * rng.standard_t(3, n), 0.2),
    "two speeds": lambda rng, n, spread: (
        (1 + 20 * spread * (rng.random(n) < 0.3)) * (1 + spread * rng.standard_normal(n))
    ),
}


def study(rng: np.random.Generator, n: int, spread: float, shape: str = "normal") -> Study:
    return Study.from_samples({k: 10.0 / k * NOISES[shape](rng, n, spread) for k in WORKERS}, regime="strong")


@pytest.mark.parametrize(
    ("n", "shape", "spread"),
    [
        (10, "normal", 0.05), (5, "normal", 0.2), (20, "log", 0.15), (5, "log", 0.05), (5, "exponential", 0.05),
        (10, "exponential", 0.1), (10, "gamma", 0.05), (5, "heavy", 0.02), (20, "heavy", 0.02),
    ],
)  # fmt: skip
def test_clean_tables_have_outliers_in_at_most_five_percent(n: int, shape: str, spread: float) -> None:
    rng = np.random.default_rng(1)
    flags = [{finding.code for finding in check_shape(study(rng, n, spread, shape))} for _ in range(300)]

    assert sum("outliers" in codes for codes in flags) <= 22  # 15 expected at most
    assert sum("two-modes" in codes for codes in flags) <= 10


def test_a_run_twenty_deviations_away_is_far_among_normal_ones() -> None:
    rng = np.random.default_rng(8)
    told = 0
    for _ in range(50):
        samples = {k: 10.0 / k * NOISES["normal"](rng, 10, 0.02) for k in WORKERS}
        samples[4][3] *= 1.4
        told += 4 in outliers(samples)
    assert told >= 35


def test_intervals_of_runs_of_two_speeds_use_the_spread_of_all_k() -> None:
    rng = np.random.default_rng(9)
    held = []
    for _ in range(60):
        table = tabulate(study(rng, 10, 0.01, "two speeds"))
        held += [(row.mean.low or 0) <= 10.6 / row.k <= (row.mean.high or 0) for row in table.rows]
    assert np.mean(held) > 0.9


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

    low, high, share = two_modes({4: values}).get(4, (0, 0, 0))
    assert (low, high) == (pytest.approx(1.0, abs=0.02), pytest.approx(1.3, abs=0.02))
    assert 0.2 < share < 0.6
    assert two_modes({4: rng.standard_normal(20) * 0.05 + 1}) == {}


def test_two_modes_show_in_five_runs_of_many_k() -> None:
    rng = np.random.default_rng(4)
    told = sum(bool(two_modes(study(rng, 5, 0.01, "two speeds").samples.by_k())) for _ in range(50))
    assert told > 20


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
    for _ in range(100):
        own = study(rng, 5, 0.05)
        band, single = tabulate(own, simultaneous=True), tabulate(own)
        assert (band.rows[1].speedup.high or 0) > (single.rows[1].speedup.high or 0)
        together += all((row.mean.low or 0) <= 10.0 / row.k <= (row.mean.high or 0) for row in band.rows)
    assert together / 100 >= 0.9


def test_no_bend_has_a_probability() -> None:
    table = tabulate(study(np.random.default_rng(6), 5, 0.02))

    assert table.bend is None
    assert (table.no_bend or 0) > 0.99
    assert "Probability above 99 %" in str(table)


def test_a_long_flat_curve_above_the_threshold_is_not_said_to_bend() -> None:
    samples = {k: [10 / k * factor for factor in (0.95, 0.98, 1.0, 1.02, 1.05)] for k in (1, 2, 4, 8, 16, 32, 64, 128)}
    flat = {k: [time / (1.0 if k == 1 else 0.73) for time in times] for k, times in samples.items()}

    table = tabulate(Study.from_samples(flat, regime="strong"))

    assert table.bend is None
    assert (table.no_bend or 0) > 0.8  # each K by itself lies above 0.7 with a chance of 0.95; all seven with 0.7


@pytest.mark.parametrize("level", [0.0, 1.0, 1.5, float("nan")])
def test_levels_are_validated(level: float) -> None:
    with pytest.raises(InputError, match="a level lies between 0 and 1"):
        tabulate(study(np.random.default_rng(7), 3, 0.02), level=level)


def test_noise_that_crowds_at_its_least_value_has_no_two_modes() -> None:
    rng = np.random.default_rng(4)
    told = [two_modes({2**i: 1 + 0.1 * rng.gamma(0.5, size=20) for i in range(8)}) for _ in range(100)]

    assert sum(map(bool, told)) <= 5


@pytest.mark.parametrize(
    ("times", "regime", "kind", "places"),
    [
        ({1: 1.0, 2: 1.9, 4: 3.5}, "strong", "speedups-as-times", [2, 4]),
        ({8: 1.0, 16: 1.8, 32: 3.1}, "strong", "speedups-as-times", [16, 32]),
        ({1: 90.0, 2: 47.0, 4: 0.025, 8: 0.014}, "strong", "mixed-units", [2, 4]),
        ({1: 9.25, 2: 9.25, 4: 9.25}, "strong", "same-everywhere", [2, 4]),
        ({1: 100.0, 2: 51.0, 4: 26.0, 8: 14.0}, "weak", "shared-work", [2, 4, 8]),
        ({1: 10.0, 2: 12.0, 4: 15.0}, "strong", "slower-everywhere", [2, 4]),
        ({1: 10.0, 2: 5.2, 4: 1.9}, "strong", "superlinear", [4]),
        ({1: [9.0, 11.0, 40.0], 2: [3.0, 16.0, 5.0]}, "strong", None, []),  # E = 1.25, but 1 lies in its interval
        ({1: 10.0, 2: 10.0, 4: 10.0}, "weak", None, []),  # two digits: rounded
        ({1: 10.0, 2: 5.5, 4: 3.1, 8: 3.3}, "strong", None, []),
        ({1: 1.0, 2: 1.05, 4: 1.1}, "weak", None, []),
    ],
)
def test_values_that_cannot_be_what_they_are_said_to_be(
    times: dict[int, float], regime: str, kind: str | None, places: list[int]
) -> None:
    finding = implausible(curve_of(as_study(times, regime=regime)), "workers")
    assert (finding and finding.evidence["kind"]) == kind
    assert (finding.evidence["k"] if finding else []) == places


def test_intervals_hold_at_the_largest_k_too_where_runs_come_in_two_speeds() -> None:
    rng = np.random.default_rng(8)
    held = []
    for _ in range(200):
        times = {k: 10 / k * (1 + 0.15 * (rng.random(3) < 0.2)) * (1 + 0.01 * rng.standard_normal(3)) for k in WORKERS}
        mean = tabulate(Study.from_samples(times, regime="strong")).rows[-1].mean
        held.append((mean.low or 0) <= 10 / WORKERS[-1] * 1.03 <= (mean.high or 0))
    assert np.mean(held) >= 0.93


def test_a_load_may_gain_more_than_its_clients_and_workers_may_not() -> None:
    rates = {1: [1000.0], 2: [3120.0], 4: [6000.0]}
    curve = curve_of(Study.from_samples(rates, regime="strong", quantity="throughput"))
    assert implausible(curve, "clients") is None
    assert (implausible(curve, "ranks") or pytest.fail("believed")).evidence["kind"] == "superlinear"
