"""Rules about the published figures themselves: do the columns agree, and were all points measured?

Every printed figure stands for the span that its rounding leaves (`figures`), and every convention that a table keeps
throughout is accepted: S(K0) = 1 or S(K0) = K0, scaled or plain speedups, a baseline that is not in the table.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterator

from scalecurve.auditing.claim import Claim, ClaimPoint
from scalecurve.auditing.figures import (
    Agreement,
    FigureRange,
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
from scalecurve.auditing.rule import Hit, rule
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


def _regimes(claim: Claim) -> tuple[bool, ...]:
    """Whether to read the times as weak scaling: as stated, or either way."""
    return {"strong": (False,), "weak": (True,)}.get(claim.regime or "", (False, True))


def _by_times(claim: Claim, column: str, *, weak: bool) -> Agreement:
    """A column against the times: K T E or T S is one constant, that of the baseline where the table holds it."""
    rows = times_rows(claim, column, weak=weak)
    anchor = None
    base = claim.at(claim.baseline_k)
    cost = None if base is None or not anchored(claim, column) else cost_of(base, weak=weak)
    if base is not None and cost is not None:
        factor = 1.0 if column == "efficiency" else 1.0 / base.k
        own = figure(base, column)
        is_k0 = column == "speedup" and own is not None and base.k > 1 and own.contains(base.k)
        anchor = cost.times(factor * (base.k if is_k0 else 1.0))
        rows = [row for row in rows if row[0] is not base]
    return agreement("weak" if weak else "strong", rows, anchor)


def _efficiency_by_speedup(claim: Claim) -> Agreement | None:
    """E against S: K E / S is 1, or K0 where S(K0) = 1; or E = S where S is the plain T(1)/T(K) of weak scaling."""

    def ratio(point: ClaimPoint) -> FigureRange | None:
        own, speedup = figure(point, "efficiency"), figure(point, "speedup")
        return None if own is None or speedup is None else own.times(float(point.k)).over(speedup)

    def plain(point: ClaimPoint) -> FigureRange | None:
        own = ratio(point)
        return None if own is None else own.over(float(point.k))

    k0 = float(claim.baseline_k)
    readings = [agreement("E = S/K", rows_of(claim, ratio), exactly(1.0))]
    if k0 != 1:
        readings.append(agreement("E = S K0/K", rows_of(claim, ratio), exactly(k0)))
    if claim.regime != "strong":
        readings.append(agreement("E = S", rows_of(claim, plain), exactly(1.0)))
    return best(readings)


def _contradictions(column: str, reading: Agreement) -> Iterator[Hit]:
    """The rows of a column that do not follow from the column it was read against, each with what does follow."""
    name = {"efficiency": "E", "speedup": "S"}[column]
    for point, span in reading.apart:
        own = figure(point, column)
        if own is None or reading.constant is None:
            continue
        derived = own.printed * reading.constant.printed / span.printed if span.printed else 0.0
        in_percent = column == "efficiency" and point.efficiency_unit == "percent"
        given = f"{100 * derived:.3g}%" if in_percent else f"{derived:.3g}"
        source = "speedups" if reading.name.startswith("E = ") else "times" if point.seconds else "rates"
        yield Hit(
            f"at K = {point.k} {name} is published as {point.quoted(column)}, the {source} give {given}",
            {"k": point.k, "published": getattr(point, column), "recomputed": derived},
        )


@rule
def efficiency_does_not_add_up(claim: Claim) -> Iterator[Hit]:
    if swapped(claim) is not None or _efficiencies_as_speedups(claim) is not None:
        return
    reading = _efficiency_by_speedup(claim) or best([_by_times(claim, "efficiency", weak=w) for w in _regimes(claim)])
    if reading is None or not reading.apart or reason_of_average(claim):
        return
    other = _by_times(claim, "efficiency", weak=claim.regime == "strong")
    if claim.regime and not other.apart and other.rows and reading.name in ("strong", "weak"):
        formula, name = ("T(1)/T(K)", "weak") if claim.regime == "strong" else ("T(1)/(K T(K))", "strong")
        message = f"the efficiencies are {formula}, the formula of {name} scaling, but the claim says {claim.regime}"
        yield Hit(message, {"k": [point.k for point, _ in reading.apart]})
        return
    yield from _contradictions("efficiency", reading)


@rule
def speedup_does_not_add_up(claim: Claim) -> Iterator[Hit]:
    if swapped(claim) is not None or _efficiencies_as_speedups(claim) is not None:
        return
    reading = best([_by_times(claim, "speedup", weak=w) for w in dict.fromkeys((False, *_regimes(claim)))])
    if reading is None or not reading.apart or reason_of_average(claim):
        return
    free = agreement(reading.name, times_rows(claim, "speedup", weak=reading.name == "weak"), None)
    if reading.constant is not None and len(reading.apart) == reading.rows > 1 and len(free.apart) <= 1:
        ratio = free.constant.printed / reading.constant.printed if free.constant is not None else 1.0
        message = f"all {reading.rows} speedups are relative to a baseline {ratio:.3g} times the one in the table"
        yield Hit(message, {"k": [point.k for point, _ in reading.apart], "ratio": ratio})
        return
    yield from _contradictions("speedup", reading)


@rule
def other_baseline(claim: Claim) -> Iterator[Hit]:
    one = claim.at(1)
    if one is None or claim.baseline.description or _efficiencies_as_speedups(claim) is not None:
        return
    own = figure(one, "speedup") or (figure(one, "efficiency") if one.efficiency_unit != "speedup" else None)
    if own is not None and not own.contains(1.0):
        name = "efficiency" if one.speedup is None else "speedup"
        message = f"at K = 1 the {name} is {one.quoted(name)}, not 1: it is relative to a program that is not shown"
        yield Hit(message, {"published": own.printed}, credit=0.25)


@rule
def baseline_speedup_odd(claim: Claim) -> Iterator[Hit]:
    rows = sorted((p for p in claim.points if p.speedup), key=lambda p: p.k)
    if len(rows) < 2 or rows[0].k == 1 or claim.baseline.description:
        return
    first, second = rows[0], rows[1]
    own = figure(first, "speedup")
    if own is None or own.contains(1.0) or own.contains(float(first.k)) or not first.speedup or not second.speedup:
        return
    share, step = first.speedup / first.k, second.speedup / first.speedup * first.k / second.k
    if claim.baseline.k == first.k or (share < ODD_SHARE and step > ODD_STEP):
        message = f"S({first.k}) is {first.quoted('speedup')}: neither 1 (relative to K = {first.k}) nor near {first.k}"
        yield Hit(message, {"k": first.k, "published": first.speedup}, credit=0.25)


@rule
def speedup_as_efficiency(claim: Claim) -> Iterator[Hit]:
    wrong = [point for point in claim.points if point.efficiency_unit == "speedup"]
    if wrong:
        listed = ", ".join(point.quoted("efficiency") for point in wrong)
        yield Hit(f"the efficiency column holds speedups ({listed})", {"k": [point.k for point in wrong]})


@rule
def efficiency_as_speedup(claim: Claim) -> Iterator[Hit]:
    if (figures := _efficiencies_as_speedups(claim)) is not None:
        yield Hit(f"the speedup column holds efficiencies ({', '.join(figures)})")


def _efficiencies_as_speedups(claim: Claim) -> list[str] | None:
    """The speedup figures as written, where the times say that all of them are efficiencies."""
    base = claim.at(claim.baseline_k)
    if base is None or claim.regime == "weak" or not base.timed:
        return None
    rows = [row for row in times_rows(claim, "speedup", weak=False) if row[0].k >= 2 * base.k]
    cost = cost_of(base, weak=False)
    if cost is None or len(rows) < 2:
        return None
    as_share = agreement("share", [(point, span.times(float(point.k))) for point, span in rows], cost)
    return None if as_share.apart else [point.quoted("speedup") for point, _ in rows]


@rule
def mixed_units(claim: Claim) -> Iterator[Hit]:
    by_unit = {
        unit: [point for point in claim.points if point.efficiency_unit == unit and point.efficiency is not None]
        for unit in ("share", "percent")
    }
    if all(by_unit.values()):
        one, other = by_unit["share"][0], by_unit["percent"][0]
        yield Hit(
            f"E is written as a share at K = {one.k} ({one.quoted('efficiency')}) and in percent at K = {other.k} "
            f"({other.quoted('efficiency')})",
            {unit: [point.k for point in points] for unit, points in by_unit.items()},
        )


def swapped(claim: Claim) -> str | None:
    """ "times" where the column of times behaves as a rate beside its speedups, "rates" the other way round."""
    for column in ("speedup", "efficiency"):
        timed = [p for p in sorted(claim.points, key=lambda p: p.k) if p.timed and figure(p, column) is not None]
        if len(timed) < 3 or max(p.k for p in timed) < 2 * min(p.k for p in timed) or claim.regime == "weak":
            continue
        kinds = {"times" if point.seconds else "rates" for point in timed}
        straight = [times_rows(claim, column, weak=w) for w in (False, True)]
        turned = rows_of(claim, lambda point, column=column: _turned(point, column))  # type: ignore[misc]
        right = min(len(agreement("", rows, None).apart) for rows in straight)
        if len(kinds) == 1 and right and turned and not agreement("", turned, None).apart:
            return kinds.pop()
    return None


def _turned(point: ClaimPoint, column: str) -> FigureRange | None:
    """S divided by T (or times the rate): constant where times and rates are swapped."""
    own = figure(point, column)
    if own is None:
        return None
    scaled = own.times(float(point.k)) if column == "efficiency" else own
    if (seconds := figure(point, "seconds")) is not None:
        return scaled.over(seconds)
    rate = figure(point, "rate")
    return None if rate is None else scaled.times(rate)


@rule
def time_and_rate_swapped(claim: Claim) -> Iterator[Hit]:
    if (kind := swapped(claim)) is not None:
        other = {"times": "rates", "rates": "times"}[kind]
        yield Hit(f"the {kind} give the published figures only when read as {other}", {"column": kind})


@rule
def time_rises_like_a_rate(claim: Claim) -> Iterator[Hit]:
    base = claim.at(claim.baseline_k)
    if base is None or claim.regime == "weak" or swapped(claim) is not None:
        return
    for name in ("seconds", "rate"):
        first = getattr(base, name)
        ratios = [(p.k / base.k, getattr(p, name) / first) for p in claim.points if first and getattr(p, name)]
        beyond = [(k, ratio if name == "seconds" else 1 / ratio) for k, ratio in ratios if k > 1]
        if len(beyond) >= FLAT_POINTS and all(LIKE_A_RATE[0] <= ratio / k <= LIKE_A_RATE[1] for k, ratio in beyond):
            what = (
                "times rise in proportion to K, as rates do" if name == "seconds" else "rates fall as 1/K, as times do"
            )
            yield Hit(f"the {what}", {"column": name}, credit=0.2)


def reason_of_average(claim: Claim) -> str | None:
    """How it shows that published speedups are averages of ratios; None where nothing says so."""
    if words := re.search(r"\b(geo)?(mean|average|avg)\b.{0,30}(speed|effic)\w*", claim.statement or "", re.IGNORECASE):
        return f"the figures are averages ({words[0].strip()!r})"
    if re.match(r"(geo)?mean|average|avg", claim.statement or "", re.IGNORECASE) and claim.kind == "table":
        return f"the table has a row of averages ({claim.statement})"
    base = claim.at(claim.baseline_k)
    if base is None or not base.seconds:
        return None
    kinds = [_kind_of_ratio(claim, point, base) for point in claim.points if point is not base and point.seconds]
    exact, skewed = kinds.count("mean of ratios"), kinds.count("skewed")
    if exact and exact >= skewed:
        return f"at {exact} K the published figure is the mean of the ratios of single runs, not the ratio of the means"
    if skewed >= 2 and skewed == len(kinds) - kinds.count(None):
        return f"all {skewed} figures are above the ratio of the means by about the squared spread, as averages are"
    return None


def _kind_of_ratio(claim: Claim, point: ClaimPoint, base: ClaimPoint) -> str | None:
    """Whether a published speedup is a ratio of means, a mean of ratios, or as skewed as one; None where absent."""
    own = figure(point, "speedup")
    if own is None and claim.regime != "weak" and (share := figure(point, "efficiency")) is not None:
        own = share.times(point.k / base.k)
    if own is None or not point.seconds or not base.seconds:
        return None
    ratio = base.seconds / point.seconds
    if own.agrees(span_of(ratio, SKEW * ratio)):
        return "ratio of means"
    if len(point.samples) == len(base.samples) > 1:
        mean = statistics.fmean(a / b for a, b in zip(base.samples, point.samples, strict=True))
        every = statistics.fmean(a / b for a in base.samples for b in point.samples)
        if own.contains(mean) or own.contains(every):
            return "mean of ratios"
    spread = 1 + (point.std / point.seconds) ** 2 if point.std else 1.0
    is_skewed = spread > 1 + SKEW and own.agrees(FigureRange(ratio * (1 + SKEW), ratio * spread**2, ratio))
    return "skewed" if is_skewed else "other"


@rule
def average_of_ratios(claim: Claim) -> Iterator[Hit]:
    if (reason := reason_of_average(claim)) is not None:
        yield Hit(reason)


@rule
def extrapolation_as_result(claim: Claim) -> Iterator[Hit]:
    extrapolated = [point.k for point in claim.points if point.extrapolated]
    if extrapolated:
        yield Hit(f"extrapolated, not measured: K = {', '.join(map(str, extrapolated))}", {"k": extrapolated})


@rule
def unmarked_extrapolation(claim: Claim) -> Iterator[Hit]:
    if claim.kind == "study" or any(point.extrapolated for point in claim.points):
        return
    points = [(point, e) for point, e in claim.efficiencies()]
    if (flat := _flat_tail(points)) is not None:
        first, last, e = flat
        yield Hit(f"E stays at {e:.3g} from K = {first} to K = {last}: it looks extrapolated", {"k": [first, last]})
    elif (law := _on_amdahl(claim, points)) is not None:
        yield Hit(f"{law[0]} points lie on Amdahl's law with a serial part of {law[1]:.3g}: they look computed")
    repeated = [point for point in sorted(claim.points, key=lambda p: p.k) if point.timed or point.speedup]
    bare = [point.n is None and point.std is None for point in repeated]
    if True in bare and not bare[0]:
        start = bare.index(True)
        if start >= 2 and all(bare[start:]):
            beyond = [point.k for point in repeated[start:]]
            message = f"K = {', '.join(map(str, beyond))} have no repeats or spread, unlike smaller K: extrapolated?"
            yield Hit(message, {"k": beyond})


def _flat_tail(points: list[tuple[ClaimPoint, float]]) -> tuple[int, int, float] | None:
    """The longest end of the curve along which E does not change: its K and its E, well below 1."""
    flat, low, high = None, math.inf, 0.0
    for start in reversed(range(len(points))):
        point, e = points[start]
        low, high = min(low, e), max(high, e)
        if high >= WELL_BELOW or high >= low * (1 + FLAT_SPREAD):
            break
        if len(points) - start >= FLAT_POINTS and points[-1][0].k >= FLAT_RANGE * point.k:
            flat = start
    if flat is None:
        return None
    return points[flat][0].k, points[-1][0].k, statistics.median(e for _, e in points[flat:])


def _on_amdahl(claim: Claim, points: list[tuple[ClaimPoint, float]]) -> tuple[int, float] | None:
    """How many points have one and the same serial fraction, and which."""
    if claim.regime == "weak" or claim.baseline_k != 1 or any(point.std is not None for point, _ in points):
        return None
    fractions = [serial_fraction(point.k, e * point.k) for point, e in points if point.k > 1 and 0 < e < WELL_BELOW]
    serial = [value for value in fractions if value is not None and value > 0]
    if len(serial) < LAW_POINTS or len(serial) < len(points) - 1:
        return None
    middle = statistics.median(serial)
    is_flat = all(math.isclose(value, middle, rel_tol=LAW_SPREAD) for value in serial)
    return (len(serial), middle) if is_flat else None
