"""fit, forecast and next as people run them."""

import json
from pathlib import Path

import pytest

from scalecurve.cli.main import run

EXAMPLES = Path(__file__).parents[2] / "examples" / "reference"
STRONG = [str(EXAMPLES / "strong.csv"), "--regime", "strong"]
WEAK = [str(EXAMPLES / "weak.csv"), "--regime", "weak"]


def _json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:  # type: ignore[type-arg]
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_forecast(capsys: pytest.CaptureFixture[str]) -> None:
    answer = _json(capsys, "forecast", *STRONG, "--at", "128,256,2048", "--level", "90%")

    assert [row["k"] for row in answer["rows"]] == [128, 256, 2048]
    assert [row["refused"] for row in answer["rows"]] == [False, False, True]
    assert answer["rows"][0]["low"] < 0.1175 < answer["rows"][0]["high"]
    assert {"far-extrapolation", "forecast-refused"} & {finding["code"] for finding in answer["findings"]}


def test_forecast_weak_with_a_node_size(capsys: pytest.CaptureFixture[str]) -> None:
    answer = _json(capsys, "forecast", *WEAK, "--at", "128", "--node-size", "8")

    assert answer["kind"] == "weak"
    assert answer["rows"][0]["efficiency"] == pytest.approx(0.934, abs=0.02)


def test_forecast_insists_plots_and_writes_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "ahead.svg"

    assert run(["forecast", *STRONG, "--at", "4096", "--extrapolate", "--csv", "--plot", str(picture)]) == 0
    assert capsys.readouterr().out.startswith("k,seconds,low,high,speedup,efficiency,extrapolation,refused\n4096,")
    assert "measured (median)" in picture.read_text()


def test_fit(capsys: pytest.CaptureFixture[str]) -> None:
    answer = _json(capsys, "fit", *STRONG)

    assert answer["laws"][0]["name"] == "logcomm"
    assert set(answer["laws"][0]["parameters"]) == {"serial", "comm", "seconds_at_one"}
    assert answer["best"] in ("logcomm", None)


def test_fit_one_law(capsys: pytest.CaptureFixture[str]) -> None:
    answer = _json(capsys, "fit", *STRONG, "--law", "usl")

    assert [law["name"] for law in answer["laws"]] == ["usl"]


def test_next(capsys: pytest.CaptureFixture[str]) -> None:
    answer = _json(capsys, "next", *STRONG, "--budget", "1 gpu-min", "--target", "512")

    assert answer["cost"] <= 60
    assert answer["rows"][0]["k"] > 64


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["forecast", *STRONG, "--level", "99.9%"], "calibrated up to"),
        (["forecast", *STRONG, "--at", "zero"], "not a worker count"),
        (["fit", *STRONG, "--law", "moore"], "no such law"),
        (["next", *STRONG, "--budget", "8 parsecs"], "8 gpu-hours"),
        (["next", *STRONG, "--budget", "1 gpu-ms"], "cheapest run"),
        (["next", *STRONG, "--separate", "amdahl"], "amdahl,logcomm"),
    ],
)
def test_faults_are_one_message_and_exit_two(line: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(line) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err


def test_forecast_learns_from_siblings_and_cores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small, large = tmp_path / "small.csv", tmp_path / "large.csv"
    small.write_text("threads,seconds\n1,10\n2,5\n4,2.5\n8,1.25\n")
    large.write_text("threads,seconds\n1,90\n2,45\n4,22\n8,11.5\n16,11\n32,11\n")
    base = ("forecast", str(small), "--regime", "strong", "--at", "16")

    alone = _json(capsys, *base)
    helped = _json(capsys, *base, "--like", str(large))
    limited = _json(capsys, *base, "--cores", "8")

    assert helped["rows"][0]["seconds"] > alone["rows"][0]["seconds"]
    assert "siblings-used" in {finding["code"] for finding in helped["findings"]}
    assert limited["rows"][0]["seconds"] == pytest.approx(1.25, rel=0.05)
    assert "beyond-the-cores" in {finding["code"] for finding in limited["findings"]}


def test_a_sibling_that_is_not_there_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["forecast", *STRONG, "--like", str(tmp_path / "none.csv")]) == 2
    assert "none.csv" in capsys.readouterr().err
