"""What no command line may do: overwrite its input, print an infinity, run for ever, leave a traceback."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from scalecurve.cli.main import run
from scalecurve.document import spreadsheet_safe

EXAMPLES = Path(__file__).parents[2] / "examples"
STRONG = EXAMPLES / "reference" / "strong.csv"


def test_an_output_never_replaces_its_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(STRONG, "in.csv")
    before = Path("in.csv").read_bytes()
    Path("link.csv").symlink_to("in.csv")
    for name in ("in.csv", "./in.csv", "link.csv"):
        assert run(["table", "in.csv", "--regime", "strong", "--csv", "-o", name]) == 2
        assert "would replace its own input" in capsys.readouterr().err
    assert Path("in.csv").read_bytes() == before


@pytest.mark.parametrize(
    "line",
    [
        "table folder --regime strong --csv -o folder/a.csv",
        "import folder --regime strong -o folder/a.csv",
        "check folder/a.csv --regime strong --min-efficiency 0.1@8 --junit folder/a.csv",
        "table folder/a.csv --regime strong --plot folder/a.svg",
        "assess proposal.toml --json -o folder/a.csv",
        "report folder/a.csv --regime strong -o folder/a.html",
    ],
)
def test_no_way_of_writing_replaces_what_was_read(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    shutil.copy(STRONG, "folder/a.csv")
    for name in ("folder/a.svg", "folder/a.html"):  # the same file under another name
        Path(name).hardlink_to("folder/a.csv")
    proposal = (EXAMPLES / "proposals" / "measured.toml").read_text()
    Path("proposal.toml").write_text(re.sub(r'study = ".*"', 'study = "folder/a.csv"', proposal))
    if "folder " in line:  # a folder is read whole
        Path("folder/a.svg").unlink()
        Path("folder/a.html").unlink()
    assert run(line.split()) == 2
    assert "would replace its own input" in capsys.readouterr().err
    assert Path("folder/a.csv").read_bytes() == STRONG.read_bytes()


TOML_READERS = (
    "audit FILE.toml",
    "assess FILE.toml",
    "plan FILE.toml",
    "measure FILE.toml --dry-run",
    "collective cost --bytes 1MB --ranks 8 --network FILE.toml",
    "plan --model llama3-8b --cluster FILE.toml --gpus 8",
    "roofline place --machine FILE.toml --kernel gemm:1T:1GB",
)


@pytest.mark.parametrize("content", ["a = " + "9" * 6000, "a = " + "[" * 5000, f"[{'.'.join('a' * 5000)}]\nb = 1\n"])
@pytest.mark.parametrize("line", TOML_READERS)
def test_every_toml_is_read_by_one_guarded_reader(
    line: str, content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.toml").write_text(content)
    assert run(line.replace("FILE.toml", str(tmp_path / "x.toml")).split()) == 2
    assert "internal error" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    ["assess LINK.toml", "plan LINK.toml", "audit LINK.toml", "plan --model llama3-8b --cluster LINK.toml --gpus 8"],
)
def test_an_endless_file_is_refused_by_the_bytes_it_gives(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.toml").symlink_to("/dev/zero")
    assert run(line.replace("LINK.toml", str(tmp_path / "x.toml")).split()) == 2
    assert "the limit is 4194304 bytes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "redirection", "code", "message"),
    [
        (["table", str(STRONG), "--regime", "strong"], ">&-", 2, "Bad file descriptor"),
        (["table", "-", "--regime", "strong"], "<&-", 2, "Bad file descriptor"),
        (["table", "missing.csv"], "2>/dev/full", 2, ""),
        (["table", "missing.csv"], "2>&-", 2, ""),
        (["table", str(STRONG), "--regime", "strong", "-q"], ">&- 2>&-", 0, ""),
    ],
)
def test_closed_and_full_streams_change_no_exit_code(
    words: list[str], redirection: str, code: int, message: str
) -> None:
    line = f'"$@" {redirection}'
    ended = subprocess.run(
        ["sh", "-c", line, "sh", sys.executable, "-m", "scalecurve", *words],
        capture_output=True,
        text=True,
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
    )
    assert (ended.returncode, ended.stdout) == (code, "")
    assert message in ended.stderr


HOSTILE = (
    "A\x1b[31mB\x1b]0;t\x07C\u202eD\r\n::error::E\x9b31mF\x85G\u2028H"
    "\"><img src=x onerror=alert(1)></script>'`<script>alert(2)</script>\n```\n<b>$x$ \\input{/etc/passwd}"
    "bad\ud800name $\\frac$"
)


def hostile_study(text: str) -> dict[str, Any]:
    """A real study with every free text in it replaced."""
    study: dict[str, Any] = json.loads((EXAMPLES / "local" / "study.json").read_text())
    for name in ("k_unit",):
        study[name] = text
    for name in ("name", "description", "work_unit"):
        study["workload"][name] = text
    study["baseline"]["description"] = text
    study["provenance"] |= {"source": text, "tool": text, "notes": [text], "machine": {text: text, "host": text}}
    study["provenance"]["software"] = {"environment": {text: text}, "packages": {text: text}}
    study["findings"] = [{"code": text, "severity": "warning", "message": text, "evidence": {}, "remedy": text}]
    return study


def test_no_text_of_a_study_escapes_in_any_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.json").write_text(json.dumps(hostile_study(HOSTILE)))
    lines = [
        "table s.json", "table s.json -o t.txt", "table s.json -o t.md", "table s.json -o t.html",
        "table s.json --csv -o t.csv", "table s.json --plot t.svg -q", "audit s.json", "diagnose s.json",
        "check s.json --min-efficiency 0.9@2 --junit t.xml --annotations", "report s.json -o r.md",
        "report s.json -o r.tex", "report s.json -o r.html",
        *(f"export s.json --to {name} -o e-{name}.txt" for name in ("bibtex", "openmetrics", "extra-p", "shields")),
    ]  # fmt: skip
    for line in lines:
        assert run(line.split()) in (0, 1), (line, capsys.readouterr().err)
    printed = capsys.readouterr()
    texts = {"printed": printed.out, "notes": printed.err}
    texts |= {
        path.name: path.read_bytes().decode() for path in Path().iterdir() if path.suffix not in (".json", ".pdf")
    }
    for name, text in texts.items():
        odd = {char for char in text if not (char.isprintable() or char in "\n\t\xa0")}
        assert not odd, (name, odd)
        if name in ("printed", "notes"):
            assert not re.search(r"^\s*::error::E", text, re.MULTILINE), name
        if name.endswith((".html", ".svg", ".xml")):
            assert not re.search("<img src=x|<script>alert", text), name
        if name.endswith((".svg", ".xml")):
            ElementTree.fromstring(text)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("cost --law amdahl --serial 5% --workers 256,512 --price 1e308", "not a finite number"),
        ("latency replicas --rate 1e12 --service 10ms --slo 50ms", "check the units"),
        ("law logcomm --comm 1e-320 --serial 0.1", "too large or too small"),
        ("collective cost --bytes 1e308 --ranks 8..64 --network nvlink+ib400", "too large or too small"),
        (f"table {STRONG} --regime strong -o /dev/full", "No space left"),
        (f"table {STRONG} --regime strong -o .", "-o names no file"),
        (f"table {STRONG} --regime strong -o /", "Is a directory"),
    ],
)
def test_extremes_are_refused_with_a_sentence(line: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(line.split()) == 2
    assert words in capsys.readouterr().err


def test_no_cell_of_a_csv_is_a_formula() -> None:
    assert [spreadsheet_safe(cell) for cell in ("=1+1", "@x", "-2", 2.5, "plain")] == [
        "'=1+1",
        "'@x",
        "'-2",
        2.5,
        "plain",
    ]


def test_no_name_begins_a_command_of_a_workflow(capsys, monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    Path("::error::a.csv").write_text("K,seconds\n1,2\n2,1.5\n")
    Path("##[error]a.csv").write_text("K,seconds\n1,2\n2,1.5\n")
    for name in ("::error::a.csv", "##[error]a.csv", "::error::none.csv", "##[error]none.csv"):
        run(["table", name, "--regime", "strong"])
        printed = "".join(capsys.readouterr())
        assert "error" in printed
        assert not re.search(r"^\s*::|##\[", printed, re.MULTILINE), printed


def test_the_links_of_a_cluster_hold_in_its_roofline(capsys, monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text('accelerator = "h100"\nouter = "10GB/s"\n')
    assert run(["roofline", "place", "--kernel", "k:1e9:1e6", "--machine", "c.toml", "--precision", "bf16"]) == 0
    assert "network 10 GB/s" in capsys.readouterr().out
