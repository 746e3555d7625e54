"""Verbs of the report: everything that can be said of a study, on one page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scalecurve.study import Study


def write_report(path: str | Path, *studies: Study, **settings: Any) -> list[Path]:
    """A page about one study, or several side by side; the ending says .html .md .tex .pdf .svg or .png."""
    from scalecurve.render.report.writing import write_report as verb

    return verb(path, *studies, **settings)
