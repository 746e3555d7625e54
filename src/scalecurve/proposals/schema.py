"""The shape of a proposal file: its sections and fields, with their units and ranges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, FiniteFloat

from scalecurve.document import one_line
from scalecurve.errors import InputError
from scalecurve.units import parse_bandwidth, parse_bytes, parse_count, parse_seconds


def _parsed(parse: Callable[[str], Any]) -> BeforeValidator:
    """Accept `350MB` as well as a number; a parser's complaint becomes a fault of the field."""

    def convert(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return parse(value)
        except InputError as problem:
            raise ValueError(str(problem)) from None

    return BeforeValidator(convert)


Text = Annotated[str, AfterValidator(one_line)]  # control characters made visible: a name must not move a cursor
Positive = Annotated[FiniteFloat, Field(gt=0)]
Share = Annotated[FiniteFloat, Field(ge=0, le=1)]
Efficiency = Annotated[FiniteFloat, Field(gt=0, le=2)]
Seconds = Annotated[Positive, _parsed(parse_seconds)]
Bytes = Annotated[Positive, _parsed(parse_bytes)]
Bandwidth = Annotated[Positive, _parsed(parse_bandwidth)]
Count = Annotated[Positive, _parsed(parse_count)]
Workers = Annotated[int, Field(ge=1, le=10**9)]
Price = Annotated[str | FiniteFloat, Field()]


class Part(BaseModel):
    """A section; `source` says who stands behind its numbers."""

    model_config = ConfigDict(extra="forbid")
    source: Text = "stated"


class RangedPart(Part):
    """A share with its range."""

    share: Share
    low: Share | None = None
    high: Share | None = None


class PointPart(BaseModel):
    """Exactly one of the five says what is known; low and high may stand beside efficiency."""

    model_config = ConfigDict(extra="forbid")
    k: Workers
    efficiency: Efficiency | None = None
    speedup: Positive | None = None
    relative_speedup: Positive | None = None
    at_least: Efficiency | None = None
    below: Efficiency | None = None
    low: Efficiency | None = None
    high: Efficiency | None = None


class CurvePart(Part):
    """Efficiencies over K: a study beside the file, or points."""

    study: str | None = None
    baseline: Workers = 1
    points: list[PointPart] = []


class ClaimPart(Part):
    """The seller's words."""

    workers: Workers
    speedup: Positive | None = None
    efficiency: Efficiency | None = None


class KernelPart(Part):
    """The main kernel and the two ceilings of a worker."""

    flop_per_byte: Positive
    accelerator: str | None = None
    peak_flops: Count | None = None
    bandwidth: Bandwidth | None = None


class CollectivePart(Part):
    """What is exchanged in every step."""

    operation: str = "allreduce"
    bytes: Bytes
    network: str | None = None
    workers_per_node: Workers | None = None
    latency: Seconds | None = None
    bandwidth: Bandwidth | None = None
    step_time: Seconds
    algorithm: str | None = None
    hidden: Share = 0.0


class StragglersPart(Part):
    """The spread of workers' times."""

    spread: Annotated[FiniteFloat, Field(ge=0, le=5)] | None = None
    low: Annotated[FiniteFloat, Field(ge=0, le=5)] | None = None
    high: Annotated[FiniteFloat, Field(ge=0, le=5)] | None = None
    slow_chance: Share | None = None


class PricePart(Part):
    """What an hour costs and what must be kept."""

    per_worker_hour: Price | None = None
    of: str | None = None
    currency: str | None = None
    jobs: Annotated[int, Field(ge=1)] = 1
    deadline: Seconds | None = None
    budget: Price | None = None
    setup: Seconds | None = None
    minimum: Seconds | None = None


class ScaleUpPart(Part):
    """The big machine."""

    times_faster: Positive
    per_hour: Price | None = None


class BatchPart(Part):
    """The batch of a training job."""

    size: Annotated[int, Field(ge=1)]
    critical: Count | None = None


class ProposalFile(BaseModel):
    """A whole file."""

    model_config = ConfigDict(extra="forbid")
    title: Text
    workers: Workers
    workers_today: Workers | None = None
    k_unit: Text = "workers"
    regime: Literal["strong", "weak", "mixed", "unknown"]
    floor: Annotated[FiniteFloat, Field(gt=0, le=1)] = 0.7
    bend_below: Annotated[FiniteFloat, Field(gt=0, le=1)] | None = None
    least_gain: Share = 0.02
    buys_faster_network: bool = False
    time_at_baseline: Seconds | None = None
    claim: ClaimPart | None = None
    serial: RangedPart | None = None
    strong: CurvePart | None = None
    weak: CurvePart | None = None
    batch: BatchPart | None = None
    kernel: KernelPart | None = None
    collective: CollectivePart | None = None
    stragglers: StragglersPart | None = None
    price: PricePart | None = None
    scale_up: ScaleUpPart | None = None
