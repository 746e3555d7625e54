"""Which code a harness of bench/ tried, as a digest, so that a page can say that a run is stale."""

from __future__ import annotations

import hashlib
from pathlib import Path

MEASURED = {
    "command lines": ("cli",),
    "explorer": ("explorer",),
    "files": ("formats", "study"),
    "kills": ("measurement", "probe.py"),
}
"""The code under src/scalecurve that each harness tries; kills of one launcher count as kills."""


CODE = (".py", ".toml")  # readers are rows of a table too


def code_of(harness: str) -> str:
    """A digest of the code that a harness tries."""
    source, digest = Path(__file__).parents[1] / "src" / "scalecurve", hashlib.sha256()
    for part in MEASURED.get(harness.partition(",")[0], ()):
        place = source / part
        for path in sorted(p for p in place.rglob("*") if p.suffix in CODE) if place.is_dir() else [place]:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
