"""The proposal check: will this cluster size help, before money is spent?"""

from scalecurve.proposals.assessment import Assessment, assess

__all__ = ["Assessment", "assess"]
