"""`import_results`: files of other tools as one study, with the mapping that led to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from scalecurve.errors import Fault, FormatError, InputError, ScalecurveError
from scalecurve.formats.assembling import FileReading, assemble
from scalecurve.formats.detection import PLAIN, STUDY, Detection, detect
from scalecurve.formats.imported import Imported
from scalecurve.formats.reading import MOST_FAULTS, ReadOptions
from scalecurve.formats.source import Source, sources_of
from scalecurve.study import Quantity, Regime


def import_results(
    *sources: str | Path,
    regime: Regime | str | None = None,
    quantity: Quantity | str | None = None,
    k_column: str | None = None,
    value_column: str | None = None,
    k_unit: str | None = None,
    k_from: str | None = None,
    series: str | None = None,
    baseline_k: int | None = None,
    node_size: int | None = None,
    allow_mixed: bool = False,
    unit: str | None = None,
) -> Imported:
    """Results of one tool (a file, several, or folders) as one study, and what was recognised, assumed and missing.

    The regime may stay unstated: `.stated()` then refuses the study, and the mapping can still be shown.
    """
    options = ReadOptions.checked(
        regime, quantity, k_column, value_column, k_unit, k_from, series, baseline_k, node_size, allow_mixed, unit=unit
    )
    return import_sources(sources_of(sources), options)


def import_sources(sources: Sequence[Source], options: ReadOptions) -> Imported:
    """One study from one file, or from the files of one format among several."""
    detections = [detect(sources[0])] if len(sources) == 1 else _of_one_format(sources)
    readings, faults = [], []
    for detection in detections:
        try:
            reading = detection.read(options)
            readings.append(FileReading(detection, reading))
        except ScalecurveError as problem:
            if len(detections) == 1:
                raise
            faults.append(Fault(str(problem)))
    if faults:
        raise FormatError(faults[:MOST_FAULTS], subject=f"{len(faults)} of {len(detections)} files")
    return assemble(readings, options).with_sentence()


def _of_one_format(sources: Sequence[Source]) -> list[Detection]:
    """The files of another tool, or tables where there is no other; a file that cannot be opened is passed over."""
    detections, tables = [], []
    for source in sources:
        try:
            detection = detect(source)
        except FormatError:
            continue
        if detection.name == PLAIN:
            tables.append(detection)
        elif detection.name != STUDY:
            detections.append(detection)
    detections = detections or tables
    formats = Counter(detection.name for detection in detections)
    if not formats:
        remedy = "study files are given one at a time"
        raise InputError(Fault("no file of a known format", value=f"{len(sources)} files", remedy=remedy))
    if len(formats) > 1:
        counts = ", ".join(f"{name} ({count})" for name, count in formats.most_common())
        fault = Fault("the files are of several formats", value=counts, remedy="name the files of one of them")
        raise InputError(fault)
    return detections
