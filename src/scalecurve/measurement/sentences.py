"""Findings by their code: severity, sentence and remedy stand in findings.toml, the numbers come from the caller."""

from __future__ import annotations

import string
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from scalecurve.findings import Finding, Severity
from scalecurve.units import format_count, format_seconds

_WORDS = {"seconds": format_seconds, "count": format_count}


class Sentence(string.Formatter):
    """`{T:seconds}` is a duration, `{work:count}` a count, a list its parts, a table `2.5 s at K = 1, ...`."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, dict):
            return ", ".join(f"{self.format_field(own, format_spec)} at K = {k}" for k, own in value.items())
        if isinstance(value, Iterable) and not isinstance(value, str):
            return ", ".join(self.format_field(own, format_spec) for own in value)
        return _WORDS[format_spec](value) if format_spec in _WORDS else format(value, format_spec)


@cache
def sentences() -> dict[str, list[str]]:
    """Severity, sentence and remedy (may be missing) of every code."""
    return tomllib.loads(files("scalecurve.measurement").joinpath("findings.toml").read_text(encoding="utf-8"))


def say(code: str, *, remedy: str | None = None, severity: str | None = None, **values: Any) -> Finding:
    """The finding of that code; its values fill the sentence, and those that are not words are its evidence."""
    kind, text, *hint = sentences()[code]
    fill = Sentence().vformat
    advice = remedy or (fill(hint[0], (), values) if hint else None)
    evidence = {name: _plain(value) for name, value in values.items() if not isinstance(value, str)}
    return Finding(code, Severity(severity or kind), fill(text, (), values), evidence, advice)


def _plain(value: Any) -> Any:
    """What JSON can hold: keys of a table are texts."""
    if isinstance(value, dict):
        return {str(key): _plain(own) for key, own in value.items()}
    return list(value) if isinstance(value, tuple | set) else value
