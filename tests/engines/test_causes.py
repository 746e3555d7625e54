"""Real causes on shaped hosts: a communication bend, a host with half the quota, uneven shards."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

import scalecurve as sc
from tests.testbed.shaped_hosts import PERIOD_US, Hosts, shaped_hosts

pytestmark = pytest.mark.engine("hosts")

ROOT = Path(__file__).resolve().parents[2]
SHARE = 0.2
SHARDS = (str(ROOT / "tests" / "testbed" / "shards.py"), "--quanta", "24000", "--steps", "4")
RING = ("-m", "scalecurve.measurement.workloads.ring", "--quanta", "6000", "--steps", "7", "--floats", "16384")


def favour(hosts: Hosts) -> None:
    """Ahead of whatever else runs here: on a busy machine the quotas would otherwise not be what holds a host back."""
    for group in hosts.groups:
        name, weight = ("cpu.shares", "16384") if (group / "cpu.shares").exists() else ("cpu.weight", "1600")
        (group / name).write_text(weight)


def measured(hosts: Hosts, folder: Path, workers: list[int], job: tuple[str, ...]) -> sc.Study:
    favour(hosts)
    return sc.measure(
        regime="strong",
        workers=workers,
        repeats=4,
        warmup_launches=0,
        warmup_steps=1,
        timeout=90,
        output=folder / "study.json",
        command=[sys.executable, *job, "--address", "10.77.0.{{rank_plus_one}}"],
        launcher={
            "mode": "processes",
            "wrap": [str(hosts.enter), "{rank}"],
            "hosts": list(hosts.addresses),
            "workers_per_node": 1,
        },
    )


def told(found: Any) -> Any:
    print(found)
    return {finding.code: finding for finding in found.findings}


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT)]))


def test_a_real_communication_bend(tmp_path: Path) -> None:
    with shaped_hosts(6, rate_mbit=60, delay_us=1000, cpu_share=SHARE) as hosts:
        found = sc.diagnose(measured(hosts, tmp_path, [1, 2, 4, 6], RING))

    told(found)
    assert found.cause == "communication"


def halve(hosts: Hosts, i: int) -> None:
    """Half the CPU quota for host i."""
    limit = int(SHARE * PERIOD_US / 2)
    group = hosts.groups[i]
    if (group / "cpu.cfs_quota_us").exists():
        (group / "cpu.cfs_quota_us").write_text(str(limit))
    else:
        (group / "cpu.max").write_text(f"{limit} {PERIOD_US}")


def test_a_real_straggler_is_a_slow_host_and_is_named(tmp_path: Path) -> None:
    with shaped_hosts(4, rate_mbit=1000, delay_us=50, cpu_share=SHARE) as hosts:
        halve(hosts, 2)
        found = sc.diagnose(measured(hosts, tmp_path, [1, 2, 4], SHARDS))

    findings = told(found)
    assert found.cause == "straggler"
    assert 2 in findings["slow-host"].evidence["ranks"]
    assert 1.5 < findings["slow-host"].evidence["factor"] < 2.6


def test_a_real_imbalance(tmp_path: Path) -> None:
    with shaped_hosts(4, rate_mbit=1000, delay_us=50, cpu_share=SHARE) as hosts:
        found = sc.diagnose(measured(hosts, tmp_path, [1, 2, 4], (*SHARDS, "--heavy", "1", "--factor", "2.5")))

    findings = told(found)
    assert found.cause == "imbalance"
    slow_host = findings.get(
        "slow-host"
    )  # beside other programs a host may be a little slow; 2.5 times the work is not
    assert slow_host is None or slow_host.evidence["factor"] < 1.5
