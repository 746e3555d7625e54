"""The short form of the kill harness (`make faults` runs the long one): one kill of each kind, nothing lost or left."""

from __future__ import annotations

import random

import pytest

from bench.kill_harness import SCENARIOS, Trial, faults_of


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_kill_loses_nothing_and_leaves_nothing(scenario: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    chance = random.Random(f"short {scenario}")
    mark = f"{4000 + random.SystemRandom().random():.9f}"
    trial = Trial(scenario, "local", tmp_path_factory.mktemp("kill"), mark, chance)

    assert list(faults_of(trial)) == []
