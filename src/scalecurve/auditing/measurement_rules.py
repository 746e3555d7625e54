"""Rules about how the numbers were taken: warm-up, set-up, repeats, machines, precision."""

from __future__ import annotations

from collections.abc import Iterator

from scalecurve.auditing.claim import Claim
from scalecurve.auditing.rule import Effect, Hit, Item, Rule
from scalecurve.findings import Severity
from scalecurve.study import Treatment

ENOUGH = 5
STEADIEST = 5e-4
SIGNIFICANT_DIGITS = 6


def _included(claim: Claim) -> Iterator[Hit]:
    for name, treatment in (("warm-up", claim.warmup), ("set-up", claim.setup)):
        if treatment is Treatment.INCLUDED:
            yield Hit(f"{name} is inside the measured times", {name: str(treatment)})


def _unknown(claim: Claim) -> Iterator[Hit]:
    unsaid = [name for name, how in (("warm-up", claim.warmup), ("set-up", claim.setup)) if how is Treatment.UNKNOWN]
    if unsaid:
        yield Hit(f"it is not said whether {' and '.join(unsaid)} {'is' if len(unsaid) == 1 else 'are'} in the times")


def _counts(claim: Claim) -> dict[int, int]:
    return {point.k: point.n for point in claim.points if point.n is not None}


def _single(claim: Claim) -> Iterator[Hit]:
    counts = _counts(claim)
    single = [k for k, n in counts.items() if n == 1]
    if claim.repeats == 1 or (counts and len(single) == len(counts)):
        yield Hit("every point is a single run: a lucky one cannot be told from a typical one", {"repeats": 1})
    elif single:
        yield Hit(f"a single run at K = {', '.join(map(str, single))}", {"k": single})


def _few(claim: Claim) -> Iterator[Hit]:
    counts = _counts(claim)
    few = {k: n for k, n in counts.items() if 1 < n < ENOUGH}
    if few or (claim.repeats is not None and 1 < claim.repeats < ENOUGH):
        least = min(few.values()) if few else claim.repeats
        yield Hit(f"as few as {least} repeats: a 95 % interval of the median needs 6", {"repeats": least})


def _spread_missing(claim: Claim) -> Iterator[Hit]:
    has_spread = any(point.std is not None for point in claim.points) or claim.spread_reported
    repeats = claim.repeats or max(_counts(claim).values(), default=None)
    if not has_spread and repeats is None:
        yield Hit("neither repeats nor a spread is given")
    elif not has_spread and repeats is not None and repeats > 1:
        yield Hit(f"{repeats} repeats, but no spread", {"repeats": repeats})


def _not_fresh(claim: Claim) -> Iterator[Hit]:
    if claim.fresh_launches is False:
        yield Hit("the repeats are iterations of one launch: they miss the noise from run to run")


def _steady(claim: Claim) -> Iterator[Hit]:
    relative = [p.std / p.seconds for p in claim.points if p.std is not None and p.seconds and (p.n or 2) > 1]
    if relative and max(relative) < STEADIEST:
        yield Hit(
            f"the largest relative spread is {max(relative):.1e}: no wall clock repeats like that, so these are "
            "rounded values, copies of one run, or a model's output",
            {"largest_relative_spread": max(relative)},
        )
    elif not relative:
        digits = max((_digits(point.speedup) for point in claim.points), default=0)
        if digits >= SIGNIFICANT_DIGITS:
            yield Hit(f"speedups are given to {digits} significant digits and without a spread", {"digits": digits})


def _digits(value: float | None) -> int:
    return 0 if value is None else len(f"{value:.15g}".replace(".", "").lstrip("0").partition("e")[0])


def _clusters(claim: Claim) -> Iterator[Hit]:
    machines = {point.machine for point in claim.points if point.machine}
    if len(machines) > 1:
        yield Hit(
            f"points come from {len(machines)} machines: {', '.join(sorted(machines))}", {"machines": sorted(machines)}
        )
    elif claim.clusters is not None and claim.clusters > 1:
        yield Hit(f"points come from {claim.clusters} clusters", {"clusters": claim.clusters})


def _hardware(claim: Claim) -> Iterator[Hit]:
    absent = [name for name in ("hardware", "software") if getattr(claim, name) is None]
    if absent:
        yield Hit(f"{' and '.join(absent)} {'are' if len(absent) > 1 else 'is'} not stated", {"absent": absent})


MEASUREMENT_RULES = (
    Rule(
        code="startup-included",
        severity=Severity.ERROR,
        title="Warm-up or set-up is inside the times",
        why="Start-up costs differ between K = 1 and K, and are not what scales.",
        remedy="time the steady state only; report start-up by itself",
        source="reporting checklist, row 3; monocongo/climate_indices#948",
        check=_included,
        item=Item.STEADY,
        effect=Effect.VIOLATED,
    ),
    Rule(
        code="startup-unknown",
        severity=Severity.WARNING,
        title="Warm-up and set-up are not mentioned",
        why="Autotuning, connection set-up and loading can make up much of a short run.",
        remedy="say how warm-up and set-up were kept out of the times",
        source="reporting checklist, row 3; ecmwf/anemoi-core#1254",
        check=_unknown,
        item=Item.STEADY,
        effect=Effect.MISSING,
        asks="Were warm-up and set-up excluded, and how?",
    ),
    Rule(
        code="single-run",
        severity=Severity.WARNING,
        title="One run per point",
        why="A single run is one draw from a noisy distribution.",
        remedy="repeat each K at least 5 times with fresh launches",
        source="reporting checklist, row 4",
        check=_single,
        item=Item.SPREAD,
        effect=Effect.MISSING,
        asks="How many fresh launches per point, and what is their spread?",
    ),
    Rule(
        code="few-repeats",
        severity=Severity.INFO,
        title="Few repeats",
        why="Below 5 the interval of a speedup is wide; a distribution-free interval of the median needs 6.",
        remedy="5 to 10 fresh launches per K",
        source="MikkoParkkola/mcp-gateway#615",
        check=_few,
    ),
    Rule(
        code="spread-missing",
        severity=Severity.WARNING,
        title="No variance",
        why="A mean without a spread hides whether 1.9x is solid or a coin flip from 1.6x.",
        remedy="give the standard deviation or an interval at every K",
        source="reporting checklist, row 4",
        check=_spread_missing,
        item=Item.SPREAD,
        effect=Effect.MISSING,
        asks="How many repeats were made, and what is the standard deviation at each K?",
    ),
    Rule(
        code="not-fresh-launches",
        severity=Severity.WARNING,
        title="Repeats within one launch",
        why="Spread within a run understates that between runs: identical code then looks different.",
        remedy="start the job anew for every repeat",
        source="ohdearquant/lattice#1137; faster-cpython/ideas#551",
        check=_not_fresh,
        item=Item.SPREAD,
        effect=Effect.VIOLATED,
    ),
    Rule(
        code="superhuman-precision",
        severity=Severity.WARNING,
        title="Numbers too good for a clock",
        why="Real launches differ by a percent or so; numbers that do not are rounded, copied or computed.",
        remedy="ask for the raw times of every launch",
        source="psf/pyperf checks",
        check=_steady,
        item=Item.SPREAD,
        effect=Effect.MISSING,
        asks="May we see the raw times of every launch?",
    ),
    Rule(
        code="several-machines",
        severity=Severity.ERROR,
        title="Points from different machines",
        why="Differences between machines read as scaling: 128 GPUs looked faster per GPU than 8.",
        remedy="measure every K on one cluster",
        source="pytorch/torchtitan#619",
        check=_clusters,
        item=Item.WORKLOAD,
        effect=Effect.VIOLATED,
    ),
    Rule(
        code="hardware-unknown",
        severity=Severity.INFO,
        title="Hardware or software is not stated",
        why="Nobody can repeat the measurement or judge the interconnect.",
        remedy="state machine, interconnect, library and driver versions",
        source="pytorch/torchtitan#394",
        check=_hardware,
        asks="Which machines, interconnect and software versions?",
    ),
)
