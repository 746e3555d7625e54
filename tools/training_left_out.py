"""The planner's errors on sources that its calibration never saw.

    python tools/training_left_out.py DATA [--page] [--write]

Each source is left out in turn; every constant that its rows could touch is fitted without it, its rows are scored, and
the width of its intervals is taken from the errors of all other sources.  Prints error of step, MFU and memory,
and coverage by generation and stack.  --page puts the table into docs/accuracy.md, --write the widths of all sources
together into the shipped calibration.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, cast

import calibrate_training as calibrate
import numpy as np
from training_tables import Row, all_rows, measurements

from scalecurve.training.answers.measurements import Measurement
from scalecurve.training.answers.score import ScoredStep, by_configuration, score_rows
from scalecurve.training.inputs.stack import (
    UNSEEN,
    Device,
    Stack,
    StackCalibration,
    calibration_of,
    read_stack,
    shipped_calibration,
    stacks,
)

WORK: list[tuple[str, Sequence[Row], Sequence[Measurement]]] = []  # what the worker processes inherit
ONE_LABORATORY = {"vtrain_single_node": "vtrain", "torchtitan_nvfp4": "torchtitan",
                  "ultrascale_nanotron_h100_failed": "ultrascale_nanotron_h100"}  # fmt: skip
TWICE = "vtrain-single"  # its rows stand in measured/vtrain_single_node.csv too
GENERATIONS = {"ampere": ("a100", "a6000", "a10"), "hopper": ("h100", "h200", "h800"), "tpu": ("tpu",),
               "blackwell": ("b200", "b300", "gb200", "gb300"), "amd": ("mi",)}  # fmt: skip
EAGER = 8e-4  # launch of stacks.toml in eager PyTorch
EAGER_LAUNCHES = {"vtrain": 8.4e-4, "ultrascale_nanotron_h100": 1.42e-3, "gpt-fast": 1.2e-3}  # as each source tells it
LARGE = ("ultrascale_nanotron_h100", "vtrain_single_node")  # two sweeps with more rows than all others


@dataclass(frozen=True)
class LeftOut:
    """A configuration scored without its source: logarithms of predicted over measured step and memory."""

    source: str
    stack: str
    generation: str
    evidence: str
    moe: bool
    fits: bool
    error: float
    half_width: float
    memory: float | None


def laboratory(name: str) -> str:
    return ONE_LABORATORY.get(name, name)


def forget_launch(source: str) -> None:
    """Eager stacks start from what the other sources tell of a launch, where this one is a source of it."""
    if source not in EAGER_LAUNCHES:
        return
    others = [seconds for name, seconds in EAGER_LAUNCHES.items() if name != source]
    known = cast("dict[str, Stack]", stacks())
    for name, stack in known.items():
        if stack.launch == EAGER:
            known[name] = replace(stack, launch=float(np.exp(np.mean(np.log(others)))))
    calibrate.family_priors.cache_clear()


def record_without(source: str, rows: Sequence[Row]) -> dict[str, Any]:
    """The calibration as it would be without a source: entries of the families that it has rows of are fitted anew."""
    left = [row for row in rows if laboratory(row.source) != source]
    families = {row.stack.family for row in rows if laboratory(row.source) == source}
    shipped = shipped_calibration()
    known = {(each["stack"], each["accelerator"]): each for each in shipped["entries"]}
    entries = []
    for scope in [*calibrate.SCOPES, *calibrate.measured_scopes(left)]:
        own = [row for row in left if calibrate.belongs(scope, row) and row.excluded is None]
        old = known.get((scope.stack, scope.accelerator))
        if old is not None and read_stack(scope.stack).family not in families and not scope.borrow:
            entries.append(old)
        elif own:
            made = calibrate.entry_of(scope, calibrate.fitted(scope, left), own)
            entries.append(made | {"half_width": 0.2 if old is None else old["half_width"]})
    return {"entries": entries, "half_widths": shipped["half_widths"]}


def without_source(place: int) -> list[LeftOut]:
    """One source, scored by the constants of all others."""
    source, rows, tables = WORK[place]
    usual = dict(stacks())
    forget_launch(source)
    record = record_without(source, rows)
    known: dict[tuple[str, str], StackCalibration] = {}

    def calibration(row: Measurement) -> StackCalibration:
        job = row.jobs[0]
        key = (job.cluster.accelerator.name, job.stack.name)
        if key not in known:
            launch = stacks()[job.stack.name].launch if job.stack.name in stacks() else job.stack.launch
            known[key] = calibration_of(job.cluster.accelerator, replace(job.stack, launch=launch), record)
        return known[key]

    print(f"{source} ({place + 1} of {len(WORK)})", file=sys.stderr, flush=True)
    scored = by_configuration(score_rows([row for row in tables if row.jobs], calibration))
    cast("dict[str, Stack]", stacks()).update(usual)
    calibrate.family_priors.cache_clear()
    return [left_out(one) for one in scored]


def left_out(one: ScoredStep) -> LeftOut:
    outcome = one.outcome
    held = (
        outcome.stages["first"] - Device.reserved if one.row.source.startswith("ultrascale") else outcome.memory_bytes
    )
    chip, stack = outcome.job.cluster.accelerator.name, outcome.job.stack.name
    return LeftOut(
        source=one.row.source, stack=stack, moe=outcome.job.model.is_moe, fits=one.fits,
        generation=next((name for name, chips in GENERATIONS.items() if chip.startswith(chips)), chip),
        evidence="unseen" if stack == UNSEEN else outcome.calibration.evidence,
        error=one.error or 0.0, half_width=one.half_width,
        memory=None if one.row.memory is None else float(np.log(held / one.row.memory)),
    )  # fmt: skip


def widening(rows: Sequence[LeftOut], evidence: str) -> float:
    """The factor on the half widths of this evidence with which 90 % of the rows are inside, a source counting as the
    root of its rows."""
    own = [row for row in rows if row.evidence == evidence]
    if not own:
        return 1.0
    sizes = Counter(row.source for row in own)
    ratios = [abs(row.error) / row.half_width for row in own]
    return calibrate.weighted_quantile(ratios, [sizes[row.source] ** -0.5 for row in own])


def nested_coverage(rows: Sequence[LeftOut]) -> list[bool]:
    """Whether each row is inside, by widths that its own laboratory had no part in."""
    factors: dict[tuple[str, str], float] = {}
    inside = []
    for row in rows:
        key = (laboratory(row.source), row.evidence)
        if key not in factors:
            factors[key] = widening([one for one in rows if laboratory(one.source) != key[0]], row.evidence)
        inside.append(abs(row.error) <= factors[key] * row.half_width)
    return inside


def percentiles(logs: Iterable[float]) -> str:
    """`8.3 / 26.4 %`: median and 90th percentile of |ratio - 1|."""
    sizes = 100.0 * np.abs(np.expm1(list(logs)))
    return f"{np.median(sizes):.1f} / {np.quantile(sizes, 0.9):.1f} %" if len(sizes) else "-"


def line(name: str, rows: Sequence[tuple[LeftOut, bool]]) -> str:
    only = [row for row, _ in rows]
    if not only:
        return f"{name:28} none"
    shipped = np.mean([abs(row.error) <= row.half_width for row in only])
    return (
        f"{name:28} n {len(only):5}  step {percentiles(row.error for row in only):>15}  "
        f"MFU {percentiles(-row.error for row in only):>15}  "
        f"memory {percentiles(row.memory for row in only if row.memory is not None):>15}  "
        f"inside: shipped widths {shipped:.2f}, nested {np.mean([held for _, held in rows]):.2f}"
    )


def report(rows: Sequence[LeftOut]) -> str:
    judged = list(zip(rows, nested_coverage(rows), strict=True))
    dense = [one for one in judged if not one[0].moe]
    lines = [
        line("dense", dense),
        line("dense, two sweeps aside", [one for one in dense if one[0].source not in LARGE]),
        line("MoE", [one for one in judged if one[0].moe]),
        f"ran but said not to fit: {100 * np.mean([not row.fits for row in rows]):.2f} %",
    ]
    groups: dict[str, Callable[[LeftOut], str]] = {
        "generation": lambda row: row.generation, "stack": lambda row: row.stack, "source": lambda row: row.source,
    }  # fmt: skip
    for name, group in groups.items():
        lines += ["", f"by {name}"]
        for label, _ in Counter(group(row) for row in rows).most_common():
            lines.append(line(label, [one for one in judged if group(one[0]) == label]))
    return "\n".join(lines)


BEGIN, END = "<!-- left out: generated by tools/training_left_out.py -->", "<!-- end left out -->"
HEADS = ("left out", "configurations", "step", "memory", "interval holds")


def page_table(rows: Sequence[LeftOut]) -> str:
    """The table of docs/accuracy.md: errors in %, median / 90th percentile, and what the nested intervals hold."""
    judged = list(zip(rows, nested_coverage(rows), strict=True))
    groups: dict[str, Callable[[LeftOut], bool]] = {
        "dense, sources left out": lambda row: not row.moe,
        "dense without the two large sweeps": lambda row: not row.moe and row.source not in LARGE,
        "MoE, sources left out": lambda row: row.moe,
    }
    for name in GENERATIONS:
        groups[f"generation {name}"] = lambda row, name=name: row.generation == name  # type: ignore[misc]
    for stack, _ in Counter(row.stack for row in rows).most_common():
        groups[f"stack {stack}"] = lambda row, stack=stack: row.stack == stack  # type: ignore[misc]
    lines = [f"| {' | '.join(HEADS)} |", "|---" * len(HEADS) + "|"]
    for name, test in groups.items():
        own = [one for one in judged if test(one[0])]
        memory = percentiles(row.memory for row, _ in own if row.memory is not None)
        held = 100.0 * np.mean([inside for _, inside in own])
        step = percentiles(row.error for row, _ in own)
        lines.append(f"| {name} | {len(own)} | {step} | {memory} | {held:.0f} % |")
    refused = 100.0 * np.mean([not row.fits for row in rows])
    lines += ["", f"Of the runs that ran, {refused:.2f} % are said not to fit."]
    return "\n".join(lines)


def write_page(rows: Sequence[LeftOut]) -> None:
    """The table between its marks in docs/accuracy.md."""
    path = calibrate.ROOT / "docs/accuracy.md"
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    path.write_text(f"{before}{BEGIN}\n\n{page_table(rows)}\n\n{END}{after}", encoding="utf-8")


def write_widths(rows: Sequence[LeftOut]) -> None:
    """The shipped widths, made to hold 90 % of what was left out."""
    record = json.loads(calibrate.TARGET.read_text(encoding="utf-8"))
    widths = record["half_widths"]
    for evidence, name in (("calibrated", "new_source"), ("transferred", "transferred"), ("unseen", "unseen")):
        widths[name] = round(widths[name] * widening(rows, evidence), 3)
    calibrate.TARGET.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def main(folder: Path, *, write: bool, page: bool) -> None:
    rows = all_rows(folder)
    by_source: dict[str, list[Measurement]] = {}
    for row in measurements(folder):
        by_source.setdefault(laboratory(row.source), []).append(row)
    for row in rows:
        if row.table in calibrate.OPEN_TABLES and row.table != TWICE:
            step = Measurement(source=row.table, label=row.label, jobs=(row.job,), seconds=row.seconds,
                               memory=row.memory)  # fmt: skip
            by_source.setdefault(laboratory(row.source), []).append(step)
    WORK.extend((source, rows, tables) for source, tables in by_source.items())
    with ProcessPoolExecutor(calibrate.WORKERS, mp_context=get_context("fork")) as pool:
        scored = [one for part in pool.map(without_source, range(len(WORK))) for one in part]
    print(report(scored))
    if write:
        write_widths(scored)
    if page:
        write_page(scored)


if __name__ == "__main__":
    main(Path(sys.argv[1]), write="--write" in sys.argv, page="--page" in sys.argv)
