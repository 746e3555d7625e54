"""What the page asks, without a server."""

from __future__ import annotations

import json
from typing import Any

import pytest

import scalecurve as sc
from scalecurve.explorer.questions.question import all_questions
from scalecurve.explorer.worker import answer
from scalecurve.render.html import fragment
from scalecurve.render.terminal import to_text
from tests.explorer_drag import command_line, unlike

QUESTIONS = [*all_questions(), "openapi"]
CSV = "gpus,seconds\n1,1.0\n1,1.02\n2,0.53\n2,0.54\n4,0.30\n4,0.31\n8,0.19\n8,0.20\n"


def asked(question: str, /, **body: Any) -> tuple[int, Any]:
    status, content = answer(question, json.dumps(body).encode())
    return status, json.loads(content)


def test_the_two_questions_of_one_system() -> None:
    """Worked tables for s = 0.05, c = 0.01: S is 8.010 at K = 64 and 7.848 at 128; weak efficiency 93.5 %."""
    status, found = asked("laws", serial=0.05, comm=0.01, largest=128)
    assert status == 200
    shown = {row[0]["text"]: float(row[2]["text"]) for row in found["strong"]["table"]["rows"]}
    assert shown["64"] == pytest.approx(8.010, abs=5e-4)
    assert shown["128"] == pytest.approx(7.848, abs=5e-4)
    assert found["weak"]["rows"][-1]["efficiency"] == pytest.approx(1 / 1.07)
    assert found["ceiling"] == pytest.approx(20)
    assert found["optimum"] == 66


def test_the_tiles_of_the_laws_are_about_the_system_of_the_chart() -> None:
    """E of this system is below 0.8 from K = 5; Amdahl's law alone would say 7."""
    _, found = asked("laws", serial=0.05, comm=0.01, largest=128, hold=0.8)
    assert found["first_below"] == 5
    assert ["first K with E < 0.8 (strong)", "5"] in found["tiles"]
    efficiency = {row["k"]: row["efficiency"] for row in found["strong"]["rows"]}
    assert efficiency[5] < 0.8 <= efficiency[4]


def test_the_page_shows_what_the_command_prints(tmp_path: Any) -> None:
    path = tmp_path / "steps.csv"
    path.write_text(CSV)
    printed = to_text(sc.tabulate(sc.load(path, regime="strong"), threshold=0.7).document())
    _, found = asked("data/table", text=CSV, name="steps.csv", regime="strong")
    assert found["html"] == fragment(sc.tabulate(sc.load(path, regime="strong"), threshold=0.7).document())
    for row in found["shown"]["rows"]:
        assert "  ".join(cell["text"] for cell in row).split() in [line.split() for line in printed.splitlines()]


SEVERAL = "variant,gpus,seconds\n" + "".join(
    f"{name},{k},{share + (1 - share) / k:.6f}\n"
    for name, share in (("-x", 0.3), ("two words", 0.02))
    for k in (1, 2, 4, 8)
)


@pytest.mark.parametrize("part", ["table", "diagnosis", "forecast", "fits", "cost", "audit"])
def test_a_curve_of_several_is_chosen_and_the_command_says_which(part: str, tmp_path: Any) -> None:
    body = {"text": SEVERAL, "name": "both.csv", "regime": "strong"}
    for series in ("-x", "two words"):
        status, found = asked(f"data/{part}", **body, series=series)
        assert status == 200
        code, out, _ = command_line(found["commands"][0], {"both.csv": SEVERAL}, tmp_path, "--json")
        key = {"table": "table", "diagnosis": "diagnosis", "fits": "fits", "cost": "cost", "audit": "audit"}.get(part)
        assert code in (0, 1)
        assert key is None or unlike(part, found[key], json.loads(out)) == []


def test_the_first_of_several_curves_is_shown_and_the_others_are_named() -> None:
    body = {"text": SEVERAL, "name": "both.csv", "regime": "strong"}
    _, found = asked("data/table", **body)
    assert found["curves"]["names"] == ["-x", "two words"]
    assert found["curves"]["shown"] == "-x"
    assert "two words scales best" in " ".join(found["curves"]["sentences"])
    assert found["curves"]["rows"]["two words"][-1]["k"] == 8

    _, other = asked("data/table", **body, series="of another file")
    assert other["curves"]["shown"] == "-x"
    assert "There is no curve 'of another file'" in other["curves"]["sentences"][0]

    _, alone = asked("data/table", text=CSV, name="one.csv", regime="strong")
    assert alone["curves"] is None
    assert "--series" not in alone["commands"][0]


def test_a_fault_names_the_dropped_file_and_not_where_we_put_it() -> None:
    status, found = asked("data/table", text="gpus,seconds\n1,x\n", name="../../mine.csv", regime="strong")
    assert status == 422
    assert "mine.csv" in found["error"]
    assert "/" not in found["error"].partition("mine.csv")[0]


def test_the_regime_is_never_guessed() -> None:
    status, found = asked("data/table", text=CSV)
    assert status == 422
    assert "regime" in found["error"]


@pytest.mark.parametrize("name", sorted(QUESTIONS))
def test_wrong_questions_are_refused_in_words(name: str) -> None:
    status, content = answer(name, b'{"nonsense": 1}')
    assert status == 422
    assert "nonsense" in json.loads(content)["error"]


@pytest.mark.parametrize("body", [b"[", b"[]", b"null", b"\xff\xfe", b'{"serial": NaN}', b'{"serial": 1e999}'])
def test_broken_json_is_refused(body: bytes) -> None:
    assert answer("laws", body)[0] == 422


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("laws", {"serial": 1e-320, "comm": 0.86}),
        ("laws", {"serial": 0.007, "comm": 1e-320, "largest": 2, "hold": 0.23}),
        ("mechanisms/depth", {"depth": 1e-320, "largest": 1048576}),
        ("mechanisms/roofline", {"bandwidth": 1e-320}),
    ],
)
def test_numbers_that_leave_the_range_are_refused(name: str, body: dict[str, Any]) -> None:
    status, content = answer(name, json.dumps(body).encode())
    assert (status, b"too large or too small" in content) == (422, True)


def test_unknown_questions_do_not_exist() -> None:
    assert answer("../../etc/passwd", b"{}")[0] == 404


def test_compute_is_capped_by_the_shape_of_the_question() -> None:
    assert asked("laws", largest=10**12)[0] == 422
    assert asked("data/table", text="x" * 2_000_001, regime="strong")[0] == 422
    assert asked("mechanisms/collectives", ranks=10**9)[0] == 422


def test_every_question_is_described() -> None:
    _, described = asked("openapi")
    assert described["openapi"] == "3.1.0"
    assert set(described["paths"]) == {f"/api/{name}" for name in QUESTIONS if name != "openapi"}
    text = json.dumps(described)
    for reference in {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}:
        assert reference in described["components"]["schemas"]


@pytest.mark.parametrize(
    "name", sorted(name for name in QUESTIONS if not name.startswith("data/") or name == "data/cases")
)
def test_questions_without_data_have_an_answer_by_default(name: str) -> None:
    assert answer(name, b"{}")[0] == 200


@pytest.mark.parametrize(
    "name", ["data/table", "data/fits", "data/forecast", "data/diagnosis", "data/audit", "data/cost"]
)
def test_worked_cases_can_be_asked_everything(name: str) -> None:
    _, found = asked("data/cases")
    for case in found["cases"]:
        status, content = asked(name, text=case["text"], name=case["name"], regime=case["regime"])
        assert status == 200, content
        assert content["html"].startswith('<div class="scalecurve">')
