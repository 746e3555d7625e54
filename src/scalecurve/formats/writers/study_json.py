"""The study file itself, in one piece."""

from __future__ import annotations

from scalecurve.study import Study
from scalecurve.study.file import json_bytes, study_to_dict


def to_json(study: Study) -> bytes:
    """All raw observations inline: what goes to standard output can have no sidecar beside it."""
    return json_bytes(study_to_dict(study))
