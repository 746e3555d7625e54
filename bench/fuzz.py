"""Damaged inputs across all readers of results and latencies: a result or a ScalecurveError, quickly, within memory.

    python -m bench.fuzz [--count 100000] [--seed 1] [--keep FOLDER]

Prints one line per sample: how many became a study, how many were refused, and the slowest (in
seconds of CPU, so that a busy machine does not matter); exit 1 on any failure.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import suppress
from pathlib import Path

from bench.mutation import mutated
from scalecurve.errors import ScalecurveError
from scalecurve.formats.latencies import read_latencies
from scalecurve.formats.loading import load

SAMPLES = Path(__file__).parents[1] / "tests" / "formats" / "samples"
LATENCIES = SAMPLES.parent / "latency"
MOST_SECONDS = 2.0
MOST_BYTES = 1024**3
ANY: tuple[dict[str, str], ...] = ({}, {}, {"k_from": r"(\d+)"}, {"series": "main"}, {"k_column": "threads"})
# What a sample needs to become a study, so that damage beyond the first question is met as well.
KNOWN: dict[str, dict[str, str]] = {
    "osu": {"k_from": r"_n(\d+)", "series": "1024"},
    "imb": {"series": "allreduce 1024 B"},
    "all_reduce": {"series": "1024 B"},
    "nccl": {"series": "1024 B"},
    "rccl": {"series": "1024 B"},
    "google": {"series": "Sqrt"},
    "pytest": {"series": "test_hash"},
    "caliper": {"series": "main", "value_column": "Max time/rank"},
    "hyperfine_two": {"series": "size=10"},
    "hey": {"k_from": r"c(\d+)"},
    "oha": {"k_from": r"c(\d+)"},
    "go_bench": {"series": "Hash"},
    "time_": {"k_from": r"p(\d)"},
    "perf_": {"k_from": r"t(\d)\.csv"},
    "sample": {"k_from": r"(\d)"},
    "google_benchmark.csv": {"value_column": "items_per_second"},
    "gromacs": {"value_column": "ns/day"},
    "lammps": {"value_column": "Comm avg"},
    "n16": {"k_from": r"n(\d+)_"},
    "n8": {"k_from": r"n(\d+)_"},
}


def main() -> int:
    given = _arguments()
    chance = random.Random(given.seed)
    samples = [path for folder in (SAMPLES, LATENCIES) for path in sorted(folder.rglob("*")) if path.is_file()]
    outcomes: dict[str, Counter[str]] = {path.name: Counter() for path in samples}
    slowest: dict[str, float] = dict.fromkeys(outcomes, 0.0)
    failures = 0
    with tempfile.TemporaryDirectory(dir=_memory()) as folder:
        for number in range(given.count):
            path = samples[number % len(samples)]
            target = Path(folder) / path.name
            target.write_bytes(mutated(path.read_bytes(), chance))
            begin = time.process_time()
            outcome = attempt(target, settings_for(path.name, chance))
            seconds = time.process_time() - begin
            slowest[path.name] = max(slowest[path.name], seconds)
            outcomes[path.name][outcome] += 1
            if outcome not in ("study", "refused") or seconds > MOST_SECONDS:
                failures += 1
                _keep(target, given.keep, number, f"{outcome} in {seconds:.2f} s")
    return _report(outcomes, slowest, failures)


def settings_for(name: str, chance: random.Random) -> dict[str, str]:
    fitting = [settings for start, settings in KNOWN.items() if name.startswith(start)]
    return fitting[-1] if fitting and chance.random() < 0.7 else chance.choice(ANY)


def attempt(path: Path, settings: dict[str, str]) -> str:
    """study, refused, or the name of the exception that should not have been; latencies are read beside it."""
    outcome = "refused"
    try:
        with suppress(ScalecurveError):
            load(path, regime="strong", **settings)
            outcome = "study"
        with suppress(ScalecurveError):
            read_latencies(path, unit=1e-3)
    except Exception as problem:
        traceback.print_exc(limit=-3)
        return type(problem).__name__
    return outcome


def _report(outcomes: dict[str, Counter[str]], slowest: dict[str, float], failures: int) -> int:
    for name, counts in outcomes.items():
        said = ", ".join(f"{outcome} {count}" for outcome, count in sorted(counts.items()))
        print(f"{name:<34} {said}; slowest {slowest[name] * 1e3:.0f} ms")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    total = sum(sum(counts.values()) for counts in outcomes.values())
    print(
        f"{total} inputs, {failures} failures, slowest {max(slowest.values()):.3f} s, peak memory {peak / 1e6:.0f} MB"
    )
    return 1 if failures or peak > MOST_BYTES else 0


def _keep(path: Path, folder: Path | None, number: int, what: str) -> None:
    print(f"{path.name} input {number}: {what}", file=sys.stderr)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}-{path.name}").write_bytes(path.read_bytes())


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=None)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
