"""Timing real collectives: starts the ranks, checks that as many run as were asked for, collects what they print.

A rank runs this file: `mpirun -n 4 python -m scalecurve.measurement.collectives_calibration mpi '{...}'`.  A barrier
before a single operation overstates latency by up to two times, so operations run back to back and a block of them is
timed; the slowest rank's block counts.
"""

from __future__ import annotations

import json
import shlex
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from scalecurve.errors import Fault, InputError, MissingExtra, RunError
from scalecurve.laws.collectives import as_operation
from scalecurve.measurement.guard import LoadWatch
from scalecurve.study.message_sweep import MessageSweep, Timing
from scalecurve.study.run import Provenance
from scalecurve.units import WorkersLike, as_workers

LAUNCH = {
    "mpi": "mpirun -n {k}",
    "torch": "{python} -m torch.distributed.run --standalone --nproc-per-node {k} --no-python",
}
MARK = "SCALECURVE "
SIZES = tuple(4**i for i in range(1, 12))

RunRanks = Callable[[list[str], float], str]


def measure_collectives(
    *,
    operations: Sequence[str] = ("allreduce",),
    sizes: Sequence[int] = SIZES,
    ranks: WorkersLike = (2,),
    engine: str = "mpi",
    launch: str | None = None,
    blocks: int = 7,
    block_seconds: float = 0.05,
    timeout: float = 600.0,
    run: RunRanks | None = None,
) -> MessageSweep:
    """Median seconds of every operation at every size (bytes) and number of ranks, over `blocks` of `block_seconds`.

    `launch` starts K ranks, such as "mpirun -n {k}"; `run` stands for the start of a process in tests.
    """
    faults = []
    if engine not in LAUNCH:
        faults.append(Fault("unknown engine", value=engine, remedy=f"one of {', '.join(LAUNCH)}"))
    if not sizes or min(sizes) <= 0:
        faults.append(Fault("message sizes are positive numbers of bytes", where="sizes", value=str(sizes)))
    counts = as_workers(ranks)
    if min(counts) < 2:
        faults.append(Fault("a collective is timed on two ranks or more", where="ranks", value=str(ranks)))
    if faults:
        raise InputError(faults, subject="collective measure")
    names = [str(as_operation(name)) for name in operations]
    plan = {"operations": names, "sizes": list(sizes), "blocks": blocks, "block_seconds": block_seconds}
    timings, watch = [], None if run else LoadWatch()
    for k in counts:
        output = (run or run_process)(command_for(engine, launch, k, json.dumps(plan)), timeout)
        for result in _results_in(output, engine, k):
            samples = [float(value) for value in result["samples"]]
            middle = statistics.median(samples)
            timings.append(
                Timing(
                    operation=result["operation"],
                    ranks=k,
                    message=float(result["message"]),
                    seconds=middle,
                    spread=statistics.median([abs(value - middle) for value in samples]),
                    repeats=len(samples),
                )
            )
    provenance = Provenance(
        tool="scalecurve",
        launcher=launch or LAUNCH[engine],
        timing="back-to-back loops, slowest rank, median over blocks",
        settings={"engine": engine, "blocks": blocks, "block_seconds": block_seconds},
    )
    return MessageSweep(
        timings=tuple(timings),
        system=f"{engine} on this machine",
        provenance=provenance,
        findings=watch.findings("the times of the collectives") if watch else (),
    )


def command_for(engine: str, launch: str | None, k: int, plan: str) -> list[str]:
    """The launch command with the rank's program behind it, as an argument list."""
    try:
        start = [part.format(k=k, python=sys.executable) for part in shlex.split(launch or LAUNCH[engine])]
    except (ValueError, LookupError, AttributeError):
        fault = Fault("not a launch command", value=launch, remedy='"mpirun -n {k}": {k} stands for the ranks')
        raise InputError(fault) from None
    if shutil.which(start[0]) is None:
        if launch is None:
            raise MissingExtra(f"timing collectives with {engine}", engine)
        raise InputError(Fault("the launch command does not exist", value=start[0], remedy="check --launch"))
    return [*start, sys.executable, "-m", "scalecurve.measurement.collectives_calibration", engine, plan]


def _results_in(output: str, engine: str, k: int) -> list[dict[str, Any]]:
    """Operation, message and samples of each timing that rank 0 printed; refused when not K ranks ran."""
    lines = [line[len(MARK) :] for line in output.splitlines() if line.startswith(MARK)]
    if not lines:
        raise RunError(f"the {engine} job with {k} ranks printed no result: {output.strip()[-400:] or 'no output'}")
    data = json.loads(lines[0])
    if data["size"] != k or len(lines) > 1:
        why = "the launcher and the library do not belong together" if data["size"] == 1 else "a wrong launch command"
        raise RunError(f"{k} ranks were asked for but {data['size']} started in {len(lines)} job(s): {why}")
    results: list[dict[str, Any]] = data["results"]
    return results


def run_process(command: list[str], timeout: float) -> str:
    """Run to the end and return what was printed; failures carry the end of the error output."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        raise RunError(f"{command[0]} did not finish within {timeout:g} s") from None
    if done.returncode != 0:
        raise RunError(f"{command[0]} failed with code {done.returncode}: {done.stderr.strip()[-600:]}")
    return done.stdout


Operation = Callable[[], Any]


class CollectiveEngine(Protocol):
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


def time_operation(engine: CollectiveEngine, operation: Operation, blocks: int, seconds: float) -> list[float]:
    """Seconds per operation of each block; a block is as many operations as fill `seconds`."""
    operation()
    begin = time.perf_counter()
    operation()
    once = max(engine.slowest(time.perf_counter() - begin), 1e-7)
    inner = max(1, min(2000, round(seconds / once)))
    times = []
    for _ in range(blocks):
        engine.barrier()
        begin = time.perf_counter()
        for _ in range(inner):
            operation()
        times.append(engine.slowest((time.perf_counter() - begin) / inner))
    return times


def time_all(engine: CollectiveEngine, plan: dict[str, Any]) -> list[dict[str, Any]]:
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
    engine: CollectiveEngine = MpiEngine() if arguments[0] == "mpi" else TorchEngine()
    results = time_all(engine, json.loads(arguments[1]))
    if engine.rank == 0:
        sys.stdout.write(MARK + json.dumps({"size": engine.size, "results": results}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
