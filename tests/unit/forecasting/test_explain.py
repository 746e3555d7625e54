"""Why a forecast says what it says."""

import json

import pytest

from scalecurve.forecasting.forecast import forecast
from scalecurve.forecasting.published import shipped
from tests.reference_study import strong_study, weak_study


def test_the_explanation_names_experts_and_curves() -> None:
    result = forecast(strong_study(), at=[128, 256], explain=True)
    why = result.explanation

    assert why is not None
    assert why.k == 256
    assert 0.9 < sum(one.share for one in why.experts) <= 1.0 + 1e-9
    assert [one.share for one in why.experts] == sorted((one.share for one in why.experts), reverse=True)
    assert len(why.alike) == 3
    assert len({one.source for one in why.alike}) == 3
    assert all(one.last_k / one.first_k >= 128 for one in why.alike)
    assert all(one.misfit < 0.1 for one in why.alike)
    json.dumps(result.to_dict()["explanation"], allow_nan=False)


def test_alike_curves_lie_over_the_study() -> None:
    result = forecast(strong_study(), at=[128], explain=True)

    for alike in result.explanation.alike:
        for (k, value), (measured_k, measured) in zip(alike.line, result.measured, strict=False):
            assert k == measured_k
            assert value == pytest.approx(measured, rel=0.25)
        assert alike.onwards[0] == pytest.approx(alike.line[6][1] / alike.line[7][1])


def test_without_asking_nothing_is_explained() -> None:
    result = forecast(strong_study(), at=[128])

    assert "explanation" not in result.to_dict()
    assert "Why, at" not in str(result)


def test_weak_curves_and_interpolation_have_no_stack_to_explain() -> None:
    assert forecast(weak_study(), at=[128], explain=True).explanation is None
    assert forecast(strong_study(), at=[32], explain=True).to_dict()["explanation"] is None


def test_the_library_names_every_curve_by_its_shape() -> None:
    library = shipped().library

    assert len(library["rows"]) > 800
    for source, application, system, shape, first, last, *_ in library["rows"]:
        assert source < len(library["sources"])
        assert application < len(library["applications"])
        assert system < len(library["systems"])
        assert shape < len(shipped().shapes)
        assert first < last
