"""What a user may say, and that every fault is said at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalecurve.errors import InputError
from scalecurve.measurement import placeholders
from scalecurve.measurement.settings import make_settings, merged, read_settings, template
from scalecurve.study import Regime

GOOD = {"regime": "strong", "workers": "1,2,4", "command": ["./solver", "{workers}"]}


def test_words_and_numbers_are_understood() -> None:
    given = make_settings({**GOOD, "timeout": "2m", "precision": "2%", "max_time": 90, "workers": [4, 1, 4]})

    assert given.workers == (1, 4)
    assert (given.timeout, given.max_time, given.precision) == (120.0, 90.0, 0.02)


def test_workers_may_follow_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scalecurve.measurement.system.SystemMachine.usable_cores", lambda _: tuple(range(6)))

    assert make_settings({**GOOD, "workers": "1..cores,2xcores"}).workers == (1, 2, 4, 6, 12)


def test_all_faults_at_once() -> None:
    with pytest.raises(InputError) as caught:
        make_settings({"regime": "strnog", "workers": "0", "command": [], "repeats": 0, "colour": "red"})

    text = str(caught.value)
    assert all(word in text for word in ("regime", "workers", "command", "repeats", "colour"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"command": ["./solver", "{worker}"]}, "unknown placeholder"),
        ({"command": ["./solver"]}, "nothing would differ"),
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
        ({"timing": {"what": "target"}}, "half given"),
        ({"target": {"quality": 0.9}}, "half given"),
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


def test_every_option_is_in_the_template() -> None:
    from scalecurve.measurement import settings

    text = template()
    models = (settings.Settings, settings.Timing, settings.Sameness, settings.LauncherSettings, settings.SlurmOptions)
    names = {name for model in models for name in model.model_fields}
    lacking = {name for name in names if name not in text} - {"launch", "baseline"}

    assert not lacking


def test_what_is_given_later_wins_table_by_table() -> None:
    base = {"repeats": 5, "launcher": {"name": "mpi", "pin": "none"}}

    assert merged(base, {"repeats": 7, "launcher": {"name": None, "pin": "compact"}, "seed": None}) == {
        "repeats": 7,
        "launcher": {"name": "mpi", "pin": "compact"},
    }


def test_placeholders() -> None:
    strong = placeholders.values_at(4, Regime.STRONG, 1000, None)
    weak = placeholders.values_at(4, Regime.WEAK, None, 250)

    assert placeholders.fill("{workers} {total} {per_worker}", strong) == "4 1000 250"
    assert placeholders.fill("{workers} {total} {per_worker}", weak) == "4 1000 250"
    assert placeholders.fill("{{print}} {'a': 1}", strong) == "{print} {'a': 1}"
    assert placeholders.plain(2.5) == "2.5"


def test_a_missing_file_and_one_that_is_not_toml(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_settings(tmp_path / "no.toml")
    (tmp_path / "bad.toml").write_text("regime = strong")
    with pytest.raises(InputError, match="not TOML"):
        read_settings(tmp_path / "bad.toml")
