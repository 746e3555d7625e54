"""An engine test runs where its engine is, and says why it does not elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import scalecurve as sc
from tests.testbed import shaped_hosts, slurm_cluster

ROOT = Path(__file__).resolve().parents[2]
OPENMPI = ROOT / ".engines" / "openmpi" / "bin"


def _needs(*packages: str) -> Callable[[], str | None]:
    def why_not() -> str | None:
        lacking = [name for name in packages if find_spec(name) is None]
        return f"not installed: {', '.join(lacking)} (tools/engines-install)" if lacking else None

    return why_not


def _mpich() -> str | None:
    if shutil.which("mpirun") is None:
        return "no mpirun on the path (tools/engines-install)"
    return _needs("mpi4py")()


def _openmpi() -> str | None:
    return (
        None if (OPENMPI / "mpirun").exists() else f"no Open MPI in {OPENMPI.relative_to(ROOT)} (tools/engines-install)"
    )


def _debian_mpi() -> str | None:
    programs = [f"{name}.{library}" for name in ("mpicc", "mpirun") for library in ("openmpi", "mpich")]
    lacking = [name for name in (*programs, "lmp") if shutil.which(name) is None]
    return f"not installed: {', '.join(lacking)} (tools/engines-install debian)" if lacking else None


def _slurm_with_mpi() -> str | None:
    return slurm_cluster.why_not() or _needs("mpi4py")()


ENGINES: dict[str, Callable[[], str | None]] = {
    "mpi": _mpich,
    "openmpi": _openmpi,
    "debian-mpi": _debian_mpi,
    "torchrun": _needs("torch"),
    "ray": _needs("ray"),
    "dask": _needs("distributed"),
    "slurm": _slurm_with_mpi,
    "hosts": shaped_hosts.why_not,
    "amdahl": _needs("amdahl"),
    "latex": lambda: None if shutil.which("pdflatex") else "not installed: pdflatex (tools/engines-install debian)",
    "local": lambda: None if Path("/proc/stat").exists() else "no /proc/stat",
}


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("engine"):
        reason = ENGINES[mark.args[0]]()
        if reason is not None:
            pytest.skip(f"engine {mark.args[0]}: {reason}")


Measure = Callable[..., tuple[subprocess.CompletedProcess[str], Any]]


@pytest.fixture
def measure(tmp_path: Path) -> Measure:
    """Run `scalecurve measure` as a user would, and read the study or the set of studies that it wrote."""

    def run(
        *words: str, env: dict[str, str] | None = None, check: bool = True, python: str = sys.executable
    ) -> tuple[subprocess.CompletedProcess[str], Any]:
        out = tmp_path / "study.json"

        def once(*more: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [python, "-m", "scalecurve", "measure", *more, *_with_output(words, out)],
                env={**(env or os.environ), "PYTHONPATH": str(ROOT / "src")},
                capture_output=True,
                text=True,
                timeout=900,
            )

        done = once()
        if check and "failed-runs" in done.stdout:
            # Engines abort a launch now and then (gloo at exit); a user would do what the finding says.
            done = once("--resume")
        if check:
            assert done.returncode == 0, done.stderr + done.stdout
        studies = sc.load_all(out)
        return done, studies.first if len(studies) == 1 else studies

    return run


def _with_output(words: Sequence[str], out: Path) -> list[str]:
    """-o before the command, which begins after `--`."""
    listed = list(words)
    place = listed.index("--") if "--" in listed else len(listed)
    quiet = [] if "--quiet-below" in listed else ["--quiet-below", "1000"]  # engines share their machine with others
    return [*listed[:place], *quiet, "-o", str(out), *listed[place:]]


@pytest.fixture
def examples() -> Path:
    return ROOT / "examples"
