"""The Mechanisms view: roofline, collectives, the slowest of K, tail fan-out, work and depth."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from scalecurve import api
from scalecurve.explorer.documents import blocks
from scalecurve.explorer.questions.question import Nothing, Question, Request
from scalecurve.laws.collectives import candidates, lower_bound
from scalecurve.laws.roofline import Ceilings, attainable
from scalecurve.laws.stragglers import chance_of_any_slow, exponential_maximum, lognormal_maximum, normal_maximum
from scalecurve.laws.workdepth import greedy_time, least_time, most_speedup, parallelism
from scalecurve.mechanisms.collective_cost import CollectiveCost
from scalecurve.units import format_bytes, format_seconds

Operation = Literal["allreduce", "allgather", "reduce_scatter", "broadcast", "reduce", "alltoall"]


LEVEL = "memory"
NEXT = {
    "memory": "move fewer bytes per FLOP (fuse, tile, lower precision); more arithmetic units change nothing",
    "compute": "feed the arithmetic units better; more bandwidth changes nothing",
}


class CollectiveRequest(Request):
    """A collective operation on a network."""

    operation: Operation = "allreduce"
    network: str = Field("nvlink+ib400", max_length=60, description="as in `scalecurve collective cost --network`")
    bytes: float = Field(350e6, ge=1, le=1e13, description="message size")
    ranks: int = Field(64, ge=2, le=65_536)


class SlowestRequest(Request):
    """K workers whose times spread."""

    spread: float = Field(0.1, ge=0, le=1.5, description="relative spread of one worker's time")
    largest: int = Field(1024, ge=2, le=1_048_576)
    slow_chance: float = Field(0.01, ge=0, le=1, description="chance that one worker, or one answer, is slow")


class DepthRequest(Request):
    """A computation's work and depth."""

    work: float = Field(1000, gt=0, le=1e15)
    depth: float = Field(20, gt=0, le=1e15)
    largest: int = Field(256, ge=2, le=1_048_576)


class RooflineRequest(Request):
    """A machine's ceilings and one kernel."""

    peak: float = Field(989e12, gt=0, le=1e21, description="FLOP/s")
    bandwidth: float = Field(3.35e12, gt=0, le=1e18, description="bytes/s")
    intensity: float = Field(60.0, gt=0, le=1e9, description="FLOP per byte of the kernel")
    reached: float = Field(0.5, gt=0, le=1, description="share of its roof the kernel reaches")


def networks(_: Nothing) -> dict[str, Any]:
    from scalecurve.hardware.networks import links

    inside = [name for name, link in links().items() if link.per_node]
    across = [name for name, link in links().items() if not link.per_node]
    return {"inside": inside, "across": across, "pairs": ["nvlink+ib400", "nvlink3+ib200", "nvlink5+ib800"]}


def collectives(asked: CollectiveRequest) -> dict[str, Any]:
    ranks = _doublings(asked.ranks, first=2)
    by_ranks = api.cost_collective(asked.operation, asked.bytes, ranks, asked.network)
    last = by_ranks.rows[-1]
    return {
        "by_ranks": [{"x": row.ranks, "bound": row.bound, "algorithms": row.others} for row in by_ranks.rows],
        "by_size": [_at_size(by_ranks, asked.ranks, 2.0**power) for power in range(6, 35)],
        "algorithms": sorted({name for row in by_ranks.rows for name in row.others}),
        "best": {"name": last.choice.algorithm, "seconds": last.choice.seconds},
        "sentences": [
            f"{asked.operation} of {format_bytes(asked.bytes)} over {asked.ranks} ranks: {last.choice.algorithm} is "
            f"fastest, {format_seconds(last.choice.seconds)}; no algorithm can beat {format_seconds(last.bound)}."
        ],
        "blocks": blocks(by_ranks.document()),
        "commands": [_collective_command(asked, ranks)],
    }


def _at_size(made: CollectiveCost, ranks: int, size: float) -> dict[str, Any]:
    every = candidates(made.operation, ranks, size, made.network)
    bound = lower_bound(made.operation, ranks, size, made.network).seconds
    return {"x": size, "bound": bound, "algorithms": {each.algorithm: each.seconds for each in every}}


def _collective_command(asked: CollectiveRequest, ranks: list[int]) -> str:
    size = f"{asked.bytes:.0f}B"
    listed = ",".join(map(str, ranks))
    return (
        f"scalecurve collective cost --op {asked.operation} --bytes {size} --ranks {listed} --network {asked.network}"
    )


def slowest(asked: SlowestRequest) -> dict[str, Any]:
    workers = _doublings(asked.largest)
    rows = [_slowest_row(k, asked) for k in workers]
    last = rows[-1]
    return {
        "rows": rows,
        "sentences": [
            f"The slowest of {last['k']} workers takes {last['normal']:.3f} times the mean with normal times spread by "
            f"{asked.spread:.0%}: a barrier keeps {1 / last['normal']:.1%} of the workers' time. If an answer is slow "
            f"with chance {asked.slow_chance:.2%}, a request that waits for {last['k']} of them is slow with chance "
            f"{last['any_slow']:.1%}.",
        ],
        "commands": [f"scalecurve law stragglers --spread {asked.spread:g} --workers {','.join(map(str, workers))}"],
    }


def _slowest_row(k: int, asked: SlowestRequest) -> dict[str, Any]:
    return {
        "k": k,
        "normal": normal_maximum(k, asked.spread),
        "lognormal": lognormal_maximum(k, asked.spread),
        "exponential": 1 + asked.spread * (exponential_maximum(k) - 1) if k <= 65_536 else None,
        "any_slow": chance_of_any_slow(k, asked.slow_chance),
    }


def depth(asked: DepthRequest) -> dict[str, Any]:
    work, longest = asked.work, min(asked.depth, asked.work)
    wide = parallelism(work, longest)
    rows = [
        {
            "k": k,
            "most": most_speedup(work, longest, k),
            "greedy": work / greedy_time(work, longest, k),
            "least_time": least_time(work, longest, k),
            "greedy_time": greedy_time(work, longest, k),
        }
        for k in _doublings(asked.largest)
    ]
    return {
        "rows": rows,
        "parallelism": wide,
        "sentences": [
            f"Work {work:g} over depth {longest:g} admits a speedup of at most {wide:.4g}, on any machine: beyond "
            f"about {wide:.4g} workers the rest only wait. A greedy schedule is within a factor of two of the best.",
        ],
        "commands": ["scalecurve workdepth graph.json  # work and depth of a task graph of your own"],
    }


def roofline(asked: RooflineRequest) -> dict[str, Any]:
    machine = Ceilings(peak=asked.peak, bandwidths={LEVEL: asked.bandwidth})
    ridge = machine.ridge(LEVEL)
    roof = attainable(asked.intensity, machine, LEVEL)
    bound = "memory" if asked.intensity < ridge else "compute"
    places = sorted({2.0 ** (step / 4) for step in range(-12, 57)} | {ridge})
    return {
        "roof": [{"x": x, "y": attainable(x, machine, LEVEL)} for x in places],
        "ridge": ridge,
        "kernel": {"x": asked.intensity, "y": roof * asked.reached, "roof": roof},
        "bound": bound,
        "sentences": [
            f"At {asked.intensity:.3g} FLOP per byte the kernel is {bound} bound: its roof is {roof / 1e12:.4g} "
            f"TFLOP/s, {roof / asked.peak:.0%} of the machine's peak (the ridge is at {ridge:.3g}). "
            f"Next: {NEXT[bound]}.",
        ],
        "commands": [_kernel_command(asked, roof)],
    }


def _kernel_command(asked: RooflineRequest, roof: float) -> str:
    """A kernel that moves a gigabyte; --machine takes a preset or the file `roofline measure --json` writes."""
    flops = asked.intensity * 1e9
    kernel = f"mine:{flops:.4g}:1e9:{flops / (roof * asked.reached):.4g}"
    return f"scalecurve roofline place --machine h100 --precision bf16 --kernel {kernel}"


def _doublings(largest: int, first: int = 1) -> list[int]:
    found = []
    while first < largest:
        found.append(first)
        first *= 2
    return [*found, largest]


QUESTIONS = {
    "mechanisms/networks": Question("Networks by name.", Nothing, networks),
    "mechanisms/collectives": Question(
        "Collective algorithms by ranks and by message size.", CollectiveRequest, collectives
    ),
    "mechanisms/slowest": Question("The expected slowest of K workers, and tail fan-out.", SlowestRequest, slowest),
    "mechanisms/depth": Question("Speedup bounds from work and depth.", DepthRequest, depth),
    "mechanisms/roofline": Question("The roof over a kernel.", RooflineRequest, roofline),
}
