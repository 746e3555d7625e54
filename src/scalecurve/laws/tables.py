"""A law as a table of T, S and E with the answers that follow from it: ceiling, best K, the K that loses an efficiency.

`law_table` is the verb; `ANSWERS` holds what single laws say in closed form.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scalecurve.document import MEASURE_NEXT, Answer, Block, Document, Paragraph, Result, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding
from scalecurve.laws import LAW_NAMES, amdahl, communication, every_law, stragglers
from scalecurve.laws import law as law_named
from scalecurve.laws.contract import Law
from scalecurve.units import WorkersLike, as_workers
from scalecurve.words import limit_words, percent

MOST_CASES = 100
MOST_TABLES_SHOWN = 2
MOST_LISTED = 6
SMALLEST_FIXED, LARGEST_FIXED = 1e-3, 1e7
NONE = "none"
WORTH_USING = 0.7
ASKED = ("karp-flatt", "isoefficiency")  # what they are asked is the decision, not the last K
DOUBLINGS = [1 << step for step in range(21)]

Numbers = float | Sequence[float]


@dataclass(frozen=True, kw_only=True)
class LawRow:
    """T, S and E at one K in units of T(1); None where the law has no answer.  `largest_serial` is the largest serial
    share that keeps the efficiency asked about."""

    k: int
    time: float | None
    speedup: float | None
    efficiency: float | None
    work: float | None = None
    largest_serial: float | None = None

    def to_dict(self) -> dict[str, Any]:
        row = {"k": self.k, "time": self.time, "speedup": self.speedup, "efficiency": self.efficiency}
        extra = {"work": self.work, "largest_serial": self.largest_serial}
        return row | {name: value for name, value in extra.items() if value is not None}

    def cells(self, with_work: bool, with_share: bool) -> list[str | None]:
        """The row as printed."""
        ratios = [None if value is None else _cell(value) for value in (self.time, self.speedup, self.efficiency)]
        work = [None if self.work is None else f"{self.work:.4g}"] if with_work else []
        share = [None if self.largest_serial is None else f"{self.largest_serial:.6f}"] if with_share else []
        return [str(self.k), *ratios, *work, *share]


@dataclass(frozen=True)
class LawAnswer:
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
    answers: tuple[LawAnswer, ...] = ()
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

    def with_largest_serial(self, efficiency: float) -> LawCase:
        """The case with the largest serial share that keeps this efficiency at each K."""
        kept = (replace(row, largest_serial=amdahl.serial_for(efficiency, row.k)) for row in self.rows)
        return replace(self, rows=tuple(kept))

    def summary(self, labels: Sequence[str]) -> list[str | None]:
        """The case as one row: regime, parameters, and its answers under these labels."""
        texts = {answer.label: answer.text for answer in self.answers}
        return [self.regime, *map(_number, self.parameters.values()), *map(texts.get, labels)]

    def blocks(self) -> list[Block]:
        """The formula, the table and the answers."""
        title = self.title + (f", {self.regime} scaling" if self.regime else "")
        blocks: list[Block] = [Paragraph(f"{title}: {self.formula}" + (f"; {self.label}" if self.label else ""))]
        if self.rows:
            with_work = any(row.work is not None for row in self.rows)
            with_share = any(row.largest_serial is not None for row in self.rows)
            heads = [
                "K",
                "T(K)",
                "S(K)",
                "E(K)",
                *(["work"] if with_work else []),
                *(["largest serial"] if with_share else []),
            ]
            blocks.append(table(heads, [row.cells(with_work, with_share) for row in self.rows]))
        if self.answers:
            blocks.append(Paragraph("\n".join(f"{answer.label}: {answer.text}" for answer in self.answers)))
        return blocks


@dataclass(frozen=True, kw_only=True, repr=False)
class LawTable(Result):
    """One law at one or more parameter sets."""

    law: str
    cases: tuple[LawCase, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def answer(self) -> Answer | None:
        case, *others = [case for case in self.cases if case.regime != "weak"] or self.cases
        said = [answer for answer in case.answers if "\n" not in answer.text]
        follows = f"{said[0].label}: {said[0].text}." if said else None
        if follows is None and case.answers:  # a list over K: its last line
            follows = f"{case.answers[0].label}, {case.answers[0].text.split(chr(10))[-1].strip()}."
        if others or not case.rows:
            decision = f"{case.title}: {follows}" if not others else self._decision_of_many((case, *others))
            return Answer(
                decision=decision.replace(": None", "."),
                next="`SAME --verbose` shows all rows" if others else f"measure T(K): {MEASURE_NEXT}",
            )
        if all(row.efficiency is None for row in case.rows):
            return Answer(decision=f"{case.title}: {follows}", next=f"measure T(K): {MEASURE_NEXT}")
        decision = self._decision(case)
        return Answer(
            decision=decision,
            reason=follows and f"{follows[0].upper()}{follows[1:]}" if self.law not in ASKED else None,
            next=self._following(case),
        )

    @staticmethod
    def _decision_of_many(cases: Sequence[LawCase]) -> str:
        """Up to which K each parameter set is worth using, or the range of the first answer."""
        if all(row.efficiency is not None for case in cases for row in case.rows) and cases[0].rows:
            ends = [max((r.k for r in case.rows if (r.efficiency or 0.0) >= WORTH_USING), default=1) for case in cases]
            shown = ", ".join(f"{end:,}" for end in ends) if len(ends) <= MOST_LISTED else f"{min(ends)} to {max(ends)}"
            limit = limit_words(WORTH_USING)
            differ = [name for name in cases[0].parameters if len({case.parameters[name] for case in cases}) > 1]
            if len(differ) == 1 and len(ends) <= MOST_LISTED:
                listed = ", ".join(f"{case.parameters[differ[0]]:g}" for case in cases)
                return f"Use up to K = {shown} at {differ[0]} {listed} (threshold {limit})."
            return f"Use up to K = {shown} (threshold {limit}), in the order of the {len(cases)} parameter sets."
        first = [case.answers[0] for case in cases if case.answers]
        values = [answer.value for answer in first if isinstance(answer.value, int | float)]
        span = f"{first[0].label}: {min(values):g} to {max(values):g}" if values else cases[0].title
        return f"{span[:1].upper()}{span[1:]} over {len(cases)} parameter sets."

    def _following(self, case: LawCase) -> str:
        """What the law costs, the table of a measured serial share, or the measurement that finds the parameters."""
        if self.law == "karp-flatt" and 0 < (share := case.answers[0].value[-1]["serial"] or 0.0) <= 1:
            return f"`scalecurve law amdahl --serial {share:.4g}` shows where that share ends"
        if self.law not in {law.name for law in every_law()}:
            return f"measure T(K): {MEASURE_NEXT}"
        values = ",".join(f"{name}={value}" for name, value in case.parameters.items())
        return f"`scalecurve cost --law {self.law}:{values} --price 2.50` prices each K"

    def _decision(self, case: LawCase) -> str:
        """The last K worth using, what the last K gives, or what the law was asked for."""
        known = [row for row in case.rows if row.efficiency is not None]
        if self.law == "karp-flatt" and (share := case.answers[0].value[-1]["serial"]) is not None:
            speedup = f"the speedup of {known[-1].speedup:.4g} at K = {known[-1].k:,}"
            if share < 0:
                return f"No serial share explains {speedup}: it is more than K, so suspect the baseline."
            if share > 1:
                return f"No serial share explains {speedup}: more workers made the job slower."
            return f"A serial share of {100 * share:.3g} % would explain {speedup}."
        if self.law == "isoefficiency":
            hold, work = f"{100 * (known[-1].efficiency or 0.0):.3g} %", f"{known[-1].work:.4g}"
            where = f"at K = {known[-1].k:,}"
            return (
                f"Each worker needs {work} of work {where} (unit: that of serial and comm) to hold {hold} efficiency."
            )
        kept = [row for row in known if (row.efficiency or 0.0) >= WORTH_USING]
        last = known[-1]
        if kept:
            best, threshold = kept[-1], f"(threshold {limit_words(WORTH_USING)})"
            share = percent(best.efficiency or 0.0, WORTH_USING)
            if best is last:
                return (
                    f"Use all workers up to K = {best.k}: speedup {best.speedup:.4g}, efficiency {share} {threshold}."
                )
            after = known[known.index(best) + 1]
            beyond = f"{percent(after.efficiency or 0.0, WORTH_USING)} at K = {after.k}"
            return f"Use up to K = {best.k}: efficiency is {share} there and {beyond} {threshold}."
        return f"At K = {last.k} the speedup is {last.speedup:.4g} and the efficiency {last.efficiency:.0%}."

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
        blocks = tuple(block for case in self.cases for block in case.blocks())
        if len(self.cases) == 1 or (len(self.cases) <= MOST_TABLES_SHOWN and has_rows):
            return Document(None, blocks)
        first = 0 if len({case.regime for case in self.cases}) > 1 else 1  # one regime needs no column
        labels = list(dict.fromkeys(answer.label for case in self.cases for answer in case.answers))
        columns = ["regime", *self.cases[0].parameters, *labels][first:]
        rows = [case.summary(labels)[first:] for case in self.cases]
        formulas = dict.fromkeys(f"{case.title}: {case.formula}" for case in self.cases)
        answers = table(columns, rows, caption="\n".join(formulas))
        return Document(None, (answers,), details=blocks if has_rows else ())


def _cell(value: float) -> str:
    """Four decimals; as many digits in powers of ten where these would show nothing."""
    return f"{value:.4f}" if value == 0 or SMALLEST_FIXED <= value < LARGEST_FIXED else f"{value:.4g}"


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def law_table(
    name: str,
    workers: WorkersLike | None = "1..512",
    *,
    regime: str | None = None,
    below: float | None = None,
    serial_for_efficiency: float | None = None,
    hold: float | None = None,
    speedups: Sequence[float] | None = None,
    **parameters: Numbers | str | None,
) -> LawTable:
    """A law's rows and answers: `law_table("amdahl", [1, 2, 4], serial=0.05, below=0.5)`.

    Several values of a parameter give one case for every combination; `workers` None gives the answers without rows.
    `below` asks for the smallest K with a lower efficiency, `serial_for_efficiency` for the largest serial share of
    Amdahl's law that keeps one (beside `serial` as a column), `regime` is strong, weak or both.  "isoefficiency" takes
    serial, comm, growth and `hold`; "karp-flatt" takes `speedups`.
    """
    counts = () if workers is None else as_workers(workers)
    options: dict[str, Any] = {key: value for key, value in parameters.items() if value is not None}
    if name == "karp-flatt":
        return karp_flatt_table(counts, speedups or ())
    if name == "isoefficiency":
        growth = options.pop("growth", "log")
        return isoefficiency_table(counts, options, hold, growth=growth)
    law = law_named(name)
    if name == "amdahl" and serial_for_efficiency is not None and "serial" not in options:
        return _largest_serial(counts, serial_for_efficiency)
    cases = tuple(case for each in _regimes(law, regime) for case in _cases(each, counts, options, below))
    if serial_for_efficiency is not None:
        cases = tuple(case.with_largest_serial(serial_for_efficiency) for case in cases)
    return LawTable(law=name.removesuffix("-weak"), cases=cases)


def _regimes(law: Law, regime: str | None) -> list[Law]:
    """The law under the regimes asked for; only a law with a weak form has more than its own."""
    weak = f"{law.name.removesuffix('-weak')}-weak"
    forms = {"strong": [law], "weak": [law], "both": [law]}
    if weak in LAW_NAMES:
        strong = law_named(weak.removesuffix("-weak"))
        forms = {"strong": [strong], "weak": [law_named(weak)], "both": [strong, law_named(weak)]}
    if regime is not None and regime not in forms:
        raise InputError(Fault("unknown regime", value=regime, remedy=f"one of {', '.join(forms)}"))
    return forms[regime or law.regime]


def _cases(
    law: Law, workers: Sequence[int], parameters: Mapping[str, Numbers], below: float | None
) -> Iterator[LawCase]:
    """A case with its answers for every combination of parameter values."""
    axes = [value if isinstance(value, Iterable) else [value] for value in parameters.values()]
    sets = [dict(zip(parameters, values, strict=True)) for values in itertools.product(*axes)]
    if len(sets) > MOST_CASES:
        hint = f"at most {MOST_CASES} parameter sets at once"
        raise InputError(Fault("too many combinations", value=str(len(sets)), remedy=hint))
    grows, has_both = law.work_ratio is not None, f"{law.name.removesuffix('-weak')}-weak" in LAW_NAMES
    for values in map(law.checked, sets):
        rows = []
        for k in workers:
            time, work = law.time(k, **values), law.work(k, **values)
            shown = work if grows else None
            rows.append(LawRow(k=k, time=time, speedup=work / time, efficiency=work / time / k, work=shown))
        answers = [*ANSWERS.get(law.name, _peak)(workers, law, values), *_lost(workers, law, values, below)]
        yield LawCase(
            title=law.title,
            formula=law.formula,
            parameters=values,
            rows=tuple(rows),
            answers=tuple(answers),
            grows=grows,
            ceiling=next((answer.value for answer in answers if answer.name == "ceiling"), None),
            regime=law.regime if has_both else None,
        )


def _peak(workers: Sequence[int], law: Law, values: Mapping[str, float]) -> list[LawAnswer]:
    """The doubling of K up to a million with the largest speedup, of any law."""
    best = max(DOUBLINGS, key=lambda k: law.speedup(k, **values))
    top = law.speedup(best, **values)
    if best == DOUBLINGS[-1]:
        return [LawAnswer("limit", f"S at K = {best:,}, still rising", top, f"{top:.4g}")]
    return [LawAnswer("limit", f"largest S at a doubling, K = {best:,}", top, f"{top:.4g}")]


def _lost(workers: Sequence[int], law: Law, values: Mapping[str, float], below: float | None) -> list[LawAnswer]:
    """The first K with an efficiency below the one asked about; E of every law falls with K."""
    if below is None:
        return []
    amdahl.check_efficiency(below)
    first = amdahl.first_k_below(values["serial"], below) if law.name == "amdahl" else _first_below(law, values, below)
    doubling = None if first is None else 1 << (first - 1).bit_length()
    between = None
    if first is not None:
        between = next(([a, b] for a, b in itertools.pairwise(workers) if a < first <= b), None)
    return [
        LawAnswer("first_k_below", f"first K with E < {below:g}", first, str(first or NONE)),
        LawAnswer("first_doubling_below", "first power of two", doubling, str(doubling or NONE)),
        LawAnswer("between", "between the table's K", between, " and ".join(map(str, between)) if between else NONE),
    ]


def _first_below(law: Law, values: Mapping[str, float], efficiency: float) -> int | None:
    """The smallest K up to a million with E below `efficiency`, by bisection; None where there is none."""
    low, high = 1, DOUBLINGS[-1]
    if law.efficiency(high, **values) >= efficiency:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if law.efficiency(middle, **values) < efficiency else (middle, high)
    return high


def _ceiling(workers: Sequence[int], law: Law, values: Mapping[str, float]) -> list[LawAnswer]:
    """Amdahl's 1/s, and the share of it reached at the largest K."""
    top = amdahl.ceiling(values["serial"])
    answers = [LawAnswer("ceiling", "ceiling 1/s", top, "no limit" if top is None else f"{top:g}")]
    if workers and top is not None:
        share = amdahl.share_of_ceiling(workers[-1], values["serial"])
        answers.append(LawAnswer("share_of_ceiling", f"share of it at K = {workers[-1]}", share, f"{share:.1%}"))
    return answers


def _memory_bound(workers: Sequence[int], law: Law, values: Mapping[str, float]) -> list[LawAnswer]:
    """As K grows, S tends to 1/s for growth 0, to a share of K for growth 1, and to K beyond it."""
    if values["growth"] == 0:
        return _ceiling((), law, values)
    return [LawAnswer("ceiling", "ceiling", None, "none, because the work grows with K")]


def _optimum(workers: Sequence[int], law: Law, values: Mapping[str, float]) -> list[LawAnswer]:
    """The K that minimises T of the serial-plus-tree law."""
    best, closed = communication.best_k(**values), communication.best_k_closed_form(**values)
    doubling = communication.best_doubling(**values)
    return [
        LawAnswer("optimum", "best K (strong)", best, "no optimum" if best is None else str(best)),
        LawAnswer("optimum_closed_form", "(1-s) ln 2 / c", closed, NONE if closed is None else f"{closed:.2f}"),
        LawAnswer("optimum_doubling", "best power of two", doubling, str(doubling or NONE)),
    ]


def _cancels(workers: Sequence[int], law: Law, values: Mapping[str, float]) -> list[LawAnswer]:
    return [LawAnswer("serial_identifiable", "serial share", False, "cancels, so weak scaling cannot determine it")]


def _peak_of_usl(workers: Sequence[int], law: Law, values: Mapping[str, float]) -> list[LawAnswer]:
    """The K of highest throughput and the largest speedup."""
    peak, top = communication.peak_k(**values), communication.largest_speedup(**values)
    words = (
        "none, throughput never falls"
        if peak is None
        else f"{peak:.2f}" + (", below 1: use one worker" if peak < 1 else "")
    )
    limit = LawAnswer("limit", "largest S", top, "no limit" if top is None else f"{top:.4g}")
    return [LawAnswer("peak_k", "peak K", peak, words), limit]


def _as_amdahl(workers: Sequence[int], law: Law, values: Mapping[str, float]) -> list[LawAnswer]:
    """The serial share that Amdahl's law would need at the largest K."""
    if not workers:
        return []
    serial = amdahl.serial_from_scaled(values["serial_scaled"], workers[-1])
    label = f"the same job's serial share by Amdahl's law, at K = {workers[-1]}"
    return [LawAnswer("amdahl_serial", label, serial, f"{serial:.6g}")]


def _slowest(workers: Sequence[int], law: Law, values: Mapping[str, float]) -> list[LawAnswer]:
    """The expected slowest of K, in means of one worker."""
    if not workers:
        return []
    slowest = stragglers.lognormal_maximum(workers[-1], values["spread"])
    return [LawAnswer("slowest", f"slowest of {workers[-1]}", slowest, f"{slowest:.4f}x the average")]


ANSWERS: dict[str, Callable[[Sequence[int], Law, Mapping[str, float]], list[LawAnswer]]] = {
    "amdahl": _ceiling,
    "gustafson": _as_amdahl,
    "logcomm": _optimum,
    "logcomm-weak": _cancels,
    "root-weak": _cancels,
    "stragglers": _slowest,
    "sun-ni": _memory_bound,
    "usl": _peak_of_usl,
}
"""What a law says in closed form; every other law is searched for its peak."""


def _largest_serial(workers: Sequence[int], efficiency: float) -> LawTable:
    """Amdahl's law solved for the serial share."""
    rows = [{"k": k, "serial": amdahl.serial_for(efficiency, k)} for k in workers]
    texts = [f"K = {row['k']}: " + ("any" if row["serial"] is None else f"{row['serial']:.6f}") for row in rows]
    label = f"largest serial share with E >= {efficiency:g}"
    value = {"efficiency": efficiency, "rows": rows}
    answer = LawAnswer("serial_for_efficiency", label, value, "\n  " + "\n  ".join(texts))
    formula = "s = (1/E - 1)/(K - 1)"
    case = LawCase(title=law_named("amdahl").title, formula=formula, parameters={}, rows=(), answers=(answer,))
    return LawTable(law="amdahl", cases=(case,))


def isoefficiency_table(
    workers: Sequence[int], terms: Mapping[str, Any], hold: float | None, *, growth: str
) -> LawTable:
    """Work per worker that holds an efficiency."""
    if hold is None:
        raise InputError(Fault("parameter is missing", where="hold", remedy="the efficiency to hold"))
    parameters = law_named("logcomm").checked(terms)
    serial, comm = parameters["serial"], parameters["comm"]
    amdahl.check_efficiency(hold)
    exchange = communication.growth_function(growth)

    def row(k: int) -> LawRow:
        work = communication.work_per_worker(k, serial, comm, hold, growth)
        if work is None:
            return LawRow(k=k, time=None, speedup=None, efficiency=None)
        time = work + serial + comm * exchange(k)
        efficiency = (work + serial) / time if time > 0 else 1.0
        return LawRow(k=k, time=time, speedup=k * efficiency, efficiency=efficiency, work=work)

    rows = list(map(row, workers))
    missing = [row.k for row in rows if row.work is None]
    answers = []
    if missing:
        counts = ", ".join(map(str, missing))
        text = f"no amount of work holds E = {hold:g} at K = {counts}: communication always costs something"
        answers = [LawAnswer("no_answer", "no answer", missing, text)]
    elif rows:
        label, work = f"work per worker at K = {rows[-1].k}", rows[-1].work
        answers = [LawAnswer("work_per_worker", label, work, f"{work:.4g}")]
    grown = "log2 K" if growth == "log" else "K"
    case = LawCase(
        title="Isoefficiency",
        formula=f"w(K) = E/(1-E) c {grown} - s",
        parameters={**parameters, "hold": hold, "growth": growth},
        rows=tuple(rows),
        answers=tuple(answers),
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
        answers=(LawAnswer("serial_fraction", "serial share", shares, "".join(lines)),),
    )
    return LawTable(law="karp-flatt", cases=(case,))
