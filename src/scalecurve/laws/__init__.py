"""The laws, one per file: closed forms of plain numbers, without data."""

from __future__ import annotations

from scalecurve.errors import Fault, InputError
from scalecurve.laws.amdahl import AMDAHL
from scalecurve.laws.gustafson import GUSTAFSON
from scalecurve.laws.law import Law, Parameter
from scalecurve.laws.logcomm import LOGCOMM_STRONG, LOGCOMM_WEAK
from scalecurve.laws.stragglers import STRAGGLERS
from scalecurve.laws.sun_ni import SUN_NI
from scalecurve.laws.usl import USL

__all__ = ["LAWS", "Law", "Parameter", "law"]

LAWS: dict[str, Law] = {
    law.name: law for law in (AMDAHL, GUSTAFSON, SUN_NI, USL, LOGCOMM_STRONG, LOGCOMM_WEAK, STRAGGLERS)
}


def law(name: str) -> Law:
    """A law by name: `law("amdahl").speedup(64, serial=0.05)`."""
    key = name.lower().replace("_", "-")
    if key not in LAWS:
        raise InputError(Fault("unknown law", seen=name, remedy=f"one of {', '.join(LAWS)}"))
    return LAWS[key]
