"""From a folder of curves to a calibration that forecasts, on curves made up here (docs/project/rebuilding.md)."""

import csv
import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

import scalecurve as sc
from scalecurve.forecasting.published import Calibration
from tools.calibrate_forecast import calibrate
from tools.published import COLLECTIVES, FIELDS, FILE

WORKERS = [2**i for i in range(8)]


def amdahl_with_communication(k: int, serial: float, communication: float, regime: str) -> float:
    parallel = (1 - serial) / k if regime == "strong" else 1 - serial
    return 100 * (serial + parallel + communication * math.log2(k))


def write_curves(folder: Path) -> None:
    """Six sources with six programs each, strong and weak, 2 % noise; and message sizes on four networks."""
    draw = random.Random(7)
    with (folder / FILE).open("w", newline="", encoding="utf-8") as stream:
        rows = csv.DictWriter(stream, ["curve_id", *FIELDS, "K", "value"])
        rows.writeheader()
        for source, program, regime in [(s, p, r) for s in range(6) for p in range(6) for r in ("strong", "weak")]:
            serial, communication = 10 ** draw.uniform(-3, -1), 10 ** draw.uniform(-4, -2)
            facts = dict.fromkeys(FIELDS, "made up") | {
                "application": f"program {program}",
                "regime": regime,
                "system": f"machine {source}",
                "quantity": "time_s",
                "unit": "s",
                "k_unit": "ranks",
                "source_repo": f"made/up-{source}",
            }
            for k in WORKERS:
                seconds = amdahl_with_communication(k, serial, communication, regime) * math.exp(draw.gauss(0, 0.02))
                rows.writerow(facts | {"curve_id": f"{source}-{program}-{regime}", "K": k, "value": seconds})
    with (folder / COLLECTIVES).open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["system", "op", "bytes", "ranks", "t_avg_us", "source_repo"])
        for network, size, k in [(n, b, k) for n in range(4) for b in (8, 1024, 65536) for k in WORKERS[1:]]:
            microseconds = (math.log2(k) * (2 + network) + size / 1000) * math.exp(draw.gauss(0, 0.05))
            writer.writerow([f"network {network}", "allreduce", size, k, microseconds, f"made/up-{network}"])


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("curves")
    write_curves(folder)
    return json.loads(json.dumps(calibrate(folder)))  # as it is read from the file


def test_the_sources_are_named(rebuilt: Any) -> None:
    assert rebuilt["provenance"]["curves"] == 72
    assert [f"made/up-{i}" for i in range(6)] == rebuilt["provenance"]["sources"]


def test_a_rebuilt_calibration_forecasts_a_curve_of_the_same_kind(rebuilt: Any) -> None:
    times = {k: amdahl_with_communication(k, 0.02, 0.002, "strong") for k in WORKERS}
    below = {k: t for k, t in times.items() if k <= 32}

    row = sc.forecast(below, at=[64], regime="strong", calibration=Calibration.from_dict(rebuilt)).rows[-1]

    assert row.low is not None
    assert row.high is not None
    assert row.low < times[64] < row.high
    assert row.value == pytest.approx(times[64], rel=0.15)
