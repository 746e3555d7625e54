"""Which numbers of foreign files make the curve: which field is K, which metric, and which of several series.

K is stated by the user, by the format, by a field's name, or asked for; so are the metric and the series.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, warning
from scalecurve.formats.columns import as_count
from scalecurve.formats.headers import k_unit_of, parse_header, worker_unit
from scalecurve.formats.headings import words
from scalecurve.formats.reading import Point, ReadOptions, Unclear
from scalecurve.formats.source import Source
from scalecurve.patterns import Span, spans_of
from scalecurve.study import Quantity, RunStatus

MOST_LISTED = 20
MOST_NAMES = 200  # of benchmarks in which K is looked for
MOST_CURVES = 200
LARGEST_COUNT = 100_000  # in a name; a larger number is a date or a job
FILE = ""  # the field that is the words of a file's name
# Where several fields rise together, the one that names the finest worker is K.
PREFERRED = ("gpus", "ranks", "processes", "workers", "threads", "cores", "nodes")

_WARM_UP = re.compile(r"(?i)\bwarm[ _-]?up\b")
_NUMBER = re.compile(r"(-{0,2}[A-Za-z]*[-_= ]?)(\d+)")

FilePoint = tuple[Point, Source]
Counts = tuple[int | None, ...]


@dataclass(frozen=True)
class WorkerCounts:
    """K of every point (None where it has none), where it comes from, and the field that is thereby used up."""

    k: Counts
    origin: str
    k_unit: str | None = None
    field: str | None = None
    labels: tuple[str, ...] | None = None
    assumed: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class PlacedPoint:
    """A point with its K and the name of its curve."""

    k: int
    label: str
    point: Point
    source: Source


def choose_workers(points: Sequence[FilePoint], options: ReadOptions, k_origin: str | None = None) -> WorkerCounts:
    """K of every point, or an InputError that says what could be K and how to choose it."""
    if options.k_from is not None:
        return _workers_by_pattern(points, options.k_from)
    if options.k_column is not None:
        name = options.k_column
        counts = tuple(as_count(point.fields.get(name)) for point, _ in points)
        if all(k is None for k in counts):
            remedy = _fields_listed(points)
            raise InputError(Fault("--k-column names no field of whole numbers", value=name, remedy=remedy))
        return WorkerCounts(counts, f"`{name}`", k_unit_of(name), name)
    if any(point.k is not None for point, _ in points):
        return WorkerCounts(tuple(point.k for point, _ in points), k_origin or "the file itself")
    return _workers_by_field(points)


def _workers_by_pattern(points: Sequence[FilePoint], pattern: str) -> WorkerCounts:
    """From the names of all files where each matches, else from the names inside the files."""
    places = worker_places(pattern, {name for point, source in points for name in (source.name, point.name)})
    by_file = [_count_at(places[source.name], source.name) for _, source in points]
    if all(k is not None for k in by_file):
        return WorkerCounts(tuple(by_file), f"the file names by {pattern}")
    by_name = [_count_at(places[point.name], point.name) for point, _ in points]
    if all(k is None for k in by_name):
        names = ", ".join(sorted({point.name or source.name for point, source in points})[:5])
        remedy = "it is matched against the paths given and the names inside the files"
        raise InputError(Fault("the pattern finds no worker count", where="--k-from", value=names, remedy=remedy))
    labels = []  # the names with the worker count starred, so that the points of one curve share a label
    for point, _ in points:
        span = places[point.name]
        labels.append(point.name if span is None else f"{point.name[: span[0]]}*{point.name[span[1] :]}")
    return WorkerCounts(tuple(by_name), f"names by {pattern}", labels=tuple(labels))


def matched_count(pattern: str, text: str) -> int | None:
    """The worker count that the pattern of --k-from matches in a name; None where there is none."""
    return _count_at(worker_places(pattern, {text})[text], text)


def worker_places(pattern: str, names: Collection[str]) -> dict[str, Span | None]:
    """Where the group of --k-from first matches in each name; one search for all."""
    spans = spans_of([("--k-from", pattern, name) for name in names])
    return {
        name: next((span for span in found[:1] if span[0] >= 0), None) for name, found in zip(names, spans, strict=True)
    }


def _count_at(span: Span | None, text: str) -> int | None:
    return None if span is None else as_count(text[span[0] : span[1]])


def _workers_by_field(points: Sequence[FilePoint]) -> WorkerCounts:
    """The field that is named for workers, or with a warning the only whole number that varies."""
    every = dict.fromkeys(name for point, _ in points for name in point.fields)
    counts = {name: own for name in every if (own := _whole_numbers(points, name)) is not None}
    varying = [name for name in counts if len(set(counts[name])) > 1]
    named = [name for name in counts if worker_unit(name)]
    if named:
        return _workers_by_name({name: counts[name] for name in [name for name in named if name in varying] or named})
    if len(varying) == 1:
        (name,) = varying
        text = f"K is `{name}`, the only whole number that varies; its name does not say that it counts workers"
        remedy = "name it with --k-column if it does; else this is no scaling study"
        finding = warning("assumed-workers", text, remedy=remedy)
        assumed = (f"`{name}` counts workers",)
        return WorkerCounts(counts[name], f"`{name}`", None, name, assumed=assumed, findings=(finding,))
    if varying:
        remedy = f"these vary: {', '.join(varying)}; choose with --k-column"
        fault = Fault("several fields could be the worker count", remedy=remedy)
        raise Unclear(fault, ways=[{"k_column": name} for name in varying])
    raise _without_count(points)


def _without_count(points: Sequence[FilePoint]) -> Unclear:
    """The refusal of files that hold no K, with the patterns that may find it in names."""
    names = {PurePath(source.name).name for _, source in points}
    forms = [*count_patterns(names), *count_patterns({point.name for point, _ in points[:MOST_NAMES]})]
    forms += count_patterns({source.name for _, source in points})
    found = f"say where it is with --k-from '{forms[0]}'" if forms else r"put it into names and say --k-from 'n(\d+)_'"
    fault = Fault("the worker count is not in the file", remedy=f"{_fields_listed(points)}; {found}")
    return Unclear(fault, ways=[{"k_from": form} for form in dict.fromkeys(forms)])


def _whole_numbers(points: Sequence[FilePoint], name: str) -> Counts | None:
    """A field of all points; None where it holds anything but worker counts."""
    if any(name in point.fields and as_count(point.fields[name]) is None for point, _ in points):
        return None
    return tuple(as_count(point.fields.get(name)) for point, _ in points)


def _workers_by_name(counts: dict[str, Counts]) -> WorkerCounts:
    """The finest of fields that are named for workers; where one does not rise with it, the user chooses."""
    first, *others = sorted(counts, key=lambda name: PREFERRED.index(worker_unit(name) or "nodes"))
    ratios = [{a / b for a, b in zip(counts[first], counts[other], strict=True) if a and b} for other in others]
    if any(len(ratio) != 1 for ratio in ratios):
        remedy = f"they are {', '.join((first, *others))}; choose with --k-column"
        fault = Fault("several fields could be the worker count", remedy=remedy)
        raise Unclear(fault, ways=[{"k_column": name} for name in (first, *others)])
    note = f"{first} is K ({', '.join(others)} rise with it, which gives the same efficiency)"
    assumed = (note,) if others else ()
    return WorkerCounts(counts[first], f"`{first}`", worker_unit(first), first, assumed=assumed)


def count_patterns(names: Collection[str]) -> list[str]:
    """Patterns of --k-from that match in every name, by what stands before the number: those named for workers first,
    then those of many values."""
    numbers: list[dict[str, str]] = [dict(reversed(_NUMBER.findall(name))) for name in names]
    shared = set.intersection(*map(set, numbers)) if numbers else set()
    values = {before: {int(own[before]) for own in numbers} for before in sorted(shared)}
    chances = {before: chance for before, own in values.items() if (chance := _chance(before, own))}
    ordered = sorted(chances, key=lambda before: chances[before], reverse=True)
    return [re.escape(before).replace("\\ ", " ") + r"(\d+)" for before in ordered]


def _chance(before: str, values: set[int]) -> tuple[bool, int] | None:
    """What speaks for a number in names as K, by the word before it; None for that of a repeat, a date or a job."""
    head = parse_header(before.strip("-_= "))
    if head.is_repeat or head.says("label", "dated") or max(values) > LARGEST_COUNT:
        return None
    return worker_unit(head.text.lower()) is not None, len(values)


def _fields_listed(points: Sequence[FilePoint]) -> str:
    names = list(dict.fromkeys(name for point, _ in points for name in point.fields))
    return f"the fields are: {', '.join(names[:30])}" if names else "the file has no parameters"


def choose_metric(points: Sequence[FilePoint], metric: str | None) -> list[FilePoint]:
    """The points of one metric: the one asked for, the only one, the main one, or the only one that is a time.

    A run that failed has no metric and goes with any.
    """
    good = [point for point, _ in points if point.status is RunStatus.OK]
    metrics = list(dict.fromkeys(point.metric for point in good))
    if metric is None and len(metrics) > 1:
        times = list(dict.fromkeys(point.metric for point in good if point.main))
        times = times or list(dict.fromkeys(point.metric for point in good if point.quantity is Quantity.SECONDS))
        if len(times) != 1:
            remedy = f"they are {_listed(times or metrics)}; choose with --value-column"
            fault = Fault("several metrics could be the observations", remedy=remedy)
            raise Unclear(fault, ways=[{"value_column": name} for name in times or metrics])
        metric = times[0]
    if metric not in (None, *metrics):
        remedy = f"there are: {_listed(metrics)}"
        raise InputError(Fault("--value-column names no metric of the file", value=metric, remedy=remedy))
    return [
        (point, source)
        for point, source in points
        if metric in (None, point.metric) or point.status is not RunStatus.OK
    ]


def narrow_series(points: Sequence[FilePoint], series: str | None) -> list[FilePoint]:
    """The points whose own series matches, before K is chosen; all of them where none does."""
    if series is None:
        return list(points)
    near = [
        (point, source)
        for point, source in points
        if series in point.series or (point.series and point.series in series)
    ]
    return near or list(points)


def place_points(points: Sequence[FilePoint], workers: WorkerCounts) -> list[PlacedPoint]:
    """Every point that has a K, with the name of its curve: its series and the parameters that vary at one K.

    A parameter with several values at one K of one series is another problem, not another observation; so are other
    words in the name of the file or of the report.
    """
    names = {source.name: words(source.name).split() for _, source in points}
    common = set.intersection(*(set(own) for own in names.values())) if names else set()
    own_words = {name: " ".join(word for word in own if word not in common) for name, own in names.items()}
    told = [_told(point, own_words[source.name], workers) for point, source in points]
    telling = _telling(points, told, workers)
    placed = []
    names_of_curves = workers.labels or [point.series for point, _ in points]
    for i, (point, source) in enumerate(points):
        k = workers.k[i]
        if k is not None:
            parts = [names_of_curves[i], *(_part(field, told[i][field]) for field in telling if field in told[i])]
            placed.append(PlacedPoint(k, " ".join(filter(None, parts)), point, source))
    return placed


def _telling(points: Sequence[FilePoint], told: Sequence[dict[str, str]], workers: WorkerCounts) -> list[str]:
    """The parameters that have several values at one K of one series."""
    values: dict[tuple[str, str, int | None], str] = {}
    telling: dict[str, None] = {}
    for (point, _), fields, k in zip(points, told, workers.k, strict=True):
        for name, value in fields.items():
            if values.setdefault((name, point.series, k), value) != value:
                telling[name] = None
    return list(telling)


def _told(point: Point, name: str, workers: WorkerCounts) -> dict[str, str]:
    """What tells a point from others at its K: its parameters but K, and the words of its file's `name`."""
    fields = {name: str(value) for name, value in point.fields.items() if name != workers.field}
    return fields if point.launch is not None else fields | {FILE: name}


def _part(field: str, value: str) -> str:
    return value if field == FILE else f"{field}={value}"


def choose_curves(
    points: Sequence[PlacedPoint], series: str | None
) -> tuple[dict[str, list[PlacedPoint]], tuple[str, ...]]:
    """The points of each curve by name, and the names of the curves left out.

    The curve is the one asked for or the only one; else all that were measured at more than one K.
    """
    curves: dict[str, list[PlacedPoint]] = {}
    for point in points:
        curves.setdefault(point.label, []).append(point)
    labels = list(curves)
    near = _named_curve(labels, series) if series is not None else _measured_curves(curves)
    return {label: curves[label] for label in near}, tuple(label for label in labels if label not in near)


def _measured_curves(curves: Mapping[str, Sequence[PlacedPoint]]) -> list[str]:
    """The names of the curves of several K, or the only one; those of a warm-up are none where there are others."""
    labels = [label for label in curves if not _WARM_UP.search(label)] or list(curves)
    if len(labels) == 1:
        return labels
    near = [label for label in labels if len({point.k for point in curves[label]}) > 1]
    if near and len(near) <= MOST_CURVES:
        return near
    choices = near or labels
    remedy = f"they are {_listed(choices)}; choose with --series, or join them by --k-from if K is in their names"
    alone = ", each measured at a single K" * (not near)
    raise InputError(Fault(f"there are {len(choices)} curves{alone}", remedy=remedy))


def _named_curve(labels: Sequence[str], series: str) -> list[str]:
    """The one label that `series` names, in whole or in part."""
    near = [label for label in labels if label == series] or [label for label in labels if series in label]
    if len(near) != 1:
        what = "--series names no curve of the file" if not near else "--series fits several curves"
        raise InputError(Fault(what, value=series, remedy=f"there are: {_listed(near or labels)}"))
    return near


def _listed(names: Sequence[str]) -> str:
    quoted = [f"'{name}'" if " " in name or not name else name for name in names[:MOST_LISTED]]
    return ", ".join(quoted) + (f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else "")
