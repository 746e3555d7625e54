"""The quick sweep: its best is the best of its space, the cap follows the batch, and larger models lift the curve."""

from __future__ import annotations

import pytest

from scalecurve.errors import InputError
from scalecurve.training import presets
from scalecurve.training.quick import PAYING, QuickSweep, quick_sweep
from scalecurve.training.quick_model import critical_batch, transformer_of_size

COUNTS = [8 << step for step in range(12)]


def sweep(size: float = 70e9, critical: float = 8e6, batch: float = 16e6) -> QuickSweep:
    return quick_sweep(
        transformer_of_size(size, 8192),
        presets.cluster("h100-ib400"),
        presets.stack("megatron-core"),
        seq=8192,
        batch_tokens=batch,
        critical_tokens=critical,
        gpus=COUNTS,
    )


def test_the_cap_is_the_batch_over_the_sequence() -> None:
    """Dp <= B/(micro accum seq) with B = min(target, critical)."""
    assert sweep(critical=8e6).cap_replicas == int(8e6 // 8192)
    assert sweep(critical=1e9, batch=4e6).cap_replicas == int(4e6 // 8192)


def test_efficiency_is_one_over_one_plus_comm_frac_and_parts_add_up() -> None:
    for row in sweep().rows:
        assert row.efficiency == pytest.approx(1 / (1 + row.comm_frac))
        assert sum(row.breakdown.values()) == pytest.approx(row.step_seconds)
        assert row.layout["dp"] * row.layout["tp"] * row.layout["pp"] == row.gpus
        assert row.layout["dp"] * row.layout["micro"] * row.layout["accumulation"] <= sweep().cap_replicas
        assert row.memory_bytes <= presets.cluster("h100-ib400").accelerator.capacity
        assert row.regime == ("data" if row.gpus <= (sweep().cap_gpus or 0) else "model")


def test_a_smaller_critical_batch_moves_the_cap_left_and_costs_efficiency() -> None:
    wide, tight = sweep(critical=8e6), sweep(critical=1e6)
    assert (tight.cap_gpus or 0) < (wide.cap_gpus or 0)
    both = {row.gpus: row.efficiency for row in wide.rows}
    assert all(row.efficiency <= both[row.gpus] + 0.02 for row in tight.rows if row.gpus in both and row.gpus >= 512)


def test_a_larger_model_with_its_data_moves_the_cap_right() -> None:
    sizes = (20e9, 70e9, 200e9)
    caps = [sweep(size, critical_batch(20 * size), batch=1e9).cap_gpus or 0 for size in sizes]
    assert caps == sorted(caps)
    assert caps[0] < caps[-1]


def test_the_cost_effective_scale_is_reached_by_doublings_that_pay() -> None:
    found = sweep()
    rates = {row.gpus: row.tokens_per_second for row in found.rows}
    last = found.cost_effective_gpus
    assert last is not None
    assert all(rates[p] >= PAYING * rates[p // 2] for p in rates if p <= last and p // 2 in rates)
    assert rates[2 * last] < PAYING * rates[last]


@pytest.mark.parametrize("size", [1e9, 7e9, 70e9, 405e9, 1e12])
def test_a_model_by_size_has_about_that_size(size: float) -> None:
    model = transformer_of_size(size, 4096)
    assert model.parameters == pytest.approx(
        size, rel=0.6 if size < 3e9 else 0.25
    )  # the vocabulary weighs on small ones


def test_critical_batch_of_published_size() -> None:
    """Zhang et al. 2024 as tabulated: 5.7M tokens at D = 300B, 10M at 1T, 36M at 15T."""
    assert critical_batch(300e9) == pytest.approx(5.7e6, rel=0.03)
    assert critical_batch(1e12) == pytest.approx(10e6, rel=0.03)
    assert critical_batch(15e12) == pytest.approx(36e6, rel=0.03)


def test_experts_are_left_to_the_planner() -> None:
    with pytest.raises(InputError, match="dense"):
        quick_sweep(
            presets.model("mixtral-8x7b"),
            presets.cluster("h100"),
            presets.stack("megatron-core"),
            seq=4096,
            batch_tokens=4e6,
            critical_tokens=4e6,
            gpus=[8],
        )
