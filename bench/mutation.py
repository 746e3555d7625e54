"""Damaged files: what a reader meets when a disk fills up, a log is cut, or somebody means harm."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 10**400, -(10**18), 1e308, 1e-320, 0.5, "", "x", "1e999", "nan", "\x00", "9" * 5000,
    "1_000", "١٢", [], {}, [[]], {"k": {}}, [None] * 50, "a" * 3000, "K", "../../etc/passwd", "%s%n", 2**63,
)  # fmt: skip
ODD_BYTES = (
    b"",
    b"\x00",
    b"\xff\xfe",
    b"nan",
    b"inf",
    b"-1",
    b"1e999",
    b"9" * 400,
    b"{",
    b"]",
    b",,,,",
    b"\r",
    b"\xef\xbb\xbf",
)


def mutated(content: bytes, chance: random.Random) -> bytes:
    """One damaged copy; JSON is half of the time damaged in its structure and stays JSON."""
    if content[:1] in (b"{", b"[") and chance.random() < 0.6:
        changed = _structure(content, chance)
        if changed is not None:
            return changed
    if chance.random() < 0.4:  # numbers that are still numbers, so that what follows loading is met as well
        for _ in range(chance.choice((1, 1, 2, 5))):
            content = _numeral(content, chance)
        return content
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        content = chance.choice(_DAMAGE)(content, chance)
    return content


def _structure(content: bytes, chance: random.Random) -> bytes | None:
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return None
    for _ in range(chance.choice((1, 1, 2, 4))):
        data = _changed(data, chance, chance.randint(0, 6))
    return json.dumps(data).encode()


def _changed(node: Any, chance: random.Random, depth: int) -> Any:
    """The tree with one node replaced, removed, doubled or renamed, some way down."""
    if depth <= 0 or not isinstance(node, dict | list) or not node:
        return chance.choice(ODD_VALUES)
    if isinstance(node, list):
        place = chance.randrange(len(node))
        if chance.random() < 0.1:
            return node[:place] + node[place + 1 :]
        return [*node[:place], _changed(node[place], chance, depth - 1), *node[place + 1 :]]
    key = chance.choice(list(node))
    if chance.random() < 0.1:
        return {name: value for name, value in node.items() if name != key}
    return {**node, key: _changed(node[key], chance, depth - 1)}


def _flip(content: bytes, chance: random.Random) -> bytes:
    if not content:
        return b"?"
    place = chance.randrange(len(content))
    return content[:place] + bytes([chance.randrange(256)]) + content[place + 1 :]


def _numeral(content: bytes, chance: random.Random) -> bytes:
    places = list(re.finditer(rb"\d+(?:\.\d+)?", content[:200_000]))
    if not places:
        return content
    match = chance.choice(places)
    other = chance.choice(
        (b"0", b"1", b"2", b"7", b"1e-9", b"1e9", b"1e300", b"1e-300", b"0.5", b"-3", b"1000000", b"64")
    )
    return content[: match.start()] + other + content[match.end() :]


def _cut(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randrange(len(content) + 1)]


def _remove(content: bytes, chance: random.Random) -> bytes:
    begin = chance.randrange(len(content) + 1)
    return content[:begin] + content[begin + chance.randrange(60) :]


def _insert(content: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(content) + 1)
    return content[:place] + chance.choice(ODD_BYTES) + content[place:]


def _double(content: bytes, chance: random.Random) -> bytes:
    begin = chance.randrange(len(content) + 1)
    end = begin + chance.randrange(400)
    return content[:end] + content[begin:end] * chance.choice((1, 2, 20)) + content[end:]


def _shuffle_lines(content: bytes, chance: random.Random) -> bytes:
    lines = content.split(b"\n")
    chance.shuffle(lines)
    return b"\n".join(lines)


def _swap_word(content: bytes, chance: random.Random) -> bytes:
    words = content.split(b" ")
    place = chance.randrange(len(words))
    words[place] = chance.choice(ODD_BYTES)
    return b" ".join(words)


_DAMAGE: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _flip, _flip, _cut, _remove, _insert, _double, _shuffle_lines, _swap_word,
)  # fmt: skip
