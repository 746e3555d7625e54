"""The causes from where each worker's time went: every way in which the components of the loss may have come about.

A component may have several causes (`accounting`), and totals of a run hide how much of the time in collectives is
waiting.  Draws therefore combine: runs drawn again with replacement, a share of hidden waiting, and one cause for each
component.  Weights between the causes of a component are plain judgements of what else would show, not fitted.

Hidden waiting: with B barriers and a spread s of a worker's compute over the run, one step spreads by s/sqrt(B), and
every worker waits B * s/sqrt(B) * e(K) in all, e(K) being the expected largest of K draws.  B is often unknown and the
distribution always is, so a grid of both is tried, and weighed by whether what remains in the collectives grows over K
as communication can.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from scalecurve.diagnosis.accounting import (
    COMPONENTS,
    Runs,
    Split,
    grows_alone,
    least_in_collectives,
    passing_spread,
    split_gap,
    tells_apart,
    useful_seconds,
    waits_alike,
)
from scalecurve.diagnosis.causes import COMMUNICATION, CONTENTION, IMBALANCE, NAMES, OTHER, SERIAL, STRAGGLER, Draws
from scalecurve.diagnosis.shapes import RARE
from scalecurve.findings import Finding, info, warning
from scalecurve.laws.formula import expected_largest, harmonic
from scalecurve.study.run import FloatArray, IntArray
from scalecurve.units import format_seconds

Weights = dict[str, float]

RESAMPLES = 20
DRAWS = 400
SINGLE_RUN_ERROR = 0.3
BARRIERS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
LARGEST_K = 3
FINEST_SPREAD = 2e-4  # of a worker's busy time over the run
SAME_BARRIERS = (1.7, 3.0)  # largest over least root of their number at the largest K: the same, another
SURE_NOISE, UNCLEAR_NOISE, NO_NOISE = 0.95, 0.7, 0.02
BARRIERS_PER_STEP = (1.0, 3.0)
BELIEVABLE = 3.0  # times the most barriers tried
TOLERANCE = 0.2  # of hidden waiting plus communication against the time in collectives
LEAST_WEIGHT = 1e-3
STEADY = 0.35  # a time outside phases that changes less than this over all K is a fixed cost
TRANSFER, PASSING, GROWTH = (COMPONENTS.index(name) for name in ("transfer", "passing", "growth"))
# Waiting that no other worker's longer busy time explains: pipelines and sweeps, locks, a busy master, late messages.
QUEUEING = {OTHER: 0.42, CONTENTION: 0.25, SERIAL: 0.21, COMMUNICATION: 0.08, IMBALANCE: 0.02, STRAGGLER: 0.02}


def draw_losses(
    by_k: Runs,
    *,
    weak: bool,
    apart: bool,
    phased: bool,
    surely_lost: bool,
    grown: Weights,
    rng: np.random.Generator,
) -> tuple[Split, Draws]:
    """The components as they are, and draws of the loss by cause.

    `surely_lost` says that T at the largest K is longer than the ideal one beyond its noise.
    `apart` says that workers share no machine, `phased` that phases were recorded.  `grown` are the causes of growing
    busy time by its shape over K.
    """
    split = split_gap(by_k, weak=weak, surely_lost=surely_lost)
    hidden = list(hidden_waiting(by_k))
    single = all(len(runs) == 1 for runs in by_k.values())
    samples = [split]
    for _ in range(0 if single else RESAMPLES):  # the runs of each K drawn again with replacement
        again = {k: [runs[i] for i in rng.integers(len(runs), size=len(runs))] for k, runs in by_k.items()}
        samples.append(split_gap(again, weak=weak, surely_lost=surely_lost))
    workers = np.array([float(k_workers(by_k, k)) for k in by_k])
    waits = np.array([[own.get(k, 0.0) for k in by_k] for _, own in hidden]) * workers
    own = np.arange(DRAWS) % len(samples)
    parts = np.array([sample.table for sample in samples])[own]  # axes: draw, component, K
    parts[:, GROWTH] *= split.table[GROWTH] > 0  # runs drawn twice understate the noise that growth is held against
    way = _shared_out(np.array([weight for weight, _ in hidden]), DRAWS, rng)
    moved = np.minimum(waits[way], parts[:, TRANSFER])
    parts[:, TRANSFER] -= moved
    parts[:, PASSING] += moved
    if single:  # every component is known to a factor only
        parts *= np.exp(rng.normal(0.0, SINGLE_RUN_ERROR, (DRAWS, len(COMPONENTS), 1)))
    seconds = np.array([[each.spent for each in sample.components.values()] for sample in samples])[own]
    # Noise at barriers makes compute longer by x on every worker, and lets each wait x (H_K - 1) in the mean.
    expected = parts[:, GROWTH, -1] * (float(harmonic(workers[-1:])[0]) - 1.0)
    noisy = (expected > 0) & (parts[:, PASSING, -1] >= 0.4 * expected) & (parts[:, PASSING, -1] <= 3.0 * expected)
    losses = np.zeros((DRAWS, len(NAMES), len(by_k)))
    for is_noisy in (False, True):
        weights = component_causes(by_k, split, weak=weak, apart=apart, phased=phased, grown=grown, noisy=is_noisy)
        draws = np.flatnonzero(noisy == is_noisy)
        for place, name in enumerate(COMPONENTS):
            chances = np.array([weights[name].get(cause, 0.0) for cause in NAMES])
            cause = _shared_out(chances, len(draws), rng)
            losses[draws, cause] += parts[draws, place]
    return split, Draws(tuple(by_k), np.full(DRAWS, 1.0 / DRAWS), losses, seconds)


def _shared_out(weights: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
    """Places drawn by their weights, each as often as its weight says, in random order."""
    levels = rng.permutation((np.arange(count) + 0.5) / max(count, 1))
    places: IntArray = np.searchsorted(np.cumsum(weights) / weights.sum(), levels).clip(max=len(weights) - 1)
    return places


def k_workers(by_k: Runs, k: int) -> int:
    """How many workers reported at K: ranks, where a rank has several threads."""
    return len(by_k[k][0].compute)


def component_causes(
    by_k: Runs, split: Split, *, weak: bool, apart: bool, phased: bool, grown: Weights, noisy: bool
) -> dict[str, Weights]:
    """For each component the causes that it may have, and how likely each is; `noisy` as noise at barriers would be."""
    runs = next(reversed(by_k.values()))
    counted = all(account.work is not None for account in runs)
    growth = grown
    if noisy:
        growth = {STRAGGLER: 0.55, CONTENTION: 0.35, SERIAL: 0.05, OTHER: 0.05}
    elif apart:
        growth = {SERIAL: 0.55, OTHER: 0.3, CONTENTION: 0.1, STRAGGLER: 0.05}
    # What counted work explains is a component of its own: workers that are slow beyond it are slow by themselves.
    lasting = {STRAGGLER: 0.87, CONTENTION: 0.08, IMBALANCE: 0.05} if counted else {IMBALANCE: 0.5, STRAGGLER: 0.5}
    passing = {STRAGGLER: 0.9, IMBALANCE: 0.1} if counted else {STRAGGLER: 0.5, IMBALANCE: 0.5}
    if noisy and not counted:
        passing = {STRAGGLER: 0.75, IMBALANCE: 0.25}
    if weak:
        lasting |= {SERIAL: 1.0 if grows_alone(by_k) else 0.1}
    noise = barrier_noise_chance(by_k)
    sure = split.alone is not None and split.alone.constant > 0.7
    outside = {SERIAL: 0.4, CONTENTION: 0.3, OTHER: 0.3}
    seconds = [float(np.mean([account.outside for account in own])) for own in by_k.values()]
    if max(seconds) > 0 and np.ptp(seconds) < STEADY * max(seconds):
        outside = {SERIAL: 0.95, OTHER: 0.05}
    return {
        "transfer": in_collectives(by_k, weak=weak) if phased else _between_own_times(by_k),
        "alone": {SERIAL: 0.97, IMBALANCE: 0.03} if sure else {SERIAL: 0.6, IMBALANCE: 0.4},
        "named_serial": {SERIAL: 1.0},
        "uneven": {IMBALANCE: 1.0},
        "lasting": lasting,
        "host": {STRAGGLER: 1.0} if counted else {STRAGGLER: 0.93, IMBALANCE: 0.07},
        "passing": passing,
        "alike": {name: noise * passing.get(name, 0.0) + (1.0 - noise) * QUEUEING.get(name, 0.0) for name in NAMES},
        "queueing": QUEUEING,
        "growth": growth,
        "again": {OTHER: 0.6, SERIAL: 0.4},
        "loading": {CONTENTION: 0.45, SERIAL: 0.3, OTHER: 0.25},
        "outside": outside,
    }


def barrier_noise_chance(by_k: Runs) -> float:
    """The chance that waiting of all workers alike is noise at barriers, and not a queue.

    The number of barriers that explains it by the spread of the workers is then the same at every K.
    """
    roots = []
    for runs in list(by_k.values())[-LARGEST_K:]:
        workers, spread = len(runs[0].compute), max(passing_spread(runs), FINEST_SPREAD)
        if workers > 1 and (waited := waits_alike(runs)) > 0:
            seconds = spread * float(np.mean([a.compute.mean() + a.data.mean() for a in runs]))
            roots.append(waited / (seconds * float(expected_largest(np.array([float(workers)]))[0])))
    if len(roots) < LARGEST_K:
        return UNCLEAR_NOISE
    even, uneven = SAME_BARRIERS
    return float(np.interp(np.log(max(roots) / min(roots)), np.log([even, uneven]), [SURE_NOISE, NO_NOISE]))


def in_collectives(by_k: Runs, *, weak: bool) -> Weights:
    """What the least time of every worker in collectives may be: messages, or waiting along a chain of workers.

    A pipeline that fills in every step lets all wait alike, and no sum of phases shows it.  Its waiting has one shape
    over K: (K - 1)/K under strong scaling, K - 1 under weak scaling; messages to the next worker may hide more.  A
    collective is no pipeline, whatever its shape.  A heavy share that goes from worker to worker leaves totals alike
    too: (K - 1)/K of the compute, unless steps were recorded.
    """
    usable = {k_workers(by_k, k): runs for k, runs in by_k.items() if k_workers(by_k, k) > 1}
    named = (a.waits_apart or (a.collective and a.transfer is not None) for runs in usable.values() for a in runs)
    if all(named):
        return {COMMUNICATION: 1.0}
    workers = np.array(list(usable), dtype=np.float64)
    least = np.array([np.median([least_in_collectives(a) for a in runs]) for runs in usable.values()])
    filling = (workers - 1.0) / workers
    per_link = least / (workers - 1.0 if weak else filling)
    pairwise = any(account.pairwise for runs in usable.values() for account in runs)
    chained = pairwise or float(np.ptp(per_link)) <= STEADY * float(per_link.max())
    if chained:
        return {COMMUNICATION: 0.7, OTHER: 0.3}
    if all(tells_apart(account) for runs in usable.values() for account in runs):
        return {COMMUNICATION: 1.0}
    return {COMMUNICATION: 0.75, IMBALANCE: 0.25} if _goes_round(usable, least) else {COMMUNICATION: 1.0}


def _goes_round(usable: Runs, least: FloatArray) -> bool:
    """Whether the least seconds that workers spend waiting or sending could be for one heavy share that goes round.

    With a share x times heavier than the others that is x (K - 1)/K of the compute, or x (K - 1)/(K + x) where the
    work of all workers together stays the same; x is then one number at every K.
    """
    workers = np.array(list(usable), dtype=np.float64)
    part = least / np.array([np.median([a.compute.mean() for a in runs]) for runs in usable.values()])
    heavier = [part * workers / (workers - 1.0), part * workers / np.maximum(workers - 1.0 - part, 1e-9)]
    return any(float(np.ptp(x)) <= STEADY * float(x.max()) for x in heavier)


def _between_own_times(by_k: Runs) -> Weights:
    """What the time of a run beyond every worker's own seconds may be: messages, a launch, queues."""
    beyond = [float(np.mean([a.communication.min() for a in runs])) for runs in by_k.values()]
    if beyond[0] > (1 - STEADY) * max(beyond) > 0:
        return {SERIAL: 0.8, OTHER: 0.1, COMMUNICATION: 0.1}
    usable = {k_workers(by_k, k): runs for k, runs in by_k.items() if k_workers(by_k, k) > 1}
    least = np.array([np.median([least_in_collectives(a) for a in runs]) for runs in usable.values()])
    if _goes_round(usable, least):
        return {COMMUNICATION: 0.5, IMBALANCE: 0.15, OTHER: 0.15, SERIAL: 0.1, CONTENTION: 0.1}
    return {COMMUNICATION: 0.6, OTHER: 0.16, SERIAL: 0.12, CONTENTION: 0.12}


def hidden_waiting(by_k: Runs) -> Iterator[tuple[float, dict[int, float]]]:
    """Ways to divide the least time in collectives: a weight, and the seconds per worker that are waiting, by K."""
    from scipy.optimize import nnls

    usable = {k: runs for k, runs in by_k.items() if len(runs[0].compute) > 1}
    if not usable or all(tells_apart(account) for runs in usable.values() for account in runs):
        yield 1.0, {}
        return
    workers = np.array([len(runs[0].compute) for runs in usable.values()], dtype=np.float64)
    least = np.array([np.mean([a.communication.min() for a in runs]) for runs in usable.values()])
    mean = np.array([np.mean([a.compute.mean() for a in runs]) for runs in usable.values()])
    visible = np.array([np.mean([(a.compute.max() - a.compute).mean() for a in runs]) for runs in usable.values()])
    relative = np.array([passing_spread(runs) for runs in usable.values()])
    freedom = np.array([max(len(runs) - 1, 1) * (len(runs[0].compute) - 1) for runs in usable.values()])
    spreads = (
        relative * mean,
        np.sqrt(np.average(relative**2, weights=freedom)) * mean,  # a share of the compute
        np.sqrt(np.average((relative * mean) ** 2, weights=freedom)) * np.ones_like(mean),  # the same seconds at any K
    )
    steps = [account.steps for runs in usable.values() for account in runs if account.steps]
    barriers = [each * min(steps) for each in BARRIERS_PER_STEP] if steps else BARRIERS
    most_barriers = (0.5 * min(barriers), BELIEVABLE * max(barriers))
    largest = [
        expected_largest(workers),
        harmonic(workers) - 1.0,
        np.sqrt(3.0) * (workers - 1.0) / (workers + 1.0),  # uniform
    ]
    for delays in RARE:
        chance = delays / (delays + workers[-1])
        largest.append((1.0 - (1.0 - chance) ** workers - chance) / np.sqrt(chance * (1.0 - chance)))
    weight = 1.0 / (TOLERANCE * least + 0.01 * least.max() + 0.003 * mean)
    forms = [np.log2(workers), workers - 1.0, (workers - 1.0) / workers, workers ** (-2 / 3), workers**-0.5]
    forms += [(workers > size).astype(np.float64) for size in workers[:-1]]  # beyond a node
    basis = np.column_stack(forms) * weight[:, None]
    ways = []
    for spread, most in product(spreads, largest):
        for count in barriers:
            waiting = np.maximum(np.sqrt(count) * spread * most - visible, 0.0)
            _, misfit = nnls(basis, (least - waiting) * weight)
            ways.append((_likelihood(misfit) / len(barriers), waiting))
        # The number of barriers that explains all of it as waiting, where that number can be believed.
        root, misfit = nnls((spread * most * weight)[:, None], (least + visible) * weight)
        if most_barriers[0] <= root[0] ** 2 <= most_barriers[1]:
            ways.append((_likelihood(misfit), least))
    total = sum(likelihood for likelihood, _ in ways)
    if total <= LEAST_WEIGHT:  # neither fits: all of it may be either
        ways = [(1.0, np.zeros_like(least)), (1.0, least)]
        total = 2.0
    for likelihood, waiting in ways:
        yield likelihood / total, dict(zip(usable, waiting.tolist(), strict=True))


def _likelihood(misfit: float) -> float:
    """The likelihood of residuals whose norm is `misfit` standard deviations."""
    return float(np.exp(-0.5 * min(misfit, 30.0) ** 2))


def account_evidence(by_k: Runs, split: Split, weak: bool) -> Iterator[str]:
    """The numbers behind a diagnosis from accounts, in sentences."""
    k, runs = next(reversed(by_k.items()))
    own, base = split.components[k], next(iter(by_k))
    words = {
        "transfer": "collectives on every worker",
        "alone": "waiting for one worker's constant extra work",
        "named_serial": "waiting for serial phases",
        "uneven": "waiting for workers that did more work",
        "lasting": "waiting for workers that are always slow",
        "host": "a slow host",
        "passing": "waiting for workers that are slow now and then",
        "alike": "waiting of all workers alike",
        "queueing": "waiting that no worker's longer busy time explains",
        "growth": "compute that grew",
        "again": "work that was done more often",
        "loading": "data loading that grew",
        "outside": "time outside phases that grew",
    }
    lost = [
        f"{text} {getattr(own, name) / own.spent:.1%}"
        for name, text in words.items()
        if getattr(own, name) > 0.005 * own.spent
    ]
    yield f"Lost at K = {k}, as shares of all worker-seconds: {', '.join(lost) or 'nothing above 0.5 %'}."
    ratio = useful_seconds(runs) / (useful_seconds(by_k[base]) * (k / base if weak else 1.0))
    yield f"Useful time of all workers together at K = {k} is {ratio:.2f} times that at K = {base}."
    if split.alone is not None:
        extra = format_seconds(split.alone.seconds)
        yield f"Rank {split.alone.rank} works {extra} longer than the others at every K: it works alone."
    if len(runs[0].compute) > 1:
        above = np.mean([a.compute.max() / a.compute.mean() for a in runs])
        slowest = {int(np.argmax(a.compute)) for a in runs}
        who = f"rank {slowest.pop()} every time" if len(slowest) == 1 else f"{len(slowest)} different ranks"
        yield f"The slowest worker at K = {k} computes {above:.2f} times the mean; over {len(runs)} runs it was {who}."
        if own.p_lasting is not None:
            sure = "Some workers are" if own.p_lasting < 0.01 else "It is not certain that some workers are"
            yield f"{sure} consistently slower at K = {k} (p = {own.p_lasting:.2g})."


def account_findings(
    by_k: Runs, split: Split, candidates: tuple[str, ...], *, apart: bool, phased: bool
) -> Iterator[Finding]:
    """What a reader of a diagnosis from accounts must know."""
    host, runs = split.slow_host, next(reversed(by_k.values()))
    if host is not None:
        yield warning(
            "slow-host",
            f"host {host.host} needs {host.factor:.2f} times as long for the same work in every run",
            remedy="take it out and measure again: throttling, a smaller quota, a failing disk or a busy neighbour",
            host=host.host,
            factor=host.factor,
            ranks=sorted(host.ranks),
        )
    elif IMBALANCE in candidates and all(account.work is None for account in runs):
        message = "workers that are slow have more work or sit on a slow host; no work was counted"
        remedy = "call probe.add_work (or pass work= to probe.steps): equal work on a slow worker means a slow host"
        yield info("work-not-counted", message, remedy=remedy)
    if not all(tells_apart(account) for account in runs) and phased:
        message = "collectives were timed as totals of a run: with many barriers part of that time is waiting"
        remedy = "put a barrier before the collective and time it apart, or record phases step by step (probe.steps)"
        yield info("waiting-not-apart", message, remedy=remedy)
    if set(candidates) & {CONTENTION, SERIAL} and split.components[max(by_k)].growth > 0 and phased:
        if apart:
            message = "compute grows although workers share no machine: each worker does some of the work again"
            yield info("replicated-work", message)
        elif CONTENTION in candidates:
            message = "compute grows with K on every worker alike; work that each worker does again looks the same"
            remedy = (
                "compare memory bandwidth and clock at K = 1 and the largest K (scalecurve doctor, roofline), and "
                "count the work"
            )
            yield info("growth-not-explained", message, remedy=remedy)
    if all(len(own) == 1 for own in by_k.values()):
        message = "one run per K: lasting and passing slowness cannot be told apart"
        yield warning("single-run", message, remedy="repeat 5 times")
