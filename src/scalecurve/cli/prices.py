"""How every command takes a price: `--price 2.50`, `--price-of h100@lambda`, and the conditions that come with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any, TypeVar

import click

from scalecurve.cli.inputs import NUMBER, SECONDS, Parsed
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding
from scalecurve.hardware.prices import find_offer, offer_findings
from scalecurve.planning.tariff import Energy, Money, Reserved, Spot, Tariff, parse_money, same_currency

Function = TypeVar("Function", bound=Callable[..., Any])

MONEY = Parsed("money", parse_money)


class PriceOption(click.Option):
    section = "Price"


price_option = partial(click.option, cls=PriceOption)
_OPTIONS = (
    price_option("--price", type=MONEY, help="Price of a worker-hour, such as 2.50 or 2.50EUR."),
    price_option("--price-of", metavar="NAME@PROVIDER", help="Price from the dated catalog, such as h100@lambda."),
    price_option("--per-node", is_flag=True, help="Prices are per node-hour; needs --node-size."),
    price_option("--currency", help="ISO 4217 code where amounts do not carry one; never converted."),
    price_option("--minimum-billing", type=SECONDS, help="Shortest time billed, such as 1h."),
    price_option("--billing-step", type=SECONDS, help="Time is billed in whole steps of this length."),
    price_option("--setup", type=SECONDS, help="Set-up time, billed with every rental."),
    price_option("--spot-price", type=MONEY, help="Price of capacity that may be taken back."),
    price_option("--interruptions", type=NUMBER, help="Interruptions per worker (or node) and hour, such as 0.05."),
    price_option("--checkpoint-every", type=SECONDS, help="Time between checkpoints (default: none)."),
    price_option("--checkpoint-time", type=SECONDS, help="Time to write one; alone, it sets the best interval."),
    price_option("--restart", type=SECONDS, help="Time to restart after a loss (default: the set-up time)."),
    price_option("--reserved", type=int, help="Workers (or nodes) that are reserved and paid for anyway."),
    price_option("--reserved-price", type=MONEY, help="Price of a reserved worker (or node) and hour."),
    price_option("--watts", type=NUMBER, help="Power of one worker in watts."),
    price_option("--kwh-price", type=MONEY, help="Price of a kWh, added to the cost."),
    price_option("--co2", type=NUMBER, help="Grams of CO2 per kWh."),
    price_option("--pue", type=NUMBER, default="1", show_default=True, help="Building power over worker power."),
)  # fmt: skip


PARTNERS = (  # an option, the one it needs, and what to do where that is missing
    ("spot_price", "interruptions", "give both or neither"),
    ("interruptions", "spot_price", "give both or neither"),
    ("reserved", "reserved_price", "give both or neither"),
    ("reserved_price", "reserved", "give both or neither"),
    ("per_node", "node_size", "say how many workers a node has"),
    ("kwh_price", "watts", "give the power of one worker"),
    ("co2", "watts", "give the power of one worker"),
)


def price_options(function: Function) -> Function:
    """Add the options of a price; the command receives them as one `price`, which `make_price` takes."""
    wrapped: Any = function
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    names = [parameter.name for parameter in wrapped.__click_params__ if isinstance(parameter, PriceOption)]

    @wraps(wrapped)
    def gathered(**options: Any) -> Any:
        price = {name: options.pop(name) for name in names}
        return function(price=price, **options)

    return gathered  # type: ignore[return-value]


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
        Fault(f"{_option(name)} needs {_option(partner)}", remedy=remedy)
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


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
