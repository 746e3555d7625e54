"""The few causes behind most bends: what each is, what is worth trying, and what tells two of them apart."""

from __future__ import annotations

from collections.abc import Iterable

COMMUNICATION = "communication"
STRAGGLER = "straggler"
IMBALANCE = "imbalance"
CONTENTION = "contention"
SERIAL = "serial"
OTHER = "other"
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
    "record where the time of every worker goes, with a barrier before each collective (scalecurve.probe: "
    'phase("compute"), phase("barrier"), phase("communication"))'
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
PROFILE = "profile one run at the largest K"


def separation(candidates: Iterable[str], *, phased: bool, telling: bool) -> str | None:
    """The one measurement that tells the candidates apart; None for a single one.

    `phased` says that phases were recorded, `telling` that they hold waiting and transfer apart.
    """
    several = set(candidates)
    waiting = several & {STRAGGLER, IMBALANCE}
    if len(several) < 2:
        return None
    if NONE in several:
        return REPEAT
    if several == {STRAGGLER, IMBALANCE} and phased:
        return COUNT_WORK
    if several <= {SERIAL, CONTENTION, OTHER}:
        return SPREAD_OUT if OTHER not in several else PROFILE
    if several == {SERIAL, COMMUNICATION} and not phased:
        return MEASURE_NETWORK
    if not phased:
        return RECORD_PHASES
    if waiting and COMMUNICATION in several and not telling:
        return PLACE_BARRIER
    if waiting:
        return COUNT_WORK
    return SPREAD_OUT if CONTENTION in several else PROFILE
