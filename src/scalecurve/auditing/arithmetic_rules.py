"""Rules about the published figures themselves: do the columns agree, and were all points measured?

Every printed figure stands for the span that its rounding leaves (`figures`), and every convention that a table keeps
throughout is accepted: S(K0) = 1 or S(K0) = K0, scaled or plain speedups, a baseline that is not in the table.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterator, Sequence
from functools import partial

from scalecurve.auditing.claim import Claim, ClaimPoint
from scalecurve.auditing.figures import (
    Agreement,
    FigureRange,
    Row,
    agreement,
    anchored,
    best,
    cost_of,
    exactly,
    figure,
    rows_of,
    span_of,
    times_rows,
)
from scalecurve.auditing.rule import Hit, Said, rule
from scalecurve.laws.amdahl import serial_fraction

FLAT_POINTS = 3
FLAT_RANGE = 4  # from the first to the last K of a flat stretch
FLAT_SPREAD = 0.004
LAW_POINTS = 5
LAW_SPREAD = 0.005
WELL_BELOW = 0.97
LIKE_A_RATE = (0.5, 1.1)  # of K/K0, where a column of times rises with K
SKEW = 1e-3
ODD_SHARE, ODD_STEP = 0.5, 0.7  # E at the smallest K against one worker, and from there to the next K
AVERAGE = r"\b(geo)?(mean|average|avg)\b.{0,30}(speed|effic)\w*|^(geo)?(mean|average|avg)\b"


def _regimes(claim: Claim) -> tuple[bool, ...]:
    """Whether to read the times as weak scaling: as stated, or either way."""
    return {"strong": (False,), "weak": (True,)}.get(claim.regime or "", (False, True))


def _by_times(claim: Claim, column: str, *, weak: bool) -> Agreement:
    """A column against the times: K T E or T S is one constant, that of the baseline where the table holds it."""
    rows, anchor, base = times_rows(claim, column, weak=weak), None, claim.at(claim.baseline_k)
    cost = None if base is None or not anchored(claim, column) else cost_of(base, weak=weak)
    if base is not None and cost is not None:
        own = figure(base, column)
        is_k0 = column == "speedup" and own is not None and base.k > 1 and own.contains(base.k)
        anchor = cost.times(1.0 if column == "efficiency" or is_k0 else 1.0 / base.k)
        rows = [row for row in rows if row[0] is not base]
    return agreement("weak" if weak else "strong", rows, anchor)


def _efficiency_by_speedup(claim: Claim) -> Agreement | None:
    """E against S: K E / S is 1, or K0 where S(K0) = 1; or E = S where S is the plain T(1)/T(K) of weak scaling."""

    def ratio(point: ClaimPoint, weak: bool = False) -> FigureRange | None:
        own, speedup = figure(point, "efficiency"), figure(point, "speedup")
        return None if own is None or speedup is None else own.times(1.0 if weak else float(point.k)).over(speedup)

    k0, rows = float(claim.baseline_k), rows_of(claim, ratio)
    readings = [agreement("E = S/K", rows, exactly(1.0)), agreement("E = S K0/K", rows, exactly(k0))]
    if claim.regime != "strong":
        readings.append(agreement("E = S", rows_of(claim, partial(ratio, weak=True)), exactly(1.0)))
    return best(readings)


def _contradictions(column: str, reading: Agreement) -> Iterator[Hit]:
    """The rows of a column that do not follow from the column it was read against, each with what does follow."""
    for point, span in reading.apart:
        own = figure(point, column)
        if own is None or reading.constant is None:
            continue
        derived = own.printed * reading.constant.printed / span.printed if span.printed else 0.0
        in_percent = column == "efficiency" and point.efficiency_unit == "percent"
        given = f"{100 * derived:.3g} %" if in_percent else f"{derived:.3g}"
        source = "speedups" if reading.name.startswith("E = ") else "times" if point.seconds else "rates"
        name = {"efficiency": "E", "speedup": "S"}[column]
        yield Hit(
            f"at K = {point.k} {name} is published as {point.quoted(column)}, the {source} give {given}",
            {"k": point.k, "published": getattr(point, column), "recomputed": derived},
        )


def _another_fault(claim: Claim) -> bool:
    """Whether columns that do not agree are explained by a rule of their own."""
    return swapped(claim) is not None or bool(_efficiencies_as_speedups(claim) or reason_of_average(claim))


@rule
def efficiency_does_not_add_up(claim: Claim) -> Said:
    reading = _efficiency_by_speedup(claim) or best([_by_times(claim, "efficiency", weak=w) for w in _regimes(claim)])
    if reading is None or not reading.apart or _another_fault(claim):
        return None
    other = _by_times(claim, "efficiency", weak=claim.regime == "strong")
    if claim.regime and not other.apart and other.rows and reading.name in ("strong", "weak"):
        formula, name = ("T(1)/T(K)", "weak") if claim.regime == "strong" else ("T(1)/(K T(K))", "strong")
        return f"the efficiencies are {formula}, the formula of {name} scaling, but the claim says {claim.regime}"
    return _contradictions("efficiency", reading)


@rule
def speedup_does_not_add_up(claim: Claim) -> Said:
    reading = best([_by_times(claim, "speedup", weak=w) for w in dict.fromkeys((False, *_regimes(claim)))])
    if reading is None or not reading.apart or _another_fault(claim):
        return None
    free = agreement(reading.name, times_rows(claim, "speedup", weak=reading.name == "weak"), None)
    if reading.constant and len(reading.apart) == reading.rows > 1 and len(free.apart) <= 1:
        ratio = free.constant.printed / reading.constant.printed if free.constant is not None else 1.0
        text = f"all {reading.rows} speedups are relative to a baseline {ratio:.3g} times the one in the table"
        return Hit(text, {"ratio": ratio})
    return _contradictions("speedup", reading)


@rule
def other_baseline(claim: Claim) -> Said:
    one = claim.at(1)
    if one is None or claim.baseline.description or _efficiencies_as_speedups(claim):
        return None
    name = "efficiency" if one.speedup is None else "speedup"
    own = None if one.efficiency_unit == "speedup" and name == "efficiency" else figure(one, name)
    if own is None or own.contains(1.0):
        return None
    return Hit(
        f"at K = 1 the {name} is {one.quoted(name)}, not 1: it is relative to a program that is not shown",
        {"published": own.printed},
        credit=0.25,
    )


@rule
def baseline_speedup_odd(claim: Claim) -> Said:
    rows = sorted((p for p in claim.points if p.speedup), key=lambda p: p.k)
    if len(rows) < 2 or rows[0].k == 1 or claim.baseline.description:
        return None
    first, k = rows[0], rows[0].k
    own, (share, following) = figure(first, "speedup"), [(point.speedup or 0.0) / point.k for point in rows[:2]]
    if own is None or own.contains(1.0) or own.contains(float(k)):
        return None
    if claim.baseline.k != k and not (share < ODD_SHARE and following / share > ODD_STEP):
        return None
    text = f"S({k}) is {first.quoted('speedup')}: neither 1 (relative to K = {k}) nor near {k}"
    return Hit(text, {"k": k, "published": first.speedup}, credit=0.25)


@rule
def speedup_as_efficiency(claim: Claim) -> Said:
    listed = ", ".join(point.quoted("efficiency") for point in claim.points if point.efficiency_unit == "speedup")
    return f"the efficiency column holds speedups ({listed})" if listed else None


@rule
def efficiency_as_speedup(claim: Claim) -> Said:
    figures = _efficiencies_as_speedups(claim)
    return f"the speedup column holds efficiencies ({', '.join(figures)})" if figures else None


def _efficiencies_as_speedups(claim: Claim) -> list[str]:
    """The speedup figures as written, where the times say that all of them are efficiencies."""
    base = claim.at(claim.baseline_k)
    cost = None if base is None or claim.regime == "weak" or not base.timed else cost_of(base, weak=False)
    rows = [row for row in times_rows(claim, "speedup", weak=False) if row[0].k >= 2 * claim.baseline_k]
    if cost is None or len(rows) < 2:
        return []
    as_share = agreement("share", [(point, span.times(float(point.k))) for point, span in rows], cost)
    return [] if as_share.apart else [point.quoted("speedup") for point, _ in rows]


@rule
def mixed_units(claim: Claim) -> Said:
    first = {p.efficiency_unit: p for p in reversed(claim.points) if p.efficiency is not None}
    if not {"share", "percent"} <= first.keys():
        return None
    shares, percent = (f"K = {p.k} ({p.quoted('efficiency')})" for p in (first["share"], first["percent"]))
    return f"E is written as a share at {shares} and in percent at {percent}"


def swapped(claim: Claim) -> str | None:
    """ "times" where the column of times behaves as a rate beside its speedups, "rates" the other way round."""
    if claim.regime == "weak":
        return None
    for column in ("speedup", "efficiency"):
        timed = [p for p in sorted(claim.points, key=lambda p: p.k) if p.timed and figure(p, column) is not None]
        kinds = {"times" if point.seconds else "rates" for point in timed}
        if len(timed) < 3 or timed[-1].k < 2 * timed[0].k or len(kinds) > 1:
            continue
        fits = any(_is_constant(times_rows(claim, column, weak=weak)) for weak in (False, True))
        if not fits and _is_constant(rows_of(claim, partial(_turned, column=column))):
            return kinds.pop()
    return None


def _is_constant(rows: list[Row]) -> bool:
    return bool(rows) and not agreement("", rows, None).apart


def _turned(point: ClaimPoint, column: str) -> FigureRange | None:
    """S divided by T (or times the rate): constant where times and rates are swapped."""
    own, seconds, rate = (figure(point, name) for name in (column, "seconds", "rate"))
    if own is None:
        return None
    scaled = own.times(float(point.k)) if column == "efficiency" else own
    if seconds is not None:
        return scaled.over(seconds)
    return None if rate is None else scaled.times(rate)


@rule
def time_and_rate_swapped(claim: Claim) -> Said:
    kind, base = swapped(claim), claim.baseline_k
    beyond = [(p, e) for p, e in claim.curve if p.speedup is not None and p.k > base]
    if kind and beyond and all((p.speedup or 1.0) < 1 < e * p.k / base for p, e in beyond):
        text = f"the speedups are upside down: T(K)/T({base}) instead of T({base})/T(K)"
        return Hit(text, remedy=f"write S = T({base})/T(K), above 1 where K workers are faster")
    other = {"times": "rates", "rates": "times"}
    return f"the {kind} give the published figures only when read as {other[kind]}" if kind else None


@rule
def time_rises_like_a_rate(claim: Claim) -> Said:
    base, (least, most) = claim.at(claim.baseline_k), LIKE_A_RATE
    if base is None or claim.regime == "weak" or swapped(claim) is not None:
        return None
    for name, text in {
        "seconds": "times rise in proportion to K, as rates do",
        "rate": "rates fall as 1/K, as times do",
    }.items():
        values = [(p.k / base.k, getattr(p, name)) for p in claim.points if p.k > base.k and getattr(p, name)]
        first, power = getattr(base, name), 1 if name == "seconds" else -1
        if first and len(values) >= FLAT_POINTS and all(least <= (v / first) ** power / k <= most for k, v in values):
            return Hit(f"the {text}", credit=0.2)
    return None


def reason_of_average(claim: Claim) -> str | None:
    """How it shows that published speedups are averages of ratios; None where nothing says so."""
    if words := re.search(AVERAGE, claim.statement or "", re.IGNORECASE):
        return f"the figures are averages ({words[0].strip()!r})"
    base = claim.at(claim.baseline_k)
    kinds = [_is_mean_of_ratios(claim, point, base) for point in claim.points if base and point is not base]
    if not any(kinds) or kinds.count(False) > kinds.count(True):
        return None
    count = kinds.count(True)
    return f"at {count} K the published figure is the mean of the ratios of single runs, not the ratio of the means"


def _is_mean_of_ratios(claim: Claim, point: ClaimPoint, base: ClaimPoint) -> bool | None:
    """Whether a published speedup is a mean of ratios of single runs; None where that cannot be told."""
    own, share = figure(point, "speedup"), figure(point, "efficiency")
    if own is None and claim.regime != "weak" and share is not None:
        own = share.times(point.k / base.k)
    if own is None or not point.seconds or not base.seconds or not len(point.samples) == len(base.samples) > 1:
        return None
    if own.agrees(span_of(base.seconds / point.seconds, SKEW * base.seconds / point.seconds)):
        return False
    pairs = statistics.fmean(a / b for a, b in zip(base.samples, point.samples, strict=True))
    every = statistics.fmean(a / b for a in base.samples for b in point.samples)
    return own.contains(pairs) or own.contains(every)


@rule
def average_of_ratios(claim: Claim) -> Said:
    return reason_of_average(claim)


@rule
def extrapolation_as_result(claim: Claim) -> Said:
    extrapolated = [point.k for point in claim.points if point.extrapolated]
    text = f"extrapolated, not measured: K = {', '.join(map(str, extrapolated))}"
    return Hit(text, {"k": extrapolated}) if extrapolated else None


@rule
def unmarked_extrapolation(claim: Claim) -> Said:
    if claim.kind == "study" or any(point.extrapolated for point in claim.points):
        return None
    texts = (_flat_tail(claim), _without_spread(claim))
    return [Hit(text) for text in texts if text is not None]


def _flat_tail(claim: Claim) -> str | None:
    """What looks computed in the curve: E that does not change along its end, or points all on Amdahl's law."""
    points = claim.curve
    ends = (points[start:] for start in range(len(points) - FLAT_POINTS + 1))
    if flat := next((end for end in ends if _is_flat(end)), None):
        e = statistics.median(e for _, e in flat)
        return f"E stays at {e:.3g} from K = {flat[0][0].k} to K = {flat[-1][0].k}: it looks extrapolated"
    if claim.regime == "weak" or claim.baseline_k != 1 or any(point.std is not None for point, _ in points):
        return None
    shares = [serial_fraction(point.k, e * point.k) or 0.0 for point, e in points if e < WELL_BELOW]
    middle = statistics.median(shares) if len(shares) >= max(LAW_POINTS, len(points) - 1) else 0.0
    if middle <= 0 or not all(math.isclose(share, middle, rel_tol=LAW_SPREAD) for share in shares):
        return None
    return f"{len(shares)} points lie on Amdahl's law with a serial part of {middle:.3g}: they look computed"


def _is_flat(end: Sequence[tuple[ClaimPoint, float]]) -> bool:
    low, high = min(e for _, e in end), max(e for _, e in end)
    return high < min(WELL_BELOW, low * (1 + FLAT_SPREAD)) and end[-1][0].k >= FLAT_RANGE * end[0][0].k


def _without_spread(claim: Claim) -> str | None:
    """The larger K that have no repeats or spread although smaller ones do."""
    points = [p for p in sorted(claim.points, key=lambda p: p.k) if p.timed or p.speedup]
    bare = [point.n is None and point.std is None for point in points]
    start = bare.index(True) if True in bare else 0
    if start < 2 or not all(bare[start:]):
        return None
    beyond = ", ".join(str(point.k) for point in points[start:])
    return f"K = {beyond} have no repeats or spread, unlike smaller K: extrapolated?"
