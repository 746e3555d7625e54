"""The gate: floors, regressions beyond noise, and what it could have seen."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from bench.gate import draw, failing_share, normal, uneven
from scalecurve.auditing.gate import check, parse_floors
from scalecurve.errors import InputError, Refused
from scalecurve.study import Provenance, Study

WORKERS = (1, 2, 4, 8)


def studies(losses: dict[int, float], seed: int = 1) -> tuple[Study, Study]:
    rng = np.random.default_rng(seed)
    return draw(rng, normal, WORKERS, losses, 10), draw(rng, normal, WORKERS, {}, 10)


def test_a_floor_passes_and_fails() -> None:
    new, _ = studies({})

    assert check(new, min_efficiency={8: 0.5}).passed
    failed = check(new, min_efficiency={8: 0.9})
    assert not failed.passed
    assert failed.line.startswith("FAIL job: E(8) = ")


def test_a_floor_at_an_unmeasured_k_is_refused() -> None:
    with pytest.raises(InputError, match="not measured"):
        check(studies({})[0], min_efficiency={16: 0.5})


def test_nothing_to_check_is_refused() -> None:
    with pytest.raises(InputError, match="nothing to check"):
        check(studies({})[0])


def test_a_large_loss_is_caught_with_one_line() -> None:
    new, old = studies({8: 0.2})

    gate = check(new, against=old)

    assert not gate.passed
    assert "K = 8: " in gate.line
    assert "\n" not in gate.line
    assert [row.k for row in gate.regressions if not row.passed] == [8]


def test_identical_code_fails_in_at_most_one_percent() -> None:
    # 800 invocations of a gate that fails 1 %: 20 or more would be seen once in ten thousand times
    assert failing_share(400, normal, WORKERS, {}, seed=3) * 400 < 13
    assert failing_share(400, uneven, WORKERS, {}, seed=4, n=3) * 400 < 13


def test_a_true_loss_of_ten_percent_is_caught_four_times_in_five() -> None:
    assert failing_share(150, normal, WORKERS, {8: 0.1}, seed=5) >= 0.8


def test_efficiency_is_tested_where_the_baseline_changed() -> None:
    new, old = studies({1: -0.5})  # one worker became a third faster

    gate = check(new, against=old)

    assert {row.tests for row in gate.regressions if row.k > 1} == {"E"}
    assert all(not row.passed for row in gate.regressions if row.k > 1)


def test_the_smallest_loss_shrinks_with_repeats() -> None:
    rng = np.random.default_rng(2)
    few, many = (check(draw(rng, normal, WORKERS, {}, n), against=draw(rng, normal, WORKERS, {}, n)) for n in (4, 40))

    assert max(r.detectable or 1 for r in many.regressions) < max(r.detectable or 1 for r in few.regressions)


def test_a_gate_that_could_test_nothing_is_refused() -> None:
    one = Study.from_samples({1: [1.0], 2: [0.6]}, regime="strong", name="job")

    with pytest.raises(Refused, match="nothing can be tested; repeat 5 times"):
        check(one, against=one)


def test_a_single_sample_is_not_counted_as_a_check() -> None:
    some = Study.from_samples({1: [1.0, 1.01, 0.99], 2: [0.6]}, regime="strong", name="job")

    gate = check(some, against=some)

    assert gate.line.startswith("PASS job: 1 check;")
    assert gate.regressions[1].passed is None
    assert "not tested" in str(gate.regressions[1])
    assert [finding.code for finding in gate.findings] == ["not-tested"]
    assert ElementTree.fromstring(gate.junit()).get("skipped") == "1"
    assert "\n -" in str(gate) or "\n-" in str(gate)


def equal_repeats(factor: float, n: int = 5) -> Study:
    return Study.from_samples({k: [10.0 * factor / k] * n for k in (1, 2, 4)}, regime="strong", name="job")


def test_equal_repeats_are_not_free_of_noise() -> None:
    gate = check(equal_repeats(1.0001, n=2), against=equal_repeats(1.0, n=2))

    assert gate.passed
    assert [finding.code for finding in gate.findings] == ["no-spread"]
    assert {row.tests for row in gate.regressions} == {"T"}
    assert all((row.detectable or 0) > 0.002 for row in gate.regressions)


def test_a_large_loss_is_caught_among_equal_repeats() -> None:
    gate = check(equal_repeats(1.05), against=equal_repeats(1.0))

    assert not gate.passed
    assert "loss of speed, beyond noise (p = " in gate.line


def test_the_last_digit_of_a_coarse_timer_is_noise() -> None:
    new, old = (
        Study.from_samples({1: [40.0] * 5, 2: [second] * 5}, regime="strong", name="job") for second in (21.0, 20.0)
    )

    assert check(new, against=old).passed


def test_other_machines_are_refused_unless_allowed() -> None:
    new, old = (
        Study.from_samples(
            {1: [1.0, 1.1], 2: [0.6, 0.61]}, regime="strong", name="job", provenance=Provenance(machine={"cpu": cpu})
        )
        for cpu in ("A", "B")
    )

    with pytest.raises(InputError, match="allow-mixed"):
        check(new, against=old)
    assert {finding.code for finding in check(new, against=old, allow_mixed=True).findings} == {"mixed-studies"}


def test_junit_and_history(tmp_path: Path) -> None:
    new, old = studies({8: 0.2})
    gate = check(new, against=old, min_efficiency={8: 0.1})

    suite = ElementTree.fromstring(gate.junit())
    assert suite.get("tests") == "5"
    assert suite.get("failures") == "1"
    gate.append_history(new, tmp_path / "history.jsonl")
    gate.append_history(new, tmp_path / "history.jsonl")
    lines = (tmp_path / "history.jsonl").read_text().splitlines()
    assert [json.loads(line)["passed"] for line in lines] == [False, False]


def test_floors_are_parsed_and_all_faults_told() -> None:
    assert parse_floors(["0.8@8", "70%@16"]) == {8: 0.8, 16: 0.7}
    with pytest.raises(InputError) as caught:
        parse_floors(["0.8", "x@4", "0.5@0", "180@8"])
    assert len(caught.value.faults) == 4
