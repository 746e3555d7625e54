"""May a scaling result be believed: the reporting checklist and the red flags, one rule each."""

from scalecurve.auditing.audit import Audit, audit
from scalecurve.auditing.claim import Claim, ClaimedBaseline, Point
from scalecurve.auditing.rules import RULES

__all__ = ["RULES", "Audit", "Claim", "ClaimedBaseline", "Point", "audit"]
