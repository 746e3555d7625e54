"""What every reader is made of: the Reader, its options, and what a reader of study results gives back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice
from typing import Any, Generic, TypedDict, TypeVar, Unpack

from scalecurve.errors import DAMAGE, Fault, FormatError, InputError
from scalecurve.findings import Finding
from scalecurve.formats.headers import TIME_UNITS
from scalecurve.formats.source import Source
from scalecurve.patterns import fault_in
from scalecurve.study import Baseline, Provenance, Quantity, Regime, Run, RunStatus, Samples, Study, Treatment, Workload
from scalecurve.study.run import Summary
from scalecurve.study.study import StudySet, as_quantity, as_regime, is_load

MOST_POINTS = 50_000
MOST_FAULTS = 20
SAME_PROCESS = "the repeats share one process, so that their spread understates the noise between launches"

Output = TypeVar("Output", covariant=True)


class ReadWords(TypedDict, total=False):
    """What a user may say of how a source is read, in the words of `load`, which explains them."""

    regime: Regime | str | None
    quantity: Quantity | str | None
    k_column: str | None
    value_column: str | None
    k_unit: str | None
    k_from: str | None
    series: str | None
    baseline_k: int | None
    node_size: int | None
    unit: str | None
    table: str | int | None
    ignore: str | Sequence[str]
    where: str | Sequence[str]
    melt: bool
    accept: str | Sequence[str]


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How the user wants files to be read; None where nothing was said.

    The first block is for study results, `operation`, `ranks` and `nodes` for message sweeps, `unit` (seconds per
    unit) and `rate` (requests per second) for latencies.  The last block is for tables: which of several, columns to
    leave out, `column=value` of the rows to keep, whether every column is a curve, and doubts to pass over by code.
    """

    regime: Regime | None = None
    quantity: Quantity | None = None
    k_column: str | None = None
    value_column: str | None = None
    k_unit: str | None = None
    k_from: str | None = None
    series: str | None = None
    baseline_k: int | None = None
    node_size: int | None = None
    allow_mixed: bool = False
    operation: str | None = None
    ranks: int | None = None
    nodes: int | None = None
    unit: float | None = None
    rate: float | None = None
    table: str | None = None
    ignore: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    melt: bool = False
    accept: tuple[str, ...] = ()

    @property
    def regime_word(self) -> str | None:
        """The regime as a word, for files and claims."""
        return None if self.regime is None else self.regime.value

    @classmethod
    def checked(cls, *, subject: str | None = None, **words: Unpack[ReadWords]) -> ReadOptions:
        """Options from what a user types; an InputError lists every fault at once."""
        faults: list[Fault] = []
        stated: dict[str, Any] = {name: value for name, value in words.items() if value is not None}
        for name, check in (("regime", as_regime), ("quantity", as_quantity)):
            try:
                stated |= {name: check(stated[name])} if name in stated else {}
            except InputError as problem:
                faults += problem.faults
        if "k_from" in stated:
            remedy = r"it has one group that matches the worker count, such as 'n(\d+)_'"
            fault = fault_in(stated["k_from"], "--k-from", remedy, most=1)
            faults += [fault] if fault else []
        if "unit" in stated:
            unit = stated["unit"].strip().lower()
            if unit not in TIME_UNITS:
                faults.append(Fault("not a unit of time", "--unit", stated["unit"], "one of ns, us, ms, s, min, h"))
            stated["unit"] = TIME_UNITS.get(unit)
        for name in ("ignore", "where", "accept"):
            several = stated.get(name, ())
            stated[name] = (several,) if isinstance(several, str) else tuple(several)
        wrong = [own for own in stated["where"] if "=" not in own]
        faults += [Fault("no condition", "--where", own, "write column=value") for own in wrong]
        if faults:
            raise InputError(faults, subject=subject)
        return cls(**stated | {"table": str(stated["table"]) if "table" in stated else None})


@dataclass(frozen=True, kw_only=True)
class FormatNote:
    """What docs/reference/formats.md says of a format.

    `tried` are the versions or forms tried; `real` says that the sample in the tests was written by the tool itself,
    not by hand from its documented format; `k` and `value` say what K and the observations are, `keeps` what else is
    kept.
    """

    tried: str
    real: bool
    k: str
    value: str
    keeps: str = ""


@dataclass(frozen=True)
class Reader(Generic[Output]):
    """A format.  `recognise` gives the evidence that a file is of it, or None; `read` gives what the file holds.

    `begins` matches the line with which each report of the tool begins: a loop over K may write them all to one file,
    and each is read as a file of its own; `ends` matches its last lines, where the tool says something above `begins`.
    `damage` are the errors that a damaged file can cause in `read`;
    any other is a fault of ours.
    """

    name: str
    title: str
    recognise: Callable[[Source], str | None]
    read: Callable[[Source, ReadOptions], Output]
    note: FormatNote | None = None
    begins: re.Pattern[str] | None = None
    ends: re.Pattern[str] | None = None
    damage: tuple[type[Exception], ...] = DAMAGE


@dataclass(frozen=True, kw_only=True)
class Point:
    """Observations of one configuration.

    `fields` are the parameters that might be K or tell curves apart; `name` is what --k-from is matched against;
    `metric` tells several quantities of one run apart, of which the `main` one is meant where none is named; `details`
    are further facts of each Run.  Where every rank of a job writes its own file, the points of one `launch` become
    one run, and all `launch_ranks` of them must be there.
    """

    values: tuple[float, ...]
    series: str = ""
    name: str = ""
    metric: str = "time"
    quantity: Quantity | None = Quantity.SECONDS
    unit: str | None = "s"
    k: int | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    status: RunStatus = RunStatus.OK
    details: Mapping[str, Any] = field(default_factory=dict)
    main: bool = False
    launch: str | None = None
    launch_ranks: int | None = None


class Unclear(FormatError):
    """A file that can be read in several ways, or in none without a word from the user.

    `ways` are changes of the options that may lead to a reading; `offers` the lines that show those that do, each with
    its complete command, tried before it is shown.
    """

    def __init__(
        self,
        faults: str | Fault | Iterable[Fault],
        *,
        subject: str | None = None,
        ways: Iterable[Mapping[str, Any]] = (),
        offers: Iterable[str] = (),
    ) -> None:
        self.ways, self.offers = tuple(ways), tuple(offers)
        super().__init__(faults, subject=subject)

    def __str__(self) -> str:
        return "\n".join([super().__str__(), *self.offers])


class Role(StrEnum):
    """What became of a column of a table."""

    WORKERS = "K"
    VALUE = "value"
    UNIT = "unit"
    REPEAT = "repeat"
    SERIES = "series"
    FILTER = "filter"
    SPREAD = "spread"
    COUNT = "count"
    CONSTANT = "constant"
    IGNORED = "ignored"


@dataclass(frozen=True)
class ColumnUse:
    """A column of a table, its role, and why it has it."""

    name: str
    role: Role
    why: str


@dataclass(frozen=True, eq=False)
class TableCurve:
    """One curve of a table: its name ("" where there is one), its samples, what the file says of their spread, and
    the cells of the columns that tell it apart."""

    name: str
    samples: Samples
    summary: tuple[Summary, ...] = ()
    axes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The study results of one file: its points, or the `curves` of a table with what became of its `columns`.

    `assumed` and `missing` are clauses of the sentence that goes with the study: what was taken for granted, and what
    an honest study would still need.
    """

    points: tuple[Point, ...] = ()
    curves: tuple[TableCurve, ...] = ()
    columns: tuple[ColumnUse, ...] = ()
    quantity: Quantity | None = None
    unit: str | None = None
    value_origin: str | None = None
    k_origin: str | None = None
    k_unit: str | None = None
    regime: Regime | None = None
    node_size: int | None = None
    workload: Workload = field(default_factory=Workload)
    warmup: Treatment = Treatment.UNKNOWN
    setup: Treatment = Treatment.UNKNOWN
    provenance: Provenance = field(default_factory=Provenance)
    assumed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()

    def stated_regime(self, options: ReadOptions) -> Regime | None:
        """The regime that the user or the file states; a rate against clients has S = X(K)/X(K0) under either."""
        load = self.quantity is Quantity.THROUGHPUT and is_load(options.k_unit or self.k_unit or "")
        return options.regime or self.regime or (Regime.STRONG if load else None)

    def study(
        self,
        options: ReadOptions,
        runs: tuple[Run, ...] = (),
        samples: Samples | None = None,
        summary: tuple[Summary, ...] = (),
    ) -> Study:
        """The study of these observations; strong where no regime is stated, which callers must refuse or mark."""
        return Study(
            regime=self.stated_regime(options) or Regime.STRONG,
            quantity=self.quantity or Quantity.SECONDS,
            unit=self.unit,
            k_unit=options.k_unit or self.k_unit or "workers",
            workload=self.workload,
            runs=runs,
            bulk=samples,
            summary=summary,
            baseline=Baseline(k=options.baseline_k),
            warmup=self.warmup,
            setup=self.setup,
            node_size=options.node_size or self.node_size,
            provenance=self.provenance,
        )

    def studies(self, options: ReadOptions) -> Study | StudySet:
        """The study of a table's only curve, or the set of its curves by name, with the reader's findings."""
        studies = {}
        for curve in self.curves:
            own = self if not curve.name else replace(self, workload=replace(self.workload, name=curve.name))
            study = own.study(options, samples=curve.samples, summary=curve.summary)
            studies[curve.name] = study.with_findings(self.findings)
        if len(studies) == 1:
            return next(iter(studies.values()))
        return StudySet(studies=studies, axes={curve.name: curve.axes for curve in self.curves})


def bounded(points: Iterable[Point]) -> tuple[Point, ...]:
    """The points, up to a number that no benchmark's report reaches."""
    kept = tuple(islice(points, MOST_POINTS + 1))
    if len(kept) > MOST_POINTS:
        remedy = "narrow it down, or give the numbers as a CSV with a column for K, which has no such limit"
        raise FormatError(Fault(f"more than {MOST_POINTS} configurations in one file", remedy=remedy))
    return kept


def capped(faults: list[Fault], *, counted_all: bool = True) -> list[Fault]:
    """The first faults, and how many more there are."""
    more = len(faults) - MOST_FAULTS
    if more <= 0:
        return faults
    return [*faults[:MOST_FAULTS], Fault(f"... and {'' if counted_all else 'at least '}{more} more faults")]
