"""The panel's verdict: the median over families, drawn towards the last value by noise and towards a law by fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from scalecurve.forecasting.curves import Array, Curves
from scalecurve.forecasting.experts import Family
from scalecurve.forecasting.lawful import lawful, repeat_error
from scalecurve.forecasting.slopes import roughness

NOISE_SCALE = 0.8  # roughness at which half of the predicted change is believed


@dataclass(frozen=True)
class Verdict:
    """Log performance at the K asked for (N x Q), and what the interval's width depends on.

    `families` is F x N x Q in the order of the panel; `spread` is their disagreement, less where a law is trusted.
    """

    ahead: Array
    families: Array
    spread: Array
    noise: Array
    trust: Array


def consult(curves: Curves, at: Array, panel: Mapping[str, Family], *, laws: bool = True) -> Verdict:
    """Ask every family and combine."""
    families = np.stack([family(curves, at) for family in panel.values()])
    families = np.clip(families, curves.last - 60.0, curves.last + 60.0)
    rough = roughness(curves)
    middle = np.median(families, axis=0)
    spread, noise = families.std(axis=0), np.hypot(rough, repeat_error(curves))
    if not laws:
        return Verdict(middle, families, spread, noise, np.zeros(len(curves)))
    settled = curves.last + (middle - curves.last) * (curves.believed / (1.0 + (rough / NOISE_SCALE) ** 2))[:, None]
    law = lawful(curves, at)
    share = np.where(curves.believed == 1, law.trust, 0.0)[:, None]
    return Verdict(
        settled + share * (law.ahead - settled),
        families,
        (1 - share) * spread + share * law.spread,
        np.hypot(noise, np.minimum(law.misfit, 1.0)),
        share[:, 0],
    )
