"""The reference study: a fixed machine whose table must come out to the digit."""

from __future__ import annotations

import numpy as np

from scalecurve.study import Study

WORKERS = (1, 2, 4, 8, 16, 32, 64)


def strong_samples() -> dict[int, list[float]]:
    rng = np.random.default_rng(7)
    return {k: (_strong(k) * (1 + 0.02 * rng.standard_normal(5))).tolist() for k in WORKERS}


def _strong(k: int) -> float:
    return float(0.04 + 0.96 / k + 0.010 * np.log2(k + 1))


def strong_study(**more: object) -> Study:
    return Study.from_samples(strong_samples(), regime="strong", k_unit="gpus", name="reference", **more)


def weak_study() -> Study:
    return Study.from_samples({k: [1 + 0.01 * float(np.log2(k + 1))] for k in WORKERS}, regime="weak", k_unit="gpus")
