"""The program as people run it: answers on stdout, one message on stderr, the right exit code."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import scalecurve as sc
from scalecurve.cli.main import run

REFERENCE = Path(__file__).parents[2] / "examples" / "reference" / "strong.csv"


def _json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:  # type: ignore[type-arg]
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_table_of_the_reference_study(capsys: pytest.CaptureFixture[str]) -> None:
    answer = _json(capsys, "table", str(REFERENCE), "--regime", "strong", "--threshold", "0.7")

    assert answer["bend"]["k"] == 8
    assert answer["bend"]["rule"] == "efficiency"
    assert [round(row["efficiency"], 3) for row in answer["rows"]] == [1, 0.94, 0.828, 0.667, 0.451, 0.264, 0.138]


def test_table_reads_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import io

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(REFERENCE.read_bytes())))

    assert _json(capsys, "table", "-", "--regime", "strong")["rows"][0]["k"] == 1


def test_csv_and_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, start in (("a.csv", "k,n,mean"), ("a.json", "{"), ("a.md", "reference: "), ("a.txt", "strong:")):
        assert run(["table", str(REFERENCE), "--regime", "strong", "-o", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_text().startswith(start) or name in ("a.md", "a.txt")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_plots(tmp_path: Path, ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / f"curve.{ending}"

    assert run(["table", str(REFERENCE), "--regime", "strong", "--plot", str(path), "--quiet"]) == 0
    assert path.stat().st_size > 1000


LAW_ANSWERS = [
    ("law amdahl --serial 0.05 --workers 512", {"ceiling": 20.0}),
    ("law amdahl --serial 0.01 --below 0.5", {"first_k_below": 102, "first_doubling_below": 128}),
    ("law amdahl --serial 0.05 --below 0.5", {"first_k_below": 22, "first_doubling_below": 32, "between": [16, 32]}),
    ("law amdahl --serial 0.20 --below 0.5", {"first_k_below": 7, "first_doubling_below": 8}),
    ("law logcomm --serial 0.01 --comm 0.005 --optimum", {"optimum": 137}),
    ("law logcomm --serial 0.10 --comm 0.02 --optimum", {"optimum": 31}),
    ("law logcomm --serial 0.10 --comm 0 --optimum", {"optimum": None}),
    ("law usl --contention 0.1", {"peak_k": None, "limit": 10.0}),
]


@pytest.mark.parametrize(("line", "expected"), LAW_ANSWERS)
def test_law_answers(capsys: pytest.CaptureFixture[str], line: str, expected: dict[str, object]) -> None:
    answers = _json(capsys, *line.split())["answers"]

    for name, value in expected.items():
        assert answers[name] == (pytest.approx(value) if isinstance(value, float) else value)


LAW_ROWS = [
    ("law amdahl --serial 0.05 --workers 16", (0.1094, 9.1429, 0.5714)),
    ("law amdahl --serial 0.05 --workers 512", (0.0519, 19.2844, 0.0377)),
    ("law logcomm --serial 0.05 --comm 0.01 --workers 64", (0.1248, 8.010, 0.125)),
    ("law logcomm --serial 0.05 --comm 0.01 --workers 128", (0.1274, 7.848, 0.0613)),
    ("law logcomm --serial 0.05 --comm 0.01 --regime weak --workers 128", (1.07, 119.63, 0.935)),
]


@pytest.mark.parametrize(("line", "expected"), LAW_ROWS)
def test_law_rows(capsys: pytest.CaptureFixture[str], line: str, expected: tuple[float, float, float]) -> None:
    row = _json(capsys, *line.split())["rows"][0]

    assert (row["time"], row["speedup"], row["efficiency"]) == pytest.approx(expected, rel=6e-3)


def test_law_isoefficiency(capsys: pytest.CaptureFixture[str]) -> None:
    line = "law isoefficiency --serial 0.05 --comm 0.01 --hold 0.95 --workers 64 --growth"

    assert _json(capsys, *line.split(), "log")["rows"][0]["work"] == pytest.approx(1.09)
    assert _json(capsys, *line.split(), "linear")["rows"][0]["work"] == pytest.approx(12.11)


def test_law_serial_for_efficiency(capsys: pytest.CaptureFixture[str]) -> None:
    answers = _json(capsys, *["law", "amdahl", "--serial-for-efficiency", "0.8", "--workers", "64"])["answers"]

    assert answers["serial_for_efficiency"]["rows"][0]["serial"] == pytest.approx(0.003968, abs=5e-7)


OPTIMA = ["law", "logcomm", "--serial", "0.01,0.05,0.10", "--comm", "0.005,0.02", "--optimum"]


def test_law_cases(capsys: pytest.CaptureFixture[str]) -> None:
    cases = _json(capsys, *OPTIMA)["cases"]

    assert [case["answers"]["optimum"] for case in cases] == [137, 34, 132, 33, 125, 31]


BAD_LINES = [
    ("table {missing} --regime strong", "No such file"),
    ("table {good} --regime sideways", "unknown regime"),
    ("table {good} {one_k} --regime strong", "scalecurve import FILE FILE"),
    ("table {empty} --regime strong", "empty"),
    ("table {one_k} --regime strong", "two worker counts"),
    ("table {good} --regime strong --threshold x", "share"),
    ("table {good} --regime strong --level 150", "share"),
    ("table {good} --regime strong --bend kneedle", "unknown rule"),
    ("table {good} --regime strong --baseline-k 3", "baseline was not measured"),
    ("table {good} --regime strong --json --csv", "exclude"),
    ("table {good} --regime strong -o {folder}/no/such/x.json", "cannot be written"),
    ("table {good} --regime strong -o {folder}/x.docx", "unknown output format"),
    ("table {good} --regime strong --plot {folder}/x.gif", "picture format"),
    ("table {broken} --regime strong", "not JSON"),
    ("law murphy", "No such command"),
    ("law amdahl", "--serial"),
    ("law amdahl --serial 1.5", "out of range"),
    ("law amdahl --serial 0.05 --below 200", "share"),
    ("law amdahl --serial 0.05 --workers 0", "worker"),
    ("law usl", "--contention"),
    ("law karp-flatt --workers 2,4 --speedups 1.9", "one speedup for each K"),
    ("law isoefficiency --serial 0.1 --comm 0.1 --hold 0.9 --growth cubic", "growth"),
    ("tabel x", "Did you mean table"),
]


@pytest.mark.parametrize(("line", "message"), BAD_LINES)
def test_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, message: str) -> None:
    (tmp_path / "good.csv").write_text("K,seconds\n1,2\n2,1.1\n")
    (tmp_path / "one_k.csv").write_text("K,seconds\n1,2\n1,2.1\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "broken.json").write_text('{"format": ')
    before = sorted(tmp_path.iterdir())
    paths = {path.stem: str(path) for path in before} | {"missing": str(tmp_path / "nil.csv"), "folder": str(tmp_path)}

    code = run([word.format(**paths) for word in line.split()])

    captured = capsys.readouterr()
    assert code == 2
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert sorted(tmp_path.iterdir()) == before


def test_an_internal_error_is_owned(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import scalecurve as sc

    def broken(*args: object, **given: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(sc, "tabulate", broken)

    assert run(["table", str(REFERENCE), "--regime", "strong"]) == 70
    assert "fault of scalecurve" in capsys.readouterr().err


def test_interrupt_is_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import scalecurve as sc

    def interrupted(*args: object, **given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sc, "tabulate", interrupted)

    assert run(["table", str(REFERENCE), "--regime", "strong"]) == 130


def test_ctrl_c_of_the_real_program(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    program = [sys.executable, "-m", "scalecurve", "table", str(pipe), "--regime", "strong"]
    process = subprocess.Popen(program, stderr=subprocess.PIPE, text=True)
    with pipe.open("w"):  # opens once the program reads: it is then past its start-up
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)

    assert process.returncode == 130
    assert error.strip() == "scalecurve: interrupted"


def test_a_reader_that_leaves_early_is_no_error() -> None:
    program = f"{sys.executable} -m scalecurve law amdahl --serial 0.05 --workers 1..20000:1 | head -1"
    done = subprocess.run(["sh", "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.startswith("Use up to K = 9")
    assert done.stderr == ""


def test_python_dash_m_and_version() -> None:
    done = subprocess.run([sys.executable, "-m", "scalecurve", "--version"], capture_output=True, text=True, check=True)

    assert done.stdout.startswith("scalecurve, version ")


def test_try_measures_a_job_that_bends_and_writes_its_report(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["try", str(tmp_path / "first")]) in (0, 1)

    times = {row.k: row.mean.value for row in sc.tabulate(tmp_path / "first/study.json").rows}
    assert times[1] > 2.5 * times[4]  # 7 ms a request alone; four at a time until the log of 1 ms each limits
    assert times[16] > 0.16  # 160 replies x 1 ms, one after another
    assert "report.html" in capfd.readouterr().err
    assert "requests to a slow service" in (tmp_path / "first/report.html").read_text()
