"""What people see of the trust commands, word for word; see test_golden for how to rewrite the files."""

import os
import shlex
from pathlib import Path

import pytest

from scalecurve.cli.main import run

FILES = Path(__file__).parent / "files"
ROOT = Path(__file__).parents[2]

LINES = {
    "audit-bare": (1, "audit --speedup 180 --workers 256 --k-unit gpus"),
    "audit-strong": (1, "audit {root}/examples/reference/strong.csv --regime strong"),
    "audit-markdown": (1, "audit {root}/examples/reference/strong.csv --markdown"),
    "check-floor": (1, "check {root}/examples/reference/strong.csv --regime strong --min-efficiency 0.8@8"),
    "check-against": (
        0,
        "check {root}/examples/reference/strong.csv --regime strong --against {root}/examples/reference/strong.csv",
    ),
    "compare": (0, "compare {root}/examples/reference/strong.csv {root}/examples/reference/strong.csv --regime strong"),
    "regime-validation": (0, "regime --workers 4,16,64 --total 50000 --called weak --times 100,98,97"),
    "regime-pretraining": (0, "regime --workers 8,64,512 --per-worker 4M --name pretraining"),
    "diagnose-traces": (0, "diagnose {root}/tests/formats/samples/chrome_trace --regime strong"),
}


@pytest.mark.parametrize("name", LINES)
def test_golden(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, line = LINES[name]
    assert run(shlex.split(line.format(root=ROOT))) == code
    seen = capsys.readouterr().out
    path = FILES / f"{name}.txt"
    if os.environ.get("SCALECURVE_UPDATE_GOLDEN"):
        path.write_text(seen)

    assert path.read_text() == seen
