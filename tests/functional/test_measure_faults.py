"""Each fault is caused for real: completed runs survive it, failed runs are never times, nothing is left running."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scalecurve.study import RunStatus
from scalecurve.study.file import read_study

JOB = """
import os, sys, time
from scalecurve import probe
k = int(sys.argv[1])
with probe.region(work=100):
    time.sleep(0.02)
{more}
"""


def write_job(folder: Path, more: str = "") -> Path:
    path = folder / "job.py"
    path.write_text(JOB.format(more=textwrap.dedent(more)))
    return path


def arguments(job: Path, out: Path, *options: str) -> list[str]:
    base = [sys.executable, "-m", "scalecurve", "measure", "--regime", "strong", "--workers", "1,2", "--oversubscribe"]
    base += ["--quiet-below", "1000"]  # these tests are about other faults than load by others
    return [*base, "-o", str(out), *options, "--", sys.executable, str(job), "{workers}"]


def measure(job: Path, out: Path, *options: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(arguments(job, out, *options), capture_output=True, text=True, timeout=600, **more)


def begin(job: Path, out: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        arguments(job, out, *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # nohup around the tests ignores it
    )


def wait_until(condition: Callable[[], bool], seconds: float = 300.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail("the awaited state did not come")
        time.sleep(0.02)


def journal_runs(out: Path) -> list[dict[str, Any]]:
    path = out.with_name(out.name + ".work") / "journal.jsonl"
    if not path.exists():
        return []
    whole = path.read_text().rpartition("\n")[0]
    return [line["run"] for text in whole.splitlines() if "run" in (line := json.loads(text))]


def alive(marker: str) -> list[int]:
    """Processes whose command line holds the marker; zombies have none."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if marker.encode() in words:
                found.append(int(name))
    return found


def test_a_non_zero_exit_is_recorded_with_its_stderr_and_without_a_time(tmp_path: Path) -> None:
    job = write_job(tmp_path, "if k == 2: sys.exit('the solver diverged')")
    done = measure(job, tmp_path / "s.json", "--repeats", "2")
    study = read_study(tmp_path / "s.json")
    failed = [run for run in study.runs if run.k == 2]

    assert done.returncode == 1, done.stderr
    assert {run.status for run in failed} == {RunStatus.FAILED}
    assert all(run.value is None and run.error and "the solver diverged" in run.error for run in failed)
    assert {finding.code for finding in study.findings} >= {"failed-runs", "missing-points"}
    assert len(study.samples.at(1)) == 2


def test_what_a_failed_job_said_on_standard_output_is_kept_beside_its_errors(tmp_path: Path) -> None:
    says = "print('ERROR: no such package', flush=True); sys.exit('launcher: one process returned 1')"
    done = measure(write_job(tmp_path, says), tmp_path / "s.json", "--repeats", "1")

    assert done.returncode == 2
    assert "ERROR: no such package\nlauncher: one process returned 1" in done.stderr


def test_a_killed_worker_fails_its_run_and_ends_the_others(tmp_path: Path) -> None:
    marker = f"marker-{os.getpid()}-{time.time_ns()}"
    job = tmp_path / "worker.py"
    job.write_text(
        "import os, signal, time\n"
        "if os.environ['SCALECURVE_RANK'] == '1': os.kill(os.getpid(), signal.SIGKILL)\n"
        "time.sleep(3600)\n"
    )
    command = [
        sys.executable,
        "-m",
        "scalecurve",
        "measure",
        "--regime",
        "strong",
        "--workers",
        "2",
        "--processes",
        "--quiet-below",
        "1000",
    ]
    command += ["--oversubscribe", "--repeats", "1", "--warmup-launches", "0", "-o", str(tmp_path / "s.json")]
    done = subprocess.run(
        [*command, "--", sys.executable, str(job), marker], capture_output=True, text=True, timeout=600
    )

    assert done.returncode == 2
    assert "killed by SIGKILL" in done.stderr
    assert alive(marker) == []


def test_a_hang_is_ended_with_its_whole_tree_even_what_left_the_session(tmp_path: Path) -> None:
    marker = f"marker-{os.getpid()}-{time.time_ns()}"
    child = (
        f"[sys.executable, '-c', 'import time, signal; signal.signal(15, signal.SIG_IGN); time.sleep(99)', {marker!r}]"
    )
    job = write_job(
        tmp_path,
        f"""
        if k == 2:
            import subprocess
            subprocess.Popen({child}, start_new_session=True)
            subprocess.Popen({child})
            time.sleep(99)
        """,
    )
    done = measure(job, tmp_path / "s.json", "--repeats", "1", "--timeout", "2s", "--warmup-launches", "0")
    study = read_study(tmp_path / "s.json")

    assert done.returncode == 1
    assert [run.status for run in study.runs if run.k == 2] == [RunStatus.TIMEOUT]
    assert alive(marker) == []


def test_output_that_does_not_parse_is_a_failed_run(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text("import sys\nprint('elapsed: 0.001' if sys.argv[1] == '1' else 'elapsed: soon')\n")
    measure(job, tmp_path / "s.json", "--repeats", "1", "--time-pattern", r"elapsed: (\S+)")
    study = read_study(tmp_path / "s.json")

    assert [run.value for run in study.runs if run.k == 1 and run.status is RunStatus.OK] == [0.001]
    assert all("not a number" in (run.error or "") for run in study.runs if run.k == 2)


def test_a_probe_file_that_does_not_parse_is_a_failed_run(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text(
        "import os\nopen(os.environ['SCALECURVE_PROBE'] + '/rank-0.jsonl', 'w').write('{\"begin\": 1, oops')\n"
    )
    done = measure(job, tmp_path / "s.json", "--repeats", "1")

    assert done.returncode == 2
    assert "not a JSON object" in done.stderr


@pytest.mark.parametrize("moment", ["between", "during"])
def test_sigkill_of_the_tool_loses_and_repeats_nothing(tmp_path: Path, moment: str) -> None:
    marker = tmp_path / "launches"
    slow = "time.sleep(0.7)" if moment == "during" else ""
    waits = (
        f"while len(open({str(marker)!r}).read().split()) > 7 and not os.path.exists('{marker}.go'): time.sleep(0.02)"
    )
    job = write_job(
        tmp_path, f"open({str(marker)!r}, 'a').write(f'{{k}}\\n')\n{slow}\n{waits}"
    )  # never done before the kill
    out = tmp_path / "s.json"
    tool = begin(job, out, "--repeats", "4")
    wait_until(lambda: len(journal_runs(out)) >= 4)
    os.kill(tool.pid, signal.SIGKILL)
    tool.communicate(timeout=300)
    saved = journal_runs(out)
    wait_until(lambda: not alive(str(job)))
    Path(f"{marker}.go").touch()

    resumed = measure(job, out, "--repeats", "4", "--resume")
    study = read_study(out)

    assert resumed.returncode == 0, resumed.stderr
    assert sorted((r.k, r.repeat) for r in study.runs) == sorted((k, i) for k in (1, 2) for i in (-1, 0, 1, 2, 3))
    kept = {(run.k, run.repeat): run.wall_seconds for run in study.runs}
    assert all(kept[run["k"], run["repeat"]] == run["wall_seconds"] for run in saved)
    assert not out.with_name("s.json.work").exists()


def test_a_torn_last_line_of_the_journal_is_one_run_that_never_was(tmp_path: Path) -> None:
    job = write_job(tmp_path, "if k == 2: sys.exit(1)")
    out = tmp_path / "s.json"
    measure(job, out, "--repeats", "2")
    journal = out.with_name("s.json.work") / "journal.jsonl"
    whole = len(journal_runs(out))
    with journal.open("a") as file:
        file.write('{"run": {"k": 1, "val')
    job.write_text(JOB.format(more=""))

    assert measure(job, out, "--repeats", "2", "--resume").returncode == 0
    study = read_study(out)
    assert len(study.runs) == whole + 3  # the three launches of K = 2 again; the failed ones stay as evidence
    assert study.all_k == (1, 2)


def test_ctrl_c_saves_what_is_complete_and_exits_130(tmp_path: Path) -> None:
    job = write_job(tmp_path, "time.sleep(0.3)")
    out = tmp_path / "s.json"
    tool = begin(job, out, "--repeats", "50")
    wait_until(lambda: len(journal_runs(out)) >= 5)
    os.kill(tool.pid, signal.SIGINT)
    _, messages = tool.communicate(timeout=300)
    study = read_study(out)

    assert tool.returncode == 130, messages
    assert "Traceback" not in messages
    assert "interrupted" in {finding.code for finding in study.findings}
    assert len(study.samples) >= 3
    assert alive(str(job)) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_how_schedulers_end_jobs_saves_what_is_complete(tmp_path: Path, number: int, code: int) -> None:
    job, out = write_job(tmp_path, "time.sleep(0.3)"), tmp_path / "s.json"
    tool = begin(job, out, "--repeats", "50")
    wait_until(lambda: len(journal_runs(out)) >= 5)
    os.kill(tool.pid, number)
    os.kill(tool.pid, number)  # a second one while it ends does no harm
    _, messages = tool.communicate(timeout=300)

    assert tool.returncode == code, messages
    assert "Traceback" not in messages
    assert "interrupted" in {finding.code for finding in read_study(out).findings}
    assert len(read_study(out).samples) >= 3
    assert alive(str(job)) == []


HIDING = {
    "no environment": "env -i sleep {time}",
    "own session": "setsid sleep {time} & wait",
    "daemon": "(setsid env -i sh -c '(env -i sleep {time} &)' &) ; sleep 0.1; exec env -i sleep {time}",
    "deaf": "trap '' TERM HUP INT; env -i sleep {time} & env -i sleep {time}",
}


def hiding(out: Path, how: str, *options: str) -> tuple[list[str], str]:
    """A measurement of a shell job that hides, and the number of seconds by which its processes are known."""
    marker = f"{7000 + time.time_ns() % 1_000_000_000 / 1e9:.9f}"
    script = HIDING[how].replace("{time}", marker)
    words = [sys.executable, "-m", "scalecurve", "measure", "--regime", "strong", "--workers", "1"]
    words += ["--repeats", "2", "--warmup-launches", "0", "--quiet-below", "1000", "-o", str(out), *options]
    return [*words, "--", "/bin/sh", "-c", script], marker


@pytest.mark.parametrize("how", HIDING)
def test_a_job_that_hides_is_ended_by_the_timeout(tmp_path: Path, how: str) -> None:
    words, marker = hiding(tmp_path / "s.json", how, "--timeout", "0.6s")
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)

    assert "no end after 0.6 s" in done.stderr
    assert alive(marker) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("how", HIDING)
def test_a_job_that_hides_does_not_outlive_the_tool(tmp_path: Path, how: str, number: int) -> None:
    words, marker = hiding(tmp_path / "s.json", how)
    tool = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    wait_until(lambda: bool(alive(marker)))
    os.kill(tool.pid, number)
    tool.wait(timeout=30)
    wait_until(lambda: not alive(marker), 30)


def test_the_setup_command_is_watched(tmp_path: Path) -> None:
    marker = f"{6000 + time.time_ns() % 1_000_000_000 / 1e9:.9f}"
    setup = f"/bin/sh -c 'env -i sleep {marker}'"
    tool = begin(write_job(tmp_path), tmp_path / "s.json", "--setup-command", setup)
    wait_until(lambda: bool(alive(marker)))
    os.kill(tool.pid, signal.SIGKILL)
    tool.communicate(timeout=300)
    wait_until(lambda: not alive(marker), 30)

    late = measure(write_job(tmp_path), tmp_path / "t.json", "--setup-command", setup, "--timeout", "0.5s")
    assert late.returncode == 2
    assert "the setup command failed: no end after 0.5 s" in late.stderr
    assert alive(marker) == []


def test_without_its_watchdog_the_measurement_ends_its_job_and_writes_the_study(tmp_path: Path) -> None:
    words, marker = hiding(tmp_path / "s.json", "daemon")
    script = words[-1].replace("sh -c", "sh -c")  # the same job, after one that is done
    done = tmp_path / "done"
    words[-1] = f"if mkdir {done}; then exit 0; fi; {script}"
    tool = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    wait_until(lambda: bool(alive(marker)))
    watchdogs = [pid for pid in alive(str(tool.pid)) if b"watchdog" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    os.kill(watchdogs[0], signal.SIGKILL)
    _, messages = tool.communicate(timeout=300)
    study = read_study(tmp_path / "s.json")

    assert tool.returncode == 2
    assert f"the watchdog (process {watchdogs[0]}) was killed" in messages
    assert alive(marker) == []
    assert [run.status for run in study.runs] == [RunStatus.OK, RunStatus.INTERRUPTED]


@pytest.mark.parametrize(("value", "words"), [("float('nan')", "is nan"), ("float('inf')", "is inf")])
def test_a_diverged_loss_is_a_failed_run_with_its_reason(tmp_path: Path, value: str, words: str) -> None:
    job, out = write_job(tmp_path, f"if k == 2: probe.quality({value})"), tmp_path / "s.json"
    done = measure(job, out, "--repeats", "1")
    errors = [run.error or "" for run in read_study(out).runs if run.k == 2]

    assert done.returncode == 1, done.stderr
    assert errors
    assert all("quality" in error and words in error for error in errors)


@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_a_probe_file_without_an_end_is_a_failed_run(tmp_path: Path, kind: str) -> None:
    make = "os.mkfifo(p)" if kind == "fifo" else "os.symlink('/dev/zero', p)"
    job = tmp_path / "job.py"
    job.write_text(f"import os\np = os.environ['SCALECURVE_PROBE'] + '/rank-0.jsonl'\n{make}\n")
    done = measure(job, tmp_path / "s.json", "--repeats", "1")

    assert done.returncode == 2
    assert "a pipe or a device" in done.stderr


def test_a_pattern_that_never_ends_is_said(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text("print('a' * 60 + '!')\n")
    done = measure(job, tmp_path / "s.json", "--repeats", "1", "--time-pattern", "(a|aa)+$")

    assert done.returncode == 2
    assert "without nested repetition" in done.stderr


def test_a_full_disk_keeps_the_completed_runs(tmp_path: Path) -> None:
    """RLIMIT_FSIZE makes writing fail as a full disk does, in the middle of the journal."""
    job = write_job(tmp_path)
    out = tmp_path / "s.json"
    limited = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))\n"
        "from scalecurve.cli.main import run\nsys.exit(run(sys.argv[1:]))\n"
    )
    words = arguments(job, out, "--repeats", "20")[3:]
    done = subprocess.run([sys.executable, "-c", limited, *words], capture_output=True, text=True, timeout=120)
    saved = journal_runs(out)

    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(saved) >= 2
    resumed = measure(job, out, "--repeats", "3", "--resume")
    assert resumed.returncode == 0, resumed.stderr
    walls = {(run.k, run.repeat): run.wall_seconds for run in read_study(out).runs}
    assert all(walls[run["k"], run["repeat"]] == run["wall_seconds"] for run in saved)


def test_a_small_file_system_that_fills_up(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "none", str(small)], capture_output=True)
    if mounted.returncode:
        pytest.skip("no right to mount a small tmpfs here")
    try:
        job = write_job(tmp_path)
        done = measure(job, small / "s.json", "--repeats", "30")
        saved = journal_runs(small / "s.json")
    finally:
        subprocess.run(["umount", str(small)], check=True)

    assert done.returncode == 2
    assert "No space left" in done.stderr
    assert len(saved) >= 2


def test_a_read_only_folder_is_said_before_anything_runs(tmp_path: Path) -> None:
    place = tmp_path / "ro"
    place.mkdir()
    if os.geteuid() == 0:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", str(place)], capture_output=True)
        if mounted.returncode:
            pytest.skip("root writes anywhere and may not mount here")
    else:
        place.chmod(0o500)
    try:
        marker = tmp_path / "launched"
        job = write_job(tmp_path, f"open({str(marker)!r}, 'w')")
        done = measure(job, place / "s.json", "--repeats", "1")
    finally:
        if os.geteuid() == 0:
            subprocess.run(["umount", str(place)], check=True)

    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert not marker.exists()


def test_two_measurements_on_one_file(tmp_path: Path) -> None:
    begun, done = tmp_path / "begun", tmp_path / "done"
    waits = f"open({str(begun)!r}, 'a').close()\nwhile not os.path.exists({str(done)!r}): time.sleep(0.02)"
    job, out = write_job(tmp_path, waits), tmp_path / "s.json"
    first = begin(job, out, "--repeats", "6")
    wait_until(begun.exists)
    second = measure(job, out, "--repeats", "6")
    done.touch()  # only now the first goes on
    first.communicate(timeout=300)

    assert second.returncode == 2
    assert f"process {first.pid}" in second.stderr
    assert first.returncode == 0
    assert len(read_study(out).samples) == 12


def test_an_existing_study_is_not_overwritten(tmp_path: Path) -> None:
    job, out = write_job(tmp_path), tmp_path / "s.json"
    measure(job, out, "--repeats", "1")
    before = out.read_bytes()

    refused = measure(job, out, "--repeats", "1")
    assert refused.returncode == 2
    assert "the file exists" in refused.stderr
    assert out.read_bytes() == before
    assert not out.with_name("s.json.work").exists()
    assert measure(job, out, "--repeats", "2", "--resume").returncode == 0
    assert len(read_study(out).samples) == 4
    assert measure(job, out, "--repeats", "1", "--force").returncode == 0
    assert len(read_study(out).samples) == 2


def test_another_job_is_not_resumed(tmp_path: Path) -> None:
    job, out = write_job(tmp_path), tmp_path / "s.json"
    measure(job, out, "--repeats", "1")
    other = measure(job, out, "--repeats", "2", "--resume", "--warmup-steps", "3")

    assert other.returncode == 2
    assert "warmup_steps" in other.stderr


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "scalecurve",
        "measure",
        "--regime",
        "strong",
        "--workers",
        "1",
        "--quiet-below",
        "1000",
    ]
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "s.json"), "--", "./no-such-program", "{workers}"],
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 2
    assert "no such program here (got './no-such-program')" in done.stderr
    mended = write_job(tmp_path)
    assert measure(mended, tmp_path / "s.json", "--repeats", "1").returncode == 0, "nothing was completed before"


def test_no_shell_unless_it_is_written(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    program = [
        sys.executable,
        "-c",
        f"import sys; open({str(seen)!r}, 'w').write(sys.argv[1])",
        "$HOME; echo {workers}",
    ]
    command = [
        sys.executable,
        "-m",
        "scalecurve",
        "measure",
        "--regime",
        "strong",
        "--workers",
        "1",
        "--repeats",
        "1",
        "--quiet-below",
        "1000",
    ]
    subprocess.run([*command, "-o", str(tmp_path / "s.json"), "--", *program], check=True, capture_output=True)

    assert seen.read_text() == "$HOME; echo 1"


def test_a_killed_measurement_is_readable_and_goes_on_by_its_name_alone(tmp_path: Path) -> None:
    import scalecurve as sc

    job, out = write_job(tmp_path, "time.sleep(0.1)"), tmp_path / "s.json"
    tool = begin(job, out, "--repeats", "3", "--warmup-launches", "0", "--total", "100")
    wait_until(lambda: {run["k"] for run in journal_runs(out)} == {1, 2})
    tool.kill()
    tool.communicate()

    made = len(journal_runs(out))
    table = sc.tabulate(str(out))
    (finding,) = [own for own in table.findings if own.code == "unfinished"]
    assert sum(row.n for row in table.rows) == made
    assert finding.evidence == {"made": made, "planned": 6}
    resumed = [sys.executable, "-m", "scalecurve", "measure", "--resume", str(out)]
    done = subprocess.run(resumed, capture_output=True, text=True, timeout=120, cwd="/")
    study = read_study(out)
    assert done.returncode == 0, done.stderr
    assert (len(study.runs), study.workload.total) == (6, 100)
    assert sorted(run.order or 0 for run in study.runs) == list(range(6))


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text("{}")
    words = ["--workers", "1,100000", "--timeout", "soon", "--launcher", "slrum", "--time-pattern", "x", "-o", "s.json"]
    command = [sys.executable, "-m", "scalecurve", "measure", *words, "--", "job", "{wrkers}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 2
    for mistake in ("regime", "timeout", "slrum", "timing.pattern", "{wrkers}", "file exists"):
        assert mistake in done.stderr, mistake
