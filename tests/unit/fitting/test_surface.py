"""T(N, K): known truths are predicted at four times both axes, and intervals hold them."""

import numpy as np
import pytest

from scalecurve.errors import InputError
from scalecurve.fitting.grid_forecast import forecast_grid
from scalecurve.fitting.surface import SurfacePoints, fit_surface, surface_points, term_library
from scalecurve.formats.loading import load_any as load

SIZES, WORKERS = 1e4 * 2.0 ** np.arange(5), 2.0 ** np.arange(5)


def points_of(truth, noise=0.0, seed=0):
    size, k = (own.ravel() for own in np.meshgrid(SIZES, WORKERS, indexing="ij"))
    times = truth(size, k) * (1 + noise * np.random.default_rng(seed).standard_normal(len(size)))
    return SurfacePoints(size, k, np.log(times), np.ones(len(size)), None, 0.0)


def at_corner(surface):
    return np.exp(surface.quantiles(np.array([4 * SIZES[-1]]), np.array([4 * WORKERS[-1]]), 0.9)[0])


def test_a_product_is_recovered_without_noise():
    surface = fit_surface(points_of(lambda n, k: 1e-6 * n**1.5 / k))
    terms, coefficients, _, weight = surface.best
    assert [surface.library.text(int(term)) for term in terms] == ["N^3/2 K^-1"]
    assert coefficients[0] == pytest.approx(1e-6, rel=1e-6)
    assert weight > 0.9


@pytest.mark.parametrize("seed", range(4))
def test_sums_with_noise_are_predicted_at_four_times_both_axes(seed):
    def truth(n, k):
        return 1e-5 * n / k + 2e-4 * np.sqrt(n / k) + 0.01

    middle, low, high = at_corner(fit_surface(points_of(truth, 0.03, seed)))
    true = truth(4 * SIZES[-1], 4 * WORKERS[-1])
    assert low < middle < high
    assert middle == pytest.approx(true, rel=0.5)
    assert low * 0.8 < true < high * 1.25


@pytest.mark.parametrize("power", [4, 6])
def test_steep_work_is_not_called_a_cube(power):
    sizes, k = (own.ravel() for own in np.meshgrid(100.0 * 2.0 ** np.arange(3), 2.0 ** np.arange(4), indexing="ij"))
    noise = 1 + 0.02 * np.random.default_rng(3).standard_normal(len(k))
    points = SurfacePoints(sizes, k, np.log(sizes**power / k * noise), np.ones(len(k)), None, 0.0)
    _, low, high = fit_surface(points).quantiles(np.array([1600.0]), np.array([32.0]), 0.9)[0]
    assert low < np.log(1600.0**power / 32) < high


def test_two_kinds_of_work_are_held_beside_one_of_a_broken_power():
    sizes, k = (own.ravel() for own in np.meshgrid(100.0 * 2.0 ** np.arange(3), 2.0 ** np.arange(4), indexing="ij"))

    def truth(n, k):
        return ((n / 200) ** 3 + (n / 200) ** 2) / k

    noise = 1 + 0.03 * np.random.default_rng(4).standard_normal(len(k))
    points = SurfacePoints(sizes, k, np.log(truth(sizes, k) * noise), np.ones(len(k)), None, 0.0)
    _, low, high = fit_surface(points).quantiles(np.array([1600.0]), np.array([32.0]), 0.9)[0]
    assert low < np.log(truth(1600.0, 32.0)) < high


def test_the_constant_term_has_a_plain_name_and_sizes_below_two_take_no_logarithm():
    library = term_library(logs_of_size=True)
    assert library.text(library.constant) == "1"
    assert not term_library(logs_of_size=False).exponents[:, 1].any()


def test_points_come_from_curves_and_weak_sizes_grow_with_k():
    grid = {100: {1: [1.0, 1.1], 2: [1.2, 1.2], 4: 1.3}, 200: {1: 2.0, 2: 2.1, 4: 2.2}}
    strong, weak = (surface_points(load(grid, regime=own)) for own in ("strong", "weak"))
    assert strong.size.tolist() == [100, 100, 100, 200, 200, 200]
    assert sorted(set(weak.size.tolist())) == [100, 200, 400, 800]
    assert strong.noise is not None


def test_too_few_points_are_refused():
    with pytest.raises(InputError, match="too few points"):
        surface_points(load({100: {1: 1.0, 2: 0.6}, 200: {1: 2.0}}, regime="strong"))


def test_more_nodes_than_were_measured_lie_inside_the_interval_of_a_grid() -> None:
    """Memory fills a node of 8 at two to six workers; more nodes have as much each, less what the network eats."""
    rng, inside = np.random.default_rng(3), []
    for _ in range(6):
        full, network = rng.uniform(2, 6), rng.uniform(0, 0.1)

        def time(size: float, k: int, full: float = full, network: float = network) -> float:
            nodes, work = max(k / 8, 1.0), size / 1e5 / (full * (1 - np.exp(-min(k, 8) / full)))
            return float(work / nodes * (1 + network * (1 - 1 / nodes)))

        grid = {
            size: {k: [time(size, k) * (1 + 0.01 * e) for e in rng.standard_normal(3)] for k in (1, 2, 4, 8)}
            for size in (1e6, 2e6, 4e6, 8e6)
        }
        row = forecast_grid(grid, size=16e6, at=16, regime="strong", node_size=8)[0]
        inside.append(row.time is not None and row.time.low <= time(16e6, 16) <= row.time.high)
    assert sum(inside) >= 5


def test_a_grid_measured_over_nodes_is_extrapolated_from_one_full_node_on() -> None:
    grid = {size: {k: size / 1e5 / (min(k, 2) * max(k / 8, 1)) for k in (1, 2, 8, 16, 32)} for size in (1e6, 2e6, 4e6)}
    result = forecast_grid(grid, size=4e6, at=64, regime="strong", node_size=8)
    assert "inside-node-left-out" in [finding.code for finding in result.findings]
    assert result[0].time is not None
    assert result[0].efficiency is not None
    assert result[0].time.value == pytest.approx(40 / 16, rel=0.05)
    assert result[0].efficiency.value == pytest.approx(16 / 64, rel=0.05)
