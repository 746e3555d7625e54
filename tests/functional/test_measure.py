"""`scalecurve measure` as a user runs it: file and flags, dry run, every source of time, weak scaling, the display."""

from __future__ import annotations

import json
import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import scalecurve as sc
from scalecurve.study import Study
from scalecurve.study.file import read_study

RING = Path(__file__).resolve().parents[2] / "examples" / "hosts" / "ring.py"
BASE = ("--repeats", "2", "--warmup-launches", "0", "--oversubscribe", "--quiet-below", "1000")


def tool(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "scalecurve", *words], capture_output=True, text=True, timeout=120, **more
    )


def measured(tmp_path: Path, *words: str, code: int = 0) -> Study:
    out = tmp_path / "study.json"
    place = words.index("--") if "--" in words else len(words)
    done = tool("measure", *words[:place], *BASE, "-o", str(out), *words[place:])
    assert done.returncode == code, done.stderr
    return read_study(out)


def codes(study: Study) -> set[str]:
    return {finding.code for finding in study.findings}


def test_init_dry_run_and_run(tmp_path: Path) -> None:
    assert tool("measure", "--init", cwd=tmp_path).returncode == 0
    assert tool("measure", "--init", cwd=tmp_path).returncode == 2
    ahead = tool("measure", "study.toml", "--workers", "1,2", "--dry-run", "--precision", "2%", "--json", cwd=tmp_path)
    outlook = json.loads(ahead.stdout)

    assert len(outlook["runs"]) == 12
    assert [run["order"] for run in outlook["runs"]] == list(range(12))
    assert not (tmp_path / "study.json").exists()
    done = tool(
        "measure",
        "study.toml",
        "--workers",
        "1,2",
        "--repeats",
        "1",
        "--oversubscribe",
        "--quiet-below",
        "1000",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    study = read_study(tmp_path / "study.json")
    assert study.all_k == (1, 2)
    assert {run.work for run in study.runs} == {1000.0 * 1000 * 60}
    assert len({run.digest for run in study.runs}) == 1
    assert "K = 2" in tool("measure", "study.toml", "--workers", "1,2", "--dry-run", "--resume", cwd=tmp_path).stdout
    refused = tool("measure", "study.toml", "--workers", "1,2", "--dry-run", cwd=tmp_path)
    assert (refused.returncode, "file exists" in refused.stderr) == (2, True)


def test_the_bundled_workload_gives_one_answer_at_every_k(tmp_path: Path) -> None:
    words = ("-m", "scalecurve.measurement.workloads.heat", "--workers", "{workers}", "--cells", "60", "--sweeps", "20")
    study = measured(tmp_path, "--regime", "strong", "--workers", "1,2,3", "--", sys.executable, *words)

    assert len({run.digest for run in study.runs}) == 1
    assert {run.work for run in study.runs} == {60.0 * 60 * 20}
    assert all([rank.rank for rank in run.ranks] == list(range(run.k)) for run in study.runs)
    assert study.setup == "excluded"


def test_the_ring_runs_on_one_host(tmp_path: Path) -> None:
    port = str(22000 + os.getpid() % 2000)  # below the ports that the kernel hands out
    words = (str(RING), "--quanta", "6", "--steps", "3", "--floats", "101")
    options = ("--regime", "strong", "--workers", "1,2,3", "--processes")
    study = measured(tmp_path, *options, "--", sys.executable, *words, "--port", port)

    assert {run.work for run in study.runs} == {18.0}
    assert all(len(run.ranks) == run.k for run in study.runs)


def test_time_and_work_from_the_output(tmp_path: Path) -> None:
    code = "import sys; k = int(sys.argv[1]); print(f'elapsed: {0.008 / k}\\nupdated 500 cells')"
    options = (
        "--regime",
        "strong",
        "--workers",
        "1,2",
        "--time-pattern",
        r"elapsed: (\S+)",
        "--work-pattern",
        r"(\d+) cells",
    )
    study = measured(tmp_path, *options, "--", sys.executable, "-c", code, "{workers}")

    assert {run.k: run.value for run in study.runs} == {1: 0.008, 2: 0.004}
    assert {run.work for run in study.runs} == {500.0}
    assert study.provenance.timing == "pattern"


def test_the_wall_time_is_said_to_be_one(tmp_path: Path) -> None:
    study = measured(
        tmp_path, "--regime", "strong", "--workers", "1,2", "--", sys.executable, "-c", "pass", "{workers}"
    )

    assert study.provenance.timing == "wall"
    assert study.setup == "unknown"
    assert {"timing-wall", "work-not-reported"} <= codes(study)


def test_a_setup_command_is_timed_apart(tmp_path: Path) -> None:
    setup = f"{sys.executable} -c pass"
    options = ("--regime", "strong", "--workers", "1,2", "--setup-command", setup)
    study = measured(tmp_path, *options, "--", sys.executable, "-c", "pass", "{workers}")

    assert study.setup == "unknown", "the wall time of the job still holds its own start"
    assert all((run.setup_seconds or 0) > 0 for run in study.runs)
    assert "timing-wall" in codes(study)


def test_weak_scaling_grows_the_total_and_checks_it(tmp_path: Path) -> None:
    code = "import sys\nfrom scalecurve import probe\nwith probe.region(work=int(sys.argv[1])): pass"
    options = ("--regime", "weak", "--workers", "1,2,4", "--per-worker", "100")
    study = measured(tmp_path, *options, "--", sys.executable, "-c", code, "{total}", "{workers}")

    assert {run.k: run.work for run in study.runs} == {1: 100, 2: 200, 4: 400}
    assert "work-differs" not in codes(study)


def test_a_job_that_changes_with_k_is_broken(tmp_path: Path) -> None:
    code = "import sys\nfrom scalecurve import probe\nwith probe.region(work=100 * int(sys.argv[1])): pass"
    options = ("--regime", "strong", "--workers", "1,2")
    study = measured(tmp_path, *options, "--", sys.executable, "-c", code, "{workers}", code=1)

    assert "work-differs" in codes(study)


def test_time_to_a_target_quality_and_a_shell(tmp_path: Path) -> None:
    code = (
        "import time\nfrom scalecurve import probe\n"
        "for step in probe.steps(range(6)):\n    time.sleep(0.01)\n    probe.quality(step / 5)\n"
    )
    (tmp_path / "job.py").write_text(code)
    file = tmp_path / "study.toml"
    file.write_text(
        'regime = "strong"\nworkers = [1]\nshell = true\n'
        f'command = ["{sys.executable} job.py && echo {{workers}} > made-by-the-shell"]\n'
        '[timing]\nwhat = "target"\n[target]\nquality = 0.5\n'
    )
    study = measured(tmp_path, str(file))
    reached = [run.value for run in study.runs if run.value]

    assert all(run.wall_seconds is not None and 0.03 <= (run.value or 0) < run.wall_seconds for run in study.runs)
    assert len(reached) == 2
    assert (tmp_path / "made-by-the-shell").read_text() == "1\n"


def test_python_keywords(tmp_path: Path) -> None:
    code = "import sys\nfrom scalecurve import probe\nwith probe.region(work=1): pass"
    study = sc.measure(
        regime="strong", workers=[1], repeats=2, warmup_launches=0, command=[sys.executable, "-c", code, "{workers}"]
    )

    assert len(study.samples) == 2
    assert sc.measurement.preview(regime="strong", workers=[1], command=["true"], expected_seconds=3).wall is not None


def test_pinning_is_recorded(tmp_path: Path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core only")
    code = "from scalecurve import probe\nwith probe.region(): pass"
    options = ("--regime", "strong", "--workers", "1,2", "--processes", "--pin", "compact")
    study = measured(tmp_path, *options, "--", sys.executable, "-c", code)

    assert {run.k: len(run.placement.cores) for run in study.runs if run.placement} == {1: 1, 2: 2}
    assert {run.placement.pinning for run in study.runs if run.placement} == {"compact"}


def test_the_display_on_a_terminal_and_elsewhere(tmp_path: Path) -> None:
    words = ["measure", "--regime", "strong", "--workers", "1", *BASE, "-o", str(tmp_path / "a.json"), "--"]
    plain = tool(*words, sys.executable, "-c", "pass", "{workers}")
    words[words.index("-o") + 1] = str(tmp_path / "b.json")
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "scalecurve", *words, sys.executable, "-c", "pass", "{workers}"],
        stdout=subprocess.DEVNULL, stderr=follower,
    )  # fmt: skip
    os.close(follower)
    seen = b""
    try:
        while chunk := os.read(leader, 65536):
            seen += chunk
    except OSError:  # the other end is closed
        pass
    os.close(leader)

    assert process.wait(timeout=60) == 0
    assert "[1/2] K = 1 repeat 1: T = " in plain.stderr
    assert "running" not in plain.stderr
    assert b"K = 1 repeat 1: running" in seen  # until it ends, on the line of its end
    assert b"K = 1 repeat 2" in seen


def test_doctor() -> None:
    done = tool("doctor", "--noise-time", "100ms", "--json")
    found = json.loads(done.stdout)

    assert done.returncode == 0
    assert {"launcher": "local", "usable": True, "missing": None} in found["launchers"]
    assert found["noise"]["quanta"] >= 50


def test_the_next_command_of_a_dry_run_stands_before_the_job(tmp_path: Path) -> None:
    words = ["measure", "--regime", "strong", "--workers", "1", "--name", "a -- b", "--dry-run"]
    job = ["--", "python3", "job.py", "{workers}", "--json"]
    first = json.loads(tool(*words, "--json", *job, cwd=tmp_path).stdout)["answer"]["next"]
    typed = shlex.split(first.split("`")[1])
    assert typed == ["scalecurve", *words, "--expected-seconds", "10s", *job]
    second = json.loads(tool(*typed[1:-5], "--json", *job, cwd=tmp_path).stdout)["answer"]
    assert "take" in second["decision"]
    assert shlex.split(second["next"].split("`")[1]) == ["scalecurve", *words[:-1], "--expected-seconds", "10s", *job]
