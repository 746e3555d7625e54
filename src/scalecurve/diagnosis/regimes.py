"""Strong, weak, mixed or neither: what is held constant while workers are added, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from scalecurve.analysis.checks import doubts
from scalecurve.document import MEASURE_NEXT, Answer, Block, Column, Document, FindingList, JsonRecord, Result, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, carried, warning
from scalecurve.formats.loading import StudyLike, as_study
from scalecurve.study.study import Study, StudySet
from scalecurve.units import WorkersLike, as_workers, format_count

PLAIN_TABLE = "plain table"
WORK_COLUMNS = (
    "work", "total_work", "global_batch", "global_batch_size", "batch", "batch_size", "problem_size", "size",
)  # fmt: skip
TOLERANCE = 0.02
DECIDED = ("parameter-changes", "regime-from-times")  # findings on what the work itself says

DIMENSIONS = (
    ("held constant", "total problem size", "work per worker"),
    ("grows with K", "nothing: the job is fixed", "total problem size"),
    ("hoped-for outcome", "time drops as 1/K", "time stays constant"),
    ("efficiency", "E = T(1)/(K T(K))", "E = T(1)/T(K)"),
    ("plot", "speedup against the rising line S = K; the curve bends", "efficiency against the flat line 1; it sags"),
    ("limited mainly by", "serial part and communication", "communication only"),
    ("difficulty", "hard: efficiency falls fast", "easier: efficiency stays high"),
    ("AI example", "fixed global batch over more GPUs", "global batch grows with the GPUs"),
    ("the hidden catch", "hits a hard speedup ceiling", "you solved a different problem"),
)


@dataclass(frozen=True)
class WorkRow(JsonRecord):
    """Work at one K."""

    k: int
    total: float

    JSON = "k total per_worker"

    @property
    def per_worker(self) -> float:
        return self.total / self.k


@dataclass(frozen=True, kw_only=True, repr=False)
class RegimeVerdict(Result):
    """The regime that the amounts of work show, and what it means.

    `declared` is what the job is called, `times` are mean seconds by K, where known.
    """

    name: str
    regime: str
    rows: tuple[WorkRow, ...]
    declared: str | None
    times: Mapping[int, float]
    findings: tuple[Finding, ...]

    REFUSAL = "No efficiency can be reported"
    JSON = "name regime declared answers rows efficiencies=both_efficiencies comparison findings"

    @property
    def answer(self) -> Answer:
        first, last = self.rows[0], self.rows[-1]
        span = f"from K = {first.k} to {last.k}"
        confidence = None if self.regime in ("strong", "weak") else "No single efficiency applies to all K."
        called = f"It was called {self.declared}." if self.declared not in (None, self.regime) else None
        shown = f"`scalecurve table STUDY --regime {self.regime}`"
        following = {
            "strong": f"report E = T(1)/(K T(K)): {shown}",
            "weak": f"report E = T(1)/T(K): {shown}",
            "mixed": "report the two parts as two studies",
            "neither": f"time a fixed job, or fix the work per worker: {MEASURE_NEXT}",
        }[self.regime]
        fact = {
            "strong": f"Strong scaling: the total work stays {format_count(first.total)} {span}.",
            "weak": f"Weak scaling: the work per worker stays {format_count(first.per_worker)} {span}.",
            "mixed": f"Mixed: first one thing is held fixed, then the other, {span}.",
            "neither": f"Neither strong nor weak: total work and work per worker both change {span}.",
        }[self.regime]
        return Answer(decision=fact, confidence=confidence, reason=called, next=following)

    @property
    def answers(self) -> dict[str, str]:
        """Questions about the regime and their answers: what is held constant, which efficiency applies, the catch."""
        column = {"strong": 1, "weak": 2}.get(self.regime)
        if column is None:
            return {"held constant": _NEITHER[self.regime]}
        facts = {row[0]: row[column] for row in DIMENSIONS}
        return {**facts, "should it hold": _OUTLOOK[self.regime]}

    @property
    def both_efficiencies(self) -> list[dict[str, float]]:
        """E under each definition, first K as the baseline: what a wrong label would make of the same times."""
        if len(self.times) < 2:
            return []
        k0 = min(self.times)
        return [
            {"k": k, "strong": k0 * self.times[k0] / (k * seconds), "weak": self.times[k0] / seconds}
            for k, seconds in sorted(self.times.items())
        ]

    @property
    def comparison(self) -> list[dict[str, str]]:
        """The two regimes side by side."""
        return [dict(zip(("dimension", "strong", "weak"), row, strict=True)) for row in DIMENSIONS]

    def body(self) -> Document:
        head: list[Column | str] = ["K", "total work", "work per worker"]
        rows: list[list[str]] = [[str(r.k), format_count(r.total), format_count(r.per_worker)] for r in self.rows]
        if len(self.both_efficiencies) == len(rows):
            head += ["E if strong", "E if weak"]
            rows = [
                [*row, f"{own['strong']:.3f}", f"{own['weak']:.3f}"]
                for row, own in zip(rows, self.both_efficiencies, strict=True)
            ]
        blocks: list[Block] = [table(head, rows), FindingList(self.findings)]
        answers = table([Column("question", "left"), Column("answer", "left")], list(self.answers.items()))
        heads = [Column("", "left"), Column("strong", "left"), Column("weak", "left")]
        regimes = table(heads, DIMENSIONS, caption="The two regimes")
        return Document(f"{self.name}: what is held fixed", tuple(blocks), details=(answers, regimes))


_OUTLOOK = {
    "strong": "no: efficiency falls as K grows, because serial part and communication do not shrink with the work",
    "weak": "yes, mostly: each worker keeps its work, and only communication grows",
}
_NEITHER = {
    "mixed": "first one thing, then the other: report the two parts as two studies",
    "neither": "neither the total work nor the work per worker: no efficiency applies; time a fixed job, or fix the "
    "work per worker",
}


def classify_regime(
    study: StudyLike | None = None,
    *,
    work: Mapping[int, float] | None = None,
    workers: WorkersLike | None = None,
    total: float | Sequence[float] | None = None,
    per_worker: float | Sequence[float] | None = None,
    times: Mapping[int, float] | Sequence[float] | None = None,
    called: str | None = None,
    name: str = "job",
) -> RegimeVerdict:
    """Strong, weak, mixed or neither, from a study that counts its work, a table with a column of work, or numbers.

    Numbers are either `work`, the total work by K (`{4: 50000, 16: 50000}`), or `workers` with `total` or `per_worker`
    work (one number for all K, or one for each).  `times` are seconds by K, or one for each K in order.  `called` is
    what the job is said to be; `name` names it.
    """
    if study is not None and total is None and per_worker is None:
        return _study_verdict(study, called)
    findings: tuple[Finding, ...] = ()
    if study is not None:
        measured = as_study(study, regime=called or "strong")
        workers, name = measured.all_k, measured.name
        findings = (*doubts(measured), *(own for own in measured.findings if own.code not in DECIDED))
    if work is None:
        stated = total if per_worker is None else per_worker
        if workers is None or stated is None or None not in (total, per_worker):
            remedy = "--workers 4,16,64 with either --total 50000 or --per-worker 128"
            raise InputError(Fault("give worker counts and the work", remedy=remedy))
        counts = as_workers(workers)
        amounts = list(stated) if isinstance(stated, Sequence) else [stated]
        amounts *= len(counts) if len(amounts) == 1 else 1
        work = {k: own * (k if total is None else 1) for k, own in _by_k(amounts, counts, "number of work").items()}
    seconds = _by_k(times, tuple(work), "time") if times is not None else None
    verdict = regime_of_work(work, name=name, declared=called, times=seconds)
    return replace(verdict, findings=(*verdict.findings, *findings))


def _by_k(numbers: Mapping[int, float] | Sequence[float], counts: Sequence[int], what: str) -> Mapping[int, float]:
    """The numbers by K; an InputError where there is not one for each K."""
    if len(numbers) != len(counts):
        value, remedy = f"{len(numbers)} for {len(counts)} worker counts", f"give one {what} for each K"
        raise InputError(Fault("the lists differ in length", value=value, remedy=remedy))
    return numbers if isinstance(numbers, Mapping) else dict(zip(counts, numbers, strict=True))


def regime_of_work(
    work: Mapping[int, float], *, name: str, declared: str | None = None, times: Mapping[int, float] | None = None
) -> RegimeVerdict:
    """The regime from total work at each K: the same total is strong, the same work per worker weak, within 2 %."""
    faults = [
        Fault("work is not above 0", where=f"K = {k}", value=f"{w:g}", remedy="give a positive number")
        for k, w in work.items()
        if not w > 0
    ]
    if len(work) < 2:
        faults.append(
            Fault(
                "a regime needs the work at two worker counts or more",
                value=str(len(work)),
                remedy="give --workers two counts or more",
            )
        )
    if faults:
        raise InputError(faults, subject=name)
    rows = tuple(WorkRow(k, float(total)) for k, total in sorted(work.items()))
    steps = set()
    for a, b in pairwise(rows):
        apart = {"strong": abs(b.total / a.total - 1), "weak": abs(b.per_worker / a.per_worker - 1)}
        nearest = min(apart, key=lambda regime: apart[regime])
        steps.add(nearest if apart[nearest] <= TOLERANCE else "neither")
    regime = steps.pop() if len(steps) == 1 else "neither" if "neither" in steps else "mixed"
    seconds = dict(times or {})
    findings = (_mislabelled(regime, declared, rows, seconds),) if declared not in (None, regime) else ()
    return RegimeVerdict(name=name, regime=regime, rows=rows, declared=declared, times=seconds, findings=findings)


def _mislabelled(regime: str, declared: str | None, rows: Sequence[WorkRow], times: Mapping[int, float]) -> Finding:
    """What a wrong label makes of the same times."""
    message = f"called {declared} scaling, but the work shows {regime}"
    if regime == "strong" and declared == "weak" and len(times) > 1:
        first, last = min(times), max(times)
        ratio = times[first] / times[last]
        message += (
            f": T({first})/T({last}) = {ratio:.2f} read as a weak efficiency looks like a success, while the strong "
            f"efficiency is {ratio * first / last:.2f}"
        )
    elif regime == "strong" and declared == "weak":
        message += (
            ": a fixed job that takes the same time on more workers would be called perfect (weak E = 1), while its "
            f"strong efficiency at K = {rows[-1].k} would be {rows[0].k / rows[-1].k:.3f}"
        )
    return warning("regime-mislabelled", message, remedy=f"report it as {regime}", declared=declared, shown=regime)


def _study_verdict(source: StudyLike, called: str | None) -> RegimeVerdict:
    """From a table's column of work, the work that runs counted, or the work that the study declares.

    A study file states its regime; other files take the one they are called, and a plain table needs none.
    """
    piped = str(source) == "-"
    try:
        study = as_study(source, regime=called if piped else None)
    except InputError:
        if piped:
            raise
        study = as_study(source, regime=called or "strong")
        if called is None and study.provenance.tool != PLAIN_TABLE:
            raise
    is_table = isinstance(source, str | Path) and study.provenance.tool == PLAIN_TABLE
    work = _work_in_runs(study) if not is_table else {} if piped else _work_in_table(str(source))
    if not work:
        file = source if isinstance(source, str | Path) else "study.json"
        remedy = f"say it: `scalecurve regime {file} --total 50000`, or --per-worker, or a column named work or batch"
        raise InputError(Fault("the study does not say how much work each K did", remedy=remedy), subject=study.name)
    timed = not study.quantity.higher_is_better
    times = {k: float(values.mean()) for k, values in study.samples.by_k().items()} if timed else {}
    declared = called if is_table else called or str(study.regime)
    verdict = regime_of_work(work, name=study.name, declared=declared, times=times)
    left_out = carried(study, own=verdict.findings)
    return replace(verdict, findings=tuple(item for item in left_out if item.code not in DECIDED))


def _work_in_runs(study: Study) -> dict[int, float]:
    """Work by K as the runs counted it, else as the study declares it; empty where neither did."""
    work = {run.k: run.work for run in reversed(study.runs) if run.counts and run.work}
    if len(work) == len(study.all_k):
        return work
    job = study.workload
    stated = {k: job.total or (job.per_worker or 0.0) * k for k in study.all_k}
    return stated if job.total or job.per_worker else {}


def _work_in_table(source: str) -> dict[int, float]:
    """Work by K, read as any other column is; empty where there is no such column."""
    from scalecurve.formats.loading import load_any

    for column in WORK_COLUMNS:
        try:
            loaded = load_any(source, regime="strong", quantity="throughput", value_column=column)
        except InputError:
            continue
        study = loaded.only() if isinstance(loaded, StudySet) else loaded
        return {k: float(values.mean()) for k, values in study.samples.by_k().items()}
    return {}
