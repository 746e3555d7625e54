"""Readers that are rows of readers.toml: how a file is recognised, where K and the values stand, what is said of them.

A row has a `title`, the `note` of docs/reference/formats.md, and how the tool is recognised: `find` are patterns that
all occur in the text, `keys` names at the top of its JSON, `first` names in the first record below a key.  `begins` is
the first line of a report, `ends` its last lines where the tool says something above `begins`.  `said` becomes the
Reading: k_origin, k_unit, warmup, setup, assumed, missing.

A tool whose observations need code has a function that yields Points, Findings, and mappings of what else is said.
A log needs none: `log_points` reads it by its row alone.  JSON is read as the lines `results.0.mean = 1.5`.

    begin, end   where a run begins or ends, in a log of several; `longest` names the number that chooses one of them
    names        what a run says of itself, by pattern: numbers for K, `fields` and `observed`, words for `series`
    k            formulas over names, such as "ranks*threads + pme*pme_threads"; the first that has a value counts
    value        metric, pattern, unit; `pick` is first, last, mean, steps (the mean without the first) or each
    failed       a pattern of a run that does not count
    remark       a finding where a pattern is there (`find`), missing (`absent`) or takes several values (`changes`);
                 `fatal` where the file is then refused

A value of 0 is none.  `per` is a pattern of seconds that a count is divided by.  A name or group `unit` is the unit of
a value, and `prefix` its m, k, M, G ...; `benchmark` or `command` is what was timed, with its parameters; `parameters`
are the cells of `columns`.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import Any

from scalecurve.errors import Fault, FormatError
from scalecurve.findings import Finding, warning
from scalecurve.formats.columns import (
    as_count,
    as_dict,
    as_dicts,
    as_float,
    as_text,
    clock_seconds,
    facts,
    metric_meaning,
    split_command,
    split_name,
)
from scalecurve.formats.reading import FormatNote, Point, Reader, Reading, ReadOptions, bounded
from scalecurve.formats.source import Source
from scalecurve.study import Placement, Provenance, Quantity, RankRecord, RunStatus, Treatment

Row = Mapping[str, Any]
Yielded = Point | Finding | Mapping[str, Any]
Function = Callable[[Source, ReadOptions], Iterable[Yielded]]
MOST_LINES = 200_000
PREFIXES = {"n": 1e-9, "u": 1e-6, "µ": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_LINE = re.compile(r"(\A|[(|])\^(?:\\s([*+]))?")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_LIST = re.compile(r",? +|x")
_THOUSANDS = re.compile(r",(?=\d{3}(?!\d))")


@cache
def _rows() -> dict[str, Row]:
    return tomllib.loads(resources.files("scalecurve.formats").joinpath("readers.toml").read_text(encoding="utf-8"))


@cache
def pattern(text: str) -> re.Pattern[str]:
    """A pattern of a row; `^` and `$` are the ends of a line, which may be indented or quoted."""

    def margin(match: re.Match[str]) -> str:
        return f"{match[1]}^" + (rf"[\s>]{match[2]}" if match[2] else r"(?:[\w./-]+:(?!\s))?[ \t>]*")

    return re.compile(_LINE.sub(margin, text), re.MULTILINE)


def tool(name: str, function: Function | None = None) -> Reader[Reading]:
    """The reader of study results of that name."""

    def read(source: Source, options: ReadOptions) -> Reading:
        yielded = log_points(name, source, options) if function is None else function(source, options)
        return _reading(_rows()[name], source, yielded)

    return reader(name, read)


def reader_of(name: str) -> Reader[Reading]:
    """The reader of a row that needs no function."""
    return tool(name)


def reader(name: str, read: Callable[[Source, ReadOptions], Any]) -> Reader[Any]:
    """A reader with the title, note and marks of its row."""
    row = _rows()[name]
    note = FormatNote(**row["note"]) if "note" in row else None
    begins, ends = (pattern(row[key]) if key in row else None for key in ("begins", "ends"))
    return Reader(row.get("name", name), row["title"], lambda source: _evidence(row, source), read, note, begins, ends)


def row_of(name: str) -> Row:
    """The row of that name."""
    return _rows()[name]


def _evidence(row: Row, source: Source) -> str | None:
    """What shows that a file is of this row's tool, or None."""
    text = _COLOURS.sub("", source.head_text)
    by_text = "find" in row and all(pattern(mark).search(text) for mark in row["find"])
    if by_text or ("find" not in row and "keys" not in row and "first" not in row):
        return str(row["evidence"])
    has_keys = ("keys" in row or "first" in row) and set(row.get("keys", ())) <= source.keys
    for place, names in row.get("first", {}).items():
        record = (as_dicts(at(source, place)) or [{}])[0]
        has_keys = (has_keys or not place) and set(names) <= record.keys()
    return str(row["evidence"]) if has_keys else None


def _reading(row: Row, source: Source, yielded: Iterable[Yielded]) -> Reading:
    """What the function or the log gave, with what the row says of every file of this tool."""
    items = list(yielded)
    said: dict[str, Any] = {"assumed": (), "missing": (), **row.get("said", {})}
    for item in items:
        if isinstance(item, Mapping):
            said |= {**item, **{key: (*said[key], *item[key]) for key in ("assumed", "missing") if key in item}}
    told = _told(row, source) | said.pop("provenance", {})
    said |= {key: Treatment(said.get(key, Treatment.UNKNOWN)) for key in ("warmup", "setup")}
    said |= {key: tuple(said[key]) for key in ("assumed", "missing")}
    return Reading(
        points=bounded(item for item in items if isinstance(item, Point)),
        findings=tuple(item for item in items if isinstance(item, Finding)),
        provenance=Provenance(**told),
        **said,
    )


def _told(row: Row, source: Source) -> dict[str, Any]:
    """The provenance by the places its row names: a JSON path or a pattern; `hostname=node` renames a fact."""
    told: dict[str, Any] = {"tool": row["title"], **row.get("provenance", {})}
    for key in ("tool_version", "created"):
        place = told.get(key, "")
        match = pattern(place).search(source.text) if "(" in place else None
        told[key] = match[1] if match else as_text(at(source, place))
    for key in ("machine", "software", "settings"):
        told[key] = {
            name.partition("=")[0]: value
            for place, names in told.get(key, {}).items()
            for name in names
            for value in facts(as_dict(at(source, place)), name.rpartition("=")[2]).values()
        }
    return told


def at(source: Source, path: str) -> Any:
    """What stands in JSON at a path such as `context.date` or `benchmarks.0.metadata`; None where there is nothing."""
    value = source.json
    for part in path.split(".") if path else ():
        value = (value[0] if value else None) if isinstance(value, list) else as_dict(value).get(part)
    return value


def plain_texts(source: Source) -> list[str]:
    """The text without colours; JSON as lines `path = value`, a text for each object of JSON Lines."""
    if isinstance(source.json, dict):
        return ["\n".join(_leaves(source.json, ""))]
    if records := source.json_lines or (as_dicts(source.json) if isinstance(source.json, list) else []):
        return ["\n".join(_leaves(record, "")) for record in records]
    return [_COLOURS.sub("", source.text)]


def _leaves(value: Any, path: str) -> Iterator[str]:
    """The scalars of JSON as lines; lists of scalars are left out."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _leaves(item, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _leaves(item, f"{path}.{number}") if isinstance(item, dict) else ()
    elif value is not None:
        yield f"{path} = {value}"


def log_points(name: str, source: Source, options: ReadOptions) -> Iterator[Yielded]:
    """The observations of a log, by its row; a FormatError where there are none."""
    row, texts = _rows()[name], plain_texts(source)
    for text in texts:
        yield from _remarks(row, text)
    blocks = [block for text in texts for block in _blocks(row, text)]
    runs = [run for block in blocks if (run := list(_run(row, block, source.name)))]
    if not runs:
        raise FormatError(Fault(row.get("empty", "no result; the output may be cut short"), remedy=row.get("remedy")))
    longest = _longest(runs, row.get("longest"), options)
    if len(longest) < len(runs):
        yield {"assumed": (f"the run of most {row['longest']} of {len(runs)} in the log",)}
    numbered = "longest" in row and len({run[0].k for run in longest}) < len(longest)
    for number, run in enumerate(longest, 1):
        yield from (replace(point, series=f"run {number}") for point in run) if numbered else run


def _remarks(row: Row, text: str) -> Iterator[Finding]:
    for remark in row.get("remark", ()):
        kind = next(kind for kind in ("find", "absent", "changes") if kind in remark)
        values = list(dict.fromkeys(match[1] for match in pattern(remark[kind]).finditer(text)))
        if {"find": len(values) > 0, "absent": not values, "changes": len(values) > 1}[kind]:
            message = remark["message"].format(first=values[0] if values else "", count=len(values))
            if remark.get("fatal"):
                raise FormatError(Fault(message, remedy=remark.get("remedy")))
            yield warning(remark["code"], message, remedy=remark.get("remedy"))


def _blocks(row: Row, text: str) -> list[str]:
    """The runs of a log as texts; what stands before the first belongs to it."""
    places: list[int] = []
    if "begin" in row:
        places = [match.start() for match in pattern(row["begin"]).finditer(text)][1:]
    elif "end" in row:
        places = [match.end() for match in pattern(row["end"]).finditer(text)]
    return [text[a:b] for a, b in pairwise([0, *places, len(text)])]


def _longest(runs: list[list[Point]], name: str | None, options: ReadOptions) -> list[list[Point]]:
    """The runs at each K in which the number of that name is largest; all where two are as long, or one is named."""
    if name is None or (options.series or "").startswith("run "):
        return runs
    sizes = [as_float(run[0].fields.get(name)) or 0.0 for run in runs]
    kept = []
    for k in dict.fromkeys(run[0].k for run in runs):
        own = [(size, run) for size, run in zip(sizes, runs, strict=True) if run[0].k == k]
        most = max(size for size, _ in own)
        longest = [run for size, run in own if size == most]
        kept += longest if len(longest) == 1 else [run for _, run in own]
    return kept


def _run(row: Row, text: str, file: str) -> Iterator[Point]:
    """The points of one run: its main value carries what else the run says of itself."""
    names: dict[str, Any] = {
        name: match[1] for name, find in row.get("names", {}).items() if (match := pattern(find).search(text))
    }
    values = [value for spec in row["value"] for value in _values(spec, text, names.get("unit"))]
    phases = {groups.get("name", metric): value for spec, metric, value, groups in values if spec.get("phase")}
    failed = "failed" in row and pattern(row["failed"]).search(text)
    if failed:
        point = _point(row, names | (values[0][3] if values else {}), file)
        details = {"error": failed[0].strip()}
        yield replace(point, values=tuple(own[2] for own in values[:1]), status=RunStatus.FAILED, details=details)
        return
    main = next((metric for spec, metric, *_ in values if spec.get("main")), None)
    metrics: set[str] = set()
    for spec, metric, value, groups in values:
        if metric in metrics and spec.get("pick") != "each":
            continue  # alternatives of one metric: the first that is there
        metrics.add(metric)
        said = names | groups
        details = _details(row, said, phases if metric == main else {}, value)
        point = replace(_point(row, said, file), values=(value,), metric=metric, main=metric == main, details=details)
        yield replace(point, **_meaning(spec))


def _point(row: Row, said: Mapping[str, Any], file: str) -> Point:
    """K, name and parameters of what a run says of itself."""
    command = said.get("command")
    benchmark, parameters = split_command(command) if command else split_name(said.get("benchmark") or "")
    columns = (column.strip("()") for column in (said.get("columns") or "").split())
    parameters |= dict(zip(columns, (said.get("parameters") or "").split(), strict=False))
    told = {name: _number(said[name]) or said[name] for name in row.get("fields", ()) if said.get(name)}
    return Point(
        values=(),
        series=row.get("series", "{benchmark}").format_map(_Words({**said, "benchmark": benchmark})).strip(),
        name=command or said.get("benchmark") or file,
        k=next((k for formula in row.get("k", ()) if (k := _count(formula, said)) is not None), None),
        fields=parameters | told,
    )


class _Words(dict[str, str]):
    """Names of a run for the name of its series; one that is not there is left out."""

    def __missing__(self, key: str) -> str:
        return ""


def _meaning(spec: Row) -> dict[str, Any]:
    """Quantity and unit of a row's value; a unit that is none of time is that of a rate."""
    meaning = metric_meaning("", spec.get("unit", "s"))
    if meaning is not None and meaning.quantity is Quantity.SECONDS:
        return {}
    quantity = Quantity.THROUGHPUT_PER_WORKER if spec.get("per_worker") else Quantity.THROUGHPUT
    return {"quantity": quantity, "unit": spec["unit"]}


def _values(spec: Row, text: str, unit: str | None) -> list[tuple[Row, str, float, dict[str, Any]]]:
    """The values that a row's pattern finds: its metric, the number in seconds or as it is, and the other groups.

    `unit` is what the run says of its times.
    """
    if "within" in spec:
        _, _, rest = text.partition(spec["within"][0])
        text = pattern(spec["within"][1]).split(rest, maxsplit=1)[0]
    usual = spec.get("unit", unit or "s")
    found = [(match, number) for match in pattern(spec["find"]).finditer(text) if (number := _of(match, usual))]
    pick = spec.get("pick", "first")
    if pick == "each":
        same = str.lower if "(?i)" in spec["find"] else str
        named = [({key: same(word) for key, word in match.groupdict("").items()}, value) for match, value in found]
        return [(spec, spec["metric"].format(**groups), value, groups) for groups, value in named]
    if "per" in spec:
        lengths = [length for match in pattern(spec["per"]).finditer(text) if (length := _of(match, ""))]
        found = [(match, count / length) for (match, count), length in zip(found, lengths, strict=False)]
    numbers = [value for _, value in found]
    if not numbers:
        return []
    if pick == "steps":
        by_step: dict[Any, list[float]] = {}  # several ranks may log each step
        for place, (match, number) in enumerate(found):
            by_step.setdefault(match.groupdict().get("step", place), []).append(number)
        means = [sum(own) / len(own) for own in by_step.values()]
        kept = means[1:] or means
        return [(spec, spec["metric"], sum(kept) / len(kept), _spread(kept))]
    number = sum(numbers) / len(numbers) if pick == "mean" else numbers[-1 if pick == "last" else 0]
    return [(spec, spec["metric"], number, {})]


def _spread(steps: list[float]) -> dict[str, Any]:
    """How many steps there are, and their standard deviation."""
    mean = sum(steps) / len(steps)
    squares = sum((step - mean) ** 2 for step in steps)
    return {"steps": len(steps)} | ({"step_spread": math.sqrt(squares / (len(steps) - 1))} if len(steps) > 1 else {})


def _of(match: re.Match[str], unit: str) -> float | None:
    """The number that a match holds, in seconds or as it is: its group `value`, or its first."""
    groups = match.groupdict()
    number, meaning = _number(groups.get("value", match[1])), metric_meaning("", groups.get("unit") or unit)
    factor = (meaning.factor if meaning else 1.0) * PREFIXES[groups.get("prefix") or ""]
    return None if number is None else number * factor


def _number(value: Any) -> float | int | None:
    """1e3, 12,345, 2,1100 (of a decimal comma), 0:01:30 and 0.5 are numbers."""
    plain = _THOUSANDS.sub("", value).replace(",", ".") if isinstance(value, str) else value
    number = as_float(plain)
    if isinstance(value, str) and ":" in value:
        number = clock_seconds(value)
    return int(number) if number is not None and number == int(number) else number


def _count(formula: str, names: Mapping[str, Any]) -> int | None:
    """K by a formula: a sum of products and quotients of names; a term without its first name is 0, a factor 1.

    A name may hold several numbers, such as the sizes of a mesh: their product counts.
    """
    total = 0.0
    for term in formula.split("+"):
        first, *rest = re.split(r"([*/])", term.replace(" ", ""))
        number = _product(names.get(first, first)) or 0.0
        for sign, name in zip(rest[::2], rest[1::2], strict=True):
            factor = _product(names.get(name)) or 1.0
            number = number * factor if sign == "*" else number / factor
        total += number
    return as_count(total)


def _product(value: Any) -> float | None:
    numbers = [_number(part) for part in _LIST.split(value)] if isinstance(value, str) else [_number(value)]
    return None if None in numbers else math.prod(float(number) for number in numbers if number is not None)


def _details(row: Row, said: Mapping[str, Any], phases: dict[str, float], value: float) -> dict[str, Any]:
    """Where the time went: of the rank itself where there is only one, else the means over the ranks as facts."""
    kept = (*row.get("observed", ()), "steps", "step_spread")
    observed: dict[str, Any] = {name: n for name in kept if (n := _number(said.get(name))) is not None}
    if "fields" in row:
        observed.pop("steps", None)
    details: dict[str, Any] = {}
    if "placement" in row:
        ranks, threads = (_count(formula, said) for formula in row["placement"])
        details["placement"] = Placement(ranks=ranks, threads_per_rank=threads)
        if ranks == 1 and phases:
            details["ranks"] = (RankRecord(rank=0, seconds=value, phases=phases),)
        elif phases:
            observed["mean_phase_seconds"] = phases
    return details | ({"observed": observed} if observed else {})
