"""Secrets in commands, environments and texts are masked before anything is recorded: one rule for all three.

A value is secret when its name says so (`--token x`, `DB_PASSWORD=x`, `api-key: x`), when it has the shape of a known
kind of key, or when it is the password of an address (`https://user:x@host`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

MASK = "***"
LEAST_SCRUBBED = 4
"""A secret shorter than this is not looked for in other texts: it would be found everywhere."""
_WORDS = {
    "token", "secret", "secrets", "password", "passwd", "passphrase", "passcode", "apikey", "credential", "credentials",
    "bearer", "auth", "authorization", "cookie",
}  # fmt: skip
_KEYS = {"api", "access", "private", "secret", "signing", "encryption", "account", "ssh", "license", "auth", "client"}
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_PAIR = re.compile(
    r"(?P<name>[A-Za-z_][\w.-]*)(?P<between>['\"]?\s*[=:]\s*['\"]?(?:(?:Bearer|Basic|Token)\s+)?)(?P<value>[^\s\"'&;]+)"
)
_OPTION = re.compile(r"(?P<name>--?[A-Za-z][\w-]*)(?P<between>\s+)(?P<value>[^\s-][^\s]*)")
_SHAPE = re.compile(
    r"\b(?:gh[opsu]_\w{16,}|github_pat_\w{20,}|glpat-[\w-]{16,}|hf_\w{20,}|sk-[\w-]{16,}|xox[abprs]-[\w-]{10,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|AIza[\w-]{30,})"
)
_ADDRESS = re.compile(r"(?P<start>[A-Za-z][\w+.-]*://[^/\s:@]*:)(?P<value>[^/\s@]+)(?=@)")


def is_secret_name(name: str) -> bool:
    """Whether a variable or an option of that name holds a secret; `--max-tokens` and `tokenizer` do not."""
    parts = [part.lower() for part in _PARTS.findall(name)]
    keys = any(first in _KEYS and second in ("key", "keys") for first, second in pairwise(parts))
    return keys or any(part in _WORDS for part in parts)


def masked_text(text: str) -> str:
    """A text with the values of secrets replaced."""

    def by_name(match: re.Match[str]) -> str:
        return match["name"] + match["between"] + MASK if is_secret_name(match["name"]) else match[0]

    text = _ADDRESS.sub(lambda match: match["start"] + MASK, text)
    return _SHAPE.sub(MASK, _OPTION.sub(by_name, _PAIR.sub(by_name, text)))


def masked_words(words: Sequence[str]) -> tuple[str, ...]:
    """An argument list with the values of secrets replaced, also where the value is the word after its option."""
    masked = []
    for before, word in zip(("", *words), words, strict=False):
        hidden = before.startswith("-") and "=" not in before and is_secret_name(before) and not word.startswith("-")
        masked.append(MASK if hidden else masked_text(word))
    return tuple(masked)


def masked(data: Any, name: str = "") -> Any:
    """Plain data with the values of secrets replaced, by the names of its keys and by the rule of texts."""
    if isinstance(data, dict):
        return {key: masked(value, str(key)) for key, value in data.items()}
    if isinstance(data, list | tuple):
        words = [part for part in data if isinstance(part, str)]
        return list(masked_words(words)) if len(words) == len(data) else [masked(part) for part in data]
    if not isinstance(data, str):
        return data
    return MASK if data and is_secret_name(name) else masked_text(data)


def secrets_in(data: Any, clean: Any) -> Iterator[str]:
    """The values that masking removed: what `data` holds where `clean`, the masked data, differs."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from secrets_in(value, clean[key])
    elif isinstance(data, list | tuple):
        for value, other in zip(data, clean, strict=True):
            yield from secrets_in(value, other)
    elif isinstance(data, str) and data != clean:
        start, _, end = str(clean).partition(MASK)
        if MASK not in end and len(data) >= len(start) + len(end):
            yield data[len(start) : len(data) - len(end)]


def scrubbed(text: str, secrets: Sequence[str]) -> str:
    """A text that a job wrote, without the secrets that it was told and by the rule of texts."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= LEAST_SCRUBBED:
            text = text.replace(secret, MASK)
    return masked_text(text)
