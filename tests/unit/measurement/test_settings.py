"""What a user may say, and that every fault is said at once."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Unpack, get_type_hints

import pytest

from scalecurve.errors import InputError
from scalecurve.measurement.outlook import preview
from scalecurve.measurement.settings import (
    MeasureKeywords,
    MeasureSettings,
    fill,
    make_settings,
    merged,
    options,
    read_settings,
    template,
)
from scalecurve.measurement.sweep import measure
from scalecurve.study import Regime

GOOD = {"regime": "strong", "workers": "1,2,4", "command": ["./solver", "{workers}"]}


def test_words_and_numbers_are_understood() -> None:
    given = make_settings({**GOOD, "timeout": "2m", "precision": "2%", "max_time": 90, "workers": [4, 1, 4]})

    assert given.workers == (1, 4)
    assert (given.timeout, given.max_time, given.precision) == (120.0, 90.0, 0.02)


def test_workers_may_follow_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scalecurve.measurement.machine.SystemMachine.usable_cores", lambda _: tuple(range(6)))

    assert make_settings({**GOOD, "workers": "1..cores,2xcores"}).workers == (1, 2, 4, 6, 12)


def test_all_faults_at_once() -> None:
    with pytest.raises(InputError) as caught:
        make_settings({"regime": "strnog", "workers": "0", "command": [], "repeats": 0, "colour": "red"})

    text = str(caught.value)
    assert all(word in text for word in ("regime", "workers", "command", "repeats", "colour"))
    assert "workers: worker counts are whole numbers from 1 to a billion, rising; write 1..512 (got '0')" in text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"command": ["./solver", "{worker}"]}, "unknown placeholder"),
        ({"command": ["./solver"]}, "the same at every K"),
        (
            {"regime": "weak", "per_worker": 10, "command": ["./s", "{total}"]},
            r"told \{total\} but not how many workers",
        ),
        ({"command": ["./solver", "{workers}", "{total}"]}, "total is not given"),
        ({"regime": "weak", "command": ["./s", "{workers}", "{per_worker}"]}, "per_worker is not given"),
        ({"regime": "weak", "per_worker": 10}, "does not use it"),
        ({"timing": {"source": "pattern"}}, "there is no pattern"),
        ({"timing": {"pattern": "elapsed ("}}, "not a regular expression"),
        ({"timing": {"pattern": "elapsed"}}, "no group"),
        ({"timing": {"what": "target"}}, "half of a target"),
        ({"target": {"quality": 0.9}}, "half of a target"),
    ],
)
def test_faults_of_meaning(change: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        make_settings({**GOOD, **change})


def test_the_template_is_a_valid_study(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(template())
    given = make_settings(read_settings(file))

    assert given.regime is Regime.STRONG
    assert given.output == tmp_path / "study.json"


def test_what_is_missing_is_told_at_once_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(InputError) as problem:
        preview(command=["sleep", "1"], output=tmp_path / "s.csv")
    faults = {str(fault.where): fault for fault in problem.value.faults}

    assert list(faults) == ["regime", "workers", "command", "output"]
    assert "--workers 1,2,4" in str(faults["workers"].remedy)
    assert "same at every K" in faults["command"].message
    assert faults["output"].remedy == f"write -o {tmp_path / 's.json'}"


RECIPES = tomllib.loads(files("scalecurve.measurement").joinpath("recipes.toml").read_text())


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_a_valid_study_that_sets_what_it_names(name: str, tmp_path: Path) -> None:
    launcher: dict[str, object] = {"name": name}
    if name in ("PyTorchJob", "MPIJob"):
        launcher = {"name": "kubernetes", "batch": {"kind": name}}
    file = tmp_path / "study.toml"
    file.write_text(template({"launcher": launcher, "workers": "1,8", "command": ["./own", "{workers}"]}))
    given = make_settings(read_settings(file))
    asked = RECIPES[name]["launcher"]

    assert (given.workers, given.command) == ((1, 8), ("./own", "{workers}"))
    assert given.launcher.name == launcher["name"]
    assert {key: given.launcher.model_dump(mode="json")[key] for key in asked if key not in ("slurm", "batch")} == {
        key: value for key, value in asked.items() if key not in ("slurm", "batch")
    }
    for table in ("slurm", "batch"):
        own = getattr(given.launcher, table).model_dump(mode="json")
        rest = {key: value for key, value in asked.get(table, {}).items() if key != "resources"}
        assert {key: own[key] for key in rest} == rest
    assert set(asked.get("batch", {}).get("resources", {})) <= set(given.launcher.batch.resources)


def test_the_template_has_every_option_and_every_line_is_valid(tmp_path: Path) -> None:
    """Without its comment marks the template is a file that sets every option."""
    lines = [line.removeprefix("# ") for line in template().splitlines() if not line.startswith("# A ")]
    text = "\n".join(line for line in lines if re.match(r"\[|[a-z_]+ = ", line))
    file = tmp_path / "study.toml"
    file.write_text(text)
    raw = read_settings(file)
    for option in options():
        table = raw
        for name in option.path[:-1]:
            table = table[name]
        assert option.path[-1] in table
    raw["timing"]["what"] = "target"
    alone = {"total": None, "regime": "strong", "baseline": {}, "axes": None}  # these exclude others
    assert make_settings({**raw, **alone}).launcher.slurm.poll == 1.0


def test_the_verbs_take_every_setting_as_a_keyword() -> None:
    fields = set(MeasureSettings.model_fields)

    assert set(MeasureKeywords.__annotations__) == fields
    for verb in (measure, preview):
        assert get_type_hints(verb, include_extras=True)["settings"] == Unpack[MeasureKeywords]


def test_a_launcher_may_be_named_alone() -> None:
    assert make_settings({**GOOD, "launcher": "mpi"}).launcher.name == "mpi"
    assert make_settings({**GOOD, "workers": 4}).workers == (4,)


def test_what_is_given_later_wins_table_by_table() -> None:
    base = {"repeats": 5, "launcher": {"name": "mpi", "pin": "none"}}

    assert merged(base, {"repeats": 7, "launcher": {"name": None, "pin": "compact"}, "seed": None}) == {
        "repeats": 7,
        "launcher": {"name": "mpi", "pin": "compact"},
    }


def test_placeholders() -> None:
    strong = make_settings({**GOOD, "total": 1000})
    weak = make_settings({**GOOD, "regime": "weak", "per_worker": 250, "command": ["x", "{workers}", "{total}"]})

    assert strong.filled(("{workers} {total} {per_worker}",), 4) == ("4 1000 250",)
    assert weak.filled(("{workers} {total} {per_worker}",), 4) == ("4 1000 250",)
    assert strong.filled(("{per_worker}",), 3) == ("333.3333333333333",)
    assert fill("{{print}} {'a': 1} {other}", {"workers": 1}) == "{print} {'a': 1} {other}"


def test_a_missing_file_and_one_that_is_not_toml(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_settings(tmp_path / "no.toml")
    (tmp_path / "bad.toml").write_text("regime = strong")
    with pytest.raises(InputError, match="not TOML"):
        read_settings(tmp_path / "bad.toml")


def test_a_dry_run_refuses_a_program_that_is_not_here(tmp_path: Path) -> None:
    """Each misspelt word is a fault of its own, with the program that was meant, at every K that names another one."""
    (tmp_path / "solver-1").write_text("")
    (tmp_path / "solver-1").chmod(0o700)
    asked = {"regime": "strong", "workers": "1,2", "oversubscribe": True, "folder": tmp_path}
    with pytest.raises(InputError) as problem:
        preview(command=["./solver-{workers}"], baseline={"serial": {"command": ["slep", "1"]}}, **asked)  # type: ignore[arg-type]
    one, other = problem.value.faults

    assert (one.value, one.remedy) == ("./solver-2", "did you mean solver-1?")
    assert other.value == "slep"
    assert preview(command=["./later", "{workers}"], timing={"setup_command": "make later"}, **asked).runs  # type: ignore[arg-type]
