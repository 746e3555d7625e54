"""The machine and the software a study ran on: facts by allow-list, so that no secret can be among them."""

from __future__ import annotations

import os
import platform
import re
import socket
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from scalecurve.measurement.gpu import gpus_of
from scalecurve.measurement.ports import Machine, World
from scalecurve.measurement.topology import Topology, cpu_quota, topology_of

# Names, never patterns: a pattern such as SLURM_* would let tokens through.
ALLOWED_VARIABLES = (
    "OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS",
    "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "CUDA_VISIBLE_DEVICES", "CUDA_LAUNCH_BLOCKING", "NCCL_ALGO",
    "NCCL_PROTO", "NCCL_IB_DISABLE", "NCCL_P2P_DISABLE", "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME",
    "TORCH_DISTRIBUTED_DEBUG", "PYTHONDEVMODE", "PYTHONOPTIMIZE", "MALLOC_ARENA_MAX", "KMP_AFFINITY",
    "GOMP_CPU_AFFINITY", "SLURM_JOB_PARTITION", "SLURM_JOB_NUM_NODES", "SLURM_CPUS_PER_TASK",
    "MPICH_ASYNC_PROGRESS", "UCX_TLS",
)  # fmt: skip
_PACKAGES = ("numpy", "scipy", "mpi4py", "mpich", "openmpi", "torch", "ray", "dask", "distributed", "scalecurve")
_DEBUG_PATH = re.compile(r"(^|/)(target/debug|cmake-build-debug|Debug)/")


def machine_facts(world: World) -> dict[str, Any]:
    """Cores, sockets, SMT, memory, governor, load, container, GPUs; what cannot be seen is left out."""
    topology = topology_of(world.machine)
    facts: dict[str, Any] = {
        "host": socket.gethostname(),
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "cpu": _cpu_model(world.machine),
        "memory_bytes": _memory_bytes(world.machine),
        "governor": _line(world.machine, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "load_at_start": _load(world.machine),
        "container": container_of(world.machine),
        "cpu_quota_cores": cpu_quota(world.machine),
        "gpus": gpus_of(world.runner),
        **_shape(topology),
    }
    return {name: value for name, value in facts.items() if value is not None}


def _shape(topology: Topology) -> dict[str, Any]:
    return {
        "usable_cores": len(topology.usable),
        "physical_cores": topology.physical,
        "sockets": topology.sockets,
        "numa_nodes": topology.numa_count,
        "smt": topology.smt,
    }


def software_facts(world: World, folder: Path | None) -> dict[str, Any]:
    """Versions, the commit of the job's folder, and the allowed environment variables."""
    facts: dict[str, Any] = {"python": platform.python_version(), "packages": _versions(_PACKAGES)}
    facts["git"] = git_state(world, folder or Path.cwd())
    facts["environment"] = allowed_environment(os.environ)
    return {name: value for name, value in facts.items() if value}


def allowed_environment(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: environment[name][:200] for name in ALLOWED_VARIABLES if name in environment}


def git_state(world: World, folder: Path) -> dict[str, Any] | None:
    """Commit, and whether files differ from it; None outside a repository."""
    code, commit = world.runner.capture(["git", "-C", str(folder), "rev-parse", "HEAD"], timeout=10)
    if code != 0 or not re.fullmatch(r"[0-9a-f]{40,64}", commit.strip()):
        return None
    _, changes = world.runner.capture(
        ["git", "-C", str(folder), "status", "--porcelain", "--untracked-files=no"], timeout=30
    )
    return {"commit": commit.strip(), "modified": bool(changes.strip())}


def container_of(machine: Machine) -> str | None:
    """The kind of container, as far as files tell."""
    if machine.read("/.dockerenv") is not None:
        return "docker"
    if machine.read("/run/.containerenv") is not None:
        return "podman"
    groups = machine.read("/proc/1/cgroup") or ""
    found = re.search(r"(kubepods|docker|lxc|libpod)", groups)
    if found:
        return found[1]
    return "singularity" if os.environ.get("SINGULARITY_NAME") or os.environ.get("APPTAINER_NAME") else None


def debug_signs(command: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Marks of a job that was not built or started for speed."""
    signs = [f"{word} looks like a debug build" for word in command[:1] if _DEBUG_PATH.search(word)]
    signs += ["python -X dev"] if "-X" in command and "dev" in command else []
    for name in ("CUDA_LAUNCH_BLOCKING", "PYTHONDEVMODE"):
        signs += [f"{name} is set"] if environment.get(name, "0") not in ("", "0") else []
    if environment.get("TORCH_DISTRIBUTED_DEBUG", "OFF") not in ("", "OFF"):
        signs.append("TORCH_DISTRIBUTED_DEBUG is on")
    return signs


def _versions(names: Sequence[str]) -> dict[str, str]:
    found = {}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _cpu_model(machine: Machine) -> str | None:
    match = re.search(r"^model name\s*:\s*(.+)$", machine.read("/proc/cpuinfo") or "", re.M)
    return match[1].strip() if match else platform.processor() or None


def _memory_bytes(machine: Machine) -> int | None:
    match = re.search(r"^MemTotal:\s*(\d+) kB", machine.read("/proc/meminfo") or "", re.M)
    return int(match[1]) * 1024 if match else None


def _load(machine: Machine) -> float | None:
    text = machine.read("/proc/loadavg")
    return float(text.split()[0]) if text else None


def _line(machine: Machine, path: str) -> str | None:
    text = machine.read(path)
    return text.strip() or None if text else None
