"""`dask`: a Python function run by K Dask workers, of a scheduler at `address` or a local cluster for the launch."""

from __future__ import annotations

from importlib.util import find_spec

from scalecurve.measurement.launchers.driver import launch_with_driver
from scalecurve.measurement.ports import Job, Outcome, World
from scalecurve.measurement.settings import Settings


class Dask:
    name = "dask"

    def missing(self, world: World) -> str | None:
        return None if find_spec("distributed") else "Dask is not installed; pip install 'scalecurve[dask]'"

    def launch(self, job: Job, settings: Settings, world: World) -> Outcome:
        return launch_with_driver("scalecurve.measurement.launchers.dask_driver", job, settings, world)
