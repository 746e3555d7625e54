"""Collectives: what does exchanging n bytes among p ranks cost?

Every algorithm is a list of rounds; a round costs its largest message, alpha + beta x bytes, and gamma for every byte
reduced (one port, full duplex).  With q = 2^floor(lg p):

    all-reduce, ring                 2(p-1) alpha + 2(p-1)/p n beta + (p-1)/p n gamma
    all-reduce, recursive doubling   lg p (alpha + n beta + n gamma)
      p not a power of two           (lg q + 2)(alpha + n beta) + (lg q + 1) n gamma
    all-reduce, Rabenseifner         2 lg p alpha + 2(p-1)/p n beta + (p-1)/p n gamma
      p not a power of two           (2 lg q + 2) alpha + (2(q-1)/q + 2) n beta + ((q-1)/q + 1) n gamma
    all-reduce, double binary tree   2(F + 2(m-1))(alpha + n beta/(2m)), m segments, F about 2 lg p rounds to fill
    all-reduce, two levels           2(g-1) a_i + 2(g-1)/g n b_i + 2(N-1) a_e + 2(N-1)/N (n/g) b_e
    broadcast, binomial              ceil(lg p)(alpha + n beta)
    broadcast, chain of m segments   (p-2+m)(alpha + n beta/m)
    broadcast, scatter + all-gather  (ceil(lg p)+p-1) alpha + 2(p-1)/p n beta
    all-gather, ring / Bruck         (p-1) alpha / ceil(lg p) alpha, + (p-1)/p n beta
    all-to-all, pairwise             (p-1) alpha + (p-1)/p n beta
    all-to-all, Bruck                ceil(lg p) alpha + (n/2) lg p beta for p = 2^k, slightly less otherwise

n is the full vector; for all-to-all all that one rank sends.  Blocks are ceil(n/p) bytes; p = 1 costs nothing.
Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005; Chan et al., 2007; Sanders, Speck, Träff, 2009; Bruck et al.,
1997.
Worked number: 350 MB among 8 GPUs over NVLink (450 GB/s): 2 x 7/8 x 350 MB / 450 GB/s = 1.36 ms at best.
Limits: links do not share wires and ranks start together; tests execute every algorithm on simulated ranks with real
data and find exactly these rounds and bytes, but a library may switch algorithms by size: measure with
`collective measure`.
"""

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
