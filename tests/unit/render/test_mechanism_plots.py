"""Every mechanism's picture is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scalecurve.errors import InputError
from scalecurve.hardware.networks import network
from scalecurve.laws.roofline import Ceilings
from scalecurve.mechanisms.collective_cost import cost_collective, cost_step
from scalecurve.mechanisms.load_curve import curve_of_load
from scalecurve.mechanisms.roofline_placement import place_kernels
from scalecurve.mechanisms.straggler_cost import cost_stragglers, delays_of
from scalecurve.mechanisms.work_depth import measure_parallelism
from scalecurve.render.plots import picture
from scalecurve.study.classic_graphs import pipeline
from scalecurve.study.kernel import Kernel
from scalecurve.study.latency_record import Histogram, LatencyRecord


def _load() -> Any:
    rng = np.random.default_rng(1)
    records = [
        LatencyRecord(name=str(r), histogram=Histogram.of(rng.exponential(1 / (100 - r), 100 * r)), seconds=100.0)
        for r in (10, 50, 90)
    ]
    return curve_of_load(records, slo=0.1)


MAKERS = {
    "collective": lambda: cost_collective("allreduce", 1e6, [2, 8, 64], network("nvlink+ib400")),
    "step": lambda: cost_step(1e9, 0.5, [1, 2, 4, 8], network("eth10")),
    "graph": lambda: measure_parallelism(pipeline(3, 4), [1, 2, 4]),
    "straggler": lambda: cost_stragglers(delays_of("lognorm", s=0.2), [1, 4, 16]),
    "load": _load,
    "roofline": lambda: place_kernels(
        [
            Kernel(name="a", flops=1e9, moved={"memory": 1e8}, seconds=1.0),
            Kernel(name="b", flops=0, moved={"memory": 1}),
        ],
        Ceilings(peak=1e12, bandwidths={"memory": 1e11}),
        machine="box",
    ),
}


@pytest.mark.parametrize("name", list(MAKERS))
def test_a_picture_of(name: str) -> None:
    svg = picture(MAKERS[name](), "svg")
    assert b"<svg" in svg
    assert picture(MAKERS[name](), "svg") == svg  # the same data gives the same file


def test_what_has_no_picture_says_so() -> None:
    with pytest.raises(InputError, match="no picture of a int"):
        picture(3, "svg")
