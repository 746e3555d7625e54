"""The laws, a file for each family: closed forms of plain numbers, without data.  Each is loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from scalecurve.errors import Fault, InputError
from scalecurve.lazy import lazy_names

if TYPE_CHECKING:
    from scalecurve.laws.contract import Law, Parameter, check_law
    from scalecurve.laws.tables import LawTable, law_table

__all__ = ["LAW_NAMES", "Law", "LawTable", "Parameter", "check_law", "law", "law_table"]

LAW_NAMES = {
    "amdahl": ("amdahl", "AMDAHL"),
    "gustafson": ("amdahl", "GUSTAFSON"),
    "sun-ni": ("amdahl", "SUN_NI"),
    "usl": ("communication", "USL"),
    "logcomm": ("communication", "LOGCOMM_STRONG"),
    "logcomm-weak": ("communication", "LOGCOMM_WEAK"),
    "stragglers": ("stragglers", "STRAGGLERS"),
}


def law(name: str) -> Law:
    """A law by name: `law("amdahl").speedup(64, serial=0.05)`."""
    key = str(name).lower().replace("_", "-")
    if key not in LAW_NAMES:
        raise InputError(Fault("unknown law", value=str(name), remedy=f"one of {', '.join(LAW_NAMES)}"))
    module, constant = LAW_NAMES[key]
    chosen: Law = getattr(import_module(f"scalecurve.laws.{module}"), constant)
    return chosen


if not TYPE_CHECKING:  # hidden from type checkers, so that they report a misspelt name
    __getattr__, __dir__ = lazy_names(__name__, {"contract": "Law Parameter check_law", "tables": "LawTable law_table"})
