"""A law as a table of T, S and E with the answers that follow from it: ceiling, best K, the K that loses an efficiency.

`law_table` is the verb; below it stands one function for each law with its own answers.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scalecurve.document import Block, Document, Paragraph, Result, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding
from scalecurve.laws import amdahl, communication, stragglers
from scalecurve.laws.contract import Law
from scalecurve.units import WorkersLike, as_workers

MOST_CASES = 100
MOST_TABLES_SHOWN = 2
SMALLEST_FIXED, LARGEST_FIXED = 1e-3, 1e7
NONE = "none"

Numbers = float | Sequence[float]


@dataclass(frozen=True, kw_only=True)
class LawRow:
    """T, S and E at one K in units of T(1); None where the law has no answer."""

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
    """One conclusion from a law: `value` for programs, `text` for people; None where there is no answer."""

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

    def blocks(self) -> list[Block]:
        """The formula, the table and the answers."""
        blocks: list[Block] = [Paragraph(f"{self.title}: {self.formula}" + (f"; {self.label}" if self.label else ""))]
        if self.rows:
            with_work = any(row.work is not None for row in self.rows)
            lines: list[list[str | None]] = []
            for row in self.rows:
                cells = [None if value is None else _cell(value) for value in (row.time, row.speedup, row.efficiency)]
                work = [None if row.work is None else f"{row.work:.4g}"] if with_work else []
                lines.append([str(row.k), *cells, *work])
            blocks.append(table(["K", "T(K)", "S(K)", "E(K)", *(["work"] if with_work else [])], lines))
        if self.answers:
            blocks.append(Paragraph("\n".join(f"{answer.label}: {answer.text}" for answer in self.answers)))
        return blocks


@dataclass(frozen=True, kw_only=True, repr=False)
class LawTable(Result):
    """One law at one or more parameter sets."""

    law: str
    cases: tuple[LawCase, ...]
    findings: tuple[Finding, ...] = ()

    def __repr__(self) -> str:
        if len(self.cases) != 1:
            return f"<LawTable {self.law}, {len(self.cases)} parameter sets>"
        case = self.cases[0]
        parts = [case.label, *(f"{answer.label} {answer.text}" for answer in case.answers if "\n" not in answer.text)]
        return f"<LawTable {self.law}: {', '.join(part for part in parts if part)}>"

    def content(self) -> dict[str, Any]:
        if len(self.cases) == 1:
            return {"law": self.law, **self.cases[0].to_dict()}
        return {"law": self.law, "cases": [case.to_dict() for case in self.cases]}

    def records(self) -> list[dict[str, Any]]:
        """A row for each K of each case, with the case's regime (where there are two) and parameters."""
        return [
            {**({"regime": case.regime} if case.regime else {}), **case.parameters, **row.to_dict()}
            for case in self.cases
            for row in case.rows
        ]

    def body(self) -> Document:
        has_rows = any(case.rows for case in self.cases)
        if len(self.cases) == 1 or (len(self.cases) <= MOST_TABLES_SHOWN and has_rows):
            return Document(None, tuple(block for case in self.cases for block in case.blocks()))
        regimes = ["regime"] if len({case.regime for case in self.cases}) > 1 else []
        labels = list(dict.fromkeys(answer.label for case in self.cases for answer in case.answers))
        columns = [*regimes, *self.cases[0].parameters, *labels]
        rows = []
        for case in self.cases:
            texts = {answer.label: answer.text for answer in case.answers}
            own = [case.regime] if regimes else []
            rows.append([*own, *map(_number, case.parameters.values()), *map(texts.get, labels)])
        hint = Paragraph("--json and --csv give the rows of each case; one parameter set prints its rows.", "muted")
        formulas = dict.fromkeys(f"{case.title}: {case.formula}" for case in self.cases)
        answers = table(columns, rows, caption="\n".join(formulas))
        return Document(None, (answers, hint) if has_rows else (answers,))


def _cell(value: float) -> str:
    """Four decimals; as many digits in powers of ten where these would show nothing."""
    return f"{value:.4f}" if value == 0 or SMALLEST_FIXED <= value < LARGEST_FIXED else f"{value:.4g}"


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def law_table(
    name: str,
    workers: WorkersLike | None = "1..512",
    *,
    serial: Numbers | None = None,
    serial_scaled: Numbers | None = None,
    contention: Numbers | None = None,
    coherency: Numbers | None = None,
    comm: Numbers | None = None,
    growth: Numbers | str | None = None,
    spread: Numbers | None = None,
    speedups: Sequence[float] | None = None,
    below: float | None = None,
    serial_for_efficiency: float | None = None,
    hold: float | None = None,
    regime: str | None = None,
    serial_share: bool | None = None,
) -> LawTable:
    """A law's rows and answers: `law_table("amdahl", [1, 2, 4], serial=0.05, below=0.5)`.

    Several values of a parameter give one case for every combination; `workers` None gives the answers without rows.
    """
    arguments = {key: value for key, value in locals().items() if value is not None}
    options = {key: value for key, value in arguments.items() if key not in ("name", "workers")}
    if name not in TABLES:
        raise InputError(Fault("unknown law", value=name, remedy=f"one of {', '.join(TABLES)}"))
    accepted = dict(list(inspect.signature(TABLES[name]).parameters.items())[1:])
    remedy = f"it takes {', '.join(accepted)}"
    unknown = [key for key in options if key not in accepted]
    faults = [Fault(f"{name} has no such parameter", where=key, remedy=remedy) for key in unknown]
    faults += [
        Fault("parameter is missing", where=key, remedy=remedy)
        for key, parameter in accepted.items()
        if parameter.default is parameter.empty and key not in options
    ]
    if faults:
        raise InputError(faults, subject=f"law {name}")
    return TABLES[name](() if workers is None else as_workers(workers), **options)


def _cases(
    law: Law, workers: Sequence[int], parameters: Mapping[str, Numbers]
) -> Iterator[tuple[LawCase, dict[str, float]]]:
    """A case for every combination of parameter values, and these values."""
    axes = [value if isinstance(value, Iterable) else [value] for value in parameters.values()]
    sets = [dict(zip(parameters, values, strict=True)) for values in itertools.product(*axes)]
    if len(sets) > MOST_CASES:
        hint = f"at most {MOST_CASES} parameter sets at once"
        raise InputError(Fault("too many combinations", value=str(len(sets)), remedy=hint))
    for values in map(law.checked, sets):
        rows = []
        for k in workers:
            time, work = law.time(k, **values), law.work(k, **values)
            grown = None if law.work_ratio is None else work
            rows.append(LawRow(k=k, time=time, speedup=work / time, efficiency=work / time / k, work=grown))
        grows = law.work_ratio is not None
        yield LawCase(title=law.title, formula=law.formula, parameters=values, rows=tuple(rows), grows=grows), values


def amdahl_table(
    workers: Sequence[int],
    serial: Numbers | None = None,
    *,
    below: float | None = None,
    serial_for_efficiency: float | None = None,
) -> LawTable:
    """Ceiling and the first K with an efficiency below `below`; or the largest serial share that keeps one."""
    if serial_for_efficiency is not None:
        return _largest_serial(workers, serial_for_efficiency)
    if serial is None:
        raise InputError(Fault("parameter is missing", where="serial", remedy="give serial or serial_for_efficiency"))
    cases = []
    for case, values in _cases(amdahl.AMDAHL, workers, {"serial": serial}):
        top = amdahl.ceiling(values["serial"])
        answers = [Answer("ceiling", "ceiling 1/s", top, "no limit" if top is None else f"{top:g}")]
        if workers and top is not None:
            share = amdahl.share_of_ceiling(workers[-1], values["serial"])
            answers.append(Answer("share_of_ceiling", f"share of it at K = {workers[-1]}", share, f"{share:.1%}"))
        if below is not None:
            first = amdahl.first_k_below(values["serial"], below)
            doubling = None if first is None else 1 << (first - 1).bit_length()
            pairs = itertools.pairwise(workers)
            between = None if first is None else next(([a, b] for a, b in pairs if a < first <= b), None)
            words = NONE if between is None else f"{between[0]} and {between[1]}"
            answers += [
                Answer("first_k_below", f"first K with E < {below:g}", first, str(first or NONE)),
                Answer("first_doubling_below", "first power of two", doubling, str(doubling or NONE)),
                Answer("between", "between the table's K", between, words),
            ]
        cases.append(replace(case, answers=tuple(answers), ceiling=top))
    return LawTable(law="amdahl", cases=tuple(cases))


def _largest_serial(workers: Sequence[int], efficiency: float) -> LawTable:
    """Amdahl's law solved for the serial share."""
    rows = [{"k": k, "serial": amdahl.serial_for(efficiency, k)} for k in workers]
    texts = [f"K = {row['k']}: " + ("any" if row["serial"] is None else f"{row['serial']:.6f}") for row in rows]
    label = f"largest serial share with E >= {efficiency:g}"
    value = {"efficiency": efficiency, "rows": rows}
    answer = Answer("serial_for_efficiency", label, value, "\n  " + "\n  ".join(texts))
    formula = "s = (1/E - 1)/(K - 1)"
    case = LawCase(title=amdahl.AMDAHL.title, formula=formula, parameters={}, rows=(), answers=(answer,))
    return LawTable(law="amdahl", cases=(case,))


def logcomm_table(workers: Sequence[int], serial: Numbers, comm: Numbers, *, regime: str = "strong") -> LawTable:
    """The serial-plus-tree model under strong, weak or both regimes, with the K that minimises strong T."""
    regimes = {"strong": ["strong"], "weak": ["weak"], "both": ["strong", "weak"]}
    if regime not in regimes:
        raise InputError(Fault("unknown regime", value=regime, remedy=f"one of {', '.join(regimes)}"))
    cases, parameters = [], {"serial": serial, "comm": comm}
    if "strong" in regimes[regime]:
        for case, values in _cases(communication.LOGCOMM_STRONG, workers, parameters):
            best, closed = communication.best_k(**values), communication.best_k_closed_form(**values)
            doubling = communication.best_doubling(**values)
            answers = (
                Answer("optimum", "best K (strong)", best, "no optimum" if best is None else str(best)),
                Answer("optimum_closed_form", "(1-s) ln 2 / c", closed, NONE if closed is None else f"{closed:.2f}"),
                Answer("optimum_doubling", "best power of two", doubling, str(doubling or NONE)),
            )
            cases.append(replace(case, answers=answers, regime="strong"))
    if "weak" in regimes[regime]:
        cancels = Answer("serial_identifiable", "serial share", False, "cancels, so weak scaling cannot determine it")
        weak = _cases(communication.LOGCOMM_WEAK, workers, parameters)
        cases += [replace(case, answers=(cancels,), regime="weak") for case, _ in weak]
    return LawTable(law="logcomm", cases=tuple(cases))


def usl_table(workers: Sequence[int], contention: Numbers, coherency: Numbers = 0.0) -> LawTable:
    """The K of highest throughput and the largest speedup."""
    cases = []
    for case, values in _cases(communication.USL, workers, {"contention": contention, "coherency": coherency}):
        peak, top = communication.peak_k(**values), communication.largest_speedup(**values)
        words = "never falls" if peak is None else f"{peak:.2f}" + (", below 1: use one worker" if peak < 1 else "")
        limit = Answer("limit", "largest S", top, "no limit" if top is None else f"{top:.4g}")
        cases.append(replace(case, answers=(Answer("peak_k", "peak K", peak, words), limit)))
    return LawTable(law="usl", cases=tuple(cases))


def gustafson_table(workers: Sequence[int], serial_scaled: Numbers) -> LawTable:
    """Scaled speedup, and the serial share that Amdahl's law would need at the largest K."""
    cases = []
    for case, values in _cases(amdahl.GUSTAFSON, workers, {"serial_scaled": serial_scaled}):
        if workers:
            serial = amdahl.serial_from_scaled(values["serial_scaled"], workers[-1])
            label = f"Amdahl's serial share if f was measured at K = {workers[-1]}"
            case = replace(case, answers=(Answer("amdahl_serial", label, serial, f"{serial:.6g}"),))
        cases.append(case)
    return LawTable(law="gustafson", cases=tuple(cases))


def sun_ni_table(workers: Sequence[int], serial: Numbers, growth: Numbers) -> LawTable:
    """As K grows, S tends to 1/s for growth 0, to a share of K for growth 1, and to K beyond it."""
    cases = []
    for case, values in _cases(amdahl.SUN_NI, workers, {"serial": serial, "growth": growth}):
        answer = Answer("ceiling", "ceiling", None, "none, because the work grows with K")
        if values["growth"] == 0:
            top = amdahl.ceiling(values["serial"])
            answer = Answer("ceiling", "ceiling 1/s", top, "no limit" if top is None else f"{top:g}")
        cases.append(replace(case, answers=(answer,)))
    return LawTable(law="sun-ni", cases=tuple(cases))


def stragglers_table(workers: Sequence[int], spread: Numbers) -> LawTable:
    """The expected slowest of K, in means of one worker."""
    cases = []
    for case, values in _cases(stragglers.STRAGGLERS, workers, {"spread": spread}):
        if workers:
            slowest = stragglers.lognormal_maximum(workers[-1], values["spread"])
            answer = Answer("slowest", f"slowest of {workers[-1]}, in means", slowest, f"{slowest:.4f}")
            case = replace(case, answers=(answer,))
        cases.append(case)
    return LawTable(law="stragglers", cases=tuple(cases))


def isoefficiency_table(
    workers: Sequence[int], serial: float, comm: float, hold: float, *, growth: str = "log", serial_share: bool = False
) -> LawTable:
    """Work per worker that holds an efficiency; with `serial_share`, the serial part is a share of the work."""
    parameters = communication.LOGCOMM_STRONG.checked({"serial": serial, "comm": comm})
    amdahl.check_efficiency(hold)
    exchange = communication.growth_function(growth)
    least_work = communication.work_with_serial_share if serial_share else communication.work_per_worker
    rows = []
    for k in workers:
        work = least_work(k, serial, comm, hold, growth)
        if work is None:
            rows.append(LawRow(k=k, time=None, speedup=None, efficiency=None, work=None))
            continue
        useful, lost = (work, serial * work * (k - 1)) if serial_share else (work + serial, 0.0)
        time = useful + lost + comm * exchange(k)
        efficiency = useful / time if time > 0 else 1.0
        rows.append(LawRow(k=k, time=time, speedup=k * efficiency, efficiency=efficiency, work=work))
    last = communication.last_k_with_serial_share(serial, hold) if serial_share else None
    missing = [row.k for row in rows if row.work is None]
    answers: tuple[Answer, ...] = ()
    if last is not None:
        text = f"beyond K = {last:.4g} no amount of work holds E = {hold:g}: there is no isoefficiency function"
        answers = (Answer("last_k", "limit", last, text),)
    elif missing:
        counts = ", ".join(map(str, missing))
        text = f"no amount of work holds E = {hold:g} at K = {counts}: communication always costs something"
        answers = (Answer("no_answer", "no answer", missing, text),)
    elif rows:
        answers = (
            Answer("work_per_worker", f"work per worker at K = {rows[-1].k}", rows[-1].work, f"{rows[-1].work:.4g}"),
        )
    grown = "log2 K" if growth == "log" else "K"
    case = LawCase(
        title="Isoefficiency",
        formula=f"w(K) = c {grown}/(1/E - 1 - s (K-1))" if serial_share else f"w(K) = E/(1-E) c {grown} - s",
        parameters={**parameters, "hold": hold, "growth": growth},
        rows=tuple(rows),
        answers=answers,
        grows=True,
    )
    return LawTable(law="isoefficiency", cases=(case,))


def karp_flatt_table(workers: Sequence[int], speedups: Sequence[float]) -> LawTable:
    """The serial share that would explain each speedup."""
    if len(workers) != len(speedups):
        counts = f"{len(workers)} and {len(speedups)}"
        hint = "--workers 2,4,8 --speedups 1.9,3.5,6"
        raise InputError(Fault("give one speedup for each K", value=counts, remedy=hint))
    rows, shares, lines = [], [], []
    for k, speedup in zip(workers, speedups, strict=True):
        share = amdahl.serial_fraction(k, speedup)
        rows.append(LawRow(k=k, time=1.0 / speedup, speedup=speedup, efficiency=speedup / k))
        shares.append({"k": k, "serial": share})
        note = " (below 0: superlinear, or a weak baseline)" if share is not None and share < 0 else ""
        lines.append(f"\n  K = {k}: " + ("not defined" if share is None else f"{share:.6f}{note}"))
    case = LawCase(
        title="Karp-Flatt metric",
        formula="e = (1/S - 1/K)/(1 - 1/K)",
        parameters={},
        rows=tuple(rows),
        answers=(Answer("serial_fraction", "serial share", shares, "".join(lines)),),
    )
    return LawTable(law="karp-flatt", cases=(case,))


TABLES: dict[str, Callable[..., LawTable]] = {
    "amdahl": amdahl_table,
    "gustafson": gustafson_table,
    "isoefficiency": isoefficiency_table,
    "karp-flatt": karp_flatt_table,
    "logcomm": logcomm_table,
    "stragglers": stragglers_table,
    "sun-ni": sun_ni_table,
    "usl": usl_table,
}
