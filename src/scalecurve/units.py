"""Reading and writing quantities at the edges; inside, all is seconds, bytes, FLOP, dollars and whole workers."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable, Sequence
from typing import Any

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

_DECIMAL = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "B": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}

MAX_WORKERS_LISTED = 100_000


def _split(text: str, kind: str, example: str) -> tuple[float, str]:
    match = _QUANTITY.match(text)
    if match is None:
        raise InputError(Fault(f"not {kind}", seen=text, remedy=f"write it like {example}"))
    value = float(match[1].replace("_", ""))
    if not math.isfinite(value):
        raise InputError(Fault(f"not a finite {kind.removeprefix('a ')}", seen=text, remedy=f"write it like {example}"))
    return value, match[2] or ""


def parse_seconds(text: str) -> float:
    """`1.5`, `20ms`, `5h`, `30d` as seconds; compound forms such as `1h30m` are added up."""
    parts = re.findall(rf"({_NUMBER})\s*([a-zA-Zµ]*)", text)
    rest = re.sub(rf"({_NUMBER})\s*([a-zA-Zµ]*)", "", text).strip()
    if not parts or rest or any(unit and unit not in _SECONDS for _, unit in parts):
        known = "ns us ms s min h d w"
        raise InputError(Fault("not a duration", seen=text, remedy=f"write it like 90s, 1h30m or 2d; units: {known}"))
    seconds = sum(float(number.replace("_", "")) * _SECONDS[unit or "s"] for number, unit in parts)
    if not math.isfinite(seconds):
        raise InputError(Fault("not a finite duration", seen=text, remedy="write it like 90s, 1h30m or 2d"))
    return seconds


def parse_count(text: str) -> float:
    """A plain number with a decimal (`4M` = 4,000,000; `70B`) or binary (`4Mi` = 4,194,304) suffix."""
    value, suffix = _split(text, "a count", "4Mi, 1.5k or 70B")
    factor = _BINARY.get(suffix, _DECIMAL.get(suffix))
    if factor is None:
        raise InputError(Fault("unknown suffix of a count", seen=text, remedy="use k M G/B T (decimal) or Ki Mi Gi Ti"))
    return value * factor


def parse_bytes(text: str) -> float:
    """`350MB` (decimal), `16MiB` (binary), `1024` or `1024B` as bytes; bits (`Mb`) are refused here."""
    value, suffix = _split(text, "a size", "350MB or 16MiB")
    prefix = suffix.removesuffix("B")
    factor = _BINARY.get(prefix, _DECIMAL.get(prefix) if prefix != "B" else None)
    if factor is None or suffix.endswith("b"):
        hint = "bytes are written with a capital B (350MB, 16MiB); a small b means bits"
        raise InputError(Fault("not a size in bytes", seen=text, remedy=hint))
    return value * factor


def parse_bandwidth(text: str) -> float:
    """`400Gb/s` or `400Gbps` (bits) and `50GB/s` (bytes) as bytes per second; the two differ by eight."""
    value, suffix = _split(text, "a bandwidth", "400Gb/s or 50GB/s")
    match = re.fullmatch(r"(k|K|M|G|T|Ki|Mi|Gi|Ti)?(b|B|bit|bits)(?:/s|ps)", suffix)
    if match is None:
        hint = "say bits or bytes: 400Gb/s (bits) or 50GB/s (bytes)"
        raise InputError(Fault("not a bandwidth", seen=text, remedy=hint))
    prefix = match[1] or ""
    factor = _BINARY.get(prefix, _DECIMAL.get(prefix, 1))
    return value * factor / (1 if match[2] == "B" else 8)


def parse_share(text: str) -> float:
    """`0.05` or `5%` as a number."""
    value, suffix = _split(text, "a share", "0.05 or 5%")
    if suffix not in ("", "%"):
        raise InputError(Fault("not a share", seen=text, remedy="write 0.05 or 5%"))
    return value / 100 if suffix == "%" else value


def parse_numbers(text: str) -> tuple[float, ...]:
    """`0.01,0.05,20%` as numbers; every bad item is reported."""
    values: list[float] = []
    faults: list[Fault] = []
    for item in text.split(","):
        try:
            values.append(parse_share(item))
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
    items: list[Any]
    try:
        items = list(value)  # type: ignore[arg-type]  # an int has nothing to list
    except TypeError:
        items = [value]
    counts: list[int] = []
    faults: list[Fault] = []
    for item in items:
        try:
            count = 0 if isinstance(item, bool) else operator.index(item)
        except TypeError:
            count = 0
        if count < 1:
            accepted = 'pass 16, [16, 32], an array of whole numbers from 1, or text such as "16..64"'
            faults.append(Fault("not a worker count", seen=str(item), remedy=accepted))
        counts.append(count)
    if faults:
        raise InputError(faults)
    return tuple(counts)


def parse_workers(text: str) -> tuple[int, ...]:
    """Worker counts: `1,2,4,8`, `1..512` (doubling, the end included) or `1..8:1` (steps), in rising order."""
    counts: set[int] = set()
    faults: list[Fault] = []
    for item in text.split(","):
        try:
            counts.update(_parse_worker_item(item.strip()))
        except InputError as problem:
            faults += problem.faults
    if faults:
        raise InputError(faults)
    return tuple(sorted(counts))


def _parse_worker_item(item: str) -> Sequence[int]:
    match = re.fullmatch(r"(\d+)(?:\.\.(\d+)(?::(\d+))?)?", item)
    if match is None:
        hint = "write 1,2,4,8 or 1..512 (doubling) or 1..8:1 (step)"
        raise InputError(Fault("not a worker count", seen=item, remedy=hint))
    first, last, step = int(match[1]), int(match[2] or match[1]), match[3]
    if first < 1 or last < first or step == "0":
        raise InputError(Fault("worker counts are whole numbers from 1, rising", seen=item, remedy="write 1..512"))
    if step is None:
        return _doublings(first, last)
    if (last - first) // int(step) >= MAX_WORKERS_LISTED:
        hint = f"at most {MAX_WORKERS_LISTED} counts; use a larger step"
        raise InputError(Fault("too many worker counts", seen=item, remedy=hint))
    return range(first, last + 1, int(step))


def _doublings(first: int, last: int) -> list[int]:
    counts = [first]
    while counts[-1] * 2 <= last:
        counts.append(counts[-1] * 2)
    return counts if counts[-1] == last else [*counts, last]


def format_seconds(seconds: float) -> str:
    """A duration for people: three or four significant digits and a unit that suits its size."""
    if seconds < 0:
        return "-" + format_seconds(-seconds)
    for limit, factor, unit in ((1e-6, 1e9, "ns"), (1e-3, 1e6, "us"), (1.0, 1e3, "ms"), (120.0, 1.0, "s")):
        if seconds < limit:
            return f"{_significant(seconds * factor)} {unit}"
    for limit, divisor, unit in ((7200.0, 60.0, "min"), (172800.0, 3600.0, "h")):
        if seconds < limit:
            return f"{_significant(seconds / divisor)} {unit}"
    return f"{_significant(seconds / 86400.0)} d"


def format_bytes(count: float) -> str:
    """Bytes with a decimal prefix."""
    for factor, unit in ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if abs(count) >= factor:
            return f"{_significant(count / factor)} {unit}"
    return f"{_significant(count)} B"


def format_count(count: float) -> str:
    """A count with a decimal suffix: 1.5k, 4M, 70B."""
    for factor, unit in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e4, "k")):
        if abs(count) >= factor:
            return f"{_significant(count / (1e3 if unit == 'k' else factor))}{unit}"
    return f"{count:g}"


def format_flops(rate: float) -> str:
    """A rate of arithmetic with the prefixes of the field: GFLOP/s, TFLOP/s."""
    for factor, unit in ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M")):
        if rate >= factor:
            return f"{_significant(rate / factor)} {unit}FLOP/s"
    return f"{_significant(rate)} FLOP/s"


def _significant(value: float, digits: int = 4) -> str:
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
