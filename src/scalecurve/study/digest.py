"""A name for exactly this study: the SHA-256 of everything in it."""

from __future__ import annotations

import hashlib
import json

from scalecurve.study.study import Study


def study_digest(study: Study) -> str:
    """The same for the same observations and facts, whatever file they lie in; findings are derived and not part."""
    data = {name: value for name, value in study.to_dict().items() if name != "findings"}
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
