"""Cells as numbers: decimal commas, thousands, units, clock times, `mean ± spread`, footnote marks, ways to write K."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.formats.headers import (
    LOAD_NAMES,
    TIME_UNITS,
    WORKER_NOUNS,
    ValueColumn,
    in_english,
    parse_header,
    parts_thousands_by_points,
    pattern,
    unit_of,
)
from scalecurve.study import Quantity
from scalecurve.study.run import FloatArray

MOST_CELL = 80
SAMPLE_ROWS = 1000


class DecimalMark(StrEnum):
    """What a comma between digits means in a table: nothing is known, decimals, or thousands."""

    UNKNOWN = "unknown"
    POINT = "point"
    COMMA = "comma"
    BOTH = "both"


_ONE_DIGIT = str.maketrans("012345678", "999999999")
_DIGITS = frozenset("0123456789.")
# Shapes of cells: every digit is a 9.
_PARTED = {
    DecimalMark.COMMA: re.compile(r"9{1,3}(?:\.999)+(?:,9+)?|9+(?:,9+)?"),
    DecimalMark.POINT: re.compile(r"9{1,3}(?:,999)+(?:\.9+)?|9+(?:\.9+)?"),
}
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_VALUE = re.compile(rf"(?P<number>{_NUMBER})\s*(?P<unit>[^\d\s.,+-][^\d]*)?")
_SPREAD = re.compile(
    rf"(?P<mean>{_NUMBER}[^±\d]*?)\s*(?:±|\+/-|\+-|\\pm)\s*(?P<spread>{_NUMBER})\s*(?P<unit>[^\d\s].*)?"
)
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_NOUN = "|".join(sorted((noun for noun in {*WORKER_NOUNS, *LOAD_NAMES} if len(noun) > 1), key=len, reverse=True))
_IN_NAME = re.compile(  # make -j4, --threads 4, sort/threads:4, OpenMP (4 threads)
    rf"(?<![\w-])-(?:j|t|n|np|p|c)[\s=]*(?P<flag>\d+)\b|(?<![A-Za-z])(?:{_NOUN})[\s=:_-]*(?P<after>\d+)\b"
    rf"|(?<![\w.])(?P<before>\d+)[\s-]*(?:{_NOUN})\b",
    re.IGNORECASE,
)
_ONES = "one two three four five six seven eight nine ten eleven twelve"
_NUMERALS = {word: number for number, word in enumerate(_ONES.split(), 1)}
_NUMERALS |= {"sixteen": 16, "twenty": 20, "thirty-two": 32, "sixty-four": 64, "single": 1, "dual": 2, "quad": 4}
Cells = Sequence[str] | npt.NDArray[Any]
THOUSANDS = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
_PREFIXES = {**THOUSANDS, "T": 1e12, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30}
ABSENT = frozenset(("", "-", "–", "—", "--", "---", "na", "n/a", "n.a.", "nan", "none", "null", "nil", "?", ".", "..."))
NO_RESULT = frozenset((
    "oom", "out of memory", "dnf", "did not finish", "dns", "timeout", "time out", "timed out", "tle", "failed", "fail",
    "failure", "crash", "crashed", "error", "err", "killed", "cancelled", "canceled", "aborted", "segfault", "skipped",
    "not run", "not measured", "not available", "n/m", "unavailable", "diverged", "x", "✗", "❌",
))  # fmt: skip
FAILED_MARK = re.compile(
    r"(?<!\bno )(?<!\bnot )(?<!\b0 )(?<!never )(?<!without )\b(?:failed|crashed|killed|aborted|timed[ -]?out"
    r"|segfault(?:ed)?|out of memory|oom)\b(?!\s*[:=]\s*0)(?P<ends>\s*(?:[(:].*)?$)?",
    re.IGNORECASE,
)
SUMMARY_ROW = re.compile(
    r"(?:geo[\s-]?)?mean\b|average|avg\b|(?:grand |sub-?)?total|overall\b|sum\b|summe|"
    r"median\b|gesamt|mittelwert|moyenne|promedio|std|总计|平均|合計",
    re.IGNORECASE,
)


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


@dataclass(frozen=True, eq=False)
class CellGrid:
    """A table: the headers as written, the cells by column (text, or an array of numbers), the line of each row.

    `caption` is the text above and below it, which may state a unit; `delimiter` parts the cells of a line of text.
    """

    headers: tuple[str, ...]
    columns: tuple[Cells, ...]
    lines: Sequence[int]
    row_word: str = "line"
    caption: str = ""
    delimiter: str | None = None

    @property
    def rows(self) -> int:
        return len(self.lines)

    def where(self, row: int) -> str:
        return f"{self.row_word} {self.lines[row]}"


def decimal_mark(cells: Iterable[str]) -> DecimalMark:
    """What commas between digits mean, by the cells that leave no choice; BOTH where they contradict each other."""
    text = "\n".join(cell[:MOST_CELL] for cell in cells if "," in cell)
    marks = {DecimalMark.COMMA} if pattern("cells.leading_zero").search(text) else set()
    undecided = False
    for number in set(re.findall(r"\d[\d.,]*\d", text.translate(_ONE_DIGIT))):  # few shapes, however many numbers
        if "," not in number:
            continue
        if "." in number:
            marks.add(DecimalMark.COMMA if number.rfind(",") > number.rfind(".") else DecimalMark.POINT)
        elif not pattern("cells.grouped").fullmatch(number):
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


def may_be_thousands(headers: Sequence[str], cells: Cells) -> bool:
    """Whether 12.345 may be twelve thousand: all cells have that shape, and the headers are of such a language."""
    if isinstance(cells, np.ndarray) or len(cells) < 2 or not all(map(pattern("cells.pointed").fullmatch, cells)):
        return False
    return parts_thousands_by_points(headers)


def parse_cell(text: str, mark: DecimalMark = DecimalMark.POINT) -> CellValue | None:
    """What one cell says; None where it is no number."""
    text = _plain_cell(text, mark)
    if match := _SPREAD.fullmatch(text) or pattern("cells.digits_spread").fullmatch(text):
        return _with_spread(match)
    if match := _VALUE.fullmatch(text):
        unit = (match["unit"] or "").strip()
        if not unit or unit in THOUSANDS:
            return CellValue(float(match["number"]) * THOUSANDS.get(unit, 1.0))
        if (meaning := unit_of(unit)) is not None:
            return CellValue(float(match["number"]) * meaning.factor, meaning)
    if match := pattern("cells.ten").fullmatch(text):
        return CellValue(float(f"{match['number'] or 1}e{match['power']}"))
    if match := pattern("cells.fortran").fullmatch(text):
        return parse_cell(f"{match[1]}e{match[2]}")
    return _clock_time(text) if text else None


def _plain_cell(text: str, mark: DecimalMark) -> str:
    """A cell without emphasis, footnotes, remarks and marks of thousands, with a point; empty for a sign of failure."""
    text = pattern("cells.blanks").sub("", text.replace("**", "").strip().strip("$`"))[:MOST_CELL]
    text = text.replace("μ", "µ").replace("\u2212", "-").strip()
    if not text.isascii():
        if pattern("cells.bad_sign").search(text):
            return ""
        text = pattern("cells.pictures").sub("", text).strip()
    text = re.sub(r"(?<=[x×·*]10)[⁻⁰¹²³⁴-⁹]+", lambda match: "^" + match[0].translate(_RAISED), text.replace("× ", "×"))
    if re.fullmatch(r"10[⁻⁰¹²³⁴-⁹]+", text):
        return ""  # a power, or ten with a footnote
    text = pattern("cells.about").sub("", pattern("cells.footnote").sub("", text).strip("*"))
    text = pattern("cells.beside").sub("", text).strip()
    if mark is DecimalMark.COMMA:
        return pattern("cells.comma").sub(".", re.sub(r"(?<=\d)\.(?=\d{3}(?!\d))", "", text))
    return re.sub(r"(?<=\d),(?=(?:\d\d,)*\d{3}(?!\d))", "", text)


def _clock_time(text: str) -> CellValue | None:
    """The seconds of 1:02:03, 1h 2m 3s or PT1H; None for any other text."""
    clock = pattern("cells.clock").fullmatch(text)
    parts = clock or pattern("cells.iso").fullmatch(text) or pattern("cells.parts").fullmatch(text)
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
        values = cells.astype(np.float64, copy=False)
        return Numbers(values, ~np.isfinite(values))
    try:
        plain: FloatArray = np.array(list(map(float, cells)), dtype=np.float64)
        if "_" not in "".join(cells) and not (mark is DecimalMark.COMMA and _have_pointed_thousands(cells)):
            return Numbers(plain, ~np.isfinite(plain))
    except (ValueError, TypeError):
        pass
    return _of_any_shape(cells, mark, clock)


def _of_any_shape(cells: Sequence[str], mark: DecimalMark, clock: float | None) -> Numbers:
    memo = {cell: parse_cell(cell, mark) for cell in set(cells)}
    parsed = [memo[cell] for cell in cells]
    values, unit, mixed = _in_one_unit(parsed)
    items = [(i, item) for i, item in enumerate(parsed) if item is not None]
    two_part = [i for i, item in items if item.two_part_clock]
    clear = any(item.unit is not None and not item.two_part_clock for _, item in items)
    if clock is not None and not clear:
        values[two_part] *= clock / 60.0
    spreads = np.full(len(cells), np.nan)
    for i, item in items:
        spreads[i] = np.nan if item.spread is None else item.spread
    return Numbers(
        values,
        ~np.isfinite(values),
        unit=unit,
        spread=spreads if np.isfinite(spreads).any() else None,
        ambiguous=two_part[0] if two_part and not clear and clock is None else None,
        mixed=mixed,
    )


def _have_pointed_thousands(cells: Sequence[str]) -> bool:
    """Whether every cell with a point has it before three digits, as thousands where commas part the decimals."""
    pointed = [cell for cell in cells if "." in cell]
    return bool(pointed) and all(map(pattern("cells.pointed").fullmatch, pointed))


def _in_one_unit(parsed: Sequence[CellValue | None]) -> tuple[FloatArray, ValueColumn | None, int | None]:
    """The values, the unit that all state, and the first cell with another one; K ops/s and M ops/s become ops/s."""
    values = np.array([np.nan if item is None else item.value for item in parsed])
    units = {i: item.unit for i, item in enumerate(parsed) if item is not None}
    kinds = {i: None if unit is None else (unit.quantity, unit.unit) for i, unit in units.items()}
    present = list(dict.fromkeys(kinds.values()))
    first = next(filter(None, units.values()), None)
    if len(present) < 2:
        return values, first, None
    scales = _common_rate([str(kind[1]) for kind in present if kind and kind[0] is Quantity.THROUGHPUT])
    if len(scales) == len(present):
        for i, kind in kinds.items():
            values[i] *= scales[str(kind[1])][0] if kind else 1.0
        return values, ValueColumn(Quantity.THROUGHPUT, unit=next(iter(scales.values()))[1]), None
    return values, first, next(i for i, kind in kinds.items() if kind != present[0])


def _common_rate(units: Sequence[str]) -> dict[str, tuple[float, str]]:
    """For each of several rates its factor and the rate that they have in common: K ops/s and M ops/s; else nothing."""
    readings = [{unit: 1.0} for unit in units]
    for unit, own in zip(units, readings, strict=True):
        if match := pattern("cells.prefixed").fullmatch(unit):
            own[match["rest"]] = _PREFIXES[match["prefix"]]
    common = [base for base in readings[0] if all(base in own for own in readings)] if readings else []
    return {unit: (own[common[0]], common[0]) for unit, own in zip(units, readings, strict=True)} if common else {}


def counts_of(cells: Cells, mark: DecimalMark = DecimalMark.POINT, *, named: bool = True) -> Numbers:
    """A column of worker counts: `16 GPUs`, `np=16`, `2N8G`, `2^4` count 16; so does `2 x 8` below a name of workers.

    `1k` is 1,024 beside powers of two and 1,000 beside other counts; beside none of them it is `ambiguous`.
    """
    if not isinstance(cells, np.ndarray) and all(map(pattern("cells.raised_end").search, cells)):  # 2¹, 2², 2³
        raised = pattern("cells.raised_end").sub
        cells = [raised(lambda match: "^" + match[0].translate(_RAISED), cell) for cell in cells]
    numbers = numbers_of(cells, mark)
    if isinstance(cells, np.ndarray) or (not numbers.bad.any() and not any(cell[-1:] in "kK" for cell in cells)):
        return numbers
    texts = [pattern("cells.footnote").sub("", cell.strip().strip("$`\"'").strip()).strip("*") for cell in cells]
    values, ambiguous = _with_thousands(numbers.values.copy(), texts)
    for i, text in enumerate(texts):
        if numbers.bad[i] and not pattern("cells.thousand").fullmatch(text):
            values[i] = _workers_in(text, named)
    if np.isnan(values).all():
        values = _of_one_model(cells)
    if np.isnan(values).any() and not np.isnan(in_names := _in_names(cells)).any():
        values = in_names
    elif named and 1 not in values:
        values[[is_serial(cell) for cell in cells]] = 1
    if _count_several_things(cells, texts):
        values[:] = np.nan
    return Numbers(values, ~np.isfinite(values), numbers.unit, ambiguous=ambiguous)


def _with_thousands(values: FloatArray, texts: Sequence[str]) -> tuple[FloatArray, int | None]:
    """The counts with 1k as a number, and the first of them that may be 1,000 or 1,024."""
    plain = [int(text) for text in texts if text.isdecimal() and len(text) < 10]
    binary = bool(plain) and all(k & (k - 1) == 0 for k in plain)
    places = {i: match for i, text in enumerate(texts) if (match := pattern("cells.thousand").fullmatch(text))}
    for i, match in places.items():
        values[i] = float(match["count"]) * (1024 if binary else 1000)
    is_open = not plain or (binary and len(plain) < 3)
    return values, next(iter(places), None) if is_open else None


def _count_several_things(cells: Sequence[str], texts: Sequence[str]) -> bool:
    """Whether cells count several things: 4 cores and 1 GPU, or 1 node (4 GPUs) and 1 node (8 GPUs)."""
    nodes = [match for cell in cells if (match := pattern("cells.nodes_with").match(cell.strip())) is not None]
    nouns = {counted_noun([text]) for text in texts} - {None}
    return len(nouns) > 1 or len({int(own["all"]) / max(int(own["nodes"]), 1) for own in nodes}) > 1


def _workers_in(text: str, named: bool) -> float:
    """The worker count that a cell states in words; NaN where it states none."""
    if named and text.lower() in _NUMERALS:
        return float(_NUMERALS[text.lower()])
    if match := pattern("cells.nodes").fullmatch(text) or (pattern("cells.product").fullmatch(text) if named else None):
        return float(match["nodes"]) * float(match["each"])
    if match := pattern("cells.power").fullmatch(text):
        return float(int(match["base"]) ** int(match["power"])) if len(match["base"]) < 4 else np.nan
    if match := pattern("cells.parallel").fullmatch(text):
        return float(match["count"])
    match = pattern("cells.workers").fullmatch(text) or pattern("cells.named").fullmatch(text)
    if match is None:
        return np.nan
    noun = in_english(match["noun"] or "").lower()
    is_count = (noun in WORKER_NOUNS or noun == "c") and noun not in TIME_UNITS if noun else named  # 20c are cores
    return float(match["count"].replace(",", "")) if is_count else np.nan


def is_serial(cell: Any) -> bool:
    """Whether a cell names the program without workers, such as `sequential`."""
    return pattern("cells.serial").fullmatch(str(cell).strip().strip("*_`")) is not None


def _in_names(cells: Sequence[str]) -> FloatArray:
    """The count in names that differ in nothing else: make -j4, make -j8; NaN where they differ in more."""
    found = [list(_IN_NAME.finditer(cell)) for cell in cells]
    most = max(map(len, found))
    varying = [j for j in range(most) if len({own[j][0] for own in found if len(own) == most}) > 1]
    place = varying[0] if len(varying) == 1 else 0
    matches = [own[place] if len(own) == most > 0 else None for own in found]
    counts = np.array([np.nan if own is None else float(own[own.lastgroup or 0]) for own in matches])
    if 1 not in counts:
        counts[[is_serial(cell) for cell in cells]] = 1
    rests = {cell[: own.start()] + cell[own.end() :] for cell, own in zip(cells, matches, strict=True) if own}
    return counts if len(rests) == 1 else np.full(len(cells), np.nan)


def counted_noun(cells: Cells) -> str | None:
    """What the cells of a column count by their own words: gpus for `16 GPUs`; None where they do not say."""
    match = (
        None
        if isinstance(cells, np.ndarray)
        else pattern("cells.workers").fullmatch(cells[0].strip()) or pattern("cells.named").fullmatch(cells[0])
    )
    return WORKER_NOUNS.get((match["noun"] or "").lower()) if match else None


def _of_one_model(cells: Sequence[str]) -> FloatArray:
    """How many of one machine each cell names, such as 8x A100; NaN where one names none, or they name several."""
    found = [model_and_count(cell) for cell in cells]
    if len({own[0] for own in found if own}) != 1 or not all(found):
        return np.full(len(cells), np.nan)
    return np.array([float(own[1]) for own in found if own])


LONGEST_MODEL = 60  # characters of `8x NVIDIA A100-SXM4-80GB`


def model_and_count(cell: str) -> tuple[str, str] | None:
    """The machine that a cell names and how many of it: 8x A100; None for any other cell."""
    match = pattern("cells.models").fullmatch(cell.strip().strip("*`")) if len(cell) <= LONGEST_MODEL else None
    if match is None:
        return None
    return (match["model"] or match["name"] or match["first"]).lower().rstrip("s "), match["count"] or match["many"]


def are_sizes(labels: Sequence[str]) -> bool:
    """Whether all labels are sizes: 3x3, 5x5."""
    return all(pattern("evidence.size").fullmatch(label.strip()) for label in labels)


def holds_counts(cells: Cells, mark: DecimalMark = DecimalMark.POINT) -> bool:
    """Whether at least half of the first cells are worker counts."""
    values = counts_of(cells[:SAMPLE_ROWS], mark).values
    return 2 * int(((values >= 1) & (values < np.inf) & (values == np.floor(values))).sum()) >= len(values)


def no_result(cell: Any) -> bool:
    """Whether a cell says that there is no measurement: empty, n/a, OOM, DNF, or a bound such as >3600."""
    plain = str(cell).strip().strip("*`$()[]").strip().lower()
    return (
        plain in ABSENT
        or plain in NO_RESULT
        or pattern("cells.failed").match(plain) is not None
        or pattern("cells.bound").fullmatch(plain) is not None
    )


def is_summary(label: str) -> bool:
    """Whether a row of that name among rows of runs sums them up: avg, stdev, max, speedup."""
    head = parse_header(plain := label.strip(" *_`"))
    return SUMMARY_ROW.match(plain) is not None or head.statistic is not None or head.is_derived


def only_parted(cells: Cells) -> bool:
    """Whether every number has commas before groups of three digits: speedups are the same whatever they part."""
    filled = [str(cell).strip() for cell in cells if not no_result(cell)]
    return len(filled) > 1 and all(pattern("cells.only_parted").match(cell) for cell in filled)


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
