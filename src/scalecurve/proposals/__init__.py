"""The proposal check: will this cluster size help, before money is spent?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scalecurve.proposals.assessment import Assessment, assess
    from scalecurve.proposals.proposal import Proposal

__all__ = ["Assessment", "Proposal", "assess"]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: pydantic stays out of `scalecurve --help`."""
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{'proposal' if name == 'Proposal' else 'assessment'}"), name)
