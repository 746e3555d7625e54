"""Prediction beyond the measured K, with intervals calibrated on published curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scalecurve.forecasting.standing import stand as stand

__all__ = ["stand"]

if not TYPE_CHECKING:  # hidden from type checkers, so that they report a misspelt name

    def __getattr__(name: str) -> Any:
        if name != "stand":
            raise AttributeError(f"module 'scalecurve.forecasting' has no attribute {name!r}")
        from scalecurve.forecasting.standing import stand

        return stand
