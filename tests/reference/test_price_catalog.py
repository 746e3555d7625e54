"""The shipped catalog is what its script makes of the source table."""

import os
from pathlib import Path

import pytest

from scalecurve.hardware.accelerators import hardware_table
from tools.price_catalog import main

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("SCALECURVE_DATA", ROOT.parent / "shared" / "data")) / "training"


@pytest.mark.data
def test_the_catalog_can_be_rebuilt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not (DATA / "gpu_prices_skypilot.csv").exists():
        pytest.skip(f"the source table is not at {DATA}")
    main(DATA, tmp_path / "prices.csv")
    printed = capsys.readouterr().out

    assert (tmp_path / "prices.csv").read_text() == hardware_table("prices.csv")
    assert "bid-floor: A100@mithril 0.01" in printed
    assert "placeholder: maximum 700.0 of tpu-v6e-1@gcp" in printed
