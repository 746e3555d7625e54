"""What the data says without a model: table, ratio intervals, bend."""

from scalecurve.analysis.bend import Bend
from scalecurve.analysis.row import TableRow
from scalecurve.analysis.table import SpeedupTable, tabulate

__all__ = ["Bend", "SpeedupTable", "TableRow", "tabulate"]
