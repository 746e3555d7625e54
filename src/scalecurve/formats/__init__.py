"""Foreign files in and out: `load` and `import_results` read, `writers` writes.

`detection` has the table of all readers; the folders are named for what comes out of a file.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scalecurve.formats.importing import import_results
    from scalecurve.formats.loading import load

__all__ = ["import_results", "load"]

_HOME = {"import_results": "scalecurve.formats.importing", "load": "scalecurve.formats.loading"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'scalecurve.formats' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
