"""Readers of study results: each gives the observations of one file and what its tool says of them.

The study file is one of them only to be recognised: `load` opens it, and an import has nothing to do.
"""

from __future__ import annotations

import re

from scalecurve.errors import Fault, InputError
from scalecurve.formats.reading import Reader, Reading, ReadOptions
from scalecurve.formats.source import Source
from scalecurve.study.file import FORMAT, SET_FORMAT

_BEGINNING = re.compile(rf'\s*\{{\s*"format"\s*:\s*"{FORMAT}(?:-set)?"')


def recognise_study(source: Source) -> str | None:
    is_study = _BEGINNING.match(source.head_text) or (
        "format" in source.keys and source.json["format"] in (FORMAT, SET_FORMAT)
    )
    return f'"format": "{FORMAT}"' if is_study else None


def refuse_study(source: Source, options: ReadOptions) -> Reading:
    raise InputError(Fault("this is a scalecurve study already", remedy="every command reads it"))


STUDY_FILE: Reader[Reading] = Reader("study", "scalecurve study", recognise_study, refuse_study)
