"""Derive the dated price list of accelerators from a table of SkyPilot catalog offers.

    python tools/derive_gpu_prices.py DATA/gpu_prices_skypilot.csv

Rule: a provider's median outside a third to three times the median over providers of that accelerator is a bid floor
or a placeholder and is left out.  TPU rows are priced per slice; v4 and v5p slices are named by cores, two a chip.
"""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path
from statistics import median

TARGET = Path(__file__).resolve().parent.parent / "src/scalecurve/planning/catalog/gpu_prices.csv"
NAMES = {
    "A100": "a100-40gb", "A100-80GB": "a100-80gb", "A100-80GB-SXM": "a100-80gb", "B200": "b200", "B300": "b300",
    "H100": "h100", "H100-SXM": "h100", "H100-80G-SXM5": "h100", "H100-MEGA": "h100", "H200": "h200",
    "H200-SXM": "h200", "MI300X": "mi300x", "V100": "v100", "V100-32GB": "v100", "H100-80G-PCIe": "h100-pcie",
}  # fmt: skip
SLICES = {"v4": ("tpu-v4", 2), "v5p": ("tpu-v5p", 2), "v5litepod": ("tpu-v5e", 1), "v6e": ("tpu-v6e", 1)}
LIMIT = 3.0


def accelerator(name: str) -> tuple[str, int] | None:
    """Our name and the chips a row is priced for."""
    if name in NAMES:
        return NAMES[name], 1
    found = re.fullmatch(r"tpu-(v4|v5p|v5litepod|v6e)-(\d+)", name)
    if found is None:
        return None
    ours, cores = SLICES[found[1]]
    return ours, max(int(found[2]) // cores, 1)


def main(path: Path) -> None:
    offers: dict[tuple[str, str], list[float]] = {}
    sources: dict[str, str] = {}
    for row in csv.DictReader(path.open(encoding="utf-8")):
        known = accelerator(row["accelerator"])
        if known:
            key = (known[0], row["provider"])
            offers.setdefault(key, []).append(float(row["median_usd_per_accel_hour"]) / known[1])
            sources[row["provider"]] = row["source"].removeprefix("seen:")
    with TARGET.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["accelerator", "provider", "usd_per_hour", "date", "source"])
        for name in sorted({chip for chip, _ in offers}):
            mine = {provider: median(prices) for (chip, provider), prices in offers.items() if chip == name}
            middle = median(mine.values())
            for provider, price in sorted(mine.items()):
                if middle / LIMIT <= price <= middle * LIMIT:
                    writer.writerow([name, provider, f"{price:.4g}", "2026-08-22", sources[provider]])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
