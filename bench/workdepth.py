"""Longest path of a million tasks against networkx in three shapes, building excluded; and memory of 10 M edges.

python bench/workdepth.py [tasks]
"""

from __future__ import annotations

import gc
import resource
import subprocess
import sys
import time

import networkx as nx
import numpy as np

from scalecurve.mechanisms.workdepth import critical_path
from scalecurve.study.task_graph import TaskGraph


def shapes(n: int):
    rng = np.random.default_rng(1)
    ends = rng.integers(0, n, (2, 3 * n))
    forward = np.unique(np.sort(ends[:, ends[0] != ends[1]], axis=0), axis=1)
    yield "random, 3 edges a task", forward[0], forward[1]
    yield "one chain", np.arange(n - 1), np.arange(1, n)
    children = np.arange(1, n)
    yield "reduction tree", children, (children - 1) // 2


def main(n: int = 1_000_000) -> None:
    for name, sources, targets in shapes(n):
        work = np.random.default_rng(2).random(n)
        work[np.bincount(targets, minlength=n) == 0] = 0.0  # first tasks have no edge to carry their work
        ours, found = _timed(lambda w=work, s=sources, t=targets: _ours(w, s, t))
        theirs, length = _theirs(work, sources, targets)
        same = abs(found - length) <= 1e-6 * length
        print(
            f"{name}: networkx {theirs:.2f} s, ours {ours:.3f} s: {theirs / ours:.0f}x; same length: {same}", flush=True
        )
        gc.collect()
    print(
        subprocess.run([sys.executable, __file__, "memory"], capture_output=True, text=True, check=True).stdout.strip()
    )


def _ours(work, sources, targets):
    graph = TaskGraph.of(work, sources, targets)
    begin = time.process_time()
    found = critical_path(graph)
    return time.process_time() - begin, found.length


def _timed(run):
    return min((run() for _ in range(3)), key=lambda result: result[0])


def _theirs(work, sources, targets):
    """Weights on edges, as networkx counts them: an edge carries the work of the task it leads to."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(work)))
    graph.add_weighted_edges_from(zip(sources.tolist(), targets.tolist(), work[targets].tolist(), strict=True))
    begin = time.process_time()
    path = nx.dag_longest_path(graph)
    return time.process_time() - begin, sum(work[task] for task in path)


def memory(edges: int = 10_000_000) -> None:
    n = edges // 3
    ends = np.random.default_rng(1).integers(0, n, (2, edges))
    kept = ends[0] != ends[1]
    graph = TaskGraph.of(np.ones(n), ends.min(axis=0)[kept], ends.max(axis=0)[kept])
    found = critical_path(graph)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"{graph.edges:,} edges, depth {found.length:g}: peak memory {peak:.2f} GB")


if __name__ == "__main__":
    if sys.argv[1:] == ["memory"]:
        memory()
    else:
        main(*(int(argument) for argument in sys.argv[1:]))
