"""How every command takes a price: `--price 2.50`, `--price-of h100@lambda`, and the conditions that come with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scalecurve.cli.inputs import NUMBER, SECONDS, Parsed, flag_of, gathered, option
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding
from scalecurve.hardware.prices import find_offer, offer_findings
from scalecurve.planning.tariff import Energy, Money, Reserved, Spot, Tariff, parse_money, same_currency

MONEY = Parsed("money", parse_money)


PRICE: dict[str, tuple[Any, str]] = {
    "price": (MONEY, "Price of a worker-hour, such as 2.50 or 2.50EUR."),
    "price_of": (str, "Price from the dated catalog, such as h100@lambda."),
    "per_node": (bool, "Prices are per node-hour; needs --node-size."),
    "currency": (str, "ISO 4217 code where amounts do not carry one; never converted."),
    "minimum_billing": (SECONDS, "Shortest time billed, such as 1h."),
    "billing_step": (SECONDS, "Time is billed in whole steps of this length."),
    "setup": (SECONDS, "Set-up time, billed with every rental."),
    "spot_price": (MONEY, "Price of capacity that may be taken back."),
    "interruptions": (NUMBER, "Interruptions per worker (or node) and hour, such as 0.05."),
    "checkpoint_every": (SECONDS, "Time between checkpoints (default: none)."),
    "checkpoint_time": (SECONDS, "Time to write one; alone, it sets the best interval."),
    "restart": (SECONDS, "Time to restart after a loss (default: the set-up time)."),
    "reserved": (int, "Workers (or nodes) that are reserved and paid for anyway."),
    "reserved_price": (MONEY, "Price of a reserved worker (or node) and hour."),
    "watts": (NUMBER, "Power of one worker in watts."),
    "kwh_price": (MONEY, "Price of a kWh, added to the cost."),
    "co2": (NUMBER, "Grams of CO2 per kWh."),
    "pue": (NUMBER, "Building power over worker power."),
}
DEFAULTS = {"pue": "1"}
price_options = gathered(
    "price",
    {
        name: option(flag_of(name), kind, about, DEFAULTS.get(name), section="Price")
        for name, (kind, about) in PRICE.items()
    },
)
"""The options of a price; the command receives them as one `price`, which `make_price` takes."""
PARTNERS = (  # an option, the one it needs, and what to do where that is missing
    ("spot_price", "interruptions", "give both or neither"),
    ("interruptions", "spot_price", "give both or neither"),
    ("reserved", "reserved_price", "give both or neither"),
    ("reserved_price", "reserved", "give both or neither"),
    ("per_node", "node_size", "say how many workers a node has"),
    ("kwh_price", "watts", "give the power of one worker"),
    ("co2", "watts", "give the power of one worker"),
)


def make_price(
    given: Mapping[str, Any], *, node_size: int | None = None, others: Mapping[str, Money | None] | None = None
) -> tuple[Tariff, tuple[Finding, ...]]:
    """The tariff of a command line, and what must be known about its source; every fault at once.

    `given` are the options of a price by name; `others` are the other amounts of the command: all must be in one
    currency.
    """
    offer = None if given["price_of"] is None else find_offer(given["price_of"])
    if (given["price"] is None) == (offer is None):
        problem = "a price is missing" if offer is None else "the price is given twice"
        raise InputError(Fault(problem, where="price", remedy="give --price 2.50 or --price-of h100@lambda"))
    hourly = given["price"] if offer is None else Money(offer.median, offer.currency)
    amounts = {name: given[name] for name in ("spot_price", "reserved_price", "kwh_price")}
    unit = same_currency(("price", hourly), *amounts.items(), *(others or {}).items(), currency=given["currency"])
    stated = {**given, "node_size": node_size}
    faults = [
        Fault(f"{flag_of(name)} needs {flag_of(partner)}", remedy=remedy)
        for name, partner, remedy in PARTNERS
        if stated[name] not in (None, False) and stated[partner] is None
    ]
    if given["per_node"] and offer:
        faults.append(Fault("catalog prices are per accelerator", remedy="leave out --per-node"))
    if faults:
        raise InputError(faults, subject="price")
    tariff = Tariff(
        per_hour=hourly.amount,
        currency=unit,
        workers_per_unit=node_size or 1 if given["per_node"] else 1,
        minimum_seconds=given["minimum_billing"],
        step_seconds=given["billing_step"],
        setup_seconds=given["setup"],
        source="stated" if offer is None else offer.origin,
        **_conditions(given, {name: None if amount is None else amount.amount for name, amount in amounts.items()}),
    )
    return tariff, () if offer is None else offer_findings(offer)


def _conditions(given: Mapping[str, Any], money: Mapping[str, Any]) -> dict[str, Any]:
    """What comes with a price: capacity that may be taken back, reserved machines, energy; None where not given."""
    spot = Spot(
        per_hour=money["spot_price"],
        interruptions_per_hour=given["interruptions"],
        checkpoint_every=given["checkpoint_every"],
        checkpoint_seconds=given["checkpoint_time"],
        restart_seconds=given["restart"],
    ) if money["spot_price"] is not None else None  # fmt: skip
    watts, units = given["watts"], given["reserved"]
    return {
        "spot": spot,
        "reserved": None if units is None else Reserved(units=units, per_hour=money["reserved_price"]),
        "energy": None
        if watts is None
        else Energy(watts=watts, per_kwh=money["kwh_price"], grams_co2_per_kwh=given["co2"], pue=given["pue"]),
    }
