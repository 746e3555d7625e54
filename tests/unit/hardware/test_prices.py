"""Dated prices: every row has its source, and what is no price is not in it."""

import re
from statistics import median

import pytest

from scalecurve.errors import InputError
from scalecurve.hardware.prices import find_offer, offer_findings, offers


def test_every_row_has_a_date_and_a_source_and_a_price() -> None:
    assert len(offers()) > 80
    for offer in offers():
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", offer.date)
        assert "@" in offer.source
        assert offer.source.endswith((".csv", "per chip"))
        assert 0 < offer.low <= offer.median
        assert offer.high is None or offer.median <= offer.high
        assert offer.currency == "USD"


def test_bid_floors_and_placeholders_are_gone() -> None:
    """The rules are in tools/price_catalog.py: no auction floors, no price repeated for every slice."""
    assert not [offer for offer in offers() if offer.provider == "mithril"]
    assert max(offer.high or 0 for offer in offers() if offer.accelerator == "TPU-v6e") < 4
    for name in {offer.accelerator for offer in offers()}:
        medians = [offer.median for offer in offers() if offer.accelerator == name]
        assert min(medians) > 0.02 * median(medians)


@pytest.mark.parametrize(
    ("name", "price"),
    [("h100@lambda", 4.09), ("H100@azure", 6.98), ("tpu-v4@gcp", 3.22), ("tpu-v5p@gcp", 4.2525), ("B200@nebius", 7.15)],
)
def test_published_prices(name: str, price: float) -> None:
    """SkyPilot catalog v8 of 2026-08-22; TPU prices per chip (v4-8 at 12.88 is 4 chips at 3.22)."""
    assert find_offer(name).median == pytest.approx(price)


def test_a_provider_must_be_named() -> None:
    with pytest.raises(InputError, match=r"name a provider.*h100@lambda.*lambda 4.09"):
        find_offer("h100")


def test_near_names_are_offered() -> None:
    with pytest.raises(InputError, match=r"not in the price catalog.*h100"):
        find_offer("h10@lambda")
    with pytest.raises(InputError, match=r"no price of this provider.*runpod"):
        find_offer("h100@nobody")


def test_a_price_far_below_the_others_is_pointed_out() -> None:
    codes = [finding.code for finding in offer_findings(find_offer("v100@primeintellect"))]

    assert codes == ["price-of-a-day", "price-far-below"]
    assert [finding.code for finding in offer_findings(find_offer("h100@lambda"))] == ["price-of-a-day"]
