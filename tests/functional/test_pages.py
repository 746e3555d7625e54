"""Every command and every Python block of README, the tutorial, the course and the guides runs as written.

Blocks between `<!-- run: ... -->` and `<!-- end -->` are run by tools/generate_docs.py; `make check` compares them.
A block behind `<!-- not run: reason -->` is left out.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from scalecurve.cli.main import run

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [ROOT / "README.md", ROOT / "docs" / "tutorial.md"]
    + [page for folder in ("guide", "course") for page in (ROOT / "docs" / folder).glob("*.md")]
)
GENERATED = re.compile(r"<!-- run: .+? -->\n.*?<!-- end -->", re.DOTALL)
BLOCK = re.compile(
    r"(?P<skip><!-- not run: [^\n]+-->\n)?^```(?P<kind>console|python|)\n(?P<body>.*?)^```", re.DOTALL | re.MULTILINE
)
ELSEWHERE = (  # run by other tests, or not by us
    *("make ", "pip ", "git ", "cd "),
    *("scalecurve explore", "scalecurve doctor", "scalecurve measure study.toml"),
)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that pages speak of."""
    for name in ("examples", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    for name in ("study", "old", "new", "monday", "tuesday"):
        shutil.copy(ROOT / "examples" / "hosts" / "study.json", tmp_path / f"{name}.json")
    for name in ("table", "times", "runs"):
        shutil.copy(ROOT / "examples" / "reference" / "strong.csv", tmp_path / f"{name}.csv")
    shutil.copytree(ROOT / "tests" / "formats" / "samples" / "chrome_trace", tmp_path / "traces")
    solver = tmp_path / "solver"
    solver.write_text(f"#!{sys.executable}\nprint('elapsed: 0.01')\n")
    solver.chmod(0o755)
    monkeypatch.setenv("GITHUB_ACTIONS", "")
    return tmp_path


def commands(text: str) -> list[str]:
    """The command lines of a console block, continued lines joined, without their output."""
    joined = text.replace("\\\n", " ")
    prompts = [line[2:] for line in joined.splitlines() if line.startswith("$ ")]
    return prompts or [line for line in joined.splitlines() if line.startswith("scalecurve ")]


def run_command(line: str) -> None:
    words = shlex.split(line, comments=True)
    if line.startswith(ELSEWHERE) or not words:
        return
    assert words[0] == "scalecurve", f"only scalecurve runs on a page: {line}"
    busy = ["--quiet-below", "1000", "--oversubscribe"] if words[1] == "measure" and "--" in words else []
    at = words.index("--") if busy else len(words)
    code = run([*words[1:at], *busy, *words[at:]])
    assert code in (0, 1), line


def world() -> dict[str, Any]:
    """The names that blocks of a page may take for granted."""
    import scalecurve as sc

    nothing = SimpleNamespace(Barrier=lambda: None, Allreduce=lambda *_: None)
    study = sc.load(ROOT / "examples" / "reference" / "strong.csv", regime="strong")
    return {
        "sc": sc,
        "study": study,
        "loader": [[1, 2], [3]],
        "comm": nothing,
        "gradients": [0.0],
        "total": [0.0],
        "forward_and_backward": sum,
        "all_reduce": sum,
        "final_loss": 0.5,
        "optimizer": SimpleNamespace(step=lambda: None),
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_runs_as_written(page: Path, desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = world()
    with contextlib.chdir(desk):
        for block in BLOCK.finditer(GENERATED.sub("", page.read_text())):
            if block["skip"]:
                continue
            if block["kind"] == "python":
                exec(compile(textwrap.dedent(block["body"]), str(page), "exec"), names)
            else:
                for line in commands(block["body"]):
                    run_command(line)
    capsys.readouterr()
