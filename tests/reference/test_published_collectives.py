"""Published IMB sweeps of six systems: the larger half of the ranks predicted from the smaller half."""

from __future__ import annotations

import os
import statistics
from pathlib import Path

import pytest

from scalecurve.formats.sweeps import read_sweeps
from scalecurve.mechanisms.network_extension import hold_out_all

FOLDER = Path(os.environ.get("SCALECURVE_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
SWEEPS = FOLDER / "collectives_open.csv"

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not SWEEPS.is_file(), reason=f"published sweeps are not at {SWEEPS}; set SCALECURVE_DATA"),
]


@pytest.mark.parametrize(("operation", "limit"), [("allreduce", 0.10), ("allgather", 0.14), ("alltoall", 0.20)])
def test_larger_ranks_are_predicted(operation: str, limit: float) -> None:
    tests = hold_out_all(read_sweeps([SWEEPS]), operation=operation).tests
    ours = statistics.median([error for test in tests for error in test.errors])
    slope = statistics.median([error for test in tests for error in test.yardstick])
    print(f"{operation}: {ours:.1%}, extending the last slope {slope:.1%}, {len(tests)} systems")
    assert ours <= limit
    if len(tests) > 1:  # all-reduce is on one system only
        assert ours < slope
