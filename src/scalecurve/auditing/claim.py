"""A claim about scaling: the one schema of claim.toml, of a published table, of "180x on 256" and of a study.

What the claim does not state is None; the audit asks for it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, FiniteFloat, model_validator

from scalecurve.analysis.curve import curve_of
from scalecurve.auditing.figures import PERCENT, SHARE, FigureRange, figure, settle_units
from scalecurve.errors import Fault, InputError
from scalecurve.files import read_toml
from scalecurve.formats.detection import PLAIN, ROWS, STUDY, detect
from scalecurve.formats.loading import load_sources
from scalecurve.formats.reading import ReadOptions
from scalecurve.formats.regime import regime_in
from scalecurve.formats.source import Source, sources_of
from scalecurve.formats.user_file import FileSection, Positive, Whole, template, validate
from scalecurve.study import Quantity, Regime, Run, Study, Treatment

SAME_SIZE, GROWN = 0.02, 1.5  # a size within so much is the same; from this ratio on it may grow with K
IMPLAUSIBLE = 1.2  # an efficiency above this means that S(K0) is K0, not 1
NotNegative = Annotated[FiniteFloat, Field(ge=0)]
SCALED = re.compile(r"\bscaled speed-?ups?\b|\bGustafson", re.IGNORECASE)  # words for weak scaling
HINT = "scalecurve audit --init claim.toml writes one to fill in"


class ClaimPoint(FileSection):
    """One K as it was published; `speedup` and `efficiency` are the published ones, not recomputed.

    `least` and `most` are the seconds of the shortest and the longest run. A figure of 0 is one that was rounded to it.
    A table also keeps the `samples` behind a mean, each figure as `written`, and the unit of its `last_digit`;
    `efficiency_unit` says what the figure of E was: a share, percent, or a speedup in the wrong column.
    """

    k: Whole = Field(examples=[8])
    seconds: NotNegative | None = Field(default=None, description="or rate, rate_per_worker", examples=[60.0])
    rate: NotNegative | None = None
    rate_per_worker: NotNegative | None = None
    std: Annotated[FiniteFloat, Field(ge=0)] | None = Field(default=None, examples=[0.4])
    least: NotNegative | None = None
    most: NotNegative | None = None
    n: Whole | None = Field(default=None, examples=[5])
    speedup: NotNegative | None = Field(default=None, examples=[7.5])
    efficiency: NotNegative | None = Field(default=None, examples=[0.94])
    work: Positive | None = Field(default=None, description="total; or batch = 1024", examples=[1e9])
    batch: Positive | None = None
    iterations: Positive | None = Field(default=None, examples=[500])
    target: str | None = Field(default=None, examples=["75.9 % top-1"])
    machine: str | None = Field(default=None, examples=["cluster A"])
    precision: str | None = None
    threads: Whole | None = Field(default=None, description="per worker", examples=[8])
    answers: tuple[str | float, ...] = Field(
        default=(), description="checksum or result of the runs", examples=[[1.25]]
    )
    oversubscribed: bool = Field(default=False, description="more workers than cores", examples=[False])
    extrapolated: bool = Field(default=False, examples=[False])
    samples: tuple[float, ...] = ()
    written: dict[str, str] = Field(default_factory=dict)
    last_digit: dict[str, float] = Field(default_factory=dict)
    efficiency_unit: Literal["share", "percent", "speedup"] | None = None
    percent_sign: bool = False

    @property
    def size(self) -> float | None:
        """The total work: counted work, or the global batch; None where neither is stated."""
        return self.work if self.work is not None else self.batch

    @property
    def timed(self) -> bool:
        return bool(self.seconds or self.rate or self.rate_per_worker)

    @property
    def spread(self) -> float | None:
        """How far runs differ, as a share of the mean: the standard deviation, or half of longest less shortest."""
        half = None if self.least is None or self.most is None else (self.most - self.least) / 2
        width = half if self.std is None else self.std
        return width / self.seconds if self.seconds and width is not None else None

    def quoted(self, name: str) -> str:
        """A figure as it was written; in its shortest form where only the number is known."""
        return self.written.get(name) or f"{getattr(self, name):g}"

    def with_unit(self, unit: str) -> ClaimPoint:
        """This point with its efficiency as a share, from a figure in another unit or in the wrong column."""
        if self.efficiency is None or unit == SHARE:
            return self.model_copy(update={"efficiency_unit": None if self.efficiency is None else SHARE})
        written = self.written or {"efficiency": f"{self.efficiency:g}"}
        if unit == PERCENT:
            digit = {name: unit / 100 if name == "efficiency" else unit for name, unit in self.last_digit.items()}
            changed: dict[str, Any] = {"efficiency": self.efficiency / 100, "last_digit": digit}
        else:
            speedup = self.efficiency if self.speedup is None else self.speedup
            changed = {"efficiency": None, "speedup": speedup}
        return self.model_copy(update={**changed, "efficiency_unit": unit, "written": written})


class ClaimedBaseline(FileSection):
    """What the K = 1 (or K0) run was."""

    k: Whole | None = Field(default=None, examples=[1])
    description: str | None = Field(default=None, examples=["single-GPU script, tuned"])
    distributed: bool | None = Field(
        default=None, description="distributed code, run with one worker?", examples=[False]
    )
    fastest: bool | None = Field(
        default=None, description="the fastest correct single-worker program?", examples=[True]
    )
    options: tuple[str, ...] = Field(default=(), examples=[["gradient checkpointing"]])
    precision: str | None = Field(default=None, examples=["bf16"])
    hardware: str | None = Field(default=None, examples=["8x H100"])


class ClaimedMeasurement(FileSection):
    """How the numbers were measured."""

    warmup: Treatment = Field(
        default=Treatment.UNKNOWN, description="excluded, included or unknown", examples=["excluded"]
    )
    setup: Treatment = Field(default=Treatment.UNKNOWN, examples=["excluded"])
    repeats: Whole | None = Field(default=None, examples=[5])
    fresh_launches: bool | None = Field(default=None, examples=[True])
    spread_reported: bool | None = Field(default=None, examples=[True])


class ClaimedEnvironment(FileSection):
    """On what the numbers were measured."""

    hardware: str | None = Field(default=None, examples=["8x H100 per node, 400 Gb/s"])
    software: str | None = Field(default=None, examples=["torch 2.13, NCCL 2.27"])
    clusters: Whole | None = Field(default=None, examples=[1])


class ClaimedFigure(FileSection):
    """What the published figure shows."""

    ideal_line: bool | None = Field(default=None, examples=[True])


class Claim(FileSection):
    """Published numbers and what their author states about them."""

    name: str = Field(default="claim", examples=["vendor slide"])
    kind: Literal["claim", "table", "study"] = "claim"
    statement: str | None = Field(default=None, examples=["near-linear 180x speedup"])
    source: str | None = Field(default=None, examples=["where it was read"])
    regime: Literal["strong", "weak"] | None = Field(
        default=None, description="strong: total work fixed; weak: work per worker fixed", examples=["strong"]
    )
    k_unit: str = Field(default="workers", examples=["gpus"])
    communication_free: bool = Field(default=False, description="the claim says so", examples=[False])
    precision: str | None = Field(default=None, examples=["bf16"])
    workload: str | None = Field(default=None, examples=["ResNet-50, ImageNet, 90 epochs"])
    workload_fixed: bool | None = Field(default=None, description="the same job at every K", examples=[True])
    strong_also: bool | None = Field(
        default=None, description="a weak claim that also gives a strong curve", examples=[False]
    )
    workers: Whole | None = Field(default=None, description="a bare claim: one K", examples=[256])
    speedup: NotNegative | None = Field(default=None, examples=[180])
    efficiency: NotNegative | None = Field(default=None, examples=[0.7])
    baseline: ClaimedBaseline = ClaimedBaseline()
    measurement: ClaimedMeasurement = ClaimedMeasurement()
    environment: ClaimedEnvironment = ClaimedEnvironment()
    figure: ClaimedFigure = ClaimedFigure()
    points: tuple[ClaimPoint, ...] = Field(
        (), description="or a table: one block for each K, with what the claim gives"
    )

    @model_validator(mode="after")
    def _with_plain_points(self) -> Claim:
        """`workers` with its speedup or efficiency is a point like any other, and every efficiency a share."""
        points, words = self.points, f"{self.statement or ''}; {self.name}"
        both = {"strong", "weak"} <= set(re.findall("strong|weak", words.lower()))
        said = regime_in(words) or (Regime.WEAK if SCALED.search(words) else None)
        if self.regime is None and said and not both:
            object.__setattr__(self, "regime", said.value)
        if self.workers is not None and all(point.k != self.workers for point in points):
            points = (*points, ClaimPoint(k=self.workers, speedup=self.speedup, efficiency=self.efficiency))
            object.__setattr__(self, "points", points)
        if self.kind != "study":
            units = settle_units(points, self.baseline_k, self.regime)
            plain = tuple(point.with_unit(unit) for point, unit in zip(points, units, strict=True))
            object.__setattr__(self, "points", plain)
            self.__dict__.pop("baseline_k", None)  # it was that of the points as written
        return self

    @cached_property
    def baseline_k(self) -> int:
        """K0: as stated; else the smallest K of a table whose own figures there say 1, or that has only times."""
        if self.baseline.k is not None:
            return self.baseline.k
        if len(self.points) < 2:
            return 1
        first = min(self.points, key=lambda point: point.k)
        relative = [getattr(first, name) for name in ("speedup", "efficiency") if getattr(first, name) is not None]
        if first.k == 1 or not relative:
            return first.k if first.k == 1 or sum(point.timed for point in self.points) > 1 else 1
        is_base = any(span.contains(1.0) for name in ("speedup", "efficiency") if (span := figure(first, name)))
        is_base = is_base or (first.efficiency is not None and abs(first.efficiency - 100) <= 0.5)
        return first.k if is_base else 1

    @cached_property
    def speedup_factor(self) -> float:
        """What S/K is multiplied by to give E: 1 where S(K0) = K0, else K0 (S(K0) = 1)."""
        k0 = self.baseline_k
        base = self.at(k0)
        own = None if base is None else figure(base, "speedup")
        if k0 == 1:
            return 1.0
        if own is not None and (own.contains(k0) or own.contains(1.0)):
            return 1.0 if own.contains(k0) else float(k0)
        largest = max(((point.speedup or 0.0) * k0 / point.k for point in self.points), default=0.0)
        return 1.0 if largest > IMPLAUSIBLE else float(k0)

    def at(self, k: int) -> ClaimPoint | None:
        return self._by_k.get(k)

    @cached_property
    def _by_k(self) -> dict[int, ClaimPoint]:
        """The first point of each K."""
        return {point.k: point for point in reversed(self.points)}

    def efficiency_of(self, point: ClaimPoint) -> float | None:
        """E from the times or rates where the baseline's are stated too, else from the speedup, else as published.

        Where times are rounded more coarsely than a speedup or efficiency that agrees with them, that one counts.
        """
        choice = self._finest_efficiency(point)
        return None if choice is None else choice[0]

    def least_efficiency(self, point: ClaimPoint) -> float:
        """The smallest E that the rounding of the printed figures leaves; 0 where none is stated."""
        choice = self._finest_efficiency(point)
        return 0.0 if choice is None else choice[1].low

    def _finest_efficiency(self, point: ClaimPoint) -> tuple[float, FigureRange] | None:
        """E with what its rounding leaves, from the finest of the figures that agree with the first one stated."""
        measured, share = self._measured_efficiency(point), self.speedup_factor / point.k
        speedup, printed = figure(point, "speedup"), figure(point, "efficiency")
        ways = [
            measured,
            None if speedup is None else ((point.speedup or 0.0) * share, speedup.times(share)),
            None if printed is None else (point.efficiency or 0.0, printed),
        ]
        stated = [way for way in ways if way is not None]
        agreeing = [way for way in stated if stated[0][1].agrees(way[1])]
        return min(agreeing, key=lambda way: way[1].high - way[1].low, default=None)

    def _measured_efficiency(self, point: ClaimPoint) -> tuple[float, FigureRange] | None:
        """E from the first of times, rates and rates per worker that this point and the baseline both state."""
        base = self.at(self.baseline_k)
        if base is None or base is point:
            return None
        names = ("seconds", "rate", "rate_per_worker") if self.reading_of_times else ("rate", "rate_per_worker")
        for name in names:
            own, first = figure(point, name), figure(base, name)
            if own is None or first is None:
                continue
            is_time = name == "seconds"
            level = name == "rate_per_worker" or (is_time and self.reading_of_times == "weak")
            share = 1.0 if level else base.k / point.k
            spans = first.over(own) if is_time else own.over(first)
            return spans.printed * share, spans.times(share)
        return None

    @cached_property
    def reading_of_times(self) -> str | None:
        """The regime in which the times are read: as stated, else the only one that fits them and the stated sizes.

        Times that fall give an E far above 1 under weak scaling, so that they are strong.  Times that do not fall may
        be either: E is not known until the regime or the sizes are stated.
        """
        base = self.at(self.baseline_k)
        if self.regime or base is None or not base.seconds:
            return self.regime
        if any(point.seconds and base.seconds / point.seconds > IMPLAUSIBLE for point in self.points):
            return "strong"
        sizes = {point.size for point in self.points}
        fixed = "strong" if len(sizes) == 1 and None not in sizes else None
        return "weak" if self.may_be_weak else fixed

    @property
    def counts_threads(self) -> bool:
        """Whether K counts threads or cores, so that more threads of a worker are a larger K."""
        return self.k_unit.startswith(("thread", "core", "cpu"))

    @property
    def may_be_weak(self) -> bool:
        """Whether the regime is weak, or is not stated while the stated work or batch grows with K."""
        grows = len(self.sizes) > 1 and self.sizes[-1][1] > GROWN * self.sizes[0][1]
        return self.regime == "weak" or (self.regime is None and grows)

    @cached_property
    def curve(self) -> tuple[tuple[ClaimPoint, float], ...]:
        """Every point beyond the baseline with its E above 0, K rising."""
        points = sorted(self.points, key=lambda point: point.k)
        shares = ((point, self.efficiency_of(point)) for point in points if point.k != self.baseline_k)
        return tuple((point, e) for point, e in shares if e)

    @cached_property
    def batch_is_no_work(self) -> bool:
        """Whether a batch grows as K while the times fall more than half as fast as 1/K: those of a fixed number of
        samples, not of one batch."""
        points = sorted((p for p in self.points if p.seconds and p.batch), key=lambda point: point.k)
        if len(points) < 2 or points[0].k == points[-1].k or any(p.work is not None for p in self.points):
            return False
        first, last = points[0], points[-1]
        grows = math.isclose((last.batch or 0.0) / (first.batch or 1.0), last.k / first.k, rel_tol=SAME_SIZE)
        return grows and (first.seconds or 0.0) / (last.seconds or 1.0) > math.sqrt(last.k / first.k)

    @cached_property
    def sizes(self) -> tuple[tuple[int, float], ...]:
        """The total work of every point that states it, K rising."""
        if self.batch_is_no_work:
            return ()
        points = sorted(self.points, key=lambda point: point.k)
        return tuple((point.k, point.size) for point in points if point.size is not None)

    @cached_property
    def steps(self) -> tuple[str, ...]:
        """Between neighbours: "fixed" where the total work stays, "grows" where that of a worker does, or "other"."""
        kinds = []
        for (k_a, a), (k_b, b) in pairwise(self.sizes):
            off, kind = min((abs(b / a - 1), "fixed"), (abs(b / a * k_a / k_b - 1), "grows"))
            kinds.append(kind if off <= SAME_SIZE else "other")
        return tuple(kinds)


def claim_template() -> str:
    """A claim.toml to fill in."""
    head = "A scaling claim for `scalecurve audit`. Delete what the claim does not state: the audit asks for it."
    return template(Claim, head, filled=("name", "statement", "source", "k_unit", "workers", "speedup"))


def load_claim(
    source: str | Path | None = None,
    *,
    workers: int | None = None,
    speedup: float | None = None,
    efficiency: float | None = None,
    regime: str | None = None,
    options: ReadOptions | None = None,
) -> Study | Claim:
    """A study file, a claim as TOML or JSON, or a published table; `options` say how a table is read.

    Without a source it is the bare claim `workers=256, speedup=180`.
    """
    options = options or ReadOptions.checked(regime=regime)
    if source is None:
        return _bare_claim(workers, speedup, efficiency, options)
    if Path(source).suffix == ".toml":
        return validate(Claim, read_toml(Path(source), hint=HINT), subject=str(source))
    file, *more = sources_of([source])
    if more:
        return _curve([file, *more], options)
    content = file.json
    if isinstance(content, Mapping) and "format" not in content and content.keys() & {"workers", "points", "statement"}:
        return validate(Claim, {"regime": options.regime_word, **content}, subject=file.name)
    format_name = detect(file).name
    if format_name == STUDY:
        return _curve([file], replace(options, regime=None))  # it states its own
    of_study = (options.series, options.k_from, options.baseline_k, options.node_size)
    if format_name not in (PLAIN, ROWS) or any(item is not None for item in of_study):
        return _curve([file], options)  # what these say is of a study; a claim has no place for it
    from scalecurve.auditing.claim_table import read_claim_table

    claim = read_claim_table(file, options)
    return _one_curve(file, options, claim) or claim


def _bare_claim(workers: int | None, speedup: float | None, efficiency: float | None, options: ReadOptions) -> Claim:
    """`180x on 256` as a claim."""
    faults = []
    if workers is None or workers < 1:
        faults.append(Fault("a bare claim needs its number of workers", value=str(workers), remedy="--workers 256"))
    if speedup is None and efficiency is None:
        faults.append(Fault("a bare claim needs a speedup or an efficiency", remedy="--speedup 180"))
    for name, value in (("speedup", speedup), ("efficiency", efficiency)):
        if value is not None and not 0 < value < float("inf"):
            faults.append(Fault(f"the {name} is not above 0", value=f"{value:g}", remedy="give a positive number"))
    if faults:
        raise InputError(faults)
    unit = options.k_unit or "workers"
    result = f"{speedup:g}x" if speedup is not None else f"E = {efficiency:g}"
    data: dict[str, Any] = {"name": f"{result} on {workers} {unit}", "regime": options.regime_word, "k_unit": unit}
    data |= {"workers": workers, "speedup": speedup, "efficiency": efficiency}
    return validate(Claim, data, subject="claim")


def claim_from(fields: object) -> Claim:
    """The claim in a mapping with the fields of a claim.toml; anything else is refused with what an audit takes."""
    if isinstance(fields, Mapping) and all(isinstance(name, str) for name in fields):
        return validate(Claim, dict(fields), subject="claim")
    remedy = "give a Study, a path, a Claim, or a mapping with the fields of a claim.toml"
    raise InputError(Fault("this cannot be audited", value=repr(fields)[:80], remedy=remedy))


def _curve(files: Sequence[Source], options: ReadOptions) -> Study:
    """The one curve of a source; several are refused, never pooled."""
    loaded = load_sources(files, options)
    if isinstance(loaded, Study):
        return loaded
    names = ", ".join(loaded.names)
    raise InputError(Fault("the table holds several curves", value=names, remedy=f"--series {loaded.names[0]!r}"))


def _one_curve(file: Source, options: ReadOptions, claim: Claim) -> Study | None:
    """The table as a study where rows of it do not count; a table of several curves is refused, never pooled."""
    with_regime = replace(options, regime=options.regime or Regime.STRONG)
    try:
        table = load_sources([file], with_regime)
    except InputError:
        if any(point.samples for point in claim.points):
            raise  # rows of one K that are no repeats of one another
        return None  # a table of speedups or efficiencies alone is a claim, not a study
    table = table if isinstance(table, Study) else _curve([file], with_regime)
    marked = any(item.code == "rows-left-out" and "count" in item.evidence for item in table.findings)
    return table if marked else None  # failed runs and warm-ups; cells without a figure are no points of a claim either


def claim_of(study: Study) -> Claim:
    """What a study says of itself, as the audit asks for it."""
    runs_by_k: dict[int, list[Run]] = {}
    for run in study.runs:
        if run.counts:
            runs_by_k.setdefault(run.k, []).append(run)
    quantity = {
        Quantity.SECONDS: "seconds",
        Quantity.THROUGHPUT: "rate",
        Quantity.THROUGHPUT_PER_WORKER: "rate_per_worker",
    }[study.quantity]
    # `scalecurve measure` has compared the answers already, with its own tolerance; its findings say so.
    compared = study.provenance.tool == "scalecurve measure"
    summary = curve_of(study)
    points = []
    for k, n, mean, std in zip(summary.k, summary.n, summary.mean, summary.std, strict=True):
        facts = _facts(runs_by_k.get(int(k), [])) | {quantity: float(mean)}
        if compared:
            del facts["answers"]
        points.append(ClaimPoint(k=int(k), n=int(n), std=float(std) if n > 1 else None, **facts))
    job, machine = study.workload, study.provenance
    itself = f"the job itself at K = {study.baseline_k}" if job.command else None
    return Claim(
        name=study.name,
        kind="study",
        source=machine.source,
        regime=study.regime.value,
        k_unit=study.k_unit,
        points=tuple(points),
        baseline=ClaimedBaseline(k=study.baseline_k, description=study.baseline.description or itself),
        workload=job.description or (" ".join(job.command) or None),
        workload_fixed=True if job.total or job.per_worker or job.command else None,
        measurement=ClaimedMeasurement(
            warmup=study.warmup, setup=study.setup, fresh_launches=True if study.runs else None
        ),
        environment=ClaimedEnvironment(hardware=_listed(machine.machine), software=_listed(machine.software)),
    )


def _facts(runs: Sequence[Run]) -> dict[str, Any]:
    """What the runs of one K say of the job, as fields of its point."""
    threads = {run.placement.threads_per_rank for run in runs if run.placement} - {None}
    return {
        "work": runs[0].work if runs and all(run.work for run in runs) else None,
        "threads": threads.pop() if len(threads) == 1 else None,
        "answers": tuple(dict.fromkeys(run.digest for run in runs if run.digest is not None)),
        "oversubscribed": any(run.oversubscribed for run in runs),
    }


def _listed(facts: Mapping[str, Any]) -> str | None:
    return ", ".join(f"{name} {value}" for name, value in facts.items() if isinstance(value, str | int)) or None
