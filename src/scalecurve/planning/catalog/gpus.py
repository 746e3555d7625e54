"""What an accelerator-hour usually costs on demand: the middle of the dated catalog's providers.

The catalog names accelerators as providers do; here they have the names of the training presets.  A provider outside
a third to three times the median over providers does not count: marketplaces and list prices nobody pays.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from statistics import median

from scalecurve.planning.catalog import Offer, offers

NAMES = {
    "A100": "a100-40gb", "A100-80GB": "a100-80gb", "A100-80GB-SXM": "a100-80gb", "B200": "b200", "B300": "b300",
    "H100": "h100", "H100-SXM": "h100", "H100-80G-SXM5": "h100", "H100-MEGA": "h100", "H200": "h200",
    "H200-SXM": "h200", "MI300X": "mi300x", "V100": "v100", "V100-32GB": "v100", "H100-80G-PCIe": "h100-pcie",
    "TPU-v4": "tpu-v4", "TPU-v5p": "tpu-v5p", "TPU-v5e": "tpu-v5e", "TPU-v6e": "tpu-v6e",
}  # fmt: skip
LIMIT = 3.0
_SAME = {"h100-96gb": "h100", "h800": "h100", "gb200": "b200"}


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
    """One price per accelerator and provider, far-off ones left out."""
    by_name: dict[str, dict[str, list[Offer]]] = {}
    for offer in offers():
        if offer.accelerator in NAMES:
            by_name.setdefault(NAMES[offer.accelerator], {}).setdefault(offer.provider, []).append(offer)
    return tuple(price for name, providers in sorted(by_name.items()) for price in _usual(name, providers))


def _usual(name: str, providers: dict[str, list[Offer]]) -> list[GpuPrice]:
    prices = {provider: median(offer.median for offer in listed) for provider, listed in sorted(providers.items())}
    middle = median(prices.values())
    return [
        GpuPrice(name, provider, price, providers[provider][0].date, providers[provider][0].source)
        for provider, price in prices.items()
        if middle / LIMIT <= price <= middle * LIMIT
    ]


def gpu_price(accelerator: str) -> GpuPrice | None:
    """The median over providers; None where no list has this accelerator."""
    name = _SAME.get(accelerator, accelerator)
    listed = [price for price in gpu_prices() if price.accelerator == name]
    if not listed:
        return None
    middle = median(price.usd_per_hour for price in listed)
    source = f"median of {len(listed)} providers, SkyPilot catalog of {listed[0].date}"
    return GpuPrice(name, "median", middle, listed[0].date, source)
