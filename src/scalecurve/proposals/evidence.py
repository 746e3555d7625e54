"""Efficiency over K: stated, measured in a study, or computed from parts.

Where nobody has measured, serial share, exchange and stragglers are put together:

    strong   T(K)/T(1) = s + (1 - s)/K x M(K) + c(K)          weak   T(K)/T(1) = s + (1 - s) M(K) + c(K)

M(K) is the expected maximum of K workers' times in means (lognormal with the stated spread), c(K) the part of the
collective that is not hidden, in units of the step on one worker.  Parts that are not stated are left out, and the
efficiency is then an upper bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, FiniteFloat, model_validator

from scalecurve.analysis.table import tabulate
from scalecurve.document import JsonRecord
from scalecurve.errors import Fault, InputError, ScalecurveError
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding
from scalecurve.formats.loading import as_study
from scalecurve.formats.user_file import FileSection, Positive, Share, Text
from scalecurve.laws.collectives import as_operation, best, cost
from scalecurve.laws.stragglers import lognormal_maximum
from scalecurve.planning.curve import curve_of_study
from scalecurve.study import Quantity, Regime, Study
from scalecurve.units import parse_workers

if TYPE_CHECKING:
    from scalecurve.proposals.proposal import Proposal, StepExchange

FEWEST_K = 4
SERIAL_NAMES = ("serial", "contention")  # contention is what the universal law calls it


Efficiency = Annotated[FiniteFloat, Field(gt=0, le=2)]
Workers = Annotated[int, Field(ge=1, le=10**9)]


class StatedSection(FileSection):
    """A section; `source` says who stands behind its numbers."""

    source: Text = "stated"


def check_range(low: float | None, value: float | None, high: float | None) -> None:
    """Refuse a value outside its range, or a range with one end."""
    if value is None or (low is None and high is None):
        return
    if low is None or high is None or not low <= value <= high:
        raise ValueError(f"a range is low <= value <= high, with both ends (got {low}, {value}, {high})")


class SerialShare(StatedSection):
    """The share of the work that does not divide, with its range."""

    share: Share = Field(examples=[0.05])
    low: Share | None = Field(default=None, examples=[0.03])
    high: Share | None = Field(default=None, examples=[0.08])
    source: Text = Field(default="stated", examples=["profile of one training step"])

    @model_validator(mode="after")
    def _ordered(self) -> SerialShare:
        check_range(self.low, self.share, self.high)
        return self


@dataclass(frozen=True, kw_only=True)
class EfficiencyPoint(JsonRecord):
    """Efficiency at K relative to K0; `value` is None where only the bound `low` or `high` is stated."""

    k: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    kind: str = "stated"
    seconds: Estimate | None = None

    JSON = "k efficiency=value low high kind seconds"

    @property
    def at_least(self) -> float | None:
        return self.value if self.value is not None else self.low

    @property
    def at_most(self) -> float | None:
        return self.value if self.value is not None else self.high

    @property
    def text(self) -> str:
        """E with its interval or bound."""
        name = f"E({self.k})"
        if self.value is None:
            return f"{name} of at least {self.low:g}" if self.low is not None else f"{name} of at most {self.high:g}"
        if self.low is not None and self.high is not None:
            return f"{name} = {self.value:.2f} ({self.low:.2f} to {self.high:.2f})"
        return f"{name} = {self.value:.2f}" if self.value >= 0.1 else f"{name} = {self.value:.3f}"

    def reaches(self, floor: float) -> bool | None:
        """Whether E >= floor; None where the value or the bound does not decide it."""
        if self.at_least is not None and self.at_least >= floor:
            return True
        if self.at_most is not None and (self.at_most < floor or (self.value is None and self.at_most <= floor)):
            return False
        return None

    def unsure(self, floor: float) -> bool:
        """Whether the interval of E contains the floor, although the value alone would decide."""
        return None not in (self.value, self.low, self.high) and (self.low or 0) < floor <= (self.high or 0)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Efficiency over K in one regime, from one source.

    `beyond` answers for K that are not among the points (an interpolation, a forecast, a model), or returns None.
    `serial` is the serial share fitted to the same data, where there is one.
    """

    regime: Regime
    baseline_k: int
    points: tuple[EfficiencyPoint, ...]
    source: str
    beyond: Callable[[int], EfficiencyPoint | None] | None = None
    serial: SerialShare | None = None
    findings: tuple[Finding, ...] = ()

    def __post_init__(self) -> None:
        ordered = tuple(sorted(self.points, key=lambda point: point.k))
        object.__setattr__(self, "points", ordered)
        repeated = [a.k for a, b in pairwise(ordered) if a.k == b.k]
        if repeated:
            listed = ", ".join(map(str, repeated))
            raise InputError(Fault("a K is stated twice", where=f"{self.regime}.points", value=listed))

    def at(self, k: int) -> EfficiencyPoint | None:
        for point in self.points:
            if point.k == k:
                return point
        return None if self.beyond is None else self.beyond(k)

    def bend(self, threshold: float) -> tuple[int, int | None] | None:
        """The first point with E below the threshold, as its K, and the largest K before it that reaches it."""
        reached: int | None = None
        for point in self.points:
            decided = point.reaches(threshold)
            if decided is False:
                return point.k, reached
            reached = point.k if decided else reached
        return None

    def largest_reaching(self, floor: float, *, most: int | None = None) -> EfficiencyPoint | None:
        """The point of the largest K with E >= floor, before the first that falls below it."""
        largest = None
        for point in self.points:
            if point.reaches(floor) is False:
                break
            if point.reaches(floor) and (most is None or point.k <= most):
                largest = point
        return largest


def evidence_of_study(study: Study) -> Evidence:
    """Every measured K with its interval; other K by interpolation or forecast, or not at all."""
    measured = tabulate(study)
    timed = study.quantity is Quantity.SECONDS
    points = []
    for row in measured.rows:
        e, seconds = row.efficiency, row.mean if timed else None
        points.append(EfficiencyPoint(k=row.k, value=e.value, low=e.low, high=e.high, kind="measured", seconds=seconds))
    return Evidence(
        regime=study.regime,
        baseline_k=study.baseline_k,
        points=tuple(points),
        source=f"study {study.name}",
        beyond=cache(lambda k: unmeasured(study, k)),
        serial=fitted_serial(study),
        findings=measured.findings,
    )


def unmeasured(study: Study, k: int) -> EfficiencyPoint | None:
    """An unmeasured K through the curve that prices it; None where the data cannot support it."""
    try:
        curve = curve_of_study(study, at=[k], work_per_job=1.0)
        point, base = curve.point(k), curve.point(study.baseline_k)
    except ScalecurveError:
        return None
    work = base.seconds.value * study.baseline_k / k
    # The curve is per result; under weak scaling the job at K holds K/K0 of them.
    per_job = point.seconds if study.regime is Regime.STRONG else point.seconds.scaled(k / study.baseline_k)
    low, high = point.seconds.low, point.seconds.high
    bounded = low is not None and high is not None and low > 0
    return EfficiencyPoint(
        k=k,
        value=work / point.seconds.value,
        low=work / high if bounded and high else None,
        high=work / low if bounded and low else None,
        kind=str(point.kind),
        seconds=per_job if study.quantity is Quantity.SECONDS else None,
    )


def fitted_serial(study: Study) -> SerialShare | None:
    """The serial share of the law that fits best, over all laws that fit as well; None where none has one."""
    from scalecurve.fitting.fit import fit

    if study.regime is not Regime.STRONG or len(study.all_k) < FEWEST_K:
        return None
    try:
        fits = fit(study)
    except ScalecurveError:
        return None
    good = [law for law in fits if law.name in (fits.tied or (fits.laws[0].name,))]
    shares = [(law.name, law.parameters[name]) for law in good for name in SERIAL_NAMES if name in law.parameters]
    if not shares:
        return None
    lows = [share.low for _, share in shares if share.low is not None]
    highs = [share.high for _, share in shares if share.high is not None]
    source = f"fit of {', '.join(name for name, _ in shares)} to study {study.name}"
    low, high = min(lows, default=None), max(highs, default=None)
    return SerialShare.model_construct(share=shares[0][1].value, low=low, high=high, source=source)  # may exceed 1


class StatedPoint(FileSection):
    """The efficiency at one K by exactly one of five numbers; low and high may stand beside efficiency."""

    k: Workers
    efficiency: Efficiency | None = None
    speedup: Positive | None = None
    relative_speedup: Positive | None = None
    at_least: Efficiency | None = None
    below: Efficiency | None = None
    low: Efficiency | None = None
    high: Efficiency | None = None

    @model_validator(mode="after")
    def _one_number(self) -> StatedPoint:
        numbers = (self.efficiency, self.speedup, self.relative_speedup, self.at_least, self.below)
        if sum(number is not None for number in numbers) != 1:
            raise ValueError("state exactly one of efficiency, speedup, relative_speedup, at_least, below")
        return self


POINTS = [{"k": 64, "efficiency": 0.87, "low": 0.85, "high": 0.89}, {"k": 128, "below": 0.85}]


class StatedCurve(StatedSection):
    """Efficiencies over K: a study beside the file, or points."""

    study: Path | None = Field(default=None, description="or a plain CSV, or points instead", examples=["study.json"])
    baseline: Workers = Field(default=1, description="K0 of the points", examples=[1])
    source: Text = Field(default="stated", examples=["our benchmark"])
    points: tuple[StatedPoint, ...] = Field(
        default=(), description="or at_least, speedup, relative_speedup", examples=[POINTS]
    )

    @model_validator(mode="after")
    def _one_source(self) -> StatedCurve:
        if (self.study is None) == (not self.points):
            raise ValueError("give one of study and points")
        return self

    def evidence(self, regime: Regime) -> Evidence:
        """The study's efficiencies, or the stated ones with E(K0) = 1."""
        if self.study is not None:
            try:
                study = as_study(self.study)
            except InputError:  # a plain table does not state its regime: it takes the section's
                study = as_study(self.study, regime=str(regime))
            if study.regime is not regime:
                raise InputError(
                    Fault(
                        "the study is of the other regime",
                        where=str(regime),
                        value=str(study.regime),
                        remedy="name a study of this regime",
                    )
                )
            return evidence_of_study(study)
        points = []
        for entry in self.points:
            value, low, high = entry.efficiency, entry.low, entry.high
            if entry.at_least is not None or entry.below is not None:
                low, high = entry.at_least, entry.below
            elif value is None:
                value = (entry.speedup or (entry.relative_speedup or 0.0) * self.baseline) / entry.k
            points.append(EfficiencyPoint(k=entry.k, value=value, low=low, high=high))
        if all(point.k != self.baseline for point in points):
            points.append(EfficiencyPoint(k=self.baseline, value=1.0, kind="by definition"))
        return Evidence(regime=regime, baseline_k=self.baseline, points=tuple(points), source=self.source)


def exchange_seconds(exchange: StepExchange, k: int) -> tuple[str, float]:
    """The algorithm and the seconds of one collective among K workers, the hidden share left out."""
    operation = as_operation(exchange.operation)
    if exchange.algorithm is None:
        choice = best(operation, k, exchange.bytes, exchange.links)
    else:
        choice = cost(operation, exchange.algorithm, k, exchange.bytes, exchange.links)
    return choice.algorithm, choice.seconds * (1.0 - exchange.hidden)


slowest_of = lru_cache(maxsize=4096)(lognormal_maximum)  # trying out other inputs asks for the same maximum again


def time_ratio(k: int, regime: Regime, *, serial: float, exchange: StepExchange | None, spread: float | None) -> float:
    """T(K)/T(1) by the formula above."""
    slowest = 1.0 if spread is None or k == 1 else slowest_of(k, spread)
    parallel = (1.0 - serial) * slowest / (k if regime is Regime.STRONG else 1)
    exposed = 0.0 if exchange is None or k == 1 else exchange_seconds(exchange, k)[1] / exchange.step_time
    return serial + parallel + exposed


def model_evidence(proposal: Proposal, regime: Regime, *, quick: bool = False) -> Evidence | None:
    """The model as evidence, on doublings unless `quick`; None without a serial share, which is never assumed."""
    if proposal.serial is None:
        return None
    named = {k for k in (proposal.workers, proposal.workers_today) if k is not None}
    grid = [] if quick else sorted({*parse_workers(f"1..{max(named)}"), *named})
    parts = ["serial share"]
    parts += ["exchange"] if proposal.collective is not None else []
    parts += ["stragglers"] if proposal.spread is not None else []
    return Evidence(
        regime=regime,
        baseline_k=1,
        points=tuple(modelled(proposal, regime, k) for k in grid),
        source=f"model of {', '.join(parts)} ({proposal.serial.source})",
        beyond=lambda k: modelled(proposal, regime, k),
    )


def modelled(proposal: Proposal, regime: Regime, k: int) -> EfficiencyPoint:
    """E at K by the model; its interval has every ranged input at its worse and at its better end."""
    serial, spread = proposal.serial, proposal.stragglers
    if serial is None:
        raise InputError("a model needs a serial share")
    work = k if regime is Regime.STRONG else 1

    def efficiency(share: float, spread: float | None) -> float:
        return 1.0 / (time_ratio(k, regime, serial=share, exchange=proposal.collective, spread=spread) * work)

    value, low, high = efficiency(serial.share, proposal.spread), None, None
    worst = best_spread = proposal.spread
    if spread is not None and spread.spread is not None and spread.low is not None:
        worst, best_spread = spread.high, spread.low
    if k > 1 and (serial.low is not None or worst != best_spread):
        low = efficiency(serial.share if serial.high is None else serial.high, worst)
        high = efficiency(serial.share if serial.low is None else serial.low, best_spread)
    seconds = None
    if proposal.time_at_baseline is not None:
        seconds = Estimate(proposal.time_at_baseline / work / value, method="model")
        if low is not None and high is not None:
            ends = (seconds.value * value / high, seconds.value * value / low)
            seconds = Estimate(seconds.value, *ends, None, "model, stated ranges")
    return EfficiencyPoint(k=k, value=value, low=low, high=high, kind="model", seconds=seconds)
