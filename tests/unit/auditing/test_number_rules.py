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
