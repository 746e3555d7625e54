"""A published table as a claim: columns of K with times, rates, speedups or efficiencies; rows of one K are repeats."""

from __future__ import annotations

import csv
import io
import re
import statistics
from pathlib import Path
from typing import Any

from scalecurve.auditing.claim import Claim
from scalecurve.errors import Fault, FormatError
from scalecurve.formats.headers import value_meaning, worker_unit
from scalecurve.formats.user_file import read_bytes, validate
from scalecurve.study import Quantity

PERCENT_HEADER = 0.01
PRINTED = {"seconds", "rate", "rate_per_worker", "speedup", "efficiency"}
TEXTS = {"target", "machine"}
MEASURED = {
    Quantity.SECONDS: "seconds",
    Quantity.THROUGHPUT: "rate",
    Quantity.THROUGHPUT_PER_WORKER: "rate_per_worker",
}
COLUMNS = {
    "speedup": r"s|s\(k\)|speed_?up(_\(?x\)?)?|relative_speedup",
    "efficiency": r"e|e\(k\)|(parallel_|scaling_|weak_|strong_)*eff(iciency)?(_?\(?%\)?|_percent|_pct)?",
    "std": r"std|sd|stdev|std_?dev|sigma|error|\+/-",
    "n": r"n|repeats|runs|samples|repetitions",
    "work": r"work|total_work|size|problem_size|total_problem_size|cells|tokens|atoms|elements|dofs?",
    "batch": r"(global_)?batch(_size)?|gbs",
    "iterations": r"steps|iterations|iters|epochs",
    "target": r"target|accuracy_target",
    "machine": r"machine|cluster|host_type|system|hardware",
    "threads": r"threads_per_(rank|worker|process)|omp_num_threads",
    "extrapolated": r"extrapolated|projected|predicted",
}


def read_claim_table(source: Path | bytes, *, subject: str | None = None, regime: str | None = None) -> Claim:
    """The claim in a delimited text table with a header."""
    name = subject or str(source)
    try:
        text = (source if isinstance(source, bytes) else read_bytes(source)).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError("not text in UTF-8", subject=name) from None
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if len(lines) < 2:
        raise FormatError(Fault("no table here", remedy="a header such as K,seconds,speedup and rows"), subject=name)
    delimiter = next((mark for mark in ("\t", ",", ";", "|") if mark in lines[0]), ",")
    header, *rows = csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter)
    columns, unit = _columns([cell.strip() for cell in header], name)
    faults: list[Fault] = []
    by_k: dict[int, list[dict[str, Any]]] = {}
    summaries = [row for row in rows if _is_summary(row, columns)]
    averages = [
        cell for cell in header if re.match(r"(mean|average|avg)[ _-]?(speed|eff)", cell.strip(), re.IGNORECASE)
    ]
    summary = "; ".join([*(" ".join(row) for row in summaries), *averages]) or None
    for number, row in enumerate(rows, 2):
        if row in summaries:
            continue
        values = _row_values(number, row, columns, faults)
        by_k.setdefault(values["k"], []).append(values)
    if faults:
        raise FormatError(faults, subject=name)
    points = [_point(same) for same in by_k.values()]
    data = {
        "statement": summary,
        "name": Path(name).name,
        "kind": "table",
        "regime": regime,
        "k_unit": unit,
        "points": points,
    }
    return validate(Claim, data, subject=name)


def _is_summary(row: list[str], columns: dict[str, tuple[int, float]]) -> bool:
    """Whether a row holds the averages of the others: a word instead of a worker count."""
    place = columns["k"][0]
    return place < len(row) and bool(re.match(r"(geo)?mean|average|avg", row[place].strip(), re.IGNORECASE))


def _columns(headers: list[str], subject: str) -> tuple[dict[str, tuple[int, float]], str]:
    """The place and the factor of every column with a known meaning, and the unit of K."""
    places: dict[str, tuple[int, float]] = {}
    unit = "workers"
    for i, header in enumerate(headers):
        plain = re.sub(r"[\s-]+", "_", header.lower())
        named = next((name for name, pattern in COLUMNS.items() if re.fullmatch(pattern, plain)), None)
        if "k" not in places and worker_unit(header):
            places["k"], unit = (i, 1.0), worker_unit(header) or unit
        elif named is not None:
            in_percent = named == "efficiency" and any(mark in plain for mark in ("%", "percent", "pct"))
            places.setdefault(named, (i, PERCENT_HEADER if in_percent else 1.0))
        elif (value := value_meaning(header)) is not None:
            places.setdefault(MEASURED[value.quantity], (i, value.factor))
    if "k" not in places or not places.keys() & {*MEASURED.values(), "speedup", "efficiency"}:
        needed = "one of worker counts and one of times, rates, speedups or efficiencies"
        hint = f"columns seen: {', '.join(headers)}; needed: {needed}"
        raise FormatError(Fault("not a table of a scaling claim", remedy=hint), subject=subject)
    return places, unit


def _row_values(
    number: int, row: list[str], columns: dict[str, tuple[int, float]], faults: list[Fault]
) -> dict[str, Any]:
    """The figures of one line; efficiencies stay in the unit they are written in."""
    values: dict[str, Any] = {"written": {}, "last_digit": {}}
    for name, (place, factor) in columns.items():
        cell = row[place].strip() if place < len(row) else ""
        if name in TEXTS:
            values[name] = cell or None
            continue
        if name == "extrapolated":
            values[name] = cell.lower() in ("1", "yes", "true", "x")
            continue
        cell_figure = _number(cell, f"line {number}, {name}", faults)
        in_percent = cell.endswith("%") or factor == PERCENT_HEADER
        scale = 1.0 if in_percent and name == "efficiency" else factor
        values[name] = None if cell_figure is None else cell_figure[0] * scale
        if cell_figure is not None and name in PRINTED:
            values["written"][name] = cell
            values["last_digit"][name] = cell_figure[1] * scale
        if name == "efficiency" and cell_figure is not None and in_percent:
            values |= {"efficiency_unit": "percent", "percent_sign": cell.endswith("%")}
    k = values.get("k")
    if k is None or k != int(k) or k < 1:
        faults.append(Fault("not a whole number of workers", where=f"line {number}", value=str(k)))
        k = 1
    return values | {"k": int(k)}


def _number(cell: str, where: str, faults: list[Fault]) -> tuple[float, float] | None:
    """`7.5x`, `94%`, `0.00` or `1,200` as a number and the unit of its last digit; None where the cell is empty."""
    text = cell.rstrip("xX").strip()
    if text in ("", "-", "n/a", "N/A"):
        return None
    digits = text.removesuffix("%").strip()
    grouped = "," not in digits or re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", digits)
    plain = digits.replace(",", "")
    try:
        value = float(plain) if grouped else float("nan")
    except ValueError:
        value = float("nan")
    if 0 <= value < float("inf"):
        mantissa, _, exponent = plain.lower().partition("e")
        return value, 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    faults.append(Fault("not a number from 0", where=where, value=cell))
    return None


def _point(same: list[dict[str, Any]]) -> dict[str, Any]:
    """One K: the mean of its repeats, with their spread."""
    point = dict(same[0])
    measured = next((name for name in MEASURED.values() if point.get(name) is not None), None)
    if len(same) > 1 and measured:
        values = [float(row[measured]) for row in same if row[measured] is not None]
        point |= {measured: statistics.fmean(values), "n": len(values)}
        point["std"] = statistics.stdev(values) if len(values) > 1 else None
        point["samples"] = tuple(values)
        point["written"] = {name: text for name, text in point["written"].items() if name != measured}
        for name in ("speedup", "efficiency"):
            if len({row.get(name) for row in same}) > 1:  # the ratio of each run, not a published figure of this K
                point[name] = None
    return point
