"""What the data says without a model: the speedup table, the bend, comparison and merging of studies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalecurve.lazy import lazy_names

if TYPE_CHECKING:
    from scalecurve.analysis.curve import Bend
    from scalecurve.analysis.table import SpeedupTable, TableRow, tabulate

__all__ = ["Bend", "SpeedupTable", "TableRow", "tabulate"]

if not TYPE_CHECKING:  # hidden from type checkers, so that they report a misspelt name
    __getattr__, __dir__ = lazy_names(__name__, {"curve": "Bend", "table": "SpeedupTable TableRow tabulate"})
