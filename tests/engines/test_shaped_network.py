"""On a network whose rate is known, the fitted bandwidth is the shaped one, and times of K ranks are predicted.

Payload truth: the switch charges 24 bytes to a frame of 1514 that carries 1448 bytes of payload, so a link of R bit/s
gives
R/8 x 1448/1538 bytes of payload per second.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scalecurve.measurement.collectives_calibration import measure_collectives
from scalecurve.mechanisms.network_fit import fit_network
from tests.testbed.shaped_hosts import shaped_hosts

pytestmark = [pytest.mark.engine("hosts"), pytest.mark.engine("torchrun")]

RATE_MBIT = 10.0
PAYLOAD = 1448 / 1538
STARTER = Path(__file__).with_name("ranks_on_hosts.py")


def test_the_fitted_bandwidth_is_the_shaped_one() -> None:
    with shaped_hosts(4, rate_mbit=RATE_MBIT, delay_us=500, cpu_share=1.0) as hosts:
        sweep, again = (
            measure_collectives(
                operations=("allreduce",),
                sizes=tuple(1024 * 4**i for i in range(5)),
                ranks=(2, 4),
                engine="torch",
                launch=f"{sys.executable} {STARTER} {hosts.enter} {{k}}",
                blocks=5,
            )
            for _ in range(2)
        )
    fit = fit_network(sweep, "allreduce")
    truth = 8 / (RATE_MBIT * 1e6 * PAYLOAD)
    errors = {
        (t.ranks, t.message): fit.seconds(t.ranks, t.message) / t.seconds - 1
        for t in again.timings
        if t.message >= 16 * 1024
    }
    print(f"{fit.algorithm}: beta {fit.beta.value:.4g} s/B against {truth:.4g}; errors {errors}")

    assert fit.beta.value == pytest.approx(truth, rel=0.15)
    assert sorted(abs(error) for error in errors.values())[len(errors) // 2] < 0.2
