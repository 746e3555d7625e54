"""Accelerators by name: peaks by precision, memory, links, and the ceilings of their roofline.

`data/accelerators.csv` holds the stated dense figures.  Where sources disagree the data sheet decides: B200 has 8 TB/s
(DGX B200: 64 TB/s for eight), MI300X 1307.4 TFLOP/s bf16, A100 80 GB 2.039 TB/s.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from scalecurve.errors import Fault, InputError

if TYPE_CHECKING:
    from scalecurve.laws.roofline import Ceilings

GIB = 2.0**30  # data sheets write GB of memory for 2^30 bytes: an H100 of 80 GB shows 81,559 MiB
PRECISIONS = ("bf16", "fp16", "fp8", "fp32", "fp64")


def hardware_table(name: str) -> str:
    """The text of one data file of the catalogue."""
    return files("scalecurve.hardware").joinpath("data", name).read_text(encoding="utf-8")


def plain_name(name: str) -> str:
    """A name as the catalogues spell it: lower case, with - for _ and space."""
    return name.strip().lower().replace("_", "-").replace(" ", "-")


def unknown_name(kind: str, name: str, names: Iterable[str], *, otherwise: str = "") -> InputError:
    """The error for an unknown name, with the nearest names; `otherwise` says what else may be written."""
    listed = sorted(names)
    near = get_close_matches(plain_name(name), listed, n=3, cutoff=0.4)
    hint = f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(listed)}"
    return InputError(Fault(f"unknown {kind}", value=name, remedy=hint + otherwise))


@dataclass(frozen=True, kw_only=True)
class Accelerator:
    """Published figures of one accelerator, in FLOP/s, bytes and bytes/s; absent is None."""

    name: str
    peaks: Mapping[str, float]  # dense FLOP/s by precision
    capacity: float
    memory_rate: float
    cores: int
    node: int  # accelerators that share the fast link
    inner_rate: float  # of the fast link, one direction
    outer_rate: float  # of its network port
    ceiling: float | None  # share of peak the best matrix product was measured to reach
    watts: float | None
    host: float  # launch cost of its usual host and recipes, relative to an x86 server without graphs
    date: str
    source: str

    def __hash__(self) -> int:
        return hash((self.name, self.capacity))

    @property
    def peak(self) -> float:
        """FLOP/s of the 16-bit matrix units: bf16, or fp16 where there is no bf16."""
        return self.peaks.get("bf16") or self.peaks["fp16"]

    @property
    def fp8_peak(self) -> float | None:
        return self.peaks.get("fp8")

    def ceilings(self, precision: str) -> Ceilings:
        """The roofline: peak FLOP/s at this precision, and bytes/s of memory and network."""
        from scalecurve.laws.roofline import Ceilings

        if precision not in self.peaks:
            hint = f"one of {', '.join(self.peaks)}"
            raise InputError(Fault(f"{self.name} has no peak for it", value=precision, remedy=hint))
        rates = {"memory": self.memory_rate, "network": self.outer_rate}
        return Ceilings(peak=self.peaks[precision], bandwidths=rates)


@cache
def accelerators() -> Mapping[str, Accelerator]:
    """Every accelerator under its name and its aliases."""
    catalogue: dict[str, Accelerator] = {}
    for row in csv.DictReader(hardware_table("accelerators.csv").splitlines()):
        chip = Accelerator(
            name=row["name"],
            peaks={name: float(row[f"{name}_tflops"]) * 1e12 for name in PRECISIONS if row[f"{name}_tflops"]},
            capacity=float(row["memory_gb"]) * GIB,
            memory_rate=float(row["memory_tb_s"]) * 1e12,
            cores=int(row["cores"]),
            node=int(row["node"]),
            inner_rate=float(row["inner_gb_s"]) * 1e9,
            outer_rate=float(row["outer_gb_s"]) * 1e9,
            ceiling=float(row["ceiling"]) if row["ceiling"] else None,
            watts=float(row["watts"]) if row["watts"] else None,
            host=float(row["host"]),
            date=row["date"],
            source=row["source"],
        )
        catalogue |= dict.fromkeys([chip.name, *row["aliases"].split()], chip)
    return catalogue


def accelerator(name: str, *, otherwise: str = "") -> Accelerator:
    """The accelerator of this name or alias; `otherwise` is added to the error for an unknown one."""
    chip = accelerators().get(plain_name(name).removeprefix("nvidia-").removeprefix("amd-"))
    if chip is None:
        raise unknown_name("accelerator", name, accelerators(), otherwise=otherwise)
    return chip
