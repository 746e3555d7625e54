"""Foreign files in and out: `load` and `import_results` read, `writers` writes.

`detection` has the table of all readers; the folders are named for what comes out of a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalecurve.lazy import lazy_names

if TYPE_CHECKING:
    from scalecurve.formats.loading import import_results, load, load_all

__all__ = ["import_results", "load", "load_all"]

if not TYPE_CHECKING:  # hidden from type checkers, so that they report a misspelt name
    __getattr__, __dir__ = lazy_names(__name__, {"loading": "import_results load load_all"})
