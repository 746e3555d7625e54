"""Laws as tables with answers."""

from __future__ import annotations

import numpy as np
import pytest

from scalecurve.errors import InputError
from scalecurve.laws import law, law_table


def test_amdahl_says_its_ceiling_and_where_the_efficiency_is_lost() -> None:
    table = law_table("amdahl", [1, 8, 16, 32], serial=0.05, below=0.5)
    answers = {answer.name: answer.value for answer in table.cases[0].answers}
    assert answers["ceiling"] == 20
    assert (answers["first_k_below"], answers["first_doubling_below"], answers["between"]) == (22, 32, [16, 32])
    assert table.cases[0].rows[1].speedup == law("amdahl").speedup(8, serial=0.05)
    assert repr(table) == "Use up to K = 8: efficiency is 74 % there and 57 % at K = 16 (threshold 70 %)."


def test_several_values_give_a_case_each() -> None:
    table = law_table("logcomm", np.array([1, 2, 4]), serial=[0.05, 0.1], comm=[0.01, 0.02], regime="both")
    assert len(table.cases) == 8
    assert len(table.records()) == 24
    assert "4 parameter sets" in repr(table)  # of each regime
    with pytest.raises(InputError, match="too many combinations"):
        law_table("usl", 4, contention=np.linspace(0, 0.5, 20), coherency=np.linspace(0, 0.1, 20))


def test_cases_with_other_answers_share_one_table() -> None:
    """Amdahl's law without a serial part has no share of its ceiling; weak scaling has no best K."""
    amdahl = str(law_table("amdahl", [1, 8], serial=[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]))
    assert "no limit" in amdahl
    both = str(law_table("logcomm", [1, 8], serial=0.05, comm=[1.0, 2.0, 4.0, 8.0], regime="both"))
    assert both.count("\nstrong") == 4
    assert both.count("\nweak") == 4


def test_no_workers_gives_the_answers_alone() -> None:
    table = law_table("logcomm", None, serial=0.05, comm=0.01)
    assert table.records() == []
    assert table.to_dict()["answers"]["optimum"] == 66


def test_small_values_keep_their_digits() -> None:
    (_, row) = law_table("amdahl", [1, 10**6], serial=0.5).document().blocks[1].rows  # type: ignore[union-attr]
    assert row[-1].text == "2e-06"


def test_wrong_parameters_list_the_right_ones() -> None:
    with pytest.raises(InputError, match="it takes contention, coherency") as caught:
        law_table("usl", [1, 2], serial=0.1)
    assert [fault.where for fault in caught.value.faults] == ["serial", "contention"]
    with pytest.raises(InputError, match="serial: parameter is missing; share of the K = 1 time"):
        law_table("amdahl", [1, 2])
    with pytest.raises(InputError, match="one speedup for each K"):
        law_table("karp-flatt", [2, 4], speedups=[1.9])
    with pytest.raises(InputError, match="unknown law"):
        law_table("murphy")
    with pytest.raises(InputError, match="unknown regime"):
        law_table("logcomm", serial=0.1, comm=0.1, regime="medium")


@pytest.mark.parametrize(
    ("speedup", "said"),
    [(6.0, "A serial share of 4.76 % would explain"), (9.0, "more than K"), (0.5, "made the job slower")],
)
def test_a_serial_share_is_said_only_where_one_explains_the_speedup(speedup: float, said: str) -> None:
    answer = law_table("karp-flatt", [8], speedups=[speedup]).answer

    assert answer is not None
    assert said in answer.decision
    assert ("law amdahl" in (answer.next or "")) is (speedup == 6.0)


def test_isoefficiency_answers_with_the_work() -> None:
    answer = law_table("isoefficiency", [2, 64], serial=0.05, comm=0.01, hold=0.95).answer

    assert answer is not None
    assert (
        answer.decision
        == "Each worker needs 1.09 of work at K = 64 (unit: that of serial and comm) to hold 95 % efficiency."
    )
