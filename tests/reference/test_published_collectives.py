"""Published IMB sweeps of six systems: the larger half of the ranks predicted from the smaller half."""

from __future__ import annotations

import os
import statistics
from contextlib import suppress
from pathlib import Path

import pytest

from bench.collectives import HeldOut, hold_out
from scalecurve.errors import InputError
from scalecurve.formats.sweeps import read_sweeps

FOLDER = Path(os.environ.get("SCALECURVE_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
SWEEPS = FOLDER / "collectives_open.csv"

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not SWEEPS.is_file(), reason=f"published sweeps are not at {SWEEPS}; set SCALECURVE_DATA"),
]


def held_out(operation: str) -> list[HeldOut]:
    """Every system with enough rank counts."""
    tests = []
    for sweep in read_sweeps([SWEEPS]):
        with suppress(InputError):
            tests.append(hold_out(sweep, operation))
    return tests


@pytest.mark.parametrize(("operation", "limit"), [("allreduce", 0.10), ("allgather", 0.14), ("alltoall", 0.20)])
def test_larger_ranks_are_predicted(operation: str, limit: float) -> None:
    tests = held_out(operation)
    ours = statistics.median([error for test in tests for error in test.errors])
    slope = statistics.median([error for test in tests for error in test.yardstick])
    print(f"{operation}: {ours:.1%}, extending the last slope {slope:.1%}, {len(tests)} systems")
    assert ours <= limit
    if len(tests) > 1:  # all-reduce is on one system only
        assert ours < slope
