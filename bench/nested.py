"""The honest figure: choose the structure of the panel on half the studies, score it on the other half."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from scalecurve.forecasting.curves import Array
from tools.crossvalidation import Judged
from tools.scores import curve_errors

SPLITS = 40


def structures(judged: Judged) -> Iterator[tuple[str, Array]]:
    """Ways to combine that were considered: which families, mean or median, how noise and laws count."""
    count = judged.families.shape[1]
    sets = [tuple(range(count))] + [own for size in (count - 1, count - 2) for own in combinations(range(count), size)]
    for own in sets:
        for how, middle in _middles(judged.families[:, own]):
            for noise in (0.2, 0.4, 0.8, np.inf):
                for laws in (True, False):
                    name = f"families {own} {how} noise {noise:g} laws {laws}"
                    yield name, _combine(judged, middle, noise, laws)


def _middles(families: Array) -> Iterator[tuple[str, Array]]:
    yield "median", np.median(families, axis=1)
    ordered = np.sort(families, axis=1)
    yield "trimmed", ordered[:, 1:-1].mean(axis=1)


def _combine(judged: Judged, middle: Array, noise: float, laws: bool) -> Array:
    settled = judged.last + judged.believed * (middle - judged.last) / (1 + (judged.rough / noise) ** 2)
    return np.asarray(settled + judged.trust * (judged.law - settled) if laws else settled)


def nested(judged: Judged, seed: int = 3) -> dict[str, float]:
    """Means over random halves (by application): the chosen structure and the shipped one, on the half not seen."""
    rng = np.random.default_rng(seed)
    errors = np.stack([curve_errors(judged, ahead) for _, ahead in structures(judged)])
    shipped = curve_errors(judged)
    application = np.array([curve.facts["application"] for curve in judged.curves])
    names = np.unique(application)
    chosen_scores, shipped_scores = [], []
    for _ in range(SPLITS):
        half = np.isin(application, rng.permutation(names)[: len(names) // 2])
        for fitted in (half, ~half):
            best = int(np.argmin(_score(errors[:, fitted])))
            chosen_scores.append(_figures(errors[best, ~fitted]))
            shipped_scores.append(_figures(shipped[~fitted]))
    chosen, fixed = np.mean(chosen_scores, axis=0), np.mean(shipped_scores, axis=0)
    keys = ("median", "p90")
    return {f"chosen {k}": float(v) for k, v in zip(keys, chosen, strict=True)} | {
        f"shipped {k}": float(v) for k, v in zip(keys, fixed, strict=True)
    }


def _score(errors: Array) -> Array:
    return np.asarray(np.median(errors, axis=1) + np.percentile(errors, 90, axis=1) / 4)


def _figures(errors: Array) -> tuple[float, float]:
    return float(np.median(errors)), float(np.percentile(errors, 90))
