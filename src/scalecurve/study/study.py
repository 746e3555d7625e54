"""The Study: what is held fixed, every raw observation, and where it comes from; and a set of named studies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, Self

import numpy as np

from scalecurve.document import Document, FindingList, Paragraph, Result, table
from scalecurve.errors import Fault, InputError, make_inert, one_line
from scalecurve.findings import Finding
from scalecurve.study.run import SCALING, Baseline, IntArray, Provenance, Run, Samples, Summary, Workload
from scalecurve.words import unit_words

REGIME_HELP = (
    "say --regime strong (the total work is the same at every K) or --regime weak (the work per worker is the same)"
)
MOST_NAMED = 20
PLACEMENT = ("nodes", "ranks_per_node", "ranks", "processes", "tasks", "threads", "threads_per_rank")
"""Axes that split the same cores."""
SIZE_WORDS = frozenset(
    ("size", "sizes", "n", "problem", "cells", "points", "elements", "particles", "atoms", "unknowns", "dofs", "rows")
)
LOAD_UNITS = frozenset(
    ("client", "connection", "user", "request", "session", "stream", "qp", "rp", "tp", "caller", "customer", "terminal",
     "concurrency")
)  # fmt: skip
"""Units of K, without their s, that are load on a server; so are rates."""
_RATE_UNIT = re.compile(r"/\s*s(ec)?$|per second$")
_SIZE = re.compile(r"\s*([0-9][0-9_ ,]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*([kKMGT]?)\s*")


class Regime(StrEnum):
    """What is held fixed while workers are added: the total work (strong) or the work per worker (weak)."""

    STRONG = "strong"
    WEAK = "weak"

    @property
    def held_fixed(self) -> str:
        return "total work fixed" if self is Regime.STRONG else "work per worker fixed"


def is_load(k_unit: str) -> bool:
    """Whether K counts the load on a server (clients, connections ...) and not workers that share a job."""
    unit = k_unit.strip().lower()
    return unit.rpartition(" ")[2].rstrip("s") in LOAD_UNITS or bool(_RATE_UNIT.search(unit))


def what_scales(regime: Regime, k_unit: str, findings: Sequence[Finding] = ()) -> str:
    """What grows with K and what is held fixed, for the head of a table or a figure; a rate may leave it open."""
    if any(finding.code == "regime-of-a-rate" for finding in findings):
        return "strong or weak scaling, not stated"
    return f"one system, more {k_unit}" if is_load(k_unit) else f"{regime} scaling, {regime.held_fixed}"


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
        make_inert(self, "k_unit", "unit")
        if (self.bulk is None) == (not self.runs):
            raise InputError(Fault("a study holds either runs or bulk samples", remedy="give exactly one of the two"))
        size: Any = self.node_size
        if size is not None and not (isinstance(size, int | np.integer) and size >= 1):
            raise InputError(Fault("must be a whole number above 0", "node_size", str(self.node_size)))
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

    def body(self) -> Document:
        what = f"{what_scales(self.regime, self.k_unit, self.findings)}; {self.quantity.replace('_', ' ')}"
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


@dataclass(frozen=True, kw_only=True, repr=False)
class StudySet(Result):
    """Several studies by name, in the order of the file; regime, quantity and the unit of K are common to all.

    `axes` holds, for each name, the cells of the columns that tell the curves apart: {"sort": {"benchmark": "sort"}}.
    """

    studies: Mapping[str, Study]
    axes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.studies:
            raise InputError(Fault("a set of curves holds at least one", remedy="give {name: Study}"))
        for what in ("studies", "axes"):
            object.__setattr__(self, what, {one_line(name): value for name, value in getattr(self, what).items()})
        for what in ("regime", "quantity", "k_unit"):
            values = {name: str(getattr(study, what)) for name, study in self.studies.items()}
            if len(set(values.values())) > 1:
                text = ", ".join(f"{name}: {value}" for name, value in list(values.items())[:5])
                remedy = "curves side by side have the same meaning of K"
                raise InputError(
                    Fault(f"the curves differ in their {what.replace('_', ' ')}", value=text, remedy=remedy)
                )

    def __repr__(self) -> str:
        return f"<StudySet of {len(self)} curves over {self.k_unit} ({self.quantity}): {', '.join(self.names[:5])}>"

    def __len__(self) -> int:
        return len(self.studies)

    def __iter__(self) -> Iterator[str]:
        return iter(self.studies)

    def __getitem__(self, name: str) -> Study:
        if name not in self.studies:
            remedy = f"there are: {', '.join(self.names[:MOST_NAMED])}"
            raise InputError(Fault("no curve has this name", value=name, remedy=remedy))
        return self.studies[name]

    def items(self) -> tuple[tuple[str, Study], ...]:
        """Each name with its study."""
        return tuple(self.studies.items())

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.studies)

    @property
    def first(self) -> Study:
        return next(iter(self.studies.values()))

    @property
    def regime(self) -> Regime:
        return self.first.regime

    @property
    def quantity(self) -> Quantity:
        return self.first.quantity

    @property
    def k_unit(self) -> str:
        return self.first.k_unit

    @property
    def name(self) -> str:
        return self.first.provenance.source or ", ".join(self.names[:3])

    @property
    def common_k(self) -> tuple[int, ...]:
        """The worker counts that every curve was measured at, rising."""
        return tuple(sorted(set.intersection(*(set(study.all_k) for study in self.studies.values()))))

    @cached_property
    def size_axis(self) -> str | None:
        """The axis that states problem sizes, or None: each curve has a number there, and they differ.

        It is named as a size (`size`, `n`, `cells` ...), or is the only axis.
        """
        names = list(dict.fromkeys(axis for cells in self.axes.values() for axis in cells))
        columns = {axis: {size_in(self.axes.get(name, {}).get(axis, "")) for name in self.names} for axis in names}
        numbers = [axis for axis, own in columns.items() if None not in own and len(own) > 1 and axis not in PLACEMENT]
        named = [axis for axis in numbers if SIZE_WORDS & set(re.split(r"[^a-z]+", axis.lower()))]
        chosen = named if named or len(names) > 1 else numbers
        return chosen[0] if len(chosen) == 1 else None

    @cached_property
    def sizes(self) -> Mapping[str, float]:
        """The problem size of each curve by name: total work, or that of a worker (weak); empty where none is."""
        axis = self.size_axis
        read = {} if axis is None else {name: size_in(self.axes[name][axis]) for name in self.names}
        return {name: size for name, size in read.items() if size is not None}

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all curves, each once."""
        every = {(item.code, item.message): item for study in self.studies.values() for item in study.findings}
        return tuple(every.values())

    def only(self, *, subject: str | None = None) -> Study:
        """The study of a set of one; an InputError that names the curves where there are several."""
        if len(self) == 1:
            return self.first
        raise InputError(several_curves(self.names), subject=subject or self.name)

    def records(self) -> list[dict[str, Any]]:
        """One row for every observation, with the name of its curve."""
        return [{"series": name, **row} for name, study in self.studies.items() for row in study.records()]

    def to_dict(self) -> dict[str, Any]:
        from scalecurve.study.file import set_to_dict

        return set_to_dict(self)

    def body(self) -> Document:
        curves = f"{len(self)} curve{'s' if len(self) > 1 else ''}"
        what = f"{curves}, {what_scales(self.regime, self.k_unit, self.findings)}; {self.quantity.replace('_', ' ')}"
        rows = [
            (name, ", ".join(map(str, study.all_k)), str(len(study.samples))) for name, study in self.studies.items()
        ]
        return Document(
            self.name,
            (
                Paragraph(what),
                table(("curve", f"K ({unit_words(self.k_unit)})", "observations"), rows),
                FindingList(self.findings),
            ),
        )


def size_in(text: str) -> float | None:
    """A problem size as people write it: 1000000, 1_000_000, 1e6, 1M; None for anything else."""
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    factor = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[match[2]]
    value = float(re.sub(r"[_ ,]", "", match[1])) * factor
    return value if value > 0 else None


def several_curves(names: tuple[str, ...]) -> Fault:
    """The question to ask where one curve is needed and there are several."""
    listed = ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")
    remedy = f"they are {listed}; choose one: --series {names[0]!r}"
    return Fault(f"there are {len(names)} curves", remedy=remedy)
