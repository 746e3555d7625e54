"""Gates and audits by another route: the promised rate of false alarms, and rules on claims made by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from scalecurve.auditing.audit import audit
from scalecurve.auditing.claim import Claim
from scalecurve.auditing.gate import check
from scalecurve.auditing.history import append_entry, history
from scalecurve.auditing.losses import LogMeans, Shifts, losses_of
from scalecurve.errors import InputError
from scalecurve.study import Regime, Run, Study


def test_floors_share_the_false_alarm() -> None:
    """E(2) lies 2.6 standard errors below its floor: beyond 2.33, the 1 % point, but not beyond 2.88, that of 1 %/5."""
    spread = 0.02 * np.tile([-1.0, 1.0], 200) * np.sqrt(399 / 400)  # a standard deviation of 2 %, 400 runs
    samples = {k: (10.0 / k * (1 + spread)).tolist() for k in (1, 2, 4, 8, 16, 32)}
    study = Study.from_samples(samples, regime="strong")
    floor = 1.0 + 2.6 * 0.02 * np.sqrt(2 / 400)  # E is a ratio of two means
    easy = dict.fromkeys((4, 8, 16, 32), 0.5)

    assert not check(study, min_efficiency={2: floor}).passed
    assert check(study, min_efficiency={2: floor, **easy}).passed
    assert not check(study, min_efficiency={2: floor + 0.0006, **easy}).passed  # 3.0 standard errors


def test_a_weak_job_may_answer_otherwise_at_another_k_but_not_at_the_same() -> None:
    def told(regime: str, answers: list[tuple[int, float]]) -> str:
        runs = tuple(Run(k=k, value=1.0, digest=answer, repeat=i) for i, (k, answer) in enumerate(answers))
        return json.dumps(audit(Study(regime=Regime(regime), runs=runs)).to_dict())

    grows, torn = [(1, 5.0), (1, 5.0), (4, 20.0), (4, 20.0)], [(1, 5.0), (1, 5.0), (4, 20.0), (4, 21.0)]
    assert "answer-changed" not in told("weak", grows)
    assert "answer-changed" in told("weak", torn)
    assert "answer-changed" in told("strong", grows)
    assert "answer-changed" not in told("strong", [(1, 5.0), (4, 5.0 * (1 + 1e-12))])


def test_a_noisy_k_is_judged_by_its_own_noise() -> None:
    """K = 8 varies by 10 %, the others by 0.5 %: 12 % are 1.9 standard errors there, but 3.8 by the pooled noise."""

    def study(factor: float) -> Study:
        pattern = np.array([-1.2649, -0.6325, 0.0, 0.6325, 1.2649])  # five runs, a standard deviation of 1
        spread = {1: 0.005, 2: 0.005, 4: 0.005, 8: 0.1}
        times = {k: 10 / k * np.exp(sigma * pattern) * (factor if k == 8 else 1.0) for k, sigma in spread.items()}
        return Study.from_samples({k: list(values) for k, values in times.items()}, regime="strong")

    old = study(1.0)
    assert check(study(1.12), against=old).passed
    assert not check(study(1.5), against=old).passed  # 6.4 standard errors


def test_a_history_tells_the_largest_shift_of_a_single_k(tmp_path: Path) -> None:
    """Thirty sessions in which K = 8 alone moves by 5 % (standard deviation) beside a noise of 0.2 %."""
    rng, path = np.random.default_rng(3), tmp_path / "checks.jsonl"
    for _ in range(30):
        moved = np.exp(0.05 * rng.standard_normal())
        samples = {
            k: (10 / k * (moved if k == 8 else 1.0) * np.exp(0.002 * rng.standard_normal(5))).tolist()
            for k in (1, 2, 4, 8)
        }
        append_entry(Study.from_samples(samples, regime="strong"), path, passed=True, line="", drift=False)

    assert history(path).own_shift == pytest.approx(0.05, rel=0.35)


@pytest.mark.parametrize(("first", "second", "odd"), [(1.3, 2.5, True), (8.0, 15.0, False), (1.0, 1.9, False)])
def test_the_speedup_of_the_first_k_is_1_or_near_k(first: float, second: float, odd: bool) -> None:
    """A table from K = 8 on is relative to K = 8 or to one worker; 1.3 that then doubles is neither."""
    points = [{"k": 8, "speedup": first}, {"k": 16, "speedup": second}]
    told = json.dumps(audit({"points": points, "regime": "strong"}).to_dict())

    assert ("baseline-speedup-odd" in told) is odd


def codes(claim: dict[str, object]) -> dict[str, str]:
    """What the audit of a claim says, by code."""
    answer = audit(claim)
    return {finding.code: finding.message for finding in (*answer.findings, *answer.violations)}


def test_the_formula_of_the_other_regime_is_named() -> None:
    """T(1)/T(K) is the efficiency of weak scaling, T(1)/(K T(K)) that of strong scaling."""

    def said(regime: str, times: dict[int, float], *, as_weak: bool) -> str:
        shares = {k: times[1] / t / (1 if as_weak else k) for k, t in times.items()}
        points = [{"k": k, "seconds": t, "efficiency": round(shares[k], 4)} for k, t in times.items()]
        return codes({"regime": regime, "points": points}).get("efficiency-does-not-add-up", "")

    falling, level = {1: 100.0, 4: 30.0, 16: 12.0}, {1: 100.0, 4: 104.0, 16: 110.0}
    assert "the formula of weak scaling, but the claim says strong" in said("strong", level, as_weak=True)
    assert "the formula of strong scaling, but the claim says weak" in said("weak", falling, as_weak=False)
    assert not said("strong", falling, as_weak=False)
    assert not said("weak", level, as_weak=True)


def test_one_mean_of_ratios_among_ratios_of_means_is_no_average() -> None:
    """Runs of 8 and 12 s at K = 1 and of 3 and 6 s at K: (8/3 + 12/6)/2 = 2.333; the means give 10/4.5 = 2.222."""

    def told(*speedups: float) -> bool:
        runs = [{"k": 1, "seconds": 10.0, "samples": [8.0, 12.0]}]
        for place, speedup in enumerate(speedups, 1):
            runs.append({"k": 2**place, "seconds": 4.5, "samples": [3.0, 6.0], "speedup": speedup})
        return "average-of-ratios" in codes({"points": runs})

    assert told(2.333, 2.333, 2.222)
    assert not told(2.333, 2.222, 2.222)
    assert not told(2.222, 2.222, 2.222)


def test_a_batch_that_grows_with_k_while_times_fall_as_one_over_k_is_strong_scaling() -> None:
    points = [{"k": k, "seconds": 3600 / k * 1.05 ** (k > 1), "batch": 256 * k} for k in (1, 8, 64)]
    said = codes({"regime": "weak", "points": points})

    assert "fixed total of samples" in said["impossible-efficiency"]
    level = [{"k": k, "seconds": 3600.0, "batch": 256 * k} for k in (1, 8, 64)]
    assert "impossible-efficiency" not in codes({"regime": "weak", "points": level})


def test_a_workload_that_the_claim_calls_changed_is_no_strong_scaling() -> None:
    points = [{"k": k, "seconds": 100 / k} for k in (1, 2, 4)]

    for regime, told in (("strong", True), ("weak", False)):
        said = codes({"regime": regime, "workload_fixed": False, "points": points})
        assert ("workload changes between points" in said.get("workload-changed", "")) is told


def test_a_table_keeps_what_its_other_columns_say(tmp_path: Path) -> None:
    """Windows-1252, one row computed, two targets; a row of 2.5 workers is refused, an empty one is not."""
    path = tmp_path / "table.csv"
    head = "GPUs,Time (s),Target,Remark é\n"
    path.write_text(head + "1,100,75.9 %,\n2,52,75.9 %,\n2.5,,,\n4,28 (projected),70.0 %,\n", encoding="cp1252")
    answer = audit(path)
    said = {finding.code for finding in (*answer.findings, *answer.violations)}

    assert {"extrapolation-as-result", "workload-changed"} <= said
    assert [point.k for point in answer.claim.points] == [1, 2, 4]
    path.write_text(head + "1,100,,\n2.5,52,,\n", encoding="cp1252")
    with pytest.raises(InputError, match="not a whole number of workers"):
        audit(path)


def test_a_flat_end_and_computed_points_are_suspected_and_measured_ones_are_not() -> None:
    """E = 0.8 from K = 16 to 256 by construction; Amdahl's law with s = 0.02; and the same with 3 % of noise."""

    def told(efficiencies: dict[int, float]) -> str:
        points = [{"k": 1, "seconds": 1000.0}]
        points += [{"k": k, "seconds": round(1000 / (k * e), 6)} for k, e in efficiencies.items()]
        return codes({"regime": "strong", "points": points}).get("unmarked-extrapolation", "")

    law = {k: 1 / (1 + 0.02 * (k - 1)) for k in (2, 4, 8, 16, 32, 64)}
    assert "E stays at 0.8 from K = 16 to K = 256" in told({2: 0.97, 4: 0.9, 16: 0.8, 64: 0.8, 256: 0.8})
    assert not told({2: 0.97, 4: 0.9, 16: 0.8, 32: 0.8, 48: 0.8})  # only three times the K
    assert "Amdahl's law with a serial part of 0.02" in told(law)
    assert not told({k: e * (1.03 if k in (2, 8, 32) else 0.97) for k, e in law.items()})


def test_times_read_as_rates_are_noticed_only_where_the_speedups_say_so() -> None:
    """A column headed rate that holds times: S = T(1)/T(K) instead of rate(K)/rate(1)."""
    times = {1: 100.0, 2: 52.0, 4: 28.0, 8: 16.0}

    def told(name: str, values: dict[int, float]) -> bool:
        points = [{"k": k, name: v, "speedup": round(100 / times[k], 2)} for k, v in values.items()]
        return "time-and-rate-swapped" in codes({"regime": "strong", "points": points})

    assert told("rate", times)
    assert told("seconds", {k: 1000 / t for k, t in times.items()})
    assert not told("seconds", times)
    assert not told("rate", {k: 1000 / t for k, t in times.items()})


def test_limits_of_rules_by_claims_that_lie_on_them() -> None:
    def told(points: list[dict[str, object]], code: str) -> str:
        return codes({"regime": "strong", "points": points}).get(code, "")

    flat = [{"k": 1, "seconds": 1000.0}] + [{"k": k, "seconds": 1000 / (0.8 * k)} for k in (16, 32, 64)]
    assert "from K = 16 to K = 64" in told(flat, "unmarked-extrapolation")  # four times the K is enough
    exact = [{"k": k, "seconds": 100.0 / k, "std": 1e-4 / k} for k in (1, 2, 4)]
    assert told([point | {"n": 2} for point in exact], "superhuman-precision")
    assert not told([point | {"n": 1} for point in exact], "superhuman-precision")
    tied = [{"k": k, "seconds": t} for k, t in {1: 100.0, 2: 60.0, 4: 60.0, 8: 80.0}.items()]
    assert "K = 8 is slower than K = 4" in told(tied, "slower-than-fewer")  # the larger of two equally fast ones


@pytest.mark.parametrize("session", [0.0, 0.02])
@pytest.mark.parametrize(("workers", "faster"), [((1, 2, 4, 8), (8,)), ((1, 2, 4, 8, 16), (8, 16))])
def test_code_that_became_faster_at_some_k_has_lost_nothing_at_the_others(
    workers: tuple[int, ...], faster: tuple[int, ...], session: float
) -> None:
    """Drawn runs of 1 % noise, 8 % gained at some K, and a day that shifts all K of a session alike."""
    rng, trials, n = np.random.default_rng(8), 2000, 5
    means = []
    for _ in range(2):
        runs = np.exp(session * rng.standard_normal((trials, 1, 1))) * (
            1 + 0.01 * rng.standard_normal((trials, len(workers), n))
        )
        mean = runs.mean(axis=-1)
        means.append(LogMeans(np.log(mean), runs.var(axis=-1, ddof=1) / mean**2 / n, np.full(mean.shape, n - 1.0)))
    old, new = means
    gained = np.where(np.isin(workers, faster), np.log(0.92), 0.0)
    tests = losses_of(
        LogMeans(new.value + gained, new.variance, new.degrees), old, false_alarm=0.01, shifts=Shifts(0.02)
    )

    assert np.mean((tests.estimate > tests.limit).any(axis=-1)) < 0.03


@pytest.mark.parametrize(("clusters", "told"), [(1, False), (2, True)])
def test_points_of_several_clusters_are_told_from_those_of_one(clusters: int, told: bool) -> None:
    points = [{"k": k, "seconds": 100 / k + 3} for k in (1, 2, 4, 8)]
    result = audit({"points": points, "environment": {"clusters": clusters}})

    assert any("clusters" in finding.message for finding in result.violations) is told


def test_speedups_of_a_table_are_plain_or_relative_whichever_leaves_no_miracle() -> None:
    """S(8) = 7.8 beside K0 = 4: as S(K0) = 1 it would be E = 3.9, so that it is S(K0) = 4 and E = 7.8/8."""
    plain = Claim.model_validate({"points": [{"k": 4, "efficiency": 1.0}, {"k": 8, "speedup": 7.8}]})
    relative = Claim.model_validate({"points": [{"k": 4, "efficiency": 1.0}, {"k": 8, "speedup": 1.9}]})

    assert [plain.efficiency_of(plain.points[1]), relative.efficiency_of(relative.points[1])] == pytest.approx(
        [7.8 / 8, 1.9 * 4 / 8]
    )
    assert Claim.model_validate({"points": [{"k": 4, "speedup": 3.7}, {"k": 8, "speedup": 7.0}]}).baseline_k == 1
