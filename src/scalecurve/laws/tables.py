"""A law as a table and answers, for one or several parameter sets."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scalecurve.document import Block, Cell, Column, Document, Paragraph, Shown, Table, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding
from scalecurve.laws.law import Law

MOST_CASES = 100
MOST_TABLES_SHOWN = 2
LARGEST_FIXED = 1e7


@dataclass(frozen=True, kw_only=True)
class LawRow:
    """T, S and E at one K in units of T(1); None where the law has no answer there."""

    k: int
    time: float | None
    speedup: float | None
    efficiency: float | None
    work: float | None = None

    def to_dict(self) -> dict[str, Any]:
        row = {"k": self.k, "time": self.time, "speedup": self.speedup, "efficiency": self.efficiency}
        return row if self.work is None else row | {"work": self.work}


@dataclass(frozen=True)
class Answer:
    """One thing a law says: `value` for programs, `text` for people; None where there is no answer."""

    name: str
    label: str
    value: Any
    text: str


@dataclass(frozen=True, kw_only=True)
class LawCase:
    """A law at one parameter set; `grows` says that the work grows with K, so the weak plot applies."""

    title: str
    formula: str
    parameters: Mapping[str, float | str]
    rows: tuple[LawRow, ...]
    answers: tuple[Answer, ...] = ()
    grows: bool = False
    ceiling: float | None = None
    regime: str | None = None

    @property
    def label(self) -> str:
        return ", ".join(f"{name} {_number(value)}" for name, value in self.parameters.items())

    def to_dict(self) -> dict[str, Any]:
        return {
            **({"regime": self.regime} if self.regime else {}),
            "parameters": dict(self.parameters),
            "rows": [row.to_dict() for row in self.rows],
            "answers": {answer.name: answer.value for answer in self.answers},
        }


@dataclass(frozen=True, kw_only=True)
class LawTable(Shown):
    """One law, one or more parameter sets."""

    law: str
    cases: tuple[LawCase, ...]
    findings: tuple[Finding, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        if len(self.cases) == 1:
            return {"law": self.law, **self.cases[0].to_dict()}
        return {"law": self.law, "cases": [case.to_dict() for case in self.cases]}

    def records(self) -> list[dict[str, Any]]:
        return [{**case.parameters, **row.to_dict()} for case in self.cases for row in case.rows]

    def document(self) -> Document:
        if len(self.cases) <= MOST_TABLES_SHOWN and any(case.rows for case in self.cases):
            return Document(None, tuple(block for case in self.cases for block in _case_blocks(case)))
        if len(self.cases) == 1:
            return Document(None, tuple(_case_blocks(self.cases[0])))
        hint = "The rows of each case: --json or --csv, or ask for one parameter set."
        rows_left_out = (Paragraph(hint, "muted"),) if any(case.rows for case in self.cases) else ()
        return Document(None, (_answers_table(self.cases), *rows_left_out))


AnswerMaker = Callable[[dict[str, float], Sequence[LawRow]], tuple[Answer, ...]]


def tabulate_cases(
    law: Law,
    workers: Sequence[int],
    parameters: Mapping[str, Sequence[float]],
    answers: AnswerMaker,
    **shown: Any,
) -> tuple[LawCase, ...]:
    """A case for every combination of parameter values."""
    sets = [dict(zip(parameters, values, strict=True)) for values in itertools.product(*parameters.values())]
    if len(sets) > MOST_CASES:
        hint = f"at most {MOST_CASES} parameter sets at once"
        raise InputError(Fault("too many combinations", seen=str(len(sets)), remedy=hint))
    return tuple(_case(law, workers, law.checked(given), answers, shown) for given in sets)


def _case(
    law: Law, workers: Sequence[int], parameters: dict[str, float], answers: AnswerMaker, shown: Mapping[str, Any]
) -> LawCase:
    rows = tuple(law_row(law, k, parameters) for k in workers)
    return LawCase(
        title=law.title,
        formula=law.formula,
        parameters=parameters,
        rows=rows,
        answers=answers(parameters, rows),
        grows=law.work_ratio is not None,
        **{name: value(parameters) if callable(value) else value for name, value in shown.items()},
    )


def law_row(law: Law, k: int, parameters: Mapping[str, float]) -> LawRow:
    time = law.time_ratio(k, **parameters)
    work = 1.0 if law.work_ratio is None else law.work_ratio(k, **parameters)
    speedup = work / time
    shown = None if law.work_ratio is None else work
    return LawRow(k=k, time=time, speedup=speedup, efficiency=speedup / k, work=shown)


def _case_blocks(case: LawCase) -> list[Block]:
    head = f"{case.title}: {case.formula}" + (f"; {case.label}" if case.parameters else "")
    blocks: list[Block] = [Paragraph(head)]
    if case.rows:
        blocks.append(_rows_table(case))
    if case.answers:
        blocks.append(Paragraph("\n".join(f"{answer.label}: {answer.text}" for answer in case.answers)))
    return blocks


def _rows_table(case: LawCase) -> Table:
    with_work = any(row.work is not None for row in case.rows)
    columns = ["K", "T(K)", "S(K)", "E(K)"] + (["work"] if with_work else [])
    return table(columns, [_row_cells(row, with_work=with_work) for row in case.rows])


def _row_cells(row: LawRow, *, with_work: bool) -> list[Cell | str | None]:
    cells: list[Cell | str | None] = [str(row.k)]
    cells += [None if value is None else _fixed(value) for value in (row.time, row.speedup, row.efficiency)]
    return [*cells, None if row.work is None else f"{row.work:.4g}"] if with_work else cells


def _fixed(value: float) -> str:
    return f"{value:.4f}" if value < LARGEST_FIXED else f"{value:.5g}"


def _answers_table(cases: Sequence[LawCase]) -> Table:
    names = list(cases[0].parameters)
    labels = [Column(answer.label) for answer in cases[0].answers]
    rows = [
        [_number(case.parameters[name]) for name in names] + [answer.text for answer in case.answers] for case in cases
    ]
    return table([*names, *labels], rows, caption=f"{cases[0].title}: {cases[0].formula}")


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"
