"""Money and machines: what a result costs, which K to choose, and which runs to make next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scalecurve.planning.cost import Cost
    from scalecurve.planning.scaleup import ScaleUp, compare_scaleup
    from scalecurve.planning.tariff import Energy, Reserved, Spot, Tariff

_HOMES = {"Cost": "cost", "ScaleUp": "scaleup", "compare_scaleup": "scaleup"}
_HOMES |= {"Energy": "tariff", "Reserved": "tariff", "Spot": "tariff", "Tariff": "tariff"}

__all__ = ["Cost", "Energy", "Reserved", "ScaleUp", "Spot", "Tariff", "compare_scaleup"]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: numpy stays out of `scalecurve --help`."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
