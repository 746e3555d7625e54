"""Measuring real jobs and machines: `measure`, `preview`, `doctor`, and calibrations of network, load and roofline."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scalecurve.measurement.calibration.collectives import measure_collectives as measure_collectives
    from scalecurve.measurement.calibration.load import measure_load as measure_load
    from scalecurve.measurement.calibration.roofline import measure_roofline as measure_roofline
    from scalecurve.measurement.calibration.roofline import place_torch_model as place_torch_model
    from scalecurve.measurement.outlook import preview as preview
    from scalecurve.measurement.readiness import doctor as doctor
    from scalecurve.measurement.sweep import measure as measure

_HOMES = {
    "doctor": "readiness",
    "measure": "sweep",
    "measure_collectives": "calibration.collectives",
    "measure_load": "calibration.load",
    "measure_roofline": "calibration.roofline",
    "place_torch_model": "calibration.roofline",
    "preview": "outlook",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
