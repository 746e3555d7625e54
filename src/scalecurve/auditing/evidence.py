"""Why a row of the checklist is fulfilled, in one sentence with numbers."""

from __future__ import annotations

from scalecurve.auditing.claim import Claim
from scalecurve.auditing.rule import Item
from scalecurve.units import format_seconds


def evidence_for(item: Item, claim: Claim) -> str:
    return {
        Item.BASELINE: _baseline,
        Item.WORKLOAD: _workload,
        Item.STEADY: lambda each: f"warm-up {each.warmup}, set-up {each.setup}",
        Item.SPREAD: _spread,
        Item.REGIME: lambda each: f"{each.regime} scaling",
        Item.EFFICIENCY: _efficiency,
    }[item](claim)


def _baseline(claim: Claim) -> str:
    base = claim.at(claim.baseline_k)
    time = f", {format_seconds(base.seconds)}" if base is not None and base.seconds else ""
    return f"K0 = {claim.baseline_k}{time}: {claim.baseline.description or 'described'}"


def _workload(claim: Claim) -> str:
    sizes = {point.size for point in claim.points if point.size is not None}
    if len(sizes) == 1:
        return f"total work {sizes.pop():g} at every K"
    if sizes:
        return "work per worker the same at every K"
    return claim.workload or "stated as fixed"


def _spread(claim: Claim) -> str:
    counts = [point.n for point in claim.points if point.n is not None]
    relative = [point.std / point.seconds for point in claim.points if point.std is not None and point.seconds]
    spread = f", spread up to {max(relative):.1%} of the mean" if relative else ""
    repeats = min(counts) if counts else claim.repeats
    return f"{repeats} or more repeats{spread}" if repeats else f"spread given{spread}"


def _efficiency(claim: Claim) -> str:
    found = list(claim.efficiencies())
    point, e = found[-1]
    return f"E = {e:.3f} at K = {point.k}"
