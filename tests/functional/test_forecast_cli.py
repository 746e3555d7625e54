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


def test_forecast_weak_with_a_domain_and_a_node_size(capsys: pytest.CaptureFixture[str]) -> None:
    answer = _json(capsys, "forecast", *WEAK, "--at", "128", "--domain", "dl-training", "--node-size", "8")

    assert answer["kind"] == "weak"
    assert answer["standing"]["domain"] == "dl-training"
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


def test_fit_one_law_without_weights(capsys: pytest.CaptureFixture[str]) -> None:
    answer = _json(capsys, "fit", *STRONG, "--law", "usl", "--weighting", "absolute")

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
        (["forecast", *STRONG, "--domain", "nowhere"], "no published curves"),
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
