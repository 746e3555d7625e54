"""What threads do, sampled from outside: against the CPU time that the kernel charged, and with known waiting."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from scalecurve.measurement import threads
from scalecurve.measurement.threads import ThreadSampler

BUSY_BESIDE_A_LOCK = """
import threading, time
lock = threading.Lock(); lock.acquire()
threading.Thread(target=lock.acquire, daemon=True).start()
while time.process_time() < 0.4: pass
lock.release()
"""


def test_a_busy_thread_beside_one_that_waits_for_a_lock() -> None:
    begin, before = time.perf_counter(), os.times()
    with subprocess.Popen([sys.executable, "-S", "-c", BUSY_BESIDE_A_LOCK]) as job:
        sampler = ThreadSampler(os.getpid(), begin)
        while job.poll() is None:
            time.sleep(sampler.due())
            sampler.sample()
    after, wall = os.times(), time.perf_counter() - begin
    charged = after.children_user + after.children_system - before.children_user - before.children_system
    raw = sampler.seconds["running"]
    facts = sampler.facts(wall, charged)
    assert facts is not None
    assert raw <= charged + 0.05
    assert facts["running"] == pytest.approx(max(raw, charged), abs=0.02)
    assert facts["futex"] > 0.5 * facts["blocked_other"] > 0
    assert facts["alone"] > 0.5 * wall
    parts = sum(facts[name] for name in ("running", "runnable", "blocked_io", "blocked_other"))
    assert parts == pytest.approx(facts["threads"] * wall, rel=0.25)


def states(monkeypatch: pytest.MonkeyPatch, *samples: dict[str, tuple[str, float, float]]) -> ThreadSampler:
    """A sampler after the given samples, one second apart: state, seconds run and seconds waited of each thread."""
    moment = 0.0
    monkeypatch.setattr(threads.time, "perf_counter", lambda: moment)
    sampler = ThreadSampler(1, 0.0)
    for place, sample in enumerate(samples, 1):
        moment = float(place)

        def read(path: str, sample: dict[str, tuple[str, float, float]] = sample) -> bytes:
            thread, _, file = path.rpartition("/")
            state, ran, waited = sample[thread]
            stat = f"1 (a b) {state} {'0 ' * 18}0"
            texts = {"schedstat": f"{ran * 1e9:.0f} {waited * 1e9:.0f} 1", "stat": stat, "wchan": "0"}
            return texts[file].encode()

        monkeypatch.setattr(threads, "read_small", read)
        monkeypatch.setattr(threads, "threads_below", lambda root, sample=sample: iter(sample))
        sampler.sample()
    return sampler


def test_what_waiting_for_a_core_cost_lies_between_the_least_and_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = states(
        monkeypatch,
        {"a": ("R", 0.6, 0.4), "b": ("R", 0.7, 0.3), "idle": ("S", 0.0, 0.0)},
        {"a": ("R", 1.6, 0.4), "b": ("D", 0.7, 0.4), "idle": ("S", 0.0, 0.0)},
    )
    assert sampler.lost(2.0) == pytest.approx((0.3 + 0.0, 0.7 + 0.1))
    assert sampler.seconds == pytest.approx(
        {"running": 2.3, "runnable": 0.8, "blocked_io": 0.9, "blocked_other": 2.0, "futex": 0.0, "alone": 0.9}
    )


def test_one_thread_ran_alone_for_what_it_ran_longer_than_all_others_ran_and_waited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three threads of which two are runnable at the look: one ran 0.9 s, the others 0.2 s, so 0.7 s were alone.  Two
    that each ran 0.8 s of the second were together for 0.6 s at least, and alone for the rest as one always ran."""
    three = {"a": ("R", 0.9, 0.0), "b": ("R", 0.1, 0.0), "c": ("S", 0.1, 0.0)}
    assert states(monkeypatch, three).seconds["alone"] == pytest.approx(0.7)
    two = {"a": ("R", 0.8, 0.0), "b": ("R", 0.8, 0.0)}
    assert states(monkeypatch, two).seconds["alone"] == pytest.approx(0.4)


def test_a_thread_counts_from_its_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is 0.5 s old, watched for one second: the mean number of its threads is one."""
    monkeypatch.setattr(threads.time, "clock_gettime", lambda clock: 0.5 + 0.5 / threads.TICKS)
    facts = states(monkeypatch, {"a": ("R", 0.5, 0.0)}).facts(0.5, 0.5)
    assert facts is not None
    assert (facts["threads"], facts["alone"]) == (1.0, 0.5)


def test_all_waiting_together_costs_no_more_than_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = states(monkeypatch, {"a": ("R", 0.2, 0.8), "b": ("R", 0.1, 0.9)})
    assert sampler.lost(1.0) == pytest.approx((0.8, 1.0))


def test_threads_that_never_block_lose_what_the_one_that_waited_least_waited_in_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(threads, "WINDOW_SECONDS", 9.0)
    sampler = states(
        monkeypatch,
        {"a": ("R", 1.0, 0.0), "b": ("R", 0.0, 1.0)},
        {"a": ("R", 1.0, 1.0), "b": ("R", 1.0, 1.0)},
    )
    assert sampler.lost(2.0) == pytest.approx((1.0, 2.0))


def test_a_wait_that_has_not_ended_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = states(
        monkeypatch,
        {"a": ("R", 1.0, 0.0)},
        {"a": ("R", 1.0, 0.0)},
        {"a": ("R", 1.5, 1.5)},
    )
    assert sampler.lost(3.0) == pytest.approx((1.5, 1.5))
    assert sampler.seconds["blocked_other"] == 0.0
