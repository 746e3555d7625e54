"""Rules about what was held fixed: one job at every K, and a regime that says so."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

from scalecurve.auditing.claim import Claim, Point
from scalecurve.auditing.rule import Effect, Hit, Item, Rule
from scalecurve.findings import Severity

TOLERANCE = 0.02
SAME_ANSWER = 1e-6


def _sizes(claim: Claim) -> list[tuple[int, float]]:
    return [(point.k, point.size) for point in sorted(claim.points, key=lambda p: p.k) if point.size is not None]


def _steps(sizes: list[tuple[int, float]]) -> list[str]:
    """Between neighbours: "fixed" where the total stays, "grows" where the work per worker does, "other" else."""
    kinds = []
    for (k_a, a), (k_b, b) in pairwise(sizes):
        growth = b / a
        apart = {"fixed": abs(growth - 1), "grows": abs(growth * k_a / k_b - 1)}
        nearest = min(apart, key=lambda kind: apart[kind])
        kinds.append(nearest if apart[nearest] <= TOLERANCE else "other")
    return kinds


def _mixed(claim: Claim) -> Iterator[Hit]:
    sizes = _sizes(claim)
    kinds = set(_steps(sizes))
    expected = {"strong": "fixed", "weak": "grows"}.get(claim.regime or "")
    if expected is None or len(kinds) != 1 or kinds == {expected} or "other" in kinds:
        return
    (first_k, first), (last_k, last) = sizes[0], sizes[-1]
    what = "batch" if all(point.work is None for point in claim.points) else "work"
    real = "weak" if kinds == {"grows"} else "strong"
    yield Hit(
        f"the claim says {claim.regime} scaling, but the total {what} goes from {first:g} at K = {first_k} to "
        f"{last:g} at K = {last_k}: this is {real} scaling",
        {"sizes": dict(sizes), "regime": claim.regime, "measured": real},
    )


def _switch(claim: Claim) -> Iterator[Hit]:
    sizes = _sizes(claim)
    kinds = _steps(sizes)
    if len(set(kinds)) > 1 and "other" not in kinds:
        at = next(i for i in range(1, len(kinds)) if kinds[i] != kinds[i - 1])
        yield Hit(
            f"the regime switches at K = {sizes[at][0]}: the total work is "
            f"{'fixed' if kinds[at - 1] == 'fixed' else 'growing with K'} before it and "
            f"{'fixed' if kinds[at] == 'fixed' else 'growing with K'} after it",
            {"sizes": dict(sizes), "k": sizes[at][0]},
        )


def _changed(claim: Claim) -> Iterator[Hit]:
    sizes = _sizes(claim)
    if "other" in _steps(sizes):
        yield Hit("the work per point is neither fixed nor proportional to K", {"sizes": dict(sizes)})
    for name in ("iterations", "target"):
        seen = {getattr(point, name) for point in claim.points} - {None}
        if len(seen) > 1:
            listed = ", ".join(str(each) for each in sorted(seen, key=str))
            yield Hit(f"the {name} differ between points ({listed}): another job at another K", {name: listed})
    if claim.workload_fixed is False and claim.regime != "weak":
        yield Hit("the workload is said to change between points")


def _answers(claim: Claim) -> Iterator[Hit]:
    """The answer of a weak job grows with K, so there each K is held against itself only."""
    groups = [point.answers for point in claim.points]
    if claim.regime != "weak":
        groups = [tuple(dict.fromkeys(answer for group in groups for answer in group))]
    for seen in groups:
        other = [answer for answer in seen[1:] if not _same_answer(seen[0], answer)]
        if other:
            yield Hit(
                f"the job gave {seen[0]} in one run and {other[0]} in another", {"answers": [seen[0], *other[:4]]}
            )
            return


def _same_answer(one: str | float, other: str | float) -> bool:
    """Sums made in another order differ in their last digits."""
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=SAME_ANSWER)
    return one == other


def _unknown(claim: Claim) -> Iterator[Hit]:
    if not _sizes(claim) and claim.workload_fixed is None and not claim.workload:
        yield Hit("nothing says that every K ran the same job: no work, batch or problem size is given")


def _no_regime(claim: Claim) -> Iterator[Hit]:
    if claim.regime is None:
        kinds = set(_steps(_sizes(claim)))
        seen = {
            frozenset({"grows"}): " (the sizes given grow with K: weak)",
            frozenset({"fixed"}): " (the sizes given are fixed: strong)",
        }
        hint = seen.get(frozenset(kinds), "")
        yield Hit(f"it is not said what was held fixed, the total work (strong) or the work per worker (weak){hint}")


def _weak_alone(claim: Claim) -> Iterator[Hit]:
    if claim.regime == "weak" and claim.strong_also is False:
        yield Hit("weak scaling is reported alone: it does not say how fast a fixed job gets")


def _threads(claim: Claim) -> Iterator[Hit]:
    seen = {point.k: point.threads for point in claim.points if point.threads is not None}
    if len(set(seen.values())) > 1:
        listed = ", ".join(f"{threads} at K = {k}" for k, threads in seen.items())
        yield Hit(
            f"threads per worker differ between points ({listed}): the worker is not the same thing", {"threads": seen}
        )


def _oversubscribed(claim: Claim) -> Iterator[Hit]:
    over = [point.k for point in claim.points if point.oversubscribed]
    if over:
        yield Hit(
            f"K = {', '.join(map(str, over))} had more workers than cores: no scaling was measured there", {"k": over}
        )


def _one_point(claim: Claim) -> Iterator[Hit]:
    beyond: list[Point] = [point for point, _ in claim.efficiencies()]
    if len(beyond) == 1:
        yield Hit(
            f"one point beyond the baseline (K = {beyond[0].k}): where the curve bends cannot be seen",
            {"k": beyond[0].k},
        )


WORKLOAD_RULES = (
    Rule(
        code="mixed-regime",
        severity=Severity.ERROR,
        title="The label says one regime, the sizes the other",
        why="A batch that grows with K turns strong scaling into weak scaling, and the curve looks far more linear.",
        remedy="hold the job fixed, or call it weak and plot T(1)/T(K)",
        source="the two mistakes behind most curves; oneapi-src/distributed-ranges#499",
        check=_mixed,
        item=Item.REGIME,
        effect=Effect.VIOLATED,
        asks="Which was held fixed at every K: the total work, or the work per worker?",
    ),
    Rule(
        code="regime-switch",
        severity=Severity.ERROR,
        title="The regime switches along the curve",
        why="Part of the curve answers one question, the rest another; no single efficiency applies.",
        remedy="report the two parts as two studies",
        source="efficiency as the companion of speedup",
        check=_switch,
        item=Item.REGIME,
        effect=Effect.VIOLATED,
    ),
    Rule(
        code="workload-changed",
        severity=Severity.ERROR,
        title="The job changed between points",
        why="Less work, fewer iterations or a laxer target at large K compares two jobs and calls it a speedup.",
        remedy="run byte for byte the same job at every K",
        source="reporting checklist, row 2",
        check=_changed,
        item=Item.WORKLOAD,
        effect=Effect.VIOLATED,
    ),
    Rule(
        code="answer-changed",
        severity=Severity.ERROR,
        title="The answer changed between points",
        why="A faster job with another answer is no speedup.",
        remedy="find out which answer is right; allow rounding differences explicitly",
        source="reporting checklist, row 2",
        check=_answers,
        item=Item.WORKLOAD,
        effect=Effect.VIOLATED,
    ),
    Rule(
        code="workload-unknown",
        severity=Severity.WARNING,
        title="The workload is not stated",
        why="Without it nobody can tell whether every point ran the same job.",
        remedy="state data set, problem size, global batch and number of steps at every K",
        source="reporting checklist, row 2",
        check=_unknown,
        item=Item.WORKLOAD,
        effect=Effect.MISSING,
        asks="What were problem size, global batch, steps and stopping rule at each K?",
    ),
    Rule(
        code="regime-unknown",
        severity=Severity.WARNING,
        title="The regime is not stated",
        why="A speedup with no statement of what was held fixed cannot be interpreted.",
        remedy="say strong (total work fixed) or weak (work per worker fixed)",
        source="reporting checklist, row 5",
        check=_no_regime,
        item=Item.REGIME,
        effect=Effect.MISSING,
        asks="Is this strong or weak scaling; did the batch or the problem grow with the machines?",
    ),
    Rule(
        code="weak-alone",
        severity=Severity.WARNING,
        title="Weak scaling reported alone",
        why="It says nothing about how fast a fixed job runs, and a larger problem may not be the one wanted.",
        remedy="add a strong-scaling curve or the time to a fixed result",
        source="mlcommons/training_policies#458",
        check=_weak_alone,
    ),
    Rule(
        code="threads-changed",
        severity=Severity.WARNING,
        title="A worker is not the same thing at every K",
        why="Launchers set threads differently at K = 1 and beyond; S(2) read 0.84 where the honest figure was 1.57.",
        remedy="set the number of threads per worker explicitly and record it",
        source="torchrun sets OMP_NUM_THREADS = 1 for K > 1",
        check=_threads,
        item=Item.BASELINE,
        effect=Effect.VIOLATED,
    ),
    Rule(
        code="oversubscribed",
        severity=Severity.WARNING,
        title="More workers than cores",
        why="Workers that share a core take turns: the curve shows that, not scaling.",
        remedy="leave those points out, or mark them",
        source="OSGeo/grass#7440",
        check=_oversubscribed,
    ),
    Rule(
        code="single-point",
        severity=Severity.INFO,
        title="A single point is not a curve",
        why="Efficiency may stay high and then fall off; one K does not show where.",
        remedy="ask for the efficiency at every K up to it",
        source="a fleet of 256 whose efficiency held only to 64",
        check=_one_point,
        asks="What is E at each K up to the largest: where does it fall below 0.85 and 0.7?",
    ),
)
