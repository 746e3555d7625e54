"""A Python function on K workers of a local and of an existing cluster; the engine's own cost apart."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.engines.conftest import ROOT, Measure

QUICK = ("--repeats", "1", "--warmup-launches", "0", "--oversubscribe")


def check(study, engine: str) -> None:
    runs = [run for run in study.runs if run.counts]
    assert {run.k for run in runs} == {1, 2}
    assert {run.work for run in runs} == {2_000_000.0 * 18}
    assert all(len(run.ranks) == run.k for run in runs)
    assert study.provenance.launcher == engine


@pytest.mark.engine("ray")
def test_ray_local_cluster(measure: Measure, examples: Path) -> None:
    _, study = measure(str(examples / "ray" / "study.toml"), *QUICK)
    check(study, "ray")


@pytest.mark.engine("dask")
def test_dask_local_cluster(measure: Measure, examples: Path) -> None:
    _, study = measure(str(examples / "dask" / "study.toml"), *QUICK)
    check(study, "dask")


@pytest.mark.engine("dask")
def test_dask_existing_cluster(measure: Measure, examples: Path, tmp_path: Path) -> None:
    with dask_cluster(2) as address:
        file = tmp_path / "study.toml"
        toml = (examples / "dask" / "study.toml").read_text()
        file.write_text(f'folder = "{examples / "dask"}"\n' + toml + f'address = "{address}"\n')
        _, study = measure(str(file), *QUICK)

    check(study, "dask")


@contextmanager
def dask_cluster(workers: int) -> Iterator[str]:
    """A scheduler and workers as a site would start them, ended by their own process numbers."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    base = [sys.executable, "-m", "distributed.cli"]
    started = []
    try:
        scheduler = subprocess.Popen(
            [*base[:2], "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1"],
            env=env,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(scheduler)
        address = _address_in(scheduler)
        for _ in range(workers):
            words = [*base[:2], "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"]
            started.append(subprocess.Popen(words, env=env, stderr=subprocess.DEVNULL))
        yield address
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.communicate(timeout=60)


def _address_in(process: subprocess.Popen[str]) -> str:
    deadline = time.monotonic() + 60
    while process.stderr and time.monotonic() < deadline:
        found = re.search(r"(tcp://[0-9.]+:\d+)", process.stderr.readline())
        if found:
            return found[1]
    raise TimeoutError("the scheduler did not say its address")
