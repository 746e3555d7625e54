"""Accounts for the Slurm of the tests: a MariaDB and a slurmdbd of its own, in the folder of the cluster."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

PROGRAMS = ("mariadbd", "mariadb-install-db", "mariadb", "slurmdbd", "sacctmgr")
DATABASE = "slurm_acct_db"


def why_not() -> str | None:
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    lacking = [program for program in PROGRAMS if shutil.which(program, path=path) is None]
    return f"no accounts: not installed: {', '.join(lacking)} (tools/engines-install slurm)" if lacking else None


@contextmanager
def accounts(folder: Path) -> Iterator[str]:
    """The lines of slurm.conf that point to the accounts."""
    from tests.testbed.slurm_cluster import _daemon, _path, free_ports

    port, database_port = free_ports(2)
    env = {**os.environ, "PATH": _path()}
    data = folder / "accounts"
    data.mkdir()
    shutil.chown(data, "mysql", "mysql")
    make = ["mariadb-install-db", "--no-defaults", "--user=mysql", f"--datadir={data}", "--skip-test-db"]
    subprocess.run(make, check=True, env=env, capture_output=True)
    serve = ["mariadbd", "--no-defaults", "--user=mysql", f"--datadir={data}", f"--socket={data}/s", "--skip-log-bin"]
    serve += [f"--port={database_port}", "--bind-address=127.0.0.1", f"--pid-file={data}/pid"]
    conf = folder / "slurmdbd.conf"
    with ExitStack() as stack:
        stack.enter_context(_daemon(serve, folder, env))
        _until(lambda: _ask(f"{data}/s", "select 1", env) == 0)
        password = os.urandom(8).hex()
        users = " ".join(
            f"create user slurm@'{host}' identified by '{password}'; grant all on {DATABASE}.* to slurm@'{host}';"
            for host in ("localhost", "127.0.0.1")
        )
        _ask(f"{data}/s", f"create database {DATABASE}; {users}", env)
        _configure(conf, folder, port, database_port, password)
        stack.enter_context(_daemon(["slurmdbd", "-D"], folder, {**env, "SLURM_CONF": str(_stub(folder))}))
        # sacctmgr finds slurmdbd through slurm.conf, which is written only after us; a stub does until then.
        stub = {**env, "SLURM_CONF": str(_stub(folder, port))}
        _until(
            lambda: subprocess.run(["sacctmgr", "-n", "show", "cluster"], env=stub, capture_output=True).returncode == 0
        )
        subprocess.run(["sacctmgr", "-i", "add", "cluster", "bed"], env=stub, capture_output=True, check=True)
        yield _storage(port)


def _storage(port: int) -> str:
    kind = "AccountingStorageType=accounting_storage/slurmdbd"
    return f"{kind}\nAccountingStorageHost=localhost\nAccountingStoragePort={port}"


def _stub(folder: Path, port: int | None = None) -> Path:
    path = folder / "stub.conf"
    text = "ClusterName=bed\nSlurmctldHost=localhost\nAuthType=auth/munge\nNodeName=n1\nPartitionName=p Nodes=n1\n"
    path.write_text(text + (_storage(port) + "\n" if port else ""))
    return path


def _configure(conf: Path, folder: Path, port: int, database_port: int, password: str) -> None:
    settings = {
        "AuthType": "auth/munge", "DbdHost": "localhost", "DbdPort": port, "SlurmUser": "root",
        "PidFile": folder / "dbd.pid", "StorageType": "accounting_storage/mysql", "StorageHost": "127.0.0.1",
        "StoragePort": database_port, "StorageUser": "slurm", "StoragePass": password, "StorageLoc": DATABASE,
    }  # fmt: skip
    conf.write_text("\n".join(f"{name}={value}" for name, value in settings.items()) + "\n")
    conf.chmod(0o600)


def _ask(sock: str, query: str, env: dict[str, str]) -> int:
    return subprocess.run(
        ["mariadb", "--no-defaults", "-S", sock, "-e", query], env=env, capture_output=True
    ).returncode


def _until(condition, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the accounts did not come up")
        time.sleep(0.2)
