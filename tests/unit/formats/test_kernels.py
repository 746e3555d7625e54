"""Kernels from Nsight Compute and likwid."""

from pathlib import Path

import pytest

from scalecurve.errors import FormatError
from scalecurve.formats.kernels import read_kernels

HERE = Path(__file__).parents[2] / "formats" / "roofline"


def test_ncu_adds_launches_and_counts_an_fma_twice() -> None:
    (kernel,) = read_kernels(HERE / "ncu.csv")
    assert (kernel.name, kernel.calls, kernel.flops) == ("saxpy", 2, 2.5e6)
    assert kernel.moved["memory"] == pytest.approx(24e6)
    assert kernel.seconds == pytest.approx(2e-3)


def test_likwid_takes_the_sum_over_threads() -> None:
    (kernel,) = read_kernels(HERE / "likwid.txt")
    assert (kernel.name, kernel.flops, kernel.moved["memory"]) == ("triad", 4.2e9, 30e9)


@pytest.mark.parametrize("text", ["nothing", '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'])
def test_broken_files_say_what_is_wrong(tmp_path: Path, text: str) -> None:
    (tmp_path / "x").write_text(text)
    with pytest.raises(FormatError):
        read_kernels(tmp_path / "x")
