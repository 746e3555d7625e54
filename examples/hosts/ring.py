"""Compute and all-reduce, the shape of data-parallel training: K processes, a ring of TCP connections.

Each step does a fixed amount of arithmetic, divided among the workers, and then sums a vector over all of them by a
ring all-reduce (reduce-scatter and all-gather, 2 (K - 1) messages of 1/K of the vector each).  Start it with the local
launcher and mode = "processes"; the workers find each other by `--address`, in which {rank} is the worker's number.

    python ring.py --quanta 2000 --steps 10 --floats 131072 --address 127.0.0.1
"""

from __future__ import annotations

import argparse
import os
import select
import socket
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

from scalecurve import probe

Vector = npt.NDArray[np.float64]
CONNECT_SECONDS = 60.0


class Ring:
    """A connection to the next worker and one from the last."""

    def __init__(self, rank: int, size: int, address: str, port: int) -> None:
        self.rank, self.size = rank, size
        if size == 1:
            return
        listener = socket.create_server((_at(address, rank), port + rank), reuse_port=False)
        neighbour = (rank + 1) % size
        deadline = time.monotonic() + CONNECT_SECONDS
        while True:
            try:
                self.next = socket.create_connection((_at(address, neighbour), port + neighbour), timeout=5)
                break
            except OSError:  # the neighbour may not listen yet
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
        self.last, _ = listener.accept()
        listener.close()
        for connection in (self.next, self.last):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.setblocking(False)

    def all_reduce(self, vector: Vector) -> None:
        """The sum over all workers, in place."""
        parts = np.array_split(vector, self.size)
        for turn in range(self.size - 1):
            mine, theirs = (self.rank - turn) % self.size, (self.rank - turn - 1) % self.size
            received = np.empty_like(parts[theirs])
            self._exchange(parts[mine], received)
            parts[theirs] += received
        for turn in range(self.size - 1):
            mine, theirs = (self.rank + 1 - turn) % self.size, (self.rank - turn) % self.size
            self._exchange(parts[mine], parts[theirs])

    def _exchange(self, out: Vector, into: Vector) -> None:
        """Send and receive at the same time: two that only send would wait for each other for ever."""
        to_send, to_fill = out.data.cast("B"), into.data.cast("B")
        while to_send or to_fill:
            readable, writable, _ = select.select(
                [self.last] if to_fill else [], [self.next] if to_send else [], [], CONNECT_SECONDS
            )
            if not readable and not writable:
                raise TimeoutError("a neighbour in the ring is silent")
            if writable:
                to_send = to_send[self.next.send(to_send) :]
            if readable:
                count = self.last.recv_into(to_fill)
                if count == 0:
                    raise ConnectionError("a neighbour in the ring is gone")
                to_fill = to_fill[count:]


def _at(address: str, rank: int) -> str:
    return address.replace("{rank}", str(rank)).replace("{rank_plus_one}", str(rank + 1))


def join_quota() -> None:
    """On a shaped host the quota begins here, after the imports."""
    group = os.environ.get("HOST_QUOTA")
    if group:
        Path(group).write_text(str(os.getpid()))


def compute(quanta: int, scratch: Vector) -> float:
    """The arithmetic: `quanta` equal pieces of some tens of microseconds each."""
    total = 0.0
    for _ in range(quanta):
        np.multiply(scratch, 1.0000001, out=scratch)
        total += float(scratch[0])
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description="compute and all-reduce with K processes")
    parser.add_argument("--quanta", type=int, default=2000, help="pieces of arithmetic per step, divided among workers")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--floats", type=int, default=65536, help="length of the vector that is summed")
    parser.add_argument("--address", default="127.0.0.1", help="of a worker; {rank} or {rank_plus_one} is its number")
    parser.add_argument("--port", type=int, default=21000)
    options = parser.parse_args()
    rank, size = int(os.environ.get(probe.RANK) or 0), int(os.environ.get(probe.SIZE) or 1)
    share = options.quanta * (rank + 1) // size - options.quanta * rank // size
    scratch, vector = np.ones(16_384), np.empty(options.floats)
    ring = Ring(rank, size, options.address, options.port)
    join_quota()
    for step in probe.steps(range(options.steps), work=share):
        with probe.phase("compute"):
            compute(share, scratch)
        with probe.phase("all_reduce"):
            vector[:] = rank + step
            ring.all_reduce(vector)
    expected = size * (options.steps - 1) + size * (size - 1) / 2
    if not np.all(vector == expected):
        raise SystemExit(f"the all-reduce gave {vector[0]}, not {expected}")


if __name__ == "__main__":
    main()
