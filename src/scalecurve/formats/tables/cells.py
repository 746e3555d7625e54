"""Cells as numbers: decimal commas, thousands, units, clock times, `mean ± spread`, footnote marks, ways to write K."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.formats.headers import TIME_UNITS, WORKER_NOUNS, ValueColumn, unit_of
from scalecurve.study import Quantity
from scalecurve.study.run import FloatArray

MOST_CELL = 80
SAMPLE_ROWS = 1000
_GROUPED = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+")
_COMMA = re.compile(r"(?<=\d),(?=\d)")
_BLANKS = re.compile(r"(?<=\d)[\s'\u2019\u00a0\u202f\u2009](?=\d{3}(?!\d))")
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_VALUE = re.compile(rf"(?P<number>{_NUMBER})\s*(?P<unit>[^\d\s.,+-][^\d]*)?")
_SPREAD = re.compile(
    rf"(?P<mean>{_NUMBER}[^±\d]*?)\s*(?:±|\+/-|\+-|\\pm)\s*(?P<spread>{_NUMBER})\s*(?P<unit>[^\d\s].*)?"
)
_DIGITS_SPREAD = re.compile(r"(?P<mean>\d+\.(?P<decimals>\d+))\((?P<spread>\d+)\)\s*(?P<unit>[^\d\s].*)?")
_PARTS = re.compile(
    r"(?:(?P<d>\d+)\s*d(?:ays?)?)?\s*(?:(?P<h>\d+)\s*h(?:ours?|rs?)?)?\s*(?:(?P<m>\d+)\s*m(?:in(?:utes?|s)?)?)?"
    r"\s*(?:(?P<s>\d+(?:\.\d+)?)\s*s(?:ec(?:onds?|s)?)?)?",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"(?:(?:(?P<d>\d+)-)?(?P<h>\d+):)?(?P<m>\d+):(?P<s>\d{2}(?:\.\d+)?)")
_ISO = re.compile(r"P(?:(?P<d>\d+)D)?(?:T(?:(?P<h>\d+)H)?(?:(?P<m>\d+)M)?(?:(?P<s>\d+(?:\.\d+)?)S)?)?")
_FORTRAN = re.compile(r"([-+]?\d*\.\d*)[dD]([-+]?\d{1,3})")
_FOOTNOTE = re.compile(r"(?<=[\w.%)])\s*(?:\^?\{?[*†‡§¶#]+\}?|\^\{?[a-z]\}?|[⁰¹²³⁴-⁹]+|\[[a-z\d]\])$")
_ABOUT = re.compile(r"^(?:[~≈≃∼]|ca\.?|approx\.?|about)\s*(?=[\d.])", re.IGNORECASE)
_BOUND = re.compile(r"\s*(?:[<>≤≥]|&[lg]t;).*")
_PRODUCT = re.compile(r"(?P<nodes>\d+)\s*(?:nodes?|hosts?)?\s*[x×*·]\s*(?P<each>\d+)\s*[A-Za-z]*")
_NODES = re.compile(r"(?P<nodes>\d+)\s*[nN]\s*[x×-]?\s*(?P<each>\d+)\s*[gGcCpPrRtT]")
_POWER = re.compile(r"(?P<base>\d+)\s*(?:\^|\*\*)\s*\{?(?P<power>\d{1,2})\}?")
_WORKERS = re.compile(r"(?P<count>\d[\d,]*)\s*(?P<noun>[A-Za-z]+)?(?:\s*[(\[].*[)\]])?")
_NAMED = re.compile(r"-?(?P<noun>[A-Za-z]+)\s*[=:]?\s*(?P<count>\d+)")
_THOUSAND = re.compile(r"(?P<count>\d+(?:\.\d+)?)\s*[kK]")
Cells = Sequence[str] | npt.NDArray[Any]
THOUSANDS = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
ABSENT = frozenset(("", "-", "–", "—", "--", "---", "na", "n/a", "n.a.", "nan", "none", "null", "nil", "?", ".", "..."))
NO_RESULT = frozenset((
    "oom", "out of memory", "dnf", "did not finish", "dns", "timeout", "time out", "timed out", "tle", "failed", "fail",
    "failure", "crash", "crashed", "error", "err", "killed", "cancelled", "canceled", "aborted", "segfault", "skipped",
    "not run", "not measured", "not available", "n/m", "unavailable", "diverged", "x", "✗", "❌",
))  # fmt: skip


class DecimalMark(StrEnum):
    """What a comma between digits means in a table: nothing is known, decimals, or thousands."""

    UNKNOWN = "unknown"
    POINT = "point"
    COMMA = "comma"
    BOTH = "both"


@dataclass(frozen=True)
class CellValue:
    """A number, with the unit that the cell itself states and the spread behind a ± sign."""

    value: float
    unit: ValueColumn | None = None
    spread: float | None = None
    two_part_clock: bool = False


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column as numbers: NaN where a cell is `bad`; times with a unit in the cell are in seconds.

    `unit` is what all cells state (None: none does), `spread` what stands behind ±, `ambiguous` a cell with two
    readings, and `mixed` a cell without the unit that others have.
    """

    values: FloatArray
    bad: npt.NDArray[np.bool_]
    unit: ValueColumn | None = None
    spread: FloatArray | None = None
    ambiguous: int | None = None
    mixed: int | None = None


def decimal_mark(cells: Iterable[str]) -> DecimalMark:
    """What commas between digits mean, by the cells that leave no choice; BOTH where they contradict each other."""
    marks: set[DecimalMark] = set()
    undecided = False
    for cell in cells:
        if "," not in cell:
            continue
        for number in re.findall(r"[-+]?\d[\d.,]*\d", cell[:MOST_CELL]):
            if "," not in number:
                continue
            if "." in number:
                marks.add(DecimalMark.COMMA if number.rfind(",") > number.rfind(".") else DecimalMark.POINT)
            elif not _GROUPED.fullmatch(number) or number.lstrip("+-").startswith("0"):
                marks.add(DecimalMark.COMMA)
            elif number.count(",") > 1:
                marks.add(DecimalMark.POINT)
            else:
                undecided = True
    if len(marks) > 1:
        return DecimalMark.BOTH
    if marks:
        return marks.pop()
    return DecimalMark.UNKNOWN if undecided else DecimalMark.POINT


def parse_cell(text: str, mark: DecimalMark = DecimalMark.POINT) -> CellValue | None:
    """What one cell says; None where it is no number."""
    text = _BLANKS.sub("", text.strip().strip("$`"))[:MOST_CELL].replace("μ", "µ").strip()
    text = _ABOUT.sub("", _FOOTNOTE.sub("", text).strip("*")).strip()
    if mark is DecimalMark.COMMA:
        text = _COMMA.sub(".", re.sub(r"(?<=\d)\.(?=\d{3}(?!\d))", "", text))
    else:
        text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    if match := _SPREAD.fullmatch(text) or _DIGITS_SPREAD.fullmatch(text):
        return _with_spread(match)
    if match := _VALUE.fullmatch(text):
        unit = (match["unit"] or "").strip()
        if not unit or unit in THOUSANDS:
            return CellValue(float(match["number"]) * THOUSANDS.get(unit, 1.0))
        meaning = unit_of(unit)
        if meaning is not None:
            return CellValue(float(match["number"]) * meaning.factor, meaning)
    if match := _FORTRAN.fullmatch(text):
        return parse_cell(f"{match[1]}e{match[2]}")
    clock = _CLOCK.fullmatch(text)
    parts = clock or (_ISO.fullmatch(text) or _PARTS.fullmatch(text) if text else None)
    if parts is None or not any(parts.groupdict().values()):
        return None
    d, h, m, s = (float(parts[name] or 0) for name in "dhms")
    two_part = clock is not None and parts["h"] is None and "." not in parts["s"]
    return CellValue(((d * 24 + h) * 60 + m) * 60 + s, ValueColumn(Quantity.SECONDS, 1.0, "s"), None, two_part)


def _with_spread(match: re.Match[str]) -> CellValue | None:
    mean, unit = match["mean"].strip(), (match["unit"] or "").strip()
    number = re.match(_NUMBER, mean)
    if number is None:
        return None
    own = mean[number.end() :].strip() or unit.rstrip("%")
    meaning = unit_of(own) if own else None
    if own and meaning is None:
        return None
    factor = meaning.factor if meaning else 1.0
    value, spread = float(number[0]) * factor, float(match["spread"]) * factor
    if unit.endswith("%"):
        spread = value * float(match["spread"]) / 100
    elif "decimals" in match.re.groupindex:
        spread = float(match["spread"]) * 10.0 ** -len(match["decimals"]) * factor
    return CellValue(value, meaning, spread)


def numbers_of(cells: Cells, mark: DecimalMark = DecimalMark.POINT, clock: float | None = None) -> Numbers:
    """A column as numbers; columns of plain numerals take the fast way.

    `clock` is what the header says of clock times of two parts: 60 for minutes:seconds, 3600 for hours:minutes.
    """
    if isinstance(cells, np.ndarray):
        values = cells.astype(np.float64)
        return Numbers(values, ~np.isfinite(values))
    try:
        plain: FloatArray = np.array(list(map(float, cells)), dtype=np.float64)
        if "_" not in "".join(cells):
            return Numbers(plain, ~np.isfinite(plain))
    except (ValueError, TypeError):
        pass
    if (same := _with_one_unit(cells)) is not None:
        return same
    memo: dict[str, CellValue | None] = {}
    for cell in cells:
        if cell not in memo:
            memo[cell] = parse_cell(cell, mark)
    parsed = [memo[cell] for cell in cells]
    values = np.array([np.nan if item is None else item.value for item in parsed])
    units = [item.unit for item in parsed if item is not None]
    kinds = {(unit.quantity, unit.unit if unit.quantity is not Quantity.SECONDS else "s") for unit in units if unit}
    mixed = None
    if len(kinds) > 1 or (kinds and not all(units)):
        first = next(unit for unit in units if unit)
        mixed = next(
            i
            for i, item in enumerate(parsed)
            if item is not None and (item.unit is None or item.unit.quantity is not first.quantity)
        )
    two_part = [i for i, item in enumerate(parsed) if item is not None and item.two_part_clock]
    clear = any(item is not None and item.unit is not None and not item.two_part_clock for item in parsed)
    if clock is not None and not clear:
        values[two_part] *= clock / 60.0
        clear = True
    spreads = [np.nan if item is None or item.spread is None else item.spread for item in parsed]
    return Numbers(
        values,
        ~np.isfinite(values),
        unit=next((unit for unit in units if unit), None),
        spread=np.array(spreads) if np.isfinite(spreads).any() else None,
        ambiguous=two_part[0] if two_part and not clear else None,
        mixed=mixed,
    )


def _with_one_unit(cells: Sequence[str]) -> Numbers | None:
    """A column of plain numerals that all end in the same unit; None for any other."""
    ending = re.search(r"[^\d.]*$", cells[0])
    unit = unit_of(ending[0]) if ending and ending[0] else None
    if unit is None or ending is None:
        return None
    joined = "\n".join(cells) + "\n"  # all cells at once: a column may have millions
    if joined.count(f"{ending[0]}\n") != len(cells) or "_" in joined:
        return None
    try:
        values: FloatArray = np.array(list(map(float, joined.replace(f"{ending[0]}\n", "\n").split("\n")[:-1])))
    except ValueError:
        return None
    return Numbers(values * unit.factor, ~np.isfinite(values), unit) if len(values) == len(cells) else None


def counts_of(cells: Cells, mark: DecimalMark = DecimalMark.POINT, *, named: bool = True) -> Numbers:
    """A column of worker counts: `16 GPUs`, `np=16`, `2N8G`, `2^4` count 16; so does `2 x 8` below a name of workers.

    `1k` is 1,024 beside powers of two and 1,000 beside other counts; beside none of them it is `ambiguous`.
    """
    numbers = numbers_of(cells, mark)
    if isinstance(cells, np.ndarray) or (not numbers.bad.any() and not any(cell[-1:] in "kK" for cell in cells)):
        return numbers
    values, ambiguous = numbers.values.copy(), None
    plain = [int(cell) for cell in cells if cell.strip().isdecimal() and len(cell) < 10]
    binary = bool(plain) and all(k & (k - 1) == 0 for k in plain)
    for i, cell in enumerate(cells):
        text = _FOOTNOTE.sub("", cell.strip().strip("$`").strip()).strip("*")
        if match := _THOUSAND.fullmatch(text):
            values[i] = float(match["count"]) * (1024 if binary else 1000)
            ambiguous = i if ambiguous is None and (not plain or (binary and len(plain) < 3)) else ambiguous
        elif numbers.bad[i]:
            values[i] = _workers_in(text, named)
    return Numbers(values, ~np.isfinite(values), numbers.unit, ambiguous=ambiguous)


def _workers_in(text: str, named: bool) -> float:
    """The worker count that a cell states in words; NaN where it states none."""
    if match := _NODES.fullmatch(text) or (_PRODUCT.fullmatch(text) if named else None):
        return float(match["nodes"]) * float(match["each"])
    if match := _POWER.fullmatch(text):
        return float(int(match["base"]) ** int(match["power"])) if len(match["base"]) < 4 else np.nan
    match = _WORKERS.fullmatch(text) or _NAMED.fullmatch(text)
    if match is None:
        return np.nan
    noun = (match["noun"] or "").lower()
    is_count = noun in WORKER_NOUNS and noun not in TIME_UNITS if noun else named
    return float(match["count"].replace(",", "")) if is_count else np.nan


def holds_counts(cells: Cells, mark: DecimalMark = DecimalMark.POINT) -> bool:
    """Whether at least half of the first cells are worker counts."""
    values = counts_of(cells[:SAMPLE_ROWS], mark).values
    return 2 * int(((values >= 1) & (values % 1 == 0)).sum()) >= len(values)


def no_result(cell: Any) -> bool:
    """Whether a cell says that there is no measurement: empty, n/a, OOM, DNF, or a bound such as >3600."""
    plain = str(cell).strip().strip("*`$()[]").strip().lower()
    return plain in ABSENT or plain in NO_RESULT or _BOUND.fullmatch(plain) is not None


def is_absent(cell: Any) -> bool:
    """Whether a cell stands for no value: empty, a dash, n/a."""
    return str(cell).strip().lower() in ABSENT


def labels_of(cells: Cells) -> list[str]:
    """A column as text, with whole numbers of a frame written without a point."""
    if isinstance(cells, np.ndarray):
        distinct, places = np.unique(cells, return_inverse=True)
        names = [f"{value:.12g}" for value in distinct.tolist()]
        return [names[place] for place in places.tolist()]
    return [cell.strip() for cell in cells]
