"""The trust commands as a user meets them: exit codes, formats, files written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scalecurve.cli.main import run

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "reference" / "strong.csv")


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = run(list(words))
    said = capsys.readouterr()
    return code, said.out, said.err


def test_diagnose_json_has_the_promised_fields(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = answer(capsys, "diagnose", EXAMPLE, "--regime", "strong", "--json")

    found = json.loads(out)
    assert code == 0
    assert found["cause"] == " or ".join(found["stated"])
    assert found["stated"][0] == found["candidates"][0] == "communication"
    assert "straggler" not in found["candidates"]
    stated = [cause["probability"] for cause in found["causes"] if cause["name"] in found["stated"]]
    assert found["probability"] == pytest.approx(sum(stated))
    assert found["groups"][0] == "communication"
    assert found["separate_by"]
    assert found["reason"] is None
    assert set(found["causes"][0]) == {"name", "share", "probability"}
    assert sum(cause["share"] for cause in found["causes"]) == pytest.approx(1.0)
    assert found["by_k"]
    assert found["evidence"]
    assert found["remedy"]


def test_a_bare_claim(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = answer(capsys, "audit", "--speedup", "180", "--workers", "256")

    assert code == 1
    assert "E = 0.70, 30 % of the fleet is idle" in " ".join(out.split())
    assert "Next: ask: Relative to what" in out
    _, out, _ = answer(capsys, "audit", "--speedup", "180", "--workers", "256", "--verbose")
    assert "What to ask for" in out


def test_audit_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = answer(capsys, "audit", "--speedup", "180", "--workers", "256", "--json")

    found = json.loads(out)
    assert code == 1
    assert found["verdict"] == "not publishable"
    assert [set(row) for row in found["checklist"]] == [{"item", "status", "evidence", "rules", "remedy"}] * 6
    assert found["rows"][0]["efficiency"] == pytest.approx(0.703, abs=1e-3)


@pytest.mark.parametrize(
    ("table", "code", "says"),
    [
        ("K,seconds\n1,600\n8,60\n", 1, "superlinear"),
        ("K,speedup\n1,1\n2,2\n4,4\n8,8\n", 1, "perfectly-linear"),
        ("gpus,seconds,efficiency\n1,100,100%\n4,30,95%\n", 1, "efficiency-does-not-add-up"),
        ("nodes,time,global batch\n1,10,128\n2,10.1,256\n4,10.4,512\n", 1, "mixed-regime"),
    ],
)
def test_tables(capsys: pytest.CaptureFixture[str], tmp_path: Path, table: str, code: int, says: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(table)

    found, out, _ = answer(capsys, "audit", str(path), "--regime", "strong", "--markdown")

    assert found == code
    assert says in out
    assert out.startswith("# Audit of table.csv")


def test_init_and_claim_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    claim = tmp_path / "claim.toml"

    assert answer(capsys, "audit", "--init", str(claim))[0] == 0
    assert answer(capsys, "audit", "--init", str(claim))[0] == 2
    code, out, _ = answer(capsys, "audit", str(claim))
    assert code == 1
    assert "words-overstate" in out
    assert "not publishable" in out


@pytest.mark.parametrize(
    "words",
    [
        ("audit",),
        ("audit", EXAMPLE, "--workers", "4"),
        ("audit", "--workers", "4"),
        ("audit", "--workers", "4", "--speedup", "-1"),
        ("audit", "no-such-file.csv"),
        ("check", EXAMPLE, "--regime", "strong"),
        ("check", EXAMPLE, "--regime", "strong", "--min-efficiency", "nonsense"),
        ("merge", EXAMPLE, "--regime", "strong"),
        ("regime", "--workers", "1,2"),
    ],
)
def test_wrong_input_is_one_message_and_code_two(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    code, out, err = answer(capsys, *words)

    assert code == 2
    assert out == ""
    assert err.startswith("scalecurve: ")
    assert "Traceback" not in err


def test_claim_faults_are_all_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "claim.toml"
    path.write_text('regime = "strange"\nspeedup = -3\nworkers = 8\nunknown = 1\n')

    code, _, err = answer(capsys, "audit", str(path))

    assert code == 2
    assert "3 faults" in err


def test_the_gate_in_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    junit, history = tmp_path / "gate.xml", tmp_path / "history.jsonl"
    extras = ("--junit", str(junit), "--history", str(history))

    code, out, _ = answer(capsys, "check", EXAMPLE, "--regime", "strong", "--min-efficiency", "0.8@8", *extras)

    assert code == 1
    assert out.splitlines()[0] == "FAIL strong: E(8) = 0.667 is below the floor 0.8 (0.645 to 0.689)"
    assert "<failure" in junit.read_text()
    assert json.loads(history.read_text())["passed"] is False


def test_a_study_against_itself_passes_and_says_what_it_could_have_seen(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = answer(capsys, "check", EXAMPLE, "--regime", "strong", "--against", EXAMPLE)

    assert code == 0
    assert "would be detected" in out.splitlines()[0]


def test_a_quiet_gate_still_says_why_it_fails(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = answer(capsys, "check", EXAMPLE, "--regime", "strong", "--min-efficiency", "0.8@8", "-q")

    assert (code, out) == (1, "")
    assert err.startswith("FAIL strong")


def test_compare_and_merge(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = answer(capsys, "compare", EXAMPLE, EXAMPLE, "--regime", "strong", "--csv")
    assert code == 0
    assert out.splitlines()[0].startswith("k,first,second,ratio")

    both = tmp_path / "both.json"
    code, _, said = answer(capsys, "merge", EXAMPLE, EXAMPLE, "--regime", "strong", "-o", str(both))
    assert (code, said) == (0, f"written: {both}, 2 studies as one\n")
    assert answer(capsys, "table", str(both), "--json")[0] == 0


def test_the_regime_of_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = answer(
        capsys, "regime", "--workers", "4,16,64", "--total", "50000", "--called", "weak", "--times", "100,98,97"
    )

    assert code == 0
    assert out.startswith("Strong scaling: the total work stays 50k from K = 4 to 64.")
    assert "looks like a success" in " ".join(out.split())
