"""The process that talks to Ray; see `driver`."""

from __future__ import annotations

import os
from typing import Any

from scalecurve.measurement.launchers import driver


class Worker:
    """One actor, so that K tasks sit in K processes."""

    def perform(self, task: driver.Task) -> None:
        driver.perform(task)

    def nothing(self) -> None:
        driver.nothing()


def main() -> None:
    given = driver.options()
    costs: dict[str, float] = {}
    # Zero GPUs must not hide the devices from the workers; said here because Ray warns about its old default.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    with driver.timed(costs, "start"):
        _join(ray, given.address, given.workers)
        kind: Any = ray.remote(num_cpus=1)(Worker)
        actors = [kind.remote() for _ in range(given.workers)]
        ray.get([actor.nothing.remote() for actor in actors])
    try:
        costs["round_trip"] = driver.round_trip(lambda: ray.get([actor.nothing.remote() for actor in actors]))
        with driver.timed(costs, "run"):
            tasks = driver.tasks_of(given)
            ray.get([actor.perform.remote(task) for actor, task in zip(actors, tasks, strict=True)])
        driver.write_costs(costs)
    finally:
        ray.shutdown()


def _join(ray: Any, address: str | None, workers: int) -> None:
    if address:
        ray.init(address=address, log_to_driver=False)
    else:
        ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)


if __name__ == "__main__":
    main()
