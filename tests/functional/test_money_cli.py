"""`scalecurve cost` and `scalecurve assess` as people run them."""

import io
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from scalecurve.cli.main import run

ROOT = Path(__file__).parents[2]
STUDY = f"{ROOT}/examples/reference/strong.csv --regime strong"


def answer(capsys: pytest.CaptureFixture[str], line: str) -> Any:
    assert run([*shlex.split(line), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_line_of_the_guide(capsys: pytest.CaptureFixture[str]) -> None:
    result = answer(capsys, f"cost {STUDY} --price 2.50 --jobs 1000 --deadline 5h --budget 600")

    assert result["currency"] == "USD"
    assert result["cheapest_in_time"] == 1
    assert result["fastest_in_budget"] == 64
    assert {row["kind"] for row in result["rows"]} == {"measured", "forecast"}
    for row in result["rows"]:
        assert row["cost_low"] < row["cost"] < row["cost_high"]
        assert row["deadline_probability"] is not None


def test_a_law_and_the_managers_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(shlex.split("cost --law amdahl --serial 5% --workers 256,512 --k-unit gpus --price 2.50")) == 0
    assert "512 GPUs: 1.04x as fast at 1.93x the cost" in capsys.readouterr().out


def test_a_catalog_price(capsys: pytest.CaptureFixture[str]) -> None:
    result = answer(capsys, "cost --law amdahl --serial 0.05 --workers 1..8 --price-of h100@lambda")

    assert result["price"]["per_hour"] == 4.09
    assert "2026-08-22" in result["price"]["source"]
    assert result["findings"][0]["code"] == "price-of-a-day"


def test_every_condition_of_a_price(capsys: pytest.CaptureFixture[str]) -> None:
    line = (
        "cost --law amdahl --serial 0.05 --workers 8,16 --time-at-one 100h --price 20EUR --per-node --node-size 8 "
        "--minimum-billing 1h --billing-step 1min --setup 10min --spot-price 8 --interruptions 0.01 "
        "--checkpoint-every 30min --checkpoint-time 1min --restart 5min --reserved 1 --reserved-price 10EUR "
        "--watts 700 --kwh-price 0.2 --co2 400 --pue 1.2 --jobs 20 --fleet 32 --one-rental --value-of-time 100EUR"
    )
    result = answer(capsys, line)

    assert result["currency"] == "EUR"
    assert result["price"]["workers_per_unit"] == 8
    assert result["rows"][0]["lanes"] == 4
    assert result["rows"][0]["co2_grams"] == pytest.approx(result["rows"][0]["energy_kwh"] * 400)
    assert result["best_for_value"] in (8, 16)


def test_a_plan_from_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    plan = {"rows": [{"gpus": 8, "tokens_per_second": 1e5}, {"gpus": 16, "tokens_per_second": 1.9e5}]}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(plan).encode())))

    result = answer(capsys, "cost --plan - --work-per-job 300B --price 2.50")
    assert [row["k"] for row in result["rows"]] == [8, 16]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("cost --law amdahl --serial 0.05", "a price is missing"),
        ("cost --price 2.50", "one of a study, a law and a plan"),
        ("cost --law amdahl --serial 0.05 --price -2.50", "must be a number from 0 up"),
        ("cost --law amdahl --serial 0.05 --price 2.50ABC", "unknown currency"),
        ("cost --law amdahl --serial 0.05 --price 2.50 --currency XXX", "unknown currency"),
        ("cost --law amdahl --serial 0.05 --price 2.50USD --budget 5EUR", "different currencies"),
        ("cost --law amdahl --serial 0.05 --price 2.50 --price-of h100@lambda", "given twice"),
        ("cost --law amdahl --serial 0.05 --price 20 --per-node", "--per-node needs --node-size"),
        ("cost --law amdahl --serial 0.05 --price 2 --spot-price 1", "--spot-price needs --interruptions"),
        ("cost --law amdahl --serial 0.05 --price 2 --co2 400", "--co2 needs --watts"),
        ("cost --law amdahl --serial 0.05 --price 2 --time-at-one 100h --deadline 1h", "is 5.186 h on 512 workers"),
        ("cost --law amdahl --serial 0.05 --price 2.50 --budget 1", "does not pay for one job"),
        ("cost --law amdahl --serial 0.05 --price 2.50 --jobs 0", "jobs"),
        ("cost --law nosuch --price 2.50", "unknown law"),
        ("cost --plan nowhere.json --price 2.50", "cannot be read"),
        ("assess", "a proposal is missing"),
        ("assess nowhere.toml", "cannot be read"),
    ],
)  # fmt: skip
def test_one_clear_message(line: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(shlex.split(line)) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.out == ""
    assert "Traceback" not in printed.err


def test_a_rate_without_work_per_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "rates.csv"
    table.write_text("K,images_per_second\n1,100\n2,190\n4,350\n")

    assert run(["cost", str(table), "--regime", "weak", "--price", "2.50"]) == 2
    assert "--work-per-job" in capsys.readouterr().err
    assert answer(capsys, f"cost {table} --regime weak --price 2.50 --work-per-job 1M --at 1,2,4")["rows"]


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_the_picture(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"cost.{ending}"

    assert (
        run(shlex.split(f"cost {STUDY} --price 2.50 --deadline 1s --budget 1 --value-of-time 50 --plot {path} -q")) == 0
    )
    assert path.stat().st_size > 1000


def test_assess_in_every_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proposal = f"{ROOT}/examples/proposals/doubling-256.toml"

    assert run(["assess", proposal]) == 0
    assert "Do not buy" in capsys.readouterr().out
    assert answer(capsys, f"assess {proposal}")["verdict"] == "wasteful"
    assert run(["assess", proposal, "-o", str(tmp_path / "page.md")]) == 0
    assert "## Seven questions" in (tmp_path / "page.md").read_text()
    assert run(["assess", proposal, "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "costs 1.93x as much per result" in page
    assert run(["assess", proposal, "--csv"]) == 0
    assert capsys.readouterr().out.startswith("number,question,answer,source,missing")
    assert run(["assess", proposal, "--gate", "-q"]) == 1


def test_init_writes_a_proposal_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "proposal.toml"

    assert run(["assess", "--init", str(path)]) == 0
    assert run(["assess", str(path), "-q"]) == 0
    assert run(["assess", "--init", str(path)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert run(["assess", "--init"]) == 0
    assert capsys.readouterr().out == path.read_text()


def test_the_report_holds_the_proposal(tmp_path: Path) -> None:
    proposal, page = f"{ROOT}/examples/proposals/measured.toml", tmp_path / "report.html"

    assert run(shlex.split(f"report {STUDY} --price 2.50 --proposal {proposal} -o {page} -q")) == 0
    text = page.read_text()
    assert "The proposal" in text
    assert "not faster" in text
    assert "Would one bigger machine do?" in text


@pytest.mark.parametrize("limit", ["--budget 0.5", "--deadline 1s"])
def test_the_command_of_a_refusal_works(capsys: pytest.CaptureFixture[str], limit: str) -> None:
    command = f"cost --law amdahl --serial 5% --price 2 --workers 1..64 {limit}"

    assert run(command.split()) == 2
    offered = capsys.readouterr().err.splitlines()[-1].strip()
    assert offered.count(limit.partition(" ")[0]) == 1
    assert run(offered.removeprefix("scalecurve ").split()) == 0
