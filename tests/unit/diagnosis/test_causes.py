"""From chances to one cause, a set, or nothing."""

from __future__ import annotations

import numpy as np
import pytest

from scalecurve.diagnosis.causes import ANSWERS, NAMES, Draws, Temper, answer, separation


def test_one_cause_from_nine_tenths_on() -> None:
    said = answer({"communication": 0.93, "serial": 0.07})
    assert (said.cause, said.candidates, said.probability) == ("communication", ("communication",), 0.93)


def test_below_it_the_smallest_set_that_holds_the_cause() -> None:
    said = answer({"straggler": 0.4, "communication": 0.57, "serial": 0.03})
    assert said.cause == "undetermined"
    assert said.candidates == ("communication", "straggler")
    assert said.probability == pytest.approx(0.97)


def test_a_mechanism_without_a_name_is_never_the_cause() -> None:
    assert answer({"other": 0.99, "serial": 0.01}).cause == "undetermined"


def test_tempered_chances_add_up_and_are_less_sure() -> None:
    tempered = Temper(0.8, 0.05)({"communication": 0.99, "serial": 0.01, "straggler": -1e-17})
    assert sum(tempered.values()) == pytest.approx(1.0)
    assert set(tempered) == set(ANSWERS)
    assert tempered["communication"] < 0.97
    assert min(tempered.values()) > 0


def test_shares_of_a_mixture_have_intervals() -> None:
    rng = np.random.default_rng(0)
    losses = np.zeros((500, len(NAMES), 2))
    losses[:, 0, 1], losses[:, 4, 1] = rng.uniform(0.5, 0.7, 500), rng.uniform(0.2, 0.4, 500)
    draws = Draws((1, 8), np.full(500, 1 / 500), losses, np.ones((500, 2)))

    low, high = draws.intervals()["communication"]
    assert 0.5 < low < draws.shares()[8]["communication"] < high < 0.8
    assert draws.chances()["communication"] == pytest.approx(1.0)
    assert draws.shares()[1]["none"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("candidates", "phased", "telling", "says"),
    [
        (("communication",), False, False, None),
        (("communication", "straggler"), False, False, "before each collective"),
        (("communication", "straggler", "imbalance"), True, False, "put a barrier"),
        (("straggler", "imbalance"), True, True, "count the work"),
        (("serial", "contention"), False, False, "twice as many nodes"),
        (("serial", "communication"), False, False, "scalecurve collective"),
        (("none", "communication"), True, True, "repeat"),
        (("contention", "other"), True, True, "profile"),
    ],
)
def test_the_measurement_that_separates(
    candidates: tuple[str, ...], phased: bool, telling: bool, says: str | None
) -> None:
    measurement = separation(candidates, phased=phased, telling=telling)
    assert (measurement is None) if says is None else (measurement is not None and says in measurement)


def test_a_loss_that_is_probably_there_is_not_called_noise() -> None:
    likely = separation(("none", "serial", "other"), phased=False, telling=False)
    unlikely = separation(("communication", "straggler", "serial", "none"), phased=False, telling=False)

    assert likely is not None
    assert "repeat" in likely
    assert unlikely is not None
    assert "repeat" not in unlikely
