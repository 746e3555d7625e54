"""Two clusters side by side at each P; and why not this layout: what it loses against the best at one P, by term."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scalecurve.document import Answer, Column, Document, FindingList, Paragraph, Result, Table, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding
from scalecurve.training.answers.curve import PlanRow
from scalecurve.training.answers.evaluation import StepOutcome, evaluate_layout
from scalecurve.training.answers.plan import MINOR, Plan, field, short_sentence, short_split
from scalecurve.training.inputs.layout import LayoutLike
from scalecurve.training.inputs.transformer import Transformer
from scalecurve.units import format_memory, format_seconds, seconds_alike

WORDS = {  # a term of the step: what a layout loses there
    "compute": "smaller or slower matrix products", "recompute": "recomputation",
    "tensor": "tensor-parallel traffic", "context": "context-parallel traffic", "expert": "expert traffic",
    "data": "gradient and weight traffic", "pipeline": "messages between stages", "bubble": "the pipeline's bubble",
    "optimizer": "optimiser states per accelerator", "host": "waiting for the host",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, repr=False)
class LayoutComparison(Result):
    """A layout beside the best at the same P; differences are seconds and bytes of the layout less the best's."""

    best: StepOutcome
    other: StepOutcome
    findings: tuple[Finding, ...] = ()
    further: str | None = None  # a command that shows every term of the layout

    JSON = "sentence slower fits=other.fits seconds_lost bytes_more best layout=other findings"

    @property
    def answer(self) -> Answer:
        return Answer(
            decision=short_sentence(self.sentence), next=self.further and f"`{self.further}` shows every term"
        )

    @property
    def slower(self) -> float:
        """The layout's step over the best's, less one."""
        return self.other.seconds / self.best.seconds - 1.0

    @property
    def seconds_lost(self) -> dict[str, float]:
        """Seconds by term, largest loss first."""
        lost = {name: seconds - self.best.breakdown[name] for name, seconds in self.other.breakdown.items()}
        return dict(sorted(lost.items(), key=lambda entry: -entry[1]))

    @property
    def bytes_more(self) -> dict[str, float]:
        """Bytes by what holds them, largest first."""
        more = {name: size - self.best.memory[name] for name, size in self.other.memory.items()}
        return dict(sorted(more.items(), key=lambda entry: -entry[1]))

    @property
    def sentence(self) -> str:
        """The answer: it does not fit, it loses most by one term, or it is as good."""
        term, seconds = next(iter(self.seconds_lost.items()))
        if not self.other.fits:
            part, size = next(iter(self.bytes_more.items()))
            more = f"most of the difference is {part} ({format_memory(size)} more)"
            return f"It does not fit: {self.other.memory_text}; {more}."
        if self.slower <= 0.0:
            return "It is not slower: the plan prefers the other for memory or for being simpler."
        loss = f"{WORDS[term]} ({format_seconds(seconds)} more)"
        times = (
            f"takes {1.0 + self.slower:.1f} times as long"
            if self.slower > 1.0
            else f"is {100 * self.slower:.1f} % slower"
        )
        return f"It {times}, most of it by {loss}."

    def body(self) -> Document:
        seconds = [
            *((name, self.best.breakdown[name], self.other.breakdown[name]) for name in self.seconds_lost),
            ("step", self.best.seconds, self.other.seconds),
        ]
        sizes = [
            *((name, self.best.memory[name], self.other.memory[name]) for name in self.bytes_more),
            ("memory", self.best.memory_bytes, self.other.memory_bytes),
        ]
        return Document(
            f"{self.other.layout.short()} against {self.best.layout.short()} on {self.best.gpus} accelerators",
            (differences(seconds, format_seconds), FindingList(self.findings)), (differences(sizes, format_memory),),
        )  # fmt: skip


def differences(rows: Sequence[tuple[str, float, float]], write: Callable[[float], str]) -> Table:
    """What two layouts take of each thing that either takes, and by how much the second takes more."""
    lines = [
        (name, write(best), write(other), f"{'-' if other < best else '+'}{write(abs(other - best))}")
        for name, best, other in rows
        if best > 0 or other > 0
    ]
    return table(["", "best", "this", "difference"], lines)


def why_not(plan: Plan, layout: LayoutLike, further: str | None = None) -> LayoutComparison:
    """A layout beside the best of a plan of one P, under the same model, cluster, stack and batch; `further` is a
    command that explains it."""
    if len(plan.rows) != 1:
        rows = ", ".join(str(row.gpus) for row in plan.rows)
        raise InputError(Fault("a layout is compared at one P", "gpus", rows, "give one count"), subject="why-not")
    best = plan.rows[0].outcome
    job = best.job
    model: Transformer = job.model
    evaluation = evaluate_layout(
        model, job.cluster, layout, batch=f"{best.layout.sequences} sequences", seq=job.seq, stack=job.stack,
        precision=job.precision, gpus=best.gpus, calibration=best.calibration, adapters=job.adapter,
    )  # fmt: skip
    return LayoutComparison(best=best, other=evaluation.outcome, findings=evaluation.findings, further=further)


@dataclass(frozen=True, kw_only=True, repr=False)
class ClusterComparison(Result):
    """Plans of one run on two clusters; ratios are the second's over the first's."""

    first: Plan
    second: Plan

    JSON = "clusters=names ratio_factor rows=records first second"

    @property
    def answer(self) -> Answer:
        row, other = self.pairs[-1]
        speed = other.useful_work / row.useful_work
        one, two = self.names
        price = ""
        if row.run_usd and other.run_usd:
            price = f" and costs {other.run_usd / row.run_usd:.2f}x as much"
        unit = row.unit if row.unit == other.unit else "accelerators"
        return Answer(
            decision=f"At {row.gpus:,} {unit} {two} reaches the target {speed:.2f}x as fast as {one}{price}.",
            confidence=f"The ratio is known within a factor of {self.ratio_factor:.2f} (90 %).",
        )

    @property
    def names(self) -> tuple[str, str]:
        one, two = (plan.rows[0].outcome.job.cluster.name for plan in (self.first, self.second))
        return one, two

    @property
    def ratio_factor(self) -> float:
        """The factor within which a ratio of the two clusters' speeds is known with 90 %; their errors are apart."""
        return math.exp(math.hypot(*(plan.rows[0].outcome.half_width for plan in (self.first, self.second))))

    @property
    def pairs(self) -> tuple[tuple[PlanRow, PlanRow], ...]:
        """The rows at each P that both plans have."""
        both = [(row, self.second.row(row.gpus)) for row in self.first.rows]
        return tuple((row, other) for row, other in both if other is not None)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Those of both plans, each with the cluster it is about; what both say is said once."""
        both = [finding for finding in self.first.findings if finding in self.second.findings]
        return (*both, *(
            replace(finding, message=f"{name}: {finding.message}")
            for name, plan in zip(self.names, (self.first, self.second), strict=True)
            for finding in plan.findings
            if finding not in both
        ))  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        return [
            {
                "gpus": row.gpus, "layout": row.outcome.layout.short(), "other_layout": other.outcome.layout.short(),
                "step_seconds": row.step_seconds, "other_step_seconds": other.step_seconds,
                "speed_ratio": other.useful_work / row.useful_work, "run_usd": row.run_usd,
                "other_run_usd": other.run_usd,
                "cost_ratio": other.run_usd / row.run_usd if row.run_usd and other.run_usd else None,
            }
            for row, other in self.pairs
        ]  # fmt: skip

    def body(self) -> Document:
        one, two = self.names
        of_run = seconds_alike(plan.run_seconds for pair in self.pairs for plan in pair)
        split, run, usd = (
            field("outcome.layout", short_split),
            field("run_seconds", of_run),
            field("run_usd", "{:,.0f}"),
        )
        columns = [
            Column("P"), Column(f"split on {one}", "left", rank=2), Column(f"split on {two}", "left", rank=1),
            Column("run"), Column("run there"), Column("speed there"), Column("USD"), Column("USD there"),
        ]  # fmt: skip
        lines = [
            (f"{row.gpus:,}", split(row), split(other), run(row), run(other),
             f"{other.useful_work / row.useful_work:.2f}x", usd(row), usd(other))
            for row, other in self.pairs
        ]  # fmt: skip
        minor = tuple(note for note in self.findings if note.code in MINOR)
        said = FindingList(tuple(note for note in self.findings if note not in minor))
        batch = Paragraph(f'{self.first.batch_choice.sentence}; "there" is {two}; speed is in useful work')
        return Document(f"{one} and {two}", (table(columns, lines), said), (batch, FindingList(minor)))


def compare_clusters(first: Plan, second: Plan) -> ClusterComparison:
    """Two plans of the same run side by side; raises InputError where they share no P."""
    comparison = ClusterComparison(first=first, second=second)
    if not comparison.pairs:
        counts = [", ".join(str(row.gpus) for row in plan.rows) for plan in (first, second)]
        hint = "choose counts that both clusters have a layout for"
        raise InputError(Fault("the two plans share no P", "gpus", " and ".join(counts), hint), subject="against")
    return comparison
