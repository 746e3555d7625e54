"""The process that talks to Dask; see `driver`."""

from __future__ import annotations

import importlib
from contextlib import ExitStack
from typing import Any

from scalecurve.errors import RunError
from scalecurve.measurement.launchers import driver


def main() -> None:
    given = driver.options()
    costs: dict[str, float] = {}
    with ExitStack() as stack:
        with driver.timed(costs, "start"):
            client = stack.enter_context(_client(stack, given.address, given.workers))
            places = _workers(client, given.workers)
        costs["round_trip"] = driver.round_trip(lambda: _everywhere(client, places, driver.nothing))
        with driver.timed(costs, "run"):
            futures = [
                client.submit(driver.perform, task, workers=[place], allow_other_workers=False, pure=False)
                for task, place in zip(driver.tasks_of(given), places, strict=True)
            ]
            client.gather(futures)
        driver.write_costs(costs)


def _client(stack: ExitStack, address: str | None, workers: int) -> Any:
    distributed: Any = importlib.import_module("distributed")
    if address:
        return distributed.Client(address)
    cluster = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None)
    return distributed.Client(stack.enter_context(cluster))


def _workers(client: Any, count: int) -> list[str]:
    """The addresses of K distinct workers."""
    client.wait_for_workers(count)
    found = sorted(client.scheduler_info(n_workers=-1)["workers"])
    if len(found) < count:
        raise RunError(f"the cluster has {len(found)} workers, {count} were asked for")
    return found[:count]


def _everywhere(client: Any, places: list[str], function: Any) -> None:
    client.gather([client.submit(function, workers=[place], pure=False) for place in places])


if __name__ == "__main__":
    main()
