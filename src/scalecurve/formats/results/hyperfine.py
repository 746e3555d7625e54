"""hyperfine --export-json: `{"results": [{"command", "times": [s], "exit_codes": [...], "parameters": {"n": "1"}}]}`.

Every time is a fresh launch; parameters are strings; --warmup leaves no trace in the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scalecurve.formats.columns import as_dict, as_dicts, as_float, as_list, as_text, split_name
from scalecurve.formats.reading import Point, Reader, Reading, ReadOptions, bounded
from scalecurve.formats.source import Source
from scalecurve.study import RunStatus, Treatment

MOST_FAILED = 100
MOST_COMPARISONS = 5_000
MOST_OCCURRENCES = 50


def recognise(source: Source) -> str | None:
    first = (as_dicts(source.json["results"]) or [{}])[0] if "results" in source.keys else {}
    if "command" in first and ("times" in first or "mean" in first):
        return "JSON with results, each a command and its times"
    return None


def read(source: Source, options: ReadOptions) -> Reading:
    results = as_dicts(source.json["results"])
    templates = Templates()
    points: list[Point] = []
    for result in results:
        command = as_text(result.get("command"), 500) or ""
        parameters = {
            name: value for name, value in as_dict(result.get("parameters")).items() if isinstance(value, str | int)
        }
        name, fields = split_name(command)
        series = templates.series_of(command, parameters) if parameters else name
        common: dict[str, Any] = {"series": series, "name": command, "fields": parameters or fields}
        codes = as_list(result.get("exit_codes"))
        good: list[float] = []
        bad: list[float] = []
        for i, time in enumerate(as_list(result.get("times")) or [result.get("mean")]):
            seconds = as_float(time)
            if seconds is not None:
                (good if i >= len(codes) or codes[i] == 0 else bad).append(seconds)
        if good:
            points.append(Point(values=tuple(good), **common))
        details = {"error": "the command ended with a code other than 0"}
        points += [
            Point(values=(seconds,), status=RunStatus.FAILED, details=details, **common)
            for seconds in bad[:MOST_FAILED]
        ]
    only_means = any("times" not in result for result in results)
    return Reading(
        points=bounded(points),
        setup=Treatment.INCLUDED,
        assumed=("only the means are in the file",) if only_means else (),
        missing=("the machine",),
    )


@dataclass
class Templates:
    """Which commands are one command with other parameters: hyperfine writes only the commands it ran."""

    first: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    comparisons: int = 0

    def series_of(self, command: str, parameters: Mapping[str, Any]) -> str:
        """The first command that differs from this one only where a parameter is replaced by its other value."""
        values = {name: str(value) for name, value in parameters.items()}
        for template, before in self.first[: MOST_COMPARISONS - self.comparisons]:
            self.comparisons += 1
            if before.keys() != values.keys():
                continue
            names = {value: name for name, value in before.items() if value}
            parts = [template]
            if names:
                longest_first = sorted(names, key=len, reverse=True)
                split = "(" + "|".join(re.escape(value) for value in longest_first) + ")"
                parts = re.split(split, template, maxsplit=MOST_OCCURRENCES)
            choices = [
                re.escape(part) if i % 2 == 0 else f"(?:{re.escape(part)}|{re.escape(values[names[part]])})"
                for i, part in enumerate(parts)
            ]
            if re.fullmatch("".join(choices), command) is not None:
                return template
        self.first.append((command, values))
        return command


READER = Reader("hyperfine", "hyperfine", recognise, read)
