"""The plan of a training run over P: the best split at each, what a larger batch is charged, where doublings stop
paying.

`plan_training` is the Python verb; `plan` answers a PlanRequest, as read from a plan.toml and options.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalecurve.document import Block, Cell, Column, Document, FindingList, Paragraph, Result, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, info, warning
from scalecurve.training.answers.curve import (
    EFFORT_TOKENS,
    ChosenScale,
    LargestRun,
    Mark,
    PlanRow,
    build_rows,
    choose,
    compute_optimal,
    cost_effective,
    find_marks,
    largest_run,
    never_stops_paying,
)
from scalecurve.training.answers.evaluation import LEFT_OUT, Evaluation, calibration_notes, evaluate_layout
from scalecurve.training.inputs.cluster import ClusterLike, read_cluster
from scalecurve.training.inputs.request import (
    GlobalBatch,
    PlanRequest,
    read_batch,
    read_count,
    sequence_length,
    whole_sequences,
)
from scalecurve.training.inputs.stack import Stack, StackCalibration, calibration_of, read_stack
from scalecurve.training.inputs.transformer import ModelLike, read_model
from scalecurve.training.physics.run import CriticalBatch, Reliability, read_critical_batch, read_reliability
from scalecurve.training.search.search import (
    FULL,
    MAX_TP,
    USUAL_TOKENS,
    Axes,
    BestLayouts,
    SearchTask,
    nearest_batch,
    search_growing,
    search_strong,
    usual_batch,
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

NOTHING_SAID = (None, "100.0%", "x1.00")  # nothing known; goodput and charge where nothing takes time or tokens
LARGEST_P = 131_072  # where the search for the smallest P that fits ends


@dataclass(frozen=True, kw_only=True)
class RunBasis:
    """What a run's time and price rest on: its tokens (None where models grow and each has its own), whether the user
    stated them, and dollars per accelerator-hour with their source."""

    tokens: float | None
    stated: bool
    usd_per_gpu_hour: float | None
    price_source: str | None

    @property
    def sentence(self) -> str:
        """`Run and USD: 160.6B tokens (20 per active parameter; --tokens changes it) at 3.29 USD ... per hour.`"""
        rule = f"{EFFORT_TOKENS:g} per active parameter; --tokens changes it"
        count = "tokens" if self.tokens is None else f"{format_count(self.tokens)} tokens"
        tokens_text = f"{count} as given" if self.stated and self.tokens is not None else f"{count} ({rule})"
        if self.usd_per_gpu_hour is None:
            return f"Run: {tokens_text}; no price is known for this accelerator (give --price)."
        return (
            f"Run and USD: {tokens_text} at {self.usd_per_gpu_hour:.4g} USD per accelerator-hour ({self.price_source})."
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"tokens_per_active_parameter": None if self.stated else EFFORT_TOKENS}


@dataclass(frozen=True, kw_only=True, repr=False)
class Plan(Result):
    """A sweep: rows by P, the two caps on data parallelism, marks, and the cost-effective scale."""

    title: str
    regime: str
    batch: GlobalBatch
    rows: tuple[PlanRow, ...]
    statistical_cap: int | None
    granularity_cap: int | None
    critical: CriticalBatch | None
    cost_effective_gpus: int
    chosen_gpus: int | None
    marks: tuple[Mark, ...]
    evidence: str
    source: str
    findings: tuple[Finding, ...] = ()
    strong: tuple[PlanRow, ...] = ()  # with weak scaling: the fixed job's curve beside it
    configurations: int = 0
    basis: RunBasis | None = None  # the tokens and the price behind `run` and `USD`
    largest: LargestRun | None = None  # with a deadline or a budget: the longest run within them
    choice: str | None = None  # why `chosen_gpus`, where a deadline, a budget or an objective was given

    left_out = LEFT_OUT
    JSON = """
        title regime rows strong_rows=strong dp_cap.statistical=statistical_cap
        dp_cap.granularity=granularity_cap critical_batch_tokens=critical.tokens.value
        critical_batch=critical global_batch_tokens=batch.tokens cost_effective_gpus chosen_gpus choice
        largest_run=largest marks run_basis=basis configurations evidence source left_out findings"""

    def __repr__(self) -> str:
        first, last = self.rows[0], self.rows[-1]
        return (
            f"<Plan {self.title.partition(' (')[0]}, {self.regime}, {len(self.rows)} P from {first.gpus} to "
            f"{last.gpus}: MFU {100 * first.mfu:.0f} % to {100 * last.mfu:.0f} %, "
            f"cost-effective at {self.cost_effective_gpus}>"
        )

    def row(self, gpus: int) -> PlanRow | None:
        return next((row for row in self.rows if row.gpus == gpus), None)

    def records(self) -> list[dict[str, Any]]:
        extra = ("tokens_factor", "effective_tokens_per_second", "speedup", "run_seconds", "run_usd", "loss")
        return [
            row.outcome.record() | {name: row.to_dict()[name] for name in extra} | {"goodput": row.goodput.factor}
            for row in self.rows
        ]

    def body(self) -> Document:
        name = "global batch" if self.regime == "strong" else "starting batch"  # a batch that grows only starts there
        first = self.rows[0].outcome
        head = (
            f"{name} {self.batch.sentence}; a step is known within a factor of {math.exp(first.half_width):.2f} "
            f"(90 %); memory is a share of {format_memory(first.job.cluster.accelerator.capacity)}"
        )
        blocks: list[Block] = [Paragraph(head), rows_table(self.rows, self.chosen_gpus)]
        if self.basis is not None:
            blocks.append(Paragraph(self.basis.sentence))
        if self.rows[-1].goodput.factor < 1.0:
            blocks.append(Paragraph(goodput_sentence(self.rows[-1])))
        if self.largest is not None:
            blocks.append(Paragraph(self.largest.sentence))
        if self.choice and self.chosen_gpus is not None:  # otherwise a finding says it
            blocks.append(Paragraph(self.choice))
        if any(row.alternatives for row in self.rows):
            blocks.append(alternatives_table(self.rows))
        if self.strong:
            blocks += [Paragraph("The fixed job (strong scaling), for comparison:"), rows_table(self.strong, None)]
        if any(row.optimal for row in self.rows):
            blocks.append(optimal_table(self.rows))
        marks = [(mark.name, None if mark.gpus is None else f"{mark.gpus:,.0f}", mark.meaning) for mark in self.marks]
        blocks += [
            table([Column("limit", "left"), "P", Column("meaning", "left")], marks),
            Paragraph(f"{self.configurations:,} configurations tried. Constants ({self.evidence}): {self.source}."),
            Paragraph("Left out: " + "; ".join(LEFT_OUT) + ".", "muted"),
            FindingList(self.findings),
        ]
        return Document(self.title, tuple(blocks))


def rows_table(rows: Sequence[PlanRow], chosen: int | None) -> Block:
    """A line per P; parameters and batch have a column where they grow, goodput and the charge where they cost."""
    of_step = seconds_alike(row.step_seconds for row in rows)
    of_run = seconds_alike(row.run_seconds for row in rows)
    columns: dict[Column, list[Cell | str | None]] = {
        Column("GPUs"): [Cell(f"{row.gpus:,}", "good" if row.gpus == chosen else "plain") for row in rows],
        Column("parameters"): [format_count(row.outcome.job.model.parameters) for row in rows],
        Column("batch", rank=2): [format_count(row.outcome.tokens) for row in rows],
        Column("layout", "left"): [row.outcome.layout.short() for row in rows],
        Column("step"): [of_step(row.step_seconds) for row in rows],
        Column("90 %", meaning="interval of the step", rank=6): [
            format_interval(row.outcome.step.low or 0.0, row.outcome.step.high or 0.0, of_step) for row in rows
        ],
        Column("tokens/s", rank=8): [format_count(row.outcome.tokens_per_second) for row in rows],
        Column("speedup", rank=7): [f"{row.speedup:.2f}" for row in rows],
        Column("compute", meaning="compute share", rank=9): [f"{row.outcome.efficiency:.2f}" for row in rows],
        Column("MFU"): [f"{100 * row.outcome.mfu:.1f}%" for row in rows],
        Column("memory", meaning="share of the memory", rank=3): [
            f"{100 * row.outcome.memory_share:.0f}%" for row in rows
        ],
        Column("goodput", rank=1): [f"{100 * row.goodput.factor:.1f}%" for row in rows],
        Column("charged", meaning="charged for the batch", rank=5): [f"x{row.tokens_factor:.2f}" for row in rows],
        Column("run"): [None if row.run_seconds is None else of_run(row.run_seconds) for row in rows],
        Column("GPU-hours", meaning="accelerators x hours of the run", rank=4): [
            None if row.run_gpu_hours is None else f"{row.run_gpu_hours:,.0f}" for row in rows
        ],
        Column("USD"): [None if row.run_usd is None else f"{row.run_usd:,.0f}" for row in rows],
    }
    shown = {
        column: texts
        for column, texts in columns.items()
        if len(set(texts)) > 1 or not (texts[0] in NOTHING_SAID or column.header in ("parameters", "batch", "speedup"))
    }
    return table(list(shown), zip(*shown.values(), strict=True))


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

    `batch` is read as everywhere (read_batch): "4Mi" are tokens, "512 sequences" are sequences; `critical_batch` are
    tokens; `deadline` is seconds or text (30d), `budget` dollars or text (5M), `price`
    dollars per accelerator-hour.  The batch is fixed (strong scaling), or grows with P up to the critical one
    (`batch_grows`), or everything grows (`weak`).  `adapters` trains low-rank adapters beside frozen weights.  `axes`
    COARSE tries fewer layouts, for answers while a slider moves.
    """
    request = PlanRequest(
        model=model, cluster=cluster, gpus=gpus, global_batch=batch, critical_batch=critical_batch,
        definition=definition, seq=seq, stack=stack, precision=precision, adapters=adapters, tokens=tokens,
        batch_grows=batch_grows, weak=weak, compute_optimal=compute_optimal, objective=objective, deadline=deadline,
        budget=budget, top=top,
        reliability=reliability, price=price, loss=loss, max_tp=max_tp,
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
        )  # fmt: skip
        if request.explain is None:
            return evaluation
        outcome = evaluation.outcome
    from scalecurve.training.answers.explain import explain

    return explain(outcome)


def sweep(request: PlanRequest, *, calibration: StackCalibration | None = None, axes: Axes = FULL) -> Plan:
    """Search every P, evaluate the best, and read the marks off the curve."""
    counts = request.counts
    model = read_model(request.model, seq=request.seq)
    cluster = read_cluster(request.cluster).with_price(request.price)
    seq = sequence_length(request.seq, model.seq)
    stack = read_stack(request.stack or cluster.stack, cluster.accelerator)
    precision, faults = cluster.precision(request.precision)
    if not counts:
        faults.append(Fault("no accelerator counts given", "gpus", remedy="write 8..16384"))
    if faults:
        raise InputError(faults, subject="plan")
    active = model.active_parameters
    tokens = EFFORT_TOKENS * active if request.tokens is None else read_count(request.tokens, "tokens", above=0.0)
    critical = read_critical_batch(
        request.critical_batch, definition=request.definition or "double", tokens=tokens, loss=request.loss,
        compute=6.0 * active * tokens,
    )  # fmt: skip
    batch = first_batch(request, critical, seq)
    task = SearchTask(
        model=model, cluster=cluster, stack=stack, seq=seq, precision=precision, max_tp=request.max_tp or MAX_TP,
        calibration=calibration or calibration_of(cluster.accelerator, stack), axes=axes, adapters=request.adapters,
    )  # fmt: skip
    regime, top, reliability = request.regime, request.top or 1, read_reliability(request.reliability)
    if regime == "strong":
        best, tasks = search_strong(task, counts, batch, top=top)
    else:
        best, tasks = search_growing(task, counts, batch, critical, weak=regime == "weak", top=top)
    rows = build_rows(tasks, best, batch, critical, reliability, tokens=None if regime == "weak" else tokens)
    if not rows:
        raise _nothing_fits(task, best, batch)
    endless = request.adapters and request.tokens is None  # no rule tells how long adapters are trained
    if endless:
        rows = tuple(replace(row, run_tokens=None) for row in rows)
    strong: tuple[PlanRow, ...] = ()
    if regime == "weak":
        fixed, fixed_tasks = search_strong(task, counts, batch)
        strong = build_rows(fixed_tasks, fixed, batch, critical, reliability, tokens=tokens)
    if request.compute_optimal is not None:
        law, deadline, budget = request.compute_optimal, request.deadline_seconds, request.budget_dollars
        rows = tuple(replace(row, optimal=compute_optimal(row, law, deadline, budget)) for row in rows)
    micro = min(row.outcome.layout.micro for row in rows)
    choice = ChosenScale(None, None) if endless else choose(rows, request)
    return Plan(
        title=(
            f"{model.name} ({format_count(model.parameters)} parameters, seq {seq:,}) on {cluster.name}, {stack.name}, "
            + ("the batch grows with P" if request.batch_grows else f"{regime} scaling")
        ),
        regime=regime,
        batch=batch,
        rows=rows,
        strong=strong,
        statistical_cap=int(critical.tokens.value // (micro * seq)) if critical else None,
        granularity_cap=batch.sequences // micro if regime == "strong" else None,
        critical=critical,
        cost_effective_gpus=cost_effective(rows),
        chosen_gpus=choice.gpus,
        choice=choice.sentence,
        largest=largest_run(rows, request.deadline_seconds, request.budget_dollars),
        marks=find_marks(task, rows, best, batch, critical, regime),
        evidence=task.calibration.evidence,
        source=task.calibration.source,
        findings=(
            *choice.findings,
            *_plan_findings(task, rows, best, batch, critical, request),
        ),
        configurations=sum(one.tried for one in best),
        basis=None
        if endless
        else RunBasis(
            tokens=None if regime == "weak" else tokens,
            stated=request.tokens is not None,
            usd_per_gpu_hour=cluster.usd_per_gpu_hour,
            price_source=cluster.price_source,
        ),
    )


def first_batch(request: PlanRequest, critical: CriticalBatch | None, seq: int) -> GlobalBatch:
    """The batch as given; else a sequence for each accelerator of the first P where it grows, the critical batch where
    one is known, or what is usual."""
    if request.global_batch is not None:
        return read_batch(request.global_batch, seq)
    if request.batch_grows:
        return whole_sequences(min(request.counts) * seq, seq)
    if critical is not None:
        return whole_sequences(critical.tokens.value, seq)
    return whole_sequences(usual_batch(seq, max(request.counts)) * seq, seq)


def _nothing_fits(task: SearchTask, best: Sequence[BestLayouts], batch: GlobalBatch) -> InputError:
    """Say by how much it misses, and the smallest P where it fits."""
    least = [(one.least_bytes, one.gpus) for one in best if one.least_bytes is not None]
    if not least:
        near = [nearest_batch(task, one.gpus, batch.sequences) for one in best]
        hint = "; ".join(
            f"at P {one.gpus:,} the nearest that does is {sequences} sequences = {sequences * task.seq:,} tokens"
            for one, sequences in zip(best, near, strict=True)
            if sequences is not None
        )
        message = "no layout honours this batch on any of these counts with stages of equal depth"
        return InputError(Fault(message, "batch", str(batch.tokens), hint or "choose other accelerator counts"))
    needed, gpus = min(least)
    larger = max(one.gpus for one in best) * 2
    while larger <= LARGEST_P and not search_strong(task, [larger], batch)[0][0].layouts:
        larger *= 2
    fits = larger <= LARGEST_P
    hint = f"it fits from {larger:,} accelerators" if fits else f"it fits on no count up to {LARGEST_P:,}"
    usable = task.usable_bytes
    message = f"{task.model.name} does not fit: it needs {format_memory(needed)} of the {format_memory(usable)} usable"
    return InputError(Fault(message, "gpus", str(gpus), hint))


def _awkward_batch(task: SearchTask, best: Sequence[BestLayouts], batch: GlobalBatch) -> list[Finding]:
    """A batch whose sequences divide over few replicas, where a near one is clearly faster per token."""
    uneven = [one.gpus for one in best if one.layouts and one.gpus <= one.sequences and one.sequences % one.gpus]
    near = nearest_batch(task, uneven[-1], batch.sequences) if uneven else None
    if near is None or near == batch.sequences:
        return []
    message = (
        f"{batch.sequences:,} sequences do not divide over {uneven[-1]:,} accelerators; {near:,} "
        f"({format_count(near * task.seq)} tokens) are faster per token"
    )
    return [info("awkward-batch", message, remedy=f"give --global-batch '{near} sequences'", sequences=near)]


def _plan_findings(
    task: SearchTask,
    rows: Sequence[PlanRow],
    best: Sequence[BestLayouts],
    batch: GlobalBatch,
    critical: CriticalBatch | None,
    request: PlanRequest,
) -> list[Finding]:
    """What a reader must know beside the table."""
    regime = request.regime
    notes: list[Finding] = [*task.model.notes, *task.cluster.precision_notes(task.precision)]
    if task.adapters:
        message = "low-rank adapters beside frozen weights: no gradients of the weights, states of the adapters only"
        remedy = "give --tokens for the time and price of the run" if request.tokens is None else None
        notes.append(info("adapters", message, remedy=remedy))
    if request.global_batch is None and not request.batch_grows and critical is None:
        message = f"no batch is given: about {format_count(USUAL_TOKENS)} tokens, with which most published runs begin"
        notes.append(info("usual-batch", message, remedy="give --global-batch"))
    if batch.tokens != batch.asked:
        notes.append(info("batch-rounded", f"global batch: {batch.sentence}"))
    if regime == "strong":
        notes += _awkward_batch(task, best, batch)
    gaps = [one.gpus for one in best if not one.layouts]
    if gaps:
        at = ", ".join(f"{gpus:,}" for gpus in gaps)
        message = f"at P = {at} no layout with stages of equal depth fits and divides the batch"
        near = {gpus: nearest_batch(task, gpus, batch.sequences) for gpus in gaps} if regime == "strong" else {}
        ways = [f"at P {gpus:,} use {count} sequences" for gpus, count in near.items() if count is not None]
        remedy = "; ".join(ways) or "choose a larger P for memory"
        notes.append(warning("gaps", message, gpus=gaps, remedy=remedy))
    if critical and critical.tokens.has_interval:
        low, high = critical.tokens.low or 0.0, critical.tokens.high or 0.0
        size = f"{format_count(low)} to {format_count(high)} tokens{critical.equivalent}"
        message = f"critical batch {size} ({critical.source})"
        notes.append(info("critical-batch-range", message, definition="double", given_as=critical.given_as))
    notes += calibration_notes(task.stack, task.cluster, task.calibration)
    if never_stops_paying(rows) and any(row.doubling is not None for row in rows):
        last = rows[-1].gpus
        message = f"every doubling up to P {last:,} pays: the cost-effective scale may lie beyond"
        notes.append(info("sweep-ended", message, remedy=f"continue with --gpus {2 * last}, {4 * last}", gpus=last))
    if regime == "strong" and len(rows) > 1:
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
