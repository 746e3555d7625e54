"""Extra-P text and JSON Lines; a comment (or a further field) of ours brings a study back as it was."""

from __future__ import annotations

import json
from typing import Any

from scalecurve.formats.writers.observations import metric_of
from scalecurve.study import Study


def to_extrap_text(study: Study) -> str:
    """One DATA line for every K, the repeats on it; `extrap --text FILE` reads it."""
    by_k = study.samples.by_k()
    lines = [
        f"# scalecurve {json.dumps(_facts(study))}",
        f"PARAMETER {_word(study.k_unit)}",
        "POINTS " + " ".join(f"({k})" for k in by_k),
        f"REGION {' '.join(study.name.split()) or 'study'}",
        f"METRIC {metric_of(study)}",
        *("DATA " + " ".join(repr(value) for value in values.tolist()) for values in by_k.values()),
    ]
    return "\n".join(lines) + "\n"


def to_extrap_lines(study: Study) -> str:
    """One line for every K; `extrap --json FILE` reads it."""
    lines: list[dict[str, Any]] = [
        {
            "params": {_word(study.k_unit): k},
            "callpath": study.name,
            "metric": metric_of(study),
            "value": values.tolist(),
        }
        for k, values in study.samples.by_k().items()
    ]
    if lines:
        lines[0]["scalecurve"] = _facts(study)
    return "".join(json.dumps(line) + "\n" for line in lines)


def _facts(study: Study) -> dict[str, Any]:
    return {
        "regime": str(study.regime),
        "quantity": str(study.quantity),
        "unit": study.unit,
        "k_unit": study.k_unit,
        "name": study.name,
        "warmup": str(study.warmup),
        "setup": str(study.setup),
    }


def _word(text: str) -> str:
    """A parameter's name is one word to Extra-P."""
    return "_".join(text.split()) or "K"
