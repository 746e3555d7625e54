"""The Study and the other raw records; nothing here computes a result."""

from scalecurve.study.run import Baseline, Placement, Provenance, RankRecord, Run, RunStatus, Workload
from scalecurve.study.samples import Samples
from scalecurve.study.study import Quantity, Regime, Study, Treatment
from scalecurve.study.study_set import StudySet

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
