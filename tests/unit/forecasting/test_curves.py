"""Curves in arrays, their slopes and their noise."""

import numpy as np
import pytest

from scalecurve.forecasting.curves import (
    CLIENTS,
    DEVICE,
    LOAD,
    OTHER_UNIT,
    OTHER_WORKER,
    THREADS,
    LogCurve,
    Traits,
    damped,
    last_slope,
    pack,
    roughness,
    weighted_slope,
)

K = np.array([1.0, 2.0, 4.0, 8.0, 16.0])


def curve(performance: np.ndarray, k: np.ndarray = K, error: np.ndarray | None = None) -> LogCurve:
    return LogCurve(k, np.log(performance), error)


def test_curves_are_aligned_at_their_last_point() -> None:
    packed = pack([curve(K), curve(K[:3], K[:3])])

    assert packed.k[:, -1].tolist() == [16.0, 4.0]
    assert packed.mask.sum(axis=1).tolist() == [5, 3]
    assert packed.weights()[1].tolist() == [0, 0, 0.25, 0.5, 1.0]
    assert packed.without_first()[1].tolist() == [0, 0, 0, 1, 1]


def test_slopes_of_power_laws_are_exact() -> None:
    packed = pack([curve(K**0.7), curve(K**-0.3)])

    assert last_slope(packed) == pytest.approx([0.7, -0.3])
    assert weighted_slope(packed) == pytest.approx([0.7, -0.3])
    at = np.array([[32.0], [32.0]])
    assert damped(packed, at, last_slope(packed), 0.999999)[:, 0] == pytest.approx(np.log([32**0.7, 32**-0.3]))


def test_concave_curves_are_not_rough_and_dips_are() -> None:
    smooth, dip = curve(K / (1 + 0.1 * (K - 1))), curve(np.array([1.0, 2.0, 1.0, 8.0, 16.0]))

    rough = roughness(pack([smooth, dip]))

    assert rough[0] == pytest.approx(0.0, abs=1e-9)
    assert rough[1] > 0.3


GPUS, NODES, RANKS = 2, 3, 4


@pytest.mark.parametrize(
    ("unit", "k_unit", "kind", "worker"),
    [
        ("tps", "threads", LOAD, CLIENTS),  # sysbench: the threads are those of the load generator
        ("requests_per_second", "concurrency", LOAD, CLIENTS),
        ("RPS", "VUs", LOAD, CLIENTS),
        ("msg/s", "producers", LOAD, CLIENTS),
        ("ops/sec", "clients", LOAD, CLIENTS),
        ("Throughput (ops/s)", "threads", OTHER_UNIT, THREADS),
        ("ops/s", "nodes", DEVICE, NODES),
        ("write throughput (MiB/s)", "ranks", DEVICE, RANKS),
        ("4k randread IOPS", "numjobs", DEVICE, CLIENTS),
        ("timesteps/s", "MPI", OTHER_UNIT, RANKS),
        ("tokens/s", "GPUs per node", OTHER_UNIT, GPUS),
        ("GFLOPS", "threads per rank", OTHER_UNIT, THREADS),
        ("throughput", "K", OTHER_UNIT, OTHER_WORKER),
    ],
)
def test_names_of_units_tell_what_a_curve_measures(unit: str, k_unit: str, kind: int, worker: int) -> None:
    assert Traits.of(unit, k_unit, is_time=False) == Traits(kind, worker, is_time=False)
