"""How the server and its workers talk: four bytes of length, a head line, the body.  JSON inside, never pickle."""

from __future__ import annotations

import struct
from typing import BinaryIO

MOST_BYTES = 64 * 1024 * 1024


def frame(head: str, body: bytes) -> bytes:
    payload = head.encode() + b"\n" + body
    return struct.pack(">I", len(payload)) + payload


def split(payload: bytes) -> tuple[str, bytes]:
    head, _, body = payload.partition(b"\n")
    return head.decode(), body


def length(prefix: bytes) -> int:
    size: int = struct.unpack(">I", prefix)[0]
    return size


def read(stream: BinaryIO) -> tuple[str, bytes] | None:
    """The next frame of a blocking stream; None at its end."""
    prefix = stream.read(4)
    if len(prefix) < 4:
        return None
    payload = stream.read(length(prefix))
    return split(payload)
