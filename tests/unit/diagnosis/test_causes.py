"""From chances to one cause or a set, and the measurement that tells its members apart."""

from __future__ import annotations

import csv
import json
from importlib.resources import files

import numpy as np
import pytest

from scalecurve.diagnosis.causes import (
    ANSWERS,
    MEASUREMENTS,
    PROFILE,
    Weights,
    answer,
    chances_of,
    held_to_loss,
    next_measurement,
    weights,
)

EVEN = dict.fromkeys(ANSWERS, 1 / len(ANSWERS))


def used(covered: float, named: float, pair: float = 2.0) -> Weights:
    return Weights((), np.zeros(0), np.zeros(0), 0.0, covered, named, pair)


def test_a_set_holds_the_likeliest_until_they_are_likely_enough_and_one_alone_is_the_cause() -> None:
    sure = answer({"communication": 0.93, "serial": 0.07}, used(0.9, 0.95))
    assert (sure.cause, sure.candidates, sure.probability) == ("communication", ("communication",), 0.93)
    said = answer({"straggler": 0.4, "communication": 0.57, "serial": 0.03}, used(0.9, 0.8))
    assert (said.cause, said.candidates) == ("undetermined", ("communication", "straggler"))
    assert said.probability == pytest.approx(0.97)


def test_a_cause_likely_enough_is_named_with_the_others_still_possible_and_a_family_where_its_member_is_open() -> None:
    likely = answer({"serial": 0.8, "contention": 0.15, "other": 0.05}, used(0.9, 0.75))
    assert (likely.cause, likely.probability, likely.candidates) == ("serial", 0.8, ("serial", "contention"))
    waits = answer({"straggler": 0.45, "imbalance": 0.4, "jitter": 0.1, "serial": 0.05}, used(0.9, 0.75))
    assert (waits.cause, waits.candidates) == ("waiting", ("straggler", "imbalance", "jitter"))
    assert waits.probability == pytest.approx(0.95)


def test_a_pair_is_stated_with_its_chance_where_no_cause_and_no_family_is_likely_enough() -> None:
    chances = {"serial": 0.4, "communication": 0.35, "contention": 0.15, "none": 0.1}
    both = answer(chances, used(0.95, 0.55, 0.7))
    assert (both.cause, both.stated) == ("serial or communication", ("serial", "communication"))
    assert both.probability == pytest.approx(0.75)
    assert len(both.candidates) == 4
    assert answer(chances, used(0.95, 0.55, 0.8)).stated == ()
    assert answer({"serial": 0.4, "none": 0.4, "contention": 0.2}, used(0.95, 0.55, 0.7)).stated == ()


def test_chances_add_up_and_none_is_impossible() -> None:
    chances = chances_of(dict.fromkeys(ANSWERS, 0.0) | {"serial": 900.0}, floor=0.02)
    assert sum(chances.values()) == pytest.approx(1.0)
    assert min(chances.values()) == pytest.approx(0.02 / len(ANSWERS))


def test_no_cause_is_likelier_than_a_loss() -> None:
    held = held_to_loss(EVEN, 0.2)
    assert sum(held.values()) == pytest.approx(1.0)
    assert 1 - held["none"] == pytest.approx(0.2)


def test_the_measurement_tells_the_likely_causes_apart_and_is_never_one_that_was_made() -> None:
    pairs = {
        ("communication", "jitter"): "apart",
        ("straggler", "imbalance"): "work",
        ("contention", "serial"): "spread",
        ("none", "communication"): "repeats",
    }
    texts = {key: one.text for key, one in MEASUREMENTS.items()}
    for pair, key in pairs.items():
        chances = dict.fromkeys(ANSWERS, 0.01) | dict.fromkeys(pair, 0.45)
        assert next_measurement(chances, pair, {"phases"}) == texts[key]
    made: set[str] = set()
    advised = []
    while (text := next_measurement(EVEN, ANSWERS, made)) != PROFILE:
        advised.append(text)
        made |= {key for key, own in texts.items() if own == text}
    assert len(advised) == len(set(advised)) == len(MEASUREMENTS)


@pytest.mark.parametrize("record", ["times strong", "times weak", "phases"])
def test_the_tables_of_weights_have_a_column_for_each_cause(record: str) -> None:
    own = weights(record)
    assert own.table.shape == (len(own.evidence), len(ANSWERS))
    assert np.all(np.isfinite(own.table))
    assert 0.5 < own.covered < 1


def test_labelled_cases_name_known_causes_and_their_source() -> None:
    text = files("scalecurve.diagnosis").joinpath("labelled_cases.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    assert len(rows) >= 30
    assert all(row["cause"] in ANSWERS and row["source"] for row in rows)
    assert json.loads(files("scalecurve.diagnosis").joinpath("weights.json").read_text(encoding="utf-8"))
