"""The planner: from a model, a cluster and a list of P to a Plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, info, warning
from scalecurve.training.calibration import Calibration, calibration_of
from scalecurve.training.choice import OBJECTIVES, Settings, choose, limit_faults
from scalecurve.training.cluster import Cluster
from scalecurve.training.critical_batch import CriticalBatch, read_critical_batch
from scalecurve.training.evaluate import plain_precision, precision_faults
from scalecurve.training.evaluation import Job
from scalecurve.training.goodput import Goodput, Reliability, goodput
from scalecurve.training.inputs import read_cluster, read_counts, read_model, read_stack
from scalecurve.training.loss import loss_law
from scalecurve.training.marks import cost_effective, find_marks, never_stops_paying
from scalecurve.training.outcome import Outcome, evaluate_job
from scalecurve.training.plan import Optimal, Plan, PlanRow
from scalecurve.training.search import Found, Task, search
from scalecurve.training.stack import Stack
from scalecurve.training.tokens import Rounded, positive, sequence_length, whole_sequences
from scalecurve.training.transformer import Transformer
from scalecurve.training.weak import grown
from scalecurve.units import format_bytes, format_count

EFFORT_TOKENS = 20.0  # tokens per parameter where no budget of tokens is given (Hoffmann et al. 2022)
DEFAULT_DEADLINE = 30 * 86400.0  # for --compute-optimal without --deadline
IDEAL = Goodput(1.0, 1.0, 1.0, None)


def plan_training(
    model: str | Path | Mapping[str, Any] | Transformer,
    cluster: str | Mapping[str, Any] | Cluster,
    *,
    gpus: Sequence[int] | int | str,
    batch: float | str | None = None,
    critical_batch: float | str | None = None,
    definition: str = "double",
    seq: int | None = None,
    stack: str | Stack | None = None,
    precision: str = "bf16",
    tokens: float | str | None = None,
    batch_grows: bool = False,
    weak: bool = False,
    compute_optimal: str | None = None,
    objective: str | None = None,
    deadline: float | None = None,
    budget: float | None = None,
    top: int = 1,
    reliability: Reliability | None = None,
    calibration: Calibration | None = None,
    price: float | None = None,
    loss: float | None = None,
    max_tp: int = 64,
) -> Plan:
    """The best split of the model at each P, and where more accelerators stop paying.

    `batch` and `critical_batch` are tokens.  The batch is fixed (strong scaling), or grows with P up to the critical
    one (`batch_grows`), or everything grows (`weak`).
    """
    counts = read_counts(gpus)
    shape = read_model(model, seq=seq)
    machine = _priced(read_cluster(cluster), price)
    length = sequence_length(seq, shape.seq)
    software = read_stack(stack)
    _refuse(counts, objective, precision, machine, limit_faults(deadline, budget, top))
    budget_tokens = positive(tokens, "tokens") if tokens is not None else EFFORT_TOKENS * shape.active_parameters
    compute = 6.0 * shape.active_parameters * budget_tokens
    critical = read_critical_batch(
        critical_batch, definition=definition, tokens=budget_tokens, loss=loss, compute=compute
    )
    asked = batch if batch is not None else (critical.tokens.value if critical else max(counts) * length)
    rounded = whole_sequences(asked, length)
    task = Task(
        model=shape, cluster=machine, stack=software, seq=length, precision=plain_precision(precision), max_tp=max_tp,
        calibration=calibration or calibration_of(machine.accelerator, software),
    )  # fmt: skip
    settings = Settings(
        regime="weak" if weak else "batch grows" if batch_grows else "strong", tokens=budget_tokens,
        objective=objective, deadline=deadline, budget=budget, top=top, reliability=reliability, loss=compute_optimal,
    )  # fmt: skip
    return sweep(task, counts, rounded, critical, settings)


def _priced(cluster: Cluster, price: float | None) -> Cluster:
    from scalecurve.hardware.prices import gpu_price

    if price is not None:
        return cluster.with_price(price)
    if cluster.usd_per_gpu_hour is not None:
        return cluster
    listed = gpu_price(cluster.accelerator.name)
    return cluster if listed is None else cluster.with_price(listed.usd_per_hour, listed.source)


def _refuse(
    gpus: Sequence[int], objective: str | None, precision: str, cluster: Cluster, others: Sequence[Fault]
) -> None:
    faults = [] if gpus else [Fault("no accelerator counts given", "gpus", remedy="write 8..16384")]
    if objective is not None and objective not in OBJECTIVES:
        faults.append(Fault("unknown objective", "objective", objective, f"use {', '.join(OBJECTIVES)}"))
    faults += [*precision_faults(precision, cluster), *others]
    if faults:
        raise InputError(faults, subject="plan")


def sweep(task: Task, gpus: Sequence[int], batch: Rounded, critical: CriticalBatch | None, settings: Settings) -> Plan:
    """Search every P, evaluate the best, and read the marks off the curve."""
    if settings.regime == "strong":
        found = search(task, [(count_, batch.sequences) for count_ in gpus], top=settings.top)
        tasks = [task] * len(found)
    else:
        found, tasks = _growing(task, gpus, batch, critical, settings)
    rows = build_rows(tasks, found, batch, critical, settings)
    if not rows:
        raise _nothing_fits(task, found, batch)
    strong: tuple[PlanRow, ...] = ()
    if settings.regime == "weak":
        plain = replace(settings, regime="strong")
        fixed = search(task, [(count_, batch.sequences) for count_ in gpus], top=1)
        strong = build_rows([task] * len(fixed), fixed, batch, critical, plain)
    return _plan(task, rows, strong, found, batch, critical, settings)


def _growing(
    task: Task, gpus: Sequence[int], batch: Rounded, critical: CriticalBatch | None, settings: Settings
) -> tuple[list[Found], list[Task]]:
    """Growth starts at the first P the job as given fits on; the smaller ones stay without a layout."""
    found: list[Found] = []
    for count_ in gpus:
        found += search(task, [(count_, _capped(task, count_, batch.sequences, critical))], top=settings.top)
        if found[-1].layouts:
            break
    start, rest = found[-1].gpus, gpus[len(found) :]
    grow = _grown_search if settings.regime == "weak" else _grown_batches
    more, tasks = grow(task, start, rest, batch, critical, settings)
    return found + more, [task] * len(found) + tasks


def _grown_batches(
    task: Task,
    start: int,
    gpus: Sequence[int],
    batch: Rounded,
    critical: CriticalBatch | None,
    settings: Settings,
) -> tuple[list[Found], list[Task]]:
    """The batch grows with P from the one asked for up to the critical batch."""
    if not gpus:
        return [], []
    wanted = [(count_, _capped(task, count_, batch.sequences * count_ // start, critical)) for count_ in gpus]
    return search(task, wanted, top=settings.top), [task] * len(gpus)


def _capped(task: Task, gpus: int, sequences: int, critical: CriticalBatch | None) -> int:
    if critical is None:
        return sequences
    return _even(min(sequences, max(int(critical.tokens.value // task.seq), 1)), gpus)


def _even(sequences: int, gpus: int) -> int:
    """A batch that divides well: a multiple of the largest power of two in P that it can hold."""
    unit = gpus & -gpus
    while unit > sequences:
        unit //= 2
    return max(sequences // unit * unit, 1)


def _grown_search(
    task: Task,
    start: int,
    gpus: Sequence[int],
    batch: Rounded,
    critical: CriticalBatch | None,
    settings: Settings,
) -> tuple[list[Found], list[Task]]:
    """Weak scaling: model, tokens and batch grow with P."""
    found: list[Found] = []
    tasks: list[Task] = []
    for count_ in gpus:
        scale = count_ / start
        model, growth = grown(task.model, scale)
        own = replace(task, model=model)
        wanted = batch.sequences * growth.batch
        if critical:
            wanted = min(wanted, critical.tokens.value * growth.critical / task.seq)
        sequences = _even(max(round(wanted), 1), count_)
        found += search(own, [(count_, sequences)], top=settings.top)
        tasks.append(own)
    return found, tasks


def build_rows(
    tasks: Sequence[Task],
    found: Sequence[Found],
    batch: Rounded,
    critical: CriticalBatch | None,
    settings: Settings,
) -> tuple[PlanRow, ...]:
    rows: list[PlanRow] = []
    for task, one in zip(tasks, found, strict=True):
        if not one.layouts:
            continue
        best, *others = [_outcome(task, layout) for layout in one.layouts]
        rows.append(_row(task, best, tuple(others), rows, batch, critical, settings))
    return tuple(rows)


def _outcome(task: Task, layout: Any) -> Outcome:
    job = Job(
        model=task.model, cluster=task.cluster, stack=task.stack, layout=layout, seq=task.seq, precision=task.precision
    )
    return evaluate_job(job, task.calibration)


def _row(
    task: Task,
    best: Outcome,
    others: tuple[Outcome, ...],
    before: Sequence[PlanRow],
    batch: Rounded,
    critical: CriticalBatch | None,
    settings: Settings,
) -> PlanRow:
    factor = critical.tokens_factor(best.tokens) if critical else 1.0
    reliability = settings.reliability
    good = goodput(best.gpus, reliability) if reliability else IDEAL
    weak = settings.regime == "weak"
    tokens = EFFORT_TOKENS * task.model.active_parameters if weak else settings.tokens
    row = PlanRow(
        outcome=best, alternatives=others, goodput=good, tokens_factor=factor,
        run_tokens=_charged(tokens, best, batch, critical),
        speedup=1.0, doubling=None,
    )  # fmt: skip
    speedup = _speedup(row, before, task, weak)
    doubling = _doubling(best.gpus, speedup, before)
    return replace(row, speedup=speedup, doubling=doubling, optimal=_optimal(settings, row))


def _charged(tokens: float | None, best: Outcome, batch: Rounded, critical: CriticalBatch | None) -> float | None:
    """Tokens to process: the budget is what the batch asked for needs, and other batches are charged or credited
    against it, so that runs at a grown batch compare with those at the fixed one."""
    if tokens is None or critical is None:
        return tokens
    return tokens * critical.tokens_factor(best.tokens) / critical.tokens_factor(batch.tokens)


def _speedup(row: PlanRow, before: Sequence[PlanRow], task: Task, weak: bool) -> float:
    """Against the smallest P, per effective token; with weak scaling per effective FLOP, since tokens grow dearer."""
    if not before:
        return 1.0
    first = before[0]
    ratio = row.effective_tokens_per_second / first.effective_tokens_per_second
    if weak:
        ratio *= task.model.active_parameters / first.outcome.job.model.active_parameters
    return ratio


def _doubling(gpus: int, speedup: float, before: Sequence[PlanRow]) -> float | None:
    half = next((other for other in before if other.gpus * 2 == gpus), None)
    return None if half is None else speedup / half.speedup


def _optimal(settings: Settings, row: PlanRow) -> Optimal | None:
    """With --compute-optimal: the best model and tokens for what this P computes within the deadline and budget at the
    MFU planned here, and the loss they reach."""
    if settings.loss is None:
        return None
    hourly = row.outcome.job.cluster.usd_per_gpu_hour
    seconds = settings.deadline or DEFAULT_DEADLINE
    if settings.budget is not None and hourly:
        seconds = min(seconds, settings.budget / (hourly * row.gpus) * 3600.0)
    rate = row.outcome.mfu * row.outcome.peak * row.gpus * row.goodput.factor / row.tokens_factor
    law = loss_law(settings.loss)
    parameters, tokens = law.optimal(rate * seconds)
    return Optimal(
        parameters=parameters, tokens=tokens, loss=law.loss(parameters, tokens), seconds=seconds, law=law.name
    )


def _plan(
    task: Task,
    rows: tuple[PlanRow, ...],
    strong: tuple[PlanRow, ...],
    found: Sequence[Found],
    batch: Rounded,
    critical: CriticalBatch | None,
    settings: Settings,
) -> Plan:
    micro = min(row.outcome.layout.micro for row in rows)
    statistical = int(critical.tokens.value // (micro * task.seq)) if critical else None
    granularity = batch.sequences // micro if settings.regime == "strong" else None
    effective = cost_effective(rows)
    choice = choose(rows, settings)
    title = (
        f"{task.model.name} ({format_count(task.model.parameters)} parameters, seq {task.seq:,}) on "
        f"{task.cluster.name}, {task.stack.name}, {settings.regime} scaling"
    )
    return Plan(
        title=title, regime=settings.regime, batch=batch, rows=rows, strong=strong, statistical_cap=statistical,
        granularity_cap=granularity, critical=critical, cost_effective_gpus=effective, chosen_gpus=choice.gpus,
        choice=choice.sentence,
        marks=find_marks(task, rows, found, batch, critical, effective, settings.regime),
        evidence=task.calibration.evidence, source=task.calibration.source,
        findings=(*choice.findings, *_findings(task, rows, found, batch, critical, settings)),
        configurations=sum(one.tried for one in found),
    )  # fmt: skip


def _nothing_fits(task: Task, found: Sequence[Found], batch: Rounded) -> InputError:
    """Say by how much it misses, and the smallest P where it fits."""
    capacity = task.usable * task.cluster.accelerator.capacity
    least = [(one.least_bytes, one.gpus) for one in found if one.least_bytes is not None]
    if not least:
        hint = f"choose a batch with more divisors than {batch.sequences} sequences, or other accelerator counts"
        return InputError(
            Fault("no layout honours this batch on any of these counts", "batch", str(batch.tokens), hint)
        )
    bytes_, gpus = min(least)
    smallest = _smallest_fit(task, max(one.gpus for one in found), batch)
    where = f"it fits from {smallest:,} accelerators" if smallest else "it fits on no count up to 131,072"
    message = (
        f"{task.model.name} fits nowhere: at best {format_bytes(bytes_)} on {gpus} of {format_bytes(capacity)} usable"
    )
    return InputError(Fault(message, "gpus", seen=f"{format_bytes(bytes_ - capacity)} too much", remedy=where))


def _smallest_fit(task: Task, start: int, batch: Rounded) -> int | None:
    gpus = start * 2
    while gpus <= 131_072:
        if search(task, [(gpus, max(batch.sequences, 1))], top=1)[0].layouts:
            return gpus
        gpus *= 2
    return None


def _findings(
    task: Task,
    rows: Sequence[PlanRow],
    found: Sequence[Found],
    batch: Rounded,
    critical: CriticalBatch | None,
    settings: Settings,
) -> list[Finding]:
    notes = [info("batch-rounded", f"global batch: {batch.sentence}")] if batch.tokens != batch.asked else []
    without = [one.gpus for one in found if not one.layouts]
    if without:
        message = f"no layout fits or honours the batch at P = {', '.join(map(str, without))}"
        notes.append(warning("gaps", message, gpus=without, remedy="larger P for memory; a batch with more divisors"))
    if critical and critical.tokens.has_interval:
        low, high = critical.tokens.low or 0.0, critical.tokens.high or 0.0
        size = f"{format_count(low)} to {format_count(high)} tokens{critical.equivalent}"
        message = f"critical batch {size} ({critical.source})"
        notes.append(info("critical-batch-range", message, definition="double", given_as=critical.given_as))
    if task.calibration.evidence in ("assumed", "transferred"):
        notes.append(info("not-calibrated", f"constants are {task.calibration.evidence}", remedy="--measured runs.csv"))
    if never_stops_paying(rows):
        message = f"no doubling up to P {rows[-1].gpus:,} stops paying: the cost-effective scale may lie beyond"
        notes.append(info("sweep-ended", message, remedy="continue --gpus in doublings", gpus=rows[-1].gpus))
    if settings.regime == "strong" and len(rows) > 1:
        notes.append(_honesty(rows))
    return notes


def _honesty(rows: Sequence[PlanRow]) -> Finding:
    """What 8 times the accelerators really give, with the interval of two steps with independent errors."""
    first = rows[0]
    eight = next((row for row in rows if row.gpus >= 8 * first.gpus), rows[-1])
    ratio = eight.gpus / first.gpus
    spread = 2.718281828 ** (first.outcome.calibration.half_width * 2**0.5)
    message = (
        f"{ratio:g}x the accelerators ({first.gpus} to {eight.gpus}) give {eight.speedup:.2f}x "
        f"({eight.speedup / spread:.2f} to {eight.speedup * spread:.2f})"
    )
    return info("strong-scaling", message, speedup=eight.speedup, ratio=ratio)
