"""Two clusters side by side: the same run planned on both, at each P that both have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scalecurve.document import Column, Document, FindingList, Paragraph, Result, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding
from scalecurve.training.answers.curve import PlanRow
from scalecurve.training.answers.plan import Plan
from scalecurve.units import format_count, format_seconds


@dataclass(frozen=True, kw_only=True, repr=False)
class ClusterComparison(Result):
    """Plans of one run on two clusters; ratios are the second's over the first's."""

    first: Plan
    second: Plan

    def __repr__(self) -> str:
        return f"<ClusterComparison {' and '.join(self.names)}: {len(self.pairs)} P>"

    @property
    def names(self) -> tuple[str, str]:
        one, two = (plan.rows[0].outcome.job.cluster.name for plan in (self.first, self.second))
        return one, two

    @property
    def pairs(self) -> tuple[tuple[PlanRow, PlanRow], ...]:
        """The rows at each P that both plans have."""
        both = [(row, self.second.row(row.gpus)) for row in self.first.rows]
        return tuple((row, other) for row, other in both if other is not None)

    @property
    def findings(self) -> tuple[Finding, ...]:
        return (*self.first.findings, *self.second.findings)

    def to_dict(self) -> dict[str, Any]:
        return {"clusters": list(self.names), "rows": self.records(), "first": self.first.to_dict(),
                "second": self.second.to_dict()}  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        return [
            {
                "gpus": row.gpus,
                "layout": row.outcome.layout.short(),
                "other_layout": other.outcome.layout.short(),
                "step_seconds": row.step_seconds,
                "other_step_seconds": other.step_seconds,
                "speed_ratio": row.step_seconds / other.step_seconds,
                "run_usd": row.run_usd,
                "other_run_usd": other.run_usd,
                "cost_ratio": other.run_usd / row.run_usd if row.run_usd and other.run_usd else None,
            }
            for row, other in self.pairs
        ]

    def document(self) -> Document:
        one, two = self.names
        columns = [
            Column("GPUs"), Column(f"layout on {one}", "left"), Column(f"layout on {two}", "left"), Column("step"),
            Column("step there"), Column("faster"), Column("MFU"), Column("MFU there"), Column("tokens/s there"),
            Column("USD"), Column("USD there"),
        ]  # fmt: skip
        lines = [
            (
                f"{row.gpus:,}", row.outcome.layout.short(), other.outcome.layout.short(),
                format_seconds(row.step_seconds), format_seconds(other.step_seconds),
                f"{row.step_seconds / other.step_seconds:.2f}x", f"{100 * row.mfu:.1f}%", f"{100 * other.mfu:.1f}%",
                format_count(other.outcome.tokens_per_second),
                *(None if each.run_usd is None else f"{each.run_usd:,.0f}" for each in (row, other)),
            )
            for row, other in self.pairs
        ]  # fmt: skip
        batch = Paragraph(f"global batch {self.first.batch.sentence}; faster is the step on {one} over that on {two}")
        return Document(f"{one} and {two}", (batch, table(columns, lines), FindingList(self.findings)))


def compare_clusters(first: Plan, second: Plan) -> ClusterComparison:
    """Two plans of the same run side by side; raises InputError where they share no P."""
    comparison = ClusterComparison(first=first, second=second)
    if not comparison.pairs:
        counts = [", ".join(str(row.gpus) for row in plan.rows) for plan in (first, second)]
        hint = "choose counts that both clusters have a layout for"
        raise InputError(Fault("the two plans share no P", "gpus", " and ".join(counts), hint), subject="against")
    return comparison
