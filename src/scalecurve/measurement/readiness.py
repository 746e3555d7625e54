"""What this machine can measure, and how noisy it is: the result of `scalecurve doctor`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from scalecurve.document import Cell, Column, Document, FindingList, Heading, Paragraph, Shown, table
from scalecurve.findings import Finding, info, warning
from scalecurve.measurement.environment import machine_facts
from scalecurve.measurement.launchers import LAUNCHERS, launcher_named
from scalecurve.measurement.noise import NoiseFloor, measure_noise
from scalecurve.measurement.ports import World
from scalecurve.measurement.precision import repeats_needed
from scalecurve.units import format_seconds

NOISY = 0.05
QUIET_LOAD = 0.2


@dataclass(frozen=True, kw_only=True)
class Readiness(Shown):
    """`launchers` maps a name to the missing piece, None where nothing is missing."""

    launchers: Mapping[str, str | None]
    machine: Mapping[str, Any]
    noise: NoiseFloor
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "launchers": self.records(),
            "machine": dict(self.machine),
            "noise": asdict(self.noise),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def records(self) -> list[dict[str, Any]]:
        found = self.launchers.items()
        return [{"launcher": name, "usable": missing is None, "missing": missing} for name, missing in found]

    def document(self) -> Document:
        rows = [
            (name, Cell("usable", "good") if missing is None else Cell("missing", "warn"), missing)
            for name, missing in self.launchers.items()
        ]
        columns = (Column("launcher", "left"), Column("here", "left"), Column("what is missing", "left"))
        return Document(
            "What this machine can measure",
            (
                table(columns, rows),
                Heading("Machine"),
                Paragraph(_machine_text(self.machine)),
                Heading("Noise floor"),
                Paragraph(_noise_text(self.noise)),
                FindingList(self.findings),
            ),
        )


def examine(world: World, *, seconds: float) -> Readiness:
    """Ask every launcher what it lacks, look at the machine and measure its noise."""
    missing = {name: launcher_named(name).missing(world) for name in LAUNCHERS}
    machine = machine_facts(world)
    noise = measure_noise(seconds)
    return Readiness(launchers=missing, machine=machine, noise=noise, findings=tuple(_findings(machine, noise)))


def _findings(machine: Mapping[str, Any], noise: NoiseFloor) -> list[Finding]:
    found = []
    if noise.run_to_run > NOISY:
        found.append(
            warning(
                "noisy-machine",
                f"the same work differs by {noise.run_to_run:.1%} from one short run to the next",
                remedy=f"quiet it; else T within 2 % takes {repeats_needed(noise.run_to_run, 0.02, 0.95)} launches",
                run_to_run=noise.run_to_run,
            )
        )
    load, cores = machine.get("load_at_start"), machine.get("usable_cores", 1)
    if load is not None and load > QUIET_LOAD * cores:
        found.append(warning("busy-machine", f"the load is {load:g} on {cores} cores before anything was started"))
    if machine.get("governor") not in (None, "performance"):
        found.append(info("governor", f"the CPU governor is {machine['governor']}: clocks change with load"))
    if machine.get("smt"):
        found.append(info("smt", "cores are shared by SMT siblings: K above the physical cores is no full worker"))
    if machine.get("cpu_quota_cores"):
        found.append(info("cpu-quota", f"a control group allows {machine['cpu_quota_cores']:g} cores' worth of CPU"))
    return found


def _machine_text(machine: Mapping[str, Any]) -> str:
    cores = f"{machine.get('usable_cores')} usable cores ({machine.get('physical_cores')} physical"
    text = f"{machine.get('cpu') or machine.get('architecture')}: {cores}, {machine.get('sockets')} sockets, "
    text += f"{machine.get('numa_nodes')} NUMA nodes), load {machine.get('load_at_start')}"
    gpus = machine.get("gpus") or []
    return text + (f"; {len(gpus)} x {gpus[0]['model']}" if gpus else "; no GPU seen")


def _noise_text(noise: NoiseFloor) -> str:
    return (
        f"{noise.quanta} quanta of {format_seconds(noise.quantum_seconds)} of fixed work in one thread: median "
        f"{noise.median:.3f}, 99th percentile {noise.p99:.2f}, worst {noise.worst:.1f} times the fastest; "
        f"{noise.slow_share:.1%} took over 1.5 times as long. From one short run to the next: {noise.run_to_run:.1%}. "
        "No job can be measured more precisely than that on this machine without more launches."
    )
