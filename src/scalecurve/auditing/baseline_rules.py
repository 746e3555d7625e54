"""Rules about the point at K = 1: a speedup is only as honest as its baseline."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scalecurve.auditing.claim import Claim
from scalecurve.auditing.rule import Effect, Hit, Item, Rule
from scalecurve.findings import Severity

NEAR_ONE = 0.02
IMPOSSIBLE = 2.0
NOISE = 0.01

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


def _distributed(claim: Claim) -> Iterator[Hit]:
    if claim.baseline.distributed:
        yield Hit(
            "the baseline is the distributed code run with one worker: its overhead at K = 1 inflates every speedup",
            {"baseline": claim.baseline.description},
        )


def _handicapped(claim: Claim) -> Iterator[Hit]:
    for option in claim.baseline.options:
        for pattern, reason in HANDICAPS.items():
            if re.search(pattern, option, re.IGNORECASE):
                yield Hit(
                    f"the baseline ran with {option!r}, which {reason}: T(1) is slower than it could be",
                    {"option": option},
                )
                break


def _not_fastest(claim: Claim) -> Iterator[Hit]:
    if claim.baseline.fastest is False:
        yield Hit("the baseline is said not to be the fastest correct single-worker program")


def _differs(claim: Claim) -> Iterator[Hit]:
    for what, own, others in (
        ("precision", claim.baseline.precision, claim.precision),
        ("hardware", claim.baseline.hardware, claim.hardware),
    ):
        if own and others and own.casefold() != others.casefold():
            yield Hit(f"the baseline's {what} is {own}, that of the other points {others}", {what: [own, others]})


def _unknown(claim: Claim) -> Iterator[Hit]:
    base = claim.at(claim.baseline_k)
    timed = base is not None and (base.seconds or base.rate or base.rate_per_worker)
    described = claim.baseline.description or claim.baseline.options or claim.baseline.distributed is not None
    if not described:
        time = f"T({claim.baseline_k}) is given, but" if timed else "no absolute time is given, and"
        yield Hit(f"{time} it is not said what program the baseline is", {"baseline_k": claim.baseline_k})
    elif not timed:
        yield Hit("the baseline's absolute time is not given", {"baseline_k": claim.baseline_k})


def _not_one(claim: Claim) -> Iterator[Hit]:
    if claim.baseline_k != 1:
        yield Hit(
            f"the baseline is K0 = {claim.baseline_k}: what its workers waste among themselves is not seen",
            {"baseline_k": claim.baseline_k},
        )


def _superlinear(claim: Claim) -> Iterator[Hit]:
    above = [(point, e) for point, e in claim.efficiencies() if 1.0 + _slack(point.std, point.seconds) < e < IMPOSSIBLE]
    if not above:
        return
    point, e = max(above, key=lambda pair: pair[1])
    k0 = claim.baseline_k
    yield Hit(
        f"E = {e:.3g} at K = {point.k} is above 1. Likely cause: the working set overflows one worker's fast memory "
        f"(or the K = {k0} run was slowed otherwise) and fits once it is cut. As K grows further the gain ends: each "
        "shard fits already, and E falls below 1 like the rest of the curve",
        {"k": point.k, "efficiency": e},
        f"take one measurement on the K = {k0} run: its memory traffic (peak memory, page faults, cache misses) "
        "against the machine's memory; then re-time T(1) on a machine where it fits",
    )


def _slack(std: float | None, seconds: float | None) -> float:
    return max(NOISE, 2.0 * std / seconds) if std and seconds else NOISE


def _impossible(claim: Claim) -> Iterator[Hit]:
    for point, e in claim.efficiencies():
        if e >= IMPOSSIBLE:
            yield Hit(
                f"E = {e:.3g} at K = {point.k}: no cache effect doubles a worker's speed; the two ends are not "
                "the same job or not the same unit",
                {"k": point.k, "efficiency": e},
            )


def _linear(claim: Claim) -> Iterator[Hit]:
    found = list(claim.efficiencies())
    if len(found) < 2 or claim.regime == "weak" or any(abs(e - 1.0) > NEAR_ONE for _, e in found):
        return
    largest = found[-1][0].k
    said = ', although the claim is "communication-free"' if claim.communication_free else ""
    yield Hit(
        f"the curve is perfectly linear out to K = {largest}{said}. Two mistakes make any curve so: a slow K = 1 run "
        "(every speedup is divided by an inflated T(1)), and a problem that changed with K (batch, steps, target)",
        {"largest_k": largest, "efficiencies": {str(point.k): e for point, e in found}},
        f"ask for one re-measurement: T(1) of the fastest single-worker program, on byte for byte the job run at K = "
        f"{largest}, with its work counted at both ends",
    )


BASELINE_RULES = (
    Rule(
        code="baseline-distributed",
        severity=Severity.ERROR,
        title="The baseline is itself distributed code",
        why="Process groups, buckets and barriers cost time at K = 1 that a single-worker program does not pay.",
        remedy="measure the fastest correct single-worker program as T(1)",
        source="reporting checklist, row 1; intel/torch-xpu-ops#1623 (62 % or 80 % by choice of baseline)",
        check=_distributed,
        item=Item.BASELINE,
        effect=Effect.VIOLATED,
        asks="What does T(1) become with a program that has no distributed code in it?",
    ),
    Rule(
        code="baseline-handicapped",
        severity=Severity.ERROR,
        title="The baseline runs with a handicap",
        why="Options that only large runs need, or debug settings, slow the K = 1 run and inflate every speedup.",
        remedy="switch it off at K = 1, or on at every K, and say so",
        source="reporting checklist, row 1",
        check=_handicapped,
        item=Item.BASELINE,
        effect=Effect.VIOLATED,
        asks="What is T(1) with the fastest correct settings for one worker?",
    ),
    Rule(
        code="baseline-not-fastest",
        severity=Severity.ERROR,
        title="A faster single-worker program is known",
        why="A speedup over a slow program says little about the machines.",
        remedy="divide by the fastest correct single-worker time",
        source="reporting checklist, row 1; Hoefler and Belli 2015, rule 1",
        check=_not_fastest,
        item=Item.BASELINE,
        effect=Effect.VIOLATED,
    ),
    Rule(
        code="baseline-differs",
        severity=Severity.ERROR,
        title="Baseline and scaled runs differ in more than K",
        why="Another precision or another machine at K = 1 makes the ratio a comparison of two systems.",
        remedy="measure the baseline with the same precision on the same hardware",
        source="site conventions: same code, same hardware",
        check=_differs,
        item=Item.BASELINE,
        effect=Effect.VIOLATED,
    ),
    Rule(
        code="baseline-unknown",
        severity=Severity.WARNING,
        title="It is not said what the baseline is",
        why="T(1) sets the scale of every S(K); without it a speedup cannot be checked.",
        remedy="state the program, its settings and its absolute time at K = 1",
        source="reporting checklist, row 1; Hoefler and Belli 2015, rule 1",
        check=_unknown,
        item=Item.BASELINE,
        effect=Effect.MISSING,
        asks="What exactly ran at K = 1: which program, which settings, how many seconds, and is it the fastest known?",
    ),
    Rule(
        code="baseline-not-one",
        severity=Severity.INFO,
        title="The baseline is not one worker",
        why="Losses below K0 are invisible: E(K0) is 1 by definition.",
        remedy="print K0 next to every number",
        source="site rules (ARCHIE-WeSt allows a one-node baseline)",
        check=_not_one,
    ),
    Rule(
        code="superlinear",
        severity=Severity.WARNING,
        title="Efficiency above 1",
        why="The K = 1 run usually paid a penalty the others avoided; the gain is the memory's, not the algorithm's.",
        remedy="audit the baseline before celebrating",
        source="memory hierarchy effects; samyama-ai/samyama-graph#1315",
        check=_superlinear,
        item=Item.BASELINE,
        effect=Effect.MISSING,
        asks="Does the working set fit in one worker's memory and cache, and what is T(1) where it does?",
    ),
    Rule(
        code="impossible-efficiency",
        severity=Severity.ERROR,
        title="Efficiency of 2 or more",
        why="Such a ratio compares two jobs, two units or two machines.",
        remedy="check units, problem sizes and machines of both ends",
        source="pytorch/torchtitan#619; huggingface/blog#1649",
        check=_impossible,
        item=Item.BASELINE,
        effect=Effect.VIOLATED,
    ),
    Rule(
        code="perfectly-linear",
        severity=Severity.WARNING,
        title="No bend out to the largest K",
        why="Every real system pays something for coordination; a curve without a bend should prompt suspicion.",
        remedy="re-measure T(1) honestly on the very same job",
        source="the two mistakes behind most inflated curves",
        check=_linear,
        item=Item.BASELINE,
        effect=Effect.MISSING,
        asks="Where does the communication time go, and what is T(1) of the fastest single-worker program?",
    ),
)
