"""What the audit reads from a curve."""

from __future__ import annotations

import pytest

from scalecurve.auditing.audit import audit
from scalecurve.study import Study


@pytest.mark.parametrize(
    ("serial", "words"), [(0.0, "about 0 means no loss at all"), (0.05, "about flat means a serial part")]
)
def test_the_karp_flatt_trend_in_words(serial: float, words: str) -> None:
    times = {k: [100.0 * (serial + (1 - serial) / k)] for k in (1, 2, 4, 8, 16)}

    found = audit(Study.from_samples(times, regime="strong", name="job")).findings

    assert words in next(finding.message for finding in found if finding.code == "karp-flatt-trend")


@pytest.mark.parametrize(("slow", "spread", "said"), [(1.03, 0.1, False), (1.5, 0.01, True), (1.03, 0.0, True)])
def test_slower_than_the_baseline_is_said_beyond_the_noise_only(slow: float, spread: float, said: bool) -> None:
    times = {1: [10 * (1 - spread), 10 * (1 + spread)], 2: [10 * slow * (1 - spread), 10 * slow * (1 + spread)]}

    found = audit(Study.from_samples(times, regime="strong", name="job")).findings

    assert ("slower-than-baseline" in {finding.code for finding in found}) is said


@pytest.mark.parametrize(
    ("times", "named"),
    [
        ({1: [181.0], 8: [33.0], 16: [26.4], 32: [27.9]}, "but K = 32 is slower than K = 16."),
        ({1: [100.1, 131.0, 98.2], 4: [29.1, 31.0, 30.0], 8: [19.0, 30.4, 17.7]}, "but runs differ by 31 % at K = 8."),
    ],
)
def test_a_bend_and_a_wide_spread_are_named_first_and_doubt_no_figure(
    times: dict[int, list[float]], named: str
) -> None:
    found = audit(Study.from_samples(times, regime="strong", name="job"))

    assert found.answer.decision.startswith(f"Believe the figures, {named}")


def test_an_efficiency_above_one_is_named_first() -> None:
    assert "E = 1.17 at K = 256 is above 1" in audit({"workers": 256, "speedup": 300}).answer.decision


def test_a_growing_batch_while_times_fall_is_no_weak_scaling() -> None:
    points = [
        {"k": 8, "seconds": 29.0, "batch": 256},
        {"k": 64, "seconds": 3.8, "batch": 2048},
        {"k": 256, "seconds": 1.0, "batch": 8192},
    ]

    assert "weak" not in audit({"points": points}).checklist[4].evidence.partition("; ")[2]
    assert audit({"points": points, "regime": "strong"}).grade == "not stated"
