"""The stack: gates, mixture, and what it says of curves outside every law."""

import numpy as np
import pytest

from scalecurve.forecasting.curves import LogCurve, Traits, pack
from scalecurve.forecasting.published import shipped
from scalecurve.forecasting.stack import (
    EXPERTS,
    FEATURES,
    LAWS,
    PANEL,
    Density,
    ExpertStack,
    StackedGains,
    circumstances,
    stacked_gains,
)
from tools.calibrate_forecast import stored

K = 2.0 ** np.arange(5)
AT = np.array([[32.0, 64.0]])
PLAIN = Traits()


def made_of(log_performance: np.ndarray, traits: Traits = PLAIN, k: np.ndarray = K) -> StackedGains:
    case = circumstances(pack([LogCurve(k, log_performance, None, traits)]), k[-1] * AT / 16, shipped().shapes)
    return stacked_gains(case, shipped().stack)


def test_features_and_experts_have_the_promised_shape() -> None:
    case = circumstances(
        pack([LogCurve(K, np.log(K)), LogCurve(K[:3], np.log(K[:3]))]), np.tile(AT, (2, 1)), shipped().shapes
    )

    assert case.gains.shape == (2, 2, len(EXPERTS))
    assert case.features.shape == (2, 2, len(FEATURES))
    assert np.all(np.isfinite(case.features))
    assert case.octaves[0] == pytest.approx(np.ones(7))


def test_slopes_by_octave_repeat_the_earliest_before_the_first_point() -> None:
    performance = np.array([1.0, 2.0, 3.0, 3.5])
    case = circumstances(
        pack([LogCurve(np.array([1.0, 2.0, 4.0, 8.0]), np.log(performance))]), AT[:, :1], shipped().shapes
    )

    slopes = np.diff(np.log2(performance))[::-1]
    assert case.octaves[0] == pytest.approx([*slopes, *[slopes[-1]] * 4])


def test_weights_add_up_and_the_point_lies_in_its_interval() -> None:
    result = made_of(np.log([1, 1.9, 3.4, 5.6, 7.9]))

    assert result.shares.sum(axis=-1) == pytest.approx(np.ones((1, 2)))
    for level in (0.5, 0.9):
        ends = result.interval(level)
        assert np.all((ends.low <= result.point) & (result.point <= ends.high))
    assert np.all(result.interval(0.9).low <= result.interval(0.5).low)


def test_a_quantile_of_one_laplace_density_is_exact() -> None:
    one = Density(np.ones((1, 1, 1)), np.full((1, 1, 1), 0.3), np.full((1, 1, 1), 0.2))

    low, middle, high = one.quantile(0.05, 0.5, 0.95)[:, 0, 0]

    assert middle == pytest.approx(0.3, abs=1e-6)
    assert (low, high) == pytest.approx((0.3 + 0.2 * np.log(0.1), 0.3 - 0.2 * np.log(0.1)), abs=1e-6)


def test_the_stack_survives_its_file() -> None:
    stack = shipped().stack

    again = ExpertStack.from_dict(stored(stack))

    assert [gate.kind for gate in again.gates] == [gate.kind for gate in stack.gates]
    assert again.mixture.weights == pytest.approx(stack.mixture.weights)
    assert again.sources == stack.sources > 20


def test_a_load_on_a_server_gains_less_than_a_parallel_program() -> None:
    curve = np.log([1, 1.8, 3.0, 4.6, 6.2])
    load = Traits.of("transactions/s", "clients", is_time=False)

    assert np.all(made_of(curve, load).point < made_of(curve, Traits.of("s", "ranks", is_time=True)).point)


def test_a_clean_rising_curve_may_meet_a_boundary_nobody_saw() -> None:
    nodes = Traits.of("s", "nodes", is_time=True)
    linear, rough = (made_of(log, nodes).interval(0.9) for log in (-np.log(0.01 + 0.99 / K), np.log([1, 3, 4, 9, 12])))

    assert np.all(linear.low < 0)
    assert np.all(linear.high - linear.low > linear.disagreement)
    assert rough.high - rough.low == pytest.approx(rough.disagreement, rel=0.02)


def test_a_network_slower_than_the_node_lies_inside_the_interval() -> None:
    def time(k: np.ndarray, slower: float) -> np.ndarray:
        return 0.01 + 0.99 / k + slower * 0.01 * np.log2(k)

    for unit, inside in (("ranks", True), ("nodes", False)):
        low = made_of(-np.log(time(K, 1)), Traits.of("s", unit, is_time=True)).interval(0.9).low
        truth = np.log(time(K, 1)[-1]) - np.log(time(AT, 4))
        assert np.all((low <= truth) == inside)


@pytest.mark.parametrize("end", [[4.0, 4.0], [4.4, 3.6]])
def test_a_flat_or_falling_load_may_have_passed_its_peak(end: list[float]) -> None:
    load = Traits.of("requests/s", "clients", is_time=False)
    still, past = made_of(np.log([1, 1.9, 3.1, 4.0, 4.8]), load), made_of(np.log([1, 1.9, 3.1, *end]), load)

    assert np.all(past.interval(0.9).low <= -0.7 * np.log2(AT / 16))
    assert np.all(still.interval(0.9).low > -0.7 * np.log2(AT / 16))


@pytest.mark.parametrize(("unit", "shares"), [("clients", (0, 1)), ("threads", (0, 0)), ("ranks", (1, 0))])
def test_what_may_lie_beyond_depends_on_what_k_counts(unit: str, shares: tuple[int, int]) -> None:
    gains_have_shrunk = -np.log(0.2 + 0.8 / K)
    _, network, _, peak = made_of(gains_have_shrunk, Traits.of(None, unit, is_time=False)).floors

    assert (bool(np.all(network.share > 0)), bool(np.all(peak.share > 0))) == tuple(bool(own) for own in shares)


def test_the_rate_of_a_device_is_left_to_the_panel() -> None:
    result = made_of(np.log([1, 1.8, 3.0, 4.6, 6.2]), Traits.of("MiB/s", "nodes", is_time=False))

    assert result.shares[..., PANEL] == pytest.approx(np.ones((1, 2)))


def test_a_law_counts_half_where_a_clean_curve_has_bent() -> None:
    k = 2.0 ** np.arange(8)
    result = made_of(-np.log(0.05 + 0.95 / k), k=k)

    assert 0.45 < result.shares[0, 0, LAWS] < 0.6


@pytest.mark.parametrize(
    ("unit", "k_unit", "is_time", "traits"),
    [
        ("MiB/s", "threads", False, (0, 0)),
        ("IOPS", "jobs", False, (0, 5)),
        ("tps", "clients", False, (1, 1)),
        ("requests/s", "connections", False, (1, 1)),
        ("images/s", "GPUs", False, (2, 2)),
        ("s", "cluster nodes", True, (2, 3)),
        ("s", "MPI ranks", True, (2, 4)),
        (None, "workers", True, (2, 5)),
    ],
)
def test_units_tell_the_class(unit: str | None, k_unit: str, is_time: bool, traits: tuple[int, int]) -> None:
    result = Traits.of(unit, k_unit, is_time=is_time)

    assert (result.unit, result.worker) == traits
