"""Whether two studies may be put together (same machine, versions and workload), and joining them into one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scalecurve.analysis.sessions import LABEL, overlap, session_findings, session_of
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, warning
from scalecurve.formats.loading import StudyLike, as_study
from scalecurve.study import Run, Samples, Study, Treatment

# Facts that say which kind of machine it is; host names, load and container differ between equal machines.
MACHINE_FACTS = (
    "architecture", "cpu", "memory_bytes", "gpus", "usable_cores", "physical_cores", "sockets", "smt",
    "cpu_quota_cores",
)  # fmt: skip
SOFTWARE_FACTS = ("python", "packages", "launcher")
WORKLOAD_FACTS = ("name", "command", "description", "total", "per_worker", "work_unit")
MEMORY_TOLERANCE = 0.02
MOST_RUNS = 100_000  # more samples stay bare: which session they are of is not kept
ANY_WORKER = "workers"
SIDE_BY_SIDE = "keep them apart: `scalecurve report FIRST SECOND -o both.html` shows both"


@dataclass(frozen=True)
class Difference:
    """One fact that both studies state differently."""

    kind: str
    what: str
    first: Any
    second: Any

    def __str__(self) -> str:
        return f"{self.kind} {self.what}: {self.first!r} and {self.second!r}"


def differences(first: Study, second: Study) -> tuple[Difference, ...]:
    """The facts that both studies state differently; a fact that one does not state is no difference."""
    tables = any(study.provenance.tool == "plain table" for study in (first, second))
    # A plain table is named after its file, so its name says nothing about the job.
    workload = [name for name in WORKLOAD_FACTS if not (tables and name == "name")]
    old, new = (
        {
            "machine": study.provenance.machine,
            "software": {**study.provenance.software, "launcher": study.provenance.launcher},
            "workload": vars(study.workload),
        }
        for study in (first, second)
    )
    pairs = [
        (kind, name, old[kind].get(name), new[kind].get(name))
        for kind, names in (("machine", MACHINE_FACTS), ("software", SOFTWARE_FACTS), ("workload", workload))
        for name in names
    ]
    return tuple(
        Difference(kind, name.replace("_", " "), one, other)
        for kind, name, one, other in pairs
        if one and other and one != other
        if name != "memory_bytes" or abs(float(one) - float(other)) > MEMORY_TOLERANCE * float(one)
    )


def require_sameness(
    first: Study, second: Study, *, allow_mixed: bool, kinds: Sequence[str] = ("machine", "software", "workload")
) -> tuple[Finding, ...]:
    """Refuse studies that differ in `kinds`; with `allow_mixed` the differences become a finding instead.

    Regime and quantity must always agree: no flag makes seconds and rates comparable.  `workers` names no kind of
    worker and agrees with every kind.
    """
    subject = f"{first.name} and {second.name}"
    terms = (
        ("regime", first.regime, second.regime),
        ("quantity", first.quantity, second.quantity),
    )
    faults = [
        Fault(f"the studies differ in their {what}", value=f"{one} and {other}", remedy=SIDE_BY_SIDE)
        for what, one, other in terms
        if one != other
    ]
    if faults:
        raise InputError(faults, subject=subject)
    apart = [difference for difference in differences(first, second) if difference.kind in kinds]
    if ANY_WORKER not in (first.k_unit, second.k_unit) and first.k_unit != second.k_unit:
        apart.append(Difference("workload", "kind of worker", first.k_unit, second.k_unit))
    if apart and not allow_mixed:
        faults = [Fault(f"the studies differ in {difference}") for difference in apart]
        faults[-1] = Fault(faults[-1].message, remedy="--allow-mixed goes on and leaves a finding")
        raise InputError(faults, subject=subject)
    return (mixed_finding(apart),) if apart else ()


def mixed_finding(apart: Sequence[Difference]) -> Finding:
    """The finding that two studies differ in more than scaling."""
    return warning(
        "mixed-studies",
        f"the studies differ in {'; '.join(map(str, apart))}: this may explain the result instead of scaling",
        remedy="measure both on one machine with the same versions and workload",
        differences=[str(difference) for difference in apart],
    )


def merge(studies: Sequence[StudyLike], *, regime: str | None = None, allow_mixed: bool = False) -> Study:
    """One study with every run of all; machine, versions and workload must agree unless `allow_mixed`.

    Parameters
    ----------
    studies
        Studies in any form that `load` takes.
    regime
        "strong" or "weak", for studies that do not state it.
    allow_mixed
        Whether studies that differ in machine, versions or workload are joined all the same.

    Returns
    -------
    Study
        All runs, and the findings of all studies.

    Raises
    ------
    InputError
        A study cannot be read, or the studies may not be put together.

    Examples
    --------
    >>> import scalecurve as sc
    >>> sc.merge([{1: 100.0, 2: 52.0}, {1: 101.0, 4: 28.0}], regime="strong").all_k
    (1, 2, 4)
    """
    if isinstance(studies, str) or not isinstance(studies, Sequence) or len(studies) < 2:
        count = str(len(studies)) if isinstance(studies, list | tuple) else type(studies).__name__
        raise InputError(Fault("merging needs at least two studies", value=count, remedy="pass a list of studies"))
    parts = [as_study(study, regime=regime) for study in studies]
    first = parts[0]
    mixed = [finding for other in parts[1:] for finding in require_sameness(first, other, allow_mixed=allow_mixed)]
    findings = {(finding.code, finding.message): finding for study in reversed(parts) for finding in study.findings}
    runs, bulk = _joined(parts)
    warmups, setups = {study.warmup for study in parts}, {study.setup for study in parts}
    note = f"merged from {', '.join(study.name for study in parts)}"
    merged = replace(
        first,
        runs=runs,
        bulk=bulk,
        baseline=replace(first.baseline, k=min(study.baseline_k for study in parts)),
        warmup=first.warmup if len(warmups) == 1 else Treatment.UNKNOWN,
        setup=first.setup if len(setups) == 1 else Treatment.UNKNOWN,
        provenance=replace(first.provenance, notes=(*first.provenance.notes, note)),
        findings=(*findings.values(), *mixed),
    )
    return merged.with_findings(session_findings(merged))


def _joined(parts: Sequence[Study]) -> tuple[tuple[Run, ...], Samples | None]:
    """All samples: as runs with their session, or bare where there are too many."""
    bulks = [study.bulk for study in parts if study.bulk is not None]
    if len(bulks) == len(parts) and sum(len(own.k) for own in bulks) > MOST_RUNS:
        columns = (np.concatenate([getattr(own, name) for own in bulks]) for name in ("k", "values"))
        return (), Samples.of(*columns)
    return tuple(run for number, study in enumerate(parts) for run in _labelled(study, parts[:number], number)), None


def _labelled(study: Study, earlier: Sequence[Study], number: int) -> Iterator[Run]:
    """The runs with the session they belong to: that of an earlier study whose hours they share, or their own."""
    columns = zip(study.samples.k.tolist(), study.samples.values.tolist(), strict=True)
    own = next((place for place, other in enumerate(earlier) if overlap(other, study)), number)
    for run in study.runs or (Run(k=k, value=value) for k, value in columns):
        label = f"{own + 1}" if session_of(run) is None else f"{own + 1}.{session_of(run)}"
        yield replace(run, observed={**run.observed, LABEL: label})
