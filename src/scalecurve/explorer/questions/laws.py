"""The Laws view: one system under the strong and under the weak question, side by side.

A page without a server computes the same formulas in JavaScript (`laws_script`); a test compares the two over a grid.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import Field

import scalecurve as sc
from scalecurve.explorer.questions.question import Question, Request, doublings, table_of
from scalecurve.laws import ceiling, every_law, law
from scalecurve.laws.tables import LawCase, LawTable

CURVE_POINTS = 96


class LawRequest(Request):
    """A serial fraction, a communication coefficient, and how far to look."""

    serial: float = Field(0.05, ge=0, le=1, description="serial share s of the time at K = 1")
    comm: float = Field(0.01, ge=0, le=1, description="communication per doubling of K, as a share of T(1)")
    largest: int = Field(128, ge=2, le=1_048_576, description="largest K")
    hold: float = Field(0.8, gt=0, lt=1, description="the efficiency to hold")

    @property
    def first_below(self) -> int | None:
        """The first K whose strong E, which falls with K, is below the one to hold; None up to the largest."""
        low, high = 1, self.largest
        if self._efficiency(high) >= self.hold:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._efficiency(middle) < self.hold else (middle, high)
        return high

    def _efficiency(self, k: int) -> float:
        return law("logcomm").efficiency(k, serial=self.serial, comm=self.comm)


def answer(request: LawRequest) -> dict[str, Any]:
    """Rows, answers and the commands that print them; the tiles are about the system of the chart."""
    s, c, hold, largest = request.serial, request.comm, request.hold, request.largest
    first = request.first_below
    best = sc.laws.law_table("logcomm", [1], serial=[s], comm=[c]).cases[0].answers[0].value
    special = {k for k in (best, first, first and first - 1) if k is not None and 1 <= k <= largest}
    workers = sorted(set(doublings(largest)) | special)
    steps = range(CURVE_POINTS + 1)  # whole K, evenly apart on a logarithmic axis
    dense = sorted({round(largest ** (step / CURVE_POINTS)) for step in steps} | set(workers))
    strong, weak = sc.laws.law_table("logcomm", workers, serial=[s], comm=[c], regime="both").cases
    curves = sc.laws.law_table("logcomm", dense, serial=[s], comm=[c], regime="both").cases
    ceiling = sc.laws.law_table("amdahl", None, serial=[s]).cases[0].answers[0]
    held = sc.laws.law_table("isoefficiency", workers, serial=s, comm=c, hold=hold)
    last, loose = strong.rows[-1], weak.rows[-1]
    most = max(strong.rows, key=lambda row: row.speedup or 0.0)
    peak = (
        f"fastest at K = {most.k}" if best is not None and best <= largest else f"still getting faster at K = {largest}"
    )
    settings = f"--serial {s!r} --comm {c!r} --workers {','.join(map(str, workers))}"
    below = f"none up to K = {largest}" if first is None else str(first)
    fixed, growing = law("logcomm"), law("logcomm-weak")
    return {
        "strong": {"rows": [row.to_dict() for row in curves[0].rows], "table": _case_table(strong)},
        "weak": {"rows": [row.to_dict() for row in curves[1].rows], "table": _case_table(weak)},
        "isoefficiency": {"rows": held.records(), "table": _case_table(held.cases[0])},
        "optimum": best,
        "ceiling": ceiling.value,
        "first_below": first,
        "tiles": [
            ["best K (strong)", strong.answers[0].text],
            ["S there" if best is not None and best <= largest else f"S at K = {most.k}", f"{most.speedup:.2f}"],
            [f"first K with E < {hold:g} (strong)", below],
            [f"strong E at K = {last.k}", f"{last.efficiency:.3f}"],
            [f"weak E at K = {loose.k}", f"{loose.efficiency:.3f}"],
            ["ceiling 1/s, without communication", ceiling.text],
        ],
        "sentences": [
            f"The same system at K = {last.k}: asked to finish a fixed job sooner it reaches S = {last.speedup:.2f}, "
            f"E = {last.efficiency:.3f}; asked to do {loose.k} times the work it keeps E = {loose.efficiency:.3f}.",
            f"The fixed job is {peak}, S = {most.speedup:.2f}; under the second question only communication costs.",
        ],
        "formula": (
            f"strong: {strong.formula} = {fixed.time_ratio.numbers(K=last.k, serial=s, comm=c)} = {last.time:.4f}\n"
            f"weak:   {weak.formula} = {growing.time_ratio.numbers(K=last.k, comm=c)} = {loose.time:.4f}"
        ),
        "commands": [
            f"scalecurve law logcomm {settings} --regime both",
            f"scalecurve law amdahl --serial {s!r}",
            f"scalecurve law isoefficiency {settings} --hold {hold!r}",
        ],
    }


def laws_script() -> str:
    """The module laws.js of the page: T(K)/T(1) of every law that JavaScript can compute, its formula in words, and the
    training ceiling."""
    known = {law.name: law.time_ratio for law in every_law() if law.time_ratio.javascript}
    lines = [
        f'  "{name}": (/** @type {{any}} */ {{ {", ".join(sorted(ratio.names | {"K"}))} }}) => {ratio.javascript},'
        for name, ratio in known.items()
    ]
    words = json.dumps({name: ratio.words for name, ratio in known.items()})
    return "\n".join(
        [
            "// @ts-check",
            "/** @type {Record<string, (values: any) => number>} */",
            "export const TIME = {",
            *lines,
            "};",
            "/** @type {Record<string, string>} */",
            f"export const WORDS = {words};",
            ceiling.script(),
        ]
    )


def _case_table(case: LawCase) -> dict[str, Any]:
    return table_of(LawTable(law="", cases=(case,)).document())


QUESTIONS = {"laws": Question("One system under the strong and the weak question.", LawRequest, answer)}
