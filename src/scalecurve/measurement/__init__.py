"""Measuring real jobs and machines: `measure`, `preview`, `doctor`, and calibrations of network, load and roofline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalecurve.lazy import lazy_names

if TYPE_CHECKING:
    from scalecurve.measurement.calibration.collectives import measure_collectives
    from scalecurve.measurement.calibration.load import measure_load
    from scalecurve.measurement.calibration.roofline import measure_roofline, place_torch_model
    from scalecurve.measurement.outlook import preview
    from scalecurve.measurement.readiness import doctor
    from scalecurve.measurement.sweep import measure

__all__ = [
    "doctor",
    "measure",
    "measure_collectives",
    "measure_load",
    "measure_roofline",
    "place_torch_model",
    "preview",
]

if not TYPE_CHECKING:  # hidden from type checkers, so that they report a misspelt name
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "calibration.collectives": "measure_collectives",
            "calibration.load": "measure_load",
            "calibration.roofline": "measure_roofline place_torch_model",
            "outlook": "preview",
            "readiness": "doctor",
            "sweep": "measure",
        },
    )
