"""Dated prices of accelerators, each row with its source: facts of a day, not constants.

`prices.csv` is made by tools/price_catalog.py, whose header states the rules by which auction floors and placeholders
are left out.  Prices are dollars per accelerator (TPU: per chip) and hour, on demand.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from statistics import median

from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, info, warning
from scalecurve.planning.currency import format_money

FAR_BELOW = 1 / 3
HOW = "write accelerator@provider, such as h100@lambda"


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
    """Every row of the catalog."""
    text = files(__name__).joinpath("prices.csv").read_text(encoding="utf-8")
    return tuple(_offer(row) for row in csv.DictReader(text.splitlines()))


def _offer(row: dict[str, str]) -> Offer:
    return Offer(
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


def find_offer(name: str) -> Offer:
    """The offer of `accelerator@provider`; capitals do not matter, but a provider must be named."""
    accelerator, at, provider = name.strip().lower().partition("@")
    same = [offer for offer in offers() if offer.accelerator.lower() == accelerator]
    if not same:
        raise InputError(_unknown_accelerator(name, accelerator))
    for offer in same:
        if offer.provider == provider:
            return offer
    listed = ", ".join(f"{offer.provider} {offer.median:g}" for offer in sorted(same, key=lambda offer: offer.median))
    what = "no price of this provider" if at else "name a provider: prices differ too much to choose one silently"
    raise InputError(
        Fault(what, where="price of", seen=name, remedy=f"{HOW}; known: {listed} {same[0].currency} an hour")
    )


def _unknown_accelerator(name: str, accelerator: str) -> Fault:
    known = sorted({offer.accelerator.lower() for offer in offers()})
    near = get_close_matches(accelerator, known, n=4, cutoff=0.5) or [
        word for word in known if accelerator[:1] == word[:1]
    ]
    return Fault(
        "not in the price catalog", where="price of", seen=name, remedy=f"{HOW}; near: {', '.join(near or known)}"
    )


def offer_findings(offer: Offer) -> tuple[Finding, ...]:
    """That the price is of a day, and whether it is far below what others ask."""
    high = f" to {offer.high:g}" if offer.high is not None else ""
    words = f"the price is {offer.origin}; its offers range from {offer.low:g}{high} {offer.currency} an hour"
    dated = info(
        "price-of-a-day", words, remedy="ask for a quote before you sign", date=offer.date, source=offer.source
    )
    usual = median(other.median for other in offers() if other.accelerator == offer.accelerator)
    if offer.median >= FAR_BELOW * usual:
        return (dated,)
    asked, common = format_money(offer.median, offer.currency), format_money(usual, offer.currency)
    low = f"{offer.name} asks {asked} an hour where the median provider asks {common}: marketplace prices may not last"
    return (dated, warning("price-far-below", low, price=offer.median, usual=usual))
