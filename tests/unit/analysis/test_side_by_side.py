"""Several curves side by side: one answer each, the best at the largest common K, one figure, one file."""

import json
from pathlib import Path

import pytest

import scalecurve as sc
from scalecurve.analysis.side_by_side import BestScaling, SideBySide, best_scaling, for_each_curve, side_by_side
from scalecurve.cli.main import run
from scalecurve.study import Study, StudySet


def amdahl(serial: float, *, largest: int = 8) -> Study:
    noise = (0.99, 1.0, 1.01)
    counts = [k for k in (1, 2, 4, 8, 16) if k <= largest]
    return Study.from_samples(
        {k: [10 * (serial + (1 - serial) / k) * e for e in noise] for k in counts}, regime="strong"
    )


SET = StudySet(studies={"good": amdahl(0.01, largest=16), "bad": amdahl(0.2)})


def test_the_best_is_named_at_the_largest_common_k() -> None:
    best = best_scaling(SET)

    assert isinstance(best, BestScaling)
    assert (best.k, best.best, best.next) == (8, "good", "bad")
    # E(8) of Amdahl's law: 1 / (1 + 7 f), so 1/1.07 and 1/2.4
    assert best.ratio.value == pytest.approx(2.4 / 1.07, rel=1e-9)
    assert best.ratio.low is not None
    assert best.ratio.high is not None
    assert best.ratio.low < 2.4 / 1.07 < best.ratio.high
    assert "good scales best" in best.answer().decision


def test_the_faster_curve_is_the_decision_and_scaling_comes_second() -> None:
    times = {"cg": (412, 210.5, 109.8, 60.2, 37.9, 29.4), "mg": (181, 95.2, 53.1, 33, 26.4, 27.9)}
    curves = {name: {2**power: [float(second)] for power, second in enumerate(own)} for name, own in times.items()}
    answers = {}
    for regime in ("strong", "weak"):
        studies = {name: Study.from_samples(own, regime=regime, k_unit="cores") for name, own in curves.items()}
        answers[regime] = side_by_side(StudySet(studies=studies), sc.tabulate)
    said = answers["strong"].answer

    assert said is not None
    assert said.decision == "Use mg on 16 cores: 26.4 s; the fastest of cg is 29.4 s on 32."
    assert "cg scales best" in (said.reason or "")
    assert answers["weak"].fastest is None
    assert str(answers["strong"]).count("[single-sample]") == 1
    assert "[single-sample] cg, mg: " in str(answers["strong"])


def test_curves_with_nothing_in_common_have_no_best() -> None:
    apart = StudySet(studies={"a": amdahl(0.1), "b": Study.from_samples({3: [3.0], 6: [2.0]}, regime="strong")})

    assert best_scaling(apart) is None


def test_each_curve_has_its_block_and_its_rows() -> None:
    result = side_by_side(SET, sc.tabulate)

    assert list(result.answers) == ["good", "bad"]
    assert {row["series"] for row in result.records()} == {"good", "bad"}
    assert set(result.to_dict()["curves"]) == {"good", "bad"}
    assert str(result).index("good") < str(result).index("bad")


def test_a_curve_without_an_answer_is_a_finding() -> None:
    lone = StudySet(studies={"a": amdahl(0.1), "lone": Study.from_samples({1: [3.0]}, regime="strong")})
    result = side_by_side(lone, sc.tabulate)

    assert list(result.answers) == ["a"]
    assert [finding.code for finding in result.own_findings] == ["no-answer"]
    with pytest.raises(sc.InputError, match="lone"):
        side_by_side(StudySet(studies={"lone": lone["lone"]}), sc.tabulate)


def test_a_single_study_keeps_its_own_answer() -> None:
    assert type(for_each_curve(SET["bad"], sc.tabulate)).__name__ == "SpeedupTable"
    assert isinstance(for_each_curve(SET, sc.tabulate), SideBySide)


def test_a_set_is_saved_exported_and_drawn(tmp_path: Path) -> None:
    sc.save(SET, tmp_path / "set.json")
    (tmp_path / "set.csv").write_bytes(sc.export(SET, "csv"))
    for name in ("set.json", "set.csv"):
        back = sc.load_all(tmp_path / name, regime="strong")
        assert isinstance(back, StudySet)
        assert back.names == SET.names
        assert all(back[name].samples == SET[name].samples for name in SET)
    one = sc.load(tmp_path / "set.json", series="bad")
    assert isinstance(one, Study)
    sc.plot(SET, tmp_path / "set.svg")
    assert "good" in (tmp_path / "set.svg").read_text()
    assert len(sc.write_report(SET, tmp_path / "set.md")) >= 1
    with pytest.raises(sc.InputError, match="series="):
        sc.export(SET, "pyperf")


@pytest.mark.parametrize("command", ["table", "fit", "forecast", "diagnose"])
def test_commands_answer_curve_by_curve(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    (tmp_path / "set.csv").write_bytes(sc.export(SET, "csv"))

    assert run([command, str(tmp_path / "set.csv"), "--regime", "strong", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert set(answer["curves"]) == {"good", "bad"}
    assert answer["best"]["best"] == "good"
    assert run([command, str(tmp_path / "set.csv"), "--regime", "strong", "--series", "bad", "--json"]) == 0
    assert "curves" not in json.loads(capsys.readouterr().out)


def test_commands_for_one_curve_name_the_choice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "set.csv").write_bytes(sc.export(SET, "csv"))

    assert run(["next", str(tmp_path / "set.csv"), "--regime", "strong"]) == 2
    assert "good, bad; choose one: --series 'good'" in capsys.readouterr().err
    assert run(["compare", str(tmp_path / "set.csv"), "--regime", "strong"]) == 0
    assert "bad over good" in capsys.readouterr().out


def test_explain_says_what_became_of_every_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "host,benchmark,threads,repeat,time (ms),status\n"
    rows = [f"n1,{name},{k},{i},{10 / k},ok" for name in ("a", "b") for k in (1, 2) for i in (1, 2)]
    (tmp_path / "t.csv").write_text(text + "\n".join([*rows, "n1,a,1,3,99,failed"]) + "\n")

    assert run(["table", str(tmp_path / "t.csv"), "--explain", "--json"]) == 0
    roles = {use["name"]: use["role"] for use in json.loads(capsys.readouterr().out)["columns"]}
    assert roles == {
        "host": "constant", "benchmark": "series", "threads": "K", "repeat": "repeat", "time (ms)": "value",
        "status": "filter",
    }  # fmt: skip


def test_a_set_has_one_meaning_of_k() -> None:
    with pytest.raises(sc.InputError, match="k unit"):
        StudySet(
            studies={
                "a": Study.from_samples({1: [1.0]}, regime="strong", k_unit="gpus"),
                "b": Study.from_samples({1: [1.0]}, regime="strong", k_unit="nodes"),
            }
        )


def test_a_next_command_names_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own times.csv"
    path.write_text("cores,seconds\n1,8\n2,4.1\n4,2.1\n")

    assert run(["table", str(path)]) == 0
    assert f"`scalecurve forecast '{path}' --at 8`" in " ".join(capsys.readouterr().out.split())
