"""The network a collective runs on: rounds of messages, and what each costs on a wire.

An algorithm is a pure function `(p, n) -> tuple[Step, ...]`: how many rounds, of what message size, reducing how much.
Rounds are synchronous, one port and full duplex: in a round each rank sends at most one message and receives at most
one; a round costs its largest message, alpha + beta x bytes, and gamma for each byte it reduces.

n is the full vector in bytes (for all-to-all: all that one rank sends).  Vectors are cut into blocks of ceil(n/p)
bytes, so n < p and n not divisible by p have a meaning: the last blocks are padded, as MPI and NCCL do.

Small messages reach only a fraction of a link.  A link therefore has one or several protocols, each with its own
latency and slope, and a message takes the fastest of them: T(m) = min_i (alpha_i + m beta_i).  One protocol is the
plain alpha-beta model.  NCCL's LL (half the peak, least latency), LL128 and Simple are such a set; so are MPI's eager
and rendezvous.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from scalecurve.document import JsonRecord
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


def totals(steps: Steps) -> Totals:
    """Rounds, bytes sent and bytes reduced by the busiest rank."""
    return Totals(
        rounds=sum(step.rounds for step in steps),
        sent=sum(step.rounds * step.message for step in steps),
        reduced=sum(step.rounds * step.reduced for step in steps),
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
    """Raise an InputError for fewer than one rank and for negative or infinite sizes."""
    faults = []
    if p < 1:
        faults.append(Fault("a collective needs at least one rank", where="ranks", value=str(p)))
    if not (math.isfinite(n) and n >= 0):
        faults.append(Fault("a message size is a finite number from 0", where="bytes", value=f"{n:g}"))
    if faults:
        raise InputError(faults, subject="collective")


def on(level: Level, steps: Iterable[Step]) -> Steps:
    """The same steps over the wires of `level`; a step without rounds is dropped."""
    return tuple(replace(step, level=level) for step in steps if step.rounds > 0)


@dataclass(frozen=True, kw_only=True)
class Protocol(JsonRecord):
    """One way a message can travel: alpha seconds per message and beta seconds per byte."""

    alpha: float
    beta: float

    JSON = "alpha_seconds=alpha beta_seconds_per_byte=beta"


@dataclass(frozen=True, kw_only=True)
class Link(JsonRecord):
    """A wire with its protocols; `peak` is the bandwidth of the best of them in bytes per second."""

    protocols: tuple[Protocol, ...]
    name: str = "link"

    JSON = "name protocols"

    def __post_init__(self) -> None:
        numbers = [value for protocol in self.protocols for value in (protocol.alpha, protocol.beta)]
        if not self.protocols or any(not math.isfinite(value) or value < 0 for value in numbers):
            hint = "give seconds per message and seconds per byte, both finite numbers from 0"
            raise InputError(Fault("a link needs latency and slope", where=self.name, value=str(numbers), remedy=hint))

    @classmethod
    def of(cls, alpha: float, bandwidth: float, *, name: str = "link") -> Link:
        """A plain alpha-beta link from seconds per message and bytes per second."""
        if not bandwidth > 0:
            raise InputError(Fault("a bandwidth is a positive number of bytes per second", value=f"{bandwidth:g}"))
        return cls(protocols=(Protocol(alpha=alpha, beta=1.0 / bandwidth),), name=name)

    @property
    def alpha(self) -> float:
        return min(protocol.alpha for protocol in self.protocols)

    @property
    def beta(self) -> float:
        return min(protocol.beta for protocol in self.protocols)

    @property
    def peak(self) -> float | None:
        return 1.0 / self.beta if self.beta > 0 else None

    def seconds(self, message: float) -> float:
        """T(m) in seconds: the minimum over the protocols of alpha + m beta."""
        return min(protocol.alpha + message * protocol.beta for protocol in self.protocols)

    def shared_by(self, users: float) -> Link:
        """The same link when `users` messages share it and get 1/users of the bandwidth each."""
        return replace(self, protocols=tuple(replace(p, beta=p.beta * users) for p in self.protocols))


@dataclass(frozen=True, kw_only=True)
class Network(JsonRecord):
    """Wires between nodes and, where ranks share a node, inside it.

    `base` is paid once per collective (launching it); `gamma` is seconds per reduced byte; `adapters` is how many
    messages a node can send outside at full rate (None: one per rank).
    """

    inter: Link
    intra: Link | None = None
    per_node: int = 1
    adapters: int | None = None
    gamma: float = 0.0
    base: float = 0.0
    name: str = "network"
    sources: tuple[str, ...] = field(default=())

    JSON = "name inter intra per_node adapters gamma_seconds_per_byte=gamma base_seconds=base sources"

    def __post_init__(self) -> None:
        faults = []
        if self.per_node < 1 or (self.adapters is not None and self.adapters < 1):
            counts = f"{self.per_node} ranks, {self.adapters} adapters"
            faults.append(Fault("a node has at least one rank and one adapter", where=self.name, value=counts))
        if any(not math.isfinite(value) or value < 0 for value in (self.gamma, self.base)):
            faults.append(Fault("gamma and base are finite and not negative", where=self.name))
        if faults:
            raise InputError(faults, subject="network")

    def nodes(self, p: int) -> int | None:
        """N if p ranks fill several whole nodes of several ranks; None otherwise, and no two-level form applies."""
        if self.intra is None or self.per_node == 1 or p % self.per_node or p <= self.per_node:
            return None
        return p // self.per_node

    def wire(self, level: Level, p: int, *, rails: bool) -> Link:
        """The link a round uses.

        A flat algorithm over several nodes waits in every round for the message that leaves the node; a two-level one
        sends on all rails at once, which share the adapters.
        """
        if level is Level.INTRA or (self.intra is not None and p <= self.per_node):
            return self.intra or self.inter
        if not rails or self.adapters is None:
            return self.inter
        return self.inter.shared_by(max(1.0, self.per_node / self.adapters))

    def seconds(self, steps: Steps, p: int) -> float:
        """Seconds of the steps: rounds x (T(message) + gamma x reduced), plus the base cost if anything is sent."""
        if not any(step.rounds for step in steps):
            return 0.0
        rails = any(step.level is Level.INTRA for step in steps)
        return self.base + sum(
            step.rounds * (self.wire(step.level, p, rails=rails).seconds(step.message) + self.gamma * step.reduced)
            for step in steps
        )
