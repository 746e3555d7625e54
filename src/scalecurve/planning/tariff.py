"""What machines cost: the price of an hour and the conditions that come with it.

Amounts of money as people write them; a currency is kept as written and never converted."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

from scalecurve.document import JsonRecord
from scalecurve.errors import Fault, InputError

DEFAULT = "USD"
SYMBOLS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₩": "KRW"}

# The codes of circulating currencies.
_ISO_4217 = """
    AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF
    CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF
    IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK
    MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR
    SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED
    VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG"""
CODES = frozenset(_ISO_4217.split())

_SYMBOL = r"[$€£¥₹₩]"
_FACTOR = rf"[kMB](?=\s|$|{_SYMBOL}|[A-Za-z]{{3}}\s*$)"  # 5M, 5MEUR and 5MMYR, but not the M of 5MYR
_FORM = re.compile(
    rf"\s*({_SYMBOL}|[A-Za-z]{{3}}(?=[\s\d.+-]))?\s*([-+]?[\d_,.]+(?:[eE][-+]?\d+)?)\s*({_FACTOR}|)\s*(\S*)\s*$"
)
_FACTORS = {"": 1.0, "k": 1e3, "M": 1e6, "B": 1e9}
MOST_INTERRUPTIONS = 60.0  # per unit and hour: a machine lost every minute


@dataclass(frozen=True)
class Money:
    """An amount; `currency` is None where it was not written, and then taken from its surroundings."""

    amount: float
    currency: str | None = None


def parse_money(text: str) -> Money:
    """`2.50`, `2.50 EUR`, `EUR 2.50`, `$600`, `5M`, `1.2kEUR`."""
    match = _FORM.match(text)
    if match is None:
        raise InputError(Fault("not an amount of money", value=text, remedy="write it like 2.50, 2.50EUR or $600"))
    before, digits, factor, after = match.groups()
    if before and after:
        raise InputError(Fault("the currency is named twice", value=text, remedy="write it like 2.50EUR"))
    named = before or after
    try:
        value = float(digits.replace(",", "").replace("_", "")) * _FACTORS[factor]
    except ValueError:
        raise InputError(Fault("not an amount of money", value=text, remedy="write it like 2.50 or 1,200.50")) from None
    if not math.isfinite(value):
        raise InputError(Fault("not a finite amount of money", value=text, remedy="write it like 2.50"))
    return Money(value, known_currency(named) if named else None)


def known_currency(name: str) -> str:
    """The ISO 4217 code of a name or symbol, or a refusal."""
    code = SYMBOLS.get(name, name.upper())
    if code not in CODES:
        hint = "use an ISO 4217 code such as USD, EUR, GBP or JPY"
        raise InputError(Fault("unknown currency", where="currency", value=name, remedy=hint))
    return code


def same_currency(*amounts: tuple[str, Money | None], currency: str | None = None) -> str:
    """The one currency of all amounts; two different ones are refused, because nothing is converted here."""
    named = {} if currency is None else {"currency": known_currency(currency)}
    named |= {where: money.currency for where, money in amounts if money is not None and money.currency is not None}
    if len(set(named.values())) > 1:
        listed = ", ".join(f"{where} in {code}" for where, code in named.items())
        hint = "give all amounts in one currency; exchange rates move, so nothing is converted"
        raise InputError(Fault("amounts in different currencies", value=listed, remedy=hint))
    return next(iter(named.values()), DEFAULT)


def format_money(amount: float, currency: str) -> str:
    """An amount for people: cents where they matter."""
    return f"{format_amount(amount)} {currency}"


def format_amount(amount: float) -> str:
    size = abs(amount)
    if size >= 1000:
        return f"{amount:,.0f}"
    return f"{amount:.2f}" if size >= 1 or size == 0 else f"{amount:.3g}"


@dataclass(frozen=True, kw_only=True)
class Spot:
    """Capacity that may be taken back.

    `interruptions_per_hour` is the rate at which one billed unit is lost; losing one stops the whole job, which goes
    on from its last checkpoint, or from its start where `checkpoint_every` is None.  Times are seconds.
    """

    per_hour: float
    interruptions_per_hour: float
    checkpoint_every: float | None = None
    checkpoint_seconds: float | None = None
    restart_seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class Reserved:
    """Units paid for at their own price for as long as the job lasts, whether it uses them or not."""

    units: int
    per_hour: float


@dataclass(frozen=True, kw_only=True)
class Energy:
    """Electricity, where it is paid or counted apart: watts of one worker at the plug times `pue`."""

    watts: float
    per_kwh: float | None = None
    grams_co2_per_kwh: float | None = None
    pue: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Tariff(JsonRecord):
    """The price of one billed unit (a worker, or a node of `workers_per_unit`) per hour, and its conditions.

    Durations are seconds and None where there is no such condition.  `source` says where the price comes from.
    """

    per_hour: float
    currency: str = DEFAULT
    workers_per_unit: int = 1
    minimum_seconds: float | None = None
    step_seconds: float | None = None
    setup_seconds: float | None = None
    spot: Spot | None = None
    reserved: Reserved | None = None
    energy: Energy | None = None
    source: str = "stated"

    def __post_init__(self) -> None:
        object.__setattr__(self, "currency", known_currency(self.currency))
        spot, reserved, energy = self.spot, self.reserved, self.energy
        price, duration = "a price per hour from 0 up", "a duration"
        amounts: list[tuple[str, float | None, str]] = [
            ("price", self.per_hour, price),
            ("minimum billing", self.minimum_seconds, duration),
            ("billing step", self.step_seconds, duration),
            ("set-up", self.setup_seconds, duration),
        ]
        limits = [
            ("node size", self.workers_per_unit >= 1, f"{self.workers_per_unit}", "a unit holds at least one worker")
        ]
        if spot is not None:
            rate, every = spot.interruptions_per_hour, spot.checkpoint_every
            amounts += [("spot price", spot.per_hour, price), ("interruptions", rate, "lost units per unit and hour")]
            amounts += [
                ("checkpoint time", spot.checkpoint_seconds, duration),
                ("restart", spot.restart_seconds, duration),
            ]
            limits += [
                ("interruptions", rate <= MOST_INTERRUPTIONS, f"{rate:g}", "the rate is per unit and hour, like 0.05")
            ]
            limits += [
                ("checkpoint every", every is None or every > 0, f"{every}", "checkpoints need an interval above 0")
            ]
        if reserved is not None:
            amounts.append(("reserved price", reserved.per_hour, price))
            limits.append(("reserved", reserved.units >= 1, f"{reserved.units}", "reserve at least one unit"))
        if energy is not None:
            amounts += [("watts", energy.watts, "watts of one worker"), ("price per kWh", energy.per_kwh, price)]
            amounts.append(("gCO2 per kWh", energy.grams_co2_per_kwh, "grams from 0 up"))
            limits.append(("pue", energy.pue >= 1, f"{energy.pue:g}", "a PUE is total power over IT power, at least 1"))
        faults = [
            Fault("must be a number from 0 up", where=where, value=f"{value:g}", remedy=remedy)
            for where, value, remedy in amounts
            if value is not None and not (math.isfinite(value) and value >= 0)
        ]
        faults += [Fault(rule, where=where, value=value) for where, holds, value, rule in limits if not holds]
        if faults:
            raise InputError(faults, subject="price")

    def units(self, workers: int) -> int:
        """How many units must be rented to have that many workers."""
        return -(-workers // self.workers_per_unit)

    def reserved_units(self, units: int) -> int:
        """How many of the rented units are reserved ones."""
        return 0 if self.reserved is None else min(units, self.reserved.units)

    def scaled(self, factor: float) -> Tariff:
        """Every price of the tariff times a factor."""
        spot = None if self.spot is None else replace(self.spot, per_hour=self.spot.per_hour * factor)
        reserved = None if self.reserved is None else replace(self.reserved, per_hour=self.reserved.per_hour * factor)
        energy = self.energy
        if energy is not None and energy.per_kwh is not None:
            energy = replace(energy, per_kwh=energy.per_kwh * factor)
        return replace(self, per_hour=self.per_hour * factor, spot=spot, reserved=reserved, energy=energy)
