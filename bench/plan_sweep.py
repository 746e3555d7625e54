"""A whole sweep of 12 values of P with all axes, from a cold start of the program.

python bench/plan_sweep.py
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

COMMAND = [
    sys.executable, "-m", "scalecurve", "plan", "--model", "llama3-70b", "--cluster", "h100-ib400", "--gpus",
    "32..65536",
    "--seq", "8192", "--global-batch", "4Mi", "--critical-batch", "8Mi", "--json", "--quiet",
]  # fmt: skip
LIMIT = 2.0


def main() -> None:
    walls, before = [], resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run(COMMAND, check=True, capture_output=True)
        walls.append(time.perf_counter() - start)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / len(walls)
    print(f"12 values of P, cold start: wall {min(walls):.2f} to {max(walls):.2f} s, CPU {cpu:.2f} s each")
    print(f"share of the {LIMIT:g} s allowed: {min(walls) / LIMIT:.2f}")


if __name__ == "__main__":
    main()
