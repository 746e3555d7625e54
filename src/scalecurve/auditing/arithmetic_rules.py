"""Rules that recompute: efficiency from speedup, speedup from times, what the curve itself says."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from scalecurve.auditing.claim import Claim, Point
from scalecurve.auditing.rule import Effect, Hit, Item, Rule
from scalecurve.findings import Severity
from scalecurve.laws.karp_flatt import serial_fraction

HIGH, FAIR = 0.85, 0.7
FLAT = 0.25
NO_LOSS = 0.005
NEARLY_LINEAR = 0.85


def _rounding(value: float) -> float:
    """Half a unit in the last digit shown, and one percent for roundings made on the way."""
    digits = f"{value:.10g}".partition(".")[2]
    return 0.5 * 10.0 ** -len(digits) + 0.01 * abs(value)


def _efficiency_column(claim: Claim) -> Iterator[Hit]:
    for point in claim.points:
        derived = _derived(claim, point)
        if point.efficiency is not None and derived is not None and _disagree(point.efficiency, derived):
            yield Hit(
                f"at K = {point.k} the published efficiency is {point.efficiency:g}, but the other columns give "
                f"{derived:.3g}",
                {"k": point.k, "published": point.efficiency, "recomputed": derived},
            )


def _derived(claim: Claim, point: Point) -> float | None:
    """E by the published speedup, else by the times, without looking at the published efficiency."""
    if point.k == claim.baseline_k:
        return 1.0
    if point.speedup is not None:
        return point.speedup * claim.baseline_k / point.k
    found = claim.efficiency_of(point)
    return None if found == point.efficiency else found


def _disagree(published: float, derived: float) -> bool:
    return abs(published - derived) > _rounding(published) + 0.01 * derived


def _speedup_column(claim: Claim) -> Iterator[Hit]:
    base = claim.at(claim.baseline_k)
    for point in claim.points:
        if base is None or point.speedup is None or not (base.seconds and point.seconds):
            continue
        ratio = base.seconds / point.seconds
        factor = point.k / base.k if claim.regime == "weak" else 1.0
        if all(_disagree(point.speedup, each) for each in (ratio, ratio * base.k, ratio * factor)):
            yield Hit(
                f"at K = {point.k} the published speedup is {point.speedup:g}, but the times give {ratio:.3g}",
                {"k": point.k, "published": point.speedup, "recomputed": ratio},
            )


def _only_speedup(claim: Claim) -> Iterator[Hit]:
    given = [point for point in claim.points if point.efficiency is not None]
    speedups = [point for point in claim.points if point.speedup is not None]
    if claim.kind == "study" or given or not speedups:
        return
    last = max(speedups, key=lambda point: point.k)
    e = claim.efficiency_of(last)
    if e is not None:
        wasted = f"{1 - e:.0%} of the fleet is idle" if e <= 1 else "more than the workers can give"
        yield Hit(
            f"only speedups are given: {last.speedup:g}x on {last.k} {claim.k_unit} is E = {e:.2f}, {wasted}",
            {"k": last.k, "speedup": last.speedup, "efficiency": e},
        )


def _range(claim: Claim) -> Iterator[Hit]:
    found = list(claim.efficiencies())
    if len(found) < 2:
        return
    parts = [f"E stays at or above {floor} {_held(found, floor)}" for floor in (HIGH, FAIR)]
    yield Hit("; ".join(parts), {"efficiencies": {str(point.k): e for point, e in found}})


def _held(found: list[tuple[Point, float]], floor: float) -> str:
    held = 0
    for point, e in found:
        if e < floor:
            return f"through K = {held}" if held else "at no K beyond the baseline"
        held = point.k
    return f"at every K, to {held}"


def _trend(claim: Claim) -> Iterator[Hit]:
    if claim.regime == "weak" or claim.baseline_k != 1:
        return
    serial = {p.k: serial_fraction(p.k, e * p.k) for p, e in claim.efficiencies() if p.k > 1 and e > 0}
    known = {k: value for k, value in serial.items() if value is not None}
    if len(known) < 2:
        return
    (first_k, first), (last_k, last) = next(iter(known.items())), next(reversed(known.items()))
    lossless = all(abs(value) * (k - 1) < NO_LOSS for k, value in known.items())  # 1/E - 1
    meaning = "about 0 means no loss at all" if lossless else _trend_words(first, last)
    yield Hit(
        f"the Karp-Flatt fraction goes from {first:.4f} at K = {first_k} to {last:.4f} at K = {last_k}: {meaning}",
        {"karp_flatt": {str(k): value for k, value in known.items()}},
    )


def _trend_words(first: float, last: float) -> str:
    if min(first, last) < 0:
        return "below 0 means a superlinear step or a weak baseline"
    if last > (1 + FLAT) * first:
        return "rising means overhead that grows with K, such as communication"
    if last < (1 - FLAT) * first:
        return "falling means a loss that is there at small K already, such as imbalance or a slow K = 2"
    return "about flat means a serial part"


def _overstated(claim: Claim) -> Iterator[Hit]:
    found = list(claim.efficiencies())
    words = re.search(r"(near[ -]*|almost |perfect(ly)? |close to )?linear", claim.statement or "", re.IGNORECASE)
    if words and found and found[-1][1] < NEARLY_LINEAR:
        point, e = found[-1]
        yield Hit(
            f"the claim says {words[0]!r}, but E = {e:.2f} at K = {point.k}: {1 - e:.0%} of the fleet is idle",
            {"k": point.k, "efficiency": e, "statement": claim.statement},
        )


def _slower(claim: Claim) -> Iterator[Hit]:
    slow = [(p, e) for p, e in claim.efficiencies() if e * p.k / claim.baseline_k < 1 and claim.regime != "weak"]
    if slow:
        point, e = slow[-1]
        yield Hit(f"at K = {point.k} the job is slower than at the baseline (S = {e * point.k:.2f})", {"k": point.k})


def _wasteful(claim: Claim) -> Iterator[Hit]:
    found = list(claim.efficiencies())
    if found and found[-1][1] < 0.5:
        point, e = found[-1]
        yield Hit(
            f"E = {e:.2f} at K = {point.k}: {1 - e:.0%} of the fleet is idle there", {"k": point.k, "efficiency": e}
        )


def _extrapolated(claim: Claim) -> Iterator[Hit]:
    marked = [point.k for point in claim.points if point.extrapolated]
    if marked:
        yield Hit(f"K = {', '.join(map(str, marked))} are extrapolated, not measured", {"k": marked})


def _no_ideal(claim: Claim) -> Iterator[Hit]:
    if claim.ideal_line is False:
        yield Hit("the figure has no ideal line")


def _nothing(claim: Claim) -> Iterator[Hit]:
    if not any(math.isfinite(e) for _, e in claim.efficiencies()):
        yield Hit("no efficiency can be computed from what is given")


ARITHMETIC_RULES = (
    Rule(
        code="efficiency-does-not-add-up",
        severity=Severity.ERROR,
        title="The efficiency column is not speedup over K",
        why="A table whose columns contradict each other has at least one wrong number.",
        remedy="recompute E = S/K (weak: T(1)/T(K)) from the raw times",
        source="radical-cybertools/radical.entk#300",
        check=_efficiency_column,
        item=Item.EFFICIENCY,
        effect=Effect.VIOLATED,
    ),
    Rule(
        code="speedup-does-not-add-up",
        severity=Severity.ERROR,
        title="The speedup column is not T(1)/T(K)",
        why="A speedup that its own times do not give uses another baseline than the table shows.",
        remedy="state the T(1) used, and recompute",
        source="radical-cybertools/radical.entk#300",
        check=_speedup_column,
        item=Item.BASELINE,
        effect=Effect.VIOLATED,
    ),
    Rule(
        code="speedup-only",
        severity=Severity.WARNING,
        title="Speedup without efficiency",
        why="A large speedup can hide that much of the fleet is idle.",
        remedy="report E(K) beside S(K) at every K",
        source="reporting checklist, row 6",
        check=_only_speedup,
        item=Item.EFFICIENCY,
        effect=Effect.MISSING,
        asks="What is the efficiency at every K?",
    ),
    Rule(
        code="words-overstate",
        severity=Severity.WARNING,
        title="The words say more than the numbers",
        why="Near-linear is a matter of taste until an efficiency stands beside it.",
        remedy="replace the word by E at the largest K",
        source="a vendor's near-linear 180x on 256 GPUs is E = 0.70",
        check=_overstated,
    ),
    Rule(
        code="no-efficiency",
        severity=Severity.WARNING,
        title="Efficiency cannot be computed",
        why="Without times, rates or speedups at two worker counts there is no scaling result.",
        remedy="give T(1) and T(K)",
        source="reporting checklist, row 6",
        check=_nothing,
        item=Item.EFFICIENCY,
        effect=Effect.MISSING,
    ),
    Rule(
        code="efficiency-range",
        severity=Severity.INFO,
        title="Where efficiency holds",
        why="The largest K that still pays is what sizes a purchase, not the largest speedup.",
        remedy="size by the efficiency you need, not by the speedup",
        source="efficiency as the companion of speedup",
        check=_range,
    ),
    Rule(
        code="karp-flatt-trend",
        severity=Severity.INFO,
        title="What the serial fraction does",
        why="Flat, rising or falling it tells a serial part from growing overhead and from a loss at small K.",
        remedy="`scalecurve diagnose` names the cause",
        source="Karp and Flatt 1990",
        check=_trend,
    ),
    Rule(
        code="slower-than-baseline",
        severity=Severity.WARNING,
        title="More workers, slower job",
        why="Beyond some K the added coordination costs more than the added workers do.",
        remedy="use a smaller K; see `scalecurve table` for the best one",
        source="efficiency as the companion of speedup",
        check=_slower,
    ),
    Rule(
        code="mostly-idle",
        severity=Severity.INFO,
        title="More than half of the fleet is idle",
        why="The largest K costs more than twice per result what one worker does.",
        remedy="report the K where E is still acceptable, and the cost per result",
        source="efficiency as the companion of speedup",
        check=_wasteful,
    ),
    Rule(
        code="extrapolation-as-result",
        severity=Severity.ERROR,
        title="Extrapolated points among the results",
        why="A model's output beyond the data is a forecast, not a measurement.",
        remedy="mark them, or leave them out",
        source="mlcommons/training_policies#458 (not allowed there)",
        check=_extrapolated,
        item=Item.WORKLOAD,
        effect=Effect.VIOLATED,
    ),
    Rule(
        code="no-ideal-line",
        severity=Severity.INFO,
        title="No ideal line",
        why="Without it the loss is hard to see.",
        remedy="draw S = K (strong) or E = 1 (weak)",
        source="DifferentiableUniverseInitiative/jaxDecomp#83",
        check=_no_ideal,
    ),
)
