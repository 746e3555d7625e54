"""The probe: nothing when off; when on, two JSON lines per worker whatever ends the process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from scalecurve import probe


@pytest.fixture(autouse=True)
def _off() -> Iterator[None]:
    yield
    probe._recorder = None
    probe._phases.clear()
    probe._tick = probe.time.perf_counter_ns


def lines_in(folder: Path) -> list[dict[str, Any]]:
    """Each worker's two lines joined, by rank."""
    found = []
    for path in folder.glob("*.jsonl"):
        first, last = path.read_text().splitlines()
        found.append({**json.loads(first), **json.loads(last)})
    return sorted(found, key=lambda each: each["rank"] or 0)


def run_program(folder: Path, code: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "SCALECURVE_PROBE": str(folder), **env},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_off_steps_is_iter_and_the_rest_is_nothing() -> None:
    items = [1, 2, 3]

    assert type(probe.steps(items)) is type(iter(items))
    with probe.phase("compute"), probe.region(work=3):
        probe.add_work(1)
        probe.digest("x")
        probe.quality(0.5)
        probe.record("a", 1.0)
    probe.finish()
    assert not probe.is_on()


def test_steps_phases_work_and_answer(tmp_path: Path) -> None:
    probe.start(str(tmp_path), rank=1, size=4)
    for item in probe.steps([3, 4, 5], work=lambda item: item * 10):
        with probe.phase("compute"):
            assert item
        with probe.phase("communication"):
            pass
    probe.digest("abc")
    probe.finish()
    (seen,) = lines_in(tmp_path)

    assert (seen["rank"], seen["size"], seen["probe"]) == (1, 4, 1)
    assert len(seen["steps"]) == 3
    assert seen["work"] == 120
    assert set(seen["phases"]) == {"compute", "communication"}
    assert seen["digest"] == "abc"
    assert seen["end_ns"] - seen["begin_ns"] >= sum(seen["steps"]) * 1e9 - 1
    assert seen["end"] > seen["begin"] > 1.6e9


def test_a_constant_amount_of_work_and_several_loops(tmp_path: Path) -> None:
    probe.start(str(tmp_path), rank=0, size=1)
    for _ in range(3):
        for _ in probe.steps(range(4), work=5):
            pass
    probe.add_work(1)
    probe.finish()
    (seen,) = lines_in(tmp_path)

    assert len(seen["steps"]) == 12
    assert seen["work"] == 61


def test_warm_up_steps_are_kept_but_their_phases_and_work_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(probe.WARMUP, "2")
    ticks = iter(range(0, 10**9, 1000))
    probe.start(str(tmp_path), rank=0, size=1)
    monkeypatch.setattr(probe, "_gpu_clock", lambda: lambda: next(ticks))
    for _ in probe.steps(range(5), work=1):
        with probe.phase("compute"):
            pass
    probe.finish()
    (seen,) = lines_in(tmp_path)

    assert seen["warmup_steps"] == 2
    assert len(seen["steps"]) == 5
    assert seen["work"] == 3
    assert seen["warmup_work"] == 2
    assert seen["phases"]["compute"] == pytest.approx(3 * 1000 / 1e9)
    assert seen["end_ns"] - seen["begin_ns"] == pytest.approx(sum(seen["steps"][2:]) * 1e9)


def test_leaving_the_loop_ends_the_step(tmp_path: Path) -> None:
    probe.start(str(tmp_path), rank=0, size=1)
    for item in probe.steps(range(100)):
        if item == 4:
            break
    probe.finish()

    assert len(lines_in(tmp_path)[0]["steps"]) == 5


def test_regions_and_the_whole(tmp_path: Path) -> None:
    probe.start(str(tmp_path / "a"), rank=0, size=1)
    (tmp_path / "a").mkdir()
    with probe.whole():
        pass
    probe.finish()
    probe.start(str(tmp_path / "b"), rank=0, size=1)
    (tmp_path / "b").mkdir()
    with probe.whole(), probe.region(work=7):
        pass
    probe.finish()

    assert lines_in(tmp_path / "a")[0]["work"] is None
    assert lines_in(tmp_path / "b")[0]["work"] == 7


def test_quality_and_series(tmp_path: Path) -> None:
    probe.start(str(tmp_path), rank=0, size=1)
    for step in probe.steps(range(3)):
        probe.quality(step / 10)
        probe.record("norm", step)
    probe.finish()
    (seen,) = lines_in(tmp_path)

    assert [value for _, value in seen["quality"]] == [0.0, 0.1, 0.2]
    assert all(when >= 0 for when, _ in seen["quality"])
    assert seen["series"] == {"norm": [0, 1, 2]}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"RANK": "3", "WORLD_SIZE": "8"}, (3, 8)),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "SLURM_PROCID": "0"}, (1, 2)),
        ({"PMI_RANK": "5", "PMI_SIZE": "6", "SLURM_PROCID": "0", "SLURM_NTASKS": "1"}, (5, 6)),
        ({"SLURM_PROCID": "2", "SLURM_NTASKS": "4"}, (2, 4)),
        ({"SCALECURVE_RANK": "0", "SCALECURVE_SIZE": "2", "RANK": "9"}, (0, 2)),
        ({}, (None, None)),
        ({"RANK": "none"}, (None, None)),
    ],
)
def test_rank_from_the_environment(
    variables: dict[str, str], expected: tuple[int | None, int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for rank, size in probe._LAUNCHERS:
        monkeypatch.delenv(rank, raising=False)
        monkeypatch.delenv(size, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert probe._find_identity() == expected


def test_the_library_is_believed_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mismatched mpirun says K in the environment while the job has size 1."""
    world = SimpleNamespace(Get_rank=lambda: 0, Get_size=lambda: 1)
    mpi = SimpleNamespace(Is_initialized=lambda: True, Is_finalized=lambda: False, COMM_WORLD=world)
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", mpi)  # type: ignore[arg-type]
    monkeypatch.setenv("PMI_RANK", "1")
    monkeypatch.setenv("PMI_SIZE", "2")

    assert probe._find_identity() == (0, 1)


def test_a_gpu_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[int] = []
    cuda = SimpleNamespace(is_available=lambda: True, synchronize=lambda: waits.append(1))
    torch = SimpleNamespace(cuda=cuda, get_num_threads=lambda: 3)
    monkeypatch.setitem(sys.modules, "torch", torch)  # type: ignore[arg-type]
    monkeypatch.delitem(sys.modules, "torch.distributed", raising=False)
    probe.start(str(tmp_path), rank=0, size=1)
    for _ in probe.steps(range(2)):
        with probe.phase("compute"):
            pass
    probe.finish()

    assert len(waits) == 3 + 2 * 2  # the ticks of two steps, and both ends of two phases
    assert lines_in(tmp_path)[0]["threads"]["torch"] == 3


def test_written_at_the_end_and_after_an_exception(tmp_path: Path) -> None:
    done = run_program(
        tmp_path,
        """
        from scalecurve import probe
        for step in probe.steps(range(10), work=1):
            if step == 3:
                raise RuntimeError("diverged")
        """,
        SCALECURVE_RANK="0",
        SCALECURVE_SIZE="1",
    )

    assert done.returncode == 1
    assert lines_in(tmp_path)[0]["work"] == 3


def test_written_when_terminated(tmp_path: Path) -> None:
    done = run_program(
        tmp_path,
        """
        import os, signal
        from scalecurve import probe
        for step in probe.steps(range(10), work=1):
            if step == 5:
                os.kill(os.getpid(), signal.SIGTERM)
        """,
    )

    assert done.returncode == -signal.SIGTERM
    assert lines_in(tmp_path)[0]["work"] == 5


def test_every_child_of_multiprocessing_is_a_worker(tmp_path: Path) -> None:
    done = run_program(
        tmp_path,
        """
        import multiprocessing
        from scalecurve import probe
        def work(rank):
            probe.identify(rank=rank, size=2)
            for _ in probe.steps(range(3), work=1):
                pass
        context = multiprocessing.get_context("fork")
        children = [context.Process(target=work, args=(rank,)) for rank in range(2)]
        [child.start() for child in children]
        [child.join() for child in children]
        """,
    )

    assert done.returncode == 0, done.stderr
    assert [each["rank"] for each in lines_in(tmp_path)] == [0, 1]


def test_workers_meet_before_the_measured_part(tmp_path: Path) -> None:
    code = "import sys, time\nfrom scalecurve import probe\ntime.sleep(float(sys.argv[1]))\nwith probe.region(): pass"
    env = {**os.environ, "SCALECURVE_PROBE": str(tmp_path), "SCALECURVE_SIZE": "2", "SCALECURVE_MEET": "2"}
    children = [
        subprocess.Popen([sys.executable, "-c", code, str(rank * 0.5)], env={**env, "SCALECURVE_RANK": str(rank)})
        for rank in range(2)
    ]
    assert [child.wait(timeout=60) for child in children] == [0, 0]
    first, second = lines_in(tmp_path)

    assert abs(first["begin_ns"] - second["begin_ns"]) < 0.4e9


def test_a_folder_that_is_gone_does_not_break_the_job(tmp_path: Path) -> None:
    done = run_program(
        tmp_path / "gone", "from scalecurve import probe\nfor _ in probe.steps(range(2)): pass\nprint('done')"
    )

    assert done.returncode == 0
    assert "done" in done.stdout
    assert "nothing recorded" in done.stderr


def test_only_the_standard_library_is_imported(tmp_path: Path) -> None:
    code = "import sys; before = set(sys.modules); from scalecurve import probe; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numpy", "pydantic", "click", "scipy"}

    assert not heavy & set(done.stdout.split())


def test_phases_are_kept_for_every_measured_step(tmp_path: Path) -> None:
    code = """
        from scalecurve import probe
        for step in probe.steps(range(4)):
            with probe.phase("compute"):
                sum(range(1000))
            if step > 1:
                with probe.phase("all_reduce"):
                    pass
    """
    assert run_program(tmp_path, code, SCALECURVE_WARMUP_STEPS="1").returncode == 0

    (line,) = lines_in(tmp_path)
    assert {name: len(values) for name, values in line["step_phases"].items()} == {"compute": 3, "all_reduce": 3}
    assert line["step_phases"]["all_reduce"][0] == 0.0
    assert sum(line["step_phases"]["compute"]) == pytest.approx(line["phases"]["compute"])
