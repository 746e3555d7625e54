"""Several equal hosts on one machine: network namespaces behind a shaped switch, each with a CPU quota of its own.

Without quotas a few cores are soon exhausted and every curve is a curve of oversubscription.  Needs root, network
namespaces, /dev/net/tun, a C compiler and a writable cpu controller (cgroup v1 or v2).
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("switch.c")
PERIOD_US = 10_000
V1, V2 = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Hosts:
    """`enter` is a program: `enter RANK command...` runs a command on host RANK (from 0)."""

    enter: Path
    addresses: tuple[str, ...]
    groups: tuple[Path, ...]

    def throttled(self) -> list[int]:
        """How often each host was held back: zero means that a quota did not apply."""
        texts = [(group / "cpu.stat").read_text() for group in self.groups]
        return [int(line.split()[1]) for text in texts for line in text.splitlines() if line.startswith("nr_throttled")]


def why_not() -> str | None:
    """The reason why there can be no hosts here."""
    if os.geteuid() != 0:
        return "network namespaces and quotas need root"
    if not Path("/dev/net/tun").exists():
        return "no /dev/net/tun"
    for program in ("ip", "nsenter", "gcc"):
        if shutil.which(program) is None:
            return f"no {program} on the path"
    if _controller() is None:
        return "no writable cpu controller in /sys/fs/cgroup"
    name = f"scprobe{os.getpid()}"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode:
        return "the kernel allows no network namespaces here"
    subprocess.run(["ip", "netns", "del", name], check=True)
    return None


def _controller() -> Path | None:
    if (V1 / "cpu.cfs_quota_us").exists() or (V1 / "cgroup.procs").exists():
        return V1
    controllers = V2 / "cgroup.controllers"
    return V2 if controllers.exists() and "cpu" in controllers.read_text().split() else None


@contextmanager
def shaped_hosts(count: int, *, rate_mbit: float, delay_us: float, cpu_share: float) -> Iterator[Hosts]:
    """`count` hosts for the time of the block."""
    folder = Path(tempfile.mkdtemp(prefix="hosts-bed-"))
    names = [f"sc{os.getpid()}h{i}" for i in range(count)]
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, True)
        for name in names:
            _ip("netns", "add", name)
            stack.callback(_ip, "netns", "del", name)
        stack.enter_context(_switch(folder, names, rate_mbit, delay_us))
        addresses = tuple(f"10.77.0.{i + 1}" for i in range(count))
        for name, address in zip(names, addresses, strict=True):
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
            _ip("-n", name, "link", "set", "eth0", "txqueuelen", "4000", "up")
            _ip("-n", name, "link", "set", "lo", "up")
        groups = tuple(stack.enter_context(_quota(name, cpu_share)) for name in names)
        yield Hosts(_entrance(folder, names, groups), addresses, groups)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextmanager
def _switch(folder: Path, names: list[str], rate_mbit: float, delay_us: float) -> Iterator[None]:
    program = folder / "switch"
    subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-o", program, SOURCE], check=True)
    process = subprocess.Popen(
        [program, str(rate_mbit), str(delay_us), *names], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        if not process.stdout or process.stdout.readline() != b"ready\n":
            raise RuntimeError("the switch did not start")
        yield
    finally:
        process.communicate()  # closes its standard input, which ends it


@contextmanager
def _quota(name: str, share: float) -> Iterator[Path]:
    """A control group that allows a share of one core.  ip netns exec would hide the tree; nsenter does not."""
    root = _controller()
    if root is None:
        raise RuntimeError("no cpu controller")
    if root == V2:
        (V2 / "cgroup.subtree_control").write_text("+cpu")
    group = root / name
    group.mkdir()
    limit = int(share * PERIOD_US)
    if root == V1:
        (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(str(limit))
    else:
        (group / "cpu.max").write_text(f"{limit} {PERIOD_US}")
    try:
        yield group
    finally:
        _remove(group)


def _remove(group: Path) -> None:
    for _ in range(100):
        try:
            group.rmdir()
            return
        except OSError:
            time.sleep(0.05)


def _entrance(folder: Path, names: list[str], groups: tuple[Path, ...]) -> Path:
    """The job itself joins the quota after its imports (it finds the file in HOST_QUOTA), so that they stay quick."""
    cases = "\n".join(
        f"  {i}) export HOST_QUOTA={group}/cgroup.procs; space={name};;"
        for i, (name, group) in enumerate(zip(names, groups, strict=True))
    )
    path = folder / "enter"
    path.write_text(
        "#!/bin/bash\nset -e\nrank=$1; shift\ncase $rank in\n"
        f'{cases}\n  *) echo "no host $rank" >&2; exit 2;;\nesac\n'
        'exec nsenter --net=/var/run/netns/"$space" "$@"\n'
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path
