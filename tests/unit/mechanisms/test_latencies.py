"""Percentiles, coordinated omission and tails."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from scalecurve.errors import InputError
from scalecurve.mechanisms import tail_latency
from scalecurve.mechanisms.latencies import LatencySummaries, corrected, percentiles, samples_needed, summarise_latency
from scalecurve.study.latency_record import Histogram, LatencyRecord


@pytest.mark.parametrize(("share", "needed"), [(0.5, 6), (0.9, 36), (0.99, 368), (0.999, 3688)])
def test_how_many_samples_an_interval_needs(share: float, needed: int) -> None:
    assert samples_needed(share) == needed
    rng = np.random.default_rng(1)
    fewer = percentiles(Histogram.of(rng.random(needed - 1) + 1), [share])[0]
    enough = percentiles(Histogram.of(rng.random(needed) + 1), [share])[0]
    assert fewer.estimate is None
    assert enough.estimate is not None


def test_intervals_cover_what_they_promise() -> None:
    truth = stats.lognorm.ppf(0.99, 1.0)
    rng, hits = np.random.default_rng(7), 0
    for _ in range(300):
        found = percentiles(Histogram.of(rng.lognormal(0, 1, 1000)), [0.99])[0].estimate
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= truth <= found.high
    assert hits / 300 >= 0.92  # 95 % nominal, three standard errors below


def _stalled() -> LatencyRecord:
    """100 s at an intended 100 per second, 1 ms each, with one stall of a second in a closed loop."""
    return LatencyRecord(
        name="stall", histogram=Histogram.of([1e-3] * 9899 + [1.0]), seconds=100.0, intended_rate=100.0
    )


def test_a_hidden_stall_is_found_and_corrected() -> None:
    summary = summarise_latency(_stalled())
    assert [finding.code for finding in summary.findings] == ["coordinated-omission"]
    naive = next(each for each in summary.percentiles if each.name == "p99.9")
    fixed = next(each for each in summary.corrected or () if each.name == "p99.9")
    assert naive.estimate is not None
    assert naive.estimate.value == pytest.approx(1e-3, rel=1e-3)
    assert fixed.estimate is not None
    assert fixed.estimate.value == pytest.approx(0.9, rel=0.02)


def test_a_complete_record_is_left_alone() -> None:
    whole = LatencyRecord(
        name="fine", histogram=Histogram.of([1e-3] * 9999 + [1.0]), seconds=100.0, intended_rate=100.0
    )
    assert summarise_latency(whole).corrected is None
    with pytest.raises(InputError, match="positive time"):
        corrected(_stalled().histogram or Histogram.empty(), 0.0)


def test_goodput_counts_what_met_the_slo() -> None:
    record = LatencyRecord(name="x", histogram=Histogram.of([0.01] * 90 + [0.5] * 10), seconds=10.0)
    assert summarise_latency(record, slo=0.1).goodput == pytest.approx(9.0)
    with pytest.raises(InputError, match="SLO is not a positive time"):
        summarise_latency(record, slo=-1)


def test_too_few_samples_print_words_and_not_numbers() -> None:
    text = str(summarise_latency(LatencyRecord(name="few", histogram=Histogram.of([0.01] * 50))))
    assert "not enough samples" in text
    assert "needs 368" in text


def test_stated_percentiles_have_no_interval_and_are_dropped_where_the_tool_had_too_few() -> None:
    record = LatencyRecord(name="wrk", stated={0.5: 0.01, 0.99: 0.05}, count=100)
    found = summarise_latency(record)
    assert found.percentiles[0].estimate is not None
    assert found.percentiles[0].estimate.low is None
    assert found.percentiles[1].estimate is None
    assert "stated-percentiles" in [finding.code for finding in found.findings]
    assert LatencySummaries(summaries=(found,)).records()[0]["percentile"] == "p50"


def test_fan_out_and_hedging_of_a_lognormal() -> None:
    # Reference sheet: lognormal(1), hedge after p95: p99 10.2 -> 6.7 and p99.9 21.7 -> 9.3 for 5 % more load.
    histogram = Histogram.of(np.random.default_rng(1).lognormal(0, 1, 2_000_000))
    found = tail_latency(LatencyRecord(name="leaf", histogram=histogram), fan_out=[1, 100], hedge_after=0.95)
    rows = {row.share: row for row in found.hedged}
    assert rows[0.99].plain == pytest.approx(10.24, rel=0.02)
    assert rows[0.99].hedged == pytest.approx(6.7, rel=0.02)
    assert rows[0.999].hedged == pytest.approx(9.3, rel=0.04)
    assert found.extra_load == pytest.approx(0.05, abs=1e-3)
    assert found.fan_out[1].any_slow == pytest.approx(0.634, abs=1e-3)
    assert found.fan_out[1].p50 == pytest.approx(stats.lognorm.ppf(0.5 ** (1 / 100), 1.0), rel=0.02)
