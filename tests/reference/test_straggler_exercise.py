"""The straggler exercise on the reference study: the slowest of the repeats at each K is made up to 1.5 times slower.

A communication bend is smooth and its band narrow; a straggler widens the band and leaves the medians where they were.
"""

from __future__ import annotations

import numpy as np
import pytest

from scalecurve.analysis import tabulate
from scalecurve.diagnosis.evidence_in_times import slow_run_findings
from scalecurve.study import Study
from tests.reference_study import strong_samples, strong_study

SEEDS = range(40)


def exercise(seed: int) -> Study:
    rng = np.random.default_rng(seed)
    samples = {}
    for k, values in strong_samples().items():
        changed = np.array(values)
        changed[changed.argmax()] *= rng.uniform(1.0, 1.5)
        samples[k] = changed.tolist()
    return Study.from_samples(samples, regime="strong", k_unit="gpus")


def band(study: Study) -> float:
    return float(np.mean([(row.std or 0.0) / row.mean.value for row in tabulate(study).rows]))


def test_the_band_widens_about_sixfold() -> None:
    wider = [band(exercise(seed)) / band(strong_study()) for seed in SEEDS]

    assert np.median(wider) == pytest.approx(6.0, abs=1.5)


def test_the_bend_usually_stays_at_eight_while_its_probability_falls() -> None:
    clean = tabulate(strong_study()).bend
    bends = [tabulate(exercise(seed)).bend for seed in SEEDS]

    assert clean is not None
    assert clean.k == 8
    assert np.mean([bend is not None and bend.k == 8 for bend in bends]) > 0.6
    chances = [bend.probability for bend in bends if bend is not None and bend.probability is not None]
    assert np.median(chances) < (clean.probability or 0.0)


def test_the_medians_do_not_move() -> None:
    for seed in SEEDS:
        for k, values in exercise(seed).samples.by_k().items():
            assert np.median(values) == pytest.approx(np.median(strong_samples()[k]))


def test_the_slow_runs_are_found() -> None:
    findings = [list(slow_run_findings(dict(exercise(seed).samples.by_k()))) for seed in SEEDS]

    assert np.median([own[0].evidence["count"] if own else 0 for own in findings]) >= 5
    assert not list(slow_run_findings(dict(strong_study().samples.by_k())))
