"""Measure every study under examples/ and write its result beside it: python -m tools.measure_examples [NAME...]

An example whose engine is missing is named and left as it is.  Run it on a quiet machine: the results are committed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

from tests.testbed import shaped_hosts, slurm_cluster

ROOT = Path(__file__).resolve().parents[1]
HOSTS = {"count": 8, "rate_mbit": 100, "delay_us": 500, "cpu_share": 0.2}


def main() -> int:
    wanted = sys.argv[1:]
    failed = []
    studies = (file for file in (ROOT / "examples").glob("*/*.toml") if file.parent.name != "proposals")
    for file in sorted(studies):
        name = str(file.relative_to(ROOT))
        if not wanted or any(word in name for word in wanted):
            print(f"== {name}", flush=True)
            failed += [] if measure(file.relative_to(ROOT)) else [name]
    print(f"not measured: {', '.join(failed)}" if failed else "all measured")
    return int(bool(failed))


def measure(file: Path) -> bool:
    """One study, with the test bed it needs."""
    kind = file.parts[1]
    reason = {"slurm": slurm_cluster.why_not, "hosts": shaped_hosts.why_not}.get(kind, lambda: None)()
    if reason:
        print(reason)
        return False
    if kind == "openmp":
        words = ["gcc", "-O2", "-fopenmp", "examples/openmp/primes.c", "-o", "examples/openmp/primes"]
        subprocess.run(words, cwd=ROOT, check=True)
    if kind == "hosts":
        return on_hosts(file)
    with slurm_cluster.slurm_cluster() if kind == "slurm" else nullcontext(dict(os.environ)) as env:
        return run(file, env)


def on_hosts(file: Path) -> bool:
    with shaped_hosts.shaped_hosts(HOSTS["count"], **{name: HOSTS[name] for name in list(HOSTS)[1:]}) as hosts:
        return run(file, {**os.environ, "PATH": f"{hosts.enter.parent}:{os.environ['PATH']}"})


def run(file: Path, env: dict[str, str]) -> bool:
    words = [sys.executable, "-m", "scalecurve", "measure", str(file), "--force"]
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return subprocess.run(words, cwd=ROOT, env={**env, "PYTHONPATH": path}).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
