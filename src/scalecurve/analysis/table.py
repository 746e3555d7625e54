"""The speedup table: T, S and E at every measured K without any model (formulas in `curve`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Self

import numpy as np

from scalecurve.analysis.checks import check_shape, check_table, common_spread, implausible, spread_of_neighbours
from scalecurve.analysis.curve import (
    LARGEST_LOG,
    NEIGHBOUR_CHANCE,
    WELCH_LOG,
    Bend,
    Curve,
    curve_of,
    find_bend,
    log_ratio,
    median_curve,
    median_of,
    ratio_of,
)
from scalecurve.analysis.load import answer_of_load
from scalecurve.analysis.order import PAIRED, Blocks, blocks_of, check_order
from scalecurve.document import (
    MEASURE_NEXT,
    Answer,
    Block,
    Cell,
    Column,
    Document,
    FindingList,
    JsonRecord,
    Paragraph,
    Result,
    Tone,
    and_list,
    repeat_at,
    table,
)
from scalecurve.errors import Fault, InputError
from scalecurve.estimate import Estimate, exact
from scalecurve.findings import Finding
from scalecurve.formats.loading import StudyLike, as_study
from scalecurve.laws.amdahl import serial_fraction
from scalecurve.study import Quantity, Regime, Study
from scalecurve.study.study import is_load, what_scales
from scalecurve.units import as_number, level_faults, rates_alike
from scalecurve.words import chance_words, limit_words, percent, unit_words, workers_text

SEED = 7
NORMAL = "normal: z std/sqrt(n)"
STUDENT = "Student's t on the logarithm of the mean"
STATISTICS = ("mean", "median")
INTERVALS = ("student", "normal")
LARGEST_FIXED = 1e7
MOST_RANKED = 100_000  # samples, up to which medians stand beside the means
UNDECIDED = "cannot say"
LEAST_LINEAR, LINEAR = 8, 0.99  # from this K on such an efficiency is rare enough to doubt the baseline
EVENS = 0.5  # a bend below this chance is rather another one
_TONES: dict[str, Tone] = {"ok": "good", "below": "bad", "superlinear": "warn", UNDECIDED: "warn"}


@dataclass(frozen=True, kw_only=True)
class TableRow(JsonRecord):
    """T, S and E at one K, S and E of the means or of the medians.

    `sure` is False where the interval of E contains the threshold, None without interval.
    """

    k: int
    n: int
    mean: Estimate
    median: Estimate | None
    std: float | None
    speedup: Estimate
    relative_speedup: float
    efficiency: Estimate
    verdict: str
    sure: bool | None
    karp_flatt: float | None = None
    oversubscribed: bool = False
    disturbed: bool = False

    JSON = """
        k n mean* median* std speedup* relative_speedup efficiency* verdict sure karp_flatt oversubscribed
        disturbed"""


@dataclass(frozen=True, kw_only=True, repr=False)
class SpeedupTable(Result):
    """T, S and E for every measured K, each with its interval, and the bend."""

    name: str
    regime: Regime
    quantity: Quantity
    k_unit: str
    unit: str | None
    baseline_k: int
    threshold: float
    level: float
    rule: str
    method: str
    bend: Bend | None
    rows: tuple[TableRow, ...]
    findings: tuple[Finding, ...]
    karp_flatt: bool = False
    statistic: str = "mean"
    simultaneous: bool = False
    no_bend: float | None = None
    mfu: Mapping[int, float] | None = None  # by K, of a training job: the share of the peak that its model's FLOP take

    JSON = """
        name regime quantity k_unit baseline_k threshold level method statistic simultaneous bend
        no_bend_probability=no_bend rows mfu findings"""

    def row(self, k: int) -> TableRow:
        """The row at K; InputError where K was not measured."""
        for row in self.rows:
            if row.k == k:
                return row
        remedy = f"measured are K = {', '.join(str(row.k) for row in self.rows)}"
        raise InputError(Fault("this K was not measured", value=str(k), remedy=remedy))

    @property
    def answer(self) -> Answer:
        """How many workers to use, by the rule of the bend."""
        last = self.rows[-1]
        if any(row.disturbed for row in self.rows):
            return self._answer_of_disturbed()
        if is_load(self.k_unit):
            return answer_of_load(self)
        if self.bend is None:
            use, share = workers_text(last.k, self.k_unit), self._share(last.efficiency.value)
            return Answer(
                decision=f"Use all {use}: efficiency is {share} there{self._threshold_words()}.",
                confidence=self._confidence(self.no_bend),
                reason=f"The speedup is {last.speedup.value:.4g}; no measured K is past the bend ({rule_words(self)})."
                + self._baseline_words(),
                next="`scalecurve audit STUDY` says what makes a perfectly linear curve suspect"
                if last.k >= LEAST_LINEAR and last.efficiency.value > LINEAR
                else f"`scalecurve forecast STUDY --at {2 * last.k}` says what twice as many would give",
            )
        fastest = max(self.rows, key=lambda row: row.speedup.value)
        if self.bend.probability is not None and self.bend.probability < EVENS:
            return self._answer_of_noise(self.bend)
        return Answer(
            decision=self._decision(self.row(self.bend.k)),
            confidence=self._confidence(self.bend.probability),
            reason=f"The speedup peaks at {fastest.speedup.value:.4g} with {workers_text(fastest.k, self.k_unit)}."
            + self._baseline_words(),
            next=self._next_step(self.bend.k),
        )

    def _answer_of_noise(self, bend: Bend) -> Answer:
        """The largest K that probably holds its efficiency, where no K is likelier than not to be the bend."""
        chances = {bend.k: bend.probability or 0.0, **dict(bend.neighbours)}
        names = [f"{k:,} ({percent(chances[k])})" for k in sorted(chances, key=lambda k: -chances[k])]
        if (bend.beyond or 0.0) >= NEIGHBOUR_CHANCE:
            names.append(f"beyond {self.rows[-1].k:,} ({percent(bend.beyond or 0.0)})")
        holds = {row.k: 1 - sum(chances[k] for k in chances if k <= row.k) for row in self.rows}
        good = max(k for k in holds if holds[k] >= EVENS)
        sure = f" ({percent(holds[good])} sure)" if holds[good] < 1 else ""
        first = f"Use up to {workers_text(good, self.k_unit)}{sure}: the bend may be at K = {', '.join(names[:3])}."
        also = f"; it may also be at K = {', '.join(names[3:])}" if names[3:] else ""
        return Answer(
            decision=first,
            reason=f"The bend is the {rule_words(self)}{also}.",
            next=f"for the bend, {repeat_at(chances)}",
        )

    def _answer_of_disturbed(self) -> Answer:
        """What the bounds of E on a quiet machine decide, or what they leave open."""
        cores = max(own.evidence.get("foreign_cores", 0.0) for own in self.findings if own.code == "disturbed")
        others = f"other programs used {cores:.1f} cores" if cores else "other programs disturbed the runs"
        if servers := {name for own in self.findings for name in own.evidence.get("servers", ())}:
            whose = "serves" if len(servers) == 1 else "serve"
            others = f"other programs ({and_list(sorted(servers))} {whose} this job) used {cores:.1f} cores"
        listed = ", ".join(f"{row.k:,}" for row in self.rows if row.disturbed)
        rows, last = [row for row in self.rows if row.k != self.baseline_k], self.rows[-1]
        held = list(takewhile(lambda row: row.verdict in ("ok", "superlinear"), rows))
        rest = rows[len(held) :]
        measured = last.relative_speedup * self.baseline_k  # S lies within its bounds, this as it was
        return Answer(
            decision=self._decision_of_disturbed((held or self.rows[:1])[-1], rest, others, listed),
            confidence=f"From how long the job waited for cores: {others} at K = {listed}." if not rest else None,
            reason=f"As measured, beside other programs, the speedup is {measured:.3g} at K = {last.k:,}.",
        )

    def _decision_of_disturbed(self, good: TableRow, rest: list[TableRow], others: str, listed: str) -> str:
        """`good` is the last K that holds its efficiency for sure, `rest` those after it."""
        use, words = workers_text(good.k, self.k_unit), self._threshold_words()
        if not rest:
            low, high = (self._share(end or 0.0) for end in (good.efficiency.low, good.efficiency.high))
            return f"Use all {use}: on a quiet machine efficiency is {low} to {high} there{words}."
        if rest[0].verdict == "below":
            most = self._share(rest[0].efficiency.high or 0.0)
            return f"Use {use}: even on a quiet machine efficiency is at most {most} at {rest[0].k:,}{words}."
        if below := next((row.k for row in rest if row.verdict == "below"), None):
            return f"The bend lies between K = {good.k:,} and {below:,}: {others} at K = {listed}."
        if bounds := [row for row in rest if row.efficiency.has_interval]:
            low, high = (f"{end or 0.0:.2g}x" for end in (bounds[-1].speedup.low, bounds[-1].speedup.high))
            return f"No bend can be named: {others}; K = {bounds[-1].k:,} gives between {low} and {high}."
        what = "No saturation point" if is_load(self.k_unit) else "No bend"
        return f"{what} can be named: {others}, at K = {listed}."

    def _baseline_words(self) -> str:
        return "" if self.baseline_k == 1 else f" The baseline is K0 = {self.baseline_k}."

    def _decision(self, bent: TableRow) -> str:
        """The largest K before the bend, with what the step to the bend gives."""
        good = max((row for row in self.rows if row.k < bent.k), key=lambda row: row.k, default=bent)
        use, shared = workers_text(good.k, self.k_unit), ", where workers share cores" if bent.oversubscribed else ""
        if max(row.speedup.value for row in self.rows if row.k >= bent.k) < good.speedup.value:
            return f"Use {use}: {bent.k:,} are slower (speedup {bent.speedup.value:.3g}{shared})."
        if self.rule == "knee":
            return f"Use up to {workers_text(bent.k, self.k_unit)}: from there a doubling gives less than 1.4x{shared}."
        if self.rule == "marginal":
            gain = (bent.speedup.value - good.speedup.value) / (bent.k - good.k)
            return f"Use up to {use}: up to {bent.k:,} each added worker gains {gain:.2g} of speedup{shared}."
        there = f"efficiency is {self._share(bent.efficiency.value)} at {bent.k:,}{shared}{self._threshold_words()}"
        if self._between(good.k, bent.k):
            return f"Use {use} for now: {there}, and nothing between was measured."
        if good.k == self.baseline_k:
            return f"Use {use} until the bottleneck is fixed: {there}."
        was = (
            f"efficiency is {self._share(good.efficiency.value)} there and {self._share(bent.efficiency.value)} at "
            f"{bent.k:,}"
        )
        return f"Use up to {use}: {was}{shared}{self._threshold_words()}."

    @staticmethod
    def _between(good: int, bent: int) -> list[int]:
        """The doublings that nobody measured between the last good K and the bend."""
        return [good << power for power in range(1, 30) if good << power < bent]

    def _next_step(self, bent: int) -> str:
        good = max((row.k for row in self.rows if row.k < bent), default=bent)
        if between := self._between(good, bent):
            return f"measure K = {', '.join(map(str, between))} too: {MEASURE_NEXT}"
        return "`scalecurve diagnose STUDY` says why it bends"

    def _threshold_words(self) -> str:
        return f" (threshold {limit_words(self.threshold)})" if self.rule == "efficiency" else ""

    def _share(self, efficiency: float) -> str:
        """An efficiency in percent, with the decimals that show on which side of the threshold it lies."""
        return percent(efficiency, self.threshold if self.rule == "efficiency" else None)

    def _confidence(self, chance: float | None) -> str:
        """How sure the bend is, and which K it could be instead."""
        if chance is None:
            return "Single runs give no probability."
        if self.bend is None:
            return f"Probability {chance_words(chance)}."
        others = [f"{k:,} ({percent(share)})" for k, share in sorted(self.bend.neighbours, key=lambda one: -one[1])]
        instead = [f"the bend ({rule_words(self)}) could also be at K = {', '.join(others)}"] if others else []
        beyond = self.bend.beyond or 0.0
        if beyond >= NEIGHBOUR_CHANCE:  # the likeliest first
            first = not others or beyond >= max(share for _, share in self.bend.neighbours)
            instead.insert(
                0 if first else 1, f"no bend ({rule_words(self)}) up to K = {self.rows[-1].k:,} has {percent(beyond)}"
            )
        return f"Probability {'; '.join([chance_words(chance), *instead])}."

    def body(self) -> Document:
        unit = f" ({self.unit})" if self.unit and self.quantity is not Quantity.SECONDS else ""
        head = (
            f"{self.name}: {what_scales(self.regime, self.k_unit, self.findings)}; values in "
            f"{self.quantity.replace('_', ' ')}{unit}; baseline K0 = {self.baseline_k}; intervals at {self.level:.0%}"
        )
        head += " for all K together (Sidak)" if self.simultaneous else ""
        head += "; S and E of the medians" if self.statistic == "median" else ""
        relative, scaled = self.baseline_k != 1, "scaled S" if self.regime is Regime.WEAK else "S"
        columns = [Column(f"K ({unit_words(self.k_unit)})"), Column("n", rank=2), Column(self.statistic)]
        columns += [Column("interval", meaning=f"interval of the {self.statistic}", rank=3), Column("std", rank=4)]
        columns += [Column(scaled), Column("interval", meaning=f"interval of {scaled}", rank=1)]
        timed = self.quantity is Quantity.SECONDS and self.regime is not Regime.WEAK
        ratio = f"T({self.baseline_k})/T(K)" if timed else f"S(K)/S({self.baseline_k})"
        columns += [Column(ratio)] if relative else []
        columns += [Column("E"), Column("interval", meaning="interval of E")]
        columns += [Column("Karp-Flatt")] if self.karp_flatt else []
        columns += [Column("MFU", meaning="model FLOP over the peak; E is its useful share")] if self.mfu else []
        means = [row.mean.value for row in self.rows]
        large = rates_alike(means) if max(means) >= LARGEST_FIXED else None
        rows = [self._cells(row, large) for row in self.rows]
        body = table([*columns, Column("verdict", "left")], rows)
        blocks: tuple[Block, ...] = (Paragraph(head), body)
        return Document(None, (*blocks, FindingList(self.findings)) if self.findings else blocks)

    def _cells(self, row: TableRow, large: Callable[[float], str] | None) -> list[Cell | str | None]:
        """One row of the printed table, in the order of its columns; `large` writes values too long to write out."""
        middle = row.median if self.statistic == "median" and row.median else row.mean
        value, speedup = large or _fixed(middle.value), "{:.2f}".format if row.speedup.value < 1000 else "{:.0f}".format
        share = "{:.3f}".format
        cells: list[Cell | str | None] = [str(row.k), str(row.n), value(middle.value)]
        cells += [middle.span(value, ".."), None if row.std is None else value(row.std)]
        cells += [speedup(row.speedup.value), row.speedup.span(speedup, "..")]
        cells += [f"{row.relative_speedup:.2f}"] if self.baseline_k != 1 else []
        cells += [share(row.efficiency.value), row.efficiency.span(share, "..")]
        cells += [None if row.karp_flatt is None else f"{row.karp_flatt:.4f}"] if self.karp_flatt else []
        cells += [f"{self.mfu[row.k]:.1%}"] if self.mfu else []
        words = row.verdict + (" (unsure)" if row.sure is False and row.verdict != UNDECIDED else "")
        words += ", oversubscribed" if row.oversubscribed else ""
        words += ", disturbed" if row.disturbed else ""
        return [*cells, Cell(words, _TONES.get(row.verdict, "bad"))]


def _fixed(value: float) -> Callable[[float], str]:
    """Text with four decimals for values around one, more for small and fewer for large ones."""
    steps = ((1e4, 1), (1e2, 2), (1e1, 3), (1e-2, 4), (1e-5, 7), (1e-8, 10))
    digits = next((digits for limit, digits in steps if value >= limit), 13)
    return f"{{:.{digits}f}}".format


def rule_words(result: SpeedupTable) -> str:
    """The rule of the bend in words."""
    return {
        "efficiency": f"first K with E < {result.threshold:g}",
        "marginal": f"first K whose last step gained less than {result.threshold:g} of speedup per added worker",
        "knee": "largest S*E",
    }[result.rule]


@dataclass(frozen=True, kw_only=True)
class TableBasis:
    """What the rows of a table are computed from.

    `measured` is the curve of the means, `curve` the same with the spread that runs of two speeds need, and `centre`
    the curve of the means or of the medians.  `samples` are empty where there are too many to rank.
    """

    study: Study
    statistic: str
    shape: tuple[Finding, ...]
    measured: Curve
    curve: Curve
    centre: Curve
    samples: Mapping[int, np.ndarray]
    blocks: Blocks | None

    @classmethod
    def of(cls, study: Study, statistic: str) -> Self:
        """The basis of a study for means or for medians."""
        shape, measured = tuple(check_shape(study)), curve_of(study)
        curve = common_spread(measured, shape)
        is_mean = statistic == "mean"
        samples = study.samples.by_k() if not is_mean or len(study.samples) <= MOST_RANKED else {}
        return cls(
            study=study,
            statistic=statistic,
            shape=shape,
            measured=measured,
            curve=curve,
            centre=curve if is_mean else median_curve(curve, samples),
            samples=samples,
            blocks=blocks_of(study) if is_mean else None,
        )

    def rows(self, threshold: float, level: float, *, simultaneous: bool, interval: str) -> tuple[TableRow, ...]:
        """A row for each K; with `simultaneous` all intervals of T hold together at `level`, and so do those of E."""
        count = len(self.curve.k)
        of_time, of_ratio = (level ** (1 / count), level ** (1 / (count - 1))) if simultaneous else (level, level)
        intervals_of = normal_intervals if interval == "normal" else mean_intervals
        study, k0, means = self.study, self.study.baseline_k, intervals_of(self.curve, of_time)
        oversubscribed = {run.k for run in study.runs if run.oversubscribed and run.counts}
        disturbed, quiet = disturbances(study)
        shows_serial = study.regime is Regime.STRONG and k0 == 1
        rows = []
        columns = (self.curve.k, self.curve.n, self.measured.std, self.centre.efficiency)
        for place, (k, n, std, share) in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            is_bound = k != k0 and bool(disturbed & {k, k0})
            own = quiet_efficiency(share, quiet.get(str(k)), level) if is_bound else self.efficiency(k, share, of_ratio)
            verdict, sure = verdict_of(own, threshold)
            rows.append(
                TableRow(
                    k=k,
                    n=n,
                    mean=means[place],
                    median=median_of(self.samples[k], of_time) if self.samples else None,
                    std=std if n > 1 else None,
                    speedup=own.scaled(k),
                    relative_speedup=share * k / k0,
                    efficiency=own,
                    verdict=verdict if sure or not is_bound else UNDECIDED,
                    sure=True if k == k0 else sure,
                    karp_flatt=serial_fraction(k, k * own.value) if shows_serial else None,
                    oversubscribed=k in oversubscribed,
                    disturbed=k in disturbed,
                )
            )
        return tuple(rows)

    def efficiency(self, k: int, share: float, level: float) -> Estimate:
        """E at K with its interval around `share`: exact at the baseline, within blocks where the order is stored."""
        k0 = self.study.baseline_k
        if k == k0:
            return exact(1.0)
        if self.statistic == "median":
            is_rate = self.study.quantity is not Quantity.SECONDS
            ends = (self.samples[k], self.samples[k0]) if is_rate else (self.samples[k0], self.samples[k])
            return ratio_of(*ends, share, level)
        paired = None if self.blocks is None else self.blocks.ratio(self.curve, k0, k)
        return (paired or log_ratio((self.curve, k0, 1.0), (self.curve, k, -1.0))).around(share, level)


def verdict_of(efficiency: Estimate, threshold: float) -> tuple[str, bool | None]:
    """Whether E is at the threshold, below it, or above 1 beyond its interval; and whether its interval is so too, None
    without one."""
    low, high = efficiency.low, efficiency.high
    sure = None if low is None or high is None else not low < threshold <= high
    return "superlinear" if (low or 0.0) > 1 else "ok" if efficiency.value >= threshold else "below", sure


def disturbances(study: Study) -> tuple[set[int], dict[str, Sequence[float]]]:
    """The K that other programs disturbed, and by K the bounds of E on a quiet machine where waiting gives them."""
    marks = [own.evidence for own in study.findings if own.code == "disturbed"]
    quiet = {k: bounds for evidence in marks for k, bounds in evidence.get("efficiency", {}).items()}
    return {k for evidence in marks for k in evidence.get("k", ())}, quiet


def quiet_efficiency(share: float, bounds: Sequence[float] | None, level: float) -> Estimate:
    """E of a disturbed row: as measured, or the bound that excludes it: of E on a quiet machine, where the waiting of
    the job gives bounds; the spread of disturbed runs says nothing about that."""
    if bounds is None:
        return Estimate(share, method="disturbed")
    low, high = bounds
    return Estimate(min(max(share, low), high), low, high, level, "bounds from waiting for cores")


def tabulate(
    study: StudyLike,
    *,
    regime: str | None = None,
    threshold: float = 0.7,
    level: float = 0.95,
    bend: str = "efficiency",
    karp_flatt: bool = False,
    statistic: str = "mean",
    simultaneous: bool = False,
    interval: str = "student",
    rng: np.random.Generator | None = None,
) -> SpeedupTable:
    """T, S and E of a study with intervals at `level`, and its bend by the rule "efficiency", "marginal" or "knee".

    Parameters
    ----------
    study
        A study in any form that `load` takes.
    regime
        "strong" or "weak", for a study that does not state it.
    threshold
        The efficiency below which the curve bends.
    level
        The level of intervals.
    bend
        The rule of the bend: "efficiency", "marginal" or "knee".
    karp_flatt
        Whether each row gets the serial fraction that it implies.
    statistic
        "mean" or "median".
    simultaneous
        Whether the intervals of T hold for all K together, and so those of S and E.
    interval
        "student", or "normal" for mean +- z std/sqrt(n) of T as textbooks print it.
    rng
        Draws the curves behind the probability of the bend.

    Returns
    -------
    SpeedupTable
        A row for each K, and the bend.

    Raises
    ------
    InputError
        The study cannot be read, or a setting is wrong.

    Examples
    --------
    >>> import scalecurve as sc
    >>> table = sc.tabulate({1: 100.0, 2: 52.0, 4: 30.0, 8: 22.0}, regime="strong")
    >>> [round(row.efficiency.value, 2) for row in table.rows]
    [1.0, 0.96, 0.83, 0.57]
    """
    study = as_study(study, regime=regime)
    _check(study, threshold, level, statistic, interval)
    basis = TableBasis.of(study, statistic)
    rows = basis.rows(threshold, level, simultaneous=simultaneous, interval=interval)
    methods = {row.efficiency.method for row in rows if row.efficiency.low is not None}
    bent, no_bend = find_bend(basis.centre, bend, threshold, rng or np.random.default_rng(SEED))
    if any(row.disturbed for row in rows):  # disturbed times do not say where the curve bends
        bent = no_bend = None
    # Disturbed times look slower everywhere, or faster than K, whatever the job does.
    doubt = None if any(row.disturbed for row in rows) else implausible(basis.measured, study.k_unit)
    if doubt is not None:
        doubted = set(doubt.evidence["k"])
        rows = tuple(replace(row, verdict=doubt.evidence["words"]) if row.k in doubted else row for row in rows)
    order = check_order(study, is_paired=PAIRED in methods)
    return SpeedupTable(
        name=study.name,
        regime=study.regime,
        quantity=study.quantity,
        k_unit=study.k_unit,
        unit=study.unit,
        baseline_k=study.baseline_k,
        threshold=threshold,
        level=level,
        rule=bend,
        method="; ".join(sorted(methods)) or WELCH_LOG,
        bend=bent,
        rows=rows,
        karp_flatt=karp_flatt,
        statistic=statistic,
        simultaneous=simultaneous,
        no_bend=no_bend,
        findings=(
            *([doubt] if doubt else ()),
            *study.findings,
            *check_table(study, basis.measured, rows, basis.shape),
            *order,
        ),
    )


def _check(study: Study, threshold: float, level: float, statistic: str, interval: str) -> None:
    """InputError with all that keeps a study from a table."""
    faults = level_faults(level)
    if not 0 < as_number(threshold, "threshold") < 10:
        faults.append(Fault("the threshold is a share above 0", where="threshold", value=f"{threshold:g}"))
    if statistic not in STATISTICS:
        faults.append(Fault("unknown statistic", value=statistic, remedy=f"use one of {', '.join(STATISTICS)}"))
    if interval not in INTERVALS:
        faults.append(Fault("unknown interval", value=interval, remedy=f"use one of {', '.join(INTERVALS)}"))
    if len(study.all_k) < 2:
        counts = f"K = {study.all_k[0]}" if study.all_k else "none"
        more = next((own.remedy for own in study.findings if own.code in ("unfinished", "interrupted")), None)
        remedy = more or "measure another K"
        faults.append(Fault("scaling needs at least two worker counts", value=counts, remedy=remedy))
    if faults:
        raise InputError(faults, subject=study.name)


def normal_intervals(curve: Curve, level: float) -> list[Estimate]:
    """The mean of each K +- z std/sqrt(n); with few runs it covers too seldom (see `mean_intervals`)."""
    from scalecurve.distributions import ndtri

    half = float(ndtri(0.5 + level / 2.0)) * curve.std / np.sqrt(curve.n)
    return [
        Estimate(mean, mean - each, mean + each, level, NORMAL) if n > 1 else Estimate(mean, method="single sample")
        for mean, n, each in zip(curve.mean.tolist(), curve.n.tolist(), half.tolist(), strict=True)
    ]


def mean_intervals(curve: Curve, level: float) -> list[Estimate]:
    """The mean of each K with Student's interval on the logarithm, which holds no negative time.

    1.96 std/sqrt(n) would cover about 88 % instead of 95 % at n = 5.
    """
    from scalecurve.distributions import stdtrit

    wide = spread_of_neighbours(curve, level)
    half = stdtrit(np.maximum(wide.degrees, 1.0), 0.5 + level / 2.0) * np.nan_to_num(wide.log_se)
    factors = np.exp(np.minimum(half, LARGEST_LOG))
    return [
        Estimate(mean, mean / factor, mean * factor, level, STUDENT)
        if n > 1
        else Estimate(mean, method="single sample")
        for mean, n, factor in zip(curve.mean.tolist(), curve.n.tolist(), factors.tolist(), strict=True)
    ]
