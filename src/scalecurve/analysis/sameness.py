"""Whether two studies may be put together: the same machine, versions and workload, as far as they say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, warning
from scalecurve.study import Study

# Facts that say which kind of machine it is; host names, load and container differ between equal machines.
MACHINE_FACTS = (
    "architecture", "cpu", "memory_bytes", "gpus", "usable_cores", "physical_cores", "sockets", "smt",
    "cpu_quota_cores",
)  # fmt: skip
SOFTWARE_FACTS = ("python", "packages")
WORKLOAD_FACTS = ("name", "command", "description", "total", "per_worker", "work_unit")
MEMORY_TOLERANCE = 0.02


@dataclass(frozen=True)
class Difference:
    """One fact that is stated by both and differs."""

    kind: str
    what: str
    first: Any
    second: Any

    def __str__(self) -> str:
        return f"{self.kind} {self.what}: {self.first!r} and {self.second!r}"


def differences(first: Study, second: Study) -> tuple[Difference, ...]:
    """What both state and state differently; what one does not say is not held against it."""
    return (
        *_facts("machine", first.provenance.machine, second.provenance.machine, MACHINE_FACTS),
        *_facts("software", first.provenance.software, second.provenance.software, SOFTWARE_FACTS),
        *_facts("workload", vars(first.workload), vars(second.workload), _workload_facts(first, second)),
        *_launchers(first, second),
    )


def _workload_facts(first: Study, second: Study) -> Sequence[str]:
    """A plain table is named after its file: such a name says nothing about the job."""
    tables = any(study.provenance.tool == "plain table" for study in (first, second))
    return [name for name in WORKLOAD_FACTS if not (tables and name == "name")]


def _facts(
    kind: str, first: Mapping[str, Any], second: Mapping[str, Any], names: Sequence[str]
) -> Iterator[Difference]:
    for name in names:
        one, other = first.get(name), second.get(name)
        if one and other and not _same(name, one, other):
            yield Difference(kind, name.replace("_", " "), one, other)


def _same(name: str, one: Any, other: Any) -> bool:
    if name == "memory_bytes":
        return abs(float(one) - float(other)) <= MEMORY_TOLERANCE * float(one)
    return bool(one == other)


def _launchers(first: Study, second: Study) -> Iterator[Difference]:
    one, other = first.provenance.launcher, second.provenance.launcher
    if one and other and one != other:
        yield Difference("software", "launcher", one, other)


def require_same_question(first: Study, second: Study) -> None:
    """Regime, quantity and what a worker is must agree: no flag makes seconds and rates comparable."""
    faults = [
        Fault(f"the studies differ in their {what}", seen=f"{one} and {other}")
        for what, one, other in (
            ("regime", first.regime, second.regime),
            ("quantity", first.quantity, second.quantity),
            ("kind of worker", first.k_unit, second.k_unit),
        )
        if one != other
    ]
    if faults:
        raise InputError(faults, subject=f"{first.name} and {second.name}")


def require_sameness(
    first: Study, second: Study, *, allow_mixed: bool, kinds: Sequence[str] = ("machine", "software", "workload")
) -> tuple[Finding, ...]:
    """Refuse studies that differ in `kinds`; with `allow_mixed` the differences become a finding instead."""
    require_same_question(first, second)
    found = [each for each in differences(first, second) if each.kind in kinds]
    if found and not allow_mixed:
        faults = [Fault(f"the studies differ in {each}") for each in found]
        faults[-1] = Fault(faults[-1].message, remedy="--allow-mixed goes on, and leaves a finding")
        raise InputError(faults, subject=f"{first.name} and {second.name}")
    return (mixed_finding(found),) if found else ()


def mixed_finding(found: Sequence[Difference]) -> Finding:
    return warning(
        "mixed-studies",
        f"the studies differ in {'; '.join(str(each) for each in found)}: what is seen may be that, not scaling",
        remedy="measure both on one machine with the same versions and workload",
        differences=[str(each) for each in found],
    )
