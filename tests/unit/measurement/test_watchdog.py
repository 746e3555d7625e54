"""The watchdog as a process of its own: it starts, times and ends jobs, and adopts what they leave."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scalecurve.measurement import watchdog
from scalecurve.measurement.ports import Command
from scalecurve.measurement.processes import LocalRunner
from scalecurve.study import RunStatus

Ask = Any


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Ask]:
    program = [sys.executable, "-I", "-S", watchdog.__file__, str(os.getpid())]
    dog = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def question(*argvs: list[str], timeout: float | None = None, **more: Any) -> dict[str, Any]:
        commands = [
            {
                "argv": argv,
                "env": {"SCALECURVE_RUN": "t"},
                "folder": str(tmp_path),
                "cores": [],
                "out": str(tmp_path / f"out-{place}"),
                "err": str(tmp_path / f"err-{place}"),
                **more,
            }
            for place, argv in enumerate(argvs)
        ]
        asked = {"timeout": timeout, "commands": commands}
        assert dog.stdin is not None
        assert dog.stdout is not None
        dog.stdin.write(json.dumps([asked]).encode() + b"\n")
        dog.stdin.flush()
        while "started" in (answer := json.loads(dog.stdout.readline())):
            continue
        return dict(answer)

    yield question
    dog.communicate()
    assert dog.returncode == 0


def test_exit_codes_and_output_of_several_processes(ask: Ask, tmp_path: Path) -> None:
    answer = ask(["sh", "-c", "echo one"], ["sh", "-c", "sleep 0.2; echo two >&2"])

    assert (answer["codes"], answer["why"], answer["left"]) == ([0, 0], "", [])
    assert answer["wall"] >= 0.2
    assert (tmp_path / "out-0").read_text() == "one\n"
    assert (tmp_path / "err-1").read_text() == "two\n"
    assert (tmp_path / "out-0").stat().st_mode & 0o777 == 0o600


def test_one_that_fails_ends_the_others(ask: Ask) -> None:
    answer = ask(["sleep", "60"], ["sh", "-c", "exit 4"])

    assert answer["codes"] == [None, 4]
    assert answer["wall"] < 30


def test_what_cannot_be_started_is_said(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program")

    assert ask(["no-such-program"])["trouble"] == {"number": 0, "reason": "No such file or directory"}
    assert ask(["./text"])["trouble"]["reason"] == "Permission denied"
    assert ask(["true"], folder=str(tmp_path / "none"))["trouble"]["reason"] == "No such file or directory"
    assert ask(["true"])["trouble"] is None


def test_a_link_in_place_of_the_output_is_not_followed(ask: Ask, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("precious")
    (tmp_path / "out-0").symlink_to(other)

    assert ask(["echo", "x"])["trouble"] is not None
    assert other.read_text() == "precious"


def test_cores_are_bound_for_the_job_alone(ask: Ask, tmp_path: Path) -> None:
    core = min(os.sched_getaffinity(0))
    script = "import os; print(sorted(os.sched_getaffinity(0)))"
    ask([sys.executable, "-c", script], cores=[core])
    bound = (tmp_path / "out-0").read_text().strip()
    ask([sys.executable, "-c", script])

    assert bound == f"[{core}]"
    assert (tmp_path / "out-0").read_text().strip() == str(sorted(os.sched_getaffinity(0)))


def test_marks_find_what_has_no_parent_here() -> None:
    token = f"mark-{time.time_ns()}"
    job = subprocess.Popen(["setsid", "sleep", "61"], env={**os.environ, "SCALECURVE_RUN": token})

    assert watchdog.marked(token)
    assert watchdog.end_marked(token, grace=2.0) == []
    job.wait(timeout=10)
    assert watchdog.marked(token) == []


def test_marks_find_what_has_no_environment_session_or_parent_left() -> None:
    token = f"mark-{time.time_ns()}"
    with watchdog.marking_children(token):
        subprocess.run(["env", "-i", "sh", "-c", "setsid sleep 62 > /dev/null 2>&1 &"], check=True)

    assert len(watchdog.marked(token)) == 1
    assert not watchdog.carries(os.getpid(), token)
    assert watchdog.end_marked(token, grace=2.0) == []
    assert watchdog.marked(token) == []


def test_a_process_that_a_look_misses_is_ended_by_the_next(tmp_path: Path) -> None:
    """A child born while its parent ends is in no list of /proc that was begun before; the kernel still counts it."""
    program = (
        "import os, subprocess, sys, time\n"
        f"sys.path.insert(0, {str(Path(watchdog.__file__).parent)!r})\n"
        "import watchdog\n"
        "watchdog.adopt_orphans()\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        "looks = iter([[], []])\n"
        "below = watchdog.below\n"
        "watchdog.below = lambda roots: next(looks, None) or below(roots)\n"
        "print(watchdog.end_children(), os.path.exists(f'/proc/{child.pid}'))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)

    assert done.stdout == "[] False\n", done.stderr


def test_what_outlives_a_job_is_counted(ask: Ask) -> None:
    assert ask(["sh", "-c", "setsid sleep 600 > /dev/null 2>&1 & exit 0"])["behind"] == 1
    assert ask(["true"])["behind"] == 0


def test_a_watchdog_that_its_job_stops_is_continued(tmp_path: Path) -> None:
    runner = LocalRunner()
    stop = Command(argv=("sh", "-c", "kill -STOP $PPID; sleep 0.1"))
    try:
        outcome = runner.run_together([stop], folder=tmp_path, token="stopped", timeout=60)
    finally:
        runner.close()
    assert outcome.status is RunStatus.OK
