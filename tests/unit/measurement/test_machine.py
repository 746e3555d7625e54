"""Facts of the machine from fake files: topology, quotas, GPUs, containers, and never a secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalecurve.measurement.machine import (
    container_of,
    cpu_quota,
    debug_signs,
    git_state,
    gpus_of,
    machine_facts,
    parse_cpu_list,
    software_facts,
    topology_of,
)
from scalecurve.measurement.ports import World
from tests.fakes.world import FakeClock, FakeMachine, FakeRunner


def two_sockets() -> FakeMachine:
    """Two sockets of two cores with two threads each: siblings are n and n + 4."""
    files = {"/sys/devices/system/node/online": "0-1\n"}
    files |= {
        f"/sys/devices/system/node/node{n}/cpulist": f"{2 * n}-{2 * n + 1},{2 * n + 4}-{2 * n + 5}" for n in (0, 1)
    }
    for cpu in range(8):
        base = f"/sys/devices/system/cpu/cpu{cpu}/topology/"
        files |= {f"{base}core_id": str(cpu % 2), f"{base}physical_package_id": str(cpu % 4 // 2)}
    return FakeMachine(8, files)


def test_topology() -> None:
    found = topology_of(two_sockets())

    assert (found.physical, found.sockets, found.numa_count, found.smt) == (4, 2, 2, True)
    assert found.order("compact") == (0, 1, 2, 3, 4, 5, 6, 7)
    assert found.order("spread") == (0, 2, 1, 3, 4, 6, 5, 7)
    assert found.cores_for("compact", 1, 2) == (2, 3)
    assert found.cores_for("spread", 0, 2) == (0, 2)
    assert found.cores_for("none", 0, 2) == ()
    assert found.cores_for("compact", 9, 1) == (1,)
    assert found.numa_of((0, 1)) == (0,)
    assert found.numa_of((1, 2)) == (0, 1)


def test_cpu_lists() -> None:
    assert parse_cpu_list("0-3,8,10-11\n") == (0, 1, 2, 3, 8, 10, 11)
    assert parse_cpu_list("") == ()


def test_quotas_of_both_generations_of_control_groups() -> None:
    one = {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "150000\n", "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}

    assert cpu_quota(FakeMachine(files={"/sys/fs/cgroup/cpu.max": "50000 100000\n"})) == 0.5
    assert cpu_quota(FakeMachine(files={"/sys/fs/cgroup/cpu.max": "max 100000\n"})) is None
    assert cpu_quota(FakeMachine(files=one)) == 1.5
    assert cpu_quota(FakeMachine(files={**one, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n"})) is None
    assert cpu_quota(FakeMachine()) is None


def test_gpus_from_recorded_output() -> None:
    text = "NVIDIA A100-SXM4-80GB, 535.104.05, 81920, 1155, 1410, 400.00, Enabled\n" * 2
    runner = FakeRunner(answers={"nvidia-smi": (0, text)})

    assert [gpu["model"] for gpu in gpus_of(runner) or []] == ["NVIDIA A100-SXM4-80GB"] * 2
    assert (gpus_of(runner) or [{}])[0]["sm_clock_max_mhz"] == 1410
    assert gpus_of(FakeRunner(answers={"nvidia-smi": (0, "Tesla, 1, [N/A], 2, 3, [N/A], Disabled\n")})) is not None
    assert gpus_of(FakeRunner(answers={"nvidia-smi": (9, "no devices were found")})) is None
    assert gpus_of(FakeRunner()) is None


def test_secrets_are_not_recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    monkeypatch.setenv("SLURM_JWT", "hunter2")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    world = World(FakeClock(), FakeRunner(), FakeMachine())
    software = software_facts(world, tmp_path)

    assert "hunter2" not in str(software) + str(machine_facts(world))
    assert software["environment"]["OMP_NUM_THREADS"] == "3"
    assert "SLURM_JWT" not in software["environment"]


def test_facts_that_cannot_be_seen_are_left_out() -> None:
    facts = machine_facts(World(FakeClock(), FakeRunner(), FakeMachine()))

    assert "governor" not in facts
    assert "gpus" not in facts
    assert None not in facts.values()


def test_containers() -> None:
    assert container_of(FakeMachine(files={"/.dockerenv": ""})) == "docker"
    assert container_of(FakeMachine(files={"/run/.containerenv": ""})) == "podman"
    assert container_of(FakeMachine(files={"/proc/1/cgroup": "0::/kubepods/besteffort/x"})) == "kubepods"


def test_git_state(tmp_path: Path) -> None:
    commit = "a" * 40

    assert git_state(World(FakeClock(), FakeRunner(), FakeMachine()), tmp_path) is None
    runner = FakeRunner(answers={"git": (0, commit + "\n")})
    found = git_state(World(FakeClock(), runner, FakeMachine()), tmp_path)
    # A git that is killed with the tool must not leave a lock in the user's repository.
    assert all(words[1] == "--no-optional-locks" for words in runner.captured)
    assert found == {"commit": commit, "modified": True}


def test_signs_of_debugging() -> None:
    assert debug_signs(["target/debug/solver"], {}) == ["target/debug/solver looks like a debug build"]
    assert debug_signs(["python", "-X", "dev", "x.py"], {"CUDA_LAUNCH_BLOCKING": "1"}) == [
        "python -X dev",
        "CUDA_LAUNCH_BLOCKING is set",
    ]
    assert debug_signs(["./solver"], {"CUDA_LAUNCH_BLOCKING": "0", "TORCH_DISTRIBUTED_DEBUG": "OFF"}) == []
