"""Accelerators and clusters that users describe, in every place that takes one."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalecurve.errors import InputError
from scalecurve.hardware.accelerators import accelerator, describe_accelerator
from scalecurve.hardware.networks import network, read_machine_file
from scalecurve.mechanisms.roofline import machine_ceilings
from scalecurve.training import evaluate_layout, plan_training
from scalecurve.training.inputs.cluster import cluster_preset, read_cluster

CHIP = {
    "name": "acme-x1", "bf16_tflops": 500, "memory_gb": 96, "memory_tb_s": 4, "node": 8, "inner_gb_s": 400,
    "outer_gb_s": 50,
}  # fmt: skip
FILE = """
name = "lab"
node = 4
inner = 300
outer = "200Gb/s"
outer_latency = "5us"
usd_per_gpu_hour = 1.5
pue = 1.2
[accelerator]
name = "acme-x1"
bf16_tflops = 500
memory_gb = 96
memory_tb_s = 4
node = 8
inner_gb_s = 400
outer_gb_s = 50
"""


@pytest.fixture
def lab(tmp_path: Path) -> str:
    path = tmp_path / "lab.toml"
    path.write_text(FILE)
    return str(path)


def test_one_file_serves_plan_roofline_and_collectives(lab: str) -> None:
    cluster = read_cluster(lab)
    assert (cluster.name, cluster.node, cluster.inner_rate, cluster.outer_rate) == ("lab", 4, 300e9, 25e9)
    assert (cluster.usd_per_gpu_hour, cluster.pue) == (1.5, 1.2)
    assert plan_training("llama3-8b", lab, gpus=[8], batch="1Mi").rows[0].run_usd is not None
    ceilings, source = machine_ceilings(lab, "bf16")
    assert ceilings.peak == 500e12
    assert "described" in source
    wires = network(lab)
    assert wires.per_node == 4
    assert wires.inter.protocols[0].alpha == pytest.approx(5e-6)
    assert wires.inter.protocols[0].beta == pytest.approx(1 / 25e9)


def test_a_mapping_says_the_same_as_a_file(lab: str) -> None:
    mapping = {"name": "lab", "accelerator": CHIP, "node": 4, "inner": 300, "outer": "200Gb/s"}
    steps = [evaluate_layout("llama3-8b", cluster, "dp=8,zero=2", batch=8).step_seconds for cluster in (lab, mapping)]
    assert steps[0] == pytest.approx(steps[1])
    alone = read_cluster(CHIP)
    assert (alone.name, alone.node) == ("acme-x1", 8)


def test_a_description_may_start_from_an_accelerator() -> None:
    chip = describe_accelerator({"name": "h100-slow", "like": "h100", "memory_tb_s": 2.0})
    assert chip.peaks == accelerator("h100").peaks
    assert chip.memory_rate == 2e12


def test_every_fault_of_a_description_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        describe_accelerator(CHIP | {"memory_gb": -1, "node": 2.5, "ceiling": 3, "colour": "red"})
    for word in ("memory_gb", "node", "ceiling", "colour"):
        assert word in str(caught.value)
    with pytest.raises(InputError, match=r"(?s)memory_gb.*bf16_tflops"):
        describe_accelerator({"name": "empty"})
    path = tmp_path / "broken.toml"
    path.write_text("node = ")
    with pytest.raises(InputError, match="not TOML"):
        read_machine_file(path)
    with pytest.raises(InputError, match="not a rate"):
        read_cluster({"accelerator": CHIP, "outer": "fast"})


def test_precisions_follow_the_matrix_units() -> None:
    v100, h100, b200 = (cluster_preset(name) for name in ("v100", "h100", "b200"))
    assert v100.precision() == ("fp16", [])
    assert v100.precision("bf16")[1][0].remedy == "use fp16"
    assert "no nvfp4" in h100.precision("nvfp4")[1][0].message
    assert b200.precision("nvfp4") == ("nvfp4", [])
    assert b200.peak("nvfp4") == 9000e12
    assert "no fp16" in cluster_preset("tpu-v5p").precision("fp16")[1][0].message
    assert "unknown precision" in h100.precision("fp7")[1][0].message


def test_an_unknown_cluster_is_answered_with_the_closest_names() -> None:
    for name, near in (
        ("b201-ib400", "b200-ib400"),
        ("h100-ib401", "h100-ib400"),
        ("selenee", "selene"),
        ("xyzzy", "h100"),
    ):
        with pytest.raises(InputError, match=near) as caught:
            read_cluster(name)
        assert len(str(caught.value)) < 400


def test_links_of_the_cluster_serve_an_accelerator_that_has_none(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'node = 8\ninner = 450\nouter = "400Gb/s"\n[accelerator]\nbf16_tflops = 500\nmemory_gb = 64\nmemory_tb_s = 2\n'
    )
    machine = read_machine_file(path)
    assert (machine.node, machine.inner_rate, machine.outer_rate) == (8, 450e9, 50e9)
    assert machine.accelerator.capacity == 64 * 2**30
