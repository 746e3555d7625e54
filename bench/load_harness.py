"""One job measured beside 0, 0.5, 1, 2 and 4 foreign burners: `python -m bench.load_harness [SWEEPS] [--minutes 15]`.

The truth comes by another route than the tool's: every worker prints the CPU seconds of its serial and its shared part,
and T on a quiet machine is the least of their sum along the slowest worker.  A sweep is right when its answer for K = 2
holds the true speedup, or says that it cannot be said.  Printed is the share of right sweeps at each load.  Sweeps are
kept in out/load_harness.jsonl as they are made, and another start goes on with them (`--fresh` forgets them).
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

KEPT = Path(__file__).parents[1] / "out" / "load_harness.jsonl"
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
import os, sys, time
share, parent = float(sys.argv[1]), os.getppid()
while os.getppid() == parent:
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


def kept_answers() -> list[SweepAnswer]:
    """The sweeps of earlier starts."""
    rows = [json.loads(line) for line in KEPT.read_text().splitlines()] if KEPT.exists() else []
    return [
        SweepAnswer(
            row["load"], row["bounds"] and tuple(row["bounds"]), {int(k): own for k, own in row["paths"].items()}
        )
        for row in rows
    ]


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
    parser = argparse.ArgumentParser()
    parser.add_argument("sweeps", type=int, nargs="?", default=100)
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no further sweep after this long")
    parser.add_argument("--fresh", action="store_true", help="forget the sweeps of earlier starts")
    options = parser.parse_args()
    order = [LOADS[i % len(LOADS)] for i in range(options.sweeps)]
    random.Random(1).shuffle(order)
    if options.fresh:
        KEPT.unlink(missing_ok=True)
    answers, deadline = kept_answers(), time.monotonic() + 60 * options.minutes
    KEPT.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, KEPT.open("a") as file:
        for seed in range(len(answers), options.sweeps):
            if time.monotonic() > deadline:
                break
            answers.append(sweep(order[seed], Path(name), seed))
            file.write(json.dumps(vars(answers[-1])) + "\n")
            file.flush()
    if not answers:
        raise SystemExit("no sweep was made")
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
