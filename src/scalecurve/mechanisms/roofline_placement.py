"""Kernels placed under a roofline: what bounds each, how far below it stays, and what moving it would take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from scalecurve.document import Column, Document, FindingList, Paragraph, Shown, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, info, warning
from scalecurve.laws.roofline import Ceilings, KernelBound, attainable, intensity, least_time
from scalecurve.study.kernel import Kernel
from scalecurve.units import format_bytes, format_flops, format_seconds


@dataclass(frozen=True, kw_only=True)
class Placement:
    """A kernel under the roof."""

    kernel: Kernel
    bound: KernelBound
    intensity: float | None
    attainable: float | None
    achieved: float | None
    advice: str

    @property
    def share(self) -> float | None:
        """Least time over measured time: 1 is on the roof."""
        return self.bound.seconds / self.kernel.seconds if self.kernel.seconds else None

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.kernel.name,
            "calls": self.kernel.calls,
            "flops": self.kernel.flops,
            "bytes": dict(self.kernel.moved),
            "intensity": self.intensity,
            "bound": self.bound.limited_by,
            "least_seconds": self.bound.seconds,
            "at_most_seconds": self.bound.at_most,
            "seconds": self.kernel.seconds,
            "attainable_flops_per_second": self.attainable,
            "achieved_flops_per_second": self.achieved,
            "share_of_roof": self.share,
            "advice": self.advice,
        }


@dataclass(frozen=True, kw_only=True)
class Roofline(Shown):
    """A machine's ceilings and the kernels below them."""

    machine: str
    ceilings: Ceilings
    level: str
    placements: tuple[Placement, ...]
    method: str | None = None
    lines: tuple[tuple[str, tuple[tuple[float, float], ...]], ...] = field(default=())
    findings: tuple[Finding, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "machine": self.machine,
            "method": self.method,
            "peak_flops_per_second": self.ceilings.peak,
            "bandwidths": dict(self.ceilings.bandwidths),
            "ridge": {level: self.ceilings.ridge(level) for level in self.ceilings.bandwidths},
            "kernels": [placement.to_dict() for placement in self.placements],
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def records(self) -> list[dict[str, Any]]:
        return [
            {key: value for key, value in placement.to_dict().items() if key != "bytes"}
            for placement in self.placements
        ]

    def document(self) -> Document:
        ridges = ", ".join(
            f"{level} {format_bytes(width)}/s (ridge {self.ceilings.ridge(level):.3g} flop/byte)"
            for level, width in self.ceilings.bandwidths.items()
        )
        head = f"peak {format_flops(self.ceilings.peak)}; {ridges}"
        columns: list[Column | str] = [
            Column("kernel", "left"),
            Column("I", meaning=f"flop per byte of {self.level}"),
            Column("bound", "left"),
            "at best",
            "measured",
            Column("of roof", meaning="least time / measured time"),
        ]
        rows = [_cells(each) for each in self.placements]
        advice = "\n".join(f"{each.kernel.name}: {each.advice}" for each in self.placements[:10])
        parts = [Paragraph(head), table(columns, rows), Paragraph(advice)] if rows else [Paragraph(head)]
        if self.method:
            parts.insert(1, Paragraph(f"ceilings: {self.method}"))
        return Document(f"Roofline of {self.machine}", (*parts, FindingList(self.findings)))


def _cells(each: Placement) -> list[str | None]:
    return [
        each.kernel.name,
        None if each.intensity is None else f"{each.intensity:.3g}",
        each.bound.limited_by,
        format_seconds(each.bound.seconds),
        None if each.kernel.seconds is None else format_seconds(each.kernel.seconds),
        None if each.share is None else f"{each.share:.0%}",
    ]


def place_kernels(
    kernels: Sequence[Kernel], ceilings: Ceilings, *, machine: str, level: str = "memory", method: str | None = None
) -> Roofline:
    """Every kernel with its bound, and the lines of the picture."""
    if level not in ceilings.bandwidths:
        known = ", ".join(ceilings.bandwidths)
        raise InputError(Fault("the machine has no such level", seen=level, remedy=f"one of {known}"))
    placements = tuple(_place(kernel, ceilings, level) for kernel in kernels)
    return Roofline(
        machine=machine,
        ceilings=ceilings,
        level=level,
        placements=placements,
        method=method,
        lines=_lines(ceilings, placements),
        findings=_findings(placements),
    )


def _place(kernel: Kernel, ceilings: Ceilings, level: str) -> Placement:
    bound = least_time(kernel.flops, kernel.moved, ceilings)
    ratio = intensity(kernel.flops, kernel.moved.get(level, 0.0))
    return Placement(
        kernel=kernel,
        bound=bound,
        intensity=ratio,
        attainable=None if ratio is None else attainable(ratio, ceilings, level),
        achieved=kernel.flops / kernel.seconds if kernel.seconds else None,
        advice=_advice(kernel, bound, ratio, ceilings, level),
    )


def _advice(kernel: Kernel, bound: KernelBound, ratio: float | None, ceilings: Ceilings, level: str) -> str:
    """What moving right (more flop per byte) or up (nearer to the roof) would take."""
    if kernel.seconds and bound.seconds < 0.5 * kernel.seconds:
        gap = kernel.seconds / bound.seconds
        return f"{gap:.1f}x above its bound: first find what it waits for (latency, launch, imbalance), then the roof"
    if bound.limited_by == "compute":
        return "compute bound: fewer or cheaper flops (lower precision, better algorithm); bytes do not matter"
    if bound.limited_by == "launch":
        return "launch bound: fuse it with its neighbours or give it more work"
    if bound.limited_by == level and ratio:
        cut = ceilings.ridge(level) / ratio
        return f"{level} bound: reuse or fuse so that {cut:.3g}x fewer bytes move, then arithmetic is the limit"
    return f"{bound.limited_by} bound: move fewer bytes over it, or overlap them with arithmetic"


def _lines(
    ceilings: Ceilings, placements: Sequence[Placement]
) -> tuple[tuple[str, tuple[tuple[float, float], ...]], ...]:
    """Corner points of each roof, so that drawing needs no arithmetic."""
    ridges = [ceilings.ridge(level) for level in ceilings.bandwidths]
    seen = [each.intensity for each in placements if each.intensity]
    low, high = min([*ridges, *seen]) / 20, max([*ridges, *seen]) * 20
    found = []
    for level, width in ceilings.bandwidths.items():
        corner = ceilings.ridge(level)
        found.append((f"{level} {format_bytes(width)}/s", ((low, low * width), (corner, ceilings.peak))))
    found.append((f"peak {format_flops(ceilings.peak)}", ((min(ridges), ceilings.peak), (high, ceilings.peak))))
    return tuple(found)


def _findings(placements: Sequence[Placement]) -> tuple[Finding, ...]:
    above = [each.kernel.name for each in placements if each.share is not None and each.share > 1.05]
    found = []
    if above:
        text = f"{', '.join(above[:5])} ran faster than the roof allows: a ceiling or a count is wrong"
        hint = "data may stay in cache, or flops and bytes are counted too high"
        found.append(warning("above-the-roof", text, remedy=hint))
    if any(each.bound.at_most > 1.5 * each.bound.seconds for each in placements):
        text = "bounds assume that arithmetic and transfers overlap fully; without overlap times add up"
        found.append(info("overlap-assumed", text))
    return tuple(found)
