"""A strong-scaling job that every machine can run: the steady heat of a plate by Jacobi sweeps, K processes.

The plate has N x N cells, its top edge is hot.  One sweep replaces every cell by the mean of its four neighbours; the
rows are divided among the processes, which meet after every sweep (a barrier: communication).  The arithmetic of a cell
does not depend on K, so the answer is the same to the last bit.

    python -m scalecurve.measurement.workloads.heat --workers 2 --cells 512 --sweeps 200
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import sys
from multiprocessing.shared_memory import SharedMemory
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scalecurve import probe

Plate = npt.NDArray[np.float64]


class PlateRows(NamedTuple):
    """The rows of one worker: first to last, without the fixed edges."""

    rank: int
    size: int
    first: int
    last: int


def share_out(rows: int, size: int) -> list[PlateRows]:
    """Rows 1..rows in `size` parts that differ by at most one row."""
    cuts = [1 + rows * rank // size for rank in range(size + 1)]
    return [PlateRows(rank, size, cuts[rank], cuts[rank + 1]) for rank in range(size)]


def relax(old: Plate, new: Plate, part: PlateRows, scratch: Plate) -> None:
    """One Jacobi sweep over the rows of a part."""
    rows = slice(part.first, part.last)
    np.add(old[part.first - 1 : part.last - 1, 1:-1], old[part.first + 1 : part.last + 1, 1:-1], out=scratch)
    np.add(scratch, old[rows, :-2], out=scratch)
    np.add(scratch, old[rows, 2:], out=scratch)
    np.multiply(scratch, 0.25, out=new[rows, 1:-1])


def work(part: PlateRows, name: str, cells: int, sweeps: int, barrier: Any) -> None:
    """One process; it reports its rank because the launcher does not know it."""
    probe.identify(rank=part.rank, size=part.size)
    memory = SharedMemory(name=name)
    plates: Plate = np.ndarray((2, cells + 2, cells + 2), dtype=np.float64, buffer=memory.buf)
    scratch = np.empty((part.last - part.first, cells))
    barrier.wait()
    mine = (part.last - part.first) * cells
    for sweep in probe.steps(range(sweeps), work=mine):
        with probe.phase("compute"):
            relax(plates[sweep % 2], plates[1 - sweep % 2], part, scratch)
        with probe.phase("communication"):
            barrier.wait()
    probe.digest(answer_of(plates[sweeps % 2]))
    del plates
    memory.close()


def answer_of(plate: Plate) -> str:
    """A checksum of the plate."""
    return hashlib.sha256(plate.tobytes()).hexdigest()[:16]


def run(workers: int, cells: int, sweeps: int) -> int:
    """Start K processes on one shared plate and wait for them; returns the largest exit code."""
    context = multiprocessing.get_context("fork")
    memory = SharedMemory(create=True, size=2 * (cells + 2) ** 2 * 8)
    try:
        plates: Plate = np.ndarray((2, cells + 2, cells + 2), dtype=np.float64, buffer=memory.buf)
        plates[:] = 0.0
        plates[:, 0, :] = 1.0
        barrier = context.Barrier(workers)
        parts = share_out(cells, workers)
        processes = [context.Process(target=work, args=(p, memory.name, cells, sweeps, barrier)) for p in parts]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        del plates
        return max(abs(process.exitcode or 0) for process in processes)
    finally:
        memory.close()
        memory.unlink()


def main() -> int:
    parser = argparse.ArgumentParser(description="Jacobi sweeps over a heated plate with K processes")
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--cells", type=int, default=512)
    parser.add_argument("--sweeps", type=int, default=200)
    options = parser.parse_args()
    if not 1 <= options.workers <= options.cells or options.sweeps < 1:
        parser.error("workers must be from 1 to cells, sweeps at least 1")
    return run(options.workers, options.cells, options.sweeps)


if __name__ == "__main__":
    sys.exit(main())
