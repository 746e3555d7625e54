"""One rank of `collective measure`: times collectives in back-to-back loops and prints JSON on rank 0.

    mpirun -n 4 python -m scalecurve.measurement.calibration.collective_worker mpi '{"operations": [...], ...}'

A barrier before a single operation overstates latency by up to two times, so operations run back to back and a block of
them is timed; the slowest rank's block counts.  Only the standard library and the engine are used here.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

Operation = Callable[[], Any]


class Engine(Protocol):
    """What a rank needs of mpi4py or torch.distributed."""

    rank: int
    size: int

    def operation(self, name: str, message: int) -> Operation: ...
    def slowest(self, seconds: float) -> float: ...
    def barrier(self) -> None: ...


class MpiEngine:
    """mpi4py with buffers; sizes are bytes per rank for gather-like operations, as IMB and OSU state them."""

    def __init__(self) -> None:
        from mpi4py import MPI

        self._mpi = MPI
        self._comm = MPI.COMM_WORLD
        self.rank, self.size = self._comm.Get_rank(), self._comm.Get_size()

    def operation(self, name: str, message: int) -> Operation:
        comm, count = self._comm, max(1, message)
        mine, whole = bytearray(count), bytearray(count * self.size)
        floats = memoryview(bytearray(max(4, count // 4 * 4))).cast("f")
        result = memoryview(bytearray(len(floats) * 4)).cast("f")
        wide = memoryview(bytearray(max(4, count // 4 * 4) * self.size)).cast("f")
        table: dict[str, Operation] = {
            "allreduce": lambda: comm.Allreduce(floats, result),
            "allgather": lambda: comm.Allgather(mine, whole),
            "alltoall": lambda: comm.Alltoall(bytearray(count * self.size), whole),
            "reduce_scatter": lambda: comm.Reduce_scatter_block(wide, result),
            "broadcast": lambda: comm.Bcast(mine, 0),
            "reduce": lambda: comm.Reduce(floats, result, root=0),
        }
        return table[name]

    def slowest(self, seconds: float) -> float:
        return float(self._comm.allreduce(seconds, op=self._mpi.MAX))

    def barrier(self) -> None:
        self._comm.Barrier()


class TorchEngine:
    """torch.distributed with gloo on tensors of float32."""

    def __init__(self) -> None:
        import torch
        import torch.distributed as dist

        torch.set_num_threads(1)
        dist.init_process_group("gloo")
        self._torch, self._dist = torch, dist
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    def operation(self, name: str, message: int) -> Operation:
        dist, count = self._dist, max(1, message // 4)
        mine = self._torch.zeros(count)
        parts = [self._torch.zeros(count) for _ in range(self.size)]
        others = [self._torch.zeros(count) for _ in range(self.size)]
        table: dict[str, Operation] = {
            "allreduce": lambda: dist.all_reduce(mine),
            "allgather": lambda: dist.all_gather(parts, mine),
            "alltoall": lambda: dist.all_to_all(others, parts),
            "broadcast": lambda: dist.broadcast(mine, 0),
            "reduce": lambda: dist.reduce(mine, 0),
        }
        if name not in table:
            raise SystemExit(f"gloo has no {name}")
        return table[name]

    def slowest(self, seconds: float) -> float:
        value = self._torch.tensor([seconds], dtype=self._torch.float64)
        self._dist.all_reduce(value, op=self._dist.ReduceOp.MAX)
        return float(value.item())

    def barrier(self) -> None:
        self._dist.barrier()


def time_operation(engine: Engine, operation: Operation, blocks: int, seconds: float) -> list[float]:
    """Seconds per operation of each block; a block is as many operations as fill `seconds`."""
    operation()
    begin = time.perf_counter()
    operation()
    once = max(engine.slowest(time.perf_counter() - begin), 1e-7)
    inner = max(1, min(2000, round(seconds / once)))
    found = []
    for _ in range(blocks):
        engine.barrier()
        begin = time.perf_counter()
        for _ in range(inner):
            operation()
        found.append(engine.slowest((time.perf_counter() - begin) / inner))
    return found


def measure(engine: Engine, plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Every operation at every size."""
    return [
        {
            "operation": name,
            "message": size,
            "samples": time_operation(engine, engine.operation(name, size), plan["blocks"], plan["block_seconds"]),
        }
        for name in plan["operations"]
        for size in plan["sizes"]
    ]


def main(arguments: list[str]) -> None:
    engine: Engine = MpiEngine() if arguments[0] == "mpi" else TorchEngine()
    results = measure(engine, json.loads(arguments[1]))
    if engine.rank == 0:
        sys.stdout.write("SCALECURVE " + json.dumps({"size": engine.size, "results": results}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
