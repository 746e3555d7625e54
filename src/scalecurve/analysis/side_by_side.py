"""Several curves side by side: one answer for each, and which of them scales best at the largest common K."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from scalecurve.analysis.curve import curve_of, log_ratio
from scalecurve.document import (
    MEASURE_NEXT,
    Answer,
    Block,
    Column,
    Document,
    FindingList,
    Heading,
    JsonRecord,
    Paragraph,
    Result,
    table,
)
from scalecurve.errors import Fault, InputError, ScalecurveError
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, warning
from scalecurve.study import Quantity, Regime, Study, StudySet
from scalecurve.study.study import PLACEMENT, is_load
from scalecurve.units import rates_alike, seconds_alike
from scalecurve.words import percent, short_name, workers_text

AnyResult = TypeVar("AnyResult", bound=Result)
OTHER_WORK = {"benchmark", "case", "dataset", "function", "input", "kernel", "phase", "problem", "query", "test"}
"""Columns whose curves are different work, of which none replaces another."""
LEVEL = 0.95  # of the intervals between curves
MOST_SAID = 3  # other curves whose answer stands beside the first


@dataclass(frozen=True, kw_only=True)
class BestScaling(JsonRecord):
    """The curve with the highest efficiency at `k`, the largest K common to all, and the next one.

    `ratio` is the efficiency of the best over that of the next, with its interval; None where the curves have no K
    beyond their baselines in common.
    """

    k: int
    best: str
    efficiency: float
    next: str
    next_efficiency: float
    ratio: Estimate

    JSON = "k best efficiency next next_efficiency ratio*"

    def answer(self) -> Answer:
        """Which curve scales best, by how much, and whether the data can tell."""
        shares = f"E = {percent(self.efficiency)} at {self.k:,}, {percent(self.next_efficiency)} for {self.next}"
        if self.ratio.ends is None:
            return Answer(
                decision=f"{self.best} scales best: {shares}.",
                confidence="Single runs give no interval.",
                next=f"repeat every K five times: {MEASURE_NEXT}",
            )
        ratio = f"{self.ratio.value:.2f} times ({self.ratio.span('{:.2f}'.format)} at {self.ratio.level:.0%})"
        if self.ratio.ends[0] <= 1 <= self.ratio.ends[1]:
            return Answer(
                decision=f"{self.best} and {self.next} scale alike: {shares}.",
                confidence=f"The ratio of their efficiencies is {ratio}.",
                next=f"measure both at K = {self.k:,} more often: {MEASURE_NEXT}",
            )
        return Answer(
            decision=f"{self.best} scales best: {shares}.",
            confidence=f"Efficiency is {ratio} as high.",
            next="`scalecurve diagnose STUDY` says why each bends",
        )


@dataclass(frozen=True, kw_only=True)
class Fastest(JsonRecord):
    """The curve with the shortest time or the highest rate of all, and the best that the next curve reaches.

    `gain` is how many times faster it is, with an interval where runs were repeated.
    """

    curve: str
    k: int
    k_unit: str
    value: float
    next: str
    next_k: int
    next_value: float
    gain: Estimate
    quantity: Quantity

    JSON = "curve k value next next_k next_value gain*"

    def answer(self, scaling: BestScaling | None) -> Answer:
        """Which curve to use and on how many workers; how the curves scale comes after it."""
        is_time = self.quantity is Quantity.SECONDS
        show = (seconds_alike if is_time else rates_alike)([self.value, self.next_value])
        curve, following = short_name(self.curve), short_name(self.next)
        best = f"the fastest of {following} is" if is_time else f"the most of {following} is"
        rest = f"{best} {show(self.next_value)} on {self.next_k:,}"
        decision = f"Use {curve} on {workers_text(self.k, self.k_unit)}: {show(self.value)}; {rest}."
        sure = None
        if span := self.gain.span("{:.2f}".format):
            noise = ", within the noise" if (self.gain.low or 0.0) <= 1 else ""
            sure = f"It is {self.gain.value:.2f}x as fast ({span} at {self.gain.level:.0%}){noise}."
        said = scaling.answer() if scaling is not None else Answer(decision=decision)
        scales = said.decision if scaling is not None else None
        return Answer(
            decision=decision,
            confidence=sure,
            reason=" ".join(filter(None, (scales, said.confidence))) or None,
            next="`scalecurve diagnose STUDY` says why each bends",
        )


@dataclass(frozen=True, kw_only=True)
class BestSplit(JsonRecord):
    """Which split of the same cores into nodes, ranks and threads is fastest at one K (and size), against the next.

    `gain` is T of the next over T of the best with its interval; without an interval nobody can tell them apart.
    """

    k: int
    others: str
    best: str
    next: str
    time: float
    gain: Estimate

    JSON = "k others best next time gain clear=is_clear"

    @property
    def is_clear(self) -> bool:
        """Whether the best is faster beyond the noise."""
        return self.gain.low is not None and self.gain.low > 1

    @property
    def gain_text(self) -> str:
        """The gain with its interval, and whether the noise explains it."""
        span = self.gain.span("{:.2f}".format)
        if span is None:
            return f"{self.gain.value:.2f}x, single samples: not known"
        text = f"{self.gain.value:.2f}x ({span})"
        return text if self.is_clear else f"{text}, within the noise"


@dataclass(frozen=True, kw_only=True, repr=False)
class SideBySide(Result):
    """The answers of one verb for every curve of a set; a curve that has none is a finding."""

    name: str
    answers: Mapping[str, Result]
    best: BestScaling | None
    fastest: Fastest | None = None
    splits: tuple[BestSplit, ...] = ()
    own_findings: tuple[Finding, ...] = ()

    JSON = "name best fastest splits curves=answers findings=own_findings"

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all answers, each with the name of its curve."""
        every = [
            replace(finding, message=f"{name}: {finding.message}")
            for name, answer in self.answers.items()
            for finding in answer.findings
        ]
        return (*self.own_findings, *every)

    def _shared_findings(self) -> Iterator[Finding]:
        """The findings of all answers, one that several share once, with the names of its curves."""
        holders: dict[tuple[str, str], list[tuple[str, Finding]]] = {}
        for name, answer in self.answers.items():
            for finding in answer.findings:
                holders.setdefault((finding.code, finding.message), []).append((name, finding))
        for held in holders.values():
            names = dict.fromkeys(short_name(name) for name, _ in held)
            listed = ", ".join(names) if len(names) <= MOST_SAID or len(names) < len(self.answers) else "every curve"
            yield replace(held[0][1], message=f"{listed}: {held[0][1].message}")

    def records(self) -> list[dict[str, Any]]:
        """The rows of every answer, with the name of its curve."""
        return [{"series": name, **row} for name, answer in self.answers.items() for row in answer.records()]

    @property
    def answer(self) -> Answer:
        """Which curve scales best, where they can be compared."""
        answers = {name: result.answer for name, result in self.answers.items() if result.answer is not None}
        from scalecurve.analysis.table import SpeedupTable

        is_table = any(isinstance(result, SpeedupTable) for result in self.answers.values())
        if self.fastest is not None and is_table:
            return self.fastest.answer(self.best)
        if self.best is not None and (is_table or not answers):
            return self.best.answer()
        if not answers:
            return Answer(
                decision=f"{len(self.answers)} curves, which cannot be ranked.",
                next=f"`SAME --series {shlex.quote(next(iter(self.answers)))}` answers for one",
            )
        name = self.best.best if self.best is not None and self.best.best in answers else next(iter(answers))
        said = [f"{other}: {answer.decision}" for other, answer in answers.items() if other != name]
        reason = " ".join(
            [*said[:MOST_SAID], *([f"{len(said) - MOST_SAID} more below."] if len(said) > MOST_SAID else [])]
        )
        return Answer(
            decision=f"{short_name(name)}: {answers[name].decision}", reason=reason or None, next=answers[name].next
        )

    def body(self) -> Document:
        blocks: list[Block] = []
        if self.splits:
            rows = [
                [str(own.k), own.others, own.best, f"{own.time:.4g}", own.next, own.gain_text] for own in self.splits
            ]
            head = [Column("K"), Column("of", "left"), Column("best split", "left"), Column("T")]
            head += [Column("next", "left"), Column("faster by", "left")]
            blocks.append(table(head, rows, caption="Splits of the same cores"))
        for name, answer in self.answers.items():
            said = [Paragraph(answer.answer.decision)] if answer.answer else []
            own = [block for block in answer.body().blocks if not isinstance(block, FindingList)]
            blocks += [Heading(name), *said, *own]
        if found := (*self.own_findings, *self._shared_findings()):
            blocks.append(FindingList(found))
        return Document(f"{self.name}: {len(self.answers)} curves", tuple(blocks))


def _axis_name(axis: str, value: str) -> str:
    """The name of an axis of the placement after a number: 1 thread, 2 ranks per node."""
    name, _, rest = axis.partition("_")
    return " ".join([name.removesuffix("s") if value == "1" else name, *rest.split("_")]).strip()


def best_splits(studies: StudySet) -> tuple[BestSplit, ...]:
    """The fastest split of the same cores at each K and size, where the curves differ in nodes, ranks or threads."""
    placed: dict[str, str] = {}
    groups: dict[tuple[str, int], list[str]] = {}
    for name, study in studies.items():
        cells = studies.axes.get(name, {})
        own = [f"{value} {_axis_name(axis, value)}" for axis, value in cells.items() if axis in PLACEMENT]
        rest = ", ".join(f"{axis} {value}" for axis, value in cells.items() if axis not in PLACEMENT)
        if not own:
            return ()
        placed[name] = " x ".join(own)
        for k in study.all_k:
            groups.setdefault((rest, k), []).append(name)
    curves = {name: curve_of(study) for name, study in studies.items()}
    splits = []
    for (rest, k), names in sorted(groups.items()):
        if len(names) < 2:
            continue
        times = {name: float(curves[name].time[curves[name].index(k)]) for name in names}
        best, following = sorted(times, key=lambda name: times[name])[:2]
        ratio = log_ratio((curves[following], k, 1.0), (curves[best], k, -1.0))
        gain = ratio.around(times[following] / times[best], LEVEL)
        splits.append(
            BestSplit(k=k, others=rest, best=placed[best], next=placed[following], time=times[best], gain=gain)
        )
    return tuple(splits)


def best_scaling(studies: StudySet) -> BestScaling | None:
    """Which curve has the highest efficiency at the largest common K, against the next, with an interval.

    None where there is no common K beyond the baselines, or where the baselines differ, so that E cannot be compared.
    """
    common = [k for k in studies.common_k if all(k > study.baseline_k for study in studies.studies.values())]
    if not common or len(studies) < 2 or len({study.baseline_k for study in studies.studies.values()}) > 1:
        return None
    k, base = common[-1], studies.first.baseline_k
    curves = {name: curve_of(study) for name, study in studies.items()}
    shares = {name: float(curve.efficiency[curve.index(k)]) for name, curve in curves.items()}
    best, following = sorted(shares, key=lambda name: -shares[name])[:2]
    ends = [(curves[name], at, 1.0) for name in (best, following) for at in (base, k)]
    ratio = log_ratio(*ends).around(shares[best] / shares[following], LEVEL)
    return BestScaling(
        k=k, best=best, efficiency=shares[best], next=following, next_efficiency=shares[following], ratio=ratio
    )


def fastest_curve(studies: StudySet) -> Fastest | None:
    """The fastest curve at its own best K; None where the curves differ in size or kind, or larger K do more work."""
    kinds = {(study.regime, study.quantity, study.unit, study.k_unit) for study in studies.studies.values()}
    first = studies.first
    timed = first.quantity is Quantity.SECONDS
    rated = first.quantity.higher_is_better
    if len(studies) < 2 or len(kinds) > 1 or studies.sizes or is_load(first.k_unit):
        return None
    axes = {axis.lower() for cells in studies.axes.values() for axis in cells}
    if OTHER_WORK & axes or first.regime is Regime.WEAK or not (timed or rated):
        return None
    curves = {name: curve_of(study) for name, study in studies.items()}
    sign = -1.0 if rated else 1.0
    places = {name: int(np.argmin(sign * curve.mean)) for name, curve in curves.items()}
    best, following = sorted(curves, key=lambda name: sign * float(curves[name].mean[places[name]]))[:2]
    values = {name: float(curves[name].mean[places[name]]) for name in (best, following)}
    at = {name: int(curves[name].k[places[name]]) for name in (best, following)}
    ratio = log_ratio((curves[following], at[following], 1.0), (curves[best], at[best], -1.0))
    gain = values[best] / values[following] if rated else values[following] / values[best]
    return Fastest(
        curve=best,
        k=at[best],
        k_unit=first.k_unit,
        value=values[best],
        next=following,
        next_k=at[following],
        next_value=values[following],
        gain=ratio.around(gain, LEVEL),
        quantity=first.quantity,
    )


def side_by_side(studies: StudySet, verb: Callable[[Study], Result]) -> SideBySide:
    """One verb for every curve of a set: `side_by_side(studies, scalecurve.tabulate)`.

    A curve for which the verb refuses is a finding beside the answers of the others; an error where all refuse.
    """
    answers: dict[str, Result] = {}
    refused: dict[str, ScalecurveError] = {}
    for name, study in studies.items():
        try:
            answers[name] = verb(study)
        except ScalecurveError as problem:
            refused[name] = problem
    if not answers:
        faults = [Fault(str(problem), where=name) for name, problem in refused.items()]
        raise InputError(faults[:20], subject=studies.name)
    findings = tuple(warning("no-answer", f"{name} has no answer: {problem}") for name, problem in refused.items())
    return SideBySide(
        name=studies.name,
        answers=answers,
        best=best_scaling(studies),
        fastest=fastest_curve(studies),
        splits=best_splits(studies),
        own_findings=findings,
    )


def for_each_curve(studies: Study | StudySet, verb: Callable[[Study], AnyResult]) -> AnyResult | SideBySide:
    """The verb's own answer for a study, and answers side by side for a set."""
    return side_by_side(studies, verb) if isinstance(studies, StudySet) else verb(studies)
