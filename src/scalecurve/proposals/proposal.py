"""A scaling proposal: what to buy, and the facts about the job; the one schema of proposal.toml.

Every part that is None is missing, and the assessment says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, FiniteFloat, PrivateAttr, model_validator

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.files import read_toml
from scalecurve.findings import Finding
from scalecurve.formats.user_file import (
    Bandwidth,
    Bytes,
    Count,
    FileSection,
    Positive,
    Seconds,
    Share,
    Text,
    Whole,
    template,
    validate,
)
from scalecurve.hardware.accelerators import accelerator
from scalecurve.hardware.networks import network
from scalecurve.hardware.prices import find_offer, offer_findings
from scalecurve.laws.collectives import Link, Network
from scalecurve.planning.tariff import Money, Tariff, parse_money, same_currency
from scalecurve.proposals.evidence import (
    Efficiency,
    Evidence,
    SerialShare,
    StatedCurve,
    StatedSection,
    Workers,
    check_range,
)
from scalecurve.study import Regime

HINT = "scalecurve assess --init writes one to fill in"


def as_money(value: Any) -> Any:
    """`2.50`, `"2.50 USD"` or a Money."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Money(float(value))
    try:
        return parse_money(value) if isinstance(value, str) else value
    except InputError as problem:
        raise ValueError(str(problem)) from None


Spread = Annotated[FiniteFloat, Field(ge=0, le=5)]
Floor = Annotated[FiniteFloat, Field(gt=0, le=1)]
Amount = Annotated[Money, BeforeValidator(as_money)]


class ProposedRegime(StrEnum):
    """Does the problem grow with the cluster?"""

    STRONG = "strong"
    WEAK = "weak"
    MIXED = "mixed"
    UNKNOWN = "unknown"


class SellerClaim(StatedSection):
    """What the seller says: a speedup or an efficiency at some K."""

    workers: Workers = Field(examples=[512])
    speedup: Positive | None = Field(default=None, description="or efficiency = 0.78", examples=[400])
    efficiency: Efficiency | None = None
    source: Text = Field(default="stated", examples=["slide 7"])

    @model_validator(mode="after")
    def _one_number(self) -> SellerClaim:
        if (self.speedup is None) == (self.efficiency is None):
            raise ValueError("give one of speedup and efficiency")
        return self

    @property
    def claimed_efficiency(self) -> float:
        return self.efficiency if self.efficiency is not None else (self.speedup or 0.0) / self.workers


class JobBatch(StatedSection):
    """The global batch of a training job, and the batch beyond which more examples stop helping."""

    size: Whole = Field(description="global batch, in samples or tokens", examples=[1024])
    critical: Count | None = Field(default=None, description="beyond it more examples stop helping", examples=["8Mi"])


class MainKernel(StatedSection):
    """The main kernel on one worker: FLOP per byte moved, and the worker's two ceilings per second."""

    flop_per_byte: Positive = Field(examples=[60])
    accelerator: str | None = Field(
        default=None, description='or peak_flops = "989T" and bandwidth = "3.35TB/s"', examples=["h100"]
    )
    peak_flops: Count | None = None
    bandwidth: Bandwidth | None = None

    @model_validator(mode="after")
    def _resolved(self) -> MainKernel:
        if not _by_name_or_numbers(self.accelerator, self.peak_flops, self.bandwidth):
            raise ValueError(
                "give an accelerator by name, or its peak_flops and bandwidth; "
                'accelerator = "h100", or peak_flops = "989T" and bandwidth = "3.35TB/s"'
            )
        _ = self.ceilings
        return self

    @cached_property
    def ceilings(self) -> tuple[float, float, str]:
        """FLOP/s, bytes/s and the source of both."""
        if self.accelerator is None:
            return self.peak_flops or 0.0, self.bandwidth or 1.0, self.source
        try:
            chip = accelerator(self.accelerator)
        except InputError as problem:
            raise ValueError(str(problem)) from None
        return chip.peak, chip.memory_rate, f"{self.source}; {chip.name}: {chip.source}"


def _by_name_or_numbers(name: str | None, first: float | None, second: float | None) -> bool:
    numbers = (first is not None, second is not None)
    return all(numbers) if name is None else not any(numbers)


class StepExchange(StatedSection):
    """What workers exchange in every step, over which network, beside how much work on one worker."""

    operation: str = Field(default="allreduce", examples=["allreduce"])
    bytes: Bytes = Field(examples=["350MB"])
    network: str | None = Field(
        default=None, description='or latency = "10us" and bandwidth = "400Gb/s"', examples=["nvlink+ib400"]
    )
    workers_per_node: Workers | None = Field(default=None, examples=[8])
    latency: Seconds | None = None
    bandwidth: Bandwidth | None = None
    step_time: Seconds = Field(description="the step's work on one worker", examples=["8s"])
    hidden: Share = Field(default=0.0, description="share of the exchange that runs behind the work", examples=[0.5])
    algorithm: str | None = Field(default=None, description="default: the fastest", examples=["ring"])

    @model_validator(mode="after")
    def _resolved(self) -> StepExchange:
        if not _by_name_or_numbers(self.network, self.latency, self.bandwidth):
            raise ValueError(
                "give a network by name, or its latency and bandwidth; "
                'network = "nvlink+ib400", or latency = "2us" and bandwidth = "400Gb/s"'
            )
        _ = self.links
        return self

    @cached_property
    def links(self) -> Network:
        """The network, by its name or from its latency and bandwidth."""
        if self.network is None:
            return Network(inter=Link.of(self.latency or 0.0, self.bandwidth or 1.0))
        try:
            return network(self.network, per_node=self.workers_per_node)
        except InputError as problem:
            raise ValueError(str(problem)) from None


class Stragglers(StatedSection):
    """The spread of workers' times."""

    spread: Spread | None = Field(default=None, description="std of the log of a worker's step time", examples=[0.05])
    low: Spread | None = None
    high: Spread | None = None
    slow_chance: Share | None = Field(
        default=None, description="chance that a worker is slow in a step", examples=[0.001]
    )

    @model_validator(mode="after")
    def _ordered(self) -> Stragglers:
        check_range(self.low, self.spread, self.high)
        return self


class PriceTerms(StatedSection):
    """What an hour costs and what must be kept."""

    per_worker_hour: Amount | None = Field(default=None, description='or of = "h100@lambda"', examples=["2.50 USD"])
    of: str | None = None
    currency: str | None = None
    jobs: Whole = Field(default=1, examples=[1000])
    deadline: Seconds | None = Field(default=None, examples=["30d"])
    budget: Amount | None = Field(default=None, examples=["600000 USD"])
    setup: Seconds | None = Field(default=None, examples=["5min"])
    minimum: Seconds | None = Field(default=None, examples=["1h"])

    @model_validator(mode="after")
    def _one_price(self) -> PriceTerms:
        if (self.per_worker_hour is None) == (self.of is None):
            raise ValueError('give one of per_worker_hour and of; of = "h100@lambda"')
        return self


class BigMachine(StatedSection):
    """One machine instead of many: how many times faster than one worker, and its price per hour."""

    times_faster: Positive = Field(description="than one worker", examples=[4])
    per_hour: Amount | None = Field(default=None, examples=["20 USD"])


class Proposal(FileSection):
    """From `workers_today` to `workers`, with the facts about the job."""

    title: Text = Field(default="Scaling proposal", examples=["Our cluster, from 256 to 512 GPUs"])
    workers: Workers = Field(description="the proposed K", examples=[512])
    workers_today: Workers | None = Field(default=None, description="what there is now (default: K0)", examples=[256])
    k_unit: Text = Field(default="workers", examples=["gpus"])
    regime: ProposedRegime = Field(
        description="strong (total work fixed), weak (work per worker fixed), mixed or unknown", examples=["strong"]
    )
    floor: Floor = Field(default=0.7, description="the efficiency below which money is wasted", examples=[0.7])
    bend_below: Floor | None = Field(
        default=None, description="where the curve bends (default: the floor)", examples=[0.7]
    )
    least_gain: Share = Field(default=0.02, description="a smaller gain in speed does not count", examples=[0.02])
    buys_faster_network: bool = Field(default=False, description="it also buys a network: worth it?", examples=[True])
    time_at_baseline: Seconds | None = Field(default=None, description="T(K0), to compute money", examples=["10h"])
    claim: SellerClaim | None = Field(default=None, description="what the seller says")
    serial: SerialShare | None = Field(default=None, description="question 1")
    strong: StatedCurve | None = Field(default=None, description="efficiencies with the total work fixed")
    weak: StatedCurve | None = Field(default=None, description="the same with the work per worker fixed")
    batch: JobBatch | None = Field(default=None, description="for training jobs")
    kernel: MainKernel | None = Field(default=None, description="question 3")
    collective: StepExchange | None = Field(default=None, description="question 4: per step")
    stragglers: Stragglers | None = Field(default=None, description="question 5")
    price: PriceTerms | None = Field(default=None, description="question 6")
    scale_up: BigMachine | None = Field(default=None, description="question 7")
    _evidence: dict[Regime, Evidence] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _priced(self) -> Proposal:
        try:
            _ = self.tariff
        except InputError as problem:
            raise ValueError(str(problem)) from None
        return self

    @property
    def spread(self) -> float | None:
        return None if self.stragglers is None else self.stragglers.spread

    @property
    def bend_threshold(self) -> float:
        return self.floor if self.bend_below is None else self.bend_below

    @cached_property
    def tariff(self) -> Tariff | None:
        """The price per worker-hour, stated or from the catalog; all amounts must be in one currency."""
        price = self.price
        if price is None:
            return None
        offer = None if price.of is None else find_offer(price.of)
        hourly = price.per_worker_hour if offer is None else Money(offer.median, offer.currency)
        big = None if self.scale_up is None else self.scale_up.per_hour
        amounts = (("price.per_worker_hour", hourly), ("price.budget", price.budget), ("scale_up.per_hour", big))
        return Tariff(
            per_hour=0.0 if hourly is None else hourly.amount,
            currency=same_currency(*amounts, currency=price.currency),
            setup_seconds=price.setup,
            minimum_seconds=price.minimum,
            source=price.source if offer is None else offer.origin,
        )

    @property
    def price_findings(self) -> tuple[Finding, ...]:
        """The age and the origin of a price from the catalog."""
        return () if self.price is None or self.price.of is None else offer_findings(find_offer(self.price.of))

    def evidence(self, regime: Regime) -> Evidence | None:
        """What is stated or measured of efficiency in one regime; None where the section is missing."""
        curve = self.strong if regime is Regime.STRONG else self.weak
        if regime not in self._evidence and curve is not None:
            self._evidence[regime] = curve.evidence(regime)
        return self._evidence.get(regime)


def read_proposal(source: object) -> Proposal:
    """The proposal in a TOML file or a mapping, every fault at once; a study it names is read from beside the file."""
    if isinstance(source, Mapping):
        path, data = Path("proposal"), {str(name): value for name, value in source.items()}
    elif isinstance(source, str | Path):
        path, data = Path(source), read_toml(Path(source), hint=HINT)
    else:
        remedy = "give a path, a Proposal, or a mapping with the fields of a proposal.toml"
        raise InputError(Fault("this is no proposal", value=repr(source)[:80], remedy=remedy))
    for section in (data.get("strong"), data.get("weak")):
        if isinstance(section, dict) and isinstance(section.get("study"), str):
            section["study"] = path.parent / section["study"]
    proposal = validate(Proposal, data, subject=str(path))
    try:
        for regime in Regime:
            proposal.evidence(regime)
    except InputError as problem:
        raise FormatError(problem.faults, subject=str(path)) from None
    return proposal


def proposal_template() -> str:
    """A proposal.toml to fill in."""
    head = (
        "A scaling proposal.  Fill in what you know and leave the rest commented out: it is listed as missing.\n"
        "Then: scalecurve assess proposal.toml"
    )
    return template(Proposal, head, filled=("title", "workers", "workers_today", "k_unit", "regime", "floor"))
