"""Fit the training planner's constants on the published tables in DATA.

    python tools/calibrate_training.py DATA [STACK/ACCELERATOR ...]

DATA is the folder of the tables (see docs/accuracy.md for their sources).  Writes the entries of
src/scalecurve/training/data/calibration.json; with names only those.  How wide intervals are is learned by
tools/training_left_out.py, from sources that were left out.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from training_fit import SPREAD, WeighedStep, fit_constants, on_chip
from training_tables import Row, all_rows

from scalecurve.hardware.accelerators import accelerator
from scalecurve.training.inputs.stack import Constants, host_factor, prior_constants, read_stack, stacks

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
    """One accelerator under one stack, and its tables."""

    stack: str
    accelerator: str
    tables: tuple[str, ...]
    weight: float = 1.0
    pool: tuple[str, ...] = ()  # tables that first fix the constants over all accelerators of the stack
    family: bool = False  # the family of the stack on all accelerators fixes the priors
    borrow: str | None = None  # another stack's scope on this accelerator that says what its matrix products reach
    tolerance: float = 0.03  # log errors beyond which a row counts less
    keep: Callable[[Row], bool] = field(default=lambda row: True)


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
        weight=2.0,
    ),
    Scope("deepspeed-zero3", "a100-80gb", ("sc21-t2-zero3",)),
    Scope("fsdp", "a100-80gb", ("mpt-a100_80gb", "ibm_fms_fsdp")),
    Scope("fsdp", "a100-40gb", ("mpt-a100_40gb",)),
    Scope("fsdp", "h100", ("mpt-h100_80gb", "ibm_fms_fsdp")),
    Scope("torchtitan", "h100-96gb", ("torchtitan",)),
    Scope("torchtitan", "h200", ("torchtitan",)),
    Scope("torchtitan-eager", "h100-96gb", ("torchtitan",)),
    Scope("megatron-core", "h100", CORE, pool=CORE, borrow="fsdp"),
    Scope("megatron-core", "b200", CORE, pool=CORE),
    Scope("megatron-core", "b300", CORE, pool=CORE),
    Scope("megatron-core", "gb200", CORE, pool=CORE),
)


ONE_NODE = {"simumax-dense": 0.4, "simumax-moe": 0.4, "vtrain-single": 0.1}  # weight of a row


def observe(rows: Sequence[Row]) -> list[WeighedStep]:
    """Rows on reduced models in one node say less about whole jobs, so they count less."""
    return [WeighedStep(job=row.job, seconds=row.seconds, weight=ONE_NODE.get(row.table, 1.0)) for row in rows]


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


FEWEST = 4  # configurations that make a scope of a measured table


def measured_scopes(rows: Sequence[Row]) -> list[Scope]:
    """A scope for each accelerator and stack that the measured tables have and the list above has not."""
    known = {(scope.stack, scope.accelerator) for scope in SCOPES}
    pairs = sorted({(row.stack.name, row.cluster.accelerator.name) for row in rows if row.table not in OPEN_TABLES})
    scopes = []
    for stack, chip in pairs:
        own = [row for row in rows if (row.stack.name, row.cluster.accelerator.name) == (stack, chip)]
        if (stack, chip) not in known and sum(row.excluded is None for row in own) >= FEWEST:
            tables = tuple(sorted({row.table for row in own}))
            family = read_stack(stack).family
            alone = len({other for other in stacks().values() if other.family == family}) == 1
            scopes.append(Scope(stack, chip, tables, tolerance=0.06, family=not alone))
    return scopes


def entry_of(scope: Scope, constants: Constants, used: Sequence[Row]) -> dict[str, Any]:
    """An entry of the calibration."""
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
TARGET = ROOT / "src/scalecurve/training/data/calibration.json"
WORK: list[tuple[Scope, Sequence[Row]]] = []  # what the worker processes inherit


def scope_entry(place: int) -> dict[str, Any]:
    """The entry of one scope."""
    scope, rows = WORK[place]
    own = [row for row in rows if belongs(scope, row) and row.excluded is None]
    print(scope.stack, scope.accelerator, flush=True)
    return entry_of(scope, fitted(scope, rows), own)


def main(folder: Path, only: Sequence[str] = ()) -> None:
    rows = all_rows(folder)
    scopes = [*SCOPES, *measured_scopes(rows)]
    WORK.extend((scope, rows) for scope in scopes if not only or f"{scope.stack}/{scope.accelerator}" in only)
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("fork")) as pool:
        fresh = list(pool.map(scope_entry, range(len(WORK))))
    record = json.loads(TARGET.read_text(encoding="utf-8"))
    named = {(each["stack"], each["accelerator"]) for each in fresh}
    kept = [each for each in record["entries"] if only and (each["stack"], each["accelerator"]) not in named]
    record["entries"] = [*kept, *fresh]
    TARGET.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
