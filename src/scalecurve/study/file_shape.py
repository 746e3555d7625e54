"""The shape of a study file as pydantic checks it; imported where a file is read."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from scalecurve.findings import Finding
from scalecurve.study.run import Baseline, Provenance, Run, Summary, Workload
from scalecurve.study.study import Quantity, Regime, Treatment

PositiveFloat = Annotated[FiniteFloat, Field(gt=0)]
WorkerKey = Annotated[str, Field(pattern=r"^[1-9]\d{0,9}$")]


class Sidecar(BaseModel):
    name: str
    sha256: str


class StudyShape(BaseModel):
    """The shape of version 1; fields of later minor additions are ignored, not refused."""

    # Built when a study file is read, not on import; "1e999" as a text is no number either.
    model_config = ConfigDict(extra="ignore", defer_build=True, allow_inf_nan=False)

    regime: Regime
    quantity: Quantity = Quantity.SECONDS
    k_unit: str = "workers"
    unit: str | None = None
    workload: Workload = Workload()
    samples: dict[WorkerKey, list[PositiveFloat]] | None = None
    summary: tuple[Summary, ...] = ()
    runs: tuple[Run, ...] = ()
    baseline: Baseline = Baseline()
    warmup: Treatment = Treatment.UNKNOWN
    setup: Treatment = Treatment.UNKNOWN
    node_size: int | None = None
    provenance: Provenance = Provenance()
    findings: tuple[Finding, ...] = ()
    sidecar: Sidecar | None = None
