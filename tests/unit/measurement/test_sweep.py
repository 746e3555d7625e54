"""The sweep with fakes: order, journal, resuming, sameness, baselines and verdicts, without a single real process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import scalecurve as sc
from scalecurve.errors import InputError, RunError
from scalecurve.measurement.ports import LaunchJob, LaunchOutcome, World
from scalecurve.measurement.settings import MeasureSettings, make_settings
from scalecurve.measurement.sweep import Progress, run_sweep
from scalecurve.study import RunStatus, Study
from scalecurve.study.file import read_study
from tests.fakes.world import FakeLauncher, fake_world


def settings(**more: object) -> MeasureSettings:
    base = {"regime": "strong", "workers": "1,2,4", "repeats": 3, "command": ["job", "{workers}"]}
    return make_settings({**base, **more})


def ideal(job: LaunchJob) -> float:
    return 8.0 / job.k


def run(
    tmp_path: Path,
    launcher: FakeLauncher,
    asked: MeasureSettings | None = None,
    *,
    resume: bool = False,
    cores: int = 8,
) -> Study:
    out = tmp_path / "s.json"
    return run_sweep(asked or settings(), fake_world(cores), output=out, launcher=launcher, resume=resume)


def codes(study: Study) -> set[str]:
    return {finding.code for finding in study.findings}


def test_every_run_is_there_with_its_evidence(tmp_path: Path) -> None:
    study = run(tmp_path, FakeLauncher(ideal))

    assert {k: list(values) for k, values in study.samples.by_k().items()} == {1: [8.0] * 3, 2: [4.0] * 3, 4: [2.0] * 3}
    assert [each.status for each in study.runs[:3]] == [RunStatus.WARMUP] * 3
    assert [each.order for each in study.runs] == list(range(12))
    assert all(each.setup_seconds is not None for each in study.runs)
    assert study.provenance.timing == "probe"
    assert read_study(tmp_path / "s.json") == study
    assert not (tmp_path / "s.json.work").exists()


def test_the_listener_hears_every_launch_twice(tmp_path: Path) -> None:
    heard: list[Progress] = []
    run_sweep(settings(), fake_world(), output=tmp_path / "s.json", launcher=FakeLauncher(ideal), listener=heard.append)

    assert len(heard) == 24
    assert [each.number for each in heard[1::2]] == list(range(1, 13))
    assert heard[-1].remaining == 0
    assert all(each.total == 12 for each in heard)


def test_a_failed_start_leaves_nothing_behind(tmp_path: Path) -> None:
    class Absent(FakeLauncher):
        def launch(self, job: LaunchJob, settings: MeasureSettings, world: World) -> LaunchOutcome:
            raise RunError("cannot start 'run'")

    with pytest.raises(RunError, match="cannot start"):
        run(tmp_path, Absent(ideal), settings(command=["run", "{workers}"]))
    assert list(tmp_path.iterdir()) == []


def test_runs_under_another_thread_setting_or_on_another_machine_are_not_joined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path, FakeLauncher(ideal))
    with pytest.raises(InputError, match=r"usable_cores: was 8 .* \(got '16'\)"):
        run(tmp_path, FakeLauncher(ideal), cores=16, resume=True)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    with pytest.raises(InputError, match=r"OMP_NUM_THREADS: was None .*'7'"):
        run(tmp_path, FakeLauncher(ideal), resume=True)


def test_a_program_that_was_built_again_is_seen_by_resume(tmp_path: Path) -> None:
    program, output = tmp_path / "app", tmp_path / "s.json"
    asked = {"regime": "strong", "workers": "1,2", "warmup_launches": 0, "oversubscribe": True, "output": output}
    program.write_text("#!/bin/sh\nsleep 0.0$1\n")
    program.chmod(0o700)
    first = sc.measure(**asked, repeats=1, command=[str(program), "{workers}"])
    program.write_text("#!/bin/sh\nsleep 0.0$1  # built again\n")
    again = sc.measure(**asked, repeats=2, command=[str(program), "{workers}"], resume=True)
    assert "program-changed" not in codes(first)
    assert "program-changed" in codes(again)


def test_a_refused_resume_leaves_only_the_study(tmp_path: Path) -> None:
    before = run(tmp_path, FakeLauncher(ideal))
    with pytest.raises(InputError, match="cannot be resumed"):
        run(tmp_path, FakeLauncher(ideal), settings(command=["other", "{workers}"]), resume=True)
    assert [path.name for path in tmp_path.iterdir()] == ["s.json"]
    assert read_study(tmp_path / "s.json") == before


def test_a_start_that_fails_later_keeps_what_was_completed(tmp_path: Path) -> None:
    class Vanishing(FakeLauncher):
        def launch(self, job: LaunchJob, settings: MeasureSettings, world: World) -> LaunchOutcome:
            if job.order == 2:
                raise RunError("gone")
            return super().launch(job, settings, world)

    with pytest.raises(RunError, match="gone"):
        run(tmp_path, Vanishing(ideal))
    assert len(run(tmp_path, FakeLauncher(ideal), resume=True).runs) == 12


def test_other_total_work_breaks_a_strong_study(tmp_path: Path) -> None:
    study = run(tmp_path, FakeLauncher(ideal, work=lambda job: 1000.0 if job.k < 4 else 900.0))
    broken = next(finding for finding in study.findings if finding.code == "work-differs")

    assert broken.severity == "error"
    assert (broken.evidence["low_k"], broken.evidence["low_work"]) == (4, 900.0)
    assert broken.evidence["high_work"] == 1000.0


def test_weak_studies_hold_the_work_of_a_worker(tmp_path: Path) -> None:
    weak = settings(regime="weak", per_worker=10, command=["job", "{workers}", "{total}"])

    assert "work-differs" not in codes(run(tmp_path, FakeLauncher(lambda _: 1.0, work=lambda job: 10.0 * job.k), weak))
    (tmp_path / "s.json").unlink()
    assert "work-differs" in codes(run(tmp_path, FakeLauncher(lambda _: 1.0), weak))


def test_rounding_is_no_difference(tmp_path: Path) -> None:
    assert "work-differs" not in codes(run(tmp_path, FakeLauncher(ideal, work=lambda job: 1000.0 + 1e-8 * job.k)))


def test_another_answer_breaks_the_study(tmp_path: Path) -> None:
    assert "answer-differs" in codes(run(tmp_path, FakeLauncher(ideal, digest=lambda job: f"sum{job.k // 4}")))


def test_failures_are_kept_without_times_and_tried_again_on_resume(tmp_path: Path) -> None:
    broken = FakeLauncher(ideal, fails=lambda job: job.k == 4)
    first = run(tmp_path, broken)

    assert {each.status for each in first.runs if each.k == 4} == {RunStatus.FAILED}
    assert all(each.value is None and each.error == "exit code 3" for each in first.runs if each.k == 4)
    assert {"failed-runs", "missing-points"} <= codes(first)
    mended = FakeLauncher(ideal)
    second = run(tmp_path, mended, resume=True)
    assert {job.k for job in mended.launched} == {4}
    assert len(mended.launched) == 4
    assert len(second.samples.at(4)) == 3
    assert "missing-points" not in codes(second)


def test_nothing_but_failures_is_an_error_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="exit code 3"):
        run(tmp_path, FakeLauncher(ideal, fails=lambda _: True))

    assert all(each.value is None for each in read_study(tmp_path / "s.json").runs)


def test_an_interrupt_keeps_the_completed_runs_and_resumes(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt) as end:
        run(tmp_path, FakeLauncher(ideal, interrupts=lambda job: job.order == 7))
    place = tmp_path / "s.json"
    assert f"{place} holds 7 of 12 launches: continue with `scalecurve measure --resume {place}`" in str(end.value)
    cut = read_study(tmp_path / "s.json")

    assert "interrupted" in codes(cut)
    assert cut.runs[-1].status is RunStatus.INTERRUPTED
    rest = FakeLauncher(ideal)
    whole = run(tmp_path, rest, resume=True)
    assert len(rest.launched) == 12 - 7
    assert len(whole.samples) == 9


def test_the_budget_of_time_ends_the_sweep(tmp_path: Path) -> None:
    study = run(tmp_path, FakeLauncher(ideal), settings(max_time=30))

    assert "too-few-repeats" in codes(study) or "missing-points" in codes(study)
    assert (tmp_path / "s.json.work").exists()


def test_the_fastest_correct_candidate_is_t1(tmp_path: Path) -> None:
    def seconds(job: LaunchJob) -> float:
        return {"scaling": 8.0 / job.k, "serial": 5.0, "wrong": 1.0}[job.role]

    launcher = FakeLauncher(seconds, digest=lambda job: "other" if job.role == "wrong" else "same")
    study = run(tmp_path, launcher, settings(baseline={"serial": {"command": ["a"]}, "wrong": {"command": ["b"]}}))
    found = next(finding for finding in study.findings if finding.code == "baseline-chosen")

    assert study.baseline.chosen == "serial"
    assert list(study.samples.at(1)) == [5.0] * 3
    assert list(study.samples.at(2)) == [4.0] * 3
    assert found.evidence["inflation"] == pytest.approx(8 / 5)
    assert "baseline-wrong-answer" in codes(study)
    assert "answer-differs" not in codes(study)


def test_more_workers_than_cores_only_when_asked(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"too few cores for K = .* .2 here"):
        run(tmp_path, FakeLauncher(ideal), cores=2)
    study = run(tmp_path, FakeLauncher(ideal), settings(oversubscribe=True), cores=2)

    assert {each.k for each in study.runs if each.oversubscribed} == {4}
    assert "oversubscribed" in codes(study)


def test_a_job_of_another_size_is_refused(tmp_path: Path) -> None:
    class Mismatched(FakeLauncher):
        def _write(self, job: LaunchJob, rank: int, wall: float) -> None:
            from dataclasses import replace

            super()._write(replace(job, k=1), 0, wall)

    with pytest.raises(RunError, match=r"\d workers were asked for, but the job did not run at size \d"):
        run(tmp_path, Mismatched(ideal), settings(workers="2,4"))
    assert not (tmp_path / "s.json").exists()


def test_steps_that_still_warm_up_and_drift_are_said(tmp_path: Path) -> None:
    warming = [3.0, 2.5, 2.0, 1.5] + [1.0 + 0.001 * (i % 3) for i in range(36)]
    drifting = [1.0 + 0.02 * i for i in range(40)]

    assert "still-warming" in codes(run(tmp_path, FakeLauncher(ideal, steps=lambda _: warming)))
    (tmp_path / "s.json").unlink()
    assert "drift" in codes(run(tmp_path, FakeLauncher(ideal, steps=lambda _: drifting)))


def test_a_finished_study_can_be_given_more_repeats(tmp_path: Path) -> None:
    run(tmp_path, FakeLauncher(ideal))
    more = FakeLauncher(ideal)
    study = run(tmp_path, more, settings(repeats=5), resume=True)

    assert len(more.launched) == 6
    assert all(len(values) == 5 for values in study.samples.by_k().values())


def test_a_job_that_fails_at_every_k_is_launched_once_at_each_and_the_way_on_is_said(tmp_path: Path) -> None:
    broken = FakeLauncher(ideal, fails=lambda _: True)
    with pytest.raises(
        RunError, match=r"try again with --resume, or with another command or pattern and --force\); .* exit code 3"
    ):
        run(tmp_path, broken, settings(repeats=20))

    assert [job.k for job in broken.launched] == [1, 2, 4]
    mended = FakeLauncher(ideal)
    assert len(run(tmp_path, mended, settings(repeats=20), resume=True).samples) == 60


def test_a_point_that_fails_three_times_alike_is_given_up_and_the_others_go_on(tmp_path: Path) -> None:
    broken = FakeLauncher(ideal, fails=lambda job: job.k == 4)
    study = run(tmp_path, broken, settings(repeats=20))

    assert [job.k for job in broken.launched].count(4) == 3
    assert {k: len(values) for k, values in study.samples.by_k().items()} == {1: 20, 2: 20}
    assert {"failed-runs", "missing-points"} <= codes(study)
    again = FakeLauncher(ideal, fails=lambda job: job.k == 4)
    run(tmp_path, again, settings(repeats=20), resume=True)
    assert len(again.launched) == 3


def test_failures_of_different_kinds_do_not_end_a_sweep(tmp_path: Path) -> None:
    class Odd(FakeLauncher):
        def launch(self, job: LaunchJob, settings: MeasureSettings, world: World) -> LaunchOutcome:
            outcome = super().launch(job, settings, world)
            return replace(outcome, status=RunStatus.FAILED, error=f"worker {'ab'[job.order % 2]} fell over")

    flaky = Odd(ideal)
    with pytest.raises(RunError, match="no launch gave a time"):
        run(tmp_path, flaky, settings(workers="1", repeats=8))
    assert len(flaky.launched) == 9


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["sh", "-c", "OMP_NUM_THREADS={workers} ./app 10"], "app"),
        (["bash", "-ec", "cd run && export A=1; time -p ./solver -n {workers}"], "solver"),
        (["sh", "-c", "seq 8 | xargs -P {workers} -n 1 ./work"], "xargs"),
        (["sh", "-c", "for i in 1 2; do ./step {workers}; done"], "step"),
        (["env", "A=1", "nice", "-n", "5", "taskset", "-c", "0-3", "/opt/bin/app", "{workers}"], "app"),
        (["{python}", "-m", "package.heat", "{workers}"], "package.heat"),
        (["python3", "-c", "print()", "{workers}"], "python3 -c"),
        (["java", "-Xmx1g", "-jar", "lib/pool.jar", "{workers}"], "pool.jar"),
        (["bash", "scripts/run.sh", "{workers}"], "run.sh"),
        (["pigz", "-p", "{workers}", "big.txt"], "pigz"),
    ],
)
def test_a_study_has_the_name_of_its_program(tmp_path: Path, command: list[str], name: str) -> None:
    assert run(tmp_path, FakeLauncher(ideal), settings(command=command, repeats=1)).name == name
