"""Every command and Python block of README, the tutorial, the course, the guides and the reference runs as written.

Blocks between `<!-- run: ... -->` and `<!-- end -->` are run by tools/generate_docs.py; `make check` compares them.
A block behind `<!-- not run: reason -->` is left out.  A block with a title is a file of that name: data is written to
the desk, Python files belong to guides that tests of their own follow.  Any other fence fails its page.
Options named in prose must exist.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import shlex
import shutil
import sys
import textwrap
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np
import pytest

from scalecurve.cli.main import COMMANDS, app, run

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [ROOT / "README.md", ROOT / "docs" / "README.md", ROOT / "docs" / "tutorial.md"]
    + [page for folder in ("guide", "course") for page in (ROOT / "docs" / folder).glob("*.md")]
    + [ROOT / "docs" / "reference" / f"{name}.md" for name in ("python", "study-file")]
)
GENERATED = re.compile(r"<!-- run: .+? -->\n.*?<!-- end -->", re.DOTALL)
BLOCK = re.compile(
    r"(?P<skip>^ *<!-- not run: [^\n]+-->\n)?"
    r'^(?P<indent> *)```(?P<kind>\w*)(?: title="(?P<title>[^"\n]+)")?\n(?P<body>.*?)^(?P=indent)```$',
    re.DOTALL | re.MULTILINE,
)
DATA = ("toml", "text", "csv")
FOLLOWED = ("adding-a-law", "adding-a-reader", "adding-a-launcher", "adding-a-command")  # by tests of their own
NOT_OURS = ("make ", "pip ", "git ", "cd ", ". ")  # the shell and the Makefile
SMALL = ("--workers", "1,2", "--repeats", "2", "-o", "fresh.json")  # of the whole study that a file describes


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that pages speak of."""
    for name in ("examples", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    for name in ("study", "old", "new", "monday", "tuesday", "strong", "weak"):
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
    if line.startswith(NOT_OURS) or not words:
        return
    assert words[0] == "scalecurve", f"only scalecurve runs on a page: {line}"
    if words[1] == "explore":
        if "--export" not in words:
            return  # a server; tests/browser opens it
        words += ["--models", "llama3-8b", "--clusters", "h100-ib400"]  # of the whole grid, which takes a minute
    measures = words[1] == "measure" and "--init" not in words
    busy = ["--quiet-below", "1000", "--oversubscribe"] if measures else []
    busy += SMALL if measures and "study.toml" in words else []
    at = words.index("--") if "--" in words else len(words)
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
    names, text = world(), GENERATED.sub("", page.read_text())
    assert "```" not in BLOCK.sub("", text), "a fence that this test does not understand"
    with contextlib.chdir(desk):
        for block in BLOCK.finditer(text):
            body = textwrap.dedent(block["body"])
            if block["skip"]:
                continue
            if block["title"] and (block["kind"] == "python" or block["title"].startswith("a section of ")):
                assert page.stem in FOLLOWED, f"no test follows {block['title']}"
            elif block["title"]:
                Path(block["title"]).write_text(body)
            elif block["kind"] == "python":
                exec(compile(body, str(page), "exec"), names)
            elif block["kind"] in ("console", ""):
                for line in commands(body):
                    run_command(line)
            else:
                assert block["kind"] in DATA, f"is ```{block['kind']} run by anything?"
    capsys.readouterr()


def test_the_notebook_runs_what_the_tutorial_runs() -> None:
    """`make check` holds it to tools/notebook_page.py; here its commands are those that the pages run."""
    cells = json.loads((ROOT / "docs" / "tutorial.ipynb").read_text())["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    tutorial = (ROOT / "docs" / "tutorial.md").read_text()
    assert sources[0] == "%cd .."
    assert len(sources) > 5
    for source in sources[1:]:
        assert source.removeprefix("!").replace("{{", "{").replace("}}", "}") in tutorial


RESULTS = [ROOT / "docs" / "tutorial.md", *sorted((ROOT / "docs" / "course").glob("0*.md"))]
RESULTS += [ROOT / "docs" / "gallery" / "README.md"]
FIGURE = re.compile(r"(?<![\w.])(\d+\.\d\d+|\d{2,3}(?= %))")
NOT_PRINTED = {  # figures of prose that no command of the page prints: ratios of two rows, factors of textbooks, inputs
    "04-bends": {"1.65"},
    "05-honest-measurement": {"1.96", "2.78", "88", "95", "0.1884", "0.0039", "0.1850", "0.1918", "0.1837", "0.1933"},
    "06-training-ceiling": {"50", "30"},
}


@pytest.mark.parametrize("page", RESULTS, ids=lambda page: page.stem)
def test_figures_in_prose_are_printed_on_the_page(page: Path) -> None:
    """A result that a sentence quotes is one that a command of the page prints, rounded, or as a share or percent."""
    text = page.read_text()
    printed = re.findall(r"\d[\d,]*(?:\.\d+)?", " ".join(GENERATED.findall(text)))
    values = np.array([float(number.replace(",", "")) for number in printed])
    shown = np.concatenate([values, 100 * values, values / 100, 1 - values, 100 * (1 - values)])
    prose = re.sub(r"`[^`\n]*`|<!--.*?-->", "", BLOCK.sub("", GENERATED.sub("", text)))
    for figure in set(FIGURE.findall(prose)) - NOT_PRINTED.get(page.stem, set()):
        digits = len(figure.partition(".")[2])
        assert np.isclose(np.round(shown, digits), float(figure), atol=1e-9).any(), f"{figure} is printed nowhere"


def options_of(words: list[str]) -> set[str] | None:
    """The options of the command that the words begin with; None where they name none."""
    command: click.Command = app
    for word in words:
        inner = command.get_command(click.Context(command), word) if isinstance(command, click.Group) else None
        if inner is None:
            break
        command = inner
    if command is app:
        return None
    return {name for option in command.params for name in (*option.opts, *option.secondary_opts)} | {"--help"}


LONG = re.compile(r"--[a-z]")
EVERYWHERE = [*sorted(ROOT.glob("docs/**/*.md")), ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]


@pytest.mark.parametrize("page", EVERYWHERE, ids=lambda page: str(page.relative_to(ROOT)))
def test_options_named_in_prose_exist(page: Path) -> None:
    text = BLOCK.sub("", GENERATED.sub("", page.read_text()))
    wrong = []
    for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", text):
        words = span.replace("\n", " ").removeprefix("scalecurve ").split()
        known = options_of(words)
        if known is None and span.startswith("scalecurve ") and not words[0].startswith(("-", "[", "C")):
            wrong.append(f"no such command: {span}")
        given = itertools.takewhile(lambda word: word != "--", words)
        wrong += [f"{word} in {span}" for word in given if known is not None and LONG.match(word) and word not in known]
    assert not wrong


NAMED_FILE = re.compile(r"(?<![\w/.<*-])((?:[\w.-]+/)+[\w.-]+\.(?:py|toml|json|csv|md|yml|js)|[\w-]+\.py)\b")
NOT_HERE = {  # files that a guide lets the reader write, one of nanotron, and those that bench.real_programs writes
    "src/scalecurve/measurement/launchers/prun.py", "stopwatch.py", "docs/laws/device.md", "models/base.py",
    *tomllib.loads((ROOT / "bench" / "real_programs.toml").read_text())["files"],
}  # fmt: skip


@pytest.mark.parametrize("page", [*EVERYWHERE, ROOT / "SECURITY.md"], ids=lambda page: str(page.relative_to(ROOT)))
def test_files_named_in_prose_exist(page: Path) -> None:
    folders = ("src", "tests", "tools", "bench", "docs", "examples", "requirements", ".github")
    files = [str(file.relative_to(ROOT)) for name in folders for file in (ROOT / name).rglob("*") if file.is_file()]
    ends = {end for file in files for end in itertools.accumulate(reversed(file.split("/")), lambda a, b: f"{b}/{a}")}
    text = BLOCK.sub("", GENERATED.sub("", page.read_text()))
    wrong = [
        name for name in NAMED_FILE.findall(text) if name not in ends | NOT_HERE and not (page.parent / name).exists()
    ]
    assert not wrong


def test_make_targets_named_anywhere_exist() -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    files = [*EVERYWHERE, *ROOT.glob(".github/workflows/*.yml"), ROOT / "SECURITY.md"]
    for file in files:
        calls = re.findall(r"(?:`|\$ |run: )make ((?:[a-z][a-z-]* ?)+)", file.read_text())
        named = {word for call in calls for word in call.split()}
        assert named <= targets, f"{file.relative_to(ROOT)}: {named - targets}"


def test_the_changes_name_every_command() -> None:
    newest = (ROOT / "CHANGELOG.md").read_text().split("\n## ")[1]
    missing = [name for name in COMMANDS if not re.search(rf"`(scalecurve )?{name}\b", newest)]
    assert not missing
