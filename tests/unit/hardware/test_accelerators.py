"""One catalogue of hardware: what its readers must agree on, and the figures of the vendors' data sheets."""

from __future__ import annotations

import pytest

from scalecurve.errors import InputError
from scalecurve.hardware.accelerators import accelerator, accelerator_in, accelerators
from scalecurve.hardware.networks import links, network


def test_every_figure_has_a_source_and_a_date() -> None:
    for entry in (*accelerators().values(), *links().values()):
        assert len(entry.source) > 10
        assert entry.date[:2] == "20"


@pytest.mark.parametrize(
    ("name", "precision", "tflops", "terabytes"),
    [
        ("b200", "bf16", 2250, 8.0),
        ("mi300x", "bf16", 1307.4, 5.3),
        ("a100", "bf16", 312, 2.039),
        ("h100", "fp64", 34, 3.35),
    ],
)
def test_where_sources_disagree_the_data_sheet_decides(
    name: str, precision: str, tflops: float, terabytes: float
) -> None:
    """DGX B200: 64 TB/s for eight GPUs; AMD MI300X: 1307.4 TFLOP/s; NVIDIA A100 80 GB SXM: 2039 GB/s."""
    ceilings = accelerator(name).ceilings(precision)
    assert ceilings.peak == pytest.approx(tflops * 1e12)
    assert ceilings.bandwidths["memory"] == accelerator(name).memory_rate == pytest.approx(terabytes * 1e12)


@pytest.mark.parametrize(("name", "link"), [("a100", "nvlink3"), ("h100", "nvlink"), ("b200", "nvlink5")])
def test_the_fast_link_of_an_accelerator_is_the_link_of_collectives(name: str, link: str) -> None:
    assert accelerator(name).inner_rate == links()[link].bandwidth


def test_names_are_found_and_unknown_ones_are_answered_with_near_ones() -> None:
    assert accelerator("NVIDIA H100") is accelerator("dgx-h100")
    with pytest.raises(InputError, match=r"unknown accelerator.*a file of roofline measure"):
        accelerator("abacus", otherwise="; or a file of roofline measure")
    with pytest.raises(InputError, match="h100"):
        accelerator("h101")
    with pytest.raises(InputError, match="no peak for it"):
        accelerator("h100").ceilings("fp4")


def test_networks_are_named_or_typed() -> None:
    assert network("nvlink+roce400").per_node == 8
    assert network("2us/400Gb/s").inter.protocols[0].beta == pytest.approx(1 / 50e9)
    with pytest.raises(InputError, match="unknown network"):
        network("carrier-pigeon")


@pytest.mark.parametrize(
    ("name", "precision", "tflops", "gigabytes", "terabytes"),
    [
        ("gb300", "fp4", 15000, 288, 8.0),
        ("h20", "fp8", 296, 96, 4.0),
        ("mi355x", "bf16", 2500, 288, 8.0),
        ("tpu-v7", "fp8", 4614, 192, 7.37),
        ("trn2", "bf16", 667, 96, 2.9),
        ("gaudi-3", "bf16", 1677, 128, 3.7),
        ("l40s", "fp8", 733, 48, 0.864),
        ("rtx-4090", "bf16", 165.2, 24, 1.008),
    ],
)
def test_figures_of_accelerators_people_train_on(
    name: str, precision: str, tflops: float, gigabytes: float, terabytes: float
) -> None:
    """The sources are in accelerators.csv, row by row."""
    chip = accelerator(name)
    assert chip.peaks[precision] == pytest.approx(tflops * 1e12)
    assert chip.capacity == pytest.approx(gigabytes * 2**30)
    assert chip.memory_rate == pytest.approx(terabytes * 1e12)


@pytest.mark.parametrize(
    "name", ["h200-nvl", "gb300", "h20", "a800", "mi350x", "trainium3", "rtx5090", "a10g", "gh200"]
)
def test_every_accelerator_has_a_16_bit_peak_and_links(name: str) -> None:
    chip = accelerator(name)
    assert chip.peak > 0
    assert chip.inner_rate >= chip.outer_rate > 0


def test_makers_may_be_named() -> None:
    assert accelerator("AMD Instinct MI325X") is accelerator("mi325x")
    assert accelerator("NVIDIA GeForce RTX 4090") is accelerator("rtx4090")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("NVIDIA H100 80GB SXM5", "h100"),
        ("H100 80GB PCIe", "h100-pcie"),
        ("A100-SXM4-40GB", "a100-40gb"),
        ("NVIDIA A100 SXM4 80 GB", "a100-80gb"),
        ("Intel(R) Gaudi(R) 2 AI Accelerator", "gaudi2"),
        ("NVIDIA Blackwell GPU (GB200)", "gb200"),
        ("GH200 480GB", "gh200"),
        ("TPUv5p", "tpu-v5p"),
        ("Trillium", "tpu-v6e"),
        ("trn1.32xlarge", "trainium1"),
        ("AMD MI250X (1 GCD)", "mi250x-gcd"),
        ("8x mi300x", "mi300x"),
        ("L40", "l40"),
    ],
)
def test_the_words_of_a_table_name_an_accelerator(words, name):
    chip = accelerator_in(words)
    assert chip is not None
    assert chip.name == name


@pytest.mark.parametrize("words", ["abacus", "MI300A", "", "GPU"])
def test_words_that_name_no_accelerator_are_not_guessed(words):
    assert accelerator_in(words) is None
