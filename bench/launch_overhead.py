"""What a launch costs beside hyperfine: `python -m bench.launch_overhead [LAUNCHES]` prints ratios on `true`.

Both start the same program as often, in turns of 50 launches, so that a busy machine is busy for both.  Printed are the
whole time and the CPU time per launch, the time T that each reports (median), and the growth of this process's peak
memory from the first tenth of the launches to the last, and by building and writing the study.  The ratio of CPU time
is the one to trust on a busy machine.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles

from scalecurve.measurement.machine import real_world
from scalecurve.measurement.settings import make_settings
from scalecurve.measurement.sweep import Progress, run_sweep

TURN = 50


@dataclass
class Beside:
    """hyperfine in turns with a sweep: a listener that starts it after every 50 launches."""

    folder: Path
    seconds: float = 0.0
    times: array[float] = field(default_factory=lambda: array("d"))
    own: array[float] = field(default_factory=lambda: array("d"))
    peaks: array[float] = field(default_factory=lambda: array("d"))
    away: float = 0.0
    cpu: float = 0.0

    def __call__(self, progress: Progress) -> None:
        if progress.run is None or progress.run.value is None:
            return
        self.own.append(progress.run.value)
        self.peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        if len(self.own) % TURN == 0 and shutil.which("hyperfine"):
            begin, cpu = time.perf_counter(), children_seconds()
            result = self.folder / "hyperfine.json"
            words = ["hyperfine", "--shell=none", "--warmup", "0", "--runs", str(TURN), "--style", "none"]
            subprocess.run([*words, "--export-json", str(result), "true"], check=True, capture_output=True)
            self.seconds += time.perf_counter() - begin
            self.times.extend(json.loads(result.read_text())["results"][0]["times"])
            self.away += time.perf_counter() - begin
            self.cpu += children_seconds() - cpu


def children_seconds() -> float:
    """CPU seconds of the children that have ended, with theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    launches = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    settings = make_settings(
        {
            "regime": "strong",
            "workers": "1",
            "repeats": launches,
            "warmup_launches": 0,
            "command": ["true"],
        }
    )
    world = real_world()
    with tempfile.TemporaryDirectory() as name:
        beside = Beside(Path(name))
        begin, cpu = time.perf_counter(), time.process_time()
        run_sweep(settings, world, output=Path(name) / "s.json", listener=beside)
        ours = (time.perf_counter() - begin - beside.away) / launches
    world.runner.close()  # the watchdog has ended, so that its CPU time counts, with that of its children
    worked = (time.process_time() - cpu + children_seconds() - beside.cpu) / launches
    growth = (beside.peaks[-1] - beside.peaks[len(beside.peaks) // 10]) / 1024
    print(f"scalecurve measure: {1e3 * ours:.2f} ms per launch of `true`, T {1e3 * median(beside.own):.3f} ms (median)")
    writing = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - beside.peaks[-1]) / 1024
    print(f"{launches} launches, memory +{growth:.1f} MiB after the first tenth, +{writing:.1f} MiB by the study")
    if not beside.times:
        print("hyperfine is not installed (tools/engines-install debian) or fewer than 50 launches: no ratio")
        return
    theirs = beside.seconds / len(beside.times)
    print(f"hyperfine: {1e3 * theirs:.2f} ms per launch, T {1e3 * median(beside.times):.3f} ms (median)")
    low = quantiles(beside.own, n=10)[0] / quantiles(beside.times, n=10)[0]
    used = beside.cpu / len(beside.times)
    print(f"CPU per launch {1e3 * worked:.2f} ms and {1e3 * used:.2f} ms: ratio {worked / used:.2f}")
    print(f"ratio per launch {ours / theirs:.2f}")
    print(f"ratio of T {median(beside.own) / median(beside.times):.3f} (median), {low:.3f} (tenth percentile)")


if __name__ == "__main__":
    main()
