"""Rules about what ran: the program at K = 1, and whether every K ran the same job."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import pairwise

from scalecurve.auditing.claim import Claim, ClaimPoint
from scalecurve.auditing.figures import MOST_UNIT
from scalecurve.auditing.rule import Effect, Hit, Item, rule
from scalecurve.findings import Severity

INFO, WARNING, ERROR = Severity.INFO, Severity.WARNING, Severity.ERROR
VIOLATED, MISSING = Effect.VIOLATED, Effect.MISSING

NEAR_ONE = 0.02
IMPOSSIBLE = 2.0
NOISE = 0.01
FAR_OUT = 16  # times the baseline: there a single point without a loss is one too many
LEAST_LINEAR = 0.9  # where rounding leaves less, a straight line does not show
TOLERANCE = 0.02
SAME_ANSWER = 1e-6  # sums in another order differ in their last digits

HANDICAPS = {
    r"(gradient|activation)[ _-]*checkpoint|recomput": "recomputes activations, which only large models need",
    r"offload": "moves data to the host, which a job that fits does not need",
    r"debug|assert|sanitiz|anomaly|-O0|unoptimi[sz]ed": "is a debug setting",
    r"profil|trac(e|ing)|verbose|logging every": "spends time on recording itself",
    r"swap|thrash": "starves the run of memory",
    r"single[ _-]*thread|one thread|1 thread": "leaves cores of the single machine unused",
    r"ddp|horovod|fsdp|zero|distributed": "keeps distributed code paths active at K = 1",
    r"pure python|interpreted|no[ _-]*jit|eager": "is a slower implementation than the scaled one",
}


COUNTED = "nodes?|gpus?|cores?|hosts?|servers?|chips?|workers?|ranks?|vms?|instances?"
COUNT = rf"(?<!\w)\d[\d,]*\s*(?:[x×*]\s*|(?:{COUNTED})\b[\s:,]*(?:of\s+|with\s+)?)"


def machine_kind(name: str) -> str:
    """The kind of machine without how many of it: "8x H100" and "16 x H100 GPUs" are one."""
    kind = re.sub(rf"\(?{COUNT}|[\s,;(]*[x×*]\s*\d+\)?$", " ", name.casefold())
    return re.sub(
        r"\s*\b(gpus?|nodes?|cores?|cpus?|servers?|machines?|cluster)\b\s*$", "", " ".join(kind.split())
    ).strip()


@rule(
    "baseline-distributed", ERROR, Item.BASELINE, VIOLATED,
    remedy="measure the fastest correct single-worker program as T(1)",
    source="reporting checklist, row 1; intel/torch-xpu-ops#1623 (62 % or 80 % by choice of baseline)",
    asks="What does T(1) become with a program that has no distributed code in it?",
)  # fmt: skip
def baseline_distributed(claim: Claim) -> Iterator[Hit]:
    """The baseline is itself distributed code.

    Process groups, buckets and barriers cost time at K = 1 that a single-worker program does not pay.
    """
    if claim.baseline.distributed:
        message = "the baseline is the distributed code run with one worker, which inflates every speedup"
        yield Hit(message, {"baseline": claim.baseline.description})


@rule(
    "baseline-handicapped", ERROR, Item.BASELINE, VIOLATED,
    remedy="switch it off at K = 1, or on at every K, and say so", source="reporting checklist, row 1",
    asks="What is T(1) with the fastest correct settings for one worker?",
)  # fmt: skip
def baseline_handicapped(claim: Claim) -> Iterator[Hit]:
    """The baseline runs with a handicap.

    Options that only large runs need, or debug settings, slow the K = 1 run and inflate every speedup.
    """
    for option in claim.baseline.options:
        reason = next((why for pattern, why in HANDICAPS.items() if re.search(pattern, option, re.IGNORECASE)), None)
        if reason is not None:
            yield Hit(f"the baseline ran with {option!r}, which {reason}", {"option": option})


@rule(
    "baseline-not-fastest", ERROR, Item.BASELINE, VIOLATED,
    remedy="divide by the fastest correct single-worker time",
    source="reporting checklist, row 1; Hoefler and Belli 2015, rule 1",
)  # fmt: skip
def baseline_not_fastest(claim: Claim) -> Iterator[Hit]:
    """A faster single-worker program is known.

    A speedup over a slow program says little about the machines.
    """
    if claim.baseline.fastest is False:
        yield Hit("the baseline is not the fastest correct single-worker program")


@rule(
    "baseline-differs", ERROR, Item.BASELINE, VIOLATED,
    remedy="measure the baseline with the same precision on the same hardware",
    source="site conventions: same code, same hardware",
)  # fmt: skip
def baseline_differs(claim: Claim) -> Iterator[Hit]:
    """Baseline and scaled runs differ in more than K.

    Another precision or another machine at K = 1 makes the ratio a comparison of two systems.
    """
    precisions = (claim.baseline.precision, claim.precision)
    machines = (claim.baseline.hardware, claim.environment.hardware)
    for name, (own, others) in {"precision": precisions, "hardware": machines}.items():
        if own and others and machine_kind(own) != machine_kind(others):
            yield Hit(f"the baseline's {name} is {own}, that of the other points {others}", {name: [own, others]})


@rule(
    "baseline-unknown", WARNING, Item.BASELINE, MISSING,
    remedy="state the program, its settings and its absolute time at the baseline",
    source="reporting checklist, row 1; Hoefler and Belli 2015, rule 1",
    asks="What ran at the baseline: which program, which settings, how many seconds, and is it the fastest known?",
)  # fmt: skip
def baseline_unknown(claim: Claim) -> Iterator[Hit]:
    """The baseline is not stated.

    T(1) sets the scale of every S(K); without it a speedup cannot be checked.
    """
    base, baseline = claim.at(claim.baseline_k), claim.baseline
    absent = [] if base is not None and base.timed else ["time"]
    if not (baseline.description or baseline.options or baseline.distributed is not None):
        absent.insert(0, "program")
    if absent:
        credit = 0.5 if absent == ["program"] else 0.25 if absent == ["time"] else 0.0
        yield Hit(f"baseline {' and '.join(absent)} not stated", {"baseline_k": claim.baseline_k}, credit=credit)


@rule(
    "baseline-not-one", INFO,
    remedy="print K0 next to every number", source="site rules (ARCHIE-WeSt allows a one-node baseline)",
)  # fmt: skip
def baseline_not_one(claim: Claim) -> Iterator[Hit]:
    """The baseline is not one worker.

    Losses below K0 are invisible: E(K0) is 1 by definition.
    """
    if claim.baseline_k != 1:
        message = f"the baseline is K0 = {claim.baseline_k}: losses among its own workers are not visible"
        yield Hit(message, {"baseline_k": claim.baseline_k})


@rule(
    "claims-about-one", WARNING, Item.BASELINE, MISSING,
    remedy="measure one worker, or state the speedup over K0", source="reporting checklist, row 1",
    asks="Was the job run on one worker, or was S(K0) = K0 assumed?",
)  # fmt: skip
def claims_about_one(claim: Claim) -> Iterator[Hit]:
    """A speedup over one worker that was never run.

    Whoever measures from K0 on and multiplies by K0 assumes that K0 workers lose nothing.
    """
    smallest = min((point.k for point in claim.points), default=1)
    words = re.search(
        r"(over|than|versus|vs\.?|against|relative to|of) (a |one |1 )?(single|one|1)[ -]",
        claim.statement or "",
        re.IGNORECASE,
    )
    if len(claim.points) > 1 and max(claim.baseline_k, smallest) > 1 and words and claim.at(1) is None:
        message = f"the claim speaks of one worker, but the smallest K with a figure is {smallest}"
        yield Hit(message, {"smallest_k": smallest}, credit=0.25)


def _is_impossible(claim: Claim, point: ClaimPoint, e: float) -> bool:
    """Whether E is 2 or more, and not because coarse figures were divided."""
    return e >= IMPOSSIBLE and claim.least_efficiency(point) >= IMPOSSIBLE * (1 - MOST_UNIT)


@rule(
    "superlinear", WARNING, Item.BASELINE, MISSING,
    remedy="check the baseline before you quote this", source="memory hierarchy effects; samyama-ai/samyama-graph#1315",
    asks="Does the working set fit in one worker's memory and cache, and what is T(1) where it does?",
)  # fmt: skip
def superlinear(claim: Claim) -> Iterator[Hit]:
    """Efficiency above 1.

    The K = 1 run usually paid a penalty the others avoided, such as a working set that overflows one worker's fast
    memory.  The gain ends as K grows: once each shard fits, E falls below 1 like the rest of the curve.
    """
    above = []
    for point, e in claim.efficiencies():
        noise = max(NOISE, 2.0 * point.std / point.seconds) if point.std and point.seconds else NOISE
        if claim.least_efficiency(point) > 1.0 + noise and not _is_impossible(claim, point, e):
            above.append((e, point.k))
    if above:
        e, k = max(above)
        k0 = claim.baseline_k
        yield Hit(
            f"E = {e:.3g} at K = {k} is above 1: K = {k0} paid for something that K = {k} did not, such as data that "
            "overflow its memory or cache",
            {"k": k, "efficiency": e},
            f"measure the memory traffic of the K = {k0} run (peak memory, page faults, cache misses), then time T(1) "
            "on a machine where it fits",
            credit=0.5,
        )


@rule(
    "impossible-efficiency", ERROR, Item.BASELINE, VIOLATED,
    remedy="check units, problem sizes and machines of both ends",
    source="pytorch/torchtitan#619; huggingface/blog#1649",
)  # fmt: skip
def impossible_efficiency(claim: Claim) -> Iterator[Hit]:
    """Efficiency of 2 or more.

    Such a ratio compares two jobs, two units or two machines, or a K0 that ran out of memory.
    """
    above = [(point.k, e) for point, e in claim.efficiencies() if _is_impossible(claim, point, e)]
    if above:
        listed = ", ".join(f"{e:.3g} at K = {k}" for k, e in above)
        k0 = claim.baseline_k
        yield Hit(
            f"E = {listed}: not the same job or unit as at K = {k0}, or K = {k0} ran out of memory",
            {"k": [k for k, _ in above], "efficiency": [e for _, e in above]},
        )


@rule(
    "perfectly-linear", WARNING, Item.BASELINE, MISSING,
    remedy="re-measure T(1) honestly on the very same job", source="the two mistakes behind most inflated curves",
    asks="Where does the communication time go, and what is T(1) of the fastest single-worker program?",
)  # fmt: skip
def perfectly_linear(claim: Claim) -> Iterator[Hit]:
    """No bend out to the largest K.

    Every real system pays something for coordination.  Two mistakes hide it: a slow K = 1 run, which inflates every
    speedup, and a problem that changed with K (batch, steps, target).
    """
    efficiencies = list(claim.efficiencies())
    largest = max((point.k for point, _ in efficiencies), default=1)
    if len(efficiencies) < 2 and largest < FAR_OUT * claim.baseline_k:
        return
    if claim.regime == "weak" or any(abs(e - 1.0) > NEAR_ONE for _, e in efficiencies):
        return
    exact = len(efficiencies) > 2 and all(e == 1.0 for _, e in efficiencies)  # whole numbers that all equal K
    if not exact and any(claim.least_efficiency(point) < LEAST_LINEAR for point, _ in efficiencies):
        return
    claimed = ', although the claim is "communication-free"' if claim.communication_free else ""
    suspects = f"suspect a slow K = {claim.baseline_k} run or a changed job"
    yield Hit(
        f"the curve is perfectly linear out to K = {largest}{claimed}: {suspects}",
        {"largest_k": largest, "efficiencies": {str(point.k): e for point, e in efficiencies}},
        f"re-measure T(1) of the fastest single-worker program on the exact job run at K = {largest}, and count the "
        "work at both ends",
        credit=0.5,
    )


def _sizes(claim: Claim) -> list[tuple[int, float]]:
    return [(point.k, point.size) for point in sorted(claim.points, key=lambda p: p.k) if point.size is not None]


def _steps(sizes: list[tuple[int, float]]) -> list[str]:
    """Between neighbours: "fixed" where the total work stays, "grows" where the work per worker stays, else "other"."""
    kinds = []
    for (k_a, a), (k_b, b) in pairwise(sizes):
        growth = b / a
        distance = {"fixed": abs(growth - 1), "grows": abs(growth * k_a / k_b - 1)}
        nearest = min(distance, key=lambda kind: distance[kind])
        kinds.append(nearest if distance[nearest] <= TOLERANCE else "other")
    return kinds


@rule(
    "mixed-regime", ERROR, Item.REGIME, VIOLATED,
    remedy="hold the job fixed, or call it weak and plot T(1)/T(K)",
    source="the two mistakes behind most curves; oneapi-src/distributed-ranges#499",
    asks="Which was held fixed at every K: the total work, or the work per worker?",
)  # fmt: skip
def mixed_regime(claim: Claim) -> Iterator[Hit]:
    """The label says one regime, the sizes the other.

    A batch that grows with K turns strong scaling into weak scaling, and the curve looks far more linear.
    """
    sizes = _sizes(claim)
    kinds = set(_steps(sizes))
    expected = {"strong": "fixed", "weak": "grows"}.get(claim.regime or "")
    if expected is None or len(kinds) != 1 or kinds == {expected} or "other" in kinds:
        return
    (first_k, first), (last_k, last) = sizes[0], sizes[-1]
    total = "batch" if all(point.work is None for point in claim.points) else "work"
    regime = "weak" if kinds == {"grows"} else "strong"
    yield Hit(
        f"the claim says {claim.regime} scaling, but the total {total} goes from {first:g} at K = {first_k} to "
        f"{last:g} at K = {last_k}: this is {regime} scaling",
        {"sizes": dict(sizes), "regime": claim.regime, "measured": regime},
    )


@rule(
    "regime-switch", ERROR, Item.REGIME, VIOLATED,
    remedy="report the two parts as two studies", source="efficiency as the companion of speedup",
)  # fmt: skip
def regime_switch(claim: Claim) -> Iterator[Hit]:
    """The regime switches along the curve.

    Part of the curve answers one question, the rest another; no single efficiency applies.
    """
    sizes = _sizes(claim)
    kinds = _steps(sizes)
    if len(set(kinds)) > 1 and "other" not in kinds:
        words = {"fixed": "fixed", "grows": "growing with K"}
        at = next(i for i in range(1, len(kinds)) if kinds[i] != kinds[i - 1])
        yield Hit(
            f"the regime switches at K = {sizes[at][0]}: the total work is {words[kinds[at - 1]]} before it and "
            f"{words[kinds[at]]} after it",
            {"sizes": dict(sizes), "k": sizes[at][0]},
        )


@rule(
    "workload-changed", ERROR, Item.WORKLOAD, VIOLATED,
    remedy="run byte for byte the same job at every K", source="reporting checklist, row 2",
)  # fmt: skip
def workload_changed(claim: Claim) -> Iterator[Hit]:
    """The job changed between points.

    Less work, fewer iterations or a laxer target at large K compares two jobs and calls it a speedup.
    """
    sizes = _sizes(claim)
    if "other" in _steps(sizes):
        yield Hit("the work per point is neither fixed nor proportional to K", {"sizes": dict(sizes)})
    for name, words in {"iterations": "iterations", "target": "targets"}.items():
        values = dict.fromkeys(getattr(point, name) for point in claim.points if getattr(point, name) is not None)
        if len(values) > 1:
            listed = ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)
            yield Hit(f"the {words} differ between points ({listed}): another job at another K", {name: listed})
    if claim.workload_fixed is False and claim.regime != "weak":
        yield Hit("the claim says that the workload changes between points")


@rule(
    "answer-changed", ERROR, Item.WORKLOAD, VIOLATED,
    remedy="find out which answer is right; allow rounding differences explicitly",
    source="reporting checklist, row 2",
)  # fmt: skip
def answer_changed(claim: Claim) -> Iterator[Hit]:
    """The answer changed between points.

    A faster job with another answer is no speedup.  The answer of a weak job grows with K, so there each K is compared
    with itself only.
    """
    groups = [point.answers for point in claim.points]
    if claim.regime != "weak":
        groups = [tuple(dict.fromkeys(answer for group in groups for answer in group))]
    for answers in groups:
        for other in answers[1:]:
            first, numbers = answers[0], not isinstance(answers[0], str) and not isinstance(other, str)
            if first != other and not (numbers and math.isclose(first, other, rel_tol=SAME_ANSWER)):  # type: ignore[arg-type]
                yield Hit(f"the job gave {first} in one run and {other} in another", {"answers": list(answers[:5])})
                return


@rule(
    "workload-unknown", WARNING, Item.WORKLOAD, MISSING,
    remedy="state data set, problem size, global batch and number of steps at every K",
    source="reporting checklist, row 2",
    asks="What were problem size, global batch, steps and stopping rule at each K?",
)  # fmt: skip
def workload_unknown(claim: Claim) -> Iterator[Hit]:
    """The workload is not stated.

    Without it nobody can tell whether every point ran the same job.
    """
    sizes = _sizes(claim)
    if claim.workload_fixed is not None or claim.workload:
        return
    if not sizes:
        yield Hit("work, batch or problem size not stated")
    elif len(sizes) < max(2, len(claim.points)):
        known = ", ".join(f"K = {k}" for k, _ in sizes)
        yield Hit(f"work or batch stated at {known} only: it may have changed at the other K", credit=0.25)


@rule(
    "time-per-part", WARNING, Item.WORKLOAD, MISSING,
    remedy="give the time of the whole job: time per epoch (or step) times how many each K needed",
    source="Shallue et al. 2019: steps to a fixed loss depend on the batch",
    asks="How many epochs or steps did each K need to reach the same result?",
)  # fmt: skip
def time_per_part(claim: Claim) -> Iterator[Hit]:
    """Seconds per epoch or per step are not the time of a job.

    A larger batch makes an epoch faster and may need more of them; a step with a larger batch is another step.
    """
    text = f"{claim.statement or ''} {claim.workload or ''} {claim.name}"
    part = re.search(
        r"(?:per|/|each)[ _-]?(epoch|step|iteration|batch)|(epoch|step|iteration)[ _-]times?\b", text, re.IGNORECASE
    )
    counted = all(point.iterations is not None or point.target for point in claim.points)
    sizes = {size for _, size in _sizes(claim)}
    if (
        part
        and claim.points
        and not counted
        and claim.regime != "weak"
        and not (claim.workload_fixed or len(sizes) == 1)
    ):
        name = (part[1] or part[2]).lower()
        yield Hit(f"the times are those of one {name}: how many each K needed is not stated", credit=0.5)


@rule(
    "regime-unknown", WARNING, Item.REGIME, MISSING,
    remedy="say strong (total work fixed) or weak (work per worker fixed)", source="reporting checklist, row 5",
    asks="Is this strong or weak scaling; did the batch or the problem grow with the machines?",
)  # fmt: skip
def regime_unknown(claim: Claim) -> Iterator[Hit]:
    """The regime is not stated.

    A speedup with no statement of what was held fixed cannot be interpreted.
    """
    if claim.regime is None:
        kinds = set(_steps(_sizes(claim)))
        hint = "; the sizes grow with K: weak" if kinds == {"grows"} else ""
        hint = "; the sizes are fixed: strong" if kinds == {"fixed"} else hint
        message = f"strong (total work fixed) or weak (work per worker fixed) not stated{hint}"
        yield Hit(message, credit=0.5 if hint else 0.0)


@rule(
    "weak-alone", WARNING,
    remedy="add a strong-scaling curve or the time to a fixed result", source="mlcommons/training_policies#458",
)  # fmt: skip
def weak_alone(claim: Claim) -> Iterator[Hit]:
    """Weak scaling reported alone.

    It says nothing about how fast a fixed job runs, and a larger problem may not be what the reader needs.
    """
    if claim.regime == "weak" and claim.strong_also is False:
        yield Hit("weak scaling is reported alone: it does not say how fast a fixed job gets")


@rule(
    "threads-changed", WARNING, Item.BASELINE, VIOLATED,
    remedy="set the number of threads per worker explicitly and record it",
    source="torchrun sets OMP_NUM_THREADS = 1 for K > 1",
)  # fmt: skip
def threads_changed(claim: Claim) -> Iterator[Hit]:
    """A worker is not the same thing at every K.

    Launchers set threads differently at K = 1 and beyond; S(2) read 0.84 where the honest figure was 1.57.
    """
    threads = {point.k: point.threads for point in claim.points if point.threads is not None}
    if len(set(threads.values())) > 1:
        listed = ", ".join(f"{count} at K = {k}" for k, count in threads.items())
        yield Hit(f"threads per worker differ between points ({listed})", {"threads": threads})


@rule(
    "oversubscribed", WARNING,
    remedy="leave those points out, or mark them", source="OSGeo/grass#7440",
)  # fmt: skip
def oversubscribed(claim: Claim) -> Iterator[Hit]:
    """More workers than cores.

    Workers that share a core take turns: the curve shows that, not scaling.
    """
    crowded = [point.k for point in claim.points if point.oversubscribed]
    if crowded:
        yield Hit(f"K = {', '.join(map(str, crowded))} had more workers than cores", {"k": crowded})


@rule(
    "single-point", INFO,
    remedy="ask for E at every K up to it: where does it fall below 0.85 and 0.7?",
    source="a fleet of 256 whose efficiency held only to 64",
)  # fmt: skip
def single_point(claim: Claim) -> Iterator[Hit]:
    """A single point is not a curve.

    Efficiency may stay high and then fall off; one K does not show where.
    """
    beyond = [point.k for point, _ in claim.efficiencies()]
    if len(beyond) == 1:
        yield Hit(f"K = {beyond[0]} is the only point beyond the baseline: the bend is not visible", {"k": beyond[0]})
