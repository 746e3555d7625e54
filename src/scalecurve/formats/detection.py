"""What a file is, by its content and never by running, unpickling or unpacking it; with the evidence."""

from __future__ import annotations

from dataclasses import dataclass

from scalecurve.errors import Fault, FormatError
from scalecurve.formats.reading import Reader
from scalecurve.formats.source import Source, refuse_unreadable


@dataclass(frozen=True)
class Guess:
    """A format and why; `reader` is None for a study file and for a plain table, which have readers of their own."""

    name: str
    evidence: str
    reader: Reader | None = None


STUDY, PLAIN = "scalecurve study", "plain table"


def detect(source: Source) -> Guess:
    """The first format whose marks are all there; a text with none of them is taken for a plain table."""
    from scalecurve.formats.readers import all_readers

    refuse_unreadable(source)
    if "format" in source.keys and source.json["format"] == "scalecurve-study":
        return Guess(STUDY, '"format": "scalecurve-study"')
    for reader in all_readers():
        evidence = reader.look(source)
        if evidence is not None:
            return Guess(reader.title, evidence, reader)
    if b"\x00" in source.head[:4096]:
        raise FormatError(
            Fault("not text in UTF-8, and no binary format known here", remedy=_known()), subject=source.name
        )
    if _is_json(source):
        raise _unknown_json(source)
    return Guess(PLAIN, "text without the marks of another format")


def _is_json(source: Source) -> bool:
    return source.head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[") or source.name.endswith(".json")


def _unknown_json(source: Source) -> FormatError:
    """JSON of an unknown shape, or a file that was cut short: say which."""
    from scalecurve.study.file import parse_json

    if source.json is None:
        try:
            parse_json(source.content, subject=source.name)
        except FormatError as problem:
            return problem
    seen = ", ".join(sorted(source.keys)[:12]) or type(source.json).__name__
    return FormatError(Fault("JSON of no known format", seen=seen, remedy=_known()), subject=source.name)


def _known() -> str:
    from scalecurve.formats.readers import all_readers

    return "known are: a scalecurve study, a plain table, " + ", ".join(reader.title for reader in all_readers())
