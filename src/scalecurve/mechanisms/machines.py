"""Ceilings of accelerators by name: vendors' stated dense peaks, dated; a measured machine is always better.

Sources: NVIDIA datasheets A100 (nvidia-a100-datasheet-us, 2021), H100 SXM (h100 datasheet, 2023), H200 (2024), B200
(HGX B200, 2025); AMD MI250X and MI300X datasheets (2021, 2023); Google TPU v4 and v5p documentation (2023, 2024).
"""

from __future__ import annotations

from dataclasses import dataclass

from scalecurve.errors import Fault, InputError
from scalecurve.laws.roofline import Ceilings

AS_OF = "2026-11"


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A named machine: peaks by precision in flop/s, memory and network in bytes/s."""

    name: str
    peaks: dict[str, float]
    memory: float
    network: float | None = None
    source: str

    def ceilings(self, precision: str) -> Ceilings:
        if precision not in self.peaks:
            known = ", ".join(self.peaks)
            raise InputError(Fault(f"{self.name} has no peak for it", seen=precision, remedy=f"one of {known}"))
        levels = {"memory": self.memory} | ({"network": self.network} if self.network else {})
        return Ceilings(peak=self.peaks[precision], bandwidths=levels)


def _gpu(
    name: str, bf16: float, fp32: float, fp64: float, memory: float, network: float | None, source: str
) -> Machine:
    peaks = {"bf16": bf16 * 1e12, "fp16": bf16 * 1e12, "fp32": fp32 * 1e12, "fp64": fp64 * 1e12}
    return Machine(name=name, peaks=peaks, memory=memory * 1e12, network=network, source=source)


MACHINES: dict[str, Machine] = {
    "a100": _gpu("a100", 312, 19.5, 9.7, 2.039, 25e9, "NVIDIA A100 80GB SXM datasheet, 2021"),
    "h100": _gpu("h100", 989, 67, 34, 3.35, 50e9, "NVIDIA H100 SXM datasheet, 2023; dense, no sparsity"),
    "h200": _gpu("h200", 989, 67, 34, 4.8, 50e9, "NVIDIA H200 SXM datasheet, 2024; dense, no sparsity"),
    "b200": _gpu("b200", 2250, 75, 37, 7.7, 50e9, "NVIDIA HGX B200 datasheet, 2025; dense, no sparsity"),
    "mi250x": _gpu("mi250x", 383, 47.9, 47.9, 3.277, 25e9, "AMD Instinct MI250X datasheet, 2021"),
    "mi300x": _gpu("mi300x", 1307, 163.4, 81.7, 5.3, 50e9, "AMD Instinct MI300X datasheet, 2023; dense"),
}


def machine(name: str) -> Machine:
    """A preset by name."""
    found = MACHINES.get(name.lower())
    if found is None:
        known = ", ".join(MACHINES)
        raise InputError(Fault("unknown machine", seen=name, remedy=f"one of {known}, or a file of roofline measure"))
    return found
