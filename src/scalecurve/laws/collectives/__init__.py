"""What a collective operation costs: rounds, bytes and reductions of every common algorithm, any number of ranks."""

from scalecurve.laws.collectives.choice import (
    Bound,
    Choice,
    Crossing,
    Operation,
    algorithms,
    as_operation,
    best,
    candidates,
    cost,
    crossings,
    lower_bound,
)
from scalecurve.laws.collectives.network import Link, Network, Protocol
from scalecurve.laws.collectives.steps import Level, Step, Steps, Totals, totals

__all__ = [
    "Bound",
    "Choice",
    "Crossing",
    "Level",
    "Link",
    "Network",
    "Operation",
    "Protocol",
    "Step",
    "Steps",
    "Totals",
    "algorithms",
    "as_operation",
    "best",
    "candidates",
    "cost",
    "crossings",
    "lower_bound",
    "totals",
]
