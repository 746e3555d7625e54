"""A greedy schedule, simulated: whenever a worker is free and a task is ready, it runs."""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush

from scalecurve.errors import Fault, InputError
from scalecurve.study.task_graph import TaskGraph


def greedy_makespan(graph: TaskGraph, workers: int) -> float:
    """T_P of the schedule that takes ready tasks in the order in which they became ready."""
    if workers < 1:
        raise InputError(Fault("a schedule needs at least one worker", where="workers", seen=str(workers)))
    work, waits = graph.work.tolist(), graph.waits.tolist()
    first, after = graph.first.tolist(), graph.after.tolist()
    ready = deque(task for task, count in enumerate(waits) if count == 0)
    running: list[tuple[float, int]] = []
    now, done = 0.0, 0
    while ready or running:
        while ready and len(running) < workers:
            task = ready.popleft()
            heappush(running, (now + work[task], task))
        now, task = heappop(running)
        done += 1
        for following in after[first[task] : first[task + 1]]:
            waits[following] -= 1
            if waits[following] == 0:
                ready.append(following)
    if done < len(graph):
        raise InputError(Fault("the graph has a cycle, so some tasks never become ready", seen=f"{len(graph) - done}"))
    return now
