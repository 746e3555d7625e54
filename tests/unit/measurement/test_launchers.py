"""What each launcher would start, without starting it."""

from __future__ import annotations

import os
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from scalecurve.errors import InputError, RunError
from scalecurve.measurement.launchers import LAUNCHERS, launcher_named
from scalecurve.measurement.launchers.batch import Queue, await_code, lives, seconds_between, systems
from scalecurve.measurement.launchers.direct import agents, flags, pinning, shape
from scalecurve.measurement.launchers.functions import start_ray
from scalecurve.measurement.launchers.slurm import (
    accounted,
    batch_script,
    cores_of_mask,
    quoted,
    resource_flags,
    srun,
)
from scalecurve.measurement.ports import LaunchJob, LaunchOutcome, World
from scalecurve.measurement.readiness import examine
from scalecurve.measurement.settings import MeasureSettings, make_settings
from scalecurve.measurement.worker_site import SCRIPT, facts_in, machine_and_software
from scalecurve.study import RunStatus
from tests.fakes.world import FakeClock, FakeMachine, FakeRunner


def settings(**launcher: object) -> MeasureSettings:
    return make_settings(
        {"regime": "strong", "workers": "1,2,4", "command": ["python", "x.py", "{workers}"], "launcher": launcher}
    )


def job(folder: Path, k: int = 4, **more: object) -> LaunchJob:
    base = {
        "k": k,
        "repeat": 0,
        "order": 0,
        "role": "scaling",
        "argv": ("python", "x.py"),
        "env": {},
        "token": "abc123",
    }
    return LaunchJob(**{**base, "folder": folder, **more})  # type: ignore[arg-type]


def world(answers: dict[str, tuple[int, str]] | None = None, cores: int = 4) -> World:
    return World(FakeClock(), FakeRunner(answers=answers or {}), FakeMachine(cores))


def test_every_launcher_has_its_name() -> None:
    assert [launcher_named(name).name for name in LAUNCHERS] == list(LAUNCHERS)
    with pytest.raises(InputError, match="did you mean slurm"):
        launcher_named("slum")


def test_local_starts_k_processes_that_know_each_other_and_are_bound(tmp_path: Path) -> None:
    here = world()
    outcome = launcher_named("local").launch(
        job(tmp_path, threads=1),
        settings(mode="processes", pin="compact", wrap=["ssh", "{host}"], hosts=["a", "b"]),
        here,
    )
    commands = here.runner.ran[0]  # type: ignore[attr-defined]

    assert [each.env["SCALECURVE_RANK"] for each in commands] == ["0", "1", "2", "3"]
    assert {each.env["SCALECURVE_SIZE"] for each in commands} == {"4"}
    assert {each.env["OMP_NUM_THREADS"] for each in commands} == {"1"}
    assert [each.cores for each in commands] == [(0,), (1,), (2,), (3,)]
    assert [each.argv[:2] for each in commands] == [("ssh", "a"), ("ssh", "b"), ("ssh", "a"), ("ssh", "b")]
    assert outcome.placement is not None
    assert outcome.placement.nodes == 2
    assert outcome.placement.cores == (0, 1, 2, 3)


def test_local_gives_one_command_its_cores(tmp_path: Path) -> None:
    here = world()
    launcher_named("local").launch(job(tmp_path, k=2), settings(pin="compact"), here)

    assert [each.cores for each in here.runner.ran[0]] == [(0, 1)]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("library", "expected"),
    [
        ("MPICH", ("-n", "4", "-hosts", "a,b", "-ppn", "2", "--extra")),
        (None, ("-n", "4", "-hosts", "a,b", "-ppn", "2", "--extra")),
    ],
)
def test_flags_of_hydra(library: str | None, expected: tuple[str, ...]) -> None:
    asked = settings(name="mpi", hosts=["a", "b"], workers_per_node=2, extra=["--extra"])

    assert flags(library, 4, asked, ("SCALECURVE_PROBE",)) == expected


def test_flags_of_open_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    found = " ".join(flags("Open MPI", 4, settings(name="mpi", hosts=["a"], workers_per_node=4), ("SCALECURVE_PROBE",)))

    assert "--allow-run-as-root --oversubscribe --bind-to none" in found
    assert "--host a:4" in found
    assert "-x SCALECURVE_PROBE" in found
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "--allow-run-as-root" not in flags("Open MPI", 4, settings(name="mpi"), ())


def test_torchrun_shares_workers_out_over_nodes(tmp_path: Path) -> None:
    asked = settings(name="torchrun", workers_per_node=2, hosts=["a", "b"], wrap=["ssh", "{host}"], endpoint="a:29400")
    started = list(agents(replace(job(tmp_path), threads=1), asked, world()))

    assert shape(4, asked) == (2, 2)
    assert [each.argv[:2] for each in started] == [("ssh", "a"), ("ssh", "b")]
    assert all("--nnodes" in each.argv and "a:29400" in each.argv for each in started)
    assert all(each.argv[-1] == "x.py" for each in started)
    assert shape(1, asked) == (1, 1)
    with pytest.raises(InputError, match="cannot be divided"):
        shape(3, asked)


def test_torchrun_sets_the_same_threads_at_every_k(tmp_path: Path) -> None:
    here = world()
    for k in (1, 2):
        launcher_named("torchrun").launch(job(tmp_path / str(k), k=k), settings(name="torchrun"), here)

    assert {each[0].env["OMP_NUM_THREADS"] for each in here.runner.ran} == {"1"}  # type: ignore[attr-defined]


def test_the_batch_script_survives_odd_words(tmp_path: Path) -> None:
    """Spaces, quotes and dollars of a command reach the program as they are."""
    odd = ("python", "-c", "import sys; print(sys.argv[1:])", "a b", "$HOME", "q\"u'o", "{x}")
    asked = make_settings(
        {
            "regime": "strong",
            "workers": "1",
            "command": ["x"],
            "launcher": {"name": "slurm", "slurm": {"launch": ["env"]}},
        }
    )
    text = batch_script(job(tmp_path, k=1, argv=odd), asked, {"A": "x y$z"})
    script = tmp_path / "job.sh"
    script.write_text(text)
    done = subprocess.run(["bash", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == str(list(odd[3:]))
    assert (tmp_path / "code").read_text() == "0\n"
    assert f"export A={shlex.quote('x y$z')}" in text


def test_the_number_of_an_array_task_is_left_to_the_node() -> None:
    assert quoted("/a b/$SLURM_ARRAY_TASK_ID/probe") == "'/a b/'\"$SLURM_ARRAY_TASK_ID\"/probe"


def test_flags_of_sbatch(tmp_path: Path) -> None:
    slurm = {"partition": "p", "account": "a", "time_limit": "00:05:00", "tasks_per_node": 2, "extra": ["--exclusive"]}
    asked = settings(name="slurm", slurm=slurm)
    found = resource_flags(job(tmp_path, threads=3), asked)

    assert {"--partition=p", "--account=a", "--time=00:05:00", "--ntasks=4", "--ntasks-per-node=2"} <= set(found)
    assert {"--cpus-per-task=3", "--exclusive"} <= set(found)


def test_a_job_that_leaves_the_queue_without_a_trace_has_failed(tmp_path: Path) -> None:
    here = world({"squeue": (0, ""), "scontrol": (0, "JobId=7 JobState=NODE_FAIL Reason=x")})
    asked = settings(name="slurm")
    outcome: LaunchOutcome = launcher_named("slurm").outcome_of("7", tmp_path, job(tmp_path), asked, here)

    assert outcome.status is RunStatus.FAILED
    assert outcome.error is not None
    assert "NODE_FAIL" in outcome.error


def test_a_job_that_runs_too_long_is_cancelled(tmp_path: Path) -> None:
    here = world({"squeue": (0, "RUNNING\n"), "scancel": (0, "")})
    (tmp_path / "began").write_text(str(here.clock.unix()))
    outcome = launcher_named("slurm").outcome_of(
        "7", tmp_path, job(tmp_path, timeout=5.0), settings(name="slurm"), here
    )

    assert outcome.status is RunStatus.TIMEOUT
    assert ("scancel", "7") in here.runner.captured  # type: ignore[attr-defined]


def test_accounts_are_read_where_there_are_any() -> None:
    rows = "COMPLETED|61||4200\nCOMPLETED|61|1048576|\nCOMPLETED|60|2097152|4100\n"

    assert accounted("7", world({"sacct": (0, rows)})) == {
        "slurm_state": "COMPLETED",
        "slurm_elapsed_seconds": 61,
        "peak_process_bytes": 2097152,
        "energy": {"joules": 4200.0, "sources": ["sacct ConsumedEnergy"]},
    }
    assert "energy" not in accounted("7", world({"sacct": (0, "COMPLETED|61||0\n")}))
    assert accounted("7", world({"sacct": (1, "Slurm accounting storage is disabled")})) == {}


def test_functions_for_ray_and_dask_are_checked(tmp_path: Path) -> None:
    for name in ("ray", "dask"):
        with pytest.raises(InputError, match="not a Python function"):
            launcher_named(name).launch(job(tmp_path, argv=("./solver",)), settings(name=name), world())


def test_doctor_names_the_missing_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("scalecurve.measurement.launchers.functions.find_spec", lambda _: None)
    found = examine(world(), seconds=0.02)

    assert found.launchers["local"] is None
    assert "mpirun" in (found.launchers["mpi"] or "")
    assert "sbatch" in (found.launchers["slurm"] or "")
    assert "scalecurve[ray]" in (found.launchers["ray"] or "")
    assert "Launchers that can be used: local" in str(found)
    assert {row["launcher"] for row in found.records()} == set(LAUNCHERS)


@pytest.mark.parametrize(
    ("library", "pin", "threads", "expected"),
    [
        ("Open MPI", "none", None, ("--bind-to", "none")),
        ("Open MPI", "compact", None, ("--map-by", "core", "--bind-to", "core:overload-allowed")),
        ("Open MPI", "spread", 2, ("--map-by", "socket:PE=2", "--bind-to", "core:overload-allowed")),
        ("MPICH", "none", None, ()),
        ("MPICH", "compact", 2, ("-bind-to", "core:2", "-map-by", "core:2")),
        ("MPICH", "spread", None, ("-bind-to", "core:1", "-map-by", "socket")),
    ],
)
def test_ranks_are_bound_as_asked(library: str, pin: str, threads: int | None, expected: tuple[str, ...]) -> None:
    assert pinning(library, settings(name="mpi", pin=pin, threads_per_worker=threads)) == expected


def test_srun_binds_and_tells_which_cores_each_task_got(tmp_path: Path) -> None:
    words = srun(job(tmp_path), settings(name="slurm", pin="spread"), nodes=None)

    assert {"--cpu-bind=verbose,cores", "--distribution=block:cyclic"} <= set(words)
    assert cores_of_mask("0x5") == [0, 2]
    assert not any(word.startswith("--mpi") for word in words)
    assert "--mpi=pmix" in srun(job(tmp_path), settings(name="slurm", slurm={"mpi": "pmix"}), nodes=None)


def test_the_script_of_a_site_tells_the_program_and_its_libraries() -> None:
    done = subprocess.run(["/bin/sh", "-c", SCRIPT, "sh", "env"], capture_output=True, text=True, check=True)
    facts = facts_in(done.stdout)

    assert facts["host"]
    assert facts["usable_cores"] >= 1
    assert len(facts["sha256"]) == 64
    assert facts_in("modules=gcc/12:openmpi/4\nmemory_kib=2\ngpu=A100, 535\ncpu=\n") == {
        "modules": ["gcc/12", "openmpi/4"],
        "memory_bytes": 2048,
        "gpus": ["A100, 535"],
    }
    assert machine_and_software({"host": "node1", "sha256": "ab"}, {"host": "login"}, {"python": "3"}) == (
        {"host": "node1", "submit_host": "login"},
        {"python": "3", "job": {"sha256": "ab"}},
    )


@pytest.mark.parametrize(
    ("system", "code", "text", "answer"),
    [
        ("pbs", 0, "Job Id: 12.head\n    job_state = R\n", True),
        ("pbs", 0, "Job Id: 12.head\n    job_state = F\n", False),
        ("pbs", 153, "qstat: Unknown Job Id 12.head", False),
        ("pbs", 35, "qstat: 12.head Job has finished, use -x or -H to obtain historical job information", False),
        ("pbs", 255, "Connection refused\nqstat: cannot connect to server head (errno=15010)", None),
        ("lsf", 255, "Job <12> is not found", False),
        ("lsf", 0, "PEND\n", True),
        ("lsf", 255, "LSF is down. Please wait ...", None),
        ("sge", 1, "Following jobs do not exist: \n12", False),
        ("sge", 1, "error: commlib error: got select error (Connection refused)\nunable to contact qmaster", None),
        ("flux", 1, "flux-jobs: ERROR: [Errno 111] Unable to connect to Flux: broker socket not ready", None),
        ("flux", 0, "INACTIVE\n", False),
        ("flux", 1, "flux-jobs: ERROR: JobID f2x9 unknown", False),
        ("pbs", 127, "Command '['qstat']' timed out after 60.0 seconds", None),
        ("pbs", 1, "", False),
    ],
)
def test_a_failed_question_says_nothing_about_the_job(system: str, code: int, text: str, answer: bool | None) -> None:
    assert lives(code, text, systems()[system].alive) is answer


def test_a_system_that_stays_silent_ends_the_measurement_and_keeps_the_job(tmp_path: Path) -> None:
    cancelled: list[bool] = []
    queue = Queue(lambda: None, lambda: cancelled.append(True), 2.0)
    with pytest.raises(RunError, match=r"not answered for 10 minutes.*--resume finds it again"):
        await_code(queue, tmp_path, job(tmp_path), world())
    assert not cancelled


def test_slurm_in_an_outage_is_waited_for(tmp_path: Path) -> None:
    lost = (1, "slurm_load_jobs error: Unable to contact slurm controller (connect failure)")
    with pytest.raises(RunError, match="not answered"):
        launcher_named("slurm").outcome_of(
            "12", tmp_path, job(tmp_path), settings(name="slurm"), world({"squeue": lost})
        )
    gone = (1, "slurm_load_jobs error: Invalid job id specified")
    ended = launcher_named("slurm").outcome_of(
        "12", tmp_path, job(tmp_path), settings(name="slurm"), world({"squeue": gone})
    )
    assert ended.status is RunStatus.FAILED


class SlowRay:
    """Ray on a busy machine: the first starts give up."""

    def __init__(self, failures: int) -> None:
        self.failures, self.asked = failures, 0

    def init(self, **_: object) -> None:
        self.asked += 1
        if self.asked <= self.failures:
            raise Exception("The current node timed out during startup.")

    def shutdown(self) -> None:
        return


def test_an_engine_that_does_not_start_at_once_is_started_again() -> None:
    slow = SlowRay(2)
    start_ray(slow, {"num_cpus": 1})
    assert slow.asked == 3
    with pytest.raises(Exception, match="timed out during startup"):
        start_ray(SlowRay(3), {})


def test_a_clock_that_is_set_during_a_job_does_not_change_its_time(tmp_path: Path) -> None:
    files = {"began": "1000.0", "ended": "4602.5", "uptime-began": "50.00 99.1", "uptime-ended": "52.51 101.0"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)

    assert seconds_between(tmp_path) == (pytest.approx(2.51), pytest.approx(3599.99))
    (tmp_path / "ended").write_text("1002.512")  # not set: the clock of the day has more digits
    assert seconds_between(tmp_path) == (pytest.approx(2.512), 0.0)
    (tmp_path / "uptime-began").unlink()
    (tmp_path / "ended").write_text("4602.5")
    assert seconds_between(tmp_path) == (3602.5, 0.0)
