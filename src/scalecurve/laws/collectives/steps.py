"""What a collective algorithm does, as a list of steps: how many rounds, of what message size, reducing how much.

An algorithm is a pure function `(p, n) -> tuple[Step, ...]`.  Rounds are synchronous, one port and full duplex: in a
round each rank sends at most one message and receives at most one; a round costs its largest message.  Cost follows
from the steps and a link (`network.py`); rounds and bytes are what the tests count on simulated ranks, exactly.

n is the full vector in bytes (for all-to-all: all that one rank sends).  Vectors are cut into blocks of ceil(n/p)
bytes, so n < p and n not divisible by p have a meaning: the last blocks are padded, as MPI and NCCL do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from scalecurve.errors import Fault, InputError


class Level(StrEnum):
    """Which wire a round uses: inside a node, or between nodes."""

    INTRA = "intra"
    INTER = "inter"


@dataclass(frozen=True, kw_only=True)
class Step:
    """`rounds` equal rounds in which the busiest rank sends `message` bytes and combines `reduced` bytes."""

    rounds: int
    message: float
    reduced: float = 0.0
    level: Level = Level.INTER


@dataclass(frozen=True, kw_only=True)
class Totals:
    """The sums people quote: rounds (times alpha), bytes (times beta), reduced bytes (times gamma)."""

    rounds: int
    sent: float
    reduced: float


Steps = tuple[Step, ...]


def totals(steps: Iterable[Step]) -> Totals:
    listed = tuple(steps)
    return Totals(
        rounds=sum(step.rounds for step in listed),
        sent=sum(step.rounds * step.message for step in listed),
        reduced=sum(step.rounds * step.reduced for step in listed),
    )


def block(n: float, p: int) -> float:
    """Bytes in one of p equal blocks of an n-byte vector, padded up: ceil(n/p)."""
    return float(math.ceil(n / p))


def ceil_lg(p: int) -> int:
    """ceil(log2 p), exactly."""
    return (p - 1).bit_length()


def floor_power(p: int) -> int:
    """q, the largest power of two not above p."""
    return 1 << (p.bit_length() - 1)


def check(p: int, n: float) -> None:
    """Refuse what has no meaning: fewer than one rank, negative or infinite sizes."""
    faults = []
    if p < 1:
        faults.append(Fault("a collective needs at least one rank", where="ranks", seen=str(p)))
    if not (math.isfinite(n) and n >= 0):
        faults.append(Fault("a message size is a finite number from 0", where="bytes", seen=f"{n:g}"))
    if faults:
        raise InputError(faults, subject="collective")


def on(level: Level, steps: Iterable[Step]) -> Steps:
    """The same steps over the wires of `level`; a step without rounds is dropped."""
    return tuple(
        Step(rounds=step.rounds, message=step.message, reduced=step.reduced, level=level)
        for step in steps
        if step.rounds > 0
    )
