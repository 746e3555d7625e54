"""The forecast as its users see it."""

import json
from pathlib import Path

import numpy as np
import pytest

import scalecurve as sc
from scalecurve.forecasting.forecast import forecast, forecast_all
from scalecurve.forecasting.rows import KNEE, ExpectedBend, band
from scalecurve.study.file import save
from tests.reference_study import strong_study, weak_study


def times(curve: dict[int, float], regime: str = "strong", **more: object) -> sc.Study:
    return sc.Study.from_samples({k: [v] for k, v in curve.items()}, regime=regime, **more)


def codes(result: object) -> list[str]:
    return [finding.code for finding in result.findings]  # type: ignore[attr-defined]


def test_the_rows_are_what_was_asked_for() -> None:
    result = forecast(strong_study(), at=[128, 256], level=0.9)

    assert [row.k for row in result] == [128, 256]
    assert result[0].extrapolation == 2.0
    for row in result:
        assert 0 < row.low < row.seconds < row.high
        assert row.speedup == pytest.approx(row.k * row.efficiency)
        assert row.throughput is None
        assert not row.refused
    assert len(result) == 2


def test_the_json_has_the_promised_keys() -> None:
    answer = forecast(strong_study(), at=[128, 4096]).to_dict()

    assert {"level", "rows", "weights", "backtest", "findings"} <= set(answer)
    keys = {"k", "seconds", "low", "high", "speedup", "efficiency", "extrapolation", "refused"}
    assert all(set(row) == keys for row in answer["rows"])
    assert answer["rows"][1]["refused"]
    assert answer["rows"][1]["seconds"] is None
    json.dumps(answer, allow_nan=False)


def test_beyond_four_times_is_grey_and_beyond_sixteen_refused_unless_insisted() -> None:
    result = forecast(strong_study(), at=[128, 512, 2048])

    assert [row.refused for row in result] == [False, False, True]
    assert [[f.code for f in row.findings] for row in result] == [[], ["far-extrapolation"], ["forecast-refused"]]
    assert result[2].seconds is None
    insisted = forecast(strong_study(), at=[2048], extrapolate=True)[0]
    assert insisted.low < insisted.seconds < insisted.high


def test_many_studies_at_once_are_each_as_alone() -> None:
    studies = [strong_study(), weak_study(), times({1: 8.0, 2: 5.0, 4: 4.0}), times({2: 10, 4: 6, 9: 4, 20: 3.5})]

    together = forecast_all(studies, at=[128, 256], extrapolate=True)

    for own, result in zip(studies, together, strict=True):
        alone = forecast(own, at=[128, 256], extrapolate=True)
        assert [row.low for row in result] == pytest.approx([row.low for row in alone], rel=1e-6)
        assert [row.high for row in result] == pytest.approx([row.high for row in alone], rel=1e-6)
        assert [row.value or 0.0 for row in result] == pytest.approx([row.value or 0.0 for row in alone], rel=1e-6)


def test_higher_levels_are_wider_and_an_uncalibrated_one_is_refused() -> None:
    widths = [forecast(strong_study(), at=[128], level=level)[0] for level in (0.3, 0.5, 0.8, 0.9, 0.95, 0.99)]

    assert np.all(np.diff([row.high - row.low for row in widths]) > 0)
    with pytest.raises(sc.InputError, match=r"calibrated up to 0\.99"):
        forecast(strong_study(), at=[128], level=0.999)


def test_the_further_the_wider() -> None:
    rows = forecast(strong_study(), at=[65, 80, 128, 256, 512, 1024])

    assert np.all(np.diff([row.high / row.low for row in rows]) > 0)


def test_units_of_time_do_not_matter() -> None:
    seconds = times({1: 100.0, 2: 55.0, 4: 30.0, 8: 18.0, 16: 13.0})
    milliseconds = times({1: 100e3, 2: 55e3, 4: 30e3, 8: 18e3, 16: 13e3})

    one, other = (forecast(own, at=[64])[0] for own in (seconds, milliseconds))

    assert other.seconds == pytest.approx(1000 * one.seconds)
    assert other.efficiency == pytest.approx(one.efficiency)


def test_a_rate_is_forecast_alike_however_it_is_stated() -> None:
    """Published rates go flat sooner than published times do, so a time and its inverse differ a little."""
    curve = {1: 100.0, 2: 55.0, 4: 30.0, 8: 18.0, 16: 13.0}
    rates = sc.Study.from_samples({k: [1 / v] for k, v in curve.items()}, regime="strong", quantity="throughput")
    shares = sc.Study.from_samples(
        {k: [1 / v / k] for k, v in curve.items()}, regime="strong", quantity="throughput_per_worker"
    )

    time, rate, share = (forecast(study, at=[64])[0] for study in (times(curve), rates, shares))

    assert rate.throughput == pytest.approx(share.throughput)
    assert rate.low == pytest.approx(64 * share.low)
    assert rate.throughput == pytest.approx(1 / time.seconds, rel=0.1)
    assert forecast(rates, at=[64]).to_dict()["rows"][0]["throughput"] == pytest.approx(rate.throughput)


def test_weak_throughput_grows_with_the_workers() -> None:
    curve = {1: 1.0, 2: 1.97, 4: 3.88, 8: 7.6, 16: 15.0}
    result = forecast(times(curve, "weak", quantity="throughput"), at=[32, 64])

    assert result[0].throughput == pytest.approx(29.6, rel=0.05)
    assert result[1].efficiency == pytest.approx(result[1].throughput / 64, rel=1e-6)
    assert result.view.kind == "weak"


def test_a_rising_time_is_forecast_as_a_collective() -> None:
    rising = {64: 1.0, 128: 2.1, 256: 4.2, 512: 8.7}

    for regime in ("strong", "weak"):
        result = forecast(times(rising, regime), at=[1024])
        assert result[0].seconds == pytest.approx(17.6, rel=0.1)
        assert "rising-time" in codes(result)
    assert forecast(times(rising, "strong"), at=[1024], kind="strong").view.kind == "strong"
    with pytest.raises(sc.InputError, match="unknown kind"):
        forecast(times(rising), at=[1024], kind="sideways")


def test_within_the_measured_range_it_interpolates() -> None:
    result = forecast(times({1: 16.0, 4: 4.0, 16: 1.0}), at=[2, 4, 8])

    assert [row.seconds for row in result] == pytest.approx([8.0, 4.0, 2.0])
    assert result[1].high / result[1].low < result[0].high / result[0].low
    assert result.weights == {}


def test_below_the_smallest_k_it_goes_on_with_doubt() -> None:
    below, inside = forecast(times({8: 2.0, 16: 1.0, 32: 0.5}), at=[1, 16])

    assert below.seconds == pytest.approx(16.0)
    assert below.high / below.low > 3 * inside.high / inside.low


def test_weights_add_up_to_one() -> None:
    for study in (strong_study(), weak_study()):
        assert sum(forecast(study, at=[128]).weights.values()) == pytest.approx(1.0)


def test_the_backtest_sees_only_the_smaller_k() -> None:
    result = forecast(strong_study(), at=[128]).backtest

    assert result.fitted_to == 16
    assert [row.k for row in result.rows] == [32, 64]
    assert result.median_error < 0.2
    assert result.covered == 1.0
    assert forecast(times({1: 3.0, 2: 2.0, 4: 1.5}), at=[8]).backtest is None


def test_a_saturating_curve_stays_near_its_ceiling() -> None:
    curve = {1: 1.0, 2: 1.95, 4: 3.6, 8: 5.4, 16: 6.1, 32: 6.2}

    row = forecast(times(curve, quantity="throughput"), at=[64])[0]

    assert row.throughput == pytest.approx(6.2, rel=0.1)


def test_a_passed_peak_is_said() -> None:
    curve = {1: 1.0, 2: 1.9, 4: 3.4, 8: 5.0, 16: 4.4, 32: 3.3}

    result = forecast(times(curve, quantity="throughput"), at=[64])

    assert "past-the-peak" in codes(result)
    assert result[0].throughput < 3.4


def test_the_rate_of_a_shared_device_is_believed_to_rise_less() -> None:
    curve = {1: 1.0, 2: 1.9, 4: 3.6, 8: 6.5}

    plain = forecast(times(curve, quantity="throughput"), at=[32])[0]
    device = forecast(times(curve, quantity="throughput", unit="MiB/s"), at=[32])[0]

    assert 6.5 < device.throughput < plain.throughput


def test_a_node_size_parts_the_inside_from_the_network() -> None:
    curve = {1: 8.0, 2: 4.0, 4: 2.0, 8: 1.0, 16: 0.8, 32: 0.45, 64: 0.26}

    plain = forecast(times(curve), at=[256])
    marked = forecast(times(curve), at=[256], node_size=16)
    inside = forecast(times({1: 8.0, 2: 4.0, 4: 2.0, 8: 1.0}), at=[32], node_size=8)

    assert "inside-node-left-out" in codes(marked)
    assert marked[0].seconds != plain[0].seconds
    assert "node-boundary" in codes(inside)
    free = forecast(times({1: 8.0, 2: 4.0, 4: 2.0, 8: 1.0}), at=[32])[0]
    assert inside[0].seconds > free.seconds
    assert inside[0].high / inside[0].low == pytest.approx(free.high / free.low, rel=0.2)


def test_threads_do_not_outgrow_their_node() -> None:
    study = times({1: 8.0, 2: 4.0, 4: 2.0, 8: 1.05}, k_unit="threads")

    capped, free = (forecast(study, at=[32], node_size=size)[0] for size in (8, None))

    assert capped.seconds > free.seconds
    assert capped.seconds == pytest.approx(1.05, rel=0.05)


def test_cores_limit_threads_and_widen_the_rest() -> None:
    curve = {1: 8.0, 2: 4.0, 4: 2.0, 8: 1.05}

    threads, ranks = (times(curve, k_unit=unit) for unit in ("threads", "ranks"))
    capped, free = forecast(threads, at=[32], cores=8), forecast(threads, at=[32])
    wider, narrower = (forecast(ranks, at=[32], cores=cores)[0] for cores in (8, 64))

    assert capped[0].seconds == pytest.approx(1.05, rel=0.05)
    assert free[0].seconds < 0.7
    assert "beyond-the-cores" in codes(capped)
    assert "beyond-the-cores" not in codes(free)
    assert wider.seconds == pytest.approx(narrower.seconds)
    assert wider.high / wider.low > narrower.high / narrower.low
    with pytest.raises(sc.InputError, match="at least one core"):
        forecast(threads, at=[32], cores=0)


def test_cores_that_a_measurement_recorded_count() -> None:
    from dataclasses import replace

    from scalecurve.study import Provenance

    study = times({1: 8.0, 2: 4.0, 4: 2.0, 8: 1.05}, k_unit="threads")
    recorded = replace(study, provenance=Provenance(machine={"usable_cores": 8}))

    assert forecast(recorded, at=[32])[0].seconds == pytest.approx(1.05, rel=0.05)
    hosts = replace(
        times({1: 8.0, 2: 4.0, 4: 2.0, 8: 1.05}, k_unit="hosts"),
        provenance=Provenance(machine={"usable_cores": 2}, launcher="local"),
    )
    assert "beyond-the-cores" not in codes(forecast(hosts, at=[16]))  # the cores of one host say nothing about 16 hosts


def test_the_bend_is_expected_where_doubling_stops_paying() -> None:
    bend = forecast(strong_study(), at=[128]).bend

    assert bend.measured
    assert 8 <= bend.k <= 32
    linear = forecast(times({1: 64.0, 2: 32.0, 4: 16.0, 8: 8.0}), at=[16]).bend
    assert linear.k is None
    assert "No bend expected" in linear.sentence(8)
    assert "efficiency" in forecast(weak_study(), at=[128]).bend.rule


def test_wrong_settings_are_all_named_at_once() -> None:
    with pytest.raises(sc.InputError) as caught:
        forecast(strong_study(), at=[0, 2.5, float("nan"), "many", True], level=7, node_size=0)
    assert len(caught.value.faults) == 7
    with pytest.raises(sc.InputError, match="no worker counts"):
        forecast(strong_study(), at=[])


def test_without_a_wish_it_looks_two_and_four_times_ahead() -> None:
    assert [row.k for row in forecast(strong_study())] == [128, 256]


def test_text_and_html_tell_the_same_story() -> None:
    result = forecast(strong_study(), at=[128, 2048])
    text, details = str(result), str(result.document().details)

    assert "refused" in text
    assert "Weights: " in details
    assert "Tried on this study's own data" in details
    assert "Weights: " in details
    assert "<table>" in result._repr_html_()
    assert result.records()[0]["k"] == 128


def test_a_backtest_that_misses_is_told() -> None:
    broken = sc.Study.from_samples({1: [1e6], 2: [1.0], 4: [1e-3], 8: [1e-6]}, regime="strong", name="job")
    steady = sc.Study.from_samples({k: [1.0 / k + 0.02] for k in (1, 2, 4, 8, 16)}, regime="strong", name="job")

    failed = [finding for finding in forecast(broken).findings if finding.code == "backtest-failed"]

    assert len(failed) == 1
    assert failed[0].evidence["covered"] == 0
    assert "backtest-failed" in {finding["code"] for finding in forecast(broken).to_dict()["findings"]}
    assert "backtest-failed" not in {finding.code for finding in forecast(steady).findings}


@pytest.mark.parametrize("at", [128, np.int64(128), [128], np.array([128]), "128", (128,)])
def test_worker_counts_in_every_form(at: object) -> None:
    assert [row.k for row in forecast(strong_study(), at=at)] == [128]  # type: ignore[arg-type]


def test_a_range_of_worker_counts_as_text() -> None:
    assert [row.k for row in forecast(strong_study(), at="64..256")] == [64, 128, 256]


def test_the_repr_says_the_answer_in_one_line() -> None:
    text = repr(forecast(strong_study(), at=[128, 4096]))

    assert text == "128 GPUs would take 114.2 ms (91 ms to 134.4 ms), no faster than 64."


def test_a_full_node_may_be_followed_by_another_that_does_as_much() -> None:
    """Memory bandwidth ends the gain within a node; two nodes have twice as much of it, less what the network eats."""
    rng, inside = np.random.default_rng(5), []
    for _ in range(20):
        node, sockets = 8, rng.uniform(2, 6)
        full = sockets * (1 - np.exp(-node / sockets))
        times = {k: 100 / (sockets * (1 - np.exp(-k / sockets))) for k in (1, 2, 4, 8)}
        study = sc.Study.from_samples(
            {k: own * (1 + 0.01 * rng.standard_normal(3)) for k, own in times.items()}, regime="strong", k_unit="ranks"
        )
        row = forecast(study, at=[16], node_size=node)[0]
        inside.append((row.low or 0) <= 100 / full / 2 * rng.uniform(1.0, 1.15) <= (row.high or 0))
    assert sum(inside) >= 18


def test_a_band_holds_its_own_middle() -> None:
    for row in forecast(strong_study(), at=[64, 128]):
        shares = band(row)
        assert shares is not None
        assert shares["speedup_low"] < shares["speedup"] < shares["speedup_high"]
        assert shares["speedup"] == pytest.approx(row.k * shares["efficiency"])
        assert shares["speedup_high"] / shares["speedup"] == pytest.approx(row.value / row.low)


def test_a_study_may_be_a_path(tmp_path: Path) -> None:
    path = tmp_path / "study.json"
    save(strong_study(), path)

    assert forecast(path, 128).records() == forecast(strong_study(), 128).records()
    assert [own[0].k for own in forecast_all([path, str(path)], "128")] == [128, 128]
    with pytest.raises(sc.InputError, match="not a study"):
        forecast(5)  # type: ignore[arg-type]


@pytest.mark.parametrize(("unit", "k_unit"), [("GB/s", "nodes"), ("IOPS", "clients"), ("MiB/s", "workers")])
@pytest.mark.parametrize("exponent", [1.0, 0.93])
def test_the_rate_of_a_device_that_has_met_no_ceiling_may_go_on(unit: str, k_unit: str, exponent: float) -> None:
    samples = {k: [10 * k**exponent] * 3 for k in (1, 2, 4, 8, 16)}
    study = sc.Study.from_samples(samples, regime="strong", quantity="throughput", unit=unit, k_unit=k_unit)

    for row in forecast(study, at=[32, 64]):
        assert row.low < 10 * 16**exponent < 10 * row.k**exponent < row.high


def test_a_bend_whose_interval_passes_the_data_is_only_probably_measured() -> None:
    sure = ExpectedBend(KNEE, 8.0, 4.0, 16.0, measured=True).sentence(16)
    assert "already within the measured range, near K = 8 (from 4 to 16; " in sure
    wide = ExpectedBend(KNEE, 8.0, 4.0, 45.0, measured=True).sentence(16)
    assert "probably within the measured range, near K = 8 (from 4 to 45, past the largest measured K = 16; " in wide
    assert "near K = 8 (rule: " in ExpectedBend(KNEE, 8.0, 8.0, 8.0, measured=True).sentence(16)
    assert "near K = 1,024 (from 724 to " in ExpectedBend(KNEE, 1024.0, 724.08, None, measured=False).sentence(512)
    open_end = ExpectedBend(KNEE, 8.0, 4.0, None, measured=True).sentence(16)
    assert "from 4 to beyond the horizon, past the largest measured K = 16" in open_end


def test_two_worker_counts_tell_no_bend() -> None:
    one = forecast(times({1: 64.0, 2: 34.0}), at=[4])
    assert one.bend.k is None
    assert "bend is" not in str(one)
    assert "No bend" not in str(one)


def test_a_bend_is_called_measured_only_where_its_whole_range_is() -> None:
    published = {16: 1740.6, 32: 931.4, 64: 570.9, 128: 407.0, 256: 374.6, 512: 205.5}

    bend = forecast(times(published), at=[1024]).bend

    assert bend.high is None or bend.high >= 512
    assert "already within" not in bend.sentence(512)


def test_a_large_speedup_is_written_without_an_exponent() -> None:
    study = sc.Study.from_samples({k: [1000.0 / k] * 3 for k in (1, 10, 100, 1000, 10000)}, regime="strong")

    assert "e+" not in str(forecast(study, at=[20000]))


def test_weak_scaling_is_compared_by_the_work_per_second() -> None:
    times = {1: 61.2, 2: 62.0, 4: 63.9, 8: 66.5, 16: 71.8, 32: 83.1}

    assert "x the work per second of 32, E = " in forecast(times, at=64, regime="weak").answer.decision
