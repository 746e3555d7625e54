"""A network as the cost model sees it: per message alpha + beta x bytes, per reduced byte gamma.

Small messages reach only a fraction of a link.  A link therefore has one or several protocols, each with its own
latency and slope, and a message takes the fastest of them: T(m) = min_i (alpha_i + m beta_i).  One protocol is the
plain alpha-beta model.  NCCL's LL (half the peak, least latency), LL128 and Simple are such a set; so are MPI's eager
and rendezvous.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from scalecurve.errors import Fault, InputError
from scalecurve.laws.collectives.steps import Level, Steps


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """One way a message may travel: seconds per message and seconds per byte."""

    alpha: float
    beta: float


@dataclass(frozen=True, kw_only=True)
class Link:
    """A wire with the protocols it offers; `peak` is the bandwidth in bytes per second of the best of them."""

    protocols: tuple[Protocol, ...]
    name: str = "link"

    def __post_init__(self) -> None:
        numbers = [value for each in self.protocols for value in (each.alpha, each.beta)]
        if not self.protocols or any(not math.isfinite(value) or value < 0 for value in numbers):
            hint = "give seconds per message and seconds per byte, each a finite number from 0"
            raise InputError(Fault("a link needs latency and slope", where=self.name, seen=str(numbers), remedy=hint))

    @classmethod
    def of(cls, alpha: float, bandwidth: float, *, name: str = "link") -> Link:
        """A plain alpha-beta link from seconds per message and bytes per second."""
        if not bandwidth > 0:
            raise InputError(Fault("a bandwidth is a positive number of bytes per second", seen=f"{bandwidth:g}"))
        return cls(protocols=(Protocol(alpha=alpha, beta=1.0 / bandwidth),), name=name)

    @property
    def alpha(self) -> float:
        return min(each.alpha for each in self.protocols)

    @property
    def beta(self) -> float:
        return min(each.beta for each in self.protocols)

    @property
    def peak(self) -> float | None:
        return 1.0 / self.beta if self.beta > 0 else None

    def seconds(self, message: float) -> float:
        """T(m) = min over protocols of alpha + m beta."""
        return min(each.alpha + message * each.beta for each in self.protocols)

    def bandwidth(self, message: float) -> float | None:
        """Bytes per second a message of this size reaches, latency included."""
        seconds = self.seconds(message)
        return message / seconds if seconds > 0 else None

    def shared_by(self, users: float) -> Link:
        """The same link when `users` messages share it: each gets 1/users of the bandwidth."""
        slower = tuple(Protocol(alpha=each.alpha, beta=each.beta * users) for each in self.protocols)
        return Link(protocols=slower, name=self.name)


@dataclass(frozen=True, kw_only=True)
class Network:
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

    def __post_init__(self) -> None:
        faults = []
        if self.per_node < 1 or (self.adapters is not None and self.adapters < 1):
            seen = f"{self.per_node} ranks, {self.adapters} adapters"
            faults.append(Fault("a node has at least one rank and one adapter", where=self.name, seen=seen))
        if any(not math.isfinite(value) or value < 0 for value in (self.gamma, self.base)):
            faults.append(Fault("gamma and base are finite and not negative", where=self.name))
        if faults:
            raise InputError(faults, subject="network")

    def nodes(self, p: int) -> int | None:
        """N if p ranks fill whole nodes and there are several ranks to a node, else None: no two-level form."""
        if self.intra is None or self.per_node == 1 or p % self.per_node or p <= self.per_node:
            return None
        return p // self.per_node

    def wire(self, level: Level, p: int, *, rails: bool) -> Link:
        """The link a round uses.

        Flat algorithms of more ranks than a node holds wait for the slowest wire in every round (their one message that
        leaves the node); two-level ones send on all rails at once, which share the adapters.
        """
        if level is Level.INTRA or (self.intra is not None and p <= self.per_node):
            return self.intra or self.inter
        if not rails or self.adapters is None:
            return self.inter
        return self.inter.shared_by(max(1.0, self.per_node / self.adapters))

    def seconds(self, steps: Steps, p: int) -> float:
        """Sum over steps of rounds x (T(message) + gamma x reduced), plus the base cost if anything is sent."""
        if not any(step.rounds for step in steps):
            return 0.0
        rails = any(step.level is Level.INTRA for step in steps)
        each = (
            step.rounds * (self.wire(step.level, p, rails=rails).seconds(step.message) + self.gamma * step.reduced)
            for step in steps
        )
        return self.base + sum(each)

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "inter": _link_dict(self.inter),
            "intra": None if self.intra is None else _link_dict(self.intra),
            "per_node": self.per_node,
            "adapters": self.adapters,
            "gamma_seconds_per_byte": self.gamma,
            "base_seconds": self.base,
            "sources": list(self.sources),
        }


def _link_dict(link: Link) -> dict[str, Any]:
    protocols = [{"alpha_seconds": each.alpha, "beta_seconds_per_byte": each.beta} for each in link.protocols]
    return {"name": link.name, "protocols": protocols}
