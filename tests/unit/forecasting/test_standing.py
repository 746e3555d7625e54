"""Where a study stands among published curves."""

import pytest

import scalecurve as sc
from scalecurve.forecasting.published import stand
from tests.reference_study import strong_study, weak_study


def test_better_efficiency_ranks_higher() -> None:
    def at_eight(time: float) -> float:
        study = sc.Study.from_samples({1: [8.0], 8: [time]}, regime="strong")
        return {row.multiple: row.percentile for row in stand(study).rows}[8]

    assert at_eight(1.0) > at_eight(2.0) > at_eight(6.0)
    assert 5 <= at_eight(50.0) <= at_eight(0.2) <= 95


def test_the_domain_is_guessed_from_the_worker_or_stated() -> None:
    samples = {1: [100.0], 2: [190.0]}
    training = sc.Study.from_samples(samples, regime="strong", quantity="throughput", unit="images/s", k_unit="gpus")
    assert stand(training).domain == "dl-training"
    assert stand(strong_study()).domain == "all"  # a job on GPUs need not be training
    assert stand(strong_study(), "hpc").domain == "hpc"
    assert stand(sc.Study.from_samples({1: [2.0], 2: [1.1]}, regime="strong")).domain == "all"
    with pytest.raises(sc.InputError, match="no published curves"):
        stand(strong_study(), "astrology")


def test_the_base_is_the_smallest_measured_k() -> None:
    study = sc.Study.from_samples({8: [1.0], 16: [0.55], 32: [0.3]}, regime="strong")

    assert [(row.multiple, row.k) for row in stand(study).rows] == [(2, 16.0), (4, 32.0)]
    assert stand(study).rows[0].efficiency == pytest.approx(1 / 1.1)


def test_weak_studies_are_compared_with_weak_curves() -> None:
    result = stand(weak_study())

    assert result.regime == "weak"
    assert result.rows[0].sentence().startswith("E = 0.99")


def test_a_range_below_two_has_no_standing() -> None:
    assert stand(sc.Study.from_samples({10: [1.0], 15: [0.8]}, regime="strong")) is None


def test_a_multiple_far_from_every_measured_k_is_left_out() -> None:
    wide = sc.Study.from_samples({1: [100.0], 2: [52.0], 64: [5.0]}, regime="strong")

    assert [row.multiple for row in stand(wide).rows] == [2, 64]
