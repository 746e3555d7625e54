"""What people see, word for word, and that it fits a narrow terminal.

`SCALECURVE_UPDATE_GOLDEN=1 pytest tests/golden` rewrites the files; read the diff.
"""

import os
import shlex
from pathlib import Path

import pytest

from scalecurve.cli.main import run
from scalecurve.render.terminal import cells

FILES = Path(__file__).parent / "files"
ROOT = Path(__file__).parents[2]

LINES = {
    "table-strong": "table examples/reference/strong.csv --regime strong --threshold 0.7",
    "table-strong-karp-flatt": "table examples/reference/strong.csv --regime strong --karp-flatt --bend knee",
    "table-weak": "table examples/reference/weak.csv --regime weak",
    "table-baseline-8": "table examples/reference/strong.csv --regime strong --baseline-k 8",
    "fit-strong": "fit examples/reference/strong.csv --regime strong",
    "forecast-strong": "forecast examples/reference/strong.csv --regime strong --at 96,128,512,4096",
    "forecast-weak": "forecast examples/reference/weak.csv --regime weak --at 128,256",
    "next-strong": "next examples/reference/strong.csv --regime strong --budget '1 gpu-min' --target 512",
    "plan-sweep": "plan --model llama3-8b --cluster h100-ib400 --gpus 8..512 --seq 8192 --global-batch 1M "
    "--critical-batch zhang --top 2 --deadline 30d",
    "plan-layout": "plan --model gpt3-175b --cluster selene --stack megatron-lm --global-batch 3Mi "
    "--layout tp=8,pp=12,dp=4,micro=1,recompute=full --explain 384",
    "law-amdahl": "law amdahl --serial 0.05",
    "law-amdahl-below": "law amdahl --serial 0.01,0.05,0.20 --below 0.5",
    "law-amdahl-serial-for": "law amdahl --serial-for-efficiency 0.8",
    "law-logcomm-both": "law logcomm --serial 0.05 --comm 0.01 --regime both --workers 1..128",
    "law-logcomm-optimum": "law logcomm --serial 0.01,0.05,0.10 --comm 0.005,0.02 --optimum",
    "law-isoefficiency": "law isoefficiency --serial 0.05 --comm 0.01 --hold 0.95",
    "law-usl": "law usl --contention 0.0277 --coherency 1.044e-4",
    "law-gustafson": "law gustafson --serial 0.05",
    "law-sun-ni": "law sun-ni --serial 0.05 --growth 1.5",
    "law-karp-flatt": "law karp-flatt --workers 1,2,4,8 --speedups 1,1.88,3.31,5.33",
    "law-stragglers": "law stragglers --spread 0.1",
    "audit-bare": "audit --speedup 180 --workers 256 --k-unit gpus",
    "audit-strong": "audit examples/reference/strong.csv --regime strong",
    "audit-markdown": "audit examples/reference/strong.csv --markdown",
    "check-floor": "check examples/reference/strong.csv --regime strong --min-efficiency 0.8@8",
    "check-against": "check examples/reference/strong.csv --regime strong --against examples/reference/strong.csv",
    "compare": "compare examples/reference/strong.csv examples/reference/strong.csv --regime strong",
    "regime-validation": "regime --workers 4,16,64 --total 50000 --called weak --times 100,98,97",
    "regime-pretraining": "regime --workers 8,64,512 --per-worker 4M --name pretraining",
    "diagnose-traces": "diagnose tests/formats/samples/chrome_trace --regime strong",
    "cost-law": "cost --law amdahl --serial 0.05 --k-unit gpus --price 2.50 --time-at-one 100h",
    "cost-study": (
        "cost examples/reference/strong.csv --regime strong --price 2.50 --jobs 100000 --at 1,2,3,4,8,16,32,64 "
        "--deadline 12h --budget 120 --value-of-time 10"
    ),
    "cost-fleet": (
        "cost --law amdahl --serial 0.05 --workers 1..64 --time-at-one 1h --price 2.50EUR --jobs 100 --fleet 64 "
        "--setup 5min --watts 700 --kwh-price 0.2 --co2 400"
    ),
    "cost-catalog": "cost --law amdahl --serial 0.05 --workers 8,16 --price-of h100@lambda",
    **{
        f"assess-{name}": f"assess examples/proposals/{name}.toml"
        for name in ("fixed-batch", "vendor-180x", "honest-baseline", "doubling-256", "every-part")
    },
}
FAILS = {"audit-bare", "check-floor"}


@pytest.mark.parametrize("name", LINES)
def test_golden(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert run(shlex.split(LINES[name])) == (name in FAILS)
    seen = capsys.readouterr().out
    path = FILES / f"{name}.txt"
    if os.environ.get("SCALECURVE_UPDATE_GOLDEN"):
        path.write_text(seen)

    assert path.read_text() == seen


@pytest.mark.parametrize("name", [name for name in LINES if name != "audit-markdown"])
def test_eighty_columns_hold_every_line(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    run(shlex.split(LINES[name]))
    seen = capsys.readouterr().out

    assert [line for line in seen.splitlines() if cells(line) > 80] == []
