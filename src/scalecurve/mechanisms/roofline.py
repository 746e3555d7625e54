"""Kernels placed under a machine's roofline: what bounds each, how far below it stays, and how to move it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scalecurve.document import Answer, Column, Document, FindingList, JsonRecord, Paragraph, Result, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, info, warning
from scalecurve.laws.roofline import Ceilings, Kernel, KernelBound, attainable, intensity, least_time
from scalecurve.units import format_bytes, format_count, format_flops, format_seconds
from scalecurve.words import share_text, short_name

Points = tuple[tuple[float, float], ...]
ABOVE = 1.05  # of the least time, from which a ceiling or a count is wrong


@dataclass(frozen=True, kw_only=True)
class PlacedKernel(JsonRecord):
    """A kernel under the roof; intensity in flop/byte, rates in flop/s."""

    kernel: Kernel
    bound: KernelBound
    intensity: float | None
    attainable: float | None
    achieved: float | None
    advice: str

    JSON = """
        name=kernel.name calls=kernel.calls flops=kernel.flops bytes=kernel.moved intensity
        bound=bound.limited_by least_seconds=bound.seconds at_most_seconds=bound.at_most
        seconds=kernel.seconds attainable_flops_per_second=attainable achieved_flops_per_second=achieved
        share_of_roof=share advice"""

    @property
    def share(self) -> float | None:
        """Least time over measured time: 1 is on the roof."""
        return self.bound.seconds / self.kernel.seconds if self.kernel.seconds else None


@dataclass(frozen=True, kw_only=True, repr=False)
class Roofline(Result):
    """A machine's ceilings and the kernels below them."""

    machine: str
    ceilings: Ceilings
    level: str
    placements: tuple[PlacedKernel, ...]
    method: str | None = None
    findings: tuple[Finding, ...] = ()

    JSON = """
        machine method peak_flops_per_second=ceilings.peak bandwidths=ceilings.bandwidths ridge=ridges
        kernels=placements findings"""

    @property
    def ridges(self) -> dict[str, float]:
        """FLOP per byte at which each level of memory stops limiting."""
        return {level: self.ceilings.ridge(level) for level in self.ceilings.bandwidths}

    @property
    def lines(self) -> tuple[tuple[str, Points], ...]:
        """Label and corner points (flop/byte, flop/s) of each roof, ready to draw."""
        peak, bandwidths = self.ceilings.peak, self.ceilings.bandwidths
        ridges = self.ridges
        ends = [*ridges.values()] + [place.intensity for place in self.placements if place.intensity]
        low, high = min(ends) / 20, max(ends) * 20
        slopes = [
            (f"{level} {format_bytes(width)}/s", ((low, low * width), (ridges[level], peak)))
            for level, width in bandwidths.items()
        ]
        return (*slopes, (f"peak {format_flops(peak)}", ((min(ridges.values()), peak), (high, peak))))

    def records(self) -> list[dict[str, Any]]:
        return [{key: value for key, value in place.to_dict().items() if key != "bytes"} for place in self.placements]

    @property
    def answer(self) -> Answer:
        """What bounds the kernel that takes longest."""
        if not self.placements:
            needed = f"{self.ridges[self.level]:.3g} FLOP per byte of {self.level}"
            return Answer(
                decision=f"A kernel needs {needed} to reach {format_flops(self.ceilings.peak)}.",
                next="`SAME --kernel gemm:2T:300MB` places a kernel: its flop and its bytes",
            )
        place = max(self.placements, key=lambda place: place.kernel.seconds or place.bound.seconds)
        reached = f", at {share_text(place.share)} of its roof" if place.share is not None else ""
        if place.share is not None and place.share > ABOVE:
            times, name = format_count(place.share), short_name(place.kernel.name)
            return Answer(
                decision=f"{name} cannot have run so fast: {times} times what the roof of {self.machine} allows.",
                next="check the counts of flops and bytes, the precision, and whether the data stayed in cache",
            )
        return Answer(
            decision=f"{short_name(place.kernel.name)} is {place.bound.limited_by} bound: it takes at least "
            f"{format_seconds(place.bound.seconds)}{reached}.",
            next=place.advice.split(": ", 1)[-1],
        )

    def body(self) -> Document:
        ridges = ", ".join(
            f"{level} {format_bytes(width)}/s (ridge {_plain(self.ridges[level])} flop/byte)"
            for level, width in self.ceilings.bandwidths.items()
        )
        parts = [Paragraph(f"peak {format_flops(self.ceilings.peak)}; {ridges}")]
        if self.method:
            parts.append(Paragraph(f"ceilings: {self.method}"))
        columns: list[Column | str] = [
            Column("kernel", "left"),
            Column("I", meaning=f"flop per byte of {self.level}"),
            Column("bound", "left"),
            "at best",
            "measured",
            Column("of roof", meaning="least time / measured time"),
        ]
        rows = [
            [
                place.kernel.name,
                None if place.intensity is None else _plain(place.intensity),
                place.bound.limited_by,
                format_seconds(place.bound.seconds),
                None if place.kernel.seconds is None else format_seconds(place.kernel.seconds),
                None if place.share is None else f"{place.share:.0%}",
            ]
            for place in self.placements
        ]
        advice = Paragraph("\n".join(f"{place.kernel.name}: {place.advice}" for place in self.placements[:10]))
        blocks = (*parts, table(columns, rows), advice) if rows else parts
        return Document(f"Roofline of {self.machine}", (*blocks, FindingList(self.findings)))


def place_kernels(
    kernels: Sequence[str | Kernel] = (),
    *,
    machine: str | Path | Ceilings,
    files: Sequence[str | Path] = (),
    precision: str = "fp64",
    level: str = "memory",
) -> Roofline:
    """Kernels under a machine's roof: typed `name:flops:bytes[:seconds]`, counted, or from ncu and likwid files.

    `machine` is a preset such as "h100", a file of `roofline measure`, or Ceilings of your own; `level` is the memory
    level at which intensity is counted.
    """
    from scalecurve.formats.kernels import parse_kernel, read_kernels

    listed = [parse_kernel(kernel) if isinstance(kernel, str) else kernel for kernel in kernels]
    listed += [kernel for file in files for kernel in read_kernels(Path(file))]
    name, method = "own ceilings", None
    if isinstance(machine, Ceilings):
        ceilings = machine
    else:
        name = f"{machine} {precision}"
        ceilings, method = machine_ceilings(machine, precision)
    if level not in ceilings.bandwidths:
        levels = ", ".join(ceilings.bandwidths)
        raise InputError(Fault("the machine has no such level", value=level, remedy=f"one of {levels}"))
    placements = [place_kernel(kernel, ceilings, level) for kernel in listed]
    findings = []
    above = [place.kernel.name for place in placements if place.share is not None and place.share > ABOVE]
    if above:
        text = f"{', '.join(above[:5])} ran faster than the roof allows: a ceiling or a count is wrong"
        hint = "check whether the data stays in cache, and the counts of flops and bytes"
        findings.append(warning("above-the-roof", text, remedy=hint))
    if any(place.bound.at_most > 1.5 * place.bound.seconds for place in placements):
        text = "bounds assume that arithmetic and transfers overlap fully; without overlap their times add up"
        findings.append(info("overlap-assumed", text))
    return Roofline(
        machine=name,
        ceilings=ceilings,
        level=level,
        placements=tuple(placements),
        method=method,
        findings=tuple(findings),
    )


def place_kernel(kernel: Kernel, ceilings: Ceilings, level: str) -> PlacedKernel:
    """A kernel under the roof; its intensity is counted at this level of memory."""
    bound = least_time(kernel.flops, kernel.moved, ceilings)
    ratio = intensity(kernel.flops, kernel.moved.get(level, 0.0))
    return PlacedKernel(
        kernel=kernel,
        bound=bound,
        intensity=ratio,
        attainable=None if ratio is None else attainable(ratio, ceilings, level),
        achieved=kernel.flops / kernel.seconds if kernel.seconds else None,
        advice=_advice(kernel, bound, ratio, ceilings, level),
    )


def machine_ceilings(machine: str | Path, precision: str) -> tuple[Ceilings, str]:
    """Ceilings of a preset, of a .toml that describes an accelerator, or of a file that `roofline measure --json`
    wrote, and where they come from."""
    from scalecurve.hardware.accelerators import accelerator as preset_of
    from scalecurve.study.file import read_json

    if str(machine).endswith(".toml") or not Path(machine).is_file():
        preset = preset_of(str(machine))
        return preset.ceilings(precision), preset.source
    data = read_json(Path(machine))
    try:
        row, method = data["rows"][-1], str(data["method"])
        peaks = {name: float(row[f"{name}_flops_per_second"]) for name in ("fp32", "fp64")}
        memory = float(row["memory_bytes_per_second"])
    except (KeyError, IndexError, TypeError, ValueError) as problem:
        fault = Fault("not a file of roofline measure", value=str(problem), remedy="write it with --json -o FILE")
        raise InputError(fault, subject=str(machine)) from None
    if precision not in peaks:
        raise InputError(Fault("this precision was not measured", value=precision, remedy="fp32 or fp64"))
    return Ceilings(peak=peaks[precision], bandwidths={"memory": memory}), method


def _plain(number: float) -> str:
    """Three digits; whole numbers from 1,000 to a million."""
    return f"{number:,.0f}" if 1e3 <= number < 1e6 else f"{number:.3g}"


def _advice(kernel: Kernel, bound: KernelBound, ratio: float | None, ceilings: Ceilings, level: str) -> str:
    """What moving right (more flop per byte) or up (nearer to the roof) would take."""
    if kernel.seconds and bound.seconds < 0.5 * kernel.seconds:
        gap = kernel.seconds / bound.seconds
        return (
            f"it takes {gap:.3g} times what the roof allows: first find what it waits for (latency, launch, imbalance)"
        )
    if bound.limited_by == "compute":
        return "compute bound: use fewer or cheaper flops (lower precision, better algorithm); bytes do not matter"
    if bound.limited_by == "launch":
        return "launch bound: fuse it with its neighbours or give it more work"
    if bound.limited_by == level and ratio:
        cut = ceilings.ridge(level) / ratio
        return f"{level} bound: move {_plain(cut)}x fewer bytes (reuse, fuse) until arithmetic is the limit"
    return f"{bound.limited_by} bound: move fewer bytes over it, or overlap them with arithmetic"
