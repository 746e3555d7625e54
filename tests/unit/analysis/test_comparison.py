"""Comparing and merging studies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scalecurve.analysis.comparison import compare
from scalecurve.analysis.merging import merge
from scalecurve.analysis.table import tabulate
from scalecurve.errors import InputError
from scalecurve.findings import info
from scalecurve.study import Provenance, Regime, Run, Study, Treatment
from scalecurve.study.file import save


def study(factor: float = 1.0, *, seed: int = 1, **more: object) -> Study:
    rng = np.random.default_rng(seed)
    samples = {k: (factor / k * (1 + 0.02 * rng.standard_normal(6))).tolist() for k in (1, 2, 4)}
    return Study.from_samples(samples, regime="strong", name="job", **more)


def on(cpu: str, **more: object) -> Study:
    return study(provenance=Provenance(machine={"cpu": cpu}), **more)


def test_ratios_with_intervals_and_verdicts() -> None:
    result = compare(study(), study(1.3, seed=2))

    assert [row.k for row in result.rows] == [1, 2, 4]
    for row in result.rows:
        assert row.value.value == pytest.approx(1.3, rel=0.05)
        assert row.value.low is not None
        assert row.value.low < row.value.value < (row.value.high or 0)
        assert row.verdict == "slower"
    assert result.rows[0].efficiency is None
    assert result.rows[2].efficiency is not None
    assert result.rows[2].efficiency.value == pytest.approx(1.0, abs=0.05)


def test_single_runs_are_compared_without_an_interval() -> None:
    cg, mg = (
        Study.from_samples({1: [one], 32: [last]}, regime="strong", name=name)
        for name, one, last in (("cg", 412.0, 29.4), ("mg", 181.0, 27.9))
    )
    said = compare(cg, mg, allow_mixed=True).answer

    assert said is not None
    assert said.decision == "mg is 2.28x faster at K = 1 and 1.05x faster at K = 32."
    assert "no interval" in (said.confidence or "")


def test_the_interval_of_the_efficiency_ratio_is_wider() -> None:
    row = compare(study(), study(seed=2), session=0.0).rows[2]

    assert row.efficiency is not None
    width = [np.log((each.high or 0) / (each.low or 1)) for each in (row.value, row.efficiency)]
    assert width[1] > width[0]


def test_a_study_against_itself_shows_no_difference() -> None:
    assert {row.verdict for row in compare(study(), study()).rows} == {"no difference seen"}


def test_intervals_of_the_ratio_cover_for_all_k_together() -> None:
    covered = [
        all(
            (row.value.low or 0) <= 1.0 <= (row.value.high or 0)
            for row in compare(study(seed=seed), study(seed=1000 + seed), session=0.0).rows
        )
        for seed in range(300)
    ]

    assert 0.91 < np.mean(covered) < 0.99


def test_few_runs_that_are_close_by_chance_show_no_difference() -> None:
    fast, mixed = [1.0, 1.001, 0.999], [1.0, 1.3, 1.001]
    old = {k: fast if k == 4 else mixed for k in (1, 2, 4, 8, 16)}
    new = {k: [1.3, 1.301, 1.299] if k == 4 else mixed for k in (1, 2, 4, 8, 16)}

    result = compare(*(Study.from_samples(own, regime="strong") for own in (old, new)))

    assert [row.verdict for row in result.rows] == ["no difference seen"] * 5


def test_another_machine_is_refused_unless_allowed() -> None:
    with pytest.raises(InputError, match="machine cpu"):
        compare(on("A"), on("B"))
    assert [finding.code for finding in compare(on("A"), on("B"), allow_mixed=True).findings] == ["mixed-studies"]
    assert compare(on("A"), study()).findings == ()


def test_another_regime_is_always_refused() -> None:
    weak = Study.from_samples({1: [1.0, 1.1], 2: [1.1, 1.2]}, regime="weak", name="job")

    with pytest.raises(InputError, match="regime"):
        compare(study(), weak, allow_mixed=True)


def test_no_common_k_is_refused() -> None:
    other = Study.from_samples({3: [1.0], 5: [0.7]}, regime="strong", name="job")

    with pytest.raises(InputError, match="no K in common"):
        compare(study(), other)


def test_merging_keeps_every_run_and_finding() -> None:
    bare = study().with_findings([info("a", "seen once")])
    full = Study(regime=Regime.STRONG, runs=(Run(k=8, value=0.2), Run(k=8, value=0.21)), warmup=Treatment.EXCLUDED)

    both = merge([bare, study(seed=2).with_findings([info("a", "seen once")])])
    mixed = merge([bare, full])

    assert len(both.samples) == 36
    assert [finding.code for finding in both.findings] == ["a", "sessions-merged"]
    assert mixed.all_k == (1, 2, 4, 8)
    assert len(mixed.runs) == 20
    assert mixed.warmup is Treatment.UNKNOWN


def test_merging_other_machines_leaves_a_finding() -> None:
    with pytest.raises(InputError, match="allow-mixed"):
        merge([on("A"), on("B")])
    assert "mixed-studies" in {finding.code for finding in merge([on("A"), on("B")], allow_mixed=True).findings}
    with pytest.raises(InputError, match="at least two"):
        merge([on("A")])


def test_studies_may_be_paths_and_other_things_are_refused(tmp_path: Path) -> None:
    paths = [tmp_path / "first.json", tmp_path / "second.json"]
    studies = [study(), study(1.3, seed=2)]
    for path, own in zip(paths, studies, strict=True):
        save(own, path)

    assert compare(*paths).to_dict() == compare(*studies).to_dict()
    assert len(merge([str(path) for path in paths]).samples) == 36
    assert repr(compare(*paths)) == "The second study is slower than the first at every K, most at K = 4: by 30.1 %."
    with pytest.raises(InputError, match="not a study"):
        compare(paths[0], 3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="pass a list"):
        merge(str(paths[0]))


def test_identical_programs_of_two_sessions_are_not_called_different() -> None:
    rng = np.random.default_rng(3)
    seen = []
    for _ in range(200):
        ends = [
            Study.from_samples(
                {k: shift / k * (1 + 0.005 * rng.standard_normal(5)) for k in (1, 2, 4, 8)}, regime="strong"
            )
            for shift in np.exp(0.02 * rng.standard_normal(2))
        ]
        seen.append(any(row.verdict != "no difference seen" for row in compare(*ends).rows))
    assert np.mean(seen) <= 0.05


@pytest.mark.parametrize("smaller", [(1, 2, 4, 8), (1, 2, 4)])
def test_efficiency_of_merged_sessions_covers_although_one_was_slower(smaller: tuple[int, ...]) -> None:
    rng = np.random.default_rng(4)
    covered = []
    for _ in range(60):
        parts = [
            Study.from_samples(
                {k: day * (0.04 + 0.96 / k) * (1 + 0.01 * rng.standard_normal(5)) for k in own}, regime="strong"
            )
            for day, own in ((1.0, smaller), (1.03, (8, 16, 32)))
        ]
        e = tabulate(merge(parts)).row(32).efficiency
        covered.append((e.low or 0) <= 1 / (0.04 * 32 + 0.96) <= (e.high or 0))
    assert np.mean(covered) >= 0.95
