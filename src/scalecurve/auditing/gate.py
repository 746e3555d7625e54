"""A gate for continuous integration: efficiency floors, losses beyond the noise since an older study, and slow drift.

T(K) and E(K) are gated apart.  A K fails when T(K) rose (a rate fell) beyond the noise of the runs and the shift
between sessions (see `losses`); the shift is estimated from a history of checks where there is one, and assumed
otherwise.  E(K) compares two K of one session, so that no shift enters; it falls also where T(K0) became faster, which
is no loss, so it fails the gate only where that is asked for.  A floor fails when E is below it beyond its own
uncertainty.

The chance that identical code fails is at most `FALSE_ALARM` for each of these parts, over all gated K together
(bench/gate.py), on the condition that it prints: without a history, that sessions shift all K alike.  Where a failure
would not stand if single K shifted too, it asks for a second session.  Every K is printed with the smallest loss that
is detected with probability `POWER`.

Repeats that are all equal (a coarse timer, a copied number) show no noise although there is some: there the standard
error is at least `LEAST_ERROR`, or what rounding to the last digit leaves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalecurve.analysis.checks import doubts
from scalecurve.analysis.merging import differences, mixed_finding, require_sameness
from scalecurve.analysis.sessions import SessionShift
from scalecurve.analysis.table import tabulate
from scalecurve.auditing.history import (
    LEAST_CHECKS,
    Change,
    HistoryEntry,
    append_entry,
    entry_of,
    largest_change,
    read_entries,
    session_shift,
)
from scalecurve.auditing.losses import Regression, pair_of
from scalecurve.document import Answer, Cell, Document, FindingList, JsonRecord, Paragraph, Result, repeat_at, table
from scalecurve.errors import Fault, InputError, ScalecurveError
from scalecurve.estimate import MATTERS, Estimate
from scalecurve.findings import Finding, Severity, carried, info, warning
from scalecurve.formats.loading import StudyLike, as_study
from scalecurve.study import Study
from scalecurve.study.file import save
from scalecurve.units import WorkersLike, as_workers, parse_share
from scalecurve.words import beside, short_name, unit_words

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

FALSE_ALARM = 0.01
DRIFT_ALARM = 0.0005  # per check; thirty checks in a row alarm falsely in less than 1 %
MOST_CHECKS = 60  # of the history, that the search for drift looks at
GATES = ("time", "efficiency", "both")
HIGHEST_FLOOR = 1.5
MARKS = {True: Cell("ok", "good"), False: Cell("FAIL", "bad"), None: Cell("-")}


@dataclass(frozen=True, kw_only=True)
class FloorCheck(JsonRecord):
    """E at K against a floor: it fails where E is below beyond its interval; `sure` is False where that contains it."""

    k: int
    floor: float
    efficiency: Estimate
    passed: bool
    sure: bool | None

    kind = "floor"
    JSON = "kind k floor efficiency* sure passed"

    def __str__(self) -> str:
        value, span = beside(self.efficiency.value, self.floor, 3), self.efficiency.span("{:.3f}".format)
        if self.sure is False:
            return f"E({self.k}) = {value} may be {span}, on either side of the floor {self.floor:g}"
        relation = "is at or above" if self.efficiency.value >= self.floor else "is below"
        return f"E({self.k}) = {value} {relation} the floor {self.floor:g}" + (f" ({span})" if span else "")


@dataclass(frozen=True, kw_only=True, repr=False)
class Gate(Result):
    """All checks; the gate passes when every check does, and no drift is seen along the history."""

    name: str
    against: str | None
    floors: tuple[FloorCheck, ...]
    regressions: tuple[Regression, ...]
    false_alarm: float
    findings: tuple[Finding, ...]
    drift: Change | None = None
    checks_before: int | None = None
    shifts_known: bool = False
    rests_on_one_session: bool = False
    not_compared: str | None = None

    REFUSAL = "Nothing can be checked"
    JSON = "name against passed line false_alarm promise checks drift findings"

    @property
    def checks(self) -> tuple[FloorCheck | Regression, ...]:
        return (*self.floors, *self.regressions)

    @property
    def passed(self) -> bool:
        return self.drift is None and all(check.passed is not False for check in self.checks)

    @property
    def undecided(self) -> list[FloorCheck | Regression]:
        """The checks that pass only because the noise is too large to fail them."""
        blind = [row for row in self.regressions if row.passed and (row.detectable or 0.0) > 1 - 1 / MATTERS]
        return [*(check for check in self.floors if check.passed and check.sure is False), *blind]

    @property
    def line(self) -> str:
        """The gate in one line."""
        failed = [str(check) for check in self.checks if check.passed is False]
        failed += [f"along {self.checks_before} checks, {self.drift}"] if self.drift is not None else []
        if failed:
            return f"FAIL {self.name}: {'; '.join(failed)}"
        detectable = [row.detectable for row in self.regressions if row.detectable is not None]
        if unsure := self.undecided:
            blind = f"a loss of up to {max(detectable):.0%} would not be seen" if detectable else ""
            floor = next((str(check) for check in unsure if isinstance(check, FloorCheck)), blind)
            return f"UNDECIDED (passes) {short_name(self.name)}: {floor}"
        tested = sum(check.passed is not None for check in self.checks)
        if not self.checks:
            return f"PASS {short_name(self.name)}: nothing to compare with yet"
        if tested == 1 and not detectable:
            return f"PASS {short_name(self.name)}: {next(check for check in self.checks if check.passed)}"
        extra = f"; a loss of {max(detectable):.1%} at one K would be detected" if detectable else ""
        return f"PASS {short_name(self.name)}: {tested} check{'' if tested == 1 else 's'}{self._gain}{extra}"

    @property
    def _gain(self) -> str:
        """What became faster most, as the middle of a sentence."""
        faster = max((row for row in self.regressions if row.is_faster), key=lambda row: -row.loss, default=None)
        if faster is None:
            return ""
        return f"; {-faster.loss:.0%} {'faster' if faster.tests == 'T' else 'more efficient'} at K = {faster.k}"

    def records(self) -> list[dict[str, Any]]:
        names = ("kind", "k", "passed", "tests", "loss", "detectable", "p_value", "alpha", "floor", "efficiency")
        return [{name: check.to_dict().get(name) for name in names} for check in self.checks]

    @property
    def promise(self) -> str | None:
        """How often identical code fails, and on which condition."""
        if not self.regressions:
            return None
        if self.shifts_known:
            return (
                f"Identical code fails in at most {self.false_alarm:.0%} of checks (session shifts from the history)."
            )
        return (
            "Identical code fails in up to 60 % of checks on days that slow some K by 2 % and others not, as a busy "
            f"network does; in at most {self.false_alarm:.0%} where all K are slowed alike."
        )

    @property
    def answer(self) -> Answer:
        failed = [check for check in self.checks if check.passed is False]
        said = " ".join(filter(None, (self.not_compared, self.promise))) or None
        if not self.passed:
            more = "" if len(failed) < 2 else f"; {len(failed) - 1} more"
            first = str(failed[0] if failed else f"along {self.checks_before} checks, {self.drift}")
            remedy = "measure the new code in a second session, `scalecurve merge` both, and check again"
            return Answer(
                decision=f"FAIL {short_name(self.name)}: {first}{more}",
                confidence=said,
                reason="The loss is no larger than what another session can do to single K (2 %)."
                if self.rests_on_one_session
                else None,
                next=remedy if self.rests_on_one_session else "`scalecurve diagnose STUDY` says what takes the time",
            )
        if unsure := self.undecided:
            return Answer(decision=self.line, confidence=said, next=repeat_at(check.k for check in unsure))
        needs_history = bool(self.regressions) and not self.shifts_known
        return Answer(
            decision=self.line,
            confidence=said,
            next="`SAME --history checks.jsonl` keeps a record and learns how sessions differ"
            if needs_history or self.checks_before is None
            else None,
        )

    def body(self) -> Document:
        rows = table(["", "check"], [(MARKS[check.passed], str(check)) for check in self.checks])
        about = []
        if self.checks_before is not None:
            enough = "" if self.checks_before + 1 >= LEAST_CHECKS else f"; drift is tested from {LEAST_CHECKS} on"
            about.append(Paragraph(f"History: {self.checks_before} checks before this one{enough}."))
        return Document(None, (rows, FindingList(self.findings)), details=tuple(about))

    def junit(self) -> str:
        """The checks as a JUnit test suite."""
        from xml.etree import ElementTree

        failed, skipped = (sum(check.passed is passed for check in self.checks) for passed in (False, None))
        suite = ElementTree.Element("testsuite", name=self.name, tests=str(len(self.checks) or 1), failures=str(failed))
        suite.set("skipped", str(skipped if self.checks else 1))
        for check in self.checks:
            case = ElementTree.SubElement(suite, "testcase", classname=f"scalecurve.{check.kind}", name=f"K={check.k}")
            if check.passed is False:
                ElementTree.SubElement(case, "failure", message=str(check))
            elif check.passed is None:
                ElementTree.SubElement(case, "skipped")
            ElementTree.SubElement(case, "system-out").text = str(check)
        if not self.checks:
            case = ElementTree.SubElement(suite, "testcase", classname="scalecurve.baseline", name=self.name)
            ElementTree.SubElement(case, "skipped")
            ElementTree.SubElement(case, "system-out").text = self.line
        return xml_text(suite)

    def annotations(self) -> tuple[str, ...]:
        """The failed checks and the findings as workflow commands of GitHub, which shows them beside the change."""
        failed = [f"::error title=scalecurve K = {row.k}::{row}" for row in self.checks if row.passed is False]
        kinds = {Severity.INFO: "notice", Severity.WARNING: "warning", Severity.ERROR: "error"}
        lines = [f"::{kinds[finding.severity]} title=scalecurve::{finding.message}" for finding in self.findings]
        return tuple(line.replace("%", "%25").replace("\n", "%0A") for line in (*failed, *lines))

    def append_history(self, study: Study, path: str | Path) -> None:
        """Add this check to a history file."""
        append_entry(study, path, passed=self.passed, line=self.line, drift=self.drift is not None)


def check(
    study: StudyLike,
    *,
    regime: str | None = None,
    against: StudyLike | None = None,
    min_efficiency: Mapping[int, float] | Sequence[str] = (),
    workers: WorkersLike | None = None,
    false_alarm: float = FALSE_ALARM,
    allow_mixed: bool = False,
    any_machine: bool = False,
    history: str | Path | None = None,
    gate: str = "time",
) -> Gate:
    """Test efficiency floors, losses against an older study at every gated K, and drift along a history of checks.

    Parameters
    ----------
    study
        A study in any form that `load` takes.
    regime
        "strong" or "weak", for a study that does not state it.
    against
        An older study to compare with.
    min_efficiency
        Floors: {8: 0.8} or ["0.8@8"].
    workers
        The gated K (default: all that both studies measured).
    false_alarm
        The chance that identical code fails.
    allow_mixed, any_machine
        Whether studies of another workload are compared all the same; whether one of another machine is, by efficiency
        instead of seconds.
    history
        A file of earlier checks; nothing is written to it here.
    gate
        What fails: "time" (T), "efficiency" (E) or "both".

    Returns
    -------
    Gate
        Whether it passed, and every floor and test behind that.

    Raises
    ------
    InputError
        A study cannot be read, or there is nothing to check.
    Refused
        Nothing can be tested, such as one sample for each K.

    Examples
    --------
    >>> import scalecurve as sc
    >>> sc.check({1: [100.0, 101.0], 8: [16.0, 16.2]}, regime="strong", min_efficiency={8: 0.7}).passed
    True
    """
    new = as_study(study, regime=regime)
    floors = parse_floors(min_efficiency) if not isinstance(min_efficiency, Mapping) else min_efficiency
    floors = {int(k): float(floor) for k, floor in floors.items()}  # of numpy a verdict would not be True or False
    if gate not in GATES:
        raise InputError(Fault("unknown gate", value=gate, remedy=f"one of {', '.join(GATES)}"))
    if against is None and not floors and history is None:
        remedy = "--min-efficiency 0.8@8, --against old.json, --history checks.jsonl, or several of them"
        raise InputError(Fault("there is nothing to check", remedy=remedy))
    past = () if history is None else _past(new, Path(history))
    change = largest_change(past[-MOST_CHECKS:], level=DRIFT_ALARM)
    session = session_shift(past)
    common: dict[str, Any] = {
        "name": new.name,
        "floors": tuple(floor_of(new, k, floor, false_alarm / len(floors)) for k, floor in sorted(floors.items())),
        "false_alarm": false_alarm,
        "drift": change if change is not None and change.change > 0 else None,  # T up, beyond noise
        "checks_before": None if history is None else len(past) - 1,
        "shifts_known": session is not None,
    }
    if against is None:
        return Gate(**common, against=None, regressions=(), findings=carried(new, own=doubts(new)))
    old = as_study(against, regime=str(new.regime))
    findings, by_efficiency = _comparable(new, old, allow_mixed=allow_mixed, any_machine=any_machine)
    pair = pair_of(new, old, () if workers is None else as_workers(workers), session or SessionShift())
    rows = pair.rows("efficiency" if by_efficiency else gate, false_alarm)
    return Gate(
        **common,
        against=old.name,
        regressions=tuple(rows),
        findings=carried(new, old, own=(*doubts(new), *findings, *pair.findings(rows))),
        rests_on_one_session=pair.rests_on_one_session(rows, false_alarm),
        not_compared=None if old is new else _not_compared(new, old, compared=workers is None),
    )


def _not_compared(new: Study, old: Study, *, compared: bool) -> str | None:
    """The K that only one study has, where all are `compared`, and kinds of worker that differ; None without either."""
    alone = [str(k) for k in sorted(set(new.all_k) ^ set(old.all_k))] if compared else []
    said = [f"K = {', '.join(alone)}: in one study only, not compared."] if alone else []
    if new.k_unit != old.k_unit:
        said.append(f"K counts {unit_words(new.k_unit)} in the new study, {unit_words(old.k_unit)} in the old.")
    return " ".join(said) or None


def _past(new: Study, history: Path) -> tuple[HistoryEntry, ...]:
    """The checks since the last reported change, and this study as the last of them."""
    before = read_entries(history, name=new.name) if history.exists() else ()
    start = max((place for place, entry in enumerate(before) if entry.drift), default=0)
    return (*before[start:], entry_of(new))


def _comparable(new: Study, old: Study, *, allow_mixed: bool, any_machine: bool) -> tuple[list[Finding], bool]:
    """What differs between the studies, and whether only their efficiencies can be compared; Refused if they cannot."""
    findings: list[Finding] = []
    machines = [difference for difference in differences(new, old) if difference.kind == "machine"]
    by_efficiency = any_machine and bool(machines)
    if by_efficiency:
        text = f"the older study ran on another machine ({machines[0]}): efficiency is compared, not seconds"
        remedy = "use one runner to compare seconds"
        findings.append(warning("other-machine", text, remedy=remedy, differences=[str(item) for item in machines]))
    kinds = ("workload",) if by_efficiency else ("machine", "workload")
    findings += require_sameness(new, old, allow_mixed=allow_mixed, kinds=kinds)
    versions = [difference for difference in differences(new, old) if difference.kind == "software"]
    if versions:  # other versions are what a gate is for: a note, not a refusal
        mixed = mixed_finding(versions)
        findings.append(info("versions-differ", mixed.message, **mixed.evidence))
    return findings, by_efficiency


def floor_of(study: Study, k: int, floor: float, alpha: float) -> FloorCheck:
    """The test whether E(K) is below a floor; with one sample the figure itself decides."""
    e = tabulate(study, level=1 - 2 * alpha).row(k).efficiency
    if e.low is None or e.high is None:
        return FloorCheck(k=k, floor=floor, efficiency=e, passed=e.value >= floor, sure=None)
    return FloorCheck(k=k, floor=floor, efficiency=e, passed=e.high >= floor, sure=not e.low < floor <= e.high)


def first_check(study: StudyLike, baseline: str | Path, *, min_efficiency: Sequence[str] = ()) -> Gate:
    """The gate of a first push: floors only; the study is written to `baseline`, to compare the next ones with."""
    new = as_study(study)
    floors = parse_floors(min_efficiency)
    gate = (
        check(new, min_efficiency=floors)
        if floors
        else Gate(
            name=new.name, against=None, floors=(), regressions=(), false_alarm=FALSE_ALARM, findings=carried(new)
        )
    )
    save(new, baseline)
    text = f"there was no baseline: this study is now the baseline, in {baseline}"
    made = info("baseline-made", text, remedy="keep the file: the next check compares with it")
    return replace(gate, findings=(made, *gate.findings))


def junit_of_error(problem: ScalecurveError) -> str:
    """A JUnit test suite that says why nothing could be checked."""
    from xml.etree import ElementTree

    suite = ElementTree.Element("testsuite", name="scalecurve", tests="1", failures="0", errors="1", skipped="0")
    case = ElementTree.SubElement(suite, "testcase", classname="scalecurve.check", name="study")
    ElementTree.SubElement(case, "error", message=str(problem))
    return xml_text(suite)


def xml_text(suite: Element) -> str:
    """The file of an element and all inside it."""
    from xml.etree import ElementTree

    ElementTree.indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suite, encoding="unicode")}\n'


def parse_floors(items: Sequence[str]) -> dict[int, float]:
    """`0.8@8` as {8: 0.8}; every bad item is reported."""
    floors: dict[int, float] = {}
    faults: list[Fault] = []
    for item in items:
        share, _, k = item.partition("@")
        try:
            floor = parse_share(share)
        except InputError:
            floor = math.inf
        if floor <= HIGHEST_FLOOR and k.strip().isdecimal() and int(k) >= 1:
            floors[int(k)] = floor
        else:
            hint = f"write it like 0.8@8 or 80%@8, at most {HIGHEST_FLOOR:g}"
            faults.append(Fault("not an efficiency floor", value=item, remedy=hint))
    if faults:
        raise InputError(faults)
    return floors
