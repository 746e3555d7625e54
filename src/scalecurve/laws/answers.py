"""What each law answers beside its table: ceilings, the K that loses an efficiency, the best K."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from scalecurve.errors import Fault, InputError
from scalecurve.laws import amdahl, gustafson, isoefficiency, logcomm, stragglers, sun_ni, usl
from scalecurve.laws.karp_flatt import serial_fraction
from scalecurve.laws.tables import Answer, LawCase, LawRow, LawTable, tabulate_cases

NONE = "none"


def tabulate_amdahl(
    workers: Sequence[int],
    serial: Sequence[float] | None = None,
    *,
    below: float | None = None,
    serial_for_efficiency: float | None = None,
) -> LawTable:
    """Amdahl's table, ceiling, and the K where efficiency falls below `below`."""
    if serial_for_efficiency is not None:
        return _serial_for(workers, serial_for_efficiency)
    cases = tabulate_cases(
        amdahl.AMDAHL,
        workers,
        {"serial": serial or ()},
        lambda parameters, rows: _amdahl_answers(parameters["serial"], rows, below),
        ceiling=lambda parameters: amdahl.ceiling(parameters["serial"]),
    )
    return LawTable(law="amdahl", cases=cases)


def _amdahl_answers(serial: float, rows: Sequence[LawRow], below: float | None) -> tuple[Answer, ...]:
    top = amdahl.ceiling(serial)
    answers = [Answer("ceiling", "ceiling 1/f", top, "no limit" if top is None else f"{top:g}")]
    if rows and top is not None:
        share = amdahl.share_of_ceiling(rows[-1].k, serial)
        answers.append(Answer("share_of_ceiling", f"share of it at K = {rows[-1].k}", share, f"{share:.1%}"))
    return (*answers, *(_below_answers(serial, rows, below) if below is not None else ()))


def _below_answers(serial: float, rows: Sequence[LawRow], below: float) -> tuple[Answer, ...]:
    first = amdahl.first_k_below(serial, below)
    doubling = None if first is None else 1 << (first - 1).bit_length()
    between = _between([row.k for row in rows], first)
    pair = NONE if between is None else f"{between[0]} and {between[1]}"
    return (
        Answer("first_k_below", f"first K with E < {below:g}", first, NONE if first is None else str(first)),
        Answer("first_doubling_below", "first power of two", doubling, NONE if doubling is None else str(doubling)),
        Answer("between", "between the table's K", between, pair),
    )


def _between(workers: Sequence[int], first: int | None) -> list[int] | None:
    """The two neighbouring K of the table between which the efficiency is lost."""
    if first is None:
        return None
    for left, right in pairwise(workers):
        if left < first <= right:
            return [left, right]
    return None


def _serial_for(workers: Sequence[int], efficiency: float) -> LawTable:
    rows = [{"k": k, "serial": amdahl.serial_for(efficiency, k)} for k in workers]
    texts = [f"K = {row['k']}: " + ("any" if row["serial"] is None else f"{row['serial']:.6f}") for row in rows]
    value = {"efficiency": efficiency, "rows": rows}
    label = f"largest serial share with E >= {efficiency:g}"
    answer = Answer("serial_for_efficiency", label, value, "\n  " + "\n  ".join(texts))
    case = LawCase(
        title=amdahl.AMDAHL.title, formula="f = (1/E - 1)/(K - 1)", parameters={}, rows=(), answers=(answer,)
    )
    return LawTable(law="amdahl", cases=(case,))


def tabulate_logcomm(
    workers: Sequence[int], serial: Sequence[float], comm: Sequence[float], *, regime: str = "strong"
) -> LawTable:
    """The serial-plus-tree model under strong, weak or both regimes, with the K that minimises strong T."""
    known = {"strong": ["strong"], "weak": ["weak"], "both": ["strong", "weak"]}
    if regime not in known:
        raise InputError(Fault("unknown regime", seen=regime, remedy=f"one of {', '.join(known)}"))
    given = {"serial": serial, "comm": comm}
    cases = [case for each in known[regime] for case in _logcomm_cases(workers, given, each)]
    return LawTable(law="logcomm", cases=tuple(cases))


def _logcomm_cases(workers: Sequence[int], given: Mapping[str, Sequence[float]], regime: str) -> tuple[LawCase, ...]:
    if regime == "strong":
        return tabulate_cases(logcomm.LOGCOMM_STRONG, workers, given, _logcomm_answers, regime=regime)
    return tabulate_cases(logcomm.LOGCOMM_WEAK, workers, given, _weak_answers, regime=regime)


def _weak_answers(parameters: Mapping[str, float], rows: Sequence[LawRow]) -> tuple[Answer, ...]:
    """In weak scaling the serial share cancels: say so rather than let it look as if it had an effect."""
    return (Answer("serial_identifiable", "serial share", False, "cancels: weak scaling cannot tell it"),)


def _logcomm_answers(parameters: Mapping[str, float], rows: Sequence[LawRow]) -> tuple[Answer, ...]:
    serial, comm = parameters["serial"], parameters["comm"]
    best, closed = logcomm.best_k(serial, comm), logcomm.best_k_closed_form(serial, comm)
    doubling = logcomm.best_doubling(serial, comm)
    return (
        Answer("optimum", "best K (strong)", best, "no optimum" if best is None else str(best)),
        Answer("optimum_closed_form", "(1-s) ln 2 / c", closed, NONE if closed is None else f"{closed:.2f}"),
        Answer("optimum_doubling", "best power of two", doubling, NONE if doubling is None else str(doubling)),
    )


def tabulate_usl(workers: Sequence[int], contention: Sequence[float], coherency: Sequence[float]) -> LawTable:
    cases = tabulate_cases(
        usl.USL, workers, {"contention": contention, "coherency": coherency}, lambda given, _: _usl_answers(**given)
    )
    return LawTable(law="usl", cases=cases)


def _usl_answers(contention: float, coherency: float) -> tuple[Answer, ...]:
    peak, top = usl.peak_k(contention, coherency), usl.limit(contention, coherency)
    if peak is not None and peak < 1:
        words = f"{peak:.2f}, below 1: do not parallelise"
    else:
        words = "never falls" if peak is None else f"{peak:.2f}"
    return (
        Answer("peak_k", "peak K", peak, words),
        Answer("limit", "largest S", top, "no limit" if top is None else f"{top:.4g}"),
    )


def tabulate_gustafson(workers: Sequence[int], serial_scaled: Sequence[float]) -> LawTable:
    cases = tabulate_cases(
        gustafson.GUSTAFSON,
        workers,
        {"serial_scaled": serial_scaled},
        lambda given, rows: _gustafson_answers(rows, given),
    )
    return LawTable(law="gustafson", cases=cases)


def _gustafson_answers(rows: Sequence[LawRow], parameters: Mapping[str, float]) -> tuple[Answer, ...]:
    if not rows:
        return ()
    k = rows[-1].k
    serial = gustafson.serial_from_scaled(parameters["serial_scaled"], k)
    label = f"Amdahl's serial share, were f seen at K = {k}"
    return (Answer("amdahl_serial", label, serial, f"{serial:.6g}"),)


def tabulate_sun_ni(workers: Sequence[int], serial: Sequence[float], growth: Sequence[float]) -> LawTable:
    cases = tabulate_cases(
        sun_ni.SUN_NI, workers, {"serial": serial, "growth": growth}, lambda given, _: _sun_ni_answers(**given)
    )
    return LawTable(law="sun-ni", cases=cases)


def _sun_ni_answers(serial: float, growth: float) -> tuple[Answer, ...]:
    """As K grows, S tends to 1/s for growth 0, to a share of K for growth 1, and to K beyond it."""
    if growth == 0:
        top = amdahl.ceiling(serial)
        return (Answer("ceiling", "ceiling 1/s", top, "no limit" if top is None else f"{top:g}"),)
    return (Answer("ceiling", "ceiling", None, "none: the work grows with K"),)


def tabulate_stragglers(workers: Sequence[int], spread: Sequence[float]) -> LawTable:
    cases = tabulate_cases(stragglers.STRAGGLERS, workers, {"spread": spread}, lambda _, rows: _straggler_answers(rows))
    return LawTable(law="stragglers", cases=cases)


def _straggler_answers(rows: Sequence[LawRow]) -> tuple[Answer, ...]:
    if not rows or rows[-1].efficiency is None:
        return ()
    slowest = 1.0 / rows[-1].efficiency
    return (Answer("slowest", f"slowest of {rows[-1].k}, in means", slowest, f"{slowest:.4f}"),)


def tabulate_isoefficiency(
    workers: Sequence[int], serial: float, comm: float, *, hold: float, growth: str = "log", serial_share: bool = False
) -> LawTable:
    """Work per worker that holds an efficiency; with `serial_share`, the serial part is a share of the work."""
    parameters = logcomm.LOGCOMM_STRONG.checked({"serial": serial, "comm": comm})
    amdahl.check_efficiency(hold)
    isoefficiency.growth_function(growth)
    last = isoefficiency.last_k_with_serial_share(serial, hold) if serial_share else None
    rows = tuple(_iso_row(k, serial, comm, hold, growth, last) for k in workers)
    case = LawCase(
        title="Isoefficiency",
        formula=f"w(K) = E/(1-E) c {'log2 K' if growth == 'log' else 'K'} - s",
        parameters={**parameters, "hold": hold, "growth": growth},
        rows=rows,
        answers=_iso_answers(rows, hold, last),
        grows=True,
    )
    return LawTable(law="isoefficiency", cases=(case,))


def _iso_row(k: int, serial: float, comm: float, hold: float, growth: str, last: float | None) -> LawRow:
    work = isoefficiency.work_per_worker(k, serial, comm, hold, growth)
    if work is None or (last is not None and k > last):
        return LawRow(k=k, time=None, speedup=None, efficiency=None, work=None)
    useful = work + serial
    time = useful + comm * isoefficiency.growth_function(growth)(k)
    efficiency = useful / time if time > 0 else 1.0
    return LawRow(k=k, time=time, speedup=k * efficiency, efficiency=efficiency, work=work)


def _iso_answers(rows: Sequence[LawRow], hold: float, last: float | None) -> tuple[Answer, ...]:
    missing = [row.k for row in rows if row.work is None]
    if last is not None:
        text = f"beyond K = {last:.4g} no amount of work holds E = {hold:g}: there is no isoefficiency function"
        return (Answer("last_k", "limit", last, text),)
    if missing:
        text = (
            f"no amount of work holds E = {hold:g} at K = {', '.join(map(str, missing))}: communication is never free"
        )
        return (Answer("no_answer", "no answer", missing, text),)
    final = rows[-1] if rows else None
    if final is None or final.work is None:
        return ()
    return (Answer("work_per_worker", f"work per worker at K = {final.k}", final.work, f"{final.work:.4g}"),)


def tabulate_karp_flatt(workers: Sequence[int], speedups: Sequence[float]) -> LawTable:
    """The serial share that would explain each speedup."""
    if len(workers) != len(speedups):
        seen = f"{len(workers)} and {len(speedups)}"
        raise InputError(Fault("give one speedup for each K", seen=seen, remedy="--workers 2,4,8 --speedups 1.9,3.5,6"))
    pairs = list(zip(workers, speedups, strict=True))
    shares = [{"k": k, "serial": serial_fraction(k, speedup)} for k, speedup in pairs]
    rows = tuple(LawRow(k=k, time=1.0 / speedup, speedup=speedup, efficiency=speedup / k) for k, speedup in pairs)
    text = "\n  " + "\n  ".join(f"K = {row['k']}: " + _share_words(row["serial"]) for row in shares)
    answer = Answer("serial_fraction", "serial share", shares, text)
    formula = "e = (1/S - 1/K)/(1 - 1/K)"
    case = LawCase(title="Karp-Flatt metric", formula=formula, parameters={}, rows=rows, answers=(answer,))
    return LawTable(law="karp-flatt", cases=(case,))


def _share_words(share: float | None) -> str:
    if share is None:
        return "not defined"
    return f"{share:.6f}" + (" (below 0: superlinear, or a weak baseline)" if share < 0 else "")


TABULATE: dict[str, Any] = {
    "amdahl": tabulate_amdahl,
    "gustafson": tabulate_gustafson,
    "isoefficiency": tabulate_isoefficiency,
    "karp-flatt": tabulate_karp_flatt,
    "logcomm": tabulate_logcomm,
    "stragglers": tabulate_stragglers,
    "sun-ni": tabulate_sun_ni,
    "usl": tabulate_usl,
}
