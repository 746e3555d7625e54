"""The plan of a training run over P: the best split at each, what a larger batch is charged, where doublings stop
paying.

`plan_training` is the Python verb; `plan` answers a PlanRequest, as read from a plan.toml and options.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalecurve.document import Answer, Block, Cell, Column, Document, FindingList, Paragraph, Result, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, info, warning
from scalecurve.training.answers.curve import (
    PAYS,
    ChosenScale,
    CostEffective,
    LargestRun,
    Mark,
    PlanRow,
    RunTerms,
    Use,
    best_uses,
    build_rows,
    choose,
    compute_optimal,
    cost_effective,
    find_marks,
    grown_uses,
    largest_run,
    scale_by_batch,
)
from scalecurve.training.answers.evaluation import LEFT_OUT, Evaluation, calibration_notes, evaluate_layout
from scalecurve.training.inputs.cluster import ClusterLike, read_cluster
from scalecurve.training.inputs.request import (
    BatchChoice,
    GlobalBatch,
    PlanRequest,
    Target,
    read_batch_choice,
    read_target,
    sequence_length,
    whole_sequences,
)
from scalecurve.training.inputs.stack import Stack, StackCalibration, calibration_of, read_stack
from scalecurve.training.inputs.transformer import ModelLike, Transformer, read_model
from scalecurve.training.physics.learning_rate import LearningRates, read_learning_rate
from scalecurve.training.physics.run import (
    EFFORT_TOKENS,
    CriticalBatch,
    DataParallelCap,
    Reliability,
    data_parallel_cap,
    read_critical_batch,
    read_reliability,
)
from scalecurve.training.search.search import (
    FULL,
    MAX_TP,
    USUAL_TOKENS,
    Axes,
    SearchTask,
    nearest_batch,
    search,
    smallest_replica,
)
from scalecurve.units import (
    WorkersLike,
    format_count,
    format_interval,
    format_memory,
    format_seconds,
    seconds_alike,
)

if TYPE_CHECKING:
    from scalecurve.training.answers.explain import StepExplanation
    from scalecurve.training.answers.measurements import NextRun

NOTHING_SAID = (None, "100.0%", "x1.00")  # nothing known; goodput and charge where nothing takes time or tokens
LARGEST_P = 131_072  # where the search for the smallest P that fits ends
WASTES_MOST = 16  # times the critical batch: no larger batch is tried where none is the largest accepted


@dataclass(frozen=True, kw_only=True)
class RunBasis:
    """What a run's time and price rest on: the target (None of `tokens` where models grow and each has its own),
    whether the user stated it, and dollars per accelerator-hour with their source."""

    target: Target
    grows: bool
    charged: bool
    usd_per_gpu_hour: float | None
    price_source: str | None

    @property
    def sentence(self) -> str:
        """`Run and USD: as far as 15T tokens get at small batches, as given, at 3.29 USD ... per hour.`"""
        rule = f"{EFFORT_TOKENS:g} per active parameter; --tokens changes it"
        count = "tokens" if self.grows else self.target.words if self.charged else self._tokens
        tokens_text = f"{count} as given" if self.target.stated and not self.grows else f"{count} ({rule})"
        if self.usd_per_gpu_hour is None:
            return f"Run: {tokens_text}; no price is known for this accelerator (give --price)."
        return (
            f"Run and USD: {tokens_text} at {self.usd_per_gpu_hour:.4g} USD per accelerator-hour ({self.price_source})."
        )

    @property
    def _tokens(self) -> str:
        return f"{format_count(self.target.tokens)} tokens"

    def to_dict(self) -> dict[str, Any]:
        return {
            "tokens": None if self.grows else self.target.tokens,
            "at_batch_tokens": self.target.at_batch,
            "stated": self.target.stated,
            "usd_per_gpu_hour": self.usd_per_gpu_hour,
            "price_source": self.price_source,
            "tokens_per_active_parameter": None if self.target.stated else EFFORT_TOKENS,
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class Plan(Result):
    """A sweep: rows by P, the cap of data parallelism, marks, and the cost-effective scale, all in useful work."""

    title: str
    regime: str
    batch_choice: BatchChoice
    rows: tuple[PlanRow, ...]
    caps: dict[str, DataParallelCap]  # by mark: from the critical batch, and from the largest batch
    critical: CriticalBatch | None
    cost_effective: CostEffective
    chosen_gpus: int | None
    marks: tuple[Mark, ...]
    evidence: str
    source: str
    findings: tuple[Finding, ...] = ()
    strong: tuple[PlanRow, ...] = ()  # with weak scaling: the fixed job's curve beside it
    configurations: int = 0
    basis: RunBasis | None = None  # the target and the price behind `run` and `USD`
    largest: LargestRun | None = None  # with a deadline or a budget: the longest run within them
    choice: str | None = None  # why `chosen_gpus`, where a deadline, a budget or an objective was given
    learning: LearningRates | None = None  # what must change with the batch

    left_out = LEFT_OUT
    JSON = """
        title regime rows strong_rows=strong dp_cap.statistical=statistical_cap
        dp_cap.granularity=granularity_cap cap critical_batch_tokens=critical.tokens.value
        critical_batch=critical global_batch_tokens=batch_choice.largest.tokens batch_fixed=batch_choice.fixed
        cost_effective_gpus cost_effective_low=cost_effective.low cost_effective_high=cost_effective.high
        chosen_gpus choice largest_run=largest learning_rate=learning marks run_basis=basis configurations evidence
        source next_run left_out findings"""

    @property
    def batch(self) -> GlobalBatch:
        """The largest batch, as whole sequences."""
        return self.batch_choice.largest

    @property
    def cap(self) -> DataParallelCap | None:
        """The cap that comes first."""
        return min(self.caps.values(), key=lambda cap: cap.accelerators, default=None)

    @property
    def statistical_cap(self) -> int | None:
        """Replicas that the critical batch feeds."""
        return self._replicas("statistical cap")

    @property
    def granularity_cap(self) -> int | None:
        """Replicas that the largest batch feeds."""
        return self._replicas("granularity cap")

    def _replicas(self, mark: str) -> int | None:
        return self.caps[mark].replicas if mark in self.caps else None

    @property
    def cost_effective_gpus(self) -> int:
        return self.cost_effective.gpus

    @property
    def answer(self) -> Answer:
        return Answer(
            decision=self._decision, confidence=self._confidence, reason=self._reason, next=self._next,
        )  # fmt: skip

    @property
    def advised(self) -> PlanRow:
        """The row that the answer is about: the one chosen by objective and limits, else the cost-effective one."""
        asked = self.chosen_gpus if self.choice else self.cost_effective.gpus
        return self.row(asked or self.cost_effective.gpus) or self.rows[-1]

    @property
    def _decision(self) -> str:
        row = self.advised
        if self.choice and self.chosen_gpus is None:
            return short_sentence(self.choice)
        if self.strong:
            last, fixed = self.rows[-1], self.strong[-1]
            return (
                f"At {last.gpus:,} GPUs grow the model: {last.speedup:,.1f}x the useful work of {self.rows[0].gpus:,}; "
                f"the fixed job {fixed.speedup:,.1f}x."
            )
        price = "" if row.run_usd is None else f", {format_dollars(row.run_usd)}"
        if row.run_seconds is None:
            return f"Use {row.gpus:,} GPUs: {format_count(row.outcome.tokens_per_second)} tokens/s."
        start = f"Use {row.gpus:,} GPUs: {format_seconds(row.run_seconds)}{price}"
        gain = row.next_doubling
        if gain is None:
            return f"{start}."
        if gain <= 1.005:
            return f"{start}; {2 * row.gpus:,} are no faster."
        saves = format_seconds(row.run_seconds * (1.0 - 1.0 / gain))
        more = "" if row.run_usd is None else f" for {format_dollars(row.run_usd * (2.0 / gain - 1.0))} more"
        return f"{start}; doubling to {2 * row.gpus:,} saves {saves}{more}."

    @property
    def _confidence(self) -> str:
        first, scale = self.rows[0].outcome, self.cost_effective
        known = f"Times are known within a factor of {math.exp(first.half_width):.2f} (90 %)"
        if len(self.rows) == 1 or self.choice or scale.low == scale.high:
            return f"{known}."
        more = " or more" if scale.ended else ""
        return f"{known}; the cost-effective scale is {scale.low:,} to {scale.high:,}{more}."

    @property
    def _reason(self) -> str | None:
        row = self.advised
        if self.strong:
            last, fixed = self.rows[-1], self.strong[-1]
            return (
                f"Useful efficiency is {100 * last.useful_efficiency:.0f} % with the model growing to "
                f"{format_count(last.outcome.job.model.parameters)} parameters and "
                f"{100 * fixed.useful_efficiency:.0f} % with the job fixed."
            )
        if self.rows[0].optimal:
            return stops_paying(self.rows, self.cost_effective)
        cap = f" {self.cap.sentence}" if self.cap else ""
        if row.next_doubling is not None and not self.choice:
            limit = f"A doubling there gives {row.next_doubling:.2f}x the useful work (worth it from {PAYS:g}x)."
            return limit + cap
        return (self.choice or "") + cap or None

    @property
    def _next(self) -> str | None:
        if self.critical is None and self.basis is not None:
            return "say what large batches waste: --critical-batch zhang, a number, or your gradient-noise file"
        if self.cost_effective.ended and len(self.rows) > 1:
            last = self.rows[-1].gpus
            return f"doublings still pay at {last:,}: continue with --gpus {2 * last}, {4 * last}"
        run = self.next_run
        return None if run is None or self.evidence == "measured here" else run.sentence

    @property
    def next_run(self) -> NextRun | None:
        """The single run that would narrow the interval of the advised step most."""
        from scalecurve.training.answers.measurements import next_run

        asked = self.advised.outcome
        return next_run(asked, (row.outcome for row in self.rows if row.outcome.job.cluster == asked.job.cluster))

    def row(self, gpus: int) -> PlanRow | None:
        return next((row for row in self.rows if row.gpus == gpus), None)

    def records(self) -> list[dict[str, Any]]:
        extra = ("gpus", "idle_gpus", "tokens_factor", "effective_tokens_per_second", "speedup", "useful_efficiency",
                 "run_seconds", "run_usd", "raw_run_seconds", "loss")  # fmt: skip
        return [
            row.outcome.record() | {name: row.to_dict()[name] for name in extra} | {"goodput": row.goodput.factor}
            for row in self.rows
        ]

    def body(self) -> Document:
        first = self.rows[0].outcome
        head = (
            f"{self.batch_choice.sentence}; a step is known within a factor of {math.exp(first.half_width):.2f} "
            f"(90 %); memory is a share of {format_memory(first.job.cluster.accelerator.capacity)}"
        )
        blocks: list[Block] = [rows_table(self.rows, self.advised.gpus)]
        if self.strong:
            blocks += [Paragraph("The fixed job (strong scaling), for comparison:"), rows_table(self.strong, None)]
        marks = [(mark.name, None if mark.gpus is None else f"{mark.gpus:,.0f}", mark.meaning) for mark in self.marks]
        sentences = [
            head,
            self.basis and self.basis.sentence,
            self.cap and self.cap.sentence,
            goodput_sentence(self.rows[-1]) if self.rows[-1].goodput.factor < 1.0 else None,
            self.largest and self.largest.sentence,
            self.choice if self.chosen_gpus is not None else None,  # otherwise a finding says it
            self.next_run and f"To know the step better, {self.next_run.sentence}.",
            stops_paying(self.rows, self.cost_effective) if self.rows[0].optimal else None,
        ]
        details = [detail_table(self.rows), *(Paragraph(text) for text in sentences if text), *self._extra_tables]
        details += [
            table([Column("limit", "left"), "P", Column("meaning", "left")], marks),
            Paragraph(f"{self.configurations:,} configurations tried. Constants ({self.evidence}): {self.source}."),
            Paragraph("Left out: " + "; ".join(LEFT_OUT) + ".", "muted"),
        ]
        minor = [note for note in self.findings if note.code in MINOR]
        blocks.append(FindingList(tuple(note for note in self.findings if note not in minor)))
        return Document(self.title, tuple(blocks), (*details, FindingList(tuple(minor))))

    @property
    def _extra_tables(self) -> list[Block]:
        """Tables of what was asked for: alternatives, compute-optimal models, learning rates."""
        extra = [alternatives_table(self.rows)] if any(row.alternatives for row in self.rows) else []
        extra += [optimal_table(self.rows)] if any(row.optimal for row in self.rows) else []
        return extra + (self.learning.blocks() if self.learning else [])


MINOR = ("not-calibrated", "sweep-ended", "strong-scaling", "batch-rounded", "critical-batch-range", "usual-batch")
"""Findings that the answer says already or that change no decision."""


def short_sentence(text: str) -> str:
    """At most 120 characters of a sentence."""
    return text if len(text) <= 120 else text[:117].rsplit(" ", 1)[0] + " ..."


def format_dollars(amount: float) -> str:
    """`$1.3M`, `$17,100`."""
    if amount >= 1e6:
        return f"${amount / 1e6:,.3g}M" if amount < 1e9 else f"${amount / 1e9:,.3g}B"
    return f"${float(f'{amount:.3g}'):,.0f}" if amount >= 100 else f"${amount:.2f}"


def stops_paying(rows: Sequence[PlanRow], scale: CostEffective) -> str:
    """Up to which P a better model is worth the accelerators, by the loss that it reaches."""
    row = next(one for one in rows if one.gpus == scale.gpus)
    best = row.optimal
    if best is None:
        return ""
    size = f"{format_count(best.parameters)} parameters, loss {best.loss:.3f}"
    start = f"The best model for {row.gpus:,} accelerators has {size}"
    after = next((one for one in rows if one.gpus > row.gpus and one.optimal), None)
    if scale.ended or after is None or after.optimal is None:
        return f"{start}; a better one still pays at the end of the sweep."
    return (
        f"{start}; a better one stops paying there: {after.gpus:,} buy {after.useful_work / row.useful_work:.2f}x the "
        f"useful compute and lower the loss by {best.loss - after.optimal.loss:.3f}."
    )


def rows_table(rows: Sequence[PlanRow], chosen: int | None) -> Block:
    """A line per P with what decides; parameters and batch have a column where they differ."""
    of_run = seconds_alike(row.run_seconds for row in rows)
    columns: dict[Column, Callable[[PlanRow], Cell | str | None]] = {
        Column("GPUs"): lambda row: Cell(f"{row.gpus:,}", "good" if row.gpus == chosen else "plain"),
        Column("parameters"): lambda row: format_count(row.outcome.job.model.parameters),
        Column("batch", meaning="tokens of a step", rank=2): lambda row: format_count(row.outcome.tokens),
        Column("split", "left"): lambda row: row.outcome.layout.short().partition(" micro")[0],
        Column("idle", meaning="accelerators without work"): lambda row: f"{row.idle:,}",
        Column("MFU", meaning="raw: of the tokens processed"): lambda row: f"{100 * row.outcome.mfu:.1f}%",
        Column("goodput", rank=1): lambda row: f"{100 * row.goodput.factor:.1f}%",
        Column("charged", meaning="tokens processed over useful tokens", rank=3): lambda row: (
            f"x{row.tokens_factor:.2f}"
        ),
        Column("useful", meaning="useful work per accelerator, against the best row"): lambda row: (
            f"{100 * row.useful_efficiency:.0f}%"
        ),
        Column("next x2", meaning="useful work that twice as many accelerators do"): lambda row: written(
            row.next_doubling, "x{:.2f}".format
        ),
        Column("cap", "left", meaning="of data parallelism", rank=4): cap_side,
        Column("run", meaning="to the target"): lambda row: written(row.run_seconds, of_run),
        Column("USD"): lambda row: written(row.run_usd, "{:,.0f}".format),
    }
    return _table_of(rows, columns, same=("parameters", "batch", "idle", "useful"))


def written(value: float | None, write: Callable[[float], str]) -> str | None:
    """The number as text; None where it is not known."""
    return None if value is None else write(value)


def cap_side(row: PlanRow) -> str | None:
    """On which side of the cap of data parallelism a row is; beyond it the model is split more or tokens are wasted."""
    if row.past_cap is None:
        return None
    return "below" if not row.past_cap else "wastes" if row.tokens_factor > 2.0 + 1e-9 else "splits"


def detail_table(rows: Sequence[PlanRow]) -> Block:
    """The raw figures of each P, and what the target takes."""
    of_step = seconds_alike(row.step_seconds for row in rows)
    of_raw = seconds_alike(row.raw_run_seconds for row in rows)
    columns: dict[Column, Callable[[PlanRow], Cell | str | None]] = {
        Column("GPUs"): lambda row: f"{row.gpus:,}",
        Column("layout", "left"): lambda row: row.outcome.layout.short(),
        Column("step"): lambda row: of_step(row.step_seconds),
        Column("90 %", meaning="interval of the step"): lambda row: format_interval(
            row.outcome.step.low or 0.0, row.outcome.step.high or 0.0, of_step
        ),
        Column("raw tokens/s"): lambda row: format_count(row.outcome.tokens_per_second),
        Column("useful tokens/s"): lambda row: format_count(row.effective_tokens_per_second),
        Column("speedup", meaning="in useful work"): lambda row: f"{row.speedup:.2f}",
        Column("compute", meaning="compute share, 1/(1 + comm_frac)"): lambda row: f"{row.outcome.efficiency:.2f}",
        Column("memory", meaning="share of the memory"): lambda row: f"{100 * row.outcome.memory_share:.0f}%",
        Column("raw run", meaning="time of exactly the tokens stated"): lambda row: written(
            row.raw_run_seconds, of_raw
        ),
        Column("GPU-hours", meaning="accelerators x hours to the target"): lambda row: written(
            row.run_gpu_hours, "{:,.0f}".format
        ),
    }
    return _table_of(rows, columns, same=("speedup",), caption="Raw figures")


def _table_of(
    rows: Sequence[PlanRow],
    columns: Mapping[Column, Callable[[PlanRow], Cell | str | None]],
    *,
    same: Sequence[str],
    caption: str | None = None,
) -> Block:
    """The columns that say something: `same` name those left out where all rows are alike."""
    texts = {column: [write(row) for row in rows] for column, write in columns.items()}
    shown = {
        column: cells
        for column, cells in texts.items()
        if len(set(cells)) > 1 or not (cells[0] in NOTHING_SAID or column.header in same)
    }
    return table(list(shown), zip(*shown.values(), strict=True), caption=caption)


def goodput_sentence(row: PlanRow) -> str:
    """What takes time from the run at this P, and how often a checkpoint is written."""
    useful = row.goodput
    losses = {"failures": useful.failures, "checkpoints": useful.checkpoints, "stragglers": useful.stragglers}
    parts = ", ".join(f"{name} take {100 * (1 - share):.1f} %" for name, share in losses.items())
    every = useful.checkpoint_interval
    often = "" if every is None else f"; a checkpoint every {format_seconds(every)}"
    return (
        f"Goodput at P {row.gpus:,} is {100 * useful.factor:.1f} % of the time: {parts}{often}. Run and USD count it."
    )


def alternatives_table(rows: Sequence[PlanRow]) -> Block:
    """The next best layouts at each P, and how much slower they are."""
    of_step = seconds_alike(other.seconds for row in rows for other in row.alternatives)
    names = ("GPUs", "rank", "layout", "step", "slower by", "MFU", "memory")
    lines = [
        (f"{row.gpus:,}", str(rank), other.layout.short(), of_step(other.seconds),
         f"{100 * (other.seconds / row.step_seconds - 1):.1f}%", f"{100 * other.mfu:.1f}%",
         format_memory(other.memory_bytes))
        for row in rows
        for rank, other in enumerate(row.alternatives, start=2)
    ]  # fmt: skip
    columns = [Column(name, "left" if name == "layout" else "right") for name in names]
    return table(columns, lines, caption="Alternatives at each P")


def optimal_table(rows: Sequence[PlanRow]) -> Block:
    """Systems scaling and statistical scaling side by side."""
    columns = ["GPUs", "compute share", "within", "parameters", "tokens", "loss"]
    lines = [
        (f"{row.gpus:,}", f"{row.outcome.efficiency:.2f}", format_seconds(best.seconds), format_count(best.parameters),
         format_count(best.tokens), f"{best.loss:.3f}")
        for row in rows
        if (best := row.optimal)
    ]  # fmt: skip
    law = next(row.optimal.law for row in rows if row.optimal)
    return table(columns, lines, caption=f"Compute-optimal by {law}: the loss reached within the time and budget")


def plan_training(
    model: ModelLike,
    cluster: ClusterLike,
    *,
    gpus: WorkersLike,
    batch: float | str | None = None,
    critical_batch: float | str | None = None,
    definition: str = "double",
    seq: int | None = None,
    stack: str | Stack | None = None,
    precision: str | None = None,
    adapters: bool = False,
    tokens: float | str | None = None,
    learning_rate: str | None = None,
    batch_grows: bool = False,
    weak: bool = False,
    compute_optimal: str | None = None,
    objective: str | None = None,
    deadline: float | str | None = None,
    budget: float | str | None = None,
    top: int = 1,
    reliability: str | bool | Mapping[str, Any] | Reliability | None = None,
    calibration: StackCalibration | None = None,
    price: float | None = None,
    loss: float | None = None,
    max_tp: int = MAX_TP,
    axes: Axes | None = None,
) -> Plan:
    """The best split of the model at each P, and where more accelerators stop paying.

    `batch` is the largest that is accepted, read as everywhere (read_batch): "4Mi" are tokens, "512 sequences" are
    sequences; "fixed:4Mi" holds it.  `tokens` are what small batches would need, "15T@16Mi" what a batch of 16Mi needs.
    `critical_batch` is tokens, a law, or a file; `deadline` seconds or text (30d), `budget` dollars or text (5M),
    `price` dollars per accelerator-hour.  At each P the batch that reaches the target soonest is taken; with
    `batch_grows` only the critical batch limits it; with `weak` model, tokens and batch grow.  `adapters` trains
    low-rank adapters beside frozen weights.  `axes` COARSE tries fewer layouts, for answers while a slider moves.
    """
    request = PlanRequest(
        model=model, cluster=cluster, gpus=gpus, global_batch=batch, critical_batch=critical_batch,
        definition=definition, seq=seq, stack=stack, precision=precision, adapters=adapters, tokens=tokens,
        learning_rate=learning_rate, batch_grows=batch_grows, weak=weak, compute_optimal=compute_optimal,
        objective=objective, deadline=deadline, budget=budget, top=top, reliability=reliability, price=price,
        loss=loss, max_tp=max_tp,
    )  # fmt: skip
    return sweep(request, calibration=calibration, axes=axes or FULL)


def plan(request: PlanRequest) -> Plan | Evaluation | StepExplanation:
    """What the settings of a plan ask for: a sweep, one layout, or an explanation of one P."""
    calibration = None
    if request.measured is not None:
        from scalecurve.training.answers.measured import calibrate
        from scalecurve.training.inputs.measured_table import read_table

        calibration = calibrate(
            read_table(Path(request.measured)), model=request.model, cluster=request.cluster, stack=request.stack,
            precision=request.precision,
        )  # fmt: skip
    if request.layout is None:
        swept = sweep(request, calibration=calibration)
        if request.explain is None:
            return swept
        row = swept.row(request.explain)
        if row is None:
            planned = ", ".join(str(other.gpus) for other in swept.rows)
            hint = f"rows are at {planned}"
            raise InputError(Fault("nothing planned at this P", "explain", str(request.explain), hint))
        outcome = row.outcome
    else:
        counts = request.counts if request.gpus is not None else ()
        if len(counts) > 1:
            raise InputError(
                Fault("one layout is evaluated at one P", "gpus", str(request.gpus), remedy="give --gpus one number")
            )
        evaluation = evaluate_layout(
            request.model, request.cluster, request.layout, batch=request.global_batch, seq=request.seq,
            stack=request.stack, precision=request.precision, gpus=counts[0] if counts else None,
            calibration=calibration, price=request.price, adapters=request.adapters,
            critical_batch=request.critical_batch, definition=request.definition or "double",
            tokens=None if request.tokens is None else read_target(request.tokens, request.seq or 1).tokens,
        )  # fmt: skip
        if request.explain is None:
            return evaluation
        outcome = evaluation.outcome
    from scalecurve.training.answers.explain import explain

    return explain(outcome)


def sweep(request: PlanRequest, *, calibration: StackCalibration | None = None, axes: Axes = FULL) -> Plan:
    """Search every P, evaluate the best, and read the marks off the curve."""
    counts = request.counts
    task = read_task(request, calibration, axes)
    model, cluster, seq = task.model, task.cluster, task.seq
    terms = read_terms(request, model, seq)
    choice, critical, regime = terms.choice, terms.critical, request.regime
    caps = find_caps(task, terms, largest=request.global_batch is not None or critical is None)
    cap = min(caps.values(), key=lambda one: one.accelerators, default=None)
    grows = regime == "weak"
    doubled = sorted({2 * count for count in counts} - set(counts))
    largest = choice.largest.sequences
    both = best_uses(task, [*counts, *doubled], terms, largest=largest)
    fixed, beyond = both[: len(counts)], both[len(counts) :]
    uses = grown_uses(task, counts, terms) if grows else fixed
    rows = build_rows(uses, terms, None if grows else cap, () if grows else beyond)
    if not rows:
        raise _nothing_fits(task, uses, choice)
    strong = build_rows(fixed, terms, cap, beyond) if grows else ()
    if request.compute_optimal is not None:
        law, deadline, budget = request.compute_optimal, request.deadline_seconds, request.budget_dollars
        rows = tuple(replace(row, optimal=compute_optimal(row, law, deadline, budget)) for row in rows)
    chosen = ChosenScale(None, None) if terms.target is None else choose(rows, request)
    effective = cost_effective(rows, None if grows else scale_by_batch(task, counts, terms))
    return Plan(
        title=(
            f"{model.name} ({format_count(model.parameters)} parameters, seq {seq:,}) on {cluster.name}, "
            f"{task.stack.name}, " + ("the batch grows with P" if regime == "batch grows" else f"{regime} scaling")
        ),
        regime=regime,
        batch_choice=choice,
        rows=rows,
        strong=strong,
        caps=caps,
        critical=critical,
        cost_effective=effective,
        chosen_gpus=chosen.gpus,
        choice=chosen.sentence,
        largest=largest_run(rows, request.deadline_seconds, request.budget_dollars),
        marks=find_marks(task, rows, uses, caps, effective),
        evidence=task.calibration.evidence,
        source=task.calibration.source,
        findings=(*chosen.findings, *_plan_findings(task, rows, uses, terms, effective, request)),
        configurations=sum(use.best.tried for use in uses),
        basis=None
        if terms.target is None
        else RunBasis(
            target=terms.target,
            grows=grows,
            charged=critical is not None,
            usd_per_gpu_hour=cluster.usd_per_gpu_hour,
            price_source=cluster.price_source,
        ),
        learning=read_learning_rate(request.learning_rate, seq, [row.outcome.tokens for row in rows]),
    )


def read_task(request: PlanRequest, calibration: StackCalibration | None, axes: Axes) -> SearchTask:
    """The job that is to be split, from the settings."""
    model = read_model(request.model, seq=request.seq)
    cluster = read_cluster(request.cluster).with_price(request.price)
    stack = read_stack(request.stack or cluster.stack, cluster.accelerator)
    precision, faults = cluster.precision(request.precision)
    if not request.counts:
        faults.append(Fault("no accelerator counts given", "gpus", remedy="write 8..16384"))
    if faults:
        raise InputError(faults, subject="plan")
    return SearchTask(
        model=model, cluster=cluster, stack=stack, seq=sequence_length(request.seq, model.seq), precision=precision,
        max_tp=request.max_tp or MAX_TP, calibration=calibration or calibration_of(cluster.accelerator, stack),
        axes=axes, adapters=request.adapters,
    )  # fmt: skip


def read_terms(request: PlanRequest, model: Transformer, seq: int) -> RunTerms:
    """Target, batch and critical batch, from the settings.  Adapters without tokens have no end that a rule tells."""
    active = model.active_parameters
    rule = Target(EFFORT_TOKENS * active, stated=False)
    target = rule if request.tokens is None else read_target(request.tokens, seq)
    critical = read_critical_batch(
        request.critical_batch, definition=request.definition or "double", tokens=target.tokens, loss=request.loss,
        compute=6.0 * active * target.tokens, seq=seq,
    )  # fmt: skip
    return RunTerms(
        target=None if request.adapters and request.tokens is None else target,
        choice=read_choice(request, critical, seq),
        critical=critical,
        reliability=read_reliability(request.reliability),
        top=request.top or 1,
    )


def read_choice(request: PlanRequest, critical: CriticalBatch | None, seq: int) -> BatchChoice:
    """The largest batch as given; else none but by the critical batch, or what is usual."""
    if request.batch_grows:
        if critical is None:
            hint = "give --critical-batch zhang, a number, or leave out --batch-grows and give --global-batch"
            raise InputError(Fault("a batch that grows needs a critical batch", "batch-grows", remedy=hint))
        return BatchChoice(
            whole_sequences(2.0 ** math.ceil(math.log2(WASTES_MOST * critical.tokens.value / seq)) * seq, seq), False
        )
    if request.global_batch is not None:
        return read_batch_choice(request.global_batch, seq)
    tokens = (
        USUAL_TOKENS if critical is None else 2.0 ** math.ceil(math.log2(max(critical.tokens.value / seq, 1.0))) * seq
    )
    return BatchChoice(whole_sequences(max(tokens, seq), seq), False)


def find_caps(task: SearchTask, terms: RunTerms, *, largest: bool) -> dict[str, DataParallelCap]:
    """Where data parallelism alone ends, by the critical batch and by the largest batch."""
    tokens = float(terms.choice.largest.tokens)
    replica = smallest_replica(task)
    if replica is None:
        return {}
    parts = {"seq": task.seq, "per_replica": replica.accelerators, "sequences": replica.sequences}
    caps = {
        "statistical cap": data_parallel_cap(terms.critical, None, **parts),
        "granularity cap": data_parallel_cap(None, tokens if largest else None, **parts),
    }
    return {name: cap for name, cap in caps.items() if cap is not None}


def _nothing_fits(task: SearchTask, uses: Sequence[Use], choice: BatchChoice) -> InputError:
    """Say by how much it misses, and the smallest P where it fits."""
    sequences = choice.largest.sequences
    least = [(use.best.least_bytes, use.gpus) for use in uses if use.best.least_bytes is not None]
    if not least:
        near = [nearest_batch(task, use.gpus, sequences) for use in uses]
        hint = "; ".join(
            f"at P {use.gpus:,} the nearest that does is {count} sequences = {count * task.seq:,} tokens"
            for use, count in zip(uses, near, strict=True)
            if count is not None
        )
        message = "no layout honours this batch on any of these counts with stages of equal depth"
        batch = str(choice.largest.tokens)
        return InputError(Fault(message, "batch", batch, hint or "choose other accelerator counts"))
    needed, gpus = min(least)
    larger = [max(use.gpus for use in uses) << power for power in range(1, LARGEST_P.bit_length())]
    sizes = [(count, sequences) for count in larger if count <= LARGEST_P]
    enough = next((best.gpus for best in search(task, sizes) if best.layouts), None)
    hint = f"it fits from {enough:,} accelerators" if enough else f"it fits on no count up to {LARGEST_P:,}"
    usable = task.usable_bytes
    message = f"{task.model.name} does not fit: it needs {format_memory(needed)} of the {format_memory(usable)} usable"
    return InputError(Fault(message, "gpus", str(gpus), hint))


def _batch_findings(
    task: SearchTask, rows: Sequence[PlanRow], uses: Sequence[Use], terms: RunTerms, request: PlanRequest
) -> list[Finding]:
    """What a reader must know of the batch: rounded, usual, hard to share, wasteful; and of its critical size."""
    notes: list[Finding] = []
    batch, critical = terms.choice.largest, terms.critical
    if request.global_batch is None and not request.batch_grows and critical is None:
        message = f"no batch is given: about {format_count(USUAL_TOKENS)} tokens, with which most published runs begin"
        notes.append(info("usual-batch", message, remedy="give --global-batch"))
    if batch.tokens != batch.asked:
        notes.append(info("batch-rounded", f"global batch: {batch.sentence}"))
    if terms.choice.fixed:
        uneven = [use.gpus for use in uses if use.gpus <= batch.sequences and batch.sequences % use.gpus]
        near = nearest_batch(task, uneven[-1], batch.sequences) if uneven else None
        if near is not None and near != batch.sequences:
            message = (
                f"{batch.sequences:,} sequences do not divide over {uneven[-1]:,} accelerators; {near:,} "
                f"({format_count(near * task.seq)} tokens) are faster per token"
            )
            notes.append(
                info("awkward-batch", message, remedy=f"give --global-batch '{near} sequences'", sequences=near)
            )
    wasteful = [row for row in rows if row.tokens_factor > 2.0 + 1e-9]
    if wasteful:
        worst = max(wasteful, key=lambda row: row.tokens_factor)
        message = (
            f"from P {wasteful[0].gpus:,} the batch is above the critical one: at {worst.gpus:,} "
            f"{100 * worst.wasted:.0f} % of the tokens are wasted ({format_count(worst.outcome.tokens)} a step)"
        )
        remedy = "accept fewer accelerators, or a smaller --global-batch"
        notes.append(warning("wasted-tokens", message, remedy=remedy, share=worst.wasted, gpus=worst.gpus))
    if critical and critical.tokens.has_interval:
        low, high = critical.tokens.low or 0.0, critical.tokens.high or 0.0
        size = f"{format_count(low)} to {format_count(high)} tokens{critical.equivalent}"
        message = f"critical batch {size} ({critical.source})"
        notes.append(info("critical-batch-range", message, definition="double", given_as=critical.given_as))
    return notes


def _plan_findings(
    task: SearchTask,
    rows: Sequence[PlanRow],
    uses: Sequence[Use],
    terms: RunTerms,
    effective: CostEffective,
    request: PlanRequest,
) -> list[Finding]:
    """What a reader must know beside the table."""
    notes: list[Finding] = [*task.model.notes, *task.cluster.precision_notes(task.precision)]
    if task.adapters:
        message = "low-rank adapters beside frozen weights: no gradients of the weights, states of the adapters only"
        remedy = "give --tokens for the time and price of the run" if request.tokens is None else None
        notes.append(info("adapters", message, remedy=remedy))
    notes += _batch_findings(task, rows, uses, terms, request)
    gaps = [use.gpus for use in uses if not use.best.layouts]
    if gaps:
        at = ", ".join(f"{gpus:,}" for gpus in gaps)
        message = f"at P = {at} no layout with stages of equal depth fits and divides the batch"
        near = {gpus: nearest_batch(task, gpus, terms.choice.largest.sequences) for gpus in gaps}
        ways = [f"at P {gpus:,} use {count} sequences" for gpus, count in near.items() if count is not None]
        remedy = "; ".join(ways) or "choose a larger P for memory"
        notes.append(warning("gaps", message, gpus=gaps, remedy=remedy))
    idle = [row for row in rows if row.idle]
    if idle:
        worst = max(idle, key=lambda row: row.idle / row.gpus)
        message = f"at P {worst.gpus:,} the run is fastest on {worst.outcome.gpus:,}; {worst.idle:,} stay idle"
        notes.append(info("idle-accelerators", message, remedy="take fewer accelerators", gpus=worst.gpus))
    notes += calibration_notes(task.stack, task.cluster, task.calibration)
    if effective.ended and len(rows) > 1:
        last = rows[-1].gpus
        message = f"every doubling up to P {last:,} pays: the cost-effective scale may lie beyond"
        notes.append(info("sweep-ended", message, remedy=f"continue with --gpus {2 * last}, {4 * last}", gpus=last))
    if request.regime == "strong" and len(rows) > 1:
        first = rows[0]
        eight = next((row for row in rows if row.gpus >= 8 * first.gpus), rows[-1])
        ratio = eight.gpus / first.gpus
        spread = math.exp(first.outcome.calibration.ratio_width)  # steps of one job share most of their error
        message = (
            f"{ratio:,.4g}x the accelerators ({first.gpus:,} to {eight.gpus:,}) are {eight.speedup:.2f}x as fast "
            f"({eight.speedup / spread:.2f} to {eight.speedup * spread:.2f})"
        )
        notes.append(info("strong-scaling", message, speedup=eight.speedup, ratio=ratio))
    return notes
