"""A scaling proposal: what is to be bought, what is known about the job, and what is not."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from scalecurve.findings import Finding
from scalecurve.laws.collectives import Network
from scalecurve.planning.tariff import Tariff
from scalecurve.proposals.known import Evidence, Ranged


class Growth(StrEnum):
    """Does the problem grow with the cluster?"""

    STRONG = "strong"
    WEAK = "weak"
    MIXED = "mixed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What the seller says: a speedup or an efficiency at some K."""

    workers: int
    efficiency: float
    speedup: float
    source: str = "stated"


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """The main kernel on one worker: FLOP per byte moved, and the worker's two ceilings per second."""

    flop_per_byte: float
    peak_flops: float
    bandwidth: float
    source: str = "stated"


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """What workers exchange in every step, over which network, beside how much work.

    `step_seconds` is the time of the step's work on one worker; `hidden` the share of the exchange behind it.
    """

    operation: str
    bytes: float
    network: Network
    step_seconds: float
    algorithm: str | None = None
    hidden: float = 0.0
    source: str = "stated"


@dataclass(frozen=True, kw_only=True)
class Money:
    """The price, and what the results are worth; `findings` come from a price list."""

    tariff: Tariff
    jobs: int = 1
    deadline: float | None = None
    budget: float | None = None
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, kw_only=True)
class BigMachine:
    """One machine instead of many: how many times faster than one worker, and its price per hour."""

    times_faster: float
    per_hour: float | None = None
    source: str = "stated"


@dataclass(frozen=True, kw_only=True)
class Batch:
    """The global batch of a training job, and the batch beyond which more examples stop helping, where known."""

    size: int
    critical: float | None = None


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """From `workers_today` to `workers`; every part that is None is missing, and said to be missing."""

    title: str
    workers: int
    workers_today: int | None = None
    k_unit: str = "workers"
    growth: Growth = Growth.UNKNOWN
    floor: float = 0.7
    bend_below: float = 0.7
    least_gain: float = 0.02
    buys_network: bool = False
    seconds_at_baseline: float | None = None
    serial: Ranged | None = None
    strong: Evidence | None = None
    weak: Evidence | None = None
    claim: Claim | None = None
    batch: Batch | None = None
    kernel: Kernel | None = None
    exchange: Exchange | None = None
    spread: Ranged | None = None
    slow_chance: Ranged | None = None
    money: Money | None = None
    big_machine: BigMachine | None = None
    findings: tuple[Finding, ...] = field(default=())
