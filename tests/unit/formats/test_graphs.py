"""Task graphs from files and modules."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from scalecurve.errors import FormatError, InputError
from scalecurve.formats.graphs import graph_from_dask, graph_from_trace, read_task_graph
from scalecurve.mechanisms import work_depth


def test_json_and_dot_say_the_same(tmp_path: Path) -> None:
    tasks = [
        {"id": "a", "work": 2},
        {"id": "b", "work": 3, "after": ["a"]},
        {"id": "c", "work": 1, "after": ["a", "b"]},
    ]
    (tmp_path / "g.json").write_text(json.dumps({"unit": "s", "tasks": tasks}))
    (tmp_path / "g.dot").write_text(
        'digraph g { a [work=2]; "b" [label="x", work="3"]; a -> b -> c; a -> c [work=9]; }'
    )
    for name in ("g.json", "g.dot"):
        found = work_depth(read_task_graph(str(tmp_path / name)), [1])
        assert (found.work, found.depth, found.path) == (6, 6, ("a", "b", "c"))


def test_arrays_for_large_graphs(tmp_path: Path) -> None:
    np.savez(tmp_path / "g.npz", work=np.ones(3), sources=np.array([0, 1]), targets=np.array([1, 2]))
    assert work_depth(read_task_graph(str(tmp_path / "g.npz")), [1]).depth == 3
    np.savez(tmp_path / "bad.npz", work=np.ones(3))
    with pytest.raises(FormatError, match="arrays work, sources and targets"):
        read_task_graph(str(tmp_path / "bad.npz"))


def test_a_trace_joins_threads_by_flows_and_counts_self_times() -> None:
    events = [
        {"ph": "X", "pid": 1, "tid": 1, "name": "outer", "ts": 0, "dur": 10},
        {"ph": "X", "pid": 1, "tid": 1, "name": "a", "ts": 1, "dur": 4},
        {"ph": "X", "pid": 1, "tid": 2, "name": "b", "ts": 6, "dur": 5},
        {"ph": "s", "pid": 1, "tid": 1, "ts": 4, "id": 7},
        {"ph": "f", "pid": 1, "tid": 2, "ts": 6, "id": 7},
        {"ph": "M", "name": "process_name"},
    ]
    graph = graph_from_trace({"traceEvents": events})
    found = work_depth(graph, [1])
    assert found.tasks == 4  # outer before a, a, outer after a, b
    assert found.work == pytest.approx(15e-6)
    assert found.depth == pytest.approx(10e-6)


def test_a_dask_graph() -> None:
    dask = pytest.importorskip("dask")
    parts = [dask.delayed(abs)(i) for i in range(4)]
    found = work_depth(graph_from_dask(dask.delayed(sum)(parts)), [1])
    assert found.depth >= 2
    assert found.work >= 5


def test_a_module_with_a_recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "from scalecurve.mechanisms.workdepth import TaskRecorder\nrecord = TaskRecorder()\nrecord.task(abs)(3)\n"
    (tmp_path / "program_with_tasks.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    assert len(read_task_graph("program_with_tasks:record")) == 1
    with pytest.raises(InputError, match="cannot be imported"):
        read_task_graph("no_such_module_here:record")


@pytest.mark.parametrize(
    "text", ["def", "raise ZeroDivisionError", "raise SystemExit(3)", "class a:\n graph = lambda: 1 / 0"]
)
def test_a_module_that_fails_is_a_fault_of_that_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    name = f"failing_{len(text)}"
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"cannot be imported: \w+: .*; name a file"):
        read_task_graph(f"{name}:a")


@pytest.mark.parametrize("sizes", ["reduction:1000000000", "scan:1073741824", "matmul:3000", "pipeline:100000,100000"])
def test_a_classic_graph_is_bounded(sizes: str) -> None:
    with pytest.raises(InputError, match=r"too many tasks .*; choose sizes of at most 20,000,000"):
        read_task_graph(f"classic:{sizes}")


def test_a_relative_module_is_refused() -> None:
    with pytest.raises(InputError, match="cannot be imported"):
        read_task_graph(".x:y")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "no complete events"),
        ("{}", "not a task graph"),
        ('{"tasks": [{"work": 1}, {"id": "a"}, {"id": "a"}]}', "2 faults"),
        ('{"tasks": [{"id": "a", "after": ["ghost"]}]}', "unknown task"),
        ('{"tasks": [{"id": "a", "work": -1}]}', "finite number from 0"),
        ("digraph { }", "no tasks"),
        ('{"tasks": [', "truncated"),
    ],
)
def test_broken_graphs_say_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "g.json").write_text(text)
    with pytest.raises(InputError, match=message):
        read_task_graph(str(tmp_path / "g.json"))


def test_classic_graphs_by_name() -> None:
    assert len(read_task_graph("classic:pipeline:4,16")) == 64
    for bad in ("classic:heap:3", "classic:pipeline:4", "classic:scan:x"):
        with pytest.raises(InputError, match="classic"):
            read_task_graph(bad)
