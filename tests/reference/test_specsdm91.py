"""USL on the SPEC SDM91 figures, as R's package `usl` and Gunther's book give them.

Source: N. J. Gunther, Guerrilla Capacity Planning (2007), data set specsdm91 of CRAN package usl: unweighted least
squares gives contention 0.02773, coherency 1.0437e-4.
"""

import pytest

import scalecurve as sc

RATES = {1: 64.9, 18: 995.9, 36: 1652.4, 72: 1853.2, 108: 1828.9, 144: 1775.0, 216: 1702.2}


def test_unweighted_usl_agrees_with_the_published_coefficients() -> None:
    study = sc.Study.from_samples({k: [x] for k, x in RATES.items()}, regime="strong", quantity="throughput")

    parameters = sc.fit(study, law="usl", weighting="absolute")["usl"].parameters

    assert parameters["contention"].value == pytest.approx(0.02773, rel=0.01)
    assert parameters["coherency"].value == pytest.approx(1.0437e-4, rel=0.01)
    assert parameters["throughput_at_one"].value == pytest.approx(89.995, rel=0.01)
    assert all(own.low <= own.value <= own.high for own in parameters.values())
