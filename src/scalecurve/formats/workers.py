"""Which number of a foreign file is K: said by the user, by the format, by a field's name, or asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, warning
from scalecurve.formats.coercion import as_count
from scalecurve.formats.headers import worker_unit
from scalecurve.formats.reading import Point
from scalecurve.formats.source import Source
from scalecurve.formats.wishes import Wishes

Located = tuple[Point, Source]
# Where several fields rise together, the one that names the finest worker is K.
PREFERRED = ("gpus", "ranks", "processes", "workers", "threads", "cores", "nodes")


@dataclass(frozen=True)
class Settled:
    """K of every point (None where it has none), where it comes from, and the field that is thereby used up."""

    k: tuple[int | None, ...]
    origin: str
    k_unit: str | None = None
    field: str | None = None
    labels: tuple[str, ...] | None = None
    assumed: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


def settle_workers(found: Sequence[Located], wishes: Wishes, k_origin: str | None = None) -> Settled:
    if wishes.k_from is not None:
        return _by_pattern(found, wishes.k_from)
    if wishes.k_column is not None:
        return _by_named_field(found, wishes.k_column)
    if any(point.k is not None for point, _ in found):
        return Settled(tuple(point.k for point, _ in found), k_origin or "the file itself")
    return _by_likely_field(found)


def _by_pattern(found: Sequence[Located], pattern: re.Pattern[str]) -> Settled:
    """From every file's name where all match, else from the names inside the files."""
    by_file = [_matched(pattern, source.name) for _, source in found]
    if all(k is not None for k in by_file):
        return Settled(tuple(by_file), f"the file names by {pattern.pattern}")
    by_name = [_matched(pattern, point.name) for point, _ in found]
    if all(k is None for k in by_name):
        seen = ", ".join(sorted({point.name or source.name for point, source in found})[:5])
        hint = "it is matched against the paths given and the names inside the files"
        raise InputError(Fault("the pattern finds no worker count", where="--k-from", seen=seen, remedy=hint))
    labels = tuple(_without(pattern, point.name) for point, _ in found)
    return Settled(tuple(by_name), f"names by {pattern.pattern}", labels=labels)


def _matched(pattern: re.Pattern[str], text: str) -> int | None:
    match = pattern.search(text)
    return as_count(match[1]) if match and match[1] is not None else None


def _without(pattern: re.Pattern[str], text: str) -> str:
    """The name with its worker count starred, so that the points of one curve share it."""
    match = pattern.search(text)
    if match is None or match[1] is None:
        return text
    return f"{text[: match.start(1)]}*{text[match.end(1) :]}"


def _by_named_field(found: Sequence[Located], name: str) -> Settled:
    counts = tuple(as_count(point.fields.get(name)) for point, _ in found)
    if all(k is None for k in counts):
        raise InputError(Fault("--k-column names no field of whole numbers", seen=name, remedy=_fields_seen(found)))
    return Settled(counts, f"`{name}`", worker_unit(name), name)


def _by_likely_field(found: Sequence[Located]) -> Settled:
    counts = _count_fields(found)
    named = [name for name in counts if worker_unit(name)]
    if len(named) > 1:
        named = [name for name in named if len(set(counts[name])) > 1] or named
    if len(named) == 1:
        return _taken(named[0], counts)
    if len(named) > 1:
        return _among(named, counts)
    varying = [name for name in counts if len(set(counts[name])) > 1]
    if len(varying) == 1:
        return _only_one(varying[0], counts)
    raise InputError(_ask(found, varying))


def _count_fields(found: Sequence[Located]) -> dict[str, tuple[int | None, ...]]:
    """Fields that hold a whole number from 1 in every point that has them."""
    names = list(dict.fromkeys(name for point, _ in found for name in point.fields))
    return {
        name: tuple(as_count(point.fields.get(name)) for point, _ in found)
        for name in names
        if all(name not in point.fields or as_count(point.fields[name]) is not None for point, _ in found)
    }


def _taken(name: str, counts: dict[str, tuple[int | None, ...]]) -> Settled:
    return Settled(counts[name], f"`{name}`", worker_unit(name), name)


def _among(named: list[str], counts: dict[str, tuple[int | None, ...]]) -> Settled:
    """Several worker counts: any will do where they rise together, and none is chosen where they do not."""
    named = sorted(named, key=lambda name: PREFERRED.index(worker_unit(name) or "nodes"))
    first, *others = named
    if all(_proportional(counts[first], counts[other]) for other in others):
        chosen = _taken(first, counts)
        note = f"{first} is K ({', '.join(others)} rise with it, which gives the same efficiency)"
        return Settled(chosen.k, chosen.origin, chosen.k_unit, first, assumed=(note,))
    hint = f"they are {', '.join(named)}; choose with --k-column"
    raise InputError(Fault("several fields could be the worker count", remedy=hint))


def _proportional(one: Sequence[int | None], other: Sequence[int | None]) -> bool:
    pairs = [(a, b) for a, b in zip(one, other, strict=True) if a and b]
    return bool(pairs) and all(a * pairs[0][1] == b * pairs[0][0] for a, b in pairs)


def _only_one(name: str, counts: dict[str, tuple[int | None, ...]]) -> Settled:
    message = (
        f"K was taken from `{name}`, the only whole number that varies; its name does not say that it counts workers"
    )
    found = warning(
        "assumed-workers", message, remedy="name it with --k-column if it does; else this is no scaling study"
    )
    return Settled(counts[name], f"`{name}`", None, name, assumed=(f"`{name}` counts workers",), findings=(found,))


def _ask(found: Sequence[Located], varying: list[str]) -> Fault:
    if varying:
        hint = f"these vary: {', '.join(varying)}; choose with --k-column"
        return Fault("several fields could be the worker count", remedy=hint)
    names = sorted({source.name for _, source in found})
    return Fault(
        "the worker count is not in the file", remedy=f"{_fields_seen(found)}; {suggest_pattern(names, found)}"
    )


def _fields_seen(found: Sequence[Located]) -> str:
    names = list(dict.fromkeys(name for point, _ in found for name in point.fields))
    return f"fields seen: {', '.join(names[:30])}" if names else "the file has no parameters"


def suggest_pattern(names: Sequence[str], found: Sequence[Located]) -> str:
    """A --k-from that would do, read off the first name that has a number in it."""
    for text in (*names, *(point.name for point, _ in found[:50])):
        if match := re.search(r"([A-Za-z]{0,8}[-_=]?)(\d+)", text):
            return (
                f"say where it is with --k-from '{re.escape(match[1])}(\\d+)' (which finds {match[2]} in {text[:80]})"
            )
    return r"put it into the file names and say --k-from 'n(\d+)_'"
