"""A gate for continuous integration: efficiency floors, and regressions beyond the noise from run to run.

Regression at K is tested on the logarithm of T(K) (or of the rate), new against old, one-sided.  Only where the
baselines themselves differ (two-sided, at a level that is part of the budget) is E(K) tested instead, whose interval
is wider.  The chance that identical code fails is at most `FALSE_ALARM` over all gated K together: Bonferroni's share
for each test, plus the share of the baseline test.

Each K keeps its own spread (Welch): pooling them catches more with three repeats, but failed identical code in 3 % of
invocations where noise grows with K.  Every K is printed with the smallest loss that is detected with probability
`POWER`.

Repeats that are all equal (a coarse timer, a copied number) show no noise although there is some: there the standard
error is at least `LEAST_ERROR`, or what rounding to the last digit leaves.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from scalecurve.analysis.curve import Curve, LogRatio, curve_of, log_ratio
from scalecurve.analysis.merging import differences, mixed_finding, require_sameness
from scalecurve.analysis.table import tabulate
from scalecurve.document import Cell, Document, FindingList, Paragraph, Result, table
from scalecurve.errors import Fault, InputError, Refused, ScalecurveError
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, Severity, info, warning
from scalecurve.formats.accept import StudyLike, as_study
from scalecurve.study import Study
from scalecurve.study.file import save
from scalecurve.units import WorkersLike, as_workers, parse_share

FALSE_ALARM = 0.01
BASELINE_SHARE = 0.15  # of the budget, spent on testing whether the baseline changed
POWER = 0.8
LEAST_ERROR = 0.002
HIGHEST_FLOOR = 1.5
HISTORY_VERSION = 1
MARKS = {True: Cell("ok", "good"), False: Cell("FAIL", "bad"), None: Cell("-")}


@dataclass(frozen=True, kw_only=True)
class Floor:
    """E at K against a floor; `sure` is False where the interval of E contains the floor."""

    k: int
    floor: float
    efficiency: Estimate
    passed: bool
    sure: bool | None

    def __str__(self) -> str:
        unsure = " (within its interval)" if self.sure is False else ""
        relation = "is at or above" if self.passed else "is below"
        return f"E({self.k}) = {self.efficiency.value:.3f} {relation} the floor {self.floor:g}{unsure}"

    def to_dict(self) -> dict[str, Any]:
        e = self.efficiency
        return {
            "kind": "floor", "k": self.k, "floor": self.floor, "efficiency": e.value, "efficiency_low": e.low,
            "efficiency_high": e.high, "sure": self.sure, "passed": self.passed,
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Regression:
    """Loss of speed at K (0.1: 10 % less done per second), tested on `tests` (T or E); `passed` is None where n = 1."""

    k: int
    tests: str
    loss: float
    alpha: float
    low: float | None = None
    p_value: float | None = None
    detectable: float | None = None
    passed: bool | None = None

    def __str__(self) -> str:
        quantity = "loss of speed" if self.tests == "T" else "loss of efficiency"
        if self.detectable is None:
            return f"K = {self.k}: {self.loss:+.1%} {quantity}, one sample only: not tested"
        smallest = f"smallest detectable loss {self.detectable:.1%}"
        if self.passed:
            return f"K = {self.k}: no {quantity} beyond noise ({self.loss:+.1%}; {smallest})"
        chance = "" if self.p_value is None else f"p = {self.p_value:.2g}; "
        return f"K = {self.k}: {self.loss:.1%} {quantity}, beyond noise ({chance}{smallest})"

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "regression", **asdict(self)}


@dataclass(frozen=True, kw_only=True, repr=False)
class Gate(Result):
    """All checks; the gate passes when every check does."""

    name: str
    against: str | None
    floors: tuple[Floor, ...]
    regressions: tuple[Regression, ...]
    false_alarm: float
    findings: tuple[Finding, ...]

    def __repr__(self) -> str:
        return f"<Gate {self.line}>"

    @property
    def checks(self) -> tuple[Floor | Regression, ...]:
        return (*self.floors, *self.regressions)

    @property
    def passed(self) -> bool:
        return all(check.passed is not False for check in self.checks)

    @property
    def line(self) -> str:
        """The gate in one line."""
        failed = [str(check) for check in self.checks if check.passed is False]
        if failed:
            return f"FAIL {self.name}: {'; '.join(failed)}"
        detectable = [row.detectable for row in self.regressions if row.detectable is not None]
        tested = sum(check.passed is not None for check in self.checks)
        if not self.checks:
            return f"PASS {self.name}: nothing to compare with yet"
        extra = f"; a loss of {max(detectable):.1%} at one K would be detected" if detectable else ""
        return f"PASS {self.name}: {tested} check{'' if tested == 1 else 's'}{extra}"

    def records(self) -> list[dict[str, Any]]:
        names = ("kind", "k", "passed", "tests", "loss", "detectable", "p_value", "alpha", "floor", "efficiency")
        return [{name: check.to_dict().get(name) for name in names} for check in self.checks]

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "against": self.against,
            "passed": self.passed,
            "line": self.line,
            "false_alarm": self.false_alarm,
            "checks": [check.to_dict() for check in self.checks],
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def document(self) -> Document:
        rows = table(["", "check"], [(MARKS[check.passed], str(check)) for check in self.checks])
        promise = f"Identical code fails in at most {self.false_alarm:.0%} of invocations."
        promises = [Paragraph(promise)] if self.regressions else []
        head = Paragraph(self.line, "good" if self.passed else "bad")
        return Document(None, (head, rows, *promises, FindingList(self.findings)))

    def junit(self) -> str:
        """The checks as a JUnit test suite."""
        from xml.sax.saxutils import escape, quoteattr

        cases = []
        for check in self.checks:
            failure = f"<failure message={quoteattr(str(check))}/>"
            body = {True: "", False: failure, None: "<skipped/>"}[check.passed]
            output = f"<system-out>{escape(str(check))}</system-out>"
            kind = f'classname="scalecurve.{check.to_dict()["kind"]}"'
            cases.append(f'  <testcase {kind} name="K={check.k}">{body}{output}</testcase>')
        if not cases:
            output = f"<system-out>{escape(self.line)}</system-out>"
            cases.append(
                f'  <testcase classname="scalecurve.baseline" name="{escape(self.name)}"><skipped/>{output}</testcase>'
            )
        failures = sum(check.passed is False for check in self.checks)
        skipped = sum(check.passed is None for check in self.checks) if self.checks else 1
        counts = f'tests="{len(cases)}" failures="{failures}" skipped="{skipped}"'
        head = f"<testsuite name={quoteattr(self.name)} {counts}>"
        return '<?xml version="1.0" encoding="UTF-8"?>\n' + "\n".join([head, *cases, "</testsuite>"]) + "\n"

    def annotations(self) -> tuple[str, ...]:
        """The failed checks and the findings as workflow commands of GitHub, which shows them beside the change."""
        failed = [f"::error title=scalecurve K = {row.k}::{row}" for row in self.checks if row.passed is False]
        kinds = {Severity.INFO: "notice", Severity.WARNING: "warning", Severity.ERROR: "error"}
        said = [f"::{kinds[finding.severity]} title=scalecurve::{finding.message}" for finding in self.findings]
        return tuple(line.replace("%", "%25").replace("\n", "%0A") for line in (*failed, *said))

    def append_history(self, study: Study, path: str | Path) -> None:
        """Add one JSON line with T and E at every K, so that slow drifts show; two checks at once leave whole lines."""
        git = study.provenance.software.get("git")
        columns = ("k", "n", "mean", "std", "efficiency")
        entry = {
            "version": HISTORY_VERSION,
            "created": study.provenance.created or datetime.now(UTC).isoformat(timespec="seconds"),
            "name": study.name,
            "commit": git.get("commit") if isinstance(git, dict) else None,
            "quantity": str(study.quantity),
            "rows": [
                dict(zip(columns, (row.k, row.n, row.mean.value, row.std, row.efficiency.value), strict=True))
                for row in tabulate(study).rows
            ],
            "passed": self.passed,
            "line": self.line,
        }
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
            try:
                os.write(handle, (json.dumps(entry, allow_nan=False) + "\n").encode())
            finally:
                os.close(handle)
        except OSError as problem:
            raise InputError(Fault(f"the history cannot be written: {problem.strerror}"), subject=str(path)) from None


def check(
    study: StudyLike,
    *,
    against: StudyLike | None = None,
    min_efficiency: Mapping[int, float] | Sequence[str] = (),
    workers: WorkersLike | None = None,
    false_alarm: float = FALSE_ALARM,
    allow_mixed: bool = False,
    any_machine: bool = False,
) -> Gate:
    """Test efficiency floors and, against an older study, regressions at every gated K.

    `min_efficiency` is {8: 0.8} or ["0.8@8"]; `workers` are the gated K (default: all that both studies measured).
    `false_alarm` is the chance that identical code fails.  With `any_machine` an older study of another machine is
    compared by efficiency instead of seconds, and a finding says so.
    """
    new = as_study(study)
    floors = min_efficiency if isinstance(min_efficiency, Mapping) else parse_floors(min_efficiency)
    if against is None and not floors:
        raise InputError(
            Fault("there is nothing to check", remedy="--min-efficiency 0.8@8, --against old.json, or both")
        )
    efficiencies = {k: tabulate(new).row(k).efficiency for k in floors}
    findings: list[Finding] = []
    rows: list[Regression] = []
    old = None if against is None else as_study(against, regime=str(new.regime))
    if old is not None:
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
        gated = () if workers is None else as_workers(workers)
        rows, untrusted = _regressions(new, old, gated, false_alarm, by_efficiency=by_efficiency)
        findings += untrusted
    return Gate(
        name=new.name,
        against=None if old is None else old.name,
        floors=tuple(_floor(k, floor, efficiencies[k]) for k, floor in sorted(floors.items())),
        regressions=tuple(rows),
        false_alarm=false_alarm,
        findings=tuple(findings),
    )


def _floor(k: int, floor: float, e: Estimate) -> Floor:
    sure = None if e.low is None else not e.low < floor <= (e.high or math.inf)
    return Floor(k=k, floor=floor, efficiency=e, passed=e.value >= floor, sure=sure)


@dataclass(frozen=True, eq=False)
class _Pair:
    """Both studies with the mean and spread of every K, and the decimal step in which all samples are written."""

    new: Study
    old: Study
    new_summary: Curve
    old_summary: Curve
    last_digit: float

    def ratio(self, *ends: tuple[Curve, int, float]) -> LogRatio:
        """As `log_ratio`, with the least standard error where the repeats of one end are all equal."""
        ratio = log_ratio(*ends)
        if ratio.degrees < 1 or not any(_no_spread(summary, k) for summary, k, _ in ends):
            return ratio
        rounding = sum((self.last_digit / float(summary.mean[summary.index(k)])) ** 2 / 12 for summary, k, _ in ends)
        least = max(LEAST_ERROR**2, rounding)
        if ratio.variance >= least:
            return ratio
        degrees = sum(float(summary.degrees[summary.index(k)]) for summary, k, _ in ends)
        return LogRatio(ratio.value, least, degrees)

    def baseline_changed(self, alpha: float) -> bool:
        k0 = self.new.baseline_k
        if k0 != self.old.baseline_k:
            return True
        ratio = self.ratio((self.new_summary, k0, 1.0), (self.old_summary, k0, -1.0))
        return ratio.degrees >= 1 and abs(ratio.value) > _quantile(ratio.degrees, alpha / 2) * ratio.error

    def regression(self, k: int, alpha: float, *, by_efficiency: bool) -> Regression:
        """The test at one K; a positive loss means slower: T up, or a rate down."""
        from scipy.special import stdtr

        sign = -1.0 if self.new.quantity.higher_is_better else 1.0
        ends = [(self.new_summary, k, sign), (self.old_summary, k, -sign)]
        if by_efficiency:
            ends += [(self.new_summary, self.new.baseline_k, -sign), (self.old_summary, self.old.baseline_k, sign)]
        ratio = self.ratio(*ends)
        quantity, loss = "E" if by_efficiency else "T", -math.expm1(-ratio.value)
        if ratio.degrees < 1:
            return Regression(k=k, tests=quantity, loss=loss, alpha=alpha)
        limit = _quantile(ratio.degrees, alpha) * ratio.error
        return Regression(
            k=k,
            tests=quantity,
            loss=loss,
            low=-math.expm1(-(ratio.value - limit)),
            p_value=float(stdtr(ratio.degrees, -ratio.value / ratio.error)) if ratio.error > 0 else None,
            alpha=alpha,
            detectable=-math.expm1(-(limit + _quantile(ratio.degrees, 1 - POWER) * ratio.error)),
            passed=ratio.value <= limit,
        )


def _regressions(
    new: Study, old: Study, workers: tuple[int, ...], false_alarm: float, *, by_efficiency: bool
) -> tuple[list[Regression], list[Finding]]:
    """The tests at every gated K, and which of them cannot be trusted."""
    common = [k for k in new.all_k if k in old.all_k and (not workers or k in workers)]
    if by_efficiency:  # E is 1 at the baseline by definition
        common = [k for k in common if k not in (new.baseline_k, old.baseline_k)]
        workers = tuple(k for k in workers if k not in (new.baseline_k, old.baseline_k))
    absent = [k for k in workers if k not in common]
    if absent or not common:
        raise InputError(
            Fault("a gated K was not measured in both studies", value=", ".join(map(str, absent)) or "no common K"),
            subject=f"{new.name} and {old.name}",
        )
    samples = np.concatenate([new.samples.values, old.samples.values])
    scaled = ((digits, samples * 10.0**digits) for digits in range(9))
    digits = next((d for d, values in scaled if np.all(np.abs(values - np.rint(values)) < 1e-6)), None)
    last_digit = 0.0 if digits is None else 10.0**-digits
    pair = _Pair(new, old, curve_of(new), curve_of(old), last_digit)
    changed = by_efficiency or pair.baseline_changed(BASELINE_SHARE * false_alarm)
    alpha = (1.0 - BASELINE_SHARE) * false_alarm / len(common)
    rows = [pair.regression(k, alpha, by_efficiency=changed and k != new.baseline_k) for k in common]
    findings = []
    single = [row.k for row in rows if row.passed is None]
    if len(single) == len(rows):  # a gate that tests nothing must not pass
        raise Refused("one sample per K: nothing can be tested; repeat 5 times")
    if single:
        message = f"K = {', '.join(map(str, single))} has one sample only and was not tested"
        findings.append(warning("not-tested", message, remedy="repeat 5 times", k=single))
    summaries = (pair.new_summary, pair.old_summary)
    equal = [row.k for row in rows if row.passed is not None and any(_no_spread(one, row.k) for one in summaries)]
    if equal:
        listed = ", ".join(map(str, equal))
        message = f"the repeats at K = {listed} are all equal: noise is taken as {LEAST_ERROR:.1%} or the last digit"
        findings.append(warning("no-spread", message, remedy="use a finer timer, or longer runs", k=equal))
    return rows, findings


def _no_spread(summary: Curve, k: int) -> bool:
    i = summary.index(k)
    return bool(summary.n[i] > 1 and summary.log_se[i] < 1e-9)


def _quantile(degrees: float, tail: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 1.0 - tail))


def first_check(study: StudyLike, baseline: str | Path, *, min_efficiency: Sequence[str] = ()) -> Gate:
    """The gate of a first push: floors only; the study is written to `baseline`, to compare the next ones with."""
    new = as_study(study)
    floors = parse_floors(min_efficiency)
    gate = (
        check(new, min_efficiency=floors)
        if floors
        else Gate(name=new.name, against=None, floors=(), regressions=(), false_alarm=FALSE_ALARM, findings=())
    )
    save(new, baseline)
    text = f"there was no baseline: this study is now the baseline, in {baseline}"
    made = info("baseline-made", text, remedy="keep the file: the next check compares with it")
    return replace(gate, findings=(made, *gate.findings))


def junit_of_error(problem: ScalecurveError) -> str:
    """A JUnit test suite that says why nothing could be checked."""
    from xml.sax.saxutils import quoteattr

    case = (
        f'  <testcase classname="scalecurve.check" name="study"><error message={quoteattr(str(problem))}/></testcase>'
    )
    head = '<testsuite name="scalecurve" tests="1" failures="0" errors="1" skipped="0">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, case, "</testsuite>", ""])


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
        if floor <= HIGHEST_FLOOR and k.strip().isdigit() and int(k) >= 1:
            floors[int(k)] = floor
        else:
            hint = f"write it like 0.8@8 or 80%@8, at most {HIGHEST_FLOOR:g}"
            faults.append(Fault("not an efficiency floor", value=item, remedy=hint))
    if faults:
        raise InputError(faults)
    return floors
