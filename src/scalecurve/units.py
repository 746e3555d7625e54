"""Quantities as people write them, read and written; inside, all is seconds, bytes, FLOP, dollars and whole workers."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, SupportsFloat

from scalecurve.errors import Fault, InputError

_NUMBER = r"[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_QUANTITY = re.compile(rf"\s*({_NUMBER})\s*([^\d\s].*?)?\s*$")

_SECONDS = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3,
    "s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0,
    "m": 60.0, "min": 60.0, "minute": 60.0, "minutes": 60.0,
    "h": 3600.0, "hour": 3600.0, "hours": 3600.0,
    "d": 86400.0, "day": 86400.0, "days": 86400.0,
    "w": 604800.0, "week": 604800.0, "weeks": 604800.0,
}  # fmt: skip

_TIME_UNITS = (  # shown below this many seconds, seconds of the unit, its name
    (1e-6, 1e-9, "ns"), (1e-3, 1e-6, "us"), (1.0, 1e-3, "ms"), (120.0, 1.0, "s"), (7200.0, 60.0, "min"),
    (172800.0, 3600.0, "h"),
)  # fmt: skip

_DECIMAL = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "B": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}

SMALLEST, LARGEST = 1e-100, 1e100
MAX_WORKERS = 10**9
WIDEST_COLUMN = 1e4  # the ratio of durations that one unit can show
MAX_WORKERS_LISTED = 100_000


def _split(text: str, kind: str, example: str) -> tuple[float, str]:
    match = _QUANTITY.match(text)
    if match is None:
        raise InputError(Fault(f"not {kind}", value=text, remedy=f"write it like {example}"))
    value = float(match[1].replace("_", ""))
    refuse_extremes(value, text, example)
    return value, match[2] or ""


def refuse_extremes(value: float, text: str, example: str) -> None:
    """Raise InputError for a number whose squares and ratios no float can hold."""
    if value and not SMALLEST <= abs(value) <= LARGEST:
        fault = Fault("too large or too small to compute with", value=text, remedy=f"write it like {example}")
        raise InputError(fault)


def parse_seconds(text: str) -> float:
    """`1.5`, `20ms`, `5h`, `30d` as seconds; compound forms such as `1h30m` are added up."""
    parts = re.findall(rf"({_NUMBER})\s*([a-zA-Zµ]*)", text)
    rest = re.sub(rf"({_NUMBER})\s*([a-zA-Zµ]*)", "", text).strip()
    if not parts or rest or any(unit and unit not in _SECONDS for _, unit in parts):
        hint = "write it like 90s, 1h30m or 2d; units: ns us ms s min h d w"
        raise InputError(Fault("not a duration", value=text, remedy=hint))
    seconds = sum(float(number.replace("_", "")) * _SECONDS[unit or "s"] for number, unit in parts)
    refuse_extremes(seconds, text, "90s, 1h30m or 2d")
    return seconds


def parse_count(text: str) -> float:
    """A plain number with a decimal (`4M` = 4,000,000; `70B`) or binary (`4Mi` = 4,194,304) suffix."""
    value, suffix = _split(text, "a count", "4Mi, 1.5k or 70B")
    factor = _BINARY.get(suffix, _DECIMAL.get(suffix))
    if factor is None:
        raise InputError(
            Fault("unknown suffix of a count", value=text, remedy="use k M G/B T (decimal) or Ki Mi Gi Ti")
        )
    return value * factor


def parse_bytes(text: str) -> float:
    """`350MB` (decimal), `16MiB` (binary), `1024` or `1024B` as bytes; bits (`Mb`) are refused here."""
    value, suffix = _split(text, "a size", "350MB or 16MiB")
    prefix = suffix.removesuffix("B")
    factor = _BINARY.get(prefix, _DECIMAL.get(prefix) if prefix != "B" else None)
    if factor is None or suffix.endswith("b"):
        hint = "bytes are written with a capital B (350MB, 16MiB); a small b means bits"
        raise InputError(Fault("not a size in bytes", value=text, remedy=hint))
    return value * factor


def parse_bandwidth(text: str) -> float:
    """`400Gb/s` or `400Gbps` (bits) and `50GB/s` (bytes) as bytes per second; the two differ by eight."""
    value, suffix = _split(text, "a bandwidth", "400Gb/s or 50GB/s")
    match = re.fullmatch(r"(k|K|M|G|T|Ki|Mi|Gi|Ti)?(b|B|bit|bits)(?:/s|ps)", suffix)
    if match is None:
        hint = "say bits or bytes: 400Gb/s (bits) or 50GB/s (bytes)"
        raise InputError(Fault("not a bandwidth", value=text, remedy=hint))
    prefix = match[1] or ""
    factor = _BINARY.get(prefix, _DECIMAL.get(prefix, 1))
    return value * factor / (1 if match[2] == "B" else 8)


def parse_share(text: str) -> float:
    """A share or a confidence level as a number: `0.95`, `95%`, `95 %` and `95` are all 0.95.

    A bare number from 2 to 100 is a percentage; between 1 and 2 it could be either, so it is refused.
    """
    value, suffix = _split(text, "a share", "0.05 or 5%")
    if suffix == "%":
        return value / 100
    if suffix or 1 < value < 2 or value > 100:
        raise InputError(Fault("not a share", value=text, remedy="write 0.05 or 5%"))
    return value / 100 if value >= 2 else value


def parse_level(text: str) -> float:
    """A confidence level, as `parse_share` reads it, strictly between 0 and 1."""
    level = parse_share(text)
    if faults := level_faults(level):
        raise InputError(faults)
    return level


def level_faults(level: float) -> list[Fault]:
    """What is wrong with a confidence level: nothing, or that it is not strictly between 0 and 1."""
    level = as_number(level, "level")
    fault = Fault("a level lies between 0 and 1", where="level", value=f"{level:g}", remedy="0.95 is usual")
    return [] if 0 < level < 1 else [fault]


def as_number(value: object, where: str) -> float:
    """A real number of Python or numpy as a float, for arguments that callers may get wrong; NaN and infinity pass."""
    if isinstance(value, SupportsFloat) and not isinstance(value, bool | str | bytes | type):
        try:
            return float(value)
        except OverflowError:  # a whole number of more than 308 digits
            return math.inf
    raise InputError(Fault("a number is needed", where=where, value=repr(value)[:80], remedy="such as 0.95 or 2.50"))


def positive_faults(values: Mapping[str, float | None]) -> list[Fault]:
    """A fault for every value that is not a finite number above 0; None is no value."""
    numbers = {where: as_number(value, where) for where, value in values.items() if value is not None}
    return [
        Fault("not above 0", where=where, value=f"{value:g}", remedy="give a positive number")
        for where, value in numbers.items()
        if not 0 < value < math.inf
    ]


def parse_number(text: str) -> float:
    """`1.5` or `20%` as a number; a bare number stays as it is."""
    value, suffix = _split(text, "a number", "2.5 or 5%")
    if suffix not in ("", "%"):
        raise InputError(Fault("not a number", value=text, remedy="write it like 2.5 or 5%"))
    return value / 100 if suffix == "%" else value


def parse_factor(text: str) -> float:
    """`180x` or `180` as a number."""
    return parse_number(text.strip().rstrip("xX×"))


def parse_numbers(text: str) -> tuple[float, ...]:
    """`0.01,1.5,20%` as numbers; every bad item is reported."""
    values: list[float] = []
    faults: list[Fault] = []
    for item in text.split(","):
        try:
            values.append(parse_number(item))
        except InputError as problem:
            faults += problem.faults
    if faults:
        raise InputError(faults)
    return tuple(values)


WorkersLike = int | str | Iterable[int]


def as_workers(value: WorkersLike) -> tuple[int, ...]:
    """Worker counts from an int, a numpy integer, a sequence or array of them, or text such as "16..64".

    Text gives rising counts; a sequence keeps its order.
    """
    if isinstance(value, str):
        return parse_workers(value)
    accepted = 'pass 16, [16, 32], an array of whole numbers from 1 to a billion, or text such as "16..64"'
    items: list[Any]
    try:
        odd = isinstance(value, Mapping | bytes)
        items = [value] if odd else list(value)  # type: ignore[arg-type]  # an int has nothing to list
    except TypeError:
        items = [value]
    counts: list[int] = []
    faults: list[Fault] = []
    for item in items:
        try:
            count = 0 if isinstance(item, bool) else operator.index(item)
        except TypeError:
            count = 0
        if not 1 <= count <= MAX_WORKERS:
            faults.append(Fault("not a worker count", value=str(item)[:80], remedy=accepted))
        counts.append(count)
    if not counts:
        faults.append(Fault("there are no worker counts", remedy=accepted))
    if faults:
        raise InputError(faults)
    return tuple(counts)


def parse_workers(text: str) -> tuple[int, ...]:
    """Worker counts: `1,2,4,8`, `1..512` (doubling, the end included) or `1..8:1` (steps), in rising order."""
    counts: set[int] = set()
    faults: list[Fault] = []
    for item in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,10})(?:\.\.(\d{1,10})(?::(\d{1,10}))?)?\s*", item, re.ASCII)
        if match is None:
            hint = "write 1,2,4,8 or 1..512 (doubling) or 1..8:1 (step), up to a billion"
            faults.append(Fault("not a worker count", value=item.strip(), remedy=hint))
            continue
        first, last = int(match[1]), int(match[2] or match[1])
        step = None if match[3] is None else int(match[3])
        if first < 1 or last < first or last > MAX_WORKERS or step == 0:
            message = "worker counts are whole numbers from 1 to a billion, rising"
            faults.append(Fault(message, value=item.strip(), remedy="write 1..512"))
        elif step is None:
            counts |= {last, *(first << doubling for doubling in range((last // first).bit_length()))}
        elif (last - first) // step >= MAX_WORKERS_LISTED:
            hint = f"at most {MAX_WORKERS_LISTED} counts; use a larger step"
            faults.append(Fault("too many worker counts", value=item.strip(), remedy=hint))
        else:
            counts.update(range(first, last + 1, step))
    if faults:
        raise InputError(faults)
    return tuple(sorted(counts))


def format_seconds(seconds: float) -> str:
    """A duration for people: three or four significant digits and a unit that suits its size."""
    size, unit = _time_unit(abs(seconds))
    return f"{_significant(seconds / size)} {unit}"


def seconds_alike(durations: Iterable[float | None]) -> Callable[[float], str]:
    """Writes durations that are compared: all in the unit of their geometric middle, below a second of the largest.

    Where they span more than four decades, each has the unit that suits its size.
    """
    known = [duration for duration in durations if duration]
    if not known or min(known) <= 0 or max(known) > WIDEST_COLUMN * min(known):
        return format_seconds
    middle = math.sqrt(min(known) * max(known))
    size, unit = _time_unit(max(known) if middle < 1 else middle)  # 1.016 s is no 1016 ms, but 150 min may stay
    return lambda seconds: f"{_significant(seconds / size)} {unit}"


def format_seconds_range(low: float, high: float, between: str = "..") -> str:
    """Two durations in one unit, that of their geometric middle: `47.1..76.2 s`."""
    size, unit = _time_unit(math.sqrt(low * high) if low > 0 else abs(high))
    return f"{_significant(low / size)}{between}{_significant(high / size)} {unit}"


def format_interval(low: float, high: float, write: Callable[[float], str]) -> str:
    """Two values as `write` writes them, their unit once: `47.1..76.2 s`."""
    (start, unit), (end, other) = write(low).partition(" ")[::2], write(high).partition(" ")[::2]
    return f"{start}..{end} {other}".rstrip() if unit == other else format_seconds_range(low, high)


def _time_unit(seconds: float) -> tuple[float, str]:
    return next(((size, unit) for limit, size, unit in _TIME_UNITS if seconds < limit), (86400.0, "d"))


def format_bytes(count: float) -> str:
    """Bytes with a decimal prefix."""
    factor, prefix = _prefix(count, "PTGMk")
    return f"{_significant(count / factor)} {prefix}B"


def format_memory(count: float) -> str:
    """Bytes of memory in the binary units that devices are sold and report in."""
    size, unit = (2.0**30, "GiB") if count == 0 or abs(count) >= 2.0**30 else (2.0**20, "MiB")
    return f"{_significant(count / size, 3)} {unit}"


def format_count(count: float) -> str:
    """A count with a decimal suffix: 1.5k, 4M, 70B."""
    factor, suffix = _prefix(count, "TBMk", least=1e4)
    return f"{_significant(count / factor)}{suffix}" if suffix else f"{count:g}"


def format_rate(rate: float) -> str:
    """A rate in its own unit with four digits: 0.8123, 1234, 637.8k."""
    return format_count(float(f"{rate:.4g}"))


def rates_alike(rates: Iterable[float | None]) -> Callable[[float], str]:
    """Writes rates that are compared, such as the ends of an interval: all with the suffix of the largest."""
    known = [abs(rate) for rate in rates if rate]
    if not known or min(known) * WIDEST_COLUMN < max(known):
        return format_rate
    factor, suffix = _prefix(max(known), "TBMk", least=1e4)
    return lambda rate: f"{_significant(rate / factor)}{suffix}"


def format_flops(rate: float) -> str:
    """A rate of arithmetic with the prefixes of the field: GFLOP/s, TFLOP/s."""
    factor, prefix = _prefix(rate, "EPTGM")
    return f"{_significant(rate / factor)} {prefix}FLOP/s"


def _prefix(value: float, prefixes: str, least: float = 1e3) -> tuple[float, str]:
    """The largest of the prefixes that the value reaches, with its factor; 1 and none below `least`."""
    reached = (prefix for prefix in prefixes if abs(value) >= max(_DECIMAL[prefix], least))
    prefix = next(reached, "")
    return _DECIMAL[prefix], prefix


def _significant(value: float, digits: int = 4) -> str:
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
