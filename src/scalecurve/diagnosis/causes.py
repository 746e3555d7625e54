"""The few causes behind most bends, and the way from what each may have cost to an answer.

An answer is one cause, a set of causes, or "undetermined", with its probability.

Draws are ways in which the loss may have come about, each with its weight.  The chance of a cause is the weight of the
draws in which it costs most at the largest K.  The answer is the smallest set of causes that holds `COVERED` of the
chance.

Chances that come straight from models are too sure of themselves, because the world has more mechanisms than the
models.  They are therefore tempered: raised to a power below 1 and mixed with a little of everything.
Power and mixture were chosen on one part of simulated programs and are reported on another
(`python -m bench.diagnosis`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from scalecurve.laws.terms import COMMUNICATION as COMMUNICATION
from scalecurve.laws.terms import CONTENTION as CONTENTION
from scalecurve.laws.terms import IMBALANCE as IMBALANCE
from scalecurve.laws.terms import OTHER as OTHER
from scalecurve.laws.terms import SERIAL as SERIAL
from scalecurve.laws.terms import STRAGGLER as STRAGGLER
from scalecurve.study.run import FloatArray

NONE = "none"
UNDETERMINED = "undetermined"

CAUSES = (COMMUNICATION, STRAGGLER, IMBALANCE, CONTENTION, SERIAL)
ANSWERS = (*CAUSES, OTHER, NONE)

REMEDIES = {
    COMMUNICATION: "send less or overlap it with compute: larger local batches, gradient buckets and compression, "
    "hierarchical collectives, a faster link; measure the network alone with `scalecurve collective`",
    STRAGGLER: "find the slow host or the source of jitter (throttling, neighbours, background jobs), put fewer "
    "barriers in the job, or allow backup workers; `scalecurve straggler` shows their cost",
    IMBALANCE: "cut the work by cost, not by count: sort or bucket by length, more and smaller shards, dynamic "
    "scheduling; more repeats will not help",
    CONTENTION: "the workers share memory bandwidth, cache or clock: pin them, spread them over sockets and nodes, "
    "use fewer per node, or block for cache; `scalecurve roofline` shows the ceiling",
    SERIAL: "shorten or hide the part that one worker does alone (input, checkpoint, reduction on rank 0, logging) or "
    "that every launch pays, or grow the problem with the machine",
    OTHER: "profile one run at the largest K: its loss follows none of the shapes that have a name here",
    NONE: "nothing to fix in the measured range; measure larger K",
}

LOAD_CAUSES = (CONTENTION, SERIAL, OTHER)  # clients do not wait for one another: what they share is in the server
LOAD_REMEDIES = {
    CONTENTION: "find what the requests share in the server at the largest K (CPU, disk, locks, pool of connections) "
    "and add or shorten it; admit no more clients than give the highest rate",
    SERIAL: "find the part of a request that only one request at a time can do (a lock, a log, one thread) and shorten "
    "or divide it",
    OTHER: "profile the server at the largest K",
    NONE: "nothing to fix in the measured range; measure more clients",
}
LOAD_MEANINGS = {
    CONTENTION: "requests wait for what they share in the server, or it is saturated",
    SERIAL: "a part of every request that one request at a time can do",
}
WATCH_SERVER = (
    "watch the server at the largest K: a resource that is always busy is saturated, waits for locks show requests "
    "that queue for one another; check that the machine of the clients is not the limit"
)

MEANINGS = {
    COMMUNICATION: "time in collectives, messages and halo exchanges",
    STRAGGLER: "waiting for a worker that is slow now and then (noise at barriers), or for one slow host",
    IMBALANCE: "waiting for workers that were given more work",
    CONTENTION: "the compute itself slows as workers share a machine (memory bandwidth, cache, clock)",
    SERIAL: "work that does not shrink with K: one worker alone, or a fixed cost of every launch",
    OTHER: "a mechanism that has no name here",
    NONE: "no loss beyond the noise",
}

RECORD_PHASES = (
    'record where the time of each worker goes, with scalecurve.probe (phases "compute", "barrier" before each '
    'collective, "communication") or with a profiler such as TALP or Caliper'
)
PLACE_BARRIER = (
    'put a barrier before the collective and time it apart (probe.phase("barrier")), or record phases step by step '
    "(probe.steps): what is left in the collective is communication"
)
COUNT_WORK = (
    "count the work of every worker (probe.add_work): more work is imbalance, the same work in more time is a straggler"
)
SPREAD_OUT = (
    "run the largest K on twice as many nodes, half as many workers on each: contention shrinks, the rest stays"
)
REPEAT = "repeat each K more often: the loss is not clearly beyond the noise"
MEASURE_NETWORK = "time the job's collectives alone at each K (`scalecurve collective`): serial work is not in them"
MEASURE_MESSAGES = (
    "time the same messages alone at each K (`scalecurve collective`): if they take longer in the job, the difference "
    "is waiting, as in a pipeline that fills"
)
PROFILE = "profile one run at the largest K"
NEGLIGIBLE = 0.03  # a loss below 3 % of the worker-seconds at the largest K is no bend
COVERED = 0.95
SURE = 0.9
TAIL = 0.05
NAMES = (*CAUSES, OTHER)
NOTHING: Mapping[str, float] = {**dict.fromkeys(NAMES, 0.0), NONE: 1.0}


def separation(candidates: Iterable[str], *, phased: bool, telling: bool, load: bool = False) -> str | None:
    """The one measurement that tells the candidates, the likeliest first, apart; None for a single one.

    `phased` says that phases were recorded, `telling` that they hold waiting and transfer apart, `load` that K counts
    clients of a server.
    """
    ordered = tuple(candidates)
    if len(ordered) < 2:
        return None
    several = set(ordered) - {NONE}
    waiting = several & {STRAGGLER, IMBALANCE}
    if NONE in ordered[:2]:
        return REPEAT
    if load:
        return WATCH_SERVER
    if several == {STRAGGLER, IMBALANCE} and phased:
        return COUNT_WORK
    if several <= {SERIAL, CONTENTION, OTHER}:
        return SPREAD_OUT if OTHER not in several else PROFILE
    if several == {SERIAL, COMMUNICATION} and not phased:
        return MEASURE_NETWORK
    if not phased:
        return RECORD_PHASES
    if several == {COMMUNICATION, OTHER}:
        return MEASURE_MESSAGES
    if waiting and COMMUNICATION in several and not telling:
        return PLACE_BARRIER
    if waiting:
        return COUNT_WORK
    return SPREAD_OUT if CONTENTION in several else PROFILE


@dataclass(frozen=True)
class Temper:
    """How far chances are flattened: to the power `power`, and `floor` of the whole spread evenly."""

    power: float
    floor: float

    def __call__(self, chances: Mapping[str, float]) -> dict[str, float]:
        raised = {name: max(chances.get(name, 0.0), 0.0) ** self.power for name in ANSWERS}
        total = sum(raised.values())
        return {name: (1 - self.floor) * value / total + self.floor / len(ANSWERS) for name, value in raised.items()}


TIMES = Temper(0.7, 0.05)
TOTALS = Temper(0.9, 0.03)
TELLING = Temper(0.9, 0.03)


@dataclass(frozen=True, eq=False)
class Draws:
    """Weighted ways in which the loss may have come about.

    Worker-seconds lost (axes: draw, cause in the order of NAMES, K) and spent (axes: draw, K).
    """

    k: tuple[int, ...]
    weights: FloatArray
    losses: FloatArray
    spent: FloatArray

    @property
    def _parts(self) -> FloatArray:
        """Shares of the loss (axes: draw, cause with none last, K)."""
        total = self.losses.sum(axis=1)
        small = total <= NEGLIGIBLE * self.spent
        part = np.where(small[:, None], 0.0, self.losses / np.where(total > 0, total, 1.0)[:, None])
        parts: FloatArray = np.concatenate([part, small[:, None].astype(np.float64)], axis=1)
        return parts

    def chances(self) -> dict[str, float]:
        """The chance that each cause costs most at the largest K; `none` where nothing is lost."""
        winner = np.argmax(self._parts[:, :, -1], axis=1)
        won = np.bincount(winner, weights=self.weights, minlength=len(NAMES) + 1) / self.weights.sum()
        return dict(zip((*NAMES, NONE), won.tolist(), strict=True))

    def shares(self) -> dict[int, dict[str, float]]:
        """Mean shares of the loss at each K."""
        mean = np.einsum("d,dck->kc", self.weights, self._parts) / self.weights.sum()
        return {k: dict(zip((*NAMES, NONE), row.tolist(), strict=True)) for k, row in zip(self.k, mean, strict=True)}

    def intervals(self) -> dict[str, tuple[float, float]]:
        """The share of each cause at the largest K, from the 5th to the 95th percentile of the draws."""
        last = self._parts[:, :, -1]
        order = np.argsort(last, axis=0)
        heaped = np.cumsum(self.weights[order], axis=0) / self.weights.sum()
        bounds = {}
        for i, name in enumerate((*NAMES, NONE)):
            low, high = np.searchsorted(heaped[:, i], [TAIL, 1 - TAIL]).clip(max=len(last) - 1)
            bounds[name] = (float(last[order[low, i], i]), float(last[order[high, i], i]))
        return bounds


@dataclass(frozen=True)
class CauseAnswer:
    """The cause or "undetermined", the set that holds it, and the chance that it does."""

    cause: str
    probability: float
    candidates: tuple[str, ...]


def answer(chances: Mapping[str, float]) -> CauseAnswer:
    """A single cause from 0.9 on; otherwise the smallest set that covers 0.95, the likeliest first."""
    ordered = sorted(chances, key=lambda name: -chances[name])
    best = ordered[0]
    if chances[best] >= SURE and best != OTHER:
        return CauseAnswer(best, chances[best], (best,))
    candidates: list[str] = []
    covered = 0.0
    for name in ordered:
        candidates.append(name)
        covered += chances[name]
        if covered >= COVERED:
            break
    return CauseAnswer(UNDETERMINED, min(covered, 1.0), tuple(candidates))


def anything() -> dict[str, float]:
    """The chances where nothing can be said: every cause alike."""
    return {**dict.fromkeys(NAMES, 1.0 / len(NAMES)), NONE: 0.0}
