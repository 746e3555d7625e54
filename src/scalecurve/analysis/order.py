"""The order in which the runs were made: blocks compared pair by pair, drift, and runs that depend on each other.

`scalecurve measure` makes every K once in each block, in random order.  S and E are then ratios of runs made close in
time, so that a machine that slows down during the study moves both ends alike (Georges, Buytaert and Eeckhout 2007;
Hoefler and Belli 2015, rule 9: what varied must be known).  Where the order is not stored, or all runs of one K were
made together, nobody can tell drift from scaling, and a finding says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from scalecurve.analysis.curve import Curve, LogRatio
from scalecurve.analysis.sessions import sessions_of
from scalecurve.findings import Finding, warning
from scalecurve.study import Run, Study

PAIRED = "Student's t on the ratios within blocks"
LEAST_BLOCKS = 3
LEAST_RUNS = 8  # below, neither drift nor dependence can be seen
SURE = 0.01
PAIRED_SHARE = 0.6  # of the runs of a K that must be in a pair


@dataclass(frozen=True, eq=False)
class Blocks:
    """The value of every run by block and K, in the order of the blocks."""

    values: dict[int, dict[int, float]]

    def ratio(self, curve: Curve, k0: int, k: int) -> LogRatio | None:
        """Ln T(K0)/T(K) with the error that the pairs within blocks show; None where too few runs are paired."""
        pairs = [(block[k0], block[k]) for block in self.values.values() if k0 in block and k in block]
        first, last = curve.index(k0), curve.index(k)
        most = max(int(curve.n[first]), int(curve.n[last]))
        if len(pairs) < max(LEAST_BLOCKS, PAIRED_SHARE * most):
            return None
        base, own = np.array(pairs).T
        difference = base / curve.mean[first] - own / curve.mean[last]
        variance = float(np.var(difference, ddof=1)) / len(pairs)
        value = math.log(float(curve.mean[first]) / float(curve.mean[last]))
        return LogRatio(value, variance, len(pairs) - 1.0, PAIRED)


def ordered_runs(study: Study) -> tuple[Run, ...] | None:
    """The runs behind the samples in the order they were made; None where that is not stored."""
    runs = [run for run in study.runs if run.value is not None and run.counts_as(study.role_at(run.k))]
    if not runs or any(run.order is None for run in runs):
        return None
    return tuple(sorted(runs, key=lambda run: run.order or 0))


def blocks_of(study: Study) -> Blocks | None:
    """The blocks of a study whose runs were made in blocks of several K; None otherwise."""
    runs = ordered_runs(study)
    if runs is None or any(run.repeat is None for run in runs) or sessions_of(study):
        return None
    repeats = [run.repeat or 0 for run in runs]
    blocks: dict[int, dict[int, float]] = {}
    for run, repeat in zip(runs, repeats, strict=True):
        if run.k in blocks.setdefault(repeat, {}) or run.value is None:
            return None
        blocks[repeat][run.k] = run.value
    in_turn = all(later >= earlier for earlier, later in pairwise(repeats))
    several = sum(len(block) > 1 for block in blocks.values())
    return Blocks(blocks) if in_turn and several >= LEAST_BLOCKS else None


def check_order(study: Study, *, is_paired: bool) -> Iterator[Finding]:
    """What the order of the runs says about the intervals."""
    if len(study.samples) == len(study.all_k) or sessions_of(study):
        return
    runs = ordered_runs(study)
    if runs is None:
        message = "the order of the runs is not known: the intervals hold only for fresh launches in random order"
        yield warning("order-unknown", message, remedy="measure with `scalecurve measure`, which stores the order")
        return
    changes = sum(one.k != other.k for one, other in pairwise(runs))
    if len(runs) >= 2 * len(study.all_k) > 2 and changes == len(study.all_k) - 1:
        message = "all runs of one K were made together: a machine that drifts looks like scaling"
        yield warning("blocked-by-k", message, remedy="make every K once, then every K again, in random order")
    yield from _dependence(runs, is_paired=is_paired)


def _dependence(runs: tuple[Run, ...], *, is_paired: bool) -> Iterator[Finding]:
    """Drift (the slope of ln T over the order, within K), and neighbours that are alike."""
    from scalecurve.distributions import ndtr, stdtr

    k = np.array([run.k for run in runs])
    logs = np.log([run.value or 1.0 for run in runs])
    place = np.arange(len(runs), dtype=np.float64)
    counts = {own: int(np.sum(k == own)) for own in set(k.tolist())}
    degrees = len(runs) - len(counts) - 1
    if degrees < LEAST_RUNS - 2 or np.ptp(logs) == 0:
        return
    rest, when = np.empty(len(runs)), np.empty(len(runs))
    for own in counts:
        mine = k == own
        rest[mine], when[mine] = logs[mine] - logs[mine].mean(), place[mine] - place[mine].mean()
    spread = float(when @ when)
    slope = float(rest @ when) / spread if spread > 0 else 0.0
    left = rest - slope * when
    error = math.sqrt(float(left @ left) / degrees / spread) if spread > 0 else 0.0
    p_value = 2 * float(stdtr(degrees, -abs(slope) / error)) if error > 0 else 1.0
    if p_value < SURE:
        total = math.expm1(slope * (len(runs) - 1))
        remedy = "T depends on when it was measured; S and E are compared within blocks" if is_paired else None
        message = f"values drifted by {total:+.1%} from the first run to the last (p = {p_value:.1g})"
        yield warning("drift", message, remedy=remedy or "measure in blocks of all K", change=total, p_value=p_value)
    likeness = float(left[1:] @ left[:-1]) / float(left @ left) if left.any() else 0.0
    score = (likeness + len(counts) / len(runs) / 2) * math.sqrt(len(runs))
    if 1 - float(ndtr(score)) < SURE:
        message = f"each run resembles the one before it (correlation {likeness:.2f}): the intervals are too narrow"
        yield warning("runs-not-independent", message, remedy="wait between runs, or spread them", correlation=likeness)
