"""The few causes behind most bends, in words: what each is and what is worth trying against it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

COMMUNICATION = "communication"
STRAGGLER = "straggler"
IMBALANCE = "imbalance"
CONTENTION = "contention"
SERIAL = "serial"
NONE = "none"
UNDETERMINED = "undetermined"

CAUSES = (COMMUNICATION, STRAGGLER, IMBALANCE, CONTENTION, SERIAL)

REMEDIES = {
    COMMUNICATION: "send less or overlap it with compute: larger local batches, gradient buckets and compression, "
    "hierarchical collectives, a faster link; measure the network alone with `scalecurve collective`",
    STRAGGLER: "find the slow host or the source of jitter (throttling, neighbours, background jobs), put fewer "
    "barriers in the job, or allow backup workers; `scalecurve straggler` prices them",
    IMBALANCE: "cut the work by cost, not by count: sort or bucket by length, more and smaller shards, dynamic "
    "scheduling; more repeats will not help",
    CONTENTION: "the workers share memory bandwidth, cache or clock: pin them, spread them over sockets and nodes, "
    "use fewer per node, or block for cache; `scalecurve roofline` shows the ceiling",
    SERIAL: "shorten or hide the part that one worker does alone (input, checkpoint, reduction on rank 0, logging), "
    "or grow the problem with the machine",
    NONE: "nothing to mend in the measured range; measure larger K",
    UNDETERMINED: "record where each worker's time goes (scalecurve.probe phases, or profiler traces): T(K) alone "
    "cannot tell these causes apart",
}

MEANINGS = {
    COMMUNICATION: "time in collectives and messages",
    STRAGGLER: "waiting for a worker that is slow now and then, or for one slow host",
    IMBALANCE: "waiting for workers that were given more work",
    CONTENTION: "the compute itself slows as workers share a machine",
    SERIAL: "one worker works, the others wait",
    NONE: "no loss beyond the noise",
}


@dataclass(frozen=True, kw_only=True)
class Cause:
    """One cause: its share of the gap K T(K) - T(1) at the largest K, and the chance that it is the largest one."""

    name: str
    share: float
    probability: float

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "share": self.share, "probability": self.probability}
