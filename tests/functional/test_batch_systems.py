"""Batch systems by fakes that answer as their manuals say: submitted, waited for, timed, cancelled, found again."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from scalecurve.errors import InputError, RunError
from scalecurve.measurement import measure
from scalecurve.measurement.launchers.batch import systems
from scalecurve.study import Run, RunStatus, Study
from tests.fakes.batch_systems import COMMANDS, install

TEMPLATE = {
    "submit": ["qsub", "-o", "{out}", "-e", "{err}", "{script}"],
    "status": ["qstat", "-j", "{job}"],
    "cancel": ["qdel", "{job}"],
    "number_pattern": r"number (\d+)",
    "alive_pattern": "job_number",
}


def run_by(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], **more: Any) -> Study:
    bin_folder = install(kind, tmp_path / "fake")
    monkeypatch.setenv("PATH", f"{bin_folder}:{os.environ['PATH']}")
    batch: dict[str, Any] = {"poll": 0.05, "queue": "short", "time_limit": "00:05:00"}
    batch |= TEMPLATE if kind == "template" else {}
    batch |= {"image": "registry/solver:1"} if kind == "kubernetes" else {}
    batch |= {"start": ["env"]} if kind == "flux" else {}
    launcher = {"name": kind, "batch": batch, "size_check": "off"} | more.pop("launcher", {})
    settings: dict[str, Any] = {"regime": "strong", "workers": "1,2", "repeats": 1, "warmup_launches": 0}
    return measure(**(settings | {"command": words, "launcher": launcher, "output": tmp_path / "s.json"} | more))


def asked(tmp_path: Path) -> list[list[str]]:
    return [json.loads(line) for line in (tmp_path / "fake" / "asked").read_text().splitlines()]


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_job_is_submitted_waited_for_and_timed(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = run_by(kind, tmp_path, monkeypatch, ["/bin/sh", "-c", "sleep 0.1; echo at work", "job", "{workers}"])
    runs = [run for run in study.runs if run.status is RunStatus.OK]

    assert [run.k for run in sorted(runs, key=lambda run: run.k)] == [1, 2]
    assert all(run.value is not None and run.value >= 0.1 for run in runs)
    assert all(run.observed["batch_job"] for run in runs)
    assert study.provenance.launcher == kind


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_job_that_fails_is_a_failed_run(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = '[ "$0" = 1 ] || { echo diverged >&2; exit 3; }'
    study = run_by(kind, tmp_path, monkeypatch, ["/bin/sh", "-c", script, "{workers}"])
    failed = [run for run in study.runs if run.k == 2]

    assert [run.status for run in failed] == [RunStatus.FAILED]
    assert "exit code 3" in (failed[0].error or "")
    assert "diverged" in (failed[0].error or "")


@pytest.mark.parametrize("kind", COMMANDS)
def test_what_a_job_prints_is_read_although_the_system_delivers_it_late(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "sleep 0.2; echo 'Run time : 0.150 sec.'; : $0"
    timing = {"pattern": r"Run time : (\S+) sec"}
    study = run_by(kind, tmp_path, monkeypatch, ["/bin/sh", "-c", script, "{workers}"], workers="1", timing=timing)

    assert [(run.value, run.error) for run in study.runs] == [(0.15, None)]
    assert study.runs[0].observed["time_matches"] == 1


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_system_that_does_not_answer_for_a_while_is_waited_for(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fake").mkdir()
    (tmp_path / "fake" / "outage").write_text("15")
    study = run_by(kind, tmp_path, monkeypatch, ["/bin/sh", "-c", "sleep 1.5; : $0", "{workers}"], workers="1")

    assert [(run.status, run.error) for run in study.runs] == [(RunStatus.OK, None)]


@pytest.mark.parametrize(
    ("kind", "pods"), [("JobSet", {1: 1, 2: 2}), ("PyTorchJob", {1: 1, 2: 1, 4: 2}), ("MPIJob", {1: 1, 2: 1, 4: 1})]
)
def test_a_kind_of_kubernetes_has_its_pods(
    kind: str, pods: dict[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every pod that runs the command says so once: all workers, one for two of them, or the launcher of mpirun."""
    more = {"kind": kind, "image": "registry/solver:1", "poll": 0.05, "resources": {"nvidia.com/gpu": 2}}
    launcher = {"batch": {**more, "pod": {"serviceAccountName": "bench"}}, "workers_per_node": 2}
    words = ["/bin/sh", "-c", "echo at work; sleep 0.1"]
    study = run_by("kubernetes", tmp_path, monkeypatch, words, workers=list(pods), launcher=launcher, keep_files=True)
    manifests = [json.loads(path.read_text()) for path in tmp_path.glob("s.json.work/runs/*/job.sh")]

    assert {run.k: run.error for run in study.runs} == dict.fromkeys(pods)
    assert all(run.value is not None and run.value >= 0.1 for run in study.runs)
    said = {run.k: (folder / "out-0").read_text().count("at work") for run, folder in folders_of(study, tmp_path)}
    assert said == pods
    assert all(one["kind"] == kind and '"serviceAccountName": "bench"' in json.dumps(one) for one in manifests)
    assert all('"limits": {"nvidia.com/gpu": 2}' in json.dumps(one) for one in manifests)


def folders_of(study: Study, tmp_path: Path) -> list[tuple[Run, Path]]:
    return [(run, tmp_path / "s.json.work" / "runs" / f"{run.order:05d}") for run in study.runs]


def test_a_job_that_its_system_ends_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The walltime: the script has no time left to write its exit code, and PBS says why in its own file."""
    script = 'echo "=>> PBS: job killed: walltime 61 exceeded limit 60" > system-err; kill -9 $PPID; : $0'
    words = ["/bin/sh", "-c", f"cd $(dirname $SCALECURVE_PROBE) && {script}", "{workers}"]
    with pytest.raises(RunError, match="without an exit code") as problem:
        run_by("sge", tmp_path, monkeypatch, words, workers="1")

    assert "walltime 61 exceeded" in str(problem.value)


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_job_that_hangs_is_cancelled(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = '[ "$0" = 1 ] || sleep 60'
    study = run_by(kind, tmp_path, monkeypatch, ["/bin/sh", "-c", script, "{workers}"], timeout="4s")

    assert [run.status for run in study.runs if run.k == 2] == [RunStatus.TIMEOUT]
    assert any(
        words[:2] in (["flux", "cancel"], ["kubectl", "delete"]) or words[0] in ("qdel", "bkill")
        for words in asked(tmp_path)
    )


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("pbs", "-q short -l walltime=00:05:00"),
        ("torque", "-l nodes=2:ppn=1"),
        ("lsf", "-q short -W 00:05:00"),
        ("sge", "-q short -l h_rt=00:05:00 -pe mpi 2"),
        ("flux", "--queue=short --time-limit=00:05:00"),
    ],
)
def test_the_flags_of_the_manual(kind: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    extra = {"extra": ["-pe", "mpi", "{workers}"]} if kind == "sge" else {}
    batch = {"poll": 0.05, "queue": "short", "time_limit": "00:05:00", **extra}
    batch |= {"start": ["env"]} if kind == "flux" else {}
    run_by(kind, tmp_path, monkeypatch, ["true"], launcher={"batch": batch})
    submitted = [shlex.join(line) for line in asked(tmp_path) if line[0] in ("qsub", "bsub") or line[1:2] == ["batch"]]

    assert any(words in line for line in submitted), submitted


def test_a_template_names_what_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"launcher\.batch\.status"):
        measure(
            regime="strong",
            workers="1",
            command=["true"],
            launcher={"name": "template", "batch": {"submit": ["qsub"]}},
            output=tmp_path / "s.json",
        )


def test_every_system_is_complete() -> None:
    for system in (system for name, system in systems().items() if name != "template"):
        assert any("{job}" in word for word in system.status)
        assert any("{job}" in word for word in system.cancel)


def fake_program(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)


def test_hosts_by_ssh_get_the_folder_and_the_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_program(
        tmp_path / "bin",
        "ssh",
        'shift 3; host=$1; shift; FAKE_HOST=$host exec env -i PATH="$PATH" FAKE_HOST=$host sh -c "$*"',
    )
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    job = tmp_path / "job.py"
    job.write_text(
        "import os, sys\nsys.path.insert(0, sys.argv[1])\nfrom scalecurve import probe\n"
        "with probe.region(work=1):\n    pass\nprint(os.environ['FAKE_HOST'], os.environ['MODE'])\n"
    )
    study = measure(
        regime="strong",
        workers="2",
        repeats=1,
        warmup_launches=0,
        command=[sys.executable, str(job), str(Path(__file__).parents[2] / "src")],
        env={"MODE": "quick"},
        launcher={"name": "ssh", "hosts": ["a", "b"]},
        output=tmp_path / "s.json",
    )
    run = study.runs[0]

    assert run.status is RunStatus.OK, run.error
    assert run.placement is not None
    assert run.placement.hosts == ("a", "b")
    assert {rank.rank for rank in run.ranks} == {0, 1}


def test_host_names_that_are_options_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="would be read as an option"):
        measure(
            regime="strong",
            workers="1",
            command=["true"],
            launcher={"name": "ssh", "hosts": ["-oProxyCommand=x"]},
            output=tmp_path / "s.json",
        )


def test_a_prologue_is_run_before_the_job(tmp_path: Path) -> None:
    study = measure(
        regime="strong",
        workers="1",
        repeats=1,
        warmup_launches=0,
        command=["/bin/sh", "-c", 'test "$MODULE" = gromacs'],
        launcher={"prologue": ["export MODULE=gromacs"]},
        output=tmp_path / "s.json",
    )

    assert [run.status for run in study.runs] == [RunStatus.OK], study.runs[0].error


@pytest.mark.parametrize("kind", COMMANDS)
def test_submitted_jobs_are_collected_when_they_have_ended(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = tmp_path / "gate"
    script = f'while [ "$0" = 2 ] && [ ! -e {gate} ]; do sleep 0.05; done; echo at work'
    begun = run_by(kind, tmp_path, monkeypatch, ["/bin/sh", "-c", script, "{workers}"], repeats=2, submit=True)
    assert {finding.code for finding in begun.findings} == {"pending-jobs"}
    with pytest.raises(InputError, match="not collected"):
        run_by(kind, tmp_path, monkeypatch, ["/bin/sh", "-c", script, "{workers}"], repeats=2, submit=True)
    half, all_of_them = 0, None
    for _ in range(200):
        study = measure(tmp_path / "s.json", collect=True)
        ended = [run.k for run in study.runs if run.value is not None]
        if ended == [1, 1] and not gate.exists():
            half = len(ended)
            gate.touch()
        if len(ended) == 4:
            all_of_them = study
            break
    assert (half, all_of_them is not None) == (2, True)
    assert all_of_them is not None
    assert all("queued_seconds" in run.observed for run in all_of_them.runs) or kind == "kubernetes"
    assert "pending-jobs" not in {finding.code for finding in all_of_them.findings}
    assert not (tmp_path / "s.json.work").exists()
    if kind == "pbs":
        chained = [words for words in asked(tmp_path) if words[0] == "qsub"]
        assert [any("afterany" in word for word in words) for words in chained] == [False, True, True, True]
