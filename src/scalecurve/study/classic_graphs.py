"""The classic task graphs of textbooks, with unit tasks; `laws.workdepth` has their closed forms."""

from __future__ import annotations

import numpy as np

from scalecurve.errors import Fault, InputError
from scalecurve.study.task_graph import TaskGraph


def reduction_tree(n: int) -> TaskGraph:
    """Sum of n values: n - 1 additions in a balanced tree."""
    if n < 2:
        raise InputError(Fault("a reduction needs at least two values", seen=str(n)))
    children = np.arange(1, n - 1)  # heap order: node i adds what its children 2i+1 and 2i+2 give
    return TaskGraph.of(np.ones(n - 1), children, (children - 1) // 2)


def prefix_sum(n: int) -> TaskGraph:
    """Blelloch's scan of n = 2^k values: the up-sweep tree, then the down-sweep tree mirrored behind it."""
    if n < 2 or n & (n - 1):
        raise InputError(Fault("Blelloch's scan needs a power of two", seen=str(n)))
    size = n - 1
    children = np.arange(1, size)
    up = (children, (children - 1) // 2)
    down = (size + (children - 1) // 2, size + children)
    across = (np.arange(size), size + np.arange(size))  # a down node also needs what its up node kept
    sources = np.concatenate([up[0], down[0], across[0]])
    targets = np.concatenate([up[1], down[1], across[1]])
    return TaskGraph.of(np.ones(2 * size), sources, targets)


def matrix_product(n: int) -> TaskGraph:
    """Two n x n matrices: for every entry n products and a balanced tree of n - 1 additions."""
    if n < 1:
        raise InputError(Fault("a matrix has at least one row", seen=str(n)))
    nodes = 2 * n - 1  # one entry: additions 0 .. n-2 in heap order, products n-1 .. 2n-2 as its leaves
    children = np.arange(1, nodes)
    offsets = np.repeat(np.arange(n * n) * nodes, nodes - 1)
    sources = offsets + np.tile(children, n * n)
    targets = offsets + np.tile((children - 1) // 2, n * n)
    return TaskGraph.of(np.ones(n * n * nodes), sources, targets)


def pipeline(stages: int, microbatches: int) -> TaskGraph:
    """Task (stage, batch) waits for the same batch in the stage before and for the batch before in its stage."""
    if stages < 1 or microbatches < 1:
        raise InputError(Fault("a pipeline has at least one stage and one batch", seen=f"{stages} x {microbatches}"))
    ids = np.arange(stages * microbatches).reshape(stages, microbatches)
    sources = np.concatenate([ids[:-1].ravel(), ids[:, :-1].ravel()])
    targets = np.concatenate([ids[1:].ravel(), ids[:, 1:].ravel()])
    return TaskGraph.of(np.ones(ids.size), sources, targets)
