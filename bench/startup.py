"""CPU time of the program's start, beside pyperf's: `python -m bench.startup` prints ratios of one run.

Byte code is cached (PYTHONDONTWRITEBYTECODE is removed); the smallest of several runs counts, since noise only adds.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys

REPEATS = 15
PEER = [sys.executable, "-m", "pyperf", "--help"]
OURS = {
    "scalecurve --help": ([sys.executable, "-m", "scalecurve", "--help"], 1.0),
    "scalecurve law amdahl": (
        [sys.executable, "-m", "scalecurve", "law", "amdahl", "--serial", "0.05", "--workers", "1..512"],
        1.5,
    ),
    "import scalecurve": ([sys.executable, "-c", "import scalecurve"], 1.0),
    "from scalecurve import probe": ([sys.executable, "-c", "from scalecurve import probe"], 1.0),
}


def cpu_seconds(command: list[str]) -> float:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    commands = {"pyperf --help": PEER} | {name: command for name, (command, _) in OURS.items()}
    best = dict.fromkeys(commands, float("inf"))
    for _ in range(REPEATS):  # interleaved, so that a slow minute hits all alike
        for name, command in commands.items():
            best[name] = min(best[name], cpu_seconds(command))
    failed = 0
    for name, (_, limit) in OURS.items():
        ratio = best[name] / best["pyperf --help"]
        failed += ratio > limit
        print(f"{name:32} {ratio:5.2f} of pyperf --help (at most {limit:g})  {'ok' if ratio <= limit else 'TOO SLOW'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
