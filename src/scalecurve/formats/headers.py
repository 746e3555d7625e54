"""What the header of a column says: worker counts, a time or a rate with its unit, a statistic, a repeat, a filter.

A header is put into English, then taken apart into words, a unit and a statistic; nothing here looks at the cells
below it.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from pathlib import Path

from scalecurve.study import Quantity

_PATTERNS = tomllib.loads(Path(__file__).with_name("patterns.toml").read_text(encoding="utf-8"))
LATEX, SHELL_TIMES = _PATTERNS["latex"], _PATTERNS["shell_times"]
_DATA = tomllib.loads(Path(__file__).with_name("vocabulary.toml").read_text(encoding="utf-8"))


@lru_cache(maxsize=512)
def pattern(name: str) -> re.Pattern[str]:
    """An expression of patterns.toml by module and name, compiled when it is first asked for."""
    module, _, key = name.partition(".")
    return re.compile(_PATTERNS[module][key])


def _by_word(section: str) -> dict[str, str]:
    """What each word of a section of the vocabulary stands for."""
    return {word: meaning for meaning, words in _DATA[section].items() for word in words.split()}


WORDS: dict[str, frozenset[str]] = {role: frozenset(words.split()) for role, words in _DATA["words"].items()}
TIME_UNITS = {unit: float(seconds) for unit, seconds in _by_word("time_units").items()}
WORKER_NOUNS, LOAD_NAMES = _by_word("workers"), _by_word("loads")
_WHOLE_WORKERS, _ENGLISH, _SIGNS = _by_word("worker_names"), _by_word("languages"), _by_word("signs")
_GRIDS: dict[str, str] = _DATA["grids"]
_PAIRS = {tuple(pair.split()): word for pair, word in _DATA["pairs"].items()}
_PER_NODE: dict[str, tuple[str, str]] = {name: (counted, of) for name, (counted, of) in _DATA["per_worker"].items()}

# Figures of a published table, by the whole name of their column; S is the speedup, s are seconds.
_ARGUMENT = r"(?:_?[KkNnPp]|_?\([KkNnPp]\))?"  # S_p, S(K)
_TIMES = r"(?:_?[\[(]?[x×][\])]?)?"
_PERCENT = r"(?:_?[\[(]?%[\])]?|_percent|_pct)?"
_KIND = r"(?:(?:parallel|par\.|relative|rel\.|absolute|abs\.|scaling|weak|strong)_?)*"
_PRINTED_RATIOS = {
    "speedup": re.compile(rf"S{_ARGUMENT}{_TIMES}|s\([KkNnPp]\)|(?i:{_KIND}speed_?up{_TIMES})"),
    "efficiency": re.compile(
        rf"[Eη]{_ARGUMENT}{_PERCENT}|e\([KkNnPp]\)|PE_?[\[(]?%[\])]?|(?i:{_KIND}eff(?:iciency|\.)?{_PERCENT})"
    ),
}
_SIGN = re.compile("|".join(sorted(_SIGNS, key=len, reverse=True)))
_STROKES = str.maketrans("łøı", "loi")
_WIDE = str.maketrans("（）［］【】：，％", "()[][]:,%")
_TENS = r"1[eE][-+]?\d{1,2}|10\^\{?[-+]?\d{1,2}\}?|10+"
_SCALED = re.compile(
    rf"[x×*]?\s*(?P<ten>{_TENS})\s*[x×*]?\s*(?P<unit>[a-zµ]+)|(?P<first>[a-zµ]+)\s*[x×*]\s*(?P<then>{_TENS})"
)
_MULTIPLE = re.compile(rf"[x×*/]\s*(?:{_TENS})(?!\d)|(?<!\d)(?:{_TENS})\s*[x×*]")
MOST_HEADER = 200


class Statistic(StrEnum):
    """What a column of a summary holds of each K."""

    MEAN = "mean"
    MEDIAN = "median"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"
    QUANTILE = "quantile"
    DEVIATION = "standard deviation"
    SPREAD = "spread"
    COUNT = "count"


_STATISTIC_OF = {word: Statistic(name) for word, name in _by_word("statistics").items()}


@dataclass(frozen=True)
class ValueColumn:
    """What a column of observations holds; times are multiplied by `factor` to give seconds."""

    quantity: Quantity
    factor: float = 1.0
    unit: str | None = None


@dataclass(frozen=True)
class Header:
    """A header taken apart.

    `unit` is what the header states of a time or rate (None: no unit stated), `statistic` which statistic it names,
    `number` the only number in it (run1, p=4), `could_be_minutes` marks `min` after a word, which may mean either, and
    `unknown_unit` what stands in the place of a unit without being one (time (cycles), time_m).  `clock` is what one
    unit of a clock time's first part means, in seconds: 60 for (mm:ss), 3600 for (h:mm) and (hh:mm:ss).
    """

    text: str
    words: tuple[str, ...]
    unit: ValueColumn | None = None
    statistic: Statistic | None = None
    number: int | None = None
    could_be_minutes: bool = False
    unknown_unit: str | None = None
    other_unit: str | None = None
    clock: float | None = None

    @property
    def base(self) -> tuple[str, ...]:
        """The words without statistics and numbers, so that mean_time and time_std share one."""
        return tuple(word for word in self.words if word not in _STATISTIC_OF and not word.isdecimal())

    def says(self, *roles: str) -> bool:
        """Whether one of its words, or all of them together, has one of these roles in the vocabulary."""
        whole = "_".join(self.words)
        return any(word in WORDS[role] for role in roles for word in (*self.words, whole))

    @property
    def is_derived(self) -> bool:
        """Whether it holds a ratio or a function of times: speedups, percentages, 1/time, log T, T1/Tp."""
        is_function = pattern("headers.function").match(self.text) is not None
        is_share = "rate" in self.words and self.says("share_of") and self.unit is None  # success rate
        return is_function or is_share or self.says("derived") or printed_ratio(self.text) is not None

    @property
    def is_part(self) -> bool:
        """Whether it holds a time that is not the whole of a run: idle, waiting, queued; or a moment."""
        is_moment = self.says("moment") and not self.says("whole", "finished_in")  # finished in 3 s
        return (self.says("part") and not self.says("with")) or is_moment

    @property
    def is_count(self) -> bool:
        """Whether it counts the observations behind a mean: n, runs, samples."""
        if self.words[-1:] == ("count",) and {*self.words[:-1]} <= WORDS["time"]:
            return self.unit is None  # time count, as pandas joins its headers
        rest = [word for word in self.words if word not in ("of", "num", "number", "no", "#", "n")]
        return self.unit is None and bool(self.words) and all(word in WORDS["count"] for word in rest)

    @property
    def is_repeat(self) -> bool:
        """Whether it numbers the repeats: run, trial, repeat id."""
        rest = [word for word in self.words if word not in WORDS["repeat_fillers"] and not word.isdecimal()]
        numbered = any(word in ("id", "no", "nr", "idx", "index", "#") for word in self.words)
        return self.unit is None and (all(word in WORDS["repeat"] for word in rest) if rest else numbered)

    @property
    def value(self) -> ValueColumn | None:
        """A time or a rate, by the unit or by its words; None where neither says."""
        if self.unit is not None:
            return self.unit
        if self.is_derived or self.other_unit or self.says("not_seconds"):
            return None
        if self.says("rate"):
            return ValueColumn(Quantity.THROUGHPUT, unit=self.text)
        if self.says("time"):
            return ValueColumn(Quantity.SECONDS, 1.0, "s")
        return None


@lru_cache(maxsize=4096)
def unit_of(text: str) -> ValueColumn | None:
    """The time or rate that a unit alone means: ms, s/step, img/s, tokens/s/GPU, ns/day; None for anything else."""
    plain = text.strip().lower().replace("μ", "µ").replace("(s)", "s").rstrip(".")
    if not plain.isascii():
        plain = in_english(plain)
    if plain in TIME_UNITS:
        return ValueColumn(Quantity.SECONDS, TIME_UNITS[plain], "s")
    if (scaled := _SCALED.fullmatch(plain)) and (unit := scaled["unit"] or scaled["first"]) in TIME_UNITS:
        ten = re.sub(r"^10\^\{?([-+]?\d+)\}?$", r"1e\1", scaled["ten"] or scaled["then"])  # 10^3 s, ms x 1000
        return ValueColumn(Quantity.SECONDS, float(ten) * TIME_UNITS[unit], "s")
    if pattern("headers.no_rate").match(plain):
        return None
    per_worker = pattern("headers.per_worker").search(plain)
    match = pattern("headers.time_per").fullmatch(plain)
    if match and match["unit"] in TIME_UNITS and not per_worker:
        own, per = TIME_UNITS[match["unit"]], TIME_UNITS.get(match["what"])
        if per is None or own > per:  # ms/step, and hour/ns as molecular dynamics prints it
            return ValueColumn(Quantity.SECONDS, own, "s")
        return ValueColumn(Quantity.THROUGHPUT, unit=text.strip())  # ns/day
    if per_worker:
        rest = pattern("headers.per_worker").sub("", plain)
        is_rate = pattern("headers.rate_suffix").fullmatch(rest) or rest in WORDS["rate"]
        return ValueColumn(Quantity.THROUGHPUT_PER_WORKER, unit=text.strip()) if is_rate else None
    return (
        ValueColumn(Quantity.THROUGHPUT, unit=text.strip()) if pattern("headers.rate_suffix").fullmatch(plain) else None
    )


def is_other_unit(text: str) -> bool:
    """Whether a text is a unit of something that is no time and no rate: MB, %, W, $/h."""
    return (
        pattern("headers.other_units").fullmatch(text.strip()) is not None
        or pattern("headers.no_rate").match(text.strip().lower()) is not None
    )


@lru_cache(maxsize=4096)
def parse_header(text: str) -> Header:
    """A header taken apart; the text is shortened to a length that no column's name has."""
    text = _cleaned(text)
    english, clock = _without_clock(in_english(text))
    rest, unit, other = _without_unit(english.lstrip("# ") or english)
    if pattern("headers.function").match(text):
        unit, other = None, text  # the logarithm of a time has no unit of time
    words = words_of(rest)
    numbers = [word for word in words if word.isdecimal()]
    number = int(numbers[0]) if len(numbers) == 1 and len(numbers[0]) < 10 else None
    could_be_minutes = unit is None and other is None and words[-1:] == ("min",)
    if unit is None and other is None and not could_be_minutes:
        unit, words = _unit_among(words, english)
    unknown = _unknown_unit(english, words) if unit is None and other is None else None
    is_rate = unit is not None and unit.quantity is not Quantity.SECONDS  # it/min is no minimum
    named = [_STATISTIC_OF[word] for word in words if word in _STATISTIC_OF and not (is_rate and word == "min")]
    spread = [item for item in named if item in (Statistic.DEVIATION, Statistic.SPREAD)]
    statistic = next(iter(spread or named), None)
    unit = replace(unit, unit=text) if unit is not None and is_rate else unit
    return Header(text, words, unit, statistic, number, could_be_minutes, unknown, other, clock)


def _cleaned(text: str) -> str:
    """A header without marks of emphasis, footnotes, mathematics, and the spread that it names beside the mean."""
    text = text[:MOST_HEADER].strip().strip("\"'`*").strip()
    text = pattern("headers.footnote").sub("", text).strip() or text
    text = re.sub(r"\s*(?:±|\+/-)\s*\S+", "", text)  # mean ± std
    text = pattern("headers.maths").sub("", text) if "$" in text else text
    return re.sub(r"(?<![A-Za-z])[pP]\((\d\d)\)", r"p\1", pattern("headers.spread_beside").sub("", text))


def _without_clock(text: str) -> tuple[str, float | None]:
    """A header without the form of its clock times, such as (mm:ss), and what the first part of one is in seconds."""
    form = pattern("headers.clock_form").search(text)
    if form is None or ":" not in form[0]:
        return text, None
    return re.sub(r"[\[(]\s*[\])]", "", f"{text[: form.start()]} {text[form.end() :]}"), 3600.0 if form["h"] else 60.0


def _unit_among(words: tuple[str, ...], english: str) -> tuple[ValueColumn | None, tuple[str, ...]]:
    """The unit of time that is the last word, or the only one among them; and the words without it."""
    last = words[-1] if words else ""
    stands_alone = len(words) > 1 or last not in ("h", "day", "days", "hour", "minute", "second")
    if last in TIME_UNITS and english != "S" and stands_alone:  # S is the speedup
        return ValueColumn(Quantity.SECONDS, TIME_UNITS[last], "s"), words[:-1]
    within = [word for word in words if len(word) > 1 and word in TIME_UNITS and word not in ("min", "day", "second")]
    if len(within) != 1 or len(words) < 2 or "per" in words or _MULTIPLE.search(english):
        return None, words
    unit = ValueColumn(Quantity.SECONDS, TIME_UNITS[within[0]], "s")
    return unit, tuple(word for word in words if word != within[0])


def _without_unit(text: str) -> tuple[str, ValueColumn | None, str | None]:
    """The header without its unit, the unit of a time or rate, and any other unit it states (MB, %)."""
    left, slash, last = text.rpartition("/")
    if slash and (unit := unit_of(last)) is not None and set(words_of(left)) & WORDS["time"]:
        return left, unit, None  # time/s as physicists write it
    if (whole := unit_of(text)) is not None and text.lower() not in ("min", "day", "days") and text != "S":
        return text if whole.quantity is not Quantity.SECONDS else "", whole, None
    if match := pattern("headers.bracket").search(text):
        return _unit_in_brackets(text, text[: match.start()], match["inside"].strip())
    for group in re.finditer(r"[\[({]([^\])}]*)[\])}]", text):  # time (ms), wall
        if (unit := unit_of(group[1])) is not None:
            return f"{text[: group.start()]} {text[group.end() :]}", unit, None
    if (match := pattern("headers.in_unit").match(text)) and (unit := unit_of(match["unit"])) is not None:
        return match["left"], unit, None
    *before, last_word = re.split(r"[\s_]+", text)
    if before and len(last_word) > 1 and pattern("headers.other_units").fullmatch(last_word):
        return text, None, last_word
    is_price = slash and pattern("headers.no_rate").match(text.lower())
    return text, None, "%" if text.endswith("%") else text if is_price else None


def _unit_in_brackets(text: str, left: str, inside: str) -> tuple[str, ValueColumn | None, str | None]:
    """The same of a header that ends in brackets."""
    if (unit := unit_of(inside)) is not None and left.strip():
        rate = unit.quantity is Quantity.THROUGHPUT and pattern("headers.per_worker").search(left.lower())
        return left, replace(unit, quantity=Quantity.THROUGHPUT_PER_WORKER) if rate else unit, None
    if is_other_unit(inside):
        return left, None, inside
    if (unit := unit_of(left)) is not None and unit.quantity is not Quantity.SECONDS:
        return text, unit, None
    return f"{left} {inside}", None, None


def _unknown_unit(text: str, words: tuple[str, ...]) -> str | None:
    """What stands where a unit stands and is none: the brackets of `time (a.u.)`, the m of `time_m`."""
    group = re.search(r"[\[({]([^\])}]*)[\])}]", text)
    inside = group[1] if group else ""
    plain = WORDS["no_unit"] | WORDS["time"] | WORDS["count"] | {*WORKER_NOUNS}
    if inside and any(word not in plain and not word.isdecimal() for word in words_of(inside)):
        return inside
    return words[-1] if len(words) > 1 and words[-1] in ("m", "d", "w", "u") and words[0] in WORDS["time"] else None


def words_of(text: str) -> tuple[str, ...]:
    """The words of a header in small letters: camel case, digits and signs are parted, `std dev` is one word."""
    text = (
        pattern("headers.end_to_end")
        .sub(" total ", pattern("headers.run_together").sub(r"\1 ", text))
        .replace("std::", "")
        .replace("#", " # ")
        .replace("%", " % ")
    )
    spread = pattern("headers.camel").sub(" ", text) if not text.isupper() else text
    spread = (
        re.sub(r"(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])", " ", spread.lower())
        if re.search(r"\d", spread)
        else spread.lower()
    )
    words = [word for word in re.split(r"[\s_\-.:,;=/()\[\]{}|?]+", spread) if word]
    joined: list[str] = []
    for word in words:  # p 95 is one word again, and so is std dev
        if (
            joined
            and word.isdecimal()
            and f"{joined[-1]}{word}" in _STATISTIC_OF
            and f"{joined[-1]}{word}" in text.lower()
        ):
            joined[-1] += word
        elif joined and (joined[-1], word) in _PAIRS:
            joined[-1] = _PAIRS[joined[-1], word]
        else:
            joined.append(word)
    return tuple(joined)


@lru_cache(maxsize=4096)
def in_english(text: str) -> str:
    """A header with the words of other languages put into English; a word that is not known stays as it is."""
    text = pattern("headers.stunden").sub(r"\1\2h\3", text.translate(_WIDE))
    if not text.isascii():
        text = pattern("headers.pictures").sub("", text)
        text = re.sub(r"([\[(])\s*(?:時間|시간)\s*([\])])", r"\1h\2", text)
        text = _SIGN.sub(lambda match: f" {_SIGNS[match[0]]} ", text)
        text = unicodedata.normalize("NFC", text.replace("œ", "oe").replace("Œ", "Oe"))

    def english(match: re.Match[str]) -> str:
        word = match[0].lower()
        if word in _ENGLISH:  # tråde are threads, a trade is none
            return _ENGLISH[word]
        plain = unicodedata.normalize("NFD", word.translate(_STROKES))
        return _ENGLISH.get("".join(sign for sign in plain if not unicodedata.combining(sign)), match[0])

    return re.sub(r"[^\W\d_]+", english, text).strip()


def parts_thousands_by_points(headers: Sequence[str]) -> bool:
    """Whether a word of the headers is of a language that writes 12.345 for twelve thousand; none of Asia does."""
    words = {word.lower() for header in headers for word in re.findall(r"[^\W\d_]+", header)}
    return any(in_english(word) != word for word in words - WORDS["english_too"] if not _SIGN.search(word))


@lru_cache(maxsize=4096)
def printed_ratio(header: str) -> str | None:
    """ "speedup" or "efficiency" where the whole name of a column says one of them; None for any other."""
    plain = re.sub(r"[\s-]+", "_", in_english(header.strip().strip("*`$\"'")).strip())
    return next((name for name, pattern in _PRINTED_RATIOS.items() if pattern.fullmatch(plain)), None)


@lru_cache(maxsize=4096)
def worker_unit(header: str) -> str | None:
    """What a column of that name counts (gpus, ranks ...); None where it is not a worker count."""
    plain = _plain(header)
    if plain in _WHOLE_WORKERS:
        return _WHOLE_WORKERS[plain]
    if pattern("headers.model").fullmatch(header.strip()):
        return "gpus"
    parsed = parse_header(header)
    if parsed.unit is not None or parsed.other_unit or parsed.statistic or "/" in header:
        return None  # GPUs/node is no count of workers
    words = [word for word in parsed.words if word not in WORDS["worker_fillers"]]
    nouns = [WORKER_NOUNS[word] for word in words if word in WORKER_NOUNS]
    if len(nouns) == len(words) and words:
        return nouns[-1]  # cpu cores are cores
    if words in (["world", "size"], ["comm", "size"]):
        return "ranks"
    return None


@lru_cache(maxsize=4096)
def counted_per_worker(header: str) -> tuple[str, str] | None:
    """What a column counts and for each of what: (gpus, nodes) for GPUs/node, (threads, ranks) for tpp; else None."""
    plain = _plain(header)
    if plain in _PER_NODE:
        return _PER_NODE[plain]
    match = pattern("headers.each").fullmatch(plain)
    nouns = [WORKER_NOUNS.get(word) or WORKER_NOUNS.get(f"{word}s") for word in match.groups()] if match else []
    counted, of = nouns if len(nouns) == 2 else (None, None)
    return (counted, "ranks" if of == "processes" else of) if counted and of else None


def is_split(header: str, other: str) -> bool:
    """Whether the other column says how many workers each of those of the first has: nodes and GPUs/node."""
    unit, per = worker_unit(header), counted_per_worker(other)
    return per is not None and per[1] == ("ranks" if unit == "processes" else unit)


def grid_sides(headers: Sequence[str]) -> tuple[int, int] | None:
    """The two columns that are the sides of a grid of processes, such as P and Q or px and py; None without them."""
    names = [_plain(header) for header in headers]
    return next(((names.index(a), names.index(b)) for a, b in _GRIDS.items() if a in names and b in names), None)


@lru_cache(maxsize=4096)
def k_unit_of(header: str) -> str | None:
    """What a column of that name counts where it is K: workers, or the load on a server (clients, connections ...)."""
    return worker_unit(header) or LOAD_NAMES.get(_plain(header))


def _plain(header: str) -> str:
    return re.sub(r"[\s-]+", "_", in_english(header.strip().strip("\"'#*`")).strip().lower())


@lru_cache(maxsize=4096)
def is_worker_time(header: str) -> bool:
    """Whether a column holds the time of all workers together (core-hours, node hours), which is not elapsed time."""
    return pattern("headers.worker_time").search(in_english(header[:MOST_HEADER]).lower()) is not None


def is_of_one_worker(header: str) -> bool:
    """Whether a column holds what one worker of several did: rank0 samples/s."""
    return pattern("headers.one_worker").search(header[:MOST_HEADER].lower()) is not None


@lru_cache(maxsize=4096)
def value_meaning(header: str) -> ValueColumn | None:
    """Time, rate or rate per worker; None where the name does not say."""
    parsed = parse_header(header)
    if worker_unit(header) or parsed.statistic in (Statistic.DEVIATION, Statistic.SPREAD) or is_worker_time(header):
        return None
    value = parsed.value
    if (
        value is not None
        and value.quantity is Quantity.THROUGHPUT
        and pattern("headers.per_worker").search(header.lower())
    ):
        return replace(value, quantity=Quantity.THROUGHPUT_PER_WORKER)
    return value
