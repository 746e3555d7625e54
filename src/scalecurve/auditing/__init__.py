"""May a scaling result be believed: the reporting checklist, the red flags, and a gate for continuous integration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scalecurve.auditing.audit import Audit
    from scalecurve.auditing.claim import Claim, ClaimPoint, load_claim
    from scalecurve.auditing.gate import Gate

_HOMES = {"Audit": "audit", "Claim": "claim", "ClaimPoint": "claim", "Gate": "gate", "load_claim": "claim"}

__all__ = ["Audit", "Claim", "ClaimPoint", "Gate", "load_claim"]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: pydantic and numpy stay out of `scalecurve --help`."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
