"""Rules about what ran: the program at K = 1, and whether every K ran the same job."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import pairwise

from scalecurve.auditing.claim import Claim, ClaimPoint
from scalecurve.auditing.figures import MOST_UNIT
from scalecurve.auditing.rule import Hit, rule

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


@rule
def baseline_distributed(claim: Claim) -> Iterator[Hit]:
    if claim.baseline.distributed:
        message = "the baseline is the distributed code run with one worker, which inflates every speedup"
        yield Hit(message, {"baseline": claim.baseline.description})


@rule
def baseline_handicapped(claim: Claim) -> Iterator[Hit]:
    for option in claim.baseline.options:
        reason = next((why for pattern, why in HANDICAPS.items() if re.search(pattern, option, re.IGNORECASE)), None)
        if reason is not None:
            yield Hit(f"the baseline ran with {option!r}, which {reason}", {"option": option})


@rule
def baseline_not_fastest(claim: Claim) -> Iterator[Hit]:
    if claim.baseline.fastest is False:
        yield Hit("the baseline is not the fastest correct single-worker program")


@rule
def baseline_differs(claim: Claim) -> Iterator[Hit]:
    precisions = (claim.baseline.precision, claim.precision)
    machines = (claim.baseline.hardware, claim.environment.hardware)
    for name, (own, others) in {"precision": precisions, "hardware": machines}.items():
        if own and others and machine_kind(own) != machine_kind(others):
            yield Hit(f"the baseline's {name} is {own}, that of the other points {others}", {name: [own, others]})


@rule
def baseline_unknown(claim: Claim) -> Iterator[Hit]:
    base, baseline = claim.at(claim.baseline_k), claim.baseline
    absent = [] if base is not None and base.timed else ["time"]
    if not (baseline.description or baseline.options or baseline.distributed is not None):
        absent.insert(0, "program")
    if absent:
        credit = 0.5 if absent == ["program"] else 0.25 if absent == ["time"] else 0.0
        yield Hit(f"baseline {' and '.join(absent)} not stated", {"baseline_k": claim.baseline_k}, credit=credit)


@rule
def baseline_not_one(claim: Claim) -> Iterator[Hit]:
    if claim.baseline_k != 1:
        message = f"the baseline is K0 = {claim.baseline_k}: losses among its own workers are not visible"
        yield Hit(message, {"baseline_k": claim.baseline_k})


@rule
def claims_about_one(claim: Claim) -> Iterator[Hit]:
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


@rule
def superlinear(claim: Claim) -> Iterator[Hit]:
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


@rule
def impossible_efficiency(claim: Claim) -> Iterator[Hit]:
    above = [(point.k, e) for point, e in claim.efficiencies() if _is_impossible(claim, point, e)]
    if above:
        listed = ", ".join(f"{e:.3g} at K = {k}" for k, e in above)
        k0 = claim.baseline_k
        yield Hit(
            f"E = {listed}: not the same job or unit as at K = {k0}, or K = {k0} ran out of memory",
            {"k": [k for k, _ in above], "efficiency": [e for _, e in above]},
        )


@rule
def perfectly_linear(claim: Claim) -> Iterator[Hit]:
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


@rule
def mixed_regime(claim: Claim) -> Iterator[Hit]:
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


@rule
def regime_switch(claim: Claim) -> Iterator[Hit]:
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


@rule
def workload_changed(claim: Claim) -> Iterator[Hit]:
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


@rule
def answer_changed(claim: Claim) -> Iterator[Hit]:
    groups = [point.answers for point in claim.points]
    if claim.regime != "weak":
        groups = [tuple(dict.fromkeys(answer for group in groups for answer in group))]
    for answers in groups:
        for other in answers[1:]:
            first, numbers = answers[0], not isinstance(answers[0], str) and not isinstance(other, str)
            if first != other and not (numbers and math.isclose(first, other, rel_tol=SAME_ANSWER)):  # type: ignore[arg-type]
                yield Hit(f"the job gave {first} in one run and {other} in another", {"answers": list(answers[:5])})
                return


@rule
def workload_unknown(claim: Claim) -> Iterator[Hit]:
    sizes = _sizes(claim)
    if claim.workload_fixed is not None or claim.workload:
        return
    if not sizes:
        yield Hit("work, batch or problem size not stated")
    elif len(sizes) < max(2, len(claim.points)):
        known = ", ".join(f"K = {k}" for k, _ in sizes)
        yield Hit(f"work or batch stated at {known} only: it may have changed at the other K", credit=0.25)


@rule
def time_per_part(claim: Claim) -> Iterator[Hit]:
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


@rule
def regime_unknown(claim: Claim) -> Iterator[Hit]:
    if claim.regime is None:
        kinds = set(_steps(_sizes(claim)))
        hint = "; the sizes grow with K: weak" if kinds == {"grows"} else ""
        hint = "; the sizes are fixed: strong" if kinds == {"fixed"} else hint
        message = f"strong (total work fixed) or weak (work per worker fixed) not stated{hint}"
        yield Hit(message, credit=0.5 if hint else 0.0)


@rule
def weak_alone(claim: Claim) -> Iterator[Hit]:
    if claim.regime == "weak" and claim.strong_also is False:
        yield Hit("weak scaling is reported alone: it does not say how fast a fixed job gets")


@rule
def threads_changed(claim: Claim) -> Iterator[Hit]:
    threads = {point.k: point.threads for point in claim.points if point.threads is not None}
    if len(set(threads.values())) > 1:
        listed = ", ".join(f"{count} at K = {k}" for k, count in threads.items())
        yield Hit(f"threads per worker differ between points ({listed})", {"threads": threads})


@rule
def oversubscribed(claim: Claim) -> Iterator[Hit]:
    crowded = [point.k for point in claim.points if point.oversubscribed]
    if crowded:
        yield Hit(f"K = {', '.join(map(str, crowded))} had more workers than cores", {"k": crowded})


@rule
def single_point(claim: Claim) -> Iterator[Hit]:
    beyond = [point.k for point, _ in claim.efficiencies()]
    if len(beyond) == 1:
        yield Hit(f"K = {beyond[0]} is the only point beyond the baseline: the bend is not visible", {"k": beyond[0]})
