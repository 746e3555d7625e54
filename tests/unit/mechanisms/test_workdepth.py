"""Work, depth, critical path and greedy schedules."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalecurve.errors import InputError
from scalecurve.mechanisms import TaskRecorder, work_depth
from scalecurve.mechanisms.workdepth import critical_path, greedy_makespan
from scalecurve.study import task_graph as classic_graphs
from scalecurve.study.task_graph import TaskGraph


@st.composite
def graphs(draw: st.DrawFn) -> TaskGraph:
    n = draw(st.integers(1, 30))
    weights = draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    pairs = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=60))
    shuffled = np.random.default_rng(draw(st.integers(0, 99))).permutation(n)
    edges = [(int(shuffled[min(a, b)]), int(shuffled[max(a, b)])) for a, b in pairs if a != b]
    return TaskGraph.of([float(weight) for weight in weights], [a for a, _ in edges], [b for _, b in edges])


def _reference_depth(graph: TaskGraph) -> float:
    other = nx.DiGraph()
    other.add_nodes_from(range(len(graph)))
    for task in range(len(graph)):
        other.add_edges_from((task, int(b)) for b in graph.after[graph.first[task] : graph.first[task + 1]])
    ends: dict[int, float] = {}
    for task in nx.topological_sort(other):
        ends[task] = graph.work[task] + max((ends[b] for b in other.predecessors(task)), default=0.0)
    return max(ends.values())


@given(graph=graphs())
@settings(deadline=None)
def test_the_longest_chain_is_found(graph: TaskGraph) -> None:
    wanted, found = _reference_depth(graph), critical_path(graph)
    assert found.length == pytest.approx(wanted, abs=1e-9)
    assert graph.work[found.tasks].sum() == pytest.approx(wanted, abs=1e-9)
    for before, after in zip(found.tasks[:-1], found.tasks[1:], strict=True):
        assert after in graph.after[graph.first[before] : graph.first[before + 1]]


@given(graph=graphs(), workers=st.integers(1, 8))
@settings(deadline=None)
def test_a_greedy_schedule_stays_between_the_bounds(graph: TaskGraph, workers: int) -> None:
    row = work_depth(graph, [workers]).rows[0]
    assert row.simulated is not None
    assert row.least - 1e-9 <= row.simulated <= row.greedy_bound + 1e-9


def test_a_long_chain_is_its_own_critical_path() -> None:
    n = 5000
    found = critical_path(TaskGraph.of(np.full(n, 2.0), np.arange(n - 1), np.arange(1, n)))
    assert found.length == pytest.approx(2.0 * n)
    assert np.array_equal(found.tasks, np.arange(n))


@pytest.mark.parametrize(
    ("graph", "work", "depth"),  # the formulas of laws/workdepth.py
    [
        (classic_graphs.reduction_tree(1000), 1000 - 1, 10),
        (classic_graphs.prefix_sum(64), 2 * (64 - 1), 2 * 6),
        (classic_graphs.matrix_product(6), 2 * 6**3 - 6**2, 1 + 3),
        (classic_graphs.pipeline(4, 16), 4 * 16, 4 + 16 - 1),
    ],
)
def test_classic_graphs_have_the_work_and_depth_of_the_textbook(graph: TaskGraph, work: int, depth: int) -> None:
    found = work_depth(graph, [1])
    assert (found.work, found.depth) == (work, depth)


def test_one_worker_takes_the_whole_work_and_many_the_depth() -> None:
    graph = classic_graphs.pipeline(4, 16)
    assert greedy_makespan(graph, 1) == 64
    assert greedy_makespan(graph, 64) == 19


def test_a_cycle_is_printed() -> None:
    graph = TaskGraph.from_tasks(
        {"load": 1, "a": 1, "b": 1, "c": 1, "end": 1}, {"a": ["load", "c"], "b": ["a"], "c": ["b"], "end": ["c"]}
    )
    with pytest.raises(InputError, match="cycle of 3 tasks") as caught:
        work_depth(graph)
    assert "a -> b -> c -> a" in str(caught.value)
    with pytest.raises(InputError, match="cycle of 1 tasks"):
        critical_path(TaskGraph.of([1.0], [0], [0]))


def test_bad_graphs_name_every_fault() -> None:
    with pytest.raises(InputError) as caught:
        TaskGraph.of([1.0, -2.0], [0], [7])
    assert len(caught.value.faults) == 2
    with pytest.raises(InputError, match="no tasks"):
        TaskGraph.of([], [], [])
    with pytest.raises(InputError, match="unknown task"):
        TaskGraph.from_tasks({"a": 1}, {"a": ["ghost"]})


def test_workers_beyond_the_parallelism_are_pointed_out() -> None:
    found = work_depth(classic_graphs.pipeline(2, 2), [1, 2, 4])
    assert [finding.code for finding in found.findings] == ["workers-exceed-parallelism"]
    assert "critical path (3 tasks)" in str(found)


def test_work_without_a_unit_is_not_said_twice() -> None:
    graph = TaskGraph.of([1.0, 2.0], [0], [1], unit="work")
    assert "work W = 3, depth D = 3, " in str(work_depth(graph, workers=[1]))


def test_functions_record_their_graph() -> None:
    ticks = iter(range(100))
    record = TaskRecorder(clock=lambda: float(next(ticks)))

    @record.task
    def add(a: int, b: int) -> int:
        return a + b

    total = add(add(1, 2), add(3, 4))
    assert total.value == 10
    graph = record.graph()
    assert (len(graph), graph.edges, graph.unit) == (3, 2, "s")
    assert work_depth(graph, [2]).depth == 2.0
