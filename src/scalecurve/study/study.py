"""The Study: what is held fixed, every raw observation, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, Self

import numpy as np

from scalecurve.document import Document, FindingList, Paragraph, Result
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding
from scalecurve.study.run import SCALING, Baseline, Provenance, Run, Workload
from scalecurve.study.samples import IntArray, Samples, Summary

REGIME_HELP = (
    "say --regime strong (regime='strong': the total work is the same at every K) or --regime weak "
    "(regime='weak': the work per worker is the same)"
)


class Regime(StrEnum):
    """What is held fixed while workers are added: the total work (strong) or the work per worker (weak)."""

    STRONG = "strong"
    WEAK = "weak"

    @property
    def held_fixed(self) -> str:
        return "total work fixed" if self is Regime.STRONG else "work per worker fixed"


class Quantity(StrEnum):
    """What one observation is: a time, a rate of all workers together, or a rate per worker."""

    SECONDS = "seconds"
    THROUGHPUT = "throughput"
    THROUGHPUT_PER_WORKER = "throughput_per_worker"

    @property
    def higher_is_better(self) -> bool:
        return self is not Quantity.SECONDS


class Treatment(StrEnum):
    """Whether warm-up or set-up time is part of the observations."""

    EXCLUDED = "excluded"
    INCLUDED = "included"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, repr=False)
class Study(Result):
    """A scaling study.

    Observations are kept either as `runs` (with all that is recorded of each launch) or, where a file holds only
    numbers, as `bulk` samples; `samples` is the view of T(K) that both give.  Where a file states means instead of
    runs, `bulk` holds the means and `summary` how many runs and which spread stand behind each.
    """

    regime: Regime
    quantity: Quantity = Quantity.SECONDS
    k_unit: str = "workers"
    unit: str | None = None
    workload: Workload = field(default_factory=Workload)
    runs: tuple[Run, ...] = ()
    bulk: Samples | None = None
    summary: tuple[Summary, ...] = ()
    baseline: Baseline = field(default_factory=Baseline)
    warmup: Treatment = Treatment.UNKNOWN
    setup: Treatment = Treatment.UNKNOWN
    node_size: int | None = None
    provenance: Provenance = field(default_factory=Provenance)
    findings: tuple[Finding, ...] = ()

    def __post_init__(self) -> None:
        if (self.bulk is None) == (not self.runs):
            raise InputError(Fault("a study holds either runs or bulk samples", remedy="give exactly one of the two"))
        if self.baseline.k is not None and self.baseline.k not in self.all_k:
            remedy = f"choose one of {', '.join(str(k) for k in self.all_k)}"
            raise InputError(Fault("the baseline was not measured", value=f"K0 = {self.baseline.k}", remedy=remedy))

    def __repr__(self) -> str:
        workers = f"{len(self.all_k)} K from {self.all_k[0]} to {self.all_k[-1]}" if self.all_k else "no K"
        counts = f"{len(self.samples)} observations ({self.quantity})"
        return f"<Study {self.name!r}, {self.regime}, {counts} at {workers} {self.k_unit}>"

    @classmethod
    def from_samples(
        cls,
        samples: Mapping[int, Iterable[float]] | Samples,
        *,
        regime: Regime | str,
        quantity: Quantity | str = Quantity.SECONDS,
        k_unit: str = "workers",
        unit: str | None = None,
        baseline_k: int | None = None,
        name: str | None = None,
        workload: Workload | None = None,
        warmup: Treatment = Treatment.UNKNOWN,
        setup: Treatment = Treatment.UNKNOWN,
        node_size: int | None = None,
        provenance: Provenance | None = None,
        findings: Iterable[Finding] = (),
    ) -> Self:
        """A study from numbers alone: `{1: [10.1, 9.9], 2: [5.2, 5.3]}`; `workload` replaces `name`."""
        return cls(
            regime=as_regime(regime),
            quantity=as_quantity(quantity),
            k_unit=k_unit,
            unit=unit,
            bulk=samples if isinstance(samples, Samples) else Samples.from_mapping(samples),
            baseline=Baseline(k=baseline_k),
            workload=workload or Workload(name=name),
            warmup=warmup,
            setup=setup,
            node_size=node_size,
            provenance=provenance or Provenance(),
            findings=tuple(findings),
        )

    @classmethod
    def from_measurements(
        cls,
        measurements: Mapping[int, Any] | Iterable[Any],
        *,
        regime: Regime | str,
        k_unit: str | None = None,
        baseline_k: int | None = None,
        name: str | None = None,
        workload: Workload | None = None,
        setup: Treatment = Treatment.UNKNOWN,
        node_size: int | None = None,
        provenance: Provenance | None = None,
    ) -> Self:
        """A study from torch.utils.benchmark Measurements (torch itself is not imported).

        K is the key of the mapping (one Measurement or a list for each), or else each Measurement's `num_threads`.
        """
        if isinstance(measurements, Mapping):
            lists = {k: item if isinstance(item, list | tuple) else [item] for k, item in measurements.items()}
            pairs = [(k, measurement) for k, items in lists.items() for measurement in items]
        else:
            pairs = [(getattr(measurement, "num_threads", None), measurement) for measurement in measurements]
        samples: dict[int, list[float]] = {}
        for place, (k, measurement) in enumerate(pairs):
            times = getattr(measurement, "times", None)
            if not isinstance(k, int) or times is None:
                remedy = "give torch.utils.benchmark Measurements, or a mapping from K to them"
                kind = type(measurement).__name__
                raise InputError(Fault("not a measurement", where=f"item {place + 1}", value=kind, remedy=remedy))
            samples.setdefault(k, []).extend(float(time) for time in times)
        titles = {getattr(measurement, "title", None) for _, measurement in pairs}
        title = titles.pop() if len(titles) == 1 else None
        return cls.from_samples(
            samples,
            regime=regime,
            k_unit=k_unit or ("workers" if isinstance(measurements, Mapping) else "threads"),
            baseline_k=baseline_k,
            name=name or (title if isinstance(title, str) else None),
            workload=workload,
            warmup=Treatment.EXCLUDED,
            setup=setup,
            node_size=node_size,
            provenance=provenance or Provenance(tool="torch.utils.benchmark"),
        )

    @cached_property
    def samples(self) -> Samples:
        """Every observation of T(K): failed runs and other programs are left out."""
        if self.bulk is not None:
            return self.bulk
        pairs = [(run.k, run.value) for run in self.runs if run.counts_as(self.role_at(run.k))]
        if not pairs:
            return Samples(np.empty(0, np.int64), np.empty(0, np.float64))
        return Samples.of([k for k, _ in pairs], [value for _, value in pairs])

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

    def with_findings(self, findings: Iterable[Finding]) -> Self:
        """The same study with these findings after its own."""
        return replace(self, findings=(*self.findings, *findings))

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
        workers = ", ".join(str(k) for k in self.all_k)
        observed = "1 observation" if len(self.samples) == 1 else f"{len(self.samples)} observations"
        counts = f"{observed} at K = {workers} {self.k_unit}; baseline K0 = {self.baseline_k}"
        return Document(self.name, (Paragraph(what), Paragraph(counts), FindingList(self.findings)))


def as_regime(value: Regime | str | None) -> Regime:
    """The regime, or an InputError: it is never guessed."""
    if value is None:
        raise InputError(Fault("the scaling regime is not stated, and is never guessed", remedy=REGIME_HELP))
    try:
        return Regime(value)
    except ValueError:
        raise InputError(Fault("unknown regime", value=str(value), remedy=REGIME_HELP)) from None


def as_quantity(value: Quantity | str) -> Quantity:
    """The quantity, or an InputError that lists the three."""
    try:
        return Quantity(value)
    except ValueError:
        raise InputError(Fault("unknown quantity", value=str(value), remedy=f"one of {', '.join(Quantity)}")) from None
