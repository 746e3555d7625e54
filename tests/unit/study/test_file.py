"""The study file: round trip, atomic writing, and what it refuses."""

import json
import os
from pathlib import Path

import pytest

from scalecurve.errors import FormatError, InputError
from scalecurve.findings import info
from scalecurve.study import Baseline, Placement, Provenance, RankRecord, Run, RunStatus, Study, Workload
from scalecurve.study import file as study_file
from scalecurve.study.file import read_study, save
from scalecurve.study.study import Regime, Treatment


def _rich_study(steps: int = 3) -> Study:
    ranks = (RankRecord(rank=0, seconds=2.0, host="a", steps=(0.5,) * steps, phases={"compute": 1.5}, work=10.0),)
    runs = (
        Run(k=1, value=2.0, repeat=1, order=0, ranks=ranks, placement=Placement(ranks=1, cores=(0,)), digest="abc"),
        Run(k=2, value=1.1, setup_seconds=0.2, observed={"load": 0.5}, oversubscribed=True),
        Run(k=2, status=RunStatus.FAILED, error="killed"),
    )
    return Study(
        regime=Regime.WEAK,
        runs=runs,
        k_unit="ranks",
        workload=Workload(name="w", command=("a", "{workers}"), per_worker=5.0),
        baseline=Baseline(k=1, description="same code"),
        warmup=Treatment.EXCLUDED,
        provenance=Provenance(source="s", machine={"cores": 2}, notes=("n",)),
        findings=(info("x", "y", value=1),),
    )


def test_round_trip_is_identity(tmp_path: Path) -> None:
    for study in (_rich_study(), Study.from_samples({1: [2.0, 2.1], 4: [0.6]}, regime="strong")):
        save(study, tmp_path / "s.json")

        assert read_study(tmp_path / "s.json") == study


def test_long_series_go_to_a_sidecar_and_come_back(tmp_path: Path) -> None:
    study = _rich_study(steps=study_file.INLINE_STEPS + 1)
    save(study, tmp_path / "s.json")

    assert (tmp_path / "s.steps.npz").exists()
    assert len((tmp_path / "s.json").read_bytes()) < 10_000
    assert read_study(tmp_path / "s.json") == study


def test_phases_of_steps_are_kept_inline_and_in_the_sidecar(tmp_path: Path) -> None:
    for count in (3, study_file.INLINE_STEPS):
        rank = RankRecord(rank=0, seconds=1.0, steps=(0.1,) * count, step_phases={"all_reduce": (0.05,) * count})
        study = Study(regime=Regime.STRONG, runs=(Run(k=1, value=1.0, ranks=(rank,)),))
        save(study, tmp_path / "s.json")

        assert read_study(tmp_path / "s.json") == study


def test_a_sidecar_of_another_study_is_refused(tmp_path: Path) -> None:
    save(_rich_study(steps=study_file.INLINE_STEPS + 1), tmp_path / "s.json")
    (tmp_path / "s.steps.npz").write_bytes(b"something else")

    with pytest.raises(FormatError, match="does not match"):
        read_study(tmp_path / "s.json")


def test_a_missing_sidecar_is_named(tmp_path: Path) -> None:
    save(_rich_study(steps=study_file.INLINE_STEPS + 1), tmp_path / "s.json")
    (tmp_path / "s.steps.npz").unlink()

    with pytest.raises(FormatError, match=r"s\.steps\.npz"):
        read_study(tmp_path / "s.json")


def test_a_sidecar_cannot_point_elsewhere(tmp_path: Path) -> None:
    save(_rich_study(), tmp_path / "s.json")
    data = json.loads((tmp_path / "s.json").read_text())
    data["sidecar"] = {"name": "../secret.npz", "sha256": "0"}
    (tmp_path / "s.json").write_text(json.dumps(data))

    with pytest.raises(FormatError, match="in the folder of the study"):
        read_study(tmp_path / "s.json")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not JSON"),
        ("not json", "not JSON"),
        ('{"format": "scalecurve-study", "version": 1, "reg', "truncated"),
        ("[1, 2]", "not a study file"),
        ("{}", "not a study file"),
        ('{"format": "scalecurve-study"}', "version is missing"),
        ('{"format": "scalecurve-study", "version": 999}', "newer scalecurve"),
        ('{"format": "scalecurve-study", "version": 1}', "regime"),
        ('{"format": "scalecurve-study", "version": 1, "regime": "strong"}', "either runs or bulk"),
        ('{"format": "scalecurve-study", "version": 1, "regime": "strong", "samples": {"0": [1.0]}}', "samples"),
        (
            '{"format": "scalecurve-study", "version": 1, "regime": "strong", "samples": {"1": [-1.0]}}',
            "greater than 0",
        ),
        ('{"format": "scalecurve-study", "version": 1, "regime": "strong", "samples": {"1": [NaN]}}', "NaN"),
    ],
)
def test_files_that_are_not_studies(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "s.json"
    path.write_text(content)

    with pytest.raises(FormatError, match=message):
        read_study(path)


def test_all_faults_at_once(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(
        '{"format": "scalecurve-study", "version": 1, "regime": "odd", "quantity": "furlongs", "samples": {"1": ["x"]}}'
    )

    with pytest.raises(FormatError) as caught:
        read_study(path)

    assert len(caught.value.faults) == 3


def test_deep_nesting_is_refused_not_crashed(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text("[" * 200_000)

    with pytest.raises(FormatError):
        read_study(path)


def test_a_file_above_the_limit_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.json"
    path.write_text("{}" + " " * 2000)
    monkeypatch.setattr(study_file.read_json, "__kwdefaults__", {"limit": 1000})

    with pytest.raises(FormatError, match="too large"):
        read_study(path)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.json"
    path.write_text("old")

    def no_space(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(InputError, match="No space left"):
        save(_rich_study(), path)

    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["s.json"]


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        save(_rich_study(), tmp_path / "nowhere" / "s.json")


def test_an_unmeasured_baseline_is_refused() -> None:
    with pytest.raises(InputError, match="baseline was not measured"):
        Study.from_samples({1: [1.0], 2: [0.5]}, regime="strong", baseline_k=4)


def test_failed_and_warm_up_runs_are_no_times() -> None:
    study = _rich_study()

    assert study.all_k == (1, 2)
    assert len(study.samples) == 2


def test_a_study_says_itself_in_one_line() -> None:
    study = Study.from_samples({1: [2.0, 2.1], 4: [0.6]}, regime="strong", name="job", k_unit="gpus")

    assert repr(study) == "<Study 'job', strong, 3 observations (seconds) at 2 K from 1 to 4 gpus>"
