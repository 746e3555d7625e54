"""The My data view: a dropped or pasted file, and everything that can be said about it."""

from __future__ import annotations

import re
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from scalecurve import api
from scalecurve.errors import Fault, InputError, ScalecurveError
from scalecurve.explorer.documents import blocks
from scalecurve.explorer.questions import cases
from scalecurve.explorer.questions.question import Nothing, Question, Request
from scalecurve.render.report.answer import answer
from scalecurve.render.report.material import Material

if TYPE_CHECKING:
    from scalecurve.study import Study

MOST_TEXT = 2_000_000
MOST_SAMPLES = 200_000


class DataRequest(Request):
    """The text of a study file or of a plain table, and how to read it."""

    text: str = Field(max_length=MOST_TEXT, description="the file's content")
    name: str = Field("pasted.csv", max_length=200, description="the file's name; only shown")
    regime: Literal["strong", "weak"] | None = Field(None, description="never guessed; a study file states its own")
    threshold: float = Field(0.7, gt=0, lt=10, description="efficiency floor")
    rule: Literal["efficiency", "marginal", "knee"] = Field("efficiency", description="the bend's rule")
    level: float = Field(0.95, gt=0, lt=1, description="level of the intervals")


def study_of(asked: DataRequest) -> Study:
    return _load(asked.text, _safe(asked.name), asked.regime)


def _safe(name: str) -> str:
    """The file's own name where it is harmless, so that results are named as on the command line."""
    plain = re.sub(r"[^\w.\- ]", "_", Path(name).name)[-80:].lstrip(".")
    return plain or "pasted.csv"


@lru_cache(maxsize=8)
def _load(text: str, name: str, regime: str | None) -> Study:
    """Through a file, as every reader expects one; messages name what was dropped, not where we put it."""
    with tempfile.TemporaryDirectory(prefix="scalecurve-") as folder:
        path = Path(folder) / name
        path.write_text(text, encoding="utf-8")
        stated = None if text.lstrip("\ufeff \t\r\n").startswith("{") else regime
        try:
            study = api.load(path, regime=stated)
        except ScalecurveError as problem:
            raise InputError(str(problem).replace(str(path), name)) from None
    if len(study.samples) > MOST_SAMPLES:
        hint = f"the page takes {MOST_SAMPLES}; the command line takes all"
        raise InputError(Fault("too many samples", seen=str(len(study.samples)), remedy=hint))
    return study


def answer_table(asked: DataRequest) -> dict[str, Any]:
    study = study_of(asked)
    table = api.tabulate(study, threshold=asked.threshold, level=asked.level, bend=asked.rule)
    settings = f"--threshold {asked.threshold:g} --level {asked.level:g} --bend {asked.rule}"
    named = f"{_safe(asked.name)} --regime {study.regime}"
    return {
        "table": table.to_dict(),
        "blocks": blocks(table.document()),
        "sentences": list(answer(Material(study=study, table=table))),
        "commands": [f"scalecurve table {named} {settings}", f"scalecurve report {named} -o report.html"],
    }


QUESTIONS = {
    "data/cases": Question("Worked cases to open.", Nothing, cases.answer),
    "data/table": Question("T, S and E of a study with intervals, and its bend.", DataRequest, answer_table),
}
