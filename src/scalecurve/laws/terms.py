"""The terms of T(K): how time over K comes about, one row for each form, with the causes that it may stand for.

    T(K) = a P(K) + sum of sizes times terms,     P(K) = 1/K under strong scaling, 1 under weak scaling

A law is a sum of such terms with named parameters (`contract.Law`).  A forecast averages the terms that have a weight
`ahead`.  A diagnosis fits sums of the terms that have `causes`, once for each of their places, and weighs how much of
the loss each takes.  Several causes have one and the same formula, and then times alone cannot tell them apart.

Sources: H_K is the expected largest of K exponential draws (A. Renyi, 1953), log K the tail of many others
(E. J. Gumbel, 1958).  Surfaces: volume to surface of a domain cut into K parts.  Contention: N. J. Gunther, 2007.
Of overheads, log K is the best single one on published curves.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """One form: its name in words, and `formula`, the time it adds at K for size 1.

    Over K, and where it has them P and the name of its `place`: `first` (the first K), `inner` (a measured K between
    the first and the last) or `between` (any K between these).  `causes` says what may be behind it; `ahead` is its
    weight among the overheads that a forecast averages.
    """

    name: str
    formula: str
    causes: str = ""
    regime: str | None = None
    place: str = ""
    ahead: float = 0.0


TERMS = (
    Term("a tree of messages", "log2(K)", ahead=0.4),
    Term("surfaces, or the bisection of a torus", "K**(1/3)", ahead=0.2),
    Term("a grid of ranks, or the bisection of a mesh", "K**(1/2)", ahead=0.2),
    Term("a message to every worker", "K", ahead=0.2),
    Term("a constant part", "1", "serial work, a fixed cost of every launch, a ring's bandwidth, contention", "strong"),
    Term("log2 K", "log2(K)", "trees of messages, noise with an exponential tail at barriers"),
    Term("K", "K - 1", "messages to every worker, what K workers write, contention of caches"),
    Term("surfaces of blocks", "beyond(K, 1)*K**(-2/3)", "halo exchange, cells computed twice", "strong"),
    Term("surfaces of squares", "beyond(K, 1)*K**(-1/2)", "halo exchange, more iterations", "strong"),
    Term("bisection of a torus", "K**(1/3) - 1", "messages across a torus, more iterations", "weak"),
    Term("bisection of a mesh", "K**(1/2) - 1", "messages across a mesh, more iterations", "weak"),
    Term("one heavier share", "P*beyond(K, first)", "uneven shares, one slow host", place="first"),
    Term("the largest of K shares", "P*(harmonic(K) - 1)", "new shares in each step, slowness that comes and goes"),
    Term("compute times log2 K", "P*log2(K)", "contention, uneven shares, more iterations", "strong"),
    Term("full from some K on", "P*max(K/between - 1, 0)", "memory bandwidth, a server, few tasks", place="between"),
    Term("a step at one K", "beyond(K, inner)", "a node boundary", place="inner"),
    Term("compute slower from one K on", "P*beyond(K, inner)", "a second socket, one slow host", place="inner"),
)
OVERHEADS = {term.formula: term.ahead for term in TERMS if term.ahead}
"""The overheads that a forecast averages, with their weights."""
