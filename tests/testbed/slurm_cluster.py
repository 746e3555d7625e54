"""A real Slurm with four nodes on this one machine: slurmctld and four slurmd in the foreground, as our children.

    python -m tests.testbed.slurm_cluster        starts one, prints how to use it, stops it at Ctrl-C

Needs root (slurmd starts tasks for users), slurm and munge.  Everything lives in a temporary folder; the only thing
shared with the machine is the munge socket, and a munged that was running already is left running.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

NODES = 4
PROGRAMS = ("slurmctld", "slurmd", "sbatch", "srun", "munged", "mungekey")
MUNGE_SOCKET = Path("/run/munge/munge.socket.2")


def why_not() -> str | None:
    """The reason why no cluster can be started here."""
    if os.geteuid() != 0:
        return "a Slurm of one's own needs root"
    lacking = [program for program in PROGRAMS if shutil.which(program, path=_path()) is None]
    return f"not installed: {', '.join(lacking)} (tools/engines-install slurm)" if lacking else None


def _path() -> str:
    return os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@contextmanager
def slurm_cluster(*, accounting: bool = False) -> Iterator[dict[str, str]]:
    """The environment in which sbatch and its relatives talk to the new cluster."""
    folder = Path(tempfile.mkdtemp(prefix="slurm-bed-"))
    folder.chmod(0o755)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, True)
        stack.enter_context(_munge(folder))
        if accounting:
            from tests.testbed.slurm_accounts import accounts

            storage = stack.enter_context(accounts(folder))
        else:
            storage = "AccountingStorageType=accounting_storage/none"
        env = {**os.environ, "PATH": _path(), "SLURM_CONF": str(_configure(folder, storage))}
        stack.enter_context(_daemon(["slurmctld", "-D", "-i"], folder, env))
        for number in range(1, NODES + 1):
            stack.enter_context(_daemon(["slurmd", "-D", "-N", f"n{number}"], folder, env))
        _wait_for_idle(env, folder)
        yield env


def _configure(folder: Path, storage: str) -> Path:
    control, *daemons = free_ports(1 + NODES)
    host = socket.gethostname().split(".")[0]
    for name in ("state", "log", "run", *(f"spool.n{i}" for i in range(1, NODES + 1))):
        (folder / name).mkdir(exist_ok=True)
    nodes = [
        f"NodeName=n{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 RealMemory=1000 State=UNKNOWN"
        for i, port in enumerate(daemons, 1)
    ]
    settings = {
        "ClusterName": "bed",
        "SlurmctldHost": f"{host}(127.0.0.1)",
        "SlurmUser": "root",
        "SlurmdUser": "root",
        "AuthType": "auth/munge",
        "SlurmctldPort": control,
        "StateSaveLocation": folder / "state",
        "SlurmdSpoolDir": f"{folder}/spool.%n",
        "SlurmctldPidFile": folder / "run/ctld.pid",
        "SlurmdPidFile": f"{folder}/run/%n.pid",
        "SlurmctldLogFile": folder / "log/ctld.log",
        "SlurmdLogFile": f"{folder}/log/%n.log",
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "MpiDefault": "none",
        "ReturnToService": 2,
        "SchedulerType": "sched/backfill",
        "SchedulerParameters": "bf_interval=1,sched_min_interval=100000",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_Core",
        "SlurmdParameters": "config_overrides",
        "JobAcctGatherType": "jobacct_gather/linux",
        "JobAcctGatherFrequency": "task=1",
        "KillWait": 5,
        "MinJobAge": 300,
    }
    lines = [f"{name}={value}" for name, value in settings.items()]
    lines += [storage, *nodes, "PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO"]
    path = folder / "slurm.conf"
    path.write_text("\n".join(lines) + "\n")
    return path


@contextmanager
def _daemon(argv: list[str], folder: Path, env: dict[str, str]) -> Iterator[None]:
    """A server in the foreground for the time of the block; ended by its own process number."""
    folder.joinpath("log").mkdir(exist_ok=True)
    with (folder / "log" / f"{argv[0]}.{Path(argv[-1]).name}.out").open("wb") as log:
        process = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def _munge(folder: Path) -> Iterator[None]:
    """Slurm's authentication; its daemon insists on its own user and folders."""
    if subprocess.run(["munge", "-n"], capture_output=True).returncode == 0:
        yield
        return
    user = pwd.getpwnam("munge")
    MUNGE_SOCKET.parent.mkdir(exist_ok=True)
    os.chown(MUNGE_SOCKET.parent, user.pw_uid, user.pw_gid)
    if not Path("/etc/munge/munge.key").exists():
        subprocess.run(["mungekey", "--create"], check=True, env={**os.environ, "PATH": _path()})
    become = ["setpriv", "--reuid", "munge", "--regid", "munge", "--clear-groups"]
    with _daemon([*become, "munged", "--foreground"], folder, {**os.environ, "PATH": _path()}):
        _wait_until(lambda: subprocess.run(["munge", "-n"], capture_output=True).returncode == 0, "munge")
        yield


def _wait_for_idle(env: dict[str, str], folder: Path) -> None:
    def idle() -> bool:
        found = subprocess.run(["sinfo", "-h", "-o", "%D %T"], env=env, capture_output=True, text=True)
        return found.stdout.split() == [str(NODES), "idle"]

    try:
        _wait_until(idle, "slurm")
    except TimeoutError:
        logs = "\n".join(path.read_text(errors="replace")[-1500:] for path in sorted((folder / "log").iterdir()))
        raise TimeoutError(f"the nodes did not become idle:\n{logs}") from None


def _wait_until(condition, what: str, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not come up")
        time.sleep(0.1)


def main() -> int:
    if reason := why_not():
        print(reason, file=sys.stderr)
        return 2
    with slurm_cluster() as env:
        print(f"export SLURM_CONF={env['SLURM_CONF']}", flush=True)
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            return 0


if __name__ == "__main__":
    sys.exit(main())
