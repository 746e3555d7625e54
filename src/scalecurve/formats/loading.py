"""`load`: a study from whatever holds one, which is what every verb takes (`as_study`); `load_all`: every curve of it;
`import_results`: the same with the mapping that led to it."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from os.path import commonpath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, Unpack, runtime_checkable

from scalecurve.errors import Fault, FormatError, InputError, ScalecurveError
from scalecurve.formats.detection import PLAIN, ROWS, STUDY, Detection, detect
from scalecurve.formats.objects import mapping_or_frame
from scalecurve.formats.reading import MOST_FAULTS, Reading, ReadOptions, ReadWords, Unclear
from scalecurve.formats.regime import with_shown_regime
from scalecurve.formats.source import Source, sources_of
from scalecurve.study import Baseline, Quantity, Regime, Study
from scalecurve.study.study import StudySet

if TYPE_CHECKING:
    from scalecurve.formats.assembling import FileReading
    from scalecurve.formats.imported import Imported

_KEYWORD = inspect.Parameter.KEYWORD_ONLY
Verb = TypeVar("Verb", bound=Callable[..., Any])
ACCEPTED = "a Study, a path, a list of paths, {K: seconds}, pairs (K, seconds), records, or a pandas or polars frame"


@runtime_checkable
class DataFrame(Protocol):
    """The part of a pandas or polars frame that is read."""

    @property
    def columns(self) -> Any: ...
    def __getitem__(self, key: Any) -> Any: ...


StudyLike = (
    Study
    | StudySet
    | str
    | Path
    | Sequence[str | Path]
    | Mapping[int, float | Iterable[float]]
    | Sequence[Any]
    | DataFrame
)

Times = float | Iterable[float]
SetLike = StudyLike | Mapping[float, Mapping[int, Times]] | Mapping[tuple[float, int], Times]
"""What `fit_grid` and `forecast_grid` take besides: {size: {K: seconds}} or {(size, K): seconds}."""


def _spelt_out(verb: Verb) -> Verb:
    """The verb with every word of ReadWords in its signature, so that `help` and editors show them."""
    own = inspect.signature(verb)
    said = [
        inspect.Parameter(name, _KEYWORD, default=None, annotation=kind)
        for name, kind in ReadWords.__annotations__.items()
    ]
    kept = [one for one in own.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    verb.__signature__ = own.replace(parameters=[*kept, *said])  # type: ignore[attr-defined]
    return verb


@_spelt_out
def load(
    source: SetLike,
    **words: Unpack[ReadWords],
) -> Study:
    """The study in a file, a folder, a list of files, a frame, or plain Python values.

    Parameters
    ----------
    source
        A study file, a table, a result of another tool, a folder or list of them (`-` is standard input); a Study; a
        pandas or polars frame or Series; {K: seconds}; pairs (K, seconds) or an array of them; a list of records.
    regime
        "strong" (the total work is fixed) or "weak" (the work per worker is); needed where the source states none.
    quantity
        "seconds", "throughput" or "throughput_per_worker", where a table does not say.
    k_column, value_column
        The columns of worker counts and of values: a header, a number from 1, or `(empty)`; K may be a product
        (`ranks*threads`) or stand in the header row (`(header)`).
    k_unit
        What a worker is: gpus, nodes, ranks, threads ...
    k_from
        A pattern that finds K in names of files, such as `n(\\d+)_`.
    series
        Which curve, where the source holds several; `load_all` returns all of them.
    baseline_k, node_size
        K0 (default: the smallest K), and the workers of one node.
    unit
        The unit of times (ms, s, min ...), where a table does not state it.
    table
        The number or the heading of one table of a document.
    ignore, where
        Columns to leave out; `column=value` of the rows to keep.
    melt
        Whether every column beside K is a curve of its own.
    accept
        Codes of doubts to pass over, as a refusal names them.

    Returns
    -------
    Study
        Every raw value in seconds or as a rate, with where it comes from.

    Raises
    ------
    InputError
        The source cannot be read, holds several curves, or leaves open what is needed; all faults at once.

    Examples
    --------
    >>> import scalecurve as sc
    >>> sc.load({1: [10.1, 9.9], 2: 5.2}, regime="strong").all_k
    (1, 2)
    """
    return as_study(load_any(source, **words))


@_spelt_out
def load_all(
    source: SetLike,
    **words: Unpack[ReadWords],
) -> StudySet:
    """Every curve of a source, by name; a set of one where it holds one.  Parameters as of `load`.

    Examples
    --------
    >>> import scalecurve as sc
    >>> sizes = sc.load_all({1000: {1: 8.0, 2: 4.1}, 2000: {1: 16.0, 2: 8.1}}, regime="strong")
    >>> sizes.names
    ('1000', '2000')
    """
    loaded = load_any(source, **words)
    return loaded if isinstance(loaded, StudySet) else StudySet(studies={loaded.name: loaded})


def load_any(
    source: SetLike,
    **words: Unpack[ReadWords],
) -> Study | StudySet:
    """A Study, or a StudySet where the source holds several curves and `series` does not name one; as `load`."""
    subject = str(source) if isinstance(source, str | Path) else None
    options = ReadOptions.checked(subject=subject, **words)
    source = mapping_or_frame(source)
    if isinstance(source, Study):
        return _restated(source, options, source.name)
    if isinstance(source, StudySet):
        return _restated_set(source, options, source.name)
    if isinstance(source, str | Path):
        return load_sources(sources_of([source]), options)
    if isinstance(source, list | tuple) and source and all(isinstance(item, str | Path) for item in source):
        return load_sources(sources_of(source), options)
    if isinstance(source, Mapping):
        return _load_mapping(source, options)
    if isinstance(source, DataFrame):
        from scalecurve.formats.tables.forms import read_frame

        return _stated_curves(read_frame(source, options), options, "data frame")
    raise InputError(Fault("not a study", value=type(source).__name__, remedy=f"pass {ACCEPTED}"))


def as_study_set(source: SetLike, *, regime: Regime | str | None = None) -> StudySet:
    """The curves of a source; an InputError where it holds only one."""
    loaded = source if isinstance(source, StudySet) and regime is None else load_any(source, regime=regime)
    if isinstance(loaded, StudySet):
        return loaded
    remedy = "give a table with a column `size` beside K and time, {size: {K: seconds}}, or measure with --axis-size"
    raise InputError(Fault("there is one curve, and no problem size", remedy=remedy), subject=loaded.name)


def as_study(source: StudyLike, *, regime: Regime | str | None = None) -> Study:
    """The study itself, or the study that a path, a mapping {K: seconds} or a frame holds.

    A source that does not state its regime needs `regime`; `scalecurve.load` has the options to read unusual tables.
    Anything else is an InputError that says what is accepted.
    """
    if isinstance(source, Study) and regime is None:
        return source
    loaded = source if isinstance(source, StudySet) else load_any(source, regime=regime)
    return loaded.only() if isinstance(loaded, StudySet) else loaded


def load_sources(sources: Sequence[Source], options: ReadOptions) -> Study | StudySet:
    """What files hold, read as the options say."""
    detection = detect(sources[0]) if len(sources) == 1 else None
    if detection is not None and detection.name == STUDY:
        from scalecurve.study.file import SET_FORMAT, set_from_dict, study_from_dict

        (source,) = sources
        folder = None if source.path is None else source.path.parent
        data = source.required_json()
        if isinstance(data, dict) and data.get("format") == SET_FORMAT:
            return _restated_set(set_from_dict(data, subject=source.name), options, source.name)
        study = study_from_dict(data, subject=source.name, folder=folder)
        return _restated(study, options, source.name)
    if detection is not None and detection.name in (PLAIN, ROWS):
        # A plain table says no more than its columns do; ten million rows are not sorted for a sentence.
        return _stated_curves(detection.read(options), options, sources[0].name)
    return import_sources(sources, options).stated()


def _load_mapping(samples: Mapping[Any, Any], options: ReadOptions) -> Study | StudySet:
    """{K: samples or one number}, in seconds unless the quantity is stated; by size where there are two keys."""
    if samples and all(isinstance(key, tuple) and len(key) == 2 for key in samples):
        by_size: dict[Any, dict[Any, Any]] = {}
        for (size, k), values in samples.items():
            by_size.setdefault(size, {})[k] = values
        return _load_sizes(by_size, options)
    if samples and all(isinstance(own, Mapping) for own in samples.values()):
        return _load_sizes(samples, options)
    study = Study.from_samples(
        dict(_numbers(k, values) for k, values in samples.items()),
        regime=options.regime or Regime.STRONG,
        quantity=options.quantity or Quantity.SECONDS,
        k_unit=options.k_unit or "workers",
        baseline_k=options.baseline_k,
        node_size=options.node_size,
    )
    return study if options.regime else with_shown_regime(study, "mapping")


def _load_sizes(samples: Mapping[Any, Any], options: ReadOptions) -> Study | StudySet:
    """{size: {K: samples}} as a set, or the size that `series` names."""
    curves, axes = {}, {}
    for size, own in samples.items():
        study = _load_mapping(own, replace(options, series=None))
        if isinstance(study, StudySet):
            raise InputError(Fault("mappings are nested too deeply", remedy="give {size: {K: seconds}}"))
        name = f"{size:g}" if isinstance(size, float) else str(size)
        curves[name] = replace(study, workload=replace(study.workload, name=name))
        axes[name] = {"size": str(size)}
    studies = StudySet(studies=curves, axes=axes)
    return studies if options.series is None else studies[options.series]


def _numbers(k: Any, values: Any) -> tuple[int, list[float]]:
    """One K and its values as numbers."""
    several = isinstance(values, Iterable) and not isinstance(values, str)
    try:
        return int(k), [float(value) for value in (values if several else [values])]
    except (TypeError, ValueError, OverflowError):
        remedy = "the keys are worker counts and the values seconds: {1: [10.1, 9.9], 2: 5.2}"
        raise InputError(Fault("not numbers", where=f"K = {k!r}", value=str(values), remedy=remedy)) from None


def _stated_curves(reading: Reading, options: ReadOptions, subject: str) -> Study | StudySet:
    """The curves of a table; an InputError where the regime is neither stated nor shown by the values."""
    studies = reading.studies(options)
    return studies if reading.stated_regime(options) else with_shown_regime(studies, subject)


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
        faults.append(
            Fault(
                "the study states another regime",
                value=f"{study.regime}, asked for {options.regime}",
                remedy="leave --regime out",
            )
        )
    if options.quantity not in (None, study.quantity):
        text = f"{study.quantity}, asked for {options.quantity}"
        faults.append(Fault("the study states another quantity", value=text, remedy="leave it out"))
    if faults:
        raise InputError(faults, subject=subject)
    if options.baseline_k is not None:
        study = replace(study, baseline=Baseline(k=options.baseline_k, description=study.baseline.description))
    return study if options.node_size is None else replace(study, node_size=options.node_size)


@_spelt_out
def import_results(*sources: str | Path, allow_mixed: bool = False, **words: Unpack[ReadWords]) -> Imported:
    """Results of one tool (a file, several, or folders) as one study, and what was recognised, assumed and missing.

    The regime may stay unstated: `.stated()` then refuses the study, and the mapping can still be shown.
    """
    return import_sources(sources_of(sources), replace(ReadOptions.checked(**words), allow_mixed=allow_mixed))


def import_sources(sources: Sequence[Source], options: ReadOptions) -> Imported:
    """One study from one file, or from the files of one format among several."""
    from scalecurve.formats.assembling import assemble, with_offers  # a plain table needs none of it

    files = [detect(sources[0])] if len(sources) == 1 else _of_one_format(sources)
    if not files:
        from scalecurve.formats.assembling import imported_table
        from scalecurve.formats.tables.folders import read_folder

        return imported_table(read_folder(sources, options), options, sources).with_sentence()
    readings, faults = _read_reports([report for file in files for report in file.reports()], options)
    try:
        return assemble(readings, options, faults).with_sentence()
    except Unclear as problem:
        if problem.offers:  # of a table, which has tried its own
            raise
        place = sources[0].name if len(sources) == 1 else commonpath([source.name for source in sources])
        raise with_offers(problem, readings, options, place) from None


def _read_reports(reports: Sequence[Detection], options: ReadOptions) -> tuple[list[FileReading], list[Fault]]:
    """What can be read, and the faults of what cannot; a FormatError where that is more than half."""
    from scalecurve.formats.assembling import FileReading

    readings, faults = [], []
    for report in reports:
        try:
            readings.append(FileReading(report, report.read(options)))
        except ScalecurveError as problem:
            if len(reports) == 1:
                raise
            faults.append(Fault(str(problem)))
    if 2 * len(faults) > len(reports):
        raise FormatError(faults[:MOST_FAULTS], subject=f"{len(faults)} of {len(reports)} files")
    return readings, faults


def _of_one_format(sources: Sequence[Source]) -> list[Detection]:
    """The files of another tool; none where they are tables or hold facts of one run each."""
    detections: list[Detection] = []
    for source in sources:
        try:
            detection = detect(source)
        except FormatError:
            continue
        if detection.name == STUDY:
            remedy = "study files are given one at a time"
            raise InputError(Fault("a study file among several files", value=source.name, remedy=remedy))
        if detection.name not in (PLAIN, ROWS):
            detections.append(detection)
    formats = Counter(detection.name for detection in detections)
    if len(formats) > 1:
        counts = ", ".join(f"{name} ({count})" for name, count in formats.most_common())
        fault = Fault("the files are of several formats", value=counts, remedy="name the files of one of them")
        raise InputError(fault)
    return detections
