"""What becomes an observation, by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from scalecurve.analysis import tabulate
from scalecurve.errors import InputError
from scalecurve.laws.roofline import Ceilings
from scalecurve.measurement import observation
from scalecurve.measurement.axes import turns_of
from scalecurve.measurement.building import choose_baseline, noise_scale, sameness_findings
from scalecurve.measurement.machine import cpu_quota
from scalecurve.measurement.roofline_calibration import CeilingRow, MeasuredCeilings
from scalecurve.measurement.settings import MeasureSettings
from scalecurve.measurement.starvation import _edge
from scalecurve.study import Regime, Run, Study
from scalecurve.study.run import RunStatus
from tests.fakes.world import FakeMachine


def test_warm_ups_failures_and_disturbed_runs_are_no_part_of_t1() -> None:
    runs = [Run(k=1, value=10.0 + i, repeat=i) for i in (0, 1, 2)] + [Run(k=2, value=6.0), Run(k=2, value=6.2)]
    others = [Run(k=k, value=90.0, status=status) for k in (1, 2) for status in RunStatus if status is not RunStatus.OK]
    study = Study(regime=Regime.STRONG, runs=tuple(others + runs))
    table = tabulate(study)

    assert table.row(1).mean.value == pytest.approx(11.0)
    assert table.row(1).n == 3
    assert table.row(2).speedup.value == pytest.approx(11.0 / 6.1)


def settings(regime: str = "strong", **more: object) -> MeasureSettings:
    return MeasureSettings.model_validate({"command": ["job"], "workers": [1, 2], "regime": regime, **more})


def test_t1_is_the_fastest_program_by_its_counted_runs() -> None:
    """Without its warm-ups, 20 s each, the candidate takes 8 s and the job 9 s; with them it would take 12 s."""
    candidate = [Run(k=1, value=8.0, role="plain"), Run(k=1, value=8.0, role="plain")]
    candidate += [Run(k=1, value=20.0, role="plain", status=RunStatus.WARMUP)]
    job = [Run(k=1, value=9.0), Run(k=1, value=1.0, status=RunStatus.WARMUP)]
    baseline, findings = choose_baseline([*candidate, *job], settings(baseline={"plain": {"command": ["plain"]}}))

    assert baseline.chosen == "plain"
    assert [finding.evidence["inflation"] for finding in findings if finding.code == "baseline-chosen"] == [9.0 / 8.0]


def test_a_weak_job_keeps_its_work_per_worker_and_its_answer_at_each_k() -> None:
    def codes(regime: str, *runs: tuple[int, float, float]) -> set[str]:
        return {
            finding.code
            for finding in sameness_findings(
                [Run(k=k, value=1.0, work=w, digest=d) for k, w, d in runs], settings(regime)
            )
        }

    grows = ((1, 100.0, 5.0), (2, 200.0, 9.0), (4, 400.0, 17.0))
    assert codes("weak", *grows) == set()
    assert codes("strong", *grows) == {"work-differs", "answer-differs"}
    assert codes("weak", (1, 100.0, 5.0), (2, 100.0, 5.0)) == {"work-differs"}
    assert codes("weak", *grows, (4, 400.0, 18.0)) == {"answer-differs"}
    assert codes("strong", (1, 100.0, 5.0), (2, 100.0, 5.0)) == set()


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_the_bounds_of_quiet_runs_are_students_within_the_extremes(level: float) -> None:
    """The interval of a mean by scipy of a mean, one side of it at a time."""
    values = [10.0, 10.4, 10.9, 11.1, 12.0, 12.3]
    low, high = stats.t.interval(level, 5, np.mean(values), stats.sem(values))

    assert _edge(values, level, -1) == pytest.approx(low)
    assert _edge(values, level, 1) == pytest.approx(high)
    assert (_edge(values, 0.999999, -1), _edge(values, 0.999999, 1)) == (10.0, 12.3)
    assert (_edge(values[:2], level, -1), _edge(values[:2], level, 1)) == (10.0, 10.4)


def test_the_noise_scale_has_the_interval_of_a_jackknife_made_by_leaving_steps_out() -> None:
    """|G|^2 = 4 and a noise of 400 in batches of 10 and 100 (B_simple = 100): the ratio anew without each step."""
    rng, small_batch, big_batch = np.random.default_rng(4), 10.0, 100.0
    common = rng.normal(0, 0.4, 200)  # what both batches of a step share
    small = 4 + 400 / small_batch + common + rng.normal(0, 2.0, 200)
    big = 4 + 400 / big_batch + common + rng.normal(0, 0.5, 200)
    found = noise_scale(small, big, small_batch=small_batch, big_batch=big_batch)

    def ratio(keep: list[int]) -> float:
        a, b = float(np.mean(small[keep])), float(np.mean(big[keep]))
        return (a - b) / (1 / small_batch - 1 / big_batch) / ((big_batch * b - small_batch * a) / 90)

    every = list(range(200))
    logs = np.log([ratio(every[:i] + every[i + 1 :]) for i in every])
    error = 1.96 * np.sqrt(199 / 200 * np.sum((logs - logs.mean()) ** 2))
    assert found.value == pytest.approx(ratio(every))
    assert found.value == pytest.approx(100, rel=0.1)
    assert (found.low, found.high) == pytest.approx(
        (found.value * np.exp(-error), found.value * np.exp(error)), rel=1e-3
    )


def test_a_quota_without_a_period_is_no_limit() -> None:
    """A control group of version 1 has both files, or neither counts."""
    quota = {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "300000\n"}

    assert cpu_quota(FakeMachine(files=quota)) is None
    assert cpu_quota(FakeMachine(files=quota | {"/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"})) == 3.0


def test_measured_ceilings_are_those_of_the_precision_and_the_threads() -> None:
    few = CeilingRow(threads=1, fp32=2e9, fp64=1e9, memory=10e9)
    many = CeilingRow(threads=4, fp32=7e9, fp64=3e9, memory=20e9)
    found = MeasuredCeilings(rows=(few, many), method="by hand")

    assert [found.ceilings(name).peak for name in ("fp32", "fp64")] == [7e9, 3e9]
    assert found.ceilings("fp32", 1) == Ceilings(peak=2e9, bandwidths={"memory": 10e9})
    for precision, threads in (("fp16", None), ("fp64", 2)):
        with pytest.raises(InputError, match="not measured"):
            found.ceilings(precision, threads)


def test_the_energy_of_a_launch_is_what_its_counters_counted_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """A counter of the package stands at 5 J before and at 47 J after; a machine without counters tells nothing."""

    class Counters:
        def __init__(self, joules: float) -> None:
            self.joules = joules

        def since(self, before: Counters) -> dict[str, float]:
            return {"package": self.joules - before.joules}

    stands = iter([5.0, 47.0])
    monkeypatch.setattr(observation, "counts_energy", lambda: True)
    monkeypatch.setattr(observation, "energy_now", lambda machine: Counters(next(stands)))
    [told] = observation.Observer().facts([(1.0, [])], 0.0)
    assert told["energy"] == {"package": 42.0}

    monkeypatch.setattr(observation, "counts_energy", lambda: False)
    [silent] = observation.Observer().facts([(1.0, [])], 0.0)
    assert "energy" not in silent


@pytest.mark.parametrize(("now", "left"), [(0.0, 10.0), (9.5, 0.5), (10.0, None), (11.0, None)])
def test_a_grid_goes_on_until_its_time_is_used_up(now: float, left: float | None) -> None:
    own = settings(max_time="10s", repeats=1)
    world: Any = SimpleNamespace(clock=SimpleNamespace(now=lambda: 100.0 + now))
    sweep: Any = SimpleNamespace(name="size 1", settings=own)
    turns = [turn.max_time for _, turn in turns_of(own, [sweep], world, 100.0)]

    assert turns == ([] if left is None else [pytest.approx(left)])
