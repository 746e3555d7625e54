"""Dated prices of accelerators, each with provider, date and source: facts of a day, not constants.

`data/prices.csv` is written by tools/price_catalog.py, whose header states the rules by which auction floors and
placeholders are left out.  Prices are dollars per accelerator (TPU: per chip) and hour, on demand.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from statistics import median

from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, info, warning
from scalecurve.hardware.accelerators import hardware_table

FAR_BELOW = 1 / 3  # of the median provider: such a price is pointed out
FAR_OFF = 3.0  # a provider this many times above or below the median does not count as usual
HOW = "write accelerator@provider, such as h100@lambda"
ACCELERATOR_NAMES = {  # as providers write it: as accelerators.csv does
    "A100": "a100-40gb", "A100-80GB": "a100-80gb", "A100-80GB-SXM": "a100-80gb", "B200": "b200", "B300": "b300",
    "H100": "h100", "H100-SXM": "h100", "H100-80G-SXM5": "h100", "H100-MEGA": "h100", "H200": "h200",
    "H200-SXM": "h200", "MI300X": "mi300x", "V100": "v100", "V100-32GB": "v100", "H100-80G-PCIe": "h100-pcie",
    "TPU-v4": "tpu-v4", "TPU-v5p": "tpu-v5p", "TPU-v5e": "tpu-v5e", "TPU-v6e": "tpu-v6e",
}  # fmt: skip
PRICED_AS = {
    "h100-96gb": "h100",
    "h800": "h100",
    "gb200": "b200",
    "gb300": "b300",
    "v100-16gb": "v100",
}  # no list has them: the nearest that is listed


@dataclass(frozen=True, kw_only=True)
class Offer:
    """What one provider asked for one accelerator-hour on `date`: the median of its offers, and their range."""

    accelerator: str
    provider: str
    offers: int
    low: float
    median: float
    high: float | None
    currency: str
    date: str
    source: str

    @property
    def name(self) -> str:
        return f"{self.accelerator}@{self.provider}"

    @property
    def origin(self) -> str:
        """Where the price comes from, in one line."""
        return f"{self.name}, median of {self.offers} offers on {self.date} ({self.source})"


@cache
def offers() -> tuple[Offer, ...]:
    """Every row of the catalogue."""
    return tuple(
        Offer(
            accelerator=row["accelerator"],
            provider=row["provider"],
            offers=int(row["offers"]),
            low=float(row["low"]),
            median=float(row["median"]),
            high=float(row["high"]) if row["high"] else None,
            currency=row["currency"],
            date=row["date"],
            source=row["source"],
        )
        for row in csv.DictReader(hardware_table("prices.csv").splitlines())
    )


def find_offer(name: str) -> Offer:
    """The offer of `accelerator@provider`; capitals do not matter, but a provider must be named."""
    accelerator, at, provider = name.strip().lower().partition("@")
    same = [offer for offer in offers() if offer.accelerator.lower() == accelerator]
    if not same:
        listed = sorted({offer.accelerator.lower() for offer in offers()})
        near = get_close_matches(accelerator, listed, n=4, cutoff=0.5)
        near = near or [word for word in listed if accelerator[:1] == word[:1]] or listed
        raise InputError(Fault("not in the price catalog", "price of", name, f"{HOW}; near: {', '.join(near)}"))
    for offer in same:
        if offer.provider == provider:
            return offer
    prices = ", ".join(f"{offer.provider} {offer.median:g}" for offer in sorted(same, key=lambda offer: offer.median))
    problem = "no price of this provider" if at else "name a provider: prices differ too much to choose one silently"
    raise InputError(Fault(problem, "price of", name, f"{HOW}; known: {prices} {same[0].currency} an hour"))


def offer_findings(offer: Offer) -> tuple[Finding, ...]:
    """The date and range of a price, and a warning where it is far below what other providers ask."""
    high = f" to {offer.high:g}" if offer.high is not None else ""
    words = f"the price is {offer.origin}; its offers range from {offer.low:g}{high} {offer.currency} an hour"
    dated = info(
        "price-of-a-day", words, remedy="ask for a quote before you sign", date=offer.date, source=offer.source
    )
    usual = median(other.median for other in offers() if other.accelerator == offer.accelerator)
    if offer.median >= FAR_BELOW * usual:
        return (dated,)
    low = (
        f"{offer.name} asks {offer.median:.3g} {offer.currency} an hour, the median provider {usual:.3g}: "
        "marketplace prices may not last"
    )
    return (dated, warning("price-far-below", low, price=offer.median, usual=usual))


@cache
def provider_prices(accelerator: str) -> dict[str, float]:
    """Dollars per hour by provider; far-off ones (marketplaces, list prices nobody pays) are left out."""
    written = {name for name, ours in ACCELERATOR_NAMES.items() if ours == accelerator}
    asked: dict[str, list[float]] = {}
    for offer in offers():
        if offer.accelerator in written:
            asked.setdefault(offer.provider, []).append(offer.median)
    prices = {provider: median(listed) for provider, listed in sorted(asked.items())}
    middle = median(prices.values()) if prices else 0.0
    return {name: price for name, price in prices.items() if middle / FAR_OFF <= price <= middle * FAR_OFF}


def gpu_price(accelerator: str) -> tuple[float, str] | None:
    """Dollars for an accelerator-hour, the median over providers, and their source; None where no list has it."""
    name = PRICED_AS.get(accelerator, accelerator)
    prices = provider_prices(name)
    if not prices:
        return None
    basis = f"median of {len(prices)} providers" if len(prices) > 1 else "one provider"
    source = f"{basis}, SkyPilot catalog of {offers()[0].date}"
    if name != accelerator:
        source += f"; priced as {name}, since no list has {accelerator}"
    return median(prices.values()), source
