"""What the page asks, without a server."""

from __future__ import annotations

import json
from typing import Any

import pytest

import scalecurve as sc
from scalecurve.errors import TYPED
from scalecurve.explorer.questions import data, mechanisms, training
from scalecurve.explorer.worker import answer
from scalecurve.render.html import fragment
from scalecurve.render.terminal import to_text
from tests.explorer_drag import command_line, unlike

QUESTIONS = [*data.QUESTIONS, *mechanisms.QUESTIONS, *training.QUESTIONS]
CSV = "gpus,seconds\n1,1.0\n1,1.02\n2,0.53\n2,0.54\n4,0.30\n4,0.31\n8,0.19\n8,0.20\n"


def asked(question: str, /, **body: Any) -> tuple[int, Any]:
    status, content = answer(question, json.dumps(body).encode())
    return status, json.loads(content)


def test_the_page_shows_what_the_command_prints(tmp_path: Any) -> None:
    path = tmp_path / "steps.csv"
    path.write_text(CSV)
    printed = to_text(sc.tabulate(sc.load(path, regime="strong"), threshold=0.7).document())
    _, found = asked("data/table", text=CSV, name="steps.csv", regime="strong")
    typed = TYPED.set(("steps.csv --regime strong", None))
    assert found["html"] == fragment(sc.tabulate(sc.load(path, regime="strong"), threshold=0.7).document())
    TYPED.reset(typed)
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


def test_times_that_do_not_fall_show_no_regime() -> None:
    status, found = asked("data/table", text="K,seconds\n1,2\n2,2\n4,2.1\n")
    assert status == 422
    assert "regime" in found["error"]


@pytest.mark.parametrize("name", sorted(QUESTIONS))
def test_wrong_questions_are_refused_in_words(name: str) -> None:
    status, content = answer(name, b'{"nonsense": 1}')
    assert status == 422
    assert "nonsense" in json.loads(content)["error"]


@pytest.mark.parametrize("body", [b"[", b"[]", b"null", b"\xff\xfe", b'{"size": NaN}', b'{"size": 1e999}'])
def test_broken_json_is_refused(body: bytes) -> None:
    assert answer("training", body)[0] == 422


def test_unknown_questions_do_not_exist() -> None:
    assert answer("../../etc/passwd", b"{}")[0] == 404


def test_compute_is_capped_by_the_shape_of_the_question() -> None:
    assert asked("data/table", text="x" * 2_000_001, regime="strong")[0] == 422
    assert asked("training", size=1e15)[0] == 422


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


@pytest.mark.parametrize(
    ("question", "name"),
    [("training", "model"), ("training", "cluster"), ("training", "stack"), ("mechanisms/collectives", "network")],
)
def test_a_path_is_no_name(tmp_path: Any, question: str, name: str) -> None:
    path = tmp_path / "secret.toml"
    path.write_text("secret = 1\n")
    for given in (str(path), "secret.toml", "../secret.toml"):
        status, found = asked(question, **{name: given})
        assert status == 422
        assert name in found["error"]
        assert "secret = 1" not in found["error"]


def test_tiles_say_which_speedup_they_mean() -> None:
    text = "cores,seconds\n32,2410\n64,1222\n128,632\n256,338\n512,201\n1024,140\n"
    _, found = asked("data/table", text=text, name="mine.csv", regime="strong")
    assert found["useful"] == 512
    assert found["tiles"][0][:2] == ["largest useful K", "512 cores"]
    assert found["tiles"][1][:2] == ["speedup over 32", f"{2410 / 201:.3g}"]
    grown = "gpus,seconds\n1,10\n2,10.1\n4,10.2\n"
    _, found = asked("data/table", text=grown, name="mine.csv", regime="weak")
    assert found["tiles"][0][1] == "4 GPUs"
    assert found["tiles"][1][0] == "scaled speedup there"
