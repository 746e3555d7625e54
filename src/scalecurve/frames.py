"""Records as a data frame of pandas, polars or xarray; none of them is required."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from scalecurve.errors import Fault, InputError, MissingExtra

LIBRARIES = ("pandas", "polars", "xarray")


def frame_of(records: Sequence[dict[str, Any]], library: str | None = None) -> Any:
    """A pandas or polars DataFrame, or an xarray Dataset along `row`; the first that is installed unless named."""
    if library is not None and library not in LIBRARIES:
        raise InputError(Fault("unknown data frame library", value=library, remedy=f"one of {', '.join(LIBRARIES)}"))
    chosen = library or next((name for name in LIBRARIES if find_spec(name) is not None), None)
    if chosen is None or find_spec(chosen) is None:
        raise MissingExtra(f"a data frame ({chosen or 'pandas, polars or xarray'})", "frames")
    module = import_module(chosen)
    if chosen != "xarray":
        return module.DataFrame(list(records))
    names = list(dict.fromkeys(name for record in records for name in record))
    return module.Dataset({name: ("row", [record.get(name) for record in records]) for name in names})
