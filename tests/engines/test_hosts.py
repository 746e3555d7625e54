"""Eight equal hosts with a network between them: compute and all-reduce gives a smooth curve with a real bend."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import scalecurve as sc
from tests.testbed.shaped_hosts import shaped_hosts

pytestmark = pytest.mark.engine("hosts")

WORKERS = [1, 2, 3, 4, 6, 8]
RING = Path(__file__).resolve().parents[2] / "examples" / "hosts" / "ring.py"
JOB = (str(RING), "--quanta", "9000", "--steps", "8", "--floats", "16384")


def test_the_curve_bends_by_communication(tmp_path: Path) -> None:
    with shaped_hosts(8, rate_mbit=100, delay_us=500, cpu_share=0.2) as hosts:
        study = sc.measure(
            regime="strong",
            workers=WORKERS,
            repeats=3,
            warmup_launches=0,
            warmup_steps=2,
            timeout=90,
            output=tmp_path / "study.json",
            command=[sys.executable, *JOB, "--address", "10.77.0.{{rank_plus_one}}"],
            launcher={
                "mode": "processes",
                "wrap": [str(hosts.enter), "{rank}"],
                "hosts": list(hosts.addresses),
                "workers_per_node": 1,
            },
        )
        throttled = hosts.throttled()
    times = {k: float(np.min(study.samples.at(k))) for k in WORKERS}  # other programs only add to a time
    efficiency = [times[1] / (k * times[k]) for k in WORKERS]
    share = [_communication(study, k) for k in WORKERS]
    print({k: round(t, 3) for k, t in times.items()}, np.round(efficiency, 2), np.round(share, 2), throttled)

    assert all(count > 0 for count in throttled), "a quota did not apply"
    assert {run.work for run in study.runs} == {9000.0 * 6}
    # Two or three workers help on any machine that can hold the quotas; eight are far from eight times as fast.
    assert max(times[2], times[3]) < times[1]
    assert efficiency[1] > 0.7
    assert efficiency[-1] < 0.7
    # Smooth: no point is above its left neighbour beyond the noise of shared cores.
    assert all(right < left + 0.1 for left, right in pairwise(efficiency))
    # And communication is what grows.
    assert share[0] < 0.05
    assert share[-1] > 0.3
    assert all(right > left - 0.1 for left, right in pairwise(share))


def _communication(study: sc.Study, k: int) -> float:
    parts = [
        rank.phases["all_reduce"] / rank.seconds
        for run in study.runs
        if run.counts and run.k == k
        for rank in run.ranks
        if rank.seconds
    ]
    return float(np.mean(parts))
