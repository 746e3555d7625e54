"""Cores, SMT siblings, sockets and NUMA nodes, and which cores a worker is bound to."""

from __future__ import annotations

import re
from dataclasses import dataclass

from scalecurve.measurement.ports import Machine

_CPU = "/sys/devices/system/cpu/cpu{}/topology/{}"


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
        return len({(each.socket, each.core) for each in self.usable})

    @property
    def sockets(self) -> int:
        return len({each.socket for each in self.usable})

    @property
    def numa_count(self) -> int:
        return len({each.numa for each in self.usable})

    @property
    def smt(self) -> bool:
        return self.physical < len(self.usable)

    def numa_of(self, cores: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted({each.numa for each in self.usable if each.number in cores}))

    def order(self, pin: str) -> tuple[int, ...]:
        """Compact: fill one socket after the other.  Spread: take the sockets in turn.  SMT siblings come last."""
        rank = {each.number: self._sibling_index(each) for each in self.usable}
        if pin == "spread":
            place = {each.number: self._place_in_socket(each) for each in self.usable}
            ordered = sorted(self.usable, key=lambda c: (rank[c.number], place[c.number], c.socket, c.number))
        else:
            ordered = sorted(self.usable, key=lambda c: (rank[c.number], c.socket, c.core, c.number))
        return tuple(each.number for each in ordered)

    def _sibling_index(self, one: Core) -> int:
        siblings = [c.number for c in self.usable if (c.socket, c.core) == (one.socket, one.core)]
        return sorted(siblings).index(one.number)

    def _place_in_socket(self, one: Core) -> int:
        return sorted(c.number for c in self.usable if c.socket == one.socket).index(one.number)


def topology_of(machine: Machine) -> Topology:
    numa = _numa_by_cpu(machine)
    cores = [
        Core(
            number,
            _whole(machine, _CPU.format(number, "core_id"), number),
            _whole(machine, _CPU.format(number, "physical_package_id"), 0),
            numa.get(number, 0),
        )
        for number in machine.usable_cores()
    ]
    return Topology(tuple(cores))


def cores_for(topology: Topology, pin: str, rank: int, width: int) -> tuple[int, ...]:
    """The cores of worker `rank` when each has `width` of them; wraps around when there are more workers than cores."""
    if pin == "none":
        return ()
    order = topology.order(pin)
    return tuple(sorted({order[(rank * width + i) % len(order)] for i in range(width)}))


def cpu_quota(machine: Machine) -> float | None:
    """Cores' worth of CPU that a control group allows (v2, then v1); None without a limit."""
    limit = (machine.read("/sys/fs/cgroup/cpu.max") or "").split()
    if len(limit) == 2 and limit[0] != "max":
        return int(limit[0]) / int(limit[1])
    quota = _whole(machine, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", -1)
    period = _whole(machine, "/sys/fs/cgroup/cpu/cpu.cfs_period_us", 0)
    return quota / period if quota > 0 and period > 0 else None


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """`0-3,8` as numbers."""
    found: list[int] = []
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text):
        found += range(int(first), int(last or first) + 1)
    return tuple(found)


def _numa_by_cpu(machine: Machine) -> dict[int, int]:
    nodes = parse_cpu_list(machine.read("/sys/devices/system/node/online") or "")
    return {
        cpu: node
        for node in nodes
        for cpu in parse_cpu_list(machine.read(f"/sys/devices/system/node/node{node}/cpulist") or "")
    }


def _whole(machine: Machine, path: str, otherwise: int) -> int:
    text = (machine.read(path) or "").strip()
    return int(text) if re.fullmatch(r"-?\d+", text) else otherwise
