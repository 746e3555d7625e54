"""The speedup table: definitions, baselines, quantities, findings, the bend."""

import numpy as np
import pytest

from scalecurve.analysis import tabulate
from scalecurve.errors import InputError
from scalecurve.findings import error
from scalecurve.study import Regime, Run, Study
from tests.reference_study import strong_samples, strong_study


def _codes(study: Study) -> set[str]:
    return {finding.code for finding in tabulate(study).findings}


def test_a_baseline_other_than_one() -> None:
    table = tabulate(Study.from_samples({4: [10.0, 10.2], 8: [6.0, 6.1], 16: [4.0, 4.1]}, regime="strong"))
    row = table.row(16)

    assert table.baseline_k == 4
    assert row.speedup.value == pytest.approx(4 * 10.1 / 4.05)
    assert row.relative_speedup == pytest.approx(10.1 / 4.05)
    assert row.efficiency.value == pytest.approx(4 * 10.1 / (16 * 4.05))
    assert table.row(4).relative_speedup == 1
    assert table.row(4).speedup.low is None
    assert "T(4)/T(K)" in str(table)


def test_a_stated_baseline_may_lie_inside_the_range() -> None:
    table = tabulate(Study.from_samples({1: [9.0], 2: [4.0], 4: [2.2]}, regime="strong", baseline_k=2))

    assert table.row(2).efficiency.value == 1
    assert table.row(1).efficiency.value == pytest.approx(2 * 4.0 / 9.0)


def test_weak_scaling() -> None:
    table = tabulate(Study.from_samples({1: [1.0, 1.0], 4: [1.25, 1.25]}, regime="weak"))

    assert table.row(4).efficiency.value == pytest.approx(0.8)
    assert table.row(4).speedup.value == pytest.approx(3.2)


@pytest.mark.parametrize("regime", ["strong", "weak"])
def test_throughput_and_throughput_per_worker_agree(regime: str) -> None:
    total = tabulate(Study.from_samples({1: [10.0], 4: [30.0]}, regime=regime, quantity="throughput"))
    each = tabulate(Study.from_samples({1: [10.0], 4: [7.5]}, regime=regime, quantity="throughput_per_worker"))

    assert total.row(4).efficiency.value == each.row(4).efficiency.value == pytest.approx(0.75)
    assert total.row(4).speedup.value == pytest.approx(3.0)


def test_a_single_sample_has_no_spread_and_no_interval() -> None:
    study = Study.from_samples({1: [1.0, 1.1], 2: [0.6]}, regime="strong")
    row = tabulate(study).row(2)

    assert row.std is None
    assert row.mean.low is row.mean.high is None
    assert row.efficiency.low is None
    assert "single-sample" in _codes(study)


def test_superlinear_is_a_finding_and_never_clipped() -> None:
    study = Study.from_samples({1: [600.0, 601.0, 599.0], 8: [60.0, 60.1, 59.9]}, regime="strong")
    row = tabulate(study).row(8)

    assert row.efficiency.value == pytest.approx(1.25)
    assert row.verdict == "implausible: E up to 1.25"
    assert tabulate(study).answer.decision.startswith("No K can be recommended")
    assert "superlinear" in _codes(study)


def test_superlinear_within_its_interval_is_no_finding() -> None:
    study = Study.from_samples({1: [10.0, 12.0, 8.0], 2: [4.8, 5.5, 4.4]}, regime="strong")

    assert "superlinear" not in _codes(study)


def test_copies_of_one_run_are_noticed() -> None:
    assert "no-spread" in _codes(Study.from_samples({1: [1.1, 1.1, 1.1], 2: [0.6, 0.61, 0.6]}, regime="strong"))


def test_clean_data_has_no_outliers_and_a_straggler_is_one() -> None:
    assert "outliers" not in _codes(strong_study())
    samples = strong_samples()
    samples[8] = [*samples[8][:-1], 0.6]
    assert "outliers" in _codes(Study.from_samples(samples, regime="strong"))


def test_oversubscribed_rows_are_marked() -> None:
    runs = [Run(k=k, value=1.0 / k, oversubscribed=k > 2) for k in (1, 2, 4)]
    study = Study(regime=Regime.STRONG, runs=tuple(runs))

    assert tabulate(study).row(4).oversubscribed
    assert "oversubscribed" in _codes(study)


def test_one_k_only_is_refused() -> None:
    with pytest.raises(InputError, match="two worker counts"):
        tabulate(Study.from_samples({4: [1.0, 2.0]}, regime="strong"))
    way = "continue it with `scalecurve measure --resume s.json`"
    early = Study.from_samples({4: [1.0]}, regime="strong")
    early = early.with_findings([error("interrupted", "The measurement was interrupted.", remedy=way)])
    with pytest.raises(InputError, match=r"--resume s\.json"):
        tabulate(early)


def test_wrong_settings_are_all_reported() -> None:
    with pytest.raises(InputError) as caught:
        tabulate(strong_study(), threshold=-1, level=95)

    assert len(caught.value.faults) == 2


def test_a_bend_near_the_threshold_is_unsure_and_names_its_neighbours() -> None:
    rng = np.random.default_rng(1)
    truth = {1: 1.0, 2: 0.55, 4: 1 / (4 * 0.705), 8: 1 / (8 * 0.6)}
    samples = {k: (time * (1 + 0.05 * rng.standard_normal(5))).tolist() for k, time in truth.items()}
    bend = tabulate(Study.from_samples(samples, regime="strong"), threshold=0.7).bend

    assert bend is not None
    assert bend.probability is not None
    assert 0.05 < bend.probability < 0.95
    assert {bend.k} | {k for k, _ in bend.neighbours} >= {4, 8}


def test_bend_rules_by_name() -> None:
    study = strong_study()

    assert tabulate(study, bend="efficiency").bend.k == 8  # type: ignore[union-attr]
    # S = 5.33, 7.22 at K = 8, 16: a gain of 0.24 per worker there, of 0.51 at the step before.
    assert tabulate(study, bend="marginal", threshold=0.5).bend.k == 16  # type: ignore[union-attr]
    # S*E = 3.55 at K = 8, 3.26 at 16: the largest product.
    assert tabulate(study, bend="knee").bend.k == 8  # type: ignore[union-attr]
    with pytest.raises(InputError, match="unknown rule"):
        tabulate(study, bend="kneedle")


def test_a_knee_at_the_last_k_was_not_reached() -> None:
    assert tabulate(Study.from_samples({1: [1.0], 2: [0.51], 4: [0.26]}, regime="strong"), bend="knee").bend is None


def test_no_bend_says_so() -> None:
    table = tabulate(Study.from_samples({1: [1.0, 1.01], 2: [0.5, 0.51]}, regime="strong"))

    assert table.bend is None
    assert "Use all 2 workers" in str(table)


def test_the_bend_does_not_depend_on_hidden_randomness() -> None:
    assert tabulate(strong_study()) == tabulate(strong_study())


def test_karp_flatt_is_shown_on_request() -> None:
    assert "Karp-Flatt" not in str(tabulate(strong_study()))
    assert "Karp-Flatt" in str(tabulate(strong_study(), karp_flatt=True))


def test_the_repr_says_the_answer() -> None:
    assert repr(tabulate(strong_study())) == (
        "Use up to 4 GPUs: efficiency is 83 % there and 67 % at 8 (threshold 70 %)."
    )


def test_a_ratio_of_scaled_speedups_is_not_called_a_ratio_of_times() -> None:
    weak = Study.from_samples({16: [1.0, 1.01], 128: [1.05, 1.06]}, regime="weak")

    assert "T(16)/T(K)" not in str(tabulate(weak))
    assert "S(K)/S(16)" in str(tabulate(weak))


def test_few_runs_that_happen_to_be_close_get_the_spread_of_their_neighbours() -> None:
    times = {1: [10.0, 11.0, 10.0], 2: [5.0, 5.001, 5.0], 4: [2.5, 2.75, 2.75]}
    few = tabulate(Study.from_samples(times, regime="strong")).row(2).mean

    assert few.high is not None
    assert few.high > 5.2
