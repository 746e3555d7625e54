"""Rules about the numbers: how they were measured, and what the curve says."""

from __future__ import annotations

import math
import re

from scalecurve.auditing.claim import Claim
from scalecurve.auditing.job_rules import stated
from scalecurve.auditing.rule import Hit, Said, rule
from scalecurve.forecasting.published import place
from scalecurve.laws.amdahl import serial_fraction
from scalecurve.study import Treatment
from scalecurve.words import workers_text

NOISE = 0.01
ENOUGH_REPEATS = 5
SMALLEST_SPREAD, WIDE = 5e-4, 0.1  # of the mean
MOST_DIGITS = 6
HIGH, FAIR = 0.85, 0.7
FLAT = 0.25
NO_LOSS = 0.005
NEARLY_LINEAR = 0.85
BEST_OF = r"\b(best|fastest|minimum|shortest) (out )?of \w+"


def _startup(claim: Claim, treatment: Treatment) -> list[str]:
    """Which of warm-up and set-up were treated so."""
    both = {"warm-up": claim.measurement.warmup, "set-up": claim.measurement.setup}
    return [name for name, value in both.items() if value is treatment]


@rule
def startup_included(claim: Claim) -> Said:
    return [Hit(f"{name} is inside the measured times") for name in _startup(claim, Treatment.INCLUDED)]


@rule
def startup_unknown(claim: Claim) -> Said:
    unknown = _startup(claim, Treatment.UNKNOWN)
    text = f"treatment of {' and '.join(unknown)} not stated"
    return Hit(text, credit=0.5 if len(unknown) == 1 else 0.0) if unknown else None


@rule
def single_run(claim: Claim) -> Said:
    counts = stated(claim, "n")
    single = [k for k, n in counts.items() if n == 1]
    if claim.measurement.repeats == 1 or (counts and len(single) == len(counts)):
        return Hit("every point is a single run", credit=0.25)
    return Hit(f"a single run at K = {', '.join(map(str, single))}", {"k": single}, credit=0.5) if single else None


@rule
def few_repeats(claim: Claim) -> Said:
    few = [n for n in (*stated(claim, "n").values(), claim.measurement.repeats or 0) if 1 < n < ENOUGH_REPEATS]
    return f"as few as {min(few)} repeats: a 95 % interval of the median needs 6" if few else None


@rule
def spread_missing(claim: Claim) -> Said:
    if claim.measurement.spread_reported or any(point.spread is not None for point in claim.points):
        return None
    if best := re.search(BEST_OF, f"{claim.statement or ''}; {claim.workload or ''}", re.IGNORECASE):
        return Hit(f"{best[0]} runs: the best of several hides how much they differ", credit=0.25)
    repeats = claim.measurement.repeats or max(stated(claim, "n").values(), default=None)
    if repeats is None:
        return "repeats and spread not stated"
    return Hit(f"{repeats} repeats, but no spread", {"repeats": repeats}, credit=0.5) if repeats > 1 else None


@rule
def wide_spread(claim: Claim) -> Said:
    wide = {p.k: p.spread for p in claim.points if p.spread and p.spread > WIDE}
    if not wide:
        return None
    k = max(wide, key=wide.__getitem__)
    how = "half of longest less shortest" if stated(claim, "std").get(k) is None else "standard deviation"
    text = f"runs differ by {wide[k]:.0%} at K = {k} ({how} over mean)"
    return Hit(text, {"k": k, "spread": wide[k]}, credit=0.5)


@rule
def superhuman_precision(claim: Claim) -> Said:
    repeats, spreads = claim.measurement.repeats, stated(claim, "std")
    several = [p for p in claim.points if p.k in spreads and (p.n or repeats or 2) > 1]
    relative = [spreads[p.k] / p.seconds for p in several if p.seconds]
    if relative and 0 < max(relative) < SMALLEST_SPREAD:
        return f"the largest relative spread is {max(relative):.2g}: no wall clock repeats that closely"
    if equal := [p.k for p in several if p.std == 0 and (p.n or repeats or 1) > 2]:
        listed = ", ".join(map(str, equal))
        return Hit(f"the spread at K = {listed} is 0 over several runs: rounded, copied, or one run", {"k": equal})
    if relative or any(point.timed for point in claim.points):  # then the digits are those of a division
        return None
    return _too_many_digits(claim)


def _too_many_digits(claim: Claim) -> str | None:
    speedups = [f"{p.speedup:.15g}".replace(".", "").lstrip("0").partition("e")[0] for p in claim.points if p.speedup]
    digits = max(map(len, speedups), default=0)
    return f"speedups have {digits} significant digits and no spread" if digits >= MOST_DIGITS else None


@rule
def hardware_unknown(claim: Claim) -> Said:
    absent = [name for name in ("hardware", "software") if getattr(claim.environment, name) is None]
    return Hit(f"{' and '.join(absent)} not stated", {"absent": absent}) if absent else None


@rule
def speedup_only(claim: Claim) -> Said:
    last = max((p for p in claim.points if p.speedup is not None), key=lambda p: p.k, default=None)
    e = None if last is None or stated(claim, "efficiency") else claim.efficiency_of(last)
    if last is None or e is None:
        return None
    idle = f"{1 - e:.0%} of the fleet is idle" if e <= 1 else "more than the workers can give"
    written, workers = last.quoted("speedup").rstrip("xX "), workers_text(last.k, claim.k_unit)
    text = f"speedup only: {written}x on {workers} is E = {e:.2f}, {idle}"
    return Hit(text, {"k": last.k, "speedup": last.speedup, "efficiency": e}, credit=0.5)


@rule
def words_overstate(claim: Claim) -> Said:
    words = re.search(r"(near[ -]*|almost |perfect(ly)? |close to )?linear", claim.statement or "", re.IGNORECASE)
    if not words or not claim.curve or claim.curve[-1][1] >= NEARLY_LINEAR:
        return None
    point, e = claim.curve[-1]
    return Hit(f"the claim says {words[0]!r}, but E = {e:.2f} at K = {point.k}", {"k": point.k, "efficiency": e})


@rule
def no_efficiency(claim: Claim) -> Said:
    if claim.curve:
        return None
    base, last = claim.at(claim.baseline_k), max(claim.points, key=lambda point: point.k, default=None)
    if not (base and last and base.k != last.k and base.seconds and last.seconds) or claim.reading_of_times:
        return "no efficiency can be computed from these numbers"
    weak = base.seconds / last.seconds
    strong = weak * base.k / last.k
    text = f"E at K = {last.k} is {strong:.3f} if the total work was fixed, {weak:.3f} if the work per worker was"
    return Hit(text, {"k": last.k, "strong": strong, "weak": weak})


@rule
def efficiency_range(claim: Claim) -> Said:
    if len(claim.curve) < 2:
        return None
    parts: dict[str, str] = {}  # the highest floor of each range
    for floor in (HIGH, FAIR):
        below = next((i for i, (_, e) in enumerate(claim.curve) if e < floor), None)
        through = f"through K = {claim.curve[below - 1][0].k}" if below else "at no K beyond the baseline"
        where = f"at every K, to {claim.curve[-1][0].k}" if below is None else through
        parts.setdefault(where, f"E is {floor} or more {where}")
    return Hit("; ".join(parts.values()), {"efficiencies": {str(point.k): e for point, e in claim.curve}})


@rule
def karp_flatt_trend(claim: Claim) -> Said:
    points = () if claim.may_be_weak or claim.baseline_k != 1 else claim.curve
    serial = {p.k: share for p, e in points if (share := serial_fraction(p.k, e * p.k)) is not None}
    if len(serial) < 2:
        return None
    (first_k, first), *_, (last_k, last) = serial.items()
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
    text = f"the Karp-Flatt fraction goes from {first:.4f} at K = {first_k} to {last:.4f} at K = {last_k}: {meaning}"
    return Hit(text, {"karp_flatt": {str(k): value for k, value in serial.items()}})


def _slower(claim: Claim) -> Hit | None:
    """The largest K that is slower than a smaller one, beyond the noise."""
    fastest, slow = (claim.baseline_k, 1.0, claim.at(claim.baseline_k)), None
    grows = claim.may_be_weak or set(claim.steps) == {"grows"}  # whatever the claim says of its regime
    for point, e in () if grows else claim.curve:
        speed = e * point.k / claim.baseline_k
        noise = 2 * math.hypot(*(p.std / p.seconds for p in (fastest[2], point) if p and p.std and p.seconds))
        if speed >= fastest[1]:
            fastest = (point.k, speed, point)
        elif speed < fastest[1] * (1 - max(noise, NOISE)):
            slow = (point.k, speed / fastest[1], *fastest[:2])
    if slow is None:
        return None
    k, ratio, best, peak = slow
    text = f"K = {k} is slower than K = {best}: {ratio:.2f} times the speed with {k / best:.3g} times the workers"
    return Hit(text, {"k": k, "best": best, "ratio": ratio, "speed": ratio * peak})


@rule
def slower_than_baseline(claim: Claim) -> Said:
    hit = _slower(claim)
    return hit if hit is not None and hit.evidence["speed"] < 1 - NOISE else None


@rule
def slower_than_fewer(claim: Claim) -> Said:
    hit = _slower(claim)
    return hit if hit is not None and hit.evidence["speed"] >= 1 - NOISE else None


@rule
def standing(claim: Claim) -> Said:
    regime = "weak" if claim.may_be_weak else "strong"
    for point, e in claim.curve[-1:]:
        placed = place(e, point.k / claim.baseline_k, regime=regime, k_unit=claim.k_unit)
        if placed is not None:
            row, domain = placed
            evidence = {"k": point.k, "percentile": row.percentile, "curves": row.curves, "regime": regime}
            return Hit(row.sentence() + ("" if domain == "all" else f", {domain}"), evidence)
    return None


@rule
def mostly_idle(claim: Claim) -> Said:
    if not claim.curve or claim.curve[-1][1] >= 0.5:
        return None
    point, e = claim.curve[-1]
    return Hit(f"{1 - e:.0%} of the fleet is idle at K = {point.k}", {"k": point.k, "efficiency": e})
