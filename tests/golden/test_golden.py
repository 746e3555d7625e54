"""What people see, word for word.

`SCALECURVE_UPDATE_GOLDEN=1 pytest tests/golden` rewrites the files; read the diff.
"""

import os
import shlex
from pathlib import Path

import pytest

from scalecurve.cli.main import run

FILES = Path(__file__).parent / "files"
EXAMPLES = Path(__file__).parents[2] / "examples"

LINES = {
    "table-strong": "table {examples}/reference/strong.csv --regime strong --threshold 0.7",
    "table-strong-karp-flatt": "table {examples}/reference/strong.csv --regime strong --karp-flatt --bend knee",
    "table-weak": "table {examples}/reference/weak.csv --regime weak",
    "table-baseline-8": "table {examples}/reference/strong.csv --regime strong --baseline-k 8",
    "fit-strong": "fit {examples}/reference/strong.csv --regime strong",
    "forecast-strong": "forecast {examples}/reference/strong.csv --regime strong --at 96,128,512,4096",
    "forecast-weak": "forecast {examples}/reference/weak.csv --regime weak --at 128,256",
    "next-strong": "next {examples}/reference/strong.csv --regime strong --budget '1 gpu-min' --target 512",
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
    "law-isoefficiency-none": "law isoefficiency --serial 0.05 --comm 0.01 --hold 0.9 --serial-share",
    "law-usl": "law usl --contention 0.0277 --coherency 1.044e-4",
    "law-gustafson": "law gustafson --serial 0.05",
    "law-sun-ni": "law sun-ni --serial 0.05 --growth 1.5",
    "law-karp-flatt": "law karp-flatt --workers 1,2,4,8 --speedups 1,1.88,3.31,5.33",
    "law-stragglers": "law stragglers --spread 0.1",
}


@pytest.mark.parametrize("name", LINES)
def test_golden(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(shlex.split(LINES[name].format(examples=EXAMPLES))) == 0
    seen = capsys.readouterr().out
    path = FILES / f"{name}.txt"
    if os.environ.get("SCALECURVE_UPDATE_GOLDEN"):
        path.write_text(seen)

    assert path.read_text() == seen
