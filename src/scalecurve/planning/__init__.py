"""Money and machines: what a result costs, which K to choose, and which runs to make next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalecurve.lazy import lazy_names

if TYPE_CHECKING:
    from scalecurve.planning.cost import Cost
    from scalecurve.planning.scaleup import ScaleUp, compare_scaleup
    from scalecurve.planning.tariff import Energy, Reserved, Spot, Tariff

__all__ = ["Cost", "Energy", "Reserved", "ScaleUp", "Spot", "Tariff", "compare_scaleup"]

if not TYPE_CHECKING:  # hidden from type checkers, so that they report a misspelt name
    __getattr__, __dir__ = lazy_names(
        __name__, {"cost": "Cost", "scaleup": "ScaleUp compare_scaleup", "tariff": "Energy Reserved Spot Tariff"}
    )
