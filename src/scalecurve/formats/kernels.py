"""Kernels for a roofline: typed by hand, or in a file of Nsight Compute or likwid."""

from __future__ import annotations

from pathlib import Path

from scalecurve.errors import Fault, InputError
from scalecurve.formats.likwid import read_likwid
from scalecurve.formats.ncu import read_ncu
from scalecurve.formats.text import read_text
from scalecurve.study.kernel import Kernel
from scalecurve.units import parse_bytes, parse_count, parse_seconds


def parse_kernel(text: str) -> Kernel:
    """`NAME:FLOPS:BYTES[:SECONDS]`, such as `gemm:2G:24MB:50ms`."""
    parts = text.split(":")
    if len(parts) not in (3, 4) or not parts[0]:
        hint = "write NAME:FLOPS:BYTES[:SECONDS], such as gemm:2e9:24MB:0.05"
        raise InputError(Fault("not a kernel", seen=text, remedy=hint))
    flops, moved = parse_count(parts[1]), parse_bytes(parts[2])
    seconds = parse_seconds(parts[3]) if len(parts) == 4 else None
    if flops < 0 or moved < 0 or (seconds is not None and seconds <= 0):
        raise InputError(Fault("flops and bytes are not negative, and a time is positive", seen=text))
    return Kernel(name=parts[0], flops=flops, moved={"memory": moved}, seconds=seconds)


def read_kernels(path: Path) -> tuple[Kernel, ...]:
    """Nsight Compute by its header, otherwise likwid."""
    return read_ncu(path) if '"Kernel Name"' in read_text(path)[:4000] else read_likwid(path)
