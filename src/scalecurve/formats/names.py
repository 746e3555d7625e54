"""Parameters written into a benchmark's name: `sha256 threads=2`, `BM_X/threads:2`."""

from __future__ import annotations

import re

_PAIR = re.compile(r"[\s,/_-]?\b([A-Za-z][A-Za-z_]{0,30})[=:](\d{1,12})\b")
MOST_NAME = 500


def split_name(name: str) -> tuple[str, dict[str, str]]:
    """The name without its parameters, and the parameters."""
    name = name[:MOST_NAME]
    fields = {match[1]: match[2] for match in _PAIR.finditer(name)}
    return _PAIR.sub("", name).strip(" ,[]") or name, fields
