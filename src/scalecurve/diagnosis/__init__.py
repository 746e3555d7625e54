"""Why a curve bends, from the strongest evidence a study holds; and what was held fixed (regimes)."""

from scalecurve.diagnosis.causes import CAUSES
from scalecurve.diagnosis.diagnosis import Cause, CauseRow, Diagnosis, diagnose
from scalecurve.diagnosis.regimes import RegimeVerdict, classify_regime

__all__ = ["CAUSES", "Cause", "CauseRow", "Diagnosis", "RegimeVerdict", "classify_regime", "diagnose"]
