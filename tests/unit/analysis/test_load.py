"""The answer of a table whose K is load: where the system saturates, with its throughput."""

from __future__ import annotations

import pytest

import scalecurve as sc
from scalecurve.study import Study
from scalecurve.study.study import is_load

RATE = "throughput"


@pytest.mark.parametrize(
    ("samples", "quantity", "said"),
    [
        ({1: [100.0, 102.0], 2: [199.0, 201.0]}, RATE, "Offer 2 clients or more: 200 requests/s, 1.98x that of 1"),
        ({1: [100.0], 2: [190.0], 4: [194.0]}, RATE, "Offer at most 2 clients: 190 requests/s, 1.9x that of 1; 4"),
        ({1: [100.0], 2: [100.1]}, RATE, "Offer at most 1 client: 100 requests/s, the highest; 2 bring no more."),
        ({1: [2.0], 2: [2.2]}, "seconds", "Offer at most 1 client: the throughput is the highest; 2 bring 9 % less."),
        ({2: [100.0], 4: [90.0]}, f"{RATE}_per_worker", "Offer 4 clients or more: 360 requests/s, 1.8x that of 2"),
    ],
)  # fmt: skip
def test_the_saturation_point_is_the_decision(samples: dict[int, list[float]], quantity: str, said: str) -> None:
    unit = None if quantity == "seconds" else "requests/s"
    study = Study.from_samples(samples, regime="strong", quantity=quantity, k_unit="clients", unit=unit)

    assert sc.tabulate(study).answer.decision.startswith(said)


@pytest.mark.parametrize("unit", ["clients", "requests/s", "virtual users", "Connections", "jobs per second", "qps"])
def test_load_is_known_by_its_unit(unit: str) -> None:
    assert is_load(unit)
    assert not any(map(is_load, ("workers", "gpus", "hosts", "cores")))
