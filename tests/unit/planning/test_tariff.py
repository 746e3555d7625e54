"""Amounts of money: read as written, kept in their currency, never converted."""

import pytest

from scalecurve.errors import InputError
from scalecurve.planning.tariff import Money, format_money, parse_money, same_currency


@pytest.mark.parametrize(
    ("text", "amount", "currency"),
    [
        ("2.50", 2.5, None),
        ("2.50EUR", 2.5, "EUR"),
        ("2.50 eur", 2.5, "EUR"),
        ("EUR 2.50", 2.5, "EUR"),
        ("$600", 600, "USD"),
        ("€1,200.50", 1200.5, "EUR"),
        ("5M", 5e6, None),
        ("1.2kEUR", 1200, "EUR"),
        ("5MYR", 5, "MYR"),
        ("5MMYR", 5e6, "MYR"),
        ("-3", -3, None),
        ("1e3", 1000, None),
    ],
)
def test_reading(text: str, amount: float, currency: str | None) -> None:
    assert parse_money(text) == Money(amount, currency)


@pytest.mark.parametrize("text", ["", "abc", "1.2.3", "USD 5 EUR", "5 doge", "XYZ 5"])
def test_what_is_not_money(text: str) -> None:
    with pytest.raises(InputError):
        parse_money(text)


def test_an_unknown_currency_is_named() -> None:
    with pytest.raises(InputError, match=r"unknown currency .*'BTC'.*ISO 4217"):
        parse_money("3 BTC")


def test_two_currencies_are_refused_and_not_converted() -> None:
    with pytest.raises(InputError, match=r"different currencies .*price in USD, budget in EUR.*nothing is converted"):
        same_currency(("price", Money(2.5, "USD")), ("budget", Money(600, "EUR")))


def test_one_named_currency_holds_for_all() -> None:
    assert same_currency(("price", Money(2.5, "EUR")), ("budget", Money(600))) == "EUR"
    assert same_currency(("price", Money(2.5)), currency="gbp") == "GBP"
    assert same_currency(("price", Money(2.5)), ("budget", None)) == "USD"


def test_showing() -> None:
    assert format_money(1234.5, "EUR") == "1,234 EUR"
    assert format_money(2.5, "USD") == "2.50 USD"
    assert format_money(0.000698, "USD") == "0.000698 USD"
