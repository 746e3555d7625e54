"""The My data view: a dropped or pasted file, and every result about it."""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

import scalecurve as sc
from scalecurve.analysis.side_by_side import side_by_side
from scalecurve.auditing.claim import load_claim
from scalecurve.errors import TYPED, Fault, FormatError, InputError, ScalecurveError
from scalecurve.explorer.questions.question import Nothing, Question, Request, html_of, table_of
from scalecurve.files import read_text
from scalecurve.fitting.fit import fitted_curve
from scalecurve.forecasting.rows import band
from scalecurve.formats.loading import load_any
from scalecurve.formats.reading import ReadOptions
from scalecurve.render.report.material import Material, answer
from scalecurve.render.report.sections import tiles_of, useful_row
from scalecurve.study import StudySet
from scalecurve.study.file import json_bytes, set_to_dict, study_to_dict
from scalecurve.words import unit_words

if TYPE_CHECKING:
    from scalecurve.analysis import SpeedupTable
    from scalecurve.document import Result
    from scalecurve.formats.loading import StudyLike
    from scalecurve.study import Study

MOST_TEXT = 2_000_000
MOST_SAMPLES = 200_000
CURVE_POINTS = 60
FORECAST_LEVEL = 0.9
WORKERS = (1, 2, 4, 8, 16, 32, 64)  # of the worked cases
REPEATS, NOISE, SEED = 5, 0.02, 7


class DataRequest(Request):
    """The text of a study file or of a plain table, and how to read it."""

    text: str = Field(max_length=MOST_TEXT, description="the file's content")
    name: str = Field("pasted.csv", max_length=200, description="the file's name; only shown")
    regime: Literal["strong", "weak"] | None = Field(
        None, description="strong where times fall; a study file states its own"
    )
    threshold: float = Field(0.7, gt=0, lt=10, description="efficiency floor")
    rule: Literal["efficiency", "marginal", "knee"] = Field("efficiency", description="the bend's rule")
    level: float = Field(0.95, gt=0, lt=1, description="level of the intervals")
    series: str = Field("", max_length=500, description="the curve, where the file holds several; empty is the first")

    @property
    def file(self) -> str:
        """The file's own name where it is harmless, so that results are named as on the command line."""
        return re.sub(r"[^\w.\- ]", "_", Path(self.name).name)[-80:].lstrip(".") or "pasted.csv"

    @property
    def curves(self) -> StudySet | None:
        """The curves of a file that holds several."""
        loaded = _load(self.text, self.file, self.regime)
        return loaded if isinstance(loaded, StudySet) else None

    @property
    def curve(self) -> str:
        """The name of the curve that is shown; empty for a file that holds one."""
        curves = self.curves
        return "" if curves is None else self.series if self.series in curves.names else curves.names[0]

    @property
    def study(self) -> Study:
        loaded = _load(self.text, self.file, self.regime)
        return loaded[self.curve] if isinstance(loaded, StudySet) else loaded

    @property
    def table(self) -> SpeedupTable:
        table: SpeedupTable = sc.tabulate(self.study, threshold=self.threshold, level=self.level, bend=self.rule)
        return table

    @property
    def words(self) -> str:
        """The file and how to read it, as typed; a study file states its own regime."""
        regime = "" if _is_study(self.text) else f"--regime {self.study.regime}"
        series = f"--series {shlex.quote(self.curve)}" if self.curve else ""
        return " ".join(filter(None, (shlex.quote(self.file), regime, series)))

    @property
    def same(self) -> str | None:
        """The command that a proposal repeats with other options."""
        return None

    def command(self, verb: str, options: str = "") -> str:
        """The command that gives the same answer."""
        words = self.words.replace(" --series ", " --series=")  # a name may begin with a hyphen
        return " ".join(filter(None, ("scalecurve", verb, words, options)))


class ForecastRequest(DataRequest):
    """Also how far beyond the data to look."""

    reach: int = Field(4, ge=2, le=64, description="largest K asked for, as a multiple of the largest measured")


class CostRequest(DataRequest):
    """Also what a worker costs."""

    price: float = Field(2.5, ge=0.001, le=100_000, description="dollars per worker-hour")
    jobs: int = Field(1, ge=1, le=10_000_000, description="number of results")

    @property
    def options(self) -> str:
        return f"--price {self.price:g} --jobs {self.jobs}"

    @property
    def same(self) -> str:
        return shlex.join(shlex.split(self.command("cost", self.options)))


def page_study(source: StudyLike, regime: str | None) -> dict[str, str]:
    """A study as the page opens it: its name, its text (that of a plain table in UTF-8, else of a study file made from
    it) and its regime."""
    loaded = load_any(source, regime=regime)
    if isinstance(source, str | Path) and Path(source).suffix in (".csv", ".tsv", ".txt") and Path(source).is_file():
        with suppress(FormatError):  # text in another encoding
            return {"name": Path(source).name, "text": read_text(Path(source)), "regime": str(loaded.regime)}
    content = set_to_dict(loaded) if isinstance(loaded, StudySet) else study_to_dict(loaded)
    text = json_bytes(content).decode()
    return {"name": f"{loaded.name or 'study'}.json", "text": text, "regime": str(loaded.regime)}


@contextmanager
def _as_file(text: str, name: str) -> Iterator[Path]:
    """The text as a file, as every reader expects one; messages name the dropped file, not the temporary one."""
    with tempfile.TemporaryDirectory(prefix="scalecurve-") as folder:
        path = Path(folder) / name
        path.write_text(text, encoding="utf-8")
        try:
            yield path
        except ScalecurveError as problem:
            raise InputError(str(problem).replace(str(path), name)) from None


def _is_study(text: str) -> bool:
    """Whether it is a study file, which states its own regime."""
    return text.lstrip("\ufeff \t\r\n").startswith("{")


@lru_cache(maxsize=8)
def _load(text: str, name: str, regime: str | None) -> Study | StudySet:
    with _as_file(text, name) as path:
        loaded = load_any(path, regime=None if _is_study(text) else regime)
    studies = loaded.studies.values() if isinstance(loaded, StudySet) else [loaded]
    samples = sum(len(study.samples) for study in studies)
    if samples > MOST_SAMPLES:
        hint = f"the page takes {MOST_SAMPLES}; the command line takes all"
        raise InputError(Fault("too many samples", value=str(samples), remedy=hint))
    return loaded


@lru_cache(maxsize=8)
def _rows(text: str, name: str, regime: str | None) -> dict[str, list[dict[str, float]]]:
    """S and E of every curve of a file that holds several; those that have no table are left out."""
    rows: dict[str, list[dict[str, float]]] = {}
    loaded = _load(text, name, regime)
    for curve, study in loaded.items() if isinstance(loaded, StudySet) else ():
        with suppress(ScalecurveError):
            own = sc.tabulate(study).rows
            rows[curve] = [
                {"k": row.k, "speedup": row.speedup.value, "efficiency": row.efficiency.value} for row in own
            ]
    return rows


def cases(_: Nothing) -> dict[str, Any]:
    """Worked cases to open, made from the formulas they illustrate."""
    rng = np.random.default_rng(SEED)
    fixed = {k: 0.04 + 0.96 / k + 0.010 * float(np.log2(k + 1)) for k in WORKERS}
    grown = {k: 1.0 + 0.010 * float(np.log2(k + 1)) for k in WORKERS}
    examples = []
    for label, name, regime, means in (
        ("A fixed step on 1 to 64 GPUs: bends at 8", "fixed-step.csv", "strong", fixed),
        ("The same system with the batch grown with K", "grown-step.csv", "weak", grown),
    ):
        noises = {k: rng.standard_normal(REPEATS) for k in means}
        rows = [f"{k},{mean * (1.0 + NOISE * noise):.6f}" for k, mean in means.items() for noise in noises[k]]
        text = "\n".join(["gpus,seconds", *rows]) + "\n"
        examples.append({"label": label, "name": name, "regime": regime, "text": text})
    return {"cases": examples}


def answer_table(request: DataRequest) -> dict[str, Any]:
    table = request.table
    material = Material(study=request.study, table=table)
    settings = f"--threshold {request.threshold:g} --level {request.level:g} --bend {request.rule}"
    return {
        "curves": _curves(request),
        "table": table.to_dict(),
        "unit": unit_words(table.k_unit),
        "useful": None if (row := useful_row(material)) is None else row.k,
        "tiles": tiles_of(material),
        "html": html_of(table.document()),
        "shown": table_of(table.document()),
        "sentences": list(material.table.answer.lines()),  # the cause takes longer and comes with the diagnosis
        "commands": [request.command("table", settings), request.command("report", "-o report.html")],
    }


def _curves(request: DataRequest) -> dict[str, Any] | None:
    """The curves of a file that holds several: names, the one shown, which of them to use, S and E of each."""
    curves = request.curves
    if curves is None:
        return None
    told = side_by_side(curves, partial(sc.tabulate, threshold=request.threshold, level=request.level)).answer
    missing = f"There is no curve {request.series!r}; " if request.series not in ("", request.curve) else ""
    return {
        "names": list(curves.names),
        "shown": request.curve,
        "sentences": [f"{missing}{request.curve} is shown, one of {len(curves)} curves.", *told.lines()],
        "rows": _rows(request.text, request.file, request.regime),
    }


def _told(request: DataRequest, verb: str, result: Result, options: str = "") -> dict[str, Any]:
    """A result as the page shows it, and the command that prints it."""
    return {"html": html_of(result.document()), "commands": [request.command(verb, options)]}


def answer_diagnosis(request: DataRequest) -> dict[str, Any]:
    diagnosis = sc.diagnose(request.study)
    material = Material(study=request.study, table=request.table, diagnosis=diagnosis)
    told = {"diagnosis": diagnosis.to_dict(), "sentences": list(answer(material))}
    return told | _told(request, "diagnose", diagnosis)


def answer_audit(request: DataRequest) -> dict[str, Any]:
    """The audit of the file as the command reads it: a table is a claim, a study file brings its own regime."""
    with _as_file(request.text, request.file) as path:
        regime = None if _is_study(request.text) else request.regime
        options = ReadOptions.checked(regime=regime, series=request.curve or None)
        audit = sc.audit(load_claim(path, options=options))
    return {"audit": audit.to_dict()} | _told(request, "audit", audit)


def answer_fits(request: DataRequest) -> dict[str, Any]:
    study = request.study
    fits = sc.fit(study)
    places = np.geomspace(study.all_k[0], study.all_k[-1], CURVE_POINTS + 1).tolist()
    curves = {law.name: fitted_curve(study, law, places) for law in fits.laws[:3]}
    return {"fits": fits.to_dict(), "curves": curves} | _told(request, "fit", fits)


def answer_forecast(request: ForecastRequest) -> dict[str, Any]:
    largest = request.study.all_k[-1]
    steps = range(1, request.reach.bit_length() + 1)
    at = sorted({min(largest * 2**step, largest * request.reach) for step in steps})
    forecast = sc.forecast(request.study, at=at, level=FORECAST_LEVEL)
    bands = [bounds for row in forecast.rows if (bounds := band(row)) is not None]
    options = f"--at {','.join(map(str, at))} --level {FORECAST_LEVEL:g}"
    return {"bands": bands} | _told(request, "forecast", forecast, options)


def answer_cost(request: CostRequest) -> dict[str, Any]:
    costs = sc.cost(request.study, request.price, jobs=request.jobs)
    return {"cost": costs.to_dict()} | _told(request, "cost", costs, request.options)


def _naming(answer: Callable[[Any], dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
    """The answer whose proposed commands name the file that was dropped."""

    def named(request: DataRequest) -> dict[str, Any]:
        typed = TYPED.set((request.words, request.same))
        try:
            return answer(request)
        finally:
            TYPED.reset(typed)

    return named


QUESTIONS = {
    "data/cases": Question(Nothing, cases),
    "data/table": Question(DataRequest, _naming(answer_table)),
    "data/diagnosis": Question(DataRequest, _naming(answer_diagnosis)),
    "data/audit": Question(DataRequest, _naming(answer_audit)),
    "data/fits": Question(DataRequest, _naming(answer_fits)),
    "data/forecast": Question(ForecastRequest, _naming(answer_forecast)),
    "data/cost": Question(CostRequest, _naming(answer_cost)),
}
