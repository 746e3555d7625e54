"""Nsight Compute: `ncu --csv` with the SpeedOfLight_RooflineChart metrics, one row a metric or one column a metric."""

from __future__ import annotations

import csv
from pathlib import Path

from scalecurve.errors import Fault, FormatError
from scalecurve.formats.text import read_lines
from scalecurve.study.kernel import Kernel

_TIME = "gpu__time_duration.sum"
_BYTES = "dram__bytes.sum"
_COUNT = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
_ADDS = tuple(_COUNT.format(kind) for kind in ("fadd", "fmul", "dadd", "dmul", "hadd", "hmul"))
_FMAS = tuple(_COUNT.format(kind) for kind in ("ffma", "dfma", "hfma"))
_UNITS = {
    "nsecond": 1e-9, "ns": 1e-9, "usecond": 1e-6, "us": 1e-6, "msecond": 1e-3, "ms": 1e-3, "second": 1.0, "s": 1.0,
    "byte": 1.0, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "inst": 1.0, "": 1.0,
}  # fmt: skip


def read_ncu(path: Path) -> tuple[Kernel, ...]:
    """Kernels with flops (an FMA is two), DRAM bytes and time; launches of one name are added up."""
    lines = [line for line in read_lines(path) if line and not line.startswith("==")]
    if not lines or '"Kernel Name"' not in lines[0]:
        hint = "run ncu --csv --page raw with gpu__time_duration, dram__bytes and smsp__sass_thread_inst_executed_op_*"
        raise FormatError(Fault("not the CSV of Nsight Compute", remedy=hint), subject=str(path))
    launches: dict[tuple[str, str], dict[str, float]] = {}
    for row in csv.DictReader(lines):
        if row.get("Metric Name"):
            metrics = launches.setdefault((row["ID"], row["Kernel Name"]), {})
            metrics[row["Metric Name"]] = _number(row["Metric Value"]) * _UNITS.get(row.get("Metric Unit") or "", 1.0)
    if not any(_TIME in metrics for metrics in launches.values()):
        raise FormatError(Fault(f"no {_TIME} in the file", remedy="add it to --metrics"), subject=str(path))
    return _added(launches)


def _number(text: str) -> float:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return 0.0


def _added(launches: dict[tuple[str, str], dict[str, float]]) -> tuple[Kernel, ...]:
    sums: dict[str, list[float]] = {}
    for (_, name), metrics in launches.items():
        flops = sum(metrics.get(each, 0.0) for each in _ADDS) + 2 * sum(metrics.get(each, 0.0) for each in _FMAS)
        row = sums.setdefault(name, [0.0, 0.0, 0.0, 0.0])
        for place, amount in enumerate((flops, metrics.get(_BYTES, 0.0), metrics.get(_TIME, 0.0), 1.0)):
            row[place] += amount
    return tuple(
        Kernel(name=name, flops=row[0], moved={"memory": row[1]}, seconds=row[2] or None, calls=int(row[3]))
        for name, row in sums.items()
    )
