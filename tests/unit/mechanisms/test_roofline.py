"""Kernels under the roof."""

import json
from pathlib import Path

import pytest

from scalecurve.errors import InputError
from scalecurve.formats.kernels import parse_kernel
from scalecurve.hardware.accelerators import accelerator
from scalecurve.laws.roofline import Ceilings, Kernel
from scalecurve.mechanisms import place_kernels

BOX = Ceilings(peak=1e12, bandwidths={"memory": 1e11, "network": 1e9})


def test_kernels_are_classified_and_advised() -> None:
    kernels = [
        Kernel(name="gemm", flops=1e12, moved={"memory": 1e9}, seconds=1.2),
        Kernel(name="copy", flops=0, moved={"memory": 1e11}),
        Kernel(name="norm", flops=1e9, moved={"memory": 1e9}, seconds=0.0105),
        Kernel(name="idle", flops=1e9, moved={"memory": 1e9}, seconds=1.0),
        Kernel(name="halo", flops=1e9, moved={"memory": 1e9, "network": 1e9}),
    ]
    found = place_kernels(kernels, machine=BOX)
    assert [each.bound.limited_by for each in found.placements] == ["compute", "memory", "memory", "memory", "network"]
    assert found.placements[0].share == pytest.approx(1 / 1.2)
    assert "10x fewer bytes" in found.placements[2].advice
    assert "times what the roof allows" in found.placements[3].advice
    assert found.placements[1].intensity == 0
    assert len(found.lines) == 3
    assert "ridge 10 flop/byte" in str(found)


def test_a_kernel_above_the_roof_is_a_fault_of_the_counts() -> None:
    found = place_kernels([Kernel(name="magic", flops=1e13, moved={"memory": 1.0}, seconds=1.0)], machine=BOX)
    assert "above-the-roof" in [finding.code for finding in found.findings]


def test_kernels_are_typed_by_hand() -> None:
    kernel = parse_kernel("gemm:2G:24MB:50ms")
    assert (kernel.flops, kernel.moved["memory"], kernel.seconds) == (2e9, 24e6, 0.05)
    for bad in ("gemm", "gemm:1", "gemm:-1:2MB", ":1:2", "gemm:1:2Mb"):
        with pytest.raises(InputError):
            parse_kernel(bad)


def test_a_measured_machine_is_read_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "box.json"
    row = {"fp32_flops_per_second": 2e12, "fp64_flops_per_second": 1e12, "memory_bytes_per_second": 1e11}
    file.write_text(json.dumps({"rows": [{"threads": 1} | row], "method": "triad"}))
    found = place_kernels(["gemm:1T:1GB"], machine=file)
    assert (found.ceilings.peak, found.method) == (1e12, "triad")
    assert repr(found) == "gemm is compute bound: it takes at least 1 s."
    with pytest.raises(InputError, match="fp32 or fp64"):
        place_kernels(machine=file, precision="bf16")
    file.write_text('{"rows": []}')
    with pytest.raises(InputError, match="not a file of roofline measure"):
        place_kernels(machine=file)


def test_presets_have_a_source_and_a_ridge() -> None:
    assert accelerator("h100").ceilings("bf16").ridge("memory") == pytest.approx(295, abs=1)
    with pytest.raises(InputError, match="no such level"):
        place_kernels(machine=BOX, level="L9")


def test_a_kernel_above_its_roof_is_the_answer() -> None:
    answer = place_kernels(["odd:1e15:1e9:0.001"], machine="h100").answer

    assert answer is not None
    assert answer.decision.startswith("odd cannot have run so fast: 29.41k times")
