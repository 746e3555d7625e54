"""Every mechanism's picture is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scalecurve.errors import InputError
from scalecurve.laws.roofline import Ceilings, Kernel
from scalecurve.mechanisms import (
    collective_cost,
    load_curve,
    place_kernels,
    straggler_cost,
    training_step_cost,
    work_depth,
)
from scalecurve.render.plots import picture
from scalecurve.study.latency_record import Histogram, LatencyRecord
from scalecurve.study.task_graph import pipeline


def _load() -> Any:
    rng = np.random.default_rng(1)
    records = [
        LatencyRecord(name=str(r), histogram=Histogram.of(rng.exponential(1 / (100 - r), 100 * r)), seconds=100.0)
        for r in (10, 50, 90)
    ]
    return load_curve(records, slo=0.1)


MAKERS = {
    "collective": lambda: collective_cost("allreduce", 1e6, [2, 8, 64], "nvlink+ib400"),
    "step": lambda: training_step_cost(vector=1e9, compute=0.5, ranks=[1, 2, 4, 8], network="eth10"),
    "graph": lambda: work_depth(pipeline(3, 4), [1, 2, 4]),
    "straggler": lambda: straggler_cost([1, 4, 16], shape={"s": 0.2}),
    "load": _load,
    "roofline": lambda: place_kernels(
        [
            Kernel(name="a", flops=1e9, moved={"memory": 1e8}, seconds=1.0),
            Kernel(name="b", flops=0, moved={"memory": 1}),
        ],
        machine=Ceilings(peak=1e12, bandwidths={"memory": 1e11}),
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
