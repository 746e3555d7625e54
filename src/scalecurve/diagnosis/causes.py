"""The few causes behind most bends, in words; the measurement that tells them apart; and the way to an answer.

Evidence is weighed: `weights.json` says for each kind of record how far each number of the evidence speaks for each
cause (log odds, one table a record), learned from simulated programs whose mechanisms are known and shifted to how
often each cause was the measured one in published studies (`labelled_cases.csv`, unverified).
`tools/calibrate_diagnosis.py` writes it and prints how often the answers are right on the simulator that was left out.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

COMMUNICATION = "communication"
STRAGGLER = "straggler"
JITTER = "jitter"
IMBALANCE = "imbalance"
CONTENTION = "contention"
SERIAL = "serial"
REPEATED = "repeated-work"
OTHER = "other"
NONE = "none"
UNDETERMINED = "undetermined"

CAUSES = (COMMUNICATION, STRAGGLER, JITTER, IMBALANCE, CONTENTION, SERIAL, REPEATED)
NAMES = (*CAUSES, OTHER)
ANSWERS = (*NAMES, NONE)
WAITING_CAUSES = (STRAGGLER, JITTER, IMBALANCE)
LOAD_CAUSES = (CONTENTION, SERIAL, OTHER, NONE)  # clients do not wait for one another: what they share is in the server

MEANINGS = {
    COMMUNICATION: "time in collectives, messages and halo exchanges",
    STRAGGLER: "waiting for one worker or host that is much slower than the others",
    JITTER: "many small random delays that every barrier waits for; they average out over a run",
    IMBALANCE: "waiting for workers that were given more work",
    CONTENTION: "the compute itself slows as workers share a machine (memory bandwidth, cache, locks, clock)",
    SERIAL: "work that does not shrink with K: one worker alone, or a fixed cost of every launch",
    REPEATED: "work done again: more iterations, or cells that several workers compute",
    OTHER: "a queue, a pipeline that fills, slow input, or a mechanism that has no name here",
    NONE: "no loss beyond the noise",
}
REMEDIES = {
    COMMUNICATION: "send less or overlap it with compute (larger local batches, buckets, compression, a faster link)",
    STRAGGLER: "find the slow host or what delays it (throttling, neighbours, background jobs) and take it out",
    JITTER: "put fewer barriers in the job, and keep a core free for the system; `scalecurve straggler` shows the cost",
    IMBALANCE: "cut the work by cost, not by count (sort or bucket by length, smaller shards, dynamic scheduling)",
    CONTENTION: "pin the workers, use fewer per node, or block for cache; `scalecurve roofline` shows the ceiling",
    SERIAL: "shorten or hide what one worker does alone or every launch pays (input, checkpoint, logging)",
    REPEATED: "keep the number of iterations from growing (a better preconditioner, a larger batch, fewer ghost cells)",
    OTHER: "profile one run at the largest K",
    NONE: "measure larger K",
}
LOAD_MEANINGS = {
    CONTENTION: "requests wait for what they share in the server, or it is saturated",
    SERIAL: "a part of every request that one request at a time can do",
}
LOAD_REMEDIES = {
    CONTENTION: "find what the requests share in the server (CPU, disk, locks, connections) and add or shorten it",
    SERIAL: "find the part of a request that only one at a time can do (a lock, a log, one thread) and divide it",
    OTHER: "profile the server at the largest K",
    NONE: "measure more clients",
}
WATCH_SERVER = "watch the server at the largest K: what is always busy is saturated; check the clients' machine too"
MEASURE_AGAIN = "measure again on a quiet machine with a core for every worker, all workers in one job"


@dataclass(frozen=True)
class Measurement:
    """Something to measure, and the groups of causes that it tells apart; causes in no group count as one more.

    `after` is what must have been measured before; `price` a share of what it would tell apart.
    """

    key: str
    text: str
    groups: tuple[frozenset[str], ...]
    price: float
    after: str | None = None

    def separates(self, one: str, other: str) -> bool:
        if NONE in (one, other) and self.key != "repeats":  # only repeats tell a loss from noise
            return False
        return self._place(one) != self._place(other)

    def _place(self, cause: str) -> int:
        return next((i for i, group in enumerate(self.groups) if cause in group), -1)


MEASUREMENTS = (
    Measurement(
        "phases",
        'record each worker\'s phases with scalecurve.probe ("compute", "barrier" before each collective, '
        '"communication") and count its work (probe.add_work)',
        (
            frozenset({COMMUNICATION}),
            frozenset({STRAGGLER, JITTER}),
            frozenset({IMBALANCE}),
            frozenset({CONTENTION}),
            frozenset({REPEATED}),
            frozenset({SERIAL}),
        ),
        0.1,
    ),
    Measurement(
        "apart",
        'put a barrier before the collective and time it apart (probe.phase("barrier")), or record every step '
        "(probe.steps): what is left in the collective is communication",
        (frozenset({COMMUNICATION}),),
        0.0,
        "phases",
    ),
    Measurement(
        "work",
        "count the work of every worker (probe.add_work): more work is imbalance or repeated work, the same work in "
        "more time a straggler or contention",
        (frozenset({IMBALANCE}), frozenset({REPEATED})),
        0.0,
        "phases",
    ),
    Measurement(
        "spread",
        "run the largest K with half as many workers on each node, and give it as `--with spread=FILE`: only "
        "contention shrinks",
        (frozenset({CONTENTION}),),
        0.2,
    ),
    Measurement(
        "network",
        "time the job's collectives alone at each K (`scalecurve collective measure`), and give them as "
        "`--with network=FILE`",
        (frozenset({COMMUNICATION}),),
        0.2,
    ),
    Measurement(
        "repeats", "repeat each K more often: the loss is not clearly beyond the noise", (frozenset({NONE}),), 0.1
    ),
)
PROFILE = "profile one run at the largest K: what was recorded cannot tell more"


def next_measurement(chances: Mapping[str, float], candidates: Collection[str], known: Collection[str]) -> str:
    """The measurement, among those not yet made, that tells most of the candidates apart."""
    best, most = PROFILE, 0.02
    for one in MEASUREMENTS:
        if one.key not in known and (one.after is None or one.after in known):
            worth = sum(chances[a] * chances[b] * one.separates(a, b) for a in candidates for b in candidates)
            if worth * (1.0 - one.price) > most:
                best, most = one.text, worth * (1.0 - one.price)
    return best


@dataclass(frozen=True, eq=False)
class Weights:
    """How far each number of the evidence speaks for each cause, for one kind of record; a set is complete when
    the chances of its causes add up to `covered`."""

    evidence: tuple[str, ...]
    table: np.ndarray
    start: np.ndarray
    floor: float
    covered: float

    def log_odds(self, numbers: Mapping[str, float]) -> dict[str, float]:
        values = np.array([numbers.get(name, 0.0) for name in self.evidence])
        return dict(zip(ANSWERS, (self.start + values @ self.table).tolist(), strict=True))


@cache
def weights(record: str) -> Weights:
    """The weights for one kind of record."""
    stored = json.loads(files(__package__).joinpath("weights.json").read_text(encoding="utf-8"))[record]
    table = np.array(list(stored["weights"].values()), dtype=np.float64)
    return Weights(tuple(stored["weights"]), table, np.array(stored["start"]), stored["floor"], stored["covered"])


def chances_of(log_odds: Mapping[str, float], *, floor: float, allowed: Collection[str] = ANSWERS) -> dict[str, float]:
    """The chance of each cause; `floor` of the whole is shared evenly: the world has more mechanisms than models."""
    top = max(log_odds[name] for name in allowed)
    raised = {name: float(np.exp(log_odds[name] - top)) if name in allowed else 0.0 for name in ANSWERS}
    total = sum(raised.values())
    return {
        name: (1.0 - floor) * value / total + (floor / len(allowed) if name in allowed else 0.0)
        for name, value in raised.items()
    }


def held_to_loss(chances: Mapping[str, float], lost: float) -> dict[str, float]:
    """No cause is more likely than that anything was lost, a chance of `lost`."""
    claimed = 1.0 - chances[NONE]
    factor = min(1.0, lost / claimed) if claimed > 0 else 1.0
    held = {name: value * factor for name, value in chances.items() if name != NONE}
    return {**held, NONE: 1.0 - sum(held.values())}


@dataclass(frozen=True)
class CauseAnswer:
    """The cause or "undetermined", the set that holds it, and the chance that it does."""

    cause: str
    probability: float
    candidates: tuple[str, ...]


def answer(chances: Mapping[str, float], covered: float) -> CauseAnswer:
    """The likeliest causes until their chances add up to `covered`; a single one is the cause."""
    candidates: list[str] = []
    total = 0.0
    for name in sorted(chances, key=lambda own: -chances[own]):
        candidates.append(name)
        total += chances[name]
        if total >= covered:
            break
    return CauseAnswer(candidates[0] if len(candidates) == 1 else UNDETERMINED, min(total, 1.0), tuple(candidates))
