"""Measure load curves of real programs on this machine: python -m tools.measure_loads SCRATCH CSV [SOURCE ...]

Throughput or time against clients, threads or jobs from 1 to 64, far beyond the cores: the side of a scaling study that
few repositories publish.  Every K runs REPEATS times, in another random order each time, so that a disturbance does not
sit on one K.  Rows are appended curve by curve in the columns of the published curves; tools/loads/README.md says more.
Servers listen on 127.0.0.1 only and keep their files in SCRATCH.
"""

# ruff: noqa: E501 - the catalog is a table, one command a line

from __future__ import annotations

import csv
import os
import random
import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

REPEATS = 3
K = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
PATIENCE = 30.0  # seconds for a server to answer, and for one run
PROGRAMS = Path(__file__).parent / "loads"
COLUMNS = (
    "curve_id", "domain", "application", "regime", "system", "quantity", "unit", "K", "k_unit", "value", "repeat", "std",
    "problem_size", "source_repo", "source_path", "commit_if_known", "notes",
)  # fmt: skip


@dataclass(frozen=True)
class Program:
    """What is measured: `prepare` runs once, `server` in the background until `port` answers; {d} is its folder.

    `version` is a command whose output holds the version number.
    """

    name: str
    version: str
    domain: str
    k_unit: str
    curves: tuple[LoadCurve, ...]
    prepare: tuple[str, ...] = ()
    server: str = ""
    port: int = 0
    k: tuple[int, ...] = K


@dataclass(frozen=True)
class LoadCurve:
    """One curve: `command` with {k} and {d}; `pattern` finds the rate in its output, None takes the wall-clock time."""

    name: str
    unit: str
    command: str
    pattern: str | None = None


def wrk(port: int, path: str = "/") -> str:
    return f"sh -c 'wrk -d1s -c {{k}} -t $(( {{k}} < 2 ? 1 : 2 )) http://127.0.0.1:{port}{path}'"


WRK = r"Requests/sec:\s+([\d.]+)"
REDIS = r'"[^"]*","([\d.]+)"'
PG = "/usr/lib/postgresql/15/bin"
PGBENCH = r"tps = ([\d.]+)"
SYSBENCH = r"queries:\s+\d+\s+\(([\d.]+) per sec"
SYSBENCH_DB = "--db-driver=mysql --mysql-socket={d}/s --mysql-user=root --mysql-db=t --tables=2 --table-size=20000"
BASE_PORT = 21700


def _redis(test: str, more: str = "") -> str:
    return f"redis-benchmark -p {BASE_PORT} -c {{k}} -n 20000 -r 10000 --csv -t {test} {more}"


def _sysbench_db(test: str) -> LoadCurve:
    command = f"sysbench {test} {SYSBENCH_DB} --threads={{k}} --time=1 --rand-type=uniform run"
    return LoadCurve(test, "queries/s", command, SYSBENCH)


def _rocks(test: str) -> LoadCurve:
    flags = "--num=20000 --duration=1 --use_existing_db=1 --value_size=200"
    return LoadCurve(
        test, "op/s", f"db_bench --db={{d}}/db --benchmarks={test} --threads={{k}} {flags}", r"micros/op (\d+) ops/sec"
    )


def _fio(name: str, where: str, flags: str, unit: str, field: int) -> LoadCurve:
    """`field` of fio's terse output: 6 and 47 are KiB/s, 7 and 48 IOPS, of reads and writes."""
    command = f"fio --minimal --name=j --filename={where} --size=64m --numjobs={{k}} --group_reporting --time_based"
    return LoadCurve(name, unit, f"{command} --runtime=1 --thread {flags}", rf"^(?:[^;\n]*;){{{field}}}(\d+);")


CATALOG: tuple[Program, ...] = (
    Program("postgresql", f"{PG}/postgres --version", "database", "clients", (
        LoadCurve("pgbench select", "transactions/s", "pgbench -h {d} -p 21701 -U root -S -n -c {k} -j 2 -T 1 postgres", PGBENCH),
        LoadCurve("pgbench tpcb", "transactions/s", "pgbench -h {d} -p 21701 -U root -n -c {k} -j 2 -T 1 postgres", PGBENCH),
        LoadCurve("pgbench simple update", "transactions/s", "pgbench -h {d} -p 21701 -U root -N -n -c {k} -j 2 -T 1 postgres", PGBENCH),
        LoadCurve("pgbench new connections", "transactions/s", "pgbench -h {d} -p 21701 -U root -S -C -n -c {k} -j 2 -T 1 postgres", PGBENCH),
    ), ("chown nobody {d}", f"setpriv --reuid=nobody --clear-groups {PG}/initdb -D {{d}}/pg -U root",
        ), f"setpriv --reuid=nobody --clear-groups {PG}/postgres -D {{d}}/pg -k {{d}} -p 21701 -c max_connections=200", 21701),
    Program("mariadb", "mariadbd --version", "database", "clients", (
        _sysbench_db("oltp_point_select"), _sysbench_db("oltp_read_write"), _sysbench_db("oltp_write_only"),
        _sysbench_db("oltp_update_index"),
    ), ("mariadb-install-db --no-defaults --user=root --datadir={d}/m --auth-root-authentication-method=normal",),
       "mariadbd --no-defaults --user=root --datadir={d}/m --socket={d}/s --port=21702 --bind-address=127.0.0.1", 21702),
    Program("redis", "redis-server --version", "database", "clients", (
        LoadCurve("get", "requests/s", _redis("get"), REDIS), LoadCurve("set", "requests/s", _redis("set"), REDIS),
        LoadCurve("lrange 100", "requests/s", f"redis-benchmark -p {BASE_PORT} -c {{k}} -n 6000 --csv -t lrange_100", r'"LRANGE_100[^"]*","([\d.]+)"'),
        LoadCurve("get, pipeline 8", "requests/s", _redis("get", "-P 8"), REDIS),
    ), (), f"redis-server --port {BASE_PORT} --save '' --dir {{d}} --bind 127.0.0.1", BASE_PORT),
    Program("apache", "apache2 -v", "database", "clients", (
        LoadCurve("small file, ab", "requests/s", "ab -q -t 1 -n 100000 -c {k} http://127.0.0.1:21704/small", r"Requests per second:\s+([\d.]+)"),
        LoadCurve("100 kB file, wrk", "requests/s", wrk(21704, "/large"), WRK),
    ), (f"{sys.executable} {PROGRAMS}/text.py {{d}}/large 100000", f"{sys.executable} {PROGRAMS}/text.py {{d}}/small 600",
        f"{sys.executable} {PROGRAMS}/fill.py {PROGRAMS}/apache2.conf {{d}}"), "apache2 -X -f {d}/apache2.conf", 21704),
    Program("haproxy", "haproxy -v", "database", "clients", (
        LoadCurve("before one python server", "requests/s", wrk(21706), WRK),
        LoadCurve("before one python server, 4 connections", "requests/s", wrk(21707), WRK),
    ), (f"{sys.executable} {PROGRAMS}/fill.py {PROGRAMS}/haproxy.cfg {{d}}",),
       f"sh -c '{sys.executable} {PROGRAMS}/pool_server.py 21708 0.001 64 & haproxy -f {{d}}/haproxy.cfg'", 21706),
    Program("python-server", "python3 --version", "database", "clients", (
        LoadCurve("threads, 2 ms of work", "requests/s", wrk(21709), WRK),
        LoadCurve("threads, 2 ms of work, hey", "requests/s", "hey -z 1s -c {k} http://127.0.0.1:21709/", r"Requests/sec:\s+([\d.]+)"),
    ), (), f"{sys.executable} {PROGRAMS}/busy_server.py 21709", 21709),
    Program("node-server", "node --version", "database", "clients", (
        LoadCurve("pool of 8 at 4 ms", "requests/s", wrk(21710, "/pool"), WRK), LoadCurve("hash of 20 kB", "requests/s", wrk(21710, "/hash"), WRK),
    ), (), f"node {PROGRAMS}/node_server.js 21710", 21710),
    Program("memcached", "memcached --version", "database", "clients", (
        LoadCurve("set and get", "requests/s", f"{sys.executable} {PROGRAMS}/line_client.py memcached 21711 {{k}}", r"([\d.]+)"),
    ), (), "memcached -u nobody -l 127.0.0.1 -p 21711 -c 1024", 21711),
    Program("beanstalkd", "beanstalkd -v", "database", "clients", (
        LoadCurve("put, log on disk", "messages/s", f"{sys.executable} {PROGRAMS}/line_client.py beanstalkd 21712 {{k}}", r"([\d.]+)"),
    ), ("mkdir -p {d}/b",), "beanstalkd -l 127.0.0.1 -p 21712 -b {d}/b -f 0", 21712),
    Program("etcd", "etcd --version", "database", "clients", (
        LoadCurve("put by HTTP", "requests/s", f"sh -c 'wrk -d1s -c {{k}} -t $(( {{k}} < 2 ? 1 : 2 )) -s {PROGRAMS}/etcd_put.lua http://127.0.0.1:21713/v3/kv/put'", WRK),
        LoadCurve("range by HTTP", "requests/s", f"sh -c 'wrk -d1s -c {{k}} -t $(( {{k}} < 2 ? 1 : 2 )) -s {PROGRAMS}/etcd_put.lua http://127.0.0.1:21713/v3/kv/range'", WRK),
    ), (), "etcd --data-dir {d}/e --listen-client-urls http://127.0.0.1:21713 --advertise-client-urls http://127.0.0.1:21713"
           " --listen-peer-urls http://127.0.0.1:21714", 21713),
    Program("unbound", "unbound -V", "database", "clients", (
        LoadCurve("local zone", "queries/s", "dnsperf -s 127.0.0.1 -p 21715 -d {d}/q -l 1 -c {k} -q {k} -T 1", r"Queries per second:\s+([\d.]+)"),
    ), (f"{sys.executable} {PROGRAMS}/fill.py {PROGRAMS}/unbound.conf {{d}}", "sh -c 'echo a.example A > {d}/q'"),
       "unbound -d -c {d}/unbound.conf", 0),
    Program("sqlite", "sqlite3 --version", "database", "clients", (
        LoadCurve("insert, one lock", "transactions/s", f"{sys.executable} {PROGRAMS}/sqlite_load.py {{d}}/x.db {{k}} write", r"([\d.]+)"),
        LoadCurve("select", "transactions/s", f"{sys.executable} {PROGRAMS}/sqlite_load.py {{d}}/y.db {{k}} read", r"([\d.]+)"),
    )),
    Program("rocksdb", "db_bench --version", "database", "threads", (
        _rocks("readrandom"), _rocks("readwhilewriting"), _rocks("overwrite"),
    ), ("db_bench --db={d}/db --benchmarks=fillseq --num=20000 --value_size=200",)),
    Program("fio", "fio --version", "storage", "jobs", (
        _fio("random reads, disk", "{d}/file", "--rw=randread --bs=4k --direct=1 --ioengine=psync", "IOPS", 7),
        _fio("random writes, disk", "{d}/file", "--rw=randwrite --bs=4k --direct=1 --ioengine=psync", "IOPS", 48),
        _fio("writes with fsync, disk", "{d}/file", "--rw=randwrite --bs=4k --fsync=1 --ioengine=psync", "IOPS", 48),
        _fio("sequential reads, disk", "{d}/file", "--rw=read --bs=1m --direct=1 --ioengine=psync", "KiB/s", 6),
    )),
)  # fmt: skip


def version_of(program: Program) -> str:
    """The first number with a dot that the program prints about itself."""
    done = subprocess.run(
        shlex.split(program.version), capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL
    )
    match = re.search(r"\d+\.\d[\w.]*", done.stdout + done.stderr)
    return match[0] if match else "unknown"


@contextmanager
def serving(program: Program, folder: Path) -> Iterator[None]:
    """The program prepared and its server running until the block ends."""
    folder.mkdir(parents=True, exist_ok=True)
    for command in program.prepare:
        subprocess.run(shlex.split(command.format(d=folder)), capture_output=True, check=True, timeout=4 * PATIENCE)
    if not program.server:
        yield
        return
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            shlex.split(program.server.format(d=folder)), stdout=log, stderr=log, start_new_session=True
        )
        try:
            end = time.monotonic() + PATIENCE
            while program.port and time.monotonic() < end:
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", program.port)) == 0:
                        break
                time.sleep(0.2)
            time.sleep(0.5)
            yield
        finally:
            os.killpg(server.pid, 15)
            server.wait(PATIENCE)


def one_run(curve: LoadCurve, folder: Path, k: int) -> float | None:
    """The rate or the seconds of one run; None where it failed."""
    start = time.monotonic()
    try:
        done = subprocess.run(
            shlex.split(curve.command.replace("{k}", str(k)).replace("{d}", str(folder))),
            capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None
    seconds = time.monotonic() - start
    if done.returncode != 0:
        return None
    if curve.pattern is None:
        return seconds
    match = re.search(curve.pattern, done.stdout + done.stderr, re.MULTILINE)
    return float(match[1]) if match else None


def measured(program: Program, curve: LoadCurve, folder: Path) -> Iterator[dict[str, object]]:
    """The rows of one curve, every K REPEATS times in shuffled order; nothing where one of the first runs fails."""
    rng = random.Random(curve.name)
    one_run(curve, folder, 2)  # caches and first compilations
    version, timed = version_of(program), curve.pattern is None
    for repeat in range(REPEATS):
        for k in rng.sample(program.k, len(program.k)):
            value = one_run(curve, folder, k)
            if value is not None and value > 0:
                yield {
                    "curve_id": f"here-{program.name}-{curve.name.replace(' ', '-').replace(',', '')}",
                    "domain": program.domain,
                    "application": f"{program.name} {curve.name}",
                    "regime": "strong" if timed else "throughput",
                    "system": "virtual machine, 2 cores, 23 GB, shared with other users",
                    "quantity": "time_s" if timed else "throughput",
                    "unit": curve.unit,
                    "K": k,
                    "k_unit": program.k_unit,
                    "value": f"{value:.6g}",
                    "repeat": repeat,
                    "source_repo": f"measured: {program.name}",
                    "source_path": curve.command.replace(str(PROGRAMS), "tools/loads").replace(
                        sys.executable, "python"
                    ),
                    "commit_if_known": version,
                }


def main(arguments: Sequence[str]) -> int:
    scratch, target, wanted = Path(arguments[0]).resolve(), Path(arguments[1]), arguments[2:]
    new = not target.exists()
    with target.open("a", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        if new:
            writer.writeheader()
        for program in CATALOG:
            if wanted and program.name not in wanted:
                continue
            folder = scratch / program.name
            try:
                with serving(program, folder):
                    if program.name in ("postgresql", "mariadb"):
                        fill_database(program.name, folder)
                    for curve in program.curves:
                        rows = list(measured(program, curve, folder))
                        writer.writerows(rows)
                        stream.flush()
                        print(f"{program.name}, {curve.name}: {len(rows)} rows", flush=True)
            except (subprocess.SubprocessError, OSError) as problem:
                print(f"{program.name}: {problem}", file=sys.stderr, flush=True)
    return 0


def fill_database(name: str, folder: Path) -> None:
    """Tables for the database benchmarks, once the server answers."""
    if name == "postgresql":
        commands = [f"pgbench -h {folder} -p 21701 -U root -i -q postgres"]
    else:
        options = SYSBENCH_DB.format(d=folder)
        commands = [
            f"mariadb --socket={folder}/s -u root -e 'create database if not exists t'",
            f"sysbench oltp_read_write {options} prepare",
        ]
    for command in commands:
        subprocess.run(shlex.split(command), capture_output=True, check=True, timeout=4 * PATIENCE)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
