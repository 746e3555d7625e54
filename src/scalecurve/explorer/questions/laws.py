"""The Laws view: one system under the strong and under the weak question, side by side."""

from __future__ import annotations

from typing import Any

from pydantic import Field

import scalecurve as sc
from scalecurve.explorer.questions.question import Question, Request, doublings, table_of
from scalecurve.laws.tables import LawCase, LawTable

CURVE_POINTS = 96


class LawRequest(Request):
    """A serial fraction, a communication coefficient, and how far to look."""

    serial: float = Field(0.05, ge=0, le=1, description="serial share s of the time at K = 1")
    comm: float = Field(0.01, ge=0, le=1, description="communication per doubling of K, as a share of T(1)")
    largest: int = Field(128, ge=2, le=1_048_576, description="largest K")
    hold: float = Field(0.8, gt=0, lt=1, description="the efficiency to hold")


def answer(request: LawRequest) -> dict[str, Any]:
    s, c, hold = request.serial, request.comm, request.hold
    workers = doublings(request.largest)
    steps = range(CURVE_POINTS + 1)  # whole K, evenly apart on a logarithmic axis
    dense = sorted({round(request.largest ** (step / CURVE_POINTS)) for step in steps} | set(workers))
    strong, weak = sc.laws.law_table("logcomm", workers, serial=[s], comm=[c], regime="both").cases
    curves = sc.laws.law_table("logcomm", dense, serial=[s], comm=[c], regime="both").cases
    amdahl = sc.laws.law_table("amdahl", workers, serial=[s], below=hold).cases[0]
    held = sc.laws.law_table("isoefficiency", workers, serial=s, comm=c, hold=hold)
    last, loose = strong.rows[-1], weak.rows[-1]
    best = next(item for item in strong.answers if item.name == "optimum")
    top = next(item for item in amdahl.answers if item.name == "ceiling")
    peak = "more workers always help a little" if best.value is None else f"the fixed job is fastest at K = {best.text}"
    ceiling = "without a ceiling" if top.value is None else f"and never beats Amdahl's ceiling of {top.text}"
    settings = f"--serial {s:g} --comm {c:g} --workers {','.join(map(str, workers))}"
    return {
        "strong": {"rows": [row.to_dict() for row in curves[0].rows], "table": _case_table(strong)},
        "weak": {"rows": [row.to_dict() for row in curves[1].rows], "table": _case_table(weak)},
        "isoefficiency": {"rows": held.records(), "table": _case_table(held.cases[0])},
        "answers": {
            item.name: {"label": item.label, "value": item.value, "text": item.text}
            for item in (*amdahl.answers, *strong.answers)
        },
        "sentences": [
            f"The same system at K = {last.k}: asked to finish a fixed job sooner it reaches {last.speedup:.1f} times "
            f"the speed, an efficiency of {last.efficiency:.1%}; asked to do {loose.k} times the work it keeps "
            f"{loose.efficiency:.1%}.",
            f"Under the first question {peak} {ceiling}; under the second only communication costs anything.",
        ],
        "formula": (
            f"strong: {strong.formula} = {s:g} + {1 - s:g}/{last.k} + {c:g} log2({last.k}) = {last.time:.4f}\n"
            f"weak:   {weak.formula} = 1 + {c:g} log2({last.k}) = {loose.time:.4f}"
        ),
        "commands": [
            f"scalecurve law logcomm {settings} --regime both",
            f"scalecurve law amdahl --serial {s:g} --below {hold:g}",
            f"scalecurve law isoefficiency {settings} --hold {hold:g}",
        ],
    }


def _case_table(case: LawCase) -> dict[str, Any]:
    return table_of(LawTable(law="", cases=(case,)).document())


QUESTIONS = {"laws": Question("One system under the strong and the weak question.", LawRequest, answer)}
