"""On a network whose rate is known, the fitted bandwidth is the shaped one, and times of K ranks are predicted.

Payload truth: the switch charges 24 bytes to a frame of 1514 that carries 1448 bytes of payload, so a link of R bit/s
gives
R/8 x 1448/1538 bytes of payload per second.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

from scalecurve.measurement.collectives_calibration import measure_collectives
from scalecurve.mechanisms.network_fit import fit_network
from tests.testbed.shaped_hosts import shaped_hosts

pytestmark = [pytest.mark.engine("hosts"), pytest.mark.engine("torchrun")]

RATE_MBIT = 10.0
PAYLOAD = 1448 / 1538
STARTER = Path(__file__).with_name("ranks_on_hosts.py")


TRIES = 3
"""Other programs on the cores slow real messages down: a pair of sweeps is then measured again."""


def misses() -> Iterator[tuple[float, float]]:
    """How far the fitted seconds per byte are off, and the median miss at a second sweep; anew each time."""
    truth = 8 / (RATE_MBIT * 1e6 * PAYLOAD)
    with shaped_hosts(4, rate_mbit=RATE_MBIT, delay_us=500, cpu_share=1.0) as hosts:
        for _ in range(TRIES):
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
            large = [timing for timing in again.timings if timing.message >= 16 * 1024]
            errors = [abs(fit.seconds(timing.ranks, timing.message) / timing.seconds - 1) for timing in large]
            print(f"{fit.algorithm}: beta {fit.beta.value:.4g} s/B against {truth:.4g}; errors {errors}")
            yield abs(fit.beta.value / truth - 1), median(errors)


def test_the_fitted_bandwidth_is_the_shaped_one() -> None:
    assert any(bandwidth < 0.15 and times < 0.2 for bandwidth, times in misses())
