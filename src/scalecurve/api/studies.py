"""Verbs of a study: load, measure, tabulate, fit, forecast, draw."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from scalecurve.analysis import SpeedupTable
    from scalecurve.diagnosis.regimes import RegimeVerdict
    from scalecurve.fitting.fit import Fits
    from scalecurve.forecasting.forecast import Forecast
    from scalecurve.forecasting.standing import Standing
    from scalecurve.formats.imported import Imported
    from scalecurve.measurement.outlook import Outlook
    from scalecurve.measurement.readiness import Readiness
    from scalecurve.measurement.sweep import Listener
    from scalecurve.planning.next_runs import NextRuns
    from scalecurve.study import Study


def load(
    source: str | Path,
    *,
    regime: str | None = None,
    quantity: str | None = None,
    k_column: str | None = None,
    value_column: str | None = None,
    k_unit: str | None = None,
    k_from: str | None = None,
    series: str | None = None,
    baseline_k: int | None = None,
    node_size: int | None = None,
) -> Study:
    """A study from a study file, a plain table, another tool's result or a folder of them.

    A file that does not state its regime needs it stated; `k_from` is a pattern that finds K in names (`n(\\d+)_`), and
    `series` names one of several curves in a file.
    """
    from scalecurve.formats.loading import load as verb

    return verb(
        source,
        regime=regime,
        quantity=quantity,
        k_column=k_column,
        value_column=value_column,
        k_unit=k_unit,
        k_from=k_from,
        series=series,
        baseline_k=baseline_k,
        node_size=node_size,
    )


def import_results(*sources: str | Path, **settings: Any) -> Imported:
    """Results of other tools as one study, and the mapping that led to it; settings as in `load`, and allow_mixed."""
    from scalecurve.formats.importing import import_results as verb

    return verb(*sources, **settings)


def export(study: Study, to: str) -> bytes:
    """A study in another tool's format: one of `export_formats()`."""
    from scalecurve.render.exports import export as verb

    return verb(study, to)


def export_formats() -> dict[str, str]:
    """The names `export` takes, and what each is for."""
    from scalecurve.render.exports import export_formats as verb

    return verb()


def save(study: Study, path: str | Path) -> None:
    """Write a study file, atomically."""
    from scalecurve.study.file import save as verb

    verb(study, Path(path))


def tabulate(study: Study, **settings: Any) -> SpeedupTable:
    """T, S and E with intervals, and the bend; settings as in `scalecurve.analysis.tabulate`."""
    from scalecurve.analysis import tabulate as verb

    return verb(study, **settings)


def regime(study: str | Path | Study | None = None, *, called: str | None = None, **given: Any) -> RegimeVerdict:
    """Strong, weak, mixed or neither; as `scalecurve.diagnosis.classify_regime`."""
    from scalecurve.diagnosis.regimes import classify_regime

    `called` is what it is said to be; a table need not say.
    """
    from scalecurve.diagnosis.regimes import regime_of_study, regime_of_table
    from scalecurve.diagnosis.sentence import regime_of_sentence

    if study is None:
        return regime_of_sentence(called=called, **given)
    if not isinstance(study, str | Path):
        return regime_of_study(study, called=called)
    if _is_table(study):
        return regime_of_table(load(study, regime=called or "strong"), _work_in_table(study), called=called)
    return regime_of_study(_load_called(study, called), called=called)


def _load_called(source: str | Path, called: str | None) -> Study:
    """A study file states its regime; other files take the one it is called."""
    from scalecurve.errors import InputError

    try:
        return load(source)
    except InputError:
        if called is None:
            raise
        return load(source, regime=called)


WORK_COLUMNS = (
    "work",
    "total_work",
    "global_batch",
    "global_batch_size",
    "batch",
    "batch_size",
    "problem_size",
    "size",
)


def _is_table(source: str | Path) -> bool:
    """Whether it is a plain table that can be read twice."""
    from scalecurve.formats.detection import PLAIN, detect
    from scalecurve.formats.source import sources_of

    return str(source) != "-" and not Path(source).is_dir() and detect(sources_of([source])[0]).name == PLAIN


def _work_in_table(source: str | Path) -> dict[int, float]:
    """Work by K, read as any other column is; empty where there is no such column."""
    from scalecurve.errors import InputError

    for column in WORK_COLUMNS:
        try:
            found = load(source, regime="strong", quantity="throughput", value_column=column)
        except InputError:
            continue
        return {k: float(values.mean()) for k, values in found.samples.by_k().items()}
    return {}


def fit(study: Study, **settings: Any) -> Fits:
    """Laws ranked by predictive density; `.best` raises Undecided where they tie: `fit(study, law="usl")`."""
    from scalecurve.fitting.fit import fit as verb

    return verb(study, **settings)


def next_runs(study: Study, *, budget: float | str | None = None, **settings: Any) -> NextRuns:
    """Which K to measure next within a budget: `next_runs(study, budget="8 gpu-hours", target=256)`."""
    from scalecurve.planning.next_runs import next_runs as verb

    return verb(study, budget=budget, **settings)


def stand(study: Study, domain: str | None = None) -> Standing | None:
    """A study's efficiency among published curves of its kind, at 2, 4, 8 ... times its smallest K."""
    from scalecurve.forecasting.standing import stand as verb

    return verb(study, domain)


@overload
def forecast(study: Study, at: Sequence[int] | None = None, **settings: Any) -> Forecast: ...
@overload
def forecast(study: Sequence[Study], at: Sequence[int] | None = None, **settings: Any) -> list[Forecast]: ...
def forecast(
    study: Study | Sequence[Study], at: Sequence[int] | None = None, **settings: Any
) -> Forecast | list[Forecast]:
    """T (or throughput), S and E at other K, for one study or many: `forecast(study, at=[128, 256], level=0.9)`."""
    from scalecurve.forecasting.forecast import forecast as verb
    from scalecurve.forecasting.forecast import forecast_all

    if isinstance(study, list | tuple):
        return forecast_all(study, at, **settings)
    return verb(study, at, **settings)  # type: ignore[arg-type]


def plot(result: Any, path: str | Path) -> None:
    """Draw a result; the ending of the path (.svg .png .pdf) says how."""
    from scalecurve.render.plots import plot as verb

    verb(result, path)


def measure(
    file: str | Path | None = None,
    *,
    resume: bool = False,
    force: bool = False,
    listener: Listener | None = None,
    **settings: Any,
) -> Study:
    """Run a scaling study: settings from a TOML file, keywords (`regime=`, `workers=`, `command=` ...), or both."""
    from scalecurve.measurement.sweep import measure as verb

    return verb(file, resume=resume, force=force, listener=listener, **settings)


def doctor(*, seconds: float = 2.0) -> Readiness:
    """Which launchers can be used here, what the others lack, and the noise floor of this machine."""
    from scalecurve.measurement.readiness import doctor as verb

    return verb(seconds=seconds)


def look_ahead(file: str | Path | None = None, **settings: Any) -> Outlook:
    """What `measure` would do with these settings: runs, order, wall time, cost, launches needed.  Starts nothing."""
    from scalecurve.measurement.outlook import preview

    return preview(file, **settings)
