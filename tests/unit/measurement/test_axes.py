"""Axes: the cells of each design, the settings of each sweep, and a grid that really runs."""

import itertools
import json
import sys
from dataclasses import replace

import pytest

import scalecurve as sc
from scalecurve.errors import InputError
from scalecurve.measurement.axes import grid_cells, grid_sweeps, run_grid
from scalecurve.measurement.outlook import grid_outlook, preview
from scalecurve.measurement.processes import WatchdogLost
from scalecurve.measurement.settings import make_settings
from scalecurve.measurement.sweep import run_sweep
from tests.fakes.world import FakeLauncher, fake_world

JOB = ("{python}", "job.py", "{size}", "{workers}", "{threads}", "{nodes}", "{ranks_per_node}")


def settings_of(**axes):
    other = {name: axes.pop(name) for name in ("launcher", "expected_seconds", "workers", "regime") if name in axes}
    return make_settings({"regime": "strong", "command": JOB, "repeats": 2, "axes": axes, **other})


def test_hybrid_axes_place_ranks_on_nodes():
    settings = settings_of(nodes=[1, 2, 4], ranks_per_node=[1, 2], threads=[1, 2], size=[1e6, 4e6], launcher="slurm")
    cells = grid_cells(settings)
    assert len(cells) == 24
    assert settings.workers == (1, 2, 4, 8)
    assert {cell.cores for cell in cells} == {1, 2, 4, 8, 16}
    sweeps = grid_sweeps(settings)
    assert len(sweeps) == 8
    own = next(one.settings for one in sweeps if one.cells[0].ranks_per_node == 2 and one.cells[0].threads == 2)
    assert own.workers == (2, 4, 8)
    assert own.launcher.threads_per_worker == 2
    assert own.launcher.slurm.tasks_per_node == 2
    assert own.filled(JOB, 8)[2:] == ("1000000", "8", "2", "4", "2")


def test_designs_take_fewer_cells():
    axes = {"threads": [1, 2, 4], "size": [1e6, 2e6, 4e6], "workers": "1,2,4"}
    assert len(grid_cells(settings_of(**axes))) == 27
    assert len(grid_cells(settings_of(**axes, design="one-at-a-time"))) == 7


def test_faults_are_reported_at_once():
    with pytest.raises(InputError) as caught:
        make_settings(
            {
                "regime": "strong",
                "workers": "1,2",
                "command": ["./a", "{workers}"],
                "total": 5.0,
                "axes": {"size": [1, 2]},
            }
        )
    assert {fault.where for fault in caught.value.faults} == {"axes.size", "command"}
    with pytest.raises(InputError, match="axes say how many"):
        settings_of(workers="1,3", nodes=[1, 2])


def test_a_dry_run_shows_the_design_and_its_cost():
    outlook = grid_outlook(settings_of(size=[1e6, 2e6], workers="1,2", expected_seconds=10.0))
    assert (outlook.wall.low, outlook.wall.high) == (135.0, 180.0)
    assert [row.name for row in outlook.points][-1] == "K = 2, size 2000000"
    text = str(preview(regime="strong", command=JOB, workers="1,2", axes={"size": "1e6,2e6"}))
    assert "24 launches are to be made" in text


def test_a_grid_runs_is_stored_in_one_file_and_loads_back(tmp_path):
    script = tmp_path / "job.py"
    script.write_text(
        "import os, sys\nn, k = map(float, sys.argv[1:])\nt = int(os.environ['OMP_NUM_THREADS'])\n"
        "print('elapsed:', 1e-9 * n / (k * t) + 1e-6 * k)\n"
    )
    output = tmp_path / "grid.json"
    studies = sc.measure(
        regime="strong",
        workers=[1, 2],
        command=[sys.executable, str(script), "{size}", "{workers}"],
        repeats=2,
        warmup_launches=0,
        axes={"size": [1e6, 2e6, 4e6], "threads": [1, 2]},
        oversubscribe=True,
        output=output,
        timing={"pattern": "elapsed: (.*)"},
        launcher={"size_check": "off"},
    )
    assert len(studies) == 6
    assert studies.k_unit == "cores"
    assert studies["2 threads, size 1000000"].all_k == (2, 4)
    loaded = sc.load_all(output)
    assert loaded.axes == studies.axes
    assert loaded.sizes["1 thread, size 4000000"] == 4e6
    assert not (tmp_path / "grid.json.grid").exists()
    assert json.loads(output.read_text())["format"] == "scalecurve-study-set"
    with pytest.raises(InputError, match="finished study"):
        sc.measure(regime="strong", workers=[1], command=["true", "{size}"], axes={"size": [1.0, 2.0]}, output=output)


def test_a_lost_watchdog_ends_the_grid_and_keeps_what_was_complete(tmp_path):
    asked = settings_of(size=[1e6, 2e6, 4e6], workers="1,2").model_copy(update={"repeats": 2, "warmup_launches": 0})
    world, launcher, sweeps = fake_world(), FakeLauncher(lambda job: 8.0 / job.k), []

    def sweep(own, path, again):
        sweeps.append(own)
        if len(sweeps) == 3:
            raise WatchdogLost("the watchdog was killed")
        return run_sweep(own, world, output=path, resume=again, launcher=launcher)

    with pytest.raises(WatchdogLost):
        run_grid(asked, world, sweep, output=tmp_path / "grid.json")
    assert len(sweeps) == 3
    assert len(sc.load_all(tmp_path / "grid.json")) == 2


def test_a_grid_with_failed_launches_is_completed_by_resume(tmp_path):
    asked = settings_of(size=[1e6, 2e6], workers="1,2").model_copy(update={"repeats": 2, "warmup_launches": 0})
    world, broken, output = fake_world(), [True], tmp_path / "grid.json"
    launcher = FakeLauncher(
        lambda job: 8.0 / job.k, fails=lambda job: broken[0] and job.k == 2 and "1000000" in job.argv
    )

    def sweep(own, path, again):
        return run_sweep(own, world, output=path, resume=again, launcher=launcher)

    studies = run_grid(asked, world, sweep, output=output)
    assert "missing-points" in {finding.code for finding in studies.findings}
    broken[0] = False
    studies = run_grid(asked, world, sweep, output=output, resume=True)
    assert all(study.all_k == (1, 2) for _, study in studies.items())
    assert "missing-points" not in {finding.code for finding in studies.findings}
    assert not (tmp_path / "grid.json.grid").exists()


def test_an_advice_to_resume_a_grid_can_be_followed(tmp_path):
    times = iter(itertools.cycle([8.0, 9.0, 12.0, 6.0]))
    asked = settings_of(size=[1e6, 2e6], workers="1,2").model_copy(
        update={"repeats": 3, "max_repeats": 3, "precision": 0.001, "warmup_launches": 0}
    )
    world, output = fake_world(), tmp_path / "grid.json"
    launcher = FakeLauncher(lambda job: next(times) / job.k)

    def sweep(own, path, again):
        return run_sweep(own, world, output=path, resume=again, launcher=launcher)

    studies = run_grid(asked, world, sweep, output=output)
    assert "precision-not-reached" in {finding.code for finding in studies.findings}
    more = asked.model_copy(update={"repeats": 4, "max_repeats": 4})
    assert all(
        len(study.samples) == 8 for study in run_grid(more, world, sweep, output=output, resume=True).studies.values()
    )


def test_launches_that_were_made_up_for_are_not_resumed(tmp_path):
    asked = settings_of(size=[1e6, 2e6], workers="1,2").model_copy(update={"repeats": 2, "warmup_launches": 0})
    world, broken, output = fake_world(), [True], tmp_path / "grid.json"
    launcher = FakeLauncher(lambda job: 8.0 / job.k, fails=lambda job: broken[0] and job.k == 2)

    def sweep(own, path, again):
        return run_sweep(own, world, output=path, resume=again, launcher=launcher)

    advised = {item.code: item.remedy or "" for item in run_grid(asked, world, sweep, output=output).findings}
    assert "--resume" in advised["failed-runs"]
    broken[0] = False
    done = {item.code: item.remedy or "" for item in run_grid(asked, world, sweep, output=output, resume=True).findings}
    assert "--resume" not in done["failed-runs"]


def test_the_rows_that_a_finding_names_are_in_cores_as_the_curve_is(tmp_path):
    """Two threads for each of 1 and 2 workers: the row of 4 cores is disturbed, not one of 1 core."""

    class BusyMachine(FakeLauncher):
        def launch(self, job, settings, world):
            return replace(super().launch(job, settings, world), observed={"foreign_cpu_seconds": 90.0})

    asked = settings_of(threads=[2], workers="1,2").model_copy(update={"oversubscribe": True})
    world, launcher = fake_world(), BusyMachine(lambda job: 8.0 / job.k)

    def sweep(own, path, again):
        return run_sweep(own, world, output=path, resume=again, launcher=launcher)

    [study] = run_grid(asked, world, sweep, output=tmp_path / "grid.json").studies.values()
    table = sc.tabulate(study)
    assert [(row.k, row.disturbed) for row in table.rows] == [(2, True), (4, True)]
    assert table.bend is None
    assert table.answer.decision.startswith("No bend can be named")
