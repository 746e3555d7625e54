"""Two studies side by side: the ratio of T and of E at each K, with intervals.

Ratios are of means; their intervals are Welch's t on logarithms (see `curve.LogRatio`).  Two sessions also differ by a
shift that all K share (`sessions`), which is part of the interval of T and cancels in E; studies whose runs were made
in the same hours have none.  The intervals hold for all K together (Sidak 1967), so that identical programs are called
different at any K with a chance of 1 - level only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scalecurve.analysis.checks import check_shape, common_spread, doubts, spread_of_neighbours
from scalecurve.analysis.curve import Curve, curve_of, log_ratio
from scalecurve.analysis.merging import require_sameness
from scalecurve.analysis.sessions import COMMON, overlap
from scalecurve.document import (
    MEASURE_NEXT,
    Answer,
    Block,
    Cell,
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
from scalecurve.estimate import MATTERS, Estimate
from scalecurve.findings import Finding, carried
from scalecurve.formats.loading import StudyLike, as_study
from scalecurve.study import Quantity
from scalecurve.units import level_faults
from scalecurve.words import short_name

_TONES: dict[str, Tone] = {"faster": "good", "slower": "bad"}


@dataclass(frozen=True, kw_only=True)
class ComparisonRow(JsonRecord):
    """One K: second over first.  `value` is of times or rates, `efficiency` of E (None at a baseline)."""

    k: int
    first: float
    second: float
    value: Estimate
    efficiency: Estimate | None
    verdict: str

    JSON = "k first second ratio*=value efficiency_ratio*=efficiency verdict"

    @property
    def is_open(self) -> bool:
        """Whether there may be no difference, or one that matters."""
        ratio = self.value
        return ratio.is_above(1) is None and None in (ratio.is_above(MATTERS), ratio.is_above(1 / MATTERS))


def _cannot_tell(names: str, unclear: Sequence[ComparisonRow], clear: Sequence[ComparisonRow]) -> Answer:
    """The answer where a difference that matters is neither seen nor excluded."""
    widest = max(unclear, key=lambda row: (row.value.high or 1.0) / (row.value.low or 1.0))
    ratio = widest.value.span("{:.3g}".format) if widest.value.says_something else "anything"
    return Answer(
        decision=f"Cannot tell whether {names} differ: at K = {widest.k:,} the ratio may be {ratio}.",
        reason=f"No difference seen at {and_list([f'K = {row.k:,}' for row in clear])}." if clear else None,
        next=repeat_at(row.k for row in unclear),
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class Comparison(Result):
    """The second study against the first at every K that both measured."""

    first: str
    second: str
    quantity: Quantity
    level: float
    session: float
    rows: tuple[ComparisonRow, ...]
    only_first: tuple[int, ...]
    only_second: tuple[int, ...]
    findings: tuple[Finding, ...]

    REFUSAL = "Nothing can be compared"

    @property
    def answer(self) -> Answer:
        changed = [row for row in self.rows if row.verdict in _TONES]
        largest = self.rows[-1]
        worst = max(changed, key=lambda row: abs(math.log(row.value.value)), default=largest)
        change = abs(worst.value.value - 1)
        where = f"at K = {worst.k}" if len(changed) < len(self.rows) else f"at every K, most at K = {worst.k}"
        first, second = short_name(self.first), short_name(self.second)
        begin = second
        if first == second:
            first, second, begin = "the first", "the second study", "The second study"
        decision = f"{begin} is {worst.verdict} than {first} {where}: by {change:.1%}."
        tested = [row for row in self.rows if row.value.low is not None]
        if not tested:
            return self._answer_of_single_runs(begin)
        if unclear := [row for row in tested if not changed and row.is_open]:
            return _cannot_tell(f"{first} and {second}", unclear, [row for row in tested if row not in unclear])
        if not changed:
            decision = f"No difference seen between {first} and {second} at {len(tested)} K."
        ends = f" (ratio {worst.value.span('{:.3f}'.format)})" if worst.value.ends else ""
        return Answer(
            decision=decision,
            confidence=f"A false alarm in {1 - self.level:.0%} of comparisons{ends}.",
            reason=None if self.session == 0 else f"That allows {self.session:.0%} for a slower or faster day.",
            next="`scalecurve diagnose STUDY` says why it bends"
            if changed
            else f"measure both in one session: {MEASURE_NEXT}",
        )

    def _answer_of_single_runs(self, second: str) -> Answer:
        """What differs most, without an interval."""
        largest = sorted(self.rows, key=lambda row: -abs(math.log(row.value.value)))[:2]
        return Answer(
            decision=f"{second} is {' and '.join(map(self._speed, sorted(largest, key=lambda row: row.k)))}.",
            confidence="Single runs give no interval: whether the difference is more than noise is not known.",
            next=repeat_at(row.k for row in self.rows),
        )

    def _speed(self, row: ComparisonRow) -> str:
        """The second against the first at one K: `2.3x faster at K = 1`."""
        gain = row.value.value if self.quantity.higher_is_better else 1 / row.value.value
        if f"{max(gain, 1 / gain):.3g}" == "1":
            return f"equally fast at K = {row.k:,}"
        return f"{max(gain, 1 / gain):.3g}x {'faster' if gain > 1 else 'slower'} at K = {row.k:,}"

    def body(self) -> Document:
        together = " for all K together (Sidak)" if len(self.rows) > 1 else ""
        head = f"{self.second} over {self.first}; intervals at {self.level:.0%}{together}"
        heads = ["K", "first", "second", "ratio", "interval", "E ratio", "interval", "verdict"]
        rows = []
        for row in self.rows:
            cells: list[Cell | str | None] = [str(row.k), f"{row.first:.5g}", f"{row.second:.5g}"]
            for ratio in (row.value, row.efficiency):
                cells.append(f"{ratio.value:.3f}" if ratio else None)
                cells.append(ratio.span("{:.3f}".format, "..") if ratio else None)
            rows.append([*cells, Cell(row.verdict, _TONES.get(row.verdict, "plain"))])
        blocks: list[Block] = [Paragraph(head), table(heads, rows)]
        for name, alone in ((self.first, self.only_first), (self.second, self.only_second)):
            if alone:
                blocks.append(Paragraph(f"Only in {name}: K = {', '.join(map(str, alone))}."))
        return Document(None, (*blocks, FindingList(self.findings)))


def compare(
    first: StudyLike,
    second: StudyLike,
    *,
    regime: str | None = None,
    level: float = 0.95,
    allow_mixed: bool = False,
    session: float | None = None,
) -> Comparison:
    """The ratios second over first of T (or the rate) and of E at each K that both measured.

    Parameters
    ----------
    first, second
        Two studies in any form that `load` takes.
    regime
        "strong" or "weak", for studies that do not state it.
    level
        The level at which all intervals of T hold together, and those of E: of two identical programs, 1 - `level`
        differ somewhere.
    allow_mixed
        Whether studies that differ in machine, versions or workload are compared all the same.
    session
        The standard deviation of the shift between two sessions: 0.02 unless stated, 0 for runs of the same hours.

    Returns
    -------
    Comparison
        A row for each common K with the ratios second over first, and their intervals.

    Raises
    ------
    InputError
        A study cannot be read, or the two may not be compared.

    Examples
    --------
    >>> import scalecurve as sc
    >>> before = {1: [100.0, 101.0], 4: [28.0, 28.2]}
    >>> after = {1: [100.5, 100.8], 4: [25.1, 25.3]}
    >>> [(row.k, round(row.value.value, 2)) for row in sc.compare(before, after, regime="strong").rows]
    [(1, 1.0), (4, 0.9)]
    """
    if faults := level_faults(level):
        raise InputError(faults)
    first, second = as_study(first, regime=regime), as_study(second, regime=regime)
    findings = require_sameness(first, second, allow_mixed=allow_mixed)
    common = sorted(set(first.all_k) & set(second.all_k))
    if not common:
        counts = f"{first.all_k} and {second.all_k}"
        fault = Fault("the studies have no K in common", value=counts, remedy="measure one K in both")
        raise InputError(fault, subject=f"{first.name} and {second.name}")
    level_of_one = level ** (1 / len(common))  # Sidak: all K together hold at `level`
    shape = (*check_shape(first), *check_shape(second))  # two speeds in one study are no less likely in the other
    curves = (common_spread(curve_of(study), shape) for study in (first, second))
    old, new = (spread_of_neighbours(curve, level_of_one) for curve in curves)
    rising = first.quantity.higher_is_better
    shift = session if session is not None else 0.0 if overlap(first, second) else COMMON
    return Comparison(
        first=first.name,
        second=second.name,
        quantity=first.quantity,
        level=level,
        session=shift,
        rows=tuple(comparison_row(old, new, k, level_of_one, rising=rising, session=shift) for k in common),
        only_first=tuple(k for k in first.all_k if k not in common),
        only_second=tuple(k for k in second.all_k if k not in common),
        findings=carried(first, second, own=(*doubts(first), *doubts(second), *findings)),
    )


def comparison_row(old: Curve, new: Curve, k: int, level: float, *, rising: bool, session: float) -> ComparisonRow:
    """New over old at K with intervals at `level`; `rising` says that a larger value is a faster one."""
    ratio = log_ratio((new, k, 1.0), (old, k, -1.0)).shifted(session).estimate(level)
    verdict = "one sample"
    if ratio.ends is not None:
        better = "faster" if (ratio.value > 1) == rising else "slower"
        verdict = "no difference seen" if ratio.ends[0] <= 1.0 <= ratio.ends[1] else better
    efficiency, i, j = None, old.index(k), new.index(k)
    k_old, k_new = int(old.k[old.base]), int(new.k[new.base])
    if k not in (k_old, k_new):
        spread = log_ratio((new, k, 1.0), (new, k_new, -1.0), (old, k, -1.0), (old, k_old, 1.0))
        efficiency = spread.around(float(new.efficiency[j] / old.efficiency[i]), level)
    return ComparisonRow(
        k=k, first=float(old.mean[i]), second=float(new.mean[j]), value=ratio, efficiency=efficiency, verdict=verdict
    )
