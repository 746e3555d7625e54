"""The proposal check: will this cluster size help, before money is spent?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalecurve.lazy import lazy_names

if TYPE_CHECKING:
    from scalecurve.proposals.assessment import Assessment, assess
    from scalecurve.proposals.proposal import Proposal

__all__ = ["Assessment", "Proposal", "assess"]

if not TYPE_CHECKING:  # hidden from type checkers, so that they report a misspelt name
    __getattr__, __dir__ = lazy_names(__name__, {"assessment": "Assessment assess", "proposal": "Proposal"})
