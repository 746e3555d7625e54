"""HdrHistogram logs (.hlog), versions 1.0 to 1.3: V1 and V2 encodings, tags, one record for each tag.

Values in a log have no unit.  By convention Interval_Max is printed in milliseconds, so the ratio of the raw maximum
to it gives the unit (nanoseconds for jHiccup); YCSB logs microseconds with the same ratio and is recognised by its
header.  A finding says which unit was taken, and `unit` overrides it.  The package hdrhistogram reads V2 only, and YCSB
still writes V1, so that both are decoded here.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.errors import Fault, FormatError
from scalecurve.findings import info
from scalecurve.formats.latencies import Records
from scalecurve.formats.reading import MOST_FAULTS, Reader, ReadOptions
from scalecurve.formats.source import Source
from scalecurve.study import Provenance
from scalecurve.study.latency_record import Histogram, LatencyRecord

_COOKIES = {0x1C849301: 1, 0x1C849303: 2}
_COMPRESSED = (0x1C849302, 0x1C849304)
_WORD_MASK = ~0xF0
_HEADER = struct.Struct(">iiiiqqd")
_VERSION = re.compile(r"#\[Histogram log format version (\S+?)\]")

Array = npt.NDArray[Any]
MAX_INFLATED = 64 * 1024 * 1024
MOST_BUCKETS = 10_000_000


@dataclass
class TagIntervals:
    """The intervals of one tag."""

    values: list[Array] = field(default_factory=list)
    counts: list[Array] = field(default_factory=list)
    largest: tuple[float, float] = (0.0, 0.0)  # Interval_Max as printed, and the raw value behind it
    begin: float = float("inf")
    end: float = 0.0

    @property
    def raw_unit(self) -> float:
        """Seconds per raw unit, from the largest Interval_Max in milliseconds; nanoseconds where that is unclear."""
        printed, raw = self.largest
        ratio = raw / printed if printed > 0 else 0.0
        units = ((1e6, 1e-9), (1e3, 1e-6), (1.0, 1e-3))
        return next((unit for divisor, unit in units if 0.9 * divisor < ratio < 1.1 * divisor), 1e-9)


def recognise(source: Source) -> str | None:
    marks = ("#[Histogram log format", "Interval_Compressed_Histogram")
    return next((f"the mark {mark}" for mark in marks if mark in source.head_text), None)


def read(source: Source, options: ReadOptions) -> Records:
    """The intervals of a log merged into one record for each tag; every bad line is reported."""
    tags: dict[str, TagIntervals] = {}
    faults: list[Fault] = []
    version, ycsb = None, False
    for number, line in enumerate(source.text.splitlines(), 1):
        version = version or _VERSION.match(line)
        ycsb = ycsb or line.startswith("#[Logging for:")
        if not line.strip() or line.startswith(("#", '"')):
            continue
        try:
            _add_interval(tags, line.strip())
        except ValueError as problem:
            faults.append(Fault(str(problem), where=f"line {number}", remedy="the log may be truncated or damaged"))
    if faults or not tags:
        truncated = [Fault("no intervals in the log; it may be truncated")]
        raise FormatError(faults[:MOST_FAULTS] or truncated)
    records = []
    for name, tag in tags.items():
        unit = options.unit or (1e-6 if ycsb else tag.raw_unit)
        text = f"one raw unit of the log is taken as {unit:g} s"
        records.append(
            LatencyRecord(
                name=name,
                histogram=Histogram.from_counts(np.concatenate(tag.values) * unit, np.concatenate(tag.counts)),
                seconds=tag.end - tag.begin,
                provenance=Provenance(
                    source=source.file_name, tool="HdrHistogram", tool_version=version[1] if version else None
                ),
                findings=(info("unit-taken", text, remedy="say --unit if that is wrong"),),
            )
        )
    return tuple(records)


def _add_interval(tags: dict[str, TagIntervals], line: str) -> None:
    name = "untagged"
    if line.startswith("Tag="):
        head, _, line = line.partition(",")
        name = head.removeprefix("Tag=")
    fields = line.split(",")
    if len(fields) != 4:
        raise ValueError(f"an interval has four fields, not {len(fields)}")
    begin, length, largest = (float(text) for text in fields[:3])
    values, counts = decode(fields[3])
    tag = tags.setdefault(name, TagIntervals())
    tag.values.append(values)
    tag.counts.append(counts)
    tag.begin, tag.end = min(tag.begin, begin), max(tag.end, begin + length)
    if len(values) and largest > tag.largest[0]:
        tag.largest = (largest, float(values[-1]))


def decode(text: str) -> tuple[Array, Array]:
    """Values (bucket middles, raw units) and counts of one base64 histogram."""
    try:
        packed = base64.b64decode(text, validate=True)
        cookie, length = struct.unpack_from(">ii", packed)
        if cookie & _WORD_MASK not in _COMPRESSED:
            raise ValueError(f"not a compressed histogram of version 1 or 2 (cookie {cookie:#x})")
        if len(packed) < 8 + length:
            raise ValueError(f"the histogram is cut short: {len(packed) - 8} of {length} bytes")
        raw = zlib.decompressobj().decompress(packed[8 : 8 + length], MAX_INFLATED)
        cookie, length, _offset, digits, lowest, _highest, _ratio = _HEADER.unpack_from(raw)
    except (binascii.Error, struct.error, zlib.error) as problem:
        raise ValueError(f"the histogram cannot be decoded: {problem}") from None
    version, word = _COOKIES.get(cookie & _WORD_MASK), cookie >> 4 & 0xE
    payload = raw[_HEADER.size : _HEADER.size + length]
    if version is None or len(payload) < length or not 0 <= digits <= 5:
        raise ValueError("the histogram's inner header is damaged")
    if version == 2:
        counts = _zigzag_counts(payload)
    elif word in (2, 4, 8):
        counts = np.frombuffer(payload[: len(payload) // word * word], dtype=f">i{word}").astype(np.int64)
    else:
        raise ValueError(f"counts of {word} bytes are unknown")
    used = np.flatnonzero(counts)
    return _bucket_middles(used, digits, max(1, lowest)), counts[used]


def _zigzag_counts(payload: bytes) -> Array:
    """ZigZag LEB128 numbers of at most nine bytes; a negative one is a run of zeros."""
    counts: list[int] = []
    value = shift = 0
    for byte in payload:
        last = shift == 56  # the ninth byte carries eight bits
        value |= (byte if last else byte & 0x7F) << shift
        shift += 7
        if byte & 0x80 and not last:
            continue
        number = value >> 1 ^ -(value & 1)
        value = shift = 0
        if number >= 0:
            counts.append(number)
        elif len(counts) - number > MOST_BUCKETS:
            raise ValueError("a run of zeros is longer than any histogram")
        else:
            counts.extend([0] * -number)
    if shift:
        raise ValueError("a count is cut short")
    return np.array(counts, np.int64)


def _bucket_middles(index: Array, digits: int, lowest: int) -> Array:
    """HdrHistogram's layout: linear sub-buckets of a power of two, doubling from bucket to bucket."""
    magnitude = int(np.ceil(np.log2(2 * 10**digits)))
    half = magnitude - 1
    unit = int(np.floor(np.log2(lowest)))
    bucket = (index >> half) - 1
    sub = (index & ((1 << half) - 1)) + (1 << half)
    first = bucket < 0
    sub = np.where(first, sub - (1 << half), sub)
    bucket = np.where(first, 0, bucket)
    low = sub.astype(np.float64) * 2.0 ** (bucket + unit)
    middles: Array = low + (2.0 ** (bucket + unit) - 1) / 2
    return middles


READER = Reader("hdr-log", "HdrHistogram log", recognise, read)
