"""What an accelerator-hour costs on demand, by a dated list (made by tools/derive_gpu_prices.py)."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from statistics import median


@dataclass(frozen=True)
class GpuPrice:
    """On-demand price of one accelerator for one hour, in US dollars."""

    accelerator: str
    provider: str
    usd_per_hour: float
    date: str
    source: str


@cache
def gpu_prices() -> tuple[GpuPrice, ...]:
    text = files("scalecurve.planning.catalog").joinpath("gpu_prices.csv").read_text(encoding="utf-8")
    return tuple(
        GpuPrice(row["accelerator"], row["provider"], float(row["usd_per_hour"]), row["date"], row["source"])
        for row in csv.DictReader(text.splitlines())
    )


_SAME = {"h100-96gb": "h100", "h800": "h100", "gb200": "b200"}


def gpu_price(accelerator: str) -> GpuPrice | None:
    """The median over providers; None where no list has this accelerator."""
    name = _SAME.get(accelerator, accelerator)
    listed = [price for price in gpu_prices() if price.accelerator == name]
    if not listed:
        return None
    middle = median(price.usd_per_hour for price in listed)
    source = f"median of {len(listed)} providers, SkyPilot catalog of {listed[0].date}"
    return GpuPrice(name, "median", middle, listed[0].date, source)
