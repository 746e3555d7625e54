"""The noun in the middle: what was held fixed, every raw observation, and where it came from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from scalecurve.document import Document, FindingList, Paragraph, Shown
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding
from scalecurve.study.provenance import Baseline, Provenance, Workload
from scalecurve.study.run import SCALING, Run
from scalecurve.study.samples import IntArray, Samples
from scalecurve.study.terms import Quantity, Regime, Treatment

REGIME_HELP = (
    "say --regime strong (regime='strong': the total work is the same at every K) or --regime weak "
    "(regime='weak': the work per worker is the same)"
)


@dataclass(frozen=True, kw_only=True)
class Study(Shown):
    """A scaling study.

    Observations are kept either as `runs` (with all that is known of each launch) or, where a file holds nothing but
    numbers, as bare `bulk` samples; `samples` is the view of T(K) that both give.
    """

    regime: Regime
    quantity: Quantity = Quantity.SECONDS
    k_unit: str = "workers"
    unit: str | None = None
    workload: Workload = field(default_factory=Workload)
    runs: tuple[Run, ...] = ()
    bulk: Samples | None = None
    baseline: Baseline = field(default_factory=Baseline)
    warmup: Treatment = Treatment.UNKNOWN
    setup: Treatment = Treatment.UNKNOWN
    node_size: int | None = None
    provenance: Provenance = field(default_factory=Provenance)
    findings: tuple[Finding, ...] = ()

    def __post_init__(self) -> None:
        if (self.bulk is None) == (not self.runs):
            raise InputError(Fault("a study holds either runs or bulk samples", remedy="give exactly one of the two"))
        known = self.all_k
        if self.baseline.k is not None and self.baseline.k not in known:
            listed = ", ".join(str(k) for k in known)
            raise InputError(
                Fault("the baseline was not measured", seen=f"K0 = {self.baseline.k}", remedy=f"choose one of {listed}")
            )

    @classmethod
    def from_samples(
        cls,
        samples: Mapping[int, Iterable[float]] | Samples,
        *,
        regime: Regime | str,
        quantity: Quantity | str = Quantity.SECONDS,
        k_unit: str = "workers",
        baseline_k: int | None = None,
        name: str | None = None,
        **more: Any,
    ) -> Self:
        """A study from numbers alone: `{1: [10.1, 9.9], 2: [5.2, 5.3]}`."""
        bulk = samples if isinstance(samples, Samples) else Samples.from_mapping(samples)
        return cls(
            regime=as_regime(regime),
            quantity=as_quantity(quantity),
            k_unit=k_unit,
            bulk=bulk,
            baseline=Baseline(k=baseline_k),
            workload=more.pop("workload", Workload(name=name)),
            **more,
        )

    @cached_property
    def samples(self) -> Samples:
        if self.bulk is not None:
            return self.bulk
        counted = [(run.k, run.value) for run in self.runs if run.counts_as(self.role_at(run.k))]
        if not counted:
            return Samples(np.empty(0, np.int64), np.empty(0, np.float64))
        return Samples.of([k for k, _ in counted], [value for _, value in counted])

    def role_at(self, k: int) -> str:
        """Whose runs are the points at K: the job's own, but for T(1) the fastest single-worker program."""
        return self.baseline.chosen or SCALING if k == 1 else SCALING

    @property
    def distinct_k(self) -> IntArray:
        return self.samples.distinct_k

    @cached_property
    def all_k(self) -> tuple[int, ...]:
        return tuple(int(k) for k in self.distinct_k)

    @property
    def baseline_k(self) -> int:
        """K0: the stated baseline, or the smallest measured K."""
        return self.baseline.k if self.baseline.k is not None else self.all_k[0]

    @property
    def name(self) -> str:
        return self.workload.name or self.provenance.source or "study"

    def with_findings(self, found: Iterable[Finding]) -> Self:
        return replace(self, findings=(*self.findings, *found))

    @classmethod
    def from_measurements(
        cls, measurements: Mapping[int, Any] | Iterable[Any], *, regime: Regime | str, **more: Any
    ) -> Self:
        """A study from torch.utils.benchmark Measurements, K by `num_threads` or as the keys of a mapping."""
        from scalecurve.study.measurements import samples_of, task_name

        given = measurements if isinstance(measurements, Mapping) else list(measurements)
        provenance = more.pop("provenance", Provenance(tool="torch.utils.benchmark"))
        named = {"name": task_name(given), "k_unit": "workers" if isinstance(given, Mapping) else "threads"} | more
        return cls.from_samples(
            samples_of(given), regime=regime, warmup=Treatment.EXCLUDED, provenance=provenance, **named
        )

    def records(self) -> list[dict[str, Any]]:
        """One row for every observation, failed runs included."""
        name = str(self.quantity)
        if self.bulk is not None:
            pairs = zip(self.bulk.k.tolist(), self.bulk.values.tolist(), strict=True)
            return [{"k": k, name: value} for k, value in pairs]
        return [{"k": run.k, name: run.value, "status": str(run.status), "repeat": run.repeat} for run in self.runs]

    def to_dict(self) -> dict[str, Any]:
        from scalecurve.study.file import study_to_dict

        return study_to_dict(self)

    def document(self) -> Document:
        what = f"{self.regime} scaling ({self.regime.held_fixed}), {self.quantity.replace('_', ' ')}"
        listed = ", ".join(str(k) for k in self.all_k)
        counts = f"{len(self.samples)} observations at K = {listed} {self.k_unit}; baseline K0 = {self.baseline_k}"
        return Document(self.name, (Paragraph(what), Paragraph(counts), FindingList(self.findings)))


def as_regime(value: Regime | str | None) -> Regime:
    """The regime, or a refusal: it is never guessed."""
    try:
        return Regime(value) if value is not None else _raise_missing_regime()
    except ValueError:
        raise InputError(Fault("unknown regime", seen=str(value), remedy=REGIME_HELP)) from None


def _raise_missing_regime() -> Regime:
    raise InputError(Fault("the scaling regime is not stated, and is never guessed", remedy=REGIME_HELP))


def as_quantity(value: Quantity | str) -> Quantity:
    try:
        return Quantity(value)
    except ValueError:
        known = ", ".join(Quantity)
        raise InputError(Fault("unknown quantity", seen=str(value), remedy=f"one of {known}")) from None
