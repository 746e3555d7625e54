"""An mpi4py communicator that times itself: communication is attributed without touching the program's loops.

    from mpi4py import MPI
    from scalecurve.integrations.mpi import wrap

    comm = wrap(MPI.COMM_WORLD)      # use it as before; time in its calls goes to the phase "communication"

Inside a measurement the time joins the probe's record of this rank; outside, `comm.seconds` still holds it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from typing import Any

from scalecurve import probe

PHASE = "communication"
# Calls that move or await data; Get_rank, Split or Dup are not communication time.
COMMUNICATION = frozenset(
    name
    for stem in (
        "send", "recv", "bsend", "ssend", "rsend", "sendrecv", "sendrecv_replace", "isend", "irecv", "issend", "ibsend",
        "barrier", "bcast", "scatter", "scatterv", "gather", "gatherv", "allgather", "allgatherv", "reduce",
        "allreduce", "reduce_scatter", "reduce_scatter_block", "alltoall", "alltoallv", "alltoallw", "scan", "exscan",
        "ibarrier", "ibcast", "iscatter", "iscatterv", "igather", "igatherv", "iallgather", "iallgatherv", "ireduce",
        "iallreduce", "ireduce_scatter", "ialltoall", "ialltoallv", "probe", "mprobe", "neighbor_allgather",
        "neighbor_alltoall", "neighbor_alltoallv",
    )
    for name in (stem, stem.capitalize())
)  # fmt: skip
MAKES_COMMUNICATORS = frozenset(
    {"Split", "Dup", "Create", "Create_cart", "Split_type", "Create_group", "Clone", "Create_dist_graph_adjacent"}
)


def wrap(comm: Any) -> TimedComm:
    """The communicator, timed; wrapping twice changes nothing."""
    return comm if isinstance(comm, TimedComm) else TimedComm(comm)


class TimedComm:
    """Stands in for a communicator: every attribute is the communicator's, communication calls are timed."""

    def __init__(self, comm: Any, totals: dict[str, float] | None = None) -> None:
        self.comm = comm
        self.totals: dict[str, float] = {} if totals is None else totals

    @property
    def seconds(self) -> float:
        """Time this rank has spent in communication calls so far."""
        return sum(self.totals.values())

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.comm, name)
        if name in MAKES_COMMUNICATORS:
            return lambda *words, **options: TimedComm(value(*words, **options), self.totals)
        if name in COMMUNICATION:
            value = timed(value, name, self.totals)
            self.__dict__[name] = value  # the next access does not come here
        return value


class TimedRequest:
    """A non-blocking call's request: waiting for it is where the time of the transfer shows."""

    def __init__(self, request: Any, totals: dict[str, float]) -> None:
        self.request = request
        self.totals = totals

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.request, name)
        return timed(value, name, self.totals) if name in ("wait", "Wait", "test", "Test") else value


def timed(call: Callable[..., Any], name: str, totals: dict[str, float]) -> Callable[..., Any]:
    """The call; its seconds are added to `totals` and to the probe's phase, a request it returns is timed as well."""

    @wraps(call)
    def call_timed(*words: Any, **options: Any) -> Any:
        begin = time.perf_counter()
        with probe.phase(PHASE):
            try:
                answer = call(*words, **options)
            finally:
                totals[name] = totals.get(name, 0.0) + time.perf_counter() - begin
        return TimedRequest(answer, totals) if hasattr(answer, "Wait") else answer

    return call_timed
