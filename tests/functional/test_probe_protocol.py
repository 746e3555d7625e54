"""The programs in docs/reference/probe-protocol.md are run as they stand there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from scalecurve.measurement.evidence import Worker, read_workers

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "probe-protocol.md").read_text()


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.S)
    assert found
    return found[1]


def test_the_shell_script(tmp_path: Path) -> None:
    probe = tmp_path / "probe"
    probe.mkdir()
    solve = tmp_path / "solve"
    solve.write_text("#!/bin/sh\nsleep 0.05\n")
    solve.chmod(0o755)
    env = {name: value for name, value in os.environ.items() if name != "SCALECURVE_PROBE"}
    subprocess.run(["sh", "-c", block("sh")], cwd=tmp_path, env={**env, "SCALECURVE_PROBE": str(probe)}, check=True)
    (found,) = read_workers(probe)

    assert found.duration >= 0.04
    assert (found.rank, found.size, found.work) == (0, 1, 1000)
    subprocess.run(["sh", "-c", block("sh")], cwd=tmp_path, env=env, check=True)  # not measured: a plain program


def test_the_c_program(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    lines = ["#include <stdio.h>", "#include <stdlib.h>", "int main(void) {", "int rank = 2, size = 3; long cells = 7;"]
    lines += ["double begin = 100.25, end = 101.75;", block("c"), "return 0; }"]
    (tmp_path / "job.c").write_text("\n".join(lines))
    subprocess.run(["gcc", "-Wall", "-o", "job", "job.c"], cwd=tmp_path, check=True)
    probe = tmp_path / "probe"
    probe.mkdir()
    subprocess.run(["./job"], cwd=tmp_path, env={**os.environ, "SCALECURVE_PROBE": str(probe)}, check=True)
    (found,) = read_workers(probe)

    assert (found.rank, found.size, found.work, found.duration) == (2, 3, 7, 1.5)


def test_every_key_is_documented() -> None:
    lacking = [name for name in Worker.__dataclass_fields__ if f"`{name}`" not in PAGE]

    assert lacking == []
