"""Prediction beyond the measured K, with intervals calibrated on published curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalecurve.lazy import lazy_names

if TYPE_CHECKING:
    from scalecurve.forecasting.published import stand

__all__ = ["stand"]

if not TYPE_CHECKING:  # hidden from type checkers, so that they report a misspelt name
    __getattr__, __dir__ = lazy_names(__name__, {"published": "stand"})
