"""How every command takes a price: `--price 2.50`, `--price-of h100@lambda`, and the conditions that come with it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
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


def price_options(function: Function) -> Function:
    """Add the options of a price; the command receives them as `price`, the keywords of `make_price`."""
    names = inspect.signature(make_price).parameters.keys() - {"node_size", "others"}

    @wraps(function)
    def wrapped(**options: Any) -> Any:
        price = {name: options.pop(name) for name in names}
        return function(price=price, **options)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[return-value]


def make_price(
    *,
    price: Money | None,
    price_of: str | None,
    per_node: bool,
    currency: str | None,
    minimum_billing: float | None,
    billing_step: float | None,
    setup: float | None,
    spot_price: Money | None,
    interruptions: float | None,
    checkpoint_every: float | None,
    checkpoint_time: float | None,
    restart: float | None,
    reserved: int | None,
    reserved_price: Money | None,
    watts: float | None,
    kwh_price: Money | None,
    co2: float | None,
    pue: float,
    node_size: int | None = None,
    others: dict[str, Money | None] | None = None,
) -> tuple[Tariff, tuple[Finding, ...]]:
    """The tariff of a command line, and what must be known about its source; every fault at once.

    `others` are the other amounts of the command: all must be in one currency.
    """
    offer = None if price_of is None else find_offer(price_of)
    if (price is None) == (offer is None):
        problem = "a price is missing" if price is None else "the price is given twice"
        raise InputError(Fault(problem, where="price", remedy="give --price 2.50 or --price-of h100@lambda"))
    hourly = Money(offer.median, offer.currency) if offer is not None else price or Money(0.0)
    amounts = {"price": hourly, "spot_price": spot_price, "reserved_price": reserved_price, "kwh_price": kwh_price}
    unit = same_currency(*amounts.items(), *(others or {}).items(), currency=currency)
    both, power, size = "give both or neither", "give the power of one worker", "say how many workers a node has"
    faults = [
        *needs_other("--spot-price", spot_price, "--interruptions", interruptions, both),
        *needs_other("--interruptions", interruptions, "--spot-price", spot_price, both),
        *needs_other("--reserved", reserved, "--reserved-price", reserved_price, both),
        *needs_other("--reserved-price", reserved_price, "--reserved", reserved, both),
        *needs_other("--per-node", per_node or None, "--node-size", node_size, size),
        *([Fault("catalog prices are per accelerator", remedy="leave out --per-node")] if per_node and offer else []),
        *needs_other("--kwh-price", kwh_price, "--watts", watts, power),
        *needs_other("--co2", co2, "--watts", watts, power),
    ]
    if faults:
        raise InputError(faults, subject="price")
    spot = None
    if spot_price is not None and interruptions is not None:
        spot = Spot(
            per_hour=spot_price.amount,
            interruptions_per_hour=interruptions,
            checkpoint_every=checkpoint_every,
            checkpoint_seconds=checkpoint_time,
            restart_seconds=restart,
        )
    kept = None
    if reserved is not None and reserved_price is not None:
        kept = Reserved(units=reserved, per_hour=reserved_price.amount)
    kwh = None if kwh_price is None else kwh_price.amount
    tariff = Tariff(
        per_hour=hourly.amount,
        currency=unit,
        workers_per_unit=node_size or 1 if per_node else 1,
        minimum_seconds=minimum_billing,
        step_seconds=billing_step,
        setup_seconds=setup,
        spot=spot,
        reserved=kept,
        energy=None if watts is None else Energy(watts=watts, per_kwh=kwh, grams_co2_per_kwh=co2, pue=pue),
        source="stated" if offer is None else offer.origin,
    )
    return tariff, () if offer is None else offer_findings(offer)


def needs_other(name: str, value: object, other: str, partner: object, remedy: str) -> list[Fault]:
    """The fault of an option that is given without the one it needs; none where both or neither are given."""
    return [Fault(f"{name} needs {other}", remedy=remedy)] if value is not None and partner is None else []
