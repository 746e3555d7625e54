"""The planner on sources that it never saw: every line of the accuracy page's training part, and the shipped widths.

    python tools/training_left_out.py DATA [--write]

Each source is left out in turn: every constant its rows touch is fitted anew without it, and so are the widths of the
intervals it is judged by (nested).  Its rows are scored as they are; after a calibration on two of them, drawn at
random; and on those of the smallest P of each model.  The result is stored in bench/training_left_out.json, which the
page and its headline are made from; --write puts the widths learned from all sources into the shipped calibration.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, cast

import calibrate_training as calibrate
import numpy as np
from scipy.optimize import minimize
from training_tables import Row, all_rows, measurements

from scalecurve.training.answers.evaluation import evaluate_jobs
from scalecurve.training.answers.measurements import Measurement
from scalecurve.training.answers.score import SMALLEST, ScoredStep, anchored_scores, by_configuration, score_rows
from scalecurve.training.inputs.likeness import ErrorSpreads, StepTraits, one_of
from scalecurve.training.inputs.stack import (
    DOUBTS,
    FEW_ROWS,
    NORMAL_90,
    ONLY_STACKS,
    UNSEEN,
    Device,
    Stack,
    StackCalibration,
    calibration_of,
    chip_family,
    read_stack,
    shipped_calibration,
    spreads_of,
    stacks,
)

RESULT = calibrate.ROOT / "bench/training_left_out.json"
ONE_LABORATORY = {"vtrain_single_node": "vtrain", "torchtitan_nvfp4": "torchtitan",
                  "ultrascale_nanotron_h100_failed": "ultrascale_nanotron_h100"}  # fmt: skip
TWICE = "vtrain-single"  # its rows stand in measured/vtrain_single_node.csv too
GENERATIONS = {"ampere": ("a100", "a800", "a6000", "a10"), "hopper": ("h100", "h200", "h800"), "tpu": ("tpu",),
               "blackwell": ("b200", "b300", "gb200", "gb300"), "amd": ("mi",)}  # fmt: skip
EAGER = 8e-4  # launch of stacks.toml in eager PyTorch
EAGER_LAUNCHES = {  # as each source tells it
    "vtrain": 8.4e-4, "ultrascale_nanotron_h100": 1.42e-3, "gpt-fast": 1.2e-3,
    "transformers gemma-2b": 1.07e-3, "optimum-benchmark gpt2": 7.3e-4, "transformers gpt2 on a desktop": 3.2e-4,
}  # fmt: skip
LARGE = ("ultrascale_nanotron_h100", "vtrain_single_node")  # rule: two sweeps with more rows than all others aside
OF_A_GROUP = 16  # rows of a source, accelerator and stack that teach widths, so that no sweep does all of it
FIRMNESS = 1.0  # of what the spreads start from, which few sources tell apart
TAIL = 4.0  # degrees of freedom of the t distribution that widths are fitted by
ROUNDS = 6
FAR = 8  # times the smallest P, from which a row is one of a large P
LEAST = {"within": 0.02, "own": 0.02, "same": 0.01, "everything": 0.03, "doubts": 0.02}
START: dict[str, Any] = {  # spreads by judgement, before any row: hosts and what is launched on them differ by half
    "within": 0.03, "own": 0.1, "same": 0.04,
    "everything": {"calibrated": 0.1, "transferred": 0.16, "unseen": 0.2, "assumed": 0.2},
    "doubts": {"host": 0.4, "network": 0.25, "memory": 0.15, "attention": 0.25, "low precision": 0.1, "experts": 0.2},
}  # fmt: skip
EVIDENCE = ("calibrated", "transferred", "unseen")
RESIDUAL = ("within", "own", "same")  # what is left of a source's rows


@dataclass(frozen=True)
class LeftOut:
    """A configuration scored without its source: logarithms of predicted over measured step and memory."""

    laboratory: str
    source: str
    stack: str
    chip: str
    evidence: str
    moe: bool
    fits: bool
    gpus: int
    error: float
    spread: float  # half of the range that what is not published leaves open
    traits: StepTraits
    half_width: float
    memory: float | None
    unnamed: float | None  # the error where nobody names the stack

    @property
    def generation(self) -> str:
        return next((name for name, chips in GENERATIONS.items() if self.chip.startswith(chips)), self.chip)

    @property
    def covered(self) -> bool:
        return abs(self.error) <= self.half_width


Work = tuple[str, Sequence[Row], Sequence[Measurement]]
WORK: list[Work] = []  # what the worker processes inherit


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
    """The calibration as it would be without a source: entries that it has rows of are fitted anew or left out."""
    left = [row for row in rows if ONE_LABORATORY.get(row.source, row.source) != source]
    own = [row for row in rows if ONE_LABORATORY.get(row.source, row.source) == source]
    touched = {(row.stack.name, row.cluster.accelerator.name) for row in own}
    shipped = shipped_calibration()
    known = {(each["stack"], each["accelerator"]): each for each in shipped["entries"]}
    entries = []
    for scope in [*calibrate.SCOPES, *calibrate.measured_scopes(left)]:
        used = [row for row in left if calibrate.belongs(scope, row) and row.excluded is None]
        old = known.get((scope.stack, scope.accelerator))
        borrowed = scope.borrow is not None and (scope.borrow, scope.accelerator) in touched
        if old is not None and (scope.stack, scope.accelerator) not in touched and not borrowed:
            entries.append(old)
        elif used:
            entries.append(calibrate.entry_of(scope, calibrate.fitted(scope, left), used))
    return {"entries": entries, "widths": shipped["widths"]}


def calibrations(record: Mapping[str, Any]) -> Callable[[Measurement], StackCalibration]:
    """What a user of each row's accelerator and stack would get of this record."""
    known: dict[tuple[str, str], StackCalibration] = {}

    def calibration(row: Measurement) -> StackCalibration:
        job = row.jobs[0]
        key = (job.cluster.accelerator.name, job.stack.name)
        if key not in known:
            launch = stacks()[job.stack.name].launch if job.stack.name in stacks() else job.stack.launch
            known[key] = calibration_of(job.cluster.accelerator, replace(job.stack, launch=launch), record)
        return known[key]

    return calibration


def without_source(place: int) -> tuple[str, dict[str, Any], list[LeftOut]]:
    """One source by the constants of all others."""
    source, rows, tables = WORK[place]
    usual = dict(stacks())
    forget_launch(source)
    record = record_without(source, rows)
    scored = by_configuration(score_rows([row for row in tables if row.jobs], calibrations(record)))
    found = [left_out(source, one, record) for one in scored]
    cast("dict[str, Stack]", stacks()).update(usual)
    calibrate.family_priors.cache_clear()
    print(f"{source} ({place + 1} of {len(WORK)})", file=sys.stderr, flush=True)
    return source, record, found


def left_out(laboratory: str, one: ScoredStep, record: Mapping[str, Any]) -> LeftOut:
    outcome, job = one.outcome, one.outcome.job
    held = (
        outcome.stages["first"] - Device.reserved if one.row.source.startswith("ultrascale") else outcome.memory_bytes
    )
    chip, stack = job.cluster.accelerator, job.stack.name
    usual, unnamed = read_stack(None, chip), None
    if usual.name not in ONLY_STACKS and one.error is not None:
        plain = calibration_of(chip, replace(usual, named=True), record)
        unnamed = one.error + math.log(evaluate_jobs([replace(job, stack=usual)], plain)[0].seconds / outcome.seconds)
    return LeftOut(
        laboratory=laboratory, source=one.row.source, stack=stack, chip=chip.name, moe=job.model.is_moe,
        fits=one.fits, gpus=outcome.gpus,
        evidence=evidence_of(stack, outcome.calibration), error=one.error or 0.0,
        spread=math.sqrt(max(one.half_width**2 - outcome.half_width**2, 0.0)), traits=outcome.traits,
        half_width=one.half_width, memory=None if one.row.memory is None else float(np.log(held / one.row.memory)),
        unnamed=unnamed,
    )  # fmt: skip


def evidence_of(stack: str, known: StackCalibration) -> str:
    """Whose spread between sources counts."""
    if stack == UNSEEN:
        return "unseen"
    return "transferred" if known.evidence == "calibrated" and known.rows < FEW_ROWS else known.evidence


def anchored_rows(job: tuple[int, str, dict[str, Any]]) -> list[tuple[LeftOut, float]]:
    """One source after a calibration on some of its own rows; beside each the half width it had without."""
    place, anchors, record = job
    source, _, tables = WORK[place]
    usual = dict(stacks())
    forget_launch(source)
    known = calibrations(record)
    rows = [row for row in tables if row.jobs]
    before = {one.row.configuration: one.half_width for one in score_rows(rows, known)}
    scored = by_configuration(anchored_scores(rows, anchors, calibrations=known))
    if anchors == SMALLEST:
        scored = farthest(by_configuration(score_rows(rows, known)), scored)
    pairs = []
    for one in scored:
        alone = replace(one.row, recipe=one.row.recipe.rpartition(" draw ")[0])
        pairs.append((left_out(source, one, record), before[alone.configuration]))
    cast("dict[str, Stack]", stacks()).update(usual)
    return pairs


def farthest(everything: Sequence[ScoredStep], scored: Sequence[ScoredStep]) -> list[ScoredStep]:
    """Of these the rows at the largest P of their sweep, where that is FAR times its smallest."""

    def sweep(one: ScoredStep) -> tuple[str, ...]:
        job = one.outcome.job
        return one.row.source, job.cluster.accelerator.name, job.stack.name, job.model.name, job.precision

    counts: dict[tuple[str, ...], set[int]] = {}
    for one in everything:
        counts.setdefault(sweep(one), set()).add(one.outcome.gpus)
    return [one for one in scored if one.outcome.gpus == max(counts[sweep(one)]) >= FAR * min(counts[sweep(one)])]


def likeliest_widths(rows: Sequence[LeftOut]) -> dict[str, Any]:
    """The spreads with which these rows are likeliest, each source, accelerator and stack a draw of the doubts."""
    draw = np.random.default_rng(0)
    cases = []
    for own in grouped(rows):
        some = [own[k] for k in sorted(draw.permutation(len(own))[:OF_A_GROUP].tolist())]
        which = EVIDENCE.index(some[0].evidence if some[0].evidence in EVIDENCE else "transferred")
        traits = one_of([row.traits for row in some])
        alone = [
            ErrorSpreads((0.0,) * len(DOUBTS), *pair, 0.0).alike(traits, traits) for pair in ((1.0, 0.0), (0.0, 1.0))
        ]
        errors, open_ = np.array([row.error for row in some]), np.array([(row.spread / NORMAL_90) ** 2 for row in some])
        cases.append((len(RESIDUAL) + which, traits.slopes, alone, errors, open_))
    names = list(DOUBTS)[1:]
    guess = [*(START[name] for name in RESIDUAL), *(START["everything"][kind] for kind in EVIDENCE),
             *(START["doubts"][name] for name in names)]  # fmt: skip
    first, common = np.log(np.array(guess)), len(RESIDUAL) + len(EVIDENCE)

    def loss(point: Any) -> float:
        spreads = np.exp(np.asarray(point))
        total = FIRMNESS * float(np.sum((point - first) ** 2))
        for which, slopes, alone, errors, open_ in cases:
            shared = slopes * np.r_[spreads[which], spreads[common:]]
            matrix = shared @ shared.T + np.diag(spreads[0] ** 2 + open_)
            matrix += spreads[1] ** 2 * alone[0] + spreads[2] ** 2 * alone[1]
            many = len(errors)
            distance = float(errors @ np.linalg.solve(matrix, errors))
            total += (
                0.5 * np.linalg.slogdet(matrix)[1] + 0.5 * (TAIL + many) * math.log1p(distance / TAIL)
            ) / many**0.5
        return float(total)

    least = [*(LEAST[name] for name in RESIDUAL), *[LEAST["everything"]] * 3, *[LEAST["doubts"]] * len(names)]
    bounds = [(low, 0.0) for low in np.log(least)]
    best = minimize(loss, first, method="L-BFGS-B", bounds=bounds, options={"maxiter": 25})
    spreads = np.exp(best.x)
    return {
        "ratio": shipped_calibration()["widths"]["ratio"],
        **dict(zip(RESIDUAL, map(float, spreads), strict=False)),
        "doubts": dict(zip(names, spreads[common:], strict=True)),
        "everything": {**START["everything"], **dict(zip(EVIDENCE, spreads[len(RESIDUAL) : common], strict=True))},
    }


def learned_widths(rows: Sequence[LeftOut]) -> dict[str, Any]:
    """The likeliest spreads; what is left of a source is then scaled until 90 % of the rows are inside after two of
    their own (a laboratory counts as the root of its rows), and the doubts until as many are before (each laboratory
    counts once, so that a new one is likely inside); what is in doubt of experts alone is scaled by their rows."""
    return scaled_widths(rows, likeliest_widths(rows))


def scaled_widths(rows: Sequence[LeftOut], widths: dict[str, Any]) -> dict[str, Any]:
    """These widths times what makes 90 % of the rows inside."""
    dense, experts = [row for row in rows if not row.moe], [row for row in rows if row.moe]

    def before(own: Sequence[LeftOut]) -> float:
        return missed(own, [abs(row.error) / row_width(row, widths) for row in own], -1.0)

    def doubts_by(names: Iterable[str], factor: float) -> dict[str, float]:
        return {name: max(widths["doubts"][name] * factor, LEAST["doubts"]) for name in names}

    for _ in range(ROUNDS):
        factor = missed(*after_two(rows, widths), -0.5)
        widths |= {name: widths[name] * factor for name in RESIDUAL}
        factor = before(dense)
        everything = {kind: max(spread * factor, LEAST["everything"]) for kind, spread in widths["everything"].items()}
        widths |= {"doubts": doubts_by(widths["doubts"], factor), "everything": everything}
        widths["doubts"] |= doubts_by(["experts"], before(experts))
    widths["everything"]["assumed"] = max(widths["everything"]["transferred"], START["everything"]["assumed"])
    return widths | unnamed_widths(rows, widths)


def missed(rows: Sequence[LeftOut], offs: Sequence[float], power: float) -> float:
    """What nine of ten rows are off by at most; a laboratory counts by its rows to 1 + power: once at -1."""
    sizes = Counter(row.laboratory for row in rows)
    return weighted_quantile(offs, [sizes[row.laboratory] ** power for row in rows])


def after_two(rows: Sequence[LeftOut], widths: Mapping[str, Any]) -> tuple[list[LeftOut], list[float]]:
    """Rows of each source, accelerator and stack after two others of it, and what they are off by over the half of
    their interval, the logarithm of a step being linear in the doubts."""
    draw = np.random.default_rng(1)
    judged: list[LeftOut] = []
    offs: list[float] = []
    for own in grouped(rows):
        some = [own[k] for k in draw.permutation(len(own))[: 4 * OF_A_GROUP].tolist()]
        traits, errors = one_of([row.traits for row in some]), np.array([row.error for row in some])
        spreads = row_spreads(some[0], widths)
        shared = spreads.shared(traits, traits)
        for k in range(len(some) - 2):
            two = [k, k + 1]
            rest = [j for j in ((k + 2 + 7 * turn) % len(some) for turn in range(3)) if j not in two]
            gain = shared[np.ix_(rest, two)] @ np.linalg.inv(shared[np.ix_(two, two)] + spreads.within**2 * np.eye(2))
            left = np.diag(shared)[rest] - np.sum(gain * shared[np.ix_(rest, two)], axis=1) + spreads.within**2
            half = np.hypot(NORMAL_90 * np.sqrt(left), [some[j].spread for j in rest])
            judged += [some[j] for j in rest]
            offs += (np.abs(errors[rest] - gain @ errors[two]) / half).tolist()
    return judged, offs


def grouped(rows: Sequence[LeftOut]) -> list[list[LeftOut]]:
    """The rows of each source, accelerator and stack."""
    groups: dict[tuple[str, str, str], list[LeftOut]] = {}
    for row in rows:
        groups.setdefault((row.source, row.chip, row.stack), []).append(row)
    return list(groups.values())


def unnamed_widths(rows: Sequence[LeftOut], widths: Mapping[str, Any]) -> dict[str, Any]:
    """The spread between sources where nobody names the stack, by family of accelerators, drawn to that of all.  How
    much longer published runs take than the layout that is picked was measured once and stays."""
    asked = [row for row in rows if row.unnamed is not None]
    sizes = Counter((row.laboratory, row.chip) for row in asked)
    weights = [1.0 / sizes[row.laboratory, row.chip] for row in asked]
    slower = -weighted_quantile([row.unnamed or 0.0 for row in asked], weights, 0.5)
    rest = [(row.unnamed or 0.0) + slower for row in asked]

    def spread(places: Sequence[int]) -> float:
        off = weighted_quantile([abs(rest[k]) for k in places], [weights[k] for k in places])
        inside = sum(widths[name] ** 2 for name in RESIDUAL)
        return math.sqrt(max((off / NORMAL_90) ** 2 - inside, LEAST["everything"] ** 2))

    everywhere = spread(range(len(asked)))
    found = {}
    for family in sorted({chip_family(row.chip) for row in asked}):
        places = [k for k, row in enumerate(asked) if chip_family(row.chip) == family]
        many = len({asked[k].laboratory for k in places})
        found[family] = math.exp((many * math.log(spread(places)) + 2.0 * math.log(everywhere)) / (many + 2.0))
    return {"slower": shipped_calibration()["widths"]["slower"], "unnamed": {"any": everywhere, **found}}


def row_spreads(row: LeftOut, widths: Mapping[str, Any]) -> ErrorSpreads:
    return spreads_of(row.evidence if row.evidence in EVIDENCE else "transferred", widths)


def row_width(row: LeftOut, widths: Mapping[str, Any]) -> float:
    """Half of the 90 % interval of a row by these widths."""
    spreads = row_spreads(row, widths)
    variance = float(spreads.shared(row.traits, row.traits)[0, 0]) + spreads.within**2
    return math.hypot(NORMAL_90 * math.sqrt(variance), row.spread)


def weighted_quantile(values: Sequence[float], weights: Sequence[float], level: float = 0.9) -> float:
    order = np.argsort(values)
    total = np.cumsum(np.array(weights)[order]) / np.sum(weights)
    return float(np.array(values)[order][min(int(np.searchsorted(total, level)), len(order) - 1)])


def size(logs: Iterable[float]) -> list[float] | None:
    """Median and 90th percentile of |ratio - 1| in percent."""
    sizes = 100.0 * np.abs(np.expm1(list(logs)))
    return [round(float(np.quantile(sizes, level)), 1) for level in (0.5, 0.9)] if len(sizes) else None


def figures(name: str, rows: Sequence[LeftOut], narrower: Sequence[float] = ()) -> dict[str, Any]:
    return {
        "name": name, "n": len(rows), "step": size(row.error for row in rows),
        "memory": size(row.memory for row in rows if row.memory is not None),
        "holds": round(float(np.mean([row.covered for row in rows])), 3) if rows else None,
        "factor": round(float(np.exp(np.median([row.half_width for row in rows]))), 2) if rows else None,
        "width_over_none": round(float(np.median(narrower)), 2) if len(narrower) else None,
    }  # fmt: skip


def summary(plain: Sequence[LeftOut], anchored: Mapping[str, Sequence[tuple[LeftOut, float]]]) -> dict[str, Any]:
    """The lines of the page."""
    lines = [
        figures("dense, sources left out", [row for row in plain if not row.moe]),
        figures("dense without the two large sweeps", [r for r in plain if not r.moe and r.source not in LARGE]),
        figures("MoE, sources left out", [row for row in plain if row.moe]),
    ]
    for moe, kind in ((False, "dense"), (True, "MoE")):
        for aside in (False, True):
            pairs = [one for one in anchored["2"] if one[0].moe == moe and not (aside and one[0].source in LARGE)]
            name = f"{kind}, two rows of its own" + (" (without the two large sweeps)" if aside else "")
            if pairs and not (aside and moe):
                lines.append(figures(name, [row for row, _ in pairs], [row.half_width / was for row, was in pairs]))
    far = anchored[SMALLEST]
    lines.append(figures("from the smallest P to 8 times and more", [row for row, _ in far],
                         [row.half_width / was for row, was in far]))  # fmt: skip
    unnamed = [replace(row, error=row.unnamed, half_width=0.0) for row in plain if row.unnamed is not None]
    lines.append(figures("no stack named (errors as planned)", unnamed) | {"holds": None, "factor": None})
    lines += [figures(f"generation {name}", [row for row in plain if row.generation == name]) for name in GENERATIONS]
    lines += [
        figures(f"stack {stack}", [row for row in plain if row.stack == stack])
        for stack, _ in Counter(row.stack for row in plain).most_common()
    ]
    refused = round(100.0 * float(np.mean([not row.fits for row in plain])), 2)
    sources = [figures(name, [row for row in plain if row.source == name])
               for name, _ in Counter(row.source for row in plain).most_common()]  # fmt: skip
    return {"lines": lines, "said_not_to_fit": refused, "sources": sources}


def printed(result: Mapping[str, Any]) -> str:
    """The lines as a table of Markdown."""

    def pair(values: Sequence[float] | None) -> str:
        return "-" if values is None else f"{values[0]:.1f} / {values[1]:.1f} %"

    heads = ("left out", "configurations", "step", "memory", "interval holds", "within a factor", "width over before")
    text = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for line in result["lines"]:
        held = "-" if line["holds"] is None else f"{100 * line['holds']:.0f} %"
        cells = (line["name"], line["n"], pair(line["step"]), pair(line["memory"]), held, line["factor"] or "-",
                 line["width_over_none"] or "-")  # fmt: skip
        text.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join([*text, "", f"Of the runs that ran, {result['said_not_to_fit']:.2f} % are said not to fit."])


BEGIN, END = "<!-- left out: generated by tools/training_left_out.py -->", "<!-- end left out -->"


def write_page(result: Mapping[str, Any]) -> None:
    """The table between its marks in docs/accuracy.md."""
    path = calibrate.ROOT / "docs/accuracy.md"
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    path.write_text(f"{before}{BEGIN}\n\n{printed(result)}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")


def rounded(value: Any) -> Any:
    return {key: rounded(one) for key, one in value.items()} if isinstance(value, Mapping) else round(float(value), 4)


def work_of(folder: Path) -> list[Work]:
    """The rows of every source beside all rows that constants are fitted to."""
    rows = all_rows(folder)
    by_source: dict[str, list[Measurement]] = {}
    for row in measurements(folder):
        by_source.setdefault(ONE_LABORATORY.get(row.source, row.source), []).append(row)
    for row in rows:
        if row.table in calibrate.OPEN_TABLES and row.table != TWICE:
            step = Measurement(source=row.table, label=row.label, jobs=(row.job,), seconds=row.seconds,
                               memory=row.memory)  # fmt: skip
            by_source.setdefault(ONE_LABORATORY.get(row.source, row.source), []).append(step)
    return [(source, rows, tables) for source, tables in by_source.items()]


def main(folder: Path, *, write: bool) -> None:
    WORK.extend(work_of(folder))
    with ProcessPoolExecutor(calibrate.WORKERS, mp_context=get_context("fork")) as pool:
        parts = list(pool.map(without_source, range(len(WORK))))
        found = [row for _, _, rows in parts for row in rows]
        nested = {source: learned_widths([row for row in found if row.laboratory != source]) for source, _, _ in parts}
        plain = [replace(row, half_width=row_width(row, nested[row.laboratory])) for row in found]
        jobs = {
            anchors: [
                (place, anchors, {**record, "widths": nested[source]})
                for place, (source, record, _) in enumerate(parts)
            ]
            for anchors in ("2", SMALLEST)
        }
        anchored = {anchors: [pair for part in pool.map(anchored_rows, many) for pair in part]
                    for anchors, many in jobs.items()}  # fmt: skip
    result = summary(plain, anchored)
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(printed(result))
    write_page(result)
    if write:
        record = json.loads(calibrate.TARGET.read_text(encoding="utf-8"))
        record["widths"] = rounded(learned_widths(found))
        calibrate.TARGET.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), write="--write" in sys.argv)
