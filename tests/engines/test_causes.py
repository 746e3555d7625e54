"""Real causes on shaped hosts: a communication bend, a host with half the quota, uneven shards."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import scalecurve as sc
from tests.testbed.shaped_hosts import PERIOD_US, Hosts, shaped_hosts

pytestmark = pytest.mark.engine("hosts")

ROOT = Path(__file__).resolve().parents[2]
SHARE = 0.2
SHARDS = (str(ROOT / "tests" / "testbed" / "shards.py"), "--quanta", "24000", "--steps", "4")
RING = (str(ROOT / "examples" / "hosts" / "ring.py"), "--quanta", "6000", "--steps", "7", "--floats", "16384")


def favour(hosts: Hosts) -> None:
    """Ahead of whatever else runs here: on a busy machine the quotas would otherwise not be what holds a host back."""
    for group in hosts.groups:
        name, weight = ("cpu.shares", "16384") if (group / "cpu.shares").exists() else ("cpu.weight", "1600")
        (group / name).write_text(weight)


TRIES = 3
"""Other programs and the hypervisor may disturb a real measurement: it is then made again."""


def causes(hosts: Hosts, folder: Path, workers: list[int], job: tuple[str, ...]) -> Iterator[sc.Diagnosis]:
    """The diagnosis of a measurement, and of a new one each time another is asked for."""
    for attempt in range(TRIES):
        favour(hosts)
        study = sc.measure(
            regime="strong",
            workers=workers,
            repeats=4,
            warmup_launches=0,
            warmup_steps=1,
            timeout=90,
            output=folder / f"study{attempt}.json",
            command=[sys.executable, *job, "--address", "10.77.0.{{rank_plus_one}}"],
            launcher={
                "mode": "processes",
                "wrap": [str(hosts.enter), "{rank}"],
                "hosts": list(hosts.addresses),
                "workers_per_node": 1,
            },
        )
        diagnosis = sc.diagnose(study)
        print(diagnosis)
        yield diagnosis


def slow_host(diagnosis: sc.Diagnosis) -> Mapping[str, Any]:
    """The evidence of the finding about a slow host; empty where there is none."""
    return next((finding.evidence for finding in diagnosis.findings if finding.code == "slow-host"), {})


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT)]))


def test_a_real_communication_bend(tmp_path: Path) -> None:
    with shaped_hosts(6, rate_mbit=60, delay_us=1000, cpu_share=SHARE) as hosts:
        assert any(diagnosis.cause == "communication" for diagnosis in causes(hosts, tmp_path, [1, 2, 4, 6], RING))


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
        assert any(
            diagnosis.cause == "straggler"
            and 2 in (slow := slow_host(diagnosis)).get("ranks", ())
            and 1.5 < slow["factor"] < 2.6
            for diagnosis in causes(hosts, tmp_path, [1, 2, 4], SHARDS)
        )


def test_a_real_imbalance(tmp_path: Path) -> None:
    """2.5 times the work is not a slow host, though one may be a little slow beside other programs."""
    job = (*SHARDS, "--heavy", "1", "--factor", "2.5")
    with shaped_hosts(4, rate_mbit=1000, delay_us=50, cpu_share=SHARE) as hosts:
        assert any(
            diagnosis.cause in ("imbalance", "waiting")  # a busy machine blurs which
            and diagnosis.causes[0].name == "imbalance"
            and slow_host(diagnosis).get("factor", 1.0) < 1.5
            for diagnosis in causes(hosts, tmp_path, [1, 2, 4], job)
        )
