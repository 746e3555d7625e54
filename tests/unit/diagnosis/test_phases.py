"""Kinds of phases; where ranks spent their time, and how far each is from the others."""

import pytest

from scalecurve.diagnosis.phases import kind_of, kinds_of, phase_shares, rank_strips
from scalecurve.study import RankRecord, Regime, Run, RunStatus, Study


def run(k: int, *seconds: float, status: RunStatus = RunStatus.OK) -> Run:
    ranks = tuple(
        RankRecord(rank=i, seconds=value, phases={"compute": 0.75 * value, "communication": 0.15 * value})
        for i, value in enumerate(seconds)
    )
    return Run(k=k, value=max(seconds) if status is RunStatus.OK else None, status=status, ranks=ranks)


def test_shares_of_a_rank_with_the_rest_named_other() -> None:
    study = Study(regime=Regime.STRONG, runs=(run(1, 2.0), run(2, 1.0, 1.0)))
    shares = phase_shares(study)
    assert [row.k for row in shares] == [1, 2]
    assert shares[1].shares == pytest.approx({"compute": 0.75, "communication": 0.15, "other": 0.1})


def test_each_rank_relative_to_the_mean_of_its_run() -> None:
    study = Study(regime=Regime.STRONG, runs=(run(1, 2.0), run(2, 0.9, 1.1), run(2, 0.9, 1.1)))
    assert [strip.k for strip in rank_strips(study)] == [2]
    assert rank_strips(study)[0].relative == pytest.approx((0.9, 1.1))


def test_runs_that_do_not_count_are_left_out() -> None:
    study = Study(regime=Regime.STRONG, runs=(run(1, 2.0), run(2, 9.0, 1.0, status=RunStatus.FAILED)))
    assert not rank_strips(study)


def test_a_study_of_bare_samples_has_neither() -> None:
    study = Study.from_samples({1: [1.0], 2: [0.6]}, regime="strong")
    assert phase_shares(study) == ()
    assert rank_strips(study) == ()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("compute", "compute"),
        ("forward", "compute"),
        ("all_reduce", "communication"),
        ("MPI_Allreduce", "communication"),
        ("ncclKernel_AllReduce", "communication"),
        ("communication", "communication"),
        ("communication (hidden)", "hidden"),
        ("data loading", "data"),
        ("waiting", "wait"),
        ("barrier", "wait"),
        ("serial", "serial"),
        ("shuffle", "communication"),
        ("push_pull", "communication"),
        ("thread work", "compute"),
        ("write_checkpoint", "data"),
        ("blocked", "wait"),
    ],
)
def test_phase_names(name: str, kind: str) -> None:
    assert kind_of(name) == kind


def test_a_phase_that_one_worker_does_not_have_is_communication() -> None:
    def recorded(k: int, swap: float) -> Run:
        phases = {"relax": 8.0 / k, "swap": swap}
        return Run(k=k, value=sum(phases.values()), ranks=tuple(RankRecord(rank=i, phases=phases) for i in range(k)))

    assert kinds_of([recorded(1, 0.0), recorded(4, 1.0)]) == {"relax": "compute", "swap": "communication"}
    assert kinds_of([recorded(2, 0.0), recorded(4, 1.0)]) == {"relax": "compute", "swap": "compute"}
