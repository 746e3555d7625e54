"""One foreign file: read at most once, bounded, and never executed, unpickled or unpacked blindly.

One policy of limits for every reader: a file that is read whole (text, JSON) has at most MAX_BYTES; a table that is
streamed, MAX_STREAMED; what is packed may unpack to `unpacked_limit`.
"""

from __future__ import annotations

import bz2
import csv
import io
import json
import lzma
import re
import sys
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any, TextIO, cast

from scalecurve.errors import Fault, FormatError, InputError, MissingExtra, ScalecurveError
from scalecurve.files import MAX_BYTES, beginning_of, note_input, unreadable
from scalecurve.study.unfinished import unfinished_study

HEAD_BYTES = 1024 * 1024
MAX_STREAMED = 4 * 1024**3
MOST_FILES = 10_000
DEEPEST_FOLDER = 3
GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
_ZSTD_NOTES = tuple(bytes([first]) + b"*M\x18" for first in range(0x50, 0x60))  # frames to skip, as pzstd writes
_PACKERS = {"gzip": (GZIP,), "bzip2": (b"BZh",), "xz": (b"\xfd7zXZ",), "zstd": (b"\x28\xb5\x2f\xfd", *_ZSTD_NOTES)}
PACKED = tuple(magic for magics in _PACKERS.values() for magic in magics)
PIECE_BYTES = 256  # unpacked at once: bzip2 and zstd make 8 MB of them at most
MOST_MEMBERS = 20_000
XZ_MEMORY = 256 * 1024**2  # xz -9 needs 65 MB
_ZEROS = re.compile(b"\0*")
UTF16 = (b"\xff\xfe", b"\xfe\xff")  # as spreadsheets write "Unicode text"
_DAY = r"(?:\d{4}[-/]\d\d[-/]\d\d[T ]|[A-Z][a-z]{2} [ \d]\d )?"
_MARGINS = tuple(  # what launchers, collectors of logs and people put before every line
    re.compile(rf"^{before}", re.MULTILINE)
    for before in (
        *(r"\[\d+,\d+\]<std(?:out|err)>: ", r"\[\d+,\d+\]<std(?:out|err)>:"),  # mpirun --tag-output
        r"\[\d+\] ",  # mpiexec -l
        r" *\d+: ",  # srun --label
        r"[\w.-]+ +\| ",  # docker compose
        rf"\[?{_DAY}\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?:?(?: std(?:out|err) [FP])?(?: |$)",
        r"[\w.-]+ [\w./-]+(?:\[\d+\])?: ",  # the host and the program, as journalctl and syslog say them
        r"(?:[#;|]|//) ?",
        r"\*\*|\*\*$",  # every line in bold, in Markdown
    )
)
_MOST_MARGINS = 3  # a time, a host and a rank
_SHOWN_LINES = 400
_SHARE = 0.9  # of the lines

# An object or an array of JSON; `[2024-03-01 10:00] step` and `[1 procs] 10 s` begin logs, `[[run]]` TOML, `{|` a wiki.
_JSON_BEGINS = re.compile(
    rb"\s*(?:\{\s*(?:[\"'}]|$)|\[[\s\[]*(?:[\"{\]]|(?:-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null|NaN)\s*[,\]]|$))"
)
_CODE = "loading one can run any code; export CSV or JSON from the tool that wrote it"
_UNPACK = "unpack it and give the files"
_REFUSED = (
    *((bytes([0x80, protocol]), "a Python pickle", _CODE) for protocol in range(2, 6)),
    (b"\x89HDF", "an HDF5 file", "export a CSV from it"),
    (b"SQLite format 3", "an SQLite database", "export a CSV from it"),
    (b"7z\xbc\xaf", "an archive (7z)", _UNPACK),
    (b"%PDF", "a PDF", "type its table into a CSV"),
    (b"\x7fELF", "a program", "give the file it writes"),
)


@dataclass(frozen=True)
class Source:
    """A file by its `path`, or bytes in memory.

    `name` is what messages show and what --k-from is matched against: the path as the user gave it, or the path of a
    file inside the folder that was given.
    """

    name: str
    path: Path | None = None
    raw: bytes | None = None

    @classmethod
    def at(cls, path: str | Path) -> Source:
        """The file at a path."""
        return cls(str(path), path=Path(path))

    @property
    def file_name(self) -> str:
        return PurePath(self.name).name

    @property
    def stem(self) -> str:
        return PurePath(self.name).stem

    @cached_property
    def head(self) -> bytes:
        """The first megabyte, unpacked where the file is packed, and in UTF-8 where it is text in UTF-16."""
        first = self.raw[:HEAD_BYTES] if self.raw is not None else self._read(HEAD_BYTES)
        return self.content[:HEAD_BYTES] if first.startswith((*PACKED, *UTF16)) else first

    @cached_property
    def head_text(self) -> str:
        return self.head.decode("utf-8-sig", errors="replace")

    @cached_property
    def content(self) -> bytes:
        """The whole file, unpacked where it is packed by gzip, bzip2, xz or zstd."""
        raw = self.raw if self.raw is not None else self._read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            fault = Fault("the file is too large", remedy=f"the limit is {MAX_BYTES} bytes")
            raise FormatError(fault, subject=self.name)
        if raw.startswith(UTF16):
            try:
                return raw.decode("utf-16").encode()
            except UnicodeError:
                return raw
        if not raw.startswith(PACKED):
            return raw
        from scalecurve.study.file import unpacked_limit  # study.file needs pydantic, which takes a tenth of a second

        limit = unpacked_limit(len(raw))
        try:
            content = _unpacked(raw, limit + 1)
        except ScalecurveError:
            raise
        except Exception as problem:  # each package has errors of its own
            raise FormatError(f"the {_packer(raw)} file is damaged: {problem}", subject=self.name) from None
        if len(content) > limit:
            remedy = f"the limit is {limit} bytes; unpack it and give the file itself"
            raise FormatError(Fault(f"the {_packer(raw)} file unpacks to too much", remedy=remedy), subject=self.name)
        return content

    @cached_property
    def text(self) -> str:
        """The whole file as text; bytes that are not UTF-8 become replacement characters."""
        return self.content.decode("utf-8-sig", errors="replace")

    def open_text(self) -> TextIO:
        """The text as a stream of strict UTF-8, for tables of up to MAX_STREAMED bytes."""
        if b"\0" in self.head[:4096] and not self._is_packed:
            raise FormatError(Fault("this is not text", remedy="give a table or a result as text"), subject=self.name)
        try:
            if self.path is None or self.raw is not None or self._is_packed or not self.path.is_file():
                return io.TextIOWrapper(io.BytesIO(self.content), encoding="utf-8-sig", newline="")
            size = self.path.stat().st_size
            if size > MAX_STREAMED:
                remedy = f"the limit is {MAX_STREAMED} bytes"
                raise FormatError(Fault("the file is too large", None, f"{size} bytes", remedy), subject=self.name)
            file = self.path.open(encoding="utf-8-sig", newline="")
            note_input(file.fileno())
            return file
        except (OSError, ValueError) as problem:
            raise unreadable(self.name, problem) from None

    def without_margin(self) -> Source | None:
        """The text without what stands before every line: a rank, a time, a comment mark, a bar of progress.

        None where nothing stands there.
        """
        if b"\0" in self.head[:4096]:
            return None
        margins = _margins_of(self.head_text.splitlines()[:_SHOWN_LINES])
        is_overwritten = "\n" in self.head_text and self.head_text.count("\r") > self.head_text.count("\r\n")
        if not margins and not is_overwritten:
            return None
        text = self.text
        if is_overwritten:  # a terminal shows what follows the last return to the beginning of a line
            text = "\n".join(line.removesuffix("\r").rpartition("\r")[2] for line in text.split("\n"))
        for margin in margins:
            text = margin.sub("", text)
        return Source(self.name, path=self.path, raw=text.encode())

    @cached_property
    def _is_packed(self) -> bool:
        return (self._read(8) if self.raw is None else self.raw).startswith((*PACKED, *UTF16))

    def in_windows_1252(self) -> Source | None:
        """The same text put into UTF-8 from Windows-1252; None where its bytes are no text of that kind."""
        try:
            text = self.content.decode("cp1252")
        except UnicodeDecodeError:
            return None
        printable = all(sign.isprintable() or sign in "\t\r\n\f\xa0" for sign in set(text))
        return Source(self.name, raw=text.encode()) if printable else None

    @property
    def looks_like_json(self) -> bool:
        return _JSON_BEGINS.match(self.head.removeprefix(b"\xef\xbb\xbf")) is not None

    @cached_property
    def json(self) -> Any:
        """The whole file as JSON, with NaN and Infinity as None; None where it is not JSON."""
        if not self.looks_like_json:
            return None
        try:
            return json.loads(self.text, parse_constant=lambda _: None)
        except (ValueError, RecursionError):
            return None

    def required_json(self) -> Any:
        """The whole file as JSON, or a FormatError that says where it breaks."""
        from scalecurve.study.file import parse_json

        return parse_json(self.content, subject=self.name)

    @cached_property
    def json_lines(self) -> list[dict[str, Any]] | None:
        """One object per line; None where a line is anything else."""
        if not self.looks_like_json:
            return None
        lines = [line for line in self.text.splitlines() if line.strip()]
        try:  # all at once is several times faster than line by line
            rows = json.loads(f"[{','.join(lines)}]", parse_constant=lambda _: None)
        except (ValueError, RecursionError):
            return None
        return rows if all(isinstance(row, dict) for row in rows) else None

    @property
    def keys(self) -> frozenset[str]:
        """The names at the top of a JSON object."""
        return frozenset(self.json) if isinstance(self.json, dict) else frozenset()

    def refuse_unreadable(self) -> None:
        """Raise a FormatError that names a pickle, an archive or a program: they are never opened; or a cut sheet."""
        if self.head.startswith(ZIP) and not zipfile.is_zipfile(io.BytesIO(self.content)):
            raise FormatError(Fault("the workbook is cut short", remedy="save or copy it anew"), subject=self.name)
        tar = ((self.head[257:262], "a tar archive", _UNPACK),) if self.head[257:262] == b"ustar" else ()
        for magic, what, remedy in (*_REFUSED, *tar):
            if self.head.startswith(magic) or magic == b"ustar":
                raise FormatError(Fault(f"this is {what}, which is never opened", remedy=remedy), subject=self.name)

    def _read(self, most: int) -> bytes:
        if self.path is None:
            raise FormatError("there is nothing to read", subject=self.name)
        return beginning_of(self.path, most)


def _margins_of(lines: Sequence[str]) -> list[re.Pattern[str]]:
    """What stands before nearly all lines that say something, from the left."""
    margins: list[re.Pattern[str]] = []
    while len(margins) < _MOST_MARGINS:
        lines = [line for line in lines if line.strip()]
        own = next((each for each in _MARGINS if sum(map(bool, map(each.match, lines))) >= _SHARE * len(lines)), None)
        if own is None or len(lines) < 3:
            break
        lines = [own.sub("", line) for line in lines]
        margins.append(own)
    return margins


def _packer(raw: bytes, begin: int = 0) -> str | None:
    """What packed the bytes from `begin` on."""
    return next((name for name, magics in _PACKERS.items() if raw.startswith(magics, begin)), None)


def _unpacked(raw: bytes, most: int) -> bytes:
    """About `most` bytes of what was packed, from all members: pigz, pbzip2 and `cat a.gz b.gz` write several."""
    content, packer, end = bytearray(), _packer(raw), 0
    for _ in range(MOST_MEMBERS):
        if _packer(raw, end) != packer:
            raise ValueError(f"{len(raw) - end} bytes after its end are not {packer}; are parts of it missing?")
        if raw.startswith(_ZSTD_NOTES, end):
            end += 8 + int.from_bytes(raw[end + 4 : end + 8], "little")
            if end > len(raw):
                raise EOFError("it is cut short")
        else:
            end = _add_member(content, _unpacker(packer), raw, end, most)
        end = cast(re.Match[bytes], _ZEROS.match(raw, end)).end()  # tapes and xz fill up with zeros
        if end == len(raw) or len(content) >= most:
            return bytes(content)
    raise ValueError(f"it has more than {MOST_MEMBERS} members; unpack it and give the file itself")


def _add_member(content: bytearray, member: Any, raw: bytes, begin: int, most: int) -> int:
    """Unpack one member to the end of `content`, until that has `most` bytes; the place behind the member."""
    while begin < len(raw) and len(content) < most:
        piece = raw[begin : begin + PIECE_BYTES]
        content += member.decompress(piece)
        begin += len(piece)
        if member.eof:
            return begin - len(member.unused_data)
    if len(content) < most:
        raise EOFError("it is cut short")
    return begin


def _unpacker(packer: str | None) -> Any:
    """An object that unpacks one member; that of zstd is in an optional package."""
    if packer == "gzip":
        return zlib.decompressobj(zlib.MAX_WBITS | 16)
    if packer == "bzip2":
        return bz2.BZ2Decompressor()
    if packer == "xz":
        return lzma.LZMADecompressor(memlimit=XZ_MEMORY)
    try:
        import zstandard
    except ImportError:
        raise MissingExtra("reading a .zst file", "sheets") from None
    return zstandard.ZstdDecompressor().decompressobj()


def csv_rows(lines: Iterable[str], *, delimiter: str = ",", skip_blanks: bool = False) -> Iterator[list[str]]:
    """The fields of every record; what Python's csv cannot split is a FormatError."""
    try:
        yield from csv.reader(lines, delimiter=delimiter, skipinitialspace=skip_blanks)
    except csv.Error as problem:
        raise FormatError(f"not delimited text: {problem}") from None


def sources_of(paths: Sequence[str | Path]) -> list[Source]:
    """One Source per file: `-` is standard input, a pipe is read at once, a folder stands for its visible files.

    A folder is read three levels deep, in the order of the names.  A study that is being measured is what its journal
    holds.
    """
    sources: list[Source] = []
    for path in map(Path, paths):
        sources += _files_of(path) if path.is_dir() else [_source_of(path)]
    if not sources:
        names = ", ".join(str(path) for path in paths)
        raise InputError(
            Fault("there are no files in it", value=names or None, remedy="name a file, or a folder that holds some"),
            subject="import",
        )
    return sources


def _source_of(path: Path) -> Source:
    """The Source of anything but a folder; a pipe gives its bytes only once."""
    if str(path) == "-":
        return Source("standard input", raw=sys.stdin.buffer.read(MAX_BYTES + 1))
    if path.exists() and not path.is_file():
        return Source(str(path), raw=beginning_of(path, MAX_BYTES + 1))
    return Source(str(path), path=path, raw=unfinished_study(path))


def _files_of(folder: Path) -> list[Source]:
    """The visible files of a folder by name; at most MOST_FILES."""
    found = []
    for file in sorted(folder.rglob("*")):
        parts = file.relative_to(folder).parts
        if len(parts) <= DEEPEST_FOLDER and not any(part.startswith(".") for part in parts) and file.is_file():
            found.append(Source.at(file))
        if len(found) > MOST_FILES:
            raise InputError(Fault("too many files", remedy=f"at most {MOST_FILES}; name them"), subject=str(folder))
    return found
