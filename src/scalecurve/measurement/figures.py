"""Figures that a job prints: what patterns match, numbers as programs write them, one of many."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from scalecurve.errors import Fault, InputError
from scalecurve.measurement.ports import LaunchJob, LaunchOutcome, Unreadable
from scalecurve.measurement.processes import MOST_OUTPUT, end_of_file
from scalecurve.patterns import search
from scalecurve.units import parse_seconds

STALE_SECONDS = 1.0
"""A file may be this much older than the launch: clocks of file systems are coarse."""
Take = Literal["last", "first", "max", "min", "sum", "mean"]
TIME_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_CLOCK = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d{1,2}(?:\.\d+)?)")
_WORDS = re.compile(r"(?:\d+(?:\.\d*)?(?:[eE][+-]?\d+)?\s*(?:ns|us|µs|ms|s|min|m|h)\s*)+")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][+-]?\d+)?")
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_UNIT = re.compile(
    r"[ \t]{0,3}(%|[A-Za-z\u00b5\u03bc][\w.^*-]*(?:/ ?[A-Za-z]+)+|[A-Za-z]+(?: per [A-Za-z]+)+|[A-Za-z\u00b5\u03bc]+)"
    r"(?![\w/^*]|-\d|[ \t]*[=:]?[ \t]*\.?\d)"  # 0.5 min 0.4 max 0.6: the unit of 0.5 is not minutes
)
_TIME_WORDS = {
    "ns": r"ns|(?i:nsecs?|nanosec(?:ond)?s?)",
    "us": r"us|µs|(?i:usecs?|microsec(?:ond)?s?)",
    "ms": r"ms|(?i:msecs?|millisec(?:ond)?s?)",
    "s": r"s|(?i:secs?|seconds?)",
    "min": r"mins?|(?i:minutes?)",
    "h": r"h|(?i:hrs?|hours?)",
}
_PER_TIME = re.compile(r".*(?:/ ?| per )(?:s|secs?|seconds?|min|minute|h|hr|hour|day|d)", re.IGNORECASE)
_OF_ONE = re.compile(r"(.+)(?:/ ?| per )(gpu|rank|worker|process|thread|core|device|node|card)s?", re.IGNORECASE)


def unit_after(text: str, end: int) -> str | None:
    """The unit that a program prints behind a figure: `ms` of `12.5 ms`, `it/s`, `%`; None where no unit follows."""
    match = _UNIT.match(text, end)
    word = match[1].replace("\u03bc", "µ") if match else ""
    return word if word == "%" or "/" in word or " per " in word or time_unit(word) else None


def time_unit(word: str) -> str | None:
    """The unit of time that a word is: `ms` for ms, msec and milliseconds."""
    return next((unit for unit, words in _TIME_WORDS.items() if re.fullmatch(words, word)), None)


def check_unit(word: str | None, what: str, unit: str | None = None) -> None:
    """Refuse a figure whose printed unit says that it is not the time or the rate of all that was asked for."""
    if word is None:
        return
    one = _OF_ONE.fullmatch(word)
    is_rate = bool(_PER_TIME.fullmatch(one[1] if one else word))
    own = time_unit(re.split("/| per ", word)[0])
    if what == "time" and is_rate:
        problem, remedy = "that is a rate", "use --rate-pattern"
    elif word == "%":
        problem, remedy = "that is a share", f"match the {what} itself"
    elif what == "time" and own and own != unit:
        problem, remedy = f"the unit of the time is {unit}", f"say --time-unit {own}"
    elif what == "rate" and not is_rate and own:
        problem, remedy = "that is a time", "use --time-pattern"
    elif what == "rate" and is_rate and one:
        problem, remedy = f"that is the rate of one {one[2].lower()}", "match the rate of all workers, or a time"
    else:
        return
    raise Unreadable(f"the {what} pattern matched a number of {word!r}: {problem}; {remedy}")


def number_of(text: str, what: str) -> float:
    """A number as programs write it: 0.15, 1.5e-3, Fortran's 0.15D+00, 1,234.5.

    A comma that does not group thousands is refused: 0,15 may be a decimal comma.
    """
    plain = text.strip()
    if _GROUPED.fullmatch(plain):
        plain = plain.replace(",", "")
    if not _NUMBER.fullmatch(plain):
        hint = r"; put the brackets around the number alone, like ([\d.]+)" if re.search(r"\d", plain) else ""
        raise Unreadable(f"the {what} pattern matched {text[:80]!r}, which is not a number{hint}")
    value = float(plain.replace("D", "e").replace("d", "e"))
    if not math.isfinite(value):
        raise Unreadable(f"the {what} pattern matched {text[:80]!r}, which is not finite")
    return value


def seconds_of(text: str, unit: str, what: str = "time") -> float:
    """Seconds: a number in `unit`, or d-hh:mm:ss, h:mm:ss, mm:ss, 1m2.5s and 850.2ms, which say their own."""
    plain = text.strip().replace("\u03bc", "µ")  # two characters look like this
    if clock := _CLOCK.fullmatch(plain):
        days, hours, minutes, seconds = (float(part or 0) for part in clock.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if _WORDS.fullmatch(plain):
        return parse_seconds(plain)
    return number_of(plain, what) * TIME_UNITS[unit]


def says_no_unit(text: str) -> bool:
    """Whether a figure is a number alone; a clock and 1m2.5s say their own unit."""
    plain = text.strip().replace("\u03bc", "µ")
    return not (_CLOCK.fullmatch(plain) or _WORDS.fullmatch(plain))


def last_digit(text: str) -> float:
    """What one in the last digit of a printed figure is, as a share of it: 0.1 for 1.0, 1/12 for 0:00:12."""
    plain = text.strip().replace("\u03bc", "µ")
    number, unit = re.sub(r"[eEdD][+-]?\d+|[^\d.]", "", plain), 1.0
    value = float(number) if _NUMBER.fullmatch(number) else 0.0
    if clock := _CLOCK.fullmatch(plain):
        number, value = clock[4], seconds_of(plain, "s")
    elif _WORDS.fullmatch(plain):
        number, name = re.findall(r"([\d.]+)\s*([a-zµ]+)", plain)[-1]
        unit, value = parse_seconds(f"1{name}"), parse_seconds(plain)
    return unit * 10.0 ** -len(number.partition(".")[2]) / value if value > 0 else 0.0


def taken(values: Sequence[float], take: Take | None) -> float:
    """One of several matches, or their sum or mean; the last unless another is asked for."""
    total = math.fsum(values)
    ways = {"last": values[-1], "first": values[0], "max": max(values), "min": min(values), "sum": total}
    return ways.get(take or "last", total / len(values))


def text_to_search(sources: Sequence[str], outcome: LaunchOutcome, folder: Path | None, job: LaunchJob) -> str:
    """What the patterns are searched in: stdout, stderr, and files that the job has written during this launch."""
    parts = []
    for source in sources:
        if source in ("stdout", "stderr"):
            parts.append(outcome.output if source == "stdout" else outcome.errors)
            continue
        path = (folder or Path.cwd()) / source
        try:
            written = path.stat().st_mtime
            text = end_of_file(path, MOST_OUTPUT).decode(errors="replace").strip()
        except OSError as problem:
            hint = "--from names a file that the job writes, relative to its folder"
            what = "the job wrote no" if isinstance(problem, FileNotFoundError) else f"{problem.strerror}:"
            raise Unreadable(f"{what} {path}; {hint}") from None
        if written < outcome.launched - STALE_SECONDS:
            raise Unreadable(f"{path} is older than the launch at K = {job.k}: the job did not write it this time")
        parts.append(text)
    return "\n".join(parts)


def no_match(what: str, pattern: str, text: str, errors: str) -> Unreadable:
    """Why a pattern matches nothing in the text that was searched, with the way out where a search finds one."""
    loose = re.sub(r" +", r"\\s+", pattern)
    ways = [
        (rf"write \s+ for its spaces: '{loose}'", loose, text),
        ("it does on standard error: add --from stderr", pattern, errors),
    ]
    groups = search([(what, own, searched) for _, own, searched in ways])
    hint = f"the text ends {text[-200:]!r}" if text else "the job printed nothing there"
    hint = next((way for (way, _, _), matches in zip(ways, groups, strict=True) if matches), hint)
    return Unreadable(f"the {what} pattern '{pattern}' matches nothing; {hint}")


def metric_from(text: str) -> tuple[str, dict[str, str]]:
    """A metric as one text, NAME[:TAKE]=PATTERN[:UNIT], as its name and the fields of its table."""
    match = re.fullmatch(r"([A-Za-z][\w.-]*)(?::(\w+))?=(.*\).*?)(?::([A-Za-z%][\w/%^*.-]*))?", text, re.DOTALL)
    if match is None:
        hint = "write NAME=PATTERN[:unit], like 'loop=Loop time of (\\S+):s', or NAME:sum=PATTERN"
        raise InputError(Fault("not a metric", where="metrics", value=text, remedy=hint))
    name, take, pattern, unit = match.groups()
    fields = {"pattern": pattern, "take": take, "unit": unit}
    return name, {key: value for key, value in fields.items() if value is not None}


_IN = r"(us|\u00b5s|usec|ms|msec|secs?|s)(?![a-z])"
# How load generators print latencies: percentile, number, unit.  A pattern without a unit is of a tool that prints ms.
_LATENCIES = (
    re.compile(rf"\bp\(?(?P<p>\d{{2}}(?:\.\d+)?)\)?\s*[=:]\s*(?P<value>[\d.]+)\s*{_IN}"),
    re.compile(rf"^\s*(?P<p>\d{{2}}(?:\.\d+)?)%\s+(?:in\s+)?(?P<value>[\d.]+)\s*{_IN}", re.MULTILINE),
    re.compile(rf"\b(?P<p>\d{{2}}(?:\.\d+)?)(?:th|st|nd|rd) percentile\s*[=:]\s*(?P<value>[\d.]+)\s*(?:{_IN})?"),
    re.compile(rf"\b(?:latency average|average latency|mean latency)\s*[=:]\s*(?P<value>[\d.]+)\s*{_IN}"),
    re.compile(rf"^\s*Latency\s+(?P<value>[\d.]+){_IN}", re.MULTILINE),  # wrk: average, deviation, most
)
_REDIS = re.compile(
    r"latency summary \(msec\):\s+avg\s+min\s+p50\s+p95\s+p99\s+max\s+" + r"\s+".join([r"([\d.]+)"] * 6)
)
LONGEST_LATENCIES = 200_000


def latencies_in(text: str) -> dict[str, float]:
    """Latencies in seconds as pgbench, wrk, hey, redis-benchmark, k6, etcd and sysbench print them: mean, p50, p99."""
    text = text[-LONGEST_LATENCIES:]
    seconds: dict[str, float] = {}
    if redis := _REDIS.search(text):
        seconds = {name: float(redis[place]) / 1e3 for name, place in (("mean", 1), ("p50", 3), ("p95", 4), ("p99", 5))}
    for pattern in _LATENCIES:
        for match in pattern.finditer(text):
            name = f"p{match['p']}" if "p" in pattern.groupindex else "mean"
            unit = match[pattern.groups]
            with suppress(ValueError):
                seconds.setdefault(name, float(match["value"]) * TIME_UNITS[time_unit(unit or "") or "ms"])
    return seconds
