"""Rules of forecasts and diagnoses whose outcome is known beforehand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bench.simulated_studies import Truth, simulate
from scalecurve.diagnosis import diagnose
from scalecurve.forecasting.forecast import forecast
from scalecurve.forecasting.rows import Backtest, BacktestRow
from scalecurve.study import RankRecord, Regime, Run, Study

STRONG = {1: 80.0, 2: 41.0, 4: 21.5, 8: 11.9}


def times(curve: dict[int, float], **more: str) -> Study:
    return Study.from_samples({k: [t, 1.01 * t, 0.99 * t] for k, t in curve.items()}, regime="strong", **more)


def test_a_boundary_never_measured_across_widens_towards_worse_by_half() -> None:
    (crossed,), (inside,) = (forecast(times(STRONG, k_unit="ranks"), at=[32], cores=cores).rows for cores in (8, 64))

    assert crossed.value == pytest.approx(inside.value)
    assert crossed.low == pytest.approx(inside.low)  # towards better nothing changes
    assert math.log(crossed.high / crossed.value) == pytest.approx(1.5 * math.log(inside.high / inside.value))


def test_grey_and_refused_begin_beyond_4_and_16_times() -> None:
    rows = {row.k: row for row in forecast(times(STRONG), at=[32, 33, 128, 129])}

    assert {k: row.refused for k, row in rows.items()} == {32: False, 33: False, 128: False, 129: True}
    assert "far-extrapolation" not in {finding.code for finding in rows[32].findings}
    assert {finding.code for finding in rows[33].findings} & {"far-extrapolation", "interval-only"}


def test_two_worker_counts_have_an_interval_and_no_value() -> None:
    (row,) = forecast(times({1: 80.0, 2: 41.0}), at=[4])
    (measured,) = forecast(times({1: 80.0, 2: 41.0}), at=[2])

    assert row.value is None
    assert row.high > 80.0 / 4
    assert row.low < 41.0
    assert measured.value == pytest.approx(41.0)


def test_between_two_measured_k_a_power_law_is_met() -> None:
    """T = 100 K^-0.7 is a straight line on log-log paper."""
    study = times({k: 100 * k**-0.7 for k in (1, 4, 16)})
    for row in forecast(study, at=[2, 3, 8, 11]):
        assert row.value == pytest.approx(100 * row.k**-0.7, rel=1e-6)
        assert row.low < row.value < row.high
        assert row.efficiency == pytest.approx(row.k**-0.3, rel=1e-6)


def test_the_backtest_holds_two_fifths_back() -> None:
    study = times({k: 100 * (0.02 + 0.98 / k) for k in (1, 2, 4, 8, 16, 32, 64)})
    found = forecast(study, at=[128]).backtest

    assert found is not None
    assert (found.fitted_to, [row.k for row in found.rows]) == (16, [32, 64])  # five of seven are fitted
    assert [row.measured for row in found.rows] == pytest.approx([100 * (0.02 + 0.98 / k) for k in (32, 64)], rel=1e-3)


@pytest.mark.parametrize(("errors", "failed"), [((0.4, 0.45), False), ((0.55, 0.6), True), ((0.1, 0.2, 0.9), False)])
def test_a_backtest_fails_by_half_of_the_value_in_the_median(errors: tuple[float, ...], failed: bool) -> None:
    rows = tuple(BacktestRow(k=16, predicted=1 + error, measured=1.0, low=0.5, high=2.5) for error in errors)

    assert bool(Backtest(8, rows).findings) is failed
    missed = tuple(BacktestRow(k=16, predicted=1.1, measured=1.0, low=1.05, high=1.2) for _ in errors)
    assert Backtest(8, missed).findings  # small errors, but no interval held


def test_workers_on_machines_of_their_own_share_no_memory() -> None:
    """The same times are blamed on contention less where every worker has a machine of its own."""
    truth = Truth(causes=("contention",), contention=0.1, contention_form="log", noise=0.02)

    def chance(k_unit: str) -> float:
        study = simulate(truth, np.random.default_rng(4), detail="samples", k_unit=k_unit)
        return next(cause.probability for cause in diagnose(study).causes if cause.name == "contention")

    assert chance("machines") < 0.5 * chance("threads")


@pytest.mark.parametrize(("heavier", "slower", "cause"), [(2.5, 1.4, "imbalance"), (1.3, 2.0, "straggler")])
def test_the_larger_part_of_a_wait_is_named_where_work_was_counted(heavier: float, slower: float, cause: str) -> None:
    """Rank 1 has more work and a slower host; busy time is work times pace, so what the work explains is known."""
    rng, runs = np.random.default_rng(3), []
    for k in (1, 2, 4) * 5:
        work = np.ones(k)
        work[1:2] = heavier
        work /= work.sum()
        busy = work * np.where(np.arange(k) == 1, slower, 1.0) * (1 + 0.01 * rng.standard_normal(k))
        ranks = tuple(
            RankRecord(
                rank=i,
                host=f"h{i}",
                seconds=busy.max(),
                work=work[i],
                phases={"compute": busy[i], "barrier": busy.max() - busy[i]},
            )
            for i in range(k)
        )
        runs.append(Run(k=k, value=float(busy.max()), repeat=len(runs) // 3, ranks=ranks))
    result = diagnose(Study(regime=Regime.STRONG, runs=tuple(runs)))
    # What is lost where the work alone is uneven, of all that is lost and of the waiting.
    low, high = (work[1] / work.mean() - 1) / np.array([4 * busy[1] - 1, busy[1] / busy.mean() - 1])

    assert (low > 0.5, high > 0.5) == (cause == "imbalance",) * 2
    assert result.cause == cause
    shares = {own.name: own.share for own in result.causes}
    assert low < shares["imbalance"] < high
    assert shares["imbalance"] + shares["straggler"] == pytest.approx(1, abs=0.05)


def test_no_cause_is_named_where_repeats_differ_as_much_as_the_loss() -> None:
    def study(spread: float) -> Study:
        rng, curve = np.random.default_rng(1), {1: 10.0, 2: 5.3, 4: 3.0, 8: 1.9, 16: 1.4}
        return Study.from_samples(
            {k: (t * np.exp(spread * rng.standard_normal(2))).tolist() for k, t in curve.items()}, regime="strong"
        )

    noisy, clear = diagnose(study(0.6)), diagnose(study(0.01))

    assert (noisy.cause, noisy.reason) == ("undetermined", "noise")
    assert "repeats spread by up to" in noisy.sentence
    assert "repeat" in noisy.remedy
    assert clear.reason is None
    assert "worker time is lost" in clear.sentence


def test_a_forecast_says_that_it_cannot_tell_only_where_both_ways_are_open() -> None:
    """The range holds the largest measured time well inside: more workers may be faster or slower."""
    bent, flat = times({1: 10.0, 2: 5.3, 4: 3.0, 8: 1.9, 16: 1.4}), times({1: 10.0, 2: 9.0, 4: 8.6, 8: 8.4, 16: 8.3})
    for one in (bent, flat):
        told = forecast(one, at=[32])
        (row,), (_, last) = told.rows, told.measured[-1]
        both = row.low < last / math.sqrt(2) and row.high > 1.1 * last

        assert told.answer.decision.startswith("Cannot tell") == both
    assert forecast(bent, at=[32]).answer.decision.startswith("Cannot tell")
    assert not forecast(flat, at=[32]).answer.decision.startswith("Cannot tell")
