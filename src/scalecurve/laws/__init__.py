"""The laws, a file for each family: closed forms of plain numbers, without data.  Each is loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from scalecurve.errors import Fault, InputError
from scalecurve.lazy import lazy_names
from scalecurve.units import parse_number

if TYPE_CHECKING:
    from scalecurve.laws.contract import Law, Parameter, check_law
    from scalecurve.laws.tables import LawTable, law_table

__all__ = ["LAW_NAMES", "Law", "LawTable", "Parameter", "check_law", "every_law", "law", "law_table", "parse_law"]

LAW_NAMES = {
    "linear": "amdahl.LINEAR",
    "amdahl": "amdahl.AMDAHL",
    "gustafson": "amdahl.GUSTAFSON",
    "sun-ni": "amdahl.SUN_NI",
    "logcomm": "communication.LOGCOMM",
    "usl": "communication.USL",
    "root": "communication.ROOT",
    "stragglers": "stragglers.STRAGGLERS",
    "constant": "amdahl.CONSTANT",
    "logcomm-weak": "communication.LOGCOMM_WEAK",
    "root-weak": "communication.ROOT_WEAK",
    "linear-cost": "communication.LINEAR_COST",
}


def law(name: str) -> Law:
    """A law by name: `law("amdahl").speedup(64, serial=0.05)`."""
    key = str(name).lower().replace("_", "-")
    if key not in LAW_NAMES:
        raise InputError(Fault("unknown law", value=str(name), remedy=f"one of {', '.join(LAW_NAMES)}"))
    module, _, constant = LAW_NAMES[key].partition(".")
    chosen: Law = getattr(import_module(f"scalecurve.laws.{module}"), constant)
    return chosen


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
    __getattr__, __dir__ = lazy_names(__name__, {"contract": "Law Parameter check_law", "tables": "LawTable law_table"})
