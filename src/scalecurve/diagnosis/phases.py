"""Where the time of each worker went, in five kinds, whatever the phases were called.

Waiting is often recorded inside the collective (MPI and NCCL timers start when a worker arrives): what a worker spends
there beyond the worker that spent least is taken as waiting.  Time no phase covers counts as compute as far as every
worker has it, and as waiting beyond that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from scalecurve.study import Quantity, Run, Study
from scalecurve.study.samples import FloatArray

COMPUTE, COMMUNICATION, DATA, WAIT, SERIAL = "compute", "communication", "data", "wait", "serial"
KINDS = (COMPUTE, COMMUNICATION, DATA, WAIT, SERIAL)
HIDDEN = "hidden"

_PATTERNS = (
    (HIDDEN, r"hidden|overlap"),
    (SERIAL, r"serial|sequential|rank_?0|master|root"),
    (WAIT, r"wait|idle|barrier|sync|stall|bubble"),
    (COMMUNICATION, r"comm|reduce|gather|all_?to_?all|broadcast|bcast|mpi|nccl|gloo|halo|exchange|send|recv"),
    (DATA, r"data|load|input|(^|_)io($|_)|read|fetch|storage"),
)


def kind_of(phase: str) -> str:
    """The kind of a phase by its name; a name that says nothing is compute."""
    name = re.sub(r"[\s\-./:]+", "_", phase.strip().lower())
    for kind, pattern in _PATTERNS:
        if re.search(pattern, name):
            return kind
    return COMPUTE


@dataclass(frozen=True, eq=False, kw_only=True)
class Account:
    """One run: seconds of each kind, one entry per worker.  `span` is what all of them took together."""

    k: int
    span: float
    compute: FloatArray
    communication: FloatArray
    data: FloatArray
    wait: FloatArray
    serial: FloatArray
    waits_apart: bool
    hosts: tuple[str | None, ...]
    work: FloatArray | None

    @property
    def inside(self) -> FloatArray:
        """What a worker spent in collectives and waiting."""
        total: FloatArray = self.communication + self.wait
        return total


def accounts(study: Study) -> tuple[Account, ...]:
    """The runs that say where their workers' time went: by phases, else by the workers' own seconds."""
    counted = [run for run in study.runs if run.counts and len(run.ranks) == _workers(run)]
    phased = [run for run in counted if all(rank.phases for rank in run.ranks)]
    waits_apart = any(kind_of(name) == WAIT for run in phased for rank in run.ranks for name in rank.phases)
    if phased:
        return tuple(_from_phases(run, waits_apart) for run in phased)
    if study.quantity is not Quantity.SECONDS:
        return ()
    return tuple(_from_seconds(run) for run in counted if all(rank.seconds is not None for rank in run.ranks))


def _workers(run: Run) -> int:
    """Ranks and workers differ where a rank has threads; then the placement says how many ranks there were."""
    return run.placement.ranks if run.placement and run.placement.ranks else run.k


def has_phases(study: Study) -> bool:
    return any(rank.phases for run in study.runs if run.counts for rank in run.ranks)


def _from_phases(run: Run, waits_apart: bool) -> Account:
    kinds = {kind: np.zeros(len(run.ranks)) for kind in (*KINDS, HIDDEN)}
    for i, rank in enumerate(run.ranks):
        for name, seconds in rank.phases.items():
            kinds[kind_of(name)][i] += seconds
    covered = np.sum([kinds[kind] for kind in KINDS], axis=0)
    own = np.array([rank.seconds or 0.0 for rank in run.ranks])
    span = float(max(own.max(), covered.max()))
    uncovered = span - covered
    kinds[COMPUTE] = kinds[COMPUTE] + uncovered.min()
    kinds[WAIT] = kinds[WAIT] + uncovered - uncovered.min()
    shown = {kind: kinds[kind] for kind in KINDS}
    return Account(k=run.k, span=span, **shown, waits_apart=waits_apart, hosts=_hosts(run), work=_work(run))


def _from_seconds(run: Run) -> Account:
    """Workers' own busy seconds: what the run took beyond them went to collectives and waiting."""
    own = np.array([rank.seconds for rank in run.ranks], dtype=np.float64)
    span = max(float(run.value or 0.0), float(own.max()))
    nothing = np.zeros(len(own))
    return Account(
        k=run.k,
        span=span,
        compute=own,
        communication=span - own,
        data=nothing,
        wait=nothing,
        serial=nothing,
        waits_apart=False,
        hosts=_hosts(run),
        work=_work(run),
    )


def _hosts(run: Run) -> tuple[str | None, ...]:
    """As the workers name themselves, or as the launcher does where several share a name but not a place."""
    named = tuple(rank.host for rank in run.ranks)
    places = run.placement.hosts if run.placement else ()
    return places if len(set(named)) < len(named) == len(places) else named


def _work(run: Run) -> FloatArray | None:
    amounts = [rank.work for rank in run.ranks]
    return None if any(amount is None for amount in amounts) else np.array(amounts, dtype=np.float64)
