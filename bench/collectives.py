"""How well are collectives predicted at more ranks?  Fit on the smaller half, test on the larger, beside the last
slope.

    python bench/collectives.py DATA/collectives_open.csv
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

from scalecurve.errors import InputError
from scalecurve.formats.sweeps import read_sweeps
from scalecurve.mechanisms.network_extension import HeldOut, hold_out


def main(path: Path) -> None:
    sweeps = read_sweeps([path])
    for operation in ("allreduce", "allgather", "alltoall"):
        results: list[HeldOut] = []
        for sweep in sweeps:
            try:
                results.append(hold_out(sweep, operation))
            except InputError as problem:
                print(f"  {sweep.system}: {problem}")
        ours = statistics.median([error for each in results for error in each.errors])
        slope = statistics.median([error for each in results for error in each.yardstick])
        print(f"{operation}: median error {ours:.1%} on {len(results)} systems; extending the last slope {slope:.1%}")
        for each in results:
            print(f"  {each.system}: {each.median_error:.1%} against {each.yardstick_error:.1%}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
