"""The nouns of a fit: one law's Fit, and the ranked Fits of a study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from scalecurve.document import Block, Cell, Column, Document, FindingList, Paragraph, Shown, table
from scalecurve.errors import Fault, InputError, Undecided
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding

NO_SINGLE_K = "no single K up to 64 times the largest is sure to part them; measure more K"


@dataclass(frozen=True, kw_only=True)
class Fit:
    """One law fitted; `score` is its predictive log density (higher is better), `misfit` the relative residual."""

    name: str
    formula: str
    score: float
    parameters: Mapping[str, Estimate]
    misfit: float
    residuals: Mapping[int, float] = field(default_factory=dict)
    reduces_to: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "formula": self.formula,
            "score": self.score,
            "parameters": {name: estimate.to_dict() for name, estimate in self.parameters.items()},
            "misfit": self.misfit,
            "reduces_to": self.reduces_to,
        }


@dataclass(frozen=True, kw_only=True)
class Fits(Shown):
    """All laws, best first.  `tied` names those the data cannot tell apart, `parting_k` the K that would."""

    name: str
    level: float
    laws: tuple[Fit, ...]
    tied: tuple[str, ...]
    parting_k: int | None
    findings: tuple[Finding, ...]

    def __getitem__(self, name: str) -> Fit:
        for fit in self.laws:
            if fit.name == name:
                return fit
        raise InputError(Fault("this law was not fitted", seen=name, remedy=", ".join(f.name for f in self.laws)))

    def __iter__(self) -> Iterator[Fit]:
        return iter(self.laws)

    def __len__(self) -> int:
        return len(self.laws)

    @property
    def best(self) -> Fit:
        """The one law the data supports; Undecided where several explain it equally well."""
        if len(self.tied) > 1:
            raise Undecided(self.undecided(), self.tied)
        return self.laws[0]

    def undecided(self) -> str:
        laws = ", ".join(self.tied)
        if self.parting_k is None:
            return f"the data cannot tell {laws} apart; {NO_SINGLE_K}"
        return f"the data cannot tell {laws} apart; a run at K = {self.parting_k} would part them"

    def records(self) -> list[dict[str, Any]]:
        return [
            {"law": fit.name, "score": fit.score, "parameter": name, "value": e.value, "low": e.low, "high": e.high}
            for fit in self.laws
            for name, e in fit.parameters.items()
        ]

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "level": self.level,
            "laws": [fit.to_dict() for fit in self.laws],
            "best": self.laws[0].name if len(self.tied) <= 1 else None,
            "tied": list(self.tied),
            "parting_k": self.parting_k,
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def document(self) -> Document:
        best = self.undecided() if len(self.tied) > 1 else f"{self.laws[0].name} predicts left-out K best"
        columns = [Column("law", "left"), Column("score", meaning="predictive log density, higher is better")]
        columns += [Column("misfit"), Column("parameter", "left"), Column("value"), Column("low"), Column("high")]
        rows = [row for fit in self.laws for row in _rows(fit)]
        caption = f"Laws by predictive density of left-out K; intervals at {self.level:.0%}"
        blocks: list[Block] = [Paragraph(f"{best[0].upper()}{best[1:]}."), table(columns, rows, caption=caption)]
        same = [f"{fit.name} reduces to {fit.reduces_to}" for fit in self.laws if fit.reduces_to]
        blocks += [Paragraph(f"Not rivals, since their further terms add nothing: {', '.join(same)}.")] if same else []
        return Document(f"Fits of {self.name}", (*blocks, FindingList(self.findings)))


def _rows(fit: Fit) -> Iterator[list[Cell | str | None]]:
    head: list[Cell | str | None] = [fit.name, f"{fit.score:.2f}", f"{fit.misfit:.2%}"]
    for i, (name, estimate) in enumerate(fit.parameters.items()):
        ends = [None if end is None else f"{end:.4g}" for end in (estimate.low, estimate.high)]
        yield [*(head if i == 0 else ["", "", ""]), name, f"{estimate.value:.4g}", *ends]
