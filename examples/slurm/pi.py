"""Pi by the midpoint rule, K ranks: compute a share of the intervals, all-reduce the partial sums, step by step.

mpirun -n 4 python pi.py --intervals 4000000 --rounds 20            a plain program outside a measurement
"""

from __future__ import annotations

import argparse

import numpy as np
from mpi4py import MPI

from scalecurve import probe


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--intervals", type=int, default=4_000_000, help="of one round, shared by all ranks")
    parser.add_argument("--rounds", type=int, default=20)
    given = parser.parse_args()
    world = MPI.COMM_WORLD
    rank, size = world.Get_rank(), world.Get_size()
    first, last = (given.intervals * i // size for i in (rank, rank + 1))
    middles = (np.arange(first, last) + 0.5) / given.intervals
    world.Barrier()
    for _ in probe.steps(range(given.rounds), work=last - first):
        with probe.phase("compute"):
            part = float(np.sum(4.0 / (1.0 + middles * middles))) / given.intervals
        with probe.phase("communication"):
            pi = world.allreduce(part)
    probe.digest(round(pi, 9))
    if rank == 0:
        print(f"pi = {pi:.9f} with {size} ranks")


if __name__ == "__main__":
    main()
