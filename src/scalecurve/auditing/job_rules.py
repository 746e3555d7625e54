"""Rules about what ran: the program at K = 1, and whether every K ran the same job."""

from __future__ import annotations

import math
import re
from typing import Any

from scalecurve.auditing.claim import Claim, ClaimPoint
from scalecurve.auditing.figures import MOST_UNIT
from scalecurve.auditing.rule import Hit, Said, rule
from scalecurve.units import format_count

NEAR_ONE = 0.02
IMPOSSIBLE = 2.0
NOISE, UNKNOWN_NOISE = 0.01, 0.02  # of E: at least, and of one run where no spread is stated
FAR_OUT = 16  # times the baseline: there a single point without a loss is one too many
A_LOSS = 0.01  # of E: where it grows with K to this, few workers that are nearly linear are what one measures
LEAST_LINEAR = 0.9  # where rounding leaves less, a straight line does not show
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
COUNTED = "(?:nodes?|gpus?|cpus?|cores?|hosts?|servers?|machines?|chips?|cards?|devices?|sockets?|workers?|ranks?|vms?|"
COUNTED += "instances?|clusters?|boards?)"
COUNTS = (
    r"(?<=\bv\d)([a-z]?)-\d+\b",  # a slice of a pod: v4-32
    rf"^(?:\d[\d,]*\s*x\s*|\d[\d,]*(?=[\s(])\s*|(?:{COUNTED}|of|with|each|x)\b[\s,:]*)+",
    rf"\b\d[\d,]*\s*(?:x\b|(?:x\s*)?{COUNTED}\b)",
    r"\bx\s*\d+\b",
    rf"\b{COUNTED}\b",
    r"(?<=\d)s\b",
    r"(?<=\w)\.(\d*x?large|metal)(-\d+xl)?\b",  # sizes of one kind of rented machine
)


def machine_kind(name: str) -> str:
    """The kind of machine without how many of it: "8x H100", "2 nodes of 8 H100" and "16 x H100 GPUs" are one."""
    kind = re.sub("[×*]", "x", name.casefold())
    for pattern in COUNTS:
        kind = re.sub(pattern, r"\1" if "([" in pattern[:12] else " ", kind.strip())
    return " ".join(re.findall(r"[^\W_][\w.+]*", kind))


def stated(claim: Claim, name: str) -> dict[int, Any]:
    """A field of the points that state it, by K."""
    return {point.k: value for point in claim.points if (value := getattr(point, name)) is not None}


@rule
def baseline_handicapped(claim: Claim) -> Said:
    whys = {
        option: next((why for pattern, why in HANDICAPS.items() if re.search(pattern, option, re.IGNORECASE)), None)
        for option in claim.baseline.options
    }
    return [Hit(f"the baseline ran with {one!r}, which {why}", {"option": one}) for one, why in whys.items() if why]


@rule
def baseline_differs(claim: Claim) -> Said:
    pairs = {
        "precision": (claim.baseline.precision, claim.precision),
        "hardware": (claim.baseline.hardware, claim.environment.hardware),
    }
    hits = [
        Hit(f"the baseline's {name} is {own}, that of the other points {others}", {name: [own, others]})
        for name, (own, others) in pairs.items()
        if own and others and machine_kind(own) != machine_kind(others)
    ]
    first = {value.casefold(): f"{value} at K = {k}" for k, value in reversed(stated(claim, "precision").items())}
    return [*hits, Hit(f"the precision differs: {', '.join(reversed(first.values()))}")] if len(first) > 1 else hits


@rule
def baseline_unknown(claim: Claim) -> Said:
    base, baseline = claim.at(claim.baseline_k), claim.baseline
    absent = [] if baseline.description or baseline.options or baseline.distributed is not None else ["program"]
    absent += [] if base is not None and base.timed else ["time"]
    words = " and ".join(absent)
    return Hit(f"baseline {words} not stated", credit={"program": 0.5, "time": 0.25}.get(words, 0.0)) if words else None


@rule
def baseline_not_one(claim: Claim) -> Said:
    text = f"the baseline is K0 = {claim.baseline_k}: losses among its own workers are not visible"
    return Hit(text, {"baseline_k": claim.baseline_k}) if claim.baseline_k != 1 else None


@rule
def claims_about_one(claim: Claim) -> Said:
    smallest = min((point.k for point in claim.points), default=1)
    over_one = r"(over|than|versus|vs\.?|against|relative to|of) (a |one |1 )?(single|one|1)[ -]"
    words = re.search(over_one, claim.statement or "", re.IGNORECASE)
    if len(claim.points) < 2 or max(claim.baseline_k, smallest) == 1 or not words or claim.at(1) is not None:
        return None
    text = f"the claim speaks of one worker, but the smallest K with a figure is {smallest}"
    return Hit(text, {"smallest_k": smallest}, credit=0.25)


def _is_impossible(claim: Claim, point: ClaimPoint, e: float) -> bool:
    """Whether E is 2 or more, and not because coarse figures were divided."""
    return e >= IMPOSSIBLE and claim.least_efficiency(point) >= IMPOSSIBLE * (1 - MOST_UNIT)


@rule
def superlinear(claim: Claim) -> Said:
    def room(point: ClaimPoint) -> float:
        unknown = UNKNOWN_NOISE / math.sqrt(point.n or 1)
        return max(NOISE, 2.0 * point.std / point.seconds if point.std and point.seconds else unknown)

    above = [
        (e, point.k)
        for point, e in claim.curve
        if claim.least_efficiency(point) > 1.0 + room(point) and not _is_impossible(claim, point, e)
    ]
    if not above:
        return None
    (e, k), k0 = max(above), claim.baseline_k
    return Hit(
        f"E = {e:.3g} at K = {k} is above 1 (superlinear), which needs a reason: K = {k0} paid for something that "
        f"K = {k} did not, such as data that overflow its memory or cache",
        {"k": k, "efficiency": e},
        f"measure the memory traffic of the K = {k0} run (peak memory, page faults, cache misses), then time T(1) "
        "on a machine where it fits",
        credit=0.5,
    )


@rule
def impossible_efficiency(claim: Claim) -> Said:
    above = {point.k: e for point, e in claim.curve if _is_impossible(claim, point, e)}
    listed, k0 = ", ".join(f"{e:.3g} at K = {k}" for k, e in above.items()), claim.baseline_k
    text = f"E = {listed}: not the same job or unit as at K = {k0}, or K = {k0} ran out of memory"
    remedy = None
    if claim.regime == "weak" and claim.batch_is_no_work:
        text = f"times that fall about as 1/K are of a fixed total of samples, strong scaling: else E = {listed}"
        remedy = "state what was fixed: with the same epochs or samples at every K this is strong scaling"
    return Hit(text, {"k": [*above], "efficiency": [*above.values()]}, remedy) if above else None


@rule
def perfectly_linear(claim: Claim) -> Said:
    largest = max((point.k for point, _ in claim.curve), default=1)
    if len(claim.curve) < 2 and largest < FAR_OUT * claim.baseline_k:
        return None
    shares = [e for _, e in claim.curve]
    if claim.regime == "weak" or any(abs(e - 1.0) > NEAR_ONE for e in shares):
        return None
    if largest < FAR_OUT * claim.baseline_k and shares[-1] < 1 - A_LOSS and shares == sorted(shares, reverse=True):
        return None
    exact = len(claim.curve) > 2 and all(e == 1.0 for _, e in claim.curve)  # whole numbers that all equal K
    if not exact and any(claim.least_efficiency(point) < LEAST_LINEAR for point, _ in claim.curve):
        return None
    claimed = ', although the claim is "communication-free"' if claim.communication_free else ""
    return Hit(
        f"the curve is perfectly linear out to K = {largest}{claimed}: suspect a slow K = {claim.baseline_k} run or a "
        "changed job",
        {"largest_k": largest},
        f"re-measure T(1) of the fastest single-worker program on the exact job run at K = {largest}, and count the "
        "work at both ends",
        credit=0.5,
    )


@rule
def mixed_regime(claim: Claim) -> Said:
    kinds, expected = set(claim.steps), {"strong": "fixed", "weak": "grows"}.get(claim.regime or "")
    if expected is None or len(kinds) != 1 or kinds & {expected, "other"}:
        return None
    (first_k, first), (last_k, last) = claim.sizes[0], claim.sizes[-1]
    total = "batch" if all(point.work is None for point in claim.points) else "work"
    real = "weak" if kinds == {"grows"} else "strong"
    return Hit(
        f"the claim says {claim.regime} scaling, but the total {total} goes from {format_count(first)} at "
        f"K = {first_k} to {format_count(last)} at K = {last_k}: this is {real} scaling",
        {"sizes": dict(claim.sizes)},
    )


@rule
def regime_switch(claim: Claim) -> Said:
    kinds, words = claim.steps, {"fixed": "fixed", "grows": "growing with K"}
    at = next((i for i in range(1, len(kinds)) if kinds[i] != kinds[i - 1]), None)
    if at is None or "other" in kinds:
        return None
    text = f"the regime switches at K = {claim.sizes[at][0]}: the total work is {words[kinds[at - 1]]} before it and "
    return Hit(f"{text}{words[kinds[at]]} after it", {"sizes": dict(claim.sizes)})


@rule
def workload_changed(claim: Claim) -> Said:
    hits = []
    if "other" in claim.steps:
        hits.append(Hit("the work per point is neither fixed nor proportional to K", {"sizes": dict(claim.sizes)}))
    for name, words in {"iterations": "iterations", "target": "targets"}.items():
        values = dict.fromkeys(stated(claim, name).values())
        listed = "; ".join(f"{value:,.12g}" if isinstance(value, float) else str(value) for value in values)
        if len(values) > 1:
            hits.append(Hit(f"the {words} differ between points ({listed}): another job at another K"))
    if claim.workload_fixed is False and claim.regime != "weak":
        hits.append(Hit("the claim says that the workload changes between points"))
    return hits


def _same_answer(one: str | float, other: str | float) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return math.isclose(one, other, rel_tol=SAME_ANSWER)


@rule
def answer_changed(claim: Claim) -> Said:
    groups = [point.answers for point in claim.points]
    if claim.regime != "weak":
        groups = [tuple(answer for group in groups for answer in group)]
    pairs = [(group[0], other) for group in groups for other in group[1:] if not _same_answer(group[0], other)]
    return f"the job gave {pairs[0][0]} in one run and {pairs[0][1]} in another" if pairs else None


@rule
def workload_unknown(claim: Claim) -> Said:
    if claim.workload_fixed is not None or claim.workload or len(claim.sizes) >= max(2, len(claim.points)):
        return None
    if not claim.sizes and claim.batch_is_no_work:
        return Hit("the batch grows with K while the times fall: how many samples or epochs is not stated", credit=0.5)
    if not claim.sizes:
        return "work, batch or problem size not stated"
    known = ", ".join(f"K = {k}" for k, _ in claim.sizes)
    return Hit(f"work or batch stated at {known} only: it may have changed at the other K", credit=0.25)


@rule
def time_per_part(claim: Claim) -> Said:
    text = f"{claim.statement or ''} {claim.workload or ''} {claim.name}"
    parts = r"(?:per|/|each)[ _-]?(epoch|step|iteration|batch)|(epoch|step|iteration)[ _-]times?\b"
    part = re.search(parts, text, re.IGNORECASE)
    counted = all(point.iterations is not None or point.target for point in claim.points)
    fixed = claim.workload_fixed or len({size for _, size in claim.sizes}) == 1
    if not part or counted or fixed or claim.regime == "weak":
        return None
    name = (part[1] or part[2]).lower()
    return Hit(f"the times are those of one {name}: how many each K needed is not stated", credit=0.5)


@rule
def regime_unknown(claim: Claim) -> Said:
    hints = {"grows": "; the sizes grow with K: weak", "fixed": "; the sizes are fixed: strong"}
    hint = hints.get(" ".join(set(claim.steps)), "")
    if claim.batch_is_no_work:
        hint = "; the times fall about as 1/K while the batch grows: strong, with all samples fixed"
    text = f"strong (total work fixed) or weak (work per worker fixed) not stated{hint}"
    return Hit(text, credit=0.5 if hint else 0.0) if claim.regime is None else None


@rule
def threads_changed(claim: Claim) -> Said:
    threads = {} if claim.counts_threads else stated(claim, "threads")
    listed = ", ".join(f"{count} at K = {k}" for k, count in threads.items())
    text = f"threads per worker differ between points ({listed})"
    return Hit(text, {"threads": threads}) if len(set(threads.values())) > 1 else None


@rule
def oversubscribed(claim: Claim) -> Said:
    crowded = [point.k for point in claim.points if point.oversubscribed]
    return f"K = {', '.join(map(str, crowded))} had more workers than cores" if crowded else None


@rule
def several_machines(claim: Claim) -> Said:
    by_kind = {kind: name for name in stated(claim, "machine").values() if (kind := machine_kind(name))}
    machines, clusters = sorted(by_kind.values()), claim.environment.clusters or 0
    if len(machines) > 1:
        return Hit(f"points come from {len(machines)} machines: {', '.join(machines)}", {"machines": machines})
    return f"points come from {clusters} clusters" if clusters > 1 else None


@rule
def single_point(claim: Claim) -> Said:
    if len(claim.curve) != 1:
        return None
    return f"K = {claim.curve[0][0].k} is the only point beyond the baseline: the bend is not visible"
