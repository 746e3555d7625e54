"""`load`: a study from whatever holds one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, InputError
from scalecurve.formats.accept import ACCEPTED, DataFrame, StudyLike
from scalecurve.formats.detection import PLAIN, STUDY, detect
from scalecurve.formats.reading import ReadOptions
from scalecurve.formats.source import sources_of
from scalecurve.study import Baseline, Quantity, Regime, Study
from scalecurve.study.file import SET_FORMAT, set_from_dict, study_from_dict
from scalecurve.study.study import REGIME_HELP
from scalecurve.study.study_set import StudySet


def load(
    source: StudyLike,
    *,
    regime: Regime | str | None = None,
    quantity: Quantity | str | None = None,
    k_column: str | None = None,
    value_column: str | None = None,
    k_unit: str | None = None,
    k_from: str | None = None,
    series: str | None = None,
    baseline_k: int | None = None,
    node_size: int | None = None,
    unit: str | None = None,
) -> Study | StudySet:
    """The study in a study file, a plain table, another tool's result, a folder or list of them, a frame or a mapping.

    A StudySet where the source holds several curves and `series` does not name one.  `-` is standard input.  A source
    that does not state its regime needs it stated; `k_from` is a pattern that finds K in names (`n(\\d+)_`), and
    `unit` is the unit of times (ms, s ...) where a table does not state it.
    """
    subject = str(source) if isinstance(source, str | Path) else None
    options = ReadOptions.checked(
        regime,
        quantity,
        k_column,
        value_column,
        k_unit,
        k_from,
        series,
        baseline_k,
        node_size,
        unit=unit,
        subject=subject,
    )
    if isinstance(source, Study):
        return _restated(source, options, source.name)
    if isinstance(source, StudySet):
        return _restated_set(source, options, source.name)
    if isinstance(source, str | Path):
        return _load_files(source, options)
    if isinstance(source, Mapping):
        return _load_mapping(source, options)
    if isinstance(source, DataFrame):
        from scalecurve.formats.results.plain_table import read_frame

        return read_frame(source, options).studies(_with_regime(options, "data frame"))
    raise InputError(Fault("not a study", value=type(source).__name__, remedy=f"pass {ACCEPTED}"))


def _load_files(path: str | Path, options: ReadOptions) -> Study | StudySet:
    sources = sources_of([path])
    detection = detect(sources[0]) if len(sources) == 1 else None
    if detection is not None and detection.name == STUDY:
        (source,) = sources
        folder = None if source.path is None else source.path.parent
        data = source.required_json()
        if isinstance(data, dict) and data.get("format") == SET_FORMAT:
            return _restated_set(set_from_dict(data, subject=source.name), options, source.name)
        study = study_from_dict(data, subject=source.name, folder=folder)
        return _restated(study, options, source.name)
    if detection is not None and detection.name == PLAIN:
        reading = detection.read(options)
        # A plain table says no more than its columns do; ten million rows are not sorted for a sentence.
        curves: Study | StudySet = reading.studies(_with_regime(options, sources[0].name))
        return curves
    from scalecurve.formats.importing import import_sources

    return import_sources(sources, options).stated()


def _load_mapping(samples: Mapping[Any, Any], options: ReadOptions) -> Study:
    """{K: samples or one number}, in seconds unless the quantity is stated."""
    columns: dict[int, list[float]] = {}
    for k, values in samples.items():
        several = isinstance(values, Iterable) and not isinstance(values, str)
        try:
            columns[int(k)] = [float(value) for value in values] if several else [float(values)]
        except (TypeError, ValueError):
            remedy = "the keys are worker counts and the values seconds: {1: [10.1, 9.9], 2: 5.2}"
            raise InputError(Fault("not numbers", where=f"K = {k!r}", value=str(values), remedy=remedy)) from None
    options = _with_regime(options, "mapping")
    return Study.from_samples(
        columns,
        regime=options.regime or "",
        quantity=options.quantity or Quantity.SECONDS,
        k_unit=options.k_unit or "workers",
        baseline_k=options.baseline_k,
        node_size=options.node_size,
    )


def _with_regime(options: ReadOptions, subject: str) -> ReadOptions:
    if options.regime is None:
        fault = Fault("the scaling regime is not stated, and is never guessed", remedy=REGIME_HELP)
        raise InputError(fault, subject=subject)
    return options


def _restated_set(studies: StudySet, options: ReadOptions, subject: str) -> Study | StudySet:
    """Every study of a set restated, or the one that `series` names."""
    if options.series is not None:
        return _restated(studies[options.series], options, subject)
    restated = {name: _restated(study, options, f"{subject}: {name}") for name, study in studies.items()}
    return replace(studies, studies=restated)


def _restated(study: Study, options: ReadOptions, subject: str) -> Study:
    """A study states what it is; only the baseline and the node size can be chosen anew."""
    faults = []
    if options.regime not in (None, study.regime):
        faults.append(Fault("the study states another regime", value=f"{study.regime}, asked for {options.regime}"))
    if options.quantity not in (None, study.quantity):
        text = f"{study.quantity}, asked for {options.quantity}"
        faults.append(Fault("the study states another quantity", value=text))
    if faults:
        raise InputError(faults, subject=subject)
    if options.baseline_k is not None:
        study = replace(study, baseline=Baseline(k=options.baseline_k, description=study.baseline.description))
    return study if options.node_size is None else replace(study, node_size=options.node_size)
