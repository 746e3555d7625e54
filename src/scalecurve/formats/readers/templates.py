"""Which commands are one command with other parameters: hyperfine writes only the commands it ran."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MOST_COMPARISONS = 5_000
MOST_OCCURRENCES = 50


@dataclass
class Templates:
    """The first command seen of each template, with its parameters."""

    known: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    left: int = MOST_COMPARISONS

    def series_of(self, command: str, parameters: Mapping[str, Any]) -> str:
        """The first command that this one could be, with this one's parameters put in the place of the other's."""
        given = {name: str(value) for name, value in parameters.items()}
        for first, before in self.known[: self.left]:
            self.left -= 1
            if before.keys() == given.keys() and _could_be(first, before, command, given):
                return first
        self.known.append((command, given))
        return command


def _could_be(first: str, before: dict[str, str], command: str, given: dict[str, str]) -> bool:
    """Whether every place where the commands differ is a parameter of the first replaced by that of the other."""
    values = sorted({value: name for name, value in before.items() if value}.items(), key=lambda pair: -len(pair[0]))
    if not values:
        return first == command
    parts = re.split("(" + "|".join(re.escape(value) for value, _ in values) + ")", first, maxsplit=MOST_OCCURRENCES)
    named = dict(values)
    choices = [
        re.escape(part) if i % 2 == 0 else f"(?:{re.escape(part)}|{re.escape(given[named[part]])})"
        for i, part in enumerate(parts)
    ]
    return re.fullmatch("".join(choices), command) is not None
