"""likwid-perfctr output of a group with flop rate and memory volume (MEM_DP, MEM_SP), ASCII tables or -O CSV."""

from __future__ import annotations

import re
from pathlib import Path

from scalecurve.errors import Fault, FormatError
from scalecurve.formats.text import read_lines
from scalecurve.study.kernel import Kernel

_REGION = re.compile(r"Region[ ,]+(?P<name>[^,|]+?),? Group|TABLE,Region (?P<csv>[^,]+),")
_METRICS = {
    "Runtime (RDTSC) [s]": "time",
    "DP [MFLOP/s]": "rate",
    "DP MFLOP/s": "rate",
    "SP [MFLOP/s]": "rate",
    "SP MFLOP/s": "rate",
    "Memory data volume [GBytes]": "volume",
}


def read_likwid(path: Path) -> tuple[Kernel, ...]:
    """One kernel for each region (the whole run where there are none); the sum over threads where it is printed."""
    regions: dict[str, dict[str, float]] = {}
    name = path.stem
    for line in read_lines(path):
        if match := _REGION.search(line):
            name = (match["name"] or match["csv"]).strip()
        fields = [field.strip() for field in re.split(r"[|,]", line.strip("| \n"))]
        label = fields[0].removesuffix(" STAT")
        if label in _METRICS and len(fields) > 1:
            _note(regions.setdefault(name, {}), _METRICS[label], fields[1], is_sum=fields[0].endswith("STAT"))
    found = [_kernel(region, values) for region, values in regions.items() if {"time", "rate"} <= set(values)]
    if not found:
        hint = "run likwid-perfctr -g MEM_DP"
        raise FormatError(Fault("no flop rate and runtime in the output", remedy=hint), subject=str(path))
    return tuple(found)


def _note(values: dict[str, float], key: str, text: str, *, is_sum: bool) -> None:
    try:
        number = float(text)
    except ValueError:
        return
    if key == "time":
        values.setdefault(key, number)
    elif is_sum or key not in values:  # the sum over threads comes after the threads and replaces the first of them
        values[key] = number


def _kernel(name: str, values: dict[str, float]) -> Kernel:
    flops = values["rate"] * 1e6 * values["time"]
    moved = {"memory": values["volume"] * 1e9} if "volume" in values else {}
    return Kernel(name=name, flops=flops, moved=moved, seconds=values["time"])
