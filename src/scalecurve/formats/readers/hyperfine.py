"""hyperfine --export-json: `{"results": [{"command", "times": [s], "exit_codes": [...], "parameters": {"n": "1"}}]}`.

Every time is a fresh launch; parameters are strings; --warmup leaves no trace in the file.
"""

from __future__ import annotations

from typing import Any

from scalecurve.formats.coercion import as_dict, as_float, as_list, as_text
from scalecurve.formats.names import split_name
from scalecurve.formats.readers.templates import Templates
from scalecurve.formats.reading import Point, Reader, Reading, bounded
from scalecurve.formats.source import Source
from scalecurve.formats.wishes import Wishes
from scalecurve.study import RunStatus, Treatment


def look(source: Source) -> str | None:
    if "results" not in source.keys:
        return None
    first = as_dict(next(iter(as_list(source.json["results"])), None))
    if "command" in first and ("times" in first or "mean" in first):
        return "JSON with results, each a command and its times"
    return None


def read(source: Source, wishes: Wishes) -> Reading:
    results = [as_dict(result) for result in as_list(source.json["results"])]
    templates = Templates()
    only_means = any("times" not in result for result in results)
    return Reading(
        points=bounded((point for result in results for point in _points(result, templates)), source.name),
        setup=Treatment.INCLUDED,
        assumed=("only the means are in the file",) if only_means else (),
        missing=("the machine",),
    )


def _points(result: dict[str, Any], templates: Templates) -> list[Point]:
    command = as_text(result.get("command"), 500) or ""
    parameters = {
        name: value for name, value in as_dict(result.get("parameters")).items() if isinstance(value, str | int)
    }
    series = templates.series_of(command, parameters) if parameters else split_name(command)[0]
    common: dict[str, Any] = {"series": series, "name": command, "fields": parameters or split_name(command)[1]}
    times = as_list(result.get("times")) or [result.get("mean")]
    codes = as_list(result.get("exit_codes"))
    good: list[float] = []
    bad: list[float] = []
    for i, time in enumerate(times):
        seconds = as_float(time)
        code = codes[i] if i < len(codes) else 0
        if seconds is not None:
            (good if code == 0 else bad).append(seconds)
    points = [Point(values=tuple(good), **common)] if good else []
    failed: dict[str, Any] = {
        "status": RunStatus.FAILED,
        "details": {"error": "the command ended with a code other than 0"},
    }
    return points + [Point(values=(seconds,), **common, **failed) for seconds in bad[:100]]


READER = Reader("hyperfine", "hyperfine", look, read)
