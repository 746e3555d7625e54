"""One writer per file: a study in the formats of other tools."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

from scalecurve.study import Study


class Writer(NamedTuple):
    """Where a format is written, the endings that suggest it, and what it is for."""

    module: str
    function: str
    endings: tuple[str, ...]
    purpose: str

    def write(self, study: Study) -> bytes:
        function: Callable[[Study], str | bytes] = getattr(import_module(self.module), self.function)
        content = function(study)
        return content if isinstance(content, bytes) else content.encode()


_HERE = "scalecurve.formats.writers"

WRITERS: dict[str, Writer] = {
    "csv": Writer(f"{_HERE}.observations", "to_csv", (".csv",), "every observation, one row each"),
    "json": Writer(f"{_HERE}.study_json", "to_json", (".json",), "the study itself, with all that is known of it"),
    "parquet": Writer(f"{_HERE}.parquet", "to_parquet", (".parquet",), "every observation, for data frames"),
    "extra-p": Writer(f"{_HERE}.extrap", "to_extrap_text", (), "Extra-P text"),
    "extra-p-jsonl": Writer(f"{_HERE}.extrap", "to_extrap_lines", (".jsonl",), "Extra-P JSON Lines"),
    "r-usl": Writer(f"{_HERE}.r_usl", "to_r_usl", (), "load and throughput for R's usl package, with the line of R"),
    "pyperf": Writer(f"{_HERE}.pyperf", "to_pyperf", (), "pyperf JSON, one benchmark per K"),
    "openmetrics": Writer("scalecurve.render.exports", "to_openmetrics", (".prom", ".om"), "T, S and E for dashboards"),
    "bibtex": Writer(f"{_HERE}.bibtex", "to_bibtex", (".bib",), "a reference with the study's hash"),
}
