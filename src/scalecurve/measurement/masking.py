"""Secrets in commands, environments and texts, which are masked before anything is recorded.

A value is secret when its name says so (`--token x`, `DB_PASSWORD=x`, `api-key: x`), when the program before it takes a
password by that letter (`sshpass -p x`, `curl -u name:x`), when it has the shape of a known kind of key, or when it is
the password of an address (`https://user:x@host`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.resources import files
from itertools import pairwise
from typing import Any

MASK = "***"
LEAST_SCRUBBED = 4
"""A secret shorter than this is not looked for in other texts: it would be found everywhere."""
_SECRETS = tomllib.loads(files("scalecurve.measurement").joinpath("secrets.toml").read_text(encoding="utf-8"))
_WORDS, _KEYS, ATTACHED = (frozenset(_SECRETS[name].split()) for name in ("words", "keys", "attached"))
_ENDINGS = ("password", "passwd", "passphrase")  # PGPASSWORD
_OPTIONS: dict[str, list[tuple[str, bool]]] = {name: [] for name in _SECRETS["ports"].split()}
"""By program, the options whose value is a secret, and whether all of it is; an account is a name and a secret."""
for _whole, _table in ((True, _SECRETS["whole"]), (False, _SECRETS["account"])):
    for _option, _programs in _table.items():
        for _program in _programs.split():
            _OPTIONS.setdefault(_program, []).append((_option, _whole))
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SHELL_WORD = re.compile(r"(?:\"[^\"]*\"|'[^']*'|[^\s\"'])+")
_PROGRAM = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, sorted(_OPTIONS, reverse=True)))})(?![\w.-])")
_ACCOUNT = re.compile(r"(?P<name>['\"]?[^:%,]*[:%,])(?P<value>.+)", re.DOTALL)
_HEADER = re.compile(
    r"(?P<name>(?:proxy-)?authorization|(?:set-)?cookie)(?P<between>\s*:\s*)(?P<value>[^\"'\n]+)", re.IGNORECASE
)
_PAIR = re.compile(
    r"(?P<name>[A-Za-z_][\w.-]*)(?P<between>['\"]?\s*[=:]\s*(?P<quote>['\"])?(?:(?:Bearer|Basic|Token)\s+)?)"
    r"(?P<value>(?(quote)[^'\"]+|[^\s\"'&;]+))"
)
_OPTION = re.compile(r"(?P<name>--?[A-Za-z][\w-]*)(?P<between>\s+)(?P<value>\"[^\"]*\"|'[^']*'|[^\s-][^\s]*)")
_SHAPE = re.compile(
    r"\b(?:gh[opsu]_\w{16,}|github_pat_\w{20,}|glpat-[\w-]{16,}|hf_\w{20,}|sk-[\w-]{16,}|xox[abprs]-[\w-]{10,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|AIza[\w-]{30,})"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
_QUERY = re.compile(r"(?P<name>[?&][\w.-]+)(?P<between>=)(?P<value>[^\s\"'&;#]+)")
_ADDRESS = re.compile(r"(?P<start>https?://(?:[^/\s:@]*:)?|[A-Za-z][\w+.-]*://[^/\s:@]*:)(?P<value>[^/\s@]+)(?=@)")


def is_secret_name(name: str) -> bool:
    """Whether a variable or an option of that name holds a secret; `--max-tokens`, PWD and `pass` in a log do not."""
    parts = [part.lower() for part in _PARTS.findall(name)]
    keys = any(first in _KEYS and second in ("key", "keys") for first, second in pairwise(parts))
    short = parts[-1:] == ["pwd"] and (len(parts) > 1 or name.startswith("-"))
    short = short or (parts[-1:] == ["pass"] and (name.startswith("-") or name.isupper()))
    return keys or short or any(part in _WORDS or part.endswith(_ENDINGS) for part in parts)


def masked_text(text: str) -> str:
    """A text with the values of secrets replaced."""

    def by_name(match: re.Match[str]) -> str:
        name, value = match["name"], match["value"]
        secret = is_secret_name(name) or name in ("?sig", "&sig")  # of a signed address
        return match[0] if not secret or _is_a_pass(name, value) else name + match["between"] + MASK

    text = _ADDRESS.sub(lambda match: match["start"] + MASK, text)
    for place in (_HEADER, _QUERY, _PAIR, _OPTION):
        text = place.sub(by_name, text)
    if _PROGRAM.search(text):
        words = _SHELL_WORD.findall(text)
        clean = iter(_masked_by_program(words))
        text = _SHELL_WORD.sub(lambda _: next(clean), text)
    return _SHAPE.sub(MASK, text)


def _is_a_pass(name: str, value: str) -> bool:
    """Whether the value is the number of a pass (`-pass 2`), not a password."""
    return bool(re.search(r"(?<![a-z])pass$", name, re.IGNORECASE)) and len(value) < 3 and value.isdigit()


def _masked_by_program(words: Sequence[str]) -> Iterator[str]:
    """The words of a command, with the secrets that its programs take by a letter replaced."""
    program, before = "", ""
    for word in words:
        plain = word.strip("'\"();|&`").rpartition("/")[2]
        if plain in _OPTIONS:
            program = plain
        yield _by_letter(program, before, word)
        before = word


def _by_letter(program: str, before: str, word: str) -> str:
    """The word, masked where it is or holds the value of an option of that program."""
    for option, whole in _OPTIONS.get(program, ()):
        is_letter = len(option) == 2
        name = rf"-[A-Za-z]*{option[1]}" if is_letter else re.escape(option)
        start = option if is_letter else f"{option}="
        if program not in ATTACHED and re.fullmatch(name, before):
            start = ""
        elif not word.startswith(start) or len(word) == len(start):
            continue
        return start + (MASK if whole else _ACCOUNT.sub(rf"\g<name>{MASK}", word[len(start) :]))
    return word


def masked_words(words: Sequence[str]) -> tuple[str, ...]:
    """An argument list with the values of secrets replaced, also where the value is the word after its option."""
    return tuple(masked(list(words)))


def masked(data: Any) -> Any:
    """Plain data with the values of secrets replaced, wherever in it they stand again."""
    clean = _masked(data)
    secrets = tuple(secrets_in(data, clean))
    return _with_texts(clean, lambda text: _hidden(text, secrets))


def _masked(data: Any, name: str = "") -> Any:
    """Secrets replaced by the names of keys, by the option before a word, by the program and by the rule of texts."""
    if isinstance(data, dict):
        return {key: _masked(value, str(key)) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return _masked_list(data)
    if isinstance(data, str):
        return MASK if data and is_secret_name(name) else masked_text(data)
    return data


def _masked_list(data: Sequence[Any]) -> list[Any]:
    words = _masked_by_program(data) if all(isinstance(part, str) for part in data) else data
    pairs = zip(("", *data), words, strict=False)
    return [MASK if _tells_secret(before, part) else _masked(part) for before, part in pairs]


def _tells_secret(before: Any, word: Any) -> bool:
    """Whether the word is the value of the option before it, and that is a secret."""
    if not (isinstance(before, str) and isinstance(word, str)):
        return False
    option = before.startswith("-") and "=" not in before
    return option and is_secret_name(before) and not word.startswith("-") and not _is_a_pass(before, word)


def _with_texts(data: Any, change: Callable[[str], str]) -> Any:
    """Plain data with every text changed."""
    if isinstance(data, dict):
        return {key: _with_texts(value, change) for key, value in data.items()}
    if isinstance(data, list):
        return [_with_texts(value, change) for value in data]
    return change(data) if isinstance(data, str) else data


def _hidden(text: str, secrets: Iterable[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= LEAST_SCRUBBED:
            text = text.replace(secret, MASK)
    return text


def secrets_in(data: Any, clean: Any) -> Iterator[str]:
    """The values that masking removed: what `data` holds where `clean`, the masked data, differs."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from secrets_in(value, clean[key])
    elif isinstance(data, list | tuple):
        for value, other in zip(data, clean, strict=True):
            yield from secrets_in(value, other)
    elif isinstance(data, str) and data != clean:
        start, *between, end = str(clean).split(MASK)
        place = len(start)
        for text in between:
            begins = data.find(text, place) if text else len(data)
            yield data[place:begins].strip("'\"")
            place = begins + len(text)
        yield data[place : len(data) - len(end)].strip("'\"")


def scrubbed(text: str, secrets: Sequence[str]) -> str:
    """A text that a job wrote, without the secrets that it was told and by the rule of texts."""
    return masked_text(_hidden(text, secrets))
