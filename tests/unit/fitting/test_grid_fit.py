"""`fit_grid` and `forecast_grid`: tables, mappings, isoefficiency, refusals and pictures."""

import numpy as np
import pytest

import scalecurve as sc
from scalecurve.errors import InputError
from scalecurve.render.plots import picture

SIZES, WORKERS = (1e5, 2e5, 4e5, 8e5), (1, 2, 4, 8)


def time_of(size, k):
    return 1e-6 * size / k + 0.01 * np.log2(k)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("grid") / "grid.csv"
    rng = np.random.default_rng(3)
    rows = [
        (k, n, time_of(n, k) * (1 + 0.02 * rng.standard_normal())) for n in SIZES for k in WORKERS for _ in range(2)
    ]
    path.write_text("cores,size,seconds\n" + "".join(f"{k},{n:.0f},{t:.6f}\n" for k, n, t in rows))
    return path


@pytest.fixture(scope="module")
def fitted(table):
    return sc.fit_grid(table, regime="strong", hold=0.7)


def test_isoefficiency_follows_the_truth(fitted):
    """E = 0.7 asks for N = 0.7/0.3 K c log K / a."""
    for row in fitted.isoefficiency:
        if row.k <= 8:
            true = 0.7 / 0.3 * row.k * 0.01 * np.log2(row.k) / 1e-6
            assert row.size is not None
            assert row.size.value == pytest.approx(true, rel=0.3)
            assert row.size.low is not None
            assert row.size.low * 0.85 < true


def test_the_answer_says_its_terms_and_is_drawn(fitted):
    assert fitted.formula.startswith("T = ")
    assert "efficiency of 70 %" in str(fitted)
    assert fitted.to_dict()["isoefficiency"]
    assert b"<svg" in picture(fitted, "svg")


def test_a_forecast_at_another_size_holds_the_truth(table):
    row = sc.forecast_grid(table, regime="strong", size=1.6e6, at=16)[0]
    assert row.time is not None
    assert row.time.low < time_of(1.6e6, 16) * 1.1
    assert row.time.high > time_of(1.6e6, 16) * 0.9
    assert row.efficiency is not None


def test_far_away_is_refused_unless_asked(table):
    far = sc.forecast_grid(table, regime="strong", size=1e9, at=8)
    assert far[0].time is None
    assert "too-far" in [finding.code for finding in far.findings]
    assert sc.forecast_grid(table, regime="strong", size=1e9, at=8, extrapolate=True)[0].time is not None


def test_mappings_by_size_and_by_pairs_are_the_same_set():
    nested = sc.load_all({n: {k: time_of(n, k) for k in WORKERS} for n in SIZES}, regime="strong")
    pairs = sc.load_all({(n, k): time_of(n, k) for n in SIZES for k in WORKERS}, regime="strong")
    assert nested.sizes == pairs.sizes
    assert list(nested.sizes.values()) == list(SIZES)


def test_a_set_without_sizes_or_with_other_differences_is_refused(tmp_path):
    with pytest.raises(InputError, match="no problem size"):
        sc.fit_grid({1: 4.0, 2: 2.1, 4: 1.2}, regime="strong")
    path = tmp_path / "two.csv"
    rows = [(s, n, k, time_of(n, k)) for s in ("a", "b") for n in SIZES for k in WORKERS]
    path.write_text("solver,size,workers,seconds\n" + "".join(f"{s},{n:.0f},{k},{t}\n" for s, n, k, t in rows))
    with pytest.raises(InputError, match="more than their size"):
        sc.fit_grid(path, regime="strong")
