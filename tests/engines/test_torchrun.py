"""The DDP example in both regimes by one switch, threads equal at every K, two nodes, and the noise scale."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.engines.conftest import Measure

pytestmark = pytest.mark.engine("torchrun")
QUICK = ("--repeats", "1", "--warmup-launches", "0", "--oversubscribe")


def test_strong_holds_the_global_batch_and_the_loss(measure: Measure, examples: Path) -> None:
    _, study = measure(str(examples / "torchrun" / "strong.toml"), *QUICK)
    scaling = [run for run in study.runs if run.counts]

    assert {run.work for run in scaling} == {512.0 * 35}
    assert len({round(float(run.digest or 0), 3) for run in scaling}) == 1
    assert {run.observed["thread_pools"]["torch"] for run in scaling} == {1}
    assert study.all_k == (1, 2)


def test_weak_grows_the_batch_and_two_nodes_meet(measure: Measure, examples: Path, tmp_path: Path) -> None:
    toml = (examples / "torchrun" / "weak.toml").read_text()
    file = tmp_path / "weak.toml"
    more = 'name = "torchrun"\nworkers_per_node = 1'
    file.write_text(f'folder = "{examples / "torchrun"}"\n' + toml.replace('name = "torchrun"', more))
    _, study = measure(str(file), *QUICK)
    by_k = {run.k: run for run in study.runs if run.counts}

    assert by_k[2].work == 2 * (by_k[1].work or 0)
    assert [by_k[k].placement.nodes for k in (1, 2)] == [1, 2]
    assert "node-boundary" in {finding.code for finding in study.findings}


def test_the_noise_scale_of_the_users_own_training(measure: Measure, examples: Path) -> None:
    _, study = measure(str(examples / "torchrun" / "noise.toml"), *QUICK)
    found = next(finding for finding in study.findings if finding.code == "gradient-noise-scale")

    assert 10 < found.evidence["value"] < 100_000
    assert found.evidence["low"] < found.evidence["value"] < found.evidence["high"]


def test_the_example_prints_rule_warmup_and_limits_for_weak(examples: Path) -> None:
    words = ["--scaling", "weak", "--batch", "64", "--steps", "2", "--base-batch", "32"]
    script = str(examples / "torchrun" / "train.py")
    done = subprocess.run([sys.executable, script, *words], capture_output=True, text=True, check=True)

    assert "0.05 x 64/32 = 0.1 (linear rule)" in done.stdout
    assert "warm-up" in done.stdout
    assert "critical batch" in done.stdout
