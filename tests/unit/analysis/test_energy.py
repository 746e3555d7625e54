"""Energy to solution: means with intervals, what is missing, and "not measured"."""

from __future__ import annotations

import pytest

from scalecurve.analysis.energy import energy_findings, tabulate_energy
from scalecurve.errors import Refused
from scalecurve.study import Regime, Run, Study


def run(k: int, joules: float | None, seconds: float = 10.0) -> Run:
    energy = {} if joules is None else {"energy": {"joules": joules, "sources": ["RAPL"]}}
    return Run(k=k, value=seconds, wall_seconds=seconds, observed=energy)


def study(*runs: Run) -> Study:
    return Study(regime=Regime.STRONG, runs=runs)


def test_joules_to_solution_with_students_t() -> None:
    """Mean 110 J of 100, 110, 120: s = 10, t(2) = 4.3027, half = 24.84 J; 11 W over 10 s each."""
    table = tabulate_energy(study(run(1, 100), run(1, 110), run(1, 120), run(4, 220, 4.0)))
    first, second = table.rows

    assert first.joules.value == pytest.approx(110)
    assert first.joules.low == pytest.approx(110 - 24.84, abs=0.01)
    assert first.watts == pytest.approx(11)
    assert (second.k, second.ratio, second.joules.low) == (4, pytest.approx(2.0), None)
    assert table.sources == ("RAPL",)
    assert table.answer.decision.startswith("K = 1 needs the least energy: 110 J")


def test_a_k_without_a_counter_is_said() -> None:
    table = tabulate_energy(study(run(1, 100), run(2, None)))

    assert [row.k for row in table.rows] == [1]
    assert any("K = 2" in finding.message for finding in table.findings)


def test_without_a_counter_the_answer_is_not_measured() -> None:
    with pytest.raises(Refused, match="was not measured"):
        tabulate_energy(study(run(1, None), run(2, None)))
    assert energy_findings(study(run(1, None))) == ()
    assert energy_findings(None) == ()


def test_cost_is_told_the_energy_of_a_result() -> None:
    (finding,) = energy_findings(study(run(1, 3.6e6)))

    assert "1 kWh at K = 1" in finding.message
