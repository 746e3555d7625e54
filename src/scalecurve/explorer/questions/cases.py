"""Worked cases to open in the My data view, made from the formulas they illustrate."""

from __future__ import annotations

from typing import Any

import numpy as np

from scalecurve.explorer.questions.question import Nothing

WORKERS = (1, 2, 4, 8, 16, 32, 64)
REPEATS = 5
NOISE = 0.02
SEED = 7


def answer(_: Nothing) -> dict[str, Any]:
    rng = np.random.default_rng(SEED)
    fixed = {k: 0.04 + 0.96 / k + 0.010 * float(np.log2(k + 1)) for k in WORKERS}
    grown = {k: 1.0 + 0.010 * float(np.log2(k + 1)) for k in WORKERS}
    return {
        "cases": [
            _case("A fixed step on 1 to 64 GPUs: bends at 8", "fixed-step.csv", "strong", fixed, rng),
            _case("The same system with the batch grown with K", "grown-step.csv", "weak", grown, rng),
        ]
    }


def _case(label: str, name: str, regime: str, means: dict[int, float], rng: np.random.Generator) -> dict[str, Any]:
    rows = [
        f"{k},{mean * (1.0 + NOISE * noise):.6f}" for k, mean in means.items() for noise in rng.standard_normal(REPEATS)
    ]
    return {"label": label, "name": name, "regime": regime, "text": "\n".join(["gpus,seconds", *rows]) + "\n"}
