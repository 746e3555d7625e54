"""The terms of T(K): how time over K comes about, one row for each mechanism, with the cause that it stands for.

    T(K) = a P(K) + sum of sizes times terms,     P(K) = 1/K under strong scaling, 1 under weak scaling

A law is a sum of such terms with named parameters (`contract.Law`).  A forecast averages the terms that have a weight
`ahead`.  A diagnosis weighs every term that has a cause, once for each of its places.  Several causes have one and the
same formula, and then times alone cannot tell them apart.

Sources: H_K is the expected largest of K exponential draws (A. Renyi, 1953), log K the tail of many others
(E. J. Gumbel, 1958).  Surfaces: volume to surface of a domain cut into K parts.  Queues of tasks: R. L. Graham, SIAM J.
Appl. Math. 17, 1969.  Contention: N. J. Gunther, 2007.  Of overheads, log K is the best
single one on published curves.
"""

from __future__ import annotations

from dataclasses import dataclass

COMMUNICATION, STRAGGLER, IMBALANCE = "communication", "straggler", "imbalance"
CONTENTION, SERIAL, OTHER = "contention", "serial", "other"


@dataclass(frozen=True)
class Term:
    """One mechanism: its name in words, and `formula`, the time it adds at K for size 1.

    Over K, and where it has them P and the names of its `place`: `node` (the size of a node), `onset` (any measured K,
    or 1), `inner` (a K between the first and the last), `start` (any K but the last), `chance` (of a rare delay).
    `chance` is its weight beforehand among the terms of its cause, divided among its places; `ahead` its weight among
    the overheads that a forecast averages.  `passing` slowness changes from step to step, so that repeats differ.
    """

    name: str
    formula: str
    cause: str | None = None
    chance: float = 0.0
    regime: str | None = None
    place: str = ""
    passing: bool = False
    one_machine: bool = False
    ahead: float = 0.0


BLOCKS = "surface of blocks, more neighbours up to K = 8"  # cut along one direction at K = 2, along three from 8 on
QUEUED = "tasks too few or too long beyond K = {start:g}"  # a fixed job: its longest task draws a plateau
TERMS = (
    Term("a tree of messages", "log2(K)", ahead=0.4),
    Term("surfaces, or the bisection of a torus", "K**(1/3)", ahead=0.2),
    Term("a grid of ranks, or the bisection of a mesh", "K**(1/2)", ahead=0.2),
    Term("a message to every worker", "K", ahead=0.2),
    Term("trees, log2 K", "log2(K)", COMMUNICATION, 0.8 / 6),
    Term("linear in K", "K - 1", COMMUNICATION, 0.8 / 6),
    Term("ring, (K-1)/K", "(K - 1)/K", COMMUNICATION, 0.8 / 6),
    Term("bisection of a torus, K^1/3", "K**(1/3) - 1", COMMUNICATION, 0.8 / 6, "weak"),
    Term("bisection of a mesh, K^1/2", "sqrt(K) - 1", COMMUNICATION, 0.8 / 6, "weak"),
    Term(BLOCKS, "min(log2(K)/3, 1)", COMMUNICATION, 0.8 / 6, "weak"),
    Term("surface, K^-2/3", "beyond(K, 1)*K**(-2/3)", COMMUNICATION, 0.8 / 6, "strong"),
    Term("surface, K^-1/2", "beyond(K, 1)*K**(-1/2)", COMMUNICATION, 0.8 / 6, "strong"),
    Term(BLOCKS, "min(log2(K)/3, 1)*K**(-2/3)", COMMUNICATION, 0.8 / 6, "strong"),
    Term("beyond a node of {node:g}", "beyond(K, node)", COMMUNICATION, 0.1, place="node"),
    Term("log2 K beyond a node of {node:g}", "log2(max(K/node, 1))", COMMUNICATION, 0.1, place="node"),
    Term("exponential noise at barriers, H_K", "harmonic(K)", STRAGGLER, 0.15, passing=True),
    Term("noise with an exponential tail, log K", "log2(K)", STRAGGLER, 0.12, passing=True),
    Term("normal noise at barriers", "expected_largest(K)", STRAGGLER, 0.08, passing=True),
    Term("bounded noise at barriers", "K/(K + 1)", STRAGGLER, 0.1, passing=True),
    Term("rare delays", "1 - (1 - chance)**K", STRAGGLER, 0.15, place="chance", passing=True),
    Term("exponential slowness", "P*(harmonic(K) - 1)", STRAGGLER, 0.1, passing=True),
    Term("normal slowness", "P*expected_largest(K)", STRAGGLER, 0.1, passing=True),
    Term("exponential new shares each step", "P*(harmonic(K) - 1)", IMBALANCE, 0.1, passing=True),
    Term("normal new shares each step", "P*expected_largest(K)", IMBALANCE, 0.1, passing=True),
    Term("growing with log2 K", "P*log2(K)", IMBALANCE, 0.12),
    Term("parts of a random field", "P*sqrt(K)*expected_largest(K)", IMBALANCE, 0.1),
    Term("one heavy share beyond K = {onset:g}", "P*beyond(K, onset)", IMBALANCE, 0.25, place="onset"),
    Term("one slow host beyond K = {onset:g}", "P*beyond(K, onset)", STRAGGLER, 0.2, place="onset"),
    Term("tasks from a queue end unevenly", "(K - 1)/K", IMBALANCE, 0.08, "strong"),
    Term("the longest of the last tasks", "harmonic(K) - 1", IMBALANCE, 0.12, "strong"),
    Term(QUEUED, "P*max(K/start - 1, 0)", IMBALANCE, 0.15, "strong", "start"),
    Term("linear, Gunther's sigma", "P*(K - 1)", CONTENTION, 0.22),
    Term("log2 K", "P*log2(K)", CONTENTION, 0.1),
    Term("gradual, K^1/3", "P*(K**(1/3) - 1)", CONTENTION, 0.08),
    Term("gradual, K^1/2", "P*(K**(1/2) - 1)", CONTENTION, 0.08),
    Term("quadratic, Gunther's kappa", "P*(K - 1)*K", CONTENTION, 0.1),
    Term(
        "a second socket or hyperthreads beyond K = {inner:g}", "P*beyond(K, inner)", CONTENTION, 0.12,
        place="inner", one_machine=True,
    ),
    Term("bandwidth saturated at K = {start:g}", "P*max(K/start - 1, 0)", CONTENTION, 0.22, place="start"),
    Term(
        "bandwidth of a node of {node:g} saturated at K = {start:g}", "P*max(min(K, node)/start - 1, 0)", CONTENTION,
        0.2, place="node start", one_machine=True,
    ),
    Term("more iterations, log2 K", "P*log2(K)", OTHER, 0.08),
    Term("more iterations or a sweep, K^1/2", "P*(sqrt(K) - 1)", OTHER, 0.08),
    Term("filling a pipeline", "P*(K - 1)", OTHER, 0.08),
    Term("surfaces computed twice, K^-2/3", "beyond(K, 1)*K**(-2/3)", OTHER, 0.08, "strong"),
    Term("what K workers write or recover, K - 1", "K - 1", OTHER, 0.08),
    Term("constant", "1", SERIAL, 1.0),  # one worker alone, or a fixed cost of every launch
    Term("work of one worker for each of K", "K - 1", SERIAL, 0.5, "weak"),
)  # fmt: skip
OVERHEADS = {term.formula: term.ahead for term in TERMS if term.ahead}
"""The overheads that a forecast averages, with their weights."""
