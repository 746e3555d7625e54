"""What every verb takes as a study: a Study, a path, a mapping of K to samples, or a pandas or polars frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from scalecurve.study import Regime, Study
from scalecurve.study.study_set import StudySet

ACCEPTED = "a Study, a path, a mapping {K: seconds} or a pandas or polars frame"


@runtime_checkable
class DataFrame(Protocol):
    """The part of a pandas or polars frame that is read."""

    @property
    def columns(self) -> Any: ...
    def __getitem__(self, key: Any) -> Any: ...


StudyLike = Study | StudySet | str | Path | Mapping[int, float | Iterable[float]] | DataFrame


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
