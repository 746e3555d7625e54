"""The plan of a training run over P: the best split at each, what a larger batch is charged, where doublings stop
paying.

`plan_training` is the Python verb; `plan` answers a PlanRequest, as read from a plan.toml and options.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalecurve.document import Answer, Block, Cell, Column, Document, FindingList, JsonRecord, Paragraph, Result, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, info, warning
from scalecurve.training.answers.curve import (
    PAYS,
    ChosenScale,
    CostEffective,
    Mark,
    PlanRow,
    RunTerms,
    Use,
    best_uses,
    between,
    build_rows,
    chance_of_limits,
    choose,
    compute_optimal,
    cost_effective,
    excess,
    find_marks,
    grown_uses,
    scale_by_batch,
    side_by_side,
)
from scalecurve.training.answers.evaluation import (
    LEFT_OUT,
    Evaluation,
    StepOutcome,
    calibration_notes,
    counted_parameters,
    evaluate_layout,
)
from scalecurve.training.inputs.cluster import Cluster, ClusterLike, read_cluster
from scalecurve.training.inputs.layout import Layout, read_layout
from scalecurve.training.inputs.request import (
    BatchChoice,
    PlanRequest,
    Target,
    read_batch_choice,
    read_target,
    sequence_length,
    settings,
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
    USUAL_TOKENS,
    Axes,
    BestLayouts,
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
    format_seconds_range,
    seconds_alike,
)
from scalecurve.words import beside, workers_text

if TYPE_CHECKING:
    from scalecurve.training.answers.explain import StepExplanation
    from scalecurve.training.answers.measured import MeasuredStep
    from scalecurve.training.answers.measurements import NextRun

NOTHING_SAID = (None, "100.0%", "x1.00")  # nothing known; goodput and charge where nothing takes time or tokens
LARGEST_P = 131_072  # where the search for the smallest P that fits or is in time ends
WASTES_MOST = 16  # times the critical batch: no larger batch is tried where none is the largest accepted
USUAL_LAW = "zhang"  # of the critical batch: it depends on the tokens alone
HALF = 0.5 + 1e-9  # of the tokens: what is wasted at the critical batch


@dataclass(frozen=True, kw_only=True)
class RunBasis(JsonRecord):
    """What a run's time and price rest on: the target, whether models `grows` (then each has its own), whether batches
    are charged, and the cluster's price."""

    target: Target
    grows: bool
    charged: bool
    cluster: Cluster

    JSON = """
        tokens at_batch_tokens=target.at_batch stated=target.stated usd_per_gpu_hour=cluster.usd_per_gpu_hour
        price_source=cluster.price_source tokens_per_active_parameter"""

    @property
    def tokens(self) -> float | None:
        return None if self.grows else self.target.tokens

    @property
    def tokens_per_active_parameter(self) -> float | None:
        return None if self.target.stated else EFFORT_TOKENS

    @property
    def goal(self) -> str:
        """`15T tokens at small batches as given`, or by which rule."""
        if self.grows:
            return f"{EFFORT_TOKENS:g} tokens per active parameter"
        count = self.target.words if self.charged else f"{format_count(self.target.tokens)} tokens"
        return count + (" as given" if self.target.stated else f" ({EFFORT_TOKENS:g} per active parameter)")

    @property
    def sentence(self) -> str:
        """`Run and USD: 15T tokens at small batches as given at 3.29 USD per accelerator-hour (...).`"""
        price = self.cluster.usd_per_gpu_hour
        if price is None:
            return f"Run: {self.goal}; no price is known for this accelerator (give --price)."
        return f"Run and USD: {self.goal} at {price:.4g} USD per accelerator-hour ({self.cluster.price_source})."


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
    chosen: ChosenScale  # by a deadline, a budget or an objective
    marks: tuple[Mark, ...]
    evidence: str
    source: str
    findings: tuple[Finding, ...] = ()
    strong: tuple[PlanRow, ...] = ()  # with weak scaling: the fixed job's curve beside it
    configurations: int = 0
    basis: RunBasis | None = None  # the target and the price behind `run` and `USD`
    learning: LearningRates | None = None  # what must change with the batch
    better: PlanRow | None = None  # where a fixed batch wastes most tokens: the best batch up to it
    way_out: str | None = None  # a command that does what this plan cannot
    further: str | None = None  # a command that goes on where the sweep ends
    runs: tuple[MeasuredStep, ...] = ()  # of one's own, that the times rest on

    left_out = LEFT_OUT
    JSON = """
        title regime rows strong_rows=strong dp_cap.statistical=statistical_cap
        dp_cap.granularity=granularity_cap cap critical_batch_tokens=critical.tokens.value
        critical_batch=critical global_batch_tokens=batch_choice.largest.tokens batch_fixed=batch_choice.fixed
        cost_effective_gpus cost_effective_low=cost_effective.low cost_effective_high=cost_effective.high
        chosen_gpus choice learning_rate=learning marks run_basis=basis configurations evidence
        source next_run left_out findings"""

    @property
    def cap(self) -> DataParallelCap | None:
        """The cap that comes first."""
        return min(self.caps.values(), key=lambda cap: cap.accelerators, default=None)

    @property
    def statistical_cap(self) -> int | None:
        """Replicas that the critical batch feeds."""
        return self.caps["statistical cap"].replicas if "statistical cap" in self.caps else None

    @property
    def granularity_cap(self) -> int | None:
        """Replicas that the largest batch feeds."""
        return self.caps["granularity cap"].replicas if "granularity cap" in self.caps else None

    @property
    def cost_effective_gpus(self) -> int:
        return self.cost_effective.gpus

    @property
    def chosen_gpus(self) -> int | None:
        return self.chosen.gpus

    @property
    def choice(self) -> str | None:
        """Why `chosen_gpus`, where a deadline, a budget or an objective was given."""
        return self.chosen.sentence

    @property
    def unit(self) -> str:
        """What people call this accelerator: GPUs, TPUs."""
        return self.rows[0].unit

    @property
    def advised(self) -> PlanRow:
        """The row that the answer is about: the one chosen by objective and limits, else the cost-effective one."""
        asked = self.chosen.gpus if self.choice else self.cost_effective.gpus
        return self.row(asked or self.cost_effective.gpus) or self.rows[-1]

    @property
    def answer(self) -> Answer:
        target = f"Target: {self.basis.goal}." if self.basis and not self.rows[0].optimal else ""
        reasons = (target, counted_parameters(self.rows[0].outcome.job.model), *self._reasons)
        return Answer(
            decision=short_sentence(self._decision), confidence=self._confidence,
            reason=" ".join(filter(None, reasons)) or None, next=self._next,
        )  # fmt: skip

    @property
    def _decision(self) -> str:
        row, unit, limits = self.advised, self.unit, self.chosen.limits
        if self.choice and self.chosen.gpus is None:
            return self.choice
        if row.optimal:
            return (
                f"On {row.gpus:,} {unit} train {format_count(row.optimal.parameters)} parameters: {row.optimal.words}."
            )
        if limits and (len(self.rows) == 1 or self.grown or not self.chosen.short):
            return f"{'Use ' if len(self.rows) > 1 else ''}{workers_text(row.gpus, unit)}: {spent(row)}, {limits}."
        if self.grown:
            last, fixed = self.rows[-1], self.strong[-1]
            return (
                f"At {last.gpus:,} {unit} grow the model: {short_factor(last.speedup)} the useful work of "
                f"{self.rows[0].gpus:,}; the fixed job {short_factor(fixed.speedup)}."
            )
        if self.better and not limits:
            size, free = format_count(row.outcome.tokens), self.better
            batch = f"{format_count(free.outcome.tokens)} on {free.gpus:,} {unit}"
            return f"Lower the batch: at {size} tokens {row.wasted:.0%} are wasted; {batch}: {spent(free)}."
        if row.run_seconds is None:
            return f"Use {row.gpus:,} {unit}: {format_count(row.outcome.tokens_per_second)} tokens/s."
        if self.chosen.short and len(self.rows) > 1:
            return f"Use {row.gpus:,} {unit}: {spent(row)}, {self.chosen.short}."
        if 2 * row.idle >= row.gpus:
            used = replace(row, gpus=row.outcome.gpus)  # the price of those that work
            return f"Use {workers_text(used.gpus, unit)}: {spent(used)}; of {row.gpus:,} the others stay idle."
        start = f"{'Use ' if len(self.rows) > 1 else ''}{row.gpus:,} {unit}: {spent(row)}"
        if len(self.rows) == 1 and row.doubling is not None and row.doubling < PAYS:
            half = format_seconds(row.run_seconds * row.doubling)
            price = "" if row.run_usd is None else f", {format_dollars(row.run_usd * row.doubling / 2)}"
            return f"{start}; half as many, {row.gpus // 2:,}, take {half}{price}."
        return f"{start}{self._next_doubling(row)}."

    def _next_doubling(self, row: PlanRow) -> str:
        """What twice as many would save, as the end of a decision."""
        gain = row.next_doubling
        if gain is None or row.run_seconds is None:
            return ""
        if gain <= 1.005:
            return f"; {2 * row.gpus:,} are no faster"
        saves, dollars = format_seconds(row.run_seconds * (1 - 1 / gain)), (row.run_usd or 0.0) * (2 / gain - 1)
        more = f" for {format_dollars(abs(dollars))} {'more' if dollars > 0 else 'less'}" if dollars else ""
        return f"; doubling to {2 * row.gpus:,} saves {saves}{more}"

    @property
    def _confidence(self) -> str:
        row, scale = self.advised, self.cost_effective
        if self.better and not self.chosen.limits:
            row = self.better
        elif self.grown:
            row = self.rows[-1]
        factor, run = math.exp(row.outcome.half_width), row.run_seconds
        what, seconds = ("a step of", row.step_seconds) if run is None or row.optimal else ("a run of", run)
        ends = format_seconds_range(seconds / factor, seconds * factor, " to ")
        known = f"On {workers_text(row.gpus, self.unit)} expect {what} {ends} (90 %)"
        if self.runs:
            from scalecurve.training.answers.measured import runs_in_words

            known += f" by {runs_in_words(self.runs, self.charge)}"
        if len(self.rows) == 1 or self.choice or scale.low == scale.high:
            return f"{known}."
        more = " or more" if scale.ended and self.further else ""
        place = f"{scale.low:,} to {scale.high:,}{more}"
        if scale.peak != scale.gpus:
            place = f"{scale.peak:,}, which is not among these counts ({place})"
        return f"{known}; the cost-effective scale is {place}."

    def charge(self, tokens: float) -> float:
        """Tokens processed over useful tokens at a batch of so many."""
        return 1.0 if self.critical is None else self.critical.tokens_factor(tokens)

    @property
    def _reasons(self) -> list[str]:
        row = self.advised
        if self.grown:
            last, fixed = self.rows[-1], self.strong[-1]
            return [
                f"Useful efficiency is {100 * last.useful_efficiency:.0f} % with the model growing to "
                f"{format_count(last.outcome.job.model.parameters)} parameters and "
                f"{100 * fixed.useful_efficiency:.0f} % with the job fixed."
            ]
        if row.optimal:
            return [stops_paying(self.rows, self.cost_effective, self.unit)]
        cap = self.cap.sentence if self.cap else ""
        if self.choice or self.better:
            return [cap]
        gain, words = row.next_doubling, "A doubling there gives"
        if len(self.rows) == 1 and row.doubling is not None and row.doubling < PAYS:
            gain, words = row.doubling, "Doubling to it gives"
        limit = "" if gain is None else f"{words} {beside(gain, PAYS, 2)}x the useful work (worth it from {PAYS:g}x)."
        return [limit, cap]

    @property
    def grown(self) -> bool:
        """Whether the model grows from one P to another."""
        return bool(self.strong) and len(self.rows) > 1

    @property
    def _next(self) -> str | None:
        if self.way_out:
            return self.way_out
        if self.strong and not self.grown:
            return f"a model grows from one P to another: `{self.further}`"
        if self.basis is None:
            return "`SAME --tokens 15T` gives the time and price of a run"
        scale = self.cost_effective
        codes = {note.code for note in self.findings}
        if "no-price" in codes:
            return "`SAME --price 2.50` decides by dollars: this cluster has no price of its own"
        if (
            len(self.rows) > 1
            and not self.choice
            and self.further
            and "uncharged-batch" not in codes
            and (scale.ended or scale.peak > scale.gpus)
        ):
            words = "still pay at" if scale.ended else "pay up to"
            return f"doublings {words} {scale.peak:,}: `{self.further}`"
        if self.critical is None:
            return "`SAME --critical-batch zhang` says what large batches waste"
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
        first, last = self.rows[0].outcome, self.rows[-1]
        curve = rows_table(self.rows, self.advised.gpus, self.unit, self.strong, self.learning)
        sentences = [
            f"{self.batch_choice.sentence}; a step is known within a factor of {math.exp(first.half_width):.2f} "
            f"(90 %); memory is a share of {format_memory(first.job.cluster.accelerator.capacity)}",
            self.basis and self.basis.sentence,
            self.cap and self.cap.sentence,
            goodput_sentence(last) if last.goodput.factor < 1.0 else None,
            self.choice,
            self.next_run and f"To know the step better, {self.next_run.sentence}.",
        ]
        marks = [(mark.name, f"{mark.gpus:,}", mark.meaning) for mark in self.marks]
        minor = tuple(note for note in self.findings if note.code in MINOR)
        rates = self.learning.blocks() if self.learning else []
        asked = 1 if self.learning and self.learning.rate else 0  # its advice, where a rate was given
        details: list[Block] = [
            *([curve] if last.optimal else []),
            *([rows_table(self.strong, None, self.unit)] if self.strong else []),
            detail_table(self.rows, self.unit),
            *(Paragraph(text) for text in sentences if text),
            *rates[asked:],
            table([Column("limit", "left"), "P", Column("meaning", "left")], marks),
            Paragraph(f"{self.configurations:,} configurations tried. Constants ({self.evidence}): {self.source}."),
            Paragraph("Left out: " + "; ".join(LEFT_OUT) + ".", "muted"),
            FindingList(minor),
        ]
        blocks: list[Block] = [
            optimal_table(self.rows, self.unit) if last.optimal else curve,
            *([alternatives_table(self.rows, self.unit)] if any(row.alternatives for row in self.rows) else []),
            *rates[:asked],
            FindingList(tuple(note for note in self.findings if note not in minor)),
        ]
        return Document(self.title, tuple(blocks), tuple(details))


MINOR = ("not-calibrated", "strong-scaling", "critical-batch-range", "usual-batch", "adapters", "nothing-within-limits")
"""Findings that the answer says already or that change no decision."""
Writer = Callable[[PlanRow], "Cell | str | None"]


def short_sentence(text: str) -> str:
    """At most 120 characters of a sentence."""
    return text if len(text) <= 120 else text[:117].rsplit(" ", 1)[0] + " ..."


def short_factor(value: float) -> str:
    """`8.2x`, `3,820x`: no more digits than are known."""
    return f"{value:,.1f}x" if value < 100 else f"{float(f'{value:.3g}'):,.0f}x"


def spent(row: PlanRow) -> str:
    """`9.173 d, $1.39M`: what the target takes."""
    dollars = "" if row.run_usd is None else f", {format_dollars(row.run_usd)}"
    return f"{format_seconds(row.run_seconds or 0.0)}{dollars}"


def format_dollars(amount: float) -> str:
    """`$1.3M`, `$17,100`."""
    if amount >= 1e6:
        return f"${amount / 1e6:,.3g}M" if amount < 1e9 else f"${amount / 1e9:,.3g}B"
    return f"${float(f'{amount:.3g}'):,.0f}" if amount >= 100 else f"${amount:.2f}"


def stops_paying(rows: Sequence[PlanRow], scale: CostEffective, unit: str) -> str:
    """Up to which P a better model is worth the accelerators, by the loss that it reaches."""
    row = next(one for one in rows if one.gpus == scale.gpus)
    after = next((one for one in rows if one.gpus > row.gpus), None)
    if len(rows) == 1 or not row.optimal:
        return ""
    if scale.ended or after is None or after.optimal is None:
        return "A better one still pays at the end of the sweep."
    return (
        f"A better one stops paying there: {after.gpus:,} {unit} buy {after.work / row.work:.2f}x the "
        f"useful compute and lower the loss by {row.optimal.loss - after.optimal.loss:.3f}."
    )


def rows_table(
    rows: Sequence[PlanRow],
    chosen: int | None,
    unit: str,
    strong: Sequence[PlanRow] = (),
    learning: LearningRates | None = None,
) -> Block:
    """A line per P with what decides; parameters and batch have a column where they differ, the fixed job one beside a
    job that grows."""
    of_run = seconds_alike(row.run_seconds for row in rows)
    fixed = {row.gpus: f"{row.useful_efficiency:.0%}" for row in strong}
    rate = learning.square_root if learning and learning.rate else None
    columns = [
        (Column(unit), lambda row: Cell(f"{row.gpus:,}", "good" if row.gpus == chosen else "plain")),
        (Column("parameters"), field("outcome.job.model.parameters", format_count)),
        (Column("batch", meaning="tokens of a step", rank=2), field("outcome.tokens", format_count)),
        (Column("Adam rate", rank=3), lambda row: f"{rate(row.outcome.tokens):.2g}" if rate else None),
        (Column("split", "left"), field("outcome.layout", short_split)),
        (Column("idle", meaning="accelerators without work"), lambda row: f"{row.idle:,}" if row.idle else None),
        (Column("raw MFU", meaning="of the tokens processed", rank=1), field("outcome.mfu", "{:.1%}")),
        (Column("goodput", rank=1), field("goodput.factor", "{:.1%}")),
        (Column("charged", meaning="tokens processed over useful tokens", rank=3), field("tokens_factor", "x{:.2f}")),
        (Column("useful", meaning="useful work per accelerator, against the best row"),
         field("useful_efficiency", "{:.0%}")),
        (Column("job fixed", meaning="useful, where the model does not grow"), lambda row: fixed.get(row.gpus)),
        (Column("next x2", meaning="useful work that twice as many accelerators do"),
         field("next_doubling", "x{:.2f}")),
        (Column("cap", "left", meaning="of data parallelism", rank=4), cap_side),
        (Column("run", meaning="to the target"), field("run_seconds", of_run)),
        (Column("USD"), field("run_usd", "{:,.0f}")),
    ]  # fmt: skip
    return table_of(rows, columns, same=("parameters", "batch", "useful"))


def field(path: str, form: str | Callable[[Any], str]) -> Writer:
    """What writes the attribute at this path, by a template or a function; absent stays absent."""
    get, write = attrgetter(path), form.format if isinstance(form, str) else form
    return lambda row: None if get(row) is None else write(get(row))


def short_split(layout: Layout) -> str:
    """`tp4 pp2 dp64 v5`: the degrees, without micro-batch and what follows."""
    return layout.short().partition(" micro")[0]


def cap_side(row: PlanRow) -> str | None:
    """On which side of the cap of data parallelism a row is; beyond it the model is split more or tokens are wasted."""
    if row.past_cap is None:
        return None
    return "below" if not row.past_cap else "wastes" if row.wasted > HALF else "splits"


def detail_table(rows: Sequence[PlanRow], unit: str) -> Block:
    """The raw figures of each P, and what the target takes."""
    of_step = seconds_alike(row.step_seconds for row in rows)
    of_raw = seconds_alike(row.raw_run_seconds for row in rows)
    columns = [
        (Column(unit), field("gpus", "{:,}")),
        (Column("layout", "left"), field("outcome.layout", Layout.short)),
        (Column("step"), field("step_seconds", of_step)),
        (Column("90 %", meaning="interval of the step"),
         field("outcome.step", lambda step: format_interval(step.low, step.high, of_step))),
        (Column("raw tokens/s"), field("outcome.tokens_per_second", format_count)),
        (Column("useful tokens/s"), field("effective_tokens_per_second", format_count)),
        (Column("speedup", meaning="in useful work"), field("speedup", "{:.2f}")),
        (Column("compute", meaning="compute share, 1/(1 + comm_frac)"), field("outcome.efficiency", "{:.2f}")),
        (Column("memory", meaning="share of the memory"), field("outcome.memory_share", "{:.0%}")),
        (Column("raw run", meaning="time of exactly the tokens stated"), field("raw_run_seconds", of_raw)),
        (Column("GPU-hours", meaning="accelerators x hours to the target"), field("run_gpu_hours", "{:,.0f}")),
    ]  # fmt: skip
    return table_of(rows, columns, same=("speedup",), caption="Raw figures")


def table_of(
    rows: Sequence[PlanRow],
    columns: Sequence[tuple[Column, Writer]],
    *,
    same: Sequence[str],
    caption: str | None = None,
) -> Block:
    """The columns that say something: `same` name those left out where all rows are alike."""
    texts = [(column, [write(row) for row in rows]) for column, write in columns]
    shown = {
        column: cells
        for column, cells in texts
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
    start = f"Goodput at {row.gpus:,} {row.unit} is {100 * useful.factor:.1f} % of the time"
    return f"{start}: {parts}{often}. Run and USD count it."


def alternatives_table(rows: Sequence[PlanRow], unit: str) -> Block:
    """The next best layouts at each P, and how much slower they are."""
    of_step = seconds_alike(other.seconds for row in rows for other in row.alternatives)
    lines = [
        (f"{row.gpus:,}", str(rank), other.layout.short(), of_step(other.seconds),
         f"{other.seconds / row.step_seconds - 1:.1%}", f"{other.mfu:.1%}", format_memory(other.memory_bytes))
        for row in rows
        for rank, other in enumerate(row.alternatives, start=2)
    ]  # fmt: skip
    columns = (unit, "rank", Column("layout", "left"), "step", "slower by", "raw MFU", "memory")
    return table(columns, lines, caption="Alternatives at each P")


def optimal_table(rows: Sequence[PlanRow], unit: str) -> Block:
    """The best model for what each P computes, and the loss that it reaches."""
    dollars = field("optimal_usd", "{:,.0f}")
    columns = [
        (Column(unit), field("gpus", "{:,}")), (Column("parameters"), field("optimal.parameters", format_count)),
        (Column("tokens"), field("optimal.tokens", format_count)), (Column("loss"), field("optimal.loss", "{:.3f}")),
        (Column("within"), field("optimal.seconds", format_seconds)), (Column("USD"), dollars),
        (Column("useful compute"), field("speedup", "x{:.2f}")),
    ]  # fmt: skip
    return table_of(rows, columns, same=())


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
    axes: Axes | None = None,
) -> Plan:
    """The best split of the model at each P, and where more accelerators stop paying.

    Parameters
    ----------
    model, cluster
        By name, as a mapping, or a file.
    gpus
        The numbers of accelerators.
    batch
        The largest batch that is accepted: "4Mi" are tokens, "512 sequences" are sequences; "fixed:4Mi" holds it.
    critical_batch, definition
        Tokens, a law, or a file; and what a critical batch means.
    seq, stack, precision, adapters
        Tokens of a sequence, the software, the precision, and whether low-rank adapters are trained.
    tokens
        What small batches would need; "15T@16Mi" is what a batch of 16Mi needs.
    learning_rate, batch_grows, weak, compute_optimal
        How the learning rate follows the batch; whether only the critical batch limits it; whether model, tokens and
        batch grow with P; which law says how many tokens the model needs.
    objective, deadline, budget, price, loss
        What to choose by: seconds or text (30d), dollars or text (5M), dollars per accelerator-hour, a loss to reach.
    top, axes, calibration, reliability
        Layouts listed at each P; COARSE tries fewer layouts; achieved rates;
        failures.

    Returns
    -------
    Plan
        A row for each P with its best split, the batch that reaches the target soonest, and where more stops paying.

    Raises
    ------
    InputError
        A setting is wrong, or nothing fits the memory.

    Examples
    --------
    >>> import scalecurve as sc
    >>> plan = sc.plan_training("llama3-8b", "h100-ib400", gpus=[64], batch="4Mi", tokens="100B")
    >>> [row.gpus for row in plan.rows]
    [64]
    """
    request = PlanRequest(
        model=model, cluster=cluster, gpus=gpus, global_batch=batch, critical_batch=critical_batch,
        definition=definition, seq=seq, stack=stack, precision=precision, adapters=adapters, tokens=tokens,
        learning_rate=learning_rate, batch_grows=batch_grows, weak=weak, compute_optimal=compute_optimal,
        objective=objective, deadline=deadline, budget=budget, top=top, reliability=reliability, price=price,
        loss=loss,
    )  # fmt: skip
    return sweep(request, calibration=calibration, axes=axes or FULL)


def plan(request: PlanRequest) -> Plan | Evaluation | StepExplanation:
    """What the settings of a plan ask for: a sweep, one layout, or an explanation of one P."""
    calibration: StackCalibration | None = None
    runs: tuple[MeasuredStep, ...] = ()
    if request.measured is not None:
        from scalecurve.training.answers.measured import anchored, read_runs
        from scalecurve.training.inputs.measured_table import read_table

        runs = read_runs(
            read_table(Path(request.measured)), model=request.model, cluster=request.cluster, stack=request.stack,
            precision=request.precision,
        )  # fmt: skip
        calibration = anchored(calibration_of(runs[0].job.cluster.accelerator, runs[0].job.stack), runs)
    if request.layout is not None:
        evaluation = one_layout(request, calibration)
        return evaluation if request.explain is None else explained(evaluation.outcome)
    swept = replace(sweep(request, calibration=calibration), runs=runs)
    if request.explain is None:
        return swept
    row = swept.row(request.explain)
    if row is None:
        hint = command_of(request, explain=swept.rows[0].gpus)
        raise InputError(Fault("nothing planned at this P", "explain", str(request.explain), hint))
    return explained(row.outcome)


def explained(outcome: StepOutcome) -> StepExplanation:
    """Every term of a step; the module is loaded where somebody asks."""
    from scalecurve.training.answers.explain import explain

    return explain(outcome)


def one_layout(request: PlanRequest, calibration: StackCalibration | None) -> Evaluation:
    """The layout of a request, at the one P it may name."""
    counts = request.counts if request.gpus is not None else ()
    if len(counts) > 1:
        hint = command_of(request, gpus=counts[-1])
        raise InputError(Fault("one layout is evaluated at one P", "gpus", str(request.gpus), hint))
    swept = {name: None for name in ("weak", "compute_optimal", "objective", "top") if getattr(request, name)}
    if swept:
        flags = ", ".join(name.replace("_", "-") for name in swept)
        raise InputError(
            Fault("this is asked of a sweep, not of one layout", flags, remedy=command_of(request, **swept))
        )
    layout, batch = read_layout(request.layout or {}), request.global_batch

    def at_batch(batch: float | str | None) -> Evaluation:
        return evaluate_layout(
            request.model, request.cluster, layout, batch=batch, seq=request.seq, stack=request.stack,
            precision=request.precision, gpus=counts[0] if counts else None, calibration=calibration,
            price=request.price, adapters=request.adapters,
        )  # fmt: skip

    evaluation = at_batch(str(batch).partition("fixed:")[2] or batch)
    job = evaluation.outcome.job
    split, terms = job.layout, read_terms(request, job.model, job.seq)
    critical, findings = terms.critical, list(evaluation.findings)
    if batch is None and "accumulation" not in layout:  # as a sweep would
        unit = split.dp * split.micro * (split.pp if split.interleave > 1 else 1)
        evaluation = at_batch(f"{max(terms.choice.largest.sequences // unit, 1) * unit} sequences")
        findings = [*evaluation.findings, _usual_batch(evaluation.outcome.tokens)]
    stated = split.accumulation if "accumulation" in layout else 1
    cap = data_parallel_cap(
        critical, None, seq=job.seq, per_replica=split.gpus // split.dp, sequences=split.micro * stated
    )
    evaluation = replace(evaluation, cap=cap, findings=tuple(findings))
    if (request.tokens, request.deadline, request.budget) == (None, None, None):
        return evaluation
    return with_run(evaluation, terms, request, calibration)


def with_run(
    evaluation: Evaluation, terms: RunTerms, request: PlanRequest, calibration: StackCalibration | None
) -> Evaluation:
    """What the target takes with this layout, and whether deadline and budget are kept."""
    task, outcome = read_task(request, calibration, FULL), evaluation.outcome
    best = BestLayouts(outcome.gpus, outcome.layout.sequences, (outcome.layout,), outcome.seconds, 1, None)
    rows = build_rows([Use(outcome.gpus, best, task)], terms, None)
    chosen, row = choose(rows, request), rows[0]
    limits = f", {chosen.limits}" if chosen.limits else ""
    missed = chosen.gpus is None and chosen.sentence is not None
    asked = request.deadline is not None or (request.budget is not None and row.run_usd is not None)
    return replace(
        evaluation, run=f"{format_count(row.raw_tokens or 0.0)} tokens: {spent(row)}{limits}.",
        run_seconds=row.run_seconds, run_usd=row.run_usd,
        chance=chance_of_limits(row, request) if asked else None,
        findings=(*evaluation.findings, *chosen.findings),
        way_out=command_of(request, layout=None, gpus=outcome.gpus) if missed else None,
    )  # fmt: skip


def command_of(request: PlanRequest, **changes: object) -> str:
    """The command that asks this with some settings changed; None leaves one out."""
    words = ["scalecurve plan"]
    for entry in fields(PlanRequest):
        value = changes.get(entry.name, getattr(request, entry.name))
        if value is None or value is False:
            continue
        words.append("--" + (settings()[entry.name].option or entry.name).replace("_", "-"))
        if value is not True:
            several = list(value) if isinstance(value, Iterable) and not isinstance(value, (str, Mapping)) else [value]
            words.append(shlex.quote(",".join(str(getattr(one, "name", one)) for one in several)))
    return " ".join(words)


def counts_within(request: PlanRequest, cluster: Cluster) -> list[int]:
    """The P that are asked for and that the cluster has."""
    if cluster.gpus is None:
        return list(request.counts)
    if counts := [count for count in request.counts if count <= cluster.gpus]:
        return counts
    value, hint = f"{min(request.counts):,}", command_of(request, gpus=cluster.gpus)
    raise InputError(Fault(f"the cluster has {cluster.gpus:,} accelerators", "gpus", value, hint), subject="plan")


def sweep(request: PlanRequest, *, calibration: StackCalibration | None = None, axes: Axes = FULL) -> Plan:
    """Search every P, evaluate the best, and read the marks off the curve."""
    task, grows = read_task(request, calibration, axes), request.weak
    most = task.cluster.gpus or LARGEST_P
    counts = counts_within(request, task.cluster)
    terms = read_terms(request, task.model, task.seq)
    choice, critical, cluster = terms.choice, terms.critical, task.cluster
    caps = find_caps(task, terms, largest=request.global_batch is not None or critical is None)
    cap = min(caps.values(), key=lambda one: one.accelerators, default=None)
    gaps = [] if grows else between(counts)
    halved = [counts[0] // 2] if len(counts) == 1 and counts[0] % 2 == 0 else []
    doubled = [2 * count for count in counts if 2 * count <= most or task.cluster.gpus is None]
    others = sorted({*gaps, *halved, *doubled} - set(counts))
    uses = best_uses(task, [*counts, *others], terms)
    fixed = build_rows(uses, terms, cap)
    asked = grown_uses(task, counts, terms) if grows else uses[: len(counts)]
    every = with_optimal(build_rows(asked, terms, None) if grows else fixed, request)
    rows = side_by_side(every, counts)
    if not rows:
        raise _nothing_fits(task, asked, choice.largest.sequences, request)
    chosen = decide(task, rows, terms, request)
    capped = request.compute_optimal is not None and request.budget is not None  # dearer P train shorter
    effective = cost_effective(
        side_by_side(every, [*counts, *gaps]), [row.gpus for row in rows],
        None if grows or capped else scale_by_batch(task, [*counts, *gaps], terms),
    )  # fmt: skip
    batches = [row.outcome.tokens for row in rows if row.gpus <= max(chosen.gpus or effective.gpus, rows[0].gpus)]
    better = unheld(task, rows, terms, cap)
    unfixed = command_of(request, global_batch=f"{choice.largest.sequences} sequences") if better else None
    further = further_counts(counts, effective, most, grows=grows)
    words = "the batch grows with P" if request.regime == "batch grows" else f"{request.regime} scaling"
    return Plan(
        title=(
            f"{task.model.name} ({format_count(task.model.parameters)} parameters, seq {task.seq:,}) on "
            f"{cluster.name}, {task.stack.name}, {words}"
        ),
        regime=request.regime, batch_choice=choice, rows=rows, caps=caps, critical=critical,
        strong=side_by_side(fixed, counts) if grows else (),
        cost_effective=effective, chosen=chosen, marks=find_marks(cluster.node, rows, caps, effective),
        evidence=task.calibration.evidence, source=task.calibration.source,
        findings=(*chosen.findings, *_plan_findings(task, rows, asked, terms, request)),
        configurations=sum(use.best.tried for use in asked), basis=None if terms.target is None
        else RunBasis(target=terms.target, grows=grows, charged=critical is not None, cluster=cluster),
        learning=read_learning_rate(request.learning_rate, task.seq, batches),
        better=better, way_out=chosen.way_out or unfixed,
        further=command_of(request, gpus=further) if further else None,
    )  # fmt: skip


def further_counts(counts: Sequence[int], scale: CostEffective, most: int, *, grows: bool) -> list[int]:
    """The P to sweep next: beyond the end as far as the cluster reaches, or with the place between two P where
    doublings stop paying; none where the cluster ends."""
    if not scale.ended and not grows:
        return sorted({*counts, scale.peak})
    beyond = [count for count in (2 * counts[-1], 4 * counts[-1]) if count <= most]
    if grows and not beyond:
        return sorted({counts[0] // 2 or 1, *counts})
    return [*counts, *beyond] if grows else beyond


def with_optimal(rows: list[PlanRow], request: PlanRequest) -> list[PlanRow]:
    """The rows with the compute-optimal model of each, where a law is named."""
    law = request.compute_optimal
    if law is None:
        return rows
    limits = (request.deadline_seconds, request.budget_dollars)
    return [replace(row, optimal=compute_optimal(row, law, *limits)) for row in rows]


def decide(task: SearchTask, rows: Sequence[PlanRow], terms: RunTerms, request: PlanRequest) -> ChosenScale:
    """The P by objective and limits; where none keeps them, the command that does."""
    if terms.target is None or request.compute_optimal is not None:
        return ChosenScale()
    chosen = choose(rows, request)
    if chosen.gpus is not None or chosen.sentence is None:
        return chosen
    way_out = within_limits(task, rows, terms, request)
    unmet = warning("nothing-within-limits", chosen.sentence, remedy=way_out)
    return replace(chosen, way_out=way_out, findings=(unmet,))


def unheld(task: SearchTask, rows: Sequence[PlanRow], terms: RunTerms, cap: DataParallelCap | None) -> PlanRow | None:
    """Where a fixed batch wastes most of its tokens at every P: the first P with the best batch up to it."""
    if not terms.choice.fixed or min(row.wasted for row in rows) <= HALF:
        return None
    free = replace(terms, choice=replace(terms.choice, fixed=False))
    return next(iter(build_rows(best_uses(task, [rows[0].gpus], free), free, cap)), None)


def within_limits(task: SearchTask, rows: Sequence[PlanRow], terms: RunTerms, request: PlanRequest) -> str:
    """The command that keeps deadline and budget: on more accelerators for a deadline, the fewest that do; on fewer
    for a budget, the soonest that do.  Where none up to LARGEST_P does, the one with the least of both that some P
    keeps."""
    most = task.cluster.gpus or LARGEST_P
    powers, counts = range(1, LARGEST_P.bit_length()), []
    if request.deadline is not None:
        counts += [count for power in powers if (count := rows[-1].gpus << power) <= most]
    if request.budget is not None:
        counts += [count for power in powers if (count := rows[0].gpus >> power) > 0]
    tried = list(rows)
    if not request.weak:
        tried += build_rows(best_uses(task, counts, terms), terms, None)
    order = "gpus" if request.deadline is not None else "run_seconds"
    near = min(tried, key=lambda row: (max(excess(row, request), 1.0), getattr(row, order)))
    changes: dict[str, object] = {"gpus": near.gpus}
    if request.deadline_seconds is not None and (near.run_seconds or 0.0) > request.deadline_seconds:
        changes["deadline"] = f"{math.ceil((near.run_seconds or 0.0) / 3600.0)}h"
    if request.budget_dollars is not None and (near.run_usd or 0.0) > request.budget_dollars:
        changes["budget"] = f"{float(f'{1.005 * (near.run_usd or 0.0):.2e}'):.0f}"  # rounded, never below
    return f"with {near.words}: {command_of(request, **changes)}"


def read_task(request: PlanRequest, calibration: StackCalibration | None, axes: Axes) -> SearchTask:
    """The job that is to be split, from the settings."""
    model = read_model(request.model, seq=request.seq)
    cluster = read_cluster(request.cluster).with_price(request.price)
    stack = read_stack(request.stack or cluster.stack, cluster.accelerator)
    precision, faults = cluster.precision(request.precision)
    if faults:
        raise InputError(faults, subject="plan")
    return SearchTask(
        model=model, cluster=cluster, stack=stack, seq=sequence_length(request.seq, model.seq), precision=precision,
        calibration=calibration or calibration_of(cluster.accelerator, stack),
        axes=axes, adapters=request.adapters,
    )  # fmt: skip


def read_terms(request: PlanRequest, model: Transformer, seq: int) -> RunTerms:
    """Target, batch and critical batch, from the settings.  Adapters without tokens have no end that a rule tells."""
    active = model.active_parameters
    rule = Target(EFFORT_TOKENS * active, stated=False)
    target = rule if request.tokens is None else read_target(request.tokens, seq)
    limits = [name for name in ("deadline", "budget") if getattr(request, name) is not None]
    if request.adapters and request.tokens is None and limits:
        hint = command_of(request, tokens="1B")
        raise InputError(Fault(f"a {limits[0]} needs the run's tokens", "tokens", remedy=hint), subject="plan")
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
    if request.batch_grows and critical is None:
        hint = command_of(request, critical_batch="zhang")
        raise InputError(Fault("a batch that grows needs a critical batch", "batch-grows", remedy=hint))
    if request.global_batch is not None and not request.batch_grows:
        return read_batch_choice(request.global_batch, seq)
    if critical is None:
        return BatchChoice(whole_sequences(max(USUAL_TOKENS, seq), seq), False)
    most = critical.tokens.value * (WASTES_MOST if request.batch_grows else 1)
    return BatchChoice(whole_sequences(2.0 ** math.ceil(math.log2(max(most / seq, 1.0))) * seq, seq), False)


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


def _nothing_fits(task: SearchTask, uses: Sequence[Use], sequences: int, request: PlanRequest) -> InputError:
    """Say by how much it misses, and the command of the smallest P or the nearest batch that does."""
    least = [(use.best.least_bytes, use.gpus) for use in uses if use.best.least_bytes is not None]
    if not least:
        near = next(((use.gpus, count) for use in uses if (count := nearest_batch(task, use.gpus, sequences))), None)
        hint = "choose other accelerator counts"
        if near is not None:
            hint = command_of(request, gpus=near[0], global_batch=f"{near[1]} sequences")
        message = "no layout honours this batch on any of these counts with stages of equal depth"
        return InputError(Fault(message, "batch", f"{sequences * task.seq}", hint))
    needed, gpus = min(least)
    most = max(use.gpus for use in uses)
    larger = {most << power for power in range(1, (LARGEST_P // most).bit_length())}
    larger |= {1 << power for power in range(most.bit_length(), LARGEST_P.bit_length())}
    sizes = [(count, sequences) for count in sorted(larger)]
    enough = next((best.gpus for best in search(task, sizes) if best.layouts), None)
    hint = f"it fits on no count up to {LARGEST_P:,}"
    if enough is not None:
        hint = f"it fits from {enough:,} accelerators: {command_of(request, gpus=enough)}"
        if enough > (task.cluster.gpus or enough):
            hint = f"it fits from {enough:,} accelerators, the cluster has {task.cluster.gpus:,}"
    message = (
        f"{task.model.name} does not fit: it needs {format_memory(needed)} of the "
        f"{format_memory(task.usable_bytes)} usable"
    )
    return InputError(Fault(message, "gpus", str(gpus), hint))


def _plan_findings(
    task: SearchTask, rows: Sequence[PlanRow], uses: Sequence[Use], terms: RunTerms, request: PlanRequest
) -> list[Finding]:
    """What a reader must know beside the table."""
    notes = [*task.model.notes, *task.cluster.precision_notes(task.precision)]
    if task.adapters:
        message = "low-rank adapters beside frozen weights: no gradients of the weights, states of the adapters only"
        notes.append(info("adapters", message))
    beyond = [count for count in request.counts if count > (task.cluster.gpus or count)]
    if beyond:
        message = f"the cluster has {task.cluster.gpus:,} accelerators: nothing is planned at {beyond[0]:,} or more"
        notes.append(warning("beyond-cluster", message, remedy="give another --cluster, or its size as gpus"))
    if request.global_batch is None and not request.batch_grows and terms.critical is None:
        notes.append(_usual_batch(USUAL_TOKENS))
    asked = (_wasted(rows), _uncharged(rows, terms), _critical_range(terms.critical), _gaps(task, uses, terms))
    notes += filter(None, (*asked, _idle(task, rows)))
    return [*notes, *calibration_notes(task.stack, task.cluster, task.calibration), *_eight_times(rows, request)]


def _usual_batch(tokens: float) -> Finding:
    """That the batch is the usual one."""
    message = f"no batch is given: about {format_count(tokens)} tokens, with which most published runs begin"
    return info("usual-batch", message, remedy="give --global-batch")


def _wasted(rows: Sequence[PlanRow]) -> Finding | None:
    """From which P the batch is above the critical one, and the largest share of tokens that is wasted."""
    wasteful = [row for row in rows if row.wasted > HALF]
    if not wasteful:
        return None
    worst = max(wasteful, key=lambda row: row.wasted)
    message = (
        f"from {wasteful[0].gpus:,} {worst.unit} the batch is above the critical one: at {worst.gpus:,} "
        f"{worst.wasted:.0%} of the tokens are wasted ({format_count(worst.outcome.tokens)} a step)"
    )
    remedy = "accept fewer accelerators, or a smaller --global-batch"
    return warning("wasted-tokens", message, remedy=remedy, share=worst.wasted, gpus=worst.gpus)


def _uncharged(rows: Sequence[PlanRow], terms: RunTerms) -> Finding | None:
    """A batch beyond any that a published law calls useful, where no critical batch charges for it."""
    if terms.critical is not None or terms.target is None:
        return None
    laws = [(row, read_critical_batch(USUAL_LAW, tokens=row.raw_tokens)) for row in rows]
    times, row, high = max(
        ((row.outcome.tokens / law.tokens.value, row, law.tokens.high or 0.0) for row, law in laws if law),
        key=itemgetter(0),
    )
    if row.outcome.tokens <= high:
        return None
    steps = (row.raw_tokens or 0.0) / row.outcome.tokens
    message = (
        f"a batch of {format_count(row.outcome.tokens)} tokens is {times:.3g} times the critical one by the "
        f"{USUAL_LAW} law, and the run is {steps:,.0f} steps: tokens that it wastes are not charged"
    )
    return warning("uncharged-batch", message, remedy=f"--critical-batch {USUAL_LAW}, or a smaller --global-batch")


def _critical_range(critical: CriticalBatch | None) -> Finding | None:
    if critical is None or not critical.tokens.has_interval:
        return None
    low, high = critical.tokens.low or 0.0, critical.tokens.high or 0.0
    size = f"{format_count(low)} to {format_count(high)} tokens{critical.equivalent}"
    message = f"critical batch {size} ({critical.source})"
    return info("critical-batch-range", message, definition="double", given_as=critical.given_as)


def _gaps(task: SearchTask, uses: Sequence[Use], terms: RunTerms) -> Finding | None:
    """The P without a layout, and the batches or the P that have one."""
    least = {use.gpus: use.best.least_bytes for use in uses if not use.best.layouts}
    gaps = list(least)
    if not gaps:
        return None
    near = {gpus: nearest_batch(task, gpus, terms.choice.largest.sequences) for gpus in gaps}
    ways = [f"at P {gpus:,} use {count} sequences" for gpus, count in near.items() if count is not None]
    enough = next(use.gpus for use in uses if use.best.layouts)
    at = ", ".join(f"{gpus:,}" for gpus in gaps)
    message = f"at P = {at} no layout with stages of equal depth divides the batch"
    needed = min((held for held in least.values() if held is not None), default=None)
    if needed is not None:
        usable = format_memory(task.usable_bytes)
        message = f"at P = {at} no layout fits: the leanest needs {format_memory(needed)} of the {usable} usable"
    return warning("gaps", message, gpus=gaps, remedy="; ".join(ways) or f"it fits from {enough:,}")


def _idle(task: SearchTask, rows: Sequence[PlanRow]) -> Finding | None:
    """Where most accelerators stay idle, and the batch that would use them all."""
    worst = max(rows, key=lambda row: row.idle / row.gpus)
    if not worst.idle:
        return None
    message = f"at {worst.gpus:,} {worst.unit} the run is fastest on {worst.outcome.gpus:,}; {worst.idle:,} stay idle"
    near = nearest_batch(task, worst.gpus, worst.outcome.layout.sequences)
    remedy = f"take {worst.outcome.gpus:,} accelerators" + (f", or --global-batch '{near} sequences'" if near else "")
    return info("idle-accelerators", message, remedy=remedy, gpus=worst.gpus)


def _eight_times(rows: Sequence[PlanRow], request: PlanRequest) -> list[Finding]:
    """The speedup of eight times the accelerators; steps of one job share most of their error."""
    if request.regime != "strong" or len(rows) < 2:
        return []
    first = rows[0]
    eight = next((row for row in rows if row.gpus >= 8 * first.gpus), rows[-1])
    ratio, spread = eight.gpus / first.gpus, math.exp(first.outcome.calibration.ratio_width)
    message = (
        f"{ratio:,.4g}x the accelerators ({first.gpus:,} to {eight.gpus:,}) are {eight.speedup:.2f}x as fast "
        f"({eight.speedup / spread:.2f} to {eight.speedup * spread:.2f})"
    )
    return [info("strong-scaling", message, speedup=eight.speedup, ratio=ratio)]
