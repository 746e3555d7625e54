"""Advice to measure respects what the launcher of a study can run, and says when it leaves it."""

from __future__ import annotations

from dataclasses import replace

import scalecurve as sc
from scalecurve.study import Provenance, Study


def study_on(cores: int | None, *, launcher: str = "local", **settings: object) -> Study:
    times = {k: [8.0 / k + 0.4 + 0.001 * i for i in range(4)] for k in (1, 2, 3, 4)}
    study = Study.from_samples(times, regime="strong", name="job")
    machine = {} if cores is None else {"usable_cores": cores}
    job = {"launcher": {"hosts": [], "address": None, "threads_per_worker": None, **settings}}
    return replace(study, provenance=Provenance(launcher=launcher, machine=machine, settings={"job": job}))


def test_what_a_launcher_can_run() -> None:
    assert study_on(16).provenance.reach == 16
    assert study_on(16, threads_per_worker=4).provenance.reach == 4
    assert study_on(16, hosts=["a", "b"]).provenance.reach is None
    assert study_on(16, launcher="slurm").provenance.reach is None
    assert study_on(None).provenance.reach is None
    assert Provenance().reach is None


def test_next_stays_within_the_machine_or_says_that_it_does_not() -> None:
    free, bound, full = (sc.next_runs(study_on(cores), target=64) for cores in (None, 32, 4))

    assert max(run.k for run in free.suggestions) > 32
    assert max(run.k for run in bound.suggestions) <= 32
    assert {finding.code for finding in bound.findings} == {"within-reach"}
    assert {finding.code for finding in full.findings} <= {"within-reach", "beyond-reach"}
    assert max(run.k for run in full.suggestions) <= 4 or "beyond-reach" in {f.code for f in full.findings}
    assert max(run.k for run in sc.next_runs(study_on(32), target=64, largest=64).suggestions) > 32


def test_fit_says_when_its_advice_leaves_the_machine() -> None:
    fits = sc.fit(study_on(4))
    advice = [finding.remedy or "" for finding in fits.findings if finding.code == "laws-tie"]

    assert all("this one runs 4 workers" in text for text in advice if text.startswith("measure K ="))
    assert "this one runs" not in str(sc.fit(study_on(None)))


def test_workers_may_be_compared_with_ranks_and_other_kinds_with_a_finding() -> None:
    one = replace(study_on(None), k_unit="workers")
    two, three = replace(one, k_unit="ranks"), replace(one, k_unit="gpus")

    assert sc.compare(one, two).rows
    mixed = sc.compare(two, three, allow_mixed=True)
    assert "mixed-studies" in {finding.code for finding in mixed.findings}
