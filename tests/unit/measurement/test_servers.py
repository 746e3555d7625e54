"""Servers are found by number and name, what they use is counted exactly, and whom a job talks to is read from `ss`."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from scalecurve.measurement import guard
from scalecurve.measurement.figures import latencies_in
from scalecurve.measurement.guard import LoadWatch
from scalecurve.measurement.servers import Peer, Servers, _peers_in, used_between
from scalecurve.measurement.settings import make_settings
from tests.fakes.world import FakeMachine

FORKS = """
import os, sys, time
for line in sys.stdin:
    if os.fork() == 0:
        while time.process_time() < 0.2: pass
        os._exit(0)
    os.wait(); print("done", flush=True)
"""


def test_what_a_server_and_its_short_lived_children_use() -> None:
    with subprocess.Popen(
        [sys.executable, "-S", "-c", FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin
        assert server.stdout
        servers = Servers((str(server.pid),))
        before = servers.reading()
        for _ in range(2):
            server.stdin.write("x\n")
            server.stdin.flush()
            assert server.stdout.readline() == "done\n"
        used = used_between(before, servers.reading())
        server.stdin.close()
    assert 0.35 <= used["cpu_seconds"] <= 0.8
    assert used["processes"] == 1
    assert used["cores"] == sorted(os.sched_getaffinity(server.pid) if server.poll() is None else used["cores"])


def test_a_name_that_no_process_has_is_a_fault() -> None:
    assert [fault.value for fault in Servers(("no-such-program-here", str(os.getpid()))).faults()] == [
        "no-such-program-here"
    ]


def test_peers_by_local_socket_and_by_tcp() -> None:
    text = """
u_str 0 768 * 75038 * 75039 users:(("pgbench",pid=20,fd=4))
u_str 111 0 /var/run/postgresql/.s.PGSQL.5432 75039 * 75038 users:(("postgres",pid=30,fd=7))
tcp   0 0 127.0.0.1:40000 127.0.0.1:6379 users:(("bench",pid=21,fd=4))
tcp   0 0 127.0.0.1:6379 127.0.0.1:40000 users:(("redis-server",pid=31,fd=9))
tcp   0 0 127.0.0.1:50000 127.0.0.1:50001 users:(("bench",pid=21,fd=5))
tcp   0 0 127.0.0.1:50001 127.0.0.1:50000 users:(("helper",pid=22,fd=5))
tcp   0 0 10.0.0.1:6000 10.0.0.9:80 users:(("bench",pid=21,fd=6))
"""
    assert set(_peers_in(text, {20, 21, 22})) == {Peer("postgres", 30), Peer("redis-server", 31)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("latency average = 5.964 ms\ntps = 335.3", {"mean": 5.964e-3}),
        ("  Thread Stats   Avg\n    Latency   635.91us  0.89ms  12.92ms\n", {"mean": 635.91e-6}),
        ("  Latency Distribution\n     50%  635.00us\n     99%   12.92ms\n", {"p50": 635e-6, "p99": 12.92e-3}),
        ("  50%% in 0.0009 secs\n".replace("%%", "%"), {"p50": 0.0009}),
        ("http_req_duration: avg=1ms p(95)=2.5ms", {"p95": 2.5e-3}),
        ("     95th percentile:                        12.30", {"p95": 12.3e-3}),
        (
            "  latency summary (msec):\n          avg       min       p50       p95       p99       max\n"
            "        0.223     0.072     0.215     0.311     0.471     4.039\n",
            {"mean": 0.223e-3, "p50": 0.215e-3, "p95": 0.311e-3, "p99": 0.471e-3},
        ),
        ("error 50 ms, 12% done, step 3s", {}),
    ],
)
def test_latencies_as_load_generators_print_them(text: str, expected: dict[str, float]) -> None:
    assert latencies_in(text) == pytest.approx(expected)


def test_clients_and_rates_are_load() -> None:
    units = ["clients", "Connections", "users", "requests/s", "queries per second", "workers", "gpus", "ranks"]
    base = {"regime": "weak", "workers": "1", "command": ["x"]}
    load = [make_settings({**base, "k_unit": unit}).k_is_load for unit in units]
    assert load == [True] * 5 + [False] * 3


def test_others_are_what_the_cores_worked_without_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    busy, moment = 0.0, 0.0
    monkeypatch.setattr(guard, "busy_seconds", lambda machine: busy)
    monkeypatch.setattr(guard.time, "perf_counter", lambda: moment)
    watch = LoadWatch(machine=FakeMachine(8))
    busy, moment = 100.0, 20.0
    cores = watch.foreign_cores()
    assert cores is not None
    assert 4.5 < cores <= 5.0
    (finding,) = watch.findings("the ceilings")
    assert finding.code == "disturbed"
    assert "of 8 cores" in finding.message
    busy = 5.0
    assert watch.findings("the ceilings") == ()
