"""The journal: nothing lost when the tool is killed, nothing trusted that is damaged, nobody else's file written."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from scalecurve.errors import FormatError, InputError
from scalecurve.measurement.journal import Workspace, end_what_it_left, open_journal
from scalecurve.measurement.settings import MeasureSettings, make_settings
from scalecurve.measurement.sweep import run_study, run_sweep
from scalecurve.study.file import read_study
from tests.fakes.world import FakeLauncher, fake_world


def settings(repeats: int = 3) -> MeasureSettings:
    return make_settings({"regime": "strong", "workers": "1,2", "repeats": repeats, "command": ["job", "{workers}"]})


def measured(folder: Path) -> Path:
    output = folder / "s.json"
    run_sweep(settings(), fake_world(), output=output, launcher=FakeLauncher(lambda job: 8.0 / job.k))
    return output


@pytest.mark.parametrize("moment", ["replace", "fsync"])
def test_a_kill_while_a_finished_study_is_reopened_loses_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    output = measured(tmp_path)
    before = len(read_study(output).runs)
    space = Workspace(output)
    space.folder.mkdir()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, moment, killed)
        with pytest.raises(KeyboardInterrupt):
            open_journal(space, settings(5), fake_world(), resume=True, force=False)
    launcher = FakeLauncher(lambda job: 8.0 / job.k)
    study = run_sweep(settings(5), fake_world(), output=output, launcher=launcher, resume=True)

    assert len(study.runs) == before + 4  # two more repeats of two K


def test_a_damaged_line_is_named_with_the_way_out(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "s.json")
    space.folder.mkdir()
    good = b'{"header": {"version": 1}}\n{"run": {}}\n'
    space.journal.write_bytes(good + b'{"run": {"k": \xff\n' + b'{"run": {}}\n')
    with pytest.raises(FormatError, match=r"(?s)line 3: damaged.*3 lines are whole.*--force"):
        space.lines()
    open_journal(space, settings(), fake_world(), resume=False, force=True)  # starts anew without reading it
    assert len(space.lines()) == 1


def test_work_files_are_private_and_links_are_not_followed(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "s.json")
    victim = tmp_path / "victim"
    victim.write_text("precious")
    space.folder.mkdir()
    (space.folder / "lock").symlink_to(victim)
    with pytest.raises(InputError, match="cannot be written"), space.locked():
        pass
    assert victim.read_text() == "precious"
    other = Workspace(tmp_path / "t.json")
    other.folder.symlink_to(tmp_path)
    with pytest.raises(InputError, match="a link"), other.locked():
        pass
    third = Workspace(tmp_path / "u.json")
    with third.locked():
        assert stat.S_IMODE(third.folder.stat().st_mode) == 0o700
        third.append({"run": {}})
        assert stat.S_IMODE(third.journal.stat().st_mode) == 0o600


@pytest.mark.parametrize("place", ["runs", "runs/now", "runs/00003", "runs/now/7", "runs/now/0/probe"])
def test_a_link_inside_the_work_folder_is_never_cleared_or_written_through(tmp_path: Path, place: str) -> None:
    victim = tmp_path / "victim"
    (victim / "now").mkdir(parents=True)
    space = Workspace(tmp_path / "s.json")
    (space.folder / place).parent.mkdir(parents=True)
    (space.folder / place).symlink_to(victim)
    with pytest.raises(InputError, match="a link, has one in it"), space.locked():
        pass


def test_a_journal_that_is_a_pipe_or_a_link_is_refused_at_once(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "s.json")
    space.folder.mkdir()
    os.mkfifo(space.journal)
    for ask in (space.holds_runs, space.lines, lambda: end_what_it_left(space)):
        with pytest.raises(FormatError, match="a pipe or a device, not a file; remove it"):
            ask()
    space.journal.unlink()
    space.journal.symlink_to("/dev/zero")
    with pytest.raises(FormatError, match="it is a link; remove it"):
        space.lines()


def test_a_work_folder_that_was_removed_is_not_called_safe(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "gone" / "s.json")
    with pytest.raises(InputError, match="something removed it, and the completed runs with it"):
        space.append({"run": {}})


def test_a_place_that_cannot_be_written_and_a_removed_folder_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(InputError, match="choose a place that can be written with -o"),
        Workspace(tmp_path / "file" / "s.json").locked(),
    ):
        pass
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    asked = make_settings({"regime": "strong", "workers": "1", "command": ["x"]})
    with pytest.raises(InputError, match="the current folder was removed; change to another one"):
        run_sweep(asked, fake_world(), output=tmp_path / "s.json", launcher=FakeLauncher(lambda job: 1.0))


def test_a_study_never_takes_the_place_of_a_folder_or_a_device(tmp_path: Path) -> None:
    asked = make_settings({"regime": "strong", "workers": "1", "command": ["x"]})
    for place in (tmp_path, Path(os.devnull)):
        with pytest.raises(InputError, match="a folder or a device, not a file; name the study file with -o"):
            run_study(asked, fake_world(), output=place, force=True, launcher=FakeLauncher(lambda job: 1.0))
    assert Path(os.devnull).is_char_device()
