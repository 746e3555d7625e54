"""Fit the training planner's constants on the published tables in DATA, score them out of sample, and write both.

    python tools/calibrate_training.py DATA [STACK/ACCELERATOR ...]
    python tools/calibrate_training.py --unseen TABLE.csv ...

DATA is the folder of the tables (see docs/accuracy.md for their sources).  Writes
src/scalecurve/training/data/calibration.json and the generated part of docs/accuracy.md.  With names, only those
entries are fitted anew; the others, what is pooled over all of them, and the page stay.  --unseen sets the intervals
from tables of sources that the calibration has not seen.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from training_picks import unnamed_errors
from training_report import write_report
from training_tables import STALL_RULE, Row, all_rows

from scalecurve.hardware.accelerators import accelerator
from scalecurve.training.answers.measured import SPREAD, MeasuredStep, fit_constants, log_errors, on_chip
from scalecurve.training.answers.measurements import read_measurements
from scalecurve.training.answers.score import ScoredStep, by_configuration, score_rows
from scalecurve.training.inputs.stack import (
    UNSEEN,
    Constants,
    calibration_of,
    host_factor,
    prior_constants,
    read_stack,
    stacks,
    unseen_stack,
)

ROOT = Path(__file__).resolve().parent.parent
POOL_REFERENCE = 0.8
FULL_SCOPE = 30
RELATIVE = 0.7
CLOSE = {name: 0.6 * width for name, width in SPREAD.items()}  # around the priors of a family
CLOSE["grouped"] = SPREAD["grouped"]  # kernels for experts differ more than others between releases and accelerators
UNMEASURED = 0.06  # spread of `matmul` where no product was measured on the accelerator
WIDE = {**SPREAD, "matmul": 0.08, "low_precision": 0.06}


@dataclass(frozen=True)
class Scope:
    """One accelerator under one stack: its tables, and what leave-one-out leaves out."""

    stack: str
    accelerator: str
    tables: tuple[str, ...]
    left_out: Callable[[Row], str]
    weight: float = 1.0
    pool: tuple[str, ...] = ()  # tables that first fix the constants over all accelerators of the stack
    family: bool = False  # the family of the stack on all accelerators fixes the priors
    borrow: str | None = None  # another stack's scope on this accelerator that says what its matrix products reach
    tolerance: float = 0.03  # log errors beyond which a row counts less
    keep: Callable[[Row], bool] = field(default=lambda row: True)


def by_table(row: Row) -> str:
    return row.table


def by_table_or_layout(row: Row) -> str:
    """Only small models on one node tell what a launch costs, so of these one layout is left out."""
    return f"{row.table} tp {row.layout.tp} pp {row.layout.pp}" if row.table == "vtrain-single" else row.table


def by_group(row: Row) -> str:
    return row.group


def by_layout(row: Row) -> str:
    return f"{row.model.name} {row.cluster.name} {row.layout}"


def by_row(row: Row) -> str:
    return row.label


def by_source(row: Row) -> str:
    return row.source


def by_stack(row: Row) -> str:
    return row.stack.name


def by_machine(row: Row) -> str:
    return f"{row.source} {row.cluster.accelerator.name}"


CORE = ("bridge-dense", "bridge-moe", "simumax-dense", "simumax-moe")
OPEN_TABLES = (
    "sc21-t1", "sc21-t2", "sc21-t2-zero3", "korthikanti-t5", "vtrain-multi", "vtrain-single", "mpt-a100_40gb",
    "mpt-a100_80gb", "mpt-h100_80gb", "torchtitan", *CORE,
)  # fmt: skip
SCOPES = (
    Scope(
        "megatron-lm",
        "a100-80gb",
        ("sc21-t1", "sc21-t2", "korthikanti-t5", "vtrain-multi", "vtrain-single"),
        by_table_or_layout,
        weight=2.0,
    ),
    Scope("deepspeed-zero3", "a100-80gb", ("sc21-t2-zero3",), by_group),
    Scope("fsdp", "a100-80gb", ("mpt-a100_80gb", "ibm_fms_fsdp"), by_group),
    Scope("fsdp", "a100-40gb", ("mpt-a100_40gb",), by_group),
    Scope("fsdp", "h100", ("mpt-h100_80gb", "ibm_fms_fsdp"), by_group),
    Scope("torchtitan", "h100-96gb", ("torchtitan",), by_row),
    Scope("torchtitan", "h200", ("torchtitan",), by_row),
    Scope("torchtitan-eager", "h100-96gb", ("torchtitan",), by_row),
    Scope("megatron-core", "h100", CORE, by_layout, pool=CORE, borrow="fsdp"),
    Scope("megatron-core", "b200", CORE, by_layout, pool=CORE),
    Scope("megatron-core", "b300", CORE, by_layout, pool=CORE),
    Scope("megatron-core", "gb200", CORE, by_layout, pool=CORE),
)


ONE_NODE = {"simumax-dense": 0.4, "simumax-moe": 0.4, "vtrain-single": 0.1}  # weight of a row


def observe(rows: Sequence[Row]) -> list[MeasuredStep]:
    """Rows on reduced models in one node say less about whole jobs, so they count less."""
    return [MeasuredStep(job=row.job, seconds=row.seconds, weight=ONE_NODE.get(row.table, 1.0)) for row in rows]


def belongs(scope: Scope, row: Row) -> bool:
    named = row.table in scope.tables and row.stack.name == scope.stack
    return named and row.cluster.accelerator.name == scope.accelerator and scope.keep(row)


def fitted(scope: Scope, rows: Sequence[Row]) -> Constants:
    """Constants from these rows: rows that a rule excludes, and other precisions than the scope fits, stay out."""
    used = [row for row in rows if row.excluded is None]
    names = read_stack(scope.stack).constants
    chip = accelerator(scope.accelerator)
    prior = prior_constants(chip, read_stack(scope.stack))
    own = [row for row in used if belongs(scope, row)]
    if scope.family:
        related = tuple(row for row in used if row.table != "vtrain-single" and not belongs(scope, row))
        priors = family_priors(scope, related)
        spread = CLOSE if chip.ceiling else CLOSE | {"matmul": UNMEASURED}
        return fit_constants(observe(own), names, priors, tolerance=scope.tolerance, spread=spread)
    if not scope.pool:
        bf16 = [row for row in own if row.precision == "bf16" or "low_precision" in names]
        return fit_constants(observe(bf16), names, prior, tolerance=scope.tolerance, weight=scope.weight)
    pooled = [row for row in used if row.table in scope.pool]
    start = replace(prior, matmul=0.64, attention=0.4, low_precision=0.8, expert_launch=2.5e-3)
    common = fit_constants(observe(pooled), names, start, tolerance=0.1, reference=POOL_REFERENCE, spread=WIDE)
    here = on_chip(common, chip, read_stack(scope.stack), POOL_REFERENCE)
    if scope.borrow:
        here = replace(here, matmul=borrowed(scope, rows).matmul)
    return fit_constants(observe(own), names, here, tolerance=0.1, spread=WIDE)


def family_names(stack: str) -> tuple[str, ...]:
    """The constants that some stack of the same family fits."""
    family = read_stack(stack).family
    return tuple(dict.fromkeys(name for one in stacks().values() if one.family == family for name in one.constants))


@cache
def family_priors(scope: Scope, rows: tuple[Row, ...]) -> Constants:
    """Constants of the stack's family on all accelerators, moved to this one.  The scope's own rows stay out, no other
    scope counts more than FULL_SCOPE rows, and relatives of the stack count less than the stack itself."""
    stack, chip = read_stack(scope.stack), accelerator(scope.accelerator)
    related = [row for row in rows if row.stack.family == stack.family]
    sizes = Counter((row.stack.name, row.cluster.accelerator.name) for row in related)
    steps = [
        replace(step, weight=step.weight * (1.0 if row.stack.name == stack.name else RELATIVE)
                * min(FULL_SCOPE / sizes[row.stack.name, row.cluster.accelerator.name], 1.0) ** 0.5)
        for step, row in zip(observe(related), related, strict=True)
    ]  # fmt: skip
    start = replace(prior_constants(chip, stack), launch=stack.launch, expert_launch=2.5e-3, matmul=0.7, attention=0.36)
    common = fit_constants(steps, family_names(scope.stack), start, tolerance=0.1, reference=POOL_REFERENCE)
    return on_chip(common, chip, stack, POOL_REFERENCE)


def borrowed(scope: Scope, rows: Sequence[Row]) -> Constants:
    other = next(one for one in SCOPES if (one.stack, one.accelerator) == (scope.borrow, scope.accelerator))
    return fitted(other, rows)


@dataclass(frozen=True)
class Scored:
    """A row with its errors, log(predicted/measured): out of sample, in sample, and with nothing fitted."""

    row: Row
    held_out: float
    in_sample: float
    assumed: float


def score(scope: Scope, rows: Sequence[Row]) -> tuple[Constants, list[Scored]]:
    own = [row for row in rows if belongs(scope, row)]
    everything = fitted(scope, rows)
    prior = prior_constants(accelerator(scope.accelerator), read_stack(scope.stack))
    inside, assumed = log_errors(observe(own), everything), log_errors(observe(own), prior)
    outside: dict[int, float] = {}
    for left in sorted({scope.left_out(row) for row in own}):
        without = fitted(scope, [row for row in rows if scope.left_out(row) != left or not belongs(scope, row)])
        tested = [place for place, row in enumerate(own) if scope.left_out(row) == left]
        errors = log_errors(observe([own[place] for place in tested]), without)
        outside |= dict(zip(tested, map(float, errors), strict=True))
    return everything, [
        Scored(row, outside[place], float(inside[place]), float(assumed[place])) for place, row in enumerate(own)
    ]


FEWEST = 4  # configurations that make a scope of a measured table
BORROWED_SOURCES = 2.0  # sources' worth of weight that the bias pooled over all scopes has in each


def measured_scopes(rows: Sequence[Row]) -> list[Scope]:
    """A scope for each accelerator and stack that the measured tables have and the list above has not; whole sources
    are left out where there are several, else models."""
    known = {(scope.stack, scope.accelerator) for scope in SCOPES}
    pairs = sorted({(row.stack.name, row.cluster.accelerator.name) for row in rows if row.table not in OPEN_TABLES})
    scopes = []
    for stack, chip in pairs:
        own = [row for row in rows if (row.stack.name, row.cluster.accelerator.name) == (stack, chip)]
        if (stack, chip) not in known and sum(row.excluded is None for row in own) >= FEWEST:
            several = len({row.source for row in own}) > 1
            tables = tuple(sorted({row.table for row in own}))
            family = read_stack(stack).family
            alone = len({other for other in stacks().values() if other.family == family}) == 1
            left_out = by_source if several else by_group
            scopes.append(Scope(stack, chip, tables, left_out, tolerance=0.06, family=not alone))
    return scopes


def source_biases(scope: Scope, rows: Sequence[Row]) -> dict[str, float]:
    """Median of log(predicted / measured) of each source, with constants that never saw it; empty with one source."""
    own = [row for row in rows if belongs(scope, row) and row.excluded is None]
    sources = sorted({row.source for row in own})
    if len(sources) < 2:
        return {}
    biases = {}
    for source in sources:
        constants = fitted(scope, [row for row in rows if row.source != source or not belongs(scope, row)])
        errors = log_errors(observe([row for row in own if row.source == source]), constants)
        biases[source] = float(np.median(errors))
    return biases


def pooled_bias(biases: Sequence[float]) -> float:
    """The spread between sources over all scopes: the root of the mean square, without the largest tenth."""
    squares = np.sort(np.square(biases))
    return float(np.sqrt(np.mean(squares[: max(int(np.ceil(0.9 * len(squares))), 1)])))


def between_sources(biases: Sequence[float], pooled: float) -> float:
    """tau: the spread between the sources of one scope, drawn towards that of all scopes."""
    total = float(np.sum(np.square(biases))) + BORROWED_SOURCES * pooled**2
    return float(np.sqrt(total / (len(biases) + BORROWED_SOURCES)))


FEW_ROWS = 10


def within_sources(scored: Sequence[Scored]) -> float:
    """90 % quantile of |log error| out of sample around its median."""
    errors = np.array([one.held_out for one in scored])
    return float(np.quantile(np.abs(errors - np.median(errors)), 0.9))


def usual_within(results: Sequence[Sequence[Scored]]) -> float:
    """The median of it over the scopes with enough rows to say."""
    kept = [[one for one in scored if one.row.excluded is None] for scored in results]
    return float(np.median([within_sources(scored) for scored in kept if len(scored) >= FEW_ROWS]))


def half_width(scored: Sequence[Scored], tau: float, usual: float) -> float:
    """Half of the 90 % interval: what is left within a source (at least the usual with few rows), and the bias between
    sources."""
    own = within_sources(scored)
    return float(np.hypot(own if len(scored) >= FEW_ROWS else max(own, usual), 1.645 * tau))


def weighted_quantile(errors: Sequence[float], weights: Sequence[float], level: float = 0.9) -> float:
    order = np.argsort(errors)
    total = np.cumsum(np.array(weights)[order]) / np.sum(weights)
    return float(np.array(errors)[order][np.searchsorted(total, level)])


def bounded_width(width: float, scored: Sequence[Scored], assumed: float) -> float:
    """Not wider than with nothing fitted (one model left out says little of the others), but never below what covers
    90 % of its rows, stalled ones too, and, with enough rows, 90 % out of sample where every source counts alike."""
    own = [one for one in scored if one.row.excluded in (None, STALL_RULE)]
    inside = float(np.quantile([abs(one.in_sample) for one in own], 0.9))
    sizes = Counter(one.row.source for one in own)
    shares = [1.0 / sizes[one.row.source] for one in own]
    alike = weighted_quantile([abs(one.held_out) for one in own], shares) if len(own) >= FEW_ROWS else 0.0
    return max(min(width, assumed), inside, alike)


def ratio_width(scored: Sequence[Scored]) -> float:
    """90 % quantile of the log error of a speedup: pairs of one source, model, stack and precision at other P."""
    groups: dict[tuple[str, ...], list[Scored]] = {}
    for one in scored:
        row = one.row
        if row.excluded is None and row.table != "ultrascale_nanotron_h100":
            key = (row.source, row.model.name, row.stack.name, row.cluster.name, row.precision)
            groups.setdefault(key, []).append(one)
    errors = [
        abs(a.held_out - b.held_out)
        for group in groups.values()
        for a, b in combinations(group, 2)
        if a.row.layout.gpus != b.row.layout.gpus
    ]
    return float(np.quantile(errors, 0.9))


def moe_width(scored: Sequence[Scored], entries: Sequence[dict[str, Any]]) -> float:
    """What the half widths need beside them, root of squares, so that 90 % of the MoE rows are inside."""
    widths = {(one["stack"], one["accelerator"]): one["half_width"] for one in entries}
    rows = [one for one in scored if one.row.model.is_moe and one.row.excluded is None]
    lacking = [
        max(one.held_out**2 - widths[one.row.stack.name, one.row.cluster.accelerator.name] ** 2, 0.0) for one in rows
    ]
    return float(np.sqrt(np.quantile(lacking, 0.9)))


def entry(scope: Scope, constants: Constants, scored: Sequence[Scored], tau: float, usual: float) -> dict[str, Any]:
    used = [one for one in scored if one.row.excluded is None]
    widths = {"half_width": round(half_width(used, tau, usual), 4), "between_sources": round(tau, 4)}
    return entry_of(scope, constants, [one.row for one in used]) | widths


def entry_of(scope: Scope, constants: Constants, used: Sequence[Row]) -> dict[str, Any]:
    """An entry of the calibration without its widths."""
    names = read_stack(scope.stack).constants
    others = [name for name in family_names(scope.stack) if name not in names] if scope.family else []
    return {
        "stack": scope.stack,
        "accelerator": scope.accelerator,
        "ceiling": accelerator(scope.accelerator).ceiling or POOL_REFERENCE,
        "host": host_factor(accelerator(scope.accelerator), read_stack(scope.stack)),
        "tables": sorted({row.table for row in used}),
        "rows": len(used),
        "constants": {name: float(f"{getattr(constants, name):.4g}") for name in names},
        "family": {name: float(f"{getattr(constants, name):.4g}") for name in others},
    }


WORKERS = 2
OTHER_MAKERS = ("tpu", "mi", "gaudi", "trainium")
WORK: list[tuple[Scope, Sequence[Row]]] = []  # what the worker processes inherit


def scope_answers(place: int) -> tuple[tuple[Constants, list[Scored]], dict[str, float], list[Scored]]:
    """Constants, errors and biases of one scope; on other makers' accelerators also the errors by configuration."""
    scope, rows = WORK[place]
    other = accelerator(scope.accelerator).name.startswith(OTHER_MAKERS)
    by_configuration = score(replace(scope, left_out=by_layout), rows)[1] if other else []
    result = score(scope, rows), source_biases(scope, rows), by_configuration
    print(scope.stack, scope.accelerator, flush=True)
    return result


TARGET = ROOT / "src/scalecurve/training/data/calibration.json"
Answer = tuple[tuple[Constants, list[Scored]], dict[str, float], list[Scored]]


def write_entries(scopes: Sequence[Scope], answers: Sequence[Answer]) -> None:
    """These entries in the shipped calibration, the others as they are; what is pooled over all is not known here, so
    few rows have the widest of the interval of their own and the one of a transfer to them."""
    record = json.loads(TARGET.read_text(encoding="utf-8"))
    others = [each["between_sources"] for each in record["entries"]]
    fresh = {}
    for scope, ((constants, scored), biases, _) in zip(scopes, answers, strict=True):
        tau = between_sources(list(biases.values()), float(np.median(others)))
        made = entry(scope, constants, scored, tau, float(record["half_widths"]["ratio"]))
        made["half_width"] = float(np.ceil(1e4 * bounded_width(made["half_width"], scored, np.inf)) / 1e4)
        fresh[scope.stack, scope.accelerator] = made
    kept = [each for each in record["entries"] if (each["stack"], each["accelerator"]) not in fresh]
    record["entries"] = [*kept, *fresh.values()]
    TARGET.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def write_widths(paths: Sequence[Path]) -> None:
    """Intervals from tables of sources that the shipped calibration never saw: the factor by which a calibrated entry's
    must grow, and the widths of transferred constants and of unseen stacks, so that 90 % of their rows are inside, a
    source counting as the root of its rows.  Run it before those tables are fitted."""
    record = json.loads(TARGET.read_text(encoding="utf-8"))
    scored = by_configuration(score_rows(read_measurements(paths)))
    kinds: dict[str, list[ScoredStep]] = {}
    for one in scored:
        kind = "unseen" if one.outcome.job.stack.name == UNSEEN else one.outcome.calibration.evidence
        kinds.setdefault(kind, []).append(one)
    widths = record["half_widths"]
    for kind, own in kinds.items():
        sizes = Counter(one.row.source for one in own)
        ratios = [abs(one.error or 0.0) / one.half_width for one in own]
        factor = weighted_quantile(ratios, [sizes[one.row.source] ** -0.5 for one in own])
        name = "new_source" if kind == "calibrated" else kind
        widths[name] = round(widths.get(name, 1.0) * factor, 3)
    TARGET.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def main(folder: Path, only: Sequence[str] = ()) -> None:
    rows = all_rows(folder)
    scopes = [*SCOPES, *measured_scopes(rows)]
    scopes = [scope for scope in scopes if not only or f"{scope.stack}/{scope.accelerator}" in only]
    WORK.extend((scope, rows) for scope in scopes)
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("fork")) as pool:
        answers = list(pool.map(scope_answers, range(len(scopes))))
    if only:
        write_entries(scopes, answers)
        return
    results = [(scope, *scope_scores) for scope, (scope_scores, *_) in zip(scopes, answers, strict=True)]
    scored = [one for _, _, own in results for one in own]
    biases = [each for _, each, _ in answers]
    pooled = pooled_bias([value for each in biases for value in each.values()])
    usual = usual_within([own for _, _, own in results])
    entries = [
        entry(scope, constants, own, between_sources(list(each.values()), pooled), usual)
        for (scope, constants, own), each in zip(results, biases, strict=True)
    ]
    assumed = float(np.quantile(np.abs([one.assumed for one in scored if one.row.excluded is None]), 0.9))
    for one, (_, _, own) in zip(entries, results, strict=True):
        one["half_width"] = float(np.ceil(1e4 * bounded_width(one["half_width"], own, assumed)) / 1e4)
    hidden = unseen_errors(entries, rows, scopes)
    planned = unnamed_errors(entries, rows)
    unnamed = recentred(planned)
    widths = {"assumed": round(assumed, 3), "transferred": round(transfer_half_width(entries, rows, scopes), 3),
              "unseen": round(unseen_half_width(hidden, usual), 3), "ratio": round(ratio_width(scored), 3),
              "moe": round(moe_width(scored, entries), 3), "slower": round(typical_excess(planned), 3),
              "unnamed": round(half_width_of(unnamed, by_machine), 3)}  # fmt: skip
    record = {"generated_by": "tools/calibrate_training.py", "entries": entries, "half_widths": widths}
    TARGET.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    configurations = [one for _, _, own in answers for one in own]
    write_report(ROOT / "docs/accuracy.md", scored, configurations, hidden, unnamed, record, rows)


def transfer_half_width(entries: list[dict[str, Any]], rows: Sequence[Row], scopes: Sequence[Scope]) -> float:
    """How far off each calibrated scope would be with its own entry hidden, so that another's is transferred."""
    errors: list[float] = []
    for scope in scopes:
        kept = [e for e in entries if (e["stack"], e["accelerator"]) != (scope.stack, scope.accelerator)]
        record = {"entries": kept, "half_widths": {"assumed": 0.0, "transferred": 0.0}}
        known = calibration_of(accelerator(scope.accelerator), read_stack(scope.stack), record)
        own = [row for row in rows if belongs(scope, row) and row.excluded is None]
        errors += list(np.abs(log_errors(observe(own), known.constants)))
    return float(np.quantile(errors, 0.9))


def unseen_errors(
    entries: list[dict[str, Any]], rows: Sequence[Row], scopes: Sequence[Scope]
) -> list[tuple[Row, float]]:
    """log(predicted / measured) of each row under a name that nobody knows, without the entries of its stack and of all
    stacks that its source calibrates."""
    errors: list[tuple[Row, float]] = []
    for scope in scopes:
        sources = {row.source for row in rows if belongs(scope, row)}
        hidden = {row.stack.name for row in rows if row.source in sources} | {scope.stack}
        kept = [e for e in entries if e["stack"] not in hidden]
        record = {"entries": kept, "half_widths": {"assumed": 0.0, "transferred": 0.0}}
        own = [row for row in rows if belongs(scope, row) and row.excluded is None]
        for sharded in (False, True):
            group = [row for row in own if (row.layout.tp * row.layout.pp * row.layout.ep == 1) == sharded]
            stack = unseen_stack(accelerator(scope.accelerator), sharded=sharded)
            steps = [replace(one, job=replace(one.job, stack=stack)) for one in observe(group)]
            constants = calibration_of(accelerator(scope.accelerator), stack, record).constants
            errors += zip(group, map(float, log_errors(steps, constants)), strict=True)
    return errors


def unseen_half_width(errors: Sequence[tuple[Row, float]], usual: float) -> float:
    """Half of the 90 % interval under a stack that nobody has seen: what is left within a stack and the bias between
    stacks, each stack by its median, but never below what covers 90 % of the rows where every stack counts alike."""
    biases = [np.median([error for row, error in errors if by_stack(row) == stack])
              for stack in sorted({by_stack(row) for row, _ in errors})]  # fmt: skip
    between = 1.645 * float(np.sqrt(np.mean(np.square(biases))))
    return max(float(np.hypot(usual, between)), half_width_of(errors, by_stack))


def typical_excess(errors: Sequence[tuple[Row, float]]) -> float:
    """log(measured / planned) in the median over sources and accelerators, each by its own median."""
    groups: dict[str, list[float]] = {}
    for row, error in errors:
        groups.setdefault(by_machine(row), []).append(-error)
    return float(np.median([np.median(group) for group in groups.values()]))


def recentred(errors: Sequence[tuple[Row, float]]) -> list[tuple[Row, float]]:
    """The errors with the typical excess of all other sources added to the plan."""
    excess = {
        source: typical_excess([one for one in errors if one[0].source != source])
        for source in {row.source for row, _ in errors}
    }
    return [(row, error + excess[row.source]) for row, error in errors]


def half_width_of(errors: Sequence[tuple[Row, float]], group: Callable[[Row], str]) -> float:
    """What covers 90 % of the rows; every group counts alike."""
    sizes = Counter(group(row) for row, _ in errors)
    weights = [1.0 / sizes[group(row)] for row, _ in errors]
    return weighted_quantile([abs(error) for _, error in errors], weights)


if __name__ == "__main__":
    if sys.argv[1] == "--unseen":
        write_widths([Path(name) for name in sys.argv[2:]])
    else:
        main(Path(sys.argv[1]), sys.argv[2:])
