"""A study as one page: the answer first, then everything it rests on."""

from scalecurve.render.report.material import Material, Refusal
from scalecurve.render.report.writing import FORMATS, write

__all__ = ["FORMATS", "Material", "Refusal", "write"]
