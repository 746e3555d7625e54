"""May a scaling result be believed: the reporting checklist, the red flags, and a gate for continuous integration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalecurve.lazy import lazy_names

if TYPE_CHECKING:
    from scalecurve.auditing.audit import Audit
    from scalecurve.auditing.claim import Claim, ClaimPoint, load_claim
    from scalecurve.auditing.gate import Gate

__all__ = ["Audit", "Claim", "ClaimPoint", "Gate", "load_claim"]

if not TYPE_CHECKING:  # hidden from type checkers, so that they report a misspelt name
    __getattr__, __dir__ = lazy_names(
        __name__, {"audit": "Audit", "claim": "Claim ClaimPoint load_claim", "gate": "Gate"}
    )
