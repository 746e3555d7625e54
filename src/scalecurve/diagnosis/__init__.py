"""Why a curve bends, from the strongest evidence a study holds; and what was held fixed (regimes)."""

from scalecurve.diagnosis.causes import CAUSES, Cause
from scalecurve.diagnosis.diagnosing import diagnose
from scalecurve.diagnosis.result import CauseRow, Diagnosis

__all__ = ["CAUSES", "Cause", "CauseRow", "Diagnosis", "diagnose"]
