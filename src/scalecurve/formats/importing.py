"""Files of other tools as one study: detect, read, assemble."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from scalecurve.errors import Fault, FormatError, InputError, ScalecurveError
from scalecurve.formats.assembling import Found, assemble
from scalecurve.formats.detection import PLAIN, Guess, detect
from scalecurve.formats.folder import sources_of
from scalecurve.formats.imported import Imported
from scalecurve.formats.plain_study import import_plain
from scalecurve.formats.source import Source
from scalecurve.formats.wishes import Wishes

MOST_FAULTS = 20


def import_files(given: Sequence[str | Path], wishes: Wishes) -> Imported:
    """One file, several, or a folder; every file must be of one format."""
    sources = sources_of(given)
    if len(sources) == 1:
        return import_source(sources[0], detect(sources[0]), wishes).with_sentence()
    guesses = [(source, guess) for source in sources if (guess := _tried(source)) is not None]
    known = [(source, guess) for source, guess in guesses if guess.reader is not None]
    _check_one_format(known, sources)
    found, faults = [], []
    for source, guess in known:
        try:
            found.append(_read(source, guess, wishes))
        except ScalecurveError as problem:
            faults.append(Fault(str(problem)))
    if faults:
        raise FormatError(faults[:MOST_FAULTS], subject=f"{len(faults)} of {len(known)} files")
    return assemble(found, wishes).with_sentence()


def import_source(source: Source, guess: Guess, wishes: Wishes) -> Imported:
    if guess.reader is not None:
        return assemble([_read(source, guess, wishes)], wishes)
    if guess.name == PLAIN:
        return import_plain(source, guess.evidence, wishes)
    raise InputError(Fault("this is a scalecurve study already", remedy="every command reads it"), subject=source.name)


def _tried(source: Source) -> Guess | None:
    """In a folder, a file that cannot be opened (a picture, an archive) is passed over."""
    try:
        return detect(source)
    except FormatError:
        return None


def _check_one_format(known: Sequence[tuple[Source, Guess]], sources: Sequence[Source]) -> None:
    formats = Counter(guess.name for _, guess in known)
    if not formats:
        hint = "plain tables are given one at a time, with a column for K"
        raise InputError(Fault("no file of a known format", seen=f"{len(sources)} files", remedy=hint))
    if len(formats) > 1:
        listed = ", ".join(f"{name} ({count})" for name, count in formats.most_common())
        raise InputError(Fault("the files are of several formats", seen=listed, remedy="name the files of one of them"))


def _read(source: Source, guess: Guess, wishes: Wishes) -> Found:
    if guess.reader is None:
        raise InputError(Fault("no reader for it", seen=guess.name), subject=source.name)
    return Found(source, guess.reader, guess.evidence, guess.reader.read(source, wishes))
