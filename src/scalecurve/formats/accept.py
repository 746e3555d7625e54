"""What every verb takes as a study: a Study, a path, a mapping of K to samples, or a pandas or polars frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from scalecurve.study import Regime, Study
from scalecurve.study.study import StudySet

ACCEPTED = "a Study, a path, a list of paths, a mapping {K: seconds} or a pandas or polars frame"


@runtime_checkable
class DataFrame(Protocol):
    """The part of a pandas or polars frame that is read."""

    @property
    def columns(self) -> Any: ...
    def __getitem__(self, key: Any) -> Any: ...


StudyLike = Study | StudySet | str | Path | Sequence[str | Path] | Mapping[int, float | Iterable[float]] | DataFrame

Times = float | Iterable[float]
SetLike = StudyLike | Mapping[float, Mapping[int, Times]] | Mapping[tuple[float, int], Times]
"""What `fit_grid` and `forecast_grid` take besides: {size: {K: seconds}} or {(size, K): seconds}."""


def as_study_set(source: SetLike, *, regime: Regime | str | None = None) -> StudySet:
    """The curves of a source; an InputError where it holds only one."""
    from scalecurve.errors import Fault, InputError
    from scalecurve.formats.loading import load

    loaded = source if isinstance(source, StudySet) and regime is None else load(source, regime=regime)
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
    from scalecurve.formats.loading import load

    loaded = source if isinstance(source, StudySet) else load(source, regime=regime)
    return loaded.only() if isinstance(loaded, StudySet) else loaded
