"""Rules about the numbers: how they were measured, and what the curve says."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from scalecurve.auditing.claim import Claim
from scalecurve.auditing.job_rules import machine_kind
from scalecurve.auditing.rule import Hit, rule
from scalecurve.forecasting.published import place
from scalecurve.laws.amdahl import serial_fraction
from scalecurve.study import Treatment
from scalecurve.words import workers_text

NOISE = 0.01

ENOUGH_REPEATS = 5
SMALLEST_SPREAD = 5e-4
MOST_DIGITS = 6
HIGH, FAIR = 0.85, 0.7
FLAT = 0.25
NO_LOSS = 0.005
NEARLY_LINEAR = 0.85


def _startup(claim: Claim, treatment: Treatment) -> list[str]:
    """Which of warm-up and set-up were treated so."""
    both = {"warm-up": claim.measurement.warmup, "set-up": claim.measurement.setup}
    return [name for name, value in both.items() if value is treatment]


@rule
def startup_included(claim: Claim) -> Iterator[Hit]:
    for name in _startup(claim, Treatment.INCLUDED):
        yield Hit(f"{name} is inside the measured times", {name: "included"})


@rule
def startup_unknown(claim: Claim) -> Iterator[Hit]:
    unknown = _startup(claim, Treatment.UNKNOWN)
    if unknown:
        yield Hit(f"treatment of {' and '.join(unknown)} not stated", credit=0.5 if len(unknown) == 1 else 0.0)


def _counts(claim: Claim) -> dict[int, int]:
    return {point.k: point.n for point in claim.points if point.n is not None}


@rule
def single_run(claim: Claim) -> Iterator[Hit]:
    counts = _counts(claim)
    single = [k for k, n in counts.items() if n == 1]
    if claim.measurement.repeats == 1 or (counts and len(single) == len(counts)):
        yield Hit("every point is a single run", {"repeats": 1}, credit=0.25)
    elif single:
        yield Hit(f"a single run at K = {', '.join(map(str, single))}", {"k": single}, credit=0.5)


@rule
def few_repeats(claim: Claim) -> Iterator[Hit]:
    counts = [*_counts(claim).values(), *([claim.measurement.repeats] if claim.measurement.repeats else [])]
    few = [n for n in counts if 1 < n < ENOUGH_REPEATS]
    if few:
        yield Hit(f"as few as {min(few)} repeats: a 95 % interval of the median needs 6", {"repeats": min(few)})


@rule
def spread_missing(claim: Claim) -> Iterator[Hit]:
    if claim.measurement.spread_reported or any(point.std is not None for point in claim.points):
        return
    repeats = claim.measurement.repeats or max(_counts(claim).values(), default=None)
    if repeats is None:
        yield Hit("repeats and spread not stated")
    elif repeats > 1:
        yield Hit(f"{repeats} repeats, but no spread", {"repeats": repeats}, credit=0.5)


@rule
def not_fresh_launches(claim: Claim) -> Iterator[Hit]:
    if claim.measurement.fresh_launches is False:
        yield Hit("the repeats are iterations of one launch: they miss the noise from run to run")


@rule
def superhuman_precision(claim: Claim) -> Iterator[Hit]:
    relative = [p.std / p.seconds for p in claim.points if p.std is not None and p.seconds and (p.n or 2) > 1]
    if relative and max(relative) < SMALLEST_SPREAD:
        message = f"the largest relative spread is {max(relative):.1e}: no wall clock repeats that closely"
        yield Hit(message, {"largest_relative_spread": max(relative)})
    elif equal := [p.k for p in claim.points if p.std == 0 and (p.n or claim.measurement.repeats or 1) > 2]:
        listed = ", ".join(map(str, equal))
        yield Hit(f"the spread at K = {listed} is 0 over several runs: rounded, copied, or one run", {"k": equal})
    if relative or any(point.timed for point in claim.points):  # then the digits are those of a division
        return
    speedups = [f"{p.speedup:.15g}".replace(".", "").lstrip("0").partition("e")[0] for p in claim.points if p.speedup]
    digits = max(map(len, speedups), default=0)
    if digits >= MOST_DIGITS:
        yield Hit(f"speedups have {digits} significant digits and no spread", {"digits": digits})


@rule
def several_machines(claim: Claim) -> Iterator[Hit]:
    by_kind = {machine_kind(point.machine): point.machine for point in claim.points if point.machine}
    machines = sorted(by_kind.values())
    clusters = claim.environment.clusters
    if len(machines) > 1:
        yield Hit(f"points come from {len(machines)} machines: {', '.join(machines)}", {"machines": machines})
    elif clusters is not None and clusters > 1:
        yield Hit(f"points come from {clusters} clusters", {"clusters": clusters})


@rule
def hardware_unknown(claim: Claim) -> Iterator[Hit]:
    absent = [name for name in ("hardware", "software") if getattr(claim.environment, name) is None]
    if absent:
        yield Hit(f"{' and '.join(absent)} not stated", {"absent": absent})


@rule
def speedup_only(claim: Claim) -> Iterator[Hit]:
    speedups = [point for point in claim.points if point.speedup is not None]
    if not speedups or any(point.efficiency is not None for point in claim.points):
        return
    last = max(speedups, key=lambda point: point.k)
    e = claim.efficiency_of(last)
    if e is not None:
        idle = f"{1 - e:.0%} of the fleet is idle" if e <= 1 else "more than the workers can give"
        yield Hit(
            f"speedup only: {last.quoted('speedup').rstrip('xX ')}x on {workers_text(last.k, claim.k_unit)} is "
            f"E = {e:.2f}, {idle}",
            {"k": last.k, "speedup": last.speedup, "efficiency": e},
            credit=0.5,
        )


@rule
def words_overstate(claim: Claim) -> Iterator[Hit]:
    efficiencies = list(claim.efficiencies())
    words = re.search(r"(near[ -]*|almost |perfect(ly)? |close to )?linear", claim.statement or "", re.IGNORECASE)
    if words and efficiencies and efficiencies[-1][1] < NEARLY_LINEAR:
        point, e = efficiencies[-1]
        evidence = {"k": point.k, "efficiency": e, "statement": claim.statement}
        yield Hit(f"the claim says {words[0]!r}, but E = {e:.2f} at K = {point.k}", evidence)


@rule
def no_efficiency(claim: Claim) -> Iterator[Hit]:
    if any(math.isfinite(e) for _, e in claim.efficiencies()):
        return
    base, last = claim.at(claim.baseline_k), max(claim.points, key=lambda point: point.k, default=None)
    if base and last and base.k != last.k and base.seconds and last.seconds and claim.reading_of_times is None:
        weak = base.seconds / last.seconds
        strong = weak * base.k / last.k
        text = f"E at K = {last.k} is {strong:.3f} if the total work was fixed, {weak:.3f} if the work per worker was"
        yield Hit(text, {"k": last.k, "strong": strong, "weak": weak})
    else:
        yield Hit("no efficiency can be computed from these numbers")


@rule
def efficiency_range(claim: Claim) -> Iterator[Hit]:
    efficiencies = list(claim.efficiencies())
    if len(efficiencies) < 2:
        return
    parts: dict[str, str] = {}  # the highest floor of each range
    for floor in (HIGH, FAIR):
        below = next((i for i, (_, e) in enumerate(efficiencies) if e < floor), None)
        through = f"through K = {efficiencies[below - 1][0].k}" if below else "at no K beyond the baseline"
        where = f"at every K, to {efficiencies[-1][0].k}" if below is None else through
        parts.setdefault(where, f"E is {floor} or more {where}")
    yield Hit("; ".join(parts.values()), {"efficiencies": {str(point.k): e for point, e in efficiencies}})


@rule
def karp_flatt_trend(claim: Claim) -> Iterator[Hit]:
    if claim.may_be_weak or claim.baseline_k != 1:
        return
    fractions = {p.k: serial_fraction(p.k, e * p.k) for p, e in claim.efficiencies() if p.k > 1 and e > 0}
    serial = {k: value for k, value in fractions.items() if value is not None}
    if len(serial) < 2:
        return
    (first_k, first), (last_k, last) = next(iter(serial.items())), next(reversed(serial.items()))
    if all(abs(value) * (k - 1) < NO_LOSS for k, value in serial.items()):  # 1/E - 1
        meaning = "about 0 means no loss at all"
    elif min(first, last) < 0:
        meaning = "below 0 means a superlinear step or a weak baseline"
    elif last > (1 + FLAT) * first:
        meaning = "rising means overhead that grows with K, such as communication"
    elif last < (1 - FLAT) * first:
        meaning = "falling means a loss that is there at small K already, such as imbalance or a slow K = 2"
    else:
        meaning = "about flat means a serial part"
    yield Hit(
        f"the Karp-Flatt fraction goes from {first:.4f} at K = {first_k} to {last:.4f} at K = {last_k}: {meaning}",
        {"karp_flatt": {str(k): value for k, value in serial.items()}},
    )


@rule
def slower_than_baseline(claim: Claim) -> Iterator[Hit]:
    if claim.may_be_weak:
        return
    fastest, slow = (claim.baseline_k, 1.0, claim.at(claim.baseline_k)), None
    for point, e in claim.efficiencies():
        speed = e * point.k / claim.baseline_k
        noise = 2 * math.hypot(*(p.std / p.seconds for p in (fastest[2], point) if p and p.std and p.seconds))
        if speed >= fastest[1]:
            fastest = (point.k, speed, point)
        elif speed < fastest[1] * (1 - max(noise, NOISE)):
            slow = (point.k, speed / fastest[1], fastest[0])
    if slow is not None:
        k, ratio, best = slow
        yield Hit(
            f"K = {k} is slower than K = {best}: {ratio:.2f} times the speed with {k / best:.3g} times the workers",
            {"k": k, "best": best, "ratio": ratio},
        )


@rule
def standing(claim: Claim) -> Iterator[Hit]:
    efficiencies = list(claim.efficiencies())
    if not efficiencies:
        return
    point, e = efficiencies[-1]
    regime = "weak" if claim.may_be_weak else "strong"
    placed = place(e, point.k / claim.baseline_k, regime=regime, k_unit=claim.k_unit)
    if placed is not None:
        row, domain = placed
        evidence = {"k": point.k, "percentile": row.percentile, "curves": row.curves, "regime": regime}
        among = "" if domain == "all" else f", {domain}"
        yield Hit(f"{row.sentence()}{among}", evidence)


@rule
def mostly_idle(claim: Claim) -> Iterator[Hit]:
    efficiencies = list(claim.efficiencies())
    if efficiencies and efficiencies[-1][1] < 0.5:
        point, e = efficiencies[-1]
        yield Hit(f"{1 - e:.0%} of the fleet is idle at K = {point.k}", {"k": point.k, "efficiency": e})


@rule
def no_ideal_line(claim: Claim) -> Iterator[Hit]:
    if claim.figure.ideal_line is False:
        yield Hit("the figure has no ideal line")
