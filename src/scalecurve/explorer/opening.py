"""What the page opens with: nothing, or a study given on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, InputError
from scalecurve.explorer.guard import MOST_BODY


def opening(study: Path | None, regime: str | None) -> dict[str, Any]:
    """The text of a study that can be read, or the faults it has."""
    if study is None:
        return {}
    from scalecurve import api

    loaded = api.load(study, regime=regime)
    raw = study.read_bytes()
    if len(raw) > MOST_BODY // 2:
        hint = "the page takes up to 2 MB; use the command line for larger studies"
        raise InputError(Fault("the study is too large for the page", seen=f"{len(raw)} bytes", remedy=hint))
    return {"data": {"name": study.name, "text": raw.decode("utf-8-sig"), "regime": str(loaded.regime)}}
