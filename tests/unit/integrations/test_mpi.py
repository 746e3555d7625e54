from __future__ import annotations

import time
from typing import Any

import pytest

from scalecurve import probe
from scalecurve.integrations.mpi import TimedComm, wrap


class Request:
    def wait(self) -> str:
        time.sleep(0.002)
        return "received"

    def Wait(self) -> None:  # noqa: N802
        time.sleep(0.002)


class Comm:
    """Shaped like an mpi4py communicator."""

    rank = 3

    def Get_rank(self) -> int:  # noqa: N802
        return 3

    def allreduce(self, value: float) -> float:
        time.sleep(0.002)
        return value * 2

    def irecv(self, source: int = 0) -> Request:
        return Request()

    def Split(self, color: int) -> Comm:  # noqa: N802
        return Comm()

    def bcast(self, value: Any) -> Any:
        raise RuntimeError("no network")


def test_calls_are_timed_and_everything_else_is_left_alone() -> None:
    comm = wrap(Comm())

    assert comm.Get_rank() == comm.rank == 3
    assert comm.seconds == 0.0
    assert comm.allreduce(2.0) == 4.0
    assert comm.totals["allreduce"] >= 0.002
    assert comm.seconds == pytest.approx(sum(comm.totals.values()))


def test_waiting_for_a_request_is_communication() -> None:
    comm = wrap(Comm())

    assert comm.irecv(source=1).wait() == "received"
    assert comm.totals["wait"] >= 0.002


def test_communicators_made_from_it_share_its_total_and_errors_pass_through() -> None:
    comm = wrap(Comm())
    part = comm.Split(0)

    part.allreduce(1.0)
    assert isinstance(part, TimedComm)
    assert comm.seconds > 0
    assert wrap(comm) is comm
    with pytest.raises(RuntimeError, match="no network"):
        comm.bcast(1)
    assert "bcast" in comm.totals


def test_inside_a_measurement_the_probe_gets_the_phase(tmp_path: Any) -> None:
    probe.start(str(tmp_path), rank=0, size=1)
    try:
        comm = probe.wrap(Comm())
        for _ in probe.steps(range(3)):
            comm.allreduce(1.0)
    finally:
        probe.finish()
    (written,) = tmp_path.glob("rank-0-*.jsonl")

    assert '"communication": 0.0' in written.read_text()
