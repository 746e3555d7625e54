"""`ray`: a Python function run by K Ray actors, in a cluster at `address` or a local one started for the launch."""

from __future__ import annotations

from importlib.util import find_spec

from scalecurve.measurement.launchers.common import without_usage
from scalecurve.measurement.launchers.driver import launch_with_driver
from scalecurve.measurement.ports import Job, Outcome, World
from scalecurve.measurement.settings import Settings


class Ray:
    name = "ray"

    def missing(self, world: World) -> str | None:
        return None if find_spec("ray") else "Ray is not installed; pip install 'scalecurve[ray]'"

    def launch(self, job: Job, settings: Settings, world: World) -> Outcome:
        return without_usage(launch_with_driver("scalecurve.measurement.launchers.ray_driver", job, settings, world))
