"""Strong, weak, mixed or neither: what is held constant while workers are added, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from scalecurve.document import Block, Column, Document, FindingList, Paragraph, Shown, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, warning
from scalecurve.study import Study

TOLERANCE = 0.02

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
class WorkRow:
    """Work at one K."""

    k: int
    total: float

    @property
    def per_worker(self) -> float:
        return self.total / self.k

    def to_dict(self) -> dict[str, Any]:
        return {"k": self.k, "total": self.total, "per_worker": self.per_worker}


@dataclass(frozen=True, kw_only=True)
class RegimeVerdict(Shown):
    """The regime that the amounts of work show, and what it means.

    `mislabelled` holds, where times are known, each K's efficiency under both definitions.
    """

    name: str
    regime: str
    rows: tuple[WorkRow, ...]
    declared: str | None
    times: Mapping[int, float]
    findings: tuple[Finding, ...]

    @property
    def answers(self) -> dict[str, str]:
        """What is held constant, which efficiency and plot apply, whether it should hold, what limits it, the catch."""
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

    def records(self) -> list[dict[str, Any]]:
        return [row.to_dict() for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "regime": self.regime,
            "declared": self.declared,
            "answers": self.answers,
            "rows": self.records(),
            "efficiencies": self.both_efficiencies,
            "comparison": [dict(zip(("dimension", "strong", "weak"), row, strict=True)) for row in DIMENSIONS],
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def document(self) -> Document:
        first, last = self.rows[0], self.rows[-1]
        head = (
            f"{self.name}: {self.regime} scaling. Total work {first.total:g} at K = {first.k} and {last.total:g} at "
            f"K = {last.k}; per worker {first.per_worker:g} and {last.per_worker:g}."
        )
        told = table([Column("question", "left"), Column("answer", "left")], list(self.answers.items()))
        blocks: list[Block] = [Paragraph(head), told]
        if self.both_efficiencies:
            rows = [(f"{r['k']:g}", f"{r['strong']:.3f}", f"{r['weak']:.3f}") for r in self.both_efficiencies]
            blocks.append(table(["K", "E if strong", "E if weak"], rows, caption="The same times under both labels"))
        heads = [Column("", "left"), Column("strong", "left"), Column("weak", "left")]
        blocks.append(table(heads, DIMENSIONS, caption="The two regimes"))
        return Document(None, (*blocks, FindingList(self.findings)))


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
    work: Mapping[int, float],
    *,
    name: str = "job",
    declared: str | None = None,
    times: Mapping[int, float] | None = None,
) -> RegimeVerdict:
    """The regime from total work at each K: `{4: 50000, 16: 50000, 64: 50000}` is strong."""
    faults = [Fault("work is a positive number", where=f"K = {k}", seen=f"{w:g}") for k, w in work.items() if not w > 0]
    if len(work) < 2:
        faults.append(Fault("a regime needs the work at two worker counts or more", seen=str(len(work))))
    if faults:
        raise InputError(faults, subject=name)
    rows = tuple(WorkRow(k, float(total)) for k, total in sorted(work.items()))
    regime = _regime_of(_steps(rows))
    return RegimeVerdict(
        name=name,
        regime=regime,
        rows=rows,
        declared=declared,
        times=dict(times or {}),
        findings=tuple(_label_findings(regime, declared, rows, dict(times or {}))),
    )


def _steps(rows: Sequence[WorkRow]) -> list[str]:
    kinds = []
    for a, b in pairwise(rows):
        apart = {"strong": abs(b.total / a.total - 1), "weak": abs(b.per_worker / a.per_worker - 1)}
        nearest = min(apart, key=lambda regime: apart[regime])
        kinds.append(nearest if apart[nearest] <= TOLERANCE else "neither")
    return kinds


def _regime_of(kinds: list[str]) -> str:
    if len(set(kinds)) == 1:
        return kinds[0]
    return "neither" if "neither" in kinds else "mixed"


def _label_findings(
    regime: str, declared: str | None, rows: Sequence[WorkRow], times: Mapping[int, float]
) -> list[Finding]:
    if declared is None or declared == regime:
        return []
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
    return [warning("regime-mislabelled", message, remedy=f"report it as {regime}", declared=declared, shown=regime)]


def regime_of_study(study: Study, *, called: str | None = None) -> RegimeVerdict:
    """From the work that runs counted, or the total or per-worker work that the study declares."""
    work = _counted(study) or _declared(study)
    return _verdict(study, work, called or str(study.regime))


def regime_of_table(study: Study, work: Mapping[int, float], *, called: str | None = None) -> RegimeVerdict:
    """From the work a table lists; what it is called, if anything, is not what it is."""
    return _verdict(study, work, called)


def _verdict(study: Study, work: Mapping[int, float], declared: str | None) -> RegimeVerdict:
    if not work:
        raise InputError(
            Fault(
                "the study does not say how much work each K did",
                remedy="give --total or --per-worker, add a column named work or batch, or count it",
            ),
            subject=study.name,
        )
    by_k = study.samples.by_k() if not study.quantity.higher_is_better else {}
    times = {k: float(values.mean()) for k, values in by_k.items()}
    return classify_regime(work, name=study.name, declared=declared, times=times)


def _counted(study: Study) -> dict[int, float]:
    found: dict[int, float] = {}
    for run in study.runs:
        if run.counts and run.work:
            found.setdefault(run.k, run.work)
    return found if len(found) == len(study.all_k) else {}


def _declared(study: Study) -> dict[int, float]:
    job = study.workload
    if job.total:
        return dict.fromkeys(study.all_k, job.total)
    return {k: job.per_worker * k for k in study.all_k} if job.per_worker else {}
