"""A history of checks: one JSON line for each, and what changed along it.

A loss of 1 % per commit is below the noise of every single check; over the commits it is not.  Each K by itself, and
all K together, are searched for the place where the mean of ln T changes most (the likelihood ratio of a step, Hinkley
1970).  Noise is taken from the differences of neighbours (von Neumann 1941), which a slow drift hardly touches, and the
p-value counts every place and every series that was searched (Bonferroni).  The search starts anew after a change that
a check has reported.
"""

from __future__ import annotations

import errno
import json
import math
import os
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from scalecurve.analysis.curve import Conversion, conversion_of
from scalecurve.analysis.sessions import LEAST_SESSIONS, SessionShift, shift_of_history
from scalecurve.analysis.table import tabulate
from scalecurve.document import Answer, Block, Cell, Document, Paragraph, Result, table
from scalecurve.errors import Fault, InputError
from scalecurve.files import read_text
from scalecurve.findings import Finding, info
from scalecurve.study import Quantity, Regime, Study
from scalecurve.study.run import FloatArray

VERSION = 1
LEAST_CHECKS = LEAST_SESSIONS
MOST_SHOWN = 12
LEVEL = 0.01  # of `scalecurve history`: the chance of a change where there is none, over all series


@dataclass(frozen=True, kw_only=True)
class HistoryPoint:
    """T and E at one K in one check; T in seconds, or seconds per unit of work for rates."""

    k: int
    n: int
    time: float
    std: float | None
    efficiency: float


@dataclass(frozen=True, kw_only=True)
class HistoryEntry:
    """One check of one commit; `drift` is True where it reported a change along the history."""

    name: str
    created: str | None
    commit: str | None
    points: tuple[HistoryPoint, ...]
    passed: bool | None = None
    drift: bool = False

    @property
    def label(self) -> str:
        return (self.commit or self.created or "?")[:10]

    def at(self, k: int) -> HistoryPoint | None:
        return next((point for point in self.points if point.k == k), None)


@dataclass(frozen=True, kw_only=True)
class Change:
    """Where T changed: from the entry `commit` on, by `change` (0.1: T up by 10 %), at K or at all K (`k` None).

    `probability` is that of this place among all places, given that there is one change; `p_value` the chance of so
    large a change where there is none.  A "creep" goes on by `per_commit` with every entry.
    """

    k: int | None
    place: int
    commit: str
    kind: str
    change: float
    per_commit: float | None
    p_value: float
    probability: float

    def __str__(self) -> str:
        where = "all K together" if self.k is None else f"K = {self.k}"
        if self.per_commit is not None:
            chance = f"p = {self.p_value:.1g}"
            return f"{where}: T creeps by {self.per_commit:+.2%} per check, {self.change:+.1%} in all ({chance})"
        chance = f"probability of this commit {self.probability:.2f}, p = {self.p_value:.1g}"
        return f"{where}: T changed by {self.change:+.1%} at {self.commit} ({chance})"


@dataclass(frozen=True, kw_only=True, repr=False)
class History(Result):
    """All checks of one study, oldest first, and the changes along them."""

    name: str
    entries: tuple[HistoryEntry, ...]
    changes: tuple[Change, ...]
    session: float | None
    own_shift: float | None = None
    findings: tuple[Finding, ...] = ()

    JSON = "name checks session changes rows=records findings"

    @property
    def checks(self) -> int:
        return len(self.entries)

    @property
    def answer(self) -> Answer:
        rises = [change for change in self.changes if change.change > 0]
        latest = (rises or self.changes)[-1] if self.changes else None
        if latest is None:
            decision = f"No change of T beyond noise along {_checks(len(self.entries))} of {self.name}."
        else:
            where = "at all K" if latest.k is None else f"at K = {latest.k}"
            how = (
                f"creeps by {latest.per_commit:+.2%} a check,"
                if latest.per_commit is not None
                else f"changed at {latest.commit},"
            )
            decision = f"T {where} {how} {latest.change:+.1%} in all."
        return Answer(
            decision=decision,
            confidence=f"Histories without a change show one in {LEVEL:.0%}."
            if len(self.entries) >= LEAST_CHECKS
            else f"A change can be told from noise with {LEAST_CHECKS} checks or more.",
            reason=None
            if self.session is None
            else f"Between sessions T of all K shifts by {self.session:.1%}"
            + ("." if self.own_shift is None else f", single K by up to {self.own_shift:.1%}."),
            next=f"`git show {latest.commit}`" if latest is not None and latest.per_commit is None else None,
        )

    @property
    def all_k(self) -> tuple[int, ...]:
        return tuple(sorted({point.k for entry in self.entries for point in entry.points}))

    def records(self) -> list[dict[str, Any]]:
        return [
            {"commit": entry.commit, "created": entry.created, "passed": entry.passed, **asdict(point)}
            for entry in self.entries
            for point in entry.points
        ]

    def body(self) -> Document:
        marked = {change.place for change in self.changes if change.per_commit is None}
        heads = ["commit", *(f"T({k})" for k in self.all_k), "verdict", "note"]
        rows, efficiencies = [], []
        first = max(0, len(self.entries) - MOST_SHOWN)
        for place, entry in list(enumerate(self.entries))[first:]:
            points = [entry.at(k) for k in self.all_k]
            cells: list[Cell | str | None] = [entry.label]
            cells += [None if point is None else f"{point.time:.4g}" for point in points]
            shares = [None if point is None else f"{point.efficiency:.3f}" for point in points]
            efficiencies.append([entry.label, *shares])
            verdict = {True: Cell("ok", "good"), False: Cell("FAIL", "bad"), None: Cell("-")}[entry.passed]
            rows.append([*cells, verdict, Cell("change", "warn") if place in marked else None])
        head = f"{self.name}: {_checks(len(self.entries))}, the last {len(rows)} shown"
        ratios = table(["commit", *(f"E({k})" for k in self.all_k)], efficiencies)
        blocks: list[Block] = [Paragraph(head), table(heads, rows)]
        blocks += [Paragraph(f"{change}.", "bad" if change.change > 0 else "good") for change in self.changes]
        return Document(None, tuple(blocks), details=(ratios,))


def _checks(count: int) -> str:
    return f"{count} check{'' if count == 1 else 's'}"


def entry_of(study: Study, *, passed: bool | None = None, drift: bool = False) -> HistoryEntry:
    """A study as an entry."""
    git = study.provenance.software.get("git")
    conversion = conversion_of(study)
    return HistoryEntry(
        name=study.name,
        created=study.provenance.created or datetime.now(UTC).isoformat(timespec="seconds"),
        commit=git.get("commit") if isinstance(git, dict) else None,
        points=tuple(
            HistoryPoint(
                k=row.k,
                n=row.n,
                time=conversion.time(float(row.k), row.mean.value),
                std=row.std,
                efficiency=row.efficiency.value,
            )
            for row in tabulate(study).rows
        ),
        passed=passed,
        drift=drift,
    )


def append_entry(study: Study, path: str | Path, *, passed: bool, line: str, drift: bool) -> None:
    """Add one JSON line with T and E at every K; two checks at once leave whole lines."""
    entry = entry_of(study, passed=passed, drift=drift)
    columns = ("k", "n", "mean", "std", "efficiency")
    data = {
        "version": VERSION,
        "created": entry.created,
        "name": entry.name,
        "commit": entry.commit,
        "quantity": str(study.quantity),
        "regime": str(study.regime),
        "rows": [
            dict(zip(columns, (row.k, row.n, row.mean.value, row.std, row.efficiency.value), strict=True))
            for row in tabulate(study).rows
        ],
        "passed": passed,
        "drift": drift,
        "line": line,
    }
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            raw, end = (json.dumps(data, allow_nan=False) + "\n").encode(), os.lseek(handle, 0, os.SEEK_END)
            if os.write(handle, raw) < len(raw):  # the disk is full: a torn line would spoil the history
                os.ftruncate(handle, end)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(handle)
    except OSError as problem:
        raise InputError(
            Fault(f"the history cannot be written: {problem.strerror}", remedy="make room, or name another file"),
            subject=str(path),
        ) from None


def read_entries(path: str | Path, *, name: str | None = None) -> tuple[HistoryEntry, ...]:
    """The entries of a history file, oldest first; those of one study where a name is given."""
    lines = read_text(Path(path), hint="give a file that scalecurve check --history wrote").splitlines()
    entries, faults = [], []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entries.append(_entry(json.loads(line)))
        except (ValueError, KeyError, TypeError, AttributeError):
            faults.append(Fault("not a line of a history", where=f"line {number}", value=line[:60], remedy="remove it"))
    if faults:
        raise InputError(faults[:MOST_SHOWN], subject=str(path))
    return tuple(entry for entry in entries if name is None or entry.name == name)


def _entry(data: dict[str, Any]) -> HistoryEntry:
    """One line as an entry: rates become times per unit of work."""
    conversion = Conversion(Quantity(data["quantity"]), Regime(data.get("regime", "strong")))
    points = []
    for row in data["rows"]:
        k, mean = int(row["k"]), float(row["mean"])
        if not (k >= 1 and 0 < mean < math.inf):
            raise ValueError("not a worker count or not a time")
        time = conversion.time(float(k), mean)
        std = None if row.get("std") is None else float(row["std"]) / mean * time
        points.append(HistoryPoint(k=k, n=int(row["n"]), time=time, std=std, efficiency=float(row["efficiency"])))
    return HistoryEntry(
        name=str(data["name"]),
        created=data.get("created"),
        commit=data.get("commit"),
        points=tuple(points),
        passed=data.get("passed"),
        drift=bool(data.get("drift")),
    )


def history(path: str | Path, *, name: str | None = None) -> History:
    """The checks in a history file and the changes along them; `name` chooses a study where the file holds several."""
    every = read_entries(path)
    names = sorted({entry.name for entry in every})
    entries = tuple(entry for entry in every if name is None or entry.name == name)
    if not entries:
        message, remedy = "the history has no checks", "scalecurve check STUDY --history FILE adds one"
        if names:
            message, remedy = (
                "the history has no check of this study",
                f"its checks are of {', '.join(names[:MOST_SHOWN])}",
            )
        raise InputError(Fault(message, value=name, remedy=remedy), subject=Path(path).name)
    if name is None and len(names) > 1:
        raise InputError(
            Fault(
                "the history holds several studies",
                value=", ".join(names),
                remedy=f"choose one: scalecurve history {shlex.quote(str(path))} --name {shlex.quote(names[0])}",
            )
        )
    session = session_shift(entries)
    findings = []
    if len(entries) < LEAST_CHECKS:
        message = f"{_checks(len(entries))}: a change can be told from noise with {LEAST_CHECKS} or more"
        findings.append(info("history-short", message))
    return History(
        name=entries[0].name,
        entries=entries,
        changes=changes_along(entries, level=LEVEL),
        session=None if session is None else session.common,
        own_shift=None if session is None or not session.own else max(session.own.values()),
        findings=tuple(findings),
    )


def series_of(entries: Sequence[HistoryEntry]) -> dict[int | None, FloatArray]:
    """Ln T over the entries for each K that all of them have, and under None for all these K together."""
    common = set.intersection(*({point.k for point in entry.points} for entry in entries)) if entries else set()
    series: dict[int | None, FloatArray] = {
        k: np.log([point.time for entry in entries if (point := entry.at(k)) is not None]) for k in sorted(common)
    }
    if len(series) > 1:
        series[None] = np.mean(list(series.values()), axis=0)
    return series


def session_shift(entries: Sequence[HistoryEntry]) -> SessionShift | None:
    """How far sessions shift all K together and each K by itself; None with few entries or no K in all of them."""
    series = {k: logs for k, logs in series_of(entries).items() if k is not None}
    if not series:
        return None
    points = [[point for k in series if (point := entry.at(k)) is not None] for entry in entries]
    noise = [[0.0 if point.std is None else (point.std / point.time) ** 2 / point.n for point in row] for row in points]
    return shift_of_history(list(series), np.column_stack(list(series.values())), np.array(noise))


def changes_along(entries: Sequence[HistoryEntry], *, level: float) -> tuple[Change, ...]:
    """Every change beyond noise, oldest first: the largest one, then those before and after it."""
    changes: list[Change] = []
    segments = [(0, len(entries))]
    while segments:
        start, end = segments.pop()
        change = largest_change(entries[start:end], level=level)
        if change is None:
            continue
        place = start + change.place
        changes.append(Change(**{**asdict(change), "place": place}))
        if change.per_commit is None:
            segments += [(start, place), (place, end)]
    return tuple(sorted(changes, key=lambda change: change.place))


def largest_change(entries: Sequence[HistoryEntry], *, level: float) -> Change | None:
    """The change with the smallest p-value, where that is below `level`; None with too few entries."""
    if len(entries) < LEAST_CHECKS:
        return None
    series = series_of(entries)
    tests = []
    for k, values in series.items():
        p_value, place, score = scan(values)
        tests.append((min(1.0, len(series) * p_value), k, place, score, values))
    if not tests:
        return None
    p_value, k, place, score, values = min(tests, key=lambda item: (item[0], item[1] is not None))
    if p_value > level:
        return None
    step = float(values[place:].mean() - values[:place].mean())
    rest = np.concatenate([values[:place] - values[:place].mean(), values[place:] - values[place:].mean()])
    slope, offset = np.polyfit(np.arange(len(values)), values, 1)
    is_creep = float(np.sum((values - offset - slope * np.arange(len(values))) ** 2)) < float(np.sum(rest**2))
    weights = np.exp(score**2 / 2 - np.max(score**2 / 2))
    return Change(
        k=k,
        place=place,
        commit=entries[place].label,
        kind="creep" if is_creep else "step",
        change=math.expm1(float(slope) * (len(values) - 1) if is_creep else step),
        per_commit=math.expm1(float(slope)) if is_creep else None,
        p_value=p_value,
        probability=float(weights[place - 1] / weights.sum()),
    )


def scan(values: FloatArray) -> tuple[float, int, FloatArray]:
    """The p-value of the largest change of the mean, its place, and the change at every place in standard errors."""
    from scipy.special import stdtr

    count = len(values)
    sigma = math.sqrt(float(np.mean(np.diff(values) ** 2)) / 2) or 1e-12
    before = np.arange(1, count)
    sums = np.cumsum(values)[:-1]
    difference = (values.sum() - sums) / (count - before) - sums / before
    score: FloatArray = np.abs(difference) / (sigma * np.sqrt(1 / before + 1 / (count - before)))
    place = int(np.argmax(score)) + 1
    return min(1.0, 2 * (count - 1) * float(stdtr((count - 1) * 2 / 3, -score[place - 1]))), place, score
