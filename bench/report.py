"""What the report of a small study costs: seconds of CPU of the command, warm, and how much of them imports are.

    python bench/report.py [--runs 5]

Prints the least of several runs, since everything that disturbs a run adds to it.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT_S = 2.0
STUDY = Path(__file__).resolve().parents[1] / "examples/reference/strong.csv"
IMPORTS = (
    "import scalecurve.render.report.writing, scipy.special, matplotlib.figure, matplotlib.backends.backend_svg, jinja2"
)


def cpu_seconds(command: list[str]) -> float:
    """User and system time of a command, its bytecode kept so that a second run is warm."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(command, check=True, env=kept)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        words = ["report", str(STUDY), "--regime", "strong", "-q", "-o", f"{folder}/report.html"]
        report = [sys.executable, "-m", "scalecurve", *words]
        cpu_seconds(report)
        whole = min(cpu_seconds(report) for _ in range(given.runs))
        imports = min(cpu_seconds([sys.executable, "-c", IMPORTS]) for _ in range(given.runs))
    print(f"report of a small study: {whole:.2f} s of CPU, {whole / LIMIT_S:.2f} of the limit; imports {imports:.2f} s")


if __name__ == "__main__":
    main()
