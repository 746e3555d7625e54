"""What a launch costs beside hyperfine: `python -m bench.launch_overhead [LAUNCHES]` prints the ratio on `true`.

Both start the same program as often; the time of each is its whole run divided by the launches.  Memory is the growth
of this process between the first tenth of the launches and the last.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from scalecurve.measurement.machine import real_world
from scalecurve.measurement.settings import make_settings
from scalecurve.measurement.sweep import Progress, run_sweep


def seconds_of_measure(launches: int) -> tuple[float, float]:
    """Seconds per launch of `measure`, and MiB by which its peak memory grew after the first tenth."""
    settings = make_settings(
        {
            "regime": "strong",
            "workers": "1",
            "repeats": launches,
            "warmup_launches": 0,
            "command": ["true", "{workers}"],
        }
    )
    peaks: list[int] = []

    def note(progress: Progress) -> None:
        if progress.run is not None:
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

    world = real_world()
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        run_sweep(settings, world, output=Path(folder) / "s.json", listener=note)
        seconds = (time.perf_counter() - begin) / launches
    world.runner.close()
    return seconds, (peaks[-1] - peaks[len(peaks) // 10]) / 1024


def seconds_of_hyperfine(launches: int) -> float:
    """Seconds per launch of hyperfine without a shell."""
    words = ["hyperfine", "--shell=none", "--warmup", "0", "--runs", str(launches), "--style", "none", "true"]
    begin = time.perf_counter()
    subprocess.run(words, check=True, capture_output=True)
    return (time.perf_counter() - begin) / launches


def main() -> None:
    launches = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    ours, growth = seconds_of_measure(launches)
    print(
        f"scalecurve measure: {1e3 * ours:.2f} ms per launch of `true`, {launches} launches, memory +{growth:.1f} MiB"
    )
    if shutil.which("hyperfine") is None:
        print("hyperfine is not installed (tools/engines-install debian): no ratio")
        return
    theirs = seconds_of_hyperfine(launches)
    print(f"hyperfine: {1e3 * theirs:.2f} ms per launch; ratio {ours / theirs:.1f}")


if __name__ == "__main__":
    main()
