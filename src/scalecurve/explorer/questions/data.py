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
from scalecurve.fitting.fit import fitted_curve
from scalecurve.forecasting.forecast import band
from scalecurve.render.report.answer import answer, how_far, what_to_do
from scalecurve.render.report.material import Material

if TYPE_CHECKING:
    from scalecurve.fitting.fit import Fits
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
    own = Material(study=study, table=table)
    settings = f"--threshold {asked.threshold:g} --level {asked.level:g} --bend {asked.rule}"
    named = _named(asked, study)
    return {
        "table": table.to_dict(),
        "blocks": blocks(table.document()),
        "sentences": [how_far(own), what_to_do(own)],  # why it bends takes longer and comes with the diagnosis
        "commands": [f"scalecurve table {named} {settings}", f"scalecurve report {named} -o report.html"],
    }


def answer_diagnosis(asked: DataRequest) -> dict[str, Any]:
    study = study_of(asked)
    found = api.diagnose(study)
    table = api.tabulate(study, threshold=asked.threshold, level=asked.level, bend=asked.rule)
    return {
        "diagnosis": found.to_dict(),
        "blocks": blocks(found.document()),
        "sentences": list(answer(Material(study=study, table=table, diagnosis=found))),
        "commands": [f"scalecurve diagnose {_named(asked, study)}"],
    }


def answer_audit(asked: DataRequest) -> dict[str, Any]:
    study = study_of(asked)
    found = api.audit(study)
    return {
        "audit": found.to_dict(),
        "blocks": blocks(found.document()),
        "commands": [f"scalecurve audit {_named(asked, study)}"],
    }


class ForecastRequest(DataRequest):
    """Also how far beyond the data to look."""

    reach: int = Field(8, ge=2, le=64, description="largest K asked for, as a multiple of the largest measured")
    forecast_level: float = Field(0.9, gt=0, lt=1, description="level of the forecast's interval")


class CostRequest(DataRequest):
    """Also what a worker costs."""

    price: float = Field(2.5, ge=0.001, le=100_000, description="dollars per worker-hour")
    jobs: int = Field(1, ge=1, le=10_000_000, description="how many results are wanted")
    deadline_hours: float | None = Field(None, gt=0, le=1e7)


def answer_fits(asked: DataRequest) -> dict[str, Any]:
    study = study_of(asked)
    fits = _fits(asked.text, _safe(asked.name), asked.regime)
    return {
        "fits": fits.to_dict(),
        "curves": {each.name: fitted_curve(study, each, _between(study)) for each in fits.laws[:3]},
        "blocks": blocks(fits.document()),
        "commands": [f"scalecurve fit {_named(asked, study)}"],
    }


@lru_cache(maxsize=8)
def _fits(text: str, name: str, regime: str | None) -> Fits:
    return api.fit(_load(text, name, regime))


def _between(study: Study, points: int = 60) -> list[float]:
    """Places along the measured range, evenly apart on a logarithmic axis."""
    first, last = study.all_k[0], study.all_k[-1]
    return [first * (last / first) ** (step / points) for step in range(points + 1)]


def answer_forecast(asked: ForecastRequest) -> dict[str, Any]:
    study = study_of(asked)
    largest = study.all_k[-1]
    steps = asked.reach.bit_length()
    at = sorted({min(largest * 2**step, largest * asked.reach) for step in range(1, steps + 1)})
    made = api.forecast(study, at=at, level=asked.forecast_level)
    return {
        "bands": [each for row in made.rows if (each := band(row)) is not None],
        "blocks": blocks(made.document()),
        "commands": [f"scalecurve forecast {_named(asked, study)} --at {','.join(map(str, at))}"],
    }


def answer_cost(asked: CostRequest) -> dict[str, Any]:
    study = study_of(asked)
    deadline = None if asked.deadline_hours is None else asked.deadline_hours * 3600
    priced = api.cost(study, asked.price, jobs=asked.jobs, deadline=deadline)
    settings = f"--price {asked.price:g} --jobs {asked.jobs}"
    settings += "" if asked.deadline_hours is None else f" --deadline {asked.deadline_hours:g}h"
    return {
        "cost": priced.to_dict(),
        "blocks": blocks(priced.document()),
        "commands": [f"scalecurve cost {_named(asked, study)} {settings}"],
    }


def _named(asked: DataRequest, study: Study) -> str:
    return f"{_safe(asked.name)} --regime {study.regime}"


QUESTIONS = {
    "data/cases": Question("Worked cases to open.", Nothing, cases.answer),
    "data/table": Question("T, S and E of a study with intervals, and its bend.", DataRequest, answer_table),
    "data/diagnosis": Question("Why the curve bends.", DataRequest, answer_diagnosis),
    "data/audit": Question("Whether the numbers may be believed: the checklist.", DataRequest, answer_audit),
    "data/fits": Question("Laws fitted to a study, ranked, with their curves.", DataRequest, answer_fits),
    "data/forecast": Question("T, S and E beyond the largest K measured.", ForecastRequest, answer_forecast),
    "data/cost": Question("What a result costs at every K.", CostRequest, answer_cost),
}
