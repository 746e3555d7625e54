"""Roofline: is a kernel bound by arithmetic or by moving bytes?

    P <= min(pi, bw I),   I = F/Q (flop per byte),   ridge I* = pi/bw
    T >= max(F/pi, max_l Q_l/bw_l)   with everything overlapped, at most the sum of the terms without

pi is the peak in flop/s, bw the bandwidth in bytes/s, F the flop and Q the bytes of the kernel, P its flop/s and T its
seconds; l runs over the levels of memory.

The time form works where F = 0 (copies) or Q = 0, takes any number of levels (caches, memory, network) and a launch
floor.
Source: S. Williams, A. Waterman, D. Patterson, Roofline, Communications of the ACM 52(4), 2009; hierarchical form: C.
Yang, T. Kurth, S. Williams, 2020.
Worked number: H100, bf16 dense, 989 TFLOP/s and 3.35 TB/s: ridge 295 flop/byte.
Limits: peaks are upper limits; a kernel below both is bound by latency, occupancy or something not modelled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from scalecurve.errors import Fault, InputError


@dataclass(frozen=True, kw_only=True)
class Ceilings:
    """A machine: peak flop/s, and bytes/s of each level, nearest first (`memory` is the usual last or only one)."""

    peak: float
    bandwidths: Mapping[str, float]
    floor: float = 0.0

    def __post_init__(self) -> None:
        numbers = {"peak": self.peak, **self.bandwidths}
        faults = [
            Fault(
                "a ceiling is a positive finite number",
                where=name,
                value=f"{value:g}",
                remedy="give it in FLOP/s or bytes/s, such as 1e12",
            )
            for name, value in numbers.items()
            if not (math.isfinite(value) and value > 0)
        ]
        if not self.bandwidths:
            faults.append(Fault("a roofline needs at least one bandwidth"))
        if not (math.isfinite(self.floor) and self.floor >= 0):
            faults.append(Fault("the launch floor is a time from 0", where="floor", value=f"{self.floor:g}"))
        if faults:
            raise InputError(faults, subject="roofline")

    def ridge(self, level: str) -> float:
        """I* = pi/bw: from this intensity (flop/byte) on, arithmetic is the limit."""
        return self.peak / self.bandwidths[level]


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """FLOP, bytes moved at each memory level, and the measured seconds (None if not timed)."""

    name: str
    flops: float
    moved: Mapping[str, float]
    seconds: float | None = None
    calls: int = 1


@dataclass(frozen=True, kw_only=True)
class KernelBound:
    """The least time of a kernel: seconds of each term, the largest of them, its name, and their sum."""

    terms: Mapping[str, float]
    seconds: float
    limited_by: str
    at_most: float


def least_time(flops: float, moved: Mapping[str, float], machine: Ceilings) -> KernelBound:
    """T >= max(F/pi, max_l Q_l/bw_l, floor) in seconds; `at_most` is the sum, without any overlap."""
    faults = [
        Fault("flops and bytes are finite numbers from 0", where=name, value=f"{value:g}")
        for name, value in {"flops": flops, **moved}.items()
        if not (math.isfinite(value) and value >= 0)
    ]
    unknown = sorted(set(moved) - set(machine.bandwidths))
    if unknown:
        levels = ", ".join(machine.bandwidths)
        faults.append(Fault(f"no bandwidth for {', '.join(unknown)}", remedy=f"the machine has {levels}"))
    if faults:
        raise InputError(faults, subject="kernel")
    terms = {"compute": flops / machine.peak}
    terms |= {level: volume / machine.bandwidths[level] for level, volume in moved.items()}
    if machine.floor > 0:
        terms["launch"] = machine.floor
    limited = max(terms, key=lambda name: terms[name])
    return KernelBound(terms=terms, seconds=terms[limited], limited_by=limited, at_most=sum(terms.values()))


def attainable(intensity: float, machine: Ceilings, level: str) -> float:
    """P = min(pi, bw I)."""
    return min(machine.peak, machine.bandwidths[level] * intensity)


def intensity(flops: float, volume: float) -> float | None:
    """I = F/Q; None where nothing is moved."""
    return flops / volume if volume > 0 else None
