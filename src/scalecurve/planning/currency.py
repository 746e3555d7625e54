"""Amounts of money as people write them; a currency is kept as written and never converted."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

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
        raise InputError(Fault("not a finite amount of money", value=text))
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
