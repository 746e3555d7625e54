"""The gate: floors, regressions beyond noise, and what it could have seen."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from bench.gate import NOISES, draw, failing_share, normal, quiet
from scalecurve.analysis.curve import curve_of
from scalecurve.analysis.sessions import shift_of_history
from scalecurve.auditing.gate import check, parse_floors
from scalecurve.auditing.history import append_entry, history
from scalecurve.auditing.losses import LogMeans, Shifts, losses_of
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


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("n", [3, 10])
def test_identical_code_fails_in_at_most_one_percent(name: str, n: int) -> None:
    # 4000 checks of a gate that fails 1 %: 61 or more would be seen once in a thousand times
    assert failing_share(4000, NOISES[name], WORKERS, {}, seed=3, n=n) * 4000 < 61


def test_a_true_loss_of_ten_percent_is_caught_four_times_in_five() -> None:
    assert failing_share(8000, normal, WORKERS, {8: 0.1}, seed=5) >= 0.8


def test_a_faster_baseline_is_no_loss_unless_efficiency_is_gated() -> None:
    new, old = studies({1: -0.5})  # one worker became a third faster

    gate = check(new, against=old)
    by_efficiency = check(new, against=old, gate="both")

    assert gate.passed
    assert {row.tests for row in gate.regressions} == {"T"}
    assert "efficiency-fell" in {finding.code for finding in gate.findings}
    assert {(row.tests, row.passed) for row in by_efficiency.regressions if row.k > 1} == {("T", True), ("E", False)}


def test_a_loss_at_every_k_is_told_as_one() -> None:
    new, old = studies({1: 0.12, 2: 0.12, 4: 0.12, 8: 0.12}, seed=4)

    gate = check(new, against=old)

    assert not gate.passed
    assert any(row.together == WORKERS or row.k in WORKERS for row in gate.regressions if row.passed is False)


def test_the_gate_is_the_test_that_the_simulations_use() -> None:
    for seed in range(20):
        new, old = studies({8: 0.1}, seed=seed)
        ends = [log_means_of(study) for study in (new, old)]
        tests = losses_of(*ends, false_alarm=0.01, shifts=Shifts(0.02))
        assert check(new, against=old).passed == (not (tests.estimate > tests.limit).any())


def log_means_of(study: Study) -> LogMeans:
    curve = curve_of(study)
    return LogMeans(np.log(curve.mean), curve.log_se**2, curve.degrees)


def test_a_floor_is_a_test_with_uncertainty() -> None:
    noisy = Study.from_samples({1: [8.0, 8.8, 9.6], 2: [5.0, 5.9, 6.6]}, regime="strong", name="job")
    floor = check(noisy, min_efficiency={2: 0.76}).floors[0]

    assert floor.efficiency.value < 0.76
    assert (floor.passed, floor.sure) == (True, False)
    assert "may be 0.511 to 1.113, on either side of the floor 0.76" in str(floor)
    assert not check(noisy, min_efficiency={2: 1.4}).passed


def creeping(per_commit: float, seed: int, count: int = 30, n: int = 5) -> list[Study]:
    rng = np.random.default_rng(seed)
    return [draw(rng, normal, WORKERS, dict.fromkeys(WORKERS, 1 - (1 + per_commit) ** -i), n) for i in range(count)]


def test_a_creep_is_caught_along_the_history_and_no_history_starts_empty(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    failures = []
    for place, study in enumerate(creeping(0.01, seed=1)):
        gate = check(study, history=path)
        gate.append_history(study, path)
        if not gate.passed:
            failures.append(place)
    assert failures
    assert failures[0] > 8
    result = history(path)
    assert result.changes[0].change > 0.1
    assert "T creeps by +" in str(result) or "T changed by +" in str(result)


def test_a_step_has_its_commit_and_a_steady_history_has_none(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    for name, losses in (("steady", {}), ("step", dict.fromkeys(WORKERS, 0.2))):
        path = tmp_path / f"{name}.jsonl"
        for place in range(20):
            study = draw(rng, normal, WORKERS, losses if place >= 12 else {}, 5)
            git = {"git": {"commit": f"c{place:09}"}}
            append_entry(replace(study, provenance=Provenance(software=git)), path, passed=True, line="", drift=False)
    assert history(tmp_path / "steady.jsonl").changes == ()
    (change,) = history(tmp_path / "step.jsonl").changes
    assert (change.commit, change.kind) == ("c000000012", "step")
    assert change.probability > 0.8


def test_the_shift_between_sessions_is_taken_from_the_history(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    path = tmp_path / "history.jsonl"
    for _ in range(20):
        append_entry(draw(rng, quiet, WORKERS, {}, 5), path, passed=True, line="", drift=False)
    new, old = draw(rng, quiet, WORKERS, dict.fromkeys(WORKERS, 0.04), 5), draw(rng, quiet, WORKERS, {}, 5)

    assert check(new, against=old).passed
    by_history = check(new, against=old, history=path)
    assert any(row.passed is False for row in by_history.regressions)
    assert "from the history" in str(by_history)


def test_a_damaged_history_names_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text('{"version": 1}\nnot json\n')

    with pytest.raises(InputError) as caught:
        history(path)
    assert [fault.where for fault in caught.value.faults] == ["line 1", "line 2"]


def test_a_full_disk_leaves_no_torn_line_in_the_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, (new, _) = tmp_path / "history.jsonl", studies({})
    append_entry(new, path, passed=True, line="", drift=False)
    before, write = path.read_bytes(), os.write
    monkeypatch.setattr(os, "write", lambda handle, raw: write(handle, raw[:100]))
    with pytest.raises(InputError, match="No space left"):
        append_entry(new, path, passed=True, line="", drift=False)
    assert path.read_bytes() == before


def test_the_smallest_loss_shrinks_with_repeats() -> None:
    rng = np.random.default_rng(2)
    few, many = (check(draw(rng, normal, WORKERS, {}, n), against=draw(rng, normal, WORKERS, {}, n)) for n in (4, 40))

    assert max(r.detectable or 1 for r in many.regressions) < max(r.detectable or 1 for r in few.regressions)


def test_a_gate_that_could_test_nothing_is_refused() -> None:
    one = Study.from_samples({1: [1.0], 2: [0.6]}, regime="strong", name="job")

    with pytest.raises(Refused, match="nothing can be tested; repeat 5 times"):
        check(one, against=one)


def test_two_runs_at_each_of_very_many_k_have_no_lower_end_rather_than_an_overflow() -> None:
    rng = np.random.default_rng(5)
    new, old = (
        Study.from_samples({k: 10 / k * rng.lognormal(0, 0.3, 2) for k in range(1, 301)}, regime="strong")
        for _ in range(2)
    )
    checked = check(new, against=old, workers=range(1, 301))
    assert any(row.low is None for row in checked.checks)
    assert json.loads(json.dumps(checked.to_dict(), allow_nan=False))


def test_too_many_k_are_refused_with_their_number() -> None:
    many = Study.from_samples({k: [10 / k, 10.1 / k] for k in range(1, 2002)}, regime="strong")
    with pytest.raises(InputError, match=r"2001 K.*at most 2000; name those that matter with workers="):
        check(many, against=many)


def test_a_single_sample_is_not_counted_as_a_check() -> None:
    some = Study.from_samples({1: [1.0, 1.01, 0.99, 1.0], 2: [0.6]}, regime="strong", name="job")

    gate = check(some, against=some)

    assert gate.line.startswith("PASS job: 1 check;")
    assert gate.regressions[1].passed is None
    assert "not tested" in str(gate.regressions[1])
    assert [finding.code for finding in gate.findings] == ["session-shift", "not-tested"]
    assert ElementTree.fromstring(gate.junit()).get("skipped") == "1"
    assert "\n -" in str(gate) or "\n-" in str(gate)


def equal_repeats(factor: float, n: int = 5) -> Study:
    return Study.from_samples({k: [10.0 * factor / k] * n for k in (1, 2, 4)}, regime="strong", name="job")


def test_equal_repeats_are_not_free_of_noise() -> None:
    gate = check(equal_repeats(1.0001, n=2), against=equal_repeats(1.0, n=2))

    assert gate.passed
    assert [finding.code for finding in gate.findings] == ["session-shift", "no-spread"]
    assert {row.tests for row in gate.regressions} == {"T"}
    assert all((row.detectable or 0) > 0.002 for row in gate.regressions)


def test_a_large_loss_is_caught_among_equal_repeats() -> None:
    gate = check(equal_repeats(1.15), against=equal_repeats(1.0))

    assert not gate.passed
    assert "loss of speed, beyond noise (p < 0.0001" in gate.line


def test_a_gain_is_called_one_and_what_was_not_compared_is_said() -> None:
    new, old = (
        Study.from_samples({k: [scale / k * e for e in (0.99, 1, 1.01, 1.0)] for k in counts}, regime="strong")
        for scale, counts in ((75.0, (1, 2, 4)), (100.0, (1, 2, 4, 8)))
    )
    said = check(new, against=old).answer

    assert said is not None
    assert "33 % faster" in said.decision
    assert (said.confidence or "").startswith("K = 8: in one study only, not compared.")


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
    codes = {finding.code for finding in check(new, against=old, allow_mixed=True).findings}
    assert codes == {"mixed-studies", "session-shift", "few-repeats"}


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


@pytest.mark.parametrize("workers", [(8,), (1, 8)])
def test_three_fast_and_three_slow_runs_do_not_fail_a_gate_of_few_k(workers: tuple[int, ...]) -> None:
    old = Study.from_samples({k: [10.0, 10.1, 10.2] for k in workers}, regime="strong", name="job")
    slower = Study.from_samples({k: [12.0, 12.1, 12.2] for k in workers}, regime="strong", name="job")
    twice = Study.from_samples({k: [20.0, 20.1, 20.2] for k in workers}, regime="strong", name="job")

    gate = check(slower, against=old)

    assert gate.passed
    assert "few-repeats" in {finding.code for finding in gate.findings}
    assert not check(twice, against=old).passed
    assert all(failing_share(4000, noise, workers, {}, 5, 3) <= 0.012 for noise in NOISES.values())


@pytest.mark.parametrize(("runs", "slow"), [((10, 10), None), ((10, 3), 0.2)])
def test_identical_code_fails_in_one_check_of_a_hundred(runs: tuple[int, int], slow: float | None) -> None:
    """Noise of 60 %, and two speeds with three new runs against ten old ones."""
    rng, trials = np.random.default_rng(8), 6000
    ends = []
    for n in runs:
        wide = np.exp(0.6 * rng.standard_normal((trials, 7, n)))
        still = 1 + 0.01 * rng.standard_normal(wide.shape)
        times = wide if slow is None else (1 + 0.15 * (rng.random(wide.shape) < slow)) * still
        mean = times.mean(axis=-1)
        ends.append(LogMeans(np.log(mean), times.var(axis=-1, ddof=1) / mean**2 / n, np.full(mean.shape, float(n - 1))))
    tests = losses_of(ends[1], ends[0], false_alarm=0.01, shifts=Shifts(0.02))

    assert np.mean((tests.estimate > tests.limit).any(axis=-1)) <= 0.011


def test_a_history_of_ten_sessions_keeps_shifts_of_single_k_from_failing_identical_code() -> None:
    rng, workers, own = np.random.default_rng(5), (1, 2, 4, 8), 0.02 * np.log2([1, 2, 4, 8]) / 3
    failed = []
    for _ in range(400):
        day = 0.02 * rng.standard_normal((11, 1)) + own * rng.standard_normal((11, 4))
        runs = np.exp(day)[..., None] * (1 + 0.01 * rng.standard_normal((11, 4, 5)))
        mean = runs.mean(axis=-1)
        variance = runs.var(axis=-1, ddof=1) / mean**2 / 5
        shift = shift_of_history(workers, np.log(mean), variance)
        assert shift is not None
        new, old = (LogMeans(np.log(mean[i]), variance[i], np.full(4, 4.0)) for i in (-1, -2))
        shifts = Shifts(shift.common, shift.own_at(workers), shift.degrees or np.inf)
        tests = losses_of(new, old, false_alarm=0.01, shifts=shifts)
        failed.append(bool((tests.estimate > tests.limit).any()))
    assert np.mean(failed) <= 0.02
