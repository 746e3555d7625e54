"""The ways that published data goes (forecasts judged without their source, collectives, prices) on data of our own.

The accuracy itself is judged on the published data by `make test-data` and stands in docs/accuracy.md.
"""

from __future__ import annotations

import csv
import statistics
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np

from bench.collectives import hold_out
from scalecurve.forecasting.curves import CurveKind
from scalecurve.formats.sweeps import read_sweeps
from tools import crossvalidation as crossed
from tools.learn_stack import crossvalidate
from tools.published import FILE, judged, read, read_loads
from tools.scores import coverage, curve_errors, headline

FACTS = {"domain": "hpc", "system": "box", "quantity": "time_s", "unit": "s", "k_unit": "ranks", "repeat": 0}
COLUMNS = ["curve_id", "application", "regime", "K", "value", "std", "problem_size", "source_repo", "source_path"]
COLUMNS += [*FACTS, "commit_if_known", "notes"]


def write_curves(path: Path, regime: str, seconds: Callable[[int, int, int], float]) -> None:
    """Curves in the schema of the published ones: four of each of six sources, by seconds(source, curve, K)."""
    with path.open("w", newline="") as stream:
        table = csv.DictWriter(stream, COLUMNS)
        table.writeheader()
        for source, curve, k in product(range(6), range(4), (1, 2, 4, 8, 16, 32, 64)):
            name = {"curve_id": f"{source}-{curve}", "application": f"app{source}", "source_repo": f"repo{source}"}
            table.writerow(FACTS | name | {"regime": regime, "K": k, "value": seconds(source, curve, k)})


def test_strong_curves_of_a_law_are_forecast_without_their_source(tmp_path: Path) -> None:
    """T = s + (1 - s)/K + c log2 K, with the loads measured here beside it: larger K within 10 % in the median."""
    write_curves(
        tmp_path / FILE,
        "strong",
        lambda source, curve, k: 100 * (0.01 * source + (1 - 0.01 * source) / k + 0.003 * curve * np.log2(k)),
    )
    rows = crossed.judged_rows(crossvalidate(crossed.lessons(read(tmp_path), read_loads()[:30], 3)))
    figures = headline(rows, curve_errors(rows))

    assert len(rows.curves) == 24
    assert figures["median"] < 10
    assert coverage(rows, *rows.ends[0.9])["by source"] >= 0.8


def test_weak_curves_of_a_law_are_forecast(tmp_path: Path) -> None:
    """T = 1 + c log2 K, which the panel holds as a family: the larger K are met within 3 %."""
    write_curves(tmp_path / FILE, "weak", lambda source, curve, k: 10 + 0.2 * (source + curve + 1) * np.log2(k))
    curves = judged(read(tmp_path), CurveKind.WEAK)
    rows = crossed.judge_panel(curves, CurveKind.WEAK, crossed.folds(curves, "source_repo"))

    assert len(curves) == 24
    assert np.median(curve_errors(rows)) < 3


def test_a_ring_predicts_its_larger_half(tmp_path: Path) -> None:
    """Seconds of an all-gather on a ring: (K - 1)(alpha + bytes beta), with 2 us and 10 GB/s."""
    lines = ["system,op,nodes,ranks,bytes,reps,t_min_us,t_max_us,t_avg_us,variant,source_repo,source_path"]
    for k, size in product((2, 4, 8, 16, 32, 64), (1024, 65536, 1 << 20, 16 << 20)):
        micros = 1e6 * (k - 1) * (2e-6 + size / 10e9)
        lines.append(f"box,allgather,{k},{k},{size},10,{micros:.4f},{micros:.4f},{micros:.4f},own,repo,path")
    path = tmp_path / "collectives_open.csv"
    path.write_text("\n".join(lines) + "\n")
    tests = [hold_out(sweep, "allgather") for sweep in read_sweeps([path])]

    assert tests
    assert statistics.median([error for test in tests for error in test.errors]) < 0.1
