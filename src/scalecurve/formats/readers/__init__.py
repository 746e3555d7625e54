"""One reader per file; the order is the order of asking, the most particular formats first."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from scalecurve.formats.reading import Reader

MODULES = (
    "hyperfine",
    "pyperf",
    "pytest_benchmark",
    "google_benchmark",
    "asv",
    "reframe",
    "ramble",
    "talp",
    "kineto",
    "extrap_json",
    "extrap_lines",
    "extrap_text",
    "message_sweeps",
    "mllog",
    "cilkscale",
    "caliper",
    "sacct",
    "json_rows",
)


@cache
def all_readers() -> tuple[Reader, ...]:
    """Loaded when a file of another tool is met: plain tables and studies need none of them."""
    modules = [import_module(f"scalecurve.formats.readers.{name}") for name in MODULES]
    return tuple(reader for module in modules for reader in getattr(module, "READERS", None) or (module.READER,))
