"""The planner against measured steps: error, bias, coverage and feasibility by source, stack and accelerator.

Every row goes through `evaluate_jobs`.  A row that can mean several jobs is predicted by the geometric mean of the
plausible ones: those that fit, with the least recomputation that fits (and the next, where memory is nearly full).
Half of their range is added to the interval.  Repeats of one configuration count once, at their median.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from scalecurve.document import Answer, Column, Document, FindingList, Paragraph, Result, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, info
from scalecurve.training.answers.evaluation import StepOutcome, evaluate_jobs
from scalecurve.training.answers.measured import MeasuredStep, anchored
from scalecurve.training.answers.measurements import Measurement, read_measurements
from scalecurve.training.inputs.cluster import ClusterLike, read_cluster
from scalecurve.training.inputs.layout import RECOMPUTE
from scalecurve.training.inputs.stack import Device, StackCalibration, calibration_of

NEARLY_FULL = 0.85  # share of memory above which more recomputation than the least is plausible too
SAME_MEMORY = 0.05  # differences of log memory that tell nothing
SMALLEST = "smallest"
SMALLEST_SWEEP = 5  # layouts of one model and P that make a ranking
Calibrations = Callable[[Measurement], StackCalibration]


@dataclass(frozen=True, kw_only=True)
class ScoredStep:
    """A measurement and what the planner says of it: `error` is log(predicted / measured), None where nothing was
    measured; `half_width` is half of the 90 % interval of that logarithm."""

    row: Measurement
    outcome: StepOutcome
    error: float | None
    half_width: float
    predicted: float
    fits: bool

    @property
    def covered(self) -> bool:
        return self.error is not None and abs(self.error) <= self.half_width


def shipped(row: Measurement) -> StackCalibration:
    """The calibration that a user of this row's accelerator and stack gets."""
    job = row.jobs[0]
    return calibration_of(job.cluster.accelerator, job.stack)


def score_rows(rows: Sequence[Measurement], calibrations: Calibrations = shipped) -> list[ScoredStep]:
    """Every row with jobs, evaluated; in the order given."""
    groups: dict[int, tuple[StackCalibration, list[int]]] = {}
    for place, row in enumerate(rows):
        if row.jobs:
            calibration = calibrations(row)
            groups.setdefault(id(calibration), (calibration, []))[1].append(place)
    scored: dict[int, ScoredStep] = {}
    for calibration, places in groups.values():
        outcomes = iter(evaluate_jobs([job for place in places for job in rows[place].jobs], calibration))
        for place in places:
            scored[place] = score_row(rows[place], [next(outcomes) for _ in rows[place].jobs])
    return [scored[place] for place in sorted(scored)]


def score_row(row: Measurement, outcomes: Sequence[StepOutcome]) -> ScoredStep:
    """One row from the outcomes of the jobs it can mean.  Each job's step is scaled to the batch of the first."""
    likely = nearest_in_memory(plausible(outcomes), row.memory)
    logs = [math.log(one.seconds * outcomes[0].tokens / one.tokens) for one in likely]
    middle = sum(logs) / len(logs)
    spread = (max(logs) - min(logs)) / 2.0
    return ScoredStep(
        row=row,
        outcome=likely[0],
        error=None if row.seconds is None else middle - math.log(row.seconds),
        half_width=math.hypot(likely[0].half_width, spread, row.spread),
        predicted=math.exp(middle),
        fits=any(one.fits for one in outcomes),
    )


def plausible(outcomes: Sequence[StepOutcome]) -> list[StepOutcome]:
    """The outcomes that fit, with the least recomputation that does; where none fits, those that need least memory."""
    fitting = [one for one in outcomes if one.fits]
    if not fitting:
        least = min(one.memory_bytes for one in outcomes)
        return [one for one in outcomes if one.memory_bytes <= least * 1.001]
    modes = sorted({RECOMPUTE[one.layout.recompute] for one in fitting})
    chosen = {modes[0]}
    held = min(one.memory_share for one in fitting if RECOMPUTE[one.layout.recompute] == modes[0])
    if held > NEARLY_FULL:
        chosen |= set(modes[1:2])
    return [one for one in fitting if RECOMPUTE[one.layout.recompute] in chosen]


def nearest_in_memory(outcomes: Sequence[StepOutcome], measured: float | None) -> list[StepOutcome]:
    """The outcomes whose memory is about the measured, which tells whether sequences were split where a table does not
    say.  The allocator of the first rank reports it, so the first stage counts, without what the runtime holds.  Where
    it tells nothing, the stack's habit."""
    if measured is None or len({one.layout.sequence_parallel for one in outcomes}) < 2:
        return list(outcomes)
    gaps = [abs(math.log((one.stages["first"] - Device.reserved) / measured)) for one in outcomes]
    near = [one for one, gap in zip(outcomes, gaps, strict=True) if gap <= min(gaps) + SAME_MEMORY]
    usual = [one for one in near if one.layout.sequence_parallel == one.job.stack.splits_sequence]
    return usual or near


def by_configuration(scored: Iterable[ScoredStep]) -> list[ScoredStep]:
    """One entry per configuration, at the median of its measurements."""
    groups: dict[tuple[object, ...], list[ScoredStep]] = {}
    for one in scored:
        if one.error is not None:
            groups.setdefault(one.row.configuration, []).append(one)
    return [sorted(group, key=lambda one: one.error or 0.0)[len(group) // 2] for group in groups.values()]


def figures(scored: Sequence[ScoredStep]) -> dict[str, Any]:
    """Count, median and 90th percentile of |predicted / measured - 1|, and the median of its sign, in percent."""
    off = [100.0 * math.expm1(one.error) for one in scored if one.error is not None]
    if not off:
        return {"n": 0, "median": None, "p90": None, "bias": None}
    size = np.abs(off)
    return {
        "n": len(off), "median": float(np.median(size)), "p90": float(np.quantile(size, 0.9)),
        "bias": float(np.median(off)),
    }  # fmt: skip


def share(flags: Iterable[bool]) -> float | None:
    values = list(flags)
    return sum(values) / len(values) if values else None


def ranking(scored: Iterable[ScoredStep]) -> dict[str, float | None]:
    """Over the sweeps (one model, P, batch and source): the median of Kendall's tau between measured and predicted
    steps, and of how much slower the predicted best was measured to be than the best."""
    sweeps: dict[tuple[object, ...], list[tuple[float, float]]] = {}
    for one in by_configuration(scored):
        job = one.outcome.job
        key = (one.row.source, job.model, one.outcome.gpus, job.seq, job.precision, job.layout.sequences)
        sweeps.setdefault(key, []).append((one.row.seconds or math.nan, one.predicted))
    taus, regrets = [], []
    for pairs in sweeps.values():
        if len(pairs) < SMALLEST_SWEEP:
            continue
        signs = [float(np.sign((a[0] - b[0]) * (a[1] - b[1]))) for a, b in combinations(pairs, 2) if a[0] != b[0]]
        taus.append(sum(signs) / max(len(signs), 1))
        picked = min(pairs, key=lambda pair: pair[1])
        regrets.append(100.0 * (picked[0] / min(pair[0] for pair in pairs) - 1.0))
    return {
        "kendall_tau": median(taus) if taus else None, "regret_median": median(regrets) if regrets else None,
        "sweeps": len(taus),
    }  # fmt: skip


@dataclass(frozen=True, kw_only=True, repr=False)
class Score(Result):
    """What `scalecurve plan --score` says."""

    scored: tuple[ScoredStep, ...]
    unread: Mapping[str, int]
    refused: tuple[Measurement, ...]  # runs that failed whose layout the planner refuses
    assumed: Mapping[str, int]
    findings: tuple[Finding, ...] = ()

    def __repr__(self) -> str:
        dense = self.to_dict()["dense"]
        return f"<Score of {len(self.scored)} rows: dense {dense['n']} configurations, median {dense['median']} %>"

    @property
    def answer(self) -> Answer:
        data = self.content()
        if not data["dense"]["n"] + data["moe"]["n"]:
            return Answer(
                decision="No row can be scored.", next="give rows with model, accelerator, layout, batch and step time"
            )
        middle = " and ".join(
            f"{name} steps by {data[name]['median']:.1f} % (median)" for name in ("dense", "moe") if data[name]["n"]
        )
        held = f"Its 90 % intervals held {percent_text(data['coverage'])} of the rows."
        return Answer(decision=f"The planner misses {middle}.", confidence=held,
                      next="give rows of your own with --measured, or --score with --anchors 2")  # fmt: skip

    @property
    def configurations(self) -> list[ScoredStep]:
        return by_configuration(self.scored)

    def content(self) -> dict[str, Any]:
        ran = self.configurations
        moe = [one for one in ran if one.outcome.job.model.is_moe]
        dense = [one for one in ran if not one.outcome.job.model.is_moe]
        return {
            "dense": figures(dense),
            "moe": figures(moe),
            "coverage": share(one.covered for one in ran),
            "half_width": median([one.half_width for one in ran]) if ran else None,
            "feasible": feasibility(self.scored, self.refused),
            "ranking": ranking(self.scored),
            "by_source": self.breakdown("source", lambda one: one.row.source),
            "by_stack": self.breakdown("stack", lambda one: one.outcome.job.stack.name),
            "by_accelerator": self.breakdown("accelerator", lambda one: one.outcome.job.cluster.accelerator.name),
            "unread": dict(self.unread),
            "assumed": dict(self.assumed),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def breakdown(self, name: str, group: Callable[[ScoredStep], str]) -> list[dict[str, Any]]:
        """The figures of each group, in the order of their names."""
        rows = []
        for label in sorted({group(one) for one in self.scored}):
            own = [one for one in self.scored if group(one) == label]
            ran = by_configuration(own)
            refused = [row for row in self.refused if name == "source" and row.source == label]
            fits = feasibility(own, refused)
            rows.append({name: label, **figures(ran), "coverage": share(one.covered for one in ran)} | fits)
        return rows

    def records(self) -> list[dict[str, Any]]:
        """A row of --csv for each measurement."""
        return [
            {
                "source": one.row.source, "run": one.row.label, "stack": one.outcome.job.stack.name,
                "accelerator": one.outcome.job.cluster.accelerator.name, "measured_seconds": one.row.seconds,
                "predicted_seconds": one.predicted, "predicted_low": one.predicted * math.exp(-one.half_width),
                "predicted_high": one.predicted * math.exp(one.half_width), "memory_bytes": one.outcome.memory_bytes,
                "measured_memory_bytes": one.row.memory, "fits": one.fits, "failed": one.row.failed,
                "assumed": " ".join(one.row.assumed),
            }
            for one in self.scored
        ]  # fmt: skip

    def body(self) -> Document:
        data = self.to_dict()
        blocks = [
            Paragraph(f"dense {error_text(data['dense'])}; MoE {error_text(data['moe'])}; 90 % intervals cover "
                      f"{percent_text(data['coverage'])}."),
            Paragraph(f"{percent_text(data['feasible']['ran_and_fits'])} of the runs that ran are predicted to fit, "
                      f"{percent_text(data['feasible']['failed_and_does_not_fit'])} of those that failed not to."),
        ]  # fmt: skip
        order = data["ranking"]
        if order["sweeps"]:
            blocks.append(
                Paragraph(f"Ranking over {order['sweeps']} sweeps: Kendall's tau {order['kendall_tau']:.2f}, the "
                          f"layout picked is {order['regret_median']:.1f} % slower than the best (medians).")
            )  # fmt: skip
        tables = [breakdown_table(name, data[f"by_{name}"]) for name in ("source", "stack", "accelerator")]
        notes = [Paragraph(f"Not evaluated: {counts_text(self.unread)}.")] if self.unread else []
        if self.assumed:
            notes.append(Paragraph(f"Not published, so evaluated as a set: {counts_text(self.assumed)}."))
        return Document("The planner against measured steps", (*blocks, *tables, *notes, FindingList(self.findings)))


def feasibility(scored: Iterable[ScoredStep], refused: Sequence[Measurement] = ()) -> dict[str, float | None]:
    """Shares of the runs that ran and are predicted to fit, and that failed and are predicted not to or refused."""
    rows = list(scored)
    return {
        "ran_and_fits": share(one.fits for one in rows if not one.row.failed),
        "failed_and_does_not_fit": share([*(not one.fits for one in rows if one.row.failed), *(True for _ in refused)]),
    }


def breakdown_table(name: str, rows: Sequence[Mapping[str, Any]]) -> Any:
    heads: list[Column | str] = [
        Column(name, "left"),
        "n",
        "median",
        "p90",
        "bias",
        "covered",
        "ran: fits",
        "failed: does not",
    ]
    lines = [
        (str(row[name]), str(row["n"]), percent_text(row["median"], 1.0), percent_text(row["p90"], 1.0),
         percent_text(row["bias"], 1.0), percent_text(row["coverage"]), percent_text(row["ran_and_fits"]),
         percent_text(row["failed_and_does_not_fit"]))
        for row in rows
    ]  # fmt: skip
    return table(heads, lines)


def percent_text(value: float | None, factor: float = 100.0) -> str:
    return "-" if value is None else f"{factor * value:.1f} %".replace("100.0 %", "100 %")


def error_text(entry: Mapping[str, Any]) -> str:
    if not entry["n"]:
        return "none"
    middle = f"{entry['n']} configurations: median {entry['median']:.1f} %"
    return f"{middle}, p90 {entry['p90']:.1f} %, bias {entry['bias']:+.1f} %"


def counts_text(counts: Mapping[str, int]) -> str:
    return "; ".join(f"{name} ({count})" for name, count in counts.items())


DRAWS = 5  # times that anchors are drawn


def anchored_scores(
    rows: Sequence[Measurement], anchors: str, seed: int = 0, calibrations: Calibrations = shipped
) -> list[ScoredStep]:
    """Each row scored after a calibration on others of its source, accelerator and stack: on so many drawn at random,
    DRAWS times, or on the `smallest` P of its model for the larger P."""
    known = [
        one
        for one in by_configuration(score_rows(rows, calibrations))
        if not {"layout", "FLOP count"} & set(one.row.assumed)
    ]
    groups: dict[tuple[str, ...], list[ScoredStep]] = {}
    for one in known:
        job = one.outcome.job
        also = (job.model.name, job.precision) if anchors == SMALLEST else ()
        groups.setdefault((one.row.source, job.cluster.accelerator.name, job.stack.name, *also), []).append(one)
    draw = np.random.default_rng(seed)
    scored: list[ScoredStep] = []
    for key in sorted(groups):
        for turn, (own, rest) in enumerate(splits(groups[key], anchors, draw)):
            steps = [measured_step(one) for one in own]
            known_here = anchored(calibrations(own[0].row), steps)
            again = [replace(one.row, recipe=f"{one.row.recipe} draw {turn}") for one in rest]
            scored += score_rows(again, lambda _, known_here=known_here: known_here)  # type: ignore[misc]
    return scored


def splits(
    group: Sequence[ScoredStep], anchors: str, draw: np.random.Generator
) -> Iterator[tuple[list[ScoredStep], list[ScoredStep]]]:
    """Anchors and the rows they are to predict."""
    if anchors == SMALLEST:
        least = min(one.outcome.gpus for one in group)
        own = [one for one in group if one.outcome.gpus == least]
        rest = [one for one in group if one.outcome.gpus > least]
        yield from [(own, rest)] if rest else []
        return
    count = int(anchors)
    for _ in range(DRAWS if len(group) > count else 0):
        chosen = {int(place) for place in draw.choice(len(group), count, replace=False)}
        yield [group[k] for k in sorted(chosen)], [one for k, one in enumerate(group) if k not in chosen]


def measured_step(one: ScoredStep) -> MeasuredStep:
    """The job that a row most plausibly means, and the seconds of its step."""
    job, first = one.outcome.job, one.row.jobs[0]
    return MeasuredStep(job=job, seconds=(one.row.seconds or math.nan) * job.layout.sequences / first.layout.sequences)


def score(
    paths: Iterable[str | Path], cluster: ClusterLike | None = None, *, anchors: str | None = None, seed: int = 0
) -> Score:
    """The shipped planner against every row of these files; `cluster` is where rows of its accelerator ran that do not
    tell their network.  With `anchors` (a count, or "smallest") after a calibration on other rows of the source."""
    if anchors is not None and anchors != SMALLEST and not (anchors.isdigit() and int(anchors) > 0):
        hint = f"give a number of rows, or {SMALLEST}"
        raise InputError(Fault("neither a count nor a rule", "anchors", anchors, hint))
    rows = read_measurements([Path(path) for path in paths], None if cluster is None else read_cluster(cluster))
    refused = tuple(row for row in rows if row.failed and row.impossible)
    unread = Counter(row.reason for row in rows if row.reason is not None and row not in refused)
    assumed = Counter(name for row in rows for name in row.assumed)
    findings: tuple[Finding, ...] = ()
    if unread:
        message = f"{sum(unread.values())} of {len(rows)} rows cannot be evaluated"
        findings = (info("rows-not-evaluated", message, reasons=dict(unread.most_common())),)
    return Score(
        scored=tuple(score_rows(rows) if anchors is None else anchored_scores(rows, anchors, seed)),
        refused=refused,
        unread=dict(unread.most_common()),
        assumed=dict(assumed.most_common()),
        findings=findings,
    )
