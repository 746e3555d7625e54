"""The laws, rows of laws.toml: formulas over K with named parameters; and what follows from some in closed form."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalecurve.errors import Fault, InputError
from scalecurve.lazy import lazy_names
from scalecurve.units import parse_number

if TYPE_CHECKING:
    from scalecurve.laws.contract import Law, Parameter
    from scalecurve.laws.tables import LawTable, law_table

__all__ = ["LAW_NAMES", "Law", "LawTable", "Parameter", "every_law", "law", "law_table", "parse_law"]

SECTIONS: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("laws.toml").read_text(encoding="utf-8"))
LAW_NAMES = tuple(SECTIONS)


def law(name: str) -> Law:
    """A law by name.

    Parameters
    ----------
    name
        One of `laws.LAW_NAMES`, such as "amdahl", "usl" or "logcomm".

    Returns
    -------
    Law
        Its `time`, `work`, `speedup` and `efficiency` take one K or an array of them, and the law's parameters.

    Raises
    ------
    InputError
        No law has this name.

    Examples
    --------
    >>> import scalecurve as sc
    >>> round(sc.law("amdahl").speedup(64, serial=0.05), 2)
    15.42
    """
    key = str(name).lower().replace("_", "-")
    if key not in LAW_NAMES:
        raise InputError(Fault("unknown law", value=str(name), remedy=f"one of {', '.join(LAW_NAMES)}"))
    return _law(key)


@cache
def _law(key: str) -> Law:
    """The law of a section of laws.toml."""
    from scalecurve.laws.contract import Law, Parameter

    section = dict(SECTIONS[key])
    other = SECTIONS.get(section.pop("like", ""), {})
    shared = {part: other[part] for part in ("text", "example") if part in other}
    parameters = tuple(Parameter(name, **row) for name, row in section.pop("parameters", {}).items())
    return Law(name=key, parameters=parameters, **shared | section)


def every_law() -> tuple[Law, ...]:
    """All laws, in the order of `LAW_NAMES`."""
    return tuple(map(law, LAW_NAMES))


def parse_law(text: str, **parameters: float | None) -> tuple[Law, dict[str, float]]:
    """`amdahl:serial=5%` or `amdahl` with its parameters beside it, as a law and its checked parameters."""
    name, _, rest = text.partition(":")
    chosen = law(name.strip())
    pairs = [item.partition("=") for item in rest.split(",") if item.strip()]
    stated = {key.strip().replace("-", "_"): parse_number(value) for key, _, value in pairs}
    beside = {key: value for key, value in parameters.items() if value is not None}
    if twice := sorted(stated.keys() & beside.keys()):
        raise InputError([Fault("parameter is given twice", where=key, remedy="say it once") for key in twice])
    return chosen, chosen.checked(stated | beside)


if not TYPE_CHECKING:  # hidden from type checkers, so that they report a misspelt name
    __getattr__, __dir__ = lazy_names(__name__, {"contract": "Law Parameter", "tables": "LawTable law_table"})
