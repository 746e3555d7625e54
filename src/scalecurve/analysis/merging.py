"""Joining studies of one and the same question into one, with every raw run kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scalecurve.analysis.sameness import require_sameness
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding
from scalecurve.study import Run, Samples, Study, Treatment


def merge(studies: Sequence[Study], *, allow_mixed: bool = False) -> Study:
    """One study with the runs of all; machine, versions and workload must agree unless `allow_mixed`."""
    if len(studies) < 2:
        raise InputError(Fault("merging needs at least two studies", seen=str(len(studies))))
    first, *others = studies
    found: list[Finding] = []
    for other in others:
        found += require_sameness(first, other, allow_mixed=allow_mixed)
    findings = dict.fromkeys((finding.code, finding.message) for study in studies for finding in study.findings)
    kept = [finding for study in studies for finding in study.findings if findings.pop(_key(finding), 1) is None]
    notes = (*first.provenance.notes, f"merged from {', '.join(study.name for study in studies)}")
    joined = _joined(studies)
    return replace(
        first,
        runs=joined if isinstance(joined, tuple) else (),
        bulk=None if isinstance(joined, tuple) else joined,
        baseline=replace(first.baseline, k=min(study.baseline_k for study in studies)),
        warmup=_agreed(studies, "warmup"),
        setup=_agreed(studies, "setup"),
        provenance=replace(first.provenance, notes=notes),
        findings=(*kept, *found),
    )


def _key(finding: Finding) -> tuple[str, str]:
    return finding.code, finding.message


def _joined(studies: Sequence[Study]) -> tuple[Run, ...] | Samples:
    """Bare samples stay bare when all are; beside full runs they become runs of which only the time is known."""
    bulks = [study.bulk for study in studies if study.bulk is not None]
    if len(bulks) == len(studies):
        k = [int(each) for bulk in bulks for each in bulk.k]
        return Samples.of(k, [float(value) for bulk in bulks for value in bulk.values])
    return tuple(run for study in studies for run in (study.runs or _as_runs(study.samples)))


def _as_runs(samples: Samples) -> tuple[Run, ...]:
    return tuple(Run(k=int(k), value=float(value)) for k, value in zip(samples.k, samples.values, strict=True))


def _agreed(studies: Sequence[Study], name: str) -> Treatment:
    """What all say; unknown where they differ."""
    said: set[Treatment] = {getattr(study, name) for study in studies}
    return said.pop() if len(said) == 1 else Treatment.UNKNOWN
