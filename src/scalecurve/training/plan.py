"""One sweep over P: the best split at each, what a larger batch is charged, where more accelerators stop paying."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scalecurve.document import Block, Cell, Column, Document, FindingList, Listing, Paragraph, Shown, table
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding
from scalecurve.training.critical_batch import CriticalBatch
from scalecurve.training.evaluate import LEFT_OUT, flat
from scalecurve.training.goodput import Goodput
from scalecurve.training.outcome import Outcome
from scalecurve.training.tokens import Rounded
from scalecurve.units import format_bytes, format_count, format_seconds


@dataclass(frozen=True, kw_only=True)
class Optimal:
    """The compute-optimal model for what P accelerators compute in `seconds`, by a named loss law."""

    parameters: float
    tokens: float
    loss: float
    seconds: float
    law: str

    def to_dict(self) -> dict[str, Any]:
        return {
            "parameters": self.parameters, "tokens": self.tokens, "loss": self.loss, "seconds": self.seconds,
            "law": self.law,
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PlanRow:
    """The best layout at P, and what the whole run takes with it.

    `run_tokens` are the tokens to process, with the extra that batches near or beyond the critical one are charged.
    """

    outcome: Outcome
    alternatives: tuple[Outcome, ...]
    goodput: Goodput
    tokens_factor: float
    run_tokens: float | None
    speedup: float
    doubling: float | None  # speedup over half as many accelerators, per effective token
    optimal: Optimal | None = None

    @property
    def gpus(self) -> int:
        return self.outcome.gpus

    @property
    def step_seconds(self) -> float:
        return self.outcome.seconds

    @property
    def mfu(self) -> float:
        return self.outcome.mfu

    @property
    def statistical_efficiency(self) -> float:
        """1 / (1 + B/B_crit): the share of tokens that a small batch would have needed too."""
        return 1.0 / self.tokens_factor

    @property
    def token_rate(self) -> Estimate:
        """Tokens per second with the step's interval."""
        return _rate(self.outcome.tokens, self.outcome.step)

    @property
    def work_rate(self) -> Estimate:
        """Model FLOP per second with the step's interval: what compares models of different size."""
        return _rate(self.outcome.mfu * self.outcome.peak * self.gpus * self.outcome.seconds, self.outcome.step)

    @property
    def effective_tokens_per_second(self) -> float:
        """Tokens that count: throughput, less failures and stragglers, over the charge for the batch."""
        return self.outcome.tokens_per_second * self.goodput.factor / self.tokens_factor

    @property
    def run_seconds(self) -> float | None:
        if self.run_tokens is None:
            return None
        return self.run_tokens / (self.outcome.tokens_per_second * self.goodput.factor)

    @property
    def run_usd(self) -> float | None:
        from scalecurve.planning.pricing import price_of

        hourly = self.outcome.job.cluster.usd_per_gpu_hour
        if hourly is None or self.run_seconds is None:
            return None
        return price_of(hourly, workers=self.gpus, seconds=self.run_seconds).amount

    @property
    def run_joules(self) -> float | None:
        watts = self.outcome.job.cluster.accelerator.watts
        return None if watts is None or self.run_seconds is None else watts * self.gpus * self.run_seconds

    def to_dict(self) -> dict[str, Any]:
        per_token = self.outcome.usd_per_billion_tokens
        return self.outcome.to_dict() | {
            "goodput": self.goodput.to_dict(),
            "tokens_factor": self.tokens_factor,
            "effective_tokens_per_second": self.effective_tokens_per_second,
            "usd_per_billion_effective_tokens": None
            if per_token is None
            else per_token * self.tokens_factor / self.goodput.factor,
            "speedup": self.speedup,
            "doubling_speedup": self.doubling,
            "run_tokens": self.run_tokens,
            "run_seconds": self.run_seconds,
            "run_usd": self.run_usd,
            "run_joules": self.run_joules,
            "compute_optimal": None if self.optimal is None else self.optimal.to_dict(),
            "loss": None if self.optimal is None else self.optimal.loss,
            "alternatives": [other.to_dict() for other in self.alternatives],
        }


def _rate(amount: float, step: Estimate) -> Estimate:
    low, high = step.low or step.value, step.high or step.value
    return Estimate(amount / step.value, amount / high, amount / low, step.level, step.method)


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A place on the axis of P worth a line: `gpus` None where it lies outside the sweep."""

    name: str
    gpus: float | None
    meaning: str

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "gpus": self.gpus, "meaning": self.meaning}


@dataclass(frozen=True, kw_only=True)
class Plan(Shown):
    """A sweep: rows by P, the two caps on data parallelism, marks, and the cost-effective scale."""

    title: str
    regime: str
    batch: Rounded | None
    rows: tuple[PlanRow, ...]
    statistical_cap: int | None
    granularity_cap: int | None
    critical: CriticalBatch | None
    cost_effective_gpus: int | None
    chosen_gpus: int | None
    marks: tuple[Mark, ...]
    evidence: str
    source: str
    findings: tuple[Finding, ...] = ()
    strong: tuple[PlanRow, ...] = ()  # with weak scaling: the fixed job's curve beside it
    configurations: int = 0
    choice: str | None = None  # why `chosen_gpus`, where a deadline, a budget or an objective was given

    def row(self, gpus: int) -> PlanRow | None:
        return next((row for row in self.rows if row.gpus == gpus), None)

    def to_dict(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "regime": self.regime,
            "rows": [row.to_dict() for row in self.rows],
            "strong_rows": [row.to_dict() for row in self.strong],
            "dp_cap": {"statistical": self.statistical_cap, "granularity": self.granularity_cap},
            "critical_batch_tokens": self.critical.tokens.value if self.critical else None,
            "critical_batch": self.critical.to_dict() if self.critical else None,
            "global_batch_tokens": self.batch.tokens if self.batch else None,
            "cost_effective_gpus": self.cost_effective_gpus,
            "chosen_gpus": self.chosen_gpus,
            "choice": self.choice,
            "marks": [mark.to_dict() for mark in self.marks],
            "configurations": self.configurations,
            "evidence": self.evidence,
            "source": self.source,
            "left_out": list(LEFT_OUT),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def records(self) -> list[dict[str, Any]]:
        extra = ("tokens_factor", "effective_tokens_per_second", "speedup", "run_seconds", "run_usd", "loss")
        return [flat(row.outcome) | {name: row.to_dict()[name] for name in extra} for row in self.rows]

    def _batch_sentence(self, batch: Rounded) -> str:
        """A batch that grows is only where it starts."""
        name = "global batch" if self.regime == "strong" else "starting batch"
        return f"{name} {batch.sentence}"

    def document(self) -> Document:
        blocks: list[Block] = [Paragraph(self._batch_sentence(self.batch))] if self.batch else []
        blocks += [rows_table(self.rows, self.chosen_gpus)]
        if self.choice and self.chosen_gpus is not None:  # otherwise a finding says it
            blocks += [Paragraph(self.choice)]
        if any(row.alternatives for row in self.rows):
            blocks += [alternatives_table(self.rows)]
        if self.strong:
            blocks += [Paragraph("The fixed job (strong scaling), for comparison:"), rows_table(self.strong, None)]
        if any(row.optimal for row in self.rows):
            blocks += [optimal_table(self.rows)]
        blocks += [Listing("\n".join(_mark_lines(self.marks)))] if self.marks else []
        blocks += [
            Paragraph(f"{self.configurations:,} configurations tried. Constants: {self.evidence} ({self.source})."),
            Paragraph("Left out: " + "; ".join(LEFT_OUT) + ".", "muted"),
            FindingList(self.findings),
        ]
        return Document(self.title, tuple(blocks))


def alternatives_table(rows: Sequence[PlanRow]) -> Block:
    """The next best layouts at each P, and how much slower they are."""
    columns = [
        Column("GPUs"), Column("rank"), Column("layout", "left"), Column("step"), Column("slower by"), Column("MFU"),
        Column("memory"),
    ]  # fmt: skip
    lines = [
        (f"{row.gpus:,}", str(rank), other.layout.short(), format_seconds(other.seconds),
         f"{100 * (other.seconds / row.step_seconds - 1):.1f}%", f"{100 * other.mfu:.1f}%",
         format_bytes(other.memory_bytes))
        for row in rows
        for rank, other in enumerate(row.alternatives, start=2)
    ]  # fmt: skip
    return table(columns, lines, caption="Alternatives at each P")


def optimal_table(rows: Sequence[PlanRow]) -> Block:
    """Systems scaling and statistical scaling side by side."""
    columns = ["GPUs", "E", "within", "parameters", "tokens", "loss"]
    lines = [
        (f"{row.gpus:,}", f"{row.outcome.efficiency:.2f}", format_seconds(best.seconds), format_count(best.parameters),
         format_count(best.tokens), f"{best.loss:.3f}")
        for row in rows
        if (best := row.optimal)
    ]  # fmt: skip
    law = next(row.optimal.law for row in rows if row.optimal)
    return table(columns, lines, caption=f"Compute-optimal by {law}: the loss reached within the time and budget")


def _mark_lines(marks: Sequence[Mark]) -> list[str]:
    return [f"{mark.name:28s} {_where(mark):>10s}  {mark.meaning}" for mark in marks]


def _where(mark: Mark) -> str:
    return "-" if mark.gpus is None else f"P {mark.gpus:,.0f}"


def rows_table(rows: Sequence[PlanRow], chosen: int | None) -> Block:
    """What differs between rows beside P has a column of its own: the batch, the model's parameters."""
    grown = _grown_columns(rows)
    columns = [
        Column("GPUs"), *(Column(name) for name in grown), Column("layout", "left"), Column("step"), Column("90 %"),
        Column("tokens/s"), Column("speedup"), Column("E", meaning="1 / (1 + comm_frac)"), Column("MFU"),
        Column("memory"), Column("charged"), Column("run"), Column("USD"),
    ]  # fmt: skip
    lines = []
    for place, row in enumerate(rows):
        first, *others = _cells(row, chosen)
        lines.append([first, *(cells[place] for cells in grown.values()), *others])
    return table(columns, lines)


def _grown_columns(rows: Sequence[PlanRow]) -> dict[str, list[str]]:
    values = {
        "parameters": [float(row.outcome.job.model.parameters) for row in rows],
        "batch": [float(row.outcome.tokens) for row in rows],
    }
    return {name: [format_count(one) for one in column] for name, column in values.items() if len(set(column)) > 1}


def _cells(row: PlanRow, chosen: int | None) -> list[Cell | str | None]:
    outcome, step = row.outcome, row.outcome.step
    spread = f"{format_seconds(step.low or 0.0)}..{format_seconds(step.high or 0.0)}"
    return [
        Cell(f"{row.gpus:,}", "good" if row.gpus == chosen else "plain"),
        outcome.layout.short(),
        format_seconds(step.value),
        spread,
        format_count(outcome.tokens_per_second),
        f"{row.speedup:.2f}",
        f"{outcome.efficiency:.2f}",
        f"{100 * outcome.mfu:.1f}%",
        format_bytes(outcome.memory_bytes),
        f"x{row.tokens_factor:.2f}",
        None if row.run_seconds is None else format_seconds(row.run_seconds),
        None if row.run_usd is None else f"{row.run_usd:,.0f}",
    ]
