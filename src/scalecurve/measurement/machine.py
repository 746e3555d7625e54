"""This machine and its software: cores, sockets and NUMA nodes, GPUs, versions, and signs of a debug build.

Facts are recorded by lists of names, so that no secret can be among them; `masking` is about commands and texts.
"""

from __future__ import annotations

import os
import platform
import re
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from scalecurve.measurement.ports import MachineView, Runner, World

LONGEST_FILE = 1_000_000
PART = 16_384
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
_GPU_FIELDS = {
    "model": "name", "driver": "driver_version", "memory_mib": "memory.total", "sm_clock_mhz": "clocks.sm",
    "sm_clock_max_mhz": "clocks.max.sm", "power_limit_watts": "power.limit", "persistence": "persistence_mode",
}  # fmt: skip


class SystemClock:
    """The real clock."""

    def now(self) -> float:
        return time.perf_counter()

    def unix(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class SystemMachine:
    """The real machine."""

    def read(self, path: str) -> str | None:
        """The text of a small file, in parts: a buffer for the longest one would take longer than the reading."""
        text = b""
        try:
            with open(path, "rb", buffering=0) as file:
                while len(text) < LONGEST_FILE and (part := file.read(PART)):
                    text += part
        except OSError:
            return None
        return text.decode(errors="replace")

    def usable_cores(self) -> tuple[int, ...]:
        if hasattr(os, "sched_getaffinity"):
            return tuple(sorted(os.sched_getaffinity(0)))
        return tuple(range(os.cpu_count() or 1))


def real_world() -> World:
    """The ports of this machine."""
    from scalecurve.measurement.processes import LocalRunner

    return World(SystemClock(), LocalRunner(), SystemMachine())


@dataclass(frozen=True)
class Core:
    """A logical CPU: where it sits."""

    number: int
    core: int
    socket: int
    numa: int


@dataclass(frozen=True)
class Topology:
    """The logical CPUs this process may use."""

    usable: tuple[Core, ...]

    @property
    def physical(self) -> int:
        return len({(cpu.socket, cpu.core) for cpu in self.usable})

    @property
    def sockets(self) -> int:
        return len({cpu.socket for cpu in self.usable})

    @property
    def numa_count(self) -> int:
        return len({cpu.numa for cpu in self.usable})

    @property
    def smt(self) -> bool:
        return self.physical < len(self.usable)

    def numa_of(self, cores: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted({cpu.numa for cpu in self.usable if cpu.number in cores}))

    def order(self, pin: str) -> tuple[int, ...]:
        """CPU numbers.  Compact: fill one socket after the other.  Spread: the sockets in turn.  Siblings come last."""
        by_core: dict[tuple[int, int], list[int]] = {}
        by_socket: dict[int, list[int]] = {}
        for cpu in sorted(self.usable, key=lambda cpu: cpu.number):
            by_core.setdefault((cpu.socket, cpu.core), []).append(cpu.number)
            by_socket.setdefault(cpu.socket, []).append(cpu.number)

        def place(cpu: Core) -> tuple[int, ...]:
            sibling = by_core[cpu.socket, cpu.core].index(cpu.number)
            if pin == "spread":
                return (sibling, by_socket[cpu.socket].index(cpu.number), cpu.socket, cpu.number)
            return (sibling, cpu.socket, cpu.core, cpu.number)

        return tuple(cpu.number for cpu in sorted(self.usable, key=place))

    def cores_for(self, pin: str, rank: int, width: int) -> tuple[int, ...]:
        """The CPUs of worker `rank` when each has `width` of them; wraps around when workers outnumber them."""
        if pin == "none":
            return ()
        order = self.order(pin)
        return tuple(sorted({order[(rank * width + i) % len(order)] for i in range(width)}))


def topology_of(machine: MachineView) -> Topology:
    nodes = parse_cpu_list(machine.read("/sys/devices/system/node/online") or "")
    numa = {
        cpu: node
        for node in nodes
        for cpu in parse_cpu_list(machine.read(f"/sys/devices/system/node/node{node}/cpulist") or "")
    }
    cores = []
    for number in machine.usable_cores():
        folder = f"/sys/devices/system/cpu/cpu{number}/topology"
        core = _whole(machine, f"{folder}/core_id", number)
        cores.append(Core(number, core, _whole(machine, f"{folder}/physical_package_id", 0), numa.get(number, 0)))
    return Topology(tuple(cores))


def cpu_quota(machine: MachineView) -> float | None:
    """The number of cores that a control group allows (v2, then v1); None without a limit."""
    limit = (machine.read("/sys/fs/cgroup/cpu.max") or "").split()
    if len(limit) == 2 and limit[0] != "max":
        return int(limit[0]) / int(limit[1])
    quota = _whole(machine, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", -1)
    period = _whole(machine, "/sys/fs/cgroup/cpu/cpu.cfs_period_us", 0)
    return quota / period if quota > 0 and period > 0 else None


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """`0-3,8` as numbers."""
    ranges = re.findall(r"(\d+)(?:-(\d+))?", text)
    return tuple(cpu for first, last in ranges for cpu in range(int(first), int(last or first) + 1))


def _whole(machine: MachineView, path: str, otherwise: int) -> int:
    text = (machine.read(path) or "").strip()
    return int(text) if re.fullmatch(r"-?\d+", text) else otherwise


def load_of(machine: MachineView) -> float | None:
    """The load average of the last minute."""
    text = machine.read("/proc/loadavg")
    return float(text.split()[0]) if text else None


def machine_facts(world: World) -> dict[str, Any]:
    """Cores, sockets, SMT, memory, governor, load, container, GPUs; what cannot be read is left out."""
    machine, topology = world.machine, topology_of(world.machine)
    model = re.search(r"^model name\s*:\s*(.+)$", machine.read("/proc/cpuinfo") or "", re.M)
    memory = re.search(r"^MemTotal:\s*(\d+) kB", machine.read("/proc/meminfo") or "", re.M)
    governor = machine.read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") or ""
    facts: dict[str, Any] = {
        "host": socket.gethostname(),
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "cpu": model[1].strip() if model else platform.processor() or None,
        "memory_bytes": int(memory[1]) * 1024 if memory else None,
        "governor": governor.strip() or None,
        "load_at_start": load_of(machine),
        "container": container_of(machine),
        "cpu_quota_cores": cpu_quota(machine),
        "gpus": gpus_of(world.runner),
        "usable_cores": len(topology.usable),
        "physical_cores": topology.physical,
        "sockets": topology.sockets,
        "numa_nodes": topology.numa_count,
        "smt": topology.smt,
    }
    return {name: value for name, value in facts.items() if value is not None}


def gpus_of(runner: Runner) -> list[dict[str, Any]] | None:
    """One entry per GPU from nvidia-smi; None without one.  Tested with recorded output only, not on a real GPU."""
    query = ["nvidia-smi", f"--query-gpu={','.join(_GPU_FIELDS.values())}", "--format=csv,noheader,nounits"]
    code, text = runner.capture(query, timeout=20)
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if line.strip()]
    gpus: list[dict[str, Any]] = [
        dict(zip(_GPU_FIELDS, row, strict=True)) for row in rows if code == 0 and len(row) == len(_GPU_FIELDS)
    ]
    for gpu in gpus:
        for name in ("memory_mib", "sm_clock_mhz", "sm_clock_max_mhz", "power_limit_watts"):
            gpu[name] = float(gpu[name]) if re.fullmatch(r"[0-9.]*[0-9]", gpu[name]) else None
    return gpus or None


def container_of(machine: MachineView) -> str | None:
    """The kind of container, as far as files tell."""
    if machine.read("/.dockerenv") is not None:
        return "docker"
    if machine.read("/run/.containerenv") is not None:
        return "podman"
    group = re.search(r"(kubepods|docker|lxc|libpod)", machine.read("/proc/1/cgroup") or "")
    if group:
        return group[1]
    return "singularity" if os.environ.get("SINGULARITY_NAME") or os.environ.get("APPTAINER_NAME") else None


def software_facts(world: World, folder: Path | None) -> dict[str, Any]:
    """Versions, the commit of the job's folder, and the allowed environment variables."""
    packages = {}
    for name in _PACKAGES:
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    facts: dict[str, Any] = {
        "python": platform.python_version(),
        "packages": packages,
        "git": git_state(world, folder or Path.cwd()),
        "environment": {name: os.environ[name][:200] for name in ALLOWED_VARIABLES if name in os.environ},
    }
    return {name: value for name, value in facts.items() if value}


def git_state(world: World, folder: Path) -> dict[str, Any] | None:
    """The commit, and whether files differ from it; None outside a repository."""
    git = ["git", "--no-optional-locks", "-C", str(folder)]  # killed, it would leave a lock in the repository
    code, commit = world.runner.capture([*git, "rev-parse", "HEAD"], timeout=10)
    if code != 0 or not re.fullmatch(r"[0-9a-f]{40,64}", commit.strip()):
        return None
    _, changes = world.runner.capture([*git, "status", "--porcelain", "--untracked-files=no"], timeout=30)
    return {"commit": commit.strip(), "modified": bool(changes.strip())}


def debug_signs(command: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Signs that a job was not built or started for speed."""
    signs = [f"{word} looks like a debug build" for word in command[:1] if _DEBUG_PATH.search(word)]
    signs += ["python -X dev"] if "-X" in command and "dev" in command else []
    for name in ("CUDA_LAUNCH_BLOCKING", "PYTHONDEVMODE"):
        signs += [f"{name} is set"] if environment.get(name, "0") not in ("", "0") else []
    if environment.get("TORCH_DISTRIBUTED_DEBUG", "OFF") not in ("", "OFF"):
        signs.append("TORCH_DISTRIBUTED_DEBUG is on")
    return signs
