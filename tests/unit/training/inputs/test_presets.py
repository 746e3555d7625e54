"""The data files: every row has a source, every name is found, unknown ones are answered with near ones."""

from __future__ import annotations

import pytest

from scalecurve.errors import InputError
from scalecurve.hardware.accelerators import accelerators
from scalecurve.hardware.prices import gpu_price, offers, provider_prices
from scalecurve.planning.pricing import price_of
from scalecurve.training.inputs.cluster import cluster_preset
from scalecurve.training.inputs.stack import calibration_of, read_stack, shipped_calibration, stacks
from scalecurve.training.inputs.transformer import model_preset, models, read_model
from scalecurve.training.physics.run import critical_batch_laws, loss_laws


def test_every_row_has_a_source():
    for entry in (*models().values(), *accelerators().values(), *stacks().values()):
        assert len(entry.source) > 10
    assert all(law["source"] for law in critical_batch_laws().values())
    assert all(law.source for law in loss_laws().values())
    assert all(price.source and price.date for price in offers())


def test_at_most_six_constants_are_fitted():
    assert all(len(stack.constants) <= 6 for stack in stacks().values())
    assert all(len(entry["constants"]) <= 6 for entry in shipped_calibration()["entries"])


@pytest.mark.parametrize("name", ["h100-ib400", "A100", "selene", "DGX-H100", "a100-80gb-ib200", "gb200", "tpu-v5p"])
def test_clusters_by_name(name):
    assert cluster_preset(name).outer_rate > 0


@pytest.mark.parametrize("name", ["Llama3-70B", "llama-3.1-405b", "llama3.1-8b", "GPT3-175B", "DeepSeek_V3"])
def test_models_by_name(name):
    assert model_preset(name).parameters > 1e9


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("meta-llama/Llama-3.1-70B-Instruct", "llama3-70b"), ("LLaMA 2 7B", "llama2-7b"),
        ("nemotron4-340b", "nemotron-4-340b"), ("Llama-3.2-1B", "llama3.2-1b"),
        ("mistralai/Mixtral-8x7B-v0.1", "mixtral-8x7b"), ("deepseek-ai/DeepSeek-V3-0324", "deepseek-v3"),
        ("google/gemma-3-27b-it", "gemma3-27b"), ("llama4-scout-17b-16e", "llama4-scout"),
    ],
)  # fmt: skip
def test_a_model_by_its_hugging_face_id(spelling, name):
    assert model_preset(spelling).name == name


def test_unknown_names_are_answered_with_near_ones():
    with pytest.raises(InputError, match="llama3-70b"):
        model_preset("lama3-70b")
    with pytest.raises(InputError, match="fsdp"):
        read_stack("fsdpp")


def test_every_accelerator_and_stack_can_be_resolved():
    for chip in set(accelerators().values()):
        for stack in set(stacks().values()):
            known = calibration_of(chip, stack)
            assert known.evidence in ("calibrated", "transferred", "assumed")
            assert 0.05 < known.constants.matmul <= 1.0
            assert known.half_width > 0


def test_prices_are_dated_and_sane():
    assert 1.0 < gpu_price("h100")[0] < 8.0
    assert gpu_price("mi250x") is None
    assert "mithril" not in provider_prices("h100")
    cluster = cluster_preset("h100").with_price(2.0)
    assert cluster.dollars(8, 1800) == price_of(2.0, workers=8, seconds=1800) == 8.0
    assert cluster_preset("mi250x").with_price().dollars(8, 1800) is None


def test_a_gate_may_be_written_as_a_switch():
    for written, gated in (("gated=true", True), ("swiglu=yes", True), ("gated=no", False), ("gated=1", True)):
        assert bool(read_model(f"hidden=4096,layers=32,heads=32,ffn=11008,{written}").gated) is gated
    with pytest.raises(InputError, match="count"):
        read_model("hidden=4096,layers=true,heads=32")


def test_hardware_of_a_family_never_measured_on_an_accelerator_is_between_both():
    """Megatron core on A100: between what other stacks reach on A100 and what Megatron core reaches elsewhere."""
    chip, stack = accelerators()["a100"], read_stack("megatron-core")
    entries = shipped_calibration()["entries"]
    assert not any(e["accelerator"] == chip.name and e["stack"] == stack.name for e in entries)
    here = [e["constants"]["matmul"] for e in entries if e["accelerator"].startswith("a100")]
    family = [
        e["constants"]["matmul"] * chip.ceiling / e["ceiling"]
        for e in entries
        if read_stack(e["stack"]).family == stack.family
    ]
    middle = (sum(here) / len(here) + sum(family) / len(family)) / 2
    assert calibration_of(chip, stack).constants.matmul == pytest.approx(middle)
