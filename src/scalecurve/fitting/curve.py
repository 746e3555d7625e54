"""A fitted law as a curve to draw over the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scalecurve.fitting.fits import Fit
from scalecurve.fitting.models import models_for
from scalecurve.study import Regime, Study


def fitted_curve(study: Study, fit: Fit, workers: Sequence[float]) -> list[dict[str, Any]]:
    """S and E of a fitted law relative to its own value at the study's baseline, as the table's are to T(K0).

    strong: E(K) = K0 t(K0) / (K t(K))     weak: E(K) = t(K0) / t(K)     S = K E
    """
    model = models_for(study.regime, (fit.name,))[0]
    weights = np.array([1.0, *(fit.parameters[name].value for name in model.parameters)])
    k = np.asarray(workers, dtype=np.float64)
    times = model.design(k) @ weights
    base = np.array([float(study.baseline_k)])
    at_base = float((model.design(base) @ weights)[0])
    efficiency = at_base / times * (base[0] / k if study.regime is Regime.STRONG else 1.0)
    return [
        {"k": float(each), "speedup": float(each * share), "efficiency": float(share)}
        for each, share in zip(k, efficiency, strict=True)
    ]
