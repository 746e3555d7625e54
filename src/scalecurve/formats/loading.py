"""Any file a command accepts as a study: a study file, a plain table, or another tool's result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, InputError
from scalecurve.formats.detection import PLAIN, STUDY, detect
from scalecurve.formats.folder import sources_of
from scalecurve.formats.importing import import_files, import_source
from scalecurve.formats.source import Source
from scalecurve.formats.wishes import Wishes, make_wishes
from scalecurve.study import Baseline, Study


def load_study(source: str | Path, **settings: Any) -> Study:
    """A study from a path, from a folder of results, or from standard input for `-`; settings as in `Wishes`."""
    wishes = make_wishes(subject=str(source), **settings)
    if Path(source).is_dir():
        return import_files([source], wishes).stated()
    single = sources_of([source])[0]
    guess = detect(single)
    if guess.name == STUDY:
        return _restated(_study_in(single), wishes, single.name)
    imported = import_source(single, guess, wishes)
    # A plain table has nothing to say that its columns do not; ten million rows are not sorted for a sentence.
    return imported.stated() if guess.name == PLAIN else imported.with_sentence().stated()


def _study_in(source: Source) -> Study:
    from scalecurve.study.file import parse_json, read_study, study_from_dict

    if source.path is not None:
        return read_study(source.path)
    return study_from_dict(parse_json(source.content, subject=source.name), subject=source.name)


def _restated(study: Study, wishes: Wishes, subject: str) -> Study:
    """A study file says what it is; only the baseline and the node size may be chosen anew."""
    faults = []
    if wishes.regime not in (None, study.regime):
        faults.append(Fault("the file states another regime", seen=f"{study.regime}, asked for {wishes.regime}"))
    if wishes.quantity not in (None, study.quantity):
        faults.append(Fault("the file states another quantity", seen=f"{study.quantity}, asked for {wishes.quantity}"))
    if faults:
        raise InputError(faults, subject=subject)
    if wishes.baseline_k is not None:
        study = replace(study, baseline=Baseline(k=wishes.baseline_k, description=study.baseline.description))
    return study if wishes.node_size is None else replace(study, node_size=wishes.node_size)
