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
    assert repr(table).startswith("<LawTable amdahl: serial 0.05, ceiling 1/s 20")


def test_several_values_give_a_case_each() -> None:
    table = law_table("logcomm", np.array([1, 2, 4]), serial=[0.05, 0.1], comm=[0.01, 0.02], regime="both")
    assert len(table.cases) == 8
    assert len(table.records()) == 24
    assert repr(table) == "<LawTable logcomm, 8 parameter sets>"
    with pytest.raises(InputError, match="too many combinations"):
        law_table("usl", 4, contention=np.linspace(0, 0.5, 20), coherency=np.linspace(0, 0.1, 20))


def test_no_workers_gives_the_answers_alone() -> None:
    table = law_table("logcomm", None, serial=0.05, comm=0.01)
    assert table.records() == []
    assert table.to_dict()["answers"]["optimum"] == 66


def test_work_grows_without_end_where_the_serial_part_is_a_share_of_it() -> None:
    table = law_table("isoefficiency", [2, 64], serial=0.05, comm=0.01, hold=0.9, serial_share=True)
    assert [row.work is None for row in table.cases[0].rows] == [False, True]
    assert table.to_dict()["answers"]["last_k"] == pytest.approx(1 + (1 / 0.9 - 1) / 0.05)


def test_wrong_parameters_list_the_right_ones() -> None:
    with pytest.raises(InputError, match="it takes contention, coherency") as caught:
        law_table("usl", [1, 2], serial=0.1)
    assert [fault.where for fault in caught.value.faults] == ["serial", "contention"]
    with pytest.raises(InputError, match="serial_for_efficiency"):
        law_table("amdahl", [1, 2])
    with pytest.raises(InputError, match="one speedup for each K"):
        law_table("karp-flatt", [2, 4], speedups=[1.9])
    with pytest.raises(InputError, match="unknown law"):
        law_table("murphy")
    with pytest.raises(InputError, match="unknown regime"):
        law_table("logcomm", serial=0.1, comm=0.1, regime="medium")
