"""The Laws view: one system under the strong and under the weak question, side by side."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from scalecurve.document import Table
from scalecurve.explorer.documents import table_data
from scalecurve.explorer.questions.question import Question, Request
from scalecurve.laws.tables import LawCase, LawTable, law_table

CURVE_POINTS = 96


class LawRequest(Request):
    """A serial fraction, a communication coefficient, and how far to look."""

    serial: float = Field(0.05, ge=0, le=1, description="serial share s of the time at K = 1")
    comm: float = Field(0.01, ge=0, le=1, description="communication per doubling of K, as a share of T(1)")
    largest: int = Field(128, ge=2, le=1_048_576, description="largest K")
    hold: float = Field(0.8, gt=0, lt=1, description="the efficiency to hold")


def answer(asked: LawRequest) -> dict[str, Any]:
    doublings = _doublings(asked.largest)
    tables = _logcomm(asked, doublings)
    curves = _logcomm(asked, _dense(asked.largest))
    amdahl = law_table("amdahl", doublings, serial=[asked.serial], below=asked.hold)
    held = law_table("isoefficiency", doublings, serial=asked.serial, comm=asked.comm, hold=asked.hold)
    strong, weak = tables.cases
    return {
        "strong": {"rows": [row.to_dict() for row in curves.cases[0].rows], "table": _table(strong)},
        "weak": {"rows": [row.to_dict() for row in curves.cases[1].rows], "table": _table(weak)},
        "isoefficiency": {"rows": held.records(), "table": _table(held.cases[0])},
        "answers": {**_answers(amdahl.cases[0]), **_answers(strong)},
        "sentences": _sentences(asked, strong, weak, amdahl.cases[0]),
        "formula": _formula(asked, strong, weak),
        "commands": _commands(asked),
    }


def _logcomm(asked: LawRequest, workers: list[int]) -> LawTable:
    return law_table("logcomm", workers, serial=[asked.serial], comm=[asked.comm], regime="both")


def _doublings(largest: int) -> list[int]:
    return [*(1 << power for power in range(largest.bit_length() - 1)), largest]


def _dense(largest: int) -> list[int]:
    """Whole K, evenly apart on a logarithmic axis."""
    steps = range(CURVE_POINTS + 1)
    return sorted({round(largest ** (step / CURVE_POINTS)) for step in steps} | set(_doublings(largest)))


def _table(case: LawCase) -> dict[str, Any]:
    shown = LawTable(law="", cases=(case,)).document().blocks
    return next(table_data(block) for block in shown if isinstance(block, Table))


def _answers(case: LawCase) -> dict[str, Any]:
    return {each.name: {"label": each.label, "value": each.value, "text": each.text} for each in case.answers}


def _sentences(asked: LawRequest, strong: LawCase, weak: LawCase, amdahl: LawCase) -> list[str]:
    last, loose = strong.rows[-1], weak.rows[-1]
    best = next(each for each in strong.answers if each.name == "optimum")
    top = next(each for each in amdahl.answers if each.name == "ceiling")
    peak = "more workers always help a little" if best.value is None else f"the fixed job is fastest at K = {best.text}"
    ceiling = "without a ceiling" if top.value is None else f"and never beats Amdahl's ceiling of {top.text}"
    return [
        f"The same system at K = {last.k}: asked to finish a fixed job sooner it reaches {last.speedup:.1f} times the "
        f"speed, an efficiency of {last.efficiency:.1%}; asked to do {loose.k} times the work it keeps "
        f"{loose.efficiency:.1%}.",
        f"Under the first question {peak} {ceiling}; under the second only communication costs anything.",
    ]


def _formula(asked: LawRequest, strong: LawCase, weak: LawCase) -> str:
    k, s, c = strong.rows[-1].k, asked.serial, asked.comm
    first = f"strong: {strong.formula} = {s:g} + {1 - s:g}/{k} + {c:g} log2({k}) = {strong.rows[-1].time:.4f}"
    second = f"weak:   {weak.formula} = 1 + {c:g} log2({k}) = {weak.rows[-1].time:.4f}"
    return f"{first}\n{second}"


def _commands(asked: LawRequest) -> list[str]:
    settings = (
        f"--serial {asked.serial:g} --comm {asked.comm:g} --workers {','.join(map(str, _doublings(asked.largest)))}"
    )
    return [
        f"scalecurve law logcomm {settings} --regime both",
        f"scalecurve law amdahl --serial {asked.serial:g} --below {asked.hold:g}",
        f"scalecurve law isoefficiency {settings} --hold {asked.hold:g}",
    ]


QUESTIONS = {"laws": Question("One system under the strong and the weak question.", LawRequest, answer)}
