"""Curves as Python has them (pairs, arrays, records, series, pivoted frames) in the two forms that `load` reads: a
mapping {K: values} or {(size, K): values}, and a frame of columns."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, Sequence
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
        return _columns_of(source) or source
    if hasattr(source, "columns"):
        return _pivoted(source)
    if hasattr(source, "to_frame") and hasattr(source, "items"):  # a pandas Series over K, or over size and K
        listed = any(isinstance(own, list | tuple) for own in source)
        return source.to_frame() if any(source.index.names) and not listed else _gathered(source.items())
    rows = list(source) if isinstance(source, Iterator | ItemsView) else _plain(source)
    is_listed = isinstance(rows, list | tuple) and len(rows) > 0
    return (_of_rows(rows) if is_listed else None) or source


def _columns_of(mapping: Mapping[Any, Any]) -> Columns | None:
    """A mapping of names to lists as columns; None for one of worker counts."""
    if len(mapping) < 2 or not all(isinstance(key, str) and not key.strip().isdecimal() for key in mapping):
        return None
    is_listed = all(isinstance(values, Sequence) or hasattr(values, "tolist") for values in mapping.values())
    return Columns({key: _plain(values) for key, values in mapping.items()}) if is_listed else None


def _of_rows(rows: Sequence[Any]) -> Columns | dict[Any, list[Any]] | None:
    """Records as columns, or pairs (K, values) by K."""
    if all(isinstance(row, Mapping) for row in rows):
        names = dict.fromkeys(str(name) for row in rows for name in row)
        return Columns({name: [row.get(name) for row in rows] for name in names})
    is_pairs = all(isinstance(row, list | tuple) and len(row) == 2 for row in rows)
    return _gathered(rows) if is_pairs else None


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
    columns = {int(name): _plain(frame[name]) for name in names}
    if index is None or getattr(index, "name", None) is None:
        return {k: [value for value in values if value == value] for k, values in columns.items()}
    sizes = index.tolist()
    return {(size, k): v for k, values in columns.items() for size, v in zip(sizes, values, strict=True) if v == v}
