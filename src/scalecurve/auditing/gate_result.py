"""What a gate found: one line for people, rows for machines, JUnit for dashboards."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from scalecurve.document import Block, Cell, Document, FindingList, Paragraph, Shown, table
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding

MARKS = {True: Cell("ok", "good"), False: Cell("FAIL", "bad"), None: Cell("-")}
JUNIT = {True: "", None: "<skipped/>"}


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
        what = "loss of speed" if self.tests == "T" else "loss of efficiency"
        if self.detectable is None:
            return f"K = {self.k}: {self.loss:+.1%} {what}, one sample only: not tested"
        seen = f"smallest loss it could have seen {self.detectable:.1%}"
        if self.passed:
            return f"K = {self.k}: no {what} beyond noise ({self.loss:+.1%}; {seen})"
        chance = "" if self.p_value is None else f"p = {self.p_value:.2g}; "
        return f"K = {self.k}: {self.loss:.1%} {what}, beyond noise ({chance}{seen})"

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "regression", **asdict(self)}


@dataclass(frozen=True, kw_only=True)
class Gate(Shown):
    """All that was gated; it passes when everything does."""

    name: str
    against: str | None
    floors: tuple[Floor, ...]
    regressions: tuple[Regression, ...]
    false_alarm: float
    findings: tuple[Finding, ...]

    @property
    def checks(self) -> tuple[Floor | Regression, ...]:
        return (*self.floors, *self.regressions)

    @property
    def passed(self) -> bool:
        return all(each.passed is not False for each in self.checks)

    @property
    def line(self) -> str:
        """The gate in one line."""
        failed = [str(each) for each in self.checks if each.passed is False]
        if failed:
            return f"FAIL {self.name}: {'; '.join(failed)}"
        seen = [row.detectable for row in self.regressions if row.detectable is not None]
        tested = sum(each.passed is not None for each in self.checks)
        extra = f"; a loss of {max(seen):.1%} at one K would have been seen" if seen else ""
        return f"PASS {self.name}: {tested} check{'' if tested == 1 else 's'}{extra}"

    def records(self) -> list[dict[str, Any]]:
        names = ("kind", "k", "passed", "tests", "loss", "detectable", "p_value", "alpha", "floor", "efficiency")
        return [{name: each.to_dict().get(name) for name in names} for each in self.checks]

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "against": self.against,
            "passed": self.passed,
            "line": self.line,
            "false_alarm": self.false_alarm,
            "checks": [each.to_dict() for each in self.checks],
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def document(self) -> Document:
        rows = [(MARKS[each.passed], str(each)) for each in self.checks]
        head = f"Identical code fails in at most {self.false_alarm:.0%} of invocations." if self.regressions else ""
        blocks: list[Block] = [Paragraph(self.line, "good" if self.passed else "bad"), table(["", "check"], rows)]
        return Document(None, (*blocks, *([Paragraph(head)] if head else []), FindingList(self.findings)))

    def junit(self) -> str:
        """The checks as a JUnit test suite."""
        from xml.sax.saxutils import escape, quoteattr

        cases = []
        for each in self.checks:
            kind = each.to_dict()["kind"]
            failed = f"<failure message={quoteattr(str(each))}/>"
            body = failed if each.passed is False else JUNIT[each.passed]
            output = f"<system-out>{escape(str(each))}</system-out>"
            cases.append(f'  <testcase classname="scalecurve.{kind}" name="K={each.k}">{body}{output}</testcase>')
        failures = sum(each.passed is False for each in self.checks)
        skipped = sum(each.passed is None for each in self.checks)
        counts = f'tests="{len(cases)}" failures="{failures}" skipped="{skipped}"'
        head = f"<testsuite name={quoteattr(self.name)} {counts}>"
        return '<?xml version="1.0" encoding="UTF-8"?>\n' + "\n".join([head, *cases, "</testsuite>"]) + "\n"
