"""Curves as Python has them (pairs, arrays, records, series, pivoted frames) in the two forms that `load` reads: a
mapping {K: values} or {(size, K): values}, and a frame of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from scalecurve.document import Result


@dataclass(frozen=True)
class Columns:
    """Columns by name, as far as a frame is read."""

    by_name: Mapping[str, Sequence[Any]]

    @property
    def columns(self) -> list[str]:
        return list(self.by_name)

    def __getitem__(self, name: str) -> Any:
        return SimpleNamespace(to_list=lambda: list(self.by_name[name]))


def mapping_or_frame(source: Any) -> Any:
    """A Python object that holds a curve as a mapping or a frame; any other object as it is."""
    if isinstance(source, str | Path | Result):
        return source
    if isinstance(source, Mapping):
        named = len(source) > 1 and all(isinstance(key, str) and not key.strip().isdecimal() for key in source)
        listed = named and all(isinstance(values, Sequence) or hasattr(values, "tolist") for values in source.values())
        return Columns({key: _plain(values) for key, values in source.items()}) if listed else source
    if hasattr(source, "columns"):
        return _pivoted(source)
    if hasattr(source, "to_frame") and hasattr(source, "items"):  # a pandas Series over K, or over size and K
        return source.to_frame() if any(source.index.names) else _gathered(source.items())
    rows = _plain(source)
    if not isinstance(rows, list | tuple) or not rows:
        return source
    if all(isinstance(row, Mapping) for row in rows):
        names = dict.fromkeys(str(name) for row in rows for name in row)
        return Columns({name: [row.get(name) for row in rows] for name in names})
    if all(isinstance(row, list | tuple) and len(row) == 2 for row in rows):
        return _gathered(rows)
    return source


def _plain(values: Any) -> Any:
    return values.tolist() if hasattr(values, "tolist") else values


def _gathered(pairs: Any) -> dict[Any, list[Any]]:
    """{K: all of its values}."""
    by_k: dict[Any, list[Any]] = {}
    for k, value in pairs:
        several = _plain(value)
        by_k.setdefault(k, []).extend(several if isinstance(several, list | tuple) else [several])
    return by_k


def _pivoted(frame: Any) -> Any:
    """A frame whose columns are worker counts: one row for each size where the index has names, else repeats."""
    names = list(frame.columns)
    if not names or any(isinstance(name, str) or not hasattr(name, "__int__") for name in names):
        return frame
    index = getattr(frame, "index", None)
    columns = {name: _plain(frame[name]) for name in names}
    present = {name: [(place, v) for place, v in enumerate(values) if v == v] for name, values in columns.items()}
    if index is None or getattr(index, "name", None) is None:
        return {int(name): [value for _, value in values] for name, values in present.items()}
    sizes = index.tolist()
    return {(sizes[place], int(name)): value for name, values in present.items() for place, value in values}
