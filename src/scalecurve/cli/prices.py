"""How every command takes a price: `--price 2.50`, `--price-of h100@lambda`, and the conditions that come with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, TypeVar

import click

from scalecurve.cli.inputs import Parsed
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding
from scalecurve.hardware.prices import Offer, find_offer, offer_findings
from scalecurve.planning.currency import Money, parse_money, same_currency
from scalecurve.planning.tariff import Energy, Reserved, Spot, Tariff
from scalecurve.units import parse_number, parse_seconds

Function = TypeVar("Function", bound=Callable[..., Any])

MONEY = Parsed("money", parse_money)
DURATION = Parsed("duration", parse_seconds)
NUMBER = Parsed("number", parse_number)


@dataclass(frozen=True)
class Priced:
    """A tariff, and what must be known about where it comes from."""

    tariff: Tariff
    findings: tuple[Finding, ...] = ()


_OPTIONS = (
    click.option("--price", type=MONEY, help="Price of a worker-hour, such as 2.50 or 2.50EUR."),
    click.option("--price-of", metavar="NAME@PROVIDER", help="Price from the dated catalog, such as h100@lambda."),
    click.option("--per-node", is_flag=True, help="Prices are per node-hour; needs --node-size."),
    click.option("--currency", help="ISO 4217 code where amounts do not carry one; never converted."),
    click.option("--minimum-billing", type=DURATION, help="Shortest time billed, such as 1h."),
    click.option("--billing-step", type=DURATION, help="Time is billed in whole steps of this."),
    click.option("--setup", type=DURATION, help="Set-up time, billed with every rental."),
    click.option("--spot-price", type=MONEY, help="Price of capacity that may be taken back."),
    click.option("--interruptions", type=NUMBER, help="Losses per worker (node) and hour, such as 0.05."),
    click.option("--checkpoint-every", type=DURATION, help="Time between checkpoints (without: all work is lost)."),
    click.option("--checkpoint-time", type=DURATION, help="Time to write one; alone it chooses the interval."),
    click.option("--restart", type=DURATION, help="Time to restart after a loss (default: the set-up time)."),
    click.option("--reserved", type=int, help="Workers (nodes) that are reserved and paid for anyway."),
    click.option("--reserved-price", type=MONEY, help="Price of a reserved worker (node) and hour."),
    click.option("--watts", type=NUMBER, help="Power of one worker at the plug."),
    click.option("--kwh-price", type=MONEY, help="Price of a kWh, added to the cost."),
    click.option("--co2", type=NUMBER, help="Grams of CO2 per kWh."),
    click.option("--pue", type=NUMBER, default="1", show_default=True, help="Building's power over the workers'."),
)  # fmt: skip
PRICE_NAMES = (
    *("price", "price_of", "per_node", "currency", "minimum_billing", "billing_step", "setup"),
    *("spot_price", "interruptions", "checkpoint_every", "checkpoint_time", "restart"),
    *("reserved", "reserved_price", "watts", "kwh_price", "co2", "pue"),
)


def price_options(function: Function) -> Function:
    """Add the options of a price; the command receives `given_price`, a function of the node size that makes it.

    The currency is settled together with the other amounts of the command, which it passes as `others`.
    """

    @wraps(function)
    def wrapped(**given: Any) -> Any:
        chosen = {name: given.pop(name) for name in PRICE_NAMES}
        return function(given_price=lambda **more: make_price(**chosen, **more), **given)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[return-value]


def make_price(*, node_size: int | None = None, others: dict[str, Money | None] | None = None, **given: Any) -> Priced:
    """The tariff of a command line, every fault at once."""
    offer = None if given["price_of"] is None else find_offer(given["price_of"])
    price = _price(given, offer)
    amounts = {"price": price, **{name: given[name] for name in ("spot_price", "reserved_price", "kwh_price")}}
    currency = same_currency(*amounts.items(), *(others or {}).items(), currency=given["currency"])
    faults = list(_missing(given, node_size))
    if faults:
        raise InputError(faults, subject="price")
    tariff = Tariff(
        per_hour=price.amount,
        currency=currency,
        workers_per_unit=node_size or 1 if given["per_node"] else 1,
        minimum_seconds=given["minimum_billing"],
        step_seconds=given["billing_step"],
        setup_seconds=given["setup"],
        spot=_spot(given),
        reserved=_reserved(given),
        energy=_energy(given),
    )
    if offer is None:
        return Priced(tariff)
    return Priced(replace(tariff, source=offer.origin), offer_findings(offer))


def _price(given: dict[str, Any], offer: Offer | None) -> Money:
    price: Money | None = given["price"]
    if (price is None) == (offer is None):
        hint = "give --price 2.50 or --price-of h100@lambda"
        what = "a price is missing" if price is None else "the price is given twice"
        raise InputError(Fault(what, where="price", remedy=hint))
    return Money(offer.median, offer.currency) if offer is not None else price or Money(0.0)


def _missing(given: dict[str, Any], node_size: int | None) -> list[Fault]:
    pairs = (("spot_price", "interruptions"), ("reserved", "reserved_price"))
    faults = [
        Fault(f"--{_flag(one)} needs --{_flag(other)}", remedy="give both or neither")
        for first, second in pairs
        for one, other in ((first, second), (second, first))
        if given[one] is not None and given[other] is None
    ]
    if given["per_node"] and node_size is None:
        faults.append(Fault("--per-node needs --node-size", remedy="how many workers is a node?"))
    if given["per_node"] and given["price_of"] is not None:
        faults.append(Fault("catalog prices are per accelerator", remedy="leave out --per-node"))
    orphans = [name for name in ("kwh_price", "co2") if given[name] is not None and given["watts"] is None]
    faults += [Fault(f"--{_flag(name)} needs --watts", remedy="the power of one worker") for name in orphans]
    return faults


def _flag(name: str) -> str:
    return name.replace("_", "-")


def _spot(given: dict[str, Any]) -> Spot | None:
    if given["spot_price"] is None:
        return None
    return Spot(
        per_hour=given["spot_price"].amount,
        interruptions_per_hour=given["interruptions"],
        checkpoint_every=given["checkpoint_every"],
        checkpoint_seconds=given["checkpoint_time"],
        restart_seconds=given["restart"],
    )


def _reserved(given: dict[str, Any]) -> Reserved | None:
    if given["reserved"] is None:
        return None
    return Reserved(units=given["reserved"], per_hour=given["reserved_price"].amount)


def _energy(given: dict[str, Any]) -> Energy | None:
    if given["watts"] is None:
        return None
    kwh = None if given["kwh_price"] is None else given["kwh_price"].amount
    return Energy(watts=given["watts"], per_kwh=kwh, grams_co2_per_kwh=given["co2"], pue=given["pue"])
