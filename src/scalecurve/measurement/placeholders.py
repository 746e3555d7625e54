"""`{workers}`, `{total}` and `{per_worker}` in a command: the only things that may differ between points.

`{python}` is the Python that runs the tool, so that a study file needs no path of one machine.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping

from scalecurve.errors import Fault
from scalecurve.study import Regime

KNOWN = ("workers", "total", "per_worker", "rank", "host", "python")
_MARK = re.compile(r"\{\{([a-z_]+)\}\}|\{([a-z_]+)\}")


def fill(text: str, values: Mapping[str, object]) -> str:
    """Placeholders replaced; `{{word}}` stands for a literal `{word}`, unknown ones are left for `faults_in`."""

    def replaced(match: re.Match[str]) -> str:
        if match[1]:
            return "{" + match[1] + "}"
        return str(values[match[2]]) if match[2] in values else match[0]

    return _MARK.sub(replaced, text)


def used_in(texts: Iterable[str]) -> set[str]:
    return {match[2] for text in texts for match in _MARK.finditer(text) if match[2]}


def faults_in(texts: Iterable[str], where: str) -> list[Fault]:
    """Misspelt placeholders: silently leaving one would measure another job."""
    hint = f"known: {', '.join('{' + name + '}' for name in KNOWN)}; write {{{{word}}}} for literal braces"
    unknown = sorted(used_in(texts) - set(KNOWN))
    return [Fault("unknown placeholder", where=where, seen="{" + name + "}", remedy=hint) for name in unknown]


def values_at(k: int, regime: Regime, total: float | None, per_worker: float | None) -> dict[str, object]:
    """Strong: the total is held and shared out.  Weak: the part of a worker is held and the total grows with K."""
    values: dict[str, object] = {"workers": k, "python": sys.executable}
    if regime is Regime.STRONG and total is not None:
        values |= {"total": plain(total), "per_worker": plain(total / k)}
    if regime is Regime.WEAK and per_worker is not None:
        values |= {"per_worker": plain(per_worker), "total": plain(per_worker * k)}
    return values


def plain(number: float) -> str:
    """A whole number without a point, so that `--cells {total}` reads `4096`."""
    return str(int(number)) if float(number).is_integer() else repr(float(number))
