"""The heated plate of `heat` as one plain process, for the baseline: no other processes, no shared memory, no barrier.

The rows are swept in blocks that stay in the cache between the four additions; the arithmetic of a cell is the same,
so the answer is the same to the last bit.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from scalecurve import probe
from scalecurve.measurement.workloads.heat import Plate, PlateRows, answer_of, relax

BLOCK_CELLS = 32_768


def run(cells: int, sweeps: int) -> str:
    """The checksum of the plate after all sweeps."""
    rows = max(1, BLOCK_CELLS // cells)
    parts = [PlateRows(0, 1, first, min(first + rows, cells + 1)) for first in range(1, cells + 1, rows)]
    plates: Plate = np.zeros((2, cells + 2, cells + 2))
    plates[:, 0, :] = 1.0
    scratch = np.empty((rows, cells))
    for sweep in probe.steps(range(sweeps), work=cells * cells):
        with probe.phase("compute"):
            for part in parts:
                relax(plates[sweep % 2], plates[1 - sweep % 2], part, scratch[: part.last - part.first])
    return answer_of(plates[sweeps % 2])


def main() -> int:
    parser = argparse.ArgumentParser(description="Jacobi sweeps over a heated plate, one process")
    parser.add_argument("--cells", type=int, default=512)
    parser.add_argument("--sweeps", type=int, default=200)
    options = parser.parse_args()
    if options.cells < 1 or options.sweeps < 1:
        parser.error("cells and sweeps must be at least 1")
    probe.digest(run(options.cells, options.sweeps))
    return 0


if __name__ == "__main__":
    sys.exit(main())
