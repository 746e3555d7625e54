"""Many measured curves in a few arrays, so that a thousand studies cost little more than one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

FORGETTING = 0.5  # weight of a point per doubling of distance from the largest measured K


@dataclass(frozen=True)
class Curve:
    """One curve: rising K, log performance (higher is better) and the standard error of each centre, where known.

    `believed` is the share of a forecast change that is believed: less than 1 where a shared device sets a ceiling.
    """

    k: Array
    log_performance: Array
    error: Array | None = None
    believed: float = 1.0


@dataclass(frozen=True)
class Curves:
    """N curves aligned at their last point: column -1 is always the largest measured K.

    Shorter curves are padded on the left with their own first K and a False mask.  `error` is the standard error of
    each centre on log scale, NaN where it was not measured.
    """

    k: Array
    y: Array
    mask: Mask
    error: Array
    believed: Array

    def __len__(self) -> int:
        return len(self.k)

    @property
    def count(self) -> Array:
        return np.asarray(self.mask.sum(axis=1), dtype=np.float64)

    @property
    def last(self) -> Array:
        return np.asarray(self.y[:, -1:])

    def doublings(self, at: Array) -> Array:
        """log2 of the distance from the largest measured K."""
        return np.log2(at / self.k[:, -1:])

    def weights(self, forgetting: float = FORGETTING) -> Array:
        """Weights forgetting ** (doublings back from the end); the points nearest the forecast matter most."""
        back = np.log2(self.k[:, -1:] / self.k)
        return np.where(self.mask, forgetting**back, 0.0)

    def without_first(self) -> Array:
        """Equal weights with the smallest K left out: it is often a different program (one worker, one socket)."""
        first = np.argmax(self.mask, axis=1)
        weights = self.mask.astype(np.float64)
        weights[np.arange(len(self)), first] = 0.0
        return weights

    def rows(self, chosen: Mask | npt.NDArray[np.intp] | slice) -> Curves:
        return Curves(self.k[chosen], self.y[chosen], self.mask[chosen], self.error[chosen], self.believed[chosen])


def pack(curves: Sequence[Curve]) -> Curves:
    """Curves of any length in aligned arrays."""
    width = max(len(curve.k) for curve in curves)
    k, y = np.empty((len(curves), width)), np.empty((len(curves), width))
    mask = np.zeros((len(curves), width), dtype=bool)
    error = np.full((len(curves), width), np.nan)
    for i, curve in enumerate(curves):
        start = width - len(curve.k)
        k[i, :start], k[i, start:] = curve.k[0], curve.k
        y[i, :start], y[i, start:] = curve.log_performance[0], curve.log_performance
        mask[i, start:] = True
        if curve.error is not None:
            error[i, start:] = curve.error
    return Curves(k, y, mask, error, np.array([curve.believed for curve in curves]))
