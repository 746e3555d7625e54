"""Compute and all-reduce like the ring workload, but one worker may get more of the work: --heavy RANK --factor F."""

from __future__ import annotations

import argparse
import os
import runpy
from pathlib import Path

import numpy as np

from scalecurve import probe

RING = runpy.run_path(str(Path(__file__).resolve().parents[2] / "examples" / "hosts" / "ring.py"))


def share_of(rank: int, size: int, quanta: int, heavy: int, factor: float) -> int:
    """`quanta` cut so that the heavy worker has `factor` times the share of each other one."""
    weights = np.array([factor if i == heavy and size > 1 else 1.0 for i in range(size)])
    edges = np.rint(np.concatenate([[0.0], np.cumsum(weights)]) / weights.sum() * quanta).astype(int)
    return int(edges[rank + 1] - edges[rank])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quanta", type=int, default=9000)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--floats", type=int, default=64)
    parser.add_argument("--heavy", type=int, default=-1)
    parser.add_argument("--factor", type=float, default=1.0)
    parser.add_argument("--address", default="127.0.0.1")
    given = parser.parse_args()
    rank, size = int(os.environ.get(probe.RANK) or 0), int(os.environ.get(probe.SIZE) or 1)
    share = share_of(rank, size, given.quanta, given.heavy, given.factor)
    scratch, vector = np.ones(16_384), np.empty(given.floats)
    ring = RING["Ring"](rank, size, given.address, 41000)
    RING["join_quota"]()
    for _ in probe.steps(range(given.steps), work=share):
        with probe.phase("compute"):
            RING["compute"](share, scratch)
        with probe.phase("communication"):
            vector[:] = rank
            ring.all_reduce(vector)


if __name__ == "__main__":
    main()
