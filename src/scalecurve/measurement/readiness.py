"""`doctor`: which launchers can be used here, what the machine is, and how noisy it is.

The noise floor is measured with fixed-work quanta: each quantum does the same arithmetic in one thread, so every
difference comes from the machine (other processes, interrupts, clocks).  No measurement here is more precise.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.document import Answer, Cell, Column, Document, FindingList, Heading, Paragraph, Result, table
from scalecurve.findings import Finding
from scalecurve.measurement.launchers import LAUNCHERS, launcher_named
from scalecurve.measurement.machine import machine_facts, real_world
from scalecurve.measurement.ports import World
from scalecurve.measurement.schedule import repeats_needed
from scalecurve.measurement.sentences import say
from scalecurve.units import format_seconds

UNTRIED = {
    "ssh": "not tried: name the hosts ([launcher] hosts)",
    "template": "not tried: tell it submit, status and cancel ([launcher.batch])",
}
QUANTUM_SECONDS = 0.002
SLOW_FACTOR = 1.5
NOISY = 0.05
QUIET_LOAD = 0.2


@dataclass(frozen=True, kw_only=True)
class NoiseFloor:
    """Times of quanta relative to the fastest; `run_to_run` is the spread of groups as long as a short run."""

    quanta: int
    quantum_seconds: float
    median: float
    p99: float
    worst: float
    slow_share: float
    run_to_run: float


@dataclass(frozen=True, kw_only=True, repr=False)
class Readiness(Result):
    """`launchers` maps a name to the missing piece, None where nothing is missing."""

    launchers: Mapping[str, str | None]
    machine: Mapping[str, Any]
    noise: NoiseFloor
    findings: tuple[Finding, ...]

    JSON = "launchers=records machine noise findings"

    @property
    def answer(self) -> Answer:
        """Whether to measure here now, and by what."""
        cores, spread = self.machine.get("usable_cores"), self.noise.run_to_run
        busy = any(finding.code in ("noisy-machine", "busy-before") for finding in self.findings)
        decision = f"Measure here up to K = {cores}: the same work varies by {spread:.1%} from run to run."
        if busy:
            decision = f"Wait for a quiet machine: the same work varies by {spread:.1%} from run to run."
        usable = ", ".join(name for name, missing in self.launchers.items() if missing is None)
        step = "`scalecurve measure --quiet-below 0.3` waits for it" if busy else "`scalecurve measure --init`"
        return Answer(decision=decision, reason=f"Launchers that can be used: {usable}.", next=step)

    def records(self) -> list[dict[str, Any]]:
        return [
            {"launcher": name, "usable": missing is None, "missing": missing}
            for name, missing in self.launchers.items()
        ]

    def body(self) -> Document:
        rows = [
            (name, Cell("usable", "good") if missing is None else Cell("missing", "warn"), missing)
            for name, missing in self.launchers.items()
        ]
        columns = (Column("launcher", "left"), Column("here", "left"), Column("what is missing", "left"))
        machine, noise = self.machine, self.noise
        gpus = machine.get("gpus") or []
        gpu_text = f"{len(gpus)} x {gpus[0]['model']}" if gpus else "no GPU"
        sockets, nodes = machine.get("sockets"), machine.get("numa_nodes")
        machine_text = (
            f"{machine.get('cpu') or machine.get('architecture')}: {machine.get('usable_cores')} usable cores "
            f"({machine.get('physical_cores')} physical, {sockets} socket{'' if sockets == 1 else 's'}, "
            f"{nodes} NUMA node{'' if nodes == 1 else 's'}), load {machine.get('load_at_start')}; {gpu_text}"
        )
        noise_text = (
            f"{noise.quanta} pieces of {format_seconds(noise.quantum_seconds)} of fixed work in one thread: median "
            f"{noise.median:.3f}, 99th percentile {noise.p99:.2f}, worst {noise.worst:.1f} times the fastest; "
            f"{noise.slow_share:.1%} took over {SLOW_FACTOR:g} times as long. From one short run to the next: "
            f"{noise.run_to_run:.1%}. A more precise T on this machine needs more launches."
        )
        return Document(
            "What this machine can measure",
            (table(columns, rows), FindingList(self.findings)),
            details=(Heading("Machine"), Paragraph(machine_text), Heading("Noise floor"), Paragraph(noise_text)),
        )


def doctor(*, seconds: float = 2.0) -> Readiness:
    """Which launchers can be used here, what the others lack, and the noise floor, measured for `seconds`."""
    return examine(real_world(), seconds=seconds)


def examine(world: World, *, seconds: float) -> Readiness:
    """Ask every launcher what it lacks, read the machine and measure its noise."""
    missing = {name: launcher_named(name).missing(world) or UNTRIED.get(name) for name in LAUNCHERS}
    machine, noise = machine_facts(world), measure_noise(seconds)
    spread, findings = noise.run_to_run, []
    if spread > NOISY:
        launches = repeats_needed(spread, 0.02, 0.95)
        findings.append(say("noisy-machine", run_to_run=spread, launches=launches))
    load, cores = machine.get("load_at_start"), machine.get("usable_cores", 1)
    if load is not None and load > QUIET_LOAD * cores:
        findings.append(say("busy-before", load=load, cores=cores))
    if machine.get("governor") not in (None, "performance"):
        findings.append(say("governor", governor=machine["governor"]))
    if machine.get("smt"):
        findings.append(say("smt"))
    if machine.get("cpu_quota_cores"):
        findings.append(say("cpu-quota", cores=machine["cpu_quota_cores"]))
    return Readiness(launchers=missing, machine=machine, noise=noise, findings=tuple(findings))


def measure_noise(seconds: float = 2.0) -> NoiseFloor:
    """Quanta for about `seconds`, each of some milliseconds."""
    size = 1000
    while _quantum(size) < QUANTUM_SECONDS and size < 10**9:
        size *= 2
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 50:
        times.append(_quantum(size))
    return noise_of(np.asarray(times))


def noise_of(times: npt.NDArray[np.float64], groups: int = 10) -> NoiseFloor:
    """The noise floor from seconds of equal quanta; ten equal groups of them stand for short runs."""
    fastest = float(times.min())
    relative = times / fastest
    sums = np.asarray([part.sum() for part in np.array_split(times[: len(times) // groups * groups], groups)])
    return NoiseFloor(
        quanta=len(times),
        quantum_seconds=fastest,
        median=float(np.median(relative)),
        p99=float(np.quantile(relative, 0.99)),
        worst=float(relative.max()),
        slow_share=float(np.mean(relative > SLOW_FACTOR)),
        run_to_run=float(sums.std(ddof=1) / sums.mean()),
    )


def _quantum(size: int) -> float:
    begin = time.perf_counter()
    total = 0
    for i in range(size):
        total += i
    return time.perf_counter() - begin
