"""One job measured beside 0, 0.5, 1, 2 and 4 foreign burners: `python -m bench.load_harness [SWEEPS]`.

The truth comes by another route than the tool's: every worker prints the CPU seconds of its serial and its shared part,
and T on a quiet machine is the least of their sum along the slowest worker.  A sweep is right when its answer for K = 2
holds the true speedup, or says that it cannot be said.  Printed is the share of right sweeps at each load.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

LOADS = (0.0, 0.5, 1.0, 2.0, 4.0)
SERIAL, SHARED = 200_000, 4_000_000
JOB = f"""
import os, sys, time
k, pids = int(sys.argv[1]), []
def work(n):
    begin, x = time.process_time(), 0
    for i in range(n): x += i * i
    return time.process_time() - begin
begin, serial = time.perf_counter(), work({SERIAL})
pipes = []
for _ in range(k):
    r, w = os.pipe()
    if os.fork() == 0:
        os.write(w, repr(work({SHARED} // k)).encode()); os._exit(0)
    pipes.append(r)
shared = max(float(os.read(r, 99)) for r in pipes)
print("elapsed:", time.perf_counter() - begin, "path:", serial + shared)
"""
BURNER = """
import sys, time
share = float(sys.argv[1])
while True:
    end = time.process_time() + 0.01 * share
    while time.process_time() < end: pass
    time.sleep(0.01 * (1 - share))
"""


@dataclass(frozen=True)
class SweepAnswer:
    """Bounds of S(2), None where the tool says that it cannot be said, and the CPU path of each run by K."""

    load: float
    bounds: tuple[float, float] | None
    paths: dict[int, list[float]]


@contextmanager
def burners(load: float) -> Iterator[None]:
    """Processes that use `load` cores together."""
    shares = [1.0] * int(load) + ([load % 1] if load % 1 else [])
    started = [subprocess.Popen([sys.executable, "-c", BURNER, str(share)]) for share in shares]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def sweep(load: float, folder: Path, seed: int) -> SweepAnswer:
    """Measure the job once as a user would; the answer is read from the study and from its table."""
    out = folder / "study.json"
    options = ["--regime", "strong", "--workers", "1,2", "--repeats", "4", "--seed", str(seed), "--force"]
    patterns = ["--time-pattern", r"elapsed: (\S+)", "--metric", r"path=path: (\S+)"]
    words = [sys.executable, "-m", "scalecurve", "measure", *options, *patterns, "-o", str(out), "--quiet", "--"]
    with burners(load):
        subprocess.run([*words, sys.executable, "-c", JOB, "{workers}"], capture_output=True, cwd=folder)
    study = json.loads(out.read_text())
    paths: dict[int, list[float]] = {1: [], 2: []}
    for run in study["runs"]:
        if run.get("value"):
            paths[run["k"]].append(run["observed"]["metrics"]["path"]["value"])
    disturbed = next((item for item in study["findings"] if item["code"] == "disturbed"), None)
    if disturbed is not None:
        share = disturbed["evidence"].get("efficiency", {}).get("2")
        return SweepAnswer(load, share and (2 * share[0], 2 * share[1]), paths)
    words = [sys.executable, "-m", "scalecurve", "table", str(out), "--json"]
    rows = json.loads(subprocess.run(words, capture_output=True, text=True).stdout)["rows"]
    speedup = next(row["speedup"] for row in rows if row["k"] == 2)
    return SweepAnswer(load, (speedup["low"], speedup["high"]), paths)


def main() -> None:
    sweeps = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    order = [LOADS[i % len(LOADS)] for i in range(sweeps)]
    random.Random(1).shuffle(order)
    with tempfile.TemporaryDirectory() as name:
        answers = [sweep(load, Path(name), seed) for seed, load in enumerate(order)]
    least = {k: min(path for answer in answers for path in answer.paths[k]) for k in (1, 2)}
    truth = least[1] / least[2]
    print(f"S(2) on a quiet machine, from CPU time: {truth:.3f}")
    right_at_all = 0
    for load in LOADS:
        own = [answer for answer in answers if answer.load == load]
        said = [answer.bounds for answer in own if answer.bounds is not None]
        right = sum(low <= truth <= high for low, high in said) + len(own) - len(said)
        right_at_all += right
        width = sum(high / low for low, high in said) / max(1, len(said))
        print(f"{load:g} burners: {right} of {len(own)} right, {len(own) - len(said)} cannot say, width {width:.2f}x")
    print(f"{right_at_all} of {len(answers)} sweeps right")


if __name__ == "__main__":
    main()
