"""Foreign files in and out: one reader or writer per file."""

from scalecurve.formats.loading import load_study

__all__ = ["load_study"]
