"""What the user said about how a file is to be read; None where nothing was said."""

from __future__ import annotations

import re
from dataclasses import dataclass

from scalecurve.errors import Fault, InputError
from scalecurve.study import Quantity, Regime
from scalecurve.study.study import as_quantity, as_regime

MOST_PATTERN = 200


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """The settings of `import`, shared by every command that takes a study."""

    regime: Regime | None = None
    quantity: Quantity | None = None
    k_column: str | None = None
    value_column: str | None = None
    k_unit: str | None = None
    k_from: re.Pattern[str] | None = None
    series: str | None = None
    baseline_k: int | None = None
    node_size: int | None = None
    allow_mixed: bool = False


def make_wishes(
    *,
    regime: str | None = None,
    quantity: str | None = None,
    k_from: str | None = None,
    subject: str | None = None,
    **others: str | int | bool | None,
) -> Wishes:
    """Checked wishes; all that is wrong with them is said at once."""
    faults: list[Fault] = []
    parsed = {
        "regime": _tried(lambda: as_regime(regime), faults) if regime is not None else None,
        "quantity": _tried(lambda: as_quantity(quantity), faults) if quantity is not None else None,
        "k_from": _tried(lambda: _pattern(k_from), faults) if k_from is not None else None,
    }
    if faults:
        raise InputError(faults, subject=subject)
    return Wishes(**parsed, **others)  # type: ignore[arg-type]  # the names are checked by the dataclass


def _tried(make, faults: list[Fault]):  # type: ignore[no-untyped-def]
    try:
        return make()
    except InputError as problem:
        faults += problem.faults
        return None


def _pattern(text: str) -> re.Pattern[str]:
    r"""A regular expression with one group of digits, such as n(\d+)_."""
    hint = r"it has one group that matches the worker count, such as 'n(\d+)_'"
    try:
        pattern = re.compile(text) if len(text) <= MOST_PATTERN else None
    except re.error as problem:
        raise InputError(
            Fault(f"not a regular expression: {problem}", where="--k-from", seen=text, remedy=hint)
        ) from None
    if pattern is None or pattern.groups != 1:
        raise InputError(Fault("the pattern needs exactly one group", where="--k-from", seen=text, remedy=hint))
    return pattern
