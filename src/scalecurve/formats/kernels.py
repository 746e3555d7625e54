"""Kernels for a roofline: typed by hand, or in a file of Nsight Compute or likwid."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.formats.columns import as_float
from scalecurve.formats.detection import FileKind, detect
from scalecurve.formats.reading import Reader, ReadOptions
from scalecurve.formats.source import Source
from scalecurve.laws.roofline import Kernel
from scalecurve.units import parse_bytes, parse_count, parse_seconds

Kernels = tuple[Kernel, ...]

NCU_TIME = "gpu__time_duration.sum"
NCU_BYTES = "dram__bytes.sum"
_NCU_COUNT = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
NCU_FLOPS = {
    _NCU_COUNT.format(kind): 2 if "fma" in kind else 1
    for kind in ("fadd", "fmul", "dadd", "dmul", "hadd", "hmul", "ffma", "dfma", "hfma")
}
NCU_UNITS = {
    "nsecond": 1e-9, "ns": 1e-9, "usecond": 1e-6, "us": 1e-6, "msecond": 1e-3, "ms": 1e-3, "second": 1.0, "s": 1.0,
    "byte": 1.0, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "inst": 1.0, "": 1.0,
}  # fmt: skip
LIKWID_METRICS = {
    "Runtime (RDTSC) [s]": "time",
    "DP [MFLOP/s]": "rate",
    "DP MFLOP/s": "rate",
    "SP [MFLOP/s]": "rate",
    "SP MFLOP/s": "rate",
    "Memory data volume [GBytes]": "volume",
}
_LIKWID_REGION = re.compile(r"Region[ ,]+(?P<name>[^,|]+?),? Group|TABLE,Region (?P<csv>[^,]+),")


def parse_kernel(text: str) -> Kernel:
    """`NAME:FLOPS:BYTES[:SECONDS]`, such as `gemm:2G:24MB:50ms`."""
    parts = text.split(":")
    if len(parts) not in (3, 4) or not parts[0]:
        remedy = "write NAME:FLOPS:BYTES[:SECONDS], such as gemm:2e9:24MB:0.05"
        raise InputError(Fault("not a kernel", value=text, remedy=remedy))
    flops, moved = parse_count(parts[1]), parse_bytes(parts[2])
    seconds = parse_seconds(parts[3]) if len(parts) == 4 else None
    if flops < 0 or moved < 0 or (seconds is not None and seconds <= 0):
        raise InputError(Fault("flops and bytes are not negative, and a time is positive", value=text))
    return Kernel(name=parts[0], flops=flops, moved={"memory": moved}, seconds=seconds)


def read_kernels(path: Path) -> Kernels:
    """The kernels in a file of Nsight Compute or likwid."""
    detection = detect(Source.at(path), FileKind.KERNELS)
    kernels: Kernels = detection.read(ReadOptions())
    return kernels


def recognise_ncu(source: Source) -> str | None:
    return 'the column "Kernel Name"' if '"Kernel Name"' in source.head_text[:4000] else None


def read_ncu(source: Source, options: ReadOptions) -> Kernels:
    """`ncu --csv` with one row per metric: FLOP (an FMA is two), DRAM bytes and time; launches of one name add up."""
    lines = [line for line in source.text.splitlines() if line and not line.startswith("==")]
    if not lines or '"Kernel Name"' not in lines[0]:
        remedy = (
            "run ncu --csv --page raw with gpu__time_duration, dram__bytes and smsp__sass_thread_inst_executed_op_*"
        )
        raise FormatError(Fault("not the CSV of Nsight Compute", remedy=remedy))
    launches: dict[tuple[str, str], dict[str, float]] = {}
    for row in csv.DictReader(lines):
        if row.get("Metric Name"):
            number = as_float((row.get("Metric Value") or "").replace(",", "")) or 0.0
            metrics = launches.setdefault((row.get("ID") or "", row["Kernel Name"]), {})
            metrics[row["Metric Name"]] = number * NCU_UNITS.get(row.get("Metric Unit") or "", 1.0)
    if not any(NCU_TIME in metrics for metrics in launches.values()):
        raise FormatError(Fault(f"no {NCU_TIME} in the file", remedy="add it to --metrics"))
    kernels: dict[str, Kernel] = {}
    for (_, name), metrics in launches.items():
        before = kernels.get(name) or Kernel(name=name, flops=0.0, moved={"memory": 0.0}, calls=0)
        kernels[name] = Kernel(
            name=name,
            flops=before.flops + sum(flops * metrics.get(metric, 0.0) for metric, flops in NCU_FLOPS.items()),
            moved={"memory": before.moved["memory"] + metrics.get(NCU_BYTES, 0.0)},
            seconds=(before.seconds or 0.0) + metrics.get(NCU_TIME, 0.0) or None,
            calls=before.calls + 1,
        )
    return tuple(kernels.values())


def recognise_likwid(source: Source) -> str | None:
    return "text without the marks of Nsight Compute"


def read_likwid(source: Source, options: ReadOptions) -> Kernels:
    """likwid-perfctr with flop rate and memory volume (MEM_DP, MEM_SP), as ASCII tables or -O CSV.

    One kernel for each region, or the whole run where there are none; the sum over threads where it is printed.
    """
    regions: dict[str, dict[str, float]] = {}
    name = source.stem
    for line in source.text.splitlines():
        if match := _LIKWID_REGION.search(line):
            name = (match["name"] or match["csv"]).strip()
        fields = [field.strip() for field in re.split(r"[|,]", line.strip("| \n"))]
        metric, number = LIKWID_METRICS.get(fields[0].removesuffix(" STAT")), as_float([*fields, ""][1])
        if metric is None or number is None:
            continue
        values = regions.setdefault(name, {})
        # The sum over threads comes after the threads and replaces the first of them.
        if metric not in values or (metric != "time" and fields[0].endswith("STAT")):
            values[metric] = number
    kernels = tuple(
        Kernel(
            name=region,
            flops=values["rate"] * 1e6 * values["time"],
            moved={"memory": values["volume"] * 1e9} if "volume" in values else {},
            seconds=values["time"],
        )
        for region, values in regions.items()
        if {"time", "rate"} <= set(values)
    )
    if not kernels:
        raise FormatError(Fault("no flop rate and runtime in the output", remedy="run likwid-perfctr -g MEM_DP"))
    return kernels


NCU = Reader("ncu", "Nsight Compute CSV", recognise_ncu, read_ncu)
LIKWID = Reader("likwid", "likwid-perfctr", recognise_likwid, read_likwid)
