"""Each verdict on a record that deserves it, and silence on one that does not."""

from __future__ import annotations

import numpy as np
import pytest

from scalecurve.measurement.building import sameness_findings
from scalecurve.measurement.settings import MeasureSettings, make_settings
from scalecurve.measurement.verdicts import Record, steadiness_of, verdicts_on
from scalecurve.study import Placement, Run, RunStatus


def settings(**more: object) -> MeasureSettings:
    return make_settings({"regime": "strong", "workers": "1,2", "repeats": 1, "command": ["x", "{workers}"], **more})


def good(k: int, **more: object) -> Run:
    observed = {"timing": "probe", **more.pop("observed", {})}  # type: ignore[dict-item]
    return Run(k=k, value=1.0 / k, repeat=0, work=10.0, wall_seconds=1.0, observed=observed, **more)  # type: ignore[arg-type]


def codes(*runs: Run, cores: int = 8, **more: object) -> set[str]:
    return {finding.code for finding in verdicts_on(Record(settings(**more), runs, cores))}


def test_a_clean_study_has_no_verdicts() -> None:
    assert codes(good(1), good(2)) == set()


@pytest.mark.parametrize(
    ("observed", "code"),
    [
        ({"timing": "wall"}, "timing-wall"),
        ({"foreign_cpu_seconds": 1.5}, "disturbed"),
        ({"major_faults": 5000}, "starved"),
        ({"swapped_pages": 5000}, "starved"),
        ({"debug": ["python -X dev"]}, "debug-build"),
        ({"start_skew_seconds": 0.4}, "start-skew"),
        ({"thread_pools": {"torch": 8}}, "too-many-threads"),
        ({"affinity": [[3]], "threads": 2}, "cores-shared"),  # taskset -c 3
        ({"affinity": [[0], [0]], "threads": 2}, "cores-shared"),  # two ranks bound to one core
    ],
)
def test_verdicts_from_what_was_observed(observed: dict[str, object], code: str) -> None:
    assert code in codes(good(1, observed=observed), good(2, observed=observed))


def test_how_long_a_server_waited_is_not_known() -> None:
    """Clients that wait say nothing of their server, so there are no bounds of a quiet machine."""
    observed = {"foreign_cpu_seconds": 1.5, "lost_seconds": [0.2, 0.3], "cpu_seconds": 0.4}
    runs = [good(1, observed=observed), good(2, observed=observed)]
    [told] = [one for one in verdicts_on(Record(settings(), runs, 8)) if one.code == "disturbed"]
    [silent] = [one for one in verdicts_on(Record(settings(k_unit="clients"), runs, 8)) if one.code == "disturbed"]

    assert told.evidence["quiet"]
    assert not silent.evidence["quiet"]
    assert "what they cost cannot be said" in silent.message
    assert "--serves" in str(silent.remedy)


def test_mixed_sources_of_time_are_an_error() -> None:
    assert "timing-mixed" in codes(good(1), good(2, observed={"timing": "wall"}))


def test_threads_that_change_with_k_break_the_study() -> None:
    """The default of torchrun: all cores at K = 1, one thread at K > 1; S(2) read 0.84 instead of 1.57."""
    runs = [good(1, observed={"thread_pools": {"torch": 2}}), good(2, observed={"thread_pools": {"torch": 1}})]
    found = sameness_findings(runs, settings())

    assert [finding.code for finding in found] == ["threads-differ"]
    assert "2 threads at K = 1 and 1 at K = 2" in found[0].message


def test_node_and_numa_boundaries_are_marked() -> None:
    inside = good(1, placement=Placement(nodes=1, numa_nodes=(0,)))
    beyond = good(2, placement=Placement(nodes=2, numa_nodes=(0, 1)))

    assert codes(inside, beyond) == {"node-boundary", "numa-node-boundary"}


def test_missing_precision_and_points() -> None:
    failed = Run(k=2, status=RunStatus.FAILED, error="exit code 1")

    assert codes(good(1), failed) == {"missing-points", "failed-runs"}
    assert "precision-not-reached" in codes(good(1), good(2), precision=0.01)


def test_steady_series_is_steady_and_short_ones_say_nothing() -> None:
    rng = np.random.default_rng(5)
    calm = steadiness_of(list(1.0 + 0.02 * rng.standard_normal(200)))

    assert calm is not None
    assert (calm.warmup, calm.drift) == (0, None)
    assert steadiness_of([1.0] * 9) is None


def test_the_length_of_a_warm_up_is_found() -> None:
    rng = np.random.default_rng(6)
    series = 1.0 + 0.02 * rng.standard_normal(100)
    series[:7] += 1.5
    found = steadiness_of(list(series))

    assert found is not None
    assert 6 <= found.warmup <= 10
    assert found.drift is None


def test_drift_has_its_sign_and_size() -> None:
    rng = np.random.default_rng(7)
    series = np.linspace(1.0, 1.3, 1000) + 0.02 * rng.standard_normal(1000)
    found = steadiness_of(list(series))

    assert found is not None
    assert found.drift == pytest.approx(0.26, abs=0.05)


def test_false_alarms_of_drift_are_rare() -> None:
    rng = np.random.default_rng(8)
    alarms = sum(steadiness_of(list(rng.lognormal(0, 0.05, 60))).drift is not None for _ in range(200))  # type: ignore[union-attr]

    assert alarms <= 6  # the test of trend is made at 1 %


@pytest.mark.parametrize(
    ("observed", "code"),
    [
        ({"complaint": "ERROR: no licence"}, "complains"),
        ({"behind": 1}, "left-running"),
        ({"cpu_seconds": 1.9}, "more-than-one-core"),
        ({"last_digit": 0.1}, "rounded"),
    ],
)
def test_what_a_job_did_beside_its_time_is_said(observed: dict[str, object], code: str) -> None:
    assert code in codes(good(1, observed=observed), good(2, observed=observed))


def test_a_job_that_finds_its_work_done_is_named() -> None:
    """`make -j` without `make clean`: the warm-up builds, the repeats find everything up to date."""
    first = Run(k=1, value=3.0, status=RunStatus.WARMUP, repeat=-1, observed={"cpu_seconds": 2.9})
    assert "work-left-over" in codes(first, timed(1, 0.2, 0.05), timed(2, 0.2, 0.06))
    assert "work-left-over" not in codes(first, timed(1, 1.0, 0.9), timed(2, 0.6, 1.0))  # cold caches


def timed(k: int, seconds: float, cpu: float, **more: object) -> Run:
    observed = {"timing": "wall", "cpu_seconds": cpu, **more}
    return Run(k=k, value=seconds, wall_seconds=seconds, repeat=0, work=1.0, observed=observed)


def test_a_job_that_does_not_heed_its_workers_is_named() -> None:
    assert "same-at-every-k" in codes(timed(1, 1.002, 0.99), timed(2, 1.0, 1.98))  # sysbench --time=1
    assert "same-at-every-k" in codes(timed(1, 2.0, 1.98), timed(2, 2.06, 2.04))
    assert "same-at-every-k" not in codes(timed(1, 2.0, 1.98), timed(2, 2.06, 3.9))  # two cores that gain nothing
    assert "same-at-every-k" not in codes(timed(1, 2.0, 1.98), timed(2, 1.2, 2.0))
    assert "same-at-every-k" not in codes(timed(1, 1.0, 0.9), timed(2, 1.0, 1.8), regime="weak", per_worker=None)
    busy = {"foreign_cpu_seconds": 1.5}
    assert "same-at-every-k" not in codes(timed(1, 2.0, 1.98, **busy), timed(2, 2.06, 2.04, **busy))
    # Two medians that agree by chance while the runs scatter are no set time.
    scatter = [timed(k, seconds, 1.0, **busy) for k in (1, 2) for seconds in (0.9, 1.0, 1.2)]
    assert "same-at-every-k" not in codes(*scatter)


def test_ranks_with_threads_of_their_own_are_named_by_any_launcher_here() -> None:
    assert "more-than-one-core" in codes(timed(1, 2.0, 3.9), timed(2, 1.9, 3.8), launcher="mpi")
    assert "more-than-one-core" in codes(timed(2, 2.0, 7.6), timed(4, 1.9, 7.6), launcher="mpi")
    assert "more-than-one-core" not in codes(timed(1, 2.0, 2.0), timed(2, 1.0, 2.0), launcher="mpi")
    assert "more-than-one-core" not in codes(timed(1, 2.0, 3.9), timed(2, 1.9, 3.8), launcher="slurm")
    threads = {"name": "mpi", "threads_per_worker": 2}
    assert "more-than-one-core" not in codes(timed(1, 2.0, 3.9), timed(2, 1.9, 3.8), launcher=threads)


def test_a_time_that_is_the_start_of_a_process_is_said() -> None:
    assert "too-short" in codes(timed(1, 0.012, 0.0), timed(2, 0.011, 0.0))
    assert "too-short" not in codes(timed(1, 0.3, 0.0), timed(2, 0.2, 0.0))


def test_a_failure_is_told_by_how_it_ended_and_its_last_words() -> None:
    error = "exit code 1\nTraceback (most recent call last):\n  File ...\nValueError: no mesh\n"
    bad = Run(k=2, status=RunStatus.FAILED, repeat=0, error=error)

    assert bad.failure == "exit code 1: ValueError: no mesh"
    assert Run(k=2, status=RunStatus.FAILED).failure == "no message"
    record = Record(settings(), (good(1), bad), 8)
    assert any(finding.message.endswith(bad.failure) for finding in verdicts_on(record))


def test_a_program_built_again_between_the_runs_is_an_error() -> None:
    old, new = ({"site": {"program": "./app", "sha256": mark * 64}} for mark in "ab")
    assert "program-changed" in codes(timed(1, 2.0, 1.9, **old), timed(2, 1.0, 1.9, **new))
    assert "program-changed" not in codes(timed(1, 2.0, 1.9, **old), timed(2, 1.0, 1.9, **old))


def test_units_that_the_program_chose_by_size_are_an_error() -> None:
    """Copying with dd prints 850 MB/s in one run and 1.2 GB/s in the next."""
    slow, fast = timed(1, 850.0, 0.9, printed_units=["MB/s"]), timed(2, 1.2, 0.9, printed_units=["GB/s"])
    assert "units-mixed" in codes(slow, fast)
    assert "units-mixed" not in codes(slow, timed(2, 990.0, 0.9, printed_units=["MB/s"]))
