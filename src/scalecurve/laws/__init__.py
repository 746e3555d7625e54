"""The laws, one per file: closed forms of plain numbers, without data.  Each is loaded when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from scalecurve.errors import Fault, InputError

if TYPE_CHECKING:
    from scalecurve.laws.contract import Law, Parameter, check_law
    from scalecurve.laws.tables import LawTable, law_table

    LAWS: dict[str, Law]

__all__ = ["LAWS", "Law", "LawTable", "Parameter", "check_law", "law", "law_table"]

_HOME = {"LawTable": "tables", "law_table": "tables"} | dict.fromkeys(("Law", "Parameter", "check_law"), "contract")
_LAWS = {
    "amdahl": ("amdahl", "AMDAHL"),
    "gustafson": ("gustafson", "GUSTAFSON"),
    "sun-ni": ("sun_ni", "SUN_NI"),
    "usl": ("usl", "USL"),
    "logcomm": ("logcomm", "LOGCOMM_STRONG"),
    "logcomm-weak": ("logcomm", "LOGCOMM_WEAK"),
    "stragglers": ("stragglers", "STRAGGLERS"),
}


def law(name: str) -> Law:
    """A law by name: `law("amdahl").speedup(64, serial=0.05)`."""
    key = name.lower().replace("_", "-")
    if key not in _LAWS:
        raise InputError(Fault("unknown law", value=name, remedy=f"one of {', '.join(_LAWS)}"))
    module, constant = _LAWS[key]
    chosen: Law = getattr(import_module(f"scalecurve.laws.{module}"), constant)
    return chosen


def __getattr__(name: str) -> Any:
    if name == "LAWS":
        value: Any = {key: law(key) for key in _LAWS}
    elif name in _HOME:
        value = getattr(import_module(f"scalecurve.laws.{_HOME[name]}"), name)
    else:
        raise AttributeError(f"module 'scalecurve.laws' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
