"""How far off a forecast may be: a scale from what can be seen, times a quantile measured on published curves.

    ln sigma = b . (1, ln(t + 0.1), ln(D + 0.02), ln(s + 0.01), e(1 - e))

t = doublings beyond the largest measured K, D = disagreement of the families, s = noise of the curve, e = slope at the
end cut to 0..1: a curve halfway between scaling and saturation is the hardest to forecast.  The coefficients minimise
the Laplace likelihood of cross-validated residuals; the quantiles are conformal, cross-validated by source.
"""

from __future__ import annotations

import numpy as np

from scalecurve.forecasting.calibration import Width
from scalecurve.forecasting.curves import Array, Curves
from scalecurve.forecasting.panel import Verdict
from scalecurve.forecasting.slopes import last_slope

FEATURES = 5


def features(curves: Curves, at: Array, verdict: Verdict) -> Array:
    """N x Q x FEATURES."""
    t = np.maximum(curves.doublings(at), 0.0)
    slope = np.clip(last_slope(curves), 0.0, 1.0)
    noise = np.broadcast_to(verdict.noise[:, None], t.shape)
    halfway = np.broadcast_to((slope * (1 - slope))[:, None], t.shape)
    parts = (np.ones_like(t), np.log(t + 0.1), np.log(verdict.spread + 0.02), np.log(noise + 0.01), halfway)
    return np.stack(parts, axis=-1)


def scale(curves: Curves, at: Array, verdict: Verdict, width: Width) -> Array:
    """The typical size of the error of log performance, N x Q; beyond calibration for two points, so wider there."""
    few = np.where(curves.count < 3, 1.5, 1.0)[:, None]
    return np.asarray(few * np.exp(features(curves, at, verdict) @ width.coefficients))
