"""Several curves side by side: one answer for each, and which of them scales best at the largest common K."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from scalecurve.analysis.curve import curve_of, log_ratio
from scalecurve.document import Block, Document, FindingList, Heading, Paragraph, Result
from scalecurve.errors import Fault, InputError, ScalecurveError
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, warning
from scalecurve.study import Study, StudySet

Answer = TypeVar("Answer", bound=Result)


@dataclass(frozen=True, kw_only=True)
class BestScaling:
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

    def sentence(self) -> str:
        """Which curve scales best, by how much, and whether the data can tell."""
        text = (
            f"At K = {self.k}, the largest common K, {self.best} scales best: E = {self.efficiency:.3f}, "
            f"{self.ratio.value:.2f} times the {self.next_efficiency:.3f} of {self.next}"
        )
        if self.ratio.low is None or self.ratio.high is None:
            return text + "; single samples give no interval."
        text += f" ({self.ratio.low:.2f} to {self.ratio.high:.2f} at {self.ratio.level:.0%})"
        return text + ("; the data do not tell the two apart." if self.ratio.low <= 1 <= self.ratio.high else ".")

    def to_dict(self) -> dict[str, Any]:
        return {
            "k": self.k,
            "best": self.best,
            "efficiency": self.efficiency,
            "next": self.next,
            "next_efficiency": self.next_efficiency,
            "ratio": self.ratio.value,
            "ratio_low": self.ratio.low,
            "ratio_high": self.ratio.high,
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class SideBySide(Result):
    """The answers of one verb for every curve of a set; a curve that has none is a finding."""

    name: str
    answers: Mapping[str, Result]
    best: BestScaling | None
    own_findings: tuple[Finding, ...] = ()

    def __repr__(self) -> str:
        return f"<SideBySide of {len(self.answers)} curves: {', '.join(list(self.answers)[:5])}>"

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all answers, each with the name of its curve."""
        every = [
            replace(finding, message=f"{name}: {finding.message}")
            for name, answer in self.answers.items()
            for finding in answer.findings
        ]
        return (*self.own_findings, *every)

    def records(self) -> list[dict[str, Any]]:
        """The rows of every answer, with the name of its curve."""
        rows: list[dict[str, Any]] = []
        for name, answer in self.answers.items():
            records = getattr(answer, "records", None)
            if records is None:
                raise InputError("this answer has no table to give as CSV; use --json")
            rows += [{"series": name, **row} for row in records()]
        return rows

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "best": None if self.best is None else self.best.to_dict(),
            "curves": {name: answer.to_dict() for name, answer in self.answers.items()},
            "findings": [finding.to_dict() for finding in self.own_findings],
        }

    def document(self) -> Document:
        blocks: list[Block] = [] if self.best is None else [Paragraph(self.best.sentence())]
        for name, answer in self.answers.items():
            blocks += [Heading(name), *answer.document().blocks]
        if self.own_findings:
            blocks.append(FindingList(self.own_findings))
        return Document(f"{self.name}: {len(self.answers)} curves", tuple(blocks))


def best_scaling(studies: StudySet, *, level: float = 0.95) -> BestScaling | None:
    """Which curve has the highest efficiency at the largest common K, against the next, with an interval at `level`.

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
    ratio = log_ratio(*ends).around(shares[best] / shares[following], level)
    return BestScaling(
        k=k, best=best, efficiency=shares[best], next=following, next_efficiency=shares[following], ratio=ratio
    )


def side_by_side(studies: StudySet, verb: Callable[[Study], Result], *, level: float = 0.95) -> SideBySide:
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
        name=studies.name, answers=answers, best=best_scaling(studies, level=level), own_findings=findings
    )


def for_each_curve(studies: Study | StudySet, verb: Callable[[Study], Answer]) -> Answer | SideBySide:
    """The verb's own answer for a study, and answers side by side for a set."""
    return side_by_side(studies, verb) if isinstance(studies, StudySet) else verb(studies)
