"""Scale up or scale out: one machine r times as fast at price p_up, or K small ones at price p each?

    out wins on time  iff  S(K) > r
    out wins on cost  iff  p / E(K) < p_up / r        (cost of a result: K p T(K) = p T(1)/E(K), and p_up T(1)/r)

so out can win on cost at small K and on time only at large K, and between the two there may be nothing: no K that is
both faster and cheaper.  E(K) comes from a law or from a study; prices are for the same unit of time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scalecurve.analysis.checks import doubts
from scalecurve.analysis.table import tabulate
from scalecurve.document import (
    MEASURE_NEXT,
    Answer,
    Cell,
    Column,
    Document,
    FindingList,
    JsonRecord,
    Paragraph,
    Result,
    repeat_at,
    table,
)
from scalecurve.errors import Fault, InputError
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, info, warning
from scalecurve.formats.loading import StudyLike, as_study
from scalecurve.laws import Law
from scalecurve.planning.curve import refuse_load
from scalecurve.study import Quantity, Study
from scalecurve.units import WorkersLike, as_workers, positive_faults
from scalecurve.words import percent

if TYPE_CHECKING:
    from scalecurve.forecasting.rows import ForecastRow

LAW_WORKERS = (1, 2, 4, 8, 16, 32, 64)
Known = tuple[float, float | None, float | None, str]  # E with its interval, and where it comes from


@dataclass(frozen=True, kw_only=True)
class ScaleRow(JsonRecord):
    """K small machines against one that is `big_faster` times as fast at `price_ratio` times the price.

    `low` and `high` bound the efficiency; `kind` is law, measured or forecast.
    """

    workers: int
    efficiency: float
    big_faster: float
    price_ratio: float
    low: float | None = None
    high: float | None = None
    kind: str = "law"

    JSON = """
        k=workers efficiency efficiency_low=low efficiency_high=high kind speedup time cost
        out_wins_on_time=faster out_wins_on_cost=cheaper"""

    @property
    def speedup(self) -> float:
        return self.workers * self.efficiency

    @property
    def time(self) -> float:
        """The time of one result, as a multiple of the time on one small machine."""
        return 1 / (self.workers * self.efficiency)

    @property
    def cost(self) -> float:
        """The cost of one result, as a multiple of the cost on one small machine."""
        return 1 / self.efficiency

    @property
    def estimate(self) -> Estimate:
        """The efficiency with its interval."""
        return Estimate(self.efficiency, self.low, self.high)

    @property
    def faster_above(self) -> float:
        """The efficiency above which K small machines are faster."""
        return self.big_faster / self.workers

    @property
    def cheaper_above(self) -> float:
        """The efficiency above which they are cheaper."""
        return self.big_faster / self.price_ratio

    @property
    def faster(self) -> bool:
        return self.efficiency > self.faster_above

    @property
    def cheaper(self) -> bool:
        return self.efficiency > self.cheaper_above


@dataclass(frozen=True, kw_only=True, repr=False)
class ScaleUp(Result):
    """The comparison over K, and where each side starts to win."""

    faster: float
    price_ratio: float
    rows: tuple[ScaleRow, ...]
    findings: tuple[Finding, ...] = ()

    REFUSAL = "Neither can be recommended"
    JSON = "faster price_ratio big rows out_wins_on_time_from=time_from out_wins_on_cost_up_to=cost_up_to findings"

    @property
    def big(self) -> dict[str, float]:
        """Time and cost of the big machine, relative to one small one."""
        return {"time": 1 / self.faster, "cost": self.price_ratio / self.faster}

    @property
    def time_from(self) -> int | None:
        """The smallest K at which scaling out is faster."""
        return min((row.workers for row in self.rows if row.faster), default=None)

    @property
    def cost_up_to(self) -> int | None:
        """The largest K at which scaling out is cheaper."""
        return max((row.workers for row in self.rows if row.cheaper), default=None)

    @property
    def answer(self) -> Answer:
        """Whether to scale out or up, by time and by cost; it cannot be told where an interval of E leaves it open."""
        both, unclear = self._first(lambda row: max(row.faster_above, row.cheaper_above))
        row = both
        if both is None and not unclear:
            row, unclear = self._first(lambda row: row.faster_above)
        if row is None and unclear:
            return self._cannot_tell(unclear)
        if both:
            gain, price = both.speedup / self.faster, both.cost / self.big["cost"]
            of_big = f"{gain:.3g}x as fast at {price:.2g}x the cost"
            decision = f"Scale out: {both.workers:,} small machines are {of_big} of the big one."
        elif row is None:
            decision = f"Scale up: no K up to {self.rows[-1].workers:,} is as fast as the big machine."
        else:
            dearer = row.cost / self.big["cost"]
            decision = f"Scale up to save money; {row.workers:,} small machines are faster at {dearer:.3g}x its cost."
        return Answer(
            decision=decision,
            confidence=self._how_sure(row or self.rows[-1]),
            reason=f"Scaling out is faster {self._span('faster')} and cheaper {self._span('cheaper')}."
            if any(row.faster or row.cheaper for row in self.rows)
            else "Scaling out is neither faster nor cheaper at any K listed.",
            next=f"measure E at the K that decides: {MEASURE_NEXT}"
            if any(row.kind == "law" for row in self.rows)
            else "`scalecurve diagnose STUDY` says what to fix first",
        )

    def _first(self, limit: Callable[[ScaleRow], float]) -> tuple[ScaleRow | None, list[ScaleRow]]:
        """The first K whose efficiency is above a limit for sure, and those where the noise leaves that open."""
        above = [(row, row.estimate.is_above(limit(row))) for row in self.rows]
        return next((row for row, sure in above if sure), None), [row for row, sure in above if sure is None]

    def _cannot_tell(self, unclear: list[ScaleRow]) -> Answer:
        """What the likeliest of these K may bring, and which to measure."""
        row = max(unclear, key=lambda row: row.efficiency / max(row.faster_above, row.cheaper_above))
        low, high = ((end or 0.0) * row.workers / self.faster for end in (row.low, row.high))
        cost = " to ".join(f"{1 / end / self.big['cost']:.2g}x" for end in (row.high, row.low) if end)
        again = [row.workers for row in unclear if row.kind != "forecast"]
        fast = f"{low:.2g}x to {high:.2g}x as fast as the big one, at {cost} its cost"
        if not row.estimate.says_something:
            fast = "far slower or far faster than the big one"
        return Answer(
            decision=f"Cannot tell: {row.workers:,} small machines may be {fast}.",
            next=repeat_at(again) if again else f"measure K = {row.workers:,}: {MEASURE_NEXT}",
        )

    @staticmethod
    def _how_sure(row: ScaleRow) -> str | None:
        """The interval of the efficiency that decides."""
        if row.low is None or row.high is None:
            return None
        ends = f"{percent(row.efficiency)} ({percent(row.low)} to {percent(row.high)})"
        return f"The efficiency of {row.workers:,} is {ends}."

    def body(self) -> Document:
        big = (
            f"the big machine is {self.faster:g} times as fast at {self.price_ratio:g} times the price: a result takes "
            f"{1 / self.faster:.4g} of the time and {self.price_ratio / self.faster:.4g} of the cost on a small one"
        )
        ranges = any(row.low is not None for row in self.rows)
        heads = ["K", "E(K)", *(["interval"] if ranges else []), "time", "cost", "faster", "cheaper"]
        grid = []
        for row in self.rows:
            interval = None if row.low is None or row.high is None else f"{row.low:.3f}..{row.high:.3f}"
            wins = [Cell("out", "good") if won else Cell("up") for won in (row.faster, row.cheaper)]
            basis = Cell(row.kind, "plain" if row.kind == "measured" else "assumed")
            numbers = [f"{row.efficiency:.3f}", *([interval] if ranges else []), f"{row.time:.4g}", f"{row.cost:.4g}"]
            grid.append([str(row.workers), *numbers, *wins, basis])
        rows = table([*heads, Column("basis", "left")], grid)
        body = (Paragraph(big), rows, FindingList(self.findings))
        return Document("One big machine against many small ones", body)

    def _span(self, side: str) -> str:
        """Where scaling out wins among the K listed: open at an end of the list, closed where it loses again."""
        won = [i for i, row in enumerate(self.rows) if getattr(row, side)]
        if not won:
            return "nowhere in this range"
        if len(won) == len(self.rows):
            return "at every K listed"
        workers = [self.rows[i].workers for i in won]
        if won[-1] - won[0] + 1 != len(won):
            return f"at K = {', '.join(map(str, workers))}"
        if won[-1] == len(self.rows) - 1:
            return f"from K = {workers[0]}"
        if won[0] == 0:
            return f"up to K = {workers[-1]}"
        return f"at K = {workers[0]}" if len(won) == 1 else f"at K = {workers[0]}..{workers[-1]}"


def compare_scaleup(
    subject: StudyLike | Law,
    *,
    faster: float,
    big_price: float,
    small_price: float,
    at: WorkersLike | None = None,
    parameters: Mapping[str, float] | None = None,
    regime: str | None = None,
) -> ScaleUp:
    """One machine `faster` times as fast against K small ones; E(K) from a law with its `parameters`, or a study.

    `at` are the K to compare (default: 1, 2, 4 ... 64 for a law, the measured ones of a study; others are forecast).
    `regime` is for a path, mapping or frame that does not state it.
    """
    positive = {"faster": faster, "price of the big machine": big_price, "price of a small machine": small_price}
    if faults := positive_faults(positive):
        raise InputError(faults, subject="scaleup")
    ratio, workers = big_price / small_price, None if at is None else as_workers(at)
    findings: tuple[Finding, ...] = ()
    if isinstance(subject, Law):
        counts, chosen = workers or LAW_WORKERS, parameters or {}
        known: dict[int, Known] = {k: (float(subject.efficiency(k, **chosen)), None, None, "law") for k in counts}
    else:
        study = as_study(subject, regime=regime)
        refuse_load(study)
        if study.baseline_k != 1:
            by_law = f"scalecurve scaleup --faster {faster:g} --big-price {big_price:g} --small-price {small_price:g}"
            hint = f"measure one small machine, or state E(K) by a law: {by_law} --law amdahl --serial 5%"
            raise InputError(Fault("the study has no K = 1", value=f"K0 = {study.baseline_k}", remedy=hint))
        known, findings = _known_of(study, workers)
    faults = [
        Fault("an efficiency is positive", where=f"K = {k}", value=f"{e:g}")
        for k, (e, *_) in known.items()
        if not e > 0
    ]
    if faults:
        raise InputError(faults)
    rows = tuple(
        ScaleRow(workers=k, efficiency=e, big_faster=faster, price_ratio=ratio, low=low, high=high, kind=kind)
        for k, (e, low, high, kind) in known.items()
    )
    if both := [row.workers for row in rows if row.faster and row.cheaper]:
        verdict = info("out-wins-both", f"scaling out is both faster and cheaper at K = {', '.join(map(str, both))}")
    elif not any(row.faster for row in rows):
        message = f"no K listed reaches a speedup of {faster:g}: none is as fast as the big machine"
        verdict = warning("never-faster", message, remedy="list larger K, or accept the big machine")
    else:
        verdict = info("trade-off", "no K is both faster and cheaper: choose between time and money")
    return ScaleUp(faster=faster, price_ratio=ratio, rows=rows, findings=(*findings, verdict))


def _known_of(study: Study, workers: Sequence[int] | None) -> tuple[dict[int, Known], tuple[Finding, ...]]:
    """E at these K (default: the measured), measured or else forecast, with what the forecast warns of or refuses."""
    from scalecurve.forecasting.forecast import forecast

    rows = tabulate(study).rows
    known: dict[int, Known] = {
        row.k: (row.efficiency.value, row.efficiency.low, row.efficiency.high, "measured") for row in rows
    }
    counts, findings = sorted(set(known if workers is None else workers)), study.findings
    if others := [k for k in counts if k not in known]:
        ahead = forecast(study, others)
        findings = ahead.findings
        known |= {row.k: _forecast_efficiency(row) for row in ahead.rows if row.value is not None}
    findings = (*doubts(study), *(finding for finding in findings if finding.code != "implausible"))
    return {k: known[k] for k in counts if k in known}, findings


def _forecast_efficiency(row: ForecastRow) -> Known:
    """E of a forecast; its interval is that of the value, turned round where the value is a time."""
    value, low, high, e = (float(number or 0.0) for number in (row.value, row.low, row.high, row.efficiency))
    ends = (value / high, value / low) if row.quantity is Quantity.SECONDS else (low / value, high / value)
    return e, e * ends[0], e * ends[1], "forecast"
