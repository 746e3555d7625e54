"""The Study and the other raw records; nothing here computes a result."""

from scalecurve.study.run import Baseline, Placement, Provenance, RankRecord, Run, RunStatus, Samples, Workload
from scalecurve.study.study import Quantity, Regime, Study, StudySet, Treatment

__all__ = [
    "Baseline",
    "Placement",
    "Provenance",
    "Quantity",
    "RankRecord",
    "Regime",
    "Run",
    "RunStatus",
    "Samples",
    "Study",
    "StudySet",
    "Treatment",
    "Workload",
]
