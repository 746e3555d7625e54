"""What the workers' phases show, as numbers that can be weighed: where the lost worker-time went, and how it behaves.

At each K the worker-seconds are counted: compute, time in collectives that no worker is spared (transfer), waiting,
serial phases, loading, time outside all phases.  What is beyond the same work at the baseline is lost.  Each part of
the loss is a number of its own, `lost in ...`; a second number says how that part behaves: who is waited for, whether
the same worker or host in every run, whether counted work explains it, whether it shrinks with K, whether it comes in
few steps.  Behaviour is multiplied by the part, so that it weighs nothing where nothing was lost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalecurve.diagnosis.phases import Account
from scalecurve.study.run import FloatArray

Runs = dict[int, list[Account]]
PARTS = ("collectives", "waiting", "compute", "serial phases", "loading", "outside phases")
LEAST_LOSS = 0.03  # of the worker-seconds
SAME_WORK = 0.01
SIGNIFICANT = 0.01
NOISE_AT_BARRIERS = 1.7  # as a power of ten: some 2500 barriers


@dataclass(frozen=True, eq=False)
class Counted:
    """Worker-seconds at one K by part (runs x PARTS), and all of them."""

    k: int
    workers: int
    parts: FloatArray
    spent: FloatArray

    @property
    def shares(self) -> FloatArray:
        """Shares of the worker-seconds of each run."""
        own: FloatArray = self.parts / self.spent[:, None]
        return own


def least_in_collectives(account: Account) -> float:
    """Seconds in collectives that no worker is spared: by the least of each step where steps are known."""
    least = float(account.communication.min())
    return least if account.transfer is None else min(account.transfer, least)


def tells_apart(account: Account) -> bool:
    """Whether transfer and waiting are known apart: by steps, by a barrier before the collective, or for one worker."""
    return account.transfer is not None or account.waits_apart or len(account.compute) == 1


def count(runs: list[Account]) -> Counted:
    """The worker-seconds of the runs of one K."""
    rows = []
    for own in runs:
        workers = len(own.compute)
        transfer = least_in_collectives(own) * workers if workers > 1 else float(own.communication.sum())
        waiting = float(own.inside.sum()) - transfer
        rows.append(
            [
                transfer,
                waiting,
                float(own.compute.sum()),
                float(own.serial.sum()),
                float(own.data.sum()),
                own.outside * workers,
            ]
        )
    spent = np.array([len(own.compute) * own.span for own in runs])
    return Counted(runs[0].k, len(runs[0].compute), np.array(rows), spent)


def lost_parts(by_k: Runs, *, weak: bool) -> FloatArray:
    """Worker-seconds lost at each K by part (K x PARTS), medians over runs, against the same work at the baseline."""
    counts = [count(runs) for runs in by_k.values()]
    base = next(iter(by_k))
    first = np.median(counts[0].parts, axis=0)
    lost = [
        np.median(own.parts, axis=0) - first * (k / base if weak else 1.0) for k, own in zip(by_k, counts, strict=True)
    ]
    return np.array(lost)


def evidence(by_k: Runs, *, weak: bool) -> dict[str, float]:
    """What the phases show at the largest K and on the way there, each number within a few units of 0."""
    lost = lost_parts(by_k, weak=weak)
    runs = next(reversed(by_k.values()))
    spent = float(np.median([len(own.compute) * own.span for own in runs]))
    loss = max(float(lost[-1].sum()), LEAST_LOSS * spent)
    share = dict(zip(PARTS, np.clip(lost[-1] / loss, -0.3, 1.3).tolist(), strict=True))
    noise = _spread_of_runs(by_k)
    numbers = {f"lost in {part}": value for part, value in share.items()}
    numbers["loss"] = float(np.clip(lost[-1].sum() / spent, -0.2, 1.0))
    numbers["loss beyond noise"] = (
        float(np.clip((lost[-1].sum() / spent - LEAST_LOSS) / max(noise, 0.003), -4.0, 4.0)) / 4.0
    )
    for name, value in _waiting(by_k, weak=weak).items():
        numbers[f"waiting: {name}"] = max(share["waiting"], 0.0) * value
    for name, value in _growth(by_k, lost, weak=weak).items():
        numbers[f"compute: {name}"] = max(share["compute"], 0.0) * value
    for name, value in _messages(by_k, lost, weak=weak).items():
        numbers[f"collectives: {name}"] = max(share["collectives"], 0.0) * value
    numbers["loading: grows"] = max(share["loading"], 0.0) * _power(lost[:, PARTS.index("loading")], list(by_k))
    return numbers


def _spread_of_runs(by_k: Runs) -> float:
    """Relative standard error of the loss: from the spread of the runs' worker-seconds about the median of their K."""
    rest = [
        np.array([own.span for own in runs]) / float(np.median([own.span for own in runs])) - 1.0
        for runs in by_k.values()
        if len(runs) > 1
    ]
    if not rest:
        return 0.02
    return (
        1.4826
        * float(np.median(np.abs(np.concatenate(rest))))
        * 1.3
        * float(np.sqrt(2.0 / np.mean([len(runs) for runs in by_k.values()])))
    )


def _power(amount: FloatArray | list[float], workers: list[int]) -> float:
    """The power of K with which an amount grows between the middle and the largest K, from -1 to 3, less 1, halved."""
    middle = len(workers) // 2
    if middle == len(workers) - 1 or amount[-1] <= 0:
        return 0.0
    least = 0.01 * float(amount[-1])
    power = np.log(float(amount[-1]) / max(float(amount[middle]), least)) / np.log(workers[-1] / workers[middle])
    return float(np.clip((power - 1.0) / 2.0, -1.0, 1.0))


def _steady(seconds: list[float]) -> float:
    """1 for the same seconds at every K, 0 for any that grow or shrink much."""
    return float(np.clip(1.0 - np.ptp(seconds) / max(seconds), 0.0, 1.0)) if max(seconds) > 0 else 0.0


def busy_matrix(runs: list[Account]) -> FloatArray:
    """Busy seconds; rows are repeats, columns workers."""
    return np.array([account.busy for account in runs])


def lasting(matrix: FloatArray) -> tuple[FloatArray, float | None]:
    """Each column's lasting excess over the mean (relative, shrunk), and the p-value of the F test behind it.

    With a single repeat there is no test (None), and the whole difference counts.
    Best linear unbiased prediction: C. R. Henderson, Biometrics 31, 1975.
    """
    from scipy.special import fdtrc

    repeats, columns = matrix.shape
    relative = matrix / matrix.mean(axis=1, keepdims=True)
    means: FloatArray = relative.mean(axis=0) - 1.0
    if repeats == 1 or columns == 1:
        return means, None
    freedom = (repeats - 1) * (columns - 1)
    within = float(((relative - means - 1.0) ** 2).sum()) / freedom
    between = repeats * float((means**2).sum()) / (columns - 1)
    p_value = float(fdtrc(columns - 1, freedom, between / within)) if within > 0 else float(between <= 0)
    kept = max(0.0, 1.0 - within / between) if between > 0 and p_value < SIGNIFICANT else 0.0
    return kept * means, p_value


def work_matrix(runs: list[Account]) -> FloatArray | None:
    """Counted work over the mean of its run (repeats x workers); None where any worker did not count."""
    works = [own.work for own in runs if own.work is not None and own.work.sum() > 0]
    return np.array([own / own.mean() for own in works]) if len(works) == len(runs) else None


def _waiting(by_k: Runs, *, weak: bool) -> dict[str, float]:
    """How the waiting at the largest K behaves."""
    runs = next(reversed(by_k.values()))
    workers = len(runs[0].compute)
    if workers < 2:
        return {}
    waited = max(float(np.median(count(runs).parts[:, 1])), 1e-12)
    matrix = busy_matrix(runs)
    excess, _ = lasting(matrix)
    top, mean = int(np.argmax(excess)), float(matrix.mean())
    always = float(np.clip(workers * mean * max(excess[top], 0.0) / waited, 0.0, 1.2))
    visible = workers * float(np.median(matrix.max(axis=1) - matrix.mean(axis=1))) / waited
    by_work, passing_by_work, counted = _explained_by_work(runs, matrix, top, float(excess[top]))
    totals = [max(float(np.median(count(own).parts[:, 1])), 0.0) for own in by_k.values()]
    over = _over_spread(runs, waited, workers)
    work = work_matrix(runs)
    paces = matrix if work is None or not np.all(work > 0) else matrix / work
    apart, slowest = _apart(lasting(paces)[0])
    shrinks = _spread_shrinks(by_k) if all(own.busy_steps is not None for own in runs) else 0.0
    return {
        "always the same worker": always,
        "one worker in each run": float(np.clip(visible, 0.0, 1.2)) * max(1.0 - always, 0.0),
        "one worker apart": always * apart * float(slowest == 1),
        "some workers apart": always * apart * float(slowest > 1),
        "one host apart": always * _host_apart(runs, paces),
        "first worker": always * float(top == 0),
        "counted work explains it": always * by_work,
        "equal work, unequal time": always * counted * max(1.0 - by_work, 0.0),
        "passing, by counted work": max(1.0 - always, 0.0) * passing_by_work,
        "extra seconds of the slowest shrink": always * _extra_shrinks(by_k, top, weak=weak),
        "explained by busy time": _explained(runs, waited),
        "grows": _power(np.array(totals), list(by_k)),
        "over spread": min(over, NOISE_AT_BARRIERS),
        "more than noise at barriers can": max(over - NOISE_AT_BARRIERS, 0.0),
        "spread of a step shrinks with K": max(1.0 - always, 0.0) * shrinks,
    }


def counted_work(runs: list[Account]) -> tuple[float, float] | None:
    """How far the waiting is for the same worker in every run, and the share of its excess of busy time that its
    counted work explains, both from 0 to 1; None where work was not counted on every worker."""
    matrix = busy_matrix(runs)
    if matrix.shape[1] < 2 or work_matrix(runs) is None:
        return None
    excess, _ = lasting(matrix)
    top = int(np.argmax(excess))
    waited = max(float(np.median(count(runs).parts[:, 1])), 1e-12)
    always = float(np.clip(matrix.sum(axis=1).mean() * max(excess[top], 0.0) / waited, 0.0, 1.0))
    return always, min(_explained_by_work(runs, matrix, top, float(excess[top]))[0], 1.0)


def _apart(excess: FloatArray) -> tuple[float, int]:
    """How far the slowest lie above all others, as a share of their distance from the mean of those, and how many they
    are: at most half, up to the widest gap."""
    ordered = np.sort(excess)[::-1]
    gaps = -np.diff(ordered[: max(len(ordered) // 2, 1) + 1])
    count = int(np.argmax(gaps)) + 1
    rest = float(ordered[0] - ordered[count:].mean())
    return (float(gaps[count - 1]) / max(rest, 1e-12) if ordered[0] > 0 else 0.0), count


def _host_apart(runs: list[Account], matrix: FloatArray) -> float:
    """How clearly one host alone is slow with all its workers; 0 where fewer than two hosts are known."""
    names = runs[0].hosts
    hosts = dict.fromkeys(names)
    if None in hosts or len(hosts) < 2 or any(own.hosts != names for own in runs):
        return 0.0
    parts = [matrix[:, [i for i, name in enumerate(names) if name == host]] for host in hosts]
    own, p_value = lasting(np.stack([part.mean(axis=1) for part in parts], axis=1))
    if p_value is not None and p_value >= SIGNIFICANT:
        return 0.0
    inside = float(np.mean([part.mean(axis=0).std() for part in parts])) / float(matrix.mean())
    return float(np.clip(_apart(own)[0] * own.max() / (own.max() + 3 * inside + 1e-9), 0.0, 1.0))


def _explained_by_work(runs: list[Account], matrix: FloatArray, top: int, excess: float) -> tuple[float, float, float]:
    """How far counted work explains the lasting excess of the slowest worker, and what comes and goes; and 1 where work
    was counted, else all are 0."""
    work = work_matrix(runs)
    if work is None:
        return 0.0, 0.0, 0.0
    lasting_part = float(work[:, top].mean() - 1.0) / max(float(matrix[:, top].mean() / matrix.mean()) - 1.0, 1e-9)
    own, other = work - work.mean(axis=0), matrix / matrix.mean(axis=1, keepdims=True)
    other = other - other.mean(axis=0)
    power = float((other**2).sum())
    passing = float(np.clip((own * other).sum() / power, 0.0, 1.0)) if power > 1e-12 else 0.0
    return float(np.clip(lasting_part, 0.0, 1.2)) if excess > 0.005 else 0.0, passing, 1.0


def _extra_shrinks(by_k: Runs, top: int, *, weak: bool) -> float:
    """From 0 (the same seconds at every K: work done alone) to 1 (a share of the compute), over the K that have it."""
    extra, compute = [], []
    for runs in list(by_k.values())[-3:]:
        matrix = busy_matrix(runs)
        if matrix.shape[1] > max(top, 1):
            means = matrix.mean(axis=0)
            extra.append(float(means[top] - np.delete(means, top).mean()))
            compute.append(float(np.median(means)))
    if len(extra) < 2 or min(extra) <= 0:
        return 0.5 if len(extra) < 2 else 1.0
    slope = (
        np.log(extra[0] / extra[-1]) / np.log(compute[0] / compute[-1])
        if abs(np.log(compute[0] / compute[-1])) > 0.2
        else 0.5
    )
    return float(np.clip(slope, -0.5, 1.5))


def _explained(runs: list[Account], waited: float) -> float:
    """The part of the waiting that the differences between busy times explain, by steps where they are known."""
    workers = len(runs[0].compute)
    own = []
    for account in runs:
        busy = account.busy
        seconds = float(busy.max() - busy.mean())
        if account.busy_steps is not None:
            steps = account.busy_steps
            scale = float(busy.mean() / max(steps.sum(axis=1).mean(), 1e-12))
            seconds = (scale if scale > 1.5 else 1.0) * float((steps.max(axis=0) - steps.mean(axis=0)).sum())
        own.append(seconds * workers)
    return float(np.clip(np.median(own) / waited, 0.0, 1.2))


def _over_spread(runs: list[Account], waited: float, workers: int) -> float:
    """Waiting over the spread of the workers' totals, as a power of ten: noise at B barriers gives about sqrt(B)."""
    matrix = busy_matrix(runs)
    relative = matrix / matrix.mean(axis=1, keepdims=True)
    residual = relative - (relative.mean(axis=0) if len(runs) > 1 else 1.0)
    spread = np.sqrt((residual**2).sum() / (max(len(runs) - 1, 1) * (workers - 1))) + 2e-4
    return float(np.clip(np.log10(waited / workers / (spread * matrix.mean())), -1.0, 3.0))


def _spread_shrinks(by_k: Runs) -> float:
    """From 0 (the same seconds at every K: delays) to 1 (in proportion to the compute: shares of the work)."""
    spreads, means = [], []
    for runs in by_k.values():
        steps = [own.busy_steps for own in runs if own.busy_steps is not None and len(own.busy_steps) > 1]
        if steps:
            spreads.append(float(np.median([(own - own.mean(axis=0)).std() for own in steps])) + 1e-12)
            means.append(float(np.median([own.mean() for own in steps])) + 1e-12)
    if len(spreads) < 2 or abs(np.log(means[0] / means[-1])) < 0.3:
        return 0.5
    return float(np.clip(np.log(spreads[0] / spreads[-1]) / np.log(means[0] / means[-1]), -0.5, 1.5))


def more_work(by_k: Runs, *, weak: bool) -> float | None:
    """How many times the baseline's work (counted, else by the number of steps) the largest K does; None if unknown."""
    first, last = next(iter(by_k.values())), next(reversed(by_k.values()))
    factor = last[0].k / first[0].k if weak else 1.0
    works = [[float(np.sum(own.work)) for own in runs if own.work is not None] for runs in (first, last)]
    if all(works) and len(works[0]) == len(first) and len(works[1]) == len(last) and min(works[0]) > 0:
        return float(np.mean(works[1]) / (np.mean(works[0]) * factor))
    steps = [[own.steps for own in runs if own.steps and own.busy_steps is not None] for runs in (first, last)]
    if all(steps):
        return float(np.mean(steps[1]) / np.mean(steps[0]))
    return None


def _growth(by_k: Runs, lost: FloatArray, *, weak: bool) -> dict[str, float]:
    """How compute that grew behaves: by counted work or steps, and by its growth over K."""
    column = lost[:, PARTS.index("compute")]
    again = more_work(by_k, weak=weak)
    counted = all(own.work is not None for runs in by_k.values() for own in runs)  # as many steps may hold more work
    compute = float(np.median([own.compute.sum() for own in next(reversed(by_k.values()))]))
    explained = 0.0
    if again is not None and again > 1.0 + SAME_WORK and column[-1] > 0:
        explained = float(np.clip(compute * (1.0 - 1.0 / again) / column[-1], 0.0, 1.2))
    return {
        "more work or steps": explained,
        "same work": float(counted) * max(1.0 - explained, 0.0),
        "grows": _power(column, list(by_k)),
        "on the fastest worker too": _on_the_fastest(by_k, float(column[-1]), weak=weak),
    }


def _on_the_fastest(by_k: Runs, growth: float, *, weak: bool) -> float:
    """The part of the growth that the worker which needs least for its work shows too: then the machine slows all."""
    first, last = next(iter(by_k.values())), next(reversed(by_k.values()))
    if growth <= 0 or len(last[0].compute) < 2:
        return 0.0
    works = [own.work / own.work.mean() if own.work is not None and np.all(own.work > 0) else 1.0 for own in last]
    least = float(np.median([(own.compute / work).min() for own, work in zip(last, works, strict=True)]))
    before = float(np.median([own.compute.sum() for own in first])) * (last[0].k / first[0].k if weak else 1.0)
    return float(np.clip((least * len(last[0].compute) - before) / growth, -0.5, 1.2))


def _messages(by_k: Runs, lost: FloatArray, *, weak: bool) -> dict[str, float]:
    """How the time in collectives behaves: as a pipeline that fills, as a heavy share that goes round, or neither."""
    runs = [account for own in by_k.values() for account in own]
    several = {len(own[0].compute): own for own in by_k.values() if len(own[0].compute) > 1}
    if not several:
        return {}
    workers = np.array(list(several), dtype=np.float64)
    least = np.array([np.median([least_in_collectives(a) for a in own]) for own in several.values()])
    compute = np.array([np.median([a.compute.mean() for a in own]) for own in several.values()])
    link = least / ((workers - 1.0) if weak else (workers - 1.0) / workers)
    # One share x times heavier that goes round: x (K - 1)/K of the compute, or x (K - 1)/(K + x) of a fixed total.
    part = least / compute
    heavier = (part * workers / (workers - 1.0), part * workers / np.maximum(workers - 1.0 - part, 1e-9))
    chain = _steady(link.tolist()) if len(several) > 2 else 0.0
    pairwise = float(any(own.pairwise for own in runs))
    return {
        "from one worker to the next": pairwise,
        "from one worker to the next, as a chain fills": pairwise * chain,
        "named collectives": float(all(own.collective for own in runs if len(own.compute) > 1)),
        "as a chain fills": chain,
        "as a share of the compute": max(_steady(x.tolist()) for x in heavier) if len(several) > 2 else 0.0,
        "known apart": float(all(tells_apart(own) for own in runs)),
        "grows": _power(lost[:, 0], list(by_k)),
    }
