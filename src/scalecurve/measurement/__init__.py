"""Measuring real jobs and machines: `measure`, `preview`, `doctor`, and calibrations of network, load and roofline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalecurve.lazy import lazy_names

if TYPE_CHECKING:
    from scalecurve.measurement.collectives_calibration import measure_collectives
    from scalecurve.measurement.load_calibration import measure_load
    from scalecurve.measurement.outlook import preview
    from scalecurve.measurement.readiness import doctor
    from scalecurve.measurement.roofline_calibration import measure_roofline
    from scalecurve.measurement.sweep import measure

__all__ = [
    "doctor",
    "measure",
    "measure_collectives",
    "measure_load",
    "measure_roofline",
    "preview",
]

if not TYPE_CHECKING:  # hidden from type checkers, so that they report a misspelt name
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "collectives_calibration": "measure_collectives",
            "load_calibration": "measure_load",
            "roofline_calibration": "measure_roofline",
            "outlook": "preview",
            "readiness": "doctor",
            "sweep": "measure",
        },
    )
