"""The Study and the other raw records; nothing here computes a result."""

from scalecurve.study.provenance import Baseline, Provenance, Workload
from scalecurve.study.run import Placement, RankRecord, Run
from scalecurve.study.samples import Samples
from scalecurve.study.study import Study
from scalecurve.study.terms import Quantity, Regime, RunStatus, Treatment

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
    "Treatment",
    "Workload",
]
