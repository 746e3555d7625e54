"""Verbs of money: what a result costs, whether a proposal helps, one big machine or many."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scalecurve.planning.cost import Cost
    from scalecurve.planning.scaleup import ScaleUp
    from scalecurve.planning.tariff import Tariff
    from scalecurve.proposals.assessment import Assessment
    from scalecurve.proposals.proposal import Proposal


def cost(source: Any, price: float | Tariff, **settings: Any) -> Cost:
    """What a result costs at every K, and which K to choose."""
    from scalecurve.planning.cost import cost as verb

    return verb(source, price, **settings)


def assess(proposal: str | Path | Proposal) -> Assessment:
    """Will this cluster size help?  A proposal file or a Proposal, held against the checklist."""
    from scalecurve.proposals.assessment import assess as verb

    return verb(proposal)


def compare_scaleup(subject: Any, **settings: Any) -> ScaleUp:
    """One machine against K small ones; E(K) from a law, or a study and its forecast."""
    from scalecurve.planning.scaleup import compare_scaleup as verb

    return verb(subject, **settings)
