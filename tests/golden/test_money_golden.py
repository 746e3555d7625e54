"""What people see of cost and of proposals, word for word; rewritten as in test_golden."""

import os
import shlex
from pathlib import Path

import pytest

from scalecurve.cli.main import run

FILES = Path(__file__).parent / "files"
EXAMPLES = Path(__file__).parents[2] / "examples"

LINES = {
    "cost-law": "cost --law amdahl --serial 0.05 --k-unit gpus --price 2.50 --time-at-one 100h",
    "cost-study": (
        "cost {examples}/reference/strong.csv --regime strong --price 2.50 --jobs 100000 --at 1,2,3,4,8,16,32,64 "
        "--deadline 12h --budget 120 --value-of-time 10"
    ),
    "cost-fleet": (
        "cost --law amdahl --serial 0.05 --workers 1..64 --time-at-one 1h --price 2.50EUR --jobs 100 --fleet 64 "
        "--setup 5min --watts 700 --kwh-price 0.2 --co2 400"
    ),
    "cost-catalog": "cost --law amdahl --serial 0.05 --workers 8,16 --price-of h100@lambda",
    **{
        f"assess-{name}": f"assess {{examples}}/proposals/{name}.toml"
        for name in ("fixed-batch", "vendor-180x", "honest-baseline", "doubling-256", "every-part")
    },
}


@pytest.mark.parametrize("name", LINES)
def test_golden(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(shlex.split(LINES[name].format(examples=EXAMPLES))) == 0
    seen = capsys.readouterr().out
    path = FILES / f"{name}.txt"
    if os.environ.get("SCALECURVE_UPDATE_GOLDEN"):
        path.write_text(seen)

    assert path.read_text() == seen
