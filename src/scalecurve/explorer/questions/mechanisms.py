"""The Mechanisms view: roofline, collectives, the slowest of K, tail fan-out, work and depth.

`assets/live.js` holds the same closed forms for the page without a server; a test compares the two over a grid.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

import scalecurve as sc
from scalecurve.explorer.questions.question import Nothing, Question, Request, doublings
from scalecurve.hardware.networks import network
from scalecurve.laws.collectives import candidates, lower_bound
from scalecurve.laws.roofline import Ceilings, attainable
from scalecurve.laws.stragglers import chance_of_any_slow, exponential_maximum, lognormal_maximum, normal_maximum
from scalecurve.laws.workdepth import greedy_time, least_time, most_speedup, parallelism
from scalecurve.units import format_bytes, format_flops, format_seconds

Operation = Literal["allreduce", "allgather", "reduce_scatter", "broadcast", "reduce", "alltoall"]

LEVEL = "memory"
MOST_HARMONIC = 65_536
NETWORKS = ("nvlink+ib400", "nvlink3+ib200", "nvlink5+ib800", "ib100", "ib400", "eth10", "eth25", "nvlink")
ADVICE = {
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

    spread: float = Field(0.1, ge=0.001, le=1, description="relative spread of one worker's time")
    largest: int = Field(1024, ge=2, le=1_048_576)
    slow_chance: float = Field(0.01, gt=0, lt=1, description="chance that one worker, or one answer, is slow")


class DepthRequest(Request):
    """A computation's work and depth."""

    work: float = Field(1000.0, gt=0, le=1e15)
    depth: float = Field(20.0, gt=0, le=1e15)
    largest: int = Field(256, ge=2, le=1_048_576)


class RooflineRequest(Request):
    """A machine's ceilings and one kernel."""

    peak: float = Field(989e12, gt=0, le=1e21, description="FLOP/s")
    bandwidth: float = Field(3.35e12, gt=0, le=1e18, description="bytes/s")
    intensity: float = Field(60.0, gt=0, le=1e9, description="FLOP per byte of the kernel")
    reached: float = Field(0.5, gt=0, le=1, description="share of its roof the kernel reaches")


def networks(_: Nothing) -> dict[str, Any]:
    """Every network of the page with the latency and slope of its protocols, as the page without a server needs."""
    return {"networks": {name: network(name).to_dict() for name in NETWORKS}}


def collectives(request: CollectiveRequest) -> dict[str, Any]:
    operation, ranks, message = request.operation, doublings(request.ranks, first=2), float(round(request.bytes))
    costs = sc.mechanisms.collective_cost(operation, message, ranks, request.network)
    by_size = []
    for size in sorted({*(2.0**power for power in range(6, 35)), message}):
        bound = lower_bound(costs.operation, request.ranks, size, costs.network).seconds
        choices = candidates(costs.operation, request.ranks, size, costs.network)
        by_size.append({"x": size, "bound": bound, "algorithms": {item.algorithm: item.seconds for item in choices}})
    last = costs.rows[-1]
    settings = f"--op {operation} --bytes {message:.0f}B --ranks {','.join(map(str, ranks))}"
    return {
        "by_ranks": [{"x": row.ranks, "bound": row.bound, "algorithms": row.others} for row in costs.rows],
        "by_size": by_size,
        "algorithms": sorted({name for row in costs.rows for name in row.others}),
        "best": {"name": last.choice.algorithm, "seconds": last.choice.seconds, "bound": last.bound},
        "sentences": [
            f"{operation} of {format_bytes(message)} over {request.ranks} ranks: {last.choice.algorithm} is "
            f"fastest, {format_seconds(last.choice.seconds)}; no algorithm can beat {format_seconds(last.bound)}."
        ],
        "commands": [f"scalecurve collective cost {settings} --network {request.network}"],
    }


def slowest(request: SlowestRequest) -> dict[str, Any]:
    spread, chance, workers = request.spread, request.slow_chance, doublings(request.largest)
    rows = [
        {
            "k": k,
            "normal": normal_maximum(k, spread),
            "lognormal": lognormal_maximum(k, spread),
            "exponential": 1 + spread * (exponential_maximum(k) - 1) if k <= MOST_HARMONIC else None,
            "any_slow": chance_of_any_slow(k, chance),
        }
        for k in workers
    ]
    k, normal, any_slow = workers[-1], normal_maximum(workers[-1], spread), chance_of_any_slow(workers[-1], chance)
    counts = ",".join(map(str, workers))
    return {
        "rows": rows,
        "sentences": [
            f"The slowest of {k} workers takes {normal:.4g} times the mean with normal times spread by {spread:.4g}: a "
            f"barrier keeps {1 / normal:.1%} of the workers' time. If an answer is slow with chance {chance:.4g}, a "
            f"request that waits for {k} of them is slow with chance {any_slow:.1%}.",
        ],
        "commands": [
            f"scalecurve straggler --distribution norm:loc=1,scale={spread!r} --workers {counts} "
            f"--slow-share {chance!r}",
            f"scalecurve straggler --distribution lognorm:s={spread!r} --workers {counts}",
            f"scalecurve straggler --distribution expon:loc={1 - spread!r},scale={spread!r} --workers {counts}",
        ],
    }


def depth(request: DepthRequest) -> dict[str, Any]:
    work, longest = request.work, min(request.depth, request.work)
    most = parallelism(work, longest)
    workers = doublings(request.largest)
    rows = [
        {
            "k": k,
            "most": most_speedup(work, longest, k),
            "greedy": work / greedy_time(work, longest, k),
            "least_time": least_time(work, longest, k),
            "greedy_time": greedy_time(work, longest, k),
        }
        for k in workers
    ]
    code = (
        f"from scalecurve.laws.workdepth import *; print(parallelism({work!r}, {longest!r})); "
        f"[print(p, most_speedup({work!r}, {longest!r}, p), "
        f"least_time({work!r}, {longest!r}, p), greedy_time({work!r}, {longest!r}, p)) for p in {workers}]"
    )
    return {
        "rows": rows,
        "parallelism": most,
        "sentences": [
            f"Work {work:g} over depth {longest:g} admits a speedup of at most {most:.4g}, on any machine: beyond "
            f"about {most:.4g} workers the rest only wait. A greedy schedule is within a factor of two of the best.",
        ],
        "commands": [f'python -c "{code}"'],
    }


def roofline(request: RooflineRequest) -> dict[str, Any]:
    machine = Ceilings(peak=request.peak, bandwidths={LEVEL: request.bandwidth})
    ridge = machine.ridge(LEVEL)
    roof = attainable(request.intensity, machine, LEVEL)
    bound = "memory" if request.intensity < ridge else "compute"
    places = sorted({2.0 ** (step / 4) for step in range(-12, 57)} | {ridge})
    flops = request.intensity * 1e9  # of a kernel that moves a gigabyte
    kernel = f"mine:{flops!r}:1e9:{flops / (roof * request.reached)!r}"
    described = f"bf16_tflops = {request.peak / 1e12!r}\nmemory_tb_s = {request.bandwidth / 1e12!r}\n"
    return {
        "roof": [{"x": x, "y": attainable(x, machine, LEVEL)} for x in places],
        "ridge": ridge,
        "kernel": {"x": request.intensity, "y": roof * request.reached, "roof": roof},
        "bound": bound,
        "sentences": [
            f"At {request.intensity:.4g} FLOP per byte the kernel is {bound} bound: its roof is "
            f"{format_flops(roof)} (the ridge is at {ridge:.4g} FLOP per byte). "
            f"Next: {ADVICE[bound]}.",
        ],
        "commands": [f"scalecurve roofline place --machine own.toml --precision bf16 --kernel {kernel}"],
        "files": {"own.toml": f'like = "h100"\n{described}'},
    }


QUESTIONS = {
    "mechanisms/networks": Question("Networks by name.", Nothing, networks),
    "mechanisms/collectives": Question(
        "Collective algorithms by ranks and by message size.", CollectiveRequest, collectives
    ),
    "mechanisms/slowest": Question("The expected slowest of K workers, and tail fan-out.", SlowestRequest, slowest),
    "mechanisms/depth": Question("Speedup bounds from work and depth.", DepthRequest, depth),
    "mechanisms/roofline": Question("The roof over a kernel.", RooflineRequest, roofline),
}
