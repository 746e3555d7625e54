"""What the data says without a model: the speedup table, the bend, comparison and merging of studies."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scalecurve.analysis.bend import Bend
    from scalecurve.analysis.table import SpeedupTable, TableRow, tabulate

__all__ = ["Bend", "SpeedupTable", "TableRow", "tabulate"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'scalecurve.analysis' has no attribute {name!r}")
    return getattr(import_module(f"scalecurve.analysis.{'bend' if name == 'Bend' else 'table'}"), name)
