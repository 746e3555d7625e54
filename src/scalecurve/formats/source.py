"""One foreign file: its bytes are read at most once, bounded, and never executed, unpickled or unpacked blindly."""

from __future__ import annotations

import json
import sys
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, FormatError

HEAD_BYTES = 1024 * 1024
MAX_BYTES = 256 * 1024 * 1024
# Python needs up to 24 bytes in memory for each byte of JSON, so that this keeps a small archive below a gigabyte.
MAX_UNPACKED = 40 * 1024 * 1024
GZIP = b"\x1f\x8b"

_REFUSED = (
    (b"\x80\x02", "a Python pickle", "loading one can run any code; export CSV or JSON from the tool that wrote it"),
    (b"\x80\x03", "a Python pickle", "loading one can run any code; export CSV or JSON from the tool that wrote it"),
    (b"\x80\x04", "a Python pickle", "loading one can run any code; export CSV or JSON from the tool that wrote it"),
    (b"\x80\x05", "a Python pickle", "loading one can run any code; export CSV or JSON from the tool that wrote it"),
    (b"\x89HDF", "an HDF5 file", "export a CSV from it"),
    (b"PAR1", "a Parquet file", "export a CSV from it"),
    (b"SQLite format 3", "an SQLite database", "export a CSV from it"),
    (b"BZh", "an archive (bzip2)", "unpack it and give the files"),
    (b"\xfd7zXZ", "an archive (xz)", "unpack it and give the files"),
    (b"\x28\xb5\x2f\xfd", "an archive (zstd)", "unpack it and give the files"),
    (b"7z\xbc\xaf", "an archive (7z)", "unpack it and give the files"),
    (b"%PDF", "a PDF", "type its table into a CSV"),
    (b"\x7fELF", "a program", "give the file it writes"),
)


@dataclass(frozen=True)
class Source:
    """`name` is what messages show and what --k-from is matched against (the path below the folder that was given)."""

    name: str
    path: Path | None = None
    raw: bytes | None = None

    @cached_property
    def head(self) -> bytes:
        """The first megabyte, unpacked where the file is gzipped."""
        first = self.raw[:HEAD_BYTES] if self.raw is not None else self._read(HEAD_BYTES)
        return self.content[:HEAD_BYTES] if first.startswith(GZIP) else first

    @cached_property
    def head_text(self) -> str:
        return self.head.decode("utf-8-sig", errors="replace")

    @cached_property
    def content(self) -> bytes:
        raw = self.raw if self.raw is not None else self._read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise FormatError(
                Fault("the file is too large", remedy=f"the limit is {MAX_BYTES} bytes"), subject=self.name
            )
        return _unzipped(raw, self.name) if raw.startswith(GZIP) else raw

    @cached_property
    def text(self) -> str:
        return self.content.decode("utf-8-sig", errors="replace")

    @cached_property
    def json(self) -> Any:
        """The whole file as JSON, with NaN and Infinity as None; None where it is no JSON."""
        if self.head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] not in (b"{", b"["):
            return None
        try:
            return json.loads(self.text, parse_constant=lambda _: None)
        except (ValueError, RecursionError):
            return None

    @cached_property
    def json_lines(self) -> list[dict[str, Any]] | None:
        """One object per line; None where the first lines are not."""
        if self.head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] != b"{":
            return None
        return _json_lines(self.text)

    @property
    def keys(self) -> frozenset[str]:
        """The names at the top of a JSON object."""
        return frozenset(self.json) if isinstance(self.json, dict) else frozenset()

    def _read(self, most: int) -> bytes:
        if self.path is None:
            raise FormatError("there is nothing to read", subject=self.name)
        try:
            with self.path.open("rb") as file:
                return file.read(most)
        except OSError as problem:
            raise FormatError(f"cannot be read: {problem.strerror}", subject=self.name) from None


def _json_lines(text: str) -> list[dict[str, Any]] | None:
    lines = [line for line in text.splitlines() if line.strip()]
    try:  # all at once is several times faster than line by line
        rows = json.loads(f"[{','.join(lines)}]", parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None
    return rows if all(isinstance(row, dict) for row in rows) else None


def _unzipped(raw: bytes, name: str) -> bytes:
    """A gzipped file, up to a limit: a few kilobytes can unpack to gigabytes."""
    packed = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        content = packed.decompress(raw, MAX_UNPACKED + 1)
    except zlib.error as problem:
        raise FormatError(f"the gzip file is damaged: {problem}", subject=name) from None
    if len(content) > MAX_UNPACKED:
        hint = f"the limit is {MAX_UNPACKED} bytes; gunzip it and give the file itself"
        raise FormatError(Fault("the gzip file unpacks to too much", remedy=hint), subject=name)
    return content


def refuse_unreadable(source: Source) -> None:
    """Files that cannot be read without running or unpacking them are named and refused."""
    for magic, what, remedy in _REFUSED:
        if source.head.startswith(magic):
            raise FormatError(Fault(f"this is {what}, which is never opened", remedy=remedy), subject=source.name)
    if source.head[257:262] == b"ustar":
        raise FormatError(
            Fault("this is a tar archive, which is never opened", remedy="unpack it and give the files"),
            subject=source.name,
        )


def standard_input() -> Source:
    """Standard input, bounded."""
    return Source("standard input", raw=sys.stdin.buffer.read(MAX_BYTES + 1))
