"""docs/guide/adding-a-law.md, followed literally: its files are written, its test is run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "guide" / "adding-a-law.md").read_text()


def test_the_guide_makes_a_law_that_passes_its_test(tmp_path: Path) -> None:
    files = re.findall(r"^ *```python file=(\S+)\n(.*?)^ *```", GUIDE, re.MULTILINE | re.DOTALL)
    assert {name for name, _ in files} == {"device.py", "test_device.py"}
    for name, text in files:
        (tmp_path / name).write_text(textwrap.dedent(text))
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{tmp_path}"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_device.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout or ".." in done.stdout
