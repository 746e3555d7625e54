"""The reference study of this repository, to the digit (printed digits of the original table)."""

import pytest

from scalecurve.analysis import tabulate
from scalecurve.formats import load
from tests.golden.test_golden import ROOT
from tests.reference_study import strong_samples, strong_study, weak_study

MEANS = ["1.0047", "0.5343", "0.3032", "0.1884", "0.1392", "0.1189", "0.1140"]
STDS = ["0.0091", "0.0098", "0.0034", "0.0039", "0.0026", "0.0026", "0.0022"]
SPEEDUPS = ["1.00", "1.88", "3.31", "5.33", "7.22", "8.45", "8.82"]
EFFICIENCIES = ["1.000", "0.940", "0.828", "0.667", "0.451", "0.264", "0.138"]


def test_every_digit() -> None:
    table = tabulate(strong_study(), threshold=0.70)

    assert [f"{row.mean.value:.4f}" for row in table.rows] == MEANS
    assert [f"{row.std:.4f}" for row in table.rows] == STDS
    assert [f"{row.speedup.value:.2f}" for row in table.rows] == SPEEDUPS
    assert [f"{row.efficiency.value:.3f}" for row in table.rows] == EFFICIENCIES
    assert table.bend is not None
    assert table.bend.k == 8


def test_the_same_machine_succeeds_under_weak_scaling() -> None:
    assert tabulate(weak_study()).row(64).efficiency.value == pytest.approx(0.953, abs=5e-4)


def test_the_committed_example_is_this_study() -> None:
    example = load(ROOT / "examples" / "reference" / "strong.csv", regime="strong")

    assert {k: values.tolist() for k, values in example.samples.by_k().items()} == strong_samples()
